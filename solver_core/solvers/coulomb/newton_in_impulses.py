# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method in impulses, for the contacts of a small dense Delassus operator G: u = G lam + g.

Let y(w) be the projection of a trial impulse onto the friction constraints (Alart and Curnier 1991), and kappa the effective
mass of a contact. With a compliance c, relative to 1 / kappa, and impulses lam_0, the equation is

    lam = y(w),    w = lam - kappa (G lam + g) - c (lam - lam_0),

With D = dy/dw, the step of `newton_iteration.py` is

    (1 - D + kappa D G + c D) dlam = y - lam.

D is zero at contacts without load, so these leave the matrix. Each solution is a proximal point step from lam_0 (Rockafellar
1976). The compliance keeps redundant contacts from exchanging impulses. With c = 1 each contact depends mostly on itself, and
Newton's method converges from almost any start; with a smaller c fewer proximal steps are needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...linalg.copying import copy_vector
from ...problem.coulomb import respond
from .newton_iteration import NewtonOperator, NewtonRules, newton_iteration

__all__ = ["LARGE_RULES", "DenseLaw", "is_within", "newton_from_far", "newton_in_impulses"]

Floats = NDArray[np.float64]

# Steps for one compliance; all of them may be uphill, and are then the shortest ones. With more steps, failures with a small
# compliance take longer; with fewer, a larger compliance is needed more often. Full steps uphill lead away from a warm start:
# among ragdolls they take 1.4 times the steps. The matrix is factored in every step, because D changes.
SMALL_RULES = NewtonRules(max_steps=12, max_uphill=12, full_uphill=False, reuse=0.0)
# The same for a distant start, with full steps uphill. More of both find more solutions with a small compliance, and failures
# take longer. For matrices of 100 contacts at 1e-6, SMALL_RULES take 1.8 times the factorizations.
LARGE_RULES = NewtonRules(max_steps=25, max_uphill=2, full_uphill=True, reuse=0.0)
LEAST_PIVOT = 1e-15  # smallest pivot of a nonsingular matrix, whose rows are scaled to about 1


class DenseLaw(NamedTuple):
    """A dense problem in impulses, of c contacts; r = 3 c.

    G: (r, r) Delassus operator [1/kg].
    free: (r,) velocities without impulses, with the slack included [m/s].
    mu: (c,) coefficients of friction, finite.
    kappa: (c,) effective masses [kg], 0 if nothing can move.
    """

    G: Floats
    free: Floats
    mu: Floats
    kappa: Floats


class _Equation(NamedTuple):
    """The equation of one proximal point step, with work arrays.

    law: the problem. compliance: c. center: (r,) lam_0 [N s].
    matrix: (r, r + 1) matrix of a step with its right side. active: (r,) rows of that matrix. w, y: (3,).
    """

    law: DenseLaw
    compliance: float
    center: Floats
    matrix: Floats
    active: NDArray[np.int64]
    w: Floats
    y: Floats


class _Trial(NamedTuple):
    """Evaluation of the equation: u (r,) G lam + g [m/s], residual (r,) y(w) - lam [N s], derivative (c, 3, 3) D."""

    u: Floats
    residual: Floats
    derivative: Floats


@leaf_kernel
def _fill_velocities(law, lam, u):
    """Set u := G lam + g."""
    rows = lam.size
    for i in range(rows):
        row, total = law.G[i], law.free[i]
        for k in range(rows):
            total += row[k] * lam[k]
        u[i] = total


@leaf_kernel
def _evaluate(equation, lam, trial):
    """Update `trial` to impulses lam (r,) and return the norm of the residual in the metric of 1 / kappa."""
    law, compliance, center, y, w = equation.law, equation.compliance, equation.center, equation.y, equation.w
    _fill_velocities(law, lam, trial.u)
    total = 0.0
    for k in range(law.mu.size):
        at, kappa = 3 * k, law.kappa[k]
        for r in range(3):
            w[r] = lam[at + r] - kappa * trial.u[at + r] - compliance * (lam[at + r] - center[at + r])
        respond(law.mu[k], 0, 1.0, w, y, trial.derivative[k])
        for r in range(3):
            trial.residual[at + r] = y[r] - lam[at + r]
            if kappa > 0.0:
                total += trial.residual[at + r] * trial.residual[at + r] / kappa
    return np.sqrt(total)


@leaf_kernel
def is_within(residual, kappa, target):
    """Return True if no residual (3 c,) exceeds the impulse that changes the velocity of its contact by `target` [m/s]."""
    for i in range(residual.size):
        off = abs(residual[i])
        if not off <= target * kappa[i // 3]:
            return False
    return True


@leaf_kernel
def _is_solved(equation, trial, target):
    return is_within(trial.residual, equation.law.kappa, target)


@kernel_part
def _fill_rows_of_contact(equation, k, trial, step, first, count):
    """Fill the three rows of the matrix, from row `first` on, of contact k; their right side is in column `count`."""
    law, A, active, at = equation.law, equation.matrix, equation.active, 3 * k
    g0, g1, g2 = law.G[at], law.G[at + 1], law.G[at + 2]
    for r in range(3):
        row, d, right = A[first + r], trial.derivative[k, r], trial.residual[at + r]
        d0, d1, d2 = law.kappa[k] * d[0], law.kappa[k] * d[1], law.kappa[k] * d[2]
        for c in range(step.size):
            if step[c] != 0.0:
                right -= (d0 * g0[c] + d1 * g1[c] + d2 * g2[c]) * step[c]
        for s in range(count):
            row[s] = d0 * g0[active[s]] + d1 * g1[active[s]] + d2 * g2[active[s]]
        for s in range(3):
            row[first + s] += (equation.compliance - 1.0) * d[s]
        row[first + r] += 1.0
        row[count] = right


@kernel_part
def _eliminate(A, n):
    """Solve A x = b, with b in column n, which x replaces. Return False if A is singular."""
    for i in range(n):
        best, pivot = i, abs(A[i, i])
        for j in range(i + 1, n):
            if abs(A[j, i]) > pivot:
                best, pivot = j, abs(A[j, i])
        if not pivot > LEAST_PIVOT:
            return False
        if best != i:
            for j in range(i, n + 1):
                A[i, j], A[best, j] = A[best, j], A[i, j]
        over, row = 1.0 / A[i, i], A[i]
        for j in range(i + 1, n):
            f = A[j, i] * over
            if f != 0.0:
                other = A[j]
                for c in range(i + 1, n + 1):
                    other[c] -= f * row[c]
    for i in range(n - 1, -1, -1):
        total = A[i, n]
        for j in range(i + 1, n):
            total -= A[i, j] * A[j, n]
        A[i, n] = total / A[i, i]
    return True


@leaf_kernel
def _find_step(equation, trial, _fresh, step):
    """Set step (r,) to the Newton step, in which the impulses without load go to their bounds. Return False if there is none.

    The matrix is factored in place, so each step needs a fresh factor.
    """
    A, active, count = equation.matrix, equation.active, 0
    for r in range(step.size):
        is_active = trial.derivative[r // 3, 0, 0] > 0.0
        step[r] = 0.0 if is_active else trial.residual[r]
        if is_active:
            active[count] = r
            count += 1
    for i in range(0, count, 3):
        _fill_rows_of_contact(equation, active[i] // 3, trial, step, i, count)
    if not _eliminate(A, count):
        return False
    for s in range(count):
        step[active[s]] = A[s, count]
    return True


NEWTON_IN_IMPULSES = NewtonOperator(_evaluate, _is_solved, _find_step)


@kernel
def newton_in_impulses(law, compliances, target, lam):
    """Improve impulses by Newton's method, and return the number of steps and whether the target is reached.

    Each step factors a matrix of the rows that carry load.

    law: `DenseLaw`.
    compliances: relative to 1 / kappa, in order; each proximal point step starts from the result of the one before.
    target: bound on the change of velocity that the residual of a row means [m/s].
    lam: (r,) on input, the start; on output, the result [N s].
    """
    rows, steps, is_solved = lam.size, 0, False
    trial = _Trial(np.empty(rows), np.empty(rows), np.empty((law.kappa.size, 3, 3)))
    center, matrix, active = np.empty(rows), np.empty((rows, rows + 1)), np.empty(rows, np.int64)
    w, y = np.empty(3), np.empty(3)
    for compliance in compliances:
        copy_vector(lam, center)
        equation = _Equation(law, compliance, center, matrix, active, w, y)
        done, is_solved = newton_iteration(NEWTON_IN_IMPULSES, equation, SMALL_RULES, target, lam, trial)
        steps += done
    return steps, is_solved


@kernel
def newton_from_far(law, compliance, target, lam):
    """Do one proximal point step from a distant start, and return the number of steps and whether the target is reached.

    law: `DenseLaw`. compliance: relative to 1 / kappa.
    target: bound on the change of velocity that the residual of a row means [m/s].
    lam: (r,) on input, the start; on output, the result [N s].
    """
    rows = lam.size
    trial = _Trial(np.empty(rows), np.empty(rows), np.empty((law.kappa.size, 3, 3)))
    matrix, active = np.empty((rows, rows + 1)), np.empty(rows, np.int64)
    equation = _Equation(law, compliance, lam.copy(), matrix, active, np.empty(3), np.empty(3))
    return newton_iteration(NEWTON_IN_IMPULSES, equation, LARGE_RULES, target, lam, trial)
