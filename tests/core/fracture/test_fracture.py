# SPDX-License-Identifier: GPL-3.0-or-later
"""Pieces fill the solid that they were cut of and fit each other; what cannot be cut is named."""

from __future__ import annotations

import sys
from dataclasses import fields, replace

import manifold3d
import numpy as np
import pytest

from solver_core.fracture import fracture_process
from solver_core.fracture.cells import voronoi_cells
from solver_core.fracture.cut import cut
from solver_core.fracture.fracture import fracture
from solver_core.fracture.fracture_process import fracture_in_process
from solver_core.fracture.order import FractureOrder, Pattern, Spread
from solver_core.fracture.solid import FractureError, closed_solid, volume_of
from solver_core.fracture.touching import Faces, total_area, touching_sections

QUADS = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
CORNERS = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
TRIANGLES = np.array([(a, b, c) for q in QUADS for a, b, c in ((q[0], q[1], q[2]), (q[0], q[2], q[3]))])
PYTHON = (sys.executable, "-s", "-P")


def cube(**options):
    return FractureOrder(CORNERS, TRIANGLES, np.repeat(np.arange(6), 2), **options)


def bored_ball(segments=32):
    """A ball with a hole through it, which no piece of is convex that lies at the hole."""
    mesh = (manifold3d.Manifold.sphere(1.0, segments) - manifold3d.Manifold.cylinder(3.0, 0.35, 0.35, 24, True)).to_mesh64()
    triangles = np.array(mesh.tri_verts, dtype=np.int64)
    return FractureOrder(np.array(mesh.vert_properties), triangles, np.arange(len(triangles)), count=30)


def piece_triangles(pieces):
    """The triangles of each piece, its polygons cut into fans."""
    ends, out = np.concatenate([[0], np.cumsum(pieces.counts)]), []
    for begin, end in zip([0, *pieces.polygon_ends[:-1]], pieces.polygon_ends, strict=True):
        loops = [pieces.corners[ends[p] : ends[p + 1]] for p in range(begin, end)]
        out.append(np.concatenate([[(loop[0], loop[i], loop[i + 1]) for i in range(1, len(loop) - 1)] for loop in loops]))
    return out


@pytest.mark.parametrize("pattern", Pattern)
def test_pieces_of_a_cube_are_closed_and_fill_it(pattern):
    pieces = fracture(cube(pattern=pattern, count=20, brick=np.array([0.3, 0.5, 0.2])))
    assert len(pieces.volumes) == (5 * 2 * 3.5 if pattern is Pattern.BRICKS else 20) or len(pieces.volumes) > 20
    assert pieces.volumes.sum() == pytest.approx(1.0, abs=1e-12)
    for triangles, volume in zip(piece_triangles(pieces), pieces.volumes, strict=True):
        assert volume_of(pieces.vertices, triangles) == pytest.approx(volume, rel=1e-9)
        edges = np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1)
        assert (np.unique(edges, axis=0, return_counts=True)[1] % 2 == 0).all()


def test_slabs_are_thin_along_their_axis_and_splinters_long():
    for pattern, is_thin in ((Pattern.SLABS, True), (Pattern.SPLINTERS, False)):
        pieces = fracture(cube(pattern=pattern, count=40, axis=1))
        extents = np.array([np.ptp(part, axis=0) for part in np.split(pieces.vertices, pieces.vertex_ends[:-1])])
        ratio = np.median(extents[:, 1] / np.sqrt(extents[:, 0] * extents[:, 2]))
        assert ratio < 0.5 if is_thin else ratio > 2.0


def test_neighbors_fit_each_other_all_over_their_inner_faces():
    order = bored_ball()
    solid = closed_solid(order.vertices, order.triangles)
    points = np.random.default_rng(2).uniform(-0.8, 0.8, (30, 3))
    parts = cut(solid, voronoi_cells(points, solid.vertices.min(axis=0), solid.vertices.max(axis=0), np.ones(3)))
    assert sum(part.volume for part in parts) == pytest.approx(solid.volume, rel=1e-12)
    inner = sum(total_area(part.vertices[part.triangles[part.inner >= 0]]) for part in parts)
    sections = touching_sections([Faces.of(part.vertices, part.triangles) for part in parts], 1e-9)
    assert 2.0 * sum(section.area for section in sections) == pytest.approx(inner, rel=1e-6)


def test_corners_of_outer_faces_are_where_their_coordinates_on_the_given_mesh_say():
    order = bored_ball()
    pieces = fracture(order)
    known = pieces.triangle >= 0
    corners = order.vertices[order.triangles[pieces.triangle[known]]]
    np.testing.assert_allclose(
        np.einsum("ci,cij->cj", pieces.weights[known], corners), pieces.vertices[pieces.corners[known]], atol=1e-9
    )
    assert pieces.weights[known].min() > -1e-6


def test_faces_that_are_not_cut_stay_as_they_are():
    """A cube with many faces on one side, of which the cut through the middle of the others crosses none."""
    pieces = fracture(cube(pattern=Pattern.BRICKS, brick=np.array([1.0, 1.0, 0.5])))
    whole = pieces.counts[(pieces.polygon == 4) | (pieces.polygon == 5)]
    assert len(whole) >= 2


def test_the_seed_decides():
    first, second, other = (fracture(cube(count=10, seed=seed)) for seed in (3, 3, 4))
    assert all(np.array_equal(getattr(first, one.name), getattr(second, one.name)) for one in fields(first))
    assert not np.array_equal(first.volumes, other.volumes)


def opened():
    return replace(cube(), triangles=TRIANGLES[:-1], polygon=np.repeat(np.arange(6), 2)[:-1])


def turned():
    triangles = TRIANGLES.copy()
    triangles[3] = triangles[3, ::-1]
    return replace(cube(), triangles=triangles)


def through_itself():
    """One surface that overlaps itself: a cube the corner of which is pulled through the opposite face."""
    vertices = CORNERS.copy()
    vertices[7] = (-0.5, 0.3, 0.4)
    return replace(cube(), vertices=vertices)


def two_overlapping():
    both = np.concatenate([TRIANGLES, TRIANGLES + 8])
    return replace(cube(), vertices=np.concatenate([CORNERS, CORNERS + 0.3]), triangles=both, polygon=np.arange(24))


def not_a_number():
    vertices = CORNERS.copy()
    vertices[2, 1] = np.nan
    return replace(cube(), vertices=vertices)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (opened, "is open at 3 edges"),
        (turned, "has faces turned against each other"),
        (through_itself, "intersects itself near"),
        (two_overlapping, "inside of it 2 times"),
        (not_a_number, "vertex 2"),
        (lambda: replace(cube(), triangles=TRIANGLES[:0]), "has no faces"),
        (lambda: replace(cube(), vertices=CORNERS * (1.0, 1.0, 0.0)), "is flat"),
        (lambda: cube(count=0), "cannot be cut into 0 pieces"),
        (lambda: cube(spread=Spread(np.zeros((0, 3)), 1.0, np.zeros(8))), "has a weight of zero"),
        (lambda: cube(pattern=Pattern.BRICKS, brick=np.full(3, 1e-3)), "bricks: choose larger ones"),
    ],
)
def test_what_cannot_be_cut_is_named_in_a_sentence(make, message):
    with pytest.raises(FractureError, match=message) as caught:
        fracture(make())
    assert "\n" not in str(caught.value)


def test_a_mesh_that_is_inside_out_or_split_along_its_edges_is_cut_all_the_same():
    inside_out = replace(cube(count=5), triangles=TRIANGLES[:, ::-1])
    split = replace(cube(count=5), vertices=CORNERS[TRIANGLES.ravel()], triangles=np.arange(36).reshape(12, 3))
    for order in (inside_out, split):
        assert fracture(order).volumes.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_process_of_its_own_gives_the_same_and_its_crash_is_told(monkeypatch, tmp_path):
    order = cube(count=8)
    here, there = fracture(order), fracture_in_process(order, PYTHON)
    assert all(np.array_equal(getattr(here, one.name), getattr(there, one.name)) for one in fields(here))
    with pytest.raises(FractureError, match="is open"):
        fracture_in_process(opened(), PYTHON)
    crash = tmp_path / "crash.py"
    crash.write_text("import os; os.abort()")
    monkeypatch.setattr(fracture_process, "CUTTER", crash)
    with pytest.raises(FractureError, match="the process that cuts it has ended"):
        fracture_in_process(order, PYTHON)
    crash.write_text("import time; time.sleep(600)")
    with pytest.raises(FractureError, match="was not cut within"):
        fracture_in_process(order, PYTHON, longest=1.0)


def test_a_cutter_that_fails_by_itself_says_why():
    """A missing library was told as a lack of memory."""
    broken = PYTHON[0], "-c", "raise SystemExit('no such library')"
    with pytest.raises(FractureError, match=r"exit status 1\): no such library; nothing was changed") as failed:
        fracture_in_process(cube(count=8), broken)
    assert "memory" not in str(failed.value)
