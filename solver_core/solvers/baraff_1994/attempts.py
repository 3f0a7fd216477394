# SPDX-License-Identifier: GPL-3.0-or-later
"""Trials of Baraff's algorithm, one after the other, and what they cost together.

The algorithm may fail where static friction acts, since conditions given up need not ever be re-established, and rounding can
make it drive a force without end. Another trial begins from a better guess, or takes the contacts in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.result import Statistics
from .index_sets import DEPENDENT, DRIVES, GIVEN_UP, PIVOTS, Sets
from .pivot import INTERRUPTED, compute_forces

__all__ = [
    "DEPENDENT_ACCELERATION",
    "PROXIMAL",
    "STIFFEST",
    "SWEEPS",
    "ZERO_ACCELERATION",
    "Guess",
    "Trial",
    "pivots_of",
    "statistics",
    "trials",
    "until",
]

Indices = NDArray[np.int64]

ORDERS = 320
PIVOTS_A_TRIAL = 20  # a contact: with static friction the algorithm may go round in circles, another trial is the way out
PIVOTS_WITHOUT_STATIC_FRICTION = 200  # a contact, in an order from nothing
SWEEPS = (20, 40, 80, 160)  # of Gauss-Seidel over a guess, until Coulomb's law holds
STIFFEST = 3e-11  # of A: with less compliance, what of A depends on the rest does so still, up to the rank test
PROXIMAL = (1e-7, 1e-8) + 3 * (1e-9,) + 8 * (STIFFEST,)  # compliances of trials where pivoting without friction has failed
CHUNK = 256  # pivots between looks at the clock
ZERO_ACCELERATION = 1e-12  # of the largest |b|: an acceleration below counts as zero
DEPENDENT_ACCELERATION = 1e-9  # of the largest |b|: one that cannot be driven to zero because it depends on others already is


class Guess(NamedTuple):
    """What `start` is to do with known forces: sweeps over them, and a compliance, of A, that keeps the forces near them.

    turned: compliances of proximal point steps that first turn friction against the sliding, see `coulomb_guess`; empty for
    none. improves: whether it is worth trying where there is an answer already that has (21) but not Coulomb's law.
    """

    sweeps: int
    compliance: float
    turned: tuple[float, ...] = ()
    improves: bool = True


class Trial(NamedTuple):
    """An order (m,) in which to take the contacts; whether from known forces, and what `start` is to do with them."""

    order: Indices
    renews: bool
    guess: Guess


def trials(m: int, guesses: tuple[Guess, ...]) -> Iterator[Trial]:
    """What to try, one after the other: the contacts' own order from guesses; then orders from nothing, the own one, the
    reverse, and shuffles that are the same ones every time."""
    own, nothing = np.arange(m), Guess(0, 0.0, improves=False)
    for guess in guesses:
        yield Trial(own, True, guess)
    yield Trial(own, False, nothing)
    yield Trial(own[::-1].copy(), False, nothing)
    random = np.random.default_rng(1994)
    for _ in range(ORDERS - 2):
        yield Trial(random.permutation(m), False, nothing)


def pivots_of(trial: Trial, has_static_friction: bool, left: int) -> int:
    """How many pivots a trial may take. has_static_friction: whether there is static friction. left: by all trials that are to
    come."""
    patience = PIVOTS_A_TRIAL if trial.renews or has_static_friction else PIVOTS_WITHOUT_STATIC_FRICTION
    return min(patience * (trial.order.size + 1), left)


def until(deadline: float, sets: Sets, order: Indices, scales: tuple[float, float], limit: int) -> int:
    """`compute_forces` with a look at the clock between pivots."""
    ended, cursor = INTERRUPTED, np.zeros(1, np.int64)
    while ended == INTERRUPTED and sets.counts[PIVOTS] < limit and perf_counter() < deadline:
        budget = min(limit, sets.counts[PIVOTS] + CHUNK)
        ended = compute_forces(sets, order, cursor, *scales, budget)
    return ended


def statistics(counts: Indices, tries: int, begin: float) -> Statistics:
    """What the trials took, since the time when they began."""
    return Statistics(
        iterations=int(counts[PIVOTS]),
        factorisations=tries,
        seconds=perf_counter() - begin,
        drives=int(counts[DRIVES]),
        given_up=int(counts[GIVEN_UP]),
        rank_deficient=int(counts[DEPENDENT]),
        restarts=tries - 1,
    )
