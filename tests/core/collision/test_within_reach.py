# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangles near each other are found, and what is told to keep clear does."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision.mesh import keeping_clear, near_triangles
from solver_core.collision.mesh.mesh_pair import MeshQuery
from solver_core.collision.mesh.swept_triangles import Sweep, Triangles
from solver_core.geometry.shapes import MESH
from solver_core.geometry.surface_table import build_surfaces
from solver_core.geometry.surfaces import mesh_surface

from ..kernels import callable_from_python
from ..meshes import bolt, nut

found_near = callable_from_python(near_triangles.nearby_pairs)
within = callable_from_python(near_triangles.pairs_within)
stays_separated = callable_from_python(keeping_clear.stays_separated)


def sampled(corners):
    """Points of a triangle (n, 3), its corners and edges among them, with the bits of the features that each lies on."""
    n = 8
    weights = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
    bits = [
        sum(1 << k for k in range(3) if w[k] == 1.0) | sum(8 << k for k in range(3) if w[(k + 2) % 3] == 0.0) for w in weights
    ]
    return weights @ corners, np.array(bits)


def bolt_and_nut(turn, shift, distance):
    """A table of the nut and the bolt, and their `MeshQuery` where the bolt is turned (3, 3) and shifted (3,)."""
    table = build_surfaces([mesh_surface(*nut()), mesh_surface(*bolt())])
    own, vertices = table.vertices[: table.first_vertex[1]], table.vertices[table.first_vertex[1] :] @ turn.T + shift
    both, stack = (own, vertices), np.empty(512, np.int64)
    return table, MeshQuery(0, 1, *both, *both, turn, shift, distance, 1e-12, 1.0, False, stack)


def corners_of(table, query):
    """The corners of all triangles (t, 3, 3) of either surface."""
    first, second = np.split(table.triangles, table.first_triangle[1:2])
    return query.vertices_first[first], query.vertices_second[second]


@pytest.mark.parametrize("limit", [1e-4, pytest.param(3e-3, marks=pytest.mark.long)])
def test_pairs_of_triangles_are_found_in_an_order_that_does_not_depend_on_the_limit(limit):
    turn = Rotation.from_rotvec((0.0, 0.0, 0.3)).as_matrix()
    few, many = ([tuple(row) for row in found_near(*bolt_and_nut(turn, np.zeros(3), d)).tolist()] for d in (limit, 2.0 * limit))
    chosen = set(few)
    assert len(chosen) == len(few) > 1000 and [row for row in many if row in chosen] == few


def test_pairs_of_triangles_are_those_whose_boxes_come_within_the_limit():
    turn, limit = Rotation.from_rotvec((0.02, 0.01, 0.3)).as_matrix(), 2e-4
    table, query = bolt_and_nut(turn, np.array([1e-4, 0.0, 1e-3]), limit)
    one, other = corners_of(table, query)
    low, high, other_low, other_high = one.min(axis=1), one.max(axis=1), other.min(axis=1), other.max(axis=1)
    apart = np.zeros((len(one), len(other)), bool)
    for k in range(3):
        apart |= low[:, None, k] > other_high[None, :, k] + limit
        apart |= high[:, None, k] < other_low[None, :, k] - limit
    wanted = set(map(tuple, np.argwhere(~apart).tolist()))
    found = [tuple(row) for row in found_near(table, query).tolist()]
    assert len(found) == len(set(found)) > 1000 and set(found) == wanted


def test_planes_keep_apart_only_what_is_farther_than_the_limit():
    turn, limit = Rotation.from_rotvec((0.02, 0.01, 0.3)).as_matrix(), 2e-4
    table, query = bolt_and_nut(turn, np.array([1e-4, 0.0, 1e-3]), limit)
    near = found_near(table, query)
    kept = set(map(tuple, within(table, query, limit, near).tolist()))
    left_out = np.array([row for row in map(tuple, near.tolist()) if row not in kept])
    assert kept and len(left_out) > 0.2 * len(near)
    one, other = corners_of(table, query)
    random = np.random.default_rng(3)
    for f, g in left_out[random.choice(len(left_out), 500, replace=False)]:
        points, others = sampled(one[f])[0], sampled(other[g])[0]
        assert np.linalg.norm(points[:, None] - others[None], axis=-1).min() > limit


class Hulls(NamedTuple):
    """Of a `ShapeTable` what `stays_separated` asks for."""

    kind: np.ndarray
    round_radius: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    first_vertex: np.ndarray
    vertex_count: np.ndarray
    vertices: np.ndarray


def test_triangles_that_keep_clear_come_no_nearer_while_they_turn():
    """Against their points at many moments of the exact motion."""
    random, nearest = np.random.default_rng(4), 0.05
    shapes = Hulls(np.full(2, MESH), np.zeros(2), *np.zeros((2, 2, 3)), np.zeros(2, int), np.zeros(2, int), np.zeros((0, 3)))
    cleared = met = 0
    for _ in range(240):
        corners = random.normal(size=(2, 3, 3)) * 0.4
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normal /= np.linalg.norm(normal, axis=1)[:, None]
        triangles = Triangles(np.arange(6).reshape(2, 3), corners.reshape(6, 3), np.zeros((0, 3)), normal, *np.ones((2, 2)))
        turn, shift = Rotation.random(random_state=random).as_matrix(), random.normal(size=3)
        way, spin, other_spin = 0.5 * random.normal(size=3), *(random.uniform(0.0, 3.0) * random.normal(size=(2, 3)))
        centre, other_centre = 0.3 * random.normal(size=(2, 3))
        one, other = corners[0], corners[1] @ turn.T + shift
        radii = np.linalg.norm(one - centre, axis=1).max(), np.linalg.norm(other - other_centre, axis=1).max()
        angles = np.linalg.norm(spin), np.linalg.norm(other_spin)
        bent = sum(r * min(0.5 * a * a, 2.0 * a) for r, a in zip(radii, angles, strict=True))
        step, *about = (tuple(v.tolist()) for v in (way, spin, other_spin, centre, other_centre))
        sweep = Sweep(0, 1, turn, shift, step, 0.0, about[0], about[1], about[2], about[3], float(bent), 1.0, 1.0)
        told = stays_separated(shapes, triangles, sweep, np.array([0, 1]), nearest)
        points, others, distance = sampled(one)[0] - centre, sampled(other)[0] - other_centre, np.inf
        for t in np.linspace(0.0, 1.0, 12):
            here = Rotation.from_rotvec(t * spin).apply(points) + centre
            there = Rotation.from_rotvec(t * other_spin).apply(others) + other_centre + t * way
            distance = min(distance, np.linalg.norm(here[:, None] - there[None], axis=-1).min())
        assert not (told and distance < nearest)
        cleared, met = cleared + told, met + (distance < nearest)
    assert cleared > 20 and met > 20
