# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections, Algorithm 1 of Kaufman, Sueda, James and Pai 2008.

The paper is "Staggered projections for frictional contact in multibody systems". It splits the impulses into contact impulses
c = N alpha and friction impulses f = D beta. Each is a projection in the kinetic metric that takes the other as given: (25) for
contact and (24) for friction. Algorithm 1 alternates the two projections, (27), and starts from the friction of the last time
step. It stops when the relative change of friction (28) is within the tolerance. It keeps the friction with the smallest
residual (29) and ends with a contact projection. The result therefore satisfies contact even if the iteration stops early.

This module has the published algorithm and its single iteration, lines 5 to 8. The cascade (`coulomb/cascade.py`) uses the
single iteration to check the proposals of other methods. Both projections include the joints.
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
from .projection import MULTIPLIER_STEPS, STALLED_STEPS, Sets, project

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

# Largest tolerance of the projections of the published algorithm, relative to the velocity scale, for any looser tolerance of
# (28). With a larger one projections are not those of the paper, with a smaller one they cost more digits than (28) shows.
EXACT = 1e-6
# Largest change of friction that is round-off, as a squared kinetic norm relative to that of the contact impulse. With a larger
# one (28) ignores friction of light contacts, with a smaller one it measures round-off.
ROUND_OFF = 1e-20


class Projections(NamedTuple):
    """Data shared by all projections of one system.

    operator: operator of the system, with the storage of its factor.
    sides: number of sides of the friction polygon, 0 for the disk.
    criteria: stopping criteria of `project`.
    """

    operator: Operator
    sides: int
    criteria: StoppingCriteria


class Iterate(NamedTuple):
    """Result of one iteration of Algorithm 1.

    off: error of the contact projection, its natural map [m/s].
    coulomb: relative Coulomb residual after the contact projection.
    change: relative change of friction (28).
    residual: residual (29) [J].
    of_contact, of_friction: factorizations of the contact and of the friction projection.
    """

    off: float
    coulomb: float
    change: float
    residual: float
    of_contact: int
    of_friction: int


class Answer(NamedTuple):
    """Result of `staggered`.

    status, iterations: how the iteration ended, and after how many iterations.
    found: the method that found the solution.
    first_contact, first_friction: factorizations of the first contact and the first friction projection.
    """

    status: Status
    iterations: int
    found: Found
    first_contact: int
    first_friction: int


@leaf_kernel
def _kinetic(system, p, work):
    """Return p^T M^-1 p, the squared kinetic norm of the generalized impulse p [J]."""
    apply_inverse_mass(system, p, work)
    s = 0.0
    for i in range(p.size):
        s += p[i] * work[i]
    return s


@kernel
def into_cones(system, impulse):
    """Move impulses (m, 3) into the friction cones and the bounds of the joint rows, in place.

    A warm start may violate them because it comes from other contacts or contains round-off.
    """
    for k in range(system.mu.size):
        impulse[k, 0] = max(impulse[k, 0], 0.0)
        # A contact without normal impulse has no friction, even if mu is infinite.
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
    """Return (28), |f_next - f|^2 / |f|^2 in the kinetic metric.

    The result is 0 if the change is round-off relative to the contact impulse c.
    """
    change = _kinetic(system, f_next - f, work)
    if change <= ROUND_OFF * _kinetic(system, c, work):
        return 0.0
    before = _kinetic(system, f, work)
    return change / before if before > 0.0 else np.inf


@leaf_kernel
def residual(system, impulse, v):
    """Return the residual (29) [J] at v = v_hat + M^-1 (N alpha + D beta)."""
    total = 0.0
    for k in range(system.slack.size):
        u, _, _ = relative_velocity(system, k, v)
        total += abs(impulse[k, 0] * (u + system.slack[k]))
    return total


@leaf_kernel
def gap_velocities(system, v, velocity):
    """Write the relative velocities (m, 3) [m/s]. Return the largest violation max(0, -(u_n + c)) of a contact [m/s]."""
    off = 0.0
    for k in range(velocity.shape[0]):
        velocity[k, 0], velocity[k, 1], velocity[k, 2] = relative_velocity(system, k, v)
        if k < system.mu.size:
            off = max(off, -velocity[k, 0] - system.slack[k])
    return off


@inner_kernel
def projections(system, sides, target, acceptable):
    """Return the `Projections` of a system. target and acceptable are natural maps relative to the velocity scale."""
    fastest = fastest_velocity(system)
    bound = acceptable * fastest
    criteria = StoppingCriteria(target * fastest, bound, bound, fastest, 0, MAX_CHECKS)
    return Projections(operator_of(system), sides, criteria)


@inner_kernel
def _project(shared, kind, radius, effort, state):
    """Compute P_C(-M v_hat - f), or P_F(alpha)(-M v_hat - N alpha), with `project` in velocity space.

    kind: CONTACT or FRICTION. radius: (m,) radius of the friction sets, mu alpha [N s].

    Returns the error of `project` [m/s] and the generalized impulse (n,) of the other kind.
    """
    # Both projections include the joint impulses, so the impulse of the other kind comes from contacts only.
    system = shared.operator.system
    other, target = np.empty(state.v.size), np.empty(state.v.size)
    generalised_impulse(system, FRICTION if kind == CONTACT else CONTACT, system.mu.size, state.impulse, other)
    velocity_after(system, system.velocity, other, target)
    sets = Sets(kind, shared.sides, radius, system.box)
    off = project(shared.operator, sets, target, shared.criteria, effort, state, MULTIPLIER_STEPS, STALLED_STEPS)
    return off, other


@inner_kernel
def relative_residual(shared, state, velocity):
    """Return the relative Coulomb residual of a state whose relative velocities are velocity (m, 3)."""
    operator, value, index = shared.operator, np.empty(5), np.empty(5, np.int64)
    system, kappa, scale = operator.system, operator.kappa, shared.criteria.scale
    worst, _ = relative_coulomb(system, state.impulse, velocity, kappa, shared.sides, scale, value, index)
    return worst


@inner_kernel
def take(state, other):
    """Copy other to state."""
    copy_rows(other.impulse, state.impulse)
    copy_vector(other.v, state.v)


@inner_kernel
def iterate(shared, effort, state, answer):
    """Do one iteration, lines 5 to 8 of Algorithm 1, and return an `Iterate`.

    state: on input, the friction; on output, the state after the friction projection.
    answer: on output, the state after the contact projection.
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
    change, error = _relative_error(system, c, f, f_next, work), residual(system, impulse, state.v)  # lines 7 and 8
    return Iterate(off, coulomb, change, error, of_contact, effort[DONE] - before - of_contact)


@kernel_part
def accepts(system, sides, tolerance, effort, state, history):
    """Return True if one iteration of Algorithm 1 solves a `System` by (28) and by the Coulomb residual.

    It does the same as `solve_island` (`coulomb/cascade.py`) without proposals and with one iteration.

    sides: number of sides of the friction polygon, 0 for the disk.
    tolerance: bound on (28) and on the relative Coulomb residual.
    effort: counts the work.
    state: on input, the impulses to start from; on output, the state after the contact projection.
    history: (1, 3) output: relative change of friction (28), residual (29) and relative Coulomb residual.
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
    """Run Algorithm 1 and return an `Answer`, whose status is SOLVED if (28) is within the tolerance.

    system: its velocity is the result of line 1.
    request: tolerance, maximum number of iterations and sides of the friction polygon.
    effort: bounds and counts the work.
    state: on input, the impulses of contacts and joints to start from; the result depends on the friction of this warm start,
        and its other impulses only start the projections. On output, the impulses and velocities of lines 15 to 17.
    history: (max_iterations, 3) output: relative change of friction (28), residual (29) and relative Coulomb residual.
    """
    tolerance, sides, impulse, v = request.tolerance, request.sides, state.impulse, state.v
    m, n = impulse.shape[0], v.size
    copy_vector(system.velocity, v)
    # The paper assumes exact projections; its tolerance applies to the change of friction only.
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
    """Set all impulses to zero if a contact projection failed and left more penetration than no impulses would.

    state: impulses and velocities; unchanged if the penetration is within the tolerance or no larger than without impulses.
    """
    system, velocity = shared.operator.system, np.empty((state.impulse.shape[0], 3))
    without, off = gap_velocities(system, system.velocity, velocity), gap_velocities(system, state.v, velocity)
    if off > without and not is_held(off, tolerance, shared.criteria.scale):
        state.impulse[:] = 0.0
        copy_vector(system.velocity, state.v)
