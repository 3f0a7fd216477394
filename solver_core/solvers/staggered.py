"""Staggered Projections: Kaufman, Sueda, James and Pai 2008, "Staggered projections for frictional contact in multibody systems".

Contact impulses c = N alpha and friction impulses f = D beta are each the projection, in the kinetic metric, of what the other
leaves over: (25) and (24). Algorithm 1 repeats the two projections, (27), from the last step's friction, until the friction of two
iterations agrees (28). The friction with the smallest residual (29) is kept, and a contact projection always comes last, so that
the answer never violates contact however early it is asked for.

Beyond the paper: an iterate is accepted only when its relative Coulomb residuals, too, are within the tolerance; and, with `joint`,
every iteration but the first begins with one projection onto contact and friction at once, the friction radii held at mu alpha.
Staggering converges as slowly as normal and tangential impulses are coupled (a leaning card, section 4 of the paper); the joint
projection resolves that coupling, which leaves to the staggered sequence what it alone can do, the dependence of the radii on
alpha. What is accepted is a fixed point (26) of the two published projections either way.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..accuracy import relative_coulomb, scales
from ..system import apply_inverse_mass, effective_inverse_mass, relative_velocity
from .projection import BOTH, CONTACT, FRICTION, find_blocks, generalised_impulse, project, velocity_after

__all__ = ["staggered"]

SOLVED, MAX_ITERATIONS, NOT_FINITE = 0, 1, 2


@njit(cache=True)
def _kinetic(system, p, work):
    """p^T M^-1 p."""
    apply_inverse_mass(system, p, work)
    s = 0.0
    for i in range(p.size):
        s += p[i] * work[i]
    return s


@njit(cache=True)
def _set_radii(system, impulse, radius):
    """radius := mu alpha."""
    for k in range(radius.size):
        radius[k] = system.mu[k] * impulse[k, 0]


@njit(cache=True)
def staggered(system, impulse, tolerance, max_iterations, sides, joint, history, v):
    """Solve a `System` by Algorithm 1.

    impulse: (m, 3) alpha and beta of each contact, warm start and answer. sides: 0 for the friction disk, else K. history:
    (max_iterations + 1, 3) relative error (28), residual (29) and relative Coulomb residual of each iteration. v: (n,) velocities,
    answer. Returns (status, iterations, factorisations, factorisations of the first contact and of the first friction projection).
    """
    m, n = system.body_a.size, system.velocity.size
    v[:] = system.velocity
    if m == 0:
        return SOLVED, 0, 0, 0, 0
    blocks = find_blocks(system)
    values = np.empty(blocks.structure.length)
    inverse = effective_inverse_mass(system)
    kappa = 3.0 / np.maximum(inverse.sum(axis=1), 1e-300)
    velocity = np.empty((m, 3))
    value, index = np.empty(5), np.empty(5, np.int64)
    fastest, _ = scales(system, impulse)
    goal = 1e-3 * max(min(tolerance, 1e-4), 1e-10) * fastest
    radius = np.zeros(m)
    target, c, f, f_before = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    work, difference = np.empty(n), np.empty(n)
    best, least = impulse.copy(), np.inf
    factorisations, first_contact, first_friction = 0, 0, 0
    error = np.inf
    for k in range(m):
        # a warm start from other contacts may lie outside this step's cone
        size, bound = np.hypot(impulse[k, 1], impulse[k, 2]), system.mu[k] * impulse[k, 0]
        if size > bound:
            impulse[k, 1:] *= bound / size
    for i in range(max_iterations):
        if joint and i > 0:
            count, _ = project(system, blocks, values, BOTH, sides, radius, system.velocity, inverse, goal, impulse, v)
            factorisations += count
        # line 5: N alpha := P_C(-M v_hat - f), in velocities: contact acts on what friction has left
        generalised_impulse(system, FRICTION, impulse, f)
        velocity_after(system, system.velocity, f, target)
        count, _ = project(system, blocks, values, CONTACT, sides, radius, target, inverse, goal, impulse, v)
        factorisations += count
        if i == 0:
            first_contact = count
        for k in range(m):
            velocity[k, 0], velocity[k, 1], velocity[k, 2] = relative_velocity(system, k, v)
        coulomb, _ = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
        history[i, 2] = coulomb
        if not np.isfinite(coulomb):
            return NOT_FINITE, i, factorisations, first_contact, first_friction
        if error <= tolerance and coulomb <= tolerance:
            return SOLVED, i, factorisations, first_contact, first_friction
        # line 6: f := P_F(alpha)(-M v_hat - N alpha)
        generalised_impulse(system, CONTACT, impulse, c)
        velocity_after(system, system.velocity, c, target)
        f_before[:] = f
        _set_radii(system, impulse, radius)
        count, _ = project(system, blocks, values, FRICTION, sides, radius, target, inverse, goal, impulse, v)
        factorisations += count
        if i == 0:
            first_friction = count
        generalised_impulse(system, FRICTION, impulse, f)
        # (28), over a floor: friction that is round-off beside the contact impulses has converged
        floor = 1e-20 * _kinetic(system, c, work)
        before = _kinetic(system, f_before, work)
        for j in range(n):
            difference[j] = f[j] - f_before[j]
        change = _kinetic(system, difference, work)
        error = 0.0 if change <= floor else (change / before if before > 0.0 else np.inf)
        # (29), at v_hat + M^-1 (N alpha + D beta), which is where the friction projection has left v
        residual = 0.0
        for k in range(m):
            u, _, _ = relative_velocity(system, k, v)
            residual += abs(impulse[k, 0] * (u + system.slack[k]))
        history[i, 0], history[i, 1] = error, residual
        if residual < least:
            least = residual
            best[:] = impulse
    # lines 15 to 17: the best friction, and the contact projection that goes with it
    impulse[:] = best
    generalised_impulse(system, FRICTION, impulse, f)
    velocity_after(system, system.velocity, f, target)
    count, _ = project(system, blocks, values, CONTACT, sides, radius, target, inverse, goal, impulse, v)
    return MAX_ITERATIONS, max_iterations, factorisations + count, first_contact, first_friction
