# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex hulls have the faces a person would count, whatever the precision, the thinness or the dimension of their points."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.geometry import build_shapes, convex_hull, convex_polygons, hulls
from solver_core.geometry.large_hulls import are_apart
from solver_core.geometry.quickhull import hull_triangles
from solver_core.scene.spec import ShapeKind, ShapeSpec

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def turned(points, seed):
    return points @ Rotation.random(random_state=seed).as_matrix().T


def loop_lengths(hull):
    return sorted(np.diff(hull.face_start).tolist())


@pytest.mark.parametrize("half_sizes", [(1, 1, 1), (0.0315, 0.0445, 0.0003), (1, 1, 0.001), (1, 0.001, 0.001), (500, 500, 0.5)])
@pytest.mark.parametrize("seed", range(5))
def test_a_box_in_single_precision_has_six_quads(half_sizes, seed):
    hull = convex_hull(turned(CUBE * half_sizes, seed).astype(np.float32))
    assert loop_lengths(hull) == [4] * 6
    assert len(hull.edges) == 12
    assert len(hull.vertices) == 8


def test_vertices_inside_faces_and_edges_of_a_subdivided_cube_go():
    grid = np.array(list(itertools.product(np.linspace(-1, 1, 6), repeat=3)))
    hull = convex_hull(turned(grid, 3).astype(np.float32))
    assert loop_lengths(hull) == [4] * 6
    np.testing.assert_allclose(np.linalg.norm(hull.vertices, axis=1), np.sqrt(3.0), rtol=1e-6)


def test_a_cylinder_of_32_sides_has_two_caps():
    angle = 2.0 * np.pi * np.arange(32) / 32
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(32)])
    hull = convex_hull(turned(np.concatenate([ring, ring + np.array([0, 0, 0.01])]), 1).astype(np.float32))
    assert loop_lengths(hull) == [4] * 32 + [32] * 2


@pytest.mark.parametrize("seed", range(6))
def test_a_hull_is_closed_convex_and_holds_the_volume_of_its_points(seed):
    random = np.random.default_rng(seed)
    points = random.normal(size=(200, 3)) * 10.0 ** random.uniform(-1.5, 1.5, size=3)
    hull = convex_hull(points)
    assert len(hull.vertices) - len(hull.edges) + hull.face_count == 2
    size = np.ptp(points, axis=0).max()
    heights = points @ hull.planes[:, :3].T - hull.planes[:, 3]
    assert heights.max() <= 1e-12 * size
    volume = 0.0
    for face in range(hull.face_count):
        corners = hull.vertices[hull.face(face)]
        assert np.abs(corners @ hull.planes[face, :3] - hull.planes[face, 3]).max() <= 1e-6 * size
        for second, third in itertools.pairwise(corners[1:]):
            volume += np.linalg.det([corners[0], second, third]) / 6.0
    assert volume == pytest.approx(ConvexHull(points).volume, rel=1e-5)


def test_each_edge_has_its_left_and_its_right_face():
    hull = convex_hull(np.random.default_rng(2).normal(size=(40, 3)))
    for (start, end), (left, right) in zip(hull.edges, hull.edge_faces, strict=True):
        along = hull.vertices[end] - hull.vertices[start]
        assert np.dot(np.cross(hull.planes[left, :3], hull.planes[right, :3]), along) > 0.0
    for face in range(hull.face_count):
        slots = slice(hull.face_start[face], hull.face_start[face + 1])
        corners = hull.face_vertices[slots]
        pairs = np.sort(np.column_stack([corners, np.roll(corners, -1)]), axis=1)
        np.testing.assert_array_equal(pairs, np.sort(hull.edges[hull.face_edges[slots]], axis=1))


def test_a_flat_mesh_is_a_polygon_with_two_sides():
    square = CUBE[CUBE[:, 2] > 0] * [3, 2, 0]
    hull = convex_hull(turned(np.concatenate([square, 0.5 * square]), 5).astype(np.float32))
    assert loop_lengths(hull) == [4, 4]
    np.testing.assert_allclose(hull.planes[0, :3], -hull.planes[1, :3], atol=1e-12)
    np.testing.assert_array_equal(np.sort(hull.edge_faces, axis=1), [[0, 1]] * 4)


def test_collinear_points_are_a_segment_and_equal_points_a_point():
    segment = convex_hull(np.outer(np.linspace(-1, 2, 9), [1.0, 2.0, 3.0]))
    assert segment.face_count == 0 and len(segment.edges) == 1
    assert np.linalg.norm(np.subtract(*segment.vertices)) == pytest.approx(3 * np.sqrt(14))
    point = convex_hull(np.ones((4, 3)))
    np.testing.assert_array_equal(point.vertices, [[1, 1, 1]])
    assert point.face_count == 0


@pytest.mark.parametrize(
    ("vertices", "message"),
    [
        (np.zeros((0, 3)), "at least one vertex"),
        ([[0, 0, 0], [0, np.nan, 0]], "vertex 1"),
        (np.zeros((4, 2)), r"shape \(n, 3\)"),
    ],
)
def test_what_is_no_point_set_is_named(vertices, message):
    with pytest.raises(ValueError, match=message):
        convex_hull(vertices)


def test_the_table_names_the_body_whose_shape_is_bad():
    good = ShapeSpec(ShapeKind.HULL, CUBE)
    with pytest.raises(ValueError, match=r"body 1: .*at least one vertex"):
        build_shapes([good, ShapeSpec(ShapeKind.HULL)])
    with pytest.raises(ValueError, match="body 2: margin"):
        build_shapes([good, good, ShapeSpec(ShapeKind.HULL, CUBE, margin=-0.1)])


def test_equal_shapes_share_their_rows_and_keep_their_margins():
    table = build_shapes(
        [ShapeSpec(ShapeKind.HULL, CUBE, margin=margin) for margin in (0.0, 0.5)] + [ShapeSpec(ShapeKind.PLANE)]
    )
    assert table.first_vertex[0] == table.first_vertex[1]
    assert table.radius.tolist() == [pytest.approx(np.sqrt(3)), pytest.approx(np.sqrt(3) + 0.5), np.inf]


def on_a_sphere(count):
    points = np.random.default_rng(4).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def a_ring(sides):
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(sides)])
    return turned(np.concatenate([ring, ring + np.array([0, 0, 0.5])]), 1)


@pytest.mark.parametrize("points", [on_a_sphere(300), a_ring(90), turned(CUBE, 2)], ids=["sphere", "ring", "cube"])
@pytest.mark.parametrize(
    "limits",
    [((hulls, "MOST_HEIGHTS"), (convex_polygons, "MOST_COMPARED")), ((hulls, "MOST_EXACT"),)],
    ids=["many faces", "many points"],
)
def test_the_ways_of_large_hulls_come_to_the_faces_and_planes_of_small_ones(points, limits, monkeypatch):
    usual = convex_hull(points)
    for module, limit in limits:
        monkeypatch.setattr(module, limit, 2)
    large = convex_hull(points)
    for name in ("vertices", "face_start", "face_vertices", "face_edges", "edges", "edge_faces"):
        np.testing.assert_array_equal(getattr(usual, name), getattr(large, name))
    np.testing.assert_allclose(usual.planes, large.planes, rtol=0.0, atol=1e-15)


def test_a_large_polygon_reaches_as_far_as_its_farthest_corner():
    flat = a_ring(400)[:400]
    edge = np.roll(flat, -1, axis=0) - flat
    normal = np.cross(flat[100] - flat[0], flat[200] - flat[0])
    outward = np.cross(edge, normal / np.linalg.norm(normal))
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    assert abs(convex_polygons._outside(flat[None], outward[None])) < 1e-12
    assert convex_polygons._outside(flat[None], -outward[None]) > 1.0
    by_hand = (flat @ outward.T - (flat * outward).sum(axis=1)).max(axis=0)
    supports = convex_polygons._supports(flat, outward) - (flat * outward).sum(axis=1)
    np.testing.assert_allclose(supports, by_hand, rtol=0.0, atol=1e-12)


def two_rings(sides, height=1.0):
    angle = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(sides)])
    return np.concatenate([ring, ring + np.array([0.0, 0.0, height])])


def clusters(count):
    random = np.random.default_rng(6)
    return on_a_sphere(20)[random.integers(0, 20, count)] + 1e-9 * random.normal(size=(count, 3))


LARGE = {
    "sphere in single precision": lambda n: on_a_sphere(n).astype(np.float32),
    "cloud": lambda n: np.random.default_rng(5).uniform(-1.0, 1.0, size=(n, 3)),
    "coplanar: a subdivided cube": lambda n: turned(
        np.array(list(itertools.product(np.linspace(-1, 1, round(n ** (1 / 3)) + 1), repeat=3))), 3
    ),
    "cocircular: a prism": lambda n: turned(two_rings(n // 2 + 1), 1),
    "coin": lambda n: two_rings(n // 2 + 1, 1e-3),
    "needle": lambda n: on_a_sphere(n) * [1.0, 1e-4, 1e-4],
    "a nanometer": lambda n: on_a_sphere(n) * 1e-9,
    "far away": lambda n: on_a_sphere(n) + 1e6,
    "near duplicates": clusters,
    "exact duplicates": lambda n: np.repeat(on_a_sphere(n // 10), 10, axis=0),
    "bowl": lambda n: (lambda p: np.column_stack([p, p[:, 0] ** 2 + 0.5 * p[:, 1] ** 2]))(
        np.random.default_rng(7).uniform(-1.0, 1.0, size=(n, 2))
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("points", LARGE.values(), ids=LARGE)
def test_the_hull_of_5000_points_is_that_of_qhull(points):
    points = np.asarray(points(5000), dtype=float)
    hull = convex_hull(points)
    size = np.linalg.norm(np.ptp(points, axis=0))
    assert len(hull.vertices) - len(hull.edges) + hull.face_count == 2
    assert {tuple(p) for p in hull.vertices} <= {tuple(p) for p in points}
    for plane in hull.planes[:: max(1, hull.face_count // 500)]:
        assert (points @ plane[:3] - plane[3]).max() <= 1e-6 * size
    # about the mean, for a volume far from the origin is rounding
    centred = points - points.mean(axis=0)
    extents = np.ptp(centred, axis=0)
    expected = ConvexHull(centred / extents, qhull_options="QJ Pp")
    found = ConvexHull((hull.vertices - points.mean(axis=0)) / extents, qhull_options="QJ Pp")
    assert found.volume == pytest.approx(expected.volume, rel=1e-4)


@pytest.mark.parametrize(
    ("points", "faces"),
    [(turned(two_rings(2049), 1), 2051), (turned(np.array(list(itertools.product(range(17), repeat=3)), dtype=float), 3), 6)],
    ids=["prism", "cube"],
)
def test_a_large_hull_has_the_faces_a_person_would_count(points, faces):
    assert convex_hull(points).face_count == faces


@pytest.mark.slow
def test_20000_cocircular_points_cost_what_as_many_on_a_sphere_cost():
    # Qhull's exact hull takes thirty times as long for the prism: its time is quadratic in the corners of a face
    prism, sphere = two_rings(10_000), on_a_sphere(20_000)
    assert processor_time(lambda: convex_hull(prism)) < 6.0 * processor_time(lambda: convex_hull(sphere))


@pytest.mark.slow
def test_the_hull_of_true_corners_takes_less_time_than_qhull_alone_needs_for_triangles():
    points = on_a_sphere(20_000)
    assert processor_time(lambda: convex_hull(points)) < 1.5 * processor_time(lambda: ConvexHull(points))


@pytest.mark.parametrize("count", [5, 50, 1000])
def test_triangles_of_points_that_were_moved_apart_close_a_surface_of_the_volume_that_qhull_finds(count):
    points = np.random.default_rng(count).normal(size=(count, 3))
    triangles, across = hull_triangles(points, 1e-13)
    corners = points[triangles]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    assert volume == pytest.approx(ConvexHull(points).volume, rel=1e-12)
    for k in range(3):
        ends = np.stack([triangles[:, k], triangles[:, (k + 1) % 3]], axis=1)
        beyond = triangles[across[:, k]]
        there = [(beyond[:, j] == ends[:, 1]) & (beyond[:, (j + 1) % 3] == ends[:, 0]) for j in range(3)]
        assert np.any(there, axis=0).all()


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_points_in_a_plane_have_no_triangles(count):
    triangles, across = hull_triangles(np.random.default_rng(1).normal(size=(count, 3)) * [1.0, 1.0, 0.0], 1e-13)
    assert len(triangles) == len(across) == 0


def test_of_points_that_are_close_to_each_other_the_first_ones_are_kept():
    points = np.array([[0.0, 0.0, 0.0], [0.4, 0.0, 0.0], [0.9, 2.0, 0.0], [0.9, 2.1, 0.0], [1.1, 0.0, 0.0], [1.1, 0.0, 5.0]])
    assert are_apart(points, 1.0).tolist() == [True, False, True, False, True, True]
    # in a row across the first axis every point would be compared with every other one
    assert len(are_apart(np.linspace(0.0, 1.0, 200)[:, None] * [0.0, 1.0, 0.0], 1e-6)) == 0


def processor_time(call):
    call()
    start = time.process_time()
    call()
    return time.process_time() - start


@pytest.mark.slow
def test_a_scan_of_5000_points_is_a_closed_convex_hull_without_comparing_all_with_all():
    points = on_a_sphere(5000).astype(np.float32)
    hull = convex_hull(points)
    assert len(hull.vertices) == 5000
    assert len(hull.vertices) - len(hull.edges) + hull.face_count == 2
    assert max((points @ plane[:3] - plane[3]).max() for plane in hull.planes[::40]) <= 1e-15


def test_a_cloud_of_100000_points_costs_what_its_corners_cost():
    points = np.random.default_rng(5).uniform(-1.0, 1.0, size=(100_000, 3))
    hull = convex_hull(points)
    assert len(hull.vertices) < 1000
    assert max((points @ plane[:3] - plane[3]).max() for plane in hull.planes) <= 4e-6
