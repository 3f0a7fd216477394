# SPDX-License-Identifier: GPL-3.0-or-later
"""Projections onto the convex sets of contact and friction, each with the derivative for a Newton method, and natural maps.

The sets of a contact are the half-line of normal impulses, the friction disk |y| <= r, and the regular polygon inscribed in it
(Kaufman et al. 2008, (6) and (7)), which has a vertex on the first tangent axis. The set of a joint row is an interval, with a
compliance gamma. A natural map is zero if and only if contact or friction holds. Where possible, the natural maps avoid
differences that cancel, because impulses can be 1e9 times their errors.
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
    """Return the closest y >= 0 to w, and dy/dw."""
    if w > 0.0:
        return w, 1.0
    return 0.0, 0.0


@kernel_part
def project_disk(w1, w2, radius):
    """Return the point of the disk closest to (w1, w2), and its symmetric derivative dy/dw: (y1, y2, d11, d12, d22)."""
    if radius <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    norm = np.sqrt(w1 * w1 + w2 * w2)
    if norm <= radius:
        return w1, w2, 1.0, 0.0, 1.0
    # y = r w / |w|, so dy/dw = r/|w| (I - w w^T / |w|^2): only a rotation of w moves y
    e1, e2 = w1 / norm, w2 / norm
    shrink = radius / norm
    return radius * e1, radius * e2, shrink * e2 * e2, -shrink * e1 * e2, shrink * e1 * e1


@kernel_part
def project_polygon(w1, w2, radius, sides):
    """Return the point of the polygon closest to (w1, w2), and its derivative: (y1, y2, d11, d12, d22), as for the disk."""
    if radius <= 0.0:
        return 0.0, 0.0, 0.0, 0.0, 0.0
    half = np.pi / sides
    # By symmetry, the nearest side is the one whose sector contains w. Use axes whose first one is its outward normal.
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
    """Project onto the disk if sides is 0, else onto the polygon."""
    if sides == 0:
        return project_disk(w1, w2, radius)
    return project_polygon(w1, w2, radius, sides)


@leaf_kernel
def project_interval(w, low, high, give):
    """Return the y in low <= y <= high closest to w / give, and dy/dw.

    give = 1 + rho gamma >= 1 makes this a proximal map P. If y = P(y - rho u), then y + rho gamma y + rho N(y) contains
    y - rho u. That is, -(u + gamma y) is in the normal cone N(y) of the interval.
    """
    y = w / give
    if y < low:
        return low, 0.0
    if y > high:
        return high, 0.0
    return y, 1.0 / give


@kernel_part
def natural_interval(y, u, kappa, low, high, gamma):
    """Return (y - P(y - kappa u)) / kappa [m/s], zero if -(u + gamma y) is in the normal cone of the interval."""
    give = 1.0 + kappa * gamma
    w = (y - kappa * u) / give
    if w < low:
        return (y - low) / kappa
    if w > high:
        return (y - high) / kappa
    return (u + gamma * y) / give


@leaf_kernel
def natural_normal(y, u, kappa):
    """Return (y - max(0, y - kappa u)) / kappa [m/s], zero if 0 <= u perp y >= 0."""
    return u if y > kappa * u else y / kappa


@leaf_kernel
def natural_friction(t1, t2, u1, u2, radius, kappa, sides):
    """Return |t - P(t - kappa u)| / kappa [m/s], with P onto the disk (sides 0) or the polygon.

    It is zero if t is in the set and u is zero, or if t opposes u with the largest impulse that the radius allows.
    """
    w1, w2 = t1 - kappa * u1, t2 - kappa * u2
    p1, p2, d11, _, d22 = project_friction(w1, w2, radius, sides)
    if d11 == 1.0 and d22 == 1.0:
        return np.sqrt(u1 * u1 + u2 * u2)
    return np.sqrt((t1 - p1) ** 2 + (t2 - p2) ** 2) / kappa
