# SPDX-License-Identifier: GPL-3.0-or-later
"""Disjoint sets of numbers, joined one pair after the other (union-find with path halving; Tarjan, van Leeuwen 1984).

parent: (n,) integers, np.arange(n) while all sets have one member. The smallest number of a set stands for it.
"""

from __future__ import annotations

from .compile.kernel import leaf_kernel

__all__ = ["join", "root"]


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
