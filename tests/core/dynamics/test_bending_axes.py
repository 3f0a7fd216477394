# SPDX-License-Identifier: GPL-3.0-or-later
"""Sliders, motors and limits on bodies that bend, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.deformable.bricks import attached
from solver_core.deformable.reduced_body import joint_loads, prepared
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import ground
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..bodies import material
from ..deformable.beams import DENSITY, divided

SIZE, YOUNG = np.array([1.0, 0.08, 0.04]), 4e8
STIFFNESS = YOUNG * SIZE[1] * SIZE[2] ** 3 / 12.0
MASS = DENSITY * SIZE.prod()
WEIGHT = 9.81 * MASS


def board(law, damping_ratio=0.5, **changes) -> BodySpec:
    deformable = DeformableSpec(law, YOUNG, 0.3, modes=12, resolution=50, damping_ratio=damping_ratio)
    one = BodySpec("Board", BodyKind.ACTIVE, divided(SIZE, (10, 1, 1)), density=DENSITY, material=material(0.5))
    return replace(one, deformable=deformable, **changes)


def held_by(body, linear=(LOCKED, LOCKED, LOCKED), angular=(LOCKED, LOCKED, LOCKED), gravity=9.81):
    """The body on a joint of the world at its left end, and its modes."""
    joint = JointSpec("Joint", "", "Board", np.array([-0.5, 0.0, 0.0]), linear=linear, angular=angular)
    spec = SceneSpec((body,), joints=(joint,), gravity=np.array([0.0, 0.0, -gravity]))
    return spec, prepared(body, joint_loads(spec, 0))


def height(frame, modes, x):
    """m, over the world's zero: what is held at x of the board."""
    at = np.array([x, 0.0, 0.0])
    own = at + attached(modes.bricks, at)[0] @ frame.modal
    return (frame.poses[0, :3] + Rotation.from_quat(frame.poses[0, 3:], scalar_first=True).apply(own))[2]


@pytest.mark.slow
@pytest.mark.parametrize("law", [pytest.param(Elasticity.LINEAR, marks=pytest.mark.long), Elasticity.STVK])
def test_a_board_that_slides_along_a_rail_sags_as_a_cantilever_and_goes_on_as_fast(law):
    """w L^4 / (8 E I); nothing along the rail pushes it."""
    spec, modes = held_by(board(law, velocity=np.array([0.7, 0.0, 0.0])), (FREE_AXIS, LOCKED, LOCKED))
    frame = sc.Simulation(spec, modes={0: modes}, sleeping=False).run(36)[-1]
    assert frame.poses[0, 0] == pytest.approx(0.7 * 1.5, rel=2e-3)
    assert -height(frame, modes, 0.5) == pytest.approx(WEIGHT / (8.0 * STIFFNESS), rel=0.12)
    np.testing.assert_allclose(frame.reactions[0, [0, 2, 4]], [0.0, WEIGHT, -0.5 * WEIGHT], rtol=0.01, atol=1e-3 * WEIGHT)


@pytest.mark.slow
@pytest.mark.parametrize("law", [Elasticity.LINEAR, pytest.param(Elasticity.STVK, marks=pytest.mark.long)])
def test_a_motor_turns_a_board_as_fast_as_its_moment_and_its_target_say(law):
    """A moment M gives the angular momentum M t about the hinge, however the board bends; then the target's speed."""
    moment, speed = 2.0, 3.0
    motor = AxisSpec(motor_velocity=speed, motor_force=moment)
    spec, modes = held_by(board(law), angular=(LOCKED, motor, LOCKED), gravity=0.0)
    inertia = MASS * ((SIZE[0] ** 2 + SIZE[2] ** 2) / 12.0 + 0.25)
    simulation = sc.Simulation(spec, modes={0: modes}, sleeping=False)
    frames = simulation.frames(60)
    early = [(next(frames), simulation.checkpoint())[1] for _ in range(10)][-1]
    about = np.cross(early["position"][0] - [-0.5, 0.0, 0.0], MASS * early["velocity"][0]) + early["angular_momentum"][0]
    assert about[1] == pytest.approx(moment * 9.0 / 24.0, rel=0.02)
    assert speed * inertia > moment * 9.0 / 24.0
    assert list(frames)[-1].velocities[0, 4] == pytest.approx(speed, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("law", [Elasticity.LINEAR, pytest.param(Elasticity.STVK, marks=pytest.mark.long)])
def test_a_board_on_a_hinge_hangs_from_its_limit_as_a_cantilever(law):
    """Down by the angle of the limit, which bears half its weight times its length as a moment."""
    limit = 0.05
    spec, modes = held_by(board(law), angular=(LOCKED, AxisSpec(-limit, limit), LOCKED))
    frame = sc.Simulation(spec, modes={0: modes}, sleeping=False).run(48)[-1]
    below = -height(frame, modes, 0.5) - np.sin(limit)
    assert below == pytest.approx(WEIGHT / (8.0 * STIFFNESS), rel=0.12)
    np.testing.assert_allclose(frame.reactions[0, [2, 4]], [WEIGHT, -0.5 * WEIGHT], rtol=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("law", [pytest.param(Elasticity.LINEAR, marks=pytest.mark.long), Elasticity.STVK])
def test_locked_axes_hold_the_whole_of_a_body_and_leave_it_to_bend(law):
    """A board that may fall and turn about one axis bends as it lands; a stiff one lands as the rigid one does."""
    lean = Rotation.from_rotvec([0.0, 0.3, 0.0]).as_quat(scalar_first=True)
    locks = {"linear_factor": np.array([1.0, 0.0, 1.0]), "angular_factor": np.array([0.0, 1.0, 0.0])}
    falls = board(law, 0.02, position=np.array([0.0, 0.0, 0.3]), orientation=lean, velocity=np.array([0.0, 0.5, -1.0]), **locks)
    found = {}
    for young in (1e7, 1e13, None):
        spec = None if young is None else replace(falls.deformable, young=young)
        scene = SceneSpec((replace(falls, deformable=spec), ground(material(0.5))))
        found[young] = sc.Simulation(scene, sleeping=False).run(10)
        assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in found[young][1:])
        poses = np.array([frame.poses[0] for frame in found[young]])
        assert np.abs(poses[:, [1, 4, 6]]).max() < 1e-12
    assert np.abs(np.array([frame.modal for frame in found[1e7]])).max() > 1e-3
    np.testing.assert_allclose(found[1e13][-1].poses[0], found[None][-1].poses[0], atol=1e-3)
