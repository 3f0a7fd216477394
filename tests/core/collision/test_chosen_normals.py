# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts whose normal is a choice are counted where features coincide, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.collision.chosen_normals import chosen_normals
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ChildSpec, ShapeKind, ShapeSpec

from ..leaning import leaning, standing
from ..piles import falling_cubes
from ..shapes import box as box_shape
from ..shapes import detected, hull

BEAM = (0.1, 0.1, 2.0)


def ridge(degrees, up):
    """A bar of one metre whose edge at the origin has faces that fall away from the horizontal, to both sides, by so many
    degrees."""
    depth = 0.5 * np.tan(np.radians(degrees))
    section = np.array([[0.0, 0.0], [-0.5, -depth], [0.5, -depth], [-0.5, -depth - 0.2], [0.5, -depth - 0.2]])
    ends = [np.column_stack([section[:, 0], np.full(len(section), y), section[:, 1]]) for y in (-0.5, 0.5)]
    return hull(np.concatenate(ends) * (1.0, 1.0, 1.0 if up else -1.0))


def counted(shapes, places, turns=None, bears=True):
    """How many contacts of two bodies have a chosen normal, of how many, anywhere and in any pose."""
    turn = Rotation.random(random_state=4)
    turns = [Rotation.identity()] * 2 if turns is None else turns
    places = np.add(turn.apply(np.asarray(places, dtype=float)), (3.0, -2.0, 1.0))
    rotation = np.array([(turn * own).as_matrix() for own in turns])
    table = build_shapes(shapes)
    found = detected(table, list(places), list(rotation), 1e-3)
    return chosen_normals(table, places, rotation, found, np.full(len(found), bears)).number, len(found)


@pytest.mark.parametrize(("falls", "is_choice"), [(0.05, False), (0.2, False), (3.0, True), (20.0, True)])
@pytest.mark.parametrize("gap", [0.0, -1e-6, 1e-9])
def test_on_a_ridge_whose_faces_fall_by_more_than_a_degree_a_sharp_edge_has_a_choice(falls, is_choice, gap):
    """Normals are free between the two faces' own, twice as many degrees as these fall by."""
    count, found = counted([ridge(falls, True), ridge(50.0, False)], [(0.0, 0.0, 0.0), (0.0, 0.1, gap)])
    assert found > 0
    assert count == (found if is_choice else 0)


def test_faces_on_faces_corners_on_faces_and_edges_that_cross_leave_none_also_where_borders_coincide():
    cube, small = box_shape(1.0, 1.0, 1.0), box_shape(0.4, 0.4, 0.4)
    on_edge, on_corner = (
        Rotation.from_rotvec((np.pi / 4, 0.0, 0.0)),
        Rotation.align_vectors([[0, 0, -1.0]], [[1.0, 1.0, 1.0]])[0],
    )
    crossed = [Rotation.from_rotvec((np.pi / 4, 0.0, 0.0)), Rotation.from_rotvec((0.0, np.pi / 4, 0.0))]
    half = np.sqrt(0.5)
    for places, shapes, turns in (
        ([(0.0, 0.0, 0.0), (0.0, 0.0, 1.0)], [cube, cube], None),
        ([(0.0, 0.0, 0.0), (0.3, 0.3, 0.7)], [cube, small], None),
        ([(0.0, 0.0, 0.0), (0.1, 0.2, 0.5 + 0.4 * half)], [cube, small], [Rotation.identity(), on_edge]),
        ([(0.0, 0.0, 0.0), (0.1, 0.2, 0.5 + 0.2 * np.sqrt(3.0))], [cube, small], [Rotation.identity(), on_corner]),
        ([(0.0, 0.0, 0.0), (0.1, 0.2, 2.0 * half)], [cube, cube], crossed),
    ):
        count, found = counted(shapes, places, turns)
        assert found > 0
        assert count == 0


def test_cubes_edge_on_edge_and_corner_on_corner_are_counted_but_not_without_an_impulse_and_in_compounds_too():
    cube, half = box_shape(1.0, 1.0, 1.0), 0.5
    compound = ShapeSpec(ShapeKind.COMPOUND, children=(ChildSpec(cube, np.array([half, 0.0, half])),))
    for place in ((1.0, 0.2, 1.0), (1.0, 1.0, 1.0), (1.0, 1.0, 0.3)):
        count, found = counted([cube, cube], [(0.0, 0.0, 0.0), place])
        assert count == found > 0
        assert counted([cube, cube], [(0.0, 0.0, 0.0), place], bears=False)[0] == 0
        inside = np.subtract(place, (half, 0.0, half))
        assert counted([cube, compound], [(0.0, 0.0, 0.0), inside])[0] == count


def test_beams_that_lean_edge_on_edge_are_named_as_they_begin_and_then_have_one_normal():
    """At their rest offset edges are apart, and what is closest decides; with a gap from the beginning it always does."""
    for gap, first in ((0.0, 2), (-1e-5, 2), (1e-5, 0)):
        turn = Rotation.random(random_state=7)
        places, turns = leaning(BEAM, 45.0, gap)
        bodies = [(box_shape(*BEAM), place, own) for place, own in zip(places, turns, strict=True)]
        statistics = sc.Simulation(standing(bodies, turn, 1.0)).run(1)[-1].statistics
        assert statistics.chosen_normals.tolist() == [first, *[0] * 9]
        assert statistics.chosen_pair[0].tolist() == ([1, 2] if first else [-1, -1])


@pytest.mark.parametrize(
    "spec", [sc.scenes.tower(), sc.scenes.wall(), sc.scenes.arch(), sc.scenes.card_house(levels=3), falling_cubes(27)]
)
def test_scenes_that_are_fine_have_none(spec):
    """Stacks and walls with edges in common, cards that lean on faces, a heap as it falls."""
    frames = sc.Simulation(spec).run(24)
    assert max(frame.statistics.chosen_normals.max(initial=0) for frame in frames) == 0
