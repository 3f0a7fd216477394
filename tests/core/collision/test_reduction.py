# SPDX-License-Identifier: GPL-3.0-or-later
"""Of many corners those are contacts that a mirror image of the scene has as well, and of a turned one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.collision import grouping
from solver_core.collision.reduction import FEW_CONTACTS
from solver_core.scene.spec import ShapeKind, ShapeSpec

from ..kernels import callable_from_python
from ..shapes import ball, box, find, hull, turn

FLIP = np.diag([-1.0, 1.0, 1.0])
PLANE = ShapeSpec(ShapeKind.PLANE)
reduced_group = callable_from_python(grouping.reduce_pair)


def prism(sides, radius=0.5, height=0.4, first=0.0):
    """A prism over a regular polygon, its first corner at an angle from the x axis."""
    angle = first + 2.0 * np.pi * np.arange(sides) / sides
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    return np.concatenate([np.column_stack([x, y, np.full(sides, z)]) for z in (-0.5 * height, 0.5 * height)])


def crystal(seed, corners=40):
    """The hull of points on a sphere under which lies a plane: one face of many corners."""
    points = np.random.default_rng(seed).normal(size=(corners, 3))
    points *= 0.5 / np.linalg.norm(points, axis=1)[:, None]
    points[:, 2] = np.maximum(points[:, 2], -0.2)
    return points


def assert_mirrored(shapes, mirrored, positions, rotations, reach=1e-3):
    """Contacts of the scene and of its mirror image, of shapes that are given, are each other's images."""
    here = find(shapes, positions, rotations, reach)
    images = [FLIP @ np.asarray(rotation) @ FLIP for rotation in rotations]
    there = find(mirrored, np.asarray(positions) @ FLIP, images, reach)
    assert len(here) == len(there) >= 1
    rows = np.column_stack([here.point, here.normal, here.gap])
    others = np.column_stack([there.point @ FLIP, there.normal @ FLIP, there.gap])
    apart = np.abs(rows[:, None, :] - others[None, :, :]).max(axis=2)
    assert apart.min(axis=1).max() < 1e-11 and apart.min(axis=0).max() < 1e-11


@pytest.mark.parametrize("first", [0.0, 0.5, 0.3], ids=["corner", "edge", "any"])
@pytest.mark.parametrize("sides", [9, 10, 12, 13, 16, 20, 31, 36])
def test_a_prism_has_the_contacts_of_its_mirror_image(sides, first):
    """Flat, tilted and turned, on a plane, on a slab and on its like; `first` in parts of a side."""
    corners = prism(sides, first=first * 2.0 * np.pi / sides)
    upright = Rotation.from_euler("z", 0.4).as_matrix()
    leaning = Rotation.from_rotvec([0.3, -0.7, 1.1]).as_matrix()
    for tilt in ([0.0, 0.0, 0.0], [8e-5, 0.0, 0.0], [0.0, -5e-5, 0.0], [3e-5, 6e-5, 0.0]):
        turned = upright @ Rotation.from_rotvec(tilt).as_matrix()
        mirror = hull(corners @ FLIP)
        assert_mirrored([PLANE, hull(corners)], [PLANE, mirror], [[0, 0, 0], [0.2, 0.1, 0.20005]], [np.eye(3), turned])
        slab, places = box(3, 3, 0.4), [[0, 0, -0.2], [0.2, 0.1, 0.20005]]
        assert_mirrored([slab, hull(corners)], [slab, mirror], places, [np.eye(3), turned])
        place = leaning @ [0.03, 0.02, 0.40005]
        assert_mirrored([hull(corners)] * 2, [mirror] * 2, [[0, 0, 0], place], [leaning, leaning @ turned])


@pytest.mark.parametrize("seed", range(6))
def test_hulls_have_the_contacts_of_their_mirror_images(seed):
    points = crystal(seed)
    down = Rotation.from_euler("x", np.pi).as_matrix()
    turned = Rotation.from_rotvec([0.0, 0.0, 0.7]).as_matrix()
    places = [[0.0, 0.0, 0.0], [0.02, -0.01, -0.4001]]
    assert_mirrored([hull(points)] * 2, [hull(points @ FLIP)] * 2, places, [turned, turned @ down])


@pytest.mark.parametrize("sides", [9, 12, 17, 32])
def test_a_prism_that_is_its_own_mirror_image_need_not_be_built_anew(sides):
    """The poses alone are mirrored, so that other corners are where the mirror has them."""
    shapes = [PLANE, hull(prism(sides, first=np.pi / sides))]
    spun = Rotation.from_euler("z", 0.37).as_matrix()
    here = find(shapes, [[0, 0, 0], [0.3, 0.2, 0.2001]], [np.eye(3), spun])
    across = np.diag([1.0, -1.0, 1.0])
    there = find(shapes, [[0, 0, 0], [-0.3, 0.2, 0.2001]], [np.eye(3), FLIP @ spun @ across])
    order = [np.lexsort(np.round(points, 9).T) for points in (here.point, there.point @ FLIP)]
    np.testing.assert_allclose(here.point[order[0]], (there.point @ FLIP)[order[1]], atol=1e-12)


def test_a_scene_turned_in_space_has_the_same_contacts():
    random = np.random.default_rng(3)
    shapes = [hull(prism(13)), hull(prism(22, 0.3))]
    place, own = np.array([0.1, 0.05, 0.4001]), turn(0.0, 0.0, 0.3)
    wanted = find(shapes, [np.zeros(3), place], [np.eye(3), own])
    assert len(wanted) == FEW_CONTACTS
    for _ in range(10):
        whole = Rotation.random(random_state=random.integers(1 << 30)).as_matrix()
        found = find(shapes, [np.zeros(3), whole @ place], [whole, whole @ own])
        np.testing.assert_array_equal(found.feature, wanted.feature)


@pytest.mark.parametrize("sides", [9, 10, 12, 15, 20, 31, 40])
def test_eight_corners_of_a_polygon_leave_little_of_it_out(sides):
    """No eight corners hold more than a regular octagon, 0.9003 of the circle; others hold nearly as much."""
    contacts = find([PLANE, hull(prism(sides))], [[0, 0, 0], [0, 0, 0.2001]])
    assert len(contacts) == FEW_CONTACTS
    area = ConvexHull(contacts.point[:, :2]).volume
    assert area > 0.86 * np.pi * 0.25 * np.sinc(2.0 / sides)


def test_a_wide_bevel_takes_no_corner_from_the_face_that_bears():
    """The 24 corners of the bevel lie farther out, and higher; those that bear are the inner ones."""
    inner, outer = prism(24, 0.45, 0.4), prism(24, 0.5, 0.3998)
    contacts = find([PLANE, hull(np.concatenate([inner, outer]))], [[0, 0, 0], [0, 0, 0.20005]])
    bears = contacts.gap < 6e-5
    assert bears.sum() == FEW_CONTACTS and ConvexHull(contacts.point[bears, :2]).volume > 0.86 * np.pi * 0.45**2
    assert np.hypot(*contacts.point[~bears, :2].T).min() > 0.49  # and once it leans the bevel is there as well


def test_of_an_octagon_with_something_in_its_middle_all_corners_stay():
    corners = np.array([[np.cos(angle), np.sin(angle), 0.0] for angle in 0.25 * np.pi * np.arange(8)])
    point = np.concatenate([corners, [[0.1, 0.05, 0.0]]])
    up = np.tile([0.0, 0.0, 1.0], (9, 1))
    keeps = reduced_group(point, up, np.zeros(9), np.arange(9).astype(np.uint64), 0.01, np.eye(3))
    np.testing.assert_array_equal(keeps, np.arange(8))


@pytest.mark.parametrize("noise", [1e-15, 5e-10, 1e-7])
def test_both_ends_of_the_lowest_edge_of_a_wheel_stay_when_rounding_tilts_it(noise):
    """Nine edges of a wheel of 64 sides are within reach. Without one end of the lowest edge, it lands on the other alone."""
    angles = 2.0 * np.pi * (np.arange(9) - 3.7) / 64
    ends = np.array([[0.3 * np.sin(u), y, 0.3 * (1.0 - np.cos(u))] for u in angles for y in (-0.05, 0.05)])
    gap = ends[:, 2] + noise * (ends[:, 1] > 0.0)
    keeps = reduced_group(ends, np.tile([0.0, 0.0, 1.0], (18, 1)), gap, np.arange(18).astype(np.uint64), 0.02, np.eye(3))
    lowest = np.argsort(gap)[:2]
    assert np.isin(lowest, keeps).all()
    assert (ends[keeps, 1] > 0.0).sum() == (ends[keeps, 1] < 0.0).sum()


def test_a_few_corners_are_contacts_whatever_is_beside_them():
    assert len(find([PLANE, ball(0.2)], [[0, 0, 0], [0, 0, 0.2001]])) == 1
    assert len(find([PLANE, hull(prism(8))], [[0, 0, 0], [0, 0, 0.2001]])) == 8


def test_where_a_surface_bulges_some_between_its_lowest_point_and_its_outline_stay():
    ring = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    rings = [np.column_stack([r * np.cos(ring), r * np.sin(ring), np.zeros(12)]) for r in (0.2, 0.5, 1.0)]
    point, gap = np.concatenate([np.zeros((1, 3)), *rings]), np.repeat([0.0, 4e-4, 2e-3, 4e-3], [1, 12, 12, 12])
    keeps = reduced_group(point, np.tile([0.0, 0.0, 1.0], (37, 1)), gap, np.arange(37).astype(np.uint64), 0.01, np.eye(3))
    radius = np.hypot(*point[keeps, :2].T)
    assert (radius == 0.0).sum() == 1
    assert (np.abs(radius - 0.5) < 1e-9).sum() == 4 and (np.abs(radius - 1.0) < 1e-9).sum() == 8
