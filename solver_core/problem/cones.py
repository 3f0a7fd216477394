# SPDX-License-Identifier: GPL-3.0-or-later
"""Projections onto the convex sets of contact and friction, each with the derivative that a Newton method needs.

The sets are those of one contact: the half-line of normal impulses, the friction disk |y| <= r and the regular polygon
inscribed in it (Kaufman et al. 2008, (6) and (7)), with a vertex on the first tangent axis; and the interval of a joint's row,
which may give way (a compliance gamma). From them come the natural maps,
zero where contact, or friction, holds: differences that cancel are not taken, for impulses can be 1e9 times their errors.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ..linalg.elementary import arctangent, sine_and_cosine

__all__ = [
    "natural_friction",
    "natural_interval",
    "natural_normal",
    "project_disk",
    "project_friction",
    "project_half_line",
    "project_interval",
    "project_polygon",
]


@leaf_kernel
def project_half_line(w):
    """Closest y >= 0 to w and dy/dw."""
    if w > 0.0:
        return w, 1.0
    return 0.0, 0.0


@kernel_part
def project_disk(w1, w2, radius):
    """Closest point of the disk to (w1, w2): (y1, y2, d11, d12, d22), d the symmetric derivative dy/dw."""
    if radius <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    norm = np.sqrt(w1 * w1 + w2 * w2)
    if norm <= radius:
        return w1, w2, 1.0, 0.0, 1.0
    # y = r w / |w|, so dy/dw = r/|w| (I - w w^T / |w|^2): only turning w moves y
    e1, e2 = w1 / norm, w2 / norm
    shrink = radius / norm
    return radius * e1, radius * e2, shrink * e2 * e2, -shrink * e1 * e2, shrink * e1 * e1


@kernel_part
def project_polygon(w1, w2, radius, sides):
    """Closest point of the polygon to (w1, w2): (y1, y2, d11, d12, d22), as for the disk."""
    if radius <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    half = np.pi / sides
    # by symmetry the nearest side is the one in whose sector w lies; turn it so that its outward normal is the first axis
    angle = (np.floor(arctangent(w2, w1) / (2.0 * half)) + 0.5) * 2.0 * half
    s, c = sine_and_cosine(angle)
    out, along = c * w1 + s * w2, c * w2 - s * w1
    sine, cosine = sine_and_cosine(half)
    apothem, reach = radius * cosine, radius * sine
    if out <= apothem:
        return w1, w2, 1.0, 0.0, 1.0
    if abs(along) <= reach:
        return c * apothem - s * along, s * apothem + c * along, s * s, -s * c, c * c
    corner = reach if along > 0.0 else -reach
    return c * apothem - s * corner, s * apothem + c * corner, 0.0, 0.0, 0.0


@inlined_kernel
def project_friction(w1, w2, radius, sides):
    """Onto the disk (sides 0) or the polygon, as these."""
    if sides == 0:
        return project_disk(w1, w2, radius)
    return project_polygon(w1, w2, radius, sides)


@leaf_kernel
def project_interval(w, low, high, give):
    """The y in low <= y <= high that is closest to w / give, and dy/dw.

    give = 1 + rho gamma >= 1: where y = P(y - rho u) with it, -(u + gamma y) is in the normal cone of the interval, for
    y + rho gamma y + rho N(y) contains y - rho u.
    """
    y = w / give
    if y < low:
        return low, 0.0
    if y > high:
        return high, 0.0
    return y, 1.0 / give


@kernel_part
def natural_interval(y, u, kappa, low, high, gamma):
    """(y - P(y - kappa u)) / kappa, in m/s: zero where -(u + gamma y) is in the normal cone of the interval."""
    give = 1.0 + kappa * gamma
    w = (y - kappa * u) / give
    if w < low:
        return (y - low) / kappa
    if w > high:
        return (y - high) / kappa
    return (u + gamma * y) / give


@leaf_kernel
def natural_normal(y, u, kappa):
    """(y - max(0, y - kappa u)) / kappa, in m/s: zero where 0 <= u perp y >= 0."""
    return u if y > kappa * u else y / kappa


@leaf_kernel
def natural_friction(t1, t2, u1, u2, radius, kappa, sides):
    """|t - P(t - kappa u)| / kappa, in m/s, P onto the disk (sides 0) or the polygon: zero where friction opposes u with all
    that the radius allows."""
    w1, w2 = t1 - kappa * u1, t2 - kappa * u2
    p1, p2, d11, _, d22 = project_friction(w1, w2, radius, sides)
    if d11 == 1.0 and d22 == 1.0:
        return np.sqrt(u1 * u1 + u2 * u2)
    return np.sqrt((t1 - p1) ** 2 + (t2 - p2) ** 2) / kappa
