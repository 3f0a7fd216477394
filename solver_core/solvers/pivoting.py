"""From contact problems to Baraff's algorithm and back: the dense matrix, dynamic friction in it, limits, and other orders.

Dynamic friction (Baraff 1994, section 6; 1991, section 7): along a given sliding direction d it is -mu f_N d, no unknown, so
that the column of f_N becomes A_N - mu (d_x A_x + d_y A_y) and the friction rows go. The matrix is then unsymmetric, and there
may be no solution: an infinite step is the direction of a set of contact impulses.

The algorithm may fail where static friction acts, since conditions given up need not ever be re-established, and rounding can
make it drive a force without end. The contacts are then taken in another order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..accuracy import residuals
from ..problem import ContactProblem
from ..result import Result, Statistics, Status
from .index_sets import DEPENDENT, DRIVES, GIVEN_UP, PIVOTS, Sets, index_sets
from .lemke import LcpEnd, is_ray
from .pivot import ESTABLISHED, INTERRUPTED, RAY, compute_forces, establish_bilateral
from .pivot_start import start_from

__all__ = ["Layout", "dense_problem", "pivot", "pivot_lcp"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ORDERS = 32
PIVOTS_A_CONTACT = 200
CHUNK = 256  # pivots between looks at the clock
AT_REST = 1e-12  # of the largest |b|: an acceleration below counts as zero
NEGLIGIBLE = 1e-9  # of the largest |b|: one that cannot be driven to zero because it depends on others already is


@dataclass(frozen=True)
class Layout:
    """Where the unknowns of a contact problem are among n indices: bilateral constraints first, then contact after contact.

    bilateral: their number. normal: (m,), friction: (m,) first index of static friction or -1, tangents: how many each has.
    """

    bilateral: int
    normal: Indices
    friction: Indices
    tangents: int


def dense_problem(problem: ContactProblem) -> tuple[Floats, Floats, Layout]:
    """(A, b, layout) of a = A f + b (1), (18): normal forces, static friction, dynamic friction substituted (24)."""
    m, dim, held = problem.contacts, problem.dim, problem.bilateral_constraints
    G, cut = problem.delassus, problem.contacts * problem.dim
    g = np.append((problem.free_velocity + _normal_only(problem)).ravel(), problem.bilateral[1])
    given = problem.slides_along_given
    static = ~given & (problem.system.mu > 0.0)
    columns = G.T.copy()  # row j: the column of force j
    for c in np.flatnonzero(given):
        for t in range(dim - 1):
            columns[c * dim] -= problem.system.mu[c] * problem.direction[c, t] * G[:, c * dim + 1 + t]
    kept = np.zeros((m, dim), dtype=bool)
    kept[:, 0] = True
    kept[static, 1:] = True
    order = np.concatenate([np.arange(cut, cut + held), np.flatnonzero(kept.ravel())])
    place = np.full(cut, -1)
    place[order[held:]] = np.arange(held, order.size)
    place = place.reshape(m, dim)
    layout = Layout(held, place[:, 0].copy(), place[:, 1].copy(), dim - 1)
    return columns[np.ix_(order, order)].T, g[order], layout


def _normal_only(problem: ContactProblem) -> Floats:
    slack = np.zeros((problem.contacts, problem.dim))
    slack[:, 0] = problem.system.slack
    return slack


def _orders(m: int):
    """The contacts' own order, the reverse, and shuffles that are the same ones every time."""
    yield np.arange(m)
    yield np.arange(m)[::-1].copy()
    random = np.random.default_rng(1994)
    for _ in range(ORDERS - 2):
        yield random.permutation(m)


@dataclass(frozen=True)
class Attempt:
    """The contacts taken in one order: how `compute_forces` ended, the sets at the end, the pivots that are left."""

    ended: int
    sets: Sets
    left: int


def _attempts(
    A: Floats, b: Floats, layout: Layout, mu: Floats, guess: Floats | None, semidefinite: bool, pivots: int, deadline: float
) -> Iterator[Attempt]:
    """One attempt for each order of the contacts, the first from the guess, until the pivots or the time are spent.

    semidefinite: whether A is symmetric and positive semidefinite and, there being no static friction, stays so.
    """
    m = layout.normal.size
    scale = float(np.abs(b).max(initial=0.0))
    columns = np.ascontiguousarray(A.T)
    for turn, order in enumerate(_orders(m)):
        sets = index_sets(
            columns.copy(), b.copy(), layout.bilateral, layout.normal, layout.friction, layout.tangents, mu, semidefinite
        )
        establish_bilateral(sets, layout.bilateral)
        if guess is not None and turn == 0 and scale > 0.0:
            start_from(sets, guess, AT_REST * scale)
        ended, cursor = INTERRUPTED, np.zeros(1, np.int64)
        limit = min(PIVOTS_A_CONTACT * (m + 1), pivots)
        while ended == INTERRUPTED and sets.counts[PIVOTS] < limit and perf_counter() < deadline:
            budget = min(limit, sets.counts[PIVOTS] + CHUNK)
            ended = compute_forces(sets, order, cursor, AT_REST * scale, NEGLIGIBLE * scale, budget)
        pivots -= int(sets.counts[PIVOTS])
        yield Attempt(ended, sets, pivots)
        if pivots <= 0 or perf_counter() >= deadline:
            return


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

    max_iterations: limit of pivots over all orders, None for 200 a contact in each. Ends with RAY only where friction along
    given directions makes the matrix unsymmetric and the ray has the property (10) of Baraff 1991.
    """
    begin = perf_counter()
    A, b, layout = dense_problem(problem)
    most = ORDERS * PIVOTS_A_CONTACT * (problem.contacts + 1) if max_iterations is None else max_iterations
    guess = None if warm_start is None else _to_indices(problem, layout, warm_start)
    best, least, ray = _result(problem, _from_indices(problem, layout, np.zeros(b.size))), np.inf, None
    status, counts, tries = Status.MAX_ITERATIONS, np.zeros(4, np.int64), 0
    semidefinite = bool((layout.friction < 0).all()) and not problem.slides_along_given.any()
    for attempt in _attempts(A, b, layout, problem.system.mu, guess, semidefinite, most, begin + time_limit):
        counts += attempt.sets.counts
        tries += 1
        candidate = _result(problem, _from_indices(problem, layout, _unturned(attempt.sets, attempt.sets.force)))
        measured = residuals(problem, candidate).static_friction
        if measured < least:
            best, least = candidate, measured
        if measured <= tolerance:
            status = Status.SOLVED
            break
        if attempt.ended == RAY and problem.slides_along_given.any():
            direction = _unturned(attempt.sets, attempt.sets.change)
            if _is_ray(A, direction, layout):
                status, ray = Status.RAY, _from_indices(problem, layout, direction)[0]
                break
    return replace(best, status=status, stats=_statistics(counts, tries, begin), ray=ray)


def pivot_lcp(A: Floats, b: Floats, start: NDArray[np.bool_], max_iterations: int, time_limit: float) -> LcpEnd:
    """Solve a linear complementarity problem by section 4 of the paper, for any square A.

    start: (n,) bool, the indices in C at first. For symmetric positive semidefinite A with b in its column space it ends with a
    solution; for others it may end with a ray, or without either.
    """
    begin, n = perf_counter(), b.size
    layout = Layout(0, np.arange(n), np.full(n, -1), 0)
    # any positive forces will do: those in C are solved for
    guess = start.astype(np.float64) if start.any() else None
    force, counts, tries = np.zeros(n), np.zeros(4, np.int64), 0
    semidefinite = _is_semidefinite(A)
    for attempt in _attempts(A, b, layout, np.zeros(n), guess, semidefinite, max_iterations, begin + time_limit):
        counts += attempt.sets.counts
        tries += 1
        force = np.maximum(attempt.sets.force, 0.0)
        if attempt.ended == ESTABLISHED:
            return LcpEnd(Status.SOLVED, force, None, _statistics(counts, tries, begin))
        ray = np.maximum(attempt.sets.change, 0.0)
        if attempt.ended == RAY and is_ray(A, ray):
            return LcpEnd(Status.RAY, force, ray / ray.max(), _statistics(counts, tries, begin))
    return LcpEnd(Status.MAX_ITERATIONS, force, None, _statistics(counts, tries, begin))


def _is_semidefinite(A: Floats) -> bool:
    """Whether A is symmetric and positive semidefinite up to rounding."""
    if not np.array_equal(A, A.T):
        return False
    try:
        np.linalg.cholesky(A + 1e-12 * np.abs(A).max(initial=0.0) * np.eye(len(A)))
    except np.linalg.LinAlgError:
        return False
    return True


def _unturned(sets: Sets, vector: Floats) -> Floats:
    """A vector of all indices in the problem's own tangent axes."""
    turned = vector.copy()
    if sets.tangents == 2:
        for c in np.flatnonzero(sets.friction >= 0):
            i = sets.friction[c]
            (cosine, sine), x, y = sets.frame[c], vector[i], vector[i + 1]
            turned[i], turned[i + 1] = cosine * x - sine * y, sine * x + cosine * y
    return turned


def _to_indices(problem: ContactProblem, layout: Layout, impulse: Floats) -> Floats:
    n = layout.bilateral + problem.contacts + layout.tangents * int((layout.friction >= 0).sum())
    forces = np.zeros(n)
    forces[layout.normal] = impulse[:, 0]
    static = np.flatnonzero(layout.friction >= 0)
    for t in range(layout.tangents):
        forces[layout.friction[static] + t] = impulse[static, 1 + t]
    return forces


def _from_indices(problem: ContactProblem, layout: Layout, forces: Floats) -> tuple[Floats, Floats]:
    """(impulses (m, dim), bilateral ones (b,)) of forces (n,)."""
    impulse = np.zeros((problem.contacts, problem.dim))
    impulse[:, 0] = forces[layout.normal]
    impulse[:, 1:] = -(problem.system.mu * impulse[:, 0])[:, None] * problem.direction
    static = np.flatnonzero(layout.friction >= 0)
    for t in range(layout.tangents):
        impulse[static, 1 + t] = forces[layout.friction[static] + t]
    return impulse, forces[: layout.bilateral].copy()


def _is_ray(A: Floats, z: Floats, layout: Layout) -> bool:
    """(10) of Baraff 1991: z >= 0, and (A z)_i <= 0 wherever z_i > 0, at the normal forces."""
    normal = layout.normal
    response, z_normal = (A @ z)[normal], z[normal]
    noise = 1e-9 * np.abs(z).max(initial=0.0)
    rounding = 1e-9 * np.abs(A).max(initial=0.0) * np.abs(z).max(initial=0.0)
    return bool((z_normal >= -noise).all() and (response[z_normal > noise] <= rounding).all() and (z_normal > noise).any())


def _result(problem: ContactProblem, answer: tuple[Floats, Floats]) -> Result:
    impulse, held = answer
    impulse[:, 0] = np.maximum(impulse[:, 0], 0.0)
    everything = np.append(impulse.ravel(), held)
    u = problem.delassus @ everything
    velocity = problem.free_velocity + u[: impulse.size].reshape(impulse.shape)
    v = problem.system.velocity + problem.inverse_mass @ (problem.jacobian.T @ impulse.ravel() + problem.bilateral[0].T @ held)
    return Result(Status.MAX_ITERATIONS, impulse, velocity, v, Statistics(0, 0, 0.0), "pivot", held)
