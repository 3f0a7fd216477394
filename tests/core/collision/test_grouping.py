# SPDX-License-Identifier: GPL-3.0-or-later
"""Of many contacts of two bodies those are kept that carry the rest: the deepest, and the corners of what supports."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from solver_core.collision import grouping
from solver_core.collision.reduction import FEW_CONTACTS, MOST_CONTACTS

from ..kernels import callable_from_python

reduced_group = callable_from_python(grouping.reduce_pair)
UP, ALONG = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
LIMIT = 0.01


def plane_of(random, count, normal):
    """Points (n, 3) at random in a unit square across an axis, with gaps at random."""
    point = random.uniform(-1.0, 1.0, (count, 3)) * (1.0 - normal)
    return point, np.tile(normal, (count, 1)), random.uniform(0.0, 0.5 * LIMIT, count)


def kept(point, normal, gap, feature):
    return reduced_group(point, normal, gap, feature.astype(np.uint64), LIMIT, np.eye(3))


def test_few_contacts_are_all_kept_in_the_order_of_their_features():
    random = np.random.default_rng(1)
    feature = random.permutation(FEW_CONTACTS)
    np.testing.assert_array_equal(kept(*plane_of(random, FEW_CONTACTS, UP), feature), np.argsort(feature))


def test_of_a_flat_grid_the_corners_are_kept():
    """All gaps are the same: what supports is the square, and its four corners are all that carries it."""
    at = np.linspace(-1.0, 1.0, 9)
    point = np.array([[x, y, 0.0] for x, y in itertools.product(at, at)])
    keeps = kept(point, np.tile(UP, (81, 1)), np.zeros(81), np.arange(81))
    corners = {(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)}
    assert corners <= set(map(tuple, point[keeps, :2].tolist()))
    assert len(keeps) <= MOST_CONTACTS


@pytest.mark.parametrize("count", [20, 200])
def test_the_deepest_is_kept_and_most_of_the_area_that_supports(count):
    random = np.random.default_rng(count)
    for _ in range(30):
        point, normal, gap = plane_of(random, count, UP)
        keeps = kept(point, normal, gap, np.arange(count))
        assert gap[keeps].min() == gap.min()
        assert len(set(keeps.tolist())) == len(keeps) <= MOST_CONTACTS
        assert (np.diff(keeps) > 0).all()
        assert ConvexHull(point[keeps, :2]).volume > 0.6 * ConvexHull(point[:, :2]).volume


def test_a_region_with_another_normal_keeps_its_own_points():
    """A floor of a hundred contacts, and a wall of four, which no point of the floor stands for."""
    random = np.random.default_rng(3)
    floor, wall = plane_of(random, 100, UP), plane_of(random, 4, ALONG)
    point, normal, gap = (np.concatenate(parts) for parts in zip(floor, wall, strict=True))
    keeps = kept(point, normal, gap, np.arange(104))
    assert {100, 101, 102, 103} & set(keeps.tolist()) and (keeps < 100).sum() >= 4
    assert keeps[gap[keeps].argmin()] == gap.argmin()
    assert gap[keeps[keeps >= 100]].min() == gap[100:].min()


def test_many_regions_share_the_room_and_each_keeps_its_deepest():
    random = np.random.default_rng(4)
    normals = [axis * sign for axis in np.eye(3) for sign in (-1.0, 1.0)]
    parts = [plane_of(random, 60, np.abs(normal)) for normal in normals]
    point, gap = np.concatenate([part[0] for part in parts]), np.concatenate([part[2] for part in parts])
    normal = np.repeat(normals, 60, axis=0)
    keeps = kept(point, normal, gap, np.arange(360))
    assert len(keeps) <= grouping.MAX_GROUP_CONTACTS
    for region in range(6):
        own = keeps[keeps // 60 == region]
        assert gap[own].min() == gap[60 * region : 60 * (region + 1)].min()


def test_the_order_that_contacts_come_in_changes_nothing():
    random = np.random.default_rng(5)
    point, normal, gap = plane_of(random, 50, UP)
    feature = random.permutation(50)
    wanted = feature[kept(point, normal, gap, feature)]
    for _ in range(10):
        order = random.permutation(50)
        again = kept(point[order], normal[order], gap[order], feature[order])
        np.testing.assert_array_equal(feature[order][again], wanted)
