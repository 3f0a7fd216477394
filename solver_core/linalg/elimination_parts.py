# SPDX-License-Identifier: GPL-3.0-or-later
"""An elimination tree cut into parts that do not depend on each other, and the top that all of them lead to.

Column j of a Cholesky factor changes, and is needed by, only its ancestors in the elimination tree (Liu 1990, "The role of
elimination trees in sparse factorization"). So subtrees are factorised and solved with side by side. An order in which they
come one after the other, and the top last, has the same fill and costs the same as the one it is made of. What is cut depends
on the matrix alone, not on who does the parts: the same bits for any number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inner_kernel, leaf_kernel
from .block_cholesky import factorise_column, subtract_products

__all__ = ["Parts", "factorise_part", "factorise_top", "parts_of", "reorder"]

LARGEST = 0.25  # of all work, that a subtree has at most: the more subtrees, the larger the top that one thread does alone
A_COUPLING = 4.0  # of a block: work for each contact, or triple of a joint

Ints = NDArray[np.int64]


class Parts(NamedTuple):
    """Columns of a `Structure` by parts, of which the last one, the top, comes after all others.

    start: (parts + 1,) columns of part i are start[i] <= j < start[i + 1]. work: (parts,) about what a part takes. product,
    inner_end: for each column where in `Structure.target` its products begin, and its first block in a row of the top; number:
    of parts without the top.
    """

    start: Ints
    work: NDArray[np.float64]
    product: Ints
    inner_end: Ints
    number: int


@inner_kernel
def _work_of_columns(rank, column_start, body_a, body_b):
    """(bodies,) blocks of a column, and what is coupled in it but in none before."""
    work = np.empty(rank.size)
    for j in range(rank.size):
        work[j] = 2.0 * (column_start[j + 1] - column_start[j]) + 1.0
    for k in range(body_a.size):
        a, b = body_a[k], body_b[k]
        if a >= 0 and b >= 0:
            work[min(rank[a], rank[b])] += A_COUPLING
        elif a >= 0 or b >= 0:
            work[rank[max(a, b)]] += A_COUPLING
    return work


@inner_kernel
def _cut(parent, work, most):
    """(bodies,) the part of each column, the top's being the number of parts, `most` or less; and what each of them takes.

    Subtrees of at most LARGEST are dealt out, the largest first, each to the part that has least.
    """
    bodies = parent.size
    of_tree = work.copy()
    for j in range(bodies):
        if parent[j] >= 0:
            of_tree[parent[j]] += of_tree[j]
    limit = LARGEST * work.sum()
    roots = np.empty(bodies, np.int64)
    count = 0
    for j in range(bodies):
        if of_tree[j] <= limit and (parent[j] < 0 or of_tree[parent[j]] > limit):
            roots[count] = j
            count += 1
    roots = roots[:count]
    parts = min(most, count)
    filled, part = np.zeros(parts + 1), np.full(bodies, -1, np.int64)
    for i in np.argsort(-of_tree[roots], kind="mergesort"):
        least = np.argmin(filled[:parts])
        part[roots[i]] = least
        filled[least] += of_tree[roots[i]]
    for j in range(bodies - 1, -1, -1):
        if of_tree[j] > limit:
            part[j] = parts
            filled[parts] += work[j]
        elif part[j] < 0:
            part[j] = part[parent[j]]
    return part, filled


@inner_kernel
def reorder(order, column_start, row, body_a, body_b, most):
    """An elimination, as from `eliminate`, part after part: (order, column_start, row), where each part begins, and its work.

    body_a, body_b: what is coupled, for how much work that is. most: parts.
    """
    bodies = order.size
    rank, parent = np.empty(bodies, np.int64), np.full(bodies, -1, np.int64)
    for j in range(bodies):
        rank[order[j]] = j
    for j in range(bodies):
        for p in range(column_start[j], column_start[j + 1]):
            above = rank[row[p]]
            parent[j] = above if parent[j] < 0 else min(parent[j], above)
    part, work = _cut(parent, _work_of_columns(rank, column_start, body_a, body_b), most)
    start = np.zeros(work.size + 1, np.int64)
    for j in range(bodies):
        start[part[j] + 1] += 1
    start = np.cumsum(start)
    columns = np.argsort(part, kind="mergesort")
    begin, rows = np.zeros(bodies + 1, np.int64), np.empty(column_start[bodies], np.int64)
    for j in range(bodies):
        first, last = column_start[columns[j]], column_start[columns[j] + 1]
        begin[j + 1] = begin[j] + last - first
        rows[begin[j] : begin[j + 1]] = row[first:last]
    return (order[columns], begin, rows), start, work


@inner_kernel
def parts_of(structure, start, work):
    """`Parts` of a `Structure` whose parts begin at columns start (parts + 1,)."""
    bodies, column_start = structure.order.size, structure.column_start
    product, inner_end = np.empty(bodies, np.int64), np.empty(bodies, np.int64)
    top, products = start[start.size - 2], 0
    for j in range(bodies):
        below = column_start[j + 1] - column_start[j]
        product[j] = products
        products += (below * (below + 1)) // 2
        inner_end[j] = column_start[j]
        while inner_end[j] < column_start[j + 1] and structure.row[inner_end[j]] < top:
            inner_end[j] += 1
    return Parts(start, work, product, inner_end, start.size - 2)


@leaf_kernel
def factorise_part(structure, parts, values, part):
    """The columns of a part of L, without what they take from the top; False where H is not positive definite."""
    for j in range(parts.start[part], parts.start[part + 1]):
        if not factorise_column(structure, values, j):
            return False
        subtract_products(structure, values, j, structure.column_start[j], parts.inner_end[j], parts.product[j])
    return True


@leaf_kernel
def factorise_top(structure, parts, values):
    """The columns of the top, all parts being factorised; False where H is not positive definite."""
    start = structure.column_start
    for j in range(structure.order.size):
        inner, below = parts.inner_end[j] - start[j], start[j + 1] - start[j]
        if j >= parts.start[parts.number] and not factorise_column(structure, values, j):
            return False
        # of below blocks, the i-th one has below - i products
        product = parts.product[j] + inner * below - (inner * (inner - 1)) // 2
        subtract_products(structure, values, j, start[j] + inner, start[j + 1], product)
    return True
