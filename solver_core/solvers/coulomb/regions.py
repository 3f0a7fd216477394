# SPDX-License-Identifier: GPL-3.0-or-later
"""What large islands begin with: the methods of first order on all of one, until few contacts are left, then around these.

After a hundred iterations of the alternating direction method all but one in a hundred contacts of a heap are good, and those
are in a few places, which take hundreds more. The more bodies a heap has, the more such places, and the worst of them says how
long all have to wait. So the bodies at those contacts, and those around them, make regions: the impulses of all contacts that
are not wholly within one are held, and each is solved by itself, for as long as it takes (the additive Schwarz method; Xu 1992,
"Iterative methods by space decomposition and subspace correction"). What that moves at their borders begins the regions of the
next round. When a step is tried again, for what its motion runs into, few contacts are new, and that is all that is done.

What is very large is not begun all together: all that is not good yet is solved for domain by domain (`domains.py`).

What stands is asked for more digits, and has them all from the alternating direction method, which converges linearly where
nobody changes between sticking and sliding any more (`begin_standing`).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import TRUE, inner_kernel, kernel
from ...problem.residuals import effective_masses, natural_error_between, scales
from ...problem.result import Found
from ...problem.subsystem import subsystem
from ...problem.system import System, apply_inverse_mass, effective_inverse_mass, transpose_product
from ...threads.board import new_board
from ...threads.side_by_side import runs, side_by_side
from ..criteria import ACCEPTABLE, COARSE, MAX_CHECKS, TARGET
from ..effort import BELL, DONE, WORK, is_worked_off
from .domains import domains_of
from .first_order import lead, sweep_and_split
from .workspace import workspace_in_parts

__all__ = [
    "MOST_TOGETHER",
    "begin_large",
    "begin_standing",
    "measure_each",
    "regions_around",
    "solve_regions",
    "velocities",
]

TO_SPARE = 0.1  # of it: what is left over moves what stands by as much more in each step, until impulses are looked for again
FEW_FAR = 0.01  # of the contacts: what is left to regions
RINGS = 3  # of bodies around those of a contact that is not good: with two there are half as many rounds again
MOST_IN_REGIONS = 0.35  # of the contacts, that are in regions; more are solved for with all others
WITHIN_REGIONS = 0.7  # of what is good enough, that regions are solved to
ROUNDS_OF_REGIONS, ROUNDS_OF_DOMAINS = 20, 40
MOST_TOGETHER = 6000  # bodies that begin all together: of more, the processor's cache does not hold the factor
OF_A_DOMAIN = 1000  # bodies
OF_A_REGION = 60  # looks at the residuals
OF_A_RUN = 256  # contacts, of regions that one thread solves

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


def begin_large(system: System, tolerance: float, effort: Indices, impulse: Floats, threads: int) -> tuple[int, Found]:
    """Improve the impulses (m, 3) of a large system until their natural map is within a tolerance, in so many threads; returns
    the factorisations, and what found them. No answer depends on the number of threads."""
    fastest, _ = scales(system, impulse)
    enough = ACCEPTABLE * tolerance * fastest
    aims, some = (TARGET * tolerance * fastest, enough, enough), int(FEW_FAR * len(impulse))
    kappa, v, errors = effective_masses(effective_inverse_mass(system)), np.empty_like(system.velocity), np.empty(len(impulse))
    bodies = len(system.offset) - 1
    together = bodies <= MOST_TOGETHER
    of_a_domain = bodies if together else OF_A_DOMAIN
    found, factorisations = Found.START, 0

    def all_together(few: int) -> int:
        nonlocal found
        found, _ = sweep_and_split(system, aims, effort, impulse, v, threads, few)
        return int(effort[DONE])

    if together:
        measure_each(system, impulse, kappa, v, errors)
        if np.count_nonzero(errors > enough) > some:
            factorisations += all_together(some)
    for _ in range(ROUNDS_OF_REGIONS if together else ROUNDS_OF_DOMAINS):
        measure_each(system, impulse, kappa, v, errors)
        if errors.max() <= enough or effort[BELL] > 0 or is_worked_off(effort, len(impulse)):
            return factorisations, found
        chosen = regions_around(system, errors, enough)
        if together and len(chosen) > MOST_IN_REGIONS * len(impulse):
            break
        factorisations += solve_regions(system, chosen, v, WITHIN_REGIONS * enough, of_a_domain, effort, impulse, threads)
        found = Found.ADMM
    return factorisations + all_together(0), found


def begin_standing(system: System, tolerance: float, effort: Indices, impulse: Floats, threads: int) -> tuple[int, Found]:
    """Improve the impulses (m, 3) of a large system that stands until their natural map is well within a tolerance below
    `COARSE`, or no longer converges, in so many threads; returns the factorisations, and what found them. No answer depends on
    the number of threads.

    There are no sweeps, which load redundant contacts unevenly: what begins with them is slower by half, or ends nowhere."""
    fastest, _ = scales(system, impulse)
    kappa, v, errors = effective_masses(effective_inverse_mass(system)), np.empty_like(system.velocity), np.empty(len(impulse))
    measure_each(system, impulse, kappa, v, errors)
    if errors.max() <= ACCEPTABLE * tolerance * fastest or effort[BELL] > 0 or is_worked_off(effort, len(impulse)):
        return 0, Found.START
    if errors.max() > fastest:
        # worse than none: contacts that fit exactly get other features by rounding, and impulses of some of a face unbalance it
        impulse[:] = 0.0
    aims = TARGET * tolerance * fastest, TO_SPARE * tolerance * fastest, ACCEPTABLE * COARSE * fastest
    found, _ = sweep_and_split(system, aims, effort, impulse, v, threads, swept=False)
    return int(effort[DONE]), found


def solve_regions(
    system: System, chosen: Indices, v: Floats, enough: float, most: int, effort: Indices, impulse: Floats, threads: int
) -> int:
    """Solve for the impulses (m, 3) of chosen contacts, with all others held, region by region, those of more than so many
    bodies domain by domain, to `enough` (m/s); returns the factorisations. v: the velocities of the impulses."""
    part, _ = subsystem(system._replace(velocity=v), chosen, np.full(len(system.offset) - 1, -1))
    domains = domains_of(len(part.offset) - 1, part.body_a, part.body_b, most)
    before = impulse[chosen]
    after = before.copy()
    pieces = runs(np.diff(domains[0]), OF_A_RUN)
    efforts = np.tile(effort, (len(pieces), 1))
    solve = partial(_solve_each, part, domains, enough, before, after)
    tasks = [partial(solve, np.arange(*piece), efforts[i]) for i, piece in enumerate(pieces)]

    def pass_on() -> None:
        efforts[:, BELL] = effort[BELL]

    done = side_by_side(threads, tasks, pass_on)
    effort[WORK] += (efforts[:, WORK] - effort[WORK]).sum()
    impulse[chosen] = after
    return sum(done)


@kernel
def _solve_each(system, domains, enough, before, after, which, effort):
    """Solve some domains, as from `domains_of`, of a system whose velocities are those of the impulses before, (m, 3); of the
    impulses after, (m, 3), each writes what it answers for. Returns the factorisations."""
    start, contacts, owner = domains
    number, factorisations = np.full(system.offset.size - 1, -1, np.int64), 0
    for i in which:
        chosen = contacts[start[i] : start[i + 1]]
        part, _ = subsystem(system, chosen, number)
        some = before[chosen]
        _without(part, some)
        is_whole = True
        for k in chosen:
            is_whole &= owner[k] == i
        work = workspace_in_parts(new_board(0), part, some)
        few, looks = (0, OF_A_REGION) if is_whole else (int(FEW_FAR * chosen.size), MAX_CHECKS)
        _, error = lead(work, enough, enough, enough, few, looks, effort, TRUE)
        factorisations += effort[DONE]
        if np.isfinite(error):
            for k in range(chosen.size):
                if owner[chosen[work.contact[k]]] == i:
                    after[chosen[work.contact[k]]] = work.impulse[k]
    return factorisations


@inner_kernel
def _without(system, impulse):
    """Take what impulses (m, 3) give from the velocities of a system."""
    momentum, v = np.zeros(system.velocity.size), np.empty(system.velocity.size)
    transpose_product(system, impulse, momentum)
    apply_inverse_mass(system, momentum, v)
    system.velocity[:] -= v


@kernel
def regions_around(system, errors, enough):
    """The contacts, and rows of joints, of regions around those whose errors (m,) are beyond `enough`, ascending."""
    m, bodies = system.body_a.size, system.offset.size - 1
    inside = np.zeros(bodies + 1, np.bool_)  # what never moves, index -1, is the last one
    for k in range(m):
        if not errors[k] <= enough:
            inside[system.body_a[k]] = inside[system.body_b[k]] = True
    inside[bodies] = False
    for _ in range(RINGS):
        before = inside.copy()
        for k in range(m):
            if before[system.body_a[k]] or before[system.body_b[k]]:
                inside[system.body_a[k]] = inside[system.body_b[k]] = True
        inside[bodies] = False
    inside[bodies] = True
    chosen = np.empty(m, np.int64)
    count = 0
    for k in range(m):
        if inside[system.body_a[k]] and inside[system.body_b[k]]:
            chosen[count] = k
            count += 1
    return chosen[:count].copy()


@kernel
def velocities(system, impulse, v):
    """v := v_hat + M^-1 J^T lam."""
    momentum = np.zeros(system.velocity.size)
    transpose_product(system, impulse, momentum)
    apply_inverse_mass(system, momentum, v)
    v += system.velocity


@kernel
def measure_each(system, impulse, kappa, v, errors):
    """errors (m,) := the natural map of each contact and joint, m/s, 0 where nothing can move; v := the velocities of the
    impulses. kappa: (m,)."""
    velocities(system, impulse, v)
    for k in range(errors.size):
        errors[k] = 0.0
        if kappa[k] > 0.0:
            errors[k], _ = natural_error_between(system, impulse, v, kappa, 0, k, k + 1, np.inf)
