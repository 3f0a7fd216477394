# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry point of the solvers of linear complementarity problems.

    a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9) of Baraff 1991

A is any square matrix. For contact problems without friction it is symmetric positive semidefinite; with friction it is
neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..problem.arguments import require_limits
from ..problem.given_arrays import finite_array
from ..problem.result import Statistics, Status
from ..published.baraff_1991.lemke import lemke
from ..published.baraff_1994.lcp import pivot_lcp
from ..published.complementarity import LcpEnd, checked, lcp_residual, most_pivots

__all__ = ["LCP_METHODS", "LcpResult", "lcp_residual", "solve_lcp"]

Floats = NDArray[np.float64]

LCP_METHODS: dict[str, Callable[..., LcpEnd]] = {
    "lemke": lambda A, b, start, _tolerance, *limits: lemke(A, b, start, *limits),
    "pivot": pivot_lcp,
}


@dataclass(frozen=True)
class LcpResult:
    """Solution of a linear complementarity problem.

    status: outcome of the solve.
    force: (n,) f >= 0; the best that was found if the status is not SOLVED.
    acceleration: (n,) A f + b.
    ray: (n,) z >= 0 with largest entry 1 and (A z)_i <= 0 wherever z_i > 0 (Baraff 1991, (10)), if the status is RAY; else
        None.
    stats: cost of the solve.
    """

    status: Status
    force: Floats
    acceleration: Floats
    ray: Floats | None = None
    stats: Statistics = field(default_factory=lambda: Statistics(0, 0, 0.0))


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

    Parameters
    ----------
    A : (n, n) array
    b : (n,) array
    method : {'lemke', 'pivot'}
        Baraff 1991, for any A; Baraff 1994, for symmetric positive semidefinite A with b in its column space, and for
        P-matrices. For other matrices 'pivot' may find no solution.
    tolerance : float
        Bound on `lcp_residual`. With a larger residual the status is not SOLVED.
    max_iterations : int, optional
        Limit of pivots; 1000 + 100 n by default.
    time_limit : float
        Seconds.
    start : (n,) bool array, optional
        Indices that are clamped at the start (f_i free, a_i = 0). A problem with several solutions may have a different one for
        each start. By default, 'lemke' starts without clamped indices, and 'pivot' with a guess if A is symmetric.

    Returns
    -------
    LcpResult

    Raises
    ------
    ValueError
        Names the argument and the index.
    """
    if not isinstance(method, str) or method not in LCP_METHODS:
        raise ValueError(f"method must be one of {', '.join(sorted(LCP_METHODS))}, not {method!r}")
    # Kernels are compiled for C order, but a copy of a result of scipy may have another order.
    matrix, right = np.ascontiguousarray(finite_array("A", A)), finite_array("b", b)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A must be a square matrix, not of shape {matrix.shape}")
    n = len(matrix)
    if right.shape != (n,):
        raise ValueError(f"b must have shape ({n},) to match A, not {right.shape}")
    clamped = None if start is None else _index_set(start, n)
    most = most_pivots(n) if max_iterations is None else max_iterations
    require_limits(tolerance, most, time_limit)
    end = LCP_METHODS[method](matrix, right, clamped, float(tolerance), int(most), float(time_limit))
    return LcpResult(**checked(end, right, tolerance)._asdict())


def _index_set(values: ArrayLike, n: int) -> NDArray[np.bool_]:
    wanted = np.asarray(values)
    if wanted.shape != (n,) or not (wanted.dtype == bool or np.isin(wanted, (0, 1)).all()):
        raise ValueError(f"start must be {n} truth values, not {wanted.dtype} of shape {wanted.shape}")
    return wanted.astype(bool)
