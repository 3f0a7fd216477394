# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether rows of joints, and contacts, contradict each other, proved by impulses on them (Farkas 1902).

Rows that hold ask for velocities v with  J v + b = 0,  limits and contacts for  J v + b >= 0  or  <= 0.  The least error that
they can be left with, in rows of unit length, is what a least squares problem leaves over:

    r = argmin |J v + b - p|,    p >= 0 for lower limits, <= 0 for upper ones, 0 for rows that hold.

Where r is not zero it is its own proof. No v changes r . J v, for J^T r = 0, and limits can only be pressed against, so
r . (J v + b - p) = |r|^2 for every v: no v makes it zero. The rows in r are those that contradict each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..problem.contact_problem import ContactProblem

__all__ = ["contradicting_rows"]

Floats = NDArray[np.float64]

BEYOND_ALL_MOTION = 1e9  # times the motion that the worst row asks for by itself: velocities that no step can mean
MAX_DENSE_ROWS = 600  # the search is dense
NO_ERROR = 1e-9  # of the largest error that a row begins with: less is rounding, and so is what a limit is left by


def contradicting_rows(problem: ContactProblem, tolerance: float = 1e-6) -> Floats | None:
    """(m, 3) impulses on rows that contradict each other, the largest 1, which prove that they do; None where none are found.

    Springs and motors, and rows that give way, contradict nothing; friction has no part in it. Looked for among problems of up
    to 600 rows. tolerance: relative, errors below it contradict nothing.
    """
    from scipy.optimize import lsq_linear  # which takes a while to load, and few need it

    system, contacts = problem.system, problem.system.mu.size
    low, high = np.zeros((problem.contacts, 3)), np.zeros((problem.contacts, 3))
    high[:contacts, 0] = np.inf
    low[contacts:], high[contacts:] = system.box[..., 0], system.box[..., 1]
    low[contacts:][system.box[..., 2] > 0.0] = high[contacts:][system.box[..., 2] > 0.0] = 0.0
    acts = ((low == -np.inf) | (high == np.inf)).ravel()
    rows = (problem.jacobian.reshape(problem.contacts * problem.dim, -1) @ np.linalg.cholesky(problem.inverse_mass))[acts]
    wanted = problem.free_velocity.copy()
    wanted[:contacts, 0] += system.slack
    asked, length = wanted.ravel()[acts], np.linalg.norm(rows, axis=1)
    if not 0 < len(asked) <= MAX_DENSE_ROWS or not np.isfinite(asked).all():
        return None
    unit = np.where(length > 0.0, length, 1.0)
    rows, asked = rows / unit[:, None], asked / unit
    lower, upper = (high.ravel()[acts] == np.inf), (low.ravel()[acts] == -np.inf)
    one_sided = np.flatnonzero(lower != upper)
    # the variables are v and how far limits are left
    leaving = np.zeros((len(asked), len(one_sided)))
    leaving[one_sided, np.arange(len(one_sided))] = np.where(lower[one_sided], -1.0, 1.0)
    n = rows.shape[1]
    least = np.concatenate([np.full(n, -np.inf), np.zeros(len(one_sided))])
    left, hardest = np.zeros(len(one_sided), dtype=bool), np.abs(asked).max()
    if len(one_sided):
        found = lsq_linear(np.hstack([rows, leaving]), -asked, (least, np.inf), method="bvls", lsmr_tol=None, max_iter=200)
        left = found.x[n:] > NO_ERROR * hardest
    # once more with those that are pressed against, for all digits
    pressed = np.ones(len(asked), dtype=bool)
    pressed[one_sided[left]] = False
    error = np.zeros(len(asked))
    error[pressed] = rows[pressed] @ np.linalg.lstsq(rows[pressed], -asked[pressed], rcond=None)[0] + asked[pressed]
    error[np.abs(error) <= NO_ERROR * hardest] = 0.0
    if not _proves(rows, asked, error, lower, upper, tolerance):
        return None
    ray = np.zeros(acts.size)
    ray[acts] = -error / unit
    return (ray / np.abs(ray).max()).reshape(problem.contacts, problem.dim)


def _proves(
    rows: Floats, asked: Floats, error: Floats, lower: NDArray[np.bool_], upper: NDArray[np.bool_], tolerance: float
) -> bool:
    """Whether what rows of unit length are left with shows that they contradict each other."""
    worst, hardest = np.abs(error).max(), np.abs(asked).max()
    if not worst > tolerance * hardest:
        return False
    # a lower limit is left with too little, an upper one with too much
    sided = (~lower | upper | (error <= 0.0)) & (~upper | lower | (error >= 0.0))
    work, moved = float(error @ asked), float(np.linalg.norm(error @ rows))
    return bool(sided.all()) and work > 0.0 and work > BEYOND_ALL_MOTION * hardest * moved
