# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact and friction projections in the kinetic metric, by the method of multipliers.

In velocity space, the projections (24) and (25) of Kaufman et al. 2008 are

    min over v of  1/2 |v - target|_M^2 + sum_k support_k(-(J_k v + c_k)),    v = target + M^-1 J^T y,

where y_k lies in a closed convex set S_k: the half-line of normal impulses, or the friction disk (or polygon) of a given
radius. Let P_k be the projection onto S_k. Then y is a solution if and only if y_k = P_k(y_k - rho_k (J_k v + c_k)) for any
rho_k > 0. The method of multipliers repeats  y := P(y - rho (J v + c)),  where v minimizes the smooth function with gradient

    M (v - target) - J^T P(y - rho (J v + c)),

A semismooth Newton method finds this v. Its Hessian is  M + J^T D J  with  D = rho P'.  The Hessian is positive definite even
if contacts are redundant. It has one block per pair of touching bodies, so a block-sparse Cholesky factorization solves it. A
factor is reused while each step reduces the gradient tenfold. It is also reused while D is unchanged, because the Hessian is
then the same.

Both projections include the joints: the joint rows belong to the contact set and to the friction set. A compliant row, with
compliance gamma, adds  gamma y^2 / 2  to the objective. P is then the proximal map P(w) = clamp(w / (1 + rho gamma)). A
bilateral row without bounds is linear, so a larger penalty costs it only digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import TRUE, inlined_kernel, kernel, leaf_kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...linalg.copying import copy_blocks
from ...problem.cones import natural_friction, natural_normal, project_friction, project_half_line
from ...problem.coulomb import respond_in_rows
from ...problem.residuals import joint_map
from ...problem.system import apply_mass
from ..block_operator import (
    CONTACT,
    assemble,
    gap_velocity,
    generalised_impulse,
    imbalance,
    rows_of_kind,
    velocities_of_change,
    velocity_after,
)
from ..criteria import INNER, SLOW_GAIN, is_converged
from ..effort import count_factorisation, is_over, spent

__all__ = ["DISK", "MULTIPLIER_STEPS", "STALLED_STEPS", "Sets", "project"]

# numpy integers, because a Python literal in a named tuple triggers a separate numba specialization
DISK = np.int64(0)  # number of polygon sides that denotes the exact friction disk
# rho_k times the effective inverse mass of contact k, first and largest. A larger first one costs digits, a smaller one more
# multiplier steps. The largest one suffices for loads of 1e8 times the mass of a contact.
FIRST_PENALTY, LAST_PENALTY = 3e1, 3e10
JOINT_PENALTY = 1e3  # relative to the penalty of contacts; joint rows are mostly linear, so it costs them few digits
# Maximum number of steps in one projection, and of Newton steps in one multiplier step. With larger limits, projections that do
# not converge take longer; with smaller ones, slow projections end early, and contact is violated.
MULTIPLIER_STEPS = 40
NEWTON_STEPS = 60
# Newton steps in a row that do not halve the gradient, after which a multiplier step of Algorithm 1 ends. Near a minimum of a
# piecewise quadratic function the first of them is usual. With a larger one, steps that alternate between two pieces take
# longer; with a smaller one, multiplier steps end before their minimum, and projections do not converge.
STALLED_STEPS = 2


class Sets(NamedTuple):
    """The sets S_k of m triples of rows; the triples of the joints come last.

    kind: CONTACT or FRICTION.
    sides: number of sides of the friction polygon, 0 for the disk.
    radius: (m,) radius of each friction set [N s].
    box: `System.box`, the bounds of the joint rows.
    """

    kind: int | np.int64
    sides: int | np.int64
    radius: NDArray[np.float64]
    box: NDArray[np.float64]


class _Trial(NamedTuple):
    """Evaluation of all triples: w (m, 3) and y (m, 3) [N s], derivative (m, 3, 3) rho P'(w)."""

    w: NDArray[np.float64]
    y: NDArray[np.float64]
    derivative: NDArray[np.float64]


@leaf_kernel
def _respond(sets, k, rho, w, y, d):
    """Set y := P(w) of triple k in the rows of this kind and 0 in the others. Set d (3, 3) := rho P'(w)."""
    joint = k - sets.radius.size + sets.box.shape[0]
    if joint >= 0:
        respond_in_rows(sets.box[joint], rho, w, y, d)
        return
    y[:] = 0.0
    d[:] = 0.0
    if sets.kind == CONTACT:
        y[0], pressed = project_half_line(w[0])
        d[0, 0] = rho * pressed
    else:
        y[1], y[2], d11, d12, d22 = project_friction(w[1], w[2], sets.radius[k], sets.sides)
        d[1, 1], d[1, 2], d[2, 1], d[2, 2] = rho * d11, rho * d12, rho * d12, rho * d22


@inlined_kernel
def _joint_penalty(penalty):
    """Return the penalty of joints for a given penalty of contacts."""
    return min(JOINT_PENALTY * penalty, LAST_PENALTY)


@leaf_kernel
def _slope(sets, rho, w, speed, linear, quadratic, t, work):
    """Return the derivative of the smooth function along a Newton step, at the fraction t of the step.

    It is linear + t quadratic - sum_k speed_k . P(w_k - t rho_k speed_k).
    """
    slope = linear + t * quadratic
    moved, y, d = work[0], work[1], work[2:]
    for k in range(rho.size):
        for r in range(3):
            moved[r] = w[k, r] - t * rho[k] * speed[k, r]
        _respond(sets, k, rho[k], moved, y, d)
        slope -= speed[k, 0] * y[0] + speed[k, 1] * y[1] + speed[k, 2] * y[2]
    return slope


@leaf_kernel
def _step_length(sets, rho, w, speed, linear, quadratic, work):
    """Return the step length t in (0, 1] of a Newton step.

    The full step t = 1 is taken unless the smooth function rises steeply there. Otherwise t is near the minimum along the step.
    The function is convex, so its slope increases with t and has a zero between 0 and 1. The false position method (Illinois
    variant) finds it.
    """
    start = _slope(sets, rho, w, speed, linear, quadratic, 0.0, work)
    end = _slope(sets, rho, w, speed, linear, quadratic, 1.0, work)
    if start >= 0.0 or end <= 0.3 * abs(start):
        return 1.0
    low, high, at_low, at_high = 0.0, 1.0, start, end
    t = 1.0
    for _ in range(25):
        t = (low * at_high - high * at_low) / (at_high - at_low)
        slope = _slope(sets, rho, w, speed, linear, quadratic, t, work)
        if abs(slope) <= 0.1 * abs(start):
            break
        if slope > 0.0:
            high, at_high, at_low = t, slope, 0.5 * at_low
        else:
            low, at_low, at_high = t, slope, 0.5 * at_high
    return t


@leaf_kernel
def _distance(system, sets, kappa, impulse, v, u):
    """Return max_k |P_k(y_k - kappa_k u_k) - y_k| / kappa_k [m/s], where kappa are the effective masses."""
    error, contacts = 0.0, system.mu.size
    for k in range(kappa.size):
        if kappa[k] == 0.0:
            continue
        gap_velocity(system, k, v, u)
        if k >= contacts:
            off = joint_map(sets.box[k - contacts], impulse[k], u[0], u[1], u[2], kappa[k])
            if off > error or np.isnan(off):
                error = off
            continue
        if sets.kind == CONTACT:
            off = abs(natural_normal(impulse[k, 0], u[0], kappa[k]))
        else:
            off = natural_friction(impulse[k, 1], impulse[k, 2], u[1], u[2], sets.radius[k], kappa[k], sets.sides)
        if off > error or np.isnan(off):
            error = off
    return error


@leaf_kernel
def _differ(a, b):
    """Return True if two (m, 3, 3) arrays differ in any entry."""
    for k in range(a.shape[0]):
        for i in range(3):
            for j in range(3):
                if a[k, i, j] != b[k, i, j]:
                    return True
    return False


@leaf_kernel
def _choose_penalties(kind, contacts, penalty, inverse, rho):
    """Set rho (m,): for each triple, the penalty divided by the mean inverse effective mass of its rows of this kind.

    inverse: (m, 3) inverse effective masses. A triple without such rows gets 0. Joints get the penalty of `_joint_penalty`.
    """
    for k in range(rho.size):
        first, last = rows_of_kind(kind, k >= contacts)
        total, rows = 0.0, 0
        for r in range(first, last):
            if inverse[k, r] > 0.0:
                total += inverse[k, r]
                rows += 1
        rho[k] = (penalty if k < contacts else _joint_penalty(penalty)) * rows / total if rows > 0 else 0.0


@leaf_kernel
def _take(kind, contacts, y, impulse):
    """Copy y to impulse in the rows of this kind."""
    for k in range(impulse.shape[0]):
        first, last = rows_of_kind(kind, k >= contacts)
        for r in range(first, last):
            impulse[k, r] = y[k, r]


@leaf_kernel
def _into_sets(sets, contacts, impulse, y, derivative):
    """Set impulse := P(impulse) in the rows of this kind. y and derivative are work arrays."""
    for k in range(impulse.shape[0]):
        _respond(sets, k, 0.0, impulse[k], y[k], derivative[k])
    _take(sets.kind, contacts, y, impulse)


@leaf_kernel
def _respond_all(system, sets, rho, impulse, v, u, trial):
    """Set the `_Trial` of all triples: w := impulse - rho (J v + c), y := P(w) and derivative := rho P'(w).

    u: (3,) work array.
    """
    w, contacts = trial.w, system.mu.size
    for k in range(rho.size):
        first, last = rows_of_kind(sets.kind, k >= contacts)
        gap_velocity(system, k, v, u)
        for r in range(first, last):
            w[k, r] = impulse[k, r] - rho[k] * u[r]
        _respond(sets, k, rho[k], w[k], trial.y[k], trial.derivative[k])


@kernel
def project(operator, sets, target, criteria, effort, state, steps, max_stalled):
    """Project onto the contact set or the friction set in the kinetic metric: (25) or (24) of Kaufman et al. 2008.

    The method of multipliers improves y until the error  max_k |P_k(y_k - kappa_k u_k) - y_k| / kappa_k  reaches its target.

    target: (n,) generalized velocity without the impulses of this kind.
    criteria: stops at `target` [m/s], or at `acceptable` if the warm start is there already or progress is slow.
    effort: counts the factorizations. When it is used up, the projection stops and its impulses must not be used. The clock
        never stops a contact projection.
    state: on input, the warm start y in the rows of this kind and in the joint rows. On output, the solution y in these rows;
        the other rows are unchanged. The velocities are target + M^-1 J^T y to the last bit.
    steps: maximum number of multiplier steps.
    max_stalled: number of Newton steps in a row that do not halve the gradient, after which a multiplier step ends.

    Returns the error [m/s], or inf if the Hessian has no factor.
    """
    system, kappa = operator.system, operator.kappa
    kind, impulse, v = sets.kind, state.impulse, state.v
    m, n, contacts = system.body_a.size, target.size, system.mu.size
    rho, w, speed = np.empty(m), np.zeros((m, 3)), np.zeros((m, 3))
    derivative, factored_with, fresh = np.zeros((m, 3, 3)), np.zeros((m, 3, 3)), np.zeros((m, 3))
    work, gradient, step = np.empty(n), np.empty(n), np.empty(n)
    u, small = np.empty(3), np.empty((5, 3))
    trial, penalty = _Trial(w, fresh, derivative), FIRST_PENALTY
    _choose_penalties(kind, contacts, penalty, operator.inverse, rho)
    _into_sets(sets, contacts, impulse, fresh, derivative)
    generalised_impulse(system, kind, m, impulse, work)
    velocity_after(system, target, work, v)
    error = _distance(system, sets, kappa, impulse, v, u)
    if error <= criteria.acceptable:
        # A better projection would only shift impulses among redundant contacts, and no longer fit their friction.
        return error
    factored, over = False, False
    error = np.inf
    for _ in range(steps):
        # Newton's method: v minimizes the smooth function for the multipliers y.
        before, t, now, refreshed, stalled = np.inf, 0.0, np.inf, False, 0
        for _newton in range(NEWTON_STEPS):
            _respond_all(system, sets, rho, impulse, v, u, trial)
            for i in range(n):
                work[i] = v[i] - target[i]
            # M^-1 gradient is the difference of the velocities v and target + M^-1 J^T P(w).
            imbalance(system, kind, fresh, work, (gradient, step))
            now = velocities_of_change(system, kind, step, speed)
            if now <= INNER * criteria.target:
                break
            stalled = stalled + 1 if t == 1.0 and refreshed and now > 0.5 * before else 0
            if stalled > 0 and (stalled == max_stalled or not _differ(derivative, factored_with)):
                # A full step that stays on its piece leaves round-off only. Steps that change the piece need not reduce the
                # gradient, but full ones may alternate between two pieces forever.
                break
            refreshed = not factored or now > 0.1 * before
            if refreshed and (not factored or _differ(derivative, factored_with)):
                over = is_over(effort) if kind == CONTACT else spent(effort)
                if over:
                    break
                assemble(operator, derivative, TRUE)
                count_factorisation(effort)
                if not factorise(operator.blocks.structure, operator.factor):
                    return np.inf
                factored = True
                copy_blocks(derivative, factored_with)
            before = now
            for i in range(n):
                step[i] = -gradient[i]
            solve_in_place(operator.blocks.structure, operator.factor, step)
            apply_mass(system, step, work)
            linear, quadratic = 0.0, 0.0
            for i in range(n):
                linear += work[i] * (v[i] - target[i])
                quadratic += work[i] * step[i]
            velocities_of_change(system, kind, step, speed)
            t = _step_length(sets, rho, w, speed, linear, quadratic, small)
            for i in range(n):
                v[i] += t * step[i]
        # Take the multiplier step, and recompute v from the new multipliers.
        _take(kind, contacts, fresh, impulse)
        generalised_impulse(system, kind, m, impulse, work)
        velocity_after(system, target, work, v)
        before = error
        error = _distance(system, sets, kappa, impulse, v, u)
        if over or is_converged(criteria, error, before, 0) or not np.isfinite(error):
            break
        if error > SLOW_GAIN * before:
            # Progress is slow. Nearly redundant contacts exchange impulses at a rate proportional to rho, and so do the
            # contacts of light bodies under heavy ones. A large rho finds the loaded contacts sooner, but costs digits and
            # slows Newton's method. If v is then no more accurate than the multipliers, the small rho refines the result.
            change = FIRST_PENALTY / penalty if now > 0.1 * error else min(10.0, LAST_PENALTY / penalty)
            before = _joint_penalty(penalty)
            penalty *= change
            for k in range(m):
                rho[k] *= change if k < contacts else _joint_penalty(penalty) / before
            factored = False
    return error
