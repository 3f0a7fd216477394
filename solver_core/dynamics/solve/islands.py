# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands: sets of bodies that touch, solved one by one since nothing couples them (Kaufman et al. 2008, section 8.2)."""

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
from ...problem.system import System, effective_inverse_mass, relative_velocities
from ...solvers.block_operator import State, update_velocities
from ...solvers.coulomb.cascade import ACCELERATED, Request, is_large, propose_beforehand, solve_system
from ...solvers.criteria import LARGE, good_enough
from ...solvers.effort import DONE, OVERDUE, WORK
from ...solvers.kaufman_2008.staggered import residual
from ...threads.side_by_side import ends_of_runs, side_by_side
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
    "islands_of",
    "not_begun",
    "solve_islands",
    "totals",
]

SOLVED = Status.SOLVED  # of enumerations Python is slow to find a member
OF_A_RUN = 256  # contacts, of islands that one thread solves: fewer take less time than a thread


class Error(IntEnum):
    """Columns of the errors of islands: relative error (28), residual (29) in J, and relative residuals."""

    CHANGE = 0
    RESIDUAL = 1
    CONE = 2
    COMPLEMENTARITY = 3
    DISSIPATION = 4
    WORST = 5  # of these, penetration and the natural map
    NATURAL_MAP = 6


FOUND, ERRORS = len(Found), len(Error)  # of enumerations, which kernels cannot count


class Islands(NamedTuple):
    """The islands of a system: the contacts of island i are contacts[start[i] : start[i + 1]]; number: (bodies,) work array of
    `subsystem`."""

    start: Indices
    contacts: Indices
    number: Indices


class Requests(NamedTuple):
    """What is asked of each body, the same for all of an island, or of each island: tolerance, tumbles; and of all, as of
    `Request` and `solve_system`."""

    tolerance: Floats
    tumbles: NDArray[np.bool_]
    max_iterations: int
    sides: int
    variant: int


class Outcomes(NamedTuple):
    """What became of each island: status, iterations, factorisations, values of `Found`, the worst contact (-1: none), all
    (islands,); errors: (islands, len(Error))."""

    status: Indices
    iterations: Indices
    factorisations: Indices
    found: Indices
    worst_contact: Indices
    errors: Floats


class Totals(NamedTuple):
    """What became of all islands: the worst status, how many there are, most iterations, all factorisations, the worst contact
    (-1: none), how many were solved by each of `Found`; errors: (len(Error),) the sum of the residuals, of all else the worst.
    """

    status: int
    islands: int
    iterations: int
    factorisations: int
    worst_contact: int
    found: Indices
    errors: Floats


# which islands are to be solved, velocities (n,) and outcomes of all, which are brought up to date
Again = tuple[Indices, Floats, Outcomes]
NOT_ONE = np.zeros(0, np.int64)
# all islands, none of which has begun
ANEW: Again = NOT_ONE, np.zeros(0), Outcomes(NOT_ONE, NOT_ONE, NOT_ONE, NOT_ONE, NOT_ONE, np.zeros((0, ERRORS)))


@kernel
def not_begun(islands):
    """Room for what becomes of so many islands, `Outcomes`."""
    of_each = np.zeros((5, islands), np.int64)
    return Outcomes(of_each[0], of_each[1], of_each[2], of_each[3], of_each[4], np.zeros((islands, ERRORS)))


@kernel
def islands_of(system):
    """The `Islands` of a system."""
    bodies = system.offset.size - 1
    start, contacts = contact_islands(bodies, system.body_a, system.body_b)
    return Islands(start, contacts, np.full(bodies, -1, np.int64))


@kernel
def asked_of(system, requests_of_bodies):
    """The `Islands` of a system, and what is asked of each: (islands,) the tolerance, and whether it tumbles."""
    (body_tolerance, body_tumbles), islands = requests_of_bodies, islands_of(system)
    count = islands.start.size - 1
    tolerance, tumbles = np.empty(count), np.empty(count, np.bool_)
    for i in range(count):
        k = islands.contacts[islands.start[i]]
        body = max(system.body_a[k], system.body_b[k])
        tolerance[i], tumbles[i] = body_tolerance[body], body_tumbles[body]
    return islands, tolerance, tumbles


@kernel
def has_large_island(system):
    """Whether an island has so many contacts that it may be worth taking apart."""
    start, _ = contact_islands(system.offset.size - 1, system.body_a, system.body_b)
    return (start[1:] - start[:-1] > LARGE).any()


@inner_kernel
def measure_island(system, impulse, sides, relative):
    """`measure_given`, with the masses and the scale of a system."""
    masses = effective_masses(effective_inverse_mass(system)), fastest_velocity(system)
    return measure_given(system, impulse, masses, sides, relative)


@inner_kernel
def measure_given(system, impulse, masses, sides, relative):
    """Relative Coulomb residuals from the impulses alone: cone, complementarity, dissipation into `relative` (3,).

    masses: (m,) kg, the effective masses, and m/s, the fastest velocity. Returns (largest of these, the relative penetration
    and the natural map, the contact it is at, the natural map).
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
    """Solve some islands, by their indices, by Staggered Projections; impulse (m, 3) is warm start and answer, v (n,) answer.
    out: `Outcomes`."""
    start, contacts, number = islands
    tolerance, tumbles, max_iterations, sides, variant = requests
    history = np.empty((max_iterations, 3))
    for i in which:
        chosen = contacts[start[i] : start[i + 1]]
        part, bodies = subsystem(system, chosen, number)
        some = impulse[chosen]
        velocity, relative = np.empty(part.velocity.size), np.empty(3)
        worst, contact, natural = measure_island(part, some, sides, relative)
        if variant == ACCELERATED and worst <= good_enough(tolerance[i], tumbles[i]):
            update_velocities(part, State(some, velocity))
            out.status[i], out.iterations[i], out.factorisations[i], out.found[i] = Status.SOLVED, 1, 0, Found.START
            out.errors[i, Error.CHANGE], out.errors[i, Error.RESIDUAL] = 0.0, residual(part, some, velocity)
        else:
            history[:] = 0.0
            request = Request(tolerance[i], tumbles[i], max_iterations, sides)
            answer = solve_system(part, request, variant, effort, some, velocity, history)
            worst, contact, natural = measure_island(part, some, sides, relative)
            out.status[i] = answer.status
            if answer.status == Status.SOLVED and not worst <= tolerance[i]:
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
    """Solve islands one after the other, each run of them (`ends_of_runs`) within what is left of the effort now, so that it
    comes to the same as in threads. Returns velocities (n,), what became of each island, (islands,) its status, and `Totals`.

    requests: of each body. again: as of `solve_islands`, `ANEW` for all islands.
    """
    islands, tolerance, tumbles = asked_of(system, (requests.tolerance, requests.tumbles))
    of_islands = Requests(tolerance, tumbles, requests.max_iterations, requests.sides, requests.variant)
    which, v, out = again
    if out.status.size == 0:
        which, v, out = np.arange(tolerance.size), system.velocity.copy(), not_begun(tolerance.size)
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
    """(m,) which of the islands, as `islands_of` counts them, each triple of rows is in; and how many there are."""
    start, contacts = contact_islands(system.offset.size - 1, system.body_a, system.body_b)
    island = np.empty(contacts.size, np.int64)
    for i in range(start.size - 1):
        for at in range(start[i], start[i + 1]):
            island[contacts[at]] = i
    return island, start.size - 1


def solve_islands(
    system: System, impulse: Floats, requests: Requests, effort: Indices, threads: int = 1, again: Again | None = None
) -> tuple[Floats, Totals]:
    """Solve every island with Staggered Projections; impulse (m, 3) is warm start and answer. Returns the velocities (n,).

    requests: of each body. Where contact itself fails, a proof is looked for that it must. effort: (5,) which ends all this
    when it is overdue. threads: that large islands are begun in, and islands solved; no answer depends on their number. again:
    where some islands of the system are solved already, None for all anew.
    """
    if threads == 1 and not (is_large(system) and has_large_island(system)):
        v, status, total = _solve_in_turn(system, requests, ANEW if again is None else again, effort, impulse)
    else:
        v, status, total = _solve_large(system, impulse, requests, effort, threads, again)
    if total.status != SOLVED:
        islands, tolerance, _ = asked_of(system, (requests.tolerance, requests.tumbles))
        mark_infeasible(system, islands, tolerance, v, status, None if again is None else again[0])
        total = total._replace(status=min(status.tolist(), key=WORST_FIRST.index))
    return v, total


def _solve_large(
    system: System, impulse: Floats, requests: Requests, effort: Indices, threads: int, again: Again | None
) -> tuple[Floats, Indices, Totals]:
    """As `_solve_in_turn`, large islands begun beforehand, and others in threads."""
    islands, tolerance, tumbles = asked_of(system, (requests.tolerance, requests.tumbles))
    of_islands, count = requests._replace(tolerance=tolerance, tumbles=tumbles), len(tolerance)
    which, v, out = (np.arange(count), system.velocity.copy(), not_begun(count)) if again is None else again
    large = _propose(system, islands, of_islands, which, effort, impulse, threads) if is_large(system) else None
    ends = ends_of_runs(np.diff(islands.start)[which], OF_A_RUN)
    if threads == 1 or len(ends) < 3:
        _solve_in_turn(system, requests, (which, v, out), effort, impulse)
    else:
        out.factorisations[:] = 0
        efforts = np.tile(effort, (len(ends) - 1, 1))
        numbers, pieces = np.tile(islands.number, (len(ends) - 1, 1)), pairwise(ends)
        each = [(islands._replace(number=numbers[i]), of_islands, which[slice(*piece)]) for i, piece in enumerate(pieces)]
        tasks = [partial(_solve_each, system, *one, efforts[i], impulse, v, out) for i, one in enumerate(each)]
        side_by_side(threads, tasks, partial(_pass_on, effort, efforts))
        effort[WORK] += (efforts[:, WORK] - effort[WORK]).sum()
    if large is not None:
        out.factorisations[:] += large[0]
        out.found[:] = np.where(out.found == Found.START, large[1], out.found)
    return v, out.status, totals(out)


def _pass_on(effort: Indices, efforts: Indices) -> None:
    """Hand the deadline of a step on to the efforts of its islands."""
    efforts[:, OVERDUE] = effort[OVERDUE]


def _propose(
    system: System, islands: Islands, requests: Requests, which: Indices, effort: Indices, impulse: Floats, threads: int
) -> tuple[Indices, Indices]:
    """Improve the impulses (m, 3) of large islands among some; the factorisations that each took, and what found them, both
    (islands,)."""
    start, contacts, number = islands
    cost, found = np.zeros(start.size - 1, np.int64), np.zeros(start.size - 1, np.int64)
    tolerance, tumbles, max_iterations, sides, variant = requests
    for i in which[np.diff(start)[which] > LARGE].tolist():
        chosen = contacts[start[i] : start[i + 1]]
        part, _ = subsystem(system, chosen, number)
        if is_large(part):
            some = impulse[chosen]
            request = Request(float(tolerance[i]), bool(tumbles[i]), max_iterations, sides)
            cost[i], found[i] = propose_beforehand(part, request, variant, effort, some, threads)
            impulse[chosen] = some
    return cost, found


@kernel
def totals(out):
    """The `Totals` of `Outcomes`."""
    status, iterations, factorisations, worst_contact = 0, 0, 0, -1
    found, errors = np.zeros(FOUND, np.int64), np.zeros(ERRORS)
    for i in range(out.status.size):
        if PRECEDED_BY[out.status[i]] < PRECEDED_BY[status]:
            status = out.status[i]
        iterations = max(iterations, out.iterations[i])
        factorisations += out.factorisations[i]
        # a nan is the worst there is
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
    """Return the totals of a solve with the factorisations of earlier solves added."""
    return totals._replace(factorisations=totals.factorisations + factorisations) if factorisations else totals
