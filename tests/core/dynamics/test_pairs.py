# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of bodies: looked up among others, and placed at the times at which they meet."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.dynamics.look_ahead.impacts import are_among
from solver_core.dynamics.look_ahead.later_contacts import placed_together


@pytest.mark.parametrize("seed", range(4))
def test_a_pair_is_found_in_any_order_of_the_two_and_of_the_pairs(seed):
    random = np.random.default_rng(seed)
    count = 7
    asked = random.integers(0, count, (40, 2))
    pairs = np.sort(random.integers(0, count, (9, 2)), axis=1)
    expected = [sorted(pair) in pairs.tolist() for pair in asked.tolist()]
    assert are_among(asked, pairs, count).tolist() == expected


def test_no_pair_is_among_none():
    assert not are_among(np.array([[0, 1], [1, 2]]), np.zeros((0, 2), np.int64), 3).any()


def test_no_body_that_moves_is_placed_at_two_times():
    bodies, times = np.array([[0, 1], [0, 2], [3, 4], [2, 5]]), np.array([0.1, 0.2, 0.3, 0.1])
    together, time = placed_together(bodies, times, np.ones(4, np.bool_), np.ones(6, np.bool_))
    assert together.tolist() == [True, False, True, True]
    assert time.tolist() == [0.1, 0.1, 0.1, 0.3, 0.3, 0.1]
    rest, time = placed_together(bodies, times, ~together, np.ones(6, np.bool_))
    assert rest.tolist() == [False, True, False, False] and time.tolist() == [0.2, 0.0, 0.2, 0.0, 0.0, 0.0]


def test_a_body_at_rest_meets_others_at_any_times():
    bodies, times = np.array([[0, 1], [0, 2]]), np.array([0.1, 0.2])
    together, time = placed_together(bodies, times, np.ones(2, np.bool_), np.array([False, True, True]))
    assert together.all() and time.tolist() == [0.0, 0.1, 0.2]
