# SPDX-License-Identifier: GPL-3.0-or-later
"""Projections onto half-line, disk and polygon find the nearest point of the set, and know how it moves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from solver_core.problem import cones

from ..kernels import callable_from_python

project_disk, project_half_line = map(callable_from_python, (cones.project_disk, cones.project_half_line))
project_polygon = callable_from_python(cones.project_polygon)

SIDES = [3, 4, 5, 8, 17]

coordinate = st.floats(-10.0, 10.0, allow_subnormal=False)
radii = st.floats(1e-3, 5.0)


def project(w, radius, sides):
    """The projected point and the derivative as a matrix; sides 0 is the disk."""
    y1, y2, d11, d12, d22 = project_disk(*w, radius) if sides == 0 else project_polygon(*w, radius, sides)
    return np.array([y1, y2]), np.array([[d11, d12], [d12, d22]])


def corners(radius, sides):
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def nearest_on_segments(w, points):
    """Nearest point of a convex polygon to a point outside: the best of all its sides."""
    best = None
    for a, b in zip(points, np.roll(points, -1, axis=0), strict=True):
        t = np.clip((w - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        y = a + t * (b - a)
        if best is None or np.linalg.norm(w - y) < np.linalg.norm(w - best):
            best = y
    return best


def is_inside(w, points):
    edges = np.roll(points, -1, axis=0) - points
    to = w - points
    return bool((edges[:, 0] * to[:, 1] - edges[:, 1] * to[:, 0] >= 0.0).all())


@settings(deadline=None)
@given(coordinate)
def test_the_half_line_keeps_what_pushes_and_drops_what_pulls(w):
    y, derivative = project_half_line(w)
    assert y == max(w, 0.0)
    assert derivative == (1.0 if w > 0.0 else 0.0)


@pytest.mark.parametrize("seed", range(20))
def test_the_disk_projection_is_what_a_minimiser_finds(seed):
    random = np.random.default_rng(seed)
    w, radius = random.normal(size=2) * 3.0, random.uniform(0.1, 2.0)
    inside = {"type": "ineq", "fun": lambda y: radius**2 - y @ y}
    start = w * min(1.0, 0.5 * radius / np.linalg.norm(w))
    found = minimize(lambda y: (y - w) @ (y - w), start, constraints=[inside], method="SLSQP", tol=1e-14)
    np.testing.assert_allclose(project(w, radius, 0)[0], found.x, atol=1e-6)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(coordinate, coordinate, radii, st.sampled_from(SIDES))
def test_the_polygon_projection_is_the_nearest_of_all_points_of_all_sides(w1, w2, radius, sides):
    w, points = np.array([w1, w2]), corners(radius, sides)
    expected = w if is_inside(w, points) else nearest_on_segments(w, points)
    np.testing.assert_allclose(project(w, radius, sides)[0], expected, atol=1e-13 * (1.0 + abs(w).max()))


@settings(max_examples=300, deadline=None)
@given(coordinate, coordinate, coordinate, coordinate, radii, st.sampled_from([0, *SIDES]))
def test_projections_never_move_two_points_apart(a1, a2, b1, b2, radius, sides):
    a, b = np.array([a1, a2]), np.array([b1, b2])
    moved = np.linalg.norm(project(a, radius, sides)[0] - project(b, radius, sides)[0])
    assert moved <= np.linalg.norm(a - b) + 1e-13


@settings(max_examples=300, deadline=None)
@given(coordinate, coordinate, radii, st.sampled_from([0, *SIDES]))
def test_a_projected_point_stays_where_it_is(w1, w2, radius, sides):
    once = project((w1, w2), radius, sides)[0]
    np.testing.assert_allclose(project(once, radius, sides)[0], once, atol=1e-14 * radius)


@settings(max_examples=300, deadline=None)
@given(coordinate, coordinate, radii, st.sampled_from(SIDES))
def test_the_polygon_is_inscribed_in_the_disk(w1, w2, radius, sides):
    y = project((w1, w2), radius, sides)[0]
    assert np.linalg.norm(y) <= radius * (1.0 + 1e-14)
    assert np.linalg.norm(project_polygon(10.0 * w1, 10.0 * w2, radius, sides)[:2]) <= radius * (1.0 + 1e-14)


@pytest.mark.parametrize("sides", SIDES)
def test_every_corner_lies_on_the_circle_and_the_first_on_the_first_tangent(sides):
    for corner in corners(1.7, sides):
        np.testing.assert_allclose(project(3.0 * corner, 1.7, sides)[0], corner, atol=1e-14)
    np.testing.assert_allclose(project((9.0, 0.0), 1.7, sides)[0], [1.7, 0.0], atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("sides", [8, 64, 512])
def test_polygon_and_disk_are_never_further_apart_than_half_a_side(seed, sides):
    """Both answers lie in the circular segment over one half side, or, inside the polygon, are the same."""
    w = np.random.default_rng(seed).normal(size=2) * 3.0
    assert np.linalg.norm(project(w, 1.0, sides)[0] - project(w, 1.0, 0)[0]) <= 2.0 * np.sin(np.pi / (2 * sides)) + 1e-14


@pytest.mark.parametrize("sides", [0, *SIDES])
@pytest.mark.parametrize("seed", range(10))
def test_the_derivative_is_that_of_finite_differences(seed, sides):
    random = np.random.default_rng(seed)
    radius, step = 0.8, 1e-6
    w = random.normal(size=2) * 1.5
    columns = []
    for axis in np.eye(2):
        ahead, behind = (project(w + sign * step * axis, radius, sides)[0] for sign in (1.0, -1.0))
        columns.append((ahead - behind) / (2.0 * step))
    np.testing.assert_allclose(project(w, radius, sides)[1], np.column_stack(columns), atol=1e-6)


@settings(max_examples=200, deadline=None)
@given(coordinate, coordinate, radii, st.sampled_from([0, *SIDES]))
def test_the_derivative_shrinks_and_never_turns_back(w1, w2, radius, sides):
    eigenvalues = np.linalg.eigvalsh(project((w1, w2), radius, sides)[1])
    assert eigenvalues[0] >= -1e-14
    assert eigenvalues[1] <= 1.0 + 1e-14


@pytest.mark.parametrize("sides", [0, 8])
@pytest.mark.parametrize("w", [(0.0, 0.0), (1.0, -2.0), (-1e-300, 0.0), (1e200, 1.0)])
def test_without_radius_there_is_no_friction_and_nothing_moves_it(w, sides):
    y, derivative = project(w, 0.0, sides)
    assert not y.any()
    assert not derivative.any()


@pytest.mark.parametrize("sides", [0, 3, 8])
def test_the_centre_is_its_own_projection(sides):
    y, derivative = project((0.0, 0.0), 1.0, sides)
    assert not y.any()
    np.testing.assert_array_equal(derivative, np.eye(2))
