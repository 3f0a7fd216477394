# SPDX-License-Identifier: GPL-3.0-or-later
"""Anderson acceleration of a fixed-point iteration x := g(x), for maps that converge linearly or swing to and fro.

The next iterate is not g(x) but that combination of the last few x and g(x) whose residuals r = g(x) - x, combined alike, are
smallest (Walker and Ni 2011, "Anderson acceleration for fixed-point iterations", (2.3) in its difference form).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel

__all__ = ["Anderson", "accelerate", "anderson"]

DEPTH = 5
PATIENCE = 8  # iterations without progress after which the past is forgotten and less of r is mixed in
LEAST_MIX = 0.1


class Anderson(NamedTuple):
    """The last iterates x and residuals r, (DEPTH + 1, n) with `counts[0]` rows in use, oldest first.

    counts (2,): rows in use, iterations without progress. levels (2,): smallest |r| so far, the share of r that is mixed in.
    """

    x: NDArray[np.float64]
    r: NDArray[np.float64]
    counts: NDArray[np.int64]
    levels: NDArray[np.float64]


@inner_kernel
def anderson(n):
    """An empty memory for vectors of size n."""
    return Anderson(np.empty((DEPTH + 1, n)), np.empty((DEPTH + 1, n)), np.zeros(2, np.int64), np.array([np.inf, 1.0]))


@inner_kernel
def accelerate(memory, x, image):
    """x := the next iterate after x, image being g(x); entries are kept non-negative."""
    residual = image - x
    size = np.sqrt(np.dot(residual, residual))
    if size < 0.9 * memory.levels[0]:
        memory.levels[0] = size
        memory.counts[1] = 0
    else:
        memory.counts[1] += 1
    if memory.counts[1] >= PATIENCE:
        memory.counts[:] = 0
        memory.levels[0] = size
        memory.levels[1] = 0.5 * memory.levels[1] if memory.levels[1] >= 2.0 * LEAST_MIX else 1.0
    rows = memory.counts[0]
    if rows == DEPTH + 1:
        for i in range(DEPTH):
            memory.x[i] = memory.x[i + 1]
            memory.r[i] = memory.r[i + 1]
        rows = DEPTH
    memory.x[rows] = x
    memory.r[rows] = residual
    memory.counts[0] = rows + 1
    mix = memory.levels[1]
    x += mix * residual
    if rows > 0:
        steps, changes = np.empty((x.size, rows)), np.empty((x.size, rows))
        for i in range(rows):
            steps[:, i] = memory.x[i + 1] - memory.x[i]
            changes[:, i] = memory.r[i + 1] - memory.r[i]
        weights = np.linalg.lstsq(changes, residual, 1e-10)[0]
        for i in range(rows):
            x -= weights[i] * (steps[:, i] + mix * changes[:, i])
    for i in range(x.size):
        x[i] = max(0.0, x[i])
