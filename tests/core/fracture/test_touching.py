# SPDX-License-Identifier: GPL-3.0-or-later
"""Sections of faces that touch, beside closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.fracture.bonds import Stresses, strength_of
from solver_core.fracture.touching import Faces, touching_sections

CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def box(size, place, turn):
    hull = ConvexHull(CORNERS)
    outwards = np.einsum("tij,tj->ti", CORNERS[hull.simplices], hull.equations[:, :3])
    assert (outwards > 0.0).all()
    triangles = hull.simplices.copy()
    normal = np.cross(CORNERS[triangles[:, 1]] - CORNERS[triangles[:, 0]], CORNERS[triangles[:, 2]] - CORNERS[triangles[:, 0]])
    wrong = np.einsum("ti,ti->t", normal, hull.equations[:, :3]) < 0.0
    triangles[wrong] = triangles[wrong, ::-1]
    return Faces.of(turn.apply(CORNERS * size + place), triangles)


TURNS = [Rotation.identity(), Rotation.from_rotvec([0.3, -1.1, 0.7])]


@pytest.mark.parametrize("turn", TURNS)
def test_two_boxes_share_the_rectangle_in_which_their_faces_overlap(turn):
    """Of 0.4 by 0.5 m: the faces are 0.6 by 0.5 and 0.6 by 0.9 m."""
    a, b = box((1.0, 0.6, 0.5), (0.0, 0.0, 0.0), turn), box((0.2, 0.6, 0.9), (0.6, 0.2, 0.1), turn)
    (section,) = touching_sections([a, b], 1e-6)
    width, height = 0.4, 0.5
    assert (section.a, section.b) == (0, 1)
    assert section.area == pytest.approx(width * height, rel=1e-9)
    np.testing.assert_allclose(section.place, turn.apply([0.5, 0.1, 0.0]), atol=1e-9)
    np.testing.assert_allclose(section.axes[2], turn.apply([1.0, 0.0, 0.0]), atol=1e-9)
    np.testing.assert_allclose(section.axes @ section.axes.T, np.eye(3), atol=1e-9)
    assert np.linalg.det(section.axes) > 0.0
    assert sorted(section.second) == pytest.approx([height * width**3 / 12.0, width * height**3 / 12.0], rel=1e-9)
    assert sorted(section.reach[:2]) == pytest.approx([0.2, 0.25], rel=1e-9)
    strength = strength_of(section, Stresses(1e6, 2e6))
    assert strength.tension == pytest.approx(1e6 * 0.2)
    assert strength.shear == pytest.approx(2e6 * 0.2)
    moduli = [width * height**2 / 6.0, height * width**2 / 6.0]
    assert sorted([strength.bending_x, strength.bending_y]) == pytest.approx(sorted(1e6 * each for each in moduli))


@pytest.mark.parametrize("seed", range(6))
def test_a_square_section_bears_a_moment_about_any_axis_as_the_stress_at_its_corners_says(seed):
    """Rounding chose its axes, and along the diagonals a bond bore half of what it bears."""
    turn, side = Rotation.random(random_state=seed), 0.8
    size = np.full(3, side)
    (section,) = touching_sections([box(size, (0.0, 0.0, 0.0), turn), box(size, (0.0, 0.0, side), turn)], 1e-3)
    strength = strength_of(section, Stresses(1e6, 2e6))
    for angle in np.random.default_rng(seed).uniform(0.0, np.pi, 8):
        moment = 1e4 * turn.apply([np.cos(angle), np.sin(angle), 0.0])
        x, y = section.axes[:2] @ moment
        stress = 1e4 * (abs(np.cos(angle)) + abs(np.sin(angle))) * 6.0 / side**3
        assert abs(x) / strength.bending_x + abs(y) / strength.bending_y == pytest.approx(stress / 1e6, rel=1e-3)


def test_faces_that_are_farther_apart_than_the_gap_or_touch_at_an_edge_share_nothing():
    turn = TURNS[1]
    a = box((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), turn)
    assert len(touching_sections([a, box((1.0, 1.0, 1.0), (1.002, 0.0, 0.0), turn)], 1e-3)) == 0
    assert len(touching_sections([a, box((1.0, 1.0, 1.0), (1.0005, 0.0, 0.0), turn)], 1e-3)) == 1
    assert len(touching_sections([a, box((1.0, 1.0, 1.0), (1.0, 1.0, 0.0), turn)], 1e-6)) == 0


def test_a_bar_of_slices_has_a_section_between_each_two():
    slices = [box((0.1, 0.2, 0.3), (0.1 * i, 0.0, 0.0), TURNS[1]) for i in range(6)]
    sections = touching_sections(slices, 1e-6)
    assert [(section.a, section.b) for section in sections] == [(i, i + 1) for i in range(5)]
