# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigid bodies of a glTF document: their nodes, shapes, masses, surfaces, filters and looks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.surfaces import mesh_surface
from ..scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, ShapeKind, ShapeSpec
from .described import Found, Look, shortened
from .filters import masks_of
from .frames import matrix_of, nearest_rotation, quaternion_of
from .gltf_file import SHAPES, UP, is_index, is_number, vector
from .gltf_nodes import Nodes
from .links import as_link
from .solids import Named, Solid, hull_if_open, placed, tapered

__all__ = ["Reader"]

Json = dict[str, Any]
Array = NDArray[np.float64]

# kg/m^3, of bodies without a mass.
DENSITY_OF_WATER = 1000.0
# Defaults of the schemas KHR_physics_rigid_bodies and KHR_implicit_shapes; lengths in m.
DEFAULT_FRICTION = 0.6
DEFAULT_BOX_SIZE = (1.0, 1.0, 1.0)
DEFAULT_SPHERE_RADIUS = 0.5
# Of capsules and cylinders.
DEFAULT_HEIGHT, DEFAULT_RADIUS = 0.5, 0.25


class Reader:
    """Reads the bodies of a document. extension: its KHR_physics_rigid_bodies."""

    def __init__(self, document: Json, nodes: Nodes, extension: Json, found: Found):
        self.nodes, self.extension, self.found = nodes, extension, found
        self.shapes = document.get("extensions", {}).get(SHAPES, {}).get("shapes", [])

    def groups(self) -> Iterator[tuple[int, list[int]]]:
        """Yield the node of each body, and the nodes of its colliders."""
        groups: dict[int, list[int]] = {}
        for number in self.nodes.above:
            extension = self.nodes.physics(number)
            if extension is None:
                continue
            if "trigger" in extension:
                self.found.odd(self.nodes.path(number), "trigger", "triggers are not simulated; it is left out")
            if "motion" in extension:
                groups.setdefault(number, [])
            if "collider" in extension:
                owner = self.nodes.owner(number)
                groups.setdefault(number if owner is None else owner, []).append(number)
        yield from groups.items()

    def body(self, number: int, colliders: list[int], name: str) -> BodySpec | None:
        """Return the body of a node, or None if a problem was added."""
        path, extension = self.nodes.path(number), self.nodes.physics(number) or {}
        motion = extension.get("motion")
        world = self.nodes.worlds[number]
        frame = np.eye(4)
        try:
            # The axes of a body have Z up as well.
            frame[:3, :3] = nearest_rotation(world[:3, :3]) @ UP
        except ValueError as error:
            self.found.wrong(path, "scale", str(error))
            return None
        frame[:3, 3] = world[:3, 3]
        is_active = motion is not None and not motion.get("isKinematic")
        shape = self.shape(colliders, np.linalg.inv(frame), is_active=is_active) if colliders else ShapeSpec(ShapeKind.NONE)
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

    def shape(self, colliders: list[int], to_body: Array, *, is_active: bool) -> ShapeSpec | None:
        """Return the shape of a body, or None if a problem was added.

        One collider is a shape in the axes of the body. Several are a compound, each in its own axes. to_body: (4, 4), from the
        world to the body frame. is_active: the solver moves the body, so open meshes become hulls.
        """
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
                frame = np.eye(4)
                if len(colliders) > 1:
                    frame[:3, :3], frame[:3, 3] = nearest_rotation(affine[:3, :3]) @ UP, affine[:3, 3]
                shape = placed(solid, np.linalg.inv(frame) @ affine)
            except ValueError as error:
                self.found.wrong(path, "scale", str(error))
                continue
            shape = hull_if_open(shape, path, self.found) if is_active else shape
            children.append(ChildSpec(shape, frame[:3, 3], quaternion_of(frame[:3, :3])))
        if len(children) < len(colliders):
            return None
        return children[0].shape if len(children) == 1 else ShapeSpec(ShapeKind.COMPOUND, children=tuple(children))

    def solid(self, number: int) -> Solid | None:
        """Return the shape of a collider in the axes of its node, or None if a problem was added."""
        path, geometry = self.nodes.path(number), (self.nodes.physics(number) or {})["collider"].get("geometry", {})
        if "node" in geometry:
            return self.mesh(number, geometry)
        index = geometry.get("shape")
        if not is_index(index, len(self.shapes)):
            self.found.wrong(path, "geometry", f"there is no shape {index!r}; name another, or a node with a mesh")
            return None
        kind = self.shapes[index].get("type")
        values = self.shapes[index].get(kind, {})
        if kind == "box":
            size = values.get("size", list(DEFAULT_BOX_SIZE))
            if not isinstance(size, list) or len(size) != 3:
                self.found.wrong(path, "size", f"{shortened(size)} is not a size; give the box three numbers above 0")
                return None
            return Solid(Named.BOX, size=np.array([self.length(path, kind, "size", value) for value in size]))
        if kind == "sphere":
            radius = values.get("radius", DEFAULT_SPHERE_RADIUS)
            return Solid(Named.SPHERE, radius=self.length(path, kind, "radius", radius))
        if kind == "plane":
            if "sizeX" in values or "sizeZ" in values:
                self.found.odd(path, "plane", "planes here are infinite; its size is left out")
            return Solid(Named.PLANE)
        if kind in ("capsule", "cylinder"):
            return self.round_solid(path, kind, values)
        self.found.wrong(path, "geometry", f"the shape {kind!r} is not supported; use a mesh")
        return None

    def length(self, path: str, kind: str, name: str, value: Any, *, can_be_zero: bool = False) -> float:
        """Return a length of a shape [m]. Adds a problem if it is not one, and returns 1."""
        if is_number(value) and math.isfinite(value) and (value > 0.0 or (can_be_zero and value == 0.0)):
            return float(value)
        range_of_values = "0 or more" if can_be_zero else "above 0"
        self.found.wrong(path, name, f"{shortened(value)} is not a length; give the {kind} one {range_of_values}")
        return 1.0

    def round_solid(self, path: str, kind: str, values: Json) -> Solid | None:
        """Return a capsule or a cylinder, or None if a problem was added.

        A cylinder with one radius of 0 is a cone. Others with two radii are hulls of points, with a warning.
        """
        height = self.length(path, kind, "height", values.get("height", DEFAULT_HEIGHT))
        bottom, top = (
            self.length(path, kind, name, values.get(name, DEFAULT_RADIUS), can_be_zero=True)
            for name in ("radiusBottom", "radiusTop")
        )
        if bottom == top == 0.0:
            self.found.wrong(path, "radiusTop", f"both radii of the {kind} are 0; make one of them greater than 0")
            return None
        solid_kind = Named.CAPSULE if kind == "capsule" else Named.CYLINDER
        if bottom == top:
            return Solid(solid_kind, rotation=UP, radius=bottom, height=height)
        if solid_kind is Named.CYLINDER and 0.0 in (bottom, top):
            turn = np.array(UP, dtype=np.float64)
            if top > 0.0:
                turn[:, 1:] *= -1.0
            return Solid(Named.CONE, rotation=turn, radius=max(bottom, top), height=height)
        self.found.odd(path, "radiusTop", f"a {kind} with two radii becomes the hull of points on its surface")
        return tapered(solid_kind, (bottom, top), height, UP)

    def mesh(self, number: int, geometry: Json) -> Solid | None:
        """Return the shape of a collider with a mesh, or None if a problem was added."""
        path, shown, problems = self.nodes.path(number), geometry["node"], len(self.found.problems)
        look = self.nodes.look(shown) if is_index(shown, len(self.nodes.all)) else None
        if look is None:
            if len(self.found.problems) == problems:
                self.found.wrong(path, "geometry", f"node {shown!r} has no mesh; name a node with a mesh, or a shape")
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
        """Return the material of the first collider, or the default of a body without colliders."""
        if not colliders:
            return MaterialSpec()
        numbers = {(self.nodes.physics(number) or {})["collider"].get("physicsMaterial") for number in colliders}
        if len(numbers) > 1:
            self.found.odd(path, "physicsMaterial", "its colliders differ in material; a body has one surface here")
        number = (self.nodes.physics(colliders[0]) or {})["collider"].get("physicsMaterial")
        materials = self.extension.get("physicsMaterials", [])
        if number is None:
            return MaterialSpec()
        if not is_index(number, len(materials)):
            self.found.wrong(path, "physicsMaterial", f"there is no material {number!r}; name another")
            return MaterialSpec()
        material = materials[number]
        defaults = {"staticFriction": DEFAULT_FRICTION, "dynamicFriction": DEFAULT_FRICTION, "restitution": 0.0}
        values = [material.get(name, value) for name, value in defaults.items()]
        if not self.found.is_finite(path, "physicsMaterial", values):
            return MaterialSpec()
        if min(values) < 0.0 or values[2] > 1.0:
            self.found.wrong(
                path, "physicsMaterial", f"{values}: friction must be 0 or more, restitution between 0 and 1; correct it"
            )
            return MaterialSpec()
        return MaterialSpec(*map(float, values), name=str(material.get("name", "")))

    def moving(self, body: BodySpec, motion: Json, path: str, to_body: Array) -> BodySpec:
        """Return a body with its mass, center of mass, inertia and velocities.

        to_body: (4, 4), from the space of the node, which may be scaled, to the body frame.
        """
        mass = motion.get("mass")
        if mass is not None and self.found.is_finite(path, "mass", mass):
            if mass < 0.0:
                self.found.wrong(path, "mass", f"it is {mass:g}; make it above 0, or remove it")
            # 0 means an infinite mass, so the body moves along no axis.
            body = replace(body, mass=float(mass)) if mass else replace(body, mass=1.0, linear_factor=np.zeros(3))
        elif body.shape.kind is not ShapeKind.NONE:
            body = replace(body, density=DENSITY_OF_WATER)
        factor = motion.get("gravityFactor", 1.0)
        if self.found.is_finite(path, "gravityFactor", factor) and factor != 1.0:
            self.found.odd(path, "gravityFactor", "gravity here is the same for all bodies; the factor is left out")
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
        return self.with_inertia(body, motion, path)

    def with_inertia(self, body: BodySpec, motion: Json, path: str) -> BodySpec:
        """Return a body with the moments of inertia of a motion, if it has any."""
        moments, orientation = motion.get("inertiaDiagonal"), motion.get("inertiaOrientation", [0, 0, 0, 1])
        if moments is None or not self.found.is_finite(path, "inertiaDiagonal", moments):
            return body
        if not any(moments):
            return replace(body, angular_factor=np.zeros(3))
        if min(moments) <= 0.0:
            self.found.wrong(path, "inertiaDiagonal", f"{moments} are not moments of inertia; make them all above 0")
        if not self.found.is_finite(path, "inertiaOrientation", orientation):
            return body
        axes = UP.T @ matrix_of(vector(orientation, 4)[[3, 0, 1, 2]])
        inertia = axes @ np.diag(moments) @ axes.T
        return replace(body, inertia=0.5 * (inertia + inertia.T))

    def look(self, number: int, body: BodySpec) -> Look | None:
        """Return all meshes of a body, in its frame, or None."""
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = matrix_of(body.orientation), body.position
        if body.path is not None:
            frame[:3, :3] = nearest_rotation(self.nodes.worlds[number][:3, :3]) @ UP
            frame[:3, 3] = self.nodes.worlds[number][:3, 3]
        looks = []
        for node in self.nodes_of_body(number):
            if (look := self.nodes.look(node)) is None:
                continue
            affine = np.linalg.inv(frame) @ self.nodes.worlds[node]
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

    def nodes_of_body(self, number: int) -> Iterator[int]:
        """Yield the node of a body and its descendants, except those of other bodies."""
        waiting = [number]
        while waiting:
            one = waiting.pop(0)
            extension = self.nodes.physics(one)
            is_static = extension is not None and "collider" in extension and self.nodes.owner(one) is None
            if one != number and extension is not None and ("motion" in extension or is_static):
                continue
            yield one
            waiting += self.nodes.all[one].get("children", [])

    def with_collections(self, bodies: dict[int, BodySpec]) -> list[BodySpec]:
        """Return the bodies, by node, with collision collections that have the effect of their filters."""
        filters = self.extension.get("collisionFilters", [])
        if not filters:
            return list(bodies.values())
        systems = [set(one.get("collisionSystems", [])) for one in filters]
        n = len(filters)
        collides = np.ones((n + 1, n + 1), dtype=bool)
        for i in range(n):
            for j in range(n):
                collides[i, j] = admits(filters[j], systems[i]) and admits(filters[i], systems[j])
        masks, lost = masks_of(collides)
        if lost:
            self.found.odd(
                "collisionFilters", "collisionFilters", "they need more than 20 collections; some bodies do not collide"
            )
        result = []
        for number, body in bodies.items():
            index = self.filter_of(number, n)
            result.append(replace(body, collections=masks[-1] if index is None else masks[index]))
        return result

    def filter_of(self, number: int, count: int) -> int | None:
        """Return the index of the filter of a body's first collider, below `count`, or None."""
        for one in self.nodes_of_body(number):
            extension = self.nodes.physics(one)
            if extension is not None and "collider" in extension:
                index = extension["collider"].get("collisionFilter")
                if index is not None and not is_index(index, count):
                    self.found.wrong(self.nodes.path(one), "collisionFilter", f"there is no filter {index!r}; name another")
                    return None
                return index
        return None


def admits(collision_filter: Json, systems: set[str]) -> bool:
    """Return True if a filter lets its bodies collide with bodies in some collision systems."""
    only, never = collision_filter.get("collideWithSystems"), set(collision_filter.get("notCollideWithSystems", []))
    return (only is None or systems <= set(only)) and not (systems and systems <= never)
