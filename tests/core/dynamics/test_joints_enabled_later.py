# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints that are switched on in mid-shot: they hold bodies where these are then, or pull them back to where they began."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.bake.joints import contradiction_warnings
from solver_core.dynamics.simulation import Simulation
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointChange, JointSpec
from solver_core.scene.parts import box
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec

AXES, FREE = (LOCKED, LOCKED, LOCKED), (FREE_AXIS, FREE_AXIS, FREE_AXIS)
G, FPS = 9.81, 24.0
SMOOTH = MaterialSpec(0.0, 0.0)


def scene(joints, *bodies, frames=48, gravity=0.0):
    return SceneSpec(tuple(bodies), gravity=np.array([0.0, 0.0, -gravity]), joints=tuple(joints), frame_end=frames, fps=FPS)


def crate(name="Crate", x=0.0, **more):
    return box(name, (0.2, 0.2, 0.2), (x, 0.0, 0.0), SMOOTH, 2.0, **more)


def glue(frame, a="", b="Crate", linear=AXES, angular=AXES, **more):
    given = {"linear": linear, "angular": angular, "enabled": False, "changes": (JointChange(frame, linear, angular),)}
    return JointSpec("Glue", a, b, **given, **more)


@pytest.mark.parametrize("angular", [AXES, FREE])
def test_a_falling_body_stops_where_it_is_when_it_is_glued_there(angular):
    joint = glue(12, angular=angular, position=np.zeros(3), holds_where_enabled=True)
    frames = Simulation(scene([joint], crate(), gravity=G, frames=36)).run()
    z = np.array([frame.poses[0, 2] for frame in frames])
    fallen = -0.5 * G * (11 / FPS) ** 2
    np.testing.assert_allclose(z[:12], -0.5 * G * (np.arange(12) / FPS) ** 2, atol=1e-9)
    np.testing.assert_allclose(z[12:], fallen, atol=1e-5)
    assert not any(frame.giving_way.any() for frame in frames)


def test_a_body_that_is_pulled_back_slowly_against_gravity_takes_whole_steps():
    """Its weight times the way back is energy that the joint is to add; steps were cut into 128 parts for it."""
    joint = glue(12, position=np.zeros(3))
    frames = Simulation(scene([joint], crate(), gravity=G, frames=18), recovery_speed=0.5).run()
    speed = 0.5 * 0.2 / np.sqrt(6.0)  # m/s, of radii of gyration
    z = np.array([frame.poses[0, 2] for frame in frames])
    np.testing.assert_allclose(np.diff(z[13:]) * FPS, speed, rtol=1e-3)
    assert not any(frame.statistics.cuts.any() for frame in frames[13:])


def test_two_bodies_that_turn_and_fly_are_one_from_the_frame_on_at_which_they_are_joined():
    """Momentum and angular momentum of the two about their common centre are those of before."""
    other = crate("Other", 0.7, velocity=(0.1, 0.2, -0.3))
    flying = crate(velocity=(0.3, -0.2, 0.1))
    joint = glue(10, "Crate", "Other", position=np.array([0.4, 0.0, 0.0]), holds_where_enabled=True)
    frames = Simulation(scene([joint], flying, other)).run()

    def apart(frame):
        return np.linalg.norm(frame.poses[1, :3] - frame.poses[0, :3])

    for frame in frames[10:]:
        assert apart(frame) == pytest.approx(apart(frames[9]), abs=1e-6)
    # of equal masses: the common centre goes on with the mean velocity
    centre = np.array([frame.poses[:, :3].mean(axis=0) for frame in frames])
    np.testing.assert_allclose(np.diff(centre, axis=0) * FPS, np.tile([0.2, 0.0, -0.1], (47, 1)), atol=1e-6)


def test_set_up_elsewhere_a_joint_pulls_its_bodies_back_slowly_and_contradicts_nothing():
    joint = glue(5, position=np.zeros(3))
    spec = scene([joint], crate(velocity=(1.0, 0.0, 0.0)), frames=60)
    frames = Simulation(spec).run()
    x = np.array([frame.poses[0, 0] for frame in frames])
    assert x[4] > 0.15 and x[-1] < 0.98 * x[6]
    speed = -np.diff(x[6:]) * FPS
    assert (speed > 0.0).all() and speed.max() < 0.1
    assert not [one for frame in frames for one in contradiction_warnings(frame, spec, ())]


def test_a_joint_alone_that_something_is_in_the_way_of_is_told_so():
    """Not of other constraints, of which there are none: a wall stands between its body and where that was set up."""
    path = np.tile([50.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (24, 1))
    path[11:, 0] = 11 / FPS - 0.15 - 0.0005
    shape = box("Wall", (0.1, 1.0, 1.0), (0.0, 0.0, 0.0), SMOOTH).shape
    wall = BodySpec("Wall", BodyKind.ANIMATED, shape, position=path[0, :3], path=path, teleports=(11,))
    spec = scene([glue(12, position=np.zeros(3))], crate(velocity=(1.0, 0.0, 0.0)), wall, frames=24)
    messages = [one.message for frame in Simulation(spec).run() for one in contradiction_warnings(frame, spec, ())]
    assert messages and "enabled at frame 13" in messages[0] and "other constraints" not in messages[0]


@pytest.mark.parametrize("stop", [4, 9, 14])
def test_a_bake_goes_on_from_a_checkpoint_before_and_after_a_joint_was_enabled(stop):
    springs = (AxisSpec(stiffness=40.0, damping=1.0), LOCKED, LOCKED)
    joint = glue(8, linear=springs, position=np.array([0.3, 0.1, 0.0]), holds_where_enabled=True)
    spec = scene([joint], crate(velocity=(1.0, 0.5, 0.0)), frames=20, gravity=G)
    whole = Simulation(spec)
    frames, kept = [whole.first_frame()], {}
    for number in range(2, 21):
        frames.append(whole.advance())
        kept[number] = whole.checkpoint()
    again = Simulation(spec)
    again.restore(stop, kept[stop])
    for number in range(stop + 1, 21):
        np.testing.assert_array_equal(again.advance().poses, frames[number - 1].poses)


def test_a_joint_that_is_enabled_twice_holds_where_it_is_enabled_each_time():
    on, off = (JointChange(frame, AXES, AXES, enabled=flag) for frame, flag in ((5, True), (10, False)))
    joint = JointSpec(
        "Glue", "", "Crate", enabled=False, changes=(on, off, JointChange(15, AXES, AXES)), holds_where_enabled=True
    )
    frames = Simulation(scene([joint], crate(), frames=30, gravity=G)).run()
    z = np.array([frame.poses[0, 2] for frame in frames])
    np.testing.assert_allclose(z[5:10], z[4], atol=1e-5)
    np.testing.assert_allclose(z[15:], z[14], atol=1e-5)
    assert z[14] < z[9] - 0.1


def test_a_joint_whose_body_its_keyframes_take_away_is_told_so():
    path = np.tile([5.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (12, 1))
    taken = replace(crate(), path=path, spans=((6, 11),))
    spec = scene([JointSpec("Hook", "", "Crate")], taken, frames=12)
    messages = [one.message for frame in Simulation(spec).run() for one in contradiction_warnings(frame, spec, ())]
    assert messages and "at frame 7" in messages[0] and "they follow keyframes" in messages[0]
