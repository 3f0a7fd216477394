# SPDX-License-Identifier: GPL-3.0-or-later
"""Roots of increasing functions in a bracket s < t, low and high being the values at its ends, low < 0 <= high.

The Illinois variant of regula falsi: an end that stays for the second time counts half; and a bisection where a step has not
halved the bracket. Kernels take no functions, so the loop stands where the function does.
"""

from __future__ import annotations

from ...compile.kernel import leaf_kernel

__all__ = ["MAX_BISECTIONS", "NO_SLOPE", "narrow_bracket", "next_guess"]

MAX_BISECTIONS = 120
# Of a slope, which is at most one: it has come down to rounding.
NO_SLOPE = 1e-16


@leaf_kernel
def next_guess(s, low, t, high, bisect):
    """Where to look for the root next."""
    return 0.5 * (s + t) if bisect else (s * high - t * low) / (high - low)


@leaf_kernel
def narrow_bracket(s, low, t, high, side, m, value):
    """The bracket with the value at m in place of an end: (s, low, t, high, side, whether to bisect it next).

    side: the end replaced before, 1 for t and -1 for s; 0 at first.
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
