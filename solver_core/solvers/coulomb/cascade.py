# SPDX-License-Identifier: GPL-3.0-or-later
"""The cascade: which proposal is made when to Staggered Projections, and what becomes of it. Bakes and `sc.solve` share it.

Staggering converges as slowly as normal and tangential impulses are coupled (a leaning card, section 4 of Kaufman et al. 2008),
and from far away not at all. So impulses are proposed, in this order:

| proposal                       | for what                                            | until                           |
| ------------------------------ | --------------------------------------------------- | ------------------------------- |
| impulses given                 | all                                                 | acceptable                      |
| joints eliminated              | joints with at most `MOST_BESIDE_JOINTS` contacts   | the target                      |
| first order, region by region  | more than `LARGE` bodies                            | acceptable, or at `COARSE`      |
| continuation in a compliance   | a matrix of more than `WIDE` degrees of freedom     | acceptable                      |
| first order: sweeps, then ADMM | what tumbles or has many bodies, not mostly joints  | acceptable, or few at `COARSE`  |
| Newton's method                | what is not solved, before each further iteration   | the target                      |

Bounds on the natural map are those of `criteria.py`. Joints are eliminated in `solve_system`. What is large or a matrix is
begun by `propose_beforehand`, in Python, and all else is proposed in `solve_island`; there is the place for another one. What
is eliminated is accepted like impulses that are given. After each other proposal there is an iteration of Algorithm 1
(`kaufman_2008/staggered.py`), and it alone decides: impulses are solved where it leaves them as they are, the fixed point (26),
by the relative error (28), and where their Coulomb residuals are within the tolerance. Else the next iteration begins with its
friction. Where nothing is accepted, the iterate with the best `score` is the answer, and is not called solved.
"""

from __future__ import annotations

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

# of Staggered Projections: with proposals, without, and as published, with its own stopping rule and choice of what to return
ACCELERATED, PLAIN, PUBLISHED = 0, 1, 2
VARIANTS = {"accelerated": ACCELERATED, "plain": PLAIN, "published": PUBLISHED}

TOO_FAST = 1e-5  # of the fastest velocity: what leaves a contact by more is no answer, however good the rest
PENALTY_OF_STANDING = 1e5  # times the effective inverse mass: the first one of Newton's method, where what stands is solved
PROGRESS = 0.1  # of the residual of the iteration before: a proposal that comes so near is taken, though it is no solution yet
BROKEN = 10.0  # times a residual: what breaks contact has to be so much better than what holds it
HOPELESS = 3  # iterations one after the other whose contact projection fails: friction is not what is wrong


def is_large(system: System) -> bool:
    """Whether a system is worth taking apart."""
    return len(system.offset) - 1 > LARGE


def propose_beforehand(
    system: System, request: Request, variant: int, effort: NDArray[np.int64], impulse: NDArray[np.float64], threads: int
) -> tuple[int, Found]:
    """Improve impulses (m, 3) of a large system; returns the factorisations, and what found the impulses.

    variant: of Staggered Projections; only the accelerated one, with the friction disk, has proposals. threads: that large
    systems are begun in; no answer depends on their number.
    """
    if variant != ACCELERATED or request.sides > 0 or not len(impulse):
        return 0, Found.START
    if is_large(system):
        # what tumbles needs its last digits from Newton's method, what stands has them from many iterations of first order
        together = len(system.offset) - 1 <= MOST_TOGETHER
        scale, state = fastest_velocity(system), State(impulse, np.empty_like(system.velocity))
        if not request.tumbles and request.tolerance < COARSE and together:
            return begin_standing(system, criteria_at(request.tolerance, scale), effort, state)
        return begin_large(system, criteria_at(max(request.tolerance, COARSE), scale), effort, state, threads)
    return 0, Found.START


@leaf_kernel
def score(projections, coulomb, off, tolerance):
    """What iterates are chosen by where none is accepted: the Coulomb residual, more where contact is broken by `off`, m/s."""
    fastest = projections.criteria.scale
    return coulomb if is_held(off, tolerance, fastest) else BROKEN * max(coulomb, off / fastest)


@inner_kernel
def _measured(shared, tolerance, state):
    """The score of a state, and how fast the contact is left that is broken most, m/s."""
    velocity = np.empty((state.impulse.shape[0], 3))
    off = gap_velocities(shared.operator.system, state.v, velocity)
    return score(shared, relative_residual(shared, state, velocity), off, tolerance), off


@kernel_part
def _try_newton(shared, tumbles, tries, errors, effort, state, nearest):
    """Newton's method with the penalty whose turn it is; returns the natural map of the nearest state so far, relative, and
    whether what was found is taken, in which case it is the impulses of the state.

    tumbles: whether the system is known to be no structure; what is one, and solved, goes on to a fixed point. errors: natural
    map of the nearest and Coulomb residual of the last iteration, relative. Both states are brought up to date.
    """
    (near, coulomb), criteria, operator = errors, shared.criteria, shared.operator
    if tries == 0:
        update_velocities(operator.system, nearest)
        error = natural_error(operator.system, nearest.impulse, nearest.v, operator.kappa, shared.sides)
        near = error / criteria.scale
    penalty, wanted = FIRST_PENALTIES[tries % len(FIRST_PENALTIES)], criteria
    found = State(state.impulse.copy(), state.v)
    if not tumbles and tries == 0 and near * criteria.scale <= criteria.acceptable:
        # the next step moves what this one leaves over, and then nothing stands
        aim, scale = OF_FIXED_POINT * criteria.target, criteria.scale
        penalty, wanted = PENALTY_OF_STANDING, StoppingCriteria(aim, aim, criteria.fallback, scale, 0, MAX_CHECKS)
    reached = newton(operator, shared.sides, penalty, wanted, effort, found)
    if reached < near * criteria.scale:
        near = reached / criteria.scale
        take(nearest, found)
    taken = reached <= max(criteria.acceptable, PROGRESS * coulomb * criteria.scale)
    if taken:
        copy_rows(found.impulse, state.impulse)
    return near, taken


@kernel_part
def _propose(shared, request, effort, state):
    """What methods of first order make of a state; returns what found it, and whether Newton's method is next."""
    if request.sides > 0:
        return Found.START, False
    return propose(shared.operator, shared.criteria, request.tumbles, effort, state)


@kernel_part
def _take_if_better(shared, tolerance, least, proposed, state):
    """Take a proposed state where its score is below the least."""
    rank, off = _measured(shared, tolerance, proposed)
    if off <= TOO_FAST * shared.criteria.scale and rank < least:
        take(state, proposed)


@kernel_part
def solve_island(system, request, proposes, effort, state, history):
    """Solve a `System` by Staggered Projections, accepted by their Coulomb residuals, too; returns an `Answer`.

    proposes: whether there are proposals. effort: what it may cost. state: impulses of contacts, and of the rows of joints,
    warm start and answer; velocities, answer. history: (max_iterations, 3) relative error (28), residual (29) and relative
    Coulomb residual of each iteration.
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
    # where time is over contact comes first, which is intact in nothing that was proposed
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
            near, taken = _try_newton(shared, request.tumbles, tries, (near, coulomb), effort, state, nearest)
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
            # f and P_F(alpha) agree: f is a fixed point, and the contact projection that goes with it is done
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
        # when time is over nothing comes after contact
        _take_if_better(shared, tolerance, least, nearest, state)
    undo_penetration(shared, tolerance, state)
    status = Status.TIME_LIMIT if effort[OVERDUE] > 0 else Status.MAX_ITERATIONS
    return Answer(status, done, found, first_contact, first_friction)


@kernel
def solve_system(system, request, variant, effort, impulse, v, history):
    """Solve a `System` by a variant of Staggered Projections; returns an `Answer`. impulse: (m, 3) warm start and answer. v:
    (n,) velocities, answer. All else as of `solve_island`."""
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
