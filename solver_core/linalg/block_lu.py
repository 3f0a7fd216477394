# SPDX-License-Identifier: GPL-3.0-or-later
"""Block-sparse LU factorisation  P A P^T = L U  on the structure that `block_cholesky` analyses, for unsymmetric matrices.

A has blocks where H has them, on both sides of the diagonal. `lower` is stored like the Cholesky factor's values; `upper`
holds, at the same positions, the mirrored blocks: (size of column body) x (size of row body), row-major; its diagonal part is
unused. Blocks are not exchanged, nor rows within them: a vanishing pivot ends the factorisation.
"""

from __future__ import annotations

from ..compile.kernel import inlined_kernel, leaf_kernel

__all__ = ["factorise_lu", "solve_lu_in_place"]

SMALLEST_PIVOT = 1e-13  # relative to the largest entry of the block's row before elimination


@leaf_kernel
def _lu(values, at, n):
    """L (unit lower) and U of the n x n block at `at`; False where a pivot vanishes."""
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(values[at + i * n + j]))
        for j in range(n):
            s = values[at + i * n + j]
            for k in range(min(i, j)):
                s -= values[at + i * n + k] * values[at + k * n + j]
            values[at + i * n + j] = s if j >= i else s / values[at + j * n + j]
        if not abs(values[at + i * n + i]) > SMALLEST_PIVOT * largest:
            return False
    return True


@leaf_kernel
def _right_solve(values, at, rows, factor, diagonal, n):
    """X := X U^-1 for the rows x n block X at `at`."""
    u = factor[diagonal:]
    for i in range(rows):
        x = values[at + i * n :]
        for j in range(n):
            s = x[j]
            for k in range(j):
                s -= x[k] * u[k * n + j]
            x[j] = s / u[j * n + j]


@leaf_kernel
def _left_solve(values, at, columns, factor, diagonal, n):
    """X := L^-1 X for the n x columns block X at `at`, L unit lower."""
    for i in range(n):
        x, l_row = values[at + i * columns :], factor[diagonal + i * n :]
        for k in range(i):
            f, other = l_row[k], values[at + k * columns :]
            for j in range(columns):
                x[j] -= f * other[j]


@inlined_kernel
def _subtract_row_6(c, a, b):
    """c := c - a B for a 6 x 6 block B and rows of it."""
    # entries counted from where a block begins: of such an index numba does not ask whether it is negative
    c0, c1, c2, c3, c4, c5 = c[0], c[1], c[2], c[3], c[4], c[5]
    for k in range(6):
        f = a[k]
        c0 -= f * b[6 * k]
        c1 -= f * b[6 * k + 1]
        c2 -= f * b[6 * k + 2]
        c3 -= f * b[6 * k + 3]
        c4 -= f * b[6 * k + 4]
        c5 -= f * b[6 * k + 5]
    c[0], c[1], c[2], c[3], c[4], c[5] = c0, c1, c2, c3, c4, c5


@leaf_kernel
def _subtract(values, at, lower, left, rows, upper, right, columns, n):
    """C := C - A B for the rows x n block A in `lower` and the n x columns block B in `upper`."""
    if n == 6 and columns == 6:
        for i in range(rows):
            _subtract_row_6(values[at + 6 * i :], lower[left + 6 * i :], upper[right:])
        return
    for i in range(rows):
        for k in range(n):
            a = lower[left + i * n + k]
            for j in range(columns):
                values[at + i * columns + j] -= a * upper[right + k * columns + j]


@leaf_kernel
def factorise_lu(structure, lower, upper):
    """Replace the blocks of A by those of L and U; False where a pivot vanishes."""
    start, row, block, size = structure.column_start, structure.row, structure.block, structure.size
    product = 0
    for j in range(structure.order.size):
        n, diagonal = size[j], structure.diagonal[j]
        if not _lu(lower, diagonal, n):
            return False
        for p in range(start[j], start[j + 1]):
            _right_solve(lower, block[p], size[row[p]], lower, diagonal, n)
            _left_solve(upper, block[p], size[row[p]], lower, diagonal, n)
        for p in range(start[j], start[j + 1]):
            for q in range(p, start[j + 1]):
                at = structure.target[product]
                product += 1
                rows, columns = size[row[q]], size[row[p]]
                _subtract(lower, at, lower, block[q], rows, upper, block[p], columns, n)
                if q > p:
                    _subtract(upper, at, lower, block[p], columns, upper, block[q], rows, n)
    return True


@leaf_kernel
def solve_lu_in_place(structure, lower, upper, x):
    """x := A^-1 x with the factors; x has the bodies' own order of degrees of freedom."""
    start, row, block = structure.column_start, structure.row, structure.block
    first, size, diagonal = structure.first, structure.size, structure.diagonal
    columns = structure.order.size
    for j in range(columns):
        n, base, at = size[j], first[j], diagonal[j]
        for i in range(n):
            for k in range(i):
                x[base + i] -= lower[at + i * n + k] * x[base + k]
        for p in range(start[j], start[j + 1]):
            other, at = first[row[p]], block[p]
            for i in range(size[row[p]]):
                for k in range(n):
                    x[other + i] -= lower[at + i * n + k] * x[base + k]
    for j in range(columns - 1, -1, -1):
        n, base = size[j], first[j]
        for p in range(start[j], start[j + 1]):
            other, at, m = first[row[p]], block[p], size[row[p]]
            for i in range(n):
                for k in range(m):
                    x[base + i] -= upper[at + i * m + k] * x[other + k]
        at = diagonal[j]
        for i in range(n - 1, -1, -1):
            for k in range(i + 1, n):
                x[base + i] -= lower[at + i * n + k] * x[base + k]
            x[base + i] /= lower[at + i * n + i]
