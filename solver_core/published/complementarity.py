# SPDX-License-Identifier: GPL-3.0-or-later
"""What an answer of a linear complementarity problem is, and how far from a solution it is.

a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9) of Baraff 1991

Where forces grow without end, whether they move a contact is a question of rounding, and asked of numbers that are differences:
the normal acceleration of a rod that jams is what is left of 1 - 1. All that ask it compare a number with the terms that it is
the difference of, by `ROUNDING`, `Sizes` and `terms`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.kernel import kernel, kernel_part
from ..problem.result import Statistics, Status

__all__ = [
    "ROUNDING",
    "LcpEnd",
    "Sizes",
    "checked",
    "entry_sizes",
    "is_ray",
    "lcp_residual",
    "most_pivots",
    "relative_residual",
    "terms",
    "without_rounding",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-12  # of the terms that a number is the difference of: what is smaller is rounding


class Sizes(NamedTuple):
    """Of a matrix A: row (n,), column (n,), the terms that A_ij is the sum of being at most row_i column_j."""

    row: Floats
    column: Floats


@kernel
def entry_sizes(A, symmetric):
    """`Sizes` of a matrix of which nothing but the entries is known. symmetric: positive semidefinite besides."""
    n = A.shape[0]
    size = np.zeros(n)
    for i in range(n):
        if symmetric:
            size[i] = max(A[i, i], 0.0)
            continue
        for j in range(n):
            entry = abs(A[i, j])
            size[i] = max(size[i], entry)
            size[j] = max(size[j], entry)
    size = np.sqrt(size)
    return Sizes(size, size)


@kernel_part
def terms(column, direction):
    """The terms over row_i that (A z)_i is the sum of, for a direction z (n,): below `ROUNDING` of them column_i |z_i| and
    |(A z)_i| / row_i are rounding."""
    total = 0.0
    for j in range(direction.size):
        total += column[j] * abs(direction[j])
    return total


class LcpEnd(NamedTuple):
    """Where an algorithm ended: force (n,), acceleration (n,), ray (n,), its largest entry 1, or None, and the cost."""

    status: Status
    force: Floats
    acceleration: Floats
    ray: Floats | None
    stats: Statistics


def lcp_residual(A: ArrayLike, b: ArrayLike, force: ArrayLike) -> float:
    """How far forces (n,) are from a solution: the largest of -min f / F, -min a / B and max |f a| / (F B), with a = A f + b,
    F = max |f| and B = max |b|; infinite where something is wrong and its scale is zero, or not finite. Raises ValueError where
    their shapes do not match."""
    A, b, force = (np.ascontiguousarray(values, dtype=np.float64) for values in (A, b, force))
    if A.shape != (b.size, b.size) or force.shape != b.shape:
        raise ValueError(f"A, b and force must have shapes (n, n), (n,) and (n,), not {A.shape}, {b.shape} and {force.shape}")
    return relative_residual(b, force, A @ force + b)


@kernel
def relative_residual(b, force, acceleration):
    """`lcp_residual` of forces whose accelerations are known."""
    largest = hardest = pull = approach = power = 0.0
    for i in range(b.size):
        f, a = force[i], acceleration[i]
        if not (np.isfinite(f) and np.isfinite(a)):
            return np.inf
        largest, hardest = max(largest, abs(f)), max(hardest, abs(b[i]))
        pull, approach, power = max(pull, -f), max(approach, -a), max(power, abs(f * a))
    worst = 0.0
    for value, over in ((pull, largest), (approach, hardest), (power, largest * hardest)):
        if value > 0.0:
            worst = max(worst, value / over if over > 0.0 else np.inf)
    return worst


def checked(end: LcpEnd, b: Floats, tolerance: float) -> LcpEnd:
    """The end of an algorithm as it may be reported: SOLVED only within the tolerance on `lcp_residual`, a ray only with
    RAY."""
    status = end.status
    within = relative_residual(b, end.force, end.acceleration) <= tolerance
    if not within and not (np.isfinite(end.force).all() and np.isfinite(end.acceleration).all()):
        status = Status.NOT_FINITE
    elif not within and status == Status.SOLVED:
        status = Status.MAX_ITERATIONS
    return end._replace(status=status, ray=end.ray if status == Status.RAY else None)


def most_pivots(n: int) -> int:
    """How many pivots a problem of n unknowns is given where nobody says how many."""
    return 1000 + 100 * n


def without_rounding(sizes: Sizes, direction: Floats) -> Floats:
    """A direction of forces (n,) with what of it is rounding at zero."""
    size = sizes.column * np.abs(direction)
    return np.where(size >= ROUNDING * size.sum(), direction, 0.0)


def is_ray(A: Floats, sizes: Sizes, ray: Floats, normal: Ints | None = None) -> bool:
    """Whether a vector has the property (10) of contact impulses: z >= 0, not zero, and (A z)_i <= 0 where z_i > 0, all up to
    rounding.

    normal: indices of the normal impulses, None for all; others may have either sign.
    """
    if not np.isfinite(ray).all():
        return False
    at = np.arange(ray.size) if normal is None else normal
    noise = ROUNDING * float(sizes.column @ np.abs(ray))
    z, response = without_rounding(sizes, ray)[at], (A @ ray)[at]
    pushed = z > 0.0
    return bool((z >= 0.0).all() and pushed.any() and (response <= noise * sizes.row[at])[pushed].all())
