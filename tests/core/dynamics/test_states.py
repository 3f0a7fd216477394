# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that begin asleep, bodies that are let go on their way, and gravity that changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.joints import JointSpec
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import BodyKind, MaterialSpec, SceneSpec
from solver_core.validation.findings import SceneError

FPS = 24
ROUGH = MaterialSpec(0.8, 0.8)
CUBE = (0.2, 0.2, 0.2)
G = 9.81


def cube(name, x, z, **changes):
    return replace(box(name, CUBE, (x, 0.0, z), ROUGH), **changes)


def heights(frames, body):
    return np.array([frame.poses[body, 2] for frame in frames])


def run(bodies, frames, **changes):
    return sc.Simulation(SceneSpec(tuple(bodies), **changes), sleeping=False).run(frames)


def test_a_body_that_starts_asleep_hangs_where_it_is_until_another_comes():
    frames = run([ground(ROUGH), cube("Sleeper", 0.0, 2.0, starts_asleep=True), cube("Falls", 0.05, 3.2)], 30)
    fallen, hit = heights(frames, 1), 1.0 / FPS * np.arange(31) > np.sqrt(2.0 * 1.0 / G)
    assert (fallen[~hit] == 2.0).all()
    assert fallen[-1] < 1.0 and (np.diff(fallen[hit])[:8] < 0.0).all()
    assert [int(frame.statistics.asleep[-1]) for frame in frames[1:]][:5] == [1] * 5


def test_a_sleeping_pile_wakes_as_a_whole_and_what_is_away_from_it_does_not():
    pile = [cube(f"Pile {i}", 0.0, 1.0 + 0.2 * i, starts_asleep=True) for i in range(3)]
    frames = run([ground(ROUGH), *pile, cube("Far", 5.0, 1.0, starts_asleep=True), cube("Falls", 0.0, 2.0)], 16)
    assert [heights(frames, body)[-1] < at - 0.2 for body, at in ((1, 1.0), (2, 1.2), (3, 1.4))] == [True] * 3
    assert heights(frames, 4)[-1] == 1.0


def test_an_animated_body_wakes_what_it_comes_to():
    path = np.tile([-1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (25, 1))
    path[:, 0] += 0.08 * np.arange(25)
    carrier = cube("Carrier", -1.0, 1.0, kind=BodyKind.ANIMATED, mass=None, path=path)
    frames = run([carrier, cube("Sleeper", 0.0, 1.0, starts_asleep=True)], 24, frame_end=25)
    x = np.array([frame.poses[1, 0] for frame in frames])
    assert (x[:10] == 0.0).all() and x[-1] > 0.5 and heights(frames, 1)[-1] < 0.9


def test_a_body_that_a_joint_ties_to_one_that_is_awake_does_not_sleep():
    bodies = [cube("A", 0.0, 1.0, starts_asleep=True), cube("B", 1.0, 1.0), cube("C", 2.0, 1.0, starts_asleep=True)]
    bodies.append(cube("D", 3.0, 1.0, starts_asleep=True))
    spec = SceneSpec(tuple(bodies), joints=(JointSpec("AB", "A", "B"), JointSpec("CD", "C", "D"), JointSpec("C", "C", "")))
    frame = sc.Simulation(spec).run(1)[1]
    assert int(frame.statistics.asleep[-1]) == 2
    assert (frame.poses[:2, 2] < 1.0).all() and (frame.poses[2:, 2] == 1.0).all()


def test_a_run_from_a_checkpoint_keeps_who_was_not_touched_yet():
    spec = SceneSpec((ground(ROUGH), cube("Sleeper", 0.0, 2.0, starts_asleep=True), cube("Falls", 0.05, 3.2)))
    whole = sc.Simulation(spec)
    whole.run(8)
    other = sc.Simulation(spec)
    other.restore(9, whole.checkpoint())
    for _ in range(8):
        assert np.array_equal(whole.advance().poses, other.advance().poses)


def test_gravity_acts_on_the_way_to_each_frame():
    path = np.zeros((13, 3))
    path[4:8, 2], path[8:, 0] = -6.0, 3.0
    frames = run([cube("Cube", 0.0, 0.0)], 12, gravity=path[0], gravity_path=path, frame_end=13)
    t = np.arange(13) / FPS
    fall, rest = np.clip(t - 3.0 / FPS, 0.0, 4.0 / FPS), np.clip(t - 7.0 / FPS, 0.0, None)
    exact = -6.0 * (0.5 * fall**2 + 4.0 / FPS * rest)
    # the force of a step acts over half of it and half of the next: a change of gravity is off by as much
    step = 1.0 / (10.0 * FPS)
    assert np.abs(heights(frames, 0) - exact).max() < 6.0 * step * t[-1]
    assert np.abs(np.array([frame.poses[0, 0] for frame in frames]) - 1.5 * rest**2).max() < 3.0 * step * t[-1]


def test_what_fell_asleep_wakes_when_gravity_changes_and_what_began_asleep_does_not():
    path = np.tile([0.0, 0.0, -G], (121, 1))
    path[100:] = (0.0, 0.0, 2.0)
    bodies = (ground(ROUGH), cube("Rests", 0.0, 0.1), cube("Sleeper", 2.0, 1.0, starts_asleep=True))
    frames = sc.Simulation(SceneSpec(bodies, gravity_path=path, frame_end=121)).run(120)
    assert int(frames[99].statistics.asleep[-1]) == 2
    assert heights(frames, 1)[99] == pytest.approx(0.1, abs=1e-4) and heights(frames, 1)[-1] > 0.3
    assert (heights(frames, 2) == 1.0).all()


@pytest.mark.parametrize("held", [2, 3, 7])
def test_a_body_that_is_let_go_flies_on_as_it_was_moved(held):
    """Thrown along a parabola that is not that of gravity, and turning steadily about an axis of symmetry."""
    t, acceleration, spin = np.arange(held) / FPS, np.array([3.0, 0.0, 5.0]), 2.5
    path = np.zeros((held, 7))
    path[:, :3] = 0.5 * acceleration * t[:, None] ** 2 + np.array([1.0, 2.0, 0.0]) * t[:, None]
    path[:, 3], path[:, 6] = np.cos(0.5 * spin * t), np.sin(0.5 * spin * t)
    thrown = cube("Thrown", 0.0, 0.0, path=path)
    frames = run([thrown], 20)
    poses = np.array([frame.poses[0] for frame in frames])
    np.testing.assert_allclose(poses[:held], path, atol=1e-9)
    # of two poses nothing but their mean velocity is known
    velocity = acceleration * (t[-1] - (0.5 / FPS if held == 2 else 0.0)) + np.array([1.0, 2.0, 0.0])
    later = np.arange(1, 21 - (held - 1)) / FPS
    flight = path[-1, :3] + velocity * later[:, None] + 0.5 * np.array([0.0, 0.0, -G]) * later[:, None] ** 2
    np.testing.assert_allclose(poses[held:, :3], flight, atol=1e-7)
    np.testing.assert_allclose(2.0 * np.arctan2(poses[held:, 6], poses[held:, 3]), spin * (t[-1] + later), atol=1e-6)


def test_a_body_that_is_let_go_is_held_about_its_own_frame_not_its_centre_of_mass():
    wedge = sc.scenes.arch(blocks=3).bodies[1]
    path = np.tile([*wedge.position, *wedge.orientation], (4, 1))
    frames = run([replace(wedge, path=path)], 8)
    np.testing.assert_allclose([frame.poses[0] for frame in frames[:4]], path, atol=1e-12)
    late = np.arange(1, 6) / FPS
    np.testing.assert_allclose(heights(frames, 0)[4:], path[0, 2] - 0.5 * G * late**2, atol=1e-7)


def test_what_is_held_carries_and_drops_what_lies_on_it():
    path = np.tile([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (37, 1))
    tray, load = cube("Tray", 0.0, 1.0, path=path), cube("Load", 0.0, 1.2)
    frames = sc.Simulation(SceneSpec((ground(ROUGH), tray, load))).run(72)
    assert abs(heights(frames, 2)[36] - 1.2) < 1e-3
    assert abs(heights(frames, 1)[-1] - 0.1) < 2e-3 and abs(heights(frames, 2)[-1] - 0.3) < 4e-3


def test_a_run_from_a_checkpoint_lets_go_at_the_same_frame_with_the_same_motion():
    path = np.tile([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (9, 1))
    path[:, 0] = 0.01 * np.arange(9) ** 2
    spec = SceneSpec((ground(ROUGH), cube("Thrown", 0.0, 1.0, path=path)))
    for at in (5, 8, 11):
        whole, other = sc.Simulation(spec), sc.Simulation(spec)
        whole.run(at)
        other.restore(1 + at, whole.checkpoint())
        for _ in range(8):
            assert np.array_equal(whole.advance().poses, other.advance().poses)


@pytest.mark.parametrize("frames", [1, 300])
def test_an_active_body_with_a_path_of_no_use_is_named(frames):
    path = np.tile([0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0], (frames, 1))
    with pytest.raises(SceneError, match="Thrown: path"):
        sc.Simulation(SceneSpec((cube("Thrown", 0.0, 1.0, path=path),)))
