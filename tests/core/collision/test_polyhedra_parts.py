# SPDX-License-Identifier: GPL-3.0-or-later
"""What contacts of polyhedra are made of, each part alone: closest points of segments and edges, faces clipped to faces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.collision.contact_set import empty_contacts
from solver_core.collision.manifold import CAPACITY
from solver_core.collision.polyhedra import closest_edges, face_contacts
from solver_core.collision.polyhedra.hull_pair import HullPair, hull_work
from solver_core.collision.polyhedra.polyhedron import core_of
from solver_core.geometry import build_shapes

from ..kernels import callable_from_python, own_leaf_kernel
from ..shapes import hull

segment_parameters = callable_from_python(closest_edges.segment_parameters)
closest_pair_of_edges = callable_from_python(closest_edges.closest_edges)
WORK = hull_work.py_func(64, 200, 200, 200)


@callable_from_python
@own_leaf_kernel
def clip(reference, face, body, incident, work, polygon, tags):
    """Clips one face to another one; such kernels give Python no arrays, so the answer is written into two."""
    size = face_contacts.prism_sides(reference, face, 0.0, work.sides)
    count, corners, names = face_contacts.clip_face(body, incident, size, work)
    for i in range(count):
        tags[i] = names[i]
        for k in range(3):
            polygon[i, k] = corners[i, k]
    return count


def polyhedron(points):
    """The core of a hull, in its own axes."""
    return core_of.py_func(build_shapes([hull(points)]), 0)


def distance_from_segment(point, start, way):
    square = way @ way
    t = np.clip((point - start) @ way / square, 0.0, 1.0) if square > 0.0 else 0.0
    return np.linalg.norm(point - start - t * way)


def segment_distance(p, d, q, e):
    """Between an end and the other segment, or else at right angles to both, where that point is on both."""
    ends = [distance_from_segment(p + s * d, q, e) for s in (0, 1)] + [distance_from_segment(q + t * e, p, d) for t in (0, 1)]
    across = np.cross(d, e)
    square = across @ across
    if square > 1e-20 * (d @ d) * (e @ e):
        s, t = np.cross(q - p, e) @ across / square, np.cross(q - p, d) @ across / square
        if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
            ends.append(abs((q - p) @ across) / np.sqrt(square))
    return min(ends)


@pytest.mark.parametrize("kind", ["any", "parallel", "nearly parallel", "one is a point", "both are points", "lengths apart"])
def test_segments_are_nearest_at_the_parameters_told(kind):
    random = np.random.default_rng(3)
    for _ in range(300):
        p, d, q, e = random.normal(size=(4, 3))
        if kind == "parallel":
            e = random.choice([-2.0, -0.5, 0.5, 3.0]) * d
        elif kind == "nearly parallel":
            e = random.choice([-1.0, 1.0]) * d + 10.0 ** random.uniform(-9, -3) * e
        elif kind == "lengths apart":
            d, e = 1e-3 * d, 1e3 * e
        e, d = e * (kind not in ("one is a point", "both are points")), d * (kind != "both are points")
        s, t, squared = segment_parameters(*map(tuple, (p, d, q, e)))
        assert 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0
        scale = np.linalg.norm(p - q) + np.linalg.norm(d) + np.linalg.norm(e)
        assert np.linalg.norm(p + s * d - q - t * e) == pytest.approx(np.sqrt(squared), abs=1e-12 * scale)
        assert np.sqrt(squared) == pytest.approx(segment_distance(p, d, q, e), abs=1e-9 * scale)


def edges_of(body):
    for i, j in body.edges:
        yield body.vertices[i], body.vertices[j] - body.vertices[i]


@pytest.mark.slow
@pytest.mark.parametrize("with_axis", [False, True])
def test_the_closest_edges_are_those_of_all_pairs(with_axis):
    """With a direction that separates the bodies known, or without."""
    random = np.random.default_rng(5)
    manifold = empty_contacts.py_func(CAPACITY)
    beyond = 0
    for _ in range(20):
        shapes = random.normal(size=(2, 9, 3)) * random.uniform(0.1, 1.0, (2, 1, 3)) + [[[0.0, 0.0, 0.0]], [[4.0, 3.0, 0.0]]]
        a, b = map(polyhedron, shapes)
        axis, separation = np.zeros(3), 0.0
        if with_axis:
            axis = np.array([0.8, 0.6, 0.0])
            separation = (b.vertices @ axis).min() - (a.vertices @ axis).max()
            if separation <= 0.0:
                continue
        wanted = min(segment_distance(*one, *other) for one, other in itertools.product(edges_of(a), edges_of(b)))
        limit = wanted * random.choice([0.7, 1.2, 10.0])
        pair = HullPair(a, b, limit, 1.0, 0.0, manifold, WORK)
        distance, i, s, j, t = closest_pair_of_edges(pair, limit, tuple(axis), separation)
        if limit < wanted:
            beyond += 1
            assert (i, j) == (-1, -1)
            continue
        (p, d), (q, e) = list(edges_of(a))[i], list(edges_of(b))[j]
        assert distance == pytest.approx(wanted, rel=1e-9)
        assert np.linalg.norm(p + s * d - q - t * e) == pytest.approx(wanted, rel=1e-9)
    assert 0 < beyond < 15


def convex_polygon(random, count):
    """Corners (n, 2) on an ellipse, counter-clockwise."""
    angles = np.sort(random.uniform(0.0, 2.0 * np.pi, count))
    return np.column_stack([np.cos(angles), random.uniform(0.3, 1.0) * np.sin(angles)]) + random.uniform(-0.5, 0.5, 2)


def prism(polygon, low, high):
    return polyhedron(np.vstack([np.column_stack([polygon, np.full(len(polygon), z)]) for z in (low, high)]))


def is_left(points, polygon):
    """Whether each of points (k, 2) is in a polygon, (k,)."""
    ways = np.roll(polygon, -1, axis=0) - polygon
    away = points[:, None] - polygon
    return (ways[:, 0] * away[..., 1] - ways[:, 1] * away[..., 0] >= 0.0).all(axis=1)


def intersection_area(one, other):
    """Of the hull of all that can be a corner: corners of one in the other, and where edges cross."""
    corners = [*one[is_left(one, other)], *other[is_left(other, one)]]
    for i, j in itertools.product(range(len(one)), range(len(other))):
        d, e = one[(i + 1) % len(one)] - one[i], other[(j + 1) % len(other)] - other[j]
        matrix = np.column_stack([d, -e])
        if abs(np.linalg.det(matrix)) > 1e-12:
            s, t = np.linalg.solve(matrix, other[j] - one[i])
            if 0.0 <= s <= 1.0 and 0.0 <= t <= 1.0:
                corners.append(one[i] + s * d)
    return ConvexHull(corners).volume if len(corners) > 2 else 0.0


def face_along(body, direction):
    return int(np.argmax(body.planes[:, :3] @ direction))


def clipped(reference, face, body, incident):
    """The corners (n, 3) and tags of a face of one body that is clipped to a face of another one."""
    polygon, tags = np.empty((64, 3)), np.empty(64, np.int64)
    count = clip(reference, face, body, incident, WORK, polygon, tags)
    return polygon[:count], tags[:count]


@pytest.mark.slow
@pytest.mark.parametrize("lean", [0.0, 0.2])
def test_a_clipped_face_is_what_lies_over_the_other_one(lean):
    """Seen along the reference's normal it is the intersection of both; each edge lies on the one that its tag names."""
    random = np.random.default_rng(7)
    empty = 0
    for _ in range(80):
        below, above = convex_polygon(random, random.integers(3, 9)), convex_polygon(random, random.integers(3, 9))
        above = above + random.uniform(-1.0, 1.0, 2)
        reference, body = prism(below, -1.0, 0.0), prism(above, 0.0, 1.0)
        tilted = Rotation.from_rotvec((lean, 0.0, 0.0)).as_matrix()
        body = polyhedron(body.vertices @ tilted.T)
        face, incident = face_along(reference, [0, 0, 1]), face_along(body, -tilted[:, 2])
        corners, tags = clipped(reference, face, body, incident)
        loop = body.loop_vertices[body.loop_start[incident] : body.loop_start[incident + 1]]
        outline = body.vertices[loop][::-1, :2]
        wanted = intersection_area(below, outline)
        if len(corners) < 3:
            empty += 1
            assert wanted < 1e-9
            continue
        x, y = corners[:, 0], corners[:, 1]
        area = 0.5 * (x @ np.roll(y, -1) - y @ np.roll(x, -1))
        assert area == pytest.approx(wanted, abs=1e-9)
        plane = body.planes[incident]
        np.testing.assert_allclose(corners @ plane[:3], plane[3], atol=1e-12)
        of_reference = reference.loop_vertices[reference.loop_start[face] : reference.loop_start[face + 1]]
        for p, q, tag in zip(corners, np.roll(corners, -1, axis=0), tags, strict=True):
            points = reference.vertices[of_reference] if tag < 0 else body.vertices[loop]
            slot = -1 - tag if tag < 0 else tag
            a, b = points[slot, :2], points[(slot + 1) % len(points), :2]
            for end in (p, q):
                off = (b[0] - a[0]) * (end[1] - a[1]) - (b[1] - a[1]) * (end[0] - a[0])
                assert abs(off) < 1e-9
    assert 3 < empty < 60


def test_a_segment_is_clipped_to_the_part_over_the_face():
    reference = prism(np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=float), -1.0, 0.0)
    rod = polyhedron([[-1.0, 0.25, 0.1], [2.0, 0.25, 0.4]])
    corners, _ = clipped(reference, face_along(reference, [0, 0, 1]), rod, -1)
    wanted = [[0.0, 0.25, 0.2], [1.0, 0.25, 0.3]]
    np.testing.assert_allclose(np.unique(corners.round(12), axis=0), wanted, atol=1e-12)
