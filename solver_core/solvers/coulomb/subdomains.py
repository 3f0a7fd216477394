# SPDX-License-Identifier: GPL-3.0-or-later
"""Large islands: the methods of first order on all of one, until few contacts are left, then subdomain by subdomain.

After a hundred iterations of the alternating direction method all but one in a hundred contacts of a heap are good, and those
are in a few places, which take hundreds more. The more bodies a heap has, the more such places, and the worst of them sets the
time for all. So the bodies at those contacts, and those around them, make regions: the impulses of all contacts that are not
wholly within one are held, and each is solved by itself, for as long as it takes (the additive Schwarz method; Xu 1992,
"Iterative methods by space decomposition and subspace correction"). What that moves at their borders begins the regions of the
next round. When a step is tried again, for contacts found at its end, few contacts are new, and that is all that is done.

What is very large is not begun all together, and its regions are cut into domains (`partition.py`), which overlap: each answers
for the contacts of its own bodies alone (the restricted additive Schwarz method; Cai and Sarkis 1999, "A restricted additive
Schwarz preconditioner for general sparse linear systems"). A factor of a whole heap takes more for each body, the more bodies
there are, and is read in every iteration; that of a domain is not. Subdomains are solved side by side.

What stands is asked for more digits, and has them all from the alternating direction method, which converges linearly where
nobody changes between sticking and sliding any more (`begin_standing`).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import TRUE, kernel, kernel_part
from ...problem.residuals import effective_masses
from ...problem.result import Found
from ...problem.subsystem import subsystem
from ...problem.system import System, apply_inverse_mass, effective_inverse_mass
from ...threads.side_by_side import runs, side_by_side
from ..block_operator import BOTH, State, generalised_impulse, measure_each
from ..criteria import ACCEPTABLE, COARSE, MAX_CHECKS, OF_STANDING, WITHIN_SUBDOMAINS, StoppingCriteria
from ..effort import DONE, OVERDUE, WORK, is_worked_off
from .first_order import sweeps_and_admm
from .partition import domains, regions

__all__ = ["MOST_TOGETHER", "begin_large", "begin_standing", "regions_around", "solve_subdomains"]

FEW_UNCONVERGED = 0.01  # of the contacts: what is left to regions
RINGS = 3  # of bodies around those of a contact that is not good: with two there are half as many rounds again
MOST_IN_REGIONS = 0.35  # of the contacts, that are in regions; more are solved for with all others
ROUNDS_OF_REGIONS, ROUNDS_OF_DOMAINS = 20, 40
MOST_TOGETHER = 6000  # bodies that begin all together: of more, the processor's cache does not hold the factor
OF_A_DOMAIN = 1000  # bodies
CHECKS_OF_A_REGION = 60  # of the residuals
OF_A_RUN = 256  # contacts, of subdomains that one thread solves

Indices = NDArray[np.int64]


def begin_large(system: System, criteria: StoppingCriteria, effort: Indices, state: State, threads: int) -> tuple[int, Found]:
    """Improve the state of a large system until its natural map is acceptable, in so many threads; returns the factorisations,
    and what found it. No answer depends on the number of threads."""
    acceptable, count = criteria.acceptable, len(state.impulse)
    kappa, few = effective_masses(effective_inverse_mass(system)), int(FEW_UNCONVERGED * count)
    together = len(system.offset) - 1 <= MOST_TOGETHER
    found, factorisations = Found.START, 0

    def all_together(max_unconverged: int) -> int:
        nonlocal found
        whole = criteria._replace(max_unconverged=max_unconverged)
        found = Found(sweeps_and_admm(system, whole, True, effort, state)[0])
        return int(effort[DONE])

    if together and np.count_nonzero(measure_each(system, kappa, state) > acceptable) > few:
        factorisations += all_together(few)
    for _ in range(ROUNDS_OF_REGIONS if together else ROUNDS_OF_DOMAINS):
        errors = measure_each(system, kappa, state)
        if errors.max() <= acceptable or effort[OVERDUE] > 0 or is_worked_off(effort, count):
            return factorisations, found
        chosen = regions_around(system, errors, acceptable)
        if together and len(chosen) > MOST_IN_REGIONS * count:
            break
        within = WITHIN_SUBDOMAINS * acceptable
        inner = criteria._replace(target=within, acceptable=within, fallback=within)
        factorisations += solve_subdomains(system, chosen, inner, effort, state, threads)
        found = Found.ADMM
    return factorisations + all_together(0), found


def begin_standing(system: System, criteria: StoppingCriteria, effort: Indices, state: State) -> tuple[int, Found]:
    """Improve the state of a large system that stands until its natural map is well within a tolerance below `COARSE`, or no
    longer converges; returns the factorisations, and what found it.

    There are no sweeps, which load redundant contacts unevenly: what begins with them is slower by half, or ends nowhere."""
    errors = measure_each(system, effective_masses(effective_inverse_mass(system)), state)
    if errors.max() <= criteria.acceptable or effort[OVERDUE] > 0 or is_worked_off(effort, len(errors)):
        return 0, Found.START
    if errors.max() > criteria.scale:
        # worse than none: contacts that fit exactly get other features by rounding, and impulses of some of a face unbalance it
        state.impulse[:] = 0.0
    closer = criteria._replace(acceptable=OF_STANDING * criteria.acceptable, fallback=ACCEPTABLE * COARSE * criteria.scale)
    found, _ = sweeps_and_admm(system, closer, False, effort, state)
    return int(effort[DONE]), Found(found)


def solve_subdomains(
    system: System, chosen: Indices, criteria: StoppingCriteria, effort: Indices, state: State, threads: int
) -> int:
    """Solve for the impulses of chosen contacts, with all others held, subdomain by subdomain; returns the factorisations. The
    velocities of the state are those of its impulses before."""
    bodies = len(system.offset) - 1
    part, _ = subsystem(system._replace(velocity=state.v), chosen, np.full(bodies, -1))
    if bodies <= MOST_TOGETHER:
        pieces = regions(len(part.offset) - 1, part.body_a, part.body_b)
    else:
        pieces = domains(len(part.offset) - 1, part.body_a, part.body_b, OF_A_DOMAIN)
    before = state.impulse[chosen]
    after = before.copy()
    tasks, efforts = [], []
    for first, last in runs(np.diff(pieces.start), OF_A_RUN):
        efforts.append(effort.copy())
        tasks.append(partial(_solve_each, part, pieces, np.arange(first, last), criteria, efforts[-1], before, after))

    def pass_on() -> None:
        for one in efforts:
            one[OVERDUE] = effort[OVERDUE]

    done = side_by_side(threads, tasks, pass_on)
    effort[WORK] += sum(int(one[WORK] - effort[WORK]) for one in efforts)
    state.impulse[chosen] = after
    return sum(done)


@kernel
def _solve_each(system, pieces, which, criteria, effort, before, after):
    """Solve some subdomains of a system whose velocities are those of the impulses before, (m, 3); of the impulses after,
    (m, 3), each writes what it answers for. Returns the factorisations."""
    owner = pieces.owner
    number, factorisations = np.full(system.offset.size - 1, -1, np.int64), 0
    for i in which:
        chosen = pieces.contacts[pieces.start[i] : pieces.start[i + 1]]
        part, _ = subsystem(system, chosen, number)
        some = before[chosen]
        _without(part, some)
        is_whole = True
        for k in chosen:
            is_whole &= owner[k] == i
        few, checks = (0, CHECKS_OF_A_REGION) if is_whole else (int(FEW_UNCONVERGED * chosen.size), MAX_CHECKS)
        inner = StoppingCriteria(criteria.target, criteria.acceptable, criteria.fallback, criteria.scale, few, checks)
        _, error = sweeps_and_admm(part, inner, TRUE, effort, State(some, np.empty(part.velocity.size)))
        factorisations += effort[DONE]
        if np.isfinite(error):
            for k in range(chosen.size):
                if owner[chosen[k]] == i:
                    after[chosen[k]] = some[k]
    return factorisations


@kernel_part
def _without(system, impulse):
    """Take what impulses (m, 3) give from the velocities of a system."""
    momentum, v = np.empty(system.velocity.size), np.empty(system.velocity.size)
    generalised_impulse(system, BOTH, impulse.shape[0], impulse, momentum)
    apply_inverse_mass(system, momentum, v)
    system.velocity[:] -= v


@kernel
def regions_around(system, errors, acceptable):
    """The contacts, and rows of joints, of regions around those whose errors (m,) are beyond what is acceptable, ascending."""
    m, bodies = system.body_a.size, system.offset.size - 1
    inside = np.zeros(bodies + 1, np.bool_)  # what never moves, index -1, is the last one
    for k in range(m):
        if not errors[k] <= acceptable:
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
