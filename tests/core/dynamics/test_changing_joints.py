# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints that become something else from frame to frame: motors that speed up, limits that move, what is let go."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointChange, JointSpec
from solver_core.scene.parts import box
from solver_core.scene.spec import MaterialSpec, SceneSpec
from solver_core.validation.findings import SceneError

G = 9.81
AXES = LOCKED, LOCKED, LOCKED
FREE = FREE_AXIS, FREE_AXIS, FREE_AXIS


def crate():
    return box("Crate", (0.2, 0.2, 0.2), (0.0, 0.0, 0.0), MaterialSpec(0.5, 0.5), 2.0)


def poses_with(joint, frames=48, gravity=(0.0, 0.0, -G), **settings):
    spec = SceneSpec((crate(),), gravity=np.array(gravity), joints=(joint,), frame_end=frames + 1)
    found = sc.Simulation(spec, **settings).run(frames)
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in found)
    return np.array([frame.poses[0] for frame in found])


def on_rail(x, changes=()):
    return JointSpec("Rail", "", "Crate", linear=(x, LOCKED, LOCKED), changes=changes)


def test_a_motor_has_the_speed_of_each_frame_on_the_way_to_it():
    speeds = 0.1 * np.arange(49)
    changes = tuple(
        JointChange(frame, (AxisSpec(motor_velocity=speeds[frame], motor_force=1e3), LOCKED, LOCKED), AXES)
        for frame in range(1, 49)
    )
    x = poses_with(on_rail(AxisSpec(motor_velocity=0.0, motor_force=1e3), changes))[:, 0]
    np.testing.assert_allclose(np.diff(x) * 24.0, speeds[1:], atol=1e-6)


@pytest.mark.parametrize("method", ["staggered", "pivot"])
def test_what_is_no_longer_held_falls_from_that_frame_on(method):
    held = JointSpec("Hook", "", "Crate", changes=(JointChange(25, AXES, AXES, enabled=False),))
    z = poses_with(held, method=method)[:, 2]
    np.testing.assert_allclose(z[:25], 0.0, atol=1e-6)
    time = (np.arange(25, 49) - 24) / 24.0
    np.testing.assert_allclose(z[25:], -0.5 * G * time * (time + 1.0 / 240.0), rtol=1e-4)


def test_a_sleeping_body_wakes_when_what_holds_it_lets_go():
    held = JointSpec("Hook", "", "Crate", changes=(JointChange(40, AXES, AXES, enabled=False),))
    assert poses_with(held, sleeping=True)[-1, 2] < -0.3


def test_a_limit_that_moves_on_lets_what_leans_on_it_go_on():
    law, later = AxisSpec(-1.0, 0.1), AxisSpec(-1.0, 0.3)
    changes = (JointChange(25, (later, LOCKED, LOCKED), AXES),)
    x = poses_with(on_rail(law, changes), gravity=(3.0, 0.0, 0.0))[:, 0]
    np.testing.assert_allclose(x[12:25], 0.1, atol=1e-6)
    np.testing.assert_allclose(x[-5:], 0.3, atol=1e-6)


def test_what_is_locked_later_stays_where_the_lock_has_it_and_what_is_unlocked_moves():
    changes = (JointChange(12, (FREE_AXIS, LOCKED, LOCKED), AXES), JointChange(24, (LOCKED, LOCKED, LOCKED), AXES))
    x = poses_with(on_rail(LOCKED, changes), gravity=(0.2, 0.0, 0.0), frames=120)[:, 0]
    np.testing.assert_allclose(x[:12], 0.0, atol=1e-6)
    assert x[23] == pytest.approx(0.5 * 0.2 * 0.5**2, rel=0.2)
    assert abs(x[-1]) < 1e-4


def test_a_spring_that_stiffens_pulls_what_hangs_on_it_up():
    soft, stiff = (AxisSpec(stiffness=k, damping=60.0) for k in (200.0, 800.0))
    joint = JointSpec("Spring", "", "Crate", linear=(LOCKED, LOCKED, soft))
    joint = JointSpec("Spring", "", "Crate", linear=joint.linear, changes=(JointChange(60, (LOCKED, LOCKED, stiff), AXES),))
    z = poses_with(joint, frames=120)[:, 2]
    assert z[58] == pytest.approx(-2.0 * G / 200.0, rel=1e-2)
    assert z[-1] == pytest.approx(-2.0 * G / 800.0, rel=1e-2)


def test_a_joint_that_weakens_breaks_then():
    changes = (JointChange(20, AXES, AXES, breaking_impulse=1e-3),)
    joint = JointSpec("Hook", "", "Crate", breaking_impulse=100.0, changes=changes)
    spec = SceneSpec((crate(),), joints=(joint,), frame_end=30)
    frames = sc.Simulation(spec, sleeping=False).run(29)
    assert [int(frame.broken[0]) for frame in frames] == [0] * 20 + [1] * 10


def test_a_run_resumed_among_changes_gives_the_same_bits():
    changes = tuple(
        JointChange(k, (AxisSpec(motor_velocity=0.1 * k, motor_force=1e3), LOCKED, LOCKED), AXES) for k in range(1, 20)
    )
    joint = on_rail(AxisSpec(motor_velocity=0.0, motor_force=1e3), changes)
    spec = SceneSpec((crate(),), joints=(joint,), frame_end=30)
    whole = sc.Simulation(spec)
    frames = whole.run(6)
    kept = {key: array.copy() for key, array in whole.checkpoint().items()}
    resumed = sc.Simulation(spec)
    resumed.restore(frames[-1].frame, kept)
    for _ in range(8):
        assert whole.advance().poses.tobytes() == resumed.advance().poses.tobytes()
    whole.restore(frames[-1].frame, kept)
    again = sc.Simulation(spec)
    again.restore(frames[-1].frame, kept)
    assert whole.advance().poses.tobytes() == again.advance().poses.tobytes()


def test_what_is_wrong_with_a_joint_at_a_later_frame_is_said_with_the_frame():
    bad = JointChange(4, (AxisSpec(1.0, -1.0), LOCKED, LOCKED), AXES)
    with pytest.raises(SceneError, match=r"Rail: linear.x.lower: .*above.*at frame 5"):
        sc.Simulation(SceneSpec((crate(),), joints=(on_rail(FREE_AXIS, (bad,)),)))
