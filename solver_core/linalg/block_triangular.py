# SPDX-License-Identifier: GPL-3.0-or-later
"""Solution with a block-sparse Cholesky factor: two triangular solves, column by column.

First-order methods spend a third of an iteration here. The factor has the reciprocals of its diagonal, because a division takes
as long as a dozen multiplications. Blocks of rigid bodies, 6 x 6, are processed by rows; the forward solve uses the rows of the
transposed factor, which are its columns. So each operation updates six numbers at once (`rows_of_six.py`).
"""

from __future__ import annotations

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from .rows_of_six import SIX, RowOfSix, minus_rows, subtract_rows

__all__ = ["solve_in_place", "solve_lower"]


@inlined_kernel
def solve_lower(lower, n, x):
    """Set x := L^-1 x for n entries of x."""
    for i in range(n):
        row, s = lower[i * n :], x[i]
        for k in range(i):
            s -= row[k] * x[k]
        x[i] = s * row[i]


@kernel_part
def _solve_lower_6(lower, y):
    """Set y := L^-1 y for six entries of y, and return them."""
    x0 = y[0] * lower[0]
    x1 = (y[1] - lower[6] * x0) * lower[7]
    x2 = (y[2] - lower[12] * x0 - lower[13] * x1) * lower[14]
    x3 = (y[3] - lower[18] * x0 - lower[19] * x1 - lower[20] * x2) * lower[21]
    x4 = (y[4] - lower[24] * x0 - lower[25] * x1 - lower[26] * x2 - lower[27] * x3) * lower[28]
    x5 = (y[5] - lower[30] * x0 - lower[31] * x1 - lower[32] * x2 - lower[33] * x3 - lower[34] * x4) * lower[35]
    y[0], y[1], y[2], y[3], y[4], y[5] = x0, x1, x2, x3, x4, x5
    return x0, x1, x2, x3, x4, x5


@leaf_kernel
def solve_in_place(structure, values, x):
    """Set x := H^-1 x with the factor in `values`. x has the degrees of freedom in the order of the bodies."""
    bodies = structure.order.size
    for j in range(bodies):
        if structure.size[j] == 6:
            _forward_6(structure, values, j, x)
        else:
            _forward(structure, values, j, x)
    for j in range(bodies - 1, -1, -1):
        if structure.size[j] == 6:
            _backward_6(structure, values, j, x)
        else:
            _backward(structure, values, j, x)


@kernel_part
def _forward(structure, values, j, x):
    """Process column j of x := L^-1 x."""
    n, base = structure.size[j], structure.first[j]
    solve_lower(values[structure.diagonal[j] :], n, x[base:])
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        other, entry = structure.first[row], structure.block[p]
        for i in range(structure.size[row]):
            s = 0.0
            for k in range(n):
                s += values[entry + i * n + k] * x[base + k]
            x[other + i] -= s


@kernel_part
def _backward(structure, values, j, x):
    """Process column j of x := L^-T x."""
    n, base = structure.size[j], structure.first[j]
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        other, entry = structure.first[row], structure.block[p]
        for i in range(structure.size[row]):
            xi = x[other + i]
            for k in range(n):
                x[base + k] -= values[entry + i * n + k] * xi
    entry = structure.diagonal[j]
    for i in range(n - 1, -1, -1):
        s = x[base + i]
        for k in range(i + 1, n):
            s -= values[entry + k * n + i] * x[base + k]
        x[base + i] = s * values[entry + i * n + i]


@kernel_part
def _subtract_row(block, i, x, y):
    """Subtract row i of a block times x, six numbers, from y[i]."""
    k = 6 * i
    y[i] -= (
        block[k] * x[0]
        + block[k + 1] * x[1]
        + block[k + 2] * x[2]
        + block[k + 3] * x[3]
        + block[k + 4] * x[4]
        + block[k + 5] * x[5]
    )


@kernel_part
def _forward_6(structure, values, j, x):
    """Process column j of x := L^-1 x for a rigid body."""
    x_j = _solve_lower_6(values[structure.diagonal[j] :], x[structure.first[j] :])
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        rows, entry, y = structure.size[row], structure.block[p], x[structure.first[row] :]
        if rows == 6:
            subtract_rows(y, x_j, values[structure.length + entry :], SIX)
        else:
            for i in range(rows):
                _subtract_row(values[entry:], i, x_j, y)


@kernel_part
def _less_row(row, y, x):
    """Return the six numbers of x minus y times a row."""
    return RowOfSix(
        x.linear_x - row[0] * y,
        x.linear_y - row[1] * y,
        x.linear_z - row[2] * y,
        x.angular_x - row[3] * y,
        x.angular_y - row[4] * y,
        x.angular_z - row[5] * y,
    )


@kernel_part
def _backward_6(structure, values, j, x):
    """Process column j of x := L^-T x for a rigid body."""
    x_j = x[structure.first[j] :]
    less = RowOfSix(x_j[0], x_j[1], x_j[2], x_j[3], x_j[4], x_j[5])
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        row = structure.row[p]
        rows, block, y = structure.size[row], values[structure.block[p] :], x[structure.first[row] :]
        if rows == 6:
            less = minus_rows(less, y, block, SIX)
        else:
            for i in range(rows):
                less = _less_row(block[6 * i :], y[i], less)
    lower = values[structure.diagonal[j] :]
    x0, x1, x2, x3, x4, x5 = less
    x5 *= lower[35]
    x4 = (x4 - lower[34] * x5) * lower[28]
    x3 = (x3 - lower[33] * x5 - lower[27] * x4) * lower[21]
    x2 = (x2 - lower[32] * x5 - lower[26] * x4 - lower[20] * x3) * lower[14]
    x1 = (x1 - lower[31] * x5 - lower[25] * x4 - lower[19] * x3 - lower[13] * x2) * lower[7]
    x0 = (x0 - lower[30] * x5 - lower[24] * x4 - lower[18] * x3 - lower[12] * x2 - lower[6] * x1) * lower[0]
    x_j[0], x_j[1], x_j[2], x_j[3], x_j[4], x_j[5] = x0, x1, x2, x3, x4, x5
