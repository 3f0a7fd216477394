# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method in impulses of the rows beside eliminated joints. Its steps are solved in the velocities of the bodies.

The eliminated rows are part of the matrix A (`elimination.py`). The others are contacts and rows with bounds: limits, motors,
and joints that can break. Let y(w) be the projection of a trial impulse onto the friction constraints, or onto the bounds
(Alart and Curnier 1991), kappa the effective mass, gamma the compliance of a row, and c a compliance relative to 1 / kappa. The
equation is that of `newton_in_impulses.py`,

    lam = y(w),    w = lam - kappa (J v + g + gamma lam) - c (lam - lam_0),    A v = p + J^T lam,

where p is the momentum without these impulses. With D = dy/dw and r = y - lam, a step is the solution of

    (1 - D + kappa gamma D + c D) dlam + kappa D J dv = r,    A dv = J^T dlam.

Its matrix would be dense in the impulses. With E = (1 - D + kappa gamma D + c D)^-1, one small block per contact, it becomes

    (A + J^T kappa E D J) dv = J^T E r,    dlam = E (r - kappa D J dv),

with one block per body and per pair of bodies in contact (`block_operator.py`). Its factor has little fill-in where bodies are
coupled in trees, or nearly: ragdolls in a pile. D is zero at contacts without load, which then drop out.

Each solution is a proximal point step from lam_0 (Rockafellar 1976). With a compliance near zero, Newton's method solves from a
warm start in one to three steps. With a larger one, each contact depends more on itself, and it converges from farther away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, inner_kernel, kernel_part, leaf_kernel
from ...linalg.block_lu import factorise_lu, solve_lu_in_place
from ...linalg.block_triangular import solve_in_place
from ...linalg.copying import copy_vector
from ...problem.cones import project_interval
from ...problem.coulomb import respond
from ...problem.system import push_bodies, relative_velocity
from ..block_operator import Operator, assemble, gap_velocity
from ..effort import count_products, has_work_left
from .newton_in_impulses import is_within
from .newton_iteration import NewtonOperator, NewtonRules, newton_iteration

__all__ = ["Elimination", "newton_beside_joints", "velocities_with"]

Floats = NDArray[np.float64]

# Steps for one compliance; all of them may be uphill, and are then the shortest ones. With more steps, failures with a small
# compliance take longer; with fewer, the larger compliances are needed more often.
RULES = NewtonRules(max_steps=12, max_uphill=12, full_uphill=False, reuse=0.0)


class Elimination(NamedTuple):
    """A system whose linear joint rows are eliminated.

    operator: `Operator` of the system, with storage for the factor of a step.
    joints: `Operator` of the joint rows only, with the factor of A.
    stiffness: (j, 3) 1 / gamma of the eliminated rows [kg], 0 for the others.
    """

    operator: Operator
    joints: Operator
    stiffness: Floats


class _Equation(NamedTuple):
    """The equation of one proximal point step, with work arrays.

    one: the system. compliance: c. momentum: (n,) p [N s]. center: (3 m,) lam_0 [N s].
    effort: counts the work.
    inverse: (m, 3, 3) E. weight: (m, 3, 3) kappa E D [kg], and 1 / gamma of eliminated rows on its diagonal. change: (n,) dv.
    w, y: (3,). block: (3, 3).
    """

    one: Elimination
    compliance: float
    momentum: Floats
    center: Floats
    effort: NDArray[np.int64]
    inverse: Floats
    weight: Floats
    change: Floats
    w: Floats
    y: Floats
    block: Floats


class _Trial(NamedTuple):
    """Evaluation of the equation: v (n,), residual (3 m,) y(w) - lam [N s], derivative (m, 3, 3) D.

    Residual and derivative are zero in eliminated rows.
    """

    v: Floats
    residual: Floats
    derivative: Floats


@leaf_kernel
def velocities_with(one, momentum, lam, v):
    """Set v (n,) to the solution of A v = momentum + J^T lam. lam: (3 m,), zero for the eliminated rows."""
    system = one.operator.system
    copy_vector(momentum, v)
    for k in range(system.body_a.size):
        n, t1, t2 = lam[3 * k], lam[3 * k + 1], lam[3 * k + 2]
        if n != 0.0 or t1 != 0.0 or t2 != 0.0:
            push_bodies(system, k, n, t1, t2, v)
    solve_in_place(one.joints.blocks.structure, one.joints.factor, v)


@kernel_part
def _respond_in_contact(equation, lam, k, trial):
    """Set y(w) and D of contact k, whose gap velocity is `equation.w`."""
    w, y, kappa, at = equation.w, equation.y, equation.one.operator.kappa[k], 3 * k
    for r in range(3):
        w[r] = lam[at + r] - kappa * w[r] - equation.compliance * (lam[at + r] - equation.center[at + r])
    respond(equation.one.operator.system.mu[k], 0, 1.0, w, y, trial.derivative[k])


@kernel_part
def _respond_in_joint(equation, lam, k, trial):
    """Set y(w) and D of the rows of a joint that are not eliminated, in triple k, whose gap velocity is `equation.w`."""
    w, y, kappa, at = equation.w, equation.y, equation.one.operator.kappa[k], 3 * k
    joint, slope = k - equation.one.operator.system.mu.size, trial.derivative[k]
    for r in range(3):
        law = equation.one.operator.system.box[joint, r]
        slope[r, 0], slope[r, 1], slope[r, 2], y[r] = 0.0, 0.0, 0.0, lam[at + r]
        if equation.one.stiffness[joint, r] == 0.0:
            u, away = w[r] + law[2] * lam[at + r], lam[at + r] - equation.center[at + r]
            y[r], slope[r, r] = project_interval(lam[at + r] - kappa * u - equation.compliance * away, law[0], law[1], 1.0)


@leaf_kernel
def _evaluate(equation, lam, trial):
    """Update `trial` to impulses lam (3 m,) and return the norm of the residual in the metric of 1 / kappa."""
    operator, total = equation.one.operator, 0.0
    velocities_with(equation.one, equation.momentum, lam, trial.v)
    for k in range(operator.kappa.size):
        gap_velocity(operator.system, k, trial.v, equation.w)
        if k < operator.system.mu.size:
            _respond_in_contact(equation, lam, k, trial)
        else:
            _respond_in_joint(equation, lam, k, trial)
        for r in range(3):
            off = equation.y[r] - lam[3 * k + r]
            trial.residual[3 * k + r] = off
            if operator.kappa[k] > 0.0:
                total += off * off / operator.kappa[k]
    return np.sqrt(total)


@leaf_kernel
def _is_solved(equation, trial, target):
    return is_within(trial.residual, equation.one.operator.kappa, target)


@leaf_kernel
def _invert(a, out):
    """Set out (3, 3) := a^-1. The first row of a (3, 3) is zero beside the diagonal, as that of D."""
    first, second = 1.0 / a[0, 0], 1.0 / (a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1])
    out[0, 0], out[0, 1], out[0, 2] = first, 0.0, 0.0
    out[1, 1], out[1, 2], out[2, 1], out[2, 2] = second * a[2, 2], -second * a[1, 2], -second * a[2, 1], second * a[1, 1]
    out[1, 0] = -first * (out[1, 1] * a[1, 0] + out[1, 2] * a[2, 0])
    out[2, 0] = -first * (out[2, 1] * a[1, 0] + out[2, 2] * a[2, 0])


@leaf_kernel
def _fill_weights(equation, trial, step):
    """Fill E and the weights of all triples, set step (3 m,) := E r, and `change` := J^T E r."""
    one, a = equation.one, equation.block
    system, change = one.operator.system, equation.change
    contacts = system.mu.size
    change[:] = 0.0
    for k in range(one.operator.kappa.size):
        D, E, weight, kappa, at = trial.derivative[k], equation.inverse[k], equation.weight[k], one.operator.kappa[k], 3 * k
        for r in range(3):
            gamma = system.box[k - contacts, r, 2] if k >= contacts else 0.0
            for s in range(3):
                a[r, s] = (equation.compliance + kappa * gamma - 1.0) * D[r, s]
            a[r, r] += 1.0
        _invert(a, E)
        for r in range(3):
            for s in range(3):
                weight[r, s] = kappa * (E[r, 0] * D[0, s] + E[r, 1] * D[1, s] + E[r, 2] * D[2, s])
            step[at + r] = E[r, 0] * trial.residual[at] + E[r, 1] * trial.residual[at + 1] + E[r, 2] * trial.residual[at + 2]
            if k >= contacts:
                weight[r, r] += one.stiffness[k - contacts, r]
        if step[at] != 0.0 or step[at + 1] != 0.0 or step[at + 2] != 0.0:
            push_bodies(system, k, step[at], step[at + 1], step[at + 2], change)


@leaf_kernel
def _finish_step(equation, step):
    """Set step (3 m,) := E (r - kappa D J dv). On input, it is E r."""
    one, system = equation.one, equation.one.operator.system
    contacts = system.mu.size
    for k in range(one.operator.kappa.size):
        n, t1, t2 = relative_velocity(system, k, equation.change)
        n, t1, t2 = n - system.bias[k, 0], t1 - system.bias[k, 1], t2 - system.bias[k, 2]
        for r in range(3):
            if k < contacts or one.stiffness[k - contacts, r] == 0.0:
                weight = equation.weight[k, r]
                step[3 * k + r] -= weight[0] * n + weight[1] * t1 + weight[2] * t2


@inner_kernel
def _find_step(equation, trial, _fresh, step):
    """Set step (3 m,) to the Newton step. Its matrix is factored in each step, because D changes."""
    operator = equation.one.operator
    if not has_work_left(equation.effort):
        return False
    _fill_weights(equation, trial, step)
    assemble(operator, equation.weight, FALSE)
    count_products(equation.effort, operator.blocks.structure.target.size + operator.kappa.size)
    if not factorise_lu(operator.blocks.structure, operator.factor):
        return False
    solve_lu_in_place(operator.blocks.structure, operator.factor, equation.change)
    _finish_step(equation, step)
    return True


NEWTON_BESIDE_JOINTS = NewtonOperator(_evaluate, _is_solved, _find_step)


@inner_kernel
def newton_beside_joints(one, compliances, momentum, target, effort, lam):
    """Improve impulses by Newton's method, and return the number of steps and whether the target is reached.

    one: `Elimination` of the system.
    compliances: relative to 1 / kappa, in order; each proximal point step starts from the result of the one before.
    momentum: (n,) right side of the velocities without impulses [N s].
    target: bound on the change of velocity that the residual of a row means [m/s].
    effort: counts the work.
    lam: (3 m,) on input, the start; on output, the result [N s]. It is zero in the eliminated rows.
    """
    rows, n, m, steps, is_solved = lam.size, momentum.size, lam.size // 3, 0, False
    trial = _Trial(np.empty(n), np.empty(rows), np.empty((m, 3, 3)))
    center, inverse, weight, change = np.empty(rows), np.empty((m, 3, 3)), np.empty((m, 3, 3)), np.empty(n)
    w, y, block = np.empty(3), np.empty(3), np.empty((3, 3))
    for compliance in compliances:
        copy_vector(lam, center)
        equation = _Equation(one, compliance, momentum, center, effort, inverse, weight, change, w, y, block)
        done, is_solved = newton_iteration(NEWTON_BESIDE_JOINTS, equation, RULES, target, lam, trial)
        steps += done
    return steps, is_solved
