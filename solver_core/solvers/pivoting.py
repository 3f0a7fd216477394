"""From contact problems to Baraff's algorithm and back: limits, rays, and other orders.

Dynamic friction (Baraff 1994, section 6; 1991, section 7) makes the matrix unsymmetric, and there may be no solution: an
infinite step is the direction of a set of contact impulses.

The algorithm may fail where static friction acts, since conditions given up need not ever be re-established, and rounding can
make it drive a force without end. The contacts are then taken in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..accuracy import residuals
from ..problem import ContactProblem
from ..result import Result, Statistics, Status
from .dense import Layout, dense_problem, forces_from_impulse, impulse_from_forces, result_of
from .index_sets import DEPENDENT, DRIVES, GIVEN_UP, PIVOTS, Sets, index_sets
from .lemke import LcpEnd, is_ray
from .pivot import ESTABLISHED, INTERRUPTED, RAY, compute_forces
from .pivot_start import is_symmetric, pivot_at_once, start

__all__ = ["pivot", "pivot_lcp"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ORDERS = 320
PIVOTS_A_CONTACT = 6400  # over all orders
PIVOTS_AN_ORDER = 20  # a contact: with static friction the algorithm may go round in circles, another order is the way out
PIVOTS_WITHOUT_STATIC_FRICTION = 200  # a contact, in an order
CHUNK = 256  # pivots between looks at the clock
AT_REST = 1e-12  # of the largest |b|: an acceleration below counts as zero
NEGLIGIBLE = 1e-9  # of the largest |b|: one that cannot be driven to zero because it depends on others already is


def _orders(m: int):
    """The contacts' own order, the reverse, and shuffles that are the same ones every time."""
    yield np.arange(m)
    yield np.arange(m)[::-1].copy()
    random = np.random.default_rng(1994)
    for _ in range(ORDERS - 2):
        yield random.permutation(m)


class Attempt(NamedTuple):
    """The contacts taken in one order: how `compute_forces` ended, and what of the sets is asked for afterwards."""

    ended: int
    force: Floats
    change: Floats
    frame: Floats
    counts: Indices


def _attempts(
    A: Floats, b: Floats, layout: Layout, mu: Floats, guess: Floats | None, symmetric: bool, pivots: int, deadline: float
) -> Iterator[Attempt]:
    """One attempt for each order of the contacts, the first from the guess, until the pivots or the time are spent.

    symmetric: whether A is and, there being no friction, stays so; it is then taken to be positive semidefinite until an
    attempt fails.
    """
    m = layout.normal.size
    scale = float(np.abs(b).max(initial=0.0))
    columns = np.ascontiguousarray(A.T)
    patience = PIVOTS_AN_ORDER if (layout.friction >= 0).any() else PIVOTS_WITHOUT_STATIC_FRICTION
    known = guess if guess is not None and scale > 0.0 else np.zeros(0)
    for turn, order in enumerate(_orders(m)):
        if turn == 1:
            symmetric, known = symmetric and _is_semidefinite(A), np.zeros(0)
        limit = min(patience * (m + 1), pivots)
        unknowns = (layout.bilateral, layout.normal, layout.friction, layout.tangents, mu, symmetric)
        first = (known, symmetric and turn == 0 and guess is None)
        scales = (AT_REST * scale, NEGLIGIBLE * scale)
        if deadline == np.inf:
            attempt = Attempt(*pivot_at_once(columns, b, *unknowns, *first, order, *scales, limit))
        else:
            sets = index_sets(columns.copy(), b.copy(), *unknowns)
            start(sets, layout.bilateral, *first, scales[0])
            attempt = _until(deadline, sets, order, scales, limit)
        pivots -= int(attempt.counts[PIVOTS])
        yield attempt
        if pivots <= 0 or perf_counter() >= deadline:
            return


def _until(deadline: float, sets: Sets, order: Indices, scales: tuple[float, float], limit: int) -> Attempt:
    """An attempt that looks at the clock between pivots."""
    ended, cursor = INTERRUPTED, np.zeros(1, np.int64)
    while ended == INTERRUPTED and sets.counts[PIVOTS] < limit and perf_counter() < deadline:
        budget = min(limit, sets.counts[PIVOTS] + CHUNK)
        ended = compute_forces(sets, order, cursor, *scales, budget)
    return Attempt(ended, sets.force, sets.change, sets.frame, sets.counts)


def _statistics(counts: Indices, tries: int, begin: float) -> Statistics:
    return Statistics(
        iterations=int(counts[PIVOTS]),
        factorisations=tries,
        seconds=perf_counter() - begin,
        drives=int(counts[DRIVES]),
        given_up=int(counts[GIVEN_UP]),
        rank_deficient=int(counts[DEPENDENT]),
        restarts=tries - 1,
    )


def pivot(
    problem: ContactProblem, tolerance: float, max_iterations: int | None, time_limit: float, warm_start: Floats | None
) -> Result:
    """Solve a contact problem with Baraff's algorithm.

    max_iterations: limit of pivots over all orders, None for 6400 a contact. Ends with RAY only where friction along
    given directions makes the matrix unsymmetric and the ray has the property (10) of Baraff 1991.
    """
    begin = perf_counter()
    A, b, layout = dense_problem(problem)
    most = PIVOTS_A_CONTACT * (problem.contacts + 1) if max_iterations is None else max_iterations
    guess = None if warm_start is None else forces_from_impulse(problem, layout, warm_start)
    best, least, ray = result_of(problem, *impulse_from_forces(problem, layout, np.zeros(b.size)), "pivot"), np.inf, None
    status, counts, tries = Status.MAX_ITERATIONS, np.zeros(4, np.int64), 0
    frictionless = bool((layout.friction < 0).all()) and not problem.slides_along_given.any()
    for attempt in _attempts(A, b, layout, problem.system.mu, guess, frictionless, most, begin + time_limit):
        counts += attempt.counts
        tries += 1
        forces = _unturned(layout, attempt.frame, attempt.force)
        candidate = result_of(problem, *impulse_from_forces(problem, layout, forces), "pivot")
        measured = residuals(problem, candidate).static_friction
        if measured < least:
            best, least = candidate, measured
        if measured <= tolerance:
            status = Status.SOLVED
            break
        if attempt.ended == RAY and problem.slides_along_given.any():
            direction = _unturned(layout, attempt.frame, attempt.change)
            if is_ray(A, direction, layout.normal, noise=1e-9):
                status, ray = Status.RAY, impulse_from_forces(problem, layout, direction)[0]
                break
    return replace(best, status=status, stats=_statistics(counts, tries, begin), ray=ray)


def pivot_lcp(A: Floats, b: Floats, start: NDArray[np.bool_] | None, max_iterations: int, time_limit: float) -> LcpEnd:
    """Solve a linear complementarity problem by section 4 of the paper, for any square A.

    start: (n,) bool, the indices in C at first, None to guess them where A is symmetric. For symmetric positive semidefinite A
    with b in its column space it ends with a solution; for others it may end with a ray, or without either.
    """
    begin, n = perf_counter(), b.size
    layout = Layout(0, np.arange(n), np.full(n, -1), 0)
    # any positive forces will do: those in C are solved for
    guess = None if start is None else start.astype(np.float64)
    force, counts, tries = np.zeros(n), np.zeros(4, np.int64), 0
    # without a start to keep to, that A is semidefinite may be found out on the way
    symmetric = is_symmetric(A) and (start is None or _is_semidefinite(A))
    for attempt in _attempts(A, b, layout, np.zeros(n), guess, symmetric, max_iterations, begin + time_limit):
        counts += attempt.counts
        tries += 1
        force = np.maximum(attempt.force, 0.0)
        if attempt.ended == ESTABLISHED:
            return LcpEnd(Status.SOLVED, force, None, _statistics(counts, tries, begin))
        ray = np.maximum(attempt.change, 0.0)
        if attempt.ended == RAY and is_ray(A, ray) and not (symmetric and _is_rounding(A, b, ray)):
            return LcpEnd(Status.RAY, force, ray / ray.max(), _statistics(counts, tries, begin))
    return LcpEnd(Status.MAX_ITERATIONS, force, None, _statistics(counts, tries, begin))


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


def _unturned(layout: Layout, frame: Floats, vector: Floats) -> Floats:
    """A vector of all indices in the problem's own tangent axes."""
    turned = vector.copy()
    if layout.tangents == 2:
        for c in np.flatnonzero(layout.friction >= 0):
            i = layout.friction[c]
            (cosine, sine), x, y = frame[c], vector[i], vector[i + 1]
            turned[i], turned[i + 1] = cosine * x - sine * y, sine * x + cosine * y
    return turned
