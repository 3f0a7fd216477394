# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear complementarity problems by section 4 of Baraff 1994: every index is a contact without friction."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...problem.result import Status
from ..complementarity import LcpEnd, entry_sizes, is_ray, relative_residual, without_rounding
from ..dense import Layout
from . import attempts
from .attempts import Attempt, Guess
from .index_sets import FREE, PIVOTS, Unknowns, index_sets
from .pivot import ESTABLISHED, RAY, compute_forces
from .start import ZERO_ACCELERATION, start, zero_accelerations

__all__ = ["pivot_lcp"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# numpy's: a Python literal in a named tuple triggers its own specialisation
NO_BILATERAL: Any
NO_TANGENTS: Any
NO_BILATERAL = NO_TANGENTS = np.int64(0)
GUESSED = (Guess(attempts.SWEEPS[0], 0.0),)
GIVEN = (Guess(0, 0.0),)
PROXIMAL_GUESSES = tuple(Guess(0, compliance) for compliance in attempts.PROXIMAL)


class Outcome(NamedTuple):
    """How `compute_forces` ended; the forces with what is negative of them left out, A f + b, and how far that is from a
    solution; the last Delta f; counts (4,)."""

    ended: int
    force: Floats
    acceleration: Floats
    residual: float
    change: Floats
    counts: Indices


def pivot_lcp(
    A: Floats, b: Floats, start: NDArray[np.bool_] | None, tolerance: float, max_iterations: int, time_limit: float
) -> LcpEnd:
    """Solve a linear complementarity problem by section 4 of the paper, for any square A.

    start: (n,) bool, the indices in C at first, None to guess them where A is symmetric. tolerance: of `lcp_residual`. For
    symmetric positive semidefinite A with b in its column space it ends with a solution; for others it may end with a ray, or
    without either.
    """
    begin = perf_counter()
    # without a start to keep to, that A is semidefinite may be found out on the way
    symmetric = is_symmetric(A) and (start is None or _is_semidefinite(A))
    # any positive forces will do: those in C are solved for
    known = np.zeros(0) if start is None else start.astype(np.float64)
    guesses = (GIVEN if start is not None else GUESSED if symmetric else ()) + (PROXIMAL_GUESSES if symmetric else ())
    best, least = (np.zeros(b.size), b), np.inf
    counts, tried, pivots = np.zeros(4, np.int64), 0, max_iterations
    for attempt in attempts.plan(b.size, guesses):
        outcome = Outcome(*_outcome(A, b, symmetric, attempt, known, pivots, begin + time_limit))
        counts += outcome.counts
        tried += 1
        if outcome.residual < least:
            best, least = (outcome.force, outcome.acceleration), outcome.residual
        if outcome.ended == ESTABLISHED:
            if outcome.residual <= tolerance:
                stats = attempts.statistics(counts, tried, begin)
                return LcpEnd(Status.SOLVED, outcome.force, outcome.acceleration, None, stats)
            known = outcome.force
        sizes = entry_sizes(A, symmetric)
        ray = without_rounding(sizes, outcome.change)
        if outcome.ended == RAY and is_ray(A, sizes, ray) and not (symmetric and _is_rounding(A, b, ray)):
            stats = attempts.statistics(counts, tried, begin)
            return LcpEnd(Status.RAY, outcome.force, outcome.acceleration, ray / ray.max(), stats)
        pivots -= int(outcome.counts[PIVOTS])
        if pivots <= 0 or perf_counter() >= begin + time_limit:
            break
        symmetric = symmetric and _is_semidefinite(A)
    return LcpEnd(Status.MAX_ITERATIONS, *best, None, attempts.statistics(counts, tried, begin))


def _outcome(A: Floats, b: Floats, symmetric: bool, attempt: Attempt, known: Floats, pivots: int, deadline: float) -> Any:
    """The fields of an `Outcome`, from known forces (n,), empty for none, if the attempt is to use them."""
    limit = attempts.pivots_of(attempt, False, pivots)
    known = attempt.known(known)
    if deadline == np.inf:
        return _attempt_at_once(A, b, symmetric, known, *attempt.guess[:2], attempt.order, limit)
    sets, scales = _begin(A, b, symmetric, known, *attempt.guess[:2])
    ended = attempts.run_until(deadline, sets, attempt.order, scales, limit)
    return ended, *_answer(A, b, sets.force), sets.change, sets.counts


@kernel
def _attempt_at_once(A, b, symmetric, known, sweeps, compliance, order, limit):
    """An attempt without a look at the clock. To hand the sets to Python and back takes as long as to solve for 50 contacts."""
    p, (at_rest, negligible) = _begin(A, b, symmetric, known, sweeps, compliance)
    ended = compute_forces(p, order, np.zeros(1, np.int64), at_rest, negligible, limit)
    force, acceleration, residual = _answer(A, b, p.force)
    return ended, force, acceleration, residual, p.change, p.counts


@kernel
def _begin(A, b, symmetric, known, sweeps, compliance):
    """(the sets, started; what counts as zero acceleration, and what as one that cannot be driven away)."""
    n = b.size
    no_friction = Layout(NO_BILATERAL, np.arange(n), np.full(n, FREE, np.int64), NO_TANGENTS)
    p = index_sets(Unknowns(A.T.copy(), b, entry_sizes(A, symmetric), no_friction, np.zeros(n), symmetric))
    scales = zero_accelerations(b, ZERO_ACCELERATION)
    start(p, known, sweeps, compliance, *scales)
    return p, scales


@kernel
def _answer(A, b, force):
    """Forces with what is negative of them left out, A f + b, and the residual of both."""
    force = np.maximum(force, 0.0)
    acceleration = A @ force + b
    return force, acceleration, relative_residual(b, force, acceleration)


@kernel
def is_symmetric(A):
    """Whether A is, exactly."""
    for i in range(A.shape[0]):
        for j in range(i):
            if A[i, j] != A[j, i]:
                return False
    return True


def _is_rounding(A: Floats, b: Floats, ray: Floats) -> bool:
    """Whether a ray z >= 0 of a symmetric A is none: where A is positive semidefinite A z = 0, and b . z < 0 on a ray."""
    return _is_semidefinite(A) and float(b @ ray) >= -1e-7 * float(np.abs(b).max() * ray.sum())


def _is_semidefinite(A: Floats) -> bool:
    """Whether a symmetric A is positive semidefinite up to rounding."""
    try:
        np.linalg.cholesky(A + 1e-12 * np.abs(A).max(initial=0.0) * np.eye(len(A)))
    except np.linalg.LinAlgError:
        return False
    return True
