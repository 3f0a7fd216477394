# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs as characters have them: a skirt around a hip that is animated, hair on a head, and a doll that is thrown down."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.scene.joints import LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box, box_shape, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

__all__ = ["hair", "skirt", "thrown_doll"]

FPS = 30.0
CLOTH = MaterialSpec(0.7, 0.7)
DAMPED = {"linear_damping": 0.04, "angular_damping": 0.1}  # Blender's own values


def limited(x, y, z, stiffness=0.0, damping=0.0) -> tuple[AxisSpec, AxisSpec, AxisSpec]:
    """Limits of the three angles in degrees, with springs of N m/rad and dampers of N m s/rad."""
    first, second, third = (AxisSpec(math.radians(low), math.radians(high), stiffness, damping) for low, high in (x, y, z))
    return first, second, third


def with_damping(spec: SceneSpec) -> SceneSpec:
    """The scene with Blender's own damping of its active bodies."""
    bodies = [replace(one, **DAMPED) if one.kind is BodyKind.ACTIVE else one for one in spec.bodies]
    return replace(spec, bodies=tuple(bodies))


def keyed(frames: int, keys) -> np.ndarray:
    """Values (frames, k) at all frames, smooth between keys: (frame, values), and even after the last."""
    at, values = [frame for frame, _ in keys], np.array([value for _, value in keys], dtype=float)
    found = np.empty((frames, values.shape[1]))
    for frame in range(frames):
        k = int(np.clip(np.searchsorted(at, frame, side="right") - 1, 0, len(at) - 2))
        t = float(np.clip((frame - at[k]) / (at[k + 1] - at[k]), 0.0, 1.0))
        found[frame] = values[k] + t * t * (3.0 - 2.0 * t) * (values[k + 1] - values[k])
    return found


def animated(name, shape, start, pivot, ways, turns) -> BodySpec:
    """A body that moves by ways (frames, 3), and turns about a point by rotation vectors (frames, 3)."""
    rotation = Rotation.from_rotvec(turns)
    places = pivot + ways + rotation.apply(np.asarray(start, dtype=float) - pivot)
    path = np.hstack([places, rotation.as_quat(scalar_first=True)])
    return BodySpec(name, BodyKind.ANIMATED, shape, position=path[0, :3], orientation=path[0, 3:], path=path, material=CLOTH)


def skirt(frames: int, chains: int = 8, rows: int = 5, damping: float = 0.0) -> SceneSpec:
    """Chains of boxes of 50 g on springs around a hip and two legs, which turn to and fro within 48 frames, then stand."""
    turn, way = math.radians(60.0), 0.15
    keys = [(0, (0, 0)), (6, (0, 0)), (18, (turn, way)), (30, (-turn, -way)), (48, (0, 0))]
    motion = keyed(frames, keys)
    ways, turns = motion[:, 1:] * [[1.0, 0.0, 0.0]], motion[:, :1] * [[0.0, 0.0, 1.0]]
    moved = [("Hip", (0.26, 0.18, 0.16), (0.0, 0.0, 1.08))]
    moved += [(f"Leg {side}", (0.12, 0.12, 0.7), (0.09 * side, 0.0, 0.65)) for side in (-1, 1)]
    bodies = [animated(name, box_shape(size), at, np.zeros(3), ways, turns) for name, size, at in moved]
    joints, apart = [], []
    for c in range(chains):
        about = 2.0 * math.pi * c / chains
        frame = Rotation.from_euler("ZY", [about, -math.atan(0.35)])
        outward, before = np.array([math.cos(about), math.sin(about), 0.0]), "Hip"
        for r in range(rows):
            radius, height, name = 0.17 + 0.035 * (r + 0.5), 1.0 - 0.1 * (r + 0.5), f"Cloth {c} {r}"
            quaternion = frame.as_quat(scalar_first=True)
            place = radius * outward + [0.0, 0.0, height]
            bodies.append(box(name, (0.012, 0.09 + 0.02 * r, 0.09), place, CLOTH, 0.05, quaternion))
            angular = limited((-10.0, 10.0), (-45.0, 30.0), (-5.0, 5.0), stiffness=20.0, damping=damping)
            at = (radius - 0.0175) * outward + [0.0, 0.0, height + 0.05]
            joints.append(JointSpec(f"Joint {c} {r}", before, name, at, quaternion, angular=angular))
            apart.append((before, name))
            before = name
    return with_damping(SceneSpec(tuple(bodies), fps=FPS, frame_end=frames, joints=tuple(joints), excluded=tuple(apart)))


def hair(frames: int, strands: int = 20, links: int = 10) -> SceneSpec:
    """Strands of capsules of 20 g on springs, which hang from a head that nods and turns within 30 frames, then stands."""
    motion = keyed(frames, [(0, (0, 0)), (4, (0, 0)), (12, (0.5, 0.4)), (20, (-0.4, -0.4)), (30, (0, 0))])
    turns = motion[:, :1] * [[1.0, 0.0, 0.0]] + motion[:, 1:] * [[0.0, 0.0, 1.0]]
    head, length, apart = np.array([0.0, 0.0, 1.6]), 0.06, []
    bodies = [animated("Head", sphere_shape(0.1), head, head - [0.0, 0.0, 0.2], np.zeros((frames, 3)), turns)]
    joints, shape = [], ShapeSpec(ShapeKind.HULL, np.array([[0, 0, -0.3], [0, 0, 0.3]]) * length, margin=0.01)
    for s in range(strands):
        about = 2.0 * math.pi * s / strands
        root = head + 0.115 * np.array([math.cos(about), math.sin(about), 0.0])
        names = ["Head", *(f"Hair {s} {k}" for k in range(links))]
        apart += pairwise(names)
        for k in range(links):
            place = root - [0.0, 0.0, (k + 0.5) * length]
            bodies.append(BodySpec(names[k + 1], BodyKind.ACTIVE, shape, place, mass=0.02, material=CLOTH))
            angular = limited((-40.0, 40.0), (-40.0, 40.0), (-40.0, 40.0), stiffness=0.05, damping=0.002)
            joints.append(JointSpec(f"Root {s} {k}", names[k], names[k + 1], root - [0.0, 0.0, k * length], angular=angular))
    return with_damping(SceneSpec(tuple(bodies), fps=FPS, frame_end=frames, joints=tuple(joints), excluded=tuple(apart)))


def thrown_doll(spin=(0.0, 0.0, 0.0), velocity=(0.0, 0.0, 0.0)) -> SceneSpec:
    """A doll of twelve boxes over three steps and a floor, whose shoulders may turn by 150, 90 and 40 degrees."""
    boxes = [
        ("pelvis", (0.30, 0.18, 0.16), (0, 0.93), 12.0),
        ("chest", (0.34, 0.2, 0.40), (0, 1.23), 20.0),
        ("neck", (0.1, 0.1, 0.06), (0, 1.46), 1.0),
        ("head", (0.18, 0.2, 0.24), (0, 1.62), 5.0),
    ]
    joints = [
        ("pelvis", "chest", (0, 1.02), limited((-40, 20), (-20, 20), (-20, 20))),
        ("chest", "neck", (0, 1.43), limited((-30, 20), (-20, 20), (-30, 30))),
        ("neck", "head", (0, 1.49), limited((-30, 20), (-20, 20), (-30, 30))),
    ]
    for side, x in (("left", -1), ("right", 1)):
        boxes += [
            (f"thigh {side}", (0.14, 0.15, 0.40), (0.1 * x, 0.63), 8.0),
            (f"shin {side}", (0.12, 0.13, 0.42), (0.1 * x, 0.20), 4.0),
            (f"arm {side}", (0.10, 0.11, 0.30), (0.25 * x, 1.26), 2.5),
            (f"forearm {side}", (0.09, 0.10, 0.28), (0.25 * x, 0.96), 1.5),
        ]
        knee, elbow = ((AxisSpec(*np.radians(pair)), LOCKED, LOCKED) for pair in ((0, 130), (-130, 0)))
        joints += [
            ("pelvis", f"thigh {side}", (0.1 * x, 0.84), limited((-100, 25), (-35, 35), (-20, 20))),
            (f"thigh {side}", f"shin {side}", (0.1 * x, 0.42), knee),
            ("chest", f"arm {side}", (0.25 * x, 1.40), limited((-150, 60), (-90, 90), (-40, 40))),
            (f"arm {side}", f"forearm {side}", (0.25 * x, 1.10), elbow),
        ]
    over, spin, velocity = np.array([0.0, 0.0, 1.1]), np.asarray(spin, dtype=float), np.asarray(velocity, dtype=float)
    bodies, rough = [ground(CLOTH)], CLOTH
    for k, height in enumerate((0.9, 0.6, 0.3)):
        place = np.array([0.0, 0.2 - 0.6 * k, 0.5 * height])
        bodies.append(BodySpec(f"Step {k}", BodyKind.PASSIVE, box_shape((2.0, 0.6, height)), place, material=rough))
    for name, size, (x, z), mass in boxes:
        place = over + np.array([x, 0.0, z])
        arm = place - over - [0.0, 0.0, 1.0]
        made = box(name, size, place, rough, mass, velocity=velocity + np.cross(spin, arm))
        bodies.append(replace(made, angular_velocity=spin))
    found = [JointSpec(f"{a} to {b}", a, b, np.array([x, 0.0, 1.1 + z]), angular=angular) for a, b, (x, z), angular in joints]
    apart = tuple((a, b) for a, b, *_ in joints)
    return with_damping(SceneSpec(tuple(bodies), fps=FPS, frame_end=10**6, joints=tuple(found), excluded=apart))
