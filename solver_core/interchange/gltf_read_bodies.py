# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid bodies of a glTF document: which nodes are one, their shapes, masses, surfaces, filters and looks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.surfaces import mesh_surface
from ..scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, ShapeKind, ShapeSpec
from .described import Found, Look
from .filters import masks_of
from .frames import matrix_of, nearest_rotation, quaternion_of
from .gltf_file import SHAPES, UP
from .gltf_nodes import Nodes
from .links import as_link
from .solids import Named, Solid, hull_if_open, placed, tapered

__all__ = ["Reader"]

Json = dict[str, Any]
Array = NDArray[np.float64]

# kg/m^3, where nothing says how heavy a body is.
DENSITY_OF_WATER = 1000.0
# Of coefficients of a material of which nothing else is said: the schema's own.
USUAL_FRICTION = 0.6


class Reader:
    """Makes bodies of the nodes of a document."""

    def __init__(self, document: Json, nodes: Nodes, own: Json, found: Found):
        self.nodes, self.own, self.found = nodes, own, found
        self.shapes = document.get("extensions", {}).get(SHAPES, {}).get("shapes", [])

    def groups(self) -> Iterator[tuple[int, list[int]]]:
        """The nodes that are bodies, and those of their colliders."""
        groups: dict[int, list[int]] = {}
        for number in self.nodes.above:
            own = self.nodes.physics(number)
            if own is None:
                continue
            if "trigger" in own:
                self.found.odd(self.nodes.path(number), "trigger", "triggers are not simulated; it is left out")
            if "motion" in own:
                groups.setdefault(number, [])
            if "collider" in own:
                owner = self.nodes.owner(number)
                groups.setdefault(number if owner is None else owner, []).append(number)
        yield from groups.items()

    def body(self, number: int, colliders: list[int], name: str) -> BodySpec | None:
        """A body; None with a problem."""
        path, own = self.nodes.path(number), self.nodes.physics(number) or {}
        motion = own.get("motion")
        world = self.nodes.worlds[number]
        frame = np.eye(4)
        try:
            # the body's own axes have Z up as well
            frame[:3, :3] = nearest_rotation(world[:3, :3]) @ UP
        except ValueError as error:
            self.found.wrong(path, "scale", str(error))
            return None
        frame[:3, 3] = world[:3, 3]
        moves = motion is not None and not motion.get("isKinematic")
        shape = self.shape(colliders, np.linalg.inv(frame), moves=moves) if colliders else ShapeSpec(ShapeKind.NONE)
        if shape is None:
            return None
        kind = BodyKind.PASSIVE if motion is None else BodyKind.ANIMATED if motion.get("isKinematic") else BodyKind.ACTIVE
        orientation = quaternion_of(frame[:3, :3])
        body = BodySpec(
            name, kind, shape, position=frame[:3, 3], orientation=orientation, material=self.material(colliders, path)
        )
        if motion is None or kind is not BodyKind.ACTIVE:
            return body
        body = self.moving(body, motion, path, np.linalg.inv(frame) @ world)
        return body if colliders else as_link(body, path, ("mass", "inertiaDiagonal"), self.found)

    def shape(self, colliders: list[int], to_body: Array, *, moves: bool) -> ShapeSpec | None:
        """Of one collider in the axes of the body, of several each in its own, as a compound; None with problems."""
        children = []
        for number in colliders:
            path, solid = self.nodes.path(number), self.solid(number)
            if solid is None:
                continue
            if solid.kind is Named.PLANE:
                if len(colliders) == 1:
                    return ShapeSpec(ShapeKind.PLANE)
                self.found.wrong(path, "plane", "a plane cannot be a part of a body; make it a body of its own")
                continue
            affine = to_body @ self.nodes.worlds[number]
            try:
                own = np.eye(4)
                if len(colliders) > 1:
                    own[:3, :3], own[:3, 3] = nearest_rotation(affine[:3, :3]) @ UP, affine[:3, 3]
                shape = placed(solid, np.linalg.inv(own) @ affine)
            except ValueError as error:
                self.found.wrong(path, "scale", str(error))
                continue
            shape = hull_if_open(shape, path, self.found) if moves else shape
            children.append(ChildSpec(shape, own[:3, 3], quaternion_of(own[:3, :3])))
        if len(children) < len(colliders):
            return None
        return children[0].shape if len(children) == 1 else ShapeSpec(ShapeKind.COMPOUND, children=tuple(children))

    def solid(self, number: int) -> Solid | None:
        """The shape of a collider in the axes of its node."""
        path, geometry = self.nodes.path(number), (self.nodes.physics(number) or {})["collider"].get("geometry", {})
        if "node" in geometry:
            return self.mesh(number, geometry)
        index = geometry.get("shape")
        if not isinstance(index, int) or not 0 <= index < len(self.shapes):
            self.found.wrong(path, "geometry", f"there is no shape {index}; name another, or a node with a mesh")
            return None
        kind = self.shapes[index].get("type")
        values = self.shapes[index].get(kind, {})

        def positive(name: str, value: Any) -> float:
            if not isinstance(value, (int, float)) or not (math.isfinite(value) and value > 0.0):
                self.found.wrong(path, name, f"{value} is no length; give the {kind} one above 0")
                return 1.0
            return float(value)

        if kind == "box":
            return Solid(Named.BOX, size=np.array([positive("size", one) for one in values.get("size", [1, 1, 1])]))
        if kind == "sphere":
            return Solid(Named.SPHERE, radius=positive("radius", values.get("radius", 0.5)))
        if kind == "plane":
            if "sizeX" in values or "sizeZ" in values:
                self.found.odd(path, "plane", "a plane has no end here")
            return Solid(Named.PLANE)
        if kind in ("capsule", "cylinder"):
            return self.round(path, kind, positive, values)
        self.found.wrong(path, "geometry", f"a {kind} is no shape here; use a mesh")
        return None

    def round(self, path: str, kind: str, positive: Any, values: Json) -> Solid | None:
        """A capsule or a cylinder, or the cone that a cylinder is with a radius of 0."""
        height = positive("height", values.get("height", 0.5))
        usual = 0.25 if kind == "capsule" else 0.5
        top, bottom = values.get("radiusTop", usual), values.get("radiusBottom", usual)
        if kind == "cylinder" and 0.0 in (top, bottom) and top != bottom:
            turn = np.array(UP, dtype=np.float64)
            if top > 0.0:
                turn[:, 1:] *= -1.0
            return Solid(Named.CONE, rotation=turn, radius=positive("radiusTop", max(top, bottom)), height=height)
        named = Named.CAPSULE if kind == "capsule" else Named.CYLINDER
        ends = positive("radiusBottom", bottom), positive("radiusTop", top)
        if ends[0] == ends[1]:
            return Solid(named, rotation=UP, radius=ends[0], height=height)
        self.found.odd(path, "radiusTop", f"a {kind} of two radii is the hull of points on it here")
        return tapered(named, ends, height, UP)

    def mesh(self, number: int, geometry: Json) -> Solid | None:
        """The shape that the mesh of a node is; None with a problem."""
        path, shown = self.nodes.path(number), geometry["node"]
        look = self.nodes.look(shown) if isinstance(shown, int) and 0 <= shown < len(self.nodes.all) else None
        if look is None:
            if not self.found.problems:
                self.found.wrong(path, "geometry", f"node {shown} has no mesh; name one that has, or a shape")
            return None
        triangles = look.corners.reshape(-1, 3)
        if not geometry.get("convexHull"):
            return Solid(Named.MESH, points=look.points, triangles=triangles)
        try:
            is_closed = mesh_surface(look.points, triangles).volume != 0.0
        except ValueError:
            is_closed = False
        return Solid(Named.HULL, points=look.points, triangles=triangles if is_closed else triangles[:0])

    def material(self, colliders: list[int], path: str) -> MaterialSpec:
        """The surface of the first collider, the usual one of a body without any."""
        if not colliders:
            return MaterialSpec()
        numbers = {(self.nodes.physics(number) or {})["collider"].get("physicsMaterial") for number in colliders}
        if len(numbers) > 1:
            self.found.odd(path, "physicsMaterial", "its colliders differ in material; a body has one surface here")
        number = (self.nodes.physics(colliders[0]) or {})["collider"].get("physicsMaterial")
        materials = self.own.get("physicsMaterials", [])
        if number is None:
            return MaterialSpec()
        if not isinstance(number, int) or not 0 <= number < len(materials):
            self.found.wrong(path, "physicsMaterial", f"there is no material {number}; name another")
            return MaterialSpec()
        given = materials[number]
        usual = {"staticFriction": USUAL_FRICTION, "dynamicFriction": USUAL_FRICTION, "restitution": 0.0}
        values = [given.get(name, value) for name, value in usual.items()]
        if not self.found.is_finite(path, "physicsMaterial", values):
            return MaterialSpec()
        if min(values) < 0.0 or values[2] > 1.0:
            self.found.wrong(path, "physicsMaterial", f"{values} has to be 0 or more, and restitution 1 at most; correct it")
            return MaterialSpec()
        return MaterialSpec(*map(float, values), name=str(given.get("name", "")))

    def moving(self, body: BodySpec, motion: Json, path: str, to_body: Array) -> BodySpec:
        """Mass, center of mass, inertia and velocities, which are in the axes of the node; to_body: (4, 4), takes the space of
        the node, which may be scaled, into the body frame."""
        mass = motion.get("mass")
        if mass is not None and self.found.is_finite(path, "mass", mass):
            if mass < 0.0:
                self.found.wrong(path, "mass", f"it is {mass:g}; make it above 0, or remove it")
            # 0 stands for a mass without end, which moves along no axis
            body = replace(body, mass=float(mass)) if mass else replace(body, mass=1.0, linear_factor=np.zeros(3))
        elif body.shape.kind is not ShapeKind.NONE:
            body = replace(body, density=DENSITY_OF_WATER)
        if motion.get("gravityFactor", 1.0) != 1.0:
            self.found.odd(path, "gravityFactor", "it has no place here, and is left out")
        center = motion.get("centerOfMass")
        if center is not None and self.found.is_finite(path, "centerOfMass", center):
            if np.shape(center) != (3,):
                self.found.wrong(path, "centerOfMass", f"it is {center}; make it three numbers in m")
            else:
                body = replace(body, center_of_mass=(to_body @ np.append(np.array(center, dtype=np.float64), 1.0))[:3])
        to_world = matrix_of(body.orientation) @ UP.T
        for name, field in (("linearVelocity", "velocity"), ("angularVelocity", "angular_velocity")):
            values = motion.get(name, [0.0, 0.0, 0.0])
            if self.found.is_finite(path, name, values):
                body = replace(body, **{field: to_world @ np.array(values, dtype=np.float64)})
        moments = motion.get("inertiaDiagonal")
        if moments is not None and self.found.is_finite(path, "inertiaDiagonal", moments):
            if not any(moments):
                return replace(body, angular_factor=np.zeros(3))
            if min(moments) <= 0.0:
                self.found.wrong(path, "inertiaDiagonal", f"{moments} is no inertia; make it above 0 along every axis")
            q = np.array(motion.get("inertiaOrientation", [0, 0, 0, 1]), dtype=np.float64)[[3, 0, 1, 2]]
            axes = UP.T @ matrix_of(q)
            inertia = axes @ np.diag(moments) @ axes.T
            body = replace(body, inertia=0.5 * (inertia + inertia.T))
        return body

    def look(self, number: int, body: BodySpec) -> Look | None:
        """All meshes at and below a body's node that are of no other body, in its frame."""
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = matrix_of(body.orientation), body.position
        if body.path is not None:
            frame[:3, :3] = nearest_rotation(self.nodes.worlds[number][:3, :3]) @ UP
            frame[:3, 3] = self.nodes.worlds[number][:3, 3]
        looks = []
        for one in self.of_body(number):
            if (look := self.nodes.look(one)) is None:
                continue
            affine = np.linalg.inv(frame) @ self.nodes.worlds[one]
            looks.append(replace(look, points=look.points @ affine[:3, :3].T + affine[:3, 3]))
        if not looks:
            return None
        before = np.cumsum([0, *(len(look.points) for look in looks)])
        return Look(
            np.concatenate([look.points for look in looks]),
            np.concatenate([look.counts for look in looks]),
            np.concatenate([look.corners + n for look, n in zip(looks, before[:-1], strict=True)]).astype(np.int32),
            looks[0].colour,
        )

    def of_body(self, number: int) -> Iterator[int]:
        """The node of a body, and those below it that are of no other one."""
        waiting = [number]
        while waiting:
            one = waiting.pop(0)
            own = self.nodes.physics(one)
            is_static = own is not None and "collider" in own and self.nodes.owner(one) is None
            if one != number and own is not None and ("motion" in own or is_static):
                continue
            yield one
            waiting += self.nodes.all[one].get("children", [])

    def with_collections(self, bodies: dict[int, BodySpec]) -> list[BodySpec]:
        """The bodies with collections for their filters."""
        given = self.own.get("collisionFilters", [])
        if not given:
            return list(bodies.values())
        sets = [
            (set(one.get("collisionSystems", [])), one.get("collideWithSystems"), set(one.get("notCollideWithSystems", [])))
            for one in given
        ]

        def hears(own: set[str], others: tuple[set[str], list[str] | None, set[str]]) -> bool:
            _, only, never = others
            return (only is None or own <= set(only)) and not (own and own <= never)

        n = len(sets)
        collides = np.ones((n + 1, n + 1), dtype=bool)
        for i in range(n):
            for j in range(n):
                collides[i, j] = hears(sets[i][0], sets[j]) and hears(sets[j][0], sets[i])
        masks, lost = masks_of(collides)
        if lost:
            self.found.odd("collisionFilters", "collisionFilters", "too many for 20 collections; some bodies do not collide")
        result = []
        for number, body in bodies.items():
            index = self.filter_of(number, n)
            result.append(replace(body, collections=masks[-1] if index is None else masks[index]))
        return result

    def filter_of(self, number: int, count: int) -> int | None:
        """The filter of a body's first collider."""
        for one in self.of_body(number):
            own = self.nodes.physics(one)
            if own is not None and "collider" in own:
                index = own["collider"].get("collisionFilter")
                if index is not None and not (isinstance(index, int) and 0 <= index < count):
                    self.found.wrong(self.nodes.path(one), "collisionFilter", f"there is no filter {index}; name another")
                    return None
                return index
        return None
