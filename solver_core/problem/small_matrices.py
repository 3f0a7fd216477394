# SPDX-License-Identifier: GPL-3.0-or-later
"""Small Delassus operators as bodies, G = F F^T as in `delassus.py`, by a kernel: asking LAPACK would take longer.

What is less symmetric than the arithmetic leaves it, or has to be told from rounding by its eigenvalues, is left to
`delassus.py`.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.disjoint_sets import join, root
from .rounding import EXACT_ASYMMETRY
from .system import System

__all__ = ["EPSILON", "LEFT_OVER", "SMALL_ROWS", "UNCOUPLED", "parts_of_dense", "small_system", "small_systems"]

SMALL_ROWS = 60  # of a matrix that is small
UNCOUPLED = 1e-15  # of the geometric mean of two entries on the diagonal: what is between them is rounding
LEFT_OVER = 1e-12  # with a diagonal near one: what a factorisation may leave
EPSILON = float(np.finfo(np.float64).eps)


@kernel
def parts_of_dense(dense, group):
    """(rows,) which connected part of a dense matrix each row is in, in the order of their first rows; and how many there are.
    Rows of the same group (rows,), ascending, are connected."""
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
    """out := the mean of a matrix and its transpose; whether they differ by no more than the arithmetic has it."""
    n, largest, skew = given.shape[0], 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            one, other = given[i, j], given[j, i]
            largest, skew = max(largest, abs(one), abs(other)), max(skew, abs(one - other))
            out[i, j] = out[j, i] = 0.5 * (one + other)
    return skew <= EXACT_ASYMMETRY * largest


@kernel_part
def _to_near_one(A, rows, scale):
    """Scale an island of A, some rows, to a diagonal near one; False where that has what no semidefinite matrix has."""
    n = rows.size
    for i in range(n):
        at, is_empty = rows[i], True
        for j in range(n):
            is_empty &= A[at, rows[j]] == 0.0
        if not is_empty and A[at, at] <= 0.0:
            return False
        # to between 1/2 and 2, by powers of two, which is exact
        exponent = 0 if is_empty else math.frexp(A[at, at])[1]
        scale[i] = math.ldexp(1.0, exponent // 2)
    for i in range(n):
        for j in range(n):
            A[rows[i], rows[j]] /= scale[i] * scale[j]
    return True


@kernel_part
def _largest_pivot(A, order, column):
    """Where in the order the largest entry is that is left on the diagonal."""
    best = column
    for i in range(column + 1, order.size):
        if A[order[i], order[i]] > A[order[best], order[best]]:
            best = i
    return best


@kernel_part
def _left_over(A, rows):
    """The largest entry of A in some rows and columns."""
    largest = 0.0
    for i in rows:
        for j in rows:
            largest = max(largest, abs(A[i, j]))
    return largest


@leaf_kernel
def _pivoted_cholesky(A, rows, scale, order, factor):
    """Rows of `factor` := F, G = F F^T, of an island of A, some rows; its rank, -1 where it may not be semidefinite.

    A: the whole matrix, of which these rows are worked on. scale, order: (rows,) room.
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
    """The `as_bodies` of a small dense matrix, with friction; and whether it is one: it is not where the matrix is less
    symmetric than the arithmetic leaves it, or its eigenvalues have to decide.

    given: (m dim, m dim). free: (m dim,) g. slack, mu: (m,).
    """
    n, m = free.size, slack.size
    factor, offset, body = np.zeros((n, n)), np.zeros(m + 1, np.int64), np.full(m, -1, np.int64)
    islands, is_one = _factored(given, dim, factor, offset, body, 0)
    return _of_factor(factor, dim, body, offset[: islands + 1], (free, slack, mu)), is_one


@inner_kernel
def _factored(given, dim, factor, offset, body, before):
    """Factor a matrix (n, n) by its islands, the bodies from `before` on: factor (n, n or more), offset (bodies + 1,) of these,
    body (m,) of each contact. Returns how many bodies there are then, and whether the matrix is one; else nothing is kept."""
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
    """The system whose bodies are islands, body (m,) of each contact."""
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
    """The `small_system` of each of p matrices as one; and of each whether it is one, (p,). What is none has no bodies there.

    matrix: all entries, row-major, those of problem i from at[i] to at[i + 1]. start: (p + 1,) its contacts, as rows of the
    others: free (contacts dim,), slack, mu (contacts,).
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
