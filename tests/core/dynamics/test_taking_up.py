# SPDX-License-Identifier: GPL-3.0-or-later
"""From any frame of a bake another scene can go on: as fast as the bodies were there, by its own values, and it is told."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core import worker
from solver_core.certificate import certificate_of
from solver_core.dynamics.simulation import Simulation
from solver_core.io.cache import CacheError, EarlierFrames, FrameCacheReader, cache_digest
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.continuation import continue_from, earlier_frames
from solver_core.io.snapshot import snapshot_digest, write_snapshot
from solver_core.scene.differences import differences
from solver_core.scene.spec import BodyKind, BodySpec, ContactMethod, MaterialSpec, SolverSettings

from ..shapes import box

SETTINGS = SolverSettings(substeps=4)
G = 9.81


def sliding(mu: float, frames: int = 24, **changes):
    """A box that slides over a floor at 2 m/s."""
    material = MaterialSpec(mu, mu)
    rough, below = MaterialSpec(1.0, 1.0), np.array([0.0, 0.0, -0.25])
    floor = BodySpec("Floor", BodyKind.PASSIVE, box(20.0, 20.0, 0.5), position=below, material=rough)
    slider = BodySpec(
        "Slider",
        BodyKind.ACTIVE,
        box(0.2, 0.2, 0.1),
        position=np.array([0.0, 0.0, 0.05]),
        velocity=np.array([2.0, 0.0, 0.0]),
        mass=1.0,
        material=material,
    )
    return sc.SceneSpec((floor, replace(slider, **changes)), frame_end=frames, gravity=np.array([0.0, 0.0, -G]))


def baked(path, spec, settings=SETTINGS):
    with FrameCacheWriter.create(path, spec, settings) as writer:
        simulation = Simulation(spec, settings)
        writer.append(simulation.first_frame(), simulation.checkpoint())
        for _ in range(spec.frame_start, spec.frame_end):
            writer.append(simulation.advance(), simulation.checkpoint())
    return path


def gone_on(tmp_path, spec, now, last, settings=SETTINGS, settings_now=SETTINGS, name="mixed"):
    """Bake a scene, keep its frames up to `last`, and let the worker bake the rest of another."""
    source = tmp_path / "before.cache"
    if not source.exists():
        baked(source, spec, settings)
    return kept(tmp_path, source, (spec, settings), (now, settings_now), last, name)


def kept(tmp_path, source, before, now, last, name):
    cache, snapshot = tmp_path / f"{name}.cache", tmp_path / f"{name}.snapshot"
    parts = earlier_frames(FrameCacheReader(source), before, now, last)
    continue_from(source, cache, now, last, parts)
    write_snapshot(snapshot, *now)
    assert worker.main([str(snapshot), str(cache), "--resume", "--report", str(tmp_path / f"{name}.json")]) in (0, 3)
    return FrameCacheReader(cache)


def test_a_slider_is_braked_by_the_new_friction_from_the_speed_that_it_had(tmp_path, capsys):
    reader = gone_on(tmp_path, sliding(0.1), sliding(0.8), 10)
    frames = list(reader)
    before = list(FrameCacheReader(tmp_path / "before.cache"))
    assert all(np.array_equal(frames[i].poses, before[i].poses) for i in range(10))
    at, speed = frames[9].poses[1, 0], frames[9].velocities[1, 0]
    assert speed == pytest.approx(2.0 - 0.1 * G * 9 / 24, abs=0.01)
    # of the speed at the frame the leapfrog has passed half a step: an error of v h / 2, as at the first frame
    assert frames[-1].poses[1, 0] - at == pytest.approx(speed**2 / (2 * 0.8 * G), abs=speed / (24 * 4) / 2)
    assert np.abs(frames[-1].velocities[1]).max() < 1e-3


def test_what_the_cache_says_of_its_earlier_frames_is_in_report_and_certificate(tmp_path, capsys):
    spec, now = sliding(0.1), sliding(0.8)
    reader = gone_on(tmp_path, spec, now, 10, settings_now=replace(SETTINGS, substeps=7))
    otherwise = ("substeps 4", "friction 0.1 of Slider")
    part = EarlierFrames(10, snapshot_digest(spec, SETTINGS), otherwise)
    assert reader.info.earlier == (part,)
    assert reader.info.digest == cache_digest(snapshot_digest(now, replace(SETTINGS, substeps=7)), (part,))
    for report in (
        json.loads((tmp_path / "mixed.json").read_text()),
        json.loads(json.dumps(certificate_of(tmp_path / "mixed.snapshot", tmp_path / "mixed.cache"))),
    ):
        assert report["earlier"] == [{"last_frame": 10, "digest": part.digest, "differences": list(part.differences)}]
        assert [row["steps"] for row in report["frames"][8:12]] == [4, 4, 7, 7]


def test_an_unchanged_bake_says_that_none_of_its_frames_is_of_another(tmp_path, capsys):
    cache, snapshot = tmp_path / "plain.cache", tmp_path / "plain.snapshot"
    write_snapshot(snapshot, sliding(0.3, frames=3), SETTINGS)
    assert worker.main([str(snapshot), str(cache)]) == 0
    assert certificate_of(snapshot, cache)["earlier"] == []


def test_interrupted_and_resumed_it_has_the_same_bits(tmp_path, capsys):
    spec, now = sliding(0.1), sliding(0.8)
    whole = [frame.poses for frame in gone_on(tmp_path, spec, now, 10)]
    cache = tmp_path / "mixed.cache"
    for missing in (9, 14, 1):
        with open(cache, "r+b") as file:
            file.truncate(FrameCacheReader(cache)._places[-missing].frame.offset)
        assert worker.main([str(tmp_path / "mixed.snapshot"), str(cache), "--resume"]) == 0
        assert np.array_equal([frame.poses for frame in FrameCacheReader(cache)], whole)


def test_frames_of_the_other_bake_that_are_lost_cannot_be_baked_by_this_one(tmp_path, capsys):
    gone_on(tmp_path, sliding(0.1), sliding(0.8), 10)
    cache = tmp_path / "mixed.cache"
    with open(cache, "r+b") as file:
        file.truncate(FrameCacheReader(cache)._places[8].frame.offset)
    assert worker.main([str(tmp_path / "mixed.snapshot"), str(cache), "--resume"]) == 2
    assert "up to 10 are from another bake" in capsys.readouterr().out


def test_bakes_of_three_scenes_follow_each_other_and_each_is_told(tmp_path, capsys):
    first, second, third = sliding(0.1), sliding(0.8), sliding(0.0)
    mixed = gone_on(tmp_path, first, second, 6)
    both = kept(tmp_path, tmp_path / "mixed.cache", (second, SETTINGS), (third, SETTINGS), 9, "both")
    assert [part.last_frame for part in both.info.earlier] == [6, 9]
    assert both.info.earlier[0] == mixed.info.earlier[0] and both.info.earlier[1].digest == mixed.info.digest
    speeds = [frame.velocities[1, 0] for frame in both]
    assert np.diff(speeds[6:9]) == pytest.approx(-0.8 * G / 24, rel=0.02)
    assert np.diff(speeds[9:]) == pytest.approx(0.0, abs=1e-6)
    # cut before the second began, only the first is left of them
    early = kept(tmp_path, tmp_path / "mixed.cache", (second, SETTINGS), (third, SETTINGS), 4, "early")
    (part,) = early.info.earlier
    assert part.last_frame == 4 and part.digest == mixed.info.earlier[0].digest
    assert "friction 0.1 of Slider" in part.differences


def test_another_mass_and_shape_take_up_place_and_speed_of_the_body(tmp_path, capsys):
    """The new shape has its centre of mass elsewhere in the body: its frame goes on as it went."""
    tall = box(0.2, 0.2, 0.3)
    tall = replace(tall, vertices=tall.vertices + np.array([0.0, 0.0, 0.2]))
    spec = sliding(0.0, velocity=np.array([1.0, 0.0, 0.0]))
    floating = replace(spec, gravity=np.zeros(3))
    turning = replace(floating, bodies=(spec.bodies[0], replace(spec.bodies[1], angular_velocity=np.array([0.0, 0.0, 2.0]))))
    now = replace(turning, bodies=(turning.bodies[0], replace(turning.bodies[1], shape=tall, mass=5.0)))
    frames = list(gone_on(tmp_path, turning, now, 8))
    assert np.allclose([frame.velocities[1] for frame in frames], [1, 0, 0, 0, 0, 2], atol=1e-6)
    assert np.allclose(np.diff([frame.poses[1, 0] for frame in frames]), 1 / 24, atol=1e-6)


def test_what_was_never_touched_sleeps_on_and_what_was_is_awake(tmp_path, capsys):
    def scene(mu):
        spec = sliding(mu, frames=16)
        hanging = replace(spec.bodies[1], name="Hanging", velocity=np.zeros(3), starts_asleep=True)
        high = replace(hanging, position=np.array([0.0, 5.0, 3.0]))
        met = replace(hanging, name="Met", position=np.array([0.6, 0.0, 0.05]))
        return replace(spec, bodies=(*spec.bodies, high, met))

    poses = np.array([frame.poses for frame in gone_on(tmp_path, scene(0.1), scene(0.2), 10)])
    assert np.ptp(poses[:, 2], axis=0).max() == 0.0
    assert poses[9, 3, 0] > 0.61 and poses[-1, 3, 0] > poses[9, 3, 0] + 0.01


def refusal(before, now, last=5, tmp_path=None):
    with pytest.raises(CacheError) as caught:
        earlier_frames(FrameCacheReader(tmp_path / "before.cache"), before, now, last)
    return str(caught.value)


def test_what_cannot_go_on_from_there_is_refused_by_name(tmp_path):
    spec = sliding(0.1, frames=8)
    baked(tmp_path / "before.cache", spec)
    floor, slider = spec.bodies
    more = replace(slider, name="More", position=np.array([0.0, 3.0, 0.05]))
    cases = {
        "Slider is missing": replace(spec, bodies=(floor, replace(slider, name="Renamed"))),
        "More was added": replace(spec, bodies=(floor, slider, more)),
        "another order": replace(spec, bodies=(slider, floor)),
        "Slider begins at another place": replace(spec, bodies=(floor, replace(slider, position=np.array([0.1, 0.0, 0.05])))),
        "Slider was active and is passive now": replace(spec, bodies=(floor, replace(slider, kind=BodyKind.PASSIVE))),
        "first frame was 1": replace(spec, frame_start=0),
        "nothing has changed": replace(spec, frame_end=9),
    }
    for words, now in cases.items():
        assert words in refusal((spec, SETTINGS), (now, SETTINGS), tmp_path=tmp_path)
    changed = sliding(0.8, frames=8)
    assert "frame 9 is not in the cache" in refusal((spec, SETTINGS), (changed, SETTINGS), 9, tmp_path)
    assert "the last of the bake" in refusal((spec, SETTINGS), (changed, SETTINGS), 8, tmp_path)


def test_differences_are_told_with_values_and_names():
    spec = sliding(0.1)
    bodies = tuple(replace(spec.bodies[1], name=f"Box {i}") for i in range(5))
    before = replace(spec, bodies=bodies, gravity=np.array([0.0, 0.0, -1.62]))
    after = replace(spec, bodies=tuple(replace(body, mass=2.0) for body in bodies))
    found = differences((before, SETTINGS), (after, replace(SETTINGS, method=ContactMethod.PIVOT)))
    assert found == ("method staggered", "gravity (0, 0, -1.62)", "mass 1 of Box 0, Box 1 and 3 more")
    assert differences((spec, SETTINGS), (replace(spec, frame_end=3), SETTINGS)) == ()
