# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the contact conditions of a problem contradict each other, proved by contact impulses (Farkas 1902).

Friction aside, a contact problem asks for velocities v with  N^T v + b_n + c >= 0.  By Farkas' lemma there are none exactly
where contact impulses lam_n >= 0 exist that move nothing and on which every v would have to do work:

    N lam_n = 0,    lam_n . (b_n + c) < 0,

for lam_n . (N^T v + b_n + c) would then be negative for every v. A body squeezed between two that do not give way is the
simplest case. In floating point N lam_n is only small. What is proved then is that velocities which keep to all contacts differ
from v_hat by more than  gamma / |N lam_n|  in the kinetic metric, gamma = -lam_n . (g_n + c), since v = v_hat + x has
lam_n . (N^T x) >= gamma.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..problem.accuracy import residuals
from ..problem.contact_problem import ContactProblem
from ..problem.result import Result, Status
from .bilateral import without_bilateral
from .contradicting_joints import contradicting_rows
from .joints_as_contacts import joints_as_contacts

__all__ = ["contradiction", "proves_contradiction", "told_from_failure"]

Floats = NDArray[np.float64]

BEYOND_ALL_MOTION = 1e9  # times the motion that the worst contact asks for by itself: velocities that no step can mean
MAX_DENSE_CONTACTS = 400  # the search is dense: beyond this it can take longer than the solve that failed


def contradiction(problem: ContactProblem, tolerance: float = 1e-6) -> Floats | None:
    """Contact impulses (m, dim) that prove that no velocities keep to all contacts of a problem; None where none are found.

    Their largest entry is 1 and friction has no part in them. They are looked for by non-negative least squares among problems
    of up to 400 contacts, and proved before they are returned. tolerance: relative, penetrations below it contradict nothing.
    """
    from scipy.optimize import nnls  # which takes half a second to load, and few need it

    if problem.joints:
        joined = joints_as_contacts(problem)
        found = contradiction(joined.problem, tolerance)
        return None if found is None else joined.impulse(found, np.zeros(joined.problem.bilateral_constraints))
    if not 0 < problem.contacts <= MAX_DENSE_CONTACTS:
        return None
    factor, wanted = _normal_rows(problem)
    size = np.linalg.norm(factor, axis=1)
    held = size == 0.0  # neither body can move: such a contact is kept or broken by itself
    ray = np.zeros((problem.contacts, problem.dim))
    if held.any() and wanted[held].min() < 0.0:
        ray[np.flatnonzero(held)[np.argmin(wanted[held])], 0] = 1.0
    else:
        moving = np.flatnonzero(~held)
        asked = wanted[moving] / size[moving]
        hardest = np.abs(asked).max(initial=0.0)
        if hardest == 0.0:
            return None
        rows = np.vstack([(factor[moving] / size[moving, None]).T, asked / hardest])
        goal = np.zeros(len(rows))
        goal[-1] = -1.0
        try:
            found, _ = nnls(rows, goal)
        except RuntimeError:  # too many iterations: nothing is proved
            return None
        ray[moving, 0] = found / size[moving]
    largest = ray.max()
    if largest <= 0.0:
        return None
    ray /= largest
    return ray if proves_contradiction(problem, ray, tolerance) else None


def proves_contradiction(problem: ContactProblem, ray: Floats, tolerance: float = 1e-6) -> bool:
    """Whether contact impulses (m, dim) prove that velocities which keep to all contacts, to within the tolerance, would be
    faster than any step can mean; (b,) impulses of bilateral constraints that go with them are found here."""
    lam = ray[:, 0]
    if not (np.isfinite(ray).all() and (lam >= 0.0).all() and lam.any()):
        return False
    factor, wanted = _normal_rows(problem)
    size = np.linalg.norm(factor, axis=1)
    fastest = np.linalg.norm(problem.free_velocity, axis=1).max(), np.abs(np.minimum(wanted, 0.0)).max()
    speed = max(*fastest, problem.system.least_scale)
    gamma = -float(lam @ wanted) - tolerance * speed * float(lam.sum())
    asked = np.divide(np.abs(np.minimum(wanted, 0.0)), size, out=np.zeros_like(size), where=size > 0.0).max()
    return gamma > 0.0 and gamma > BEYOND_ALL_MOTION * asked * float(np.linalg.norm(lam @ factor))


def told_from_failure(problem: ContactProblem, result: Result, tolerance: float) -> Result:
    """A result without a solution, INFEASIBLE and with the proof as its ray where no solution can be."""
    failures = Status.MAX_ITERATIONS, Status.UNCONFIRMED, Status.NOT_FINITE
    if problem.joints:
        # where these contradict each other, no proof of contacts alone holds
        is_failure = result.status in (*failures, Status.INFEASIBLE)
        ray = contradicting_rows(problem, tolerance) if is_failure else None
        if ray is not None:
            return replace(result, status=Status.INFEASIBLE, ray=ray)
    if result.status not in failures or residuals(problem, result).penetration.relative <= tolerance:
        return result
    ray = contradiction(problem, tolerance)
    return result if ray is None else replace(result, status=Status.INFEASIBLE, ray=ray)


def _normal_rows(problem: ContactProblem) -> tuple[Floats, Floats]:
    """F = N^T M^(-1/2), (m, n), of what bilateral constraints leave free, and g_n + c, (m,)."""
    free = without_bilateral(problem).problem
    factor = free.jacobian[:: free.dim] @ np.linalg.cholesky(free.inverse_mass)
    return factor, free.free_velocity[:, 0] + free.system.slack
