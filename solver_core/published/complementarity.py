# SPDX-License-Identifier: GPL-3.0-or-later
"""Results and residuals of linear complementarity problems.

    a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9) of Baraff 1991

If forces grow without bound, round-off decides whether they accelerate a contact: the normal acceleration of a jamming rod is
the remainder of 1 - 1. Every test therefore compares a number with the size of the terms that cancel in it, by `ROUNDING`,
`Sizes` and `terms`.
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
    "default_pivot_limit",
    "entry_sizes",
    "is_ray",
    "is_symmetric",
    "lcp_residual",
    "relative_residual",
    "terms",
    "without_rounding",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-12  # relative to the terms that cancel in a number: a smaller number is round-off


class Sizes(NamedTuple):
    """Bounds on the terms of a matrix A: row (n,) and column (n,). The terms whose sum is A_ij are at most row_i column_j."""

    row: Floats
    column: Floats


@kernel
def is_symmetric(A):
    """Return True if a square matrix equals its transpose exactly."""
    for i in range(A.shape[0]):
        for j in range(i):
            if A[i, j] != A[j, i]:
                return False
    return True


@kernel
def entry_sizes(A, symmetric):
    """Return the `Sizes` of a matrix of which only the entries are known. symmetric: True if A is symmetric and positive
    semidefinite."""
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
    """Return a bound on the terms of (A z)_i / row_i, for a direction z (n,).

    Values of column_i |z_i| and of |(A z)_i| / row_i below `ROUNDING` times this bound are round-off.
    """
    total = 0.0
    for j in range(direction.size):
        total += column[j] * abs(direction[j])
    return total


class LcpEnd(NamedTuple):
    """Result of an algorithm for linear complementarity problems.

    status: outcome of the solve.
    force, acceleration: (n,).
    ray: (n,) with a largest entry of 1, or None.
    stats: cost of the solve.
    """

    status: Status
    force: Floats
    acceleration: Floats
    ray: Floats | None
    stats: Statistics


def lcp_residual(A: ArrayLike, b: ArrayLike, force: ArrayLike) -> float:
    """Return the relative error of forces (n,).

    It is the largest of -min f / F, -min a / B and max |f a| / (F B), with a = A f + b, F = max |f| and B = max |b|. It is inf
    if a violated condition has a scale of zero, or if a value is not finite.

    Raises ValueError if the shapes do not match.
    """
    A, b, force = (np.ascontiguousarray(values, dtype=np.float64) for values in (A, b, force))
    if A.shape != (b.size, b.size) or force.shape != b.shape:
        raise ValueError(f"A, b and force must have shapes (n, n), (n,) and (n,), not {A.shape}, {b.shape} and {force.shape}")
    return relative_residual(b, force, A @ force + b)


@kernel
def relative_residual(b, force, acceleration):
    """Return `lcp_residual` for forces with known accelerations."""
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
    """Return the result with a status that its residual supports.

    SOLVED requires an `lcp_residual` within the tolerance. Only RAY keeps the ray.
    """
    status = end.status
    within = relative_residual(b, end.force, end.acceleration) <= tolerance
    if not within and not (np.isfinite(end.force).all() and np.isfinite(end.acceleration).all()):
        status = Status.NOT_FINITE
    elif not within and status == Status.SOLVED:
        status = Status.MAX_ITERATIONS
    ray = end.ray if status == Status.RAY else None
    return end if status is end.status and ray is end.ray else end._replace(status=status, ray=ray)


def default_pivot_limit(n: int) -> int:
    """Return the default limit of pivots for a problem of n unknowns."""
    return 1000 + 100 * n


def without_rounding(sizes: Sizes, direction: Floats) -> Floats:
    """Return a direction of forces (n,) with round-off set to zero."""
    size = sizes.column * np.abs(direction)
    return np.where(size >= ROUNDING * size.sum(), direction, 0.0)


def is_ray(A: Floats, sizes: Sizes, ray: Floats, normal: Ints | None = None) -> bool:
    """Return True if a vector has the property (10) of contact impulses: z >= 0, z != 0, and (A z)_i <= 0 where z_i > 0.

    All comparisons allow for round-off.

    normal: indices of the normal impulses, None for all. Other impulses may have either sign.
    """
    if not np.isfinite(ray).all():
        return False
    indices = np.arange(ray.size) if normal is None else normal
    noise = ROUNDING * float(sizes.column @ np.abs(ray))
    z, response = without_rounding(sizes, ray)[indices], (A @ ray)[indices]
    pushed = z > 0.0
    return bool((z >= 0.0).all() and pushed.any() and (response <= noise * sizes.row[indices])[pushed].all())
