# SPDX-License-Identifier: GPL-3.0-or-later
"""Siconos (Debian's python3-siconos), with its own options but for the tolerance and as many iterations as it likes."""
# pyright: reportMissingImports=false

from __future__ import annotations

import numpy as np
import siconos.numerics as sn
from protocol import answer

ITERATIONS = {"NSGS": 100_000, "NSN_AC": 1_000, "ADMM": 100_000, "PROX": 1_000}


def build(method, W, q, mu):
    problem = sn.FrictionContactProblem(3, np.asfortranarray(W), q, mu)

    def solve(tolerance):
        options = sn.SolverOptions(getattr(sn, f"SICONOS_FRICTION_3D_{method}"))
        options.dparam[sn.SICONOS_DPARAM_TOL] = tolerance
        options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = ITERATIONS[method]
        r, u = np.zeros(len(q)), np.zeros(len(q))
        sn.fc3d_driver(problem, r, u, options)
        return r

    return solve


answer(build)
