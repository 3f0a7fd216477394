# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenes of the race with Bullet are sound: nothing overlaps at the start, and every step of a first frame is solved."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc

from ...bench.artists.__main__ import EVERY, SCENES, deepest_overlap

SMALL = {"planks": 8, "dolls": 2, "skirt": 10, "hair": 20, "drum": 9, "spiral": 12, "hardware": 6, "mixed": 6}
SMALL |= {"house": 48, "slab": 6, "crowd": 2}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENES)
def test_a_scene_of_the_race_begins_without_overlap_and_its_first_steps_are_solved(name):
    spec = SCENES[name].make(SMALL.get(name, SCENES[name].count))
    simulation = sc.Simulation(spec)
    frames = simulation.first_frame(), simulation.advance()
    assert (frames[1].statistics.status == sc.Status.SOLVED).all()
    first, second = (deepest_overlap(spec, np.repeat(frame.poses[None], EVERY + 1, axis=0)) for frame in frames)
    assert first < 1e-6
    assert second < 0.1
