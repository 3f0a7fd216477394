# SPDX-License-Identifier: GPL-3.0-or-later
"""Dense systems with tens to hundreds of unknowns, in a fixed order of sums. Used for large deformation and by published
methods.

LAPACK would round differently on another processor. Inner loops run along rows, so LLVM vectorizes them without a change to the
order of any sum.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel

__all__ = ["inverse", "is_positive_definite", "least_norm", "solved", "sparse_product", "times"]


@kernel
def solved(matrix, right):
    """Return the solution (n,) of matrix x = right, by Gaussian elimination with partial pivoting.

    matrix: (n, n). right: (n,). A singular matrix gives numbers that are not finite.
    """
    a, x, n = matrix.copy(), right.copy(), len(right)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        if best != k:
            for j in range(k, n):
                a[k, j], a[best, j] = a[best, j], a[k, j]
            x[k], x[best] = x[best], x[k]
        for i in range(k + 1, n):
            share = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= share * a[k, j]
            x[i] -= share * x[k]
    for k in range(n - 1, -1, -1):
        s = x[k]
        for j in range(k + 1, n):
            s -= a[k, j] * x[j]
        x[k] = s / a[k, k]
    return x


@kernel
def inverse(matrix):
    """Return the inverse (n, n) of a symmetric positive definite matrix (n, n). It is symmetric to the last bit."""
    n = len(matrix)
    root, out = np.zeros((n, n)), np.zeros((n, n))
    _cholesky(matrix, root)
    # Replace the root by its inverse.
    for j in range(n):
        root[j, j] = 1.0 / root[j, j]
        for i in range(j + 1, n):
            s = 0.0
            for k in range(j, i):
                s -= root[i, k] * root[k, j]
            root[i, j] = s / root[i, i]
    for i in range(n):
        for j in range(i + 1):
            s = 0.0
            for k in range(i, n):
                s += root[k, i] * root[k, j]
            out[i, j] = out[j, i] = s
    return out


@kernel
def is_positive_definite(matrix):
    """Return True if a symmetric matrix (n, n) has a Cholesky factor."""
    return _cholesky(matrix, np.zeros((len(matrix), len(matrix))))


@kernel
def _cholesky(matrix, root):
    """Write the lower Cholesky factor of a symmetric matrix (n, n) to `root`. Returns False if it is not positive definite."""
    for j in range(len(matrix)):
        for i in range(j, len(matrix)):
            s = matrix[i, j]
            for k in range(j):
                s -= root[i, k] * root[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                root[j, j] = np.sqrt(s)
            else:
                root[i, j] = s / root[j, j]
    return True


@kernel
def times(matrix, x):
    """Return the product (n,) of a matrix (n, k) and a vector (k,)."""
    out = np.empty(len(matrix))
    for i in range(len(matrix)):
        s = 0.0
        for j in range(len(x)):
            s += matrix[i, j] * x[j]
        out[i] = s
    return out


@kernel
def sparse_product(a, b):
    """Return the product (n, m) of dense matrices (n, k) and (k, m), skipping the zeros of the first."""
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            factor = a[i, k]
            if factor == 0.0:
                continue
            for j in range(b.shape[1]):
                out[i, j] += factor * b[k, j]
    return out


@kernel
def least_norm(matrix, right, rank):
    """Return the x (n,) of smallest norm among those that minimize |matrix x - right|. matrix: (m, n). right: (m,).

    rank: diagonal entries of R no larger than this fraction of the largest one are zero.

    The method is a complete orthogonal factorization (Golub and Van Loan, Matrix Computations, 5.4.7): QR by reflections with
    column pivoting, then the same for R^T.
    """
    a, b, n = matrix.copy(), right.copy(), matrix.shape[1]
    order, found, work = np.arange(n), 0, np.empty(n)
    first = 0.0
    while found < min(len(a), n):
        _bring_largest(a, order, found, work)
        size = _reflect(a, b, found, work)
        first = max(first, size)
        if not size > rank * first:
            break
        found += 1
    out, y = np.zeros(n), _smallest(a, b, found)
    for j in range(n):
        out[order[j]] = y[j]
    return out


@kernel
def _smallest(a, b, found):
    """Return the y (n,) of smallest norm with R y = b, where R is the first `found` rows of a matrix (m, n), trapezoidal."""
    n = a.shape[1]
    # Reflections make R^T triangular. They are stored.
    across, steps, y = np.zeros((n, found)), np.zeros((found, n)), np.zeros(n)
    for k in range(found):
        for j in range(k, n):
            across[j, k] = a[k, j]
    for k in range(found):
        _keep_reflection(across, k, steps[k])
    for k in range(found):
        s = b[k]
        for j in range(k):
            s -= across[j, k] * y[j]
        y[k] = s / across[k, k]
    for k in range(found - 1, -1, -1):
        share = 0.0
        for j in range(k, n):
            share += steps[k, j] * y[j]
        for j in range(k, n):
            y[j] -= 2.0 * share * steps[k, j]
    return y


@kernel
def _bring_largest(a, order, k, work):
    """Swap column k of a matrix (m, n) with the column from k on that has the largest norm in the rows from k on."""
    for j in range(k, a.shape[1]):
        work[j] = 0.0
    for i in range(k, len(a)):
        for j in range(k, a.shape[1]):
            work[j] += a[i, j] * a[i, j]
    best = k
    for j in range(k + 1, a.shape[1]):
        if work[j] > work[best]:
            best = j
    if best != k:
        order[k], order[best] = order[best], order[k]
        for i in range(len(a)):
            a[i, k], a[i, best] = a[i, best], a[i, k]


@kernel
def _unit_reflector(a, k, v):
    """Write the unit vector v (m,) whose reflection zeroes column k of a matrix below row k, and return the new entry in row k.

    Entries of v above row k are 0.
    """
    square = 0.0
    for i in range(k, len(a)):
        square += a[i, k] * a[i, k]
    size = np.sqrt(square)
    if size == 0.0:
        return 0.0
    left = -size if a[k, k] > 0.0 else size
    length = 0.0
    for i in range(len(a)):
        v[i] = 0.0 if i < k else a[i, k]
    v[k] -= left
    for i in range(k, len(a)):
        length += v[i] * v[i]
    length = np.sqrt(length)
    for i in range(k, len(a)):
        v[i] /= length
    return left


@kernel
def _apply_reflection(a, k, v, work):
    """Reflect rows and columns from k on of a matrix (m, n) by a unit vector v (m,)."""
    for j in range(k, a.shape[1]):
        work[j] = 0.0
    for i in range(k, len(a)):
        for j in range(k, a.shape[1]):
            work[j] += v[i] * a[i, j]
    for i in range(k, len(a)):
        twice = 2.0 * v[i]
        for j in range(k, a.shape[1]):
            a[i, j] -= twice * work[j]


@kernel
def _reflect(a, b, k, work):
    """Zero column k of a matrix (m, n) below row k by a reflection of it and of a right side b (m,). Returns |a_kk|."""
    v, share = np.empty(len(a)), 0.0
    left = _unit_reflector(a, k, v)
    if left == 0.0:
        return 0.0
    _apply_reflection(a, k, v, work)
    for i in range(k, len(a)):
        share += v[i] * b[i]
    for i in range(k, len(a)):
        b[i] -= 2.0 * share * v[i]
    return abs(left)


@kernel
def _keep_reflection(a, k, v):
    """Zero column k of a matrix (n, r) below row k by a reflection, and write its unit vector to v (n,)."""
    if _unit_reflector(a, k, v) != 0.0:
        _apply_reflection(a, k, v, np.empty(a.shape[1]))
