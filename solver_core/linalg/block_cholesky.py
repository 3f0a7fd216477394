# SPDX-License-Identifier: GPL-3.0-or-later
"""Block-sparse Cholesky factorization P H P^T = L L^T, with one dense block per pair of bodies.

H couples the degrees of freedom of bodies that touch, so its graph is the contact graph. A time step analyzes that graph once
(`analyse`: minimum-degree order and symbolic factorization) and then factorizes many matrices H with the same structure
(`factorise`).

Storage: columns are numbered in elimination order. `values` has the diagonal block of each column, then all blocks below the
    diagonal, column by column, each row-major. Blocks are (size of row body) x (size of column body), so bodies may differ in
    size. In a factor, the diagonal entries are replaced by their reciprocals, and the transposes of all blocks follow, at the
    same positions. So a product of six contiguous numbers reads six contiguous numbers. `block_triangular` solves with the
    factor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from .block_triangular import solve_lower
from .rows_of_six import SIX, RowOfSix, minus_rows, subtract_rows
from .sorting import sort_in_place

__all__ = [
    "Structure",
    "allocate_factor",
    "analyse",
    "eliminate",
    "factorise",
    "find_block",
    "subtract_product",
]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Structure(NamedTuple):
    """The structure of all factorizations of one time step.

    order: (bodies,) body that is eliminated as column j. rank: (bodies,) its inverse.
    first: (bodies,) first degree of freedom of column j. size: (bodies,) number of its degrees of freedom.
    column_start: (bodies + 1,) column j has the blocks column_start[j] to column_start[j + 1] below its diagonal.
    row: (blocks,) row of each of these blocks, ascending in a column.
    diagonal, block: (bodies,) and (blocks,), positions of the diagonal blocks and of the others in `values`.
    target: (products,) for each pair of blocks of a column, column by column, the position of the block from which their
        product is subtracted.
    length: total length of all blocks.
    """

    order: Ints
    rank: Ints
    first: Ints
    size: Ints
    column_start: Ints
    row: Ints
    diagonal: Ints
    block: Ints
    target: Ints
    length: int


@kernel_part
def _adjacency(bodies, body_a, body_b):
    """Return the distinct neighbors of each body as start, count and pool: pool[start[b]:start[b] + count[b]]."""
    count = np.zeros(bodies, np.int64)
    for k in range(body_a.size):
        if body_a[k] >= 0 and body_b[k] >= 0:
            count[body_a[k]] += 1
            count[body_b[k]] += 1
    start = np.zeros(bodies, np.int64)
    for b in range(1, bodies):
        start[b] = start[b - 1] + count[b - 1]
    pool = np.empty(max(1, 2 * body_a.size), np.int64)
    count[:] = 0
    for k in range(body_a.size):
        a, b = body_a[k], body_b[k]
        if a >= 0 and b >= 0:
            pool[start[a] + count[a]] = b
            pool[start[b] + count[b]] = a
            count[a] += 1
            count[b] += 1
    seen = np.full(bodies, -1, np.int64)
    for b in range(bodies):
        kept = 0
        for p in range(start[b], start[b] + count[b]):
            if seen[pool[p]] != b:
                seen[pool[p]] = b
                pool[start[b] + kept] = pool[p]
                kept += 1
        count[b] = kept
    return start, count, pool


@leaf_kernel
def _bucket_insert(body, degree, head, following, preceding):
    """Insert a body at the head of the doubly linked list of its degree."""
    preceding[body] = -1
    following[body] = head[degree]
    if head[degree] >= 0:
        preceding[head[degree]] = body
    head[degree] = body


@leaf_kernel
def _bucket_remove(body, degree, head, following, preceding):
    """Remove a body from the doubly linked list of its degree."""
    if preceding[body] >= 0:
        following[preceding[body]] = following[body]
    else:
        head[degree] = following[body]
    if following[body] >= 0:
        preceding[following[body]] = preceding[body]


@kernel_part
def eliminate(bodies, body_a, body_b):
    """Find a minimum-degree elimination order.

    Elimination of a body connects all its neighbors. They are the rows of its column.

    Returns order, column_start and rows, where rows[column_start[j]:column_start[j + 1]] are bodies.
    """
    start, count, pool = _adjacency(bodies, body_a, body_b)
    used = pool.size
    head = np.full(bodies + 1, -1, np.int64)
    following = np.empty(bodies, np.int64)
    preceding = np.empty(bodies, np.int64)
    for b in range(bodies - 1, -1, -1):
        _bucket_insert(b, count[b], head, following, preceding)
    order = np.empty(bodies, np.int64)
    column_start = np.zeros(bodies + 1, np.int64)
    rows = np.empty(max(16, 4 * used), np.int64)
    mark = np.full(bodies, -1, np.int64)
    stamp = 0
    lowest = 0
    for j in range(bodies):
        while head[lowest] < 0:
            lowest += 1
        body = head[lowest]
        _bucket_remove(body, count[body], head, following, preceding)
        order[j] = body
        base = column_start[j]
        degree = count[body]
        while base + degree > rows.size:
            rows = np.concatenate((rows, np.empty_like(rows)))
        for p in range(degree):
            rows[base + p] = pool[start[body] + p]
        column_start[j + 1] = base + degree
        for p in range(degree):
            neighbour = rows[base + p]
            _bucket_remove(neighbour, count[neighbour], head, following, preceding)
            upper_bound = count[neighbour] + degree
            while used + upper_bound > pool.size:
                pool = np.concatenate((pool, np.empty_like(pool)))
            # The merged list is written behind the end of the pool, so the old list can still be read.
            stamp += 1
            mark[neighbour] = stamp
            mark[body] = stamp
            merged = 0
            for q in range(start[neighbour], start[neighbour] + count[neighbour]):
                other = pool[q]
                if mark[other] != stamp:
                    mark[other] = stamp
                    pool[used + merged] = other
                    merged += 1
            for q in range(base, base + degree):
                other = rows[q]
                if mark[other] != stamp:
                    mark[other] = stamp
                    pool[used + merged] = other
                    merged += 1
            if merged <= count[neighbour]:
                for q in range(merged):
                    pool[start[neighbour] + q] = pool[used + q]
            else:
                start[neighbour] = used
                used += merged
            count[neighbour] = merged
            _bucket_insert(neighbour, merged, head, following, preceding)
            lowest = min(lowest, merged)
    return order, column_start, rows


@kernel_part
def analyse(offset, body_a, body_b):
    """Return the `Structure` for bodies that are coupled in pairs: elimination order and symbolic factorization.

    offset: (bodies + 1,) first degree of freedom of each body.
    body_a, body_b: (m,) coupled bodies, negative for none. Pairs may repeat.
    """
    bodies = offset.size - 1
    order, column_start, row = eliminate(bodies, body_a, body_b)
    rank = np.empty(bodies, np.int64)
    for j in range(bodies):
        rank[order[j]] = j
    first = np.empty(bodies, np.int64)
    size = np.empty(bodies, np.int64)
    for j in range(bodies):
        first[j] = offset[order[j]]
        size[j] = offset[order[j] + 1] - offset[order[j]]
    below = column_start[bodies]
    row = row[:below].copy()
    length = 0
    diagonal = np.empty(bodies, np.int64)
    for j in range(bodies):
        diagonal[j] = length
        length += size[j] * size[j]
    block = np.empty(below, np.int64)
    products = 0
    for j in range(bodies):
        begin, end = column_start[j], column_start[j + 1]
        for p in range(begin, end):
            row[p] = rank[row[p]]
        sort_in_place(row[begin:end])
        for p in range(begin, end):
            block[p] = length
            length += size[row[p]] * size[j]
        products += ((end - begin) * (end - begin + 1)) // 2
    target = np.empty(products, np.int64)
    filled = 0
    for j in range(bodies):
        begin, end = column_start[j], column_start[j + 1]
        for p in range(begin, end):
            target[filled] = diagonal[row[p]]
            filled += 1
            # Elimination makes the rows after p rows of column row[p] too, so this merges two ascending lists.
            q = column_start[row[p]]
            for s in range(p + 1, end):
                while row[q] != row[s]:
                    q += 1
                target[filled] = block[q]
                filled += 1
    return Structure(order, rank, first, size, column_start, row, diagonal, block, target, length)


@kernel_part
def allocate_factor(structure):
    """Allocate `values` for `factorise`."""
    return np.empty(2 * structure.length)


@leaf_kernel
def find_block(structure, column, row):
    """Return the position in `values` of the block in a row of a column, both in elimination order, with row > column."""
    low, high = structure.column_start[column], structure.column_start[column + 1] - 1
    while low < high:
        middle = (low + high) // 2
        if structure.row[middle] < row:
            low = middle + 1
        else:
            high = middle
    return structure.block[low]


@inlined_kernel
def _cholesky(block, n):
    """Replace the lower triangle of an n x n block by L, with the reciprocals of its diagonal.

    Returns False if it is not positive definite.
    """
    for i in range(n):
        row = block[i * n :]
        for j in range(i):
            other, s = block[j * n :], row[j]
            for k in range(j):
                s -= row[k] * other[k]
            row[j] = s * other[j]
        s = row[i]
        for k in range(i):
            s -= row[k] * row[k]
        if not s > 0.0:
            return False
        row[i] = 1.0 / np.sqrt(s)
    return True


@inlined_kernel
def _mirror(block, rows, columns, out):
    """Write the transpose of a rows x columns block to `out`."""
    for i in range(rows):
        row = block[i * columns :]
        for j in range(columns):
            out[j * rows + i] = row[j]


@kernel_part
def _left_solve_6(factor, x):
    """Set X := L^-1 X for 6 x 6 blocks."""
    for i in range(6):
        row, y = x[6 * i :], factor[6 * i :]
        f = y[i]
        x0, x1, x2, x3, x4, x5 = minus_rows(RowOfSix(row[0], row[1], row[2], row[3], row[4], row[5]), y, x, i)
        row[0], row[1], row[2], row[3], row[4], row[5] = f * x0, f * x1, f * x2, f * x3, f * x4, f * x5


@kernel_part
def _right_solve(x, rows, factor, n, mirrored):
    """Set X := X L^-T for a rows x n block X, and write its transpose to `mirrored`."""
    if rows == 6 and n == 6:
        _mirror(x, SIX, SIX, mirrored)
        _left_solve_6(factor, mirrored)
        _mirror(mirrored, SIX, SIX, x)
        return
    for i in range(rows):
        solve_lower(factor, n, x[i * n :])
    _mirror(x, rows, n, mirrored)


@leaf_kernel
def subtract_product(c, a, rows, b, columns, n):
    """Set C := C - A B for a rows x n block A and an n x columns block B."""
    if n == 6 and columns == 6:
        for i in range(rows):
            subtract_rows(c[6 * i :], a[6 * i :], b, SIX)
        return
    for i in range(rows):
        row, factors = c[i * columns :], a[i * n :]
        for k in range(n):
            f, other = factors[k], b[k * columns :]
            for j in range(columns):
                row[j] -= f * other[j]


@leaf_kernel
def factorise(structure, values):
    """Replace the lower blocks of H in `values` by those of L. Returns False if H is not positive definite."""
    product = 0
    for j in range(structure.order.size):
        if not _factorise_column(structure, values, j):
            return False
        product = _subtract_column(structure, values, j, product)
    return True


@kernel_part
def _factorise_column(structure, values, j):
    """Factorize column j after the subtraction of all columns before it. Returns False if H is not positive definite."""
    start, n, diagonal = structure.column_start, structure.size[j], values[structure.diagonal[j] :]
    if not (_cholesky(diagonal, SIX) if n == 6 else _cholesky(diagonal, n)):
        return False
    for p in range(start[j], start[j + 1]):
        first, rows = structure.block[p], structure.size[structure.row[p]]
        _right_solve(values[first:], rows, diagonal, n, values[structure.length + first :])
    return True


@kernel_part
def _subtract_column(structure, values, j, product):
    """Subtract the products of the blocks of column j from later columns.

    product: position in `target` of the first product of this column. Returns that of the next column.
    """
    row, block, size = structure.row, structure.block, structure.size
    n, first, last = size[j], structure.column_start[j], structure.column_start[j + 1]
    for p in range(first, last):
        for q in range(p, last):
            c, a, b = values[structure.target[product] :], values[block[q] :], values[structure.length + block[p] :]
            product += 1
            subtract_product(c, a, size[row[q]], b, size[row[p]], n)
    return product
