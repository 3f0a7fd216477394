# SPDX-License-Identifier: GPL-3.0-or-later
"""Convex solvers as engines: Clarabel, quadprog and daqp, in the fixed point of De Saxce and Feng (Acary and others 2011).

Each round is  min 1/2 r . W r + (q + s) . r  with r in the cones, s_n = mu |u_t| of the round before. Clarabel takes the cones
as they are. The others have linear constraints: r_t in a cone's tangent planes, to which those are added in whose direction an
answer was outside, until none is. Their W has 1e-10 of its mean diagonal added, for they want it positive definite.
"""
# pyright: reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
from protocol import answer

ROUNDS, CUTS = 60, 40
RIDGE = 1e-10
SIDES = 8


def by_clarabel(W, mu):
    import clarabel
    from scipy import sparse

    m = len(mu)
    cone = np.zeros((3 * m, 3 * m))
    cone[np.arange(3 * m), np.arange(3 * m)] = np.column_stack([mu, np.ones((m, 2))]).ravel()
    normal = np.zeros((m, 3 * m))
    normal[np.arange(m), 3 * np.arange(m)] = 1.0
    A, P = sparse.csc_matrix(-np.vstack([cone, normal])), sparse.csc_matrix(np.triu(W))
    cones = [clarabel.SecondOrderConeT(3)] * m + [clarabel.NonnegativeConeT(m)]
    right = np.zeros(4 * m)

    def minimum(linear, tolerance):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 0.01 * tolerance
        return np.array(clarabel.DefaultSolver(P, linear, A, right, cones, settings).solve().x)

    return minimum


def by_planes(W, mu, quadratic):
    m = len(mu)
    H = W + RIDGE * np.diagonal(W).mean() * np.eye(3 * m)
    first = 2.0 * np.pi * np.arange(SIDES) / SIDES
    planes = [(k, np.cos(a), np.sin(a)) for k in range(m) for a in first]

    def matrix():
        A = np.zeros((m + len(planes), 3 * m))
        A[np.arange(m), 3 * np.arange(m)] = 1.0
        for row, (k, c, s) in enumerate(planes, m):
            A[row, 3 * k : 3 * k + 3] = mu[k], -c, -s
        return A

    def minimum(linear, tolerance):
        r = np.zeros(3 * m)
        for _ in range(CUTS):
            r = quadratic(H, linear, matrix())
            each = r.reshape(m, 3)
            size = np.linalg.norm(each[:, 1:], axis=1)
            outside = np.flatnonzero(size > mu * np.maximum(each[:, 0], 0.0) + 0.1 * tolerance * np.abs(r).max())
            if not outside.size:
                break
            planes.extend((k, *(each[k, 1:] / size[k])) for k in outside)
        return r

    return minimum


def with_quadprog(H, linear, A):
    import quadprog

    return quadprog.solve_qp(H, -linear, A.T, np.zeros(len(A)))[0]


def with_daqp(H, linear, A):
    import daqp

    return np.array(daqp.solve(H, linear, A, np.full(len(A), 1e30), np.zeros(len(A)), np.zeros(len(A), dtype=np.int32))[0])


def build(method, W, q, mu):
    W, q = np.ascontiguousarray(W), np.ascontiguousarray(q)
    engines = {"quadprog": with_quadprog, "daqp": with_daqp}
    minimum = by_clarabel(W, mu) if method == "Clarabel" else by_planes(W, mu, engines[method])

    def solve(tolerance):
        s, r = np.zeros(len(mu)), np.zeros(len(q))
        for _ in range(ROUNDS):
            linear = q.copy()
            linear[::3] += s
            r = minimum(linear, tolerance)
            after = mu * np.linalg.norm((W @ r + q).reshape(-1, 3)[:, 1:], axis=1)
            done = np.abs(after - s).max() <= 0.1 * tolerance * np.abs(q).max()
            s = after
            if done:
                break
        return r

    return solve


answer(build)
