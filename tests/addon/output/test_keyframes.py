# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyframes as they are asked for: fewer within a tolerance, in steps, between frames, into strips of the NLA."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from ..dump import dump
from ..objects import PLACEMENTS, add_empty, axis_angle, euler_zyx, quaternion, world_matrix

LAST = 40


@pytest.fixture
def long_scene(scene):
    scene.rigidbody_world.point_cache.frame_end = LAST
    return scene


def swinging(body: int, frame: float) -> np.ndarray:
    """Something smooth that goes round and about, and rests in the end."""
    t = min(frame - 1, 30.0) / 16.0
    result = np.eye(4)
    c, s = np.cos(1.3 * t), np.sin(1.3 * t)
    result[:3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
    result[:3, 3] = [np.sin(t), 0.2 * t * t, 0.3 * abs(np.cos(t))]
    return result


@pytest.fixture
def swinging_worker(fake_worker):
    fake_worker.displacement = staticmethod(swinging)
    return fake_worker


def at_every_frame(ob) -> np.ndarray:
    worlds = []
    for frame in range(1, LAST + 1):
        bpy.context.scene.frame_set(frame)
        worlds.append(world_matrix(ob))
    return np.array(worlds)


def errors(found: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """In m and rad, of matrices with the same scale."""
    place = np.linalg.norm(found[:, :3, 3] - wanted[:, :3, 3], axis=1).max()
    turn = found[:, :3, :3] @ np.linalg.inv(wanted[:, :3, :3])
    cosines = np.clip((np.trace(turn, axis1=1, axis2=2) - 1) / 2, -1, 1)
    return float(place), float(np.arccos(cosines).max())


def curves_of(ob):
    from stiction.addon.blender import actions

    return {(curve.data_path, curve.array_index): len(curve.keyframe_points) for curve in actions.curves(ob)}


@pytest.mark.parametrize("place", PLACEMENTS[::2])
def test_thinned_keys_stay_within_the_tolerance_at_every_frame(long_scene, make_body, swinging_worker, place):
    ob = make_body()
    ob.location = (0.3, 0.2, 1.0)
    place(ob)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    cached = at_every_frame(ob)
    limits = 0.04, math.radians(2.0)
    assert bpy.ops.stiction.bake_to_keyframes(where="TOLERANCE", place_error=limits[0], rotation_error=limits[1]) == {
        "FINISHED"
    }
    found = errors(at_every_frame(ob), cached)
    # a thousandth of an angle is lost in matrices of single precision
    assert found[0] <= limits[0] + 5e-6 and found[1] <= limits[1] + 2e-3
    assert found[0] > 0.3 * limits[0] and found[1] > 0.3 * limits[1]
    counts = curves_of(ob)
    assert max(counts.values()) < 0.75 * LAST
    # all numbers of a place have their keys at the same frames, and all of a rotation
    assert len({count for (path, _), count in counts.items() if path == "location"}) == 1
    assert len({count for (path, _), count in counts.items() if path != "location"}) == 1


def test_the_worst_error_is_told_with_object_and_frame(long_scene, make_body, swinging_worker, capfd):
    ob = make_body("Pendulum")
    bpy.ops.stiction.bake()
    cached = at_every_frame(ob)
    from stiction.addon.output.channel_tracks import Keys, Tolerance
    from stiction.addon.output.keyframes import commit

    written = commit(bpy.context, Keys(tolerance=Tolerance(0.02, math.radians(3.0))))
    found = at_every_frame(ob)
    off = np.linalg.norm(found[:, :3, 3] - cached[:, :3, 3], axis=1)
    assert written.place.name == written.rotation.name == "Pendulum"
    assert written.place.error == pytest.approx(off.max(), abs=1e-5)
    assert off[int(written.place.frame) - 1] == pytest.approx(off.max(), abs=1e-5)
    assert written.rotation.error == pytest.approx(errors(found, cached)[1], abs=1e-3)
    assert written.keys == sum(curves_of(ob).values()) < written.keys_at_every_frame == 6 * LAST
    assert f"{1e3 * written.place.error:.3g} mm (Pendulum, frame {written.place.frame:g})" in str(written)


def test_steps_of_frames_keep_the_last_and_tell_how_far_off_they_are(long_scene, make_body, swinging_worker):
    ob = make_body()
    bpy.ops.stiction.bake()
    cached = at_every_frame(ob)
    from stiction.addon.blender import actions
    from stiction.addon.output.channel_tracks import Keys
    from stiction.addon.output.keyframes import commit

    written = commit(bpy.context, Keys(step=4))
    wanted = [*range(1, LAST, 4), LAST]
    assert {tuple(point.co[0] for point in curve.keyframe_points) for curve in actions.curves(ob)} == {
        tuple(map(float, wanted))
    }
    found = at_every_frame(ob)
    rows = np.array(wanted) - 1
    assert np.abs(found[rows] - cached[rows]).max() < 3e-6
    assert written.place.error == pytest.approx(errors(found, cached)[0], abs=1e-5)


def test_a_hit_keeps_its_frames_however_loose_the_tolerance(long_scene, make_body, fake_worker):
    """A ball that falls, and jumps from the ground between the frames 11 and 12."""
    plain = fake_worker.frame

    def frame(self, number):
        made = plain(self, number)
        since = number - 1 if number < 12 else number - 22
        made.velocities[0, 2] = -9.81 * since / 24.0
        return made

    def displacement(body, number):
        since = number - 1 if number < 12 else number - 22
        result = np.eye(4)
        result[2, 3] = -0.5 * 9.81 * (since / 24.0) ** 2
        return result

    fake_worker.frame, fake_worker.displacement = frame, staticmethod(displacement)
    ob = make_body()
    bpy.ops.stiction.bake()
    bpy.ops.stiction.bake_to_keyframes(where="TOLERANCE", place_error=1e3, rotation_error=math.pi)
    from stiction.addon.blender import actions

    for curve in actions.curves(ob):
        assert [point.co[0] for point in curve.keyframe_points] == [1.0, 11.0, 12.0, float(LAST)]


@pytest.mark.parametrize("place", [euler_zyx, quaternion, axis_angle])
def test_keys_between_frames_blur_what_turns_fast(make_body, fake_worker, place):
    """A wheel that makes 0.7 turns in a frame."""
    plain = fake_worker.frame

    def frame(self, number):
        made = plain(self, number)
        made.velocities[0, 3:] = [0.0, 0.0, 0.7 * 2 * np.pi * self.spec.fps / self.spec.time_scale]
        return made

    def displacement(body, number):
        result = np.eye(4)
        angle = 0.7 * 2 * np.pi * (number - 1)
        result[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        return result

    fake_worker.frame, fake_worker.displacement = frame, staticmethod(displacement)
    ob = make_body()
    if place is not euler_zyx:
        place(ob)
    rest = world_matrix(ob)
    bpy.ops.stiction.bake()
    bpy.ops.stiction.bake_to_keyframes(a_frame=8)
    for quarter in range(16):
        bpy.context.scene.frame_set(1 + quarter // 4, subframe=quarter % 4 / 4)
        assert np.abs(world_matrix(ob) - displacement(0, 1 + quarter / 4) @ rest).max() < 1e-5


def own_animation(ob) -> None:
    """Keys of place and of something else, and a track that was pushed down."""
    ob.keyframe_insert("location", frame=1)
    ob.location.x += 1.0
    ob.keyframe_insert("location", frame=20)
    ob["glow"] = 0.0
    ob.keyframe_insert('["glow"]', frame=1)
    ob["glow"] = 1.0
    ob.keyframe_insert('["glow"]', frame=11)
    track = ob.animation_data.nla_tracks.new()
    track.name = "Own"
    lift = bpy.data.actions.new("Lift")
    track.strips.new("Lift", 1, lift)


@pytest.mark.parametrize("place", [euler_zyx, quaternion])
def test_keys_in_a_strip_show_the_bake_and_leave_the_action_free(long_scene, make_body, swinging_worker, place):
    ob = make_body()
    place(ob)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    cached = at_every_frame(ob)
    assert bpy.ops.stiction.bake_to_keyframes(to_strip=True) == {"FINISHED"}
    assert np.abs(at_every_frame(ob) - cached).max() < 3e-6
    data = ob.animation_data
    assert data.action is None and [track.name for track in data.nla_tracks] == ["Stiction Bake"]
    bpy.context.scene.frame_set(LAST + 10)
    assert np.abs(world_matrix(ob) - cached[-1]).max() < 3e-6
    # what is added on top counts
    ob.keyframe_insert("location", frame=5)
    assert data.action is not None


def test_an_action_with_other_curves_goes_on_beside_the_strip_and_free_bake_brings_all_back(
    long_scene, make_body, swinging_worker
):
    ob, other = make_body(), make_body("Other")
    own_animation(ob)
    bpy.context.scene.frame_set(1)
    before = dump()
    bpy.ops.stiction.bake()
    cached = at_every_frame(ob)
    bpy.ops.stiction.bake_to_keyframes(to_strip=True)
    assert np.abs(at_every_frame(ob) - cached).max() < 3e-6
    bpy.context.scene.frame_set(6)
    assert 0.0 < ob["glow"] < 1.0
    bpy.context.scene.frame_set(1)
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    bpy.context.scene.frame_set(1)
    assert dump() == before
    assert other.animation_data is None


def test_a_strip_is_no_change_of_what_the_bake_was_made_from(long_scene, make_body, swinging_worker):
    ob = make_body()
    own_animation(ob)
    other = make_body("Other")
    ob.parent = add_empty("Cart", (0, 0, 0), (0, 0, 0))
    bpy.context.scene.frame_set(1)
    from stiction.addon.bake.outdated import changes
    from stiction.addon.read.extract import extract
    from stiction.solver_core.io.snapshot import snapshot_digest

    bpy.ops.stiction.bake()
    assert changes(bpy.context.scene) == []
    digest = bpy.context.scene.stiction.bake.digest
    bpy.ops.stiction.bake_to_keyframes(to_strip=True)
    assert changes(bpy.context.scene) == []
    read = extract(bpy.context)
    assert snapshot_digest(read.spec, read.settings) == digest
    # and the strip plays on after the scene was read
    bpy.context.scene.frame_set(20)
    there = [world_matrix(one) for one in (ob, other)]
    bpy.context.scene.frame_set(1)
    assert min(np.abs(at - world_matrix(one)).max() for at, one in zip(there, (ob, other), strict=True)) > 0.1
    ob.animation_data.nla_tracks["Own"].strips[0].scale = 2.0
    assert changes(bpy.context.scene) == ["animation of Body"]


def test_baking_again_replaces_the_strip(long_scene, make_body, swinging_worker):
    ob = make_body()
    for _ in range(2):
        bpy.ops.stiction.bake()
        bpy.ops.stiction.bake_to_keyframes(to_strip=True)
    assert len(ob.animation_data.nla_tracks) == 1 and len(bpy.data.actions) == 1


def test_a_track_that_played_alone_does_so_again_after_free_bake(long_scene, make_body, swinging_worker):
    ob = make_body()
    own_animation(ob)
    ob.animation_data.nla_tracks["Own"].is_solo = True
    bpy.ops.stiction.bake()
    cached = at_every_frame(ob)
    bpy.ops.stiction.bake_to_keyframes(to_strip=True)
    assert np.abs(at_every_frame(ob) - cached).max() < 3e-6
    bpy.ops.stiction.free_bake()
    assert ob.animation_data.nla_tracks["Own"].is_solo and not ob.animation_data.nla_tracks["Own"].mute


@pytest.mark.parametrize("where", ["STEP", "TOLERANCE"])
def test_a_bake_of_one_frame_becomes_keys_all_the_same(scene, make_body, fake_worker, where):
    scene.rigidbody_world.point_cache.frame_end = 1
    ob = make_body()
    scene.stiction.use_frame_range, scene.stiction.frame_start, scene.stiction.frame_end = True, 1, 2
    fake_worker.last_frame = 1
    bpy.ops.stiction.bake()
    assert bpy.ops.stiction.bake_to_keyframes(where=where, to_strip=True) == {"FINISHED"}
    assert len(ob.animation_data.nla_tracks) == 1
