# SPDX-License-Identifier: GPL-3.0-or-later
"""Baraff's algorithm for contact problems: limits, rays, and the attempts that friction requires.

Dynamic friction (Baraff 1994, section 6; 1991, section 7) makes the matrix unsymmetric, and a solution may not exist. The
algorithm then takes an infinite step, whose direction is a set of contact impulses.
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

PIVOTS_A_CONTACT = 6400  # limit over all attempts
COMPLIANCE = 0.1  # compliance relative to A, divided by the tolerance, in attempts with friction from known forces


def _guesses(warm: bool, guess: bool, has_static_friction: bool, asymmetric: bool, tolerance: float) -> tuple[Guess, ...]:
    """Return the guesses for the attempts from known forces.

    warm: True if there is a warm start.
    guess: True if index sets may be guessed.
    has_static_friction: True if the problem has static friction.
    asymmetric: True if A is unsymmetric; then no compliance is added, because it could hide a ray.
    tolerance: relative tolerance of the solve.
    """
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
    """Result of an attempt and its error.

    failed: True if the result violates (21).
    distance: relative residual of (21) if it failed, else of Coulomb's law.
    """

    result: Result
    failed: bool
    distance: float

    @property
    def grade(self) -> tuple[bool, float]:
        """Sort key; the best candidate has the lowest."""
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

    tolerance: bound on the relative residuals.
    max_iterations: limit of pivots over all attempts; None for 6400 per contact.
    time_limit: time after which the best result so far is returned [s].
    warm_start: (m, dim) impulses to start from, or None [N s].
    guess: True to guess the initial index sets, and to guess again, with friction opposed to the sliding, while Coulomb's law
        does not hold.

    Returns a `Result`. An unsolved result is never worse than no impulses. Its status is TIME_LIMIT if the time ran out. It is
    RAY only if friction along given directions makes the matrix unsymmetric and the ray has the property (10) of Baraff 1991.
    It is INFEASIBLE if the normal conditions are proved infeasible; this is checked before the attempts from zero forces.
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
            # Check that a solution can exist before the long guess and hundreds of orders.
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
    """Return forces (n,) near the known ones that satisfy Coulomb's law, or None if they are not found.

    known: (n,) forces, or an empty array. compliance: of the first proximal point step; with 0, `known` is returned unchanged.
    """
    if compliance == 0.0:
        return known
    near = known if known.size else np.zeros(dense.b.size)
    return coulomb_forces(dense, mu, near, compliance, at_rest)


def _candidate(problem: ContactProblem, layout: Layout, forces: Floats, tolerance: float) -> Candidate:
    """Return the candidate that forces (n,) give."""
    result = result_of(problem, *impulse_from_forces(problem, layout, forces), "pivot")
    measured = residuals(problem, result)
    failed = not measured.static_friction <= tolerance
    return Candidate(result, failed, measured.static_friction if failed else measured.coulomb)


def _ray(problem: ContactProblem, dense: DenseProblem, outcome: Outcome) -> Floats | None:
    """Return the impulses (m, dim) of an infinite step, or None if the step is an effect of round-off."""
    direction = without_rounding(dense.sizes, _in_own_axes(dense.layout, outcome.frame, outcome.change))
    if not is_ray(dense.A, dense.sizes, direction, dense.layout.normal):
        return None
    return impulse_from_forces(problem, dense.layout, direction)[0]


def _in_own_axes(layout: Layout, frame: Floats, vector: Floats) -> Floats:
    """Rotate a vector (n,) from the tangent axes of `frame` to those of the problem."""
    rotated = vector.copy()
    if layout.tangents == 2:
        for c in np.flatnonzero(layout.friction >= 0):
            i = layout.friction[c]
            (cosine, sine), x, y = frame[c], vector[i], vector[i + 1]
            rotated[i], rotated[i + 1] = cosine * x - sine * y, sine * x + cosine * y
    return rotated
