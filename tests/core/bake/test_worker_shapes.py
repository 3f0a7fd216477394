# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes, cylinders, cones and compounds go through the snapshot, the worker process and the cache, as boxes do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import solver_core as sc
from solver_core.io.cache import FrameCacheReader
from solver_core.io.snapshot import read_snapshot, write_snapshot
from solver_core.process.command_line import ExitStatus
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings

from ..meshes import CUBE, chair, sheet

ROOT = Path(__file__).resolve().parents[3]
FRAMES, FPS, RISE = 12, 24.0, 0.4
ROUGH = MaterialSpec(0.8, 0.8)


def active(name, shape, x, y, z):
    return BodySpec(name, BodyKind.ACTIVE, shape, position=np.array([x, y, z]), density=500.0, material=ROUGH)


def scene():
    """A ground that rises, bent where nothing stands, and on it one body of each shape, its origin at its lowest point."""
    points, triangles = sheet(8, 6.0, lambda x, y: np.where(np.abs(y) > 1.6, 0.3, 0.0))
    rising = np.tile(points, (FRAMES, 1, 1))
    rising[:, :, 2] += RISE / FPS * np.arange(FRAMES)[:, None]
    ground = BodySpec(
        "Ground", BodyKind.PASSIVE, ShapeSpec(ShapeKind.MESH, points, triangles), material=ROUGH, deformation=rising
    )
    axis = np.array([[0, 0, 0], [0, 0, 0.5]], dtype=float)
    leg = ShapeSpec(ShapeKind.HULL, (CUBE + np.array([0.0, 0.0, 0.5])) * (0.05, 0.05, 0.4))
    top = ShapeSpec(ShapeKind.CYLINDER, np.array([[0, 0, 0.4], [0, 0, 0.45]]), radius=0.3)
    legs = [ChildSpec(leg, np.array([0.2 * np.cos(a), 0.2 * np.sin(a), 0])) for a in np.arange(3) * 2.1]
    bodies = [
        active("Chair", ShapeSpec(ShapeKind.MESH, *chair()), 0.0, 0.0, 1e-4),
        active("Drum", ShapeSpec(ShapeKind.CYLINDER, axis, radius=0.2), 1.0, 0.1, 1e-4),
        active("Hat", ShapeSpec(ShapeKind.CONE, axis, radius=0.25), -1.0, 0.2, 1e-4),
        active("Stool", ShapeSpec(ShapeKind.COMPOUND, children=(ChildSpec(top, np.zeros(3)), *legs)), 0.1, 1.0, 1e-4),
        active("Ball", ShapeSpec(ShapeKind.HULL, np.array([[0, 0, 0.2]]), margin=0.2), 0.2, -1.0, 1e-4),
    ]
    return SceneSpec((ground, *bodies), fps=FPS, frame_start=1, frame_end=FRAMES)


@pytest.fixture(scope="module")
def baked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    write_snapshot(folder / "scene.snapshot", scene(), SolverSettings(substeps=4))
    arguments = [str(folder / name) for name in ("scene.snapshot", "cache")]
    command = [sys.executable, "-m", "solver_core.worker", *arguments, "--report", str(folder / "report.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == ExitStatus.DONE, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_all_shapes_ride_up_on_a_ground_that_deforms(baked):
    frames = list(FrameCacheReader(baked / "cache"))
    assert [frame.frame for frame in frames] == list(range(1, FRAMES + 1))
    for number, frame in enumerate(frames[1:], 1):
        np.testing.assert_allclose(frame.poses[1:, 2], RISE / FPS * number, atol=1e-3)
    np.testing.assert_allclose(frames[-1].velocities[1:5, :3], np.tile([0, 0, RISE], (4, 1)), atol=1e-4)
    report = json.loads((baked / "report.json").read_text())
    assert report["missed"] == [] and report["scene"]["bodies"] == {"active": 5, "passive": 1, "animated": 0}


@pytest.mark.slow
def test_the_cache_holds_what_the_snapshot_gives_in_this_process_bit_for_bit(baked):
    spec, settings = read_snapshot(baked / "scene.snapshot")
    here = sc.Simulation(spec, settings).run()
    for frame, again in zip(FrameCacheReader(baked / "cache"), here, strict=True):
        np.testing.assert_array_equal(frame.poses, again.poses)
        np.testing.assert_array_equal(frame.velocities, again.velocities)
