# SPDX-License-Identifier: GPL-3.0-or-later
"""Sine, cosine, arctangent, exponential and logarithm from additions, multiplications, divisions and square roots.

IEEE 754 defines these four operations to the last bit, but not the functions. The math libraries of Linux, Windows and macOS
round them differently. Some libraries choose another variant for processors with fused multiply-add, and numpy has variants for
AVX2 and AVX-512. The functions here return the same bits on every processor. LLVM does not contract operations to fused
multiply-add, because the kernels are compiled without fast math.

Each function reduces its argument and sums the Taylor series until a term is below half a unit in the last place. Results are
within four units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from ..compile.kernel import kernel, leaf_kernel

__all__ = [
    "LOG_2",
    "arccosine",
    "arcsine",
    "arctangent",
    "arctangents",
    "exponential",
    "exponentials",
    "logarithm",
    "power",
    "powers",
    "sine_and_cosine",
    "sines_and_cosines",
]

# pi / 2 in parts of 33 bits, whose products with integers up to 2^20 are exact, and the remainder.
TWO_OVER_PI = 2.0 / np.pi
HALF_PI_PARTS = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
MOST_QUARTERS = 2.0**20
# Arctangents of 0, 1/8, ..., 1.
ARC_TANGENTS = np.array(
    [
        0.0,
        0.12435499454676144,
        0.24497866312686414,
        0.35877067027057225,
        0.4636476090008061,
        0.5585993153435624,
        0.6435011087932844,
        0.7188299996216245,
        0.7853981633974483,
    ]
)
# The logarithm of 2: 32 bits, and the remainder.
LOG_2_PARTS = 0.6931471803691238, 1.9082149292705877e-10
LOG_2 = 0.6931471805599453
LARGEST_EXPONENT, LEAST_EXPONENT = 709.782712893384, -745.1332191019412
SQUARE_ROOT_OF_HALF = 0.7071067811865476


@leaf_kernel
def sine_and_cosine(angle):
    """Return the sine and the cosine of an angle [rad]; NaN if it is not finite.

    Beyond 1.6 million rad the angle is first reduced by the double nearest to 2 pi. The error then grows with the angle, as the
    spacing of doubles does.
    """
    if not abs(angle) <= MOST_QUARTERS:
        angle = angle % (2.0 * np.pi) if abs(angle) < np.inf else np.nan
    quarters = np.rint(angle * TWO_OVER_PI)
    x = ((angle - quarters * HALF_PI_PARTS[0]) - quarters * HALF_PI_PARTS[1]) - quarters * HALF_PI_PARTS[2]
    z = x * x
    # Coefficients of the Taylor series.
    s = -1.0 / 1307674368000.0 + z * (1.0 / 355687428096000.0)
    s = -1.0 / 39916800.0 + z * (1.0 / 6227020800.0 + z * s)
    s = -1.0 / 5040.0 + z * (1.0 / 362880.0 + z * s)
    sine = x + x * z * (-1.0 / 6.0 + z * (1.0 / 120.0 + z * s))
    c = -1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0)
    c = -1.0 / 3628800.0 + z * (1.0 / 479001600.0 + z * c)
    c = -1.0 / 720.0 + z * (1.0 / 40320.0 + z * c)
    cosine = 1.0 - (0.5 * z - z * z * (1.0 / 24.0 + z * c))
    # Two bits of the number of quarter turns: sine and cosine swap after one, and change sign after two.
    half = np.floor(0.5 * quarters)
    if quarters != 2.0 * half:
        sine, cosine = cosine, -sine
    return (sine, cosine) if half == 2.0 * np.floor(0.5 * half) else (-sine, -cosine)


@leaf_kernel
def arctangent(y, x):
    """Return the angle of the point (x, y), from -pi to pi [rad]. The signs of zeros count as in atan2 of C."""
    up, right = abs(y), abs(x)
    small, large = min(up, right), max(up, right)
    if not (up >= 0.0 and right >= 0.0):
        return np.nan
    ratio = small / large if large > 0.0 and small < np.inf else 0.0
    if small == np.inf:
        ratio = 1.0
    eighth = int(8.0 * ratio + 0.5)
    t = (ratio - 0.125 * eighth) / (1.0 + 0.125 * eighth * ratio)
    z = t * t
    series = -1.0 / 3.0 + z * (1.0 / 5.0 + z * (-1.0 / 7.0 + z * (1.0 / 9.0 + z * (-1.0 / 11.0 + z * (1.0 / 13.0)))))
    angle = ARC_TANGENTS[eighth] + (t + t * z * series)
    if up > right:
        angle = 0.5 * np.pi - angle
    if math.copysign(1.0, x) < 0.0:
        angle = np.pi - angle
    return math.copysign(angle, y)


@leaf_kernel
def arcsine(x):
    """Return the angle of a sine from -1 to 1, from -pi / 2 to pi / 2 [rad]; NaN for other numbers."""
    return arctangent(x, np.sqrt((1.0 - x) * (1.0 + x)))


@leaf_kernel
def arccosine(x):
    """Return the angle of a cosine from -1 to 1, from 0 to pi [rad]; NaN for other numbers."""
    return arctangent(np.sqrt((1.0 - x) * (1.0 + x)), x)


@leaf_kernel
def exponential(x):
    """Return exp(x), and exp(x) - 1 with full precision near x = 0."""
    if not LEAST_EXPONENT <= x <= LARGEST_EXPONENT:
        if x > 0.0:
            return np.inf, np.inf
        return (0.0, -1.0) if x < 0.0 else (np.nan, np.nan)
    doublings = np.rint(x / LOG_2)
    r = (x - doublings * LOG_2_PARTS[0]) - doublings * LOG_2_PARTS[1]
    s = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    s = 1.0 / 3628800.0 + r * (1.0 / 39916800.0 + r * s)
    s = 1.0 / 40320.0 + r * (1.0 / 362880.0 + r * s)
    s = 1.0 / 720.0 + r * (1.0 / 5040.0 + r * s)
    s = 1.0 / 24.0 + r * (1.0 / 120.0 + r * s)
    less_one = r + r * r * (0.5 + r * (1.0 / 6.0 + r * s))
    if doublings == 0.0:
        return 1.0 + less_one, less_one
    value = math.ldexp(1.0 + less_one, int(doublings))
    return value, value - 1.0


@leaf_kernel
def logarithm(x):
    """Return the natural logarithm; -inf for 0, and NaN for negative numbers."""
    if not 0.0 < x < np.inf:
        if x == 0.0:
            return -np.inf
        return np.inf if x > 0.0 else np.nan
    fraction, doublings = math.frexp(x)
    if fraction < SQUARE_ROOT_OF_HALF:
        fraction, doublings = 2.0 * fraction, doublings - 1
    # log m = 2 artanh s.
    s = (fraction - 1.0) / (fraction + 1.0)
    z = s * s
    series = 1.0 / 15.0 + z * (1.0 / 17.0 + z * (1.0 / 19.0 + z * (1.0 / 21.0)))
    series = 1.0 / 3.0 + z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z * (1.0 / 13.0 + z * series)))))
    return doublings * LOG_2_PARTS[0] + (2.0 * s + (2.0 * s * z * series + doublings * LOG_2_PARTS[1]))


@leaf_kernel
def power(base, exponent):
    """Return base to the power of exponent, for base >= 0. The result of 0 to the power of 0 is 1."""
    if exponent == 0.0 or base == 1.0:
        return 1.0
    return exponential(exponent * logarithm(base))[0]


@kernel
def sines_and_cosines(angles):
    """Return the sines (n,) and the cosines (n,) of angles (n,) [rad]."""
    sines, cosines = np.empty(len(angles)), np.empty(len(angles))
    for i in range(len(angles)):
        sines[i], cosines[i] = sine_and_cosine(angles[i])
    return sines, cosines


@kernel
def arctangents(y, x):
    """Return the angles (n,) of points with coordinates x and y (n,) [rad]."""
    out = np.empty(len(y))
    for i in range(len(y)):
        out[i] = arctangent(y[i], x[i])
    return out


@kernel
def exponentials(x):
    """Return exp(x) and exp(x) - 1 of numbers (n,), two arrays (n,)."""
    whole, less_one = np.empty(len(x)), np.empty(len(x))
    for i in range(len(x)):
        whole[i], less_one[i] = exponential(x[i])
    return whole, less_one


@kernel
def powers(base, exponent):
    """Return the powers (n,) of numbers (n,) >= 0, with one exponent."""
    out = np.empty(len(base))
    for i in range(len(base)):
        out[i] = power(base[i], exponent)
    return out
