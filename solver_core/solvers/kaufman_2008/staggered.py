# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections: Kaufman, Sueda, James and Pai 2008, "Staggered projections for frictional contact in multibody
systems".

Contact impulses c = N alpha and friction impulses f = D beta are each the projection, in the kinetic metric, of what the other
leaves over: (25) and (24). Algorithm 1 repeats the two projections, (27), from the last step's friction, until the friction of
two iterations agrees (28). The friction with the smallest residual (29) is kept, and a contact projection always comes last, so
that the answer never violates contact however early it is asked for.

Beyond the paper: an iterate is accepted only when its relative Coulomb residuals, too, are within the tolerance, unless it is
run as it was published; and where none is accepted, the one with the smallest of these is returned. Joints are held in both
projections.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, inner_kernel, kernel_part, leaf_kernel
from ...problem.residuals import relative_coulomb, scales
from ...problem.result import Found, Status
from ...problem.system import apply_inverse_mass, relative_velocity
from ..block_operator import CONTACT, FRICTION, Operator, State, generalised_impulse, operator_of, velocity_after
from ..criteria import ACCEPTABLE, MAX_CHECKS, StoppingCriteria, relative_target
from ..effort import DONE, OVERDUE, allow, spent
from .projection import MULTIPLIER_STEPS, Sets, project

__all__ = [
    "HOPELESS",
    "Answer",
    "Iterate",
    "Projections",
    "gap_velocities",
    "holding",
    "into_cones",
    "iterate",
    "projections",
    "relative_residual",
    "score",
    "staggered",
    "take",
    "undo_what_breaks_contact",
]

Floats = NDArray[np.float64]

LEAST_HOLDS = 1e-8  # of the fastest velocity: no contact counts as broken that is left by less
BROKEN = 10.0  # times a residual: what breaks contact has to be so much better than what holds it
HOPELESS = 3  # iterations one after the other whose contact projection fails: friction is not what is wrong
ROUND_OFF = 1e-20  # of the contact impulse, in the square of the kinetic norm: a change of friction that is none


class Projections(NamedTuple):
    """What the projections of a system share: its operator; sides: of a friction polygon, 0 for the disk; criteria: of a
    projection, target and acceptable as of `project`."""

    operator: Operator
    sides: int
    criteria: StoppingCriteria


class Iterate(NamedTuple):
    """One iteration: the natural map that the contact projection leaves, m/s; the relative Coulomb residual after it; relative
    error (28) and residual (29), J; the factorisations of the contact and of the friction projection."""

    off: float
    coulomb: float
    change: float
    residual: float
    of_contact: int
    of_friction: int


class Answer(NamedTuple):
    """Status, iterations, what found the answer, and the factorisations of the first contact and the first friction
    projection."""

    status: Status
    iterations: int
    found: Found
    first_contact: int
    first_friction: int


@leaf_kernel
def _kinetic(system, p, work):
    """p^T M^-1 p."""
    apply_inverse_mass(system, p, work)
    s = 0.0
    for i in range(p.size):
        s += p[i] * work[i]
    return s


@kernel_part
def _set_radii(system, impulse, radius):
    """radius := mu alpha."""
    for k in range(system.mu.size):
        radius[k] = system.mu[k] * impulse[k, 0]


@leaf_kernel
def into_cones(system, impulse):
    """Impulses (m, 3) that contacts and joints may have: a warm start may be from other ones, or have rounding in it."""
    for k in range(system.mu.size):
        impulse[k, 0] = max(impulse[k, 0], 0.0)
        size, bound = np.hypot(impulse[k, 1], impulse[k, 2]), system.mu[k] * impulse[k, 0]
        if size > bound:
            impulse[k, 1] *= bound / size
            impulse[k, 2] *= bound / size
    for j in range(system.box.shape[0]):
        k = system.mu.size + j
        for r in range(3):
            impulse[k, r] = min(max(impulse[k, r], system.box[j, r, 0]), system.box[j, r, 1])


@kernel_part
def _relative_error(system, c, f, f_next, work):
    """(28): |f_next - f|^2 / |f|^2 in the kinetic metric; 0 where the change is round-off beside the contact impulse c."""
    change = _kinetic(system, f_next - f, work)
    if change <= ROUND_OFF * _kinetic(system, c, work):
        return 0.0
    before = _kinetic(system, f, work)
    return change / before if before > 0.0 else np.inf


@leaf_kernel
def _residual(system, impulse, v):
    """(29) at v = v_hat + M^-1 (N alpha + D beta)."""
    total = 0.0
    for k in range(system.slack.size):
        u, _, _ = relative_velocity(system, k, v)
        total += abs(impulse[k, 0] * (u + system.slack[k]))
    return total


@leaf_kernel
def gap_velocities(system, v, velocity):
    """Relative velocities (m, 3); returns how fast the contact that is broken most is, m/s."""
    off = 0.0
    for k in range(velocity.shape[0]):
        velocity[k, 0], velocity[k, 1], velocity[k, 2] = relative_velocity(system, k, v)
        if k < system.mu.size:
            off = max(off, -velocity[k, 0] - system.slack[k])
    return off


@leaf_kernel
def score(projections, coulomb, off, holds):
    """What iterates are chosen by where none is accepted: the Coulomb residual, more where contact is broken by `off`, m/s."""
    fastest = projections.criteria.scale
    return coulomb if off <= holds * fastest else BROKEN * max(coulomb, off / fastest)


@leaf_kernel
def holding(tolerance):
    """What contacts may be left by, of the fastest velocity, and count as held."""
    return max(tolerance, LEAST_HOLDS)


@inner_kernel
def projections(system, sides, impulse, target, acceptable):
    """The `Projections` of a system. target, acceptable: of the natural map, relative to the fastest velocity."""
    fastest, _ = scales(system, impulse)
    bound = acceptable * fastest
    criteria = StoppingCriteria(target * fastest, bound, bound, fastest, 0, MAX_CHECKS)
    return Projections(operator_of(system), sides, criteria)


@inner_kernel
def _project(shared, kind, radius, target, effort, state):
    """`project` onto the sets of one kind."""
    sets = Sets(kind, shared.sides, radius, shared.operator.system.box)
    return project(shared.operator, sets, target, shared.criteria, effort, state, MULTIPLIER_STEPS)


@inner_kernel
def relative_residual(shared, state, velocity):
    """The relative Coulomb residual of a state with the relative velocities (m, 3)."""
    operator, value, index = shared.operator, np.empty(5), np.empty(5, np.int64)
    system, kappa, scale = operator.system, operator.kappa, shared.criteria.scale
    worst, _ = relative_coulomb(system, state.impulse, velocity, kappa, shared.sides, scale, value, index)
    return worst


@kernel_part
def iterate(shared, effort, state, answer):
    """Lines 5 and 6 of Algorithm 1; returns an `Iterate`.

    state: in the friction, out that after the friction projection. answer: out the state after the contact projection.
    """
    system, impulse = shared.operator.system, state.impulse
    m, n, contacts = system.body_a.size, system.velocity.size, system.mu.size
    target, c, f, f_next, work = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    radius, velocity = np.zeros(m), np.empty((m, 3))
    # line 5: N alpha := P_C(-M v_hat - f), in velocities: contact acts on what friction has left; joints hold in both
    # projections, so what is handed over is without them
    before = effort[DONE]
    generalised_impulse(system, FRICTION, contacts, impulse, f)
    velocity_after(system, system.velocity, f, target)
    off = _project(shared, CONTACT, radius, target, effort, state)
    of_contact = effort[DONE] - before
    gap_velocities(system, state.v, velocity)
    coulomb = relative_residual(shared, state, velocity)
    answer.impulse[:] = impulse
    answer.v[:] = state.v
    if not np.isfinite(coulomb):
        return Iterate(off, coulomb, np.inf, np.inf, of_contact, 0)
    # line 6: f := P_F(alpha)(-M v_hat - N alpha)
    before = effort[DONE]
    generalised_impulse(system, CONTACT, contacts, impulse, c)
    velocity_after(system, system.velocity, c, target)
    _set_radii(system, impulse, radius)
    _project(shared, FRICTION, radius, target, effort, state)
    generalised_impulse(system, FRICTION, contacts, impulse, f_next)
    change, residual = _relative_error(system, c, f, f_next, work), _residual(system, impulse, state.v)
    return Iterate(off, coulomb, change, residual, of_contact, effort[DONE] - before)


@inner_kernel
def take(state, other):
    """state := other."""
    state.impulse[:] = other.impulse
    state.v[:] = other.v


@kernel_part
def staggered(system, request, published, effort, state, history):
    """Solve a `System` by Algorithm 1 alone; returns an `Answer`.

    published: whether it also stops, and chooses what to return, as the paper does. effort: what it may cost. state: impulses
    of contacts, and of the rows of joints, warm start and answer; velocities, answer. history: (max_iterations, 3) relative
    error (28), residual (29) and relative Coulomb residual of each iteration.
    """
    impulse, v, tolerance = state.impulse, state.v, request.tolerance
    m, n = system.body_a.size, system.velocity.size
    v[:] = system.velocity
    shared = projections(system, request.sides, impulse, relative_target(tolerance, FALSE), ACCEPTABLE * tolerance)
    allow(effort, request.max_iterations, shared.operator.blocks.structure.target.size, m)
    into_cones(system, impulse)
    answer, best, least = State(np.empty((m, 3)), np.empty(n)), State(impulse.copy(), v.copy()), np.inf
    holds, done, broken, first_contact, first_friction = holding(tolerance), 0, 0, 0, 0
    for i in range(request.max_iterations):
        done = i + 1
        now = iterate(shared, effort, state, answer)
        history[i, 0], history[i, 1], history[i, 2] = now.change, now.residual, now.coulomb
        if i == 0:
            first_contact, first_friction = now.of_contact, now.of_friction
        if not np.isfinite(now.coulomb):
            return Answer(Status.NOT_FINITE, done, Found.STAGGERING, first_contact, first_friction)
        if now.change <= tolerance and (now.coulomb <= tolerance or published):
            # f and P_F(alpha) agree: f is a fixed point, and the contact projection that goes with it is done
            take(state, answer)
            found = Found.START if i == 0 and first_contact == 0 else Found.STAGGERING
            return Answer(Status.SOLVED, done, found, first_contact, first_friction)
        broken = 0 if now.off <= holds * shared.criteria.scale else broken + 1
        rank = now.residual if published else score(shared, now.coulomb, now.off, holds)
        if rank < least and not (published and spent(effort)):
            least = rank
            best.impulse[:] = impulse if published else answer.impulse
            best.v[:] = answer.v
        if spent(effort) or broken == HOPELESS:
            break
    take(state, best)
    if published:
        # lines 15 to 17: the best friction, and the contact projection that goes with it
        target, f = np.empty(n), np.empty(n)
        generalised_impulse(system, FRICTION, system.mu.size, impulse, f)
        velocity_after(system, system.velocity, f, target)
        _project(shared, CONTACT, np.zeros(m), target, effort, state)
    undo_what_breaks_contact(shared, holds, state)
    status = Status.TIME_LIMIT if effort[OVERDUE] > 0 else Status.MAX_ITERATIONS
    return Answer(status, done, Found.STAGGERING, first_contact, first_friction)


@inner_kernel
def undo_what_breaks_contact(shared, holds, state):
    """No impulses, where a contact projection came to nothing and these do more harm than none."""
    system = shared.operator.system
    velocity = np.empty((system.body_a.size, 3))
    without = gap_velocities(system, system.velocity, velocity)
    if gap_velocities(system, state.v, velocity) > max(without, holds * shared.criteria.scale):
        state.impulse[:] = 0.0
        state.v[:] = system.velocity
