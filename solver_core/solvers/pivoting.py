"""From contact problems to Baraff's algorithm and back: limits, rays, and one trial after the other.

Dynamic friction (Baraff 1994, section 6; 1991, section 7) makes the matrix unsymmetric, and there may be no solution: an
infinite step is the direction of a set of contact impulses.

The algorithm may fail where static friction acts, since conditions given up need not ever be re-established, and rounding can
make it drive a force without end. Another trial begins from a better guess, or takes the contacts in another order.
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
from .complementarity import LcpEnd, is_ray, relative_residual
from .dense import Layout, dense_problem, forces_from_impulse, impulse_from_forces, result_of
from .index_sets import DEPENDENT, DRIVES, GIVEN_UP, PIVOTS, Sets, index_sets
from .pivot import ESTABLISHED, INTERRUPTED, RAY, compute_forces
from .pivot_start import is_symmetric, pivot_at_once, start

__all__ = ["pivot", "pivot_lcp"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ORDERS = 320
PIVOTS_A_CONTACT = 6400  # over all trials
PIVOTS_A_TRIAL = 20  # a contact: with static friction the algorithm may go round in circles, another trial is the way out
PIVOTS_WITHOUT_STATIC_FRICTION = 200  # a contact, in an order from nothing
SWEEPS = (20, 40, 80, 160)  # of Gauss-Seidel over a guess, until Coulomb's law holds
COMPLIANCE = 1e-6  # of A, in trials with friction from known forces
PROXIMAL = (1e-7, 1e-8) + 3 * (1e-9,) + 8 * (3e-11,)  # compliances of such trials where pivoting without friction has failed
CHUNK = 256  # pivots between looks at the clock
AT_REST = 1e-12  # of the largest |b|: an acceleration below counts as zero
NEGLIGIBLE = 1e-9  # of the largest |b|: one that cannot be driven to zero because it depends on others already is


class Trial(NamedTuple):
    """An order (m,) in which to take the contacts; whether from known forces, and what `start` is to do with them."""

    order: Indices
    renews: bool
    sweeps: int
    compliance: float


def _trials(m: int, guesses: tuple[tuple[int, float], ...]) -> Iterator[Trial]:
    """What to try, one after the other: the contacts' own order from guesses, (sweeps, compliance) each; then orders from
    nothing, the own one, the reverse, and shuffles that are the same ones every time."""
    own = np.arange(m)
    for guess in guesses:
        yield Trial(own, True, *guess)
    yield Trial(own, False, 0, 0.0)
    yield Trial(own[::-1].copy(), False, 0, 0.0)
    random = np.random.default_rng(1994)
    for _ in range(ORDERS - 2):
        yield Trial(random.permutation(m), False, 0, 0.0)


def _guesses(warm: bool, guess: bool, rubs: bool, slides: bool) -> tuple[tuple[int, float], ...]:
    """(sweeps, compliance) of the trials from known forces. rubs: whether there is static friction. slides: whether A is
    unsymmetric; rays are not to be softened away."""
    compliance = COMPLIANCE if guess and not slides else 0.0
    given = ((0, compliance if rubs else 0.0),) if warm else ()
    if rubs:
        return given + tuple((sweeps, compliance) for sweeps in SWEEPS if guess)
    if slides or not guess:
        return given
    return (given or ((SWEEPS[0], 0.0),)) + tuple((0, less) for less in PROXIMAL)


class Attempt(NamedTuple):
    """The contacts taken in one order: how `compute_forces` ended, and what of the sets is asked for afterwards."""

    ended: int
    force: Floats
    change: Floats
    frame: Floats
    counts: Indices


class Unknowns(NamedTuple):
    """a = A f + b by columns of A, and what the indices mean.

    symmetric: whether A is and, there being no friction, stays so; it is then taken to be positive semidefinite. scales: what
    counts as zero acceleration, and what remains of one that cannot be driven away.
    """

    columns: Floats
    b: Floats
    layout: Layout
    mu: Floats
    symmetric: bool
    scales: tuple[float, float]


def _unknowns(A: Floats, b: Floats, layout: Layout, mu: Floats, symmetric: bool, at_rest: float) -> Unknowns:
    scale = float(np.abs(b).max(initial=0.0))
    return Unknowns(np.ascontiguousarray(A.T), b, layout, mu, symmetric, (at_rest * scale, max(NEGLIGIBLE, at_rest) * scale))


def _attempt(x: Unknowns, trial: Trial, known: Floats, pivots: int, deadline: float) -> Attempt:
    """What comes of a trial, from known forces (n,), empty for none."""
    layout = x.layout
    sets = (layout.bilateral, layout.normal, layout.friction, layout.tangents, x.mu, x.symmetric)
    hurried = trial.renews or bool((layout.friction >= 0).any())
    patience = PIVOTS_A_TRIAL if hurried else PIVOTS_WITHOUT_STATIC_FRICTION
    limit = min(patience * (layout.normal.size + 1), pivots)
    known, how = known if trial.renews else np.zeros(0), (trial.sweeps, trial.compliance)
    if deadline == np.inf:
        return Attempt(*pivot_at_once(x.columns, x.b, *sets, known, *how, trial.order, *x.scales, limit))
    p = index_sets(x.columns.copy(), x.b.copy(), *sets)
    start(p, layout.bilateral, known, *how, *x.scales)
    return _until(deadline, p, trial.order, x.scales, limit)


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
    problem: ContactProblem,
    tolerance: float,
    max_iterations: int | None,
    time_limit: float,
    warm_start: Floats | None,
    guess: bool = True,
) -> Result:
    """Solve a contact problem with Baraff's algorithm.

    max_iterations: limit of pivots over all trials, None for 6400 a contact. guess: whether sets are guessed to begin with, and
    again, with friction better opposed to the sliding, while Coulomb's law does not hold. Ends with RAY only where friction
    along given directions makes the matrix unsymmetric and the ray has the property (10) of Baraff 1991.
    """
    begin = perf_counter()
    A, b, layout = dense_problem(problem)
    pivots = PIVOTS_A_CONTACT * (problem.contacts + 1) if max_iterations is None else max_iterations
    rubs, slides = bool((layout.friction >= 0).any()), bool(problem.slides_along_given.any())
    unknowns = _unknowns(A, b, layout, problem.system.mu, not rubs and not slides, max(AT_REST, 1e-3 * tolerance))
    known = np.zeros(0) if warm_start is None else forces_from_impulse(problem, layout, warm_start)
    best = result_of(problem, *impulse_from_forces(problem, layout, np.zeros(b.size)), "pivot")
    rank, status, ray = (True, np.inf), Status.MAX_ITERATIONS, None
    counts, tries = np.zeros(4, np.int64), 0
    for trial in _trials(problem.contacts, _guesses(known.size > 0, guess, rubs, slides)):
        if status is Status.SOLVED and not trial.renews:
            break
        attempt = _attempt(unknowns, trial, known, pivots, begin + time_limit)
        counts += attempt.counts
        tries += 1
        forces = _unturned(layout, attempt.frame, attempt.force)
        candidate = result_of(problem, *impulse_from_forces(problem, layout, forces), "pivot")
        measured = residuals(problem, candidate)
        failed = not measured.static_friction <= tolerance
        grade = (failed, measured.static_friction if failed else measured.coulomb)
        if grade < rank:
            best, rank = candidate, grade
        if not failed:
            status = Status.SOLVED
        if attempt.ended == ESTABLISHED:
            known = forces
        if attempt.ended == RAY and slides and status is not Status.SOLVED:
            direction = _unturned(layout, attempt.frame, attempt.change)
            if is_ray(A, direction, layout.normal, noise=1e-9):
                status, ray = Status.RAY, impulse_from_forces(problem, layout, direction)[0]
                break
        pivots -= int(attempt.counts[PIVOTS])
        if (not failed and measured.coulomb <= tolerance) or pivots <= 0 or perf_counter() >= begin + time_limit:
            break
    return replace(best, status=status, stats=_statistics(counts, tries, begin), ray=ray)


def pivot_lcp(
    A: Floats, b: Floats, start: NDArray[np.bool_] | None, tolerance: float, max_iterations: int, time_limit: float
) -> LcpEnd:
    """Solve a linear complementarity problem by section 4 of the paper, for any square A.

    start: (n,) bool, the indices in C at first, None to guess them where A is symmetric. tolerance: of `lcp_residual`. For
    symmetric positive semidefinite A with b in its column space it ends with a solution; for others it may end with a ray, or
    without either.
    """
    begin, n = perf_counter(), b.size
    layout = Layout(0, np.arange(n), np.full(n, -1), 0)
    # without a start to keep to, that A is semidefinite may be found out on the way
    symmetric = is_symmetric(A) and (start is None or _is_semidefinite(A))
    unknowns = _unknowns(A, b, layout, np.zeros(n), symmetric, AT_REST)
    # any positive forces will do: those in C are solved for
    known = np.zeros(0) if start is None else start.astype(np.float64)
    best, least = (np.zeros(n), b), np.inf
    counts, tries, pivots = np.zeros(4, np.int64), 0, max_iterations
    for trial in _trials(n, _guesses(start is not None, symmetric, False, not symmetric)):
        attempt = _attempt(unknowns, trial, known, pivots, begin + time_limit)
        counts += attempt.counts
        tries += 1
        force = np.maximum(attempt.force, 0.0)
        acceleration = A @ force + b
        measured = relative_residual(b, force, acceleration)
        if measured < least:
            best, least = (force, acceleration), measured
        if attempt.ended == ESTABLISHED:
            if measured <= tolerance:
                return LcpEnd(Status.SOLVED, force, acceleration, None, _statistics(counts, tries, begin))
            known = force
        ray = np.maximum(attempt.change, 0.0)
        if attempt.ended == RAY and is_ray(A, ray) and not (symmetric and _is_rounding(A, b, ray)):
            return LcpEnd(Status.RAY, force, acceleration, ray / ray.max(), _statistics(counts, tries, begin))
        pivots -= int(attempt.counts[PIVOTS])
        if pivots <= 0 or perf_counter() >= begin + time_limit:
            break
        unknowns = unknowns._replace(symmetric=unknowns.symmetric and _is_semidefinite(A))
    return LcpEnd(Status.MAX_ITERATIONS, *best, None, _statistics(counts, tries, begin))


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
