# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections: Kaufman, Sueda, James and Pai 2008, "Staggered projections for frictional contact in multibody
systems".

Contact impulses c = N alpha and friction impulses f = D beta are each the projection, in the kinetic metric, of what the other
leaves over: (25) and (24). Algorithm 1 repeats the two projections, (27), from the last step's friction, until the friction of
two iterations agrees (28). The friction with the smallest residual (29) is kept, and a contact projection always comes last, so
that the answer never violates contact however early it is asked for.

This is the algorithm as it was published, and its iteration by itself, lines 5 to 8, with which the cascade
(`coulomb/cascade.py`) accepts what other methods propose. Joints are held in both projections.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, inner_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.copying import copy_rows, copy_vector
from ...problem.residuals import fastest_velocity, relative_coulomb
from ...problem.result import Found, Status
from ...problem.system import apply_inverse_mass, relative_velocity
from ..block_operator import (
    CONTACT,
    FRICTION,
    Operator,
    State,
    generalised_impulse,
    operator_of,
    velocity_after,
)
from ..criteria import ACCEPTABLE, MAX_CHECKS, StoppingCriteria, is_held, relative_target
from ..effort import DONE, OVERDUE, allow, spent
from .projection import MULTIPLIER_STEPS, Sets, project

__all__ = [
    "Answer",
    "Iterate",
    "Projections",
    "accepts",
    "gap_velocities",
    "into_cones",
    "iterate",
    "projections",
    "relative_residual",
    "residual",
    "staggered",
    "take",
    "undo_penetration",
]

Floats = NDArray[np.float64]

EXACT = 1e-6  # of the fastest velocity: the error of a projection that counts as none, however loose the tolerance is
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


@kernel
def into_cones(system, impulse):
    """Impulses (m, 3) that contacts and joints may have: a warm start may be from other ones, or have rounding in it."""
    for k in range(system.mu.size):
        impulse[k, 0] = max(impulse[k, 0], 0.0)
        # of what does not press, without a bound or with one, there is none
        size = np.sqrt(impulse[k, 1] * impulse[k, 1] + impulse[k, 2] * impulse[k, 2])
        bound = system.mu[k] * impulse[k, 0] if impulse[k, 0] > 0.0 else 0.0
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
def residual(system, impulse, v):
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


@inner_kernel
def projections(system, sides, target, acceptable):
    """The `Projections` of a system. target, acceptable: of the natural map, relative to the fastest velocity."""
    fastest = fastest_velocity(system)
    bound = acceptable * fastest
    criteria = StoppingCriteria(target * fastest, bound, bound, fastest, 0, MAX_CHECKS)
    return Projections(operator_of(system), sides, criteria)


@inner_kernel
def _project(shared, kind, radius, effort, state):
    """P_C(-M v_hat - f), or P_F(alpha)(-M v_hat - N alpha): `project` what the impulses of the other kind leave over, in
    velocities; returns what `project` does, and those impulses, (n,). radius: (m,) mu alpha."""
    # joints hold in both projections, so what is handed over is without them
    system = shared.operator.system
    other, target = np.empty(state.v.size), np.empty(state.v.size)
    generalised_impulse(system, FRICTION if kind == CONTACT else CONTACT, system.mu.size, state.impulse, other)
    velocity_after(system, system.velocity, other, target)
    sets = Sets(kind, shared.sides, radius, system.box)
    return project(shared.operator, sets, target, shared.criteria, effort, state, MULTIPLIER_STEPS), other


@inner_kernel
def relative_residual(shared, state, velocity):
    """The relative Coulomb residual of a state with the relative velocities (m, 3)."""
    operator, value, index = shared.operator, np.empty(5), np.empty(5, np.int64)
    system, kappa, scale = operator.system, operator.kappa, shared.criteria.scale
    worst, _ = relative_coulomb(system, state.impulse, velocity, kappa, shared.sides, scale, value, index)
    return worst


@inner_kernel
def take(state, other):
    """state := other."""
    copy_rows(other.impulse, state.impulse)
    copy_vector(other.v, state.v)


@inner_kernel
def iterate(shared, effort, state, answer):
    """Lines 5 to 8 of Algorithm 1; returns an `Iterate`.

    state: in the friction, out that after the friction projection. answer: out the state after the contact projection.
    """
    system, impulse, before = shared.operator.system, state.impulse, effort[DONE]
    velocity = np.empty((impulse.shape[0], 3))
    radius = np.zeros(impulse.shape[0])
    off, f = _project(shared, CONTACT, radius, effort, state)  # line 5
    of_contact = effort[DONE] - before
    gap_velocities(system, state.v, velocity)
    coulomb = relative_residual(shared, state, velocity)
    take(answer, state)
    if not np.isfinite(coulomb):
        return Iterate(off, coulomb, np.inf, np.inf, of_contact, 0)
    for k in range(system.mu.size):
        radius[k] = system.mu[k] * impulse[k, 0]
    _, c = _project(shared, FRICTION, radius, effort, state)  # line 6
    f_next, work = np.empty(f.size), np.empty(f.size)
    generalised_impulse(system, FRICTION, system.mu.size, impulse, f_next)
    change, left = _relative_error(system, c, f, f_next, work), residual(system, impulse, state.v)  # lines 7 and 8
    return Iterate(off, coulomb, change, left, of_contact, effort[DONE] - before - of_contact)


@kernel_part
def accepts(system, sides, tolerance, effort, state, history):
    """Whether one iteration of Algorithm 1 from some impulses solves a `System`, by (28) and by the Coulomb residual.

    It is what `solve_island` (`coulomb/cascade.py`) does without proposals when it is allowed one iteration. sides: of a
    friction polygon, 0 for the disk. effort: what it costs. state: impulses of contacts, and where it accepts them the answer
    and its velocities. history: (1, 3) relative error (28), residual (29) and relative Coulomb residual.
    """
    m, n = system.body_a.size, system.velocity.size
    copy_vector(system.velocity, state.v)
    shared = projections(system, sides, relative_target(tolerance, FALSE), ACCEPTABLE * tolerance)
    allow(effort, 1, shared.operator.blocks.structure.target.size, m)
    into_cones(system, state.impulse)
    answer = State(np.empty((m, 3)), np.empty(n))
    now = iterate(shared, effort, state, answer)
    history[0, 0], history[0, 1], history[0, 2] = now.change, now.residual, now.coulomb
    take(state, answer)
    return now.change <= tolerance and now.coulomb <= tolerance


@kernel_part
def staggered(system, request, effort, state, history):
    """Algorithm 1; returns an `Answer`, SOLVED by (28) alone.

    The system's velocity is line 1. state: in the warm start, the impulses of contacts and of the rows of joints, of which only
    friction counts; out the impulses and velocities of lines 15 to 17. effort: what it may cost. history: (max_iterations, 3)
    relative error (28), residual (29) and relative Coulomb residual of each iteration.
    """
    tolerance, sides, impulse, v = request.tolerance, request.sides, state.impulse, state.v
    m, n = impulse.shape[0], v.size
    copy_vector(system.velocity, v)
    # the paper's projections are exact: its tolerance is one on friction alone
    exact = min(tolerance, EXACT)
    shared = projections(system, sides, relative_target(exact, FALSE), ACCEPTABLE * exact)
    allow(effort, request.max_iterations, shared.operator.blocks.structure.target.size, m)
    into_cones(system, impulse)  # line 2
    answer, best, min_res = State(np.empty((m, 3)), np.empty(n)), State(impulse.copy(), v.copy()), np.inf  # line 3
    done, first_contact, first_friction = 0, 0, 0
    status = Status.MAX_ITERATIONS
    for i in range(request.max_iterations):  # lines 4 and 13
        now, done = iterate(shared, effort, state, answer), i + 1  # lines 5 to 8
        history[i, 0], history[i, 1], history[i, 2] = now.change, now.residual, now.coulomb
        if i == 0:
            first_contact, first_friction = now.of_contact, now.of_friction
        if not np.isfinite(now.coulomb):
            return Answer(Status.NOT_FINITE, done, Found.STAGGERING, first_contact, first_friction)
        if now.residual < min_res:  # lines 9 to 12
            min_res = now.residual
            take(best, state)
        if now.change <= tolerance:  # line 4
            status = Status.SOLVED
            break
        if spent(effort):
            break
    take(state, best)  # line 15
    _project(shared, CONTACT, np.zeros(m), effort, state)  # lines 16 and 17
    undo_penetration(shared, tolerance, state)
    if status == Status.SOLVED:
        found = Found.START if done == 1 and first_contact == 0 else Found.STAGGERING
        return Answer(status, done, found, first_contact, first_friction)
    status = Status.TIME_LIMIT if effort[OVERDUE] > 0 else Status.MAX_ITERATIONS
    return Answer(status, done, Found.STAGGERING, first_contact, first_friction)


@inner_kernel
def undo_penetration(shared, tolerance, state):
    """No impulses, where a contact projection came to nothing and these do more harm than none."""
    system, velocity = shared.operator.system, np.empty((state.impulse.shape[0], 3))
    without, off = gap_velocities(system, system.velocity, velocity), gap_velocities(system, state.v, velocity)
    if off > without and not is_held(off, tolerance, shared.criteria.scale):
        state.impulse[:] = 0.0
        copy_vector(system.velocity, state.v)
