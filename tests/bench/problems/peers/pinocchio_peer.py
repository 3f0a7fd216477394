# SPDX-License-Identifier: GPL-3.0-or-later
"""Pinocchio 3's contact solvers, ADMM and PGS, on a dense Delassus operator; tangents come before normals there."""
# pyright: reportMissingImports=false

from __future__ import annotations

import numpy as np
import pinocchio as pin
from protocol import answer

ITERATIONS = 100_000


def build(method, W, q, mu):
    order = np.arange(len(q)).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    G, g = np.ascontiguousarray(W[np.ix_(order, order)]), q[order]
    cones = pin.StdVec_CoulombFrictionCone()
    for one in mu:
        cones.append(pin.CoulombFrictionCone(float(one)))
    operator = pin.DelassusOperatorDense(G) if method == "ADMM" else G

    def solve(tolerance):
        solver = (pin.ADMMContactSolver if method == "ADMM" else pin.PGSContactSolver)(len(g))
        solver.setAbsolutePrecision(tolerance)
        solver.setRelativePrecision(tolerance)
        solver.setMaxIterations(ITERATIONS)
        found = np.zeros(len(g))
        if method == "ADMM":
            solver.solve(operator, g, cones, np.zeros(len(g)))
            found = np.array(solver.getPrimalSolution())
        else:
            solver.solve(operator, g, cones, found)
        r = np.empty(len(g))
        r[order] = found
        return r

    return solve


answer(build)
