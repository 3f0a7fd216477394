# SPDX-License-Identifier: GPL-3.0-or-later
"""Gaussian elimination with row exchanges on small dense matrices.

LAPACK is faster on one idle core. Its threads, which it begins for matrices of a hundred rows already, take ten times the
processor time when other processes want the cores, and a solver of small systems in a row waits for them at each.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel

__all__ = ["product", "solve_dense"]


@kernel
def solve_dense(matrix, right):
    """Solve for `right` (n,) in place, with `matrix` (n, n) overwritten; False where it is singular."""
    n = right.size
    for k in range(n):
        at = k
        for i in range(k + 1, n):
            if abs(matrix[i, k]) > abs(matrix[at, k]):
                at = i
        if not abs(matrix[at, k]) > 0.0:
            return False
        if at != k:
            for j in range(k, n):
                matrix[k, j], matrix[at, j] = matrix[at, j], matrix[k, j]
            right[k], right[at] = right[at], right[k]
        pivot_row = matrix[k]
        for i in range(k + 1, n):
            row = matrix[i]
            factor = row[k] / pivot_row[k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    row[j] -= factor * pivot_row[j]
                right[i] -= factor * right[k]
    for i in range(n - 1, -1, -1):
        total = right[i]
        for j in range(i + 1, n):
            total -= matrix[i, j] * right[j]
        right[i] = total / matrix[i, i]
    return True


@kernel
def product(matrix, vector):
    """A x, (n,)."""
    out = np.zeros(matrix.shape[0])
    for i in range(out.size):
        for j in range(vector.size):
            out[i] += matrix[i, j] * vector[j]
    return out
