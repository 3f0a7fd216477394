# SPDX-License-Identifier: GPL-3.0-or-later
"""Roots of increasing functions in a bracket s < t, where `low` < 0 and `high` >= 0 are the values at its ends.

The method is the Illinois variant of regula falsi: the value at an end that stays for the second time is halved. A step that
has not halved the bracket is followed by a bisection. Kernels cannot take functions as arguments, so the callers have the loop.
"""

from __future__ import annotations

from ...compile.kernel import leaf_kernel

__all__ = ["MAX_BISECTIONS", "NO_SLOPE", "narrow_bracket", "next_guess"]

MAX_BISECTIONS = 120
# A slope, which is at most one, is zero up to rounding below this.
NO_SLOPE = 1e-16


@leaf_kernel
def next_guess(s, low, t, high, bisect):
    """Return the next point at which to evaluate the function. bisect: True for a bisection."""
    return 0.5 * (s + t) if bisect else (s * high - t * low) / (high - low)


@leaf_kernel
def narrow_bracket(s, low, t, high, side, m, value):
    """Replace one end of the bracket by m.

    side: the end that was replaced before: 1 for t, -1 for s, 0 at the start. value: of the function at m.

    Returns s, low, t, high, side, and whether the next step is a bisection.
    """
    width = t - s
    if value > 0.0:
        t, high = m, value
        if side > 0:
            low *= 0.5
        return s, low, t, high, 1, t - s > 0.5 * width
    s, low = m, value
    if side < 0:
        high *= 0.5
    return s, low, t, high, -1, t - s > 0.5 * width
