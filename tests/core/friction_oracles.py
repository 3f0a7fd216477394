# SPDX-License-Identifier: GPL-3.0-or-later
"""Outside oracles for contact with friction: Coulomb's law from the dense operator, in two dimensions the enumeration of all
contact modes, quadprog (Goldfarb and Idnani's, as in the paper) for both projections, SLSQP for the friction disk."""

from __future__ import annotations

import itertools

import numpy as np
import quadprog
from scipy.optimize import minimize


def coulomb_violation(problem, result):
    """The largest violation of Coulomb's law, relative, from the dense operator: written out here on its own."""
    lam = np.asarray(result.impulse)
    u = (problem.delassus @ lam.ravel()).reshape(lam.shape) + problem.free_velocity
    mu = np.where(problem.sliding, problem.mu_dynamic, problem.mu)
    speed, size = np.linalg.norm(problem.free_velocity, axis=1).max(), np.linalg.norm(lam, axis=1).max()
    friction, slip = np.linalg.norm(lam[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
    work = mu * lam[:, 0] * slip + (lam[:, 1:] * u[:, 1:]).sum(axis=1)
    kappa = problem.dim / np.diag(problem.delassus).reshape(lam.shape).sum(axis=1)
    tried = lam - kappa[:, None] * u
    length = np.maximum(np.linalg.norm(tried[:, 1:], axis=1), 1e-300)
    shrink = np.minimum(1.0, mu * np.maximum(lam[:, 0], 0.0) / length)
    wanted = np.column_stack([np.maximum(tried[:, 0], 0.0), tried[:, 1:] * shrink[:, None]])
    return max(
        (np.linalg.norm(lam - wanted, axis=1) / kappa).max() / speed,
        (-u[:, 0]).max() / speed,
        (-lam[:, 0]).max() / max(size, 1e-300),
        (friction - mu * lam[:, 0]).max() / max(size, 1e-300),
        abs(lam[:, 0] * u[:, 0]).max() / max(size * speed, 1e-300),
        abs(work).max() / max(size * speed, 1e-300),
    )


def enumerate_modes(problem):
    """Velocities of all solutions of a problem in two dimensions: every contact parts, sticks, or slides one way or the other.

    Each mode is one linear system; those whose inequalities hold are solutions. G must be regular.
    """
    G, g, mu = problem.delassus, problem.free_velocity.ravel(), problem.mu
    found = []
    for modes in itertools.product("psrl", repeat=problem.contacts):
        A, b = np.zeros_like(G), np.zeros_like(g)
        for k, mode in enumerate(modes):
            n, t = 2 * k, 2 * k + 1
            if mode == "p":
                A[n, n] = A[t, t] = 1.0
                continue
            A[n], b[n] = G[n], -g[n]
            if mode == "s":
                A[t], b[t] = G[t], -g[t]
            else:
                A[t, t], A[t, n] = 1.0, mu[k] if mode == "r" else -mu[k]
        try:
            lam = np.linalg.solve(A, b)
        except np.linalg.LinAlgError:
            continue
        u, slack = G @ lam + g, 1e-10
        holds = all(
            (u[2 * k] >= -slack if mode == "p" else lam[2 * k] >= -slack)
            and (mode != "s" or abs(lam[2 * k + 1]) <= mu[k] * lam[2 * k] + slack)
            and (mode != "r" or u[2 * k + 1] >= -slack)
            and (mode != "l" or u[2 * k + 1] <= slack)
            for k, mode in enumerate(modes)
        )
        if holds:
            found.append(u.reshape(-1, 2))
    return found


def quadprog_contact(problem, impulse):
    """Velocity after the contact projection (25), the friction impulses given: min |v - target|_M^2 with N^T v + c >= 0."""
    mass = np.linalg.inv(problem.inverse_mass)
    friction = np.array(impulse)
    friction[:, 0] = 0.0
    start = problem.system.velocity + problem.inverse_mass @ problem.jacobian.T @ friction.ravel()
    normals = problem.jacobian[:: problem.dim]
    bound = -(problem.system.bias[:, 0] + problem.system.slack)
    v, _, _, _, alpha, _ = quadprog.solve_qp(mass, mass @ start, normals.T.copy(), bound)
    return v, alpha


def polygon_friction(problem, alpha, sides):
    """The friction projection (24) onto the K-gons of (7) by quadprog, each given by its sides: impulses (m, 3)."""
    m, radius = problem.contacts, problem.mu * np.maximum(alpha, 0.0)
    normal = np.zeros((m, 3))
    normal[:, 0] = alpha
    free = problem.free_velocity.ravel() + problem.delassus @ normal.ravel()
    held = np.flatnonzero(radius > 1e-12)
    rows = (3 * held[:, None] + [1, 2]).ravel()
    H = problem.delassus[np.ix_(rows, rows)]
    angle = 2.0 * np.pi * (np.arange(sides) + 0.5) / sides
    outward = np.column_stack([np.cos(angle), np.sin(angle)])
    constraints = -np.kron(np.eye(held.size), outward.T)
    bounds = -np.repeat(radius[held] * np.cos(np.pi / sides), sides)
    friction = np.zeros(3 * m)
    friction[rows] = quadprog.solve_qp(H, -free[rows], constraints, bounds)[0]
    return friction.reshape(m, 3)


def disk_friction_velocity(problem, alpha):
    """Velocities (m, 3) after the friction projection (24) onto the exact disks, by SLSQP."""
    m, radius = problem.contacts, problem.mu * np.maximum(alpha, 0.0)
    normal = np.zeros((m, 3))
    normal[:, 0] = alpha
    free = problem.free_velocity.ravel() + problem.delassus @ normal.ravel()
    rows = np.array([3 * k + i for k in range(m) for i in (1, 2)])
    H, b = problem.delassus[np.ix_(rows, rows)], free[rows]
    found = minimize(
        lambda y: 0.5 * y @ H @ y + b @ y,
        np.zeros(2 * m),
        jac=lambda y: H @ y + b,
        constraints=[
            {
                "type": "ineq",
                "fun": lambda y: radius**2 - y[0::2] ** 2 - y[1::2] ** 2,
                "jac": lambda y: -2.0 * np.kron(np.eye(m), np.ones(2)) * y,
            }
        ],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    friction = np.zeros((m, 3))
    friction[:, 1:] = found.x.reshape(m, 2)
    return (problem.delassus @ (friction + normal).ravel()).reshape(m, 3) + problem.free_velocity
