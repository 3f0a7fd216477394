# SPDX-License-Identifier: GPL-3.0-or-later
"""Block-sparse LU factorization P A P^T = L U, for unsymmetric matrices, on the structure of `block_cholesky.analyse`.

A has blocks where H has them, on both sides of the diagonal. Those on and below the diagonal are stored as in a Cholesky
factor. The blocks above follow at the same positions, (size of column body) x (size of row body), row-major, with their
diagonal blocks unused. Pivots are replaced by their reciprocals. There is no pivoting of blocks or rows: a vanishing pivot ends
the factorization.
"""

from __future__ import annotations

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from .block_cholesky import subtract_product
from .rows_of_six import SIX, subtract_rows

__all__ = ["factorise_lu", "solve_lu_in_place"]

SMALLEST_PIVOT = 1e-13  # relative to the largest entry of the block's row before elimination


@inlined_kernel
def _lu(block, n):
    """Replace an n x n block by L (unit lower triangular) and U. Returns False if a pivot vanishes."""
    for i in range(n):
        row, largest = block[i * n :], 0.0
        for j in range(n):
            largest = max(largest, abs(row[j]))
        for k in range(i):
            f, other = row[k] * block[k * n + k], block[k * n :]
            row[k] = f
            for j in range(k + 1, n):
                row[j] -= f * other[j]
        if not abs(row[i]) > SMALLEST_PIVOT * largest:
            return False
        row[i] = 1.0 / row[i]
    return True


@kernel_part
def _right_solve(x, rows, u, n):
    """Set X := X U^-1 for a rows x n block X."""
    for i in range(rows):
        row = x[i * n :]
        for j in range(n):
            s = row[j]
            for k in range(j):
                s -= row[k] * u[k * n + j]
            row[j] = s * u[j * n + j]


@kernel_part
def _right_solve_6(x, rows, u):
    """Set X := X U^-1 for a rows x 6 block X."""
    for i in range(rows):
        row = x[6 * i :]
        x0 = row[0] * u[0]
        x1 = (row[1] - x0 * u[1]) * u[7]
        x2 = (row[2] - x0 * u[2] - x1 * u[8]) * u[14]
        x3 = (row[3] - x0 * u[3] - x1 * u[9] - x2 * u[15]) * u[21]
        x4 = (row[4] - x0 * u[4] - x1 * u[10] - x2 * u[16] - x3 * u[22]) * u[28]
        x5 = (row[5] - x0 * u[5] - x1 * u[11] - x2 * u[17] - x3 * u[23] - x4 * u[29]) * u[35]
        row[0], row[1], row[2], row[3], row[4], row[5] = x0, x1, x2, x3, x4, x5


@kernel_part
def _left_solve(x, columns, lower, n):
    """Set X := L^-1 X for an n x columns block X, where L is unit lower triangular."""
    for i in range(1, n):
        row = x[i * columns :]
        for k in range(i):
            f, other = lower[i * n + k], x[k * columns :]
            for j in range(columns):
                row[j] -= f * other[j]


@kernel_part
def _left_solve_6(x, lower):
    """Set X := L^-1 X for a 6 x 6 block X."""
    for i in range(1, 6):
        subtract_rows(x[6 * i :], lower[6 * i :], x, i)


@kernel_part
def _factorise_column(structure, lower, upper, j):
    """Compute column j of L and row j of U after the subtraction of all earlier ones. Returns False if a pivot vanishes."""
    row, block, n = structure.row, structure.block, structure.size[j]
    pivot = lower[structure.diagonal[j] :]
    if not (_lu(pivot, SIX) if n == 6 else _lu(pivot, n)):
        return False
    for p in range(structure.column_start[j], structure.column_start[j + 1]):
        m, below, beside = structure.size[row[p]], lower[block[p] :], upper[block[p] :]
        if n == 6:
            _right_solve_6(below, m, pivot)
        else:
            _right_solve(below, m, pivot, n)
        if n == 6 and m == 6:
            _left_solve_6(beside, pivot)
        else:
            _left_solve(beside, m, pivot, n)
    return True


@leaf_kernel
def factorise_lu(structure, values):
    """Replace the blocks of A by those of L and U. Returns False if a pivot vanishes."""
    lower, upper = values[: structure.length], values[structure.length :]
    start, row, block, size = structure.column_start, structure.row, structure.block, structure.size
    product = 0
    for j in range(structure.order.size):
        if not _factorise_column(structure, lower, upper, j):
            return False
        n = size[j]
        for p in range(start[j], start[j + 1]):
            for q in range(p, start[j + 1]):
                first = structure.target[product]
                product += 1
                rows, columns = size[row[q]], size[row[p]]
                subtract_product(lower[first:], lower[block[q] :], rows, upper[block[p] :], columns, n)
                if q > p:
                    subtract_product(upper[first:], lower[block[p] :], columns, upper[block[q] :], rows, n)
    return True


@inlined_kernel
def _minus_rows(x, rows, block, y, columns):
    """Set x := x - A y for a rows x columns block A."""
    if columns == 6:
        for i in range(rows):
            a = block[6 * i :]
            x[i] -= a[0] * y[0] + a[1] * y[1] + a[2] * y[2] + a[3] * y[3] + a[4] * y[4] + a[5] * y[5]
        return
    for i in range(rows):
        a, s = block[i * columns :], 0.0
        for k in range(columns):
            s += a[k] * y[k]
        x[i] -= s


@leaf_kernel
def solve_lu_in_place(structure, values, x):
    """Set x := A^-1 x with the factors. x has the degrees of freedom in the order of the bodies."""
    lower, upper = values[: structure.length], values[structure.length :]
    start, row, block = structure.column_start, structure.row, structure.block
    first, size = structure.first, structure.size
    columns = structure.order.size
    for j in range(columns):
        n, x_j, pivot = size[j], x[first[j] :], lower[structure.diagonal[j] :]
        for i in range(1, n):
            for k in range(i):
                x_j[i] -= pivot[i * n + k] * x_j[k]
        for p in range(start[j], start[j + 1]):
            _minus_rows(x[first[row[p]] :], size[row[p]], lower[block[p] :], x_j, n)
    for j in range(columns - 1, -1, -1):
        n, x_j, pivot = size[j], x[first[j] :], lower[structure.diagonal[j] :]
        for p in range(start[j], start[j + 1]):
            _minus_rows(x_j, n, upper[block[p] :], x[first[row[p]] :], size[row[p]])
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                x_j[i] -= pivot[i * n + k] * x_j[k]
            x_j[i] *= pivot[i * n + i]
