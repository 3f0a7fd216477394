# SPDX-License-Identifier: GPL-3.0-or-later
"""Even loads: the smallest normal impulses with the same wrenches on all bodies as given ones.

Of redundant contacts, such as those of a plank on four points, only some sums of normal impulses follow from the contact law. Sweeps
take contacts one after the other, and the first ones take more of the load. With sliding friction the distribution matters: the
plank turns to one side, and a row of books stays pressed together. Newton's method keeps the distribution that it begins with. So
of a few bodies, it begins with the normal impulses alpha that minimize

    sum_k alpha_k^2 / kappa_k    subject to    N alpha = N alpha_0,

over all contacts that touch, up to a relative error of about 1 / rho. They are  alpha = D N^T z  with  (M + N D N^T) z = N alpha_0
and D = rho kappa: the first step of the method of multipliers (`kaufman_2008/projection.py`), begun with nothing. They are the
same in a mirror image of the scene. Friction follows them within its disks.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import TRUE, inner_kernel, leaf_kernel
from ...linalg.block_cholesky import factorise
from ...linalg.block_triangular import solve_in_place
from ...linalg.copying import copy_rows, copy_vector
from ...problem.system import relative_velocity
from ..block_operator import CONTACT, State, assemble, generalised_impulse, measure
from ..criteria import NEAR_FOR_NEWTON
from ..effort import count_factorisation

__all__ = ["spread_evenly"]

PENALTY = 1e4  # rho; the error of the wrenches is no larger than that of first-order methods


@inner_kernel
def spread_evenly(operator, criteria, error, effort, state):
    """Make the normal impulses of contacts even, and return the natural map [m/s].

    The result is kept only if Newton's method is still near the solution. Joints keep their impulses.

    operator: of the system. criteria: with its velocity scale. error: natural map of the state [m/s]. effort: counts the
    factorization. state: on input and on output, impulses and their velocities.
    """
    system, blocks, values, _, kappa = operator
    contacts, touching = system.mu.size, max(error, criteria.acceptable)
    derivative, even = np.zeros((kappa.size, 3, 3)), State(state.impulse.copy(), np.empty(state.v.size))
    wrench = np.empty(state.v.size)
    weigh_touching(system, kappa, touching, state, derivative)
    generalised_impulse(system, CONTACT, contacts, state.impulse, wrench)
    assemble(operator, derivative, TRUE)
    count_factorisation(effort)
    if not factorise(blocks.structure, values):
        return error
    solve_in_place(blocks.structure, values, wrench)
    respond_evenly(system, kappa, derivative, (wrench, state.v), even.impulse)
    found, _ = measure(operator, criteria.acceptable, even)
    if not found <= max(error, NEAR_FOR_NEWTON * criteria.scale):
        return error
    copy_rows(even.impulse, state.impulse)
    copy_vector(even.v, state.v)
    return found


@leaf_kernel
def weigh_touching(system, kappa, touching, state, derivative):
    """Set derivative (m, 3, 3) := D of contacts that bear, or open at no more than `touching` [m/s]; 0 of all others."""
    for k in range(system.mu.size):
        opening, _, _ = relative_velocity(system, k, state.v)
        if state.impulse[k, 0] > 0.0 or opening + system.slack[k] <= touching:
            derivative[k, 0, 0] = PENALTY * kappa[k]


@leaf_kernel
def respond_evenly(system, kappa, derivative, velocities, impulse):
    """Set the normal impulses of contacts := D N^T z, and move their friction against the slip into its disk.

    velocities: (n,) z, and (n,) those that the impulses (m, 3) cause before.
    """
    z, v = velocities
    for k in range(system.mu.size):
        n, _, _ = relative_velocity(system, k, z)
        n = max(0.0, derivative[k, 0, 0] * (n - system.bias[k, 0]))
        _, s, t = relative_velocity(system, k, v)
        s, t = impulse[k, 1] - kappa[k] * s, impulse[k, 2] - kappa[k] * t
        size, bound = np.sqrt(s * s + t * t), system.mu[k] * n if n > 0.0 else 0.0
        share = bound / size if size > bound else 1.0
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = n, share * s, share * t
