# SPDX-License-Identifier: GPL-3.0-or-later
"""The buffer of contacts: the order of its rows, its growth, and pairs with more contacts than a manifold has rows for."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.collision import contact_buffer
from solver_core.collision.contact_set import ContactSet
from solver_core.collision.manifold import CAPACITY
from solver_core.collision.reduction import FEW_CONTACTS, MOST_CONTACTS
from solver_core.scene.spec import ShapeKind, ShapeSpec

from ..kernels import callable_from_python
from ..meshes import sheet
from ..shapes import box, find, hull, mesh

PLANE = ShapeSpec(ShapeKind.PLANE)
new_buffer = callable_from_python(contact_buffer.new_buffer)
append_contact = callable_from_python(contact_buffer.append_contact)
ensure_capacity = callable_from_python(contact_buffer.ensure_capacity)
keep_gaps = callable_from_python(contact_buffer.keep_gaps)
trimmed = callable_from_python(contact_buffer.trimmed)
deepest_per_feature = callable_from_python(contact_buffer.deepest_per_feature)


def filled(capacity, gaps, features):
    """A buffer to which contacts were appended; the i-th is at (i, 10 i, 100 i) with the normal (-i, -10 i, -100 i)."""
    buffer = new_buffer(capacity)
    for i, (gap, feature) in enumerate(zip(gaps, features, strict=True)):
        place = float(i), 10.0 * i, 100.0 * i
        append_contact(buffer, place, tuple(-x for x in place), gap, np.uint64(feature))
    return buffer


def rows_of(contacts):
    """Which contacts of `filled` are in the rows of a set, whose columns agree about it."""
    rows = contacts.point[:, 0]
    assert np.array_equal(contacts.point, np.outer(rows, [1.0, 10.0, 100.0]))
    assert np.array_equal(contacts.normal, -contacts.point)
    return rows.astype(int).tolist()


def prism(sides, height=0.2):
    """A prism over a regular polygon of radius 0.5 m."""
    angle = 2.0 * np.pi * (np.arange(sides) + 0.3) / sides
    x, y = 0.5 * np.cos(angle), 0.5 * np.sin(angle)
    return hull(np.concatenate([np.column_stack([x, y, np.full(sides, z)]) for z in (-0.5 * height, 0.5 * height)]))


def test_contacts_without_room_are_counted_and_nothing_else():
    buffer = filled(3, [0.1, 0.2, 0.3, 0.4, 0.5], [5, 4, 3, 2, 1])
    assert buffer.used[0] == 5
    assert len(buffer.contacts.gap) == 3
    assert rows_of(buffer.contacts) == [0, 1, 2]
    assert buffer.contacts.gap.tolist() == [0.1, 0.2, 0.3]
    assert buffer.contacts.feature.tolist() == [5, 4, 3]


@pytest.mark.parametrize("more", [1, 4, 100])
def test_growth_keeps_all_rows_and_makes_room(more):
    buffer = filled(4, [0.1, 0.2, 0.3, 0.4], [9, 8, 7, 6])
    buffer.contacts.body_a[:], buffer.contacts.body_b[:] = [1, 2, 3, 4], [5, 6, 7, 8]
    larger = ensure_capacity(buffer, more)
    kept = ContactSet(*trimmed(larger))
    assert len(larger.contacts.gap) >= max(4 + more, 8)
    assert larger.used[0] == 4 and rows_of(kept) == [0, 1, 2, 3]
    for name, values in {"body_a": [1, 2, 3, 4], "body_b": [5, 6, 7, 8], "feature": [9, 8, 7, 6]}.items():
        assert getattr(kept, name).tolist() == values
    assert kept.gap.tolist() == [0.1, 0.2, 0.3, 0.4]


def test_a_buffer_with_room_is_not_copied():
    buffer = filled(8, [0.1, 0.2], [1, 2])
    assert ensure_capacity(buffer, 6).contacts.gap.ctypes.data == buffer.contacts.gap.ctypes.data


def test_contacts_with_gaps_in_a_range_keep_their_order():
    buffer = filled(8, [0.5, -0.5, 0.0, 0.4, -0.1, 0.6], [6, 5, 4, 3, 2, 1])
    keep_gaps(buffer, -0.1, 0.5)
    kept = ContactSet(*trimmed(buffer))
    assert rows_of(kept) == [0, 2, 3, 4]
    assert kept.gap.tolist() == [0.5, 0.0, 0.4, -0.1]
    assert kept.feature.tolist() == [6, 4, 3, 2]


def test_the_deepest_contact_of_each_feature_comes_in_the_order_of_features():
    """Of two that are equally deep the first one."""
    buffer = filled(8, [0.5, -0.5, 0.0, -0.5, -0.1, 0.6], [7, 2**63, 7, 2**63, 1, 7])
    assert deepest_per_feature(buffer).tolist() == [4, 2, 1]
    assert deepest_per_feature(filled(8, [], [])).tolist() == []


def test_no_contact_is_lost_when_the_buffer_of_all_pairs_grows():
    """Each prism has as many contacts as alone, bit for bit, where all together are more than the rows at first."""
    number = 200
    shapes = [PLANE, *[prism(20)] * number]
    places = [[0.0, 0.0, 0.0], *[[2.0 * i, 0.0, 0.1] for i in range(number)]]
    contacts = find(shapes, places)
    assert len(contacts) == number * FEW_CONTACTS > 4 * number + CAPACITY
    assert np.all(np.diff(contacts.body_b) >= 0)
    for i in range(number):
        alone, here = find([PLANE, prism(20)], [places[0], places[1 + i]]), contacts.chosen(contacts.body_b == 1 + i)
        assert np.all(here.feature[1:] > here.feature[:-1])
        for name in ("point", "normal", "gap", "feature"):
            assert np.array_equal(getattr(alone, name), getattr(here, name))


@pytest.mark.parametrize("sides", [CAPACITY - 1, CAPACITY, CAPACITY + 1, 3 * CAPACITY])
def test_a_pair_with_more_corners_than_rows_stands_on_all_sides(sides):
    """Its neighbors in the buffer have the contacts that they have alone."""
    shapes, places = [PLANE, box(1, 1, 1), prism(sides), box(1, 1, 1)], [[0, 0, 0], [-3, 0, 0.5], [0, 0, 0.1], [3, 0, 0.5]]
    contacts = find(shapes, places)
    many = contacts.chosen(contacts.body_b == 2)
    assert FEW_CONTACTS <= len(many) <= MOST_CONTACTS
    assert np.all(many.feature[1:] > many.feature[:-1])
    assert np.abs(many.gap).max() < 1e-12
    angle = np.sort(np.arctan2(many.point[:, 1], many.point[:, 0]))
    assert np.diff(angle, append=angle[0] + 2.0 * np.pi).max() < 0.3 * np.pi
    for body in (1, 3):
        alone, here = find([PLANE, box(1, 1, 1)], [places[0], places[body]]), contacts.chosen(contacts.body_b == body)
        assert len(here) == 4
        for name in ("point", "normal", "gap", "feature"):
            assert np.array_equal(getattr(alone, name), getattr(here, name))


def test_convex_pairs_and_meshes_share_the_buffer_in_order():
    """Bodies ascend, and features within each pair; a mesh between convex bodies takes no row of theirs."""
    shapes = [PLANE, box(1, 1, 1), mesh(sheet(4, 1.0)), box(1, 1, 1)]
    places = [[0, 0, 0], [-3, 0, 0.5], [0, 0, 0.0002], [0, 0, 0.5004]]
    contacts = find(shapes, places)
    keys = list(zip(contacts.body_a.tolist(), contacts.body_b.tolist(), contacts.feature.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert {(a, b) for a, b, _ in keys} == {(0, 1), (0, 2), (0, 3), (2, 3)}
