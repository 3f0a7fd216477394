# SPDX-License-Identifier: GPL-3.0-or-later
"""From contact problems to Baraff's algorithm and back: limits, rays, and the trials that friction asks for.

Dynamic friction (Baraff 1994, section 6; 1991, section 7) makes the matrix unsymmetric, and there may be no solution: an
infinite step is the direction of a set of contact impulses.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.contact_problem import ContactProblem
from ...problem.residuals import residuals
from ...problem.result import Result, Status
from ..complementarity import Sizes, is_ray, without_rounding
from ..dense import DenseProblem, Layout, dense_problem, forces_from_impulse, impulse_from_forces, result_of
from ..infeasible import contradiction
from .attempts import (
    DEPENDENT_ACCELERATION,
    PROXIMAL,
    STIFFEST,
    SWEEPS,
    ZERO_ACCELERATION,
    Guess,
    Trial,
    pivots_of,
    statistics,
    trials,
    until,
)
from .coulomb_guess import coulomb_forces, stiff, stiffening
from .index_sets import PIVOTS, index_sets
from .pivot import ESTABLISHED, RAY
from .start import pivot_at_once, start

__all__ = ["pivot"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

PIVOTS_A_CONTACT = 6400  # over all trials
COMPLIANCE = 0.1  # of A, over the tolerance, in trials with friction from known forces


def _guesses(warm: bool, guess: bool, has_static_friction: bool, asymmetric: bool, tolerance: float) -> tuple[Guess, ...]:
    """For the trials from known forces. has_static_friction: whether there is static friction. asymmetric: whether A is; rays
    are not to be softened away."""
    compliance = max(COMPLIANCE * tolerance, STIFFEST) if guess and not asymmetric else 0.0
    given = (Guess(0, compliance if has_static_friction else 0.0),) if warm else ()
    if has_static_friction:
        if not guess:
            return given
        turned = Guess(0, compliance, stiff(compliance))
        longer = Guess(0, compliance, stiffening(compliance), improves=False)
        near = tuple(one for sweeps in SWEEPS for one in (Guess(sweeps, compliance), turned))
        return given + near + (() if asymmetric else (longer,))
    if asymmetric or not guess:
        return given
    return (given or (Guess(SWEEPS[0], 0.0),)) + tuple(Guess(0, less) for less in PROXIMAL)


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
    sizes: Sizes
    layout: Layout
    mu: Floats
    symmetric: bool
    scales: tuple[float, float]


def _unknowns(dense: DenseProblem, mu: Floats, symmetric: bool, at_rest: float) -> Unknowns:
    A, b, sizes, layout = dense
    scale = float(np.abs(b).max(initial=0.0))
    scales = at_rest * scale, max(DEPENDENT_ACCELERATION, at_rest) * scale
    return Unknowns(np.ascontiguousarray(A.T), b, sizes, layout, mu, symmetric, scales)


def _attempt(x: Unknowns, trial: Trial, known: Floats, pivots: int, deadline: float) -> Attempt:
    """What comes of a trial, from known forces (n,), empty for none."""
    layout = x.layout
    sets = (x.sizes, layout.bilateral, layout.normal, layout.friction, layout.tangents, x.mu, x.symmetric)
    limit = pivots_of(trial, bool((layout.friction >= 0).any()), pivots)
    known = known if trial.renews else np.zeros(0)
    if deadline == np.inf:
        return Attempt(*pivot_at_once(x.columns, x.b, *sets, known, *trial.guess[:2], trial.order, *x.scales, limit))
    p = index_sets(x.columns.copy(), x.b.copy(), *sets)
    start(p, layout.bilateral, known, *trial.guess[:2], *x.scales)
    return Attempt(until(deadline, p, trial.order, x.scales, limit), p.force, p.change, p.frame, p.counts)


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
    again, with friction better opposed to the sliding, while Coulomb's law does not hold. After time_limit s the best of what
    was tried is returned, with TIME_LIMIT where it is no solution. Ends with RAY only where friction along given directions
    makes the matrix unsymmetric and the ray has the property (10) of Baraff 1991; with INFEASIBLE where normal conditions are
    proved to contradict each other, which is looked at before the orders from nothing. What is not solved
    is never worse than no impulses.
    """
    begin = perf_counter()
    dense = dense_problem(problem)
    A, b, sizes, layout = dense
    pivots = PIVOTS_A_CONTACT * (problem.contacts + 1) if max_iterations is None else max_iterations
    has_static_friction, asymmetric = bool((layout.friction >= 0).any()), bool(problem.slides_along_given.any())
    unknowns = _unknowns(
        dense, problem.system.mu, not has_static_friction and not asymmetric, max(ZERO_ACCELERATION, 1e-3 * tolerance)
    )
    known = np.zeros(0) if warm_start is None else forces_from_impulse(problem, layout, warm_start)
    nothing = best = result_of(problem, *impulse_from_forces(problem, layout, np.zeros(b.size)), "pivot")
    rank, status, ray = (True, np.inf), Status.MAX_ITERATIONS, None
    counts, tries, sought = np.zeros(4, np.int64), 0, False
    for trial in trials(problem.contacts, _guesses(known.size > 0, guess, has_static_friction, asymmetric, tolerance)):
        if not trial.guess.improves:
            if status is Status.SOLVED:
                break
            if tries and not sought:
                # before the long guess and hundreds of orders: is there anything to find at all?
                sought, ray = True, contradiction(problem, tolerance)
                if ray is not None:
                    status = Status.INFEASIBLE
                    break
        if trial.guess.turned:
            near = known if known.size else np.zeros(b.size)
            turned = coulomb_forces(A, b, sizes, layout, unknowns.mu, near, trial.guess.turned, unknowns.scales[0])
            if turned is None:
                continue
            known = turned
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
        if attempt.ended == RAY and asymmetric and status is not Status.SOLVED:
            direction = without_rounding(sizes, _unturned(layout, attempt.frame, attempt.change))
            if is_ray(A, sizes, direction, layout.normal):
                status, ray = Status.RAY, impulse_from_forces(problem, layout, direction)[0]
                break
        pivots -= int(attempt.counts[PIVOTS])
        if (not failed and measured.coulomb <= tolerance) or pivots <= 0 or perf_counter() >= begin + time_limit:
            break
    if status is Status.MAX_ITERATIONS and perf_counter() >= begin + time_limit:
        status = Status.TIME_LIMIT
    if status is not Status.SOLVED and not rank[1] <= residuals(problem, nothing).static_friction:
        best = nothing
    return replace(best, status=status, stats=statistics(counts, tries, begin), ray=ray)


def _unturned(layout: Layout, frame: Floats, vector: Floats) -> Floats:
    """A vector of all indices in the problem's own tangent axes."""
    turned = vector.copy()
    if layout.tangents == 2:
        for c in np.flatnonzero(layout.friction >= 0):
            i = layout.friction[c]
            (cosine, sine), x, y = frame[c], vector[i], vector[i + 1]
            turned[i], turned[i + 1] = cosine * x - sine * y, sine * x + cosine * y
    return turned
