# SPDX-License-Identifier: GPL-3.0-or-later
"""The cascade: which proposal is made when to Staggered Projections, and what becomes of it.

Staggering converges as slowly as normal and tangential impulses are coupled (a leaning card, section 4 of Kaufman et al. 2008),
and from far away not at all. So impulses are proposed, in this order:

| proposal           | where                                                      | to                        |
| ------------------ | ---------------------------------------------------------- | ------------------------- |
| impulses given     | always                                                     | the tolerance             |
| sweeps, then ADMM  | islands that move or are large, but not mostly joints      | COARSE where few, else it |
| both, by regions   | islands of more than LARGE bodies (`beforehand`)           | the tolerance, or COARSE  |
| Newton's method    | what is not solved, before each further iteration          | the target                |

Each proposal is followed by one iteration of Algorithm 1, which accepts it as the fixed point (26) that it is or not, and
whose friction the next one may begin with. Newton's tries begin with the penalties of `newton.FIRST_PENALTIES` in turn, the
last of them from the nearest impulses so far.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, kernel, kernel_part
from ...problem.residuals import natural_error
from ...problem.result import Found, Status
from ..block_operator import State, update_velocities
from ..criteria import ACCEPTABLE, Request, relative_target
from ..effort import DONE, OVERDUE, allow, patience, spent
from ..kaufman_2008.staggered import (
    HOPELESS,
    Answer,
    gap_velocities,
    holding,
    into_cones,
    iterate,
    projections,
    relative_residual,
    score,
    staggered,
    take,
    undo_what_breaks_contact,
)
from .first_order import propose
from .newton import FIRST_PENALTIES, newton

__all__ = ["ACCELERATED", "VARIANTS", "Request", "solve_island", "solve_system"]

ACCELERATED, PLAIN, PUBLISHED = 0, 1, 2
VARIANTS = {"accelerated": ACCELERATED, "plain": PLAIN, "published": PUBLISHED}

TOO_FAST = 1e-5  # of the fastest velocity: what leaves a contact by more is no answer, however good the rest
PROGRESS = 0.1  # of the residual of the iteration before: a proposal that comes so near is taken, though it is no solution yet


@inner_kernel
def _measured(shared, holds, state):
    """The score of a state, and how fast the contact is left that is broken most, m/s."""
    velocity = np.empty((state.impulse.shape[0], 3))
    off = gap_velocities(shared.operator.system, state.v, velocity)
    return score(shared, relative_residual(shared, state, velocity), off, holds), off


@kernel_part
def _take_if_better(shared, holds, least, proposed, state):
    """Take a proposed state where its score is below the least."""
    rank, off = _measured(shared, holds, proposed)
    if off <= TOO_FAST * shared.criteria.scale and rank < least:
        take(state, proposed)


@kernel_part
def _try_newton(shared, tries, errors, effort, state, nearest):
    """Newton's method with the penalty whose turn it is; returns the natural map of the nearest state, relative, and whether
    what was found is taken, in which case it is the impulses of the state. Both states are brought up to date.

    errors: natural map of the nearest and Coulomb residual of the last iteration, relative.
    """
    (near, coulomb), criteria = errors, shared.criteria
    if tries == 0:
        near = _natural_map(shared, nearest)
    turn = tries % len(FIRST_PENALTIES)
    start = nearest.impulse if turn == len(FIRST_PENALTIES) - 1 and near < coulomb else state.impulse
    found = State(start.copy(), state.v)
    reached = newton(shared.operator, shared.sides, FIRST_PENALTIES[turn], criteria, effort, found)
    if reached < near * criteria.scale:
        near = reached / criteria.scale
        take(nearest, found)
    taken = reached <= max(criteria.acceptable, PROGRESS * coulomb * criteria.scale)
    if taken:
        state.impulse[:] = found.impulse
    return near, taken


@kernel_part
def _natural_map(shared, state):
    """The natural map of a state, relative, whose velocities are brought up to date."""
    operator = shared.operator
    update_velocities(operator.system, state)
    error = natural_error(operator.system, state.impulse, state.v, operator.kappa, shared.sides)
    return error / shared.criteria.scale


@inner_kernel
def _propose(shared, request, effort, state):
    """What methods of first order make of a state; returns what found it, and whether Newton's method is next."""
    if request.sides > 0:
        return Found.START, False
    return propose(shared.operator, shared.criteria, request.moving, effort, state)


@kernel_part
def solve_island(system, request, effort, state, history):
    """Solve a `System` by proposals to Staggered Projections; returns an `Answer`.

    effort: what it may cost. state: impulses of contacts, and of the rows of joints, warm start and answer; velocities, answer.
    history: (max_iterations, 3) relative error (28), residual (29) and relative Coulomb residual of each iteration.
    """
    m, n, tolerance = system.body_a.size, system.velocity.size, request.tolerance
    impulse, v = state.impulse, state.v
    v[:] = system.velocity
    holds, target = holding(tolerance), relative_target(tolerance, request.moving)
    shared = projections(system, request.sides, impulse, target, ACCEPTABLE * tolerance)
    allow(effort, request.max_iterations, shared.operator.blocks.structure.target.size, m)
    into_cones(system, impulse)
    best, least = State(impulse.copy(), v.copy()), np.inf
    found, coarse = _propose(shared, request, effort, state)
    if coarse:
        least, _ = _measured(shared, holds, state)
        take(best, state)
    answer, nearest = State(np.empty((m, 3)), np.empty(n)), State(impulse.copy(), np.empty(n))
    near, mark, progressed, coulomb = np.inf, np.inf, 0, np.inf
    done, broken, tries, first_contact, first_friction = 0, 0, 0, 0, 0
    for i in range(request.max_iterations):
        done = i + 1
        found = found if i == 0 else Found.STAGGERING
        if i > 0 or coarse:
            near, taken = _try_newton(shared, tries, (near, coulomb), effort, state, nearest)
            found = Found.NEWTON if taken else found
            tries += 1
            if i > 0 and spent(effort):
                # a proposal cut short is none, and contact is intact in what there was before
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
            take(state, answer)
            return Answer(Status.SOLVED, done, found, first_contact, first_friction)
        broken = 0 if now.off <= holds * shared.criteria.scale else broken + 1
        rank = score(shared, coulomb, now.off, holds)
        if rank < least:
            least = rank
            take(best, answer)
        if min(near, coulomb) <= 0.5 * mark:
            mark, progressed = min(near, coulomb), effort[DONE]
        given_up = tries >= len(FIRST_PENALTIES) and effort[DONE] - progressed >= patience(effort)
        if spent(effort) or broken == HOPELESS or given_up:
            break
    take(state, best)
    if near < np.inf and effort[OVERDUE] == 0:
        # when time is over nothing comes after contact
        _take_if_better(shared, holds, least, nearest, state)
    undo_what_breaks_contact(shared, holds, state)
    status = Status.TIME_LIMIT if effort[OVERDUE] > 0 else Status.MAX_ITERATIONS
    return Answer(status, done, found, first_contact, first_friction)


@kernel
def solve_system(system, request, variant, effort, impulse, v, history):
    """Solve a `System` by a variant of Staggered Projections; returns an `Answer`. impulse: (m, 3) warm start and answer. v:
    (n,) velocities, answer. All else as of `solve_island`."""
    effort[DONE] = 0
    if system.body_a.size == 0:
        v[:] = system.velocity
        return Answer(Status.SOLVED, 0, Found.START, 0, 0)
    state = State(impulse, v)
    if variant == ACCELERATED:
        return solve_island(system, request, effort, state, history)
    return staggered(system, request, variant == PUBLISHED, effort, state, history)
