# SPDX-License-Identifier: GPL-3.0-or-later
"""A body pulled by a hand: a critically damped spring, no stronger than an arm, that leaves contact as it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.dynamics.fields.pull import FREQUENCY, STRONGEST, Pull
from solver_core.scene.joints import JointSpec
from solver_core.scene.parts import ground

from ..bodies import body, material, scene

WEIGHTLESS = {"gravity": (0.0, 0.0, 0.0)}


def pulled(spec, pull, frames, **settings):
    simulation = sc.Simulation(spec, **settings)
    simulation.pull = pull
    return [simulation.advance() for _ in range(frames)]


def test_a_free_body_follows_as_a_critically_damped_spring():
    target, w = np.array([0.02, -0.03, 0.01]), 2.0 * math.pi * FREQUENCY
    frames = pulled(scene(body(), **WEIGHTLESS), Pull(0, np.zeros(3), target), 12, substeps=100)
    time = np.arange(1, 13) / 24.0
    expected = target * (1.0 - (1.0 + w * time) * np.exp(-w * time))[:, None]
    # first order in the step
    np.testing.assert_allclose([f.poses[0, :3] for f in frames], expected, atol=4e-3 * np.linalg.norm(target))


@pytest.mark.parametrize("substeps", [1, 3, 10])
def test_no_step_is_so_long_that_it_swings_past_the_hand(substeps):
    target = np.array([0.05, 0.0, 0.0])
    frames = pulled(scene(body(), **WEIGHTLESS), Pull(0, np.zeros(3), target), 48, substeps=substeps)
    way = np.array([f.poses[0, 0] for f in frames])
    assert np.all(np.diff(way) > 0.0)
    assert 0.0499 < way[-1] < 0.05


def test_the_point_that_is_held_comes_to_the_hand_and_the_body_hangs_below_it():
    corner, target = np.array([0.1, 0.1, 0.1]), np.array([0.3, 0.2, 1.0])
    box = body(position=(0.0, 0.0, 1.0), angular_damping=0.9999)
    frames = pulled(scene(box), Pull(0, corner, target), 264)
    pose = frames[-1].poses[0]
    turn = Rotation.from_quat(np.roll(pose[3:], -1))
    held = pose[:3] + turn.apply(corner)
    # as a weight on a spring: lower by g / w^2, straight below the hand
    sag = 9.81 / (2.0 * math.pi * FREQUENCY) ** 2
    np.testing.assert_allclose(held, target - [0.0, 0.0, sag], atol=1e-3)
    np.testing.assert_allclose((held - pose[:3])[:2], 0.0, atol=2e-3)


def test_a_scene_turned_in_space_moves_turned():
    turn = Rotation.random(random_state=3)
    quat = tuple(np.roll(turn.as_quat(), 1))
    point, target = np.array([0.1, -0.05, 0.02]), np.array([0.1, 0.2, 0.3])
    straight = pulled(scene(body(), **WEIGHTLESS), Pull(0, point, target), 12)[-1].poses[0]
    turned = pulled(scene(body(orientation=quat), **WEIGHTLESS), Pull(0, point, turn.apply(target)), 12)[-1].poses[0]
    np.testing.assert_allclose(turned[:3], turn.apply(straight[:3]), atol=1e-9)


def test_a_hand_is_no_stronger_than_so_many_weights():
    post = JointSpec("Post", "", "Box")
    simulation = sc.Simulation(scene(body(mass=2.0), joints=(post,), **WEIGHTLESS))
    simulation.pull = Pull(0, np.zeros(3), np.array([100.0, 0.0, 0.0]))
    reaction = [simulation.advance() for _ in range(3)][-1].reactions[0]
    # a time step's impulse is spread over it alike
    assert np.linalg.norm(reaction[:3]) == pytest.approx(STRONGEST * 9.81 * 2.0, rel=1e-6)


def test_a_locked_axis_stays_locked():
    box = body(linear_factor=(1.0, 1.0, 0.0), angular_factor=(0.0, 0.0, 0.0))
    pose = pulled(scene(box), Pull(0, np.array([0.1, 0.1, 0.1]), np.array([0.2, 0.1, 5.0])), 48)[-1].poses[0]
    np.testing.assert_allclose(pose, [0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-3)


def test_a_sleeping_pile_wakes_when_it_is_pulled_and_nothing_overlaps():
    rough = material(0.6)
    boxes = [body(f"Box {i}", position=(0.0, 0.0, 0.1 + 0.2 * i), material=rough) for i in range(3)]
    simulation = sc.Simulation(scene(ground(rough), *boxes))
    for _ in range(48):
        frame = simulation.advance()
    assert frame.statistics.asleep[-1] == 3
    simulation.pull = Pull(1, np.zeros(3), np.array([0.5, 0.0, 0.1]))
    frames = [simulation.advance() for _ in range(24)]
    assert frames[-1].poses[1, 0] > 0.3
    assert all(np.all(f.statistics.status == 0) for f in frames)
    assert max(f.statistics.deepest_overlap.max() for f in frames) < 1e-4


def test_what_the_solver_does_not_move_cannot_be_pulled():
    rough = material(0.6)
    spec = scene(ground(rough), body(position=(0.0, 0.0, 0.1), material=rough))
    frames = pulled(spec, Pull(0, np.zeros(3), np.ones(3)), 3)
    np.testing.assert_array_equal(frames[-1].poses[0, :3], 0.0)
