# SPDX-License-Identifier: GPL-3.0-or-later
"""Disjoint sets of integers, joined pair by pair (union-find with path halving; Tarjan and van Leeuwen 1984).

parent: (n,) integers, np.arange(n) at the start. The smallest number of a set represents it.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel, leaf_kernel

__all__ = ["connected", "join", "root"]


@leaf_kernel
def root(parent, i):
    """Return the number that represents the set of i."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@leaf_kernel
def join(parent, i, j):
    """Join the sets of i and j."""
    i, j = root(parent, i), root(parent, j)
    parent[max(i, j)] = min(i, j)


@kernel
def connected(bodies, joins, body_a, body_b):
    """Return the first body of each body's island (bodies,).

    joins: (bodies,) False for bodies that connect no others, such as immovable ones. body_a, body_b: (m,) pairs.
    """
    parent = np.arange(bodies)
    for k in range(body_a.size):
        if joins[body_a[k]] and joins[body_b[k]]:
            join(parent, body_a[k], body_b[k])
    for i in range(bodies):
        parent[i] = root(parent, i)
    return parent
