# SPDX-License-Identifier: GPL-3.0-or-later
"""Disjoint sets of numbers, joined one pair after the other (union-find with path halving; Tarjan, van Leeuwen 1984).

parent: (n,) integers, np.arange(n) while all sets have one member. The smallest number of a set stands for it.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel, leaf_kernel

__all__ = ["connected", "join", "root"]


@leaf_kernel
def root(parent, i):
    """The number that stands for the set of i."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@leaf_kernel
def join(parent, i, j):
    """Make one set of those of i and j."""
    i, j = root(parent, i), root(parent, j)
    parent[max(i, j)] = min(i, j)


@kernel
def connected(bodies, joins, body_a, body_b):
    """(bodies,) for each body the first one of its island; those that do not join (bodies,) are islands of their own."""
    parent = np.arange(bodies)
    for k in range(body_a.size):
        if joins[body_a[k]] and joins[body_b[k]]:
            join(parent, body_a[k], body_b[k])
    for i in range(bodies):
        parent[i] = root(parent, i)
    return parent
