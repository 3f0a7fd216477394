# SPDX-License-Identifier: GPL-3.0-or-later
"""A vault, a dry stone wall, a roof and a spiral stair, drawn with snapped vertices, stand or fall as statics says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc

from ..masonry import (
    THINNEST,
    barrel_vault,
    dry_stone_wall,
    spiral_stair,
    stair_margin,
    thrust,
    timber_frame,
)
from ..placing import mirrored, turned

NARROW, WIDE = math.radians(25.0), math.radians(55.0)  # half angles of a stair's treads
PITCH = math.radians(45.0)


def moved(spec, frames: int) -> tuple[float, float]:
    """How far in m the farthest body went in all these frames, and in their second half."""
    found = sc.Simulation(spec, sleeping=False, threads=1).run(frames)
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in found)
    place = np.array([frame.poses[:, :3] for frame in found])
    way = np.linalg.norm(place - place[0], axis=2).max(axis=1)
    late = np.linalg.norm(place - place[frames // 2], axis=2).max(axis=1)
    return way[-1], late[-1]


def assert_stands(spec) -> None:
    """It takes up its rest offsets, a millimetre in all, and moves no more."""
    whole, late = moved(spec, 12)
    assert whole < 1e-3
    assert late < 1e-6


@pytest.mark.slow
def test_a_wall_falls_on_its_face_beyond_its_thickness_over_its_height():
    assert_stands(dry_stone_wall(lean=0.24))
    assert moved(dry_stone_wall(lean=0.26), 12)[0] > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("pitch", [PITCH, math.radians(60.0)], ids=["45", "60"])
def test_rafters_hold_by_friction_at_their_feet(pitch):
    least, _ = thrust(pitch)
    assert_stands(timber_frame(pitch, mu=1.05 * least))
    assert moved(timber_frame(pitch, mu=0.95 * least), 12)[0] > 0.01


@pytest.mark.slow
def test_a_stair_stands_where_each_joint_bears_the_weight_above_it_within_its_outline():
    assert stair_margin(WIDE) > 0.03
    assert_stands(spiral_stair(WIDE))
    assert stair_margin(NARROW) < -0.03
    assert moved(spiral_stair(NARROW), 12)[0] > 0.01


@pytest.mark.slow
def test_a_vault_stands_with_a_line_of_thrust_in_it():
    assert_stands(barrel_vault(1.15 * THINNEST))
    # the fewer stones, the fewer places for hinges, so that a bit less is enough
    assert moved(barrel_vault(0.75 * THINNEST, rings=1), 12)[0] > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [barrel_vault(0.16), dry_stone_wall(0.2), timber_frame(PITCH, 0.7), spiral_stair(WIDE)],
    ids=["vault", "wall", "roof", "stair"],
)
def test_what_stands_stands_in_a_mirror_and_turned_in_space(spec):
    assert_stands(mirrored(spec))
    assert_stands(turned(spec, Rotation.from_rotvec([0.3, -0.7, 1.1])))


@pytest.mark.slow
def test_what_falls_falls_alike_in_a_mirror():
    """For as long as the tolerance, which a fall multiplies, has not grown to a thousandth of the way."""
    spec, way = spiral_stair(NARROW), []
    for scene in (spec, mirrored(spec)):
        places = [frame.poses[:, :3] for frame in sc.Simulation(scene, threads=1).run(4)]
        way.append(places[-1] - places[0])
    here, there = way
    assert np.abs(here).max() > 0.01
    assert np.abs(here - there * [-1.0, 1.0, 1.0]).max() < 1e-3 * np.abs(here).max()
