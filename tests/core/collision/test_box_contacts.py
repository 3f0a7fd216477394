# SPDX-License-Identifier: GPL-3.0-or-later
"""Two boxes have a narrow phase of their own: it finds what that for all hulls finds, and numbers it in the same way."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision import detect
from solver_core.geometry import build_shapes, convex_hull
from solver_core.geometry.boxes import EDGE, FACE, is_box
from solver_core.scene.spec import ShapeKind, ShapeSpec

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
CARD, SHEET, ROD = (0.063, 0.0006, 0.089), (1.0, 1.0, 1e-5), (0.02, 0.03, 2.0)
SIZES = np.array([(1.0, 1.0, 1.0), (1.0, 0.8, 1.2), (3.0, 3.0, 0.2), (0.05, 0.05, 0.05), CARD, SHEET, ROD])
CELL = 16.0  # m, in which each pair is alone
TURNS = {
    "anyhow": lambda random: Rotation.random(random_state=random.integers(1 << 31)),
    "parallel": lambda random: Rotation.from_euler("xyz", 90.0 * random.integers(0, 4, 3), degrees=True),
    "by 45 degrees": lambda random: Rotation.from_euler("xyz", 45.0 * random.integers(0, 8, 3), degrees=True),
    "hardly": lambda random: Rotation.from_rotvec(random.normal(size=3) * 10.0 ** random.uniform(-12, -1)),
}


def distance_along(way, wanted, sizes, rotation):
    """How far along the way the second box lies when its largest separation, over all fifteen axes, is the one wanted."""
    axes = np.concatenate([np.eye(3), rotation.T, np.cross(np.eye(3)[:, None], rotation.T[None]).reshape(9, 3)])
    axes = axes[np.linalg.norm(axes, axis=1) > 1e-6]
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    reaches = 0.5 * (np.abs(axes) @ sizes[0] + np.abs(axes @ rotation) @ sizes[1])
    return ((wanted + reaches) / np.maximum(np.abs(axes @ way), 1e-12)).min()


def pairs(turned, count):
    """What `detect` takes, for pairs of boxes that overlap, touch or are apart by about their reach, and the smaller sizes."""
    random = np.random.default_rng(3)
    specs, position, rotation, small = [], [], [], []
    for i in range(count):
        sizes = SIZES[random.integers(len(SIZES), size=2)]
        small.append(np.linalg.norm(sizes, axis=1).min())
        second = TURNS[turned](random).as_matrix()
        way = random.normal(size=3) * (1.0, 1.0, random.choice([1.0, 100.0]))
        way /= np.linalg.norm(way)
        wanted = small[-1] * random.choice([0.0, 1e-7, 1e-4, 1e-2, -0.2]) * random.uniform(-1.0 if i % 2 else 0.0, 1.0)
        whole = Rotation.random(random_state=i).as_matrix() if i % 3 else np.eye(3)
        centre = CELL * np.array([i % 16, i // 16 % 16, i // 256])
        specs += [ShapeSpec(ShapeKind.HULL, CUBE * size) for size in sizes]
        position += [centre, centre + whole @ (distance_along(way, wanted, sizes, second) * way)]
        rotation += [whole, whole @ second]
    reach = np.repeat(2.5e-3 * np.array(small), 2)
    masks = np.ones(2 * count, dtype=np.int64)
    return (build_shapes(specs), np.array(position), np.ascontiguousarray(rotation), reach, masks, masks > 0), np.array(small)


@pytest.mark.slow
@pytest.mark.parametrize("turned", TURNS)
def test_two_boxes_touch_where_two_hulls_of_their_shape_do(turned):
    arguments, small = pairs(turned, 500)
    table = arguments[0]
    assert table.box.all()
    boxes, hulls = detect(*arguments), detect(table._replace(box=np.zeros_like(table.box)), *arguments[1:])
    assert len(boxes) > 600
    np.testing.assert_array_equal(np.unique(boxes.body_a), np.unique(hulls.body_a))
    for first in np.unique(hulls.body_a):
        ours, theirs = np.flatnonzero(boxes.body_a == first), np.flatnonzero(hulls.body_a == first)
        size = small[first // 2]
        apart = np.linalg.norm(boxes.point[ours][:, None] - hulls.point[theirs][None], axis=2)
        assert max(apart.min(axis=0).max(), apart.min(axis=1).max()) < 2e-6 * size
        match = theirs[apart.argmin(axis=1)]
        np.testing.assert_allclose(boxes.gap[ours], hulls.gap[match], atol=1e-8 * size)
        np.testing.assert_allclose(boxes.normal[ours], hulls.normal[match], atol=1e-6)
        if turned == "anyhow":
            # elsewhere corners lie over edges, and what touches has two names
            np.testing.assert_array_equal(boxes.feature[ours], hulls.feature[theirs])


def test_exchanging_two_boxes_mirrors_their_contacts():
    (table, position, rotation, *others), small = pairs("anyhow", 300)
    exchanged = np.arange(len(position)).reshape(-1, 2)[:, ::-1].ravel()
    specs = [ShapeSpec(ShapeKind.HULL, table.vertices[table.first_vertex[i] :][:8]) for i in exchanged]
    one = detect(table, position, rotation, *others)
    other = detect(build_shapes(specs), position[exchanged], np.ascontiguousarray(rotation[exchanged]), *others)
    np.testing.assert_array_equal(np.bincount(one.body_a), np.bincount(other.body_a))
    for first in np.unique(one.body_a):
        ours, theirs = np.flatnonzero(one.body_a == first), np.flatnonzero(other.body_a == first)
        apart = np.linalg.norm(one.point[ours][:, None] - other.point[theirs][None], axis=2)
        assert apart.min(axis=1).max() < 2e-6 * small[first // 2]
        np.testing.assert_allclose(one.normal[ours], -other.normal[theirs[apart.argmin(axis=1)]], atol=1e-6)


def touching(sizes, offset, rotation, reach=1e-3, first=None):
    """Contacts of two boxes, the first one in the world's axes or turned by `first`."""
    rotations = np.array([np.eye(3) if first is None else first, rotation])
    masks = np.ones(2, dtype=np.int64)
    specs = [ShapeSpec(ShapeKind.HULL, CUBE * size) for size in sizes]
    return detect(build_shapes(specs), np.array([np.zeros(3), offset]), rotations, np.full(2, 0.5 * reach), masks, masks > 0)


@pytest.mark.parametrize("gap", [5e-4, 1e-6, 0.0, -1e-3])
def test_a_corner_on_a_face_an_edge_on_a_face_and_an_edge_across_an_edge(gap):
    """The cube stands on its corner, half its diagonal high, on its edge, half a face's diagonal, or on another one's edge."""
    cases = (
        (0.5 + np.sqrt(0.75), Rotation.align_vectors([[0.0, 0.0, 1.0]], [[1.0, 1.0, 1.0]])[0], None, 1),
        (0.5 + np.sqrt(0.5), Rotation.from_euler("xz", [45.0, 20.0], degrees=True), None, 2),
        (np.sqrt(2.0), Rotation.from_euler("xz", [45.0, 70.0], degrees=True), Rotation.from_euler("x", 45.0, degrees=True), 1),
    )
    for height, second, first, count in cases:
        contacts = touching(
            [(3.0, 3.0, 1.0) if first is None else (1, 1, 1), (1, 1, 1)],
            [0.01, 0.02, height + gap],
            second.as_matrix(),
            first=None if first is None else first.as_matrix(),
        )
        assert len(contacts) == count
        np.testing.assert_allclose(contacts.gap, gap, atol=1e-12)
        np.testing.assert_allclose(contacts.normal, [[0.0, 0.0, 1.0]] * count, atol=1e-9)


def test_cards_crossed_flat_touch_at_the_corners_of_what_they_share():
    """The card turned by a right angle shares a square of 63 mm with the other one, turned by 45 degrees an octagon."""
    width, thickness, length = CARD
    for angle, corners in ((0.0, 4), (90.0, 4), (45.0, 8)):
        turn = Rotation.from_euler("y", angle, degrees=True).as_matrix()
        contacts = touching([CARD, CARD], [0.0, thickness + 1e-6, 0.0], turn, reach=1e-5)
        assert len(contacts) == corners
        np.testing.assert_allclose(contacts.gap, 1e-6, atol=1e-12)
        np.testing.assert_allclose(contacts.normal, [[0.0, 1.0, 0.0]] * corners, atol=1e-12)
        for own in (np.eye(3), turn):
            over = np.abs(contacts.point @ own)
            assert (over[:, 0] <= 0.5 * width + 1e-9).all() and (over[:, 2] <= 0.5 * length + 1e-9).all()


@pytest.mark.slow
def test_noise_does_not_rename_the_contacts_of_cubes_set_flush():
    """All corners lie over corners, edges over edges: of several names the same one is taken, whatever the last digits are."""
    random = np.random.default_rng(8)
    for sizes, offset in (
        ([(1, 1, 1)] * 2, [0, 0, 1]),
        ([(1, 1, 1), (1, 1, 2)], [1, 0, 0.5]),
        ([(3, 3, 1), (1, 1, 1)], [1, 1, 1]),
    ):
        reference = touching(sizes, np.array(offset, dtype=float), np.eye(3))
        assert len(reference) == 4
        for _ in range(100):
            moved = offset + 1e-11 * random.normal(size=3)
            contacts = touching(sizes, moved, Rotation.from_rotvec(1e-11 * random.normal(size=3)).as_matrix())
            np.testing.assert_array_equal(contacts.feature, reference.feature)
            np.testing.assert_allclose(contacts.point, reference.point, atol=1e-9)


def test_boxes_are_known_by_their_corners_and_numbered_as_hulls_are():
    for size, centre in (((1, 1, 1), (0, 0, 0)), (CARD, (0.3, -0.1, 7.0)), ((0.1, 2.0, 30.0), (1, 2, 3))):
        hull = convex_hull(CUBE * size + centre)
        assert is_box(hull)
        low, high = hull.vertices.min(axis=0), hull.vertices.max(axis=0)
        for axis, upper in itertools.product(range(3), range(2)):
            np.testing.assert_array_equal(hull.vertices[hull.face(FACE[axis, upper])][:, axis], (high if upper else low)[axis])
        for axis, upper, upper_next in itertools.product(range(3), range(2), range(2)):
            corners = hull.vertices[hull.edges[EDGE[axis, upper, upper_next]]]
            across, last = (axis + 1) % 3, (axis + 2) % 3
            assert sorted(corners[:, axis]) == [low[axis], high[axis]]
            np.testing.assert_array_equal(corners[:, across], (high if upper else low)[across])
            np.testing.assert_array_equal(corners[:, last], (high if upper_next else low)[last])
    turned = CUBE @ Rotation.from_euler("z", 30.0, degrees=True).as_matrix()
    wedge = CUBE + np.where(CUBE[:, 2:] > 0.0, 0.1, 0.0) * (CUBE[:, :1] > 0.0)
    for points in (turned, wedge, CUBE[:4], CUBE[:2], CUBE * (1.0, 1.0, 0.0), np.concatenate([CUBE, [[0.0, 0.0, 0.7]]])):
        assert not is_box(convex_hull(points))
