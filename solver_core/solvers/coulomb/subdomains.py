# SPDX-License-Identifier: GPL-3.0-or-later
"""Large islands: first-order methods on all contacts until few are unconverged, then subdomain by subdomain.

After a hundred iterations of ADMM, all but one in a hundred contacts of a pile have converged. The others are in a few places
and take hundreds of iterations more. A larger pile has more such places, and the slowest of them decides how long all contacts
take. So regions are formed from the bodies at those contacts and the bodies around them. All contacts that are not entirely in
a region keep their impulses, and each region is solved separately, for as long as it takes (the additive Schwarz method; Xu
1992, "Iterative methods by space decomposition and subspace correction"). The contacts that this changes at the borders start
the regions of the next round. When a step is solved again because contacts were added at its end, few contacts are new, and
only the regions around them are solved.

Very large islands are not started as a whole, and their regions are divided into overlapping domains (`partition.py`). Each
domain provides the impulses of the contacts of its own bodies only (the restricted additive Schwarz method; Cai and Sarkis
1999, "A restricted additive Schwarz preconditioner for general sparse linear systems"). The factor of a whole pile costs more
per body the more bodies there are, and each iteration reads it. The factor of a domain does not grow. Subdomains are solved in
parallel.

Static islands need more digits. ADMM alone provides them (`begin_standing`): it converges linearly once no contact changes
between sticking and sliding.
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
from ...threads.side_by_side import runs
from ..block_operator import BOTH, State, generalised_impulse, measure_each
from ..criteria import ACCEPTABLE, COARSE, MAX_CHECKS, OF_STANDING, WITHIN_SUBDOMAINS, StoppingCriteria
from ..effort import DONE, OF_A_RUN, OVERDUE, do_within_budget, is_worked_off
from .first_order import sweeps_and_admm
from .partition import domains, regions

__all__ = ["MOST_TOGETHER", "begin_large", "begin_standing", "regions_around", "solve_subdomains"]

FEW_UNCONVERGED = 0.01  # fraction of the contacts that is left to regions; more make regions large, fewer take long as a whole
RINGS = 3  # rings of bodies around an unconverged contact; with two, half as many rounds again are needed
MOST_IN_REGIONS = 0.35  # largest fraction of the contacts in regions; regions of half a pile make the rest of it worse
# Maximum number of rounds, after which the island is solved as a whole. Domains need more, because they start from nothing.
ROUNDS_OF_REGIONS, ROUNDS_OF_DOMAINS = 20, 40
MOST_TOGETHER = 6000  # largest number of bodies that start as a whole; the factor of more does not fit in the processor's cache
OF_A_DOMAIN = 1000  # bodies of a domain; larger ones cost more per body, smaller ones need more rounds
CHECKS_OF_A_REGION = 60  # limit of checks of ADMM in a region; a region that needs more goes on in the next round

Indices = NDArray[np.int64]


def begin_large(system: System, criteria: StoppingCriteria, effort: Indices, state: State, threads: int) -> tuple[int, Found]:
    """Improve the state of a large system until its natural map is acceptable.

    criteria: bounds on the natural map.
    effort: counts and bounds the work.
    state: on input, the warm start; on output, the proposal.
    threads: number of threads; the result does not depend on it.

    Returns the number of factorizations, and the method that found the state.
    """
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
    """Improve the state of a large static system by ADMM, until its natural map is well within a tolerance below `COARSE`.

    It also stops if the natural map no longer converges. There are no sweeps, because they load redundant contacts unevenly:
    ADMM is then half as fast, or does not converge.

    The arguments are those of `begin_large`.

    Returns the number of factorizations, and the method that found the state.
    """
    errors = measure_each(system, effective_masses(effective_inverse_mass(system)), state)
    if errors.max() <= criteria.acceptable or effort[OVERDUE] > 0 or is_worked_off(effort, len(errors)):
        return 0, Found.START
    if errors.max() > criteria.scale:
        # The warm start is worse than none. Round-off changes the features of contacts that fit exactly, so that only some
        # contacts of a face have impulses, and the face is out of balance.
        state.impulse[:] = 0.0
    closer = criteria._replace(acceptable=OF_STANDING * criteria.acceptable, fallback=ACCEPTABLE * COARSE * criteria.scale)
    found, _ = sweeps_and_admm(system, closer, False, effort, state)
    return int(effort[DONE]), Found(found)


def solve_subdomains(
    system: System, chosen: Indices, criteria: StoppingCriteria, effort: Indices, state: State, threads: int
) -> int:
    """Solve for the impulses of chosen contacts, subdomain by subdomain. All other impulses stay.

    chosen: contacts and joints, ascending.
    criteria: bounds on the natural map of a subdomain.
    effort: counts and bounds the work.
    state: on input, impulses and their velocities; on output, the impulses are new and the velocities unchanged.
    threads: number of threads; the result does not depend on it.

    Returns the number of factorizations.
    """
    bodies = len(system.offset) - 1
    part, _ = subsystem(system._replace(velocity=state.v), chosen, np.full(bodies, -1))
    if bodies <= MOST_TOGETHER:
        pieces = regions(len(part.offset) - 1, part.body_a, part.body_b)
    else:
        pieces = domains(len(part.offset) - 1, part.body_a, part.body_b, OF_A_DOMAIN)
    before = state.impulse[chosen]
    after = before.copy()

    def solve(which: Indices, of_run: Indices) -> int:
        return _solve_each(part, pieces, which, criteria, of_run, before, after)

    each = [np.arange(*run) for run in runs(np.diff(pieces.start), OF_A_RUN)]
    done = do_within_budget(threads, effort, [partial(solve, which) for which in each])
    state.impulse[chosen] = after
    return sum(done)


@kernel
def _solve_each(system, pieces, which, criteria, effort, before, after):
    """Solve some subdomains of a system, and return the number of factorizations.

    system: its velocities are those with the impulses `before`.
    pieces: `Subdomains`. which: indices of the subdomains to solve.
    criteria: bounds on the natural map. effort: counts and bounds the work.
    before: (m, 3) impulses [N s].
    after: (m, 3) output [N s]; each subdomain writes the impulses of the contacts that it owns.
    """
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
    """Subtract the velocities that impulses (m, 3) cause from the velocities of a system."""
    momentum, v = np.empty(system.velocity.size), np.empty(system.velocity.size)
    generalised_impulse(system, BOTH, impulse.shape[0], impulse, momentum)
    apply_inverse_mass(system, momentum, v)
    system.velocity[:] -= v


@kernel
def regions_around(system, errors, acceptable):
    """Return the contacts and joints of the regions around unconverged ones, ascending.

    errors: (m,) natural maps [m/s]. acceptable: bound on them [m/s].
    """
    m, bodies = system.body_a.size, system.offset.size - 1
    inside = np.zeros(bodies + 1, np.bool_)  # the last one is the world, whose index is -1
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
