# SPDX-License-Identifier: GPL-3.0-or-later
"""What is keyed at whole frames moves smoothly in between, and what stands on it stays there while friction can hold it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.dynamics.motion.paths import MOST_RECENT, GivenPath, path_pose, smooth
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..shapes import quaternion

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
BETWEEN = np.linspace(0.0, 9.0, 37)


def angle_between(q, rotation):
    return (Rotation.from_quat(np.roll(q, -1)) * rotation.inv()).magnitude()


def test_constant_acceleration_is_met_exactly():
    frames = np.arange(10.0)[:, None]
    place, velocity, half = np.array([1.0, -2.0, 0.5]), np.array([0.3, 0.0, -1.0]), np.array([0.2, 0.4, 0.1])
    path = lambda t: place + t * velocity + t**2 * half  # noqa: E731
    for t in BETWEEN:
        np.testing.assert_allclose(smooth(path(frames), t), path(t), atol=1e-13)


def test_a_point_on_a_circle_is_off_by_no_more_than_the_third_power_of_a_frame():
    """Its velocity at a frame is sin(turn) / turn of what it should be, and t (1 - t) (1 - 2 t) is 1 / (6 sqrt 3) at most."""

    def worst(turn):
        t = np.arange(13.0)[:, None]
        circle = lambda t: np.hstack([np.cos(turn * t), np.sin(turn * t), 0.0 * t])  # noqa: E731
        return max(np.linalg.norm(smooth(circle(t), at) - circle(np.array([[at]]))[0]) for at in np.linspace(2.0, 8.0, 49))

    for turn in (0.1, 0.2, 0.4):
        assert worst(turn) == pytest.approx(turn**3 / (36.0 * np.sqrt(3.0)), rel=0.1)


def test_steady_turning_is_met_exactly_whatever_the_sign_of_the_quaternions():
    spin = Rotation.from_rotvec([0.1, -0.7, 0.3])
    turned = lambda t: Rotation.from_rotvec(t * np.array([0.2, 0.9, -0.4])) * spin  # noqa: E731
    path = np.array([[0.0, 0.0, 0.0, *((-1) ** k * quaternion(turned(k)))] for k in range(10)])
    for t in BETWEEN:
        assert angle_between(path_pose(path, t)[3:], turned(t)) < 1e-13


def test_turning_faster_and_faster_about_a_turning_axis_is_smooth():
    """The angular velocity by differences has no jump at a frame, where turning evenly from pose to pose would have one."""
    wobble = lambda t: Rotation.from_rotvec([0.03 * t**2, 0.3 * np.sin(0.5 * t), 0.2 * t])  # noqa: E731
    path = np.array([[0.0, 0.0, 0.0, *quaternion(wobble(k))] for k in range(10)])
    pose = lambda t: Rotation.from_quat(np.roll(path_pose(path, t)[3:], -1))  # noqa: E731
    rate = lambda t, d: (pose(t + d) * pose(t).inv()).as_rotvec() / d  # noqa: E731
    for frame in range(2, 8):
        np.testing.assert_allclose(rate(frame, 1e-6), rate(frame, -1e-6), atol=1e-5)
        assert angle_between(path_pose(path, frame + 0.5)[3:], wobble(frame + 0.5)) < 2e-3


def test_what_waits_does_not_stir_and_what_jumps_does_not_swing_back():
    x = np.array([0.0, 0.0, 0.0, 0.1, 0.2, 5.0, 5.0, 5.0])
    values = np.array([smooth(np.outer(x, [1.0, 2.0, 0.0]), t) for t in np.linspace(0.0, 7.0, 141)])
    assert (values[:41] == 0.0).all() and (values[100:] == [5.0, 10.0, 0.0]).all()
    assert (np.diff(values[:, 0]) >= 0.0).all()


def speeds(places, at):
    """The speed (n,) along X of a path with these places at whole frames, at the middle of each of the intervals of `at`."""
    places = np.outer(places, [1.0, 0.0, 0.0])
    path = np.hstack([places, np.tile(IDENTITY, (len(places), 1))])
    x = np.array([path_pose(path, t)[0] for t in at])
    assert (x == [smooth(places, t)[0] for t in at]).all()
    return np.diff(x) / np.diff(at)


@pytest.mark.parametrize("waits", [3, 5])
@pytest.mark.parametrize("moves", [1, 2, 3, 6])
def test_what_starts_and_stops_at_once_never_exceeds_its_speed(waits, moves):
    """A single velocity at the frame of the start, zero, would take the speed within the frame to 4/3, or to 3/2."""
    x = np.concatenate([np.zeros(waits - 1), np.linspace(0.0, moves, moves + 1), np.full(waits - 1, moves)])
    speed = speeds(x, np.linspace(0.0, len(x) - 1.0, 20 * (len(x) - 1) + 1))
    expected = np.repeat((np.diff(x) > 0.0).astype(float), 20)
    np.testing.assert_allclose(speed, expected, atol=1e-12)


def test_what_turns_back_at_once_keeps_its_speed_on_both_sides():
    x = 0.7 * np.array([0.0, 1.0, 2.0, 3.0, 4.0, 3.0, 2.0, 1.0, 0.0])
    assert np.abs(speeds(x, np.linspace(0.0, 8.0, 161))) == pytest.approx(0.7, abs=1e-12)


def test_what_is_thrown_up_and_bounces_moves_on_two_parabolas():
    t = np.arange(13.0)
    height = lambda t: np.where(t < 6.0, (6.0 - t) * (4.0 + t), 0.8 * (t - 6.0) * (20.0 - t))  # noqa: E731
    path = np.outer(height(t), [0.0, 0.0, 1.0])
    for at in np.linspace(0.0, 12.0, 61):
        assert smooth(path, at)[2] == pytest.approx(height(at), abs=1e-12)


def test_a_turn_that_starts_at_once_is_as_fast_as_it_is_keyed():
    turned = lambda t: Rotation.from_rotvec(max(t - 4.0, 0.0) * np.array([0.2, 0.9, -0.4]))  # noqa: E731
    path = np.array([[0.0, 0.0, 0.0, *quaternion(turned(k))] for k in range(10)])
    for t in BETWEEN:
        assert angle_between(path_pose(path, t)[3:], turned(t)) < 1e-13


def test_what_starts_with_a_constant_acceleration_has_no_kink():
    """Its velocity is zero at the frame of the start, and exact from the next frame on."""
    x = 0.5 * np.maximum(np.arange(12.0) - 4.0, 0.0) ** 2
    speed = speeds(x, np.linspace(4.0, 11.0, 701))
    assert speed[0] < 0.01
    np.testing.assert_allclose(speed[100:], np.linspace(1.005, 6.995, 600), atol=1e-11)


@pytest.mark.parametrize("period", [5.0, 5.3, 8.0, 24.0])
def test_a_swing_of_five_frames_and_more_has_no_kink(period):
    """On both sides of a frame the velocity is the same."""
    x = np.sin(2.0 * np.pi * np.arange(60.0) / period + 0.3)
    for frame in range(4, 55):
        before, after = speeds(x, [frame - 1e-6, frame, frame + 1e-6])
        assert before == pytest.approx(after, abs=1e-4)


def test_the_places_of_a_pose_are_those_of_values_to_the_last_bit():
    """Poses come from a kernel, and values of any shape from numpy."""
    random = np.random.default_rng(0)
    for frames in (1, 2, 3, 7, 12):
        path = np.hstack([random.normal(size=(frames, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (frames, 1))])
        path[frames // 2 :, 0] = path[-1, 0]
        for t in np.linspace(0.0, frames, 29):
            assert path_pose(path, t)[:3].tobytes() == smooth(path[:, :3], t).tobytes()


def test_poses_that_a_path_keeps_are_those_that_it_finds_and_are_not_changed_by_who_has_them():
    random, jumps = np.random.default_rng(1), (4,)
    path = np.hstack([random.normal(size=(9, 3)), [quaternion(Rotation.random(rng=random)) for _ in range(9)]])
    kept = GivenPath(path, jumps)
    for t in [1.25, 1.5, 4.0, 1.25, 1.5, 4.0, *random.choice(np.linspace(0.0, 8.0, 3 * MOST_RECENT), 40)]:
        for find in (GivenPath.pose, GivenPath.pose_before):
            found = find(kept, t)
            assert found.tobytes() == find(GivenPath(path, jumps), t).tobytes()
            found[:] = np.nan


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_short_paths_begin_and_end_where_they_are_keyed(frames):
    path = np.array([[float(k), 0.0, 0.0, *quaternion(Rotation.from_rotvec([0.0, 0.0, 0.3 * k]))] for k in range(frames)])
    for at, k in ((0.0, 0), (frames - 1.0, frames - 1), (frames + 5.5, frames - 1)):
        np.testing.assert_allclose(path_pose(path, at), path[k], atol=1e-15)
    if frames > 1:
        np.testing.assert_allclose(path_pose(path, 0.5)[:3], [0.5, 0.0, 0.0], atol=1e-15)


# --- on the move


def box(half, **about):
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) * half
    # coefficients are multiplied: 0.5 between two
    return BodySpec(shape=ShapeSpec(ShapeKind.HULL, corners), material=MaterialSpec(0.5**0.5, 0.5**0.5, 0.0), **about)


def ride(place, frames=49, substeps=10):
    """Poses (frames, 2, 7) of an animated platform with its centre at place(t), and of a box of 20 cm on it."""
    path = np.array([[*place(k / 24.0), *IDENTITY] for k in range(frames)])
    platform = box((20.0, 2.0, 0.1), name="Platform", kind=BodyKind.ANIMATED, position=path[0, :3], path=path)
    rider = box(0.1, name="Box", kind=BodyKind.ACTIVE, position=path[0, :3] + [0.0, 0.0, 0.2], mass=1.0)
    scene = SceneSpec((platform, rider), frame_start=1, frame_end=frames, fps=24.0)
    return np.array([frame.poses for frame in sc.Simulation(scene, substeps=substeps).run()])


@pytest.mark.slow
@pytest.mark.parametrize(("acceleration", "substeps"), [(2.0, 10), (4.5, 20)])
def test_a_box_rides_on_a_platform_as_long_as_friction_can_hold_it(acceleration, substeps):
    """mu g is 4.9 m/s^2. Evenly from frame to frame, all of a frame's change of velocity would come in one step."""
    poses = ride(lambda t: (0.5 * acceleration * t**2, 0.0, 0.0), substeps=substeps)
    slip = poses[:, 1, 0] - poses[:, 0, 0]
    assert np.abs(slip).max() < 1e-4


@pytest.mark.slow
def test_a_platform_that_is_too_fast_leaves_the_box_behind_as_friction_says():
    poses = ride(lambda t: (0.5 * 8.0 * t**2, 0.0, 0.0))
    np.testing.assert_allclose(poses[-1, 1, 0], 0.5 * 0.5 * 9.81 * 2.0**2, rtol=1e-2)


@pytest.mark.slow
def test_a_box_stays_on_a_lift_that_falls_slower_than_it():
    omega = 4.0 * np.pi
    poses = ride(lambda t: (0.0, 0.0, 0.8 * 9.81 / omega**2 * (np.cos(omega * t) - 1.0)))
    np.testing.assert_allclose(poses[:, 1, 2] - poses[:, 0, 2], 0.2, atol=2e-4)
