# SPDX-License-Identifier: GPL-3.0-or-later
"""Several time steps taken as one where nothing needs them: as exact as was asked for, and as single ones where something
happens."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.joints import AxisSpec, JointChange, JointSpec
from solver_core.scene.parts import box, ground, sphere_shape
from solver_core.scene.spec import MaterialSpec, SceneSpec

G = 9.81
FPS = 24.0
H = 1.0 / 240.0
MATERIAL = MaterialSpec(0.5, 0.5)


def simulated(spec, frames, **settings):
    """The frames, and how many steps each of them took."""
    run = sc.Simulation(spec, **settings).run(frames)
    for frame in run[1:]:
        assert frame.statistics.span.sum() == 10
    return run, [len(frame.statistics.span) for frame in run[1:]]


def ball(name, radius, position, velocity=(0.0, 0.0, 0.0), restitution=0.0):
    material = MaterialSpec(0.5, 0.5, restitution)
    body = box(name, (radius, radius, radius), position, material, velocity=velocity)
    return replace(body, shape=sphere_shape(radius))


def test_what_flies_keeps_to_its_parabola_in_steps_of_a_frame():
    spec = SceneSpec((ball("Ball", 0.1, (0.0, 0.0, 50.0), (3.0, 0.0, 10.0)),))
    run, steps = simulated(spec, 48, step_accuracy=1e-3)
    t = np.arange(49) / FPS
    height = np.array([frame.poses[0, 2] for frame in run])
    assert np.abs(height - (50.0 + 10.0 * t - 0.5 * G * t * t)).max() < 1e-9
    assert steps[-1] == 1 and sum(steps) < 60


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("speed", [0.7, 1.9, 2.6])
def test_a_box_slides_as_far_as_friction_lets_it(speed, accuracy):
    mu, half = 0.5, 0.2
    slider = box(
        "Box", (0.4, 0.4, 0.1), (0.0, 0.0, 0.05), MaterialSpec(math.sqrt(mu), math.sqrt(mu)), velocity=(speed, 0.0, 0.0)
    )
    spec = SceneSpec((ground(MaterialSpec(math.sqrt(mu), math.sqrt(mu))), slider))
    run, steps = simulated(spec, 36, step_accuracy=accuracy, sleeping=False)
    single, _ = simulated(spec, 36, step_accuracy=0.0, sleeping=False)
    # of its steps only those are not even in which it lands on its rest offset and in which it stops
    assert abs(run[-1].poses[1, 0] - single[-1].poses[1, 0]) < 4.0 * accuracy * half
    assert run[-1].poses[1, 0] == pytest.approx(speed**2 / (2.0 * mu * G), abs=4.0 * accuracy * half + speed * H)
    assert sum(steps) < 0.35 * 360


@pytest.mark.parametrize("restitution", [0.0, 0.5, 0.9])
def test_what_drops_hits_the_ground_as_in_single_steps(restitution):
    spec = SceneSpec((ground(MaterialSpec(1.0, 1.0, restitution)), ball("Ball", 0.1, (0.0, 0.0, 1.1), restitution=1.0)))
    single, _ = simulated(spec, 40, step_accuracy=0.0, sleeping=False)
    run, steps = simulated(spec, 40, step_accuracy=1e-3, sleeping=False)
    heights = np.array([[one.poses[1, 2], other.poses[1, 2]] for one, other in zip(single, run, strict=True)])
    # what bounces is let go up to a step early or late, at 4.5 m/s
    assert np.abs(np.diff(heights, axis=1)).max() < 4.5 * H
    assert heights.min() > 0.1 - 1e-3
    assert sum(steps) < 300


def test_a_house_of_cards_stands_in_a_fifth_of_the_steps():
    spec = sc.scenes.card_house()
    single, _ = simulated(spec, 12, step_accuracy=0.0, sleeping=False)
    run, steps = simulated(spec, 12, step_accuracy=1e-3, sleeping=False)
    assert not any(frame.statistics.status.any() for frame in run)
    assert np.abs(run[-1].poses - single[-1].poses).max() < 1e-5
    assert sum(steps) <= 24


def test_without_an_accuracy_every_step_is_single():
    run, steps = simulated(sc.scenes.sliding_box(), 5, step_accuracy=0.0)
    assert steps == [10] * 5
    assert all((frame.statistics.span == 1).all() for frame in run)


def test_a_bake_goes_on_from_any_frame_bit_for_bit():
    spec = sc.scenes.dominoes(6)
    through = sc.Simulation(spec, step_accuracy=1e-3)
    for _ in range(7):
        frame = through.advance()
    again = sc.Simulation(spec, step_accuracy=1e-3)
    again.restore(frame.frame, through.checkpoint())
    for _ in range(5):
        expected, found = through.advance(), again.advance()
        assert np.array_equal(found.poses, expected.poses)
        assert np.array_equal(found.statistics.span, expected.statistics.span)


def test_what_rests_falls_asleep_as_soon_as_in_single_steps():
    spec = SceneSpec((ground(MATERIAL), box("Box", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1), MATERIAL)))
    first = []
    for accuracy in (0.0, 1e-3):
        run, _ = simulated(spec, 120, step_accuracy=accuracy)
        first.append(next(frame.frame for frame in run[1:] if frame.statistics.asleep[-1]))
    assert abs(first[0] - first[1]) <= 1


def hanging(breaking_impulse=math.inf):
    weight = box("Weight", (0.1, 0.1, 0.1), (0.0, 0.0, -0.5), MATERIAL, mass=2.0)
    rope = JointSpec("Rope", "Weight", "", angular=(AxisSpec(),) * 3, breaking_impulse=breaking_impulse)
    return SceneSpec((weight,), joints=(rope,))


def test_a_joint_that_bears_less_than_its_threshold_in_a_single_step_does_not_break_in_a_long_one():
    bears = 2.0 * G * H
    for strength, breaks in ((1.5, False), (0.7, True)):
        run, steps = simulated(hanging(strength * bears), 24, step_accuracy=1e-2, sleeping=False)
        assert steps[-1] == 1
        assert bool(run[-1].broken[0]) is breaks


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3])
def test_a_pendulum_swings_as_in_single_steps(accuracy):
    spec, half = hanging(), 0.05
    spec = replace(spec, bodies=(replace(spec.bodies[0], velocity=np.array([1.0, 0.0, 0.0])),))
    single, _ = simulated(spec, 48, step_accuracy=0.0, sleeping=False)
    run, steps = simulated(spec, 48, step_accuracy=accuracy, sleeping=False)
    off = max(float(np.abs(a.poses[0, :3] - b.poses[0, :3]).max()) for a, b in zip(single, run, strict=True))
    assert off < 48 * accuracy * half
    assert sum(steps) < 480


def test_what_is_let_go_after_a_long_step_falls_from_then_on():
    """A joint that is gone at frame 13: by half a frame earlier, as leapfrog has it, it would be 20 cm/s too fast."""
    spec = hanging()
    gone = JointChange(13, spec.joints[0].linear, spec.joints[0].angular, enabled=False)
    spec = replace(spec, joints=(replace(spec.joints[0], changes=(gone,)),))
    single, _ = simulated(spec, 30, step_accuracy=0.0, sleeping=False)
    run, steps = simulated(spec, 30, step_accuracy=1e-2, sleeping=False)
    assert steps[10] == 1
    fallen = [frames[-1].poses[0, 2] + 0.5 for frames in (single, run)]
    assert fallen[0] < -2.0
    # 0.7 s at 1.5 steps' worth of gravity
    assert fallen[1] == pytest.approx(fallen[0], abs=0.7 * 1.5 * G * H)


def test_gravity_that_turns_over_acts_from_its_frame_on():
    path = np.tile([0.0, 0.0, -G], (30, 1))
    path[16:] *= -1.0
    spec = replace(SceneSpec((ball("Ball", 0.1, (0.0, 0.0, 50.0)),)), gravity_path=path, frame_end=30)
    single, _ = simulated(spec, 29, step_accuracy=0.0)
    run, steps = simulated(spec, 29, step_accuracy=1e-3)
    assert sum(steps) < 100
    assert run[-1].poses[0, 2] == pytest.approx(single[-1].poses[0, 2], abs=2.0 * G * H)


@pytest.mark.parametrize("accuracy", [-1e-4, math.nan, math.inf])
def test_an_accuracy_that_is_none_is_refused_by_name(accuracy):
    with pytest.raises(sc.SceneError, match="step_accuracy"):
        sc.Simulation(SceneSpec((ball("Ball", 0.1, (0.0, 0.0, 1.0)),)), step_accuracy=accuracy)
