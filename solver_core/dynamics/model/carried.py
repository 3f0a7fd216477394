# SPDX-License-Identifier: GPL-3.0-or-later
"""What sticks to something that turns is carried along its arc: what of that velocities, which go straight, leave out.

What turns as one with w goes along arcs, and velocities along tangents: of two bodies, ((exp(h w x) - 1) / h - w x) times the
way between their centres is by how much the one differs from the other, wherever the contact is. As a bias of friction that
keeps them where they are on each other. What rolls has no such arc.

That is for what goes on turning: what is animated, or held by joints, and what turns as one with it, through whatever is in
between. What tumbles has other contacts as well, with what does not turn so, and normals, which get none; where these hold it
as well, to stick by one is to slide by the other, and the problem has next to no solution.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.disjoint_sets import join, root
from ...linalg.elementary import sine_and_cosine

__all__ = ["carry", "swing", "turned_along"]

TOGETHER = 0.1  # of what two bodies turn at: beyond that difference they do not turn as one
SMALL_ANGLE = 1e-3  # rad


@inlined_kernel
def _turns(twist_a, twist_b):
    """What two bodies turn at on average, as three numbers, its square, and that of what the one turns faster, (rad/s)^2."""
    w0, w1, w2 = 0.5 * (twist_a[3] + twist_b[3]), 0.5 * (twist_a[4] + twist_b[4]), 0.5 * (twist_a[5] + twist_b[5])
    apart = (twist_b[3] - twist_a[3]) ** 2 + (twist_b[4] - twist_a[4]) ** 2 + (twist_b[5] - twist_a[5]) ** 2
    return w0, w1, w2, w0 * w0 + w1 * w1 + w2 * w2, apart


@inlined_kernel
def _beyond_the_tangent(angle):
    """sin x / x - 1 and (1 - cos x) / x^2 of an angle x in rad."""
    if angle > SMALL_ANGLE:
        sine, cosine = sine_and_cosine(angle)
        return sine / angle - 1.0, (1.0 - cosine) / (angle * angle)
    return -angle * angle / 6.0, 0.5


@kernel
def turned_along(twist, turned, body_a, body_b):
    """(n,) which bodies turn as one with those that are turned (n,), through contacts between bodies that do; twist: (n, 6)."""
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
    """Add to the bias (3,) what keeps two bodies that turn as one where they are on each other, until the step ends; nothing
    for two that do not. from_b: (3,) m, from the centre of B to that of A."""
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
    """Add to the bias (3,) of a contact between bodies that joints hold to each other what its points leave their tangents by
    in a step, each on its own arc: joints have it in their rows (`joints/rows.py`), and the two have to agree."""
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
