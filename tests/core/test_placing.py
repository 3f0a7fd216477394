# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene seen in a mirror, or turned in space, moves as the scene does, seen in that mirror or turned."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box_shape, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from .bodies import body, material
from .placing import Placement, mirrored, turned

TURN = Rotation.from_rotvec([0.3, -0.7, 1.1])
PLACEMENTS = [Placement(is_mirrored=True), Placement(rotation=TURN), Placement(True, TURN)]
# nothing in it is its own mirror image
LOPSIDED = ShapeSpec(
    ShapeKind.COMPOUND,
    children=(
        ChildSpec(box_shape((0.3, 0.1, 0.1)), np.array([0.05, 0.0, 0.0]), np.array([0.9, 0.1, 0.3, -0.3])),
        ChildSpec(sphere_shape(0.08), np.array([-0.1, 0.05, 0.1])),
    ),
)


def lopsided_scene() -> SceneSpec:
    """A compound that flies onto a slope, and a box that a spring, limits and a motor tie to an animated one."""
    first = BodySpec(
        "Compound",
        BodyKind.ACTIVE,
        LOPSIDED,
        position=np.array([0.1, 0.2, 0.5]),
        orientation=np.array([0.8, 0.2, -0.4, 0.4]) / math.sqrt(0.64 + 0.04 + 0.16 + 0.16),
        velocity=np.array([0.5, -0.2, -1.0]),
        angular_velocity=np.array([3.0, -2.0, 1.0]),
        mass=1.0,
        material=material(0.4),
    )
    box = body("Box", position=(2.0, 0.3, 1.0), angular_velocity=(0.5, 0.0, 1.0), inertia=np.diag([0.01, 0.012, 0.015]))
    times = np.arange(30)[:, None] / 24.0
    path = np.concatenate([[3.0, 1.0, 0.0] + times * [0.3, -0.2, 0.1], np.tile([1.0, 0.0, 0.0, 0.0], (30, 1))], axis=1)
    mover = BodySpec("Mover", BodyKind.ANIMATED, box_shape((0.1, 0.2, 0.3)), path[0, :3], path=path)
    along = AxisSpec(lower=-0.2, upper=0.05, stiffness=30.0, rest=0.04)
    about = AxisSpec(motor_velocity=2.0, motor_force=0.5)
    joint = JointSpec(
        "Joint",
        "Mover",
        "Box",
        np.array([2.4, 0.6, 0.7]),
        np.array([0.9, 0.3, 0.1, -0.3]),
        linear=(along, LOCKED, LOCKED),
        angular=(FREE_AXIS, LOCKED, about),
    )
    slope = BodySpec("Slope", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE), material=material(0.4))
    gravity = np.array([1.0, -2.0, -9.0])
    joint = replace(joint, orientation=unit(joint.orientation))
    return SceneSpec((slope, first, box, mover), gravity=gravity, joints=(joint,), frame_end=30)


def unit(vector):
    return vector / np.linalg.norm(vector)


@pytest.mark.slow
@pytest.mark.parametrize("placement", PLACEMENTS, ids=["mirrored", "turned", "both"])
def test_a_scene_that_is_placed_otherwise_moves_alike(placement):
    spec = lopsided_scene()
    frames, placed = (sc.Simulation(one).run(8) for one in (spec, placement.applied(spec)))
    for frame, other in zip(frames, placed, strict=True):
        assert np.abs(placement.undone(other.poses[:, :3]) - frame.poses[:, :3]).max() < 1e-5
        back = placement.undone_orientations(other.poses[:, 3:])
        assert np.abs(np.abs((back * frame.poses[:, 3:]).sum(axis=1)) - 1.0).max() < 1e-8
        assert np.abs(placement.undone(other.velocities[:, :3]) - frame.velocities[:, :3]).max() < 1e-3
        assert np.abs(placement.undone_axial(other.velocities[:, 3:]) - frame.velocities[:, 3:]).max() < 1e-2


def test_a_mirror_image_of_a_mirror_image_is_the_scene():
    spec = lopsided_scene()
    again = mirrored(mirrored(spec))
    for one, other in zip(spec.bodies, again.bodies, strict=True):
        assert np.array_equal(one.position, other.position) and np.array_equal(one.orientation, other.orientation)
        assert np.array_equal(one.shape.vertices, other.shape.vertices)
    assert again.joints[0].linear == spec.joints[0].linear and again.joints[0].angular == spec.joints[0].angular


def test_what_belongs_to_axes_of_the_world_is_refused():
    spec = SceneSpec((body(linear_factor=np.array([1.0, 1.0, 0.0])),))
    for place in (mirrored, lambda one: turned(one, TURN)):
        with pytest.raises(ValueError, match="a locked axis"):
            place(spec)
