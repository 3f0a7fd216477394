# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints that are driven, sprung and limited: motors, springs, dampers and limits against the closed forms of mechanics."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.joints import LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box

from ..bodies import poses
from ..chains import G, scene
from ..jointed_runs import NONE, ROD, ROUGH, box_moments, hinge, run, solved


def test_a_limit_that_is_hit_does_not_ring():
    rod = box("Rod", ROD, (0.5, 0.0, 0.0), ROUGH)
    frames = run(scene([rod], [hinge("Nail", "", "Rod", NONE, law=AxisSpec(-1.0, 0.5))]), 240)
    angle = 2.0 * np.arctan2(poses(frames, 0)[:, 5], poses(frames, 0)[:, 3])
    at = int(np.argmax(angle > 0.5 - 1e-6))
    assert 0 < at < 120
    np.testing.assert_allclose(angle[at:], 0.5, atol=1e-7)
    assert solved(frames)


def test_a_motor_gives_its_torque_until_it_has_its_speed():
    disc = box("Wheel", (0.4, 0.4, 0.1), NONE, ROUGH, mass=5.0)
    moment, torque, speed = box_moments((0.4, 0.4, 0.1), 5.0)[2], 0.3, 2.0
    motor = AxisSpec(motor_velocity=speed, motor_force=torque)
    frames = run(scene([disc], [hinge("Axle", "", "Wheel", NONE, axis=2, law=motor)]), 300, sleeping=False)
    spin = np.array([frame.velocities[0, 5] for frame in frames])
    middle = (np.arange(301) - 0.5) / 240.0
    np.testing.assert_allclose(spin[1:], np.minimum(torque / moment * middle[1:], speed), rtol=1e-7)
    np.testing.assert_allclose(frames[100].reactions[0, 5], torque, rtol=1e-7)
    np.testing.assert_allclose(frames[-1].reactions[0], [0.0, 0.0, 5.0 * G, 0.0, 0.0, 0.0], atol=1e-6 * 5.0 * G)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "frequency"), [("staggered", 1.0), ("pivot", 10.0), ("staggered", 40.0)])
def test_a_spring_has_its_frequency_and_keeps_its_amplitude(method, frequency):
    mass, start = 2.0, 0.1
    stiffness = mass * (2.0 * math.pi * frequency) ** 2
    law = AxisSpec(stiffness=stiffness, rest=-start)
    weight = box("Weight", (0.1, 0.1, 0.1), NONE, ROUGH, mass=mass)
    joint = JointSpec("Spring", "", "Weight", linear=(law, LOCKED, LOCKED))
    frames = run(scene([weight], [joint], gravity=NONE), 240, method=method)
    time = np.arange(241) / 240.0
    expected = start * (np.cos(2.0 * math.pi * frequency * time) - 1.0)
    np.testing.assert_allclose(poses(frames, 0)[:, 0], expected, atol=1e-4 * start * frequency)


def test_a_weight_hangs_on_a_spring_as_far_down_as_its_stiffness_has_it_and_a_damper_brings_it_there():
    mass, stiffness = 2.0, 400.0
    damping = 2.0 * math.sqrt(stiffness * mass)
    law = AxisSpec(stiffness=stiffness, damping=damping)
    weight = box("Weight", (0.1, 0.1, 0.1), NONE, ROUGH, mass=mass)
    frames = run(scene([weight], [JointSpec("Spring", "", "Weight", linear=(LOCKED, LOCKED, law))]), 240)
    down, rate, time = mass * G / stiffness, math.sqrt(stiffness / mass), np.arange(241) / 240.0
    expected = down * ((1.0 + rate * time) * np.exp(-rate * time) - 1.0)
    np.testing.assert_allclose(poses(frames, 0)[:, 2], expected, atol=2e-3 * down)
    np.testing.assert_allclose(frames[-1].reactions[0, :3], [0.0, 0.0, mass * G], atol=1e-4 * mass * G)


def test_springs_that_are_too_stiff_for_the_step_stay_where_they_are_pulled_to():
    laws = tuple(AxisSpec(stiffness=1e9, damping=1e5) for _ in range(3))
    weight = box("Weight", (0.1, 0.1, 0.1), NONE, ROUGH, velocity=(1.0, -1.0, 0.5))
    frames = run(scene([weight], [JointSpec("Spring", "", "Weight", linear=laws, angular=laws)]), 240)
    assert abs(poses(frames, 0)[-60:, :3]).max() < 1e-6


@pytest.mark.parametrize(("frequency", "is_named"), [(70.0, False), (85.0, True)])
def test_a_spring_that_the_step_cannot_follow_is_named_before_the_first_one(frequency, is_named):
    """A step of h follows springs up to omega h = 2: 76 Hz with 240 steps a second."""
    law = AxisSpec(stiffness=2.0 * (2.0 * math.pi * frequency) ** 2)
    weight = box("Weight", (0.1, 0.1, 0.1), NONE, ROUGH, mass=2.0)
    spec = scene([weight], [JointSpec("Coil", "", "Weight", linear=(law, LOCKED, LOCKED))])
    said = [warning.objects for warning in sc.Simulation(spec, substeps=1).warnings if "swings faster" in warning.message]
    assert said == ([("Coil",)] if is_named else [])


def test_what_a_motor_turns_never_sleeps():
    wheel = box("Wheel", (0.4, 0.4, 0.1), NONE, ROUGH)
    law = AxisSpec(motor_velocity=1e-6, motor_force=1.0)
    frames = run(scene([wheel], [hinge("Axle", "", "Wheel", NONE, axis=2, law=law)], fps=24.0), 48, substeps=10)
    assert not any(frame.statistics.asleep.any() for frame in frames)


def test_a_limit_from_which_a_joint_begins_off_is_named_and_reached():
    weight = box("Weight", (0.2, 0.2, 0.2), NONE, ROUGH)
    joint = JointSpec("Rail", "", "Weight", linear=(AxisSpec(0.01, 1.0), LOCKED, LOCKED))
    simulation = sc.Simulation(scene([weight], [joint]), substeps=1)
    assert [warning.message for warning in simulation.warnings if "Rail" in warning.message]
    frames = list(simulation.frames(240))
    assert frames[-1].poses[0, 0] >= 0.01 - 1e-9
    assert np.diff(poses(frames, 0)[:, 0]).max() < 0.1 / 240.0


def test_a_shaft_may_turn_as_often_as_its_limit_says():
    wheel = replace(box("Wheel", (0.4, 0.4, 0.1), NONE, ROUGH), angular_velocity=np.array([0.0, 0.0, 20.0]))
    joint = hinge("Axle", "", "Wheel", NONE, axis=2, law=AxisSpec(-1.0, 5.0 * math.pi))
    frames = run(scene([wheel], [joint], gravity=NONE), 240)
    angle = np.unwrap(2.0 * np.arctan2(poses(frames, 0)[:, 6], poses(frames, 0)[:, 3]), period=2.0 * math.pi)
    assert angle[-1] == pytest.approx(5.0 * math.pi, abs=1e-6)
