# SPDX-License-Identifier: GPL-3.0-or-later
"""Solving with a block-sparse Cholesky factor: two triangular solves, column by column.

Half of an iteration of a method of first order is spent here. A factor has the reciprocals of its diagonal in the place of
that, for a division takes as long as a dozen multiplications, and blocks of rigid bodies, six by six, are written out: the
compiler then keeps six numbers in registers.
"""

from __future__ import annotations

from ..compile.kernel import inlined_kernel, leaf_kernel

__all__ = ["solve_in_place", "solve_lower", "solve_lower_6"]


@leaf_kernel
def solve_lower(values, at, n, x, base):
    """x := L^-1 x for the n entries at `base` and the factor L at `at`."""
    for i in range(n):
        s = x[base + i]
        for k in range(i):
            s -= values[at + i * n + k] * x[base + k]
        x[base + i] = s * values[at + i * n + i]


@inlined_kernel
def solve_lower_6(values, at, x, b):
    """The same for a block of six; also returns x."""
    x0 = x[b] * values[at]
    x1 = (x[b + 1] - values[at + 6] * x0) * values[at + 7]
    x2 = (x[b + 2] - values[at + 12] * x0 - values[at + 13] * x1) * values[at + 14]
    x3 = (x[b + 3] - values[at + 18] * x0 - values[at + 19] * x1 - values[at + 20] * x2) * values[at + 21]
    x4 = (x[b + 4] - values[at + 24] * x0 - values[at + 25] * x1 - values[at + 26] * x2 - values[at + 27] * x3) * values[
        at + 28
    ]
    x5 = (
        x[b + 5]
        - values[at + 30] * x0
        - values[at + 31] * x1
        - values[at + 32] * x2
        - values[at + 33] * x3
        - values[at + 34] * x4
    ) * values[at + 35]
    x[b], x[b + 1], x[b + 2], x[b + 3], x[b + 4], x[b + 5] = x0, x1, x2, x3, x4, x5
    return x0, x1, x2, x3, x4, x5


@leaf_kernel
def solve_in_place(structure, values, x):
    """x := H^-1 x with the factor in `values`; x has the bodies' own order of degrees of freedom."""
    for j in range(structure.order.size):
        if structure.size[j] == 6:
            _forward_6(structure, values, j, x)
        else:
            _forward(structure, values, j, x)
    for j in range(structure.order.size - 1, -1, -1):
        if structure.size[j] == 6:
            _backward_6(structure, values, j, x)
        else:
            _backward(structure, values, j, x)


@leaf_kernel
def _forward(structure, values, j, x):
    """Column j of x := L^-1 x."""
    n, base = structure.size[j], structure.first[j]
    solve_lower(values, structure.diagonal[j], n, x, base)
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        other, at = structure.first[row], structure.block[p]
        for i in range(structure.size[row]):
            s = 0.0
            for k in range(n):
                s += values[at + i * n + k] * x[base + k]
            x[other + i] -= s


@leaf_kernel
def _backward(structure, values, j, x):
    """Column j of x := L^-T x."""
    n, base = structure.size[j], structure.first[j]
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        other, at = structure.first[row], structure.block[p]
        for i in range(structure.size[row]):
            xi = x[other + i]
            for k in range(n):
                x[base + k] -= values[at + i * n + k] * xi
    at = structure.diagonal[j]
    for i in range(n - 1, -1, -1):
        s = x[base + i]
        for k in range(i + 1, n):
            s -= values[at + k * n + i] * x[base + k]
        x[base + i] = s * values[at + i * n + i]


@inlined_kernel
def _forward_6(structure, values, j, x):
    """The same as `_forward` for a column of a rigid body."""
    x0, x1, x2, x3, x4, x5 = solve_lower_6(values, structure.diagonal[j], x, structure.first[j])
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        other, at = structure.first[row], structure.block[p]
        for i in range(structure.size[row]):
            k = at + 6 * i
            x[other + i] -= (
                values[k] * x0
                + values[k + 1] * x1
                + values[k + 2] * x2
                + values[k + 3] * x3
                + values[k + 4] * x4
                + values[k + 5] * x5
            )


@inlined_kernel
def _backward_6(structure, values, j, x):
    """The same as `_backward` for a column of a rigid body."""
    b = structure.first[j]
    x0, x1, x2, x3, x4, x5 = x[b], x[b + 1], x[b + 2], x[b + 3], x[b + 4], x[b + 5]
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        other, at = structure.first[row], structure.block[p]
        for i in range(structure.size[row]):
            xi, k = x[other + i], at + 6 * i
            x0 -= values[k] * xi
            x1 -= values[k + 1] * xi
            x2 -= values[k + 2] * xi
            x3 -= values[k + 3] * xi
            x4 -= values[k + 4] * xi
            x5 -= values[k + 5] * xi
    at = structure.diagonal[j]
    x5 *= values[at + 35]
    x4 = (x4 - values[at + 34] * x5) * values[at + 28]
    x3 = (x3 - values[at + 33] * x5 - values[at + 27] * x4) * values[at + 21]
    x2 = (x2 - values[at + 32] * x5 - values[at + 26] * x4 - values[at + 20] * x3) * values[at + 14]
    x1 = (x1 - values[at + 31] * x5 - values[at + 25] * x4 - values[at + 19] * x3 - values[at + 13] * x2) * values[at + 7]
    x0 = (
        x0 - values[at + 30] * x5 - values[at + 24] * x4 - values[at + 18] * x3 - values[at + 12] * x2 - values[at + 6] * x1
    ) * values[at]
    x[b], x[b + 1], x[b + 2], x[b + 3], x[b + 4], x[b + 5] = x0, x1, x2, x3, x4, x5
