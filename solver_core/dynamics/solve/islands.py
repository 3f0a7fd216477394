# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands: sets of bodies coupled by contacts and joints, each solved as a problem of its own.

Source: Kaufman et al. 2008, section 8.2.
"""

from __future__ import annotations

from enum import IntEnum
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel
from ...problem.residuals import (
    COMPLEMENTARITY,
    CONE_EXCESS,
    DISSIPATION,
    NATURAL_MAP,
    PENETRATION,
    effective_masses,
    fastest_velocity,
    largest_impulse,
    relative_coulomb,
)
from ...problem.result import PRECEDED_BY, WORST_FIRST, Found, Status
from ...problem.subsystem import contact_islands, subsystem
from ...problem.system import System, effective_inverse_mass, relative_velocities, with_least_scale
from ...solvers.block_operator import State, update_velocities
from ...solvers.coulomb.cascade import ACCELERATED, Request, is_large, propose_beforehand, solve_system
from ...solvers.criteria import LARGE, good_enough
from ...solvers.effort import DONE, OF_A_RUN, WORK, do_within_budget
from ...solvers.kaufman_2008.staggered import residual
from ...threads.side_by_side import ends_of_runs
from .infeasible_islands import mark_infeasible

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

__all__ = [
    "Again",
    "Error",
    "Requests",
    "Totals",
    "after",
    "island_of_each",
    "island_part",
    "island_requests",
    "islands_of",
    "not_begun",
    "solve_islands",
    "totals",
]

SOLVED = Status.SOLVED  # a module constant, because attribute access on an enum is slow in Python


class Error(IntEnum):
    """Columns of the errors of islands: relative error (28), residual (29) in J, and relative residuals."""

    CHANGE = 0
    RESIDUAL = 1
    CONE = 2
    COMPLEMENTARITY = 3
    DISSIPATION = 4
    WORST = 5  # the largest of the relative residuals, penetration and the natural map included
    NATURAL_MAP = 6


FOUND, ERRORS = len(Found), len(Error)  # constants, because kernels cannot take the length of an enum


class Islands(NamedTuple):
    """The islands of a system.

    The contacts of island i are contacts[start[i] : start[i + 1]]. number: (bodies,) work array of `subsystem`.
    """

    start: Indices
    contacts: Indices
    number: Indices


class Requests(NamedTuple):
    """The requested accuracy and the options of a solve.

    tolerance, tumbles, least_scale: of each body, as of `Asked`, equal for all bodies of an island; or of each island.
    max_iterations, sides, variant: as of `Request` and `solve_system`.
    """

    tolerance: Floats
    tumbles: NDArray[np.bool_]
    least_scale: Floats
    max_iterations: int
    sides: int
    variant: int


class Outcomes(NamedTuple):
    """The outcome of each island.

    status, iterations, factorisations, found (a value of `Found`), worst_contact (-1: none): all (islands,). errors:
    (islands, len(Error)).
    """

    status: Indices
    iterations: Indices
    factorisations: Indices
    found: Indices
    worst_contact: Indices
    errors: Floats


class Totals(NamedTuple):
    """The outcome of all islands together.

    status: the worst. islands: their number. iterations: the largest number. factorisations: their sum. worst_contact: -1 for
    none. found: the number of islands solved by each of `Found`. errors: (len(Error),) the sum of the residuals in J, and the
    worst of each other error.
    """

    status: int
    islands: int
    iterations: int
    factorisations: int
    worst_contact: int
    found: Indices
    errors: Floats


class Again(NamedTuple):
    """The islands to solve in a system, some of whose islands may be solved already.

    which: indices of the islands to solve. v: (dof,) velocities, and outcomes: of all islands; both are updated in place.
    """

    which: Indices
    v: Floats
    outcomes: Outcomes


NOT_ONE = np.zeros(0, np.int64)
# Stands for all islands of a system, none of which is solved yet.
ANEW = Again(NOT_ONE, np.zeros(0), Outcomes(NOT_ONE, NOT_ONE, NOT_ONE, NOT_ONE, NOT_ONE, np.zeros((0, ERRORS))))


@kernel
def not_begun(islands):
    """Return `Outcomes` for so many islands, filled with zeros."""
    of_each = np.zeros((5, islands), np.int64)
    return Outcomes(of_each[0], of_each[1], of_each[2], of_each[3], of_each[4], np.zeros((islands, ERRORS)))


@kernel
def islands_of(system):
    """Return the `Islands` of a system."""
    bodies = system.offset.size - 1
    start, contacts = contact_islands(bodies, system.body_a, system.body_b)
    return Islands(start, contacts, np.full(bodies, -1, np.int64))


@kernel
def island_requests(system, requests):
    """Return the `Islands` of a system and the `Requests` of each island. requests: `Requests` of each body."""
    islands = islands_of(system)
    count = islands.start.size - 1
    tolerance, tumbles, least_scale = np.empty(count), np.empty(count, np.bool_), np.empty(count)
    for i in range(count):
        k = islands.contacts[islands.start[i]]
        body = max(system.body_a[k], system.body_b[k])
        tolerance[i], tumbles[i], least_scale[i] = requests.tolerance[body], requests.tumbles[body], requests.least_scale[body]
    return islands, Requests(tolerance, tumbles, least_scale, requests.max_iterations, requests.sides, requests.variant)


@kernel
def island_part(system, islands, requests, i):
    """Return the `System` of island i with its least velocity scale, and the indices of its bodies."""
    chosen = islands.contacts[islands.start[i] : islands.start[i + 1]]
    part, bodies = subsystem(system, chosen, islands.number)
    return with_least_scale(part, requests.least_scale[i] * system.least_scale), bodies


@kernel
def has_large_island(system):
    """Return whether an island has so many contacts that solving it in parts may pay off."""
    start, _ = contact_islands(system.offset.size - 1, system.body_a, system.body_b)
    return (start[1:] - start[:-1] > LARGE).any()


@inner_kernel
def measure_island(system, impulse, sides, relative):
    """Return `measure_given` with the effective masses and the velocity scale of the system."""
    masses = effective_masses(effective_inverse_mass(system)), fastest_velocity(system)
    return measure_given(system, impulse, masses, sides, relative)


@inner_kernel
def measure_given(system, impulse, masses, sides, relative):
    """Compute the relative Coulomb residuals from the impulses alone.

    Writes cone, complementarity and dissipation to `relative` (3,). masses: (m,) kg, the effective masses, and m/s, the fastest
    velocity. Returns the largest of these three, the relative penetration and the natural map; the contact with this residual;
    and the natural map.
    """
    kappa, fastest = masses
    state = State(impulse, np.empty(system.velocity.size))
    update_velocities(system, state)
    velocity = relative_velocities(system, state.v)
    value, index = np.empty(5), np.empty(5, np.int64)
    largest = largest_impulse(system, impulse)
    worst, which = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
    relative[0] = value[CONE_EXCESS] / largest if value[CONE_EXCESS] > 0.0 else 0.0
    relative[1] = value[COMPLEMENTARITY] / (largest * fastest) if value[COMPLEMENTARITY] > 0.0 else 0.0
    relative[2] = value[DISSIPATION] / (largest * fastest) if value[DISSIPATION] > 0.0 else 0.0
    natural = value[NATURAL_MAP] / fastest if value[NATURAL_MAP] > 0.0 else 0.0
    return worst, index[which if worst > 0.0 else PENETRATION], natural


@kernel
def _solve_each(system, islands, requests, which, effort, impulse, v, out):
    """Solve some islands by Staggered Projections.

    Parameters
    ----------
    system : with m triples of rows
    islands : all `Islands` of the system
    requests : `Requests` of each island
    which : indices of the islands to solve
    effort : (5,) the work budget of the step, updated
    impulse : (m, 3) N s, the warm start, overwritten by the solution
    v : (dof,) m/s and rad/s, updated for these islands
    out : `Outcomes`, updated for these islands
    """
    sides, history = requests.sides, np.empty((requests.max_iterations, 3))
    for i in which:
        chosen, tolerance = islands.contacts[islands.start[i] : islands.start[i + 1]], requests.tolerance[i]
        part, bodies = island_part(system, islands, requests, i)
        some = impulse[chosen]
        velocity, relative = np.empty(part.velocity.size), np.empty(3)
        worst, contact, natural = measure_island(part, some, sides, relative)
        if requests.variant == ACCELERATED and worst <= good_enough(tolerance, requests.tumbles[i]):
            update_velocities(part, State(some, velocity))
            out.status[i], out.iterations[i], out.factorisations[i], out.found[i] = Status.SOLVED, 1, 0, Found.START
            out.errors[i, Error.CHANGE], out.errors[i, Error.RESIDUAL] = 0.0, residual(part, some, velocity)
        else:
            history[:] = 0.0
            request = Request(tolerance, requests.tumbles[i], requests.max_iterations, sides)
            answer = solve_system(part, request, requests.variant, effort, some, velocity, history)
            worst, contact, natural = measure_island(part, some, sides, relative)
            out.status[i] = answer.status
            if answer.status == Status.SOLVED and not worst <= tolerance:
                out.status[i] = Status.UNCONFIRMED
            out.iterations[i], out.factorisations[i], out.found[i] = answer.iterations, effort[DONE], answer.found
            out.errors[i, Error.CHANGE] = history[answer.iterations - 1, 0]
            out.errors[i, Error.RESIDUAL] = history[answer.iterations - 1, 1]
        for j in range(relative.size):
            out.errors[i, Error.CONE + j] = relative[j]
        out.worst_contact[i] = chosen[contact] if contact >= 0 else -1
        out.errors[i, Error.WORST] = worst
        out.errors[i, Error.NATURAL_MAP] = natural
        for j in range(chosen.size):
            impulse[chosen[j]] = some[j]
        for j in range(bodies.size):
            first = system.offset[bodies[j]]
            for d in range(part.offset[j + 1] - part.offset[j]):
                v[first + d] = velocity[part.offset[j] + d]


@kernel
def _solve_in_turn(system, requests, again, effort, impulse):
    """Solve islands one after the other.

    Each run of islands (`ends_of_runs`) starts with the work budget that is left now, so that the result is the same as in
    threads.

    Parameters
    ----------
    system : with m triples of rows
    requests : `Requests` of each body
    again : as of `solve_islands`, `ANEW` for all islands
    effort : (5,) the work budget of the step, updated
    impulse : (m, 3) N s, the warm start, overwritten by the solution

    Returns
    -------
    velocities (dof,), the status of each island (islands,), and `Totals`
    """
    islands, of_islands = island_requests(system, requests)
    which, v, out = again.which, again.v, again.outcomes
    if out.status.size == 0:
        count = of_islands.tolerance.size
        which, v, out = np.arange(count), system.velocity.copy(), not_begun(count)
    out.factorisations[:] = 0
    ends = ends_of_runs((islands.start[1:] - islands.start[:-1])[which], OF_A_RUN)
    begin, done = effort[WORK], 0
    for i in range(ends.size - 1):
        effort[WORK] = begin
        _solve_each(system, islands, of_islands, which[ends[i] : ends[i + 1]], effort, impulse, v, out)
        done += effort[WORK] - begin
    effort[WORK] = begin + done
    return v, out.status, totals(out)


@kernel
def island_of_each(system):
    """Return (m,) the island of each triple of rows, numbered as by `islands_of`, and the number of islands."""
    start, contacts = contact_islands(system.offset.size - 1, system.body_a, system.body_b)
    island = np.empty(contacts.size, np.int64)
    for i in range(start.size - 1):
        for at in range(start[i], start[i + 1]):
            island[contacts[at]] = i
    return island, start.size - 1


def solve_islands(
    system: System, impulse: Floats, requests: Requests, effort: Indices, threads: int = 1, again: Again | None = None
) -> tuple[Floats, Totals]:
    """Solve every island with Staggered Projections.

    If contacts of an unconverged island close too fast, the function looks for a proof that the island is infeasible.

    Parameters
    ----------
    system : the contact problem with m triples of rows
    impulse : (m, 3) N s, the warm start, overwritten by the solution
    requests : of each body
    effort : (5,) the work budget of the step; the solve stops when it is overdue
    threads : number of threads for islands and for the start of large islands; the result does not depend on it
    again : the islands to solve if the others are solved already; None to solve all

    Returns
    -------
    velocities (n,), and totals over all islands
    """
    has_runs = threads > 1 and len(system.body_a) > OF_A_RUN
    if not has_runs and not (is_large(system) and has_large_island(system)):
        v, status, total = _solve_in_turn(system, requests, ANEW if again is None else again, effort, impulse)
    else:
        v, status, total = _solve_large(system, impulse, requests, effort, threads, again)
    if total.status != SOLVED:
        islands, of_islands = island_requests(system, requests)
        mark_infeasible(system, islands, of_islands.tolerance, v, status, None if again is None else again.which)
        total = total._replace(status=min(status.tolist(), key=WORST_FIRST.index))
    return v, total


def _solve_large(
    system: System, impulse: Floats, requests: Requests, effort: Indices, threads: int, again: Again | None
) -> tuple[Floats, Indices, Totals]:
    """Solve islands as `_solve_in_turn` does, with better warm starts for large islands, and in threads."""
    islands, of_islands = island_requests(system, requests)
    if again is None:
        count = len(of_islands.tolerance)
        again = Again(np.arange(count), system.velocity.copy(), not_begun(count))
    which, v, out = again
    large = _propose(system, islands, of_islands, which, effort, impulse, threads) if is_large(system) else None
    ends = ends_of_runs(np.diff(islands.start)[which], OF_A_RUN)
    if threads == 1 or len(ends) < 3:
        _solve_in_turn(system, requests, again, effort, impulse)
    else:
        out.factorisations[:] = 0

        def solve(first: int, last: int, of_run: Indices) -> None:
            own = islands._replace(number=islands.number.copy())
            _solve_each(system, own, of_islands, which[first:last], of_run, impulse, v, out)

        do_within_budget(threads, effort, [partial(solve, *run) for run in pairwise(ends.tolist())])
    if large is not None:
        out.factorisations[:] += large[0]
        out.found[:] = np.where(out.found == Found.START, large[1], out.found)
    return v, out.status, totals(out)


def _propose(
    system: System, islands: Islands, requests: Requests, which: Indices, effort: Indices, impulse: Floats, threads: int
) -> tuple[Indices, Indices]:
    """Improve the warm start (m, 3) of the large islands among `which`.

    Returns the number of factorizations, and the value of `Found`, of each island, both (islands,).
    """
    start, contacts, _ = islands
    cost, found = np.zeros(start.size - 1, np.int64), np.zeros(start.size - 1, np.int64)
    tolerance, tumbles, _, max_iterations, sides, variant = requests
    for i in which[np.diff(start)[which] > LARGE].tolist():
        chosen = contacts[start[i] : start[i + 1]]
        part, _ = island_part(system, islands, requests, i)
        if is_large(part):
            some = impulse[chosen]
            request = Request(float(tolerance[i]), bool(tumbles[i]), max_iterations, sides)
            cost[i], found[i] = propose_beforehand(part, request, variant, effort, some, threads)
            impulse[chosen] = some
    return cost, found


@kernel
def totals(out):
    """Return the `Totals` of `Outcomes`."""
    status, iterations, factorisations, worst_contact = 0, 0, 0, -1
    found, errors = np.zeros(FOUND, np.int64), np.zeros(ERRORS)
    for i in range(out.status.size):
        if PRECEDED_BY[out.status[i]] < PRECEDED_BY[status]:
            status = out.status[i]
        iterations = max(iterations, out.iterations[i])
        factorisations += out.factorisations[i]
        # NaN is worse than any number.
        if out.errors[i, Error.WORST] > errors[Error.WORST] or np.isnan(out.errors[i, Error.WORST]):
            worst_contact = out.worst_contact[i]
        if out.status[i] == Status.SOLVED:
            found[out.found[i]] += 1
        for j in range(errors.size):
            if j == Error.RESIDUAL:
                errors[j] += out.errors[i, j]
            elif out.errors[i, j] > errors[j] or np.isnan(out.errors[i, j]):
                errors[j] = out.errors[i, j]
    return Totals(status, out.status.size, iterations, factorisations, worst_contact, found, errors)


def after(factorisations: int, totals: Totals) -> Totals:
    """Return the totals of a solve with the factorizations of earlier solves added."""
    return totals._replace(factorisations=totals.factorisations + factorisations) if factorisations else totals
