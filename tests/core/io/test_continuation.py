# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that hold for a changed scene are those of a bake of it in one go, bit for bit, and so are those that follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core import worker
from solver_core.dynamics.simulation import Simulation
from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.continuation import continue_from, frames_that_hold
from solver_core.io.snapshot import write_snapshot
from solver_core.scene.fields import FieldKind, FieldSpec, Keyed
from solver_core.scene.spec import BodyKind, BodySpec, SolverSettings, SurfaceMotion

from ..shapes import box

SETTINGS = SolverSettings(substeps=3)


def shaken(frames: int, stop: int = 1000):
    """A box on a board that goes back and forth until the row `stop`, where it begins to stay."""
    rows = np.minimum(np.arange(frames), stop)
    path = np.zeros((frames, 7))
    path[:, 0], path[:, 3] = 0.05 * np.sin(0.9 * rows), 1.0
    board = BodySpec("Board", BodyKind.ANIMATED, box(1.0, 1.0, 0.1), path=path)
    load = BodySpec("Load", BodyKind.ACTIVE, box(0.1, 0.1, 0.1), position=np.array([0.0, 0.0, 0.2]), mass=1.0)
    return sc.SceneSpec((board, load), frame_start=1, frame_end=frames)


def baked(path, spec, settings=SETTINGS):
    with FrameCacheWriter.create(path, spec, settings) as writer:
        simulation = Simulation(spec, settings)
        writer.append(simulation.first_frame(), simulation.checkpoint())
        for _ in range(spec.frame_start, spec.frame_end):
            writer.append(simulation.advance(), simulation.checkpoint())
    return [frame.poses for frame in FrameCacheReader(path)]


def resumed(path, spec, settings=SETTINGS):
    snapshot = path.with_suffix(".snapshot")
    write_snapshot(snapshot, spec, settings)
    assert worker.main([str(snapshot), str(path), "--resume"]) in (0, 3)
    return [frame.poses for frame in FrameCacheReader(path)]


def windy(frames: int, stop: int = 1000):
    """The box on a board that stays, in a gale that changes, and moves, until the row `stop`."""
    rows = np.minimum(np.arange(frames), stop)
    place = np.zeros((frames, 3))
    place[:, 0] = 0.1 * rows
    gusts = Keyed("strength", 40.0 * np.sin(1.0 + rows))
    gale = FieldSpec("Gale", FieldKind.TURBULENCE, size=0.3, position=place, keyed=(gusts,))
    spec = shaken(frames)
    board = replace(spec.bodies[0], kind=BodyKind.PASSIVE, path=None)
    return replace(spec, bodies=(board, spec.bodies[1]), fields=(gale,))


def carried(frames: int, stop: int = 1000):
    """The box on a belt whose speed changes until the row `stop`."""
    rows = np.minimum(np.arange(frames), stop)
    speed = np.zeros((frames, 3))
    speed[:, 0] = 0.3 * np.sin(0.9 * rows)
    spec = shaken(frames)
    motion = SurfaceMotion(velocity=speed)
    belt = replace(spec.bodies[0], kind=BodyKind.PASSIVE, path=None, surface_motion=motion)
    load = replace(spec.bodies[1], position=np.array([0.0, 0.0, 0.1]))
    return replace(spec, bodies=(belt, load))


@pytest.mark.parametrize(
    ("before", "now", "last"),
    [
        (carried(8), carried(12), 7),
        (carried(12), carried(12, stop=7), 7),
        (windy(8), windy(12), 8),
        (windy(12), windy(8), 8),
        (windy(12), windy(12, stop=7), 8),
        (shaken(8), shaken(12), 7),
        (shaken(12), shaken(8), 7),
        (shaken(12), shaken(12, stop=7), 7),
        (shaken(12), shaken(12), 12),
    ],
    ids=[
        "longer on a belt",
        "another belt",
        "longer in wind",
        "shorter in wind",
        "another wind",
        "longer",
        "shorter",
        "other motion",
        "the same",
    ],
)
def test_a_bake_goes_on_in_a_changed_scene_as_if_in_one_go(tmp_path, before, now, last):
    assert frames_that_hold((before, SETTINGS), (now, SETTINGS)) == last
    baked(tmp_path / "before", before)
    wanted = baked(tmp_path / "now", now)
    continue_from(tmp_path / "before", tmp_path / "joined", (now, SETTINGS), last)
    assert np.array_equal(resumed(tmp_path / "joined", now), wanted)
    assert np.ptp([poses[1, 0] for poses in wanted]) > 0.01


def test_without_animated_bodies_all_frames_hold_for_a_longer_scene():
    bodies = shaken(5).bodies[1:]
    assert frames_that_hold((sc.SceneSpec(bodies, frame_end=5), SETTINGS), (sc.SceneSpec(bodies, frame_end=9), SETTINGS)) == 5


@pytest.mark.parametrize(
    "change",
    [
        lambda spec, settings: (replace(spec, gravity=np.zeros(3)), settings),
        lambda spec, settings: (replace(spec, frame_start=0), settings),
        lambda spec, settings: (replace(spec, bodies=spec.bodies[::-1]), settings),
        lambda spec, settings: (spec, replace(settings, substeps=4)),
        lambda spec, settings: (replace(spec, bodies=(spec.bodies[0], replace(spec.bodies[1], mass=2.0))), settings),
        lambda spec, settings: (shaken(8, stop=0), settings),
    ],
)
def test_what_acts_from_the_first_frame_on_leaves_no_frame(change):
    content = shaken(8), SETTINGS
    assert frames_that_hold(content, change(*content)) is None
