# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that appear at another place: nothing is swept, nothing is thrown, and a fast motion is none of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.dynamics.simulation import Simulation
from solver_core.io.continuation import frames_that_hold
from solver_core.scene.parts import box, box_shape, ground
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, SolverSettings
from solver_core.scene.teleports import possible_teleports, teleports_of
from solver_core.validation.findings import SceneError
from solver_core.validation.surprises import surprises

FPS, G = 24.0, 9.81
ROUGH = MaterialSpec(0.5, 0.5)
UNIT = (1.0, 0.0, 0.0, 0.0)


def path_of(x, z=0.5):
    path = np.tile([0.0, 0.0, z, *UNIT], (len(x), 1))
    path[:, 0] = x
    return path


def animated(path, teleports, size=(1.0, 1.0, 1.0), name="Jumper"):
    shape = box_shape(size)
    given = {"position": path[0, :3], "path": path, "material": ROUGH, "teleports": teleports}
    return BodySpec(name, BodyKind.ANIMATED, shape, **given)


def run(bodies, frames, **more):
    return Simulation(SceneSpec(tuple(bodies), frame_end=frames, fps=FPS, **more)).run()


def test_a_body_that_jumps_over_a_standing_box_leaves_it_where_it_stands():
    """From 3 m left of it to 3 m right of it in a frame: swept, the box would get 144 m/s."""
    path = path_of([-3.0] * 10 + [3.0] * 10)
    standing = box("Box", (1.0, 1.0, 1.0), (0.0, 0.0, 0.5), ROUGH, 1.0)
    frames = run([ground(ROUGH), animated(path, (10,)), standing], 20)
    for frame, pose in zip(frames, path, strict=True):
        np.testing.assert_allclose(frame.poses[1], pose, atol=1e-12)
        np.testing.assert_allclose(frame.poses[2, :3], [0.0, 0.0, 0.5], atol=1e-3)


def test_what_rested_on_a_body_that_jumps_away_falls_from_that_frame_on_and_sleeps_no_more():
    path = path_of([0.0] * 40 + [50.0] * 12)
    load = box("Load", (0.2, 0.2, 0.2), (0.0, 0.0, 1.1), ROUGH, 1.0)
    frames = run([ground(ROUGH), animated(path, (40,)), load], 52)
    assert int(frames[38].statistics.asleep[-1]) == 1
    heights = np.array([frame.poses[2, 2] for frame in frames[40:]])
    # it stands until the frame at which the body is gone, and is in free fall then, from rest at a whole step
    time = np.arange(8) / FPS
    np.testing.assert_allclose(heights[0] - heights[:8], 0.5 * G * time * (time + 0.1 / FPS), atol=1e-6)
    np.testing.assert_allclose([frame.poses[2, :2] for frame in frames], 0.0, atol=1e-3)


@pytest.mark.parametrize("asleep", [False, True])
def test_a_body_that_appears_where_another_is_parts_from_it_slowly(asleep):
    path = path_of([-5.0] * 3 + [0.0] * 20)
    other = replace(box("Other", (1.0, 1.0, 1.0), (0.9, 0.0, 0.5), MaterialSpec(), 1.0), starts_asleep=asleep)
    frames = run([animated(path, (3,)), other], 23, gravity=np.zeros(3))
    moved = np.array([frame.poses[1, 0] - 0.9 for frame in frames])
    assert abs(moved[:4]).max() < 1e-9 and moved[-1] > 0.01
    # the recovery speed is 0.2 half extents a second
    assert np.diff(moved).max() * FPS < 0.2
    assert np.linalg.norm(frames[-1].velocities[1]) < 0.2


def test_after_a_jump_a_body_has_the_velocity_that_its_later_keyframes_give_it():
    x = np.concatenate([np.full(5, -40.0), -1.0 + 0.1 * np.arange(15)])
    ball = box("Hit", (0.2, 0.2, 0.2), (0.3, 0.0, 0.5), MaterialSpec(), 1.0)
    frames = run([animated(path_of(x), (5,), (0.2, 0.2, 0.2)), ball], 20, gravity=np.zeros(3))
    # it comes at 2.4 m/s, and what it hits without restitution goes on as fast
    assert frames[-1].velocities[1, 0] == pytest.approx(2.4, rel=1e-4)


@pytest.mark.parametrize(("velocity", "expected"), [((0.0, 0.0, 0.0), 0.0), ((2.0, 0.0, 1.0), 2.0)])
def test_a_parked_body_that_is_let_go_where_it_appears_begins_there_at_rest_or_as_it_is_told(velocity, expected):
    path = path_of([100.0] * 8 + [0.0], 3.0)
    emitted = replace(box("Drop", (0.2, 0.2, 0.2), (100.0, 0.0, 3.0), ROUGH, 1.0), path=path, teleports=(8,))
    frames = run([replace(emitted, velocity=np.array(velocity))], 16)
    time = np.arange(8) / FPS
    flight = np.array([frame.poses[0, :3] for frame in frames[8:]])
    np.testing.assert_allclose(flight[:, 0], expected * time, atol=1e-9)
    np.testing.assert_allclose(flight[:, 2], 3.0 + velocity[2] * time - 0.5 * G * time**2, atol=1e-9)


def test_a_bake_with_a_jump_goes_on_from_every_checkpoint_with_the_same_bits():
    path = path_of(np.concatenate([0.02 * np.arange(6), 2.0 - 0.05 * np.arange(8)]))
    bodies = ground(ROUGH), animated(path, (6,)), box("Load", (0.2, 0.2, 0.2), (0.0, 0.0, 1.1), ROUGH, 1.0)
    spec = SceneSpec(bodies, frame_end=14)
    whole = Simulation(spec)
    frames, kept = [whole.first_frame()], {}
    for number in range(2, 15):
        frames.append(whole.advance())
        kept[number] = whole.checkpoint()
    for stop in (6, 7):
        again = Simulation(spec)
        again.restore(stop, kept[stop])
        for number in range(stop + 1, 15):
            np.testing.assert_array_equal(again.advance().poses, frames[number - 1].poses)


def test_frames_hold_up_to_two_before_a_jump_that_is_new():
    path = path_of([0.0] * 10 + [9.0] * 10)
    spec = SceneSpec((ground(ROUGH), animated(path, None), box("Box", (1, 1, 1), (20.0, 0.0, 0.5), ROUGH)), frame_end=20)
    jumps = replace(spec, bodies=(spec.bodies[0], replace(spec.bodies[1], teleports=(10,)), spec.bodies[2]))
    assert frames_that_hold((spec, SolverSettings()), (jumps, SolverSettings())) == 1 + 10 - 2


def test_a_jump_is_no_coarse_motion():
    path = path_of([0.0] * 10 + [90.0] * 10)
    spec = SceneSpec((animated(path, (10,)), box("Box", (1, 1, 1), (20.0, 0.0, 0.5), ROUGH)), frame_end=20)
    assert not surprises(spec, SolverSettings())


@pytest.mark.parametrize("teleports", [(0,), (20,), (5, 5), (7, 3)])
def test_jumps_that_are_no_frames_of_the_path_are_refused(teleports):
    spec = SceneSpec((animated(path_of([0.0] * 20), teleports), box("Box", (1, 1, 1), (5.0, 0.0, 0.5), ROUGH)), frame_end=20)
    with pytest.raises(SceneError, match="Jumper: teleports"):
        Simulation(spec)


SHAPE = box_shape((0.3, 0.3, 1.0))


def found(x, stands=()):
    path = path_of(np.asarray(x, dtype=float))
    return teleports_of(path, SHAPE, [frame for frame in possible_teleports(path, SHAPE) if frame in stands])


def test_a_constant_key_between_slow_frames_is_a_jump_and_a_linear_one_of_the_same_way_is_none():
    x = [0.01 * k for k in range(10)] + [2.0 + 0.01 * k for k in range(10)]
    assert found(x, stands={10}) == (10,)
    assert found(x) == ()


def test_keys_on_two_frames_in_a_row_are_a_jump_if_the_way_is_many_lengths_of_the_body():
    assert found([0.0] * 10 + [30.0] * 10) == (10,)
    assert found([0.0] * 10 + [3.0] * 10) == ()


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_hammer_that_swings_round_its_end_in_a_few_frames_is_no_jump(frames):
    """It rests, swings by 150 degrees, and rests again."""
    angle = np.concatenate([np.zeros(10), np.linspace(0.0, np.radians(150.0), frames + 1), np.full(10, np.radians(150.0))])
    path = np.zeros((len(angle), 7))
    path[:, 0], path[:, 2] = 0.5 * np.sin(angle), 0.5 * np.cos(angle)
    path[:, 3], path[:, 5] = np.cos(0.5 * angle), np.sin(0.5 * angle)
    assert teleports_of(path, SHAPE, ()) == ()


@pytest.mark.parametrize("frames", [2, 3, 4])
def test_a_bullet_that_goes_a_long_way_in_a_few_frames_is_no_jump(frames):
    assert found([0.0] * 10 + list(np.linspace(0.0, 100.0, frames + 1)) + [100.0] * 10) == ()


@pytest.mark.parametrize("every", [1, 2, 3, 4])
def test_an_animation_with_constant_keys_on_every_few_frames_is_a_motion(every):
    x = np.repeat(0.2 * np.arange(20), every)
    assert found(x, stands=set(range(len(x)))) == ()


def test_a_turn_on_the_spot_by_a_constant_key_is_a_jump():
    path = path_of([0.0] * 20)
    path[10:, 3:] = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]
    assert possible_teleports(path, SHAPE) == [10] and teleports_of(path, SHAPE, [10]) == (10,)
    assert teleports_of(path, SHAPE, []) == ()
