# SPDX-License-Identifier: GPL-3.0-or-later
"""Physics, then keyframes: a body that was simulated follows its path from a frame on, at once or over a few frames."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.dynamics.simulation import Simulation
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import MaterialSpec, SceneSpec
from solver_core.validation.findings import SceneError

from ..shapes import quaternion

FPS, G = 24.0, 9.81
ROUGH = MaterialSpec(0.5, 0.5)
UNIT = (1.0, 0.0, 0.0, 0.0)


def path_of(x, z):
    path = np.tile([0.0, 0.0, 0.0, *UNIT], (len(x), 1))
    path[:, 0], path[:, 2] = x, z
    return path


def flying(path, spans, **more):
    """A box that is thrown from the origin, and that its path takes over."""
    body = box("Thrown", (0.5, 0.5, 0.5), (0.0, 0.0, 5.0), ROUGH, 1.0, velocity=(1.2, 0.0, 2.0))
    return replace(body, path=path, spans=spans, **more)


def flight(frames):
    time = np.arange(frames) / FPS
    return np.stack([1.2 * time, 0.0 * time, 5.0 + 2.0 * time - 0.5 * G * time**2], axis=1)


def poses_of(bodies, frames, body=0, **more):
    simulation = Simulation(SceneSpec(tuple(bodies), frame_end=frames, fps=FPS, **more))
    return np.array([frame.poses[body] for frame in simulation.run()])


def test_a_body_flies_and_is_on_its_keyframes_from_the_frame_at_which_they_take_it_over():
    path = path_of(0.5 + 0.03 * np.arange(24), 5.2 + 0.01 * np.arange(24))
    poses = poses_of([flying(path, ((10, 23),))], 24)
    np.testing.assert_allclose(poses[:10, :3], flight(10), atol=1e-9)
    np.testing.assert_allclose(poses[10:], path[10:], atol=1e-12)


@pytest.mark.parametrize("blend", [3, 8])
def test_with_a_blend_it_goes_on_as_fast_as_it_was_and_comes_to_its_keyframes_when_that_is_over(blend):
    path = path_of(2.0 + 0.05 * np.arange(60), 3.0 + 0.0 * np.arange(60))
    fine = replace(flying(path, ((12, 59),)), blend_frames=blend)
    poses = poses_of([fine], 60)
    np.testing.assert_allclose(poses[:12, :3], flight(12), atol=1e-9)
    np.testing.assert_allclose(poses[12 + blend :], path[12 + blend :], atol=1e-12)
    on_the_way = poses[11 : 13 + blend, :3]
    assert np.linalg.norm(on_the_way[1:-1] - path[12 : 12 + blend, :3], axis=1).min() > 1e-3
    # the offset is a cubic of the time: its third difference is the same at all frames
    offset = on_the_way[: blend + 2] - (path[12, :3] + np.outer(np.arange(-1, blend + 1), [0.05, 0.0, 0.0]))
    third = np.diff(offset, 3, axis=0)
    np.testing.assert_allclose(third, np.tile(third[0], (len(third), 1)), atol=1e-9)
    # and it begins with the velocity of the body against that of its keyframes
    speed = np.array([1.2, 0.0, 2.0 - G * 11 / FPS]) / FPS - np.array([0.05, 0.0, 0.0])
    length, first = blend + 1.0, offset[0]
    share = 1.0 / length
    cubic = (1.0 - share) ** 2 * ((1.0 + 2.0 * share) * first + share * length * speed)
    # velocities are those of the middle of a step, a tenth of a frame
    np.testing.assert_allclose(offset[1], cubic, atol=0.5 * G / FPS**2 / 10)


def test_a_body_that_spins_turns_into_its_keyframes_without_a_jump_of_its_spin():
    path = path_of(np.zeros(40), np.full(40, 5.0))
    path[:, 3:] = [quaternion(Rotation.from_rotvec([0.0, 0.0, 0.02 * k])) for k in range(40)]
    body = replace(flying(path, ((10, 39),), blend_frames=10), velocity=np.zeros(3), angular_velocity=np.array([0.0, 2.0, 0.0]))
    poses = poses_of([body], 40, gravity=np.zeros(3))
    turned = [Rotation.from_quat(np.roll(pose[3:], -1)) for pose in poses]
    rates = np.array([(b * a.inv()).as_rotvec() for a, b in pairwise(turned)])
    np.testing.assert_allclose(rates[:9], np.tile([0.0, 2.0 / FPS, 0.0], (9, 1)), atol=1e-9)
    np.testing.assert_allclose(poses[20:], path[20:], atol=1e-12)
    # no frame changes the spin by more than a cubic does that turns back by 0.77 rad within eleven frames
    assert np.linalg.norm(np.diff(rates, axis=0), axis=1).max() < 1.1 * (6.0 * 0.77 / 11.0**2 + 4.0 * 2.0 / FPS / 11.0)


def test_keyframes_that_are_far_away_are_jumped_to_and_nothing_on_the_way_is_touched():
    path = path_of(np.full(20, 9.0), np.full(20, 0.25))
    wall = box("Wall", (0.5, 2.0, 2.0), (4.5, 0.0, 1.0), ROUGH, 1.0)
    bodies = ground(ROUGH), replace(flying(path, ((8, 19),)), position=np.array([0.0, 0.0, 0.25]), velocity=np.zeros(3)), wall
    poses = poses_of(bodies, 20, 1)
    np.testing.assert_allclose(poses[:8, 0], 0.0, atol=1e-3)
    np.testing.assert_allclose(poses[8:], path[8:], atol=1e-12)
    np.testing.assert_allclose(poses_of(bodies, 20, 2)[:, :3], np.tile([4.5, 0.0, 1.0], (20, 1)), atol=1e-3)


def test_a_body_may_be_thrown_caught_and_thrown_again():
    path = path_of(0.1 * np.arange(30), 5.0 + 0.05 * np.arange(30))
    poses = poses_of([flying(path, ((0, 4), (10, 15)))], 30)
    np.testing.assert_allclose(poses[:5], path[:5], atol=1e-12)
    np.testing.assert_allclose(poses[10:16], path[10:16], atol=1e-12)
    time = np.arange(14) / FPS
    for frame in (4, 15):
        free = poses[frame : frame + 6, :3] - poses[frame, :3]
        np.testing.assert_allclose(free[:, 2], 1.2 * time[:6] - 0.5 * G * time[:6] ** 2, atol=1e-6)
        np.testing.assert_allclose(free[:, 0], 2.4 * time[:6], atol=1e-6)


def test_what_sleeps_wakes_when_it_is_taken_and_so_does_what_lies_on_it():
    path = path_of(np.zeros(70), 0.25 + 0.02 * np.maximum(np.arange(70) - 50, 0))
    below = replace(box("Below", (0.5, 0.5, 0.5), (0.0, 0.0, 0.25), ROUGH, 1.0), path=path, spans=((50, 69),))
    above = box("Above", (0.3, 0.3, 0.3), (0.0, 0.0, 0.65), ROUGH, 1.0)
    simulation = Simulation(SceneSpec((ground(ROUGH), below, above), frame_end=70, fps=FPS))
    frames = simulation.run()
    assert int(frames[48].statistics.asleep[-1]) == 2
    assert frames[-1].poses[2, 2] == pytest.approx(0.65 + 0.02 * 19, abs=2e-3)


@pytest.mark.parametrize("stop", [9, 10, 11, 14, 20])
def test_a_bake_goes_on_from_a_checkpoint_in_the_middle_of_a_blend_with_the_same_bits(stop):
    path = path_of(2.0 + 0.05 * np.arange(24), np.full(24, 4.0))
    spec = SceneSpec((flying(path, ((10, 23),), blend_frames=6),), frame_end=24, fps=FPS)
    whole = Simulation(spec)
    frames, kept = [whole.first_frame()], {}
    for number in range(2, 25):
        frames.append(whole.advance())
        kept[number] = whole.checkpoint()
    again = Simulation(spec)
    again.restore(stop, kept[stop])
    for number in range(stop + 1, 25):
        np.testing.assert_array_equal(again.advance().poses, frames[number - 1].poses)


def test_frames_that_are_kept_of_another_bake_are_gone_on_from_in_the_middle_of_a_blend():
    path = path_of(2.0 + 0.05 * np.arange(24), np.full(24, 4.0))
    spec = SceneSpec((flying(path, ((10, 23),), blend_frames=6),), frame_end=24, fps=FPS)
    before = Simulation(spec)
    frame = before.run(12)[-1]
    higher = np.add(path, [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0])
    moved = replace(spec, bodies=(replace(spec.bodies[0], path=higher),))
    again = Simulation(moved)
    again.take_up(frame, before.checkpoint())
    later = [again.advance() for _ in range(11)]
    assert np.linalg.norm(later[0].poses[0, :3] - frame.poses[0, :3]) < 0.3
    np.testing.assert_allclose(later[-1].poses[0], moved.bodies[0].path[23], atol=1e-12)


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        (((5, 30),), "a span needs a first and a last frame"),
        (((7, 5),), "a span needs a first and a last frame"),
        (((0, 5), (6, 9)), "simulated for at least one frame"),
        (((0, 0), (6, 9)), "the first span has no motion"),
    ],
)
def test_spans_that_make_no_sense_are_refused_by_the_name_of_the_body(spans, message):
    path = path_of(np.zeros(20), np.zeros(20))
    with pytest.raises(SceneError, match=f"Thrown: spans: .*{message}"):
        Simulation(SceneSpec((flying(path, spans),), frame_end=20))
