# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake of bodies that bend: what its frames hold, and that it goes on with the same bits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import solver_core as sc
from solver_core.bake.bends import bend_warnings
from solver_core.io.cache import FrameCacheReader
from solver_core.io.continuation import continue_from, earlier_frames
from solver_core.io.kept_modes import scene_modes
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.parts import ground
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..bodies import material
from ..deformable.beams import DENSITY, divided
from ..worker_runs import SETTINGS, bake, bake_until, rest_of, snapshot

SOFT = DeformableSpec(young=1e7, modes=8, resolution=30)
PLANK = BodySpec("Plank", BodyKind.ACTIVE, divided((1.0, 0.06, 0.05), (8, 1, 1)), density=DENSITY, material=material(0.5))
FALLING = {"position": np.array([0.0, 0.0, 0.2]), "orientation": np.array([0.995, 0.0, 0.0998749, 0.0])}


def scene(**changes):
    plank = {**vars(PLANK), **FALLING, "deformable": SOFT, **changes}
    return SceneSpec((BodySpec(**plank), ground(material(0.5))), frame_end=60)


def held(cache):
    return [(frame.frame, frame.poses.tobytes(), frame.modal.tobytes()) for frame in FrameCacheReader(cache)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param(Elasticity.LINEAR, marks=pytest.mark.long), Elasticity.STVK])
def test_a_bake_that_was_killed_goes_on_with_the_same_bits(tmp_path, capsys, kind):
    path = snapshot(tmp_path, scene(deformable=replace(SOFT, kind=kind)))
    assert bake(capsys, path, tmp_path / "whole")[0] == 0
    process = bake_until(5, path, str(tmp_path / "killed"))
    process.kill()
    rest_of(process)
    status, events = bake(capsys, path, tmp_path / "killed", "--resume")
    assert status == 0 and any(event.get("resumed_from") for event in events)
    assert held(tmp_path / "killed") == held(tmp_path / "whole")
    modal = np.array([frame.modal for frame in FrameCacheReader(tmp_path / "whole")])
    assert modal.shape == (60, 8) and np.abs(modal).max() > 1e-3


@pytest.mark.slow
def test_frames_that_are_kept_go_on_bent_as_they_are(tmp_path, capsys):
    """Less friction from frame 5 on, as it lands: the plank is where it was, as bent and as fast, and its modes are there."""
    before, after = scene(), scene(material=material(0.1))
    assert bake(capsys, snapshot(tmp_path, before), tmp_path / "before.cache")[0] == 0
    reader = FrameCacheReader(tmp_path / "before.cache")
    parts = earlier_frames(reader, (before, SETTINGS), (after, SETTINGS), 5)
    continue_from(tmp_path / "before.cache", tmp_path / "after.cache", (after, SETTINGS), 5, parts)
    assert bake(capsys, snapshot(tmp_path, after), tmp_path / "after.cache", "--resume")[0] == 0
    one, other = (list(FrameCacheReader(tmp_path / f"{name}.cache")) for name in ("before", "after"))
    assert [frame.modal.tobytes() for frame in one[:5]] == [frame.modal.tobytes() for frame in other[:5]]
    before_it, at_it, after_it = (np.abs(b.modal - a.modal).max() for a, b in pairwise(other[3:7]))
    assert 0.0 < at_it < 3.0 * max(before_it, after_it)
    assert one[-1].poses.tobytes() != other[-1].poses.tobytes()


def test_what_cannot_bend_is_named_by_the_worker(tmp_path, capsys):
    status, events = bake(capsys, snapshot(tmp_path, scene(deformable=DeformableSpec(poisson=0.5))), tmp_path / "cache")
    assert status != 0
    assert any("Plank" in str(event) and "poisson" in str(event) for event in events)


def warned(kind, *modal):
    """What is said of frames in which the shapes of a plank are so far."""
    spec = scene(deformable=replace(SOFT, kind=kind))
    modes = scene_modes(spec, None)
    count = len(modes.reduced[0].omega)
    for frame, q in enumerate(modal):
        told = replace(sc.Simulation(spec, modes=modes.by_body()).first_frame(), frame=frame, modal=np.resize(q, count))
        yield [warning.message for warning in bend_warnings(told, spec, modes, ())]


def test_large_bends_are_warned_about_where_they_are_taken_as_small_and_pressing_flat_where_they_are_not():
    # the fifth shape goes with bends, and alone is nothing but strain
    bent, pressed = 0.2 * np.eye(8)[0], np.eye(8)[4]
    little, far = warned(Elasticity.LINEAR, np.zeros(8), bent)
    assert little == [] and "enable Large Bends" in far[0]
    straight, curved, flat = warned(Elasticity.STVK, np.zeros(8), bent, pressed)
    assert straight == [] and curved == [] and "gives way the more it is pressed" in flat[0]
