# SPDX-License-Identifier: GPL-3.0-or-later
"""Coulomb's law of one contact: projections with their derivatives, the natural map, and the exact solution.

Let lam = (n, t) be an impulse and u the relative velocity, with the slack c included in u_n. Coulomb's law holds if and only if
lam = y(lam - rho u) for any rho > 0, where

    y_n(w) = max(0, w_n),    y_t(w) = P(w_t), P onto the disk of radius mu y_n                (Alart and Curnier 1991).

The Newton methods differentiate y. The law is equivalent to lam = P_K(lam - rho (u + mu |u_t| e_n)), where P_K projects onto
the cone K = {|t| <= mu n} (De Saxce and Feng 1998). First-order methods iterate this projection. The natural map is the
residual lam - y(lam - kappa u), divided by the effective mass kappa.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from .cones import natural_friction, natural_normal, project_friction, project_half_line, project_interval

__all__ = [
    "ContactVector",
    "decompose",
    "natural_map",
    "natural_maps",
    "project_cone",
    "project_onto_cones",
    "respond",
    "respond_in_rows",
    "responses",
    "solve_contact",
]

# Added to the diagonal of G_kk, relative to a third of its trace. It makes the block of a contact on a point regular. A larger
# value would show in the impulses, a smaller one is lost in round-off.
REGULAR = 1e-12
# The root for a sliding contact: maximum number of steps, and tolerance relative to the friction impulse and its bound. 40
# halved brackets are 1e-12 of the first one. The tolerance leaves a thousand round-offs.
ROOT_STEPS = 40
ROOT_ERROR = 1e-13


class ContactVector(NamedTuple):
    """A vector in the axes of one contact, such as an impulse [N s] or a velocity [m/s]: normal, first and second tangent."""

    n: float
    t1: float
    t2: float


@leaf_kernel
def respond(mu, sides, scale, w, y, slope):
    """Project a trial impulse onto the contact and friction constraints: y := y(w) and slope := scale dy/dw.

    The derivative is unsymmetric while the contact slides, because the radius depends on y_n (Alart and Curnier 1991).

    mu: coefficient of friction.
    sides: number of sides of the friction polygon, 0 for the disk.
    scale: factor of the derivative.
    w: (3,) trial impulse (n, t1, t2) [N s].
    y: (3,) output. slope: (3, 3) output.
    """
    y[0], pressed = project_half_line(w[0])
    radius = mu * y[0]
    y[1], y[2], d11, d12, d22 = project_friction(w[1], w[2], radius, sides)
    slope[0, 0], slope[0, 1], slope[0, 2] = scale * pressed, 0.0, 0.0
    slope[1, 0], slope[1, 1], slope[1, 2] = 0.0, scale * d11, scale * d12
    slope[2, 0], slope[2, 1], slope[2, 2] = 0.0, scale * d12, scale * d22
    if radius > 0.0:
        # dy/dradius = (1 - dP/dw) y / radius. This is zero inside the disk and points outward on its rim.
        slope[1, 0] = scale * pressed * mu * ((1.0 - d11) * y[1] - d12 * y[2]) / radius
        slope[2, 0] = scale * pressed * mu * ((1.0 - d22) * y[2] - d12 * y[1]) / radius


@leaf_kernel
def respond_in_rows(box, rho, w, y, slope):
    """Project a trial impulse w (3,) onto the bounds of the rows of a joint: y (3,) := y(w), slope (3, 3) := rho dy/dw."""
    slope[:] = 0.0
    for r in range(3):
        y[r], free = project_interval(w[r], box[r, 0], box[r, 1], 1.0 + rho * box[r, 2])
        slope[r, r] = rho * free


@kernel
def responses(mu, w):
    """Return y (m, 3) and dy/dw (m, 3, 3) of `respond` for trial impulses w (m, 3) and the friction disk."""
    y, slope = np.empty(w.shape), np.empty((w.shape[0], 3, 3))
    for k in range(w.shape[0]):
        respond(mu[k], 0, 1.0, w[k], y[k], slope[k])
    return y, slope


@inlined_kernel
def project_cone(mu, x0, x1, x2):
    """Return P_K(x), as three numbers, and the distance of its tangential part from that of x."""
    square = x1 * x1 + x2 * x2
    # Comparing squares avoids the square root for contacts that stick.
    if x0 >= 0.0 and square <= mu * mu * x0 * x0:
        return x0, x1, x2, 0.0
    size = np.sqrt(square)
    if x0 <= 0.0 and mu * mu * square <= x0 * x0:
        return 0.0, 0.0, 0.0, size
    # Only one of the two divisions depends on the square root.
    over, along = 1.0 / (1.0 + mu * mu), 1.0 / size
    n, share = over * (x0 + mu * size), over * mu * (x0 * along + mu)
    return n, share * x1, share * x2, size - mu * n


@kernel
def project_onto_cones(mu, x):
    """Return P_K(x) for each row of x (m, 3)."""
    y = np.empty(x.shape)
    for k in range(x.shape[0]):
        y[k, 0], y[k, 1], y[k, 2], _ = project_cone(mu[k], x[k, 0], x[k, 1], x[k, 2])
    return y


@leaf_kernel
def natural_map(impulse, velocity, bound, kappa, sides):
    """Return the natural map of one contact, |lam - y(lam - kappa u)| / kappa [m/s].

    If kappa is 0, nothing can move, and the result is the speed of penetration.

    impulse: `ContactVector` lam [N s].
    velocity: `ContactVector` u, with the slack included in u_n [m/s].
    bound: largest friction impulse [N s].
    kappa: effective mass [kg].
    sides: number of sides of the friction polygon, 0 for the disk.
    """
    if kappa == 0.0:
        return max(0.0, -velocity.n)
    normal = natural_normal(impulse.n, velocity.n, kappa)
    friction = natural_friction(impulse.t1, impulse.t2, velocity.t1, velocity.t2, bound, kappa, sides)
    return np.sqrt(normal * normal + friction * friction)


@kernel
def natural_maps(mu, impulse, velocity, kappa):
    """Return the natural maps (m,) of m contacts [m/s], 0 for contacts that cannot move.

    impulse: (m, 3) [N s]. velocity: (m, 3), with the slack included in the normal velocity [m/s]. kappa: (m,) [kg].
    """
    off = np.zeros(mu.size)
    for k in range(mu.size):
        if kappa[k] > 0.0:
            lam = ContactVector(impulse[k, 0], impulse[k, 1], impulse[k, 2])
            u = ContactVector(velocity[k, 0], velocity[k, 1], velocity[k, 2])
            off[k] = natural_map(lam, u, mu[k] * max(lam.n, 0.0), kappa[k], 0)
    return off


@kernel_part
def _half_of(x, y, size):
    """Return the cosine and sine of half the angle of the vector (x, y), whose length is `size`."""
    if size == 0.0:
        return 1.0, 0.0
    if x >= 0.0:
        c = np.sqrt(0.5 + 0.5 * x / size)
        return c, 0.5 * y / (size * c)
    s = np.sqrt(0.5 - 0.5 * x / size) * (1.0 if y >= 0.0 else -1.0)
    return 0.5 * y / (size * s), s


@kernel_part
def decompose(g, inverse, slip):
    """Regularize the block G_kk of a contact, invert it, and prepare the sliding case.

    g: (3, 3) block G_kk; regularized in place.
    inverse: (3, 3) output, the inverse of g.
    slip: (6,) output: the two eigenvalues and the first eigenvector of the Schur complement of G_nn, and G_tn in the axes of
        the eigenvectors.
    """
    regular = REGULAR * (g[0, 0] + g[1, 1] + g[2, 2]) / 3.0
    for r in range(3):
        g[r, r] += regular
    c0 = g[1, 1] * g[2, 2] - g[1, 2] * g[2, 1]
    c1 = g[1, 2] * g[2, 0] - g[1, 0] * g[2, 2]
    c2 = g[1, 0] * g[2, 1] - g[1, 1] * g[2, 0]
    over = 1.0 / (g[0, 0] * c0 + g[0, 1] * c1 + g[0, 2] * c2)
    inverse[0, 0], inverse[1, 0], inverse[2, 0] = c0 * over, c1 * over, c2 * over
    inverse[0, 1] = (g[0, 2] * g[2, 1] - g[0, 1] * g[2, 2]) * over
    inverse[1, 1] = (g[0, 0] * g[2, 2] - g[0, 2] * g[2, 0]) * over
    inverse[2, 1] = (g[0, 1] * g[2, 0] - g[0, 0] * g[2, 1]) * over
    inverse[0, 2] = (g[0, 1] * g[1, 2] - g[0, 2] * g[1, 1]) * over
    inverse[1, 2] = (g[0, 2] * g[1, 0] - g[0, 0] * g[1, 2]) * over
    inverse[2, 2] = (g[0, 0] * g[1, 1] - g[0, 1] * g[1, 0]) * over
    n = g[0, 0]
    s11, s12, s22 = g[1, 1] - g[1, 0] * g[1, 0] / n, g[1, 2] - g[1, 0] * g[2, 0] / n, g[2, 2] - g[2, 0] * g[2, 0] / n
    half, difference = 0.5 * (s11 + s22), 0.5 * (s11 - s22)
    reach = np.sqrt(difference * difference + s12 * s12)
    c, s = _half_of(difference, s12, reach)
    slip[0], slip[1], slip[2], slip[3] = half + reach, max(half - reach, 0.0), c, s
    slip[4], slip[5] = c * g[1, 0] + s * g[2, 0], c * g[2, 0] - s * g[1, 0]


@kernel_part
def _slide(g, slip, mu, g0, g1, g2):
    """Return the impulse of a sliding contact: |lam_t| = mu lam_n opposed to u_t, and u_n + c = 0.

    Let S be the Schur complement of G_nn, h = g_t - G_tn g_n / G_nn, and eta >= 0 the ratio |u_t| / |lam_t|. Then
    (S + eta) lam_t = -h. The remaining equation |lam_t| = mu lam_n in eta is solved by Newton's method within a bracket.
    """
    nn = g[0, 0]
    h1, h2 = g1 - g[1, 0] * g0 / nn, g2 - g[2, 0] * g0 / nn
    c, s = slip[2], slip[3]
    a1, a2 = c * h1 + s * h2, c * h2 - s * h1
    s1, s2, q1, q2 = slip[0], slip[1], slip[4], slip[5]
    low, high = 0.0, -1.0
    eta = max(np.sqrt(a1 * a1 + a2 * a2) * nn / (mu * -g0) - 0.5 * (s1 + s2), 1e-3 * s1)
    n = 0.0
    for _ in range(ROOT_STEPS):
        d1, d2 = s1 + eta, s2 + eta
        y1, y2 = a1 / d1, a2 / d2
        n = (-g0 + q1 * y1 + q2 * y2) / nn
        size = np.sqrt(y1 * y1 + y2 * y2)
        excess = size - mu * n
        if abs(excess) <= ROOT_ERROR * (size + mu * abs(n)):
            break
        if excess > 0.0:
            low = eta
        else:
            high = eta
        slope = mu * (q1 * y1 / d1 + q2 * y2 / d2) / nn - (y1 * y1 / d1 + y2 * y2 / d2) / size
        after = eta - excess / slope
        if not (after > low and (high < 0.0 or after < high)):
            after = 2.0 * eta + s1 if high < 0.0 else 0.5 * (low + high)
        if abs(after - eta) <= 1e-15 * eta:
            break
        eta = after
    y1, y2 = -a1 / (s1 + eta), -a2 / (s2 + eta)
    n = max(n, 0.0)
    t1, t2 = c * y1 - s * y2, s * y1 + c * y2
    size, bound = np.sqrt(t1 * t1 + t2 * t2), mu * n
    if size > bound:
        t1, t2 = t1 * bound / size, t2 * bound / size
    return n, t1, t2


@kernel_part
def solve_contact(g, inverse, slip, mu, g0, g1, g2):
    """Return the impulse of one contact by Coulomb's law, with u + c = G_kk lam + g. The contact separates, sticks or slides.

    g, inverse, slip: from `decompose`. g0, g1, g2: velocity without this contact's impulse, with the slack included [m/s].
    """
    if g0 >= 0.0:
        return 0.0, 0.0, 0.0
    n = -(inverse[0, 0] * g0 + inverse[0, 1] * g1 + inverse[0, 2] * g2)
    t1 = -(inverse[1, 0] * g0 + inverse[1, 1] * g1 + inverse[1, 2] * g2)
    t2 = -(inverse[2, 0] * g0 + inverse[2, 1] * g1 + inverse[2, 2] * g2)
    if n >= 0.0 and t1 * t1 + t2 * t2 <= mu * mu * n * n:
        return n, t1, t2
    if mu == 0.0:
        return -g0 / g[0, 0], 0.0, 0.0
    return _slide(g, slip, mu, g0, g1, g2)
