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
from ..published.complementarity import LcpEnd, checked, default_pivot_limit, lcp_residual

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
    """Solve a linear complementarity problem: find f >= 0 with a = A f + b >= 0 and f . a = 0, or a ray.

    Parameters
    ----------
    A : (n, n) array
        The matrix; square.
    b : (n,) array
        The right-hand side, in the units of A f.
    method : {'lemke', 'pivot'}
        'lemke' is the algorithm of Baraff 1991, for any A. 'pivot' is that of Baraff 1994, for P-matrices and for symmetric
        positive semidefinite A with b in its column space. For other matrices 'pivot' may find no solution.
    tolerance : float
        Upper bound of `lcp_residual`, relative. If the residual is larger, the status is not SOLVED.
    max_iterations : int, optional
        Upper bound of the number of pivots; 1000 + 100 n by default.
    time_limit : float
        Upper bound of the time [s]. After it, the status is MAX_ITERATIONS.
    start : (n,) bool array, optional
        True for the indices that are clamped at the start (f_i free, a_i = 0). Different starts may lead to different solutions
        if the problem has several. By default, 'lemke' starts without clamped indices, and 'pivot' with a guess if A is
        symmetric.

    Returns
    -------
    LcpResult
        Forces f and accelerations a, both (n,), the status, and the ray if there is one.

    Raises
    ------
    ValueError
        If an argument has the wrong shape or type, or a value that is not finite. The message names the argument.
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
    pivot_limit = default_pivot_limit(n) if max_iterations is None else max_iterations
    require_limits(tolerance, pivot_limit, time_limit)
    end = LCP_METHODS[method](matrix, right, clamped, float(tolerance), int(pivot_limit), float(time_limit))
    return LcpResult(**checked(end, right, tolerance)._asdict())


def _index_set(values: ArrayLike, n: int) -> NDArray[np.bool_]:
    wanted = np.asarray(values)
    if wanted.shape != (n,) or not (wanted.dtype == bool or np.isin(wanted, (0, 1)).all()):
        raise ValueError(f"start must be {n} truth values, not {wanted.dtype} of shape {wanted.shape}")
    return wanted.astype(bool)
