# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake of bodies that bend: what its frames hold, and that it goes on with the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.io.cache import FrameCacheReader
from solver_core.scene.deformable import DeformableSpec
from solver_core.scene.parts import ground
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..bodies import material
from ..deformable.beams import DENSITY, divided
from ..worker_runs import bake, bake_until, rest_of, snapshot

SOFT = DeformableSpec(young=1e7, modes=8, resolution=30)
PLANK = BodySpec("Plank", BodyKind.ACTIVE, divided((1.0, 0.06, 0.05), (8, 1, 1)), density=DENSITY, material=material(0.5))
FALLING = {"position": np.array([0.0, 0.0, 0.2]), "orientation": np.array([0.995, 0.0, 0.0998749, 0.0])}


def scene(**changes):
    plank = {**vars(PLANK), **FALLING, "deformable": SOFT, **changes}
    return SceneSpec((BodySpec(**plank), ground(material(0.5))), frame_end=60)


def held(cache):
    return [(frame.frame, frame.poses.tobytes(), frame.modal.tobytes()) for frame in FrameCacheReader(cache)]


@pytest.mark.slow
def test_a_bake_that_was_killed_goes_on_with_the_same_bits(tmp_path, capsys):
    path = snapshot(tmp_path, scene())
    assert bake(capsys, path, tmp_path / "whole")[0] == 0
    process = bake_until(5, path, str(tmp_path / "killed"))
    process.kill()
    rest_of(process)
    status, events = bake(capsys, path, tmp_path / "killed", "--resume")
    assert status == 0 and any(event.get("resumed_from") for event in events)
    assert held(tmp_path / "killed") == held(tmp_path / "whole")
    modal = np.array([frame.modal for frame in FrameCacheReader(tmp_path / "whole")])
    assert modal.shape == (60, 8) and np.abs(modal).max() > 1e-3


def test_what_cannot_bend_is_named_by_the_worker(tmp_path, capsys):
    status, events = bake(capsys, snapshot(tmp_path, scene(deformable=DeformableSpec(poisson=0.5))), tmp_path / "cache")
    assert status != 0
    assert any("Plank" in str(event) and "poisson" in str(event) for event in events)
