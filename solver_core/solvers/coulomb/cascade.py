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

from typing import NamedTuple

import numpy as np

from ...compile.kernel import inner_kernel, kernel
from ...linalg.block_cholesky import room_of_factor
from ...problem.residuals import natural_error, relative_coulomb
from ...problem.result import Found, Status
from ..block_operator import Operator, State, update_velocities
from ..criteria import ACCEPTABLE, MAX_CHECKS, StoppingCriteria, relative_target
from ..effort import BELL, DONE, allow, patience, spent
from ..kaufman_2008.staggered import (
    HOPELESS,
    Answer,
    gap_velocities,
    holding,
    into_cones,
    iterate,
    projections,
    score,
    staggered,
    undo_what_breaks_contact,
)
from .first_order import propose
from .newton import FIRST_PENALTIES, NewtonMatrices, newton

__all__ = ["ACCELERATED", "VARIANTS", "Request", "solve_island", "solve_system"]

ACCELERATED, PLAIN, PUBLISHED = 0, 1, 2
VARIANTS = {"accelerated": ACCELERATED, "plain": PLAIN, "published": PUBLISHED}

TOO_FAST = 1e-5  # of the fastest velocity: what leaves a contact by more is no answer, however good the rest
PROGRESS = 0.1  # of the residual of the iteration before: a proposal that comes so near is taken, though it is no solution yet


class Request(NamedTuple):
    """What is asked of a solve: asked: what proposals and projections aim at, at most the tolerance, which is that of what is
    accepted; moving: whether the system is known to be no structure (see `propose`); max_iterations; sides: 0 for the friction
    disk, else K."""

    asked: float
    tolerance: float
    moving: bool
    max_iterations: int
    sides: int


@inner_kernel
def _measured(system, shared, holds, impulse, v):
    """The score of impulses (m, 3) and their velocities v (n,), and how fast the contact is left that is broken most, m/s."""
    velocity, value, index = np.empty((system.body_a.size, 3)), np.empty(5), np.empty(5, np.int64)
    off = gap_velocities(system, v, velocity)
    coulomb, _ = relative_coulomb(system, impulse, velocity, shared.kappa, shared.sides, shared.fastest, value, index)
    return score(shared, coulomb, off, holds), off


@inner_kernel
def _take_if_better(system, shared, holds, least, proposed, taken):
    """Take proposed impulses and velocities, both pairs of (m, 3) and (n,), where their score is below the least."""
    rank, off = _measured(system, shared, holds, proposed[0], proposed[1])
    if off <= TOO_FAST * shared.fastest and rank < least:
        taken[0][:] = proposed[0]
        taken[1][:] = proposed[1]


@inner_kernel
def _newton_matrices(shared):
    """What Newton's method works with, beside the factor of the projections."""
    blocks = shared.blocks
    lower, upper = room_of_factor(blocks.structure), np.empty(blocks.structure.length)
    return NewtonMatrices(blocks, lower, upper, shared.sides, shared.inverse, shared.kappa)


@inner_kernel
def _try_newton(system, shared, matrices, tries, errors, effort, now, nearest):
    """Newton's method with the penalty whose turn it is; returns the natural map of the nearest impulses, relative, and whether
    what was found is taken, in which case it is the impulses now.

    errors: natural map of the nearest and Coulomb residual of the last iteration, relative. now, nearest: impulses (m, 3) and
    velocities (n,), both brought up to date.
    """
    (near, coulomb), (impulse, v), (y, v_y) = errors, now, nearest
    if tries == 0:
        near = _natural_map(system, shared, y, v_y)
    turn, fastest = tries % len(FIRST_PENALTIES), shared.fastest
    candidate = y.copy() if turn == len(FIRST_PENALTIES) - 1 and near < coulomb else impulse.copy()
    aims = shared.goal, shared.enough, fastest
    reached = newton(system, matrices, aims, FIRST_PENALTIES[turn], effort, candidate, v)
    if reached < near * fastest:
        near = reached / fastest
        y[:] = candidate
        v_y[:] = v
    taken = reached <= max(shared.enough, PROGRESS * coulomb * fastest)
    if taken:
        impulse[:] = candidate
    return near, taken


@inner_kernel
def _natural_map(system, shared, impulse, v):
    """The natural map of impulses (m, 3), relative, and v (n,) := their velocities."""
    update_velocities(system, State(impulse, v))
    return natural_error(system, impulse, v, shared.kappa, shared.sides) / shared.fastest


@inner_kernel
def _propose(system, shared, request, effort, impulse, v):
    """What methods of first order make of impulses (m, 3); returns what found them, and whether Newton's method is next."""
    if request.sides > 0:
        return Found.START, False
    acceptable = ACCEPTABLE * request.asked * shared.fastest
    criteria = StoppingCriteria(shared.goal, acceptable, shared.enough, shared.fastest, 0, MAX_CHECKS)
    operator = Operator(system, shared.blocks, shared.factor, shared.inverse, shared.kappa)
    return propose(operator, criteria, request.moving, effort, State(impulse, v))


@inner_kernel
def solve_island(system, request, effort, impulse, v, history):
    """Solve a `System` by proposals to Staggered Projections; returns an `Answer`.

    request: a `Request`. effort: what it may cost. impulse: (m, 3) alpha and beta of each contact, and the rows of joints, warm
    start and answer. v: (n,) velocities, answer. history: (max_iterations, 3) relative error (28), residual (29) and relative
    Coulomb residual of each iteration.
    """
    m, n, tolerance = system.body_a.size, system.velocity.size, request.tolerance
    v[:] = system.velocity
    holds, aimed = holding(tolerance), relative_target(request.asked, request.moving)
    shared = projections(system, request.sides, impulse, aimed, ACCEPTABLE * tolerance)
    allow(effort, request.max_iterations, shared.blocks.structure.target.size, m)
    into_cones(system, impulse)
    best, v_best, least = impulse.copy(), v.copy(), np.inf
    found, coarse = _propose(system, shared, request, effort, impulse, v)
    if coarse:
        least, _ = _measured(system, shared, holds, impulse, v)
        best[:] = impulse
        v_best[:] = v
    matrices = _newton_matrices(shared)
    contact, v_contact, nearest, v_nearest = np.empty((m, 3)), np.empty(n), impulse.copy(), np.empty(n)
    near, mark, progressed, coulomb = np.inf, np.inf, 0, np.inf
    done, broken, tries, first_contact, first_friction = 0, 0, 0, 0, 0
    for i in range(request.max_iterations):
        done = i + 1
        found = found if i == 0 else Found.STAGGERING
        if i > 0 or coarse:
            errors = near, coulomb
            near, taken = _try_newton(system, shared, matrices, tries, errors, effort, (impulse, v), (nearest, v_nearest))
            found = Found.NEWTON if taken else found
            tries += 1
            if i > 0 and spent(effort):
                # a proposal cut short is none, and contact is intact in what there was before
                done = i
                break
        now = iterate(system, shared, effort, impulse, v, contact, v_contact)
        coulomb = now.coulomb
        history[i, 0], history[i, 1], history[i, 2] = now.change, now.residual, coulomb
        if i == 0:
            first_contact, first_friction = now.of_contact, now.of_friction
            found = Found.STAGGERING if first_contact > 0 and found == Found.START else found
        if not np.isfinite(coulomb):
            return Answer(Status.NOT_FINITE, done, found, first_contact, first_friction)
        if now.change <= tolerance and coulomb <= tolerance:
            impulse[:] = contact
            v[:] = v_contact
            return Answer(Status.SOLVED, done, found, first_contact, first_friction)
        broken = 0 if now.off <= holds * shared.fastest else broken + 1
        rank = score(shared, coulomb, now.off, holds)
        if rank < least:
            least = rank
            best[:] = contact
            v_best[:] = v_contact
        if min(near, coulomb) <= 0.5 * mark:
            mark, progressed = min(near, coulomb), effort[DONE]
        given_up = tries >= len(FIRST_PENALTIES) and effort[DONE] - progressed >= patience(effort)
        if spent(effort) or broken == HOPELESS or given_up:
            break
    impulse[:] = best
    v[:] = v_best
    if near < np.inf and effort[BELL] == 0:
        # when time is over nothing comes after contact
        _take_if_better(system, shared, holds, least, (nearest, v_nearest), (impulse, v))
    undo_what_breaks_contact(system, shared, holds, impulse, v)
    status = Status.TIME_LIMIT if effort[BELL] > 0 else Status.MAX_ITERATIONS
    return Answer(status, done, found, first_contact, first_friction)


@kernel
def solve_system(system, request, variant, effort, impulse, v, history):
    """Solve a `System` by a variant of Staggered Projections; arguments and `Answer` as of `solve_island`."""
    effort[DONE] = 0
    if system.body_a.size == 0:
        v[:] = system.velocity
        return Answer(Status.SOLVED, 0, Found.START, 0, 0)
    if variant == ACCELERATED:
        return solve_island(system, request, effort, impulse, v, history)
    most, sides, published = request.max_iterations, request.sides, variant == PUBLISHED
    return staggered(system, impulse, request.tolerance, most, sides, published, effort, history, v)
