# SPDX-License-Identifier: GPL-3.0-or-later
"""Friction bias for bodies that rotate together: the difference between the arc that they follow and its tangent.

Bodies that rotate together with angular velocity w follow arcs, but velocities follow tangents. For two bodies, the difference
is ((exp(h w x) - 1) / h - w x) times the vector between their centers, for any contact point. As a bias of friction, it keeps
the bodies in place on each other. Rolling bodies have no such arc.

The bias is used for bodies with continued rotation: kinematic bodies, jointed bodies, and bodies that rotate together with
these, also through bodies in between. Tumbling bodies also have contacts with bodies that do not rotate together with them, and
normals get no bias. If such contacts hold a body too, sticking at one contact means sliding at another, and the problem has
almost no solution.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.disjoint_sets import join, root
from ...linalg.elementary import sine_and_cosine

__all__ = ["carry", "swing", "turned_along"]

TOGETHER = 0.1  # relative difference of angular velocities above which two bodies do not rotate together
SMALL_ANGLE = 1e-3  # rad


@inlined_kernel
def _turns(twist_a, twist_b):
    """Return the mean angular velocity of two bodies, as three numbers, its square, and the square of their difference."""
    w0, w1, w2 = 0.5 * (twist_a[3] + twist_b[3]), 0.5 * (twist_a[4] + twist_b[4]), 0.5 * (twist_a[5] + twist_b[5])
    apart = (twist_b[3] - twist_a[3]) ** 2 + (twist_b[4] - twist_a[4]) ** 2 + (twist_b[5] - twist_a[5]) ** 2
    return w0, w1, w2, w0 * w0 + w1 * w1 + w2 * w2, apart


@inlined_kernel
def _beyond_the_tangent(angle):
    """Return sin x / x - 1 and (1 - cos x) / x^2 of an angle x in rad."""
    if angle > SMALL_ANGLE:
        sine, cosine = sine_and_cosine(angle)
        return sine / angle - 1.0, (1.0 - cosine) / (angle * angle)
    return -angle * angle / 6.0, 0.5


@kernel
def turned_along(twist, turned, body_a, body_b):
    """Return (n,) the bodies that rotate together with the bodies `turned` (n,), directly or through others in contact.

    twist: (n, 6). body_a, body_b: (m,) of the contacts.
    """
    parent = np.arange(turned.size)
    for k in range(body_a.size):
        _, _, _, square, apart = _turns(twist[body_a[k]], twist[body_b[k]])
        if apart < TOGETHER * TOGETHER * square:
            join(parent, body_a[k], body_b[k])
    found = np.zeros(turned.size, np.bool_)
    for i in range(turned.size):
        found[root(parent, i)] |= turned[i]
    for i in range(turned.size):
        found[i] = found[root(parent, i)]
    return found


@kernel_part
def carry(axes, twist_a, twist_b, from_b, h, bias):
    """Add the friction bias of two bodies to the bias (3,), if they rotate together.

    from_b: (3,) m, from the center of mass of B to that of A.
    """
    w0, w1, w2, square, apart = _turns(twist_a, twist_b)
    if not apart < TOGETHER * TOGETHER * square:
        return
    share, angle = 1.0 - np.sqrt(apart / square) / TOGETHER, h * np.sqrt(square)
    along, across = _beyond_the_tangent(angle)
    d0, d1, d2 = from_b[0], from_b[1], from_b[2]
    x0, x1, x2 = w1 * d2 - w2 * d1, w2 * d0 - w0 * d2, w0 * d1 - w1 * d0
    y0, y1, y2 = w1 * x2 - w2 * x1, w2 * x0 - w0 * x2, w0 * x1 - w1 * x0
    for row in range(1, 3):
        e0, e1, e2 = axes[row, 0], axes[row, 1], axes[row, 2]
        bias[row] += share * (along * (e0 * x0 + e1 * x1 + e2 * x2) + across * h * (e0 * y0 + e1 * y1 + e2 * y2))


@leaf_kernel
def swing(axes, twist_a, twist_b, point, center_a, center_b, h, bias):
    """Add the deviation of both contact points from their tangents to the bias (3,) of a contact between jointed bodies.

    Each point follows its own arc in the step. Joint rows include the same terms (`joints/rows.py`), and contacts and joints
    have to agree.
    """
    for sign, twist, center in ((1.0, twist_b, center_b), (-1.0, twist_a, center_a)):
        w0, w1, w2 = twist[3], twist[4], twist[5]
        angle = h * np.sqrt(w0 * w0 + w1 * w1 + w2 * w2)
        along, across = _beyond_the_tangent(angle)
        r0, r1, r2 = point[0] - center[0], point[1] - center[1], point[2] - center[2]
        x0, x1, x2 = w1 * r2 - w2 * r1, w2 * r0 - w0 * r2, w0 * r1 - w1 * r0
        y0, y1, y2 = w1 * x2 - w2 * x1, w2 * x0 - w0 * x2, w0 * x1 - w1 * x0
        for row in range(3):
            e0, e1, e2 = axes[row, 0], axes[row, 1], axes[row, 2]
            bias[row] += sign * (along * (e0 * x0 + e1 * x1 + e2 * x2) + across * h * (e0 * y0 + e1 * y1 + e2 * y2))
