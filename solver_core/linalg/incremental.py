# SPDX-License-Identifier: GPL-3.0-or-later
"""Factorization of a principal submatrix while indices are added and removed, in O(k^2) per change of k indices.

The matrix is given by its columns, matrix[j, i] = A_ij. A symmetric positive definite submatrix is stored as R^T R, any other
as Q^T A_KK = R, with R upper triangular. In the second case rows and columns have separate orders, because a replaced column
moves to the end. Updates use plane (Givens) rotations, which do not amplify errors (Golub and Van Loan, Matrix Computations,
6.5). An index that depends on those in the factorization, up to RANK, is rejected.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel

__all__ = [
    "Incremental",
    "append",
    "append_all",
    "clear",
    "incremental",
    "remove",
    "replace_column",
    "schur_complement",
    "solve",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Relative to the terms whose difference it is: a smaller Schur complement counts as zero.
RANK = 1e-11


class Incremental(NamedTuple):
    """Work arrays for up to n indices.

    symmetric: True if the submatrix is R^T R. factor: R. orthogonal: Q^T, without rows if symmetric.
    rows, columns: the indices in their orders, of which the first size[0] are valid.
    row_at, column_at: (n,) position of each index, -1 if it is not in the factorization. work: (3, n) and remaining: (n,), work
        arrays.
    """

    symmetric: bool
    factor: Floats
    orthogonal: Floats
    rows: Indices
    columns: Indices
    row_at: Indices
    column_at: Indices
    size: Indices
    work: Floats
    remaining: Indices


@kernel
def incremental(n, symmetric):
    """Return an empty factorization for n indices."""
    q = 0 if symmetric else n
    return Incremental(
        symmetric,
        np.empty((n, n)),
        np.empty((q, q)),
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.full(n, -1, np.int64),
        np.full(n, -1, np.int64),
        np.zeros(1, np.int64),
        np.empty((3, n)),
        np.empty(n, np.int64),
    )


@kernel_part
def clear(inc):
    """Remove all indices."""
    for i in range(inc.row_at.size):
        inc.row_at[i] = -1
        inc.column_at[i] = -1
    inc.size[0] = 0


@inlined_kernel
def _dot(x, y, begin, end):
    """Return x . y over [begin, end). Four partial sums in a fixed order are four times as fast as one."""
    s0 = s1 = s2 = s3 = 0.0
    i = begin
    while i + 4 <= end:
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
        i += 4
    while i < end:
        s0 += x[i] * y[i]
        i += 1
    return (s0 + s1) + (s2 + s3)


@inlined_kernel
def _rotate(x, y, c, s, begin, end):
    """Set the rows x, y := c x + s y, c y - s x over [begin, end)."""
    for i in range(begin, end):
        u, v = x[i], y[i]
        x[i] = c * u + s * v
        y[i] = c * v - s * u


@inlined_kernel
def _rotation(u, v):
    """Return (c, s) of the rotation from (u, v) to (r, 0)."""
    r = np.sqrt(u * u + v * v)
    return (u / r, v / r) if r > 0.0 else (1.0, 0.0)


@inlined_kernel
def _forward(inc, rhs, y):
    """Set y := R^-T rhs (by index) if symmetric, else Q^T rhs."""
    k = inc.size[0]
    if inc.symmetric:
        for i in range(k):
            y[i] = rhs[inc.rows[i]]
        for i in range(k):
            row = inc.factor[i]
            y[i] /= row[i]
            x = y[i]
            for j in range(i + 1, k):
                y[j] -= row[j] * x
        return
    gathered = inc.work[2]
    for i in range(k):
        gathered[i] = rhs[inc.rows[i]]
    for i in range(k):
        y[i] = _dot(inc.orthogonal[i], gathered, 0, k)


@inlined_kernel
def _backward(inc, y):
    """Set y := R^-1 y, in the order of the columns."""
    k = inc.size[0]
    for i in range(k - 1, -1, -1):
        row = inc.factor[i]
        y[i] = (y[i] - _dot(row, y, i + 1, k)) / row[i]


@inlined_kernel
def solve(inc, rhs, out):
    """Set out := A_KK^-1 rhs on the indices in K. Both are (n,) by index, and other entries of `out` are unchanged."""
    y = inc.work[0]
    _forward(inc, rhs, y)
    _backward(inc, y)
    for i in range(inc.size[0]):
        out[inc.columns[i]] = y[i]


@kernel_part
def schur_complement(inc, matrix, index):
    """Return A_ii - A_iK A_KK^-1 A_Ki, and the size of its terms. If symmetric, work[0] is set to R^-T A_Ki."""
    k = inc.size[0]
    y = inc.work[0]
    _forward(inc, matrix[index], y)
    alpha = matrix[index, index]
    if inc.symmetric:
        return alpha - _dot(y, y, 0, k), abs(alpha)
    _backward(inc, y)
    total, size = alpha, abs(alpha)
    for i in range(k):
        term = matrix[inc.columns[i], index] * y[i]
        total -= term
        size += abs(term)
    return total, size


@leaf_kernel
def append(inc, matrix, index):
    """Add an index. Returns False, without a change, if it depends on those in the factorization."""
    sigma, size = schur_complement(inc, matrix, index)
    if not (sigma if inc.symmetric else abs(sigma)) > RANK * size:
        return False
    k = inc.size[0]
    factor = inc.factor
    if inc.symmetric:
        for i in range(k):
            factor[i, k] = inc.work[0, i]
        factor[k, k] = np.sqrt(sigma)
    else:
        # The new column is Q^T A_Ki. Rotations with the rows above eliminate the new row.
        _forward(inc, matrix[index], inc.work[0])
        for i in range(k):
            factor[i, k] = inc.work[0, i]
            factor[k, i] = matrix[inc.columns[i], index]
            inc.orthogonal[i, k] = 0.0
            inc.orthogonal[k, i] = 0.0
        factor[k, k] = matrix[index, index]
        inc.orthogonal[k, k] = 1.0
        for i in range(k):
            c, s = _rotation(factor[i, i], factor[k, i])
            _rotate(factor[i], factor[k], c, s, i, k + 1)
            _rotate(inc.orthogonal[i], inc.orthogonal[k], c, s, 0, k + 1)
    inc.rows[k] = index
    inc.columns[k] = index
    inc.row_at[index] = k
    inc.column_at[index] = k
    inc.size[0] = k + 1
    return True


@kernel_part
def append_all(inc, matrix, indices, count):
    """Add the first `count` indices to an empty factorization of a symmetric matrix, up to one that depends on those before it.

    Row-wise Cholesky takes a third of the time of single additions. Returns the number of indices added.
    """
    factor = inc.factor
    for i in range(count):
        row, column = factor[i], matrix[indices[i]]
        for j in range(i, count):
            row[j] = column[indices[j]]
    for k in range(count):
        row, index = factor[k], indices[k]
        if not row[k] > RANK * abs(matrix[index, index]):
            return k
        pivot = np.sqrt(row[k])
        for j in range(k, count):
            row[j] /= pivot
        for i in range(k + 1, count):
            below, x = factor[i], row[i]
            for j in range(i, count):
                below[j] -= x * row[j]
        inc.rows[k] = index
        inc.columns[k] = index
        inc.row_at[index] = k
        inc.column_at[index] = k
        inc.size[0] = k + 1
    return count


@inlined_kernel
def _forget(order, position, place, k):
    """Close the gap at a position in an order of k indices."""
    position[order[place]] = -1
    for i in range(place, k - 1):
        order[i] = order[i + 1]
        position[order[i]] = i


@leaf_kernel
def _drop_column(inc, place, k):
    """Remove a column from R and make R triangular again. The last row of R becomes zero."""
    factor = inc.factor
    for i in range(k):
        for j in range(max(place, i - 1), k - 1):
            factor[i, j] = factor[i, j + 1]
    for i in range(place, k - 1):
        c, s = _rotation(factor[i, i], factor[i + 1, i])
        _rotate(factor[i], factor[i + 1], c, s, i, k - 1)
        if not inc.symmetric:
            _rotate(inc.orthogonal[i], inc.orthogonal[i + 1], c, s, 0, k)
    _forget(inc.columns, inc.column_at, place, k)


@kernel_part
def _is_regular(inc):
    """Return True if no diagonal entry of R is negligible compared with the largest entry of its column."""
    for j in range(inc.size[0]):
        largest = 0.0
        for i in range(j + 1):
            largest = max(largest, abs(inc.factor[i, j]))
        if not abs(inc.factor[j, j]) > RANK * largest:
            return False
    return True


@leaf_kernel
def remove(inc, matrix, index):
    """Remove an index.

    The remaining submatrix of an unsymmetric matrix may be singular. The factorization is then rebuilt from the indices that
    are independent of those before them, and the result is False.
    """
    _take_out(inc, index)
    if inc.symmetric or _is_regular(inc):
        return True
    k = inc.size[0]
    for i in range(k):
        inc.remaining[i] = inc.columns[i]
    clear(inc)
    for i in range(k):
        append(inc, matrix, inc.remaining[i])
    return False


@kernel_part
def _take_out(inc, index):
    """Remove the row and the column of an index without a test of the rest."""
    k = inc.size[0]
    factor = inc.factor
    place = inc.column_at[index]
    _drop_column(inc, place, k)
    if inc.symmetric:
        _forget(inc.rows, inc.row_at, place, k)
        inc.size[0] = k - 1
        return
    # Rotate the removed row of A into the last row of R.
    place = inc.row_at[index]
    q = inc.orthogonal
    for j in range(k - 1):
        factor[k - 1, j] = 0.0
    for i in range(k - 2, -1, -1):
        c, s = _rotation(q[k - 1, place], q[i, place])
        _rotate(factor[k - 1], factor[i], c, s, i, k - 1)
        _rotate(q[k - 1], q[i], c, s, 0, k)
    for i in range(k - 1):
        for j in range(place, k - 1):
            q[i, j] = q[i, j + 1]
    _forget(inc.rows, inc.row_at, place, k)
    inc.size[0] = k - 1


@kernel_part
def replace_column(inc, matrix, index):
    """Update the column of an index that has changed. Returns False, with the index removed, if the matrix is now singular."""
    k = inc.size[0]
    _drop_column(inc, inc.column_at[index], k)
    _forward(inc, matrix[index], inc.work[0])
    largest = 0.0
    for i in range(k):
        inc.factor[i, k - 1] = inc.work[0, i]
        largest = max(largest, abs(inc.work[0, i]))
    inc.columns[k - 1] = index
    inc.column_at[index] = k - 1
    if not abs(inc.factor[k - 1, k - 1]) > RANK * largest:
        remove(inc, matrix, index)
        return False
    return True
