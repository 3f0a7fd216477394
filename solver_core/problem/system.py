# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrays of a contact problem, and products with its matrices.

The products are J v, J^T lam, M x, M^-1 p and diag(J M^-1 J^T). The matrices J and M are never assembled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.rows_of_six import SIX, RowOfSix, add_three_rows, minus_rows, product_of_six, weigh_six_rows

__all__ = [
    "System",
    "add_velocity",
    "apply_inverse_mass",
    "apply_mass",
    "effective_inverse_mass",
    "effective_mass",
    "inlined_relative_velocity",
    "inverse_mass_of_row",
    "one_body",
    "push_bodies",
    "push_body",
    "relative_velocities",
    "relative_velocity",
    "transpose_product",
    "with_least_scale",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class System(NamedTuple):
    """The arrays of a contact problem as compiled kernels take them.

    There are n degrees of freedom in blocks, one block per body, and m triples of rows. The c contacts come first; in two
    dimensions their last row is zero. The j triples of rows of joints follow. Each joint row has its own law.

    offset: (bodies + 1,) first degree of freedom of each body.
    block_start: (bodies + 1,) start of each body's block in `mass` and `inverse_mass`.
    mass, inverse_mass: diagonal blocks of M and M^-1, concatenated, in row-major order.
    velocity: (n,) predicted velocity v_hat.
    body_a, body_b: (m,) indices of bodies, -1 for the world.
    jacobian_a, jacobian_b: (m, 3, largest block) Jacobians, zero beyond the width of the body's block.
    bias: (m, 3) b [m/s].
    slack: (c,) c [m/s].
    mu: (c,) coefficient of friction in use, static or dynamic.
    box: (j, 3, 3) low, high and gamma of each joint row: the smallest and the largest impulse [N s] and the compliance
        gamma >= 0 [1/kg]. The law of the row is: -(u + gamma lam) is in the normal cone of low <= lam <= high.
    least_scale: lower bound of the velocity scale (`residuals.fastest_velocity`) [m/s]: the velocity that gravity adds in one
        step, or 0 if gravity is unknown.
    """

    offset: Ints
    block_start: Ints
    mass: Floats
    inverse_mass: Floats
    velocity: Floats
    body_a: Ints
    body_b: Ints
    jacobian_a: Floats
    jacobian_b: Floats
    bias: Floats
    slack: Floats
    mu: Floats
    box: Floats
    least_scale: float


def one_body(jacobian: Floats, free_velocity: Floats, slack: Floats, mu: Floats, least_scale: float) -> System:
    """Return the system of one body with n degrees of freedom and unit mass that touches only the world.

    jacobian: (m, dim, n), such that G = J J^T.
    free_velocity: (m, dim) [m/s].
    slack, mu: (m,).
    least_scale: lower bound of the velocity scale [m/s].
    """
    m, dim, n = jacobian.shape
    rows, bias = np.zeros((m, 3, n)), np.zeros((m, 3))
    rows[:, :dim], bias[:, :dim] = jacobian, free_velocity
    return System(
        offset=np.array([0, n], dtype=np.int64),
        block_start=np.array([0, n * n], dtype=np.int64),
        mass=np.eye(n).ravel(),
        inverse_mass=np.eye(n).ravel(),
        velocity=np.zeros(n),
        body_a=np.full(m, -1, dtype=np.int64),
        body_b=np.zeros(m, dtype=np.int64),
        jacobian_a=np.zeros((m, 3, n)),
        jacobian_b=rows,
        bias=bias,
        slack=slack,
        mu=mu,
        box=np.zeros((0, 3, 3)),
        least_scale=least_scale,
    )


@kernel_part
def with_least_scale(system, least_scale):
    """Return a `System` with another lower bound of the velocity scale [m/s]."""
    return System(
        system.offset,
        system.block_start,
        system.mass,
        system.inverse_mass,
        system.velocity,
        system.body_a,
        system.body_b,
        system.jacobian_a,
        system.jacobian_b,
        system.bias,
        system.slack,
        system.mu,
        system.box,
        least_scale,
    )


@inlined_kernel
def add_velocity(jacobian, k, v, first, size, n, t1, t2):
    """Return (n, t1, t2) plus the contribution J_k v of one body."""
    # entries counted from where a body's begin: of such an index numba does not ask whether it is negative
    own, rows = v[first:], jacobian[k]
    if size == 6:
        x = own[0], own[1], own[2], own[3], own[4], own[5]
        return n + product_of_six(rows[0], x), t1 + product_of_six(rows[1], x), t2 + product_of_six(rows[2], x)
    for i in range(size):
        n += rows[0, i] * own[i]
        t1 += rows[1, i] * own[i]
        t2 += rows[2, i] * own[i]
    return n, t1, t2


@inlined_kernel
def inlined_relative_velocity(system, k, v):
    """Return u = J_k v + b_k of triple k, inlined for short loops."""
    n, t1, t2 = system.bias[k, 0], system.bias[k, 1], system.bias[k, 2]
    a, b = system.body_a[k], system.body_b[k]
    if a >= 0:
        first = system.offset[a]
        n, t1, t2 = add_velocity(system.jacobian_a, k, v, first, system.offset[a + 1] - first, n, t1, t2)
    if b >= 0:
        first = system.offset[b]
        n, t1, t2 = add_velocity(system.jacobian_b, k, v, first, system.offset[b + 1] - first, n, t1, t2)
    return n, t1, t2


@leaf_kernel
def relative_velocity(system, k, v):
    """Return u = J_k v + b_k of triple k, as three numbers [m/s]."""
    # Views would keep the compiler from inlining this function, and each call with all arrays of the system takes 240 ns.
    n, t1, t2 = system.bias[k, 0], system.bias[k, 1], system.bias[k, 2]
    body = system.body_a[k]
    if body >= 0:
        first = system.offset[body]
        for i in range(system.offset[body + 1] - first):
            x = v[first + i]
            n += system.jacobian_a[k, 0, i] * x
            t1 += system.jacobian_a[k, 1, i] * x
            t2 += system.jacobian_a[k, 2, i] * x
    body = system.body_b[k]
    if body >= 0:
        first = system.offset[body]
        for i in range(system.offset[body + 1] - first):
            x = v[first + i]
            n += system.jacobian_b[k, 0, i] * x
            t1 += system.jacobian_b[k, 1, i] * x
            t2 += system.jacobian_b[k, 2, i] * x
    return n, t1, t2


@inlined_kernel
def push_body(jacobian, k, n, t1, t2, out, first, size):
    """Add J_k^T (n, t1, t2) of one body to out."""
    own, rows = out[first:], jacobian[k]
    if size == 6:
        add_three_rows(own, n, t1, t2, rows)
        return
    for i in range(size):
        own[i] += rows[0, i] * n + rows[1, i] * t1 + rows[2, i] * t2


@inlined_kernel
def push_bodies(system, k, n, t1, t2, out):
    """Add J_k^T (n, t1, t2) to out."""
    a, b = system.body_a[k], system.body_b[k]
    if a >= 0:
        push_body(system.jacobian_a, k, n, t1, t2, out, system.offset[a], system.offset[a + 1] - system.offset[a])
    if b >= 0:
        push_body(system.jacobian_b, k, n, t1, t2, out, system.offset[b], system.offset[b + 1] - system.offset[b])


@kernel
def relative_velocities(system, v):
    """Return u = J v + b, (m, 3) [m/s]."""
    out = np.empty((system.body_a.size, 3))
    for k in range(system.body_a.size):
        out[k, 0], out[k, 1], out[k, 2] = relative_velocity(system, k, v)
    return out


@kernel
def transpose_product(system, impulse, out):
    """Add J^T lam to out for impulses lam (m, 3)."""
    for k in range(system.body_a.size):
        n, t1, t2 = impulse[k, 0], impulse[k, 1], impulse[k, 2]
        if n != 0.0 or t1 != 0.0 or t2 != 0.0:
            push_bodies(system, k, n, t1, t2, out)


@leaf_kernel
def _apply_blocks(system, blocks, x, out):
    for body in range(system.offset.size - 1):
        _apply_block(system, blocks, body, x, out)


@kernel_part
def _apply_block(system, blocks, body, x, out):
    first, at = system.offset[body], system.block_start[body]
    size = system.offset[body + 1] - first
    if size == 6:
        # they are symmetric: their rows are their columns
        weigh_six_rows(out[first:], x[first:], blocks[at:])
        return
    for i in range(size):
        s = 0.0
        for j in range(size):
            s += blocks[at + i * size + j] * x[first + j]
        out[first + i] = s


@leaf_kernel
def apply_mass(system, x, out):
    """Set out := M x."""
    _apply_blocks(system, system.mass, x, out)


@kernel
def apply_inverse_mass(system, x, out):
    """Set out := M^-1 x."""
    _apply_blocks(system, system.inverse_mass, x, out)


@inlined_kernel
def _inverse_mass_of(system, body, row, dense):
    """Return J M^-1 J^T [1/kg] for one Jacobian row of one body. The body's block is diagonal from row `dense` on."""
    size = system.offset[body + 1] - system.offset[body]
    inverse = system.inverse_mass[system.block_start[body] :]
    if size == 6:
        zero = RowOfSix(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return -product_of_six(row, minus_rows(zero, row, inverse, SIX))
    total = 0.0
    for i in range(dense):
        for j in range(dense):
            total += row[i] * inverse[i * size + j] * row[j]
    for i in range(dense, size):
        total += row[i] * inverse[i * size + i] * row[i]
    return total


@kernel_part
def inverse_mass_of_row(system, k, row):
    """Return the diagonal entry of J M^-1 J^T for one row of triple k [1/kg]."""
    total, a, b = 0.0, system.body_a[k], system.body_b[k]
    if a >= 0:
        total += _inverse_mass_of(system, a, system.jacobian_a[k, row], system.offset[a + 1] - system.offset[a])
    if b >= 0:
        total += _inverse_mass_of(system, b, system.jacobian_b[k, row], system.offset[b + 1] - system.offset[b])
    return total


@leaf_kernel
def _first_diagonal(system, body):
    """Return the row from which on the inverse mass block of a body is diagonal.

    It is 0 for an island given as a matrix, whose block may be large, and 6 for a flexible body with linear deformation.
    """
    at = system.block_start[body]
    size = system.offset[body + 1] - system.offset[body]
    if size == 6:
        return size  # the product of a rigid body uses all rows
    for i in range(size - 1, -1, -1):
        for j in range(size):
            if j != i and system.inverse_mass[at + i * size + j] != 0.0:
                return i + 1
    return 0


@leaf_kernel
def _fill_inverse_masses(system, dense, out):
    """Write the diagonal of J M^-1 J^T to out (m, 3). dense: (bodies,) result of `_first_diagonal` for each body."""
    for k in range(system.body_a.size):
        a, b = system.body_a[k], system.body_b[k]
        for row in range(3):
            total = 0.0
            if a >= 0:
                total += _inverse_mass_of(system, a, system.jacobian_a[k, row], dense[a])
            if b >= 0:
                total += _inverse_mass_of(system, b, system.jacobian_b[k, row], dense[b])
            out[k, row] = total


@kernel
def effective_inverse_mass(system):
    """Return the diagonal of J M^-1 J^T, (m, 3) [1/kg]."""
    out = np.empty((system.body_a.size, 3))
    dense = np.empty(system.offset.size - 1, np.int64)
    for body in range(dense.size):
        dense[body] = _first_diagonal(system, body)
    _fill_inverse_masses(system, dense, out)
    return out


@leaf_kernel
def effective_mass(inverse, k):
    """Return the effective mass kappa of triple k [kg], or 0 if nothing can move.

    An impulse divided by kappa is the velocity that it causes. inverse: (m, 3) diagonal of J M^-1 J^T [1/kg].
    """
    total, rows = 0.0, 0
    for r in range(3):
        if inverse[k, r] > 0.0:
            total += inverse[k, r]
            rows += 1
    return rows / total if rows > 0 else 0.0
