# SPDX-License-Identifier: GPL-3.0-or-later
"""Skirts, hair and dolls of many jointed bodies, with one step a frame as with ten."""

from __future__ import annotations

import numpy as np
import pytest

from ..jointed_runs import run, solved
from ..rigs import hair, skirt, thrown_doll

pytestmark = pytest.mark.slow


def holds(frames) -> bool:
    """Whether every step was solved and no joint gave way."""
    return solved(frames) and not any(frame.giving_way.any() for frame in frames[1:])


def largest_way(one, other) -> float:
    """m, between the places of bodies in two frames."""
    return float(np.linalg.norm(one.poses[:, :3] - other.poses[:, :3], axis=1).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "substeps"),
    [(1, 3), (0, 10), *(pytest.param(seed, steps, marks=pytest.mark.long) for seed, steps in ((0, 3), (1, 10)))],
)
def test_no_joint_of_a_doll_that_is_thrown_down_steps_gives_way(seed, substeps):
    """Its arms may turn by 150, 90 and 40 degrees, and it was said that joints contradict each other, off by 100 mm."""
    random = np.random.default_rng(seed)
    spec = thrown_doll(random.uniform(-6.0, 6.0, 3), random.uniform(-2.0, 2.0, 3))
    assert holds(run(spec, 45, substeps=substeps))


def test_a_skirt_on_springs_without_dampers_comes_to_rest_with_one_step_a_frame():
    """Its springs swing faster than the steps: they move to their rest positions, and the skirt follows the hip."""
    frames = run(skirt(85), 84)
    assert holds(frames)
    assert largest_way(frames[-1], frames[-2]) < 5e-4
    assert largest_way(frames[-1], frames[0]) < 0.1


def test_a_damped_skirt_comes_to_the_same_place_with_one_step_a_frame_as_with_ten():
    """While the hip turns by 60 degrees in 12 frames the longer steps cost some centimeters, and none of it stays."""
    one, ten = (run(skirt(67, damping=0.5), 66, substeps=substeps) for substeps in (1, 10))
    assert holds(one) and holds(ten)
    ways = [largest_way(*frames) for frames in zip(one, ten, strict=True)]
    assert max(ways) < 0.05 and ways[-1] < 1e-3


def test_hair_of_200_bodies_stays_whole_with_one_step_a_frame():
    frames = run(hair(43), 42)
    assert holds(frames)
    assert max(np.abs(frame.velocities[:, :3]).max() for frame in frames) < 5.0
