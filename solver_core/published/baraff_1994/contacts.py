# SPDX-License-Identifier: GPL-3.0-or-later
"""From contact problems to Baraff's algorithm and back: limits, rays, and the attempts that friction asks for.

Dynamic friction (Baraff 1994, section 6; 1991, section 7) makes the matrix unsymmetric, and there may be no solution: an
infinite step is the direction of a set of contact impulses.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.accuracy import residuals
from ...problem.contact_problem import ContactProblem
from ...problem.result import Result, Status
from ...solvers.coulomb.dense_newton import SOFTEST
from ...solvers.criteria import TARGET
from ...solvers.infeasible import contradiction
from ..complementarity import is_ray, without_rounding
from ..dense import DenseProblem, Layout, dense_problem, forces_from_impulse, impulse_from_forces, result_of
from . import attempts
from .attempts import Guess, Outcome
from .coulomb_guess import coulomb_forces
from .index_sets import PIVOTS, Unknowns
from .pivot import ESTABLISHED, RAY
from .start import ZERO_ACCELERATION, zero_accelerations

__all__ = ["pivot"]

Floats = NDArray[np.float64]

PIVOTS_A_CONTACT = 6400  # over all attempts
COMPLIANCE = 0.1  # of A, over the tolerance, in attempts with friction from known forces


def _guesses(warm: bool, guess: bool, has_static_friction: bool, asymmetric: bool, tolerance: float) -> tuple[Guess, ...]:
    """For the attempts from known forces. has_static_friction: whether there is static friction. asymmetric: whether A is; rays
    are not to be softened away."""
    compliance = max(COMPLIANCE * tolerance, attempts.STIFFEST) if guess and not asymmetric else 0.0
    given = (Guess(0, compliance if has_static_friction else 0.0),) if warm else ()
    if has_static_friction:
        if not guess:
            return given
        opposed = Guess(0, compliance, max(compliance, attempts.STIFFEST))
        longer = Guess(0, compliance, SOFTEST, improves=False)
        near = tuple(one for sweeps in attempts.SWEEPS for one in (Guess(sweeps, compliance), opposed))
        return given + near + (() if asymmetric else (longer,))
    if asymmetric or not guess:
        return given
    return (given or (Guess(attempts.SWEEPS[0], 0.0),)) + tuple(Guess(0, less) for less in attempts.PROXIMAL)


class Candidate(NamedTuple):
    """What an outcome amounts to, and how far it is from (21) where it fails, from Coulomb's law where it does not."""

    result: Result
    failed: bool
    distance: float

    @property
    def grade(self) -> tuple[bool, float]:
        """The lower the better."""
        return self.failed, self.distance


def pivot(
    problem: ContactProblem,
    tolerance: float,
    max_iterations: int | None,
    time_limit: float,
    warm_start: Floats | None,
    guess: bool = True,
) -> Result:
    """Solve a contact problem with Baraff's algorithm.

    max_iterations: limit of pivots over all attempts, None for 6400 a contact. guess: whether sets are guessed to begin with,
    and again, with friction better opposed to the sliding, while Coulomb's law does not hold. After time_limit s the best of
    what was tried is returned, with TIME_LIMIT where it is no solution. Ends with RAY only where friction along given
    directions makes the matrix unsymmetric and the ray has the property (10) of Baraff 1991; with INFEASIBLE where normal
    conditions are proved to contradict each other, which is looked at before the orders from nothing. What is not solved is
    never worse than no impulses.
    """
    begin = perf_counter()
    dense = dense_problem(problem)
    layout = dense.layout
    pivots = PIVOTS_A_CONTACT * (problem.contacts + 1) if max_iterations is None else max_iterations
    has_static_friction, asymmetric = bool((layout.friction >= 0).any()), bool(problem.slides_along_given.any())
    symmetric = not has_static_friction and not asymmetric
    unknowns = Unknowns(np.ascontiguousarray(dense.A.T), dense.b, dense.sizes, layout, problem.system.mu, symmetric)
    scales = zero_accelerations(dense.b, max(ZERO_ACCELERATION, TARGET * tolerance))
    known = np.zeros(0) if warm_start is None else forces_from_impulse(problem, layout, warm_start)
    nothing = result_of(problem, *impulse_from_forces(problem, layout, np.zeros(dense.b.size)), "pivot")
    best, status, ray = Candidate(nothing, True, np.inf), Status.MAX_ITERATIONS, None
    counts, tried, sought = np.zeros(4, np.int64), 0, False
    guesses = _guesses(known.size > 0, guess, has_static_friction, asymmetric, tolerance)
    for attempt in attempts.plan(problem.contacts, guesses):
        if status is Status.SOLVED and not attempt.guess.improves:
            break
        if not attempt.guess.improves and tried and not sought:
            # before the long guess and hundreds of orders: is there anything to find at all?
            sought, ray = True, contradiction(problem, tolerance)
            if ray is not None:
                status = Status.INFEASIBLE
                break
        opposed = _opposed(dense, unknowns.mu, known, attempt.guess.opposing, scales[0])
        if opposed is None:
            continue
        known = opposed
        limit = attempts.pivots_of(attempt, has_static_friction, pivots)
        outcome = attempts.made(unknowns, scales, attempt, known, limit, begin + time_limit)
        force = _in_own_axes(layout, outcome.frame, outcome.force)
        counts += outcome.counts
        tried += 1
        candidate = _candidate(problem, layout, force, tolerance)
        best = min(best, candidate, key=lambda one: one.grade)
        if not candidate.failed:
            status = Status.SOLVED
        if outcome.ended == ESTABLISHED:
            known = force
        if outcome.ended == RAY and asymmetric and status is not Status.SOLVED:
            ray = _ray(problem, dense, outcome)
            if ray is not None:
                status = Status.RAY
                break
        pivots -= int(outcome.counts[PIVOTS])
        has_coulombs_law = not candidate.failed and candidate.distance <= tolerance
        if has_coulombs_law or pivots <= 0 or perf_counter() >= begin + time_limit:
            break
    if status is Status.MAX_ITERATIONS and perf_counter() >= begin + time_limit:
        status = Status.TIME_LIMIT
    is_better = status is Status.SOLVED or best.distance <= residuals(problem, nothing).static_friction
    result = best.result if is_better else nothing
    return replace(result, status=status, stats=attempts.statistics(counts, tried, begin), ray=ray)


def _opposed(dense: DenseProblem, mu: Floats, known: Floats, compliance: float, at_rest: float) -> Floats | None:
    """Forces (n,) near known ones, empty for none, that have Coulomb's law; None where they are not found. Without a compliance
    the known ones as they are."""
    if compliance == 0.0:
        return known
    near = known if known.size else np.zeros(dense.b.size)
    return coulomb_forces(dense, mu, near, compliance, at_rest)


def _candidate(problem: ContactProblem, layout: Layout, forces: Floats, tolerance: float) -> Candidate:
    """What forces (n,) amount to."""
    result = result_of(problem, *impulse_from_forces(problem, layout, forces), "pivot")
    measured = residuals(problem, result)
    failed = not measured.static_friction <= tolerance
    return Candidate(result, failed, measured.static_friction if failed else measured.coulomb)


def _ray(problem: ContactProblem, dense: DenseProblem, outcome: Outcome) -> Floats | None:
    """The impulses (m, dim) of a step without end; None where it is rounding."""
    direction = without_rounding(dense.sizes, _in_own_axes(dense.layout, outcome.frame, outcome.change))
    if not is_ray(dense.A, dense.sizes, direction, dense.layout.normal):
        return None
    return impulse_from_forces(problem, dense.layout, direction)[0]


def _in_own_axes(layout: Layout, frame: Floats, vector: Floats) -> Floats:
    """A vector of all indices in the problem's own tangent axes."""
    own = vector.copy()
    if layout.tangents == 2:
        for c in np.flatnonzero(layout.friction >= 0):
            i = layout.friction[c]
            (cosine, sine), x, y = frame[c], vector[i], vector[i + 1]
            own[i], own[i + 1] = cosine * x - sine * y, sine * x + cosine * y
    return own
