"""One door to the solvers of linear complementarity problems, and the outside measure of their answers.

    a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9) of Baraff 1991

A is any square matrix: of contact problems it is symmetric positive semidefinite without friction, and neither with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..problem import finite_array
from ..result import Statistics, Status
from .arguments import require_limits
from .lemke import LcpEnd, lemke
from .pivoting import pivot_lcp

__all__ = ["LCP_METHODS", "LcpResult", "lcp_residual", "solve_lcp"]

Floats = NDArray[np.float64]

LCP_METHODS: dict[str, Callable[..., LcpEnd]] = {"lemke": lemke, "pivot": pivot_lcp}


@dataclass(frozen=True)
class LcpResult:
    """Solution of a linear complementarity problem.

    force: (n,) f >= 0, the best found where the status is not SOLVED. acceleration: (n,) A f + b. ray: (n,) where the status is
    RAY, else None: z >= 0, its largest entry 1, with (A z)_i <= 0 wherever z_i > 0 (Baraff 1991, (10)).
    """

    status: Status
    force: Floats
    acceleration: Floats
    ray: Floats | None = None
    stats: Statistics = field(default_factory=lambda: Statistics(0, 0, 0.0))


def lcp_residual(A: ArrayLike, b: ArrayLike, force: ArrayLike) -> float:
    """How far forces (n,) are from a solution: the largest of -min f / F, -min a / B and max |f a| / (F B), with a = A f + b,
    F = max |f| and B = max |b|; infinite where something is wrong and its scale is zero, or not finite."""
    A, b, force = (np.ascontiguousarray(values, dtype=np.float64) for values in (A, b, force))
    return _residual(b, force, A @ force + b)


@njit(cache=True)
def _residual(b, force, acceleration):
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


def solve_lcp(
    A: ArrayLike,
    b: ArrayLike,
    method: str = "lemke",
    *,
    tolerance: float = 1e-10,
    max_iterations: int | None = None,
    time_limit: float = np.inf,
    start: ArrayLike | None = None,
) -> LcpResult:
    """Find f >= 0 with a = A f + b >= 0 and f . a = 0, or a ray.

    method: lemke (Baraff 1991), for any A, or pivot (1994), for symmetric positive semidefinite A with b in its column space
    and for P-matrices; for others that may end without an answer. A: (n, n), any square matrix. b: (n,). tolerance: bound on
    `lcp_residual`; an answer above it is never called SOLVED. max_iterations: pivots, else 1000 + 100 n. time_limit: s. start:
    (n,) bool, the indices clamped (f_i free, a_i = 0) at the start; a problem with several solutions has different ones at the
    ends of different starts. Without it lemke begins with none, and pivot with a guess where A is symmetric. Raises
    ValueError that names the argument and the index.
    """
    if method not in LCP_METHODS:
        raise ValueError(f"method must be one of {', '.join(sorted(LCP_METHODS))}, not {method!r}")
    matrix, right = finite_array("A", A), finite_array("b", b)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A must be a square matrix, not of shape {matrix.shape}")
    n = len(matrix)
    if right.shape != (n,):
        raise ValueError(f"b must have shape ({n},) to match A, not {right.shape}")
    clamped = None if start is None else _index_set(start, n)
    most = 1000 + 100 * n if max_iterations is None else max_iterations
    require_limits(tolerance, most, time_limit)
    found = LCP_METHODS[method](matrix, right, clamped, int(most), float(time_limit))
    acceleration = matrix @ found.force + right
    status = found.status
    if not (np.isfinite(found.force).all() and np.isfinite(acceleration).all()):
        status = Status.NOT_FINITE
    elif status == Status.SOLVED and not _residual(right, found.force, acceleration) <= tolerance:
        status = Status.MAX_ITERATIONS
    return LcpResult(status, found.force, acceleration, found.ray if status == Status.RAY else None, found.stats)


def _index_set(values: ArrayLike, n: int) -> NDArray[np.bool_]:
    wanted = np.asarray(values)
    if wanted.shape != (n,) or not (wanted.dtype == bool or np.isin(wanted, (0, 1)).all()):
        raise ValueError(f"start must be {n} truth values, not {wanted.dtype} of shape {wanted.shape}")
    return wanted.astype(bool)
