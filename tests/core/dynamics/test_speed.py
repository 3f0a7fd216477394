# SPDX-License-Identifier: GPL-3.0-or-later
"""The speed of the simulation from frame to frame: slow motion and frozen time are the same motion on another clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.simulation import Simulation
from solver_core.io.cache import CacheError, FrameCacheReader, refuse_other_scene
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.continuation import frames_that_hold
from solver_core.scene.parts import box, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, SolverSettings
from solver_core.scene.timing import Timing
from solver_core.validation.findings import SceneError

from ..shapes import box as box_shape

FPS, G = 24.0, 9.81
SMOOTH = MaterialSpec(0.0, 0.0)


def speeds(frames, keys):
    """(frames,) of keys {frame: speed}, each of which holds up to the next; frames count from 1."""
    return np.array([keys[max(key for key in keys if key <= frame)] for frame in range(1, frames + 1)])


def scene(bodies, path, **more):
    scale = float(path[1:].max())
    return SceneSpec(tuple(bodies), frame_end=len(path), fps=FPS, time_scale=scale, speed_path=path, **more)


def falling(height):
    place = np.array([0.0, 0.0, height])
    return BodySpec("Ball", BodyKind.ACTIVE, sphere_shape(0.5), position=place, material=SMOOTH, mass=1.0)


def test_a_ball_that_falls_in_slow_motion_has_fallen_by_the_time_that_has_passed():
    """Speed 1 up to frame 10, 0.1 from 11 to 40, 1 after: z = 6 - g t^2 / 2 with t = 9 / 24 s + 30 / 240 s at frame 40."""
    path = speeds(44, {1: 1.0, 11: 0.1, 41: 1.0})
    frames = Simulation(scene([falling(6.0)], path)).run()
    time = np.cumsum(np.where(np.arange(44) == 0, 0.0, path)) / FPS
    np.testing.assert_allclose([frame.poses[0, 2] for frame in frames], 6.0 - 0.5 * G * time**2, atol=1e-9)
    assert frames[39].poses[0, 2] == pytest.approx(4.77, abs=5e-3)


def test_speed_0_freezes_all_that_is_simulated_and_nothing_is_lost_by_it():
    """The frames after it are those of the same shot without the frozen frames, to the last bit; what lies keeps lying."""
    bodies = (
        ground(MaterialSpec(0.5, 0.5)),
        box("Thrown", (0.2, 0.3, 0.4), (0.0, 0.0, 0.5), MaterialSpec(0.5, 0.5), 1.0, velocity=(1.0, 0.0, 2.0)),
        box("Lies", (0.2, 0.2, 0.2), (3.0, 0.0, 0.1), MaterialSpec(0.5, 0.5), 1.0),
    )
    frozen = Simulation(scene(bodies, speeds(30, {1: 1.0, 9: 0.0, 15: 1.0}))).run()
    whole = Simulation(scene(bodies, speeds(24, {1: 1.0}))).run()
    for number, frame in enumerate(frozen):
        same = whole[min(number, 7) if number < 14 else number - 6]
        np.testing.assert_array_equal(frame.poses, same.poses)
        assert len(frame.statistics.status) == (0 if number == 0 or 8 <= number < 14 else 10)


def test_an_animated_body_moves_by_the_frames_so_that_it_is_faster_for_what_it_pushes_in_slow_motion():
    """As in Blender, keyframes are of the timeline: 0.1 m a frame are 2.4 m/s, and 24 m/s at a tenth of the speed."""
    path = np.tile([-1.0, 0.0, 0.15, 1.0, 0.0, 0.0, 0.0], (12, 1))
    path[:, 0] += 0.1 * np.arange(12)
    hand = BodySpec("Hand", BodyKind.ANIMATED, box_shape(0.1, 0.1, 0.1), position=path[0, :3], path=path)
    for speed in (1.0, 0.1):
        crate = box("Crate", (0.2, 0.2, 0.2), (-0.7, 0.0, 0.15), SMOOTH, 1.0)
        spec = scene([hand, crate], speeds(12, {1: speed}), gravity=np.zeros(3))
        frames = Simulation(spec).run()
        assert frames[-1].velocities[1, 0] == pytest.approx(2.4 / speed, rel=1e-6)
        assert frames[-1].poses[0, 0] == pytest.approx(0.1)


def test_what_an_animated_body_does_in_frozen_time_is_no_motion():
    """It goes through a standing box while time stands still, and the box stays where it is, also afterwards."""
    path = np.tile([-2.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], (20, 1))
    path[5:11, 0], path[11:, 0] = np.linspace(-2.0, 2.0, 6), 2.0
    ram = BodySpec("Ram", BodyKind.ANIMATED, box_shape(0.5, 0.5, 0.5), position=path[0, :3], path=path)
    rough = MaterialSpec(0.5, 0.5)
    standing = box("Box", (1.0, 1.0, 1.0), (0.0, 0.0, 0.5), rough, 1.0)
    frames = Simulation(scene([ground(rough), ram, standing], speeds(20, {1: 1.0, 5: 0.0, 13: 1.0}))).run()
    for frame, pose in zip(frames, path, strict=True):
        np.testing.assert_allclose(frame.poses[1], pose, atol=1e-12)
        np.testing.assert_allclose(frame.poses[2, :3], [0.0, 0.0, 0.5], atol=1e-3)


def test_what_stands_in_slow_motion_does_not_sleep_before_its_time_and_falls_when_it_should():
    """At a millionth of the speed nothing has moved in a window of steps; a body that falls is no body at rest."""
    path = speeds(40, {1: 1e-6, 20: 1.0})
    frames = Simulation(scene([ground(SMOOTH), falling(3.0)], path)).run()
    time = np.cumsum(np.where(np.arange(40) == 0, 0.0, path)) / FPS
    expected = np.maximum(3.0 - 0.5 * G * time**2, 0.5)
    np.testing.assert_allclose([frame.poses[1, 2] for frame in frames][:35], expected[:35], atol=2e-4)
    assert all(int(frame.statistics.asleep.max(initial=0)) == 0 for frame in frames)


@pytest.mark.parametrize("stop", [6, 12, 17])
def test_a_bake_in_slow_motion_goes_on_from_any_checkpoint_with_the_same_bits(stop):
    path = speeds(20, {1: 1.0, 8: 0.25, 13: 0.0, 15: 2.0})
    bodies = ground(MaterialSpec(0.5, 0.5)), box("Box", (0.2, 0.3, 0.4), (0.0, 0.0, 0.4), MaterialSpec(0.5, 0.5), 1.0)
    whole = Simulation(scene(bodies, path))
    frames, kept = [whole.first_frame()], {}
    for number in range(2, 21):
        frames.append(whole.advance())
        kept[number] = whole.checkpoint()
    again = Simulation(scene(bodies, path))
    again.restore(stop, kept[stop])
    for number in range(stop + 1, 21):
        np.testing.assert_array_equal(again.advance().poses, frames[number - 1].poses)


def test_impacts_have_the_time_of_the_simulation_and_their_frame_on_the_timeline():
    """A ball that falls by h meets the floor after sqrt(2 h / g) of simulated time, whatever frame that is."""
    path = speeds(60, {1: 1.0, 5: 0.2})
    simulation = Simulation(scene([ground(SMOOTH), falling(0.7)], path), keep_contacts=True)
    impacts = [one for frame in simulation.run() if frame.contacts is not None for one in frame.contacts.impacts.time]
    expected = np.sqrt(2.0 * 0.2 / G)
    assert impacts[0] == pytest.approx(expected, abs=2e-3)
    frame = Timing(simulation.spec).frames_at(np.array(impacts[:1]))[0]
    assert frame == pytest.approx(3.0 + (expected - 3.0 / FPS) * FPS / 0.2, abs=0.3)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (np.ones(3), "has the shape"),
        (np.array([1.0, 1.0, -1.0, 1.0]), "the speed at frame 3 is -1"),
        (np.array([1.0, np.nan, 1.0, 1.0]), "the speed at frame 2 is nan"),
        (np.zeros(4), "0 at every frame"),
        (np.full(4, 0.5), "largest speed is 0.5"),
    ],
)
def test_speeds_that_cannot_be_followed_are_refused_by_frame(path, message):
    spec = SceneSpec((falling(1.0),), frame_end=4, speed_path=path)
    with pytest.raises(SceneError, match=message):
        Simulation(spec)


def test_a_scene_without_speeds_is_the_same_as_one_with_the_same_speed_at_all_frames():
    bodies = ground(SMOOTH), falling(0.6)
    alike = scene(bodies, speeds(12, {1: 1.0}))
    one, other = (sc.Simulation(spec).run() for spec in (alike, replace(alike, speed_path=None)))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.poses, b.poses)


def test_a_cache_knows_how_long_each_frame_is_and_one_without_speeds_is_that_of_earlier_versions(tmp_path):
    path = speeds(6, {1: 1.0, 3: 0.5, 5: 0.0})
    spec = scene([falling(1.0)], path)
    for name, one in (("slow", spec), ("plain", replace(spec, speed_path=None))):
        FrameCacheWriter.create(tmp_path / name, one, SolverSettings()).close()
    slow, plain = (FrameCacheReader(tmp_path / name).info for name in ("slow", "plain"))
    assert [slow.seconds_to(frame) * FPS for frame in range(1, 7)] == [1.0, 1.0, 0.5, 0.5, 0.0, 0.0]
    assert plain.speeds == () and plain.seconds_to(3) == 1.0 / FPS
    assert b"speeds" not in (tmp_path / "plain").read_bytes()
    refuse_other_scene("cache", slow, spec)
    with pytest.raises(CacheError, match="do not match"):
        refuse_other_scene("cache", slow, replace(spec, speed_path=np.ones(6)))


def test_frames_hold_up_to_the_one_before_the_speed_changes():
    before, now = (scene([falling(1.0)], speeds(20, keys)) for keys in ({1: 1.0, 9: 0.5}, {1: 1.0, 9: 0.5, 14: 0.1}))
    assert frames_that_hold((before, SolverSettings()), (now, SolverSettings())) == 13
