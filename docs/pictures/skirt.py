# SPDX-License-Identifier: GPL-3.0-or-later
"""A skirt of eight chains of five boxes on *Generic Spring* constraints, around a figure that turns its hips to and fro.

Rigs that come with models of characters have such skirts: boxes of 50 g, limits of a few degrees, springs of 20 N m/rad.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import math

import bpy
import numpy as np
from mathutils import Matrix, Vector
from scipy.spatial.transform import Rotation

from stiction.addon.blender.actions import curves
from stiction.addon.demos.demo_scene import build_scene
from stiction.solver_core.scene.joints import AxisSpec, JointSpec
from stiction.solver_core.scene.parts import box, box_shape, ground, pair_material
from stiction.solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

CLOTH = pair_material(0.5)
CHAINS, ROWS = 8, 5
STIFFNESS, DAMPING = 20.0, 0.5  # N m/rad, N m s/rad
WAIST = 1.0  # m
FLARE = 0.35  # of the skirt, its tangent to the vertical
FIGURE = {
    "Hip": ((0.26, 0.18, 0.16), (0.0, 0.0, 1.08)),
    "Chest": ((0.3, 0.18, 0.34), (0.0, 0.0, 1.35)),
    "Head": ((0.16, 0.18, 0.22), (0.0, 0.0, 1.66)),
    "Left Leg": ((0.12, 0.12, 0.98), (0.09, 0.0, 0.5)),
    "Right Leg": ((0.12, 0.12, 0.98), (-0.09, 0.0, 0.5)),
}
TURNS = {1: 0.0, 7: 0.0, 19: 60.0, 31: -60.0, 49: 0.0}  # degrees at frames
FRAMES = 73


def skirt() -> SceneSpec:
    """The figure, which stands, and the skirt, which hangs from its hip."""
    bodies = [ground(CLOTH)]
    bodies += [
        BodySpec(name, BodyKind.PASSIVE, box_shape(size), np.array(at), material=CLOTH) for name, (size, at) in FIGURE.items()
    ]
    joints, excluded = [], []
    for chain in range(CHAINS):
        about = 2.0 * math.pi * chain / CHAINS
        outward = np.array([math.cos(about), math.sin(about), 0.0])
        orientation = Rotation.from_euler("ZY", [about, -math.atan(FLARE)]).as_quat(scalar_first=True)
        above = "Hip"
        for row in range(ROWS):
            name, radius, height = f"Cloth {chain} {row}", 0.17 + 0.1 * FLARE * (row + 0.5), WAIST - 0.1 * (row + 0.5)
            place = radius * outward + [0.0, 0.0, height]
            bodies.append(box(name, (0.012, 0.09 + 0.02 * row, 0.09), place, CLOTH, 0.05, orientation))
            limits = [math.radians(angle) for angle in (10.0, 45.0, 5.0)]
            springs = tuple(AxisSpec(-limit, limit, STIFFNESS, DAMPING) for limit in limits)
            top = (radius - 0.05 * FLARE) * outward + [0.0, 0.0, height + 0.05]
            joints.append(JointSpec(f"Seam {chain} {row}", above, name, top, orientation, angular=springs))
            excluded.append((above, name))
            above = name
    return SceneSpec(tuple(bodies), fps=30.0, frame_end=FRAMES, joints=tuple(joints), excluded=tuple(excluded))


def add_skirt(context: bpy.types.Context) -> None:
    """Add the scene, and key the turns of the figure."""
    build_scene(context, skirt(), "Skirt")
    for name, (_, at) in FIGURE.items():
        ob = bpy.data.objects[name]
        ob.rigid_body.kinematic = True
        for frame in range(1, FRAMES + 1):
            turn = Matrix.Rotation(math.radians(angle_at(frame)), 4, "Z")
            ob.location, ob.rotation_quaternion = turn @ Vector(at), turn.to_quaternion()
            ob.keyframe_insert("location", frame=frame)
            ob.keyframe_insert("rotation_quaternion", frame=frame)
        for curve in curves(ob):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"


def angle_at(frame: int) -> float:
    """Degrees by which the figure is turned, smooth between the keyframes."""
    keys = sorted(TURNS)
    after = next((key for key in keys if key > frame), keys[-1])
    before = max(key for key in keys if key <= frame and key <= after)
    share = (frame - before) / (after - before) if after > before else 1.0
    return TURNS[before] + share * share * (3.0 - 2.0 * share) * (TURNS[after] - TURNS[before])
