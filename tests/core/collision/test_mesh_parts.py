# SPDX-License-Identifier: GPL-3.0-or-later
"""What contacts of meshes are made of, each part alone, against closed forms and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision.mesh import crossings, intersection_curves, mesh_pair, pass_through, queries, swept_triangles
from solver_core.geometry.surface_table import build_surfaces
from solver_core.geometry.surfaces import mesh_surface

from ..kernels import callable_from_python, own_leaf_kernel
from ..meshes import CUBE, CUBE_TRIANGLES, distances, sheet, torus

closest_on_triangle = callable_from_python(queries.closest_on_triangle)
piercing = callable_from_python(crossings.first_piercing_edge)
curves = callable_from_python(intersection_curves.label_curves)
sweeps_past = callable_from_python(swept_triangles.swept_boxes_miss)


@callable_from_python
@own_leaf_kernel
def winding_number(table, s, point, stack):
    return queries.winding_number(queries.own_view(table, s), point, stack)


edge_ends = callable_from_python(pass_through.ends_by_edge)


@callable_from_python
@own_leaf_kernel
def end_inside(table, query, ends, keys, on_edges, row, end):
    return pass_through.inner_edge_end(mesh_pair.pair_of(table, query), ends, keys, on_edges, row, end)


def inner_end(table, query, ends, keys, row, end):
    return end_inside(table, query, ends, keys, edge_ends(keys), row, end)


@pytest.mark.parametrize("width", [1.0, 1e-3, 1e-7, 0.0])
def test_the_closest_point_of_a_triangle_is_on_it_and_at_its_distance(width):
    """Slivers and segments too. The distance comes from heights and edges, the point is told by its own distance of 0."""
    random = np.random.default_rng(1)
    for _ in range(300):
        corners = random.normal(size=(3, 3))
        corners[2] = corners[0] + random.uniform(-0.5, 1.5) * (corners[1] - corners[0]) + width * corners[2]
        corners = corners[random.permutation(3)]
        point = random.normal(size=3) * random.choice([0.1, 1.0, 10.0])
        squared, closest = closest_on_triangle(*map(tuple, corners), tuple(point))
        edges = [distances_from_segment(point, *pair) for pair in itertools.combinations(corners, 2)]
        wanted = distances(point[None], corners[None])[0] if width > 0.0 else min(edges)
        scale = 1e-9 * (1.0 + np.abs(point).max())
        assert np.sqrt(squared) == pytest.approx(wanted, abs=scale)
        assert np.linalg.norm(point - closest) == pytest.approx(np.sqrt(squared), abs=scale)
        on = [distances_from_segment(np.array(closest), *pair) for pair in itertools.combinations(corners, 2)]
        off = min(*on, distances(np.array([closest]), corners[None])[0] if width > 0.0 else np.inf)
        assert off < 1e-8


def distances_from_segment(point, start, end):
    way = end - start
    t = np.clip((point - start) @ way / (way @ way), 0.0, 1.0)
    return np.linalg.norm(point - start - t * way)


def test_a_closed_surface_winds_once_around_its_inside_and_never_around_its_outside():
    """A torus of many triangles, so that parts of it are seen from afar; inside and outside by its equation."""
    table = build_surfaces([mesh_surface(*torus(1.0, 0.4, 64, 32))])
    random, stack = np.random.default_rng(2), np.empty(64, np.int64)
    count = {True: 0, False: 0}
    for x, y, z in random.uniform(-1.6, 1.6, (1500, 3)) * (1.0, 1.0, 0.4):
        from_ring = np.hypot(np.hypot(x, y) - 1.0, z)
        if abs(from_ring - 0.4) < 0.02:
            continue
        inside = bool(from_ring < 0.4)
        count[inside] += 1
        assert winding_number(table, 0, (x, y, z), stack) == pytest.approx(float(inside), abs=0.05)
    assert min(count.values()) > 300


@pytest.mark.parametrize("height", [-2.0, -0.3, 0.05, 0.7, 5.0])
def test_a_sheet_winds_by_the_solid_angle_of_a_rectangle(height):
    """4 arcsin(a b / sqrt((a^2 + h^2)(b^2 + h^2))) from over its middle; it is positive where its normals lead away."""
    table = build_surfaces([mesh_surface(*sheet(1, 2.0))])
    angle = 4.0 * np.arcsin(1.0 / (1.0 + height**2))
    wanted = -np.sign(height) * angle / (4.0 * np.pi)
    assert winding_number(table, 0, (0.0, 0.0, height), np.empty(64, np.int64)) == pytest.approx(wanted, abs=0.02 * angle)


def test_an_edge_pierces_a_triangle_where_the_linear_equations_say():
    random = np.random.default_rng(3)
    found = 0
    for _ in range(600):
        own, other = random.normal(size=(2, 3, 3))
        first = int(random.integers(3))
        normal = np.cross(other[1] - other[0], other[2] - other[0])
        wanted = 3, np.zeros(3)
        for side in range(first, 3):
            p, way = own[side], own[(side + 1) % 3] - own[side]
            s, b, c = np.linalg.solve(np.column_stack([way, other[0] - other[1], other[0] - other[2]]), other[0] - p)
            if 0.0 <= s <= 1.0 and b >= 0.0 and c >= 0.0 and b + c <= 1.0:
                wanted = side, p + s * way
                break
        below = tuple((own - other[0]) @ normal)
        side, point = piercing(own, np.arange(3), below, other, np.arange(3), first)
        assert side == wanted[0]
        np.testing.assert_allclose(point, wanted[1], atol=1e-9)
        found += side < 3
    assert found > 100


def rings(sizes, random):
    """Crossings (k, 2, 3) and keys (k, 2, 3) of closed rings, in any order and direction, and which ring each is of."""
    ends, keys, ring = [], [], []
    for number, size in enumerate(sizes):
        angles = 2.0 * np.pi * np.arange(size) / size
        corners = np.column_stack([np.cos(angles) + 3.0 * number, np.sin(angles), np.zeros(size)])
        names = [(k % 2, 100 * number + k, 7 * number) for k in range(size)]
        for k in range(size):
            order = [k, (k + 1) % size][:: random.choice([-1, 1])]
            ends.append(corners[order])
            keys.append([names[i] for i in order])
            ring.append(number)
    shuffled = random.permutation(len(ring))
    return np.array(ends)[shuffled], np.array(keys)[shuffled], np.array(ring)[shuffled]


def first_of_each(ring):
    return np.array([np.flatnonzero(ring == number)[0] for number in ring])


def test_crossings_that_share_their_ends_are_one_curve_numbered_by_its_first():
    random = np.random.default_rng(4)
    for _ in range(30):
        ends, keys, ring = rings(random.integers(3, 12, size=random.integers(1, 6)), random)
        np.testing.assert_array_equal(curves(ends, keys, 1e-9)[0], first_of_each(ring))


@pytest.mark.parametrize(("apart", "together"), [(1e-7, True), (1e-3, False)])
def test_ends_that_rounding_named_apart_are_shared_where_they_are_near(apart, together):
    random = np.random.default_rng(5)
    ends, keys, _ = rings([6], random)
    for row, end in ((0, 0), (0, 1)):
        keys[row, end] = 0, 5000 + end, 0
        ends[row, end, 2] += apart
    curve, _ = curves(ends, keys, 1e-6)
    assert (len(set(curve[1:].tolist())), curve[1] == curve[0]) == (1, together)


@pytest.mark.parametrize("grown", [0.0, 0.1])
def test_boxes_along_the_axes_sweep_past_each_other_exactly_where_they_never_meet(grown):
    random = np.random.default_rng(6)
    times, count = np.linspace(0.0, 1.0, 2001)[:, None], {True: 0, False: 0}
    for _ in range(300):
        half, other = random.uniform(0.1, 0.5, (2, 3))
        shift, way = random.uniform(-1.5, 1.5, (2, 3))
        way *= random.choice([0.0, 1.0, 2.0], 3)
        box, moving = np.concatenate([-half, half]), np.concatenate([-other, other])
        passes = sweeps_past(box, moving, np.eye(3), shift, way, grown)
        between = (np.abs(shift + times * way) - half - other - grown).max(axis=1).min()
        if abs(between) > 2e-3:
            count[bool(passes)] += 1
            assert passes == (between > 0.0)
    assert min(count.values()) > 30


def test_no_box_that_is_turned_sweeps_past_what_a_point_of_it_meets():
    random = np.random.default_rng(7)
    passed = 0
    for _ in range(300):
        half, other = random.uniform(0.1, 0.6, (2, 3))
        shift, way = random.uniform(-1.5, 1.5, (2, 3))
        turn = Rotation.random(random_state=random).as_matrix()
        points = random.uniform(-1.0, 1.0, (400, 3)) * other
        at = points @ turn.T + shift + random.uniform(0.0, 1.0, (400, 1)) * way
        meets = (np.abs(at) <= half).all(axis=1).any()
        passes = sweeps_past(np.concatenate([-half, half]), np.concatenate([-other, other]), turn, shift, way, 0.0)
        passed += passes
        assert not (passes and meets)
    assert passed > 50


def cube_and_rod(low, high):
    """A table of a unit cube and a rod along z, and where the rod's long edges cross the cube's faces, as ends and keys."""
    rod = CUBE * (0.2, 0.2, high - low) + (0.0, 0.0, 0.5 * (low + high))
    surfaces = [mesh_surface(CUBE, CUBE_TRIANGLES), mesh_surface(rod, CUBE_TRIANGLES)]
    table = build_surfaces(surfaces)
    vertices, edges = surfaces[1].vertices, surfaces[1].edges
    both, pose = (surfaces[0].vertices, vertices), (np.eye(3), np.zeros(3))
    query = mesh_pair.MeshQuery(0, 1, *both, *both, *pose, 1.0, 1e-9, 1.0, np.bool_(False), np.empty(64, np.int64))
    normals = table.normals[: len(surfaces[0].triangles)]
    ends, keys = [], []
    for number, (i, j) in enumerate(edges):
        p, q = vertices[i], vertices[j]
        if abs(p[2] - q[2]) < 1.0 or np.hypot(*(p - q)[:2]) > 1e-9:
            continue
        for z in (-0.5, 0.5):
            if min(p[2], q[2]) < z < max(p[2], q[2]):
                face = int(np.flatnonzero(normals[:, 2] == 2.0 * z)[0])
                ends.append(np.tile([p[0], p[1], z], (2, 1)))
                keys.append(np.tile([0, number, face], (2, 1)))
    return table, query, np.array(ends), np.array(keys)


def test_the_part_of_an_edge_inside_ends_at_its_vertex_or_where_it_passes_out_again():
    table, query, ends, keys = cube_and_rod(-0.2, 2.0)
    assert len(ends) == 4
    for row in range(4):
        vertex, side = inner_end(table, query, ends, keys, row, 0)
        assert side == -1
        np.testing.assert_allclose(query.vertices_second[vertex], [*ends[row, 0, :2], -0.2], atol=1e-12)
    table, query, ends, keys = cube_and_rod(-2.0, 2.0)
    assert len(ends) == 8
    for row in range(8):
        other, side = inner_end(table, query, ends, keys, row, 1)
        assert side in (0, 1) and other != row
        np.testing.assert_allclose(ends[other, side], ends[row, 1] * (1.0, 1.0, -1.0), atol=1e-12)
