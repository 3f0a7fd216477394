# SPDX-License-Identifier: GPL-3.0-or-later
"""The alternating direction method of multipliers (ADMM) for contact and friction: one factorization, many cheap iterations.

With s_k = mu_k |u_t,k| added to the normal velocities, Coulomb's law is a second-order cone complementarity problem (De Saxce
and Feng 1998). For a given s it is the minimum of a convex function (Acary, Cadoux, Lemarechal and Malick 2011, "A formulation
of the linear discrete Coulomb friction problem via convex optimization"):

    min over v, z of  1/2 |v - v_hat|_M^2    with  J v + c + s e_n = z,    z in K*,

where K* is the dual of the friction cones K. The method (Boyd, Parikh, Chu, Peleato and Eckstein 2011, "Distributed
optimization and statistical learning via the alternating direction method of multipliers", section 3.1.1, over-relaxed as in
3.4.3) repeats

    v := argmin 1/2 |v - v_hat|_M^2 + 1/2 |J v + c + s e_n - z + w|_rho^2,
    z := P_K*(x),  w := x - z,  with  x = alpha (J v + c + s e_n) + (1 - alpha) z + w.

w is the scaled dual variable (u in the paper): lam = -rho w are the impulses, which are always in K. s := mu |z_t| is updated
in each iteration (Carpentier, Montaut and Le Lidec 2024, "From compliant to rigid contact simulation"). The matrix M + J^T rho
J does not change, so all iterations share one Cholesky factor. An iteration costs two triangular solves and a pass over the
contacts; a pile needs a hundred for an error of 1e-4. `admm_iteration.py` controls penalty, extrapolation and end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, TRUE, inlined_kernel, inner_kernel, kernel_part, leaf_kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...linalg.copying import copy_rows
from ...problem.system import apply_mass, push_bodies
from ..block_operator import Operator, State, assemble, measure
from ..criteria import is_converged
from ..effort import count_factorisation, count_products, spent
from .admm_iteration import ADMM_PENALTY, ITERATIONS_A_CHECK, AdmmArrays, AdmmOperator, admm_iteration
from .splitting import change_penalty, contact_target, extrapolate, joint_target, relax, split_all, start

__all__ = ["Workspace", "admm", "iterate", "workspace"]

Floats = NDArray[np.float64]


class Workspace(NamedTuple):
    """An operator and the arrays of the iterations.

    rho: (m,) penalties [kg]. offset: (m,) s [m/s]. x, z: (m, 3), see the module [m/s].
    momentum: (n,) M v_hat. v: (n,) velocities of the last iteration.
    """

    operator: Operator
    rho: Floats
    offset: Floats
    x: Floats
    z: Floats
    momentum: Floats
    v: Floats


class _Equation(NamedTuple):
    """The problem of bodies, as the functions of `ADMM_WITH_BODIES` know it.

    work: arrays of the iterations. right: (n,) work array. state: impulses and velocities to measure.
    acceptable: bound on the natural map [m/s]. effort: counts and bounds the work.
    """

    work: Workspace
    right: Floats
    state: State
    acceptable: float
    effort: NDArray[np.int64]


@kernel_part
def workspace(operator):
    """Return a `Workspace` whose momentum is set."""
    m, n = operator.kappa.size, operator.system.velocity.size
    momentum = np.empty(n)
    apply_mass(operator.system, operator.system.velocity, momentum)
    return Workspace(operator, np.empty(m), np.empty(m), np.empty((m, 3)), np.empty((m, 3)), momentum, np.empty(n))


@inlined_kernel
def _update_contacts(work, relaxed, targeted, out):
    """Update x to new velocities, and add J^T y of the next targets of contacts and joints to `out`."""
    system, rho, x, z, offset, v = work.operator.system, work.rho, work.x, work.z, work.offset, work.v
    for k in range(system.mu.size):
        now = relax(system, k, v, offset, z, x) if relaxed else (x[k, 0], x[k, 1], x[k, 2])
        if targeted:
            n, t1, t2 = contact_target(system, rho, k, now, offset, z)
            push_bodies(system, k, n, t1, t2, out)
    for k in range(system.mu.size, rho.size):
        now = relax(system, k, v, offset, z, x) if relaxed else (x[k, 0], x[k, 1], x[k, 2])
        if targeted:
            n, t1, t2 = joint_target(system, rho, k, now, offset, z)
            push_bodies(system, k, n, t1, t2, out)


@leaf_kernel
def iterate(work, times, right):
    """Do a number of iterations, with the factor of M + J^T rho J. right: (n,) work array."""
    operator, v = work.operator, work.v
    for i in range(times):
        right[:] = 0.0
        if i == 0:
            _update_contacts(work, FALSE, TRUE, right)
        else:
            _update_contacts(work, TRUE, TRUE, right)
        for j in range(v.size):
            v[j] = right[j] + work.momentum[j]
        solve_in_place(operator.blocks.structure, operator.factor, v)
    _update_contacts(work, TRUE, FALSE, right)


@inner_kernel
def _factorise(equation, arrays):
    """Factor M + J^T rho J in the storage of the operator. Return False if there is no factor."""
    rho, operator = equation.work.rho, equation.work.operator
    derivative = np.zeros((arrays.x.shape[0], 3, 3))
    for k in range(rho.size):
        derivative[k, 0, 0], derivative[k, 1, 1], derivative[k, 2, 2] = rho[k], rho[k], rho[k]
    assemble(operator, derivative, TRUE)
    count_factorisation(equation.effort)
    return factorise(operator.blocks.structure, operator.factor)


@leaf_kernel
def _advance(equation, arrays):
    """Do the iterations between two checks."""
    iterate(equation.work, ITERATIONS_A_CHECK, equation.right)
    products = equation.work.operator.blocks.structure.length // 100 + arrays.x.shape[0]
    count_products(equation.effort, ITERATIONS_A_CHECK * products)


@inner_kernel
def _measure(equation, arrays):
    """Update the state to x, and return its natural map [m/s] and the number of unacceptable contacts and joints."""
    operator = equation.work.operator
    split_all(operator.system, equation.work.rho, arrays.x, arrays.impulse)
    return measure(operator, equation.acceptable, equation.state)


@leaf_kernel
def _is_done(equation, criteria, error, before, unconverged):
    """Return True if the natural map has converged, or the budget is used up."""
    return is_converged(criteria, error, before, unconverged) or spent(equation.effort)


@leaf_kernel
def _change_penalty(equation, arrays, change):
    """Multiply the penalties by a factor, and keep the impulses and z."""
    change_penalty(arrays.impulse, equation.work.rho, arrays.x, change)


ADMM_WITH_BODIES = AdmmOperator(_factorise, _advance, _measure, _is_done, _change_penalty, copy_rows, extrapolate)


@inner_kernel
def admm(operator, criteria, effort, state):
    """Improve a state and return its natural map [m/s].

    It stops if the natural map converges, or is at most `criteria.fallback` where the penalty would have to change.

    effort: counts and bounds the work.
    state: on input, the warm start; on output, the impulses with the smallest natural map and their velocities.
    """
    work, impulse = workspace(operator), state.impulse
    arrays = AdmmArrays(work.x, impulse, np.empty_like(work.x), np.empty_like(work.x), impulse.copy())
    error, _ = measure(operator, criteria.acceptable, state)
    start(operator.system, operator.kappa, ADMM_PENALTY, impulse, state.v, work.rho, work.x)
    equation = _Equation(work, np.empty(state.v.size), state, criteria.acceptable, effort)
    least = admm_iteration(ADMM_WITH_BODIES, equation, arrays, criteria, error)
    copy_rows(arrays.best, impulse)
    measure(operator, criteria.acceptable, state)
    return least
