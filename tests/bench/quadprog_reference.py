# SPDX-License-Identifier: GPL-3.0-or-later
"""Algorithm 1 of Kaufman et al. 2008 with dense projections by quadprog: what the compiled solver is measured against.

Written from the paper with numpy alone; nothing of solver_core is called. quadprog is the dual active-set method of Goldfarb
and Idnani (1983), dense, for strictly convex problems. Every choice below is made in the reference's favour:

Contact projection (25), in velocities:  min 1/2 (v - target)^T M (v - target)  with  N^T v + b_n + c >= 0. M is positive
definite as it is; its inverse factor is handed over, so that quadprog factorises nothing. The multipliers are alpha.

Friction projection (24), in impulses:  min 1/2 y^T (G + delta 1) y + y^T u  with y_k in the polygon of radius mu alpha_k, for
the contacts that carry, alpha_k > 0, only; the others have no friction. G = T M^-1 T^T has at most the rank n. delta, 1e-10
times its mean diagonal, makes it positive definite: the tangential velocities that the solution sees change by delta y, that is
by 1e-10 of those that the same impulses cause. Sticking contacts then need no active constraint.

Dearer is the form in velocities, `in_velocities`, which has the slip speed of every contact as an unknown, min 1/2 |v -
target|_M^2 + sum mu alpha_k s_k with s_k + d_kj^T u_k >= 0 for all eight directions d_kj of a contact. It, too, is positive
definite only with a small term in s.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import quadprog
from numpy.typing import NDArray

from solver_core.problem.system import System

__all__ = ["DenseProblem", "Reference", "contact_projection", "friction_projection", "in_velocities", "staggered_projections"]

Floats = NDArray[np.float64]

RIDGE = 1e-10  # of the mean diagonal of G
SPEED_WEIGHT = 1e-9  # of the largest friction bound over the largest speed


@dataclass(frozen=True)
class DenseProblem:
    """The arrays of a step as dense matrices: n degrees of freedom, m contacts.

    mass (n, n), jacobian (m, 3, n), bias (m, 3), slack (m,), mu (m,), velocity (n,) predicted.
    """

    mass: Floats
    jacobian: Floats
    bias: Floats
    slack: Floats
    mu: Floats
    velocity: Floats

    @classmethod
    def from_system(cls, system: System) -> DenseProblem:
        """Unpack the block arrays."""
        n, m = system.velocity.size, system.body_a.size
        mass, jacobian = np.zeros((n, n)), np.zeros((m, 3, n))
        for body in range(system.offset.size - 1):
            own = slice(system.offset[body], system.offset[body + 1])
            size = own.stop - own.start
            mass[own, own] = system.mass[system.block_start[body] : system.block_start[body + 1]].reshape(size, size)
            for bodies, blocks in ((system.body_a, system.jacobian_a), (system.body_b, system.jacobian_b)):
                touching = bodies == body
                jacobian[touching, :, own] += blocks[touching, :, :size]
        return cls(mass, jacobian, system.bias, system.slack, system.mu, system.velocity)

    @cached_property
    def inverse_mass(self) -> Floats:
        """M^-1."""
        return np.linalg.inv(self.mass)

    @cached_property
    def inverse_factor(self) -> Floats:
        """R^-1 of M = R^T R."""
        return np.linalg.inv(np.linalg.cholesky(self.mass).T)

    @cached_property
    def tangential(self) -> Floats:
        """Delassus operator of all tangential rows, (2 m, 2 m)."""
        rows = self.jacobian[:, 1:].reshape(-1, self.velocity.size)
        return rows @ self.inverse_mass @ rows.T

    def push(self, impulse: Floats, rows: slice) -> Floats:
        """Change of velocity M^-1 J^T y, (n,), by the given rows of impulses (m, 3)."""
        return self.inverse_mass @ np.einsum("kri,kr->i", self.jacobian[:, rows], impulse[:, rows])

    def relative(self, v: Floats) -> Floats:
        """u = J v + b, (m, 3)."""
        return self.jacobian @ v + self.bias


@dataclass(frozen=True)
class Reference:
    """What the reference found.

    converged: whether both conditions were met. active_set_steps: those of quadprog. impulse (m, 3), velocity (n,).
    """

    converged: bool
    iterations: int
    active_set_steps: int
    impulse: Floats
    velocity: Floats


def contact_projection(problem: DenseProblem, target: Floats) -> tuple[Floats, Floats, int]:
    """Velocities after the projection (25), the normal impulses alpha (m,), and quadprog's steps."""
    v, _, _, steps, alpha, _ = quadprog.solve_qp(
        problem.inverse_factor,
        problem.mass @ target,
        np.ascontiguousarray(problem.jacobian[:, 0].T),
        -(problem.bias[:, 0] + problem.slack),
        0,
        True,
    )
    return v, alpha, int(steps[0])


def friction_projection(problem: DenseProblem, alpha: Floats, target: Floats, sides: int) -> tuple[Floats, int]:
    """Tangential impulses (m, 2) of the projection (24), and quadprog's steps."""
    carrying = np.flatnonzero(alpha > 0.0)
    friction = np.zeros((alpha.size, 2))
    if carrying.size == 0:
        return friction, 0
    rows = (2 * carrying[:, None] + np.arange(2)).ravel()
    hessian = problem.tangential[np.ix_(rows, rows)]
    hessian[np.diag_indices_from(hessian)] += RIDGE * np.trace(hessian) / rows.size
    speed = problem.relative(target)[carrying, 1:].ravel()
    # a regular polygon with a vertex on the first axis: its faces have their normals half a sector off, at r cos(pi / K)
    angle = (np.arange(sides) + 0.5) * 2.0 * np.pi / sides
    normals = np.stack([np.cos(angle), np.sin(angle)])
    faces = np.zeros((rows.size, carrying.size * sides))
    for i in range(carrying.size):
        faces[2 * i : 2 * i + 2, i * sides : (i + 1) * sides] = -normals
    bounds = -np.repeat(problem.mu[carrying] * alpha[carrying] * np.cos(np.pi / sides), sides)
    y, _, _, steps, _, _ = quadprog.solve_qp(hessian, -speed, faces, bounds)
    friction[carrying] = y.reshape(-1, 2)
    return friction, int(steps[0])


def in_velocities(problem: DenseProblem, alpha: Floats, target: Floats, sides: int, all_contacts: bool) -> tuple[Floats, int]:
    """Velocities after the projection (24) by its form in velocities, and quadprog's steps: what the other form costs."""
    chosen = np.arange(alpha.size) if all_contacts else np.flatnonzero(alpha > 0.0)
    n, m = target.size, chosen.size
    bound = problem.mu[chosen] * alpha[chosen]
    hessian = np.zeros((n + m, n + m))
    hessian[:n, :n] = problem.mass
    weight = SPEED_WEIGHT * bound.max() / np.abs(problem.relative(target)[:, 1:]).max()
    hessian[n:, n:] = weight * np.eye(m)
    angle = np.arange(sides) * 2.0 * np.pi / sides
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    constraints = np.zeros((n + m, m, sides))
    constraints[:n] = np.einsum("jr,kri->ikj", directions, problem.jacobian[chosen, 1:])
    constraints[n + np.arange(m), np.arange(m)] = 1.0
    bounds = -(problem.bias[chosen, 1:] @ directions.T)
    linear = np.concatenate([problem.mass @ target, -bound])
    x, _, _, steps, _, _ = quadprog.solve_qp(hessian, linear, constraints.reshape(n + m, -1), bounds.ravel())
    return x[:n], int(steps[0])


def _coulomb(problem: DenseProblem, impulse: Floats, v: Floats, sides: int) -> float:
    """The largest relative one of penetration, cone, complementarity and dissipation over the polygon."""
    free = problem.relative(problem.velocity)
    free[:, 0] += problem.slack
    fastest, largest = np.linalg.norm(free, axis=1).max(), np.linalg.norm(impulse, axis=1).max()
    if largest == 0.0:
        return float(max(0.0, -free[:, 0].min()))
    u = problem.relative(v)
    normal, slip = u[:, 0] + problem.slack, u[:, 1:]
    bound = problem.mu * impulse[:, 0]
    angle = np.arange(sides) * 2.0 * np.pi / sides
    most = -(slip @ np.stack([np.cos(angle), np.sin(angle)])).min(axis=1)
    cone = np.maximum(np.linalg.norm(impulse[:, 1:], axis=1) - bound, -impulse[:, 0])
    complementarity = np.abs(impulse[:, 0] * normal)
    dissipation = np.abs(bound * most + np.einsum("kr,kr->k", impulse[:, 1:], slip))
    energy = max(complementarity.max(), dissipation.max())
    return float(max(-normal.min() / fastest, cone.max() / largest, energy / (largest * fastest)))


def staggered_projections(system: System, warm_start: Floats, tolerance: float, max_iterations: int, sides: int) -> Reference:
    """Algorithm 1 for a step, from the friction of a warm start (m, 3).

    An iterate is accepted when (28) and all relative Coulomb residuals are within the tolerance.
    """
    problem = DenseProblem.from_system(system)
    tangent = slice(1, 3)
    impulse = warm_start.copy()
    size, bound = np.linalg.norm(impulse[:, 1:], axis=1), problem.mu * impulse[:, 0]
    impulse[:, 1:] *= np.where(size > bound, bound / np.where(size > 0.0, size, 1.0), 1.0)[:, None]
    pushed = problem.push(impulse, tangent)
    best, least, steps = impulse.copy(), np.inf, 0
    for i in range(max_iterations):
        # line 5
        v, impulse[:, 0], count = contact_projection(problem, problem.velocity + pushed)
        steps += count
        coulomb = _coulomb(problem, impulse, v, sides)
        # line 6
        target = problem.velocity + problem.push(impulse, slice(0, 1))
        friction, count = friction_projection(problem, impulse[:, 0], target, sides)
        steps += count
        moved = np.hstack([impulse[:, :1], friction])
        pushed_next = problem.push(moved, tangent)
        # (28), in velocities: f^T M^-1 f = (M^-1 f)^T M (M^-1 f)
        change, before = pushed_next - pushed, pushed @ problem.mass @ pushed
        contact = target - problem.velocity
        difference = change @ problem.mass @ change
        if difference <= 1e-20 * (contact @ problem.mass @ contact):
            error = 0.0
        else:
            error = difference / before if before > 0.0 else np.inf
        if error <= tolerance and coulomb <= tolerance:
            return Reference(True, i + 1, steps, impulse, v)
        # (29)
        residual = np.abs(impulse[:, 0] * (problem.relative(target + pushed_next)[:, 0] + problem.slack)).sum()
        impulse, pushed = moved, pushed_next
        if residual < least:
            best, least = impulse.copy(), residual
    # lines 15 to 17
    v, best[:, 0], count = contact_projection(problem, problem.velocity + problem.push(best, tangent))
    return Reference(False, max_iterations, steps + count, best, v)
