# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands, and fits exactly from the start, takes a factorisation or two a step however many bodies it has."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import box, ground, pair_material
from solver_core.scene.spec import SceneSpec
from solver_core.solvers.criteria import LARGE

BRICK = np.array([0.4, 0.2, 0.2])


def wall_of_closed_joints(columns: int, courses: int, mirrored: bool) -> SceneSpec:
    """A wall in running bond, half bricks at its ends, whose bricks touch on all sides to the last bit that numbers have."""
    material = pair_material(0.6)
    bodies = [ground(material)]
    for course in range(courses):
        lengths = [1.0] * columns if course % 2 == 0 else [0.5, *[1.0] * (columns - 1), 0.5]
        x = -0.5 * columns
        for i, length in enumerate(lengths):
            at = BRICK * ((x + 0.5 * length) * (-1.0 if mirrored else 1.0), 0.0, course + 0.5)
            bodies.append(box(f"Brick {course} {i}", tuple(BRICK * (length, 1.0, 1.0)), tuple(at), material))
            x += length
    return SceneSpec(tuple(bodies))


@pytest.mark.slow
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_wall_with_closed_joints_stands_for_a_few_factorisations_a_step(mirrored):
    """Nearly none once its bricks have come to their rest offsets; what has no clearance has other contacts in each step until
    then."""
    spec = wall_of_closed_joints(10, 14, mirrored)
    assert len(spec.bodies) - 1 > LARGE
    simulation = sc.Simulation(spec)
    start = simulation.first_frame().poses
    parting, standing = simulation.advance(), simulation.advance()
    for frame in (parting, standing):
        assert (frame.statistics.status == sc.Status.SOLVED).all()
    assert parting.statistics.factorisations[0] <= 3
    assert parting.statistics.factorisations.mean() <= 30
    assert standing.statistics.factorisations.mean() <= 5
    assert np.abs(standing.poses[:, :3] - start[:, :3]).max() <= 1e-3


@pytest.mark.slow
def test_a_card_house_of_ten_levels_costs_a_contact_what_one_of_nine_does():
    """155 cards and 126: one is beyond the bound from which islands are taken for large."""
    factorisations = []
    for levels in (9, 10):
        statistics = sc.Simulation(sc.scenes.card_house(levels=levels)).advance().statistics
        assert (statistics.status == sc.Status.SOLVED).all()
        factorisations.append(statistics.factorisations.sum() / statistics.contacts.sum())
    assert factorisations[1] <= 1.5 * factorisations[0]


@pytest.mark.slow
@pytest.mark.parametrize("levels", [3, 5])
def test_a_card_house_at_rest_is_checked_and_hardly_solved(levels):
    """Edges that meet a rest offset apart have normals that turn by a millionth as cards move by the error of a step: what held
    the cards holds them all the same."""
    house = sc.Simulation(sc.scenes.card_house(levels=levels), sleeping=False)
    house.run(24)
    frames = [house.advance().statistics for _ in range(12)]
    assert max(frame.natural_map.max() for frame in frames) <= 1e-7
    assert np.mean([frame.factorisations.mean() for frame in frames]) <= 0.75
