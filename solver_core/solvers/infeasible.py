# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the conditions of a problem contradict each other, proved by impulses (Farkas 1902).

Friction, springs and motors aside, a problem asks for velocities v with  J v + b >= 0  of contacts (with their gaps) and lower
limits, <= 0 of upper ones, = 0 of rows that hold. By Farkas' lemma there are none exactly where impulses lam exist, >= 0, <= 0
and of any sign, that move nothing and on which every v would have to do work:

    J^T lam = 0,    lam . b < 0,

for lam . (J v + b) would then be negative for every v. A body squeezed between two that do not give way is the simplest case.
In floating point J^T lam is only small. What is proved then is that velocities which keep to all rows differ from v_hat by more
than  gamma / |J^T lam|  in the kinetic metric, gamma = -lam . g, since v = v_hat + x has lam . (J x) >= gamma.
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

BEYOND_ALL_MOTION = 1e9  # times the motion that the worst row asks for by itself: velocities that no step can mean
MAX_DENSE_ROWS = 600  # the search is dense: beyond this it can take longer than the solve that failed


@dataclass(frozen=True)
class _Rows:
    """The rows of a problem that ask for something: factor (r, n) J M^(-1/2) of what bilateral constraints leave free, and g
    (r,); sign (r,): 1 for J v + b >= 0, -1 for <= 0, 0 for both; which: (r,) among all rows."""

    factor: Floats
    g: Floats
    sign: Floats
    which: NDArray[np.int64]

    @property
    def size(self) -> Floats:
        """(r,) how far a unit impulse moves; 1 where nothing can."""
        size = np.linalg.norm(self.factor, axis=1)
        return np.where(size > 0.0, size, 1.0)

    @property
    def broken(self) -> Floats:
        """(r,) m/s, how much the velocities without impulses lack of what the rows ask for."""
        return np.where(self.sign == 0.0, np.abs(self.g), np.maximum(-self.sign * self.g, 0.0))


def _rows(problem: ContactProblem) -> _Rows:
    free = without_bilateral(problem).problem
    system, contacts = free.system, free.system.mu.size
    low, high = np.zeros((2, free.contacts, free.dim))
    high[:contacts, 0] = np.inf
    if free.joints:
        # what gives way can always be kept to
        stiff = system.box[..., 2] == 0.0
        low[contacts:], high[contacts:] = np.where(stiff, system.box[..., 0], 0.0), np.where(stiff, system.box[..., 1], 0.0)
    lower, upper = high.ravel() == np.inf, low.ravel() == -np.inf
    g = free.free_velocity.copy()
    g[:contacts, 0] += system.slack
    which = np.flatnonzero(lower | upper)
    sign = lower[which].astype(np.float64) - upper[which]
    return _Rows(free.jacobian[which] @ np.linalg.cholesky(free.inverse_mass), g.ravel()[which], sign, which)


def contradiction(problem: ContactProblem, tolerance: float = 1e-6) -> Floats | None:
    """Impulses (m, dim) that prove that no velocities keep to all contacts and joints of a problem; None where none are found.

    The largest of their entries is 1; friction has no part in them, nor rows of joints that give way. They are looked for by
    non-negative least squares among problems of up to 600 rows, and proved before they are returned. tolerance: relative,
    errors below it contradict nothing.
    """
    from scipy.optimize import nnls  # which takes half a second to load, and few need it

    if not 0 < problem.contacts <= MAX_DENSE_ROWS:
        return None
    rows = _rows(problem)
    if not 0 < rows.which.size <= MAX_DENSE_ROWS or not np.isfinite(rows.g).all():
        return None
    asked = rows.g / rows.size
    hardest = np.abs(asked).max()
    if hardest == 0.0:
        return None
    unit = np.vstack([(rows.factor / rows.size[:, None]).T, asked / hardest])
    right = np.zeros(len(unit))
    right[-1] = -1.0
    # a row that holds is two that are pressed against, one from each side
    pushed, pulled = np.flatnonzero(rows.sign >= 0.0), np.flatnonzero(rows.sign <= 0.0)
    try:
        found, _ = nnls(np.hstack([unit[:, pushed], -unit[:, pulled]]), right)
    except RuntimeError:  # too many iterations: nothing is proved
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
    """Whether impulses (m, dim) prove that velocities which keep to all contacts and joints, to within the tolerance, would be
    faster than any step can mean; (b,) impulses of bilateral constraints that go with them are found here."""
    rows = _rows(problem)
    lam = ray.flat[rows.which]
    if not (np.isfinite(ray).all() and (lam * rows.sign >= 0.0).all() and lam.any()):
        return False
    speed = max(np.linalg.norm(problem.free_velocity, axis=1).max(), rows.broken.max(), problem.system.least_scale)
    gamma = -float(lam @ rows.g) - tolerance * speed * float(np.abs(lam).sum())
    asked = float((rows.broken / rows.size)[rows.factor.any(axis=1)].max(initial=0.0))
    return gamma > 0.0 and gamma > BEYOND_ALL_MOTION * asked * float(np.linalg.norm(lam @ rows.factor))


def proved_infeasible(problem: ContactProblem, result: Result, tolerance: float) -> Result:
    """A result without a solution, INFEASIBLE and with the proof as its ray where no solution can be."""
    failures = Status.MAX_ITERATIONS, Status.UNCONFIRMED, Status.NOT_FINITE
    if problem.joints:
        # a proof that knows of contacts alone is none of joints
        fails = result.status in (*failures, Status.INFEASIBLE)
    else:
        fails = result.status in failures and residuals(problem, result).penetration.relative > tolerance
    ray = contradiction(problem, tolerance) if fails else None
    return result if ray is None else replace(result, status=Status.INFEASIBLE, ray=ray)
