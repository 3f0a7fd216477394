"""What an answer of a linear complementarity problem is, and how far from a solution it is.

a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9) of Baraff 1991
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..kernel import kernel
from ..result import Statistics, Status

__all__ = ["LcpEnd", "is_ray", "lcp_residual", "relative_residual"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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


def is_ray(A: Floats, ray: Floats, normal: Ints | None = None, noise: float = 0.0) -> bool:
    """Whether a vector has the property (10) of contact impulses: z >= 0, not zero, and (A z)_i <= 0 where z_i > 0.

    normal: indices of the normal impulses, None for all; others may have either sign. noise: relative to the largest of them,
    what counts as zero. A z may be positive by its round-off, 1e-9 of the sum of the absolute values of its terms.
    """
    if not np.isfinite(ray).all():
        return False
    at = np.arange(ray.size) if normal is None else normal
    response, size, z = (A @ ray)[at], (np.abs(A) @ np.abs(ray))[at], ray[at]
    zero = noise * z.max(initial=0.0)
    pushed = z > zero
    return bool((z >= -zero).all() and pushed.any() and (response <= 1e-9 * size)[pushed].all())
