# SPDX-License-Identifier: GPL-3.0-or-later
"""Impacts that follow each other within a step, as those of balls in a row that nearly touch.

An impact takes two steps (`restitution.py`). Where a body that bounces, or is pushed off, in a step would meet the next one in
that very step, their contact holds it back before it has come there: at what speed it would have come nobody knows any more,
and the two answer what should be one impact after the other as one. So such a step ends where the first of them touch: each
impact then has a part of its own, as it would between shorter steps.

That is done where there are few bodies and contacts, and no two meet at several points, or in rows. In a heap all meet all in
any order, and orders cannot be distinguished.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...problem.system import relative_velocities
from ..look_ahead.later_contacts import normal_speed
from ..model.predict import Begin
from ..solve.outcome import Solution
from ..solve.propagation import have_no_order, in_rows, islands_of

__all__ = ["first_of_some"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_TURNS = 512  # turns of a step, times bodies and contacts that each solves for
FEW_ROWS = 100  # of these: where there are fewer, turns cost less, and may be more by the square of how many times fewer
NEAR_THE_END = 1e-6  # of the step: an impact that is no farther from its end is where a cut would bring it


def first_of_some(
    begin: Begin, solution: Solution, position: Floats, turns: int, solve: Callable[[ContactSet], Solution]
) -> float:
    """After how many s the first touch of those whose impacts follow each other in a step; infinite where none do, or where
    that would be more turns than the step may take.

    position: (n, 3) m, as the step begins. turns: that it has taken already. solve: solves the step for fewer contacts.
    """
    if not np.count_nonzero(solution.bouncing):
        return np.inf
    waits = follows(begin, solution)
    size = len(solution.contacts) + np.count_nonzero(begin.awake)
    if not 0 < np.count_nonzero(waits) <= MOST_TURNS // size * max(1, FEW_ROWS // size) ** 2 - turns:
        return np.inf
    contacts = solution.contacts.chosen(waits)
    speed = normal_speed(contacts, solve(solution.contacts.without(waits)).twist, position)
    closes = -solution.restitution[waits] * speed > begin.least_bounce
    times = (contacts.gap - begin.rest_gaps(contacts))[closes] / -speed[closes]
    first = float(times.min(initial=np.inf))
    return first if first < (1.0 - NEAR_THE_END) * begin.h else np.inf


def follows(begin: Begin, solution: Solution) -> Flags:
    """(m,) contacts of a solution that bounce, have an order, and have held bodies back which were apart, one of which meets a
    third body in the step as well, or has just parted from one; or pushes one that it touches, at a speed with which it would
    bounce."""
    system, gap, holds = solution.system, solution.contacts.gap, solution.bouncing
    if holds.any():
        holds = holds & ~begin.touching(solution.contacts)
    if not holds.any():
        return holds
    rows, contacts = np.arange(len(gap)), solution.contacts
    acts = holds | np.isfinite(solution.struck) | (solution.bouncing & (system.slack < 0.0))
    bounce = acts | solution.bouncing
    island, size = islands_of(system, rows)
    mixed = have_no_order(contacts, rows, island, size)
    if (holds & mixed).any():
        holds &= ~mixed | in_rows(begin, contacts, bounce)[1]
    closing = -relative_velocities(system, system.velocity)[: len(gap), 0]
    is_blow = solution.restitution * closing > begin.least_bounce
    return holds & (meets_others(begin, solution, acts) | (is_blow & meets_others(begin, solution, bounce)))


def meets_others(begin: Begin, solution: Solution, acts: Flags) -> Flags:
    """(m,) contacts one body of which, that moves, has contacts with more than one other among those that act (m,)."""
    ends = solution.contacts.ends
    moving = begin.model.dof >= 0
    met = np.bincount(np.unique(ends[acts], axis=0).ravel(), minlength=len(moving)) * moving
    return met[ends].max(axis=1) > 1
