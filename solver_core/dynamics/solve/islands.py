# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands: sets of bodies that touch, solved one by one since nothing couples them (Kaufman et al. 2008, section 8.2)."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part
from ...problem.contact_problem import ContactProblem
from ...problem.residuals import (
    COMPLEMENTARITY,
    CONE_EXCESS,
    DISSIPATION,
    NATURAL_MAP,
    PENETRATION,
    effective_masses,
    relative_coulomb,
    scales,
)
from ...problem.result import Found, Status
from ...problem.subsystem import contact_islands, subsystem
from ...problem.system import System, apply_inverse_mass, effective_inverse_mass, relative_velocities, transpose_product
from ...solvers.effort import BELL, DONE, WORK
from ...solvers.infeasible import contradiction
from ...solvers.kaufman_2008.aim import LARGE
from ...solvers.kaufman_2008.clusters import OF_A_CLUSTER, is_large, propose_by_clusters
from ...solvers.kaufman_2008.staggered import ACCELERATED, SOLVED, staggered
from ...solvers.last_proposal import last_proposal, turns_kept
from ...threads.side_by_side import runs, side_by_side

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

__all__ = ["COUNTS", "begin_islands", "measure_island", "solve_islands"]

COUNTS = 5 + len(Found)
# of the outcome of an island, and of its figures
STATUS, ITERATIONS, FACTORISATIONS, FOUND, WORST_CONTACT = range(5)
RELATIVE_ERROR, RESIDUAL, FIRST_LAW, WORST, NATURAL = 0, 1, 2, 5, 6
UNCONFIRMED = 6  # value of Status
OF_A_RUN = 256  # contacts, of islands that one thread solves: less is done sooner than told


@kernel
def begin_islands(system, counts, errors):
    """The islands of a system as from `contact_islands`, and the work array of `subsystem`.

    Out: counts (COUNTS,) and errors (7,) of `solve_islands` as they are before any island is solved.
    """
    bodies = system.offset.size - 1
    start, contacts = contact_islands(bodies, system.body_a, system.body_b)
    counts[:] = 0
    counts[1] = start.size - 1
    counts[4] = -1
    errors[:] = 0.0
    return start, contacts, np.full(bodies, -1, np.int64)


@kernel_part
def measure_island(system, impulse, sides, relative):
    """Relative Coulomb residuals from the impulses alone: cone, complementarity, dissipation into `relative` (3,).

    Returns (largest of these, the relative penetration and the natural map, the contact it is at, the natural map).
    """
    momentum, v = np.zeros(system.velocity.size), np.empty(system.velocity.size)
    transpose_product(system, impulse, momentum)
    apply_inverse_mass(system, momentum, v)
    v += system.velocity
    velocity = relative_velocities(system, v)
    kappa = effective_masses(effective_inverse_mass(system))
    value, index = np.empty(5), np.empty(5, np.int64)
    fastest, largest = scales(system, impulse)
    worst, which = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
    relative[0] = value[CONE_EXCESS] / largest if value[CONE_EXCESS] > 0.0 else 0.0
    relative[1] = value[COMPLEMENTARITY] / (largest * fastest) if value[COMPLEMENTARITY] > 0.0 else 0.0
    relative[2] = value[DISSIPATION] / (largest * fastest) if value[DISSIPATION] > 0.0 else 0.0
    natural = value[NATURAL_MAP] / fastest if value[NATURAL_MAP] > 0.0 else 0.0
    return worst, index[which if worst > 0.0 else PENETRATION], natural


@kernel
def _solve_each(
    system,
    which,
    again,
    start,
    contacts,
    number,
    tolerance,
    asked,
    tumbling,
    max_iterations,
    sides,
    staggering,
    effort,
    impulse,
    v,
    outcome,
    figures,
):
    """Solve some islands by Staggered Projections; impulse (m, 3) is warm start and answer, v (n,) answer.

    which: indices of the islands. tolerance: (islands,). asked: as of `solve_islands`. tumbling: (islands,). again: whether
    they begin with the last proposal. number: as for `subsystem`. Out: outcome (islands, 5): status, iterations,
    factorisations, what found it, worst contact; figures (islands, 7): relative error (28), residual (29), cone,
    complementarity, dissipation, the worst of all, the natural map.
    """
    history = np.empty((max_iterations, 3))
    for i in which:
        chosen = contacts[start[i] : start[i + 1]]
        part, bodies = subsystem(system, chosen, number)
        some = impulse[chosen]
        velocity = np.empty(part.velocity.size)
        history[:] = 0.0
        kept = turns_kept(chosen.size, max_iterations) if staggering == ACCELERATED and not again else 0
        status, iterations, found, _, _ = staggered(
            part,
            some,
            min(tolerance[i], asked),
            tolerance[i],
            tumbling[i],
            max_iterations - kept,
            sides,
            staggering,
            effort,
            history,
            velocity,
        )
        worst, contact, natural = measure_island(part, some, sides, figures[i, FIRST_LAW:])
        if status == SOLVED and not worst <= tolerance[i]:
            status = UNCONFIRMED
        outcome[i, STATUS] = status
        outcome[i, ITERATIONS] = iterations
        outcome[i, FACTORISATIONS] = effort[DONE]
        outcome[i, FOUND] = found
        outcome[i, WORST_CONTACT] = chosen[contact] if contact >= 0 else -1
        figures[i, RELATIVE_ERROR] = history[iterations - 1, 0]
        figures[i, RESIDUAL] = history[iterations - 1, 1]
        figures[i, WORST] = worst
        figures[i, NATURAL] = natural
        for j in range(chosen.size):
            impulse[chosen[j]] = some[j]
        for j in range(bodies.size):
            first = system.offset[bodies[j]]
            for d in range(part.offset[j + 1] - part.offset[j]):
                v[first + d] = velocity[part.offset[j] + d]


def solve_islands(
    system, impulse, tolerances, tumbling, max_iterations, sides, staggering, effort, counts, errors, threads=1, asked=np.inf
):
    """Solve every island with Staggered Projections; impulse (m, 3) is warm start and answer.

    tolerances: (bodies,), of what is accepted. tumbling: (bodies,). Both are the same for all of an island. An island that is
    missed is begun once more from pivoting's answer, and where contact itself fails, a proof is looked for that it must.
    effort: (5,) whose bell ends all this when the step's time is over. threads: that large islands are begun in, and islands
    solved; no answer depends on their number. asked: what proposals and projections aim at where a tolerance is larger.

    Out: counts (COUNTS,): worst status, islands, most iterations, all factorisations, and the worst contact (or -1), then how
    many islands were solved by each of `Found`; errors (7,): worst relative error (28), sum of the residuals (29), worst cone,
    complementarity and dissipation, worst of all, worst natural map. Returns the velocities (n,).
    """
    v = system.velocity.copy()
    start, contacts, number = begin_islands(system, counts, errors)
    islands = start.size - 1
    outcome, figures = np.zeros((islands, 5), np.int64), np.zeros((islands, 7))
    first = contacts[start[:-1]]
    some_body = np.maximum(system.body_a[first], system.body_b[first])
    tolerance, tumbles = tolerances[some_body], tumbling[some_body]

    def solve(which, again, iterations, number, effort):
        limits = tolerance, asked, tumbles, iterations, sides, staggering
        _solve_each(system, which, again, start, contacts, number, *limits, effort, impulse, v, outcome, figures)

    def solve_all():
        pieces = runs(np.diff(start), OF_A_RUN) if len(contacts) > OF_A_RUN else []
        if len(pieces) < 2:
            solve(np.arange(islands), False, max_iterations, number, effort)
            return
        efforts, numbers = np.tile(effort, (len(pieces), 1)), np.tile(number, (len(pieces), 1))
        parts = [(np.arange(*piece), False, max_iterations) for piece in pieces]
        tasks = [partial(solve, *part, numbers[i], efforts[i]) for i, part in enumerate(parts)]
        side_by_side(threads, tasks, partial(_pass_on, effort, efforts))
        effort[WORK] += (efforts[:, WORK] - effort[WORK]).sum()

    before = np.zeros((islands, 2), np.int64)
    if is_large(system) and staggering == ACCELERATED and sides == 0:
        before = _propose(system, (start, contacts, number), tolerance, tumbles, max_iterations, effort, impulse, threads)
    solve_all()
    outcome[:, FACTORISATIONS] += before[:, 0]
    outcome[:, FOUND] = np.where(outcome[:, FOUND] == Found.START, before[:, 1], outcome[:, FOUND])
    if not outcome[:, STATUS].any():
        _sum_up(outcome, figures, counts, errors)
        return v
    missed = (outcome[:, STATUS] == Status.MAX_ITERATIONS) | (outcome[:, STATUS] == Status.UNCONFIRMED)
    for i in np.flatnonzero(missed):
        chosen = contacts[start[i] : start[i + 1]]
        problem = ContactProblem.of_system(subsystem(system, chosen, number)[0])
        if _is_infeasible(problem, relative_velocities(system, v)[chosen], tolerance[i]):
            outcome[i, STATUS] = Status.INFEASIBLE
            continue
        turns = turns_kept(chosen.size, max_iterations) if staggering == ACCELERATED else 0
        if turns > 0 and effort[BELL] == 0:
            before = impulse.copy(), v.copy(), outcome[i].copy(), figures[i].copy()
            proposal = last_proposal(problem, tolerance[i])
            if proposal is not None:
                impulse[chosen] = proposal
                solve(np.array([i]), True, turns, number, effort)
                spent = before[2][[ITERATIONS, FACTORISATIONS]]
                if outcome[i, STATUS] == Status.SOLVED:
                    outcome[i, FOUND] = Found.PIVOTING
                elif not figures[i, WORST] < before[3][WORST]:
                    impulse[:], v[:], outcome[i], figures[i] = before
                    spent[:] = 0
                outcome[i, [ITERATIONS, FACTORISATIONS]] += spent
    _sum_up(outcome, figures, counts, errors)
    return v


def _pass_on(effort: Indices, efforts: Indices) -> None:
    """The bell of a step to those who solve its islands."""
    efforts[:, BELL] = effort[BELL]


def _propose(
    system: System,
    islands: tuple[Indices, Indices, Indices],
    tolerance: Floats,
    tumbles: NDArray[np.bool_],
    max_iterations: int,
    effort: Indices,
    impulse: Floats,
    threads: int,
) -> Indices:
    """Improve the impulses (m, 3) of large islands; (islands, 2) the factorisations that each took, and what found them.

    islands: start, contacts and work array as from `begin_islands`. tolerance, tumbles: (islands,).
    """
    start, contacts, number = islands
    done = np.zeros((start.size - 1, 2), np.int64)
    for i in np.flatnonzero(np.diff(start) > LARGE).tolist():
        chosen = contacts[start[i] : start[i + 1]]
        part, _ = subsystem(system, chosen, number)
        if is_large(part):
            some = impulse[chosen]
            solve = partial(_solve_part, max_iterations, effort)
            done[i] = propose_by_clusters(part, some, float(tolerance[i]), bool(tumbles[i]), effort, solve, threads)
            impulse[chosen] = some
    return done


def _solve_part(max_iterations: int, effort: Indices, part: System, impulse: Floats, tolerance: float) -> int:
    """Solve a part of an island, impulse (m, 3) being warm start and answer; returns the factorisations that it took."""
    m, bodies = len(impulse), len(part.offset) - 1
    outcome, figures = np.zeros((1, 5), np.int64), np.zeros((1, 7))
    of_island = np.zeros(1, np.int64), False, np.array([0, m]), np.arange(m), np.full(bodies, -1)
    limits = np.full(1, tolerance), np.inf, np.zeros(1, np.bool_), min(max_iterations, OF_A_CLUSTER), 0, ACCELERATED
    _solve_each(part, *of_island, *limits, effort, impulse, np.empty_like(part.velocity), outcome, figures)
    return int(outcome[0, FACTORISATIONS])


def _is_infeasible(problem: ContactProblem, velocity: Floats, tolerance: float) -> bool:
    """Whether contact fails at velocities (m, 3), and must."""
    fastest, _ = scales(problem.system, velocity)
    contacts = problem.system.mu.size
    closing = -(velocity[:contacts, 0] + problem.system.slack).min(initial=np.inf)
    return bool(closing > tolerance * fastest) and contradiction(problem, tolerance) is not None


@kernel
def _sum_up(outcome, figures, counts, errors):
    """Counts and errors of a step out of those of its islands."""
    for i in range(len(outcome)):
        counts[0] = max(counts[0], outcome[i, STATUS])
        counts[2] = max(counts[2], outcome[i, ITERATIONS])
        counts[3] += outcome[i, FACTORISATIONS]
        # a nan is the worst there is
        if figures[i, WORST] > errors[WORST] or np.isnan(figures[i, WORST]):
            counts[4] = outcome[i, WORST_CONTACT]
        if outcome[i, STATUS] == SOLVED:
            counts[5 + outcome[i, FOUND]] += 1
        for j in range(errors.size):
            if j == RESIDUAL:
                errors[j] += figures[i, j]
            elif figures[i, j] > errors[j] or np.isnan(figures[i, j]):
                errors[j] = figures[i, j]
