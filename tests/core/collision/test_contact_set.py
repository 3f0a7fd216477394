# SPDX-License-Identifier: GPL-3.0-or-later
"""Sets of contacts: they are sorted, and of contacts of the same features one stays."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.collision.contact_set import NO_CONTACTS, ContactSet, merged


def some_contacts(random: np.random.Generator, number: int) -> ContactSet:
    """Sorted contacts of a few bodies with different features; features have all 64 bits."""
    features = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    rows = random.choice(4 * 4 * len(features), number, replace=False)
    rows.sort()
    a, b, feature = (np.ascontiguousarray(part) for part in np.unravel_index(rows, (4, 4, len(features))))
    normal = random.normal(size=(number, 3))
    return ContactSet(a, a + 1 + b, random.normal(size=(number, 3)), normal, random.normal(size=number), features[feature])


def by_features(contacts: ContactSet) -> dict[tuple[int, int, int], tuple[float, ...]]:
    """Where and how deep the contact of each pair of features is."""
    names = zip(contacts.body_a.tolist(), contacts.body_b.tolist(), contacts.feature.tolist(), strict=True)
    values = np.column_stack([contacts.point, contacts.normal, contacts.gap])
    return {name: tuple(value) for name, value in zip(names, values.tolist(), strict=True)}


@pytest.mark.parametrize("numbers", [(0, 0), (0, 5), (5, 0), (1, 1), (20, 30), (64, 64)])
@pytest.mark.parametrize("seed", range(3))
def test_merged_contacts_are_sorted_and_the_second_set_has_precedence(numbers, seed):
    random = np.random.default_rng(seed)
    first, second = (some_contacts(random, number) for number in numbers)
    both = merged(first, second)
    assert by_features(both) == by_features(first) | by_features(second)
    assert list(by_features(both)) == sorted(by_features(both))


def test_merging_with_no_contacts_changes_nothing():
    contacts = some_contacts(np.random.default_rng(5), 12)
    for both in (merged(contacts, NO_CONTACTS), merged(NO_CONTACTS, contacts)):
        assert all(np.array_equal(one, other) for one, other in zip(both, contacts, strict=True))
