# SPDX-License-Identifier: GPL-3.0-or-later
"""Attempts with Baraff's algorithm, one after the other, and what they cost together.

The algorithm may fail where static friction acts, since conditions given up need not ever be re-established, and rounding can
make it drive a force without end. Another attempt begins from a better guess, or takes the contacts in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.result import Statistics
from .index_sets import DEPENDENT, DRIVES, GIVEN_UP, PIVOTS, Unknowns, index_sets
from .pivot import INTERRUPTED, compute_forces
from .start import pivot_at_once, start

__all__ = ["PROXIMAL", "STIFFEST", "SWEEPS", "Attempt", "Guess", "Outcome", "made", "pivots_of", "plan", "statistics"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ORDERS = 320
PIVOTS_AN_ATTEMPT = 20  # a contact: with static friction the algorithm may go round in circles, another attempt is the way out
PIVOTS_WITHOUT_STATIC_FRICTION = 200  # a contact, in an order from nothing
SWEEPS = (20, 40, 80, 160)  # of Gauss-Seidel over a guess, until Coulomb's law holds
STIFFEST = 3e-11  # of A: with less compliance, what of A depends on the rest does so still, up to the rank test
PROXIMAL = (1e-7, 1e-8) + 3 * (1e-9,) + 8 * (STIFFEST,)  # compliances of attempts where pivoting without friction has failed
CHUNK = 256  # pivots between looks at the clock


class Guess(NamedTuple):
    """What `start` is to do with known forces: sweeps over them, and a compliance, of A, that keeps the forces near them.

    opposing: compliance of the first of the proximal point steps that bring friction against the sliding (`coulomb_guess`), 0
    for none. improves: whether it is worth trying where there is an answer already that has (21) but not Coulomb's law.
    """

    sweeps: int
    compliance: float
    opposing: float = 0.0
    improves: bool = True


class Outcome(NamedTuple):
    """The contacts taken in one order: how `compute_forces` ended, and what of the sets is asked for afterwards. force, change:
    (n,) in the tangent axes of `frame`; counts: (4,)."""

    ended: int
    force: Floats
    change: Floats
    frame: Floats
    counts: Indices


class Attempt(NamedTuple):
    """An order (m,) in which to take the contacts; whether from known forces, and what `start` is to do with them."""

    order: Indices
    renews: bool
    guess: Guess

    def known(self, forces: Floats) -> Floats:
        """Those of known forces (n,) that it begins from: all or none."""
        return forces if self.renews else np.zeros(0)


def plan(m: int, guesses: tuple[Guess, ...]) -> Iterator[Attempt]:
    """What to try, one after the other: the contacts' own order from guesses; then orders from nothing, the own one, the
    reverse, and shuffles that are the same ones every time."""
    own, nothing = np.arange(m), Guess(0, 0.0, improves=False)
    for guess in guesses:
        yield Attempt(own, True, guess)
    yield Attempt(own, False, nothing)
    yield Attempt(own[::-1].copy(), False, nothing)
    random = np.random.default_rng(1994)
    for _ in range(ORDERS - 2):
        yield Attempt(random.permutation(m), False, nothing)


def pivots_of(attempt: Attempt, has_static_friction: bool, left: int) -> int:
    """How many pivots an attempt may take. has_static_friction: whether there is static friction. left: by all attempts that
    are to come."""
    patience = PIVOTS_AN_ATTEMPT if attempt.renews or has_static_friction else PIVOTS_WITHOUT_STATIC_FRICTION
    return min(patience * (attempt.order.size + 1), left)


def made(
    unknowns: Unknowns, scales: tuple[float, float], attempt: Attempt, known: Floats, limit: int, deadline: float
) -> Outcome:
    """What comes of an attempt of so many pivots, from known forces (n,), empty for none, if it is to use them; where there is
    a deadline, with a look at the clock between pivots. scales: as of `zero_accelerations`."""
    known, guess = attempt.known(known), attempt.guess[:2]
    if deadline == np.inf:
        return Outcome(*pivot_at_once(unknowns, known, *guess, attempt.order, scales, limit))
    p, ended, cursor = index_sets(unknowns), INTERRUPTED, np.zeros(1, np.int64)
    start(p, known, *guess, *scales)
    while ended == INTERRUPTED and p.counts[PIVOTS] < limit and perf_counter() < deadline:
        ended = compute_forces(p, attempt.order, cursor, *scales, min(limit, p.counts[PIVOTS] + CHUNK))
    return Outcome(ended, p.force, p.change, p.frame, p.counts)


def statistics(counts: Indices, attempts: int, begin: float) -> Statistics:
    """What the attempts took, since the time when they began."""
    return Statistics(
        iterations=int(counts[PIVOTS]),
        factorisations=attempts,
        seconds=perf_counter() - begin,
        drives=int(counts[DRIVES]),
        given_up=int(counts[GIVEN_UP]),
        rank_deficient=int(counts[DEPENDENT]),
        restarts=attempts - 1,
    )
