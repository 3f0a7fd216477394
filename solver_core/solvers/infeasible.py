# SPDX-License-Identifier: GPL-3.0-or-later
"""Proofs that a contact problem has no solution, by impulses (Farkas 1902).

Without friction, springs and motors, a problem requires velocities v with  J v + b >= 0  for contacts (with their slack) and
lower limits, <= 0 for upper limits, and = 0 for locked rows. By Farkas' lemma there is no such v if and only if impulses lam
exist, >= 0, <= 0 or of any sign respectively, that move nothing and on which every v would do negative work:

    J^T lam = 0,    lam . b < 0,

because lam . (J v + b) would then be negative for every v. The simplest case is a body between two others that close in on it
and do not yield. In floating point, J^T lam is only small. The proof is then that velocities which satisfy all rows differ from
v_hat by more than  gamma / |J^T lam|  in the kinetic metric, with gamma = -lam . g, because v = v_hat + x has lam . (J x) >=
gamma.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..problem.accuracy import residuals
from ..problem.contact_problem import ContactProblem
from ..problem.result import Result, Status
from .bilateral import without_bilateral

__all__ = ["contradiction", "proved_infeasible", "proves_contradiction"]

Floats = NDArray[np.float64]

# Smallest motion that proves infeasibility, relative to the motion that the worst row requires alone. No step can mean such
# velocities. A smaller value would call badly scaled problems infeasible, a larger one proves less.
BEYOND_ALL_MOTION = 1e9
MAX_DENSE_ROWS = 600  # largest number of rows of the search, which is dense and may take longer than the failed solve for more


@dataclass(frozen=True)
class _Rows:
    """The rows of a problem that require a velocity.

    factor: (r, n) J M^(-1/2), without the part that bilateral constraints determine.
    g: (r,) velocities without impulses, with the slack included [m/s].
    sign: (r,) 1 for J v + b >= 0, -1 for <= 0, 0 for both.
    which: (r,) indices among all rows.
    """

    factor: Floats
    g: Floats
    sign: Floats
    which: NDArray[np.int64]

    @property
    def size(self) -> Floats:
        """The velocity norm (r,) that a unit impulse causes, 1 if nothing can move."""
        size = np.linalg.norm(self.factor, axis=1)
        return np.where(size > 0.0, size, 1.0)

    @property
    def broken(self) -> Floats:
        """Violation (r,) of each row by the velocities without impulses [m/s]."""
        return np.where(self.sign == 0.0, np.abs(self.g), np.maximum(-self.sign * self.g, 0.0))


def _rows(problem: ContactProblem) -> _Rows:
    """Return the rows of a problem whose bilateral constraints are eliminated."""
    free = without_bilateral(problem).problem
    system, contacts = free.system, free.system.mu.size
    low, high = np.zeros((2, free.contacts, free.dim))
    high[:contacts, 0] = np.inf
    if free.joints:
        # A compliant row can always be satisfied.
        stiff = system.box[..., 2] == 0.0
        low[contacts:], high[contacts:] = np.where(stiff, system.box[..., 0], 0.0), np.where(stiff, system.box[..., 1], 0.0)
    lower, upper = high.ravel() == np.inf, low.ravel() == -np.inf
    g = free.free_velocity.copy()
    g[:contacts, 0] += system.slack
    which = np.flatnonzero(lower | upper)
    sign = lower[which].astype(np.float64) - upper[which]
    return _Rows(free.jacobian[which] @ np.linalg.cholesky(free.inverse_mass), g.ravel()[which], sign, which)


def contradiction(problem: ContactProblem, tolerance: float = 1e-6) -> Floats | None:
    """Search for impulses that prove that no velocities satisfy all contacts and joints of a problem.

    The search is a nonnegative least squares problem, for up to `MAX_DENSE_ROWS` rows. The proof is checked before it is
    returned.

    tolerance: relative; smaller violations are no contradiction.

    Returns impulses (m, dim) whose largest entry is 1, without friction and compliant rows of joints, or None if none are
    found.
    """
    from scipy.optimize import nnls  # loaded here, because it takes half a second and is rarely needed

    if not 0 < problem.contacts <= MAX_DENSE_ROWS:
        return None
    rows = _rows(problem)
    if not 0 < rows.which.size <= MAX_DENSE_ROWS or not np.isfinite(rows.g).all():
        return None
    demands = rows.g / rows.size
    hardest = np.abs(demands).max()
    if hardest == 0.0:
        return None
    unit = np.vstack([(rows.factor / rows.size[:, None]).T, demands / hardest])
    right = np.zeros(len(unit))
    right[-1] = -1.0
    # A locked row is two inequalities, one from each side.
    pushed, pulled = np.flatnonzero(rows.sign >= 0.0), np.flatnonzero(rows.sign <= 0.0)
    try:
        found, _ = nnls(np.hstack([unit[:, pushed], -unit[:, pulled]]), right)
    except RuntimeError:  # raised for too many iterations; nothing is proved then
        return None
    impulse = np.zeros(rows.which.size)
    impulse[pushed] = found[: pushed.size]
    impulse[pulled] -= found[pushed.size :]
    impulse /= rows.size
    largest = np.abs(impulse).max()
    if largest <= 0.0:
        return None
    ray = np.zeros((problem.contacts, problem.dim))
    ray.flat[rows.which] = impulse / largest
    return ray if proves_contradiction(problem, ray, tolerance) else None


def proves_contradiction(problem: ContactProblem, ray: Floats, tolerance: float = 1e-6) -> bool:
    """Return True if impulses prove that a problem is infeasible.

    They do if velocities that satisfy all contacts and joints to within the tolerance would be faster than any step can mean.
    The impulses of bilateral constraints are eliminated.

    ray: (m, dim) impulses. tolerance: relative.
    """
    rows = _rows(problem)
    lam = ray.flat[rows.which]
    if not (np.isfinite(ray).all() and (lam * rows.sign >= 0.0).all() and lam.any()):
        return False
    speed = max(np.linalg.norm(problem.free_velocity, axis=1).max(), rows.broken.max(), problem.system.least_scale)
    gamma = -float(lam @ rows.g) - tolerance * speed * float(np.abs(lam).sum())
    demand = float((rows.broken / rows.size)[rows.factor.any(axis=1)].max(initial=0.0))
    return gamma > 0.0 and gamma > BEYOND_ALL_MOTION * demand * float(np.linalg.norm(lam @ rows.factor))


def proved_infeasible(problem: ContactProblem, result: Result, tolerance: float) -> Result:
    """Return the result, with the status INFEASIBLE and the proof as its ray if it failed and there is no solution."""
    failures = Status.MAX_ITERATIONS, Status.UNCONFIRMED, Status.NOT_FINITE
    if problem.joints:
        # A solver that proves infeasibility from contacts only has not considered the joints.
        fails = result.status in (*failures, Status.INFEASIBLE)
    else:
        fails = result.status in failures and residuals(problem, result).penetration.relative > tolerance
    ray = contradiction(problem, tolerance) if fails else None
    return result if ray is None else replace(result, status=Status.INFEASIBLE, ray=ray)
