# SPDX-License-Identifier: GPL-3.0-or-later
"""The grid of bricks: where it lies, and what it takes for inside."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.deformable.voxels import ThinnerThanABrick, TooThinForItsLength, brick_grid, nodal_weights
from solver_core.geometry.surfaces import mesh_surface, winding_numbers

from ..meshes import CUBE, CUBE_TRIANGLES, angle_bracket, blocks, chair, sheet, torus
from .beams import BEAM, box

TURN = Rotation.from_euler("xyz", [0.4, -0.7, 1.1])


def volume(grid):
    return (grid.inside.mean(axis=1) * grid.sizes.prod(axis=1)).sum()


def both(one, other):
    """Two meshes as one."""
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1] + len(one[0])])


@pytest.mark.parametrize("turn", [Rotation.identity(), TURN])
@pytest.mark.parametrize("make", [chair, angle_bracket, lambda: (CUBE * BEAM, CUBE_TRIANGLES)])
def test_boards_and_posts_fill_their_bricks(make, turn):
    vertices, triangles = make()
    surface = mesh_surface(turn.apply(vertices) + np.array([3.0, 0.0, -1.0]), triangles)
    grid = brick_grid(surface)
    assert grid.inside.all()
    assert volume(grid) == pytest.approx(surface.volume, rel=1e-9)


def test_a_turned_mesh_has_the_same_bricks():
    vertices, triangles = chair()
    upright, turned = (brick_grid(mesh_surface(v, triangles)) for v in (vertices, TURN.apply(vertices)))
    assert len(upright.cells) == len(turned.cells)
    np.testing.assert_allclose(np.sort(upright.sizes, axis=None), np.sort(turned.sizes, axis=None), rtol=1e-9)


def test_samples_are_inside_where_the_mesh_goes_around_them():
    vertices, triangles = torus(0.3, 0.1, 24, 12)
    surface = mesh_surface(TURN.apply(vertices), triangles)
    axes = Rotation.from_euler("zx", [0.3, 0.2]).as_matrix()
    grid = brick_grid(surface, 12, axes)
    middles = (np.arange(4) + 0.5) / 4
    samples = np.array([(x, y, z) for z, y, x in itertools.product(middles, repeat=3)])
    lowest = np.stack([line[:-1][grid.cells[:, k]] for k, line in enumerate(grid.lines)], axis=1)
    places = (lowest[:, None] + samples * grid.sizes[:, None]).reshape(-1, 3) @ axes
    some = np.random.default_rng(0).choice(len(places), 400, replace=False)
    around = winding_numbers(surface.vertices, surface.triangles, places[some])
    assert (grid.inside.ravel()[some] == (around > 0.5)).all()
    assert volume(grid) == pytest.approx(surface.volume, rel=0.01)


def test_a_cavity_is_not_inside():
    filled = np.ones((3, 3, 3), dtype=bool)
    filled[1, 1, 1] = False
    lines = [0.0, 0.1, 0.2, 0.3]
    grid = brick_grid(mesh_surface(*blocks(lines, lines, lines, filled)))
    assert volume(grid) == pytest.approx(26e-3, rel=1e-9)


def test_displacements_that_are_linear_in_space_are_met_at_every_vertex():
    vertices, triangles = torus(0.3, 0.1, 24, 12)
    grid = brick_grid(mesh_surface(vertices, triangles), 10, TURN.as_matrix())
    matrix = np.random.default_rng(2).normal(size=(3, 3))
    places = np.concatenate([vertices, [[0.5, 0.5, 0.2]]])
    found = nodal_weights(grid, places) @ (grid.points @ grid.axes @ matrix)
    np.testing.assert_allclose(found, places @ matrix, atol=1e-12)


def test_a_card_has_flat_bricks():
    card = box((0.088, 0.063, 0.0003))
    grid = brick_grid(mesh_surface(card.vertices, card.triangles))
    assert len(grid.cells) < 10_000
    assert grid.sizes[:, 0].shape == (len(grid.cells),)
    assert np.isclose(np.sort(grid.sizes, axis=1)[:, 0], 0.00015).all()


def test_parts_that_overlap_are_one_body():
    one, other = (CUBE * BEAM, CUBE_TRIANGLES), (CUBE * BEAM[[1, 0, 2]] * [1.0, 1.0, 0.5], CUBE_TRIANGLES)
    grid = brick_grid(mesh_surface(*both(one, other)))
    assert volume(grid) == pytest.approx(BEAM.prod() * 1.5 - 0.06 * 0.06 * 0.025, rel=0.02)


@pytest.mark.parametrize("apart", [(1.5, 0.0, 0.0), (0.0, 1.001, 1.001)])
def test_parts_that_hang_on_each_other_by_nothing_are_refused(apart):
    one, other = (CUBE, CUBE_TRIANGLES), (CUBE + apart, CUBE_TRIANGLES)
    with pytest.raises(ValueError, match="2 parts that hang on each other by nothing"):
        brick_grid(mesh_surface(*both(one, other)))


def test_what_has_no_inside_is_refused():
    for vertices, triangles in (sheet(4, 1.0), (CUBE, CUBE_TRIANGLES[:, ::-1])):
        with pytest.raises(ValueError, match="no inside"):
            brick_grid(mesh_surface(vertices, triangles))


def test_what_is_thinner_than_a_brick_is_refused_with_how_many_are_needed():
    shell = both(torus(1.0, 0.3, 48, 24), torus(1.0, 0.2999, 48, 24))
    shell[1][len(shell[1]) // 2 :] = shell[1][len(shell[1]) // 2 :, ::-1]
    surface = mesh_surface(*shell)
    with pytest.raises(ThinnerThanABrick, match="20000 can be computed with"):
        brick_grid(surface)
    beam = box()
    with pytest.raises(ThinnerThanABrick, match=r"50 mm thin, and 10 bricks along 1 m are thicker; 40 are fine enough"):
        brick_grid(mesh_surface(beam.vertices, beam.triangles), 10)


def test_a_sheet_whose_stiffness_rounding_exceeds_is_refused_with_one_that_bends_alike():
    """The square of its lowest frequency, beside that of a brick, goes with the fourth power of the thickness."""
    thin, enough = (box((1.0, 1.0, thickness)) for thickness in (3.9e-4, 4.1e-4))
    with pytest.raises(TooThinForItsLength, match=r"0.39 mm thin and 1 m long: .*\(twice the thickness, with an eighth of"):
        brick_grid(mesh_surface(thin.vertices, thin.triangles))
    assert brick_grid(mesh_surface(enough.vertices, enough.triangles)).inside.all()
