# SPDX-License-Identifier: GPL-3.0-or-later
"""Cylinders and cones beside hulls, each search alone: the closest point, proven from both sides, and the least depth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision.polyhedra.polyhedron import core_of
from solver_core.collision.revolution import closest_hull, expanding_polytope
from solver_core.collision.revolution.other import OtherShape
from solver_core.collision.revolution.solid import RoundShape
from solver_core.collision.revolution.work import round_work
from solver_core.geometry import build_shapes

from ..kernels import callable_from_python
from ..shapes import hull

closest_to_hull = callable_from_python(closest_hull.closest_to_hull)
least_penetration = callable_from_python(expanding_polytope.penetration_axis)


def solid(kind, radius, height, rotation=None, base=(0.0, 0.0, 0.0)):
    """A cylinder or a cone; its axis is that of z, turned."""
    turn = np.eye(3) if rotation is None else rotation.as_matrix()
    return RoundShape(np.bool_(kind == "cone"), radius, height, *(tuple(map(float, v)) for v in (base, turn[:, 2], turn[:, 0])))


def polyhedron(points):
    return core_of.py_func(build_shapes([hull(points)]), 0)


def top(r, directions):
    """(k,) how far a solid of revolution goes along directions (k, 3)."""
    axis, base = np.array(r.axis), np.array(r.base)
    along = directions @ axis
    rim = r.radius * np.linalg.norm(directions - along[:, None] * axis, axis=1)
    above = r.height * along + (0.0 if r.is_cone else rim)
    return directions @ base + np.maximum(rim, above)


def distance_outside(r, point):
    """From the segments that bound the half of its section, the axis left out."""
    away = np.asarray(point) - r.base
    z = away @ r.axis
    rho = np.sqrt(max(away @ away - z * z, 0.0))
    corners = [(0.0, 0.0), (r.radius, 0.0), (0.0 if r.is_cone else r.radius, r.height), (0.0, r.height)]
    best = np.inf
    for (a, b), (c, d) in pairwise(corners):
        square = (c - a) ** 2 + (d - b) ** 2
        t = np.clip(((rho - a) * (c - a) + (z - b) * (d - b)) / square, 0.0, 1.0) if square > 0.0 else 0.0
        best = min(best, np.hypot(rho - a - t * (c - a), z - b - t * (d - b)))
    return best


def is_combination(points, point):
    """Whether a point is in the hull of one to three points."""
    matrix = np.vstack([points.T, np.ones(len(points))])
    weights, *_ = np.linalg.lstsq(matrix, np.append(point, 1.0), rcond=None)
    return np.allclose(matrix @ weights, np.append(point, 1.0), atol=1e-9) and weights.min() > -1e-9


@pytest.mark.parametrize("kind", ["cylinder", pytest.param("cone", marks=pytest.mark.slow)])
def test_the_closest_point_of_a_hull_is_proven_by_its_normal_and_its_point(kind):
    """What lies between is a lower bound of the distance along any direction, and the way from a point an upper one."""
    random = np.random.default_rng(11)
    apart = 0
    for _ in range(120):
        r = solid(kind, random.uniform(0.05, 1.0), random.uniform(0.05, 2.0), Rotation.random(random_state=random))
        direction = random.normal(size=3)
        shift = direction / np.linalg.norm(direction) * 10.0 ** random.uniform(0.2, 0.8)
        body = polyhedron(random.normal(size=(random.integers(1, 20), 3)) * random.uniform(0.05, 0.7, 3) + shift)
        state, distance, normal, point, vertices = closest_to_hull(r, body, 100.0, 1e-12)
        if state == closest_hull.OVERLAPPING:
            continue
        apart += 1
        normal, point, vertices = np.array(normal), np.array(point), [v for v in vertices if v >= 0]
        assert np.linalg.norm(normal) == pytest.approx(1.0, abs=1e-12)
        assert (body.vertices @ normal).min() - top(r, normal[None])[0] == pytest.approx(distance, abs=1e-9)
        assert distance_outside(r, point) == pytest.approx(distance, abs=1e-9)
        assert is_combination(body.vertices[vertices], point)
        assert closest_to_hull(r, body, 0.99 * distance, 1e-12)[0] == closest_hull.OUT_OF_REACH
    assert apart > 80


@pytest.mark.parametrize("kind", ["cylinder", "cone"])
def test_a_hull_around_the_middle_or_a_corner_inside_overlaps(kind):
    cube = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    r = solid(kind, 0.5, 1.0)
    for body in (3.0 * cube, 0.1 * cube + np.array([0.0, 0.0, 0.3]), cube + np.array([1.2, 0.0, 0.1])):
        assert closest_to_hull(r, polyhedron(body), 100.0, 1e-12)[0] == closest_hull.OVERLAPPING


def overlap(r, body, directions):
    """(k,) how far the hull has to move along unit directions (k, 3) until it is beyond the solid."""
    return top(r, directions) - (directions @ body.vertices.T).min(axis=1)


@pytest.mark.parametrize("kind", [pytest.param("cylinder", marks=pytest.mark.slow), "cone"])
def test_no_direction_parts_them_sooner_than_the_axis_of_least_penetration(kind):
    random = np.random.default_rng(13)
    everywhere = random.normal(size=(4000, 3))
    work, compared = round_work(), 0
    for _ in range(60):
        r = solid(kind, random.uniform(0.1, 1.0), random.uniform(0.1, 2.0), Rotation.random(random_state=random))
        body = polyhedron(random.normal(size=(15, 3)) * random.uniform(0.1, 0.8, 3) + random.normal(size=3) * 0.2)
        depth, normal = least_penetration(r, OtherShape(body, r, np.bool_(True)), work)
        size = r.radius + r.height + np.abs(body.vertices).max()
        beside = np.array(normal) + np.vstack([10.0**e * everywhere[:500] for e in (-4, -3, -2, -1)])
        directions = np.vstack([everywhere, beside])
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        assert depth == pytest.approx(overlap(r, body, np.array([normal]))[0], abs=1e-12 * size)
        if depth < 0.0:
            continue
        compared += 1
        assert depth <= overlap(r, body, directions).min() + 1e-7 * size
    assert compared > 40


@pytest.mark.parametrize(("offset", "normal", "depth"), [((0, 0, 1.2), (0, 0, 1), 0.1), ((0.75, 0, 0.5), (1, 0, 0), 0.05)])
def test_a_box_in_a_face_or_a_side_leaves_the_way_that_it_came(offset, normal, depth):
    box = np.array([[x, y, z] for x in (-0.3, 0.3) for y in (-0.3, 0.3) for z in (-0.3, 0.3)])
    work = round_work()
    r = solid("cylinder", 0.5, 1.0)
    found, along = least_penetration(r, OtherShape(polyhedron(box + offset), r, np.bool_(True)), work)
    assert found == pytest.approx(depth, abs=1e-9)
    np.testing.assert_allclose(along, normal, atol=1e-6)
