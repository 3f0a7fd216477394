# SPDX-License-Identifier: GPL-3.0-or-later
"""The cascade: the order of the proposals to Staggered Projections, and their acceptance. Bakes and `sc.solve` share it.

Staggering converges slowly if normal and tangential impulses are strongly coupled (a leaning card, section 4 of Kaufman et al.
2008), and may not converge at all from a distant start. So other methods propose impulses, in this order:

| proposal                       | problems                                          | bound                                   |
| ------------------------------ | ------------------------------------------------- | --------------------------------------- |
| warm start                     | all                                               | acceptable                              |
| joints eliminated              | joints with few contacts, or with as many         | target                                  |
| first order, by regions        | more than `LARGE` bodies                          | acceptable, at least `COARSE` if moving |
| first order: sweeps, then ADMM | moving or many bodies, not mostly joints          | acceptable, at least `COARSE` if few    |
| Newton's method                | unsolved ones, before each further iteration      | target                                  |

The bounds on the natural map are those of `criteria.py`. `solve_system` eliminates joints. `propose_beforehand` starts large
islands, from Python. `solve_island` makes all other proposals; a new one belongs there. Problems given as a matrix get
proposals before the cascade (`laboratory/given_as_matrix.py`). Eliminated joints are accepted like a warm start. Each other
proposal is followed by one iteration of Algorithm 1 (`kaufman_2008/staggered.py`), which alone decides: impulses are solved if
it leaves them unchanged, a fixed point (26) by the relative error (28), and if their Coulomb residuals are within the
tolerance. Otherwise the next iteration starts from its friction. If nothing is accepted, the iterate with the best `score` is
returned, and its status is not SOLVED.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.copying import copy_rows, copy_vector
from ...problem.residuals import fastest_velocity, natural_error
from ...problem.result import Found, Status
from ...problem.system import System
from ..block_operator import State, update_velocities
from ..criteria import (
    ACCEPTABLE,
    COARSE,
    HALVED,
    LARGE,
    MAX_CHECKS,
    OF_FIXED_POINT,
    Request,
    StoppingCriteria,
    criteria_at,
    is_held,
    relative_target,
)
from ..effort import DONE, OVERDUE, allow, patience, spent
from ..kaufman_2008.staggered import (
    Answer,
    gap_velocities,
    into_cones,
    iterate,
    projections,
    relative_residual,
    staggered,
    take,
    undo_penetration,
)
from .elimination import can_eliminate, propose_elimination
from .first_order import propose
from .newton import FIRST_PENALTIES, newton
from .subdomains import MOST_TOGETHER, begin_large, begin_standing

__all__ = ["ACCELERATED", "VARIANTS", "Request", "is_large", "propose_beforehand", "solve_island", "solve_system"]

# Variants of Staggered Projections: with proposals, without, and as published, with the paper's stopping rule and result.
ACCELERATED, PLAIN, PUBLISHED = 0, 1, 2
VARIANTS = {"accelerated": ACCELERATED, "plain": PLAIN, "published": PUBLISHED}

# Largest penetration speed of returned impulses, relative to the velocity scale. With a larger one, missed steps overlap
# visibly; with a smaller one, worse impulses are returned.
TOO_FAST = 1e-5
# First penalty of Newton's method for solved static structures, times the effective inverse mass. It is large because the start
# is near. A smaller one needs more proximal steps.
PENALTY_OF_STANDING = 1e5
# A proposal is taken if its error is this fraction of the last iteration's, even if it is not acceptable. A larger one replaces
# the published sequence more often, a smaller one discards useful proposals.
PROGRESS = 0.1
BROKEN = 10.0  # factor on the score of impulses that violate contact; a larger one returns worse friction with intact contact
HOPELESS = 3  # consecutive failures of the contact projection that end a solve, because better friction would not mend them


class _Errors(NamedTuple):
    """The natural map of the nearest state, and the Coulomb residual of the last iteration, both relative."""

    nearest: float
    coulomb: float


def is_large(system: System) -> bool:
    """Return True if a system has so many bodies that it is started by regions."""
    return len(system.offset) - 1 > LARGE


def propose_beforehand(
    system: System, request: Request, variant: int, effort: NDArray[np.int64], impulse: NDArray[np.float64], threads: int
) -> tuple[int, Found]:
    """Improve the impulses of a large system before the cascade.

    variant: variant of Staggered Projections; only the accelerated one with the friction disk has proposals.
    effort: counts and bounds the work.
    impulse: (m, 3) on input, the warm start; on output, the proposal [N s].
    threads: number of threads; the result does not depend on it.

    Returns the number of factorizations, and the method that found the impulses.
    """
    if variant != ACCELERATED or request.sides > 0 or not len(impulse) or can_eliminate(system, request.sides):
        return 0, Found.START
    if is_large(system):
        # Moving islands get their last digits from Newton's method, static ones from many iterations of ADMM.
        together = len(system.offset) - 1 <= MOST_TOGETHER
        scale, state = fastest_velocity(system), State(impulse, np.empty_like(system.velocity))
        if not request.tumbles and request.tolerance < COARSE and together:
            return begin_standing(system, criteria_at(request.tolerance, scale), effort, state)
        return begin_large(system, criteria_at(max(request.tolerance, COARSE), scale), effort, state, threads)
    return 0, Found.START


@leaf_kernel
def score(projections, coulomb, off, tolerance):
    """Return the score of an iterate; the one with the smallest score is returned if none is accepted.

    It is the Coulomb residual, and more if contact is violated. off: penetration speed [m/s].
    """
    fastest = projections.criteria.scale
    return coulomb if is_held(off, tolerance, fastest) else BROKEN * max(coulomb, off / fastest)


@inner_kernel
def _measured(shared, tolerance, state):
    """Return the score of a state and its penetration speed [m/s]."""
    velocity = np.empty((state.impulse.shape[0], 3))
    off = gap_velocities(shared.operator.system, state.v, velocity)
    return score(shared, relative_residual(shared, state, velocity), off, tolerance), off


@kernel_part
def _try_newton(shared, tumbles, tries, errors, effort, state, nearest):
    """Try Newton's method with the next of the first penalties.

    tumbles: True if the system is known to be moving. A static structure that is solved is refined to a fixed point.
    tries: number of tries before.
    errors: `_Errors` of the nearest state and the last iteration.
    effort: counts and bounds the work.
    state: on output, the proposal if it is taken.
    nearest: state with the smallest natural map so far; updated.

    Returns the relative natural map of the nearest state, and whether the proposal is taken.
    """
    near, criteria, operator = errors.nearest, shared.criteria, shared.operator
    if tries == 0:
        update_velocities(operator.system, nearest)
        error = natural_error(operator.system, nearest.impulse, nearest.v, operator.kappa, shared.sides)
        near = error / criteria.scale
    penalty, wanted = FIRST_PENALTIES[tries % len(FIRST_PENALTIES)], criteria
    found = State(state.impulse.copy(), state.v)
    if not tumbles and tries == 0 and near * criteria.scale <= criteria.acceptable:
        # The remaining error would move the structure in the next step, and it would never come to rest.
        aim, scale = OF_FIXED_POINT * criteria.target, criteria.scale
        penalty, wanted = PENALTY_OF_STANDING, StoppingCriteria(aim, aim, criteria.fallback, scale, 0, MAX_CHECKS)
    reached = newton(operator, shared.sides, penalty, wanted, effort, found)
    if reached < near * criteria.scale:
        near = reached / criteria.scale
        take(nearest, found)
    taken = reached <= max(criteria.acceptable, PROGRESS * errors.coulomb * criteria.scale)
    if taken:
        copy_rows(found.impulse, state.impulse)
    return near, taken


@kernel_part
def _propose(shared, request, effort, state):
    """Let first-order methods improve a state. Return the method that found it, and whether Newton's method is next."""
    if request.sides > 0:
        return Found.START, False
    return propose(shared.operator, shared.criteria, request.tumbles, effort, state)


@kernel_part
def _take_if_better(shared, tolerance, least, proposed, state):
    """Copy a proposed state to `state` if its score is smaller than `least` and contact is nearly intact."""
    rank, off = _measured(shared, tolerance, proposed)
    if off <= TOO_FAST * shared.criteria.scale and rank < least:
        take(state, proposed)


@kernel_part
def solve_island(system, request, proposes, effort, state, history):
    """Solve a `System` by Staggered Projections with proposals, and return an `Answer`.

    A solution is accepted by (28) and by its Coulomb residuals.

    request: `Request`.
    proposes: True if other methods propose impulses.
    effort: counts and bounds the work.
    state: on input, the warm start; on output, impulses and velocities.
    history: (max_iterations, 3) output: relative error (28), residual (29) and relative Coulomb residual of each iteration.
    """
    m, n, tolerance = system.body_a.size, system.velocity.size, request.tolerance
    impulse = state.impulse
    copy_vector(system.velocity, state.v)
    target = relative_target(tolerance, request.tumbles)
    shared = projections(system, request.sides, target, ACCEPTABLE * tolerance)
    allow(effort, request.max_iterations, shared.operator.blocks.structure.target.size, m)
    into_cones(system, impulse)
    best, least = State(impulse.copy(), state.v.copy()), np.inf
    found, by_newton = _propose(shared, request, effort, state) if proposes else (Found.START, False)
    # After the deadline a contact projection comes first, because no proposal satisfies contact exactly.
    by_newton = by_newton and not spent(effort)
    if by_newton:
        least, _ = _measured(shared, tolerance, state)
        take(best, state)
    answer, nearest = State(np.empty((m, 3)), np.empty(n)), State(impulse.copy(), np.empty(n))
    near, mark, progressed, coulomb = np.inf, np.inf, 0, np.inf
    done, broken, tries, first_contact, first_friction = 0, 0, 0, 0, 0
    for i in range(request.max_iterations):
        done = i + 1
        found = found if i == 0 else Found.STAGGERING
        if by_newton or (proposes and i > 0):
            near, taken = _try_newton(shared, request.tumbles, tries, _Errors(near, coulomb), effort, state, nearest)
            found = Found.NEWTON if taken else found
            tries += 1
            if i > 0 and spent(effort):
                # An interrupted proposal is dropped, because the previous iterate satisfies contact.
                done = i
                break
        now = iterate(shared, effort, state, answer)
        coulomb = now.coulomb
        history[i, 0], history[i, 1], history[i, 2] = now.change, now.residual, coulomb
        if i == 0:
            first_contact, first_friction = now.of_contact, now.of_friction
            found = Found.STAGGERING if first_contact > 0 and found == Found.START else found
        if not np.isfinite(coulomb):
            return Answer(Status.NOT_FINITE, done, found, first_contact, first_friction)
        if now.change <= tolerance and coulomb <= tolerance:
            # The friction f is a fixed point, and its contact projection is the answer.
            take(state, answer)
            return Answer(Status.SOLVED, done, found, first_contact, first_friction)
        broken = 0 if is_held(now.off, tolerance, shared.criteria.scale) else broken + 1
        rank = score(shared, coulomb, now.off, tolerance)
        if rank < least:
            least = rank
            take(best, answer)
        if min(near, coulomb) <= HALVED * mark:
            mark, progressed = min(near, coulomb), effort[DONE]
        given_up = tries >= len(FIRST_PENALTIES) and effort[DONE] - progressed >= patience(effort)
        if spent(effort) or broken == HOPELESS or given_up:
            break
    take(state, best)
    if near < np.inf and effort[OVERDUE] == 0:
        # After the deadline the result of a contact projection is kept.
        _take_if_better(shared, tolerance, least, nearest, state)
    undo_penetration(shared, tolerance, state)
    status = Status.TIME_LIMIT if effort[OVERDUE] > 0 else Status.MAX_ITERATIONS
    return Answer(status, done, found, first_contact, first_friction)


@kernel
def solve_system(system, request, variant, effort, impulse, v, history):
    """Solve a `System` by a variant of Staggered Projections, and return an `Answer`.

    variant: ACCELERATED, PLAIN or PUBLISHED.
    impulse: (m, 3) on input, the warm start; on output, the result [N s]. v: (n,) output, velocities.
    The other arguments are those of `solve_island`.
    """
    effort[DONE] = 0
    if system.body_a.size == 0:
        copy_vector(system.velocity, v)
        return Answer(Status.SOLVED, 0, Found.START, 0, 0)
    state, is_better, before = State(impulse, v), False, 0
    if variant == PUBLISHED:
        return staggered(system, request, effort, state, history)
    if variant == ACCELERATED and effort[OVERDUE] == 0 and can_eliminate(system, request.sides):
        is_accepted, is_better = propose_elimination(system, request, effort, state, history)
        if is_accepted:
            return Answer(Status.SOLVED, 1, Found.ELIMINATION, 0, 0)
        before = effort[DONE]
    answer = solve_island(system, request, variant == ACCELERATED, effort, state, history)
    effort[DONE] += before
    found = Found.ELIMINATION if is_better and answer.found == Found.START else answer.found
    return Answer(answer.status, answer.iterations, found, answer.first_contact, answer.first_friction)
