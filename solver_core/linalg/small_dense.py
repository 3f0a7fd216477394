# SPDX-License-Identifier: GPL-3.0-or-later
"""Dense systems of a few tens of unknowns, factored in a fixed order: bodies in large bends have one each.

LAPACK would round differently on another processor. Singular matrices give numbers that are not finite.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel

__all__ = ["inverse", "is_positive_definite", "solved"]


@kernel
def solved(matrix, right):
    """(n,) the solution of matrix x = right, by elimination with partial pivots; matrix: (n, n), right: (n,)."""
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
    """(n, n) the inverse of a symmetric positive definite matrix (n, n), which is symmetric to the last bit."""
    n = len(matrix)
    root, out = np.zeros((n, n)), np.zeros((n, n))
    _cholesky(matrix, root)
    # the inverse of the root in place of it
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
    """Whether a symmetric matrix (n, n) has a Cholesky factor."""
    return _cholesky(matrix, np.zeros((len(matrix), len(matrix))))


@kernel
def _cholesky(matrix, root):
    """Whether a symmetric matrix (n, n) is positive definite; root := its lower Cholesky factor, as far as it goes."""
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
