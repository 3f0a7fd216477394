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
    """The JSON of a document, and what of it is shared."""

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
        """Add a node at a place (3,) and rotation (3, 3) with Z up, below another one or in the scene; returns its number."""
        return self.placed_node(name, parent, UP @ position, quaternion_of(UP @ rotation @ UP.T))

    def placed_node(self, name: str, parent: int | None, position: Array, quaternion: Array) -> int:
        """The same in the axes of glTF."""
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
        """Add triangles."""
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
        """The extension of a node."""
        return self.json["nodes"][node].setdefault("extensions", {}).setdefault(BODIES, {})

    def shape(self, kind: str, values: Json) -> int:
        """Add an implicit shape, or find it."""
        entry = {"type": kind, kind: values}
        if entry not in self.shapes:
            self.shapes.append(entry)
        return self.shapes.index(entry)


def write_document(scene: Described, file: Path, found: Found) -> None:
    """Write the scene to a .glb or .gltf file; what has no place in it is added to `found`. Raises OSError."""
    document, spec = Document(scene, found), scene.spec
    document.masks = sorted({body.collections for body in spec.bodies})
    nodes = {body.name: write_body(document, body) for body in spec.bodies}
    for joint in spec.joints:
        write_joint(document, joint, nodes)
    own: Json = {"physicsMaterials": [surface(spec, one) for one in document.surfaces]}
    if document.joints:
        own["physicsJoints"] = document.joints
    if not collide(document.masks).all():
        own["collisionFilters"] = filters(document.masks)
    # glTF has no place for these, and lets anybody add to its own
    own["extras"] = {"stiction": {"gravity": spec.gravity.tolist(), **times(spec)}}
    document.json["extensions"] = {BODIES: own, SHAPES: {"shapes": document.shapes}}
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
    """A filter for each mask, which names those that it does not collide with."""
    table = collide(masks)
    names = [f"group {number + 1}" for number in range(len(masks))]
    return [
        {"collisionSystems": [name], "notCollideWithSystems": [other for k, other in enumerate(names) if not table[row, k]]}
        for row, name in enumerate(names)
    ]


def write_body(document: Document, body: BodySpec) -> int:
    """The node of a body, with those of its shapes and of what shows it."""
    found, turn = document.found, matrix_of(body.orientation)
    node = document.node(body.name, None, body.position, turn)
    own = document.physics(node)
    if body.kind is not BodyKind.PASSIVE:
        own["motion"] = motion_of(body, turn)
    if body.kind is BodyKind.ACTIVE and body.path is not None:
        found.odd(body.name, "path", "the motion that it follows at first is left out; the solver moves it from the start")
    look, parts = document.scene.looks.get(body.name), list(leaves(body.shape))
    for number, (shape, position, rotation) in enumerate(parts):
        solid = solid_of(shape)
        is_mesh = solid.kind in (Named.HULL, Named.MESH)
        at, about = position + rotation @ solid.position, rotation @ solid.rotation
        is_aside = bool(np.any(at)) or not np.allclose(about, np.eye(3), atol=0.0) or len(parts) > 1
        name = f"{body.name} Shape" if len(parts) == 1 else f"{body.name} Shape {number + 1}"
        place = document.node(name, node, at, about) if is_aside else node
        is_seen = is_mesh and not is_aside and (look is None or has_points(look, solid))
        if is_seen:
            document.json["nodes"][node]["mesh"] = document.mesh(look or bare(solid))
        write_collider(document, place, solid, body, is_seen=is_seen)
    if look is not None and "mesh" not in document.json["nodes"][node]:
        document.json["nodes"][node]["mesh"] = document.mesh(look)
    if body.deformation is not None:
        found.odd(body.name, "deformation", "the motion of its points is left out")
    return node


def has_points(look: Look, solid: Solid) -> bool:
    """Whether a look has the points of a shape."""
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


def write_collider(document: Document, node: int, solid: Solid, body: BodySpec, *, is_seen: bool) -> None:
    """The collider of a node, about its own origin and axes."""
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
            if not is_seen:
                document.json["nodes"].append({"name": f"{body.name} Mesh", "mesh": document.mesh(bare(solid))})
                shown = len(document.json["nodes"]) - 1
            geometry = {"node": shown} | ({"convexHull": True} if solid.kind is Named.HULL else {})
    if solid.kind in (Named.HULL, Named.MESH) and solid.margin > 0.0:
        document.found.odd(body.name, "collision_margin", "glTF has no place for it; it is left out")
    if body.material not in document.surfaces:
        document.surfaces.append(body.material)
    collider: Json = {"geometry": geometry, "physicsMaterial": document.surfaces.index(body.material)}
    if not collide(document.masks).all():
        collider["collisionFilter"] = document.masks.index(body.collections)
    document.physics(node)["collider"] = collider


def write_joint(document: Document, joint: JointSpec, nodes: dict[str, int]) -> None:
    """Two nodes where the joint's frame is in both bodies; its axes keep their letters."""
    spec, found = document.scene.spec, document.found
    if not joint.enabled:
        found.odd(joint.name, "enabled", "a joint that is switched off has no place in glTF; it is left out")
        return
    if math.isfinite(joint.breaking_impulse):
        found.odd(joint.name, "breaking_impulse", "a joint of glTF does not break; its threshold is left out")
    if joint.strength is not None:
        found.odd(joint.name, "strength", "a joint of glTF does not break; the strength of the bond is left out")
    if joint.changes:
        found.odd(joint.name, "changes", "its keyed values are left out; the file has those of the first frame")
    ends = []
    bodies = {body.name: body for body in spec.bodies}
    for letter, name in (("A", joint.body_a), ("B", joint.body_b)):
        place, turn = np.zeros(3), np.eye(3)
        if name:
            place, turn = bodies[name].position, matrix_of(bodies[name].orientation)
        at = UP @ turn.T @ (joint.position - place)
        rotation = UP @ turn.T @ matrix_of(joint.orientation)
        title = joint.name if letter == "A" else f"{joint.name} {letter}"
        ends.append(document.placed_node(title, nodes.get(name), at, quaternion_of(rotation)))
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
    """The spring, or else the motor, of an axis."""
    if axis.stiffness > 0.0 or axis.damping > 0.0:
        spring: Json = {"positionTarget": axis.rest, "stiffness": axis.stiffness} if axis.stiffness > 0.0 else {}
        return spring | ({"velocityTarget": 0.0, "damping": axis.damping} if axis.damping > 0.0 else {})
    if not axis.motor_force > 0.0:
        return None
    slow = MOTOR_SLACK * abs(axis.motor_velocity) or MOTOR_SLACK
    return {"velocityTarget": axis.motor_velocity, "damping": axis.motor_force / slow, "maxForce": axis.motor_force}


def write_motion(document: Document, nodes: dict[str, int]) -> None:
    """The paths of animated bodies, and the motion of baked ones, as one animation."""
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
    say_activation_left_out(spec, "glTF", found)
    for one in spec.fields:
        found.odd(one.name, "field", "force fields have no place in glTF; it is left out")
    for pair in spec.pairs:
        found.odd(f"{pair.a}, {pair.b}", "pairs", "the friction of pairs of materials has no place in glTF; it is left out")
    if spec.friction_combine not in COMBINE:
        found.odd("scene", "friction_combine", f"glTF has no rule {spec.friction_combine.value}; average is written")
    if not np.allclose(spec.gravity, [0.0, 0.0, -9.81], atol=1e-2) or spec.gravity_path is not None:
        found.odd("gravity", "gravity", "glTF has no gravity; only Stiction reads that of the first frame from this file")
    if spec.speed_path is not None:
        message = "its change is left out: the motion is that of the frames, slow where Stiction's is, and gravity is not"
        found.odd("scene", "speed_path", message)
    joined = {frozenset((joint.body_a, joint.body_b)) for joint in spec.joints if joint.enabled}
    for pair in spec.excluded:
        if frozenset(pair) not in joined:
            found.odd(
                f"{pair[0]}, {pair[1]}", "excluded", "pairs that do not collide have no place in glTF; they collide there"
            )
    for body in spec.bodies:
        say_surface_left_out(body, "glTF", found)
        damped = body.linear_damping > 0.0 or body.angular_damping > 0.0
        if body.kind is BodyKind.ACTIVE and damped:
            found.odd(body.name, "damping", "glTF has no place for it; it is left out")
        if body.kind is BodyKind.ACTIVE and body.starts_asleep:
            found.odd(body.name, "starts_asleep", "glTF has no place for it; it is left out")
        if body.kind is BodyKind.ACTIVE and not (np.all(body.linear_factor == 1.0) and np.all(body.angular_factor == 1.0)):
            found.odd(body.name, "lock_location", "its locked axes are left out; use a constraint to the world for them")
