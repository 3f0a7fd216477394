# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear complementarity problems by section 4 of Baraff 1994: every index is a contact without friction."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...problem.result import Status
from ..complementarity import LcpEnd, entry_sizes, is_ray, is_symmetric, relative_residual, without_rounding
from ..dense import Layout
from . import attempts
from .attempts import Guess
from .index_sets import FREE, PIVOTS, Unknowns
from .pivot import ESTABLISHED, INTERRUPTED, RAY
from .start import ZERO_ACCELERATION, pivot_at_once, zero_accelerations

__all__ = ["pivot_lcp"]

Floats = NDArray[np.float64]

GUESSED = (Guess(attempts.SWEEPS[0], 0.0),)
GIVEN = (Guess(0, 0.0),)
PROXIMAL_GUESSES = tuple(Guess(0, compliance) for compliance in attempts.PROXIMAL)


class _Made(NamedTuple):
    """Result of one attempt.

    ended: outcome of `compute_forces`.
    force, acceleration: (n,), force >= 0.
    residual: `lcp_residual`.
    change: (n,) the ray, if that is the outcome.
    counts: (4,) counters of `Sets`.
    """

    ended: int
    force: Floats
    acceleration: Floats
    residual: float
    change: Floats
    counts: NDArray[np.int64]


def pivot_lcp(
    A: Floats, b: Floats, start: NDArray[np.bool_] | None, tolerance: float, max_iterations: int, time_limit: float
) -> LcpEnd:
    """Solve a linear complementarity problem by section 4 of the paper, for any square A.

    For symmetric positive semidefinite A with b in its column space, it ends with a solution. For others it may end with a
    ray or without a result.

    A: (n, n), C-contiguous. b: (n,).
    start: (n,) bool, indices that are initially in C; None to guess them if A is symmetric.
    tolerance: bound on `lcp_residual`.
    max_iterations: limit of pivots over all attempts.
    time_limit: time after which the best result so far is returned [s].
    """
    begin, first = perf_counter(), None
    if start is None and time_limit == np.inf:
        is_made, made = _guessed_at_once(A, b, attempts.SWEEPS[0], attempts.pivots_of_guess(b.size, max_iterations))
        if is_made:
            first = _Made(*made)
            if first.ended == ESTABLISHED and first.residual <= tolerance:
                stats = attempts.statistics(first.counts, 1, begin)
                return LcpEnd(Status.SOLVED, first.force, first.acceleration, None, stats)
    return _by_attempts(A, b, start, tolerance, max_iterations, begin, begin + time_limit, first)


@kernel
def _guessed_at_once(A, b, sweeps, budget):
    """Make the attempt from a guess in one call, which takes half of the time of one from Python with 50 indices.

    Returns False if A is not symmetric, so that there is no guess; and the fields of `_Made`.
    """
    n, symmetric = b.size, is_symmetric(A)
    if not symmetric:
        return False, (INTERRUPTED, np.zeros(n), np.zeros(n), np.inf, np.zeros(n), np.zeros(4, np.int64))
    layout = Layout(0, np.arange(n), np.full(n, FREE), 0)
    unknowns = Unknowns(A, b, entry_sizes(A, symmetric), layout, np.zeros(n), symmetric)
    scales = zero_accelerations(b, ZERO_ACCELERATION)
    ended, force, change, _, counts = pivot_at_once(unknowns, np.zeros(0), sweeps, 0.0, layout.normal, scales, budget)
    acceleration = b.copy()
    for i in range(n):
        force[i] = max(force[i], 0.0)
        if force[i] > 0.0:
            for j in range(n):
                acceleration[j] += force[i] * A[i, j]
    return True, (ended, force, acceleration, relative_residual(b, force, acceleration), change, counts)


def _by_attempts(
    A: Floats,
    b: Floats,
    start: NDArray[np.bool_] | None,
    tolerance: float,
    max_iterations: int,
    begin: float,
    deadline: float,
    first: _Made | None,
) -> LcpEnd:
    """Make attempts until one solves the problem. The arguments are those of `pivot_lcp`.

    begin, deadline: times of `perf_counter` [s]. first: result of the first attempt, if it is made.
    """
    # Without a given start, the check that A is semidefinite can wait until the first attempt has failed.
    equals_transpose = is_symmetric(A)
    symmetric = equals_transpose and (start is None or _is_semidefinite(A))
    columns = A if equals_transpose else np.ascontiguousarray(A.T)
    # Any positive values serve, because the forces in C are solved for.
    known = np.zeros(0) if start is None else start.astype(np.float64)
    guesses = (GIVEN if start is not None else GUESSED if symmetric else ()) + (PROXIMAL_GUESSES if symmetric else ())
    best, least, n = (np.zeros(b.size), b), np.inf, b.size
    layout, scales = Layout(0, np.arange(n), np.full(n, FREE), 0), zero_accelerations(b, ZERO_ACCELERATION)
    counts, tried, pivots = np.zeros(4, np.int64), 0, max_iterations
    for attempt in attempts.plan(n, guesses):
        sizes, limit = entry_sizes(A, symmetric), attempts.pivots_of(attempt, False, pivots)
        if first is None:
            unknowns = Unknowns(columns, b, sizes, layout, np.zeros(n), symmetric)
            outcome = attempts.made(unknowns, scales, attempt, known, limit, deadline)
            force = np.maximum(outcome.force, 0.0)
            acceleration = A @ force + b
            residual = relative_residual(b, force, acceleration)
            made = _Made(outcome.ended, force, acceleration, residual, outcome.change, outcome.counts)
        else:
            made, first = first, None
        counts += made.counts
        tried += 1
        if made.residual < least:
            best, least = (made.force, made.acceleration), made.residual
        if made.ended == ESTABLISHED:
            if made.residual <= tolerance:
                stats = attempts.statistics(counts, tried, begin)
                return LcpEnd(Status.SOLVED, made.force, made.acceleration, None, stats)
            known = made.force
        ray = without_rounding(sizes, made.change)
        if made.ended == RAY and is_ray(A, sizes, ray) and not (symmetric and _is_rounding(A, b, ray)):
            stats = attempts.statistics(counts, tried, begin)
            return LcpEnd(Status.RAY, made.force, made.acceleration, ray / ray.max(), stats)
        pivots -= int(made.counts[PIVOTS])
        if pivots <= 0 or perf_counter() >= deadline:
            break
        symmetric = symmetric and _is_semidefinite(A)
    return LcpEnd(Status.MAX_ITERATIONS, *best, None, attempts.statistics(counts, tried, begin))


def _is_rounding(A: Floats, b: Floats, ray: Floats) -> bool:
    """Return True if a ray z >= 0 of a symmetric A is an effect of round-off.

    If A is positive semidefinite, a true ray has A z = 0 and b . z < 0.
    """
    return _is_semidefinite(A) and float(b @ ray) >= -1e-7 * float(np.abs(b).max() * ray.sum())


def _is_semidefinite(A: Floats) -> bool:
    """Return True if a symmetric A is positive semidefinite up to round-off."""
    try:
        np.linalg.cholesky(A + 1e-12 * np.abs(A).max(initial=0.0) * np.eye(len(A)))
    except np.linalg.LinAlgError:
        return False
    return True
