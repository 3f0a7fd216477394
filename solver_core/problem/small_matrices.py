# SPDX-License-Identifier: GPL-3.0-or-later
"""Small Delassus operators as bodies, G = F F^T as in `delassus.py`, by a kernel, because calling LAPACK would take longer.

A matrix whose asymmetry is more than round-off, or whose eigenvalues have to decide, is left to `delassus.py`.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.disjoint_sets import join, root
from .rounding import EXACT_ASYMMETRY
from .system import System

__all__ = ["EPSILON", "LEFT_OVER", "SMALL_ROWS", "UNCOUPLED", "parts_of_dense", "small_system", "small_systems"]

SMALL_ROWS = 60  # largest number of rows of a small matrix; for more, the call of LAPACK costs less than the factorization
UNCOUPLED = 1e-15  # an entry up to this is round-off, relative to the geometric mean of its two diagonal entries
LEFT_OVER = 1e-12  # largest remainder of a factorization that is round-off, for a diagonal near one
EPSILON = float(np.finfo(np.float64).eps)


@kernel
def parts_of_dense(dense, group):
    """Return the connected component (rows,) of each row of a dense matrix, ordered by the first row, and their number.

    group: (rows,) ascending; rows of the same group are connected.
    """
    n = group.size
    size, parent = np.empty(n), np.arange(group[n - 1] + 1)
    for i in range(n):
        size[i] = np.sqrt(max(dense[i, i], 0.0))
    for i in range(n):
        for j in range(i):
            if abs(dense[i, j]) > UNCOUPLED * size[i] * size[j]:
                join(parent, group[i], group[j])
    label, part, count = np.full(parent.size, -1, np.int64), np.empty(n, np.int64), 0
    for i in range(n):
        first = root(parent, group[i])
        if label[first] < 0:
            label[first] = count
            count += 1
        part[i] = label[first]
    return part, count


@leaf_kernel
def _symmetric_mean(given, out):
    """Set out to the mean of a matrix and its transpose, and return True if they differ by round-off only."""
    n, largest, skew = given.shape[0], 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            one, other = given[i, j], given[j, i]
            largest, skew = max(largest, abs(one), abs(other)), max(skew, abs(one - other))
            out[i, j] = out[j, i] = 0.5 * (one + other)
    return skew <= EXACT_ASYMMETRY * largest


@kernel_part
def _to_near_one(A, rows, scale):
    """Scale some rows and columns of A to a diagonal near one.

    Returns False if their diagonal shows that A is not semidefinite.
    """
    n = rows.size
    for i in range(n):
        at, is_empty = rows[i], True
        for j in range(n):
            is_empty &= A[at, rows[j]] == 0.0
        if not is_empty and A[at, at] <= 0.0:
            return False
        # Scale to between 1/2 and 2 by powers of two, which is exact.
        exponent = 0 if is_empty else math.frexp(A[at, at])[1]
        scale[i] = math.ldexp(1.0, exponent // 2)
    for i in range(n):
        for j in range(n):
            A[rows[i], rows[j]] /= scale[i] * scale[j]
    return True


@kernel_part
def _largest_pivot(A, order, column):
    """Return the position in `order` of the largest remaining diagonal entry."""
    best = column
    for i in range(column + 1, order.size):
        if A[order[i], order[i]] > A[order[best], order[best]]:
            best = i
    return best


@kernel_part
def _left_over(A, rows):
    """Return the largest absolute entry of A in some rows and columns."""
    largest = 0.0
    for i in rows:
        for j in rows:
            largest = max(largest, abs(A[i, j]))
    return largest


@leaf_kernel
def _pivoted_cholesky(A, rows, scale, order, factor):
    """Factor an island of A, and return its rank, or -1 if it may not be semidefinite.

    A: matrix of all rows; overwritten in the rows of the island. rows: rows of the island.
    scale, order: (rows,) work arrays. factor: output, F with G = F F^T in the rows of the island.
    """
    n, rank = rows.size, 0
    if not _to_near_one(A, rows, scale):
        return -1
    for i in range(n):
        order[i] = rows[i]
    for column in range(n):
        best = _largest_pivot(A, order[:n], column)
        order[column], order[best] = order[best], order[column]
        pivot = order[column]
        if not A[pivot, pivot] > n * EPSILON:
            break
        rank += 1
        factor[pivot, column] = np.sqrt(A[pivot, pivot])
        for i in range(column + 1, n):
            at = order[i]
            factor[at, column] = A[at, pivot] / factor[pivot, column]
        for i in range(column + 1, n):
            at = order[i]
            for j in range(column + 1, i + 1):
                A[at, order[j]] -= factor[at, column] * factor[order[j], column]
                A[order[j], at] = A[at, order[j]]
    if _left_over(A, order[rank:n]) > LEFT_OVER:
        return -1
    for i in range(n):
        for column in range(rank):
            factor[rows[i], column] *= scale[i]
    return rank


@kernel
def small_system(given, dim, free, slack, mu):
    """Return the system of a small dense matrix with friction, and True if it was factored.

    It is not factored if its asymmetry is more than round-off, or if its eigenvalues have to decide.

    given: (m dim, m dim). free: (m dim,) g [m/s]. slack, mu: (m,).
    """
    n, m = free.size, slack.size
    factor, offset, body = np.zeros((n, n)), np.zeros(m + 1, np.int64), np.full(m, -1, np.int64)
    islands, is_one = _factored(given, dim, factor, offset, body, 0)
    return _of_factor(factor, dim, body, offset[: islands + 1], (free, slack, mu)), is_one


@inner_kernel
def _factored(given, dim, factor, offset, body, before):
    """Factor a matrix by islands, whose bodies are numbered from `before` on.

    given: (n, n). factor: (n, n or more) output. offset: (bodies + 1,) output. body: (m,) output, the body of each contact.

    Returns the number of bodies after it, and True if the matrix was factored; otherwise no body is added.
    """
    n = given.shape[0]
    A, group = np.empty((n, n)), np.arange(n) // dim
    is_one = _symmetric_mean(given, A)
    part, count = parts_of_dense(A, group)
    scale, order, bodies = np.empty(n), np.empty(n, np.int64), before
    for i in range(count):
        rows = np.flatnonzero(part == i)
        rank = _pivoted_cholesky(A, rows, scale, order, factor) if is_one else -1
        is_one &= rank >= 0
        if rank > 0:
            offset[bodies + 1] = offset[bodies] + rank
            for row in rows:
                body[row // dim] = bodies
            bodies += 1
    if not is_one:
        body[:] = -1
        return before, False
    return bodies, True


@inner_kernel
def _of_factor(factor, dim, body, offset, of_contacts):
    """Return the system whose bodies are islands.

    factor: rows of F. body: (m,) body of each contact. offset: (bodies + 1,) first degree of freedom of each.
    of_contacts: free velocities (m dim,), slack (m,) and mu (m,).
    """
    (free, slack, mu), m, islands = of_contacts, body.size, offset.size - 1
    block_start, widest = np.zeros(islands + 1, np.int64), 0
    for i in range(islands):
        size = offset[i + 1] - offset[i]
        block_start[i + 1], widest = block_start[i] + size**2, max(widest, size)
    mass = np.zeros(block_start[islands])
    for i in range(islands):
        size = offset[i + 1] - offset[i]
        for d in range(size):
            mass[block_start[i] + d * (size + 1)] = 1.0
    jacobian, bias = np.zeros((m, 3, widest)), np.zeros((m, 3))
    for k in range(m):
        for axis in range(dim):
            bias[k, axis] = free[k * dim + axis]
            if body[k] >= 0:
                for d in range(offset[body[k] + 1] - offset[body[k]]):
                    jacobian[k, axis, d] = factor[k * dim + axis, d]
    still, at_rest, box = np.full(m, -1, np.int64), np.zeros(offset[islands]), np.zeros((0, 3, 3))
    return System(offset.copy(), block_start, mass, mass, at_rest, still, body, jacobian, jacobian, bias, slack, mu, box, 0.0)


@kernel
def small_systems(matrix, at, start, dim, free, slack, mu):
    """Return p small matrices as one system, and for each whether it was factored (p,). The others have no bodies.

    matrix: entries of all matrices in row-major order; those of problem i are matrix[at[i] : at[i + 1]].
    start: (p + 1,) the contacts of problem i are start[i] to start[i + 1].
    free: (contacts dim,) [m/s]. slack, mu: (contacts,).
    """
    p, contacts, widest = start.size - 1, start[start.size - 1], 0
    is_one = np.empty(p, np.bool_)
    for i in range(p):
        rows = (start[i + 1] - start[i]) * dim
        is_one[i] = rows <= SMALL_ROWS
        widest = max(widest, rows) if is_one[i] else widest
    factor, body = np.zeros((contacts * dim, widest)), np.full(contacts, -1, np.int64)
    offset, bodies = np.zeros(contacts + 1, np.int64), 0
    for i in range(p):
        first, last = start[i], start[i + 1]
        if is_one[i] and first < last:
            rows = (last - first) * dim
            given = matrix[at[i] : at[i + 1]].reshape((rows, rows))
            bodies, is_one[i] = _factored(given, dim, factor[first * dim : last * dim], offset, body[first:last], bodies)
    system = _of_factor(factor, dim, body, offset[: bodies + 1], (free, slack, mu))
    for i in range(p):
        if not is_one[i]:
            system.bias[start[i] : start[i + 1]] = 0.0
    return system, is_one
