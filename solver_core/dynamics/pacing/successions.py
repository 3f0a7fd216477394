# SPDX-License-Identifier: GPL-3.0-or-later
"""Sequential impacts within a step, such as those of balls in a row that nearly touch.

An impact takes two steps (`restitution.py`). If a body that bounces or is pushed in a step would hit the next body in the same
step, their speculative contact stops it before it arrives. Its impact speed is then unknown, and two impacts that should follow
each other are solved as one. Such a step therefore ends when the first of these pairs touches, so that each impact has its own
partial step, as it would have with shorter time steps.

This is done for bodies in a row, and otherwise only in small islands in which no two bodies touch at several points. In a pile
impacts come in any order, and the order makes no visible difference.
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

MOST_TURNS = 512  # limit on the partial steps for impacts in a step, times the number of bodies and contacts of each solve
FEW_ROWS = 100  # bodies and contacts; below this number the limit grows by the square of the integer ratio
NEAR_THE_END = 1e-6  # fraction of the step: an impact this close to its end needs no cut


def first_of_some(
    begin: Begin, solution: Solution, position: Floats, turns: int, solve: Callable[[ContactSet], Solution]
) -> float:
    """Return the time of the first impact that needs a partial step of its own.

    Parameters
    ----------
    begin : the step
    solution : of the step
    position : (n, 3) m, at the start of the step
    turns : the number of impacts of the step that already had their own partial step
    solve : solves the step for a subset of the contacts

    Returns
    -------
    s after the start of the step; infinite if there is no such impact or if the step has used up its partial steps for impacts
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
    """Return (m,) the contacts of a solution that stopped a body which should have hit another one later in the step.

    Such a contact bounces, its bodies did not touch at the start of the step, and its impacts have an order. One of its bodies
    also collides with a third body in the step, has just separated from one, or pushes one that it touches while it closes fast
    enough to bounce.
    """
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
    """Return (m,) the contacts with a movable body that has contacts with more than one other body among `acts`, (m,)."""
    ends = solution.contacts.ends
    moving = begin.model.dof >= 0
    neighbours = np.bincount(np.unique(ends[acts], axis=0).ravel(), minlength=len(moving)) * moving
    return neighbours[ends].max(axis=1) > 1
