# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of ADMM at one contact or joint: projections onto the cones, and targets of the velocities (`admm.py`)."""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...problem.cones import project_interval
from ...problem.coulomb import project_cone
from ...problem.system import inlined_relative_velocity

__all__ = [
    "RELAXATION",
    "change_penalty",
    "contact_target",
    "extrapolate",
    "joint_target",
    "relax",
    "split_all",
    "start",
]

JOINT_FACTOR = 1e2  # penalty of joints, relative to that of contacts; joint rows are mostly linear, so a large one is faster
RELAXATION = 1.6  # alpha; from 1 (none) to below 2 (unstable); 1.5 to 1.8 is usual (Boyd et al., section 3.4.3)


@inlined_kernel
def _joint_impulse(system, rho, k, r, x):
    """Return the impulse -rho w of a joint row [N s]: the projection of -rho x onto the bounds of the row."""
    joint = k - system.mu.size
    low, high, gamma = system.box[joint, r, 0], system.box[joint, r, 1], system.box[joint, r, 2]
    return project_interval(-rho[k] * x, low, high, 1.0 + rho[k] * gamma)[0]


@inlined_kernel
def _gap_velocity(system, k, v):
    """Return J_k v + b_k + c_k, as three numbers [m/s]."""
    n, t1, t2 = inlined_relative_velocity(system, k, v)
    return n + system.slack[k] if k < system.mu.size else n, t1, t2


@leaf_kernel
def split_all(system, rho, x, impulse):
    """Set impulse (m, 3) := -rho w with w = -P_K(-x). For joints, P is the projection onto the bounds of the rows."""
    for k in range(system.mu.size):
        n, t1, t2, _ = project_cone(system.mu[k], -x[k, 0], -x[k, 1], -x[k, 2])
        impulse[k, 0], impulse[k, 1], impulse[k, 2] = rho[k] * n, rho[k] * t1, rho[k] * t2
    for k in range(system.mu.size, rho.size):
        for r in range(3):
            impulse[k, r] = _joint_impulse(system, rho, k, r, x[k, r])


@kernel_part
def contact_target(system, rho, k, x, offset, z):
    """Set z := P_K*(x) and s := mu |z_t| of a contact, and return the target rho (z - w - c - s e_n) of v.

    x: three numbers [m/s].
    """
    mu, (x0, x1, x2) = system.mu[k], x
    n, t1, t2, slip = project_cone(mu, -x0, -x1, -x2)
    z0, z1, z2 = x0 + n, x1 + t1, x2 + t2
    z[k, 0], z[k, 1], z[k, 2] = z0, z1, z2
    offset[k] = mu * slip
    return (
        rho[k] * (z0 + n - system.bias[k, 0] - system.slack[k] - offset[k]),
        rho[k] * (z1 + t1 - system.bias[k, 1]),
        rho[k] * (z2 + t2 - system.bias[k, 2]),
    )


@inlined_kernel
def _row_target(system, rho, k, r, x, z):
    # With lam = -rho w, z = x - w and z - w = x - 2 w.
    impulse = _joint_impulse(system, rho, k, r, x)
    z[k, r] = x + impulse / rho[k]
    return rho[k] * (x - system.bias[k, r]) + 2.0 * impulse


@kernel_part
def joint_target(system, rho, k, x, offset, z):
    """Do the same as `contact_target` for the rows of a joint."""
    offset[k] = 0.0
    x0, x1, x2 = x
    return _row_target(system, rho, k, 0, x0, z), _row_target(system, rho, k, 1, x1, z), _row_target(system, rho, k, 2, x2, z)


@inlined_kernel
def relax(system, k, v, offset, z, x):
    """Set x := alpha (J v + c + s e_n) + (1 - alpha) z + w, and return it as three numbers. On input, x is z + w.

    Reading three numbers that were just written one by one as a vector would stall the processor, so they are returned.
    """
    u, u1, u2 = _gap_velocity(system, k, v)
    x0 = x[k, 0] + RELAXATION * (u + offset[k] - z[k, 0])
    x1 = x[k, 1] + RELAXATION * (u1 - z[k, 1])
    x2 = x[k, 2] + RELAXATION * (u2 - z[k, 2])
    x[k, 0], x[k, 1], x[k, 2] = x0, x1, x2
    return x0, x1, x2


@leaf_kernel
def extrapolate(x, before, times):
    """Add times (x - before) to x (m, 3)."""
    for k in range(x.shape[0]):
        for r in range(3):
            x[k, r] += times * (x[k, r] - before[k, r])


@leaf_kernel
def start(system, kappa, penalty, impulse, v, rho, x):
    """Set rho to the penalty times the effective masses, and x := z + w with impulse = -rho w and z = J v + c + s e_n."""
    for k in range(rho.size):
        rho[k] = penalty * kappa[k] if kappa[k] > 0.0 else 1.0
        if k >= system.mu.size:
            rho[k] *= JOINT_FACTOR
        u, u1, u2 = _gap_velocity(system, k, v)
        if k < system.mu.size:
            u += system.mu[k] * np.sqrt(u1 * u1 + u2 * u2)
        x[k, 0] = u - impulse[k, 0] / rho[k]
        x[k, 1] = u1 - impulse[k, 1] / rho[k]
        x[k, 2] = u2 - impulse[k, 2] / rho[k]


@leaf_kernel
def change_penalty(impulse, rho, x, change):
    """Multiply rho (m,) by a factor, and change x = z + w such that z and impulse = -rho w stay the same."""
    for k in range(rho.size):
        for r in range(3):
            x[k, r] += (1.0 - 1.0 / change) * impulse[k, r] / rho[k]
        rho[k] *= change
