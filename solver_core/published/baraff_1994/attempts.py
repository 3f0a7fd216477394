# SPDX-License-Identifier: GPL-3.0-or-later
"""A sequence of attempts with Baraff's algorithm, and their total cost.

With static friction the algorithm may fail, because conditions that were given up may never be established again. Round-off can
also make it increase a force without end. Another attempt starts from a better guess or adds the contacts in another order.
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

__all__ = [
    "PROXIMAL",
    "STIFFEST",
    "SWEEPS",
    "Attempt",
    "Guess",
    "Outcome",
    "made",
    "pivots_of",
    "pivots_of_guess",
    "plan",
    "statistics",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ORDERS = 320
PIVOTS_AN_ATTEMPT = 20  # per contact: with static friction the algorithm may cycle, and then another attempt helps
PIVOTS_WITHOUT_STATIC_FRICTION = 200  # per contact, for attempts from zero forces
SWEEPS = (20, 40, 80, 160)  # Gauss-Seidel sweeps that improve a guess, in successive attempts
STIFFEST = 3e-11  # smallest compliance, relative to A: with less, dependent columns of A still fail the rank test
PROXIMAL = (1e-7, 1e-8) + 3 * (1e-9,) + 8 * (STIFFEST,)  # compliances, for problems without static friction
CHUNK = 256  # pivots between checks of the clock


class Guess(NamedTuple):
    """How `start` uses known forces.

    sweeps: Gauss-Seidel sweeps that improve them.
    compliance: compliance, relative to A, that keeps the forces near them.
    opposing: first compliance of the proximal point steps that turn friction against the sliding (`coulomb_guess`); 0 skips
        these steps.
    improves: True if the attempt is made even after a solution of (21) is known, to find one that satisfies Coulomb's law.
    """

    sweeps: int
    compliance: float
    opposing: float = 0.0
    improves: bool = True


class Outcome(NamedTuple):
    """Result of one attempt.

    ended: outcome of `compute_forces`.
    force, change: (n,) in the tangent axes of `frame`.
    frame: (m, 2) cosine and sine of the rotation of each tangent frame.
    counts: (4,) counters of `Sets`.
    """

    ended: int
    force: Floats
    change: Floats
    frame: Floats
    counts: Indices


class Attempt(NamedTuple):
    """One attempt to make.

    order: (m,) order in which the contacts are added.
    renews: True if the attempt starts from known forces.
    guess: how `start` uses them.
    """

    order: Indices
    renews: bool
    guess: Guess

    def known(self, forces: Floats) -> Floats:
        """Return the forces to start from: the known forces (n,), or an empty array."""
        return forces if self.renews else np.zeros(0)


def plan(m: int, guesses: tuple[Guess, ...]) -> Iterator[Attempt]:
    """Yield the attempts for m contacts in the order in which to make them.

    The first ones use the given order of contacts and one guess each. The others start from zero forces: in the given order, in
    reverse, and in shuffled orders from a fixed seed.
    """
    own, nothing = np.arange(m), Guess(0, 0.0, improves=False)
    for guess in guesses:
        yield Attempt(own, True, guess)
    yield Attempt(own, False, nothing)
    yield Attempt(own[::-1].copy(), False, nothing)
    random = np.random.default_rng(1994)
    for _ in range(ORDERS - 2):
        yield Attempt(random.permutation(m), False, nothing)


def pivots_of(attempt: Attempt, has_static_friction: bool, pivots_left: int) -> int:
    """Return the maximum number of pivots of an attempt.

    has_static_friction: True if the problem has static friction. pivots_left: pivots left for all further attempts.
    """
    if attempt.renews or has_static_friction:
        return pivots_of_guess(attempt.order.size, pivots_left)
    return min(PIVOTS_WITHOUT_STATIC_FRICTION * (attempt.order.size + 1), pivots_left)


def pivots_of_guess(m: int, pivots_left: int) -> int:
    """Return the maximum number of pivots of an attempt from a guess, for m contacts and so many pivots left."""
    return min(PIVOTS_AN_ATTEMPT * (m + 1), pivots_left)


def made(
    unknowns: Unknowns, scales: tuple[float, float], attempt: Attempt, known: Floats, limit: int, deadline: float
) -> Outcome:
    """Make an attempt and return its outcome.

    scales: from `zero_accelerations`.
    known: (n,) known forces, or an empty array; ignored if the attempt does not use them.
    limit: maximum number of pivots.
    deadline: time of `perf_counter` at which to stop [s]; with inf, the clock is never checked.
    """
    known, guess = attempt.known(known), attempt.guess[:2]
    if deadline == np.inf:
        return Outcome(*pivot_at_once(unknowns, known, *guess, attempt.order, scales, limit))
    p, ended, cursor = index_sets(unknowns), INTERRUPTED, np.zeros(1, np.int64)
    start(p, known, *guess, *scales)
    while ended == INTERRUPTED and p.counts[PIVOTS] < limit and perf_counter() < deadline:
        ended = compute_forces(p, attempt.order, cursor, *scales, min(limit, p.counts[PIVOTS] + CHUNK))
    return Outcome(ended, p.force, p.change, p.frame, p.counts)


def statistics(counts: Indices, attempts: int, begin: float) -> Statistics:
    """Return the statistics of all attempts, given their total counters, their number and the time of their start [s]."""
    return Statistics(
        iterations=int(counts[PIVOTS]),
        factorisations=attempts,
        seconds=perf_counter() - begin,
        drives=int(counts[DRIVES]),
        given_up=int(counts[GIVEN_UP]),
        rank_deficient=int(counts[DEPENDENT]),
        restarts=attempts - 1,
    )
