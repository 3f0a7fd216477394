"""Projection onto the contact or the friction set in the kinetic metric, by the method of multipliers.

Both projections of Kaufman et al. 2008, (24) and (25), are, in velocity space,

    min over v of  1/2 |v - target|_M^2 + sum_k support_k(-(J_k v + c_k)),    v = target + M^-1 J^T y,

with y_k in a closed convex set S_k: the half-line of normal impulses, or the friction disk (or polygon) of a given radius. y
solves it exactly when y_k = P_k(y_k - rho_k (J_k v + c_k)) for any rho_k > 0, P_k the projection onto S_k. The method of
multipliers repeats  y := P(y - rho (J v + c))  at the v that minimises the smooth function whose gradient is

    M (v - target) - J^T P(y - rho (J v + c)),

found by a semismooth Newton method with Hessian  M + J^T D J,  D = rho P'. That Hessian is positive definite for any contacts,
redundant ones too, and has one block a pair of touching bodies: a block-sparse Cholesky factorisation solves it. As long as a
factor brings the gradient down tenfold a step it is used again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..cones import project_disk, project_half_line, project_polygon
from ..linalg.block_cholesky import Structure, analyse, factorise, find_block, solve_in_place
from ..system import System, apply_inverse_mass, apply_mass, relative_velocity

__all__ = ["CONTACT", "FRICTION", "Blocks", "find_blocks", "generalised_impulse", "project", "velocity_after"]

CONTACT, FRICTION = 0, 1
CONTACT_PENALTY, FRICTION_PENALTY = 1e3, 1e2  # first rho_k times the effective inverse mass; tenfold when convergence is slow
LAST_PENALTY = 1e9
MULTIPLIER_STEPS = 60
NEWTON_STEPS = 60


class Blocks(NamedTuple):
    """Where each contact adds to the Hessian: positions of the two diagonal blocks (-1: none) and of the one off the diagonal.

    b_is_row: whether the rows of the off-diagonal block belong to body B.
    """

    structure: Structure
    diagonal_a: NDArray[np.int64]
    diagonal_b: NDArray[np.int64]
    between: NDArray[np.int64]
    b_is_row: NDArray[np.bool_]


@njit(cache=True)
def find_blocks(system):
    """Analyse the contact graph of a `System` once for all the projections of a step."""
    structure = analyse(system.offset, system.body_a, system.body_b)
    m = system.body_a.size
    diagonal_a, diagonal_b, between = np.full(m, -1, np.int64), np.full(m, -1, np.int64), np.full(m, -1, np.int64)
    b_is_row = np.zeros(m, np.bool_)
    for k in range(m):
        a, b = system.body_a[k], system.body_b[k]
        if a >= 0:
            diagonal_a[k] = structure.diagonal[structure.rank[a]]
        if b >= 0:
            diagonal_b[k] = structure.diagonal[structure.rank[b]]
        if a >= 0 and b >= 0:
            rank_a, rank_b = structure.rank[a], structure.rank[b]
            b_is_row[k] = rank_b > rank_a
            between[k] = find_block(structure, min(rank_a, rank_b), max(rank_a, rank_b))
    return Blocks(structure, diagonal_a, diagonal_b, between, b_is_row)


@njit(cache=True)
def _respond(kind, sides, radius, w1, w2):
    """P(w) and its derivative (y1, y2, d11, d12, d22)."""
    if kind == CONTACT:
        y, d = project_half_line(w1)
        return y, 0.0, d, 0.0, 0.0
    if sides == 0:
        return project_disk(w1, w2, radius)
    return project_polygon(w1, w2, radius, sides)


@njit(cache=True)
def _add_row(values, system, blocks, k, weight, e0, e1, e2):
    """Add weight q^T q to the Hessian, q = (e0, e1, e2) J_k."""
    a, b = system.body_a[k], system.body_b[k]
    size_a = system.offset[a + 1] - system.offset[a] if a >= 0 else 0
    size_b = system.offset[b + 1] - system.offset[b] if b >= 0 else 0
    ja, jb = system.jacobian_a, system.jacobian_b
    for i in range(size_a):
        qi = weight * (e0 * ja[k, 0, i] + e1 * ja[k, 1, i] + e2 * ja[k, 2, i])
        at = blocks.diagonal_a[k] + i * size_a
        for j in range(i + 1):
            values[at + j] += qi * (e0 * ja[k, 0, j] + e1 * ja[k, 1, j] + e2 * ja[k, 2, j])
    for i in range(size_b):
        qi = weight * (e0 * jb[k, 0, i] + e1 * jb[k, 1, i] + e2 * jb[k, 2, i])
        at = blocks.diagonal_b[k] + i * size_b
        for j in range(i + 1):
            values[at + j] += qi * (e0 * jb[k, 0, j] + e1 * jb[k, 1, j] + e2 * jb[k, 2, j])
    if size_a == 0 or size_b == 0:
        return
    at = blocks.between[k]
    if blocks.b_is_row[k]:
        for i in range(size_b):
            qi = weight * (e0 * jb[k, 0, i] + e1 * jb[k, 1, i] + e2 * jb[k, 2, i])
            for j in range(size_a):
                values[at + i * size_a + j] += qi * (e0 * ja[k, 0, j] + e1 * ja[k, 1, j] + e2 * ja[k, 2, j])
    else:
        for i in range(size_a):
            qi = weight * (e0 * ja[k, 0, i] + e1 * ja[k, 1, i] + e2 * ja[k, 2, i])
            for j in range(size_b):
                values[at + i * size_b + j] += qi * (e0 * jb[k, 0, j] + e1 * jb[k, 1, j] + e2 * jb[k, 2, j])


@njit(cache=True)
def _assemble(values, system, blocks, kind, derivative):
    """M + J^T D J, lower blocks; derivative: (m, 3) entries (d11, d12, d22) of each D_k."""
    structure = blocks.structure
    values[:] = 0.0
    for j in range(structure.order.size):
        body = structure.order[j]
        at, block = structure.diagonal[j], system.block_start[body]
        for i in range(structure.size[j] * structure.size[j]):
            values[at + i] = system.mass[block + i]
    for k in range(system.body_a.size):
        d11, d12, d22 = derivative[k, 0], derivative[k, 1], derivative[k, 2]
        if kind == CONTACT:
            if d11 > 0.0:
                _add_row(values, system, blocks, k, d11, 1.0, 0.0, 0.0)
        elif d12 == 0.0:
            if d11 > 0.0:
                _add_row(values, system, blocks, k, d11, 0.0, 1.0, 0.0)
            if d22 > 0.0:
                _add_row(values, system, blocks, k, d22, 0.0, 0.0, 1.0)
        else:
            # where the projections couple the two tangents their derivative has rank one
            _add_row(values, system, blocks, k, 1.0, 0.0, np.sqrt(d11), np.copysign(np.sqrt(d22), d12))


@njit(cache=True)
def _gap_velocity(system, kind, k, v):
    """J_k v + c_k in the rows that this kind of projection has."""
    n, t1, t2 = relative_velocity(system, k, v)
    if kind == CONTACT:
        return n + system.slack[k], 0.0
    return t1, t2


@njit(cache=True)
def generalised_impulse(system, kind, y, out):
    """out := N alpha for contact, y = (alpha, 0), or D beta for friction, y = beta: the rows of J^T that belong to the kind."""
    out[:] = 0.0
    first, second = (0, 0) if kind == CONTACT else (1, 2)
    for k in range(system.body_a.size):
        y1, y2 = y[k, 0], y[k, 1]
        if y1 == 0.0 and y2 == 0.0:
            continue
        for body, jacobian in ((system.body_a[k], system.jacobian_a), (system.body_b[k], system.jacobian_b)):
            if body >= 0:
                base = system.offset[body]
                for i in range(system.offset[body + 1] - base):
                    out[base + i] += jacobian[k, first, i] * y1 + jacobian[k, second, i] * y2


@njit(cache=True)
def velocity_after(system, base, p, v):
    """v := base + M^-1 p."""
    apply_inverse_mass(system, p, v)
    for i in range(v.size):
        v[i] += base[i]


@njit(cache=True)
def _slope(system, kind, sides, radius, rho, w, speed, linear, quadratic, t):
    """Derivative of the smooth function along a step, t steps away: linear + t quadratic - sum_k speed_k . P(w_k - t rho_k speed_k)."""
    slope = linear + t * quadratic
    for k in range(system.body_a.size):
        y1, y2, _, _, _ = _respond(kind, sides, radius[k], w[k, 0] - t * rho[k] * speed[k, 0], w[k, 1] - t * rho[k] * speed[k, 1])
        slope -= speed[k, 0] * y1 + speed[k, 1] * y2
    return slope


@njit(cache=True)
def _step_length(system, kind, sides, radius, rho, w, speed, linear, quadratic):
    """Step t in (0, 1]: the whole Newton step unless the function rises steeply there, else about where its slope vanishes.

    The function is convex, so the slope rises with t and its zero is bracketed by 0 and 1 (false position, Illinois variant).
    """
    start = _slope(system, kind, sides, radius, rho, w, speed, linear, quadratic, 0.0)
    end = _slope(system, kind, sides, radius, rho, w, speed, linear, quadratic, 1.0)
    if start >= 0.0 or end <= 0.3 * abs(start):
        return 1.0
    low, high, at_low, at_high = 0.0, 1.0, start, end
    t = 1.0
    for _ in range(25):
        t = (low * at_high - high * at_low) / (at_high - at_low)
        slope = _slope(system, kind, sides, radius, rho, w, speed, linear, quadratic, t)
        if abs(slope) <= 0.1 * abs(start):
            break
        if slope > 0.0:
            high, at_high, at_low = t, slope, 0.5 * at_low
        else:
            low, at_low, at_high = t, slope, 0.5 * at_high
    return t


@njit(cache=True)
def project(system, blocks, values, kind, sides, radius, target, inverse, goal, y, v):
    """Project: improve multipliers y until  max_k |P_k(y_k - rho u_k) - y_k| / rho_k <= goal  (m/s).

    values: work array of the factor. radius: (m,) of each friction set. target: (n,) velocity without these impulses. inverse: (m, 3)
    diagonal of the Delassus operator. y: (m, 2) multipliers, warm start and answer, the normal one in column 0. v: (n,) answer,
    target + M^-1 J^T y to the last bit. Returns (factorisations, the maximum reached).
    """
    m, n = system.body_a.size, target.size
    rho, w, speed = np.empty(m), np.zeros((m, 2)), np.zeros((m, 2))
    derivative, fresh = np.zeros((m, 3)), np.empty((m, 2))
    work = np.empty(n)
    gradient, step = np.empty(n), np.empty(n)
    penalty = CONTACT_PENALTY if kind == CONTACT else FRICTION_PENALTY
    for k in range(m):
        scale = inverse[k, 0] if kind == CONTACT else 0.5 * (inverse[k, 1] + inverse[k, 2])
        rho[k] = penalty / scale if scale > 0.0 else 0.0
    factorisations = 0
    factored = False
    for k in range(m):
        if kind == CONTACT:
            y[k, 0], _ = project_half_line(y[k, 0])
            y[k, 1] = 0.0
        else:
            y[k, 0], y[k, 1], _, _, _ = _respond(kind, sides, radius[k], y[k, 0], y[k, 1])
    generalised_impulse(system, kind, y, work)
    velocity_after(system, target, work, v)
    error = np.inf
    for _multiplier in range(MULTIPLIER_STEPS):
        # Newton: v minimises the smooth function for the multipliers y
        before = np.inf
        for newton in range(NEWTON_STEPS):
            for k in range(m):
                u1, u2 = _gap_velocity(system, kind, k, v)
                w[k, 0], w[k, 1] = y[k, 0] - rho[k] * u1, y[k, 1] - rho[k] * u2
                p1, p2, d11, d12, d22 = _respond(kind, sides, radius[k], w[k, 0], w[k, 1])
                fresh[k, 0], fresh[k, 1] = p1, p2
                derivative[k, 0], derivative[k, 1], derivative[k, 2] = rho[k] * d11, rho[k] * d12, rho[k] * d22
            generalised_impulse(system, kind, fresh, work)
            for i in range(n):
                step[i] = v[i] - target[i]
            apply_mass(system, step, gradient)
            for i in range(n):
                gradient[i] -= work[i]
            # M^-1 gradient is the velocity by which v and target + M^-1 J^T P(w) differ
            apply_inverse_mass(system, gradient, step)
            now = 0.0
            for k in range(m):
                b1, b2, b3 = relative_velocity(system, k, step)
                if kind == CONTACT:
                    now = max(now, abs(b1 - system.bias[k, 0]))
                else:
                    now = max(now, abs(b2 - system.bias[k, 1]), abs(b3 - system.bias[k, 2]))
            if now <= 0.1 * goal or (newton > 3 and now >= before and now <= goal):
                break
            if not factored or now > 0.1 * before:
                _assemble(values, system, blocks, kind, derivative)
                if not factorise(blocks.structure, values):
                    return factorisations, np.inf
                factorisations += 1
                factored = True
            before = now
            for i in range(n):
                step[i] = -gradient[i]
            solve_in_place(blocks.structure, values, step)
            apply_mass(system, step, work)
            linear, quadratic = 0.0, 0.0
            for i in range(n):
                linear += work[i] * (v[i] - target[i])
                quadratic += work[i] * step[i]
            for k in range(m):
                u0, u1, u2 = relative_velocity(system, k, step)
                if kind == CONTACT:
                    speed[k, 0] = u0 - system.bias[k, 0]
                else:
                    speed[k, 0], speed[k, 1] = u1 - system.bias[k, 1], u2 - system.bias[k, 2]
            t = _step_length(system, kind, sides, radius, rho, w, speed, linear, quadratic)
            for i in range(n):
                v[i] += t * step[i]
        # the multiplier step, and v made consistent with it
        for k in range(m):
            y[k, 0], y[k, 1] = fresh[k, 0], fresh[k, 1]
        generalised_impulse(system, kind, y, work)
        velocity_after(system, target, work, v)
        last = error
        error = 0.0
        for k in range(m):
            if rho[k] == 0.0:
                continue
            u1, u2 = _gap_velocity(system, kind, k, v)
            p1, p2, _, _, _ = _respond(kind, sides, radius[k], y[k, 0] - rho[k] * u1, y[k, 1] - rho[k] * u2)
            error = max(error, np.sqrt((p1 - y[k, 0]) ** 2 + (p2 - y[k, 1]) ** 2) / rho[k])
        if error <= goal or not np.isfinite(error):
            break
        if error > 0.1 * last and penalty < LAST_PENALTY:
            penalty *= 10.0
            for k in range(m):
                rho[k] *= 10.0
            factored = False
    return factorisations, error
