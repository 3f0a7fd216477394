# SPDX-License-Identifier: GPL-3.0-or-later
"""A described scene as glTF with KHR_physics_rigid_bodies and KHR_implicit_shapes, with Y up."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.body_mass import body_mass_properties
from ..scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from ..scene.spec import BodyKind, BodySpec, FrictionCombine, MaterialSpec, SceneSpec
from .described import Described, Found, Look, say_activation_left_out, say_surface_left_out
from .filters import collide
from .frames import MOTOR_SLACK, continuous, matrix_of, quaternion_of
from .gltf_file import BODIES, SHAPES, UP, Buffer, write_container
from .solids import Named, Solid, bare, leaves, solid_of

__all__ = ["write_document"]

Json = dict[str, Any]
Array = NDArray[np.float64]

COMBINE = {
    FrictionCombine.PRODUCT: "multiply",
    FrictionCombine.AVERAGE: "average",
    FrictionCombine.MINIMUM: "minimum",
    FrictionCombine.MAXIMUM: "maximum",
}


class Document:
    """The JSON of a document to write, with the entries that its nodes share: shapes, surfaces, joints and filters."""

    def __init__(self, scene: Described, found: Found):
        self.scene, self.found = scene, found
        self.json: Json = {
            "asset": {"version": "2.0", "generator": "Stiction"},
            "extensionsUsed": [BODIES, SHAPES],
            "scene": 0,
            "scenes": [{"nodes": []}],
            **{name: [] for name in ("nodes", "meshes", "materials", "accessors", "bufferViews", "animations")},
            "extensions": {},
        }
        self.buffer = Buffer(self.json)
        self.shapes: list[Json] = []
        self.surfaces: list[MaterialSpec] = []
        self.joints: list[Json] = []
        self.masks: list[int] = []

    def node(self, name: str, parent: int | None, position: Array, rotation: Array) -> int:
        """Add a node below a parent or in the scene, and return its index. position (3,) [m], rotation (3, 3): with Z up."""
        return self.placed_node(name, parent, UP @ position, quaternion_of(UP @ rotation @ UP.T))

    def placed_node(self, name: str, parent: int | None, position: Array, quaternion: Array) -> int:
        """As `node`, in the axes of glTF. quaternion: (4,), w first."""
        entry: Json = {"name": name}
        if np.any(position):
            entry["translation"] = position.tolist()
        if abs(quaternion[0]) < 1.0:
            entry["rotation"] = quaternion[[1, 2, 3, 0]].tolist()
        self.json["nodes"].append(entry)
        number = len(self.json["nodes"]) - 1
        below = self.json["scenes"][0]["nodes"] if parent is None else self.json["nodes"][parent].setdefault("children", [])
        below.append(number)
        return number

    def mesh(self, look: Look) -> int:
        """Add a mesh and return its index."""
        starts = np.cumsum(look.counts) - look.counts
        corners = [
            look.corners[[start, start + k, start + k + 1]]
            for start, count in zip(starts, look.counts, strict=True)
            for k in range(1, count - 1)
        ]
        part: Json = {
            "attributes": {"POSITION": self.buffer.add(look.points @ UP.T, "VEC3")},
            "indices": self.buffer.add(np.array(corners, dtype=np.int64).ravel(), "SCALAR"),
        }
        if look.colour is not None:
            self.json["materials"].append({"pbrMetallicRoughness": {"baseColorFactor": [*look.colour, 1.0]}})
            part["material"] = len(self.json["materials"]) - 1
        self.json["meshes"].append({"primitives": [part]})
        return len(self.json["meshes"]) - 1

    def physics(self, node: int) -> Json:
        """Return the rigid body extension of a node; creates it if there is none."""
        return self.json["nodes"][node].setdefault("extensions", {}).setdefault(BODIES, {})

    def shape(self, kind: str, values: Json) -> int:
        """Return the index of an implicit shape; adds it if no shape is equal to it."""
        entry = {"type": kind, kind: values}
        if entry not in self.shapes:
            self.shapes.append(entry)
        return self.shapes.index(entry)


def write_document(scene: Described, file: Path, found: Found) -> None:
    """Write the scene to a .glb or .gltf file. found: gets a warning for each feature that glTF lacks. Raises OSError."""
    document, spec = Document(scene, found), scene.spec
    document.masks = sorted({body.collections for body in spec.bodies})
    nodes = {body.name: write_body(document, body) for body in spec.bodies}
    for joint in spec.joints:
        write_joint(document, joint, nodes)
    extension: Json = {"physicsMaterials": [surface(spec, one) for one in document.surfaces]}
    if document.joints:
        extension["physicsJoints"] = document.joints
    if not collide(document.masks).all():
        extension["collisionFilters"] = filters(document.masks)
    # glTF has no properties for these, but allows extras.
    extension["extras"] = {"stiction": {"gravity": spec.gravity.tolist(), **times(spec)}}
    document.json["extensions"] = {BODIES: extension, SHAPES: {"shapes": document.shapes}}
    if not document.shapes:
        del document.json["extensions"][SHAPES]
        document.json["extensionsUsed"].remove(SHAPES)
    write_motion(document, nodes)
    say_left_out(spec, found)
    write_container(document.json, bytes(document.buffer.data), file)


def times(spec: SceneSpec) -> Json:
    return {
        "frame_start": spec.frame_start,
        "frame_end": spec.frame_end,
        "fps": spec.fps,
        "time_scale": spec.time_scale,
    }


def surface(spec: SceneSpec, material: MaterialSpec) -> Json:
    entry: Json = {
        "staticFriction": material.mu_static,
        "dynamicFriction": material.mu_dynamic,
        "restitution": material.restitution,
        "frictionCombine": COMBINE.get(spec.friction_combine, "average"),
        "restitutionCombine": COMBINE.get(spec.restitution_combine, "average"),
    }
    return entry | ({"name": material.name} if material.name else {})


def filters(masks: list[int]) -> list[Json]:
    """Return a filter for each mask, with the groups with which it does not collide."""
    table = collide(masks)
    names = [f"group {number + 1}" for number in range(len(masks))]
    return [
        {"collisionSystems": [name], "notCollideWithSystems": [other for k, other in enumerate(names) if not table[row, k]]}
        for row, name in enumerate(names)
    ]


def write_body(document: Document, body: BodySpec) -> int:
    """Add the node of a body, with its colliders and its mesh, and return its index."""
    found, turn = document.found, matrix_of(body.orientation)
    node = document.node(body.name, None, body.position, turn)
    if body.kind is not BodyKind.PASSIVE:
        document.physics(node)["motion"] = motion_of(body, turn)
    if body.kind is BodyKind.ACTIVE and body.path is not None:
        found.odd(body.name, "path", "the path that it follows at first is left out; the solver moves it from the start")
    look, parts = document.scene.looks.get(body.name), list(leaves(body.shape))
    for number, (shape, position, rotation) in enumerate(parts):
        solid = solid_of(shape)
        is_mesh = solid.kind in (Named.HULL, Named.MESH)
        offset, axes = position + rotation @ solid.position, rotation @ solid.rotation
        needs_node = bool(np.any(offset)) or not np.allclose(axes, np.eye(3), atol=0.0) or len(parts) > 1
        name = f"{body.name} Shape" if len(parts) == 1 else f"{body.name} Shape {number + 1}"
        collider_node = document.node(name, node, offset, axes) if needs_node else node
        is_shown = is_mesh and not needs_node and (look is None or has_points(look, solid))
        if is_shown:
            document.json["nodes"][node]["mesh"] = document.mesh(look or bare(solid))
        write_collider(document, collider_node, solid, body, is_shown=is_shown)
    if look is not None and "mesh" not in document.json["nodes"][node]:
        document.json["nodes"][node]["mesh"] = document.mesh(look)
    if body.deformation is not None:
        found.odd(body.name, "deformation", "the motion of its points is left out")
    return node


def has_points(look: Look, solid: Solid) -> bool:
    """Return True if a look has the points of a shape."""
    return look.points.shape == solid.points.shape and bool(np.allclose(look.points, solid.points, atol=1e-6))


def motion_of(body: BodySpec, turn: Array) -> Json:
    entry: Json = {}
    if body.kind is BodyKind.ANIMATED:
        return {"isKinematic": True}
    entry["mass"] = body_mass_properties(body).mass
    if body.inertia is not None:
        moments, axes = np.linalg.eigh(UP @ body.inertia @ UP.T)
        axes[:, 2] *= np.linalg.det(axes)
        entry["inertiaDiagonal"] = moments.tolist()
        entry["inertiaOrientation"] = quaternion_of(axes)[[1, 2, 3, 0]].tolist()
    if body.center_of_mass is not None:
        entry["centerOfMass"] = (UP @ body.center_of_mass).tolist()
    for name, values in (("linearVelocity", body.velocity), ("angularVelocity", body.angular_velocity)):
        if values.any():
            entry[name] = (UP @ turn.T @ values).tolist()
    return entry


def write_collider(document: Document, node: int, solid: Solid, body: BodySpec, *, is_shown: bool) -> None:
    """Add a collider to a node, in its axes. is_shown: the node has a mesh with the points of the collider."""
    geometry: Json
    match solid.kind:
        case Named.BOX:
            geometry = {"shape": document.shape("box", {"size": np.abs(UP @ solid.size).tolist()})}
        case Named.SPHERE:
            geometry = {"shape": document.shape("sphere", {"radius": solid.radius})}
        case Named.CAPSULE | Named.CYLINDER | Named.CONE:
            top = 0.0 if solid.kind is Named.CONE else solid.radius
            kind = "capsule" if solid.kind is Named.CAPSULE else "cylinder"
            values = {"height": solid.height, "radiusBottom": solid.radius, "radiusTop": top}
            geometry = {"shape": document.shape(kind, values)}
        case Named.PLANE:
            geometry = {"shape": document.shape("plane", {})}
        case _:
            shown = node
            if not is_shown:
                document.json["nodes"].append({"name": f"{body.name} Mesh", "mesh": document.mesh(bare(solid))})
                shown = len(document.json["nodes"]) - 1
            geometry = {"node": shown} | ({"convexHull": True} if solid.kind is Named.HULL else {})
    if solid.kind in (Named.HULL, Named.MESH) and solid.margin > 0.0:
        document.found.odd(body.name, "collision_margin", "glTF has no property for it; it is left out")
    if body.material not in document.surfaces:
        document.surfaces.append(body.material)
    collider: Json = {"geometry": geometry, "physicsMaterial": document.surfaces.index(body.material)}
    if not collide(document.masks).all():
        collider["collisionFilter"] = document.masks.index(body.collections)
    document.physics(node)["collider"] = collider


def write_joint(document: Document, joint: JointSpec, nodes: dict[str, int]) -> None:
    """Add a joint between two nodes at its frame, one in each body. Its axes keep their letters."""
    spec, found = document.scene.spec, document.found
    if not joint.enabled:
        found.odd(joint.name, "enabled", "glTF has no disabled joints; it is left out")
        return
    if math.isfinite(joint.breaking_impulse):
        found.odd(joint.name, "breaking_impulse", "joints in glTF do not break; its threshold is left out")
    if joint.strength is not None:
        found.odd(joint.name, "strength", "joints in glTF do not break; the strength of the bond is left out")
    if joint.changes:
        found.odd(joint.name, "changes", "its keyframes are left out; the file has the values of the first frame")
    ends = []
    bodies = {body.name: body for body in spec.bodies}
    for letter, name in (("A", joint.body_a), ("B", joint.body_b)):
        origin, turn = np.zeros(3), np.eye(3)
        if name:
            origin, turn = bodies[name].position, matrix_of(bodies[name].orientation)
        offset = UP @ turn.T @ (joint.position - origin)
        rotation = UP @ turn.T @ matrix_of(joint.orientation)
        title = joint.name if letter == "A" else f"{joint.name} {letter}"
        ends.append(document.placed_node(title, nodes.get(name), offset, quaternion_of(rotation)))
    entry = axes_of(joint)
    if entry not in document.joints:
        document.joints.append(entry)
    excluded = {frozenset(pair) for pair in spec.excluded}
    document.physics(ends[0])["joint"] = {
        "connectedNode": ends[1],
        "joint": document.joints.index(entry),
        "enableCollision": frozenset((joint.body_a, joint.body_b)) not in excluded,
    }


def axes_of(joint: JointSpec) -> Json:
    """Return the limits and drives of a joint."""
    limits: list[Json] = []
    drives: list[Json] = []
    for kind, axes in (("linear", joint.linear), ("angular", joint.angular)):
        for number, axis in enumerate(axes):
            if axis == FREE_AXIS:
                continue
            limit: Json = {f"{kind}Axes": [number]}
            limit |= {"min": axis.lower} if math.isfinite(axis.lower) else {}
            limit |= {"max": axis.upper} if math.isfinite(axis.upper) else {}
            if len(limit) > 1:
                limits.append(limit)
            if axis != LOCKED and (drive := drive_of(axis)) is not None:
                drives.append({"type": kind, "mode": "force", "axis": number, **drive})
    return ({"limits": limits} if limits else {}) | ({"drives": drives} if drives else {})


def drive_of(axis: AxisSpec) -> Json | None:
    """Return the spring of an axis, otherwise its motor, or None."""
    if axis.stiffness > 0.0 or axis.damping > 0.0:
        spring: Json = {"positionTarget": axis.rest, "stiffness": axis.stiffness} if axis.stiffness > 0.0 else {}
        return spring | ({"velocityTarget": 0.0, "damping": axis.damping} if axis.damping > 0.0 else {})
    if not axis.motor_force > 0.0:
        return None
    slow = MOTOR_SLACK * abs(axis.motor_velocity) or MOTOR_SLACK
    return {"velocityTarget": axis.motor_velocity, "damping": axis.motor_force / slow, "maxForce": axis.motor_force}


def write_motion(document: Document, nodes: dict[str, int]) -> None:
    """Add one animation with the paths of animated bodies and the baked motion of active bodies."""
    scene, spec = document.scene, document.scene.spec
    paths = {body.name: body.path for body in spec.bodies if body.kind is BodyKind.ANIMATED}
    paths |= {body.name: scene.motion.get(body.name) for body in spec.bodies if body.kind is BodyKind.ACTIVE}
    animation: Json = {"channels": [], "samplers": []}
    inputs: dict[int, int] = {}
    for name, path in paths.items():
        if path is None:
            continue
        if len(path) not in inputs:
            inputs[len(path)] = document.buffer.add(np.arange(len(path)) * spec.time_scale / spec.fps, "SCALAR")
        turns = continuous(quaternion_of(UP @ matrix_of(path[:, 3:]) @ UP.T))
        for target, values, kind in (
            ("translation", path[:, :3] @ UP.T, "VEC3"),
            ("rotation", turns[:, [1, 2, 3, 0]], "VEC4"),
        ):
            sampler = {"input": inputs[len(path)], "output": document.buffer.add(values, kind), "interpolation": "LINEAR"}
            animation["samplers"].append(sampler)
            channel = {"sampler": len(animation["samplers"]) - 1, "target": {"node": nodes[name], "path": target}}
            animation["channels"].append(channel)
    if animation["channels"]:
        document.json["animations"].append(animation)


def say_left_out(spec: SceneSpec, found: Found) -> None:
    """Add a warning for each feature of a scene that glTF lacks."""
    say_activation_left_out(spec, "glTF", found)
    for one in spec.fields:
        found.odd(one.name, "field", "glTF has no force fields; it is left out")
    for pair in spec.pairs:
        found.odd(f"{pair.a}, {pair.b}", "pairs", "glTF has no friction of pairs of materials; it is left out")
    if spec.friction_combine not in COMBINE:
        found.odd(
            "scene", "friction_combine", f"glTF has no combination rule {spec.friction_combine.value}; it is written as average"
        )
    if not np.allclose(spec.gravity, [0.0, 0.0, -9.81], atol=1e-2) or spec.gravity_path is not None:
        found.odd("gravity", "gravity", "glTF has no gravity; only Stiction reads that of the first frame from this file")
    if spec.speed_path is not None:
        message = "its change is left out: the motion is that of the frames, slow where Stiction's is, and gravity is not"
        found.odd("scene", "speed_path", message)
    joined = {frozenset((joint.body_a, joint.body_b)) for joint in spec.joints if joint.enabled}
    for pair in spec.excluded:
        if frozenset(pair) not in joined:
            found.odd(f"{pair[0]}, {pair[1]}", "excluded", "glTF has no pairs without collisions; they collide there")
    for body in spec.bodies:
        say_surface_left_out(body, "glTF", found)
        damped = body.linear_damping > 0.0 or body.angular_damping > 0.0
        if body.kind is BodyKind.ACTIVE and damped:
            found.odd(body.name, "damping", "glTF has no property for it; it is left out")
        if body.kind is BodyKind.ACTIVE and body.starts_asleep:
            found.odd(body.name, "starts_asleep", "glTF has no property for it; it is left out")
        if body.kind is BodyKind.ACTIVE and not (np.all(body.linear_factor == 1.0) and np.all(body.angular_factor == 1.0)):
            found.odd(body.name, "lock_location", "its locked axes are left out; use a constraint to the world for them")
