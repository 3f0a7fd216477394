# SPDX-License-Identifier: GPL-3.0-or-later
"""Elimination of bilateral constraints: u_b = 0 for any impulses of the contacts.

With M^-1 = C C^T, F = J C, and F_b = U S V^T without zero singular values, the bilateral impulses are

    lam_b = -F_b F_b^T+ (F_b F_c^T lam + g_b) = -(U S^-1 V^T F_c^T lam + U S^-2 U^T g_b)

and the contacts are left with u_c = F F^T lam + g_c - F_c V S^-1 U^T g_b, F = F_c (1 - V V^T). A Delassus operator made from F
is positive semidefinite even if a body is held completely, and entries that would be only round-off are zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..problem.contact_problem import ContactProblem
from ..problem.system import one_body

__all__ = ["WithoutBilateral", "without_bilateral"]

Floats = NDArray[np.float64]

DEPENDENT_ROW = 1e-12  # relative to a row of F_c, or to the terms of a free velocity; what is smaller is round-off, and zero


@dataclass(frozen=True)
class WithoutBilateral:
    """The contacts of a problem without its bilateral constraints, whose impulses are lam_b = -(lift lam + own).

    problem: the problem of the contacts, in coordinates of unit mass.
    lift: (b, m dim). own: (b,) [N s].
    """

    problem: ContactProblem
    lift: Floats
    own: Floats

    def bilateral(self, impulse: Floats) -> Floats:
        """Return the bilateral impulses (b,) [N s] for impulses (m, dim) of the contacts [N s]."""
        return -(self.lift @ impulse.ravel() + self.own)


def without_bilateral(problem: ContactProblem) -> WithoutBilateral:
    """Eliminate the bilateral constraints of a problem, of any rank. Without constraints the problem stays the same."""
    m, dim = problem.contacts, problem.dim
    if not problem.bilateral_constraints:
        return WithoutBilateral(problem, np.zeros((0, m * dim)), np.zeros(0))
    J_b, g_b = problem.bilateral
    C = np.linalg.cholesky(problem.inverse_mass)
    F_c = problem.jacobian @ C
    U, sigma, V = np.linalg.svd(J_b @ C, full_matrices=False)
    kept = sigma > max(J_b.shape) * np.finfo(float).eps * sigma.max(initial=0.0)
    U, sigma, V = U[:, kept], sigma[kept], V[kept].T
    bias = (U.T @ g_b) / sigma
    F = F_c - (F_c @ V) @ V.T
    F -= (F @ V) @ V.T
    F[np.linalg.norm(F, axis=1) <= DEPENDENT_ROW * np.linalg.norm(F_c, axis=1)] = 0.0
    g_c = problem.free_velocity.ravel()
    g = g_c - F_c @ (V @ bias)
    g[np.abs(g) <= DEPENDENT_ROW * (np.abs(g_c) + np.abs(F_c) @ np.abs(V @ bias))] = 0.0
    whole = problem.system
    system = one_body(F.reshape(m, dim, len(C)), g.reshape(m, dim), whole.slack, whole.mu, whole.least_scale)
    system = system._replace(box=whole.box)
    none = np.zeros((0, len(C))), np.zeros(0)
    return WithoutBilateral(
        replace(problem, system=system, bilateral=none, rounded=None), (U / sigma) @ (F_c @ V).T, (U / sigma) @ bias
    )
