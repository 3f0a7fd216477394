# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors of three numbers in kernels: tuples, or any sequence indexed by 0 to 2. All functions are inlined.

Sums run from the first component to the last, and terms are added in the written order.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel

__all__ = [
    "ZERO",
    "X",
    "Y",
    "Z",
    "add",
    "advanced",
    "cross",
    "distance2",
    "divided",
    "dot",
    "is_zero",
    "midpoint",
    "negative",
    "norm",
    "norm2",
    "perpendicular",
    "rotated",
    "rotated_back",
    "scaled",
    "set_vec",
    "sub",
    "vec",
]

ZERO = (0.0, 0.0, 0.0)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@inlined_kernel
def vec(rows, i):
    """Return the first three numbers of row i of an array (., >= 3)."""
    return rows[i, 0], rows[i, 1], rows[i, 2]


@inlined_kernel
def set_vec(rows, i, v):
    """Write a vector to row i of an array (., >= 3)."""
    rows[i, 0], rows[i, 1], rows[i, 2] = v


@inlined_kernel
def add(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined_kernel
def sub(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined_kernel
def scaled(s, a):
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@inlined_kernel
def divided(a, s):
    """Return a / s. Rounding differs from that of (1 / s) a."""
    return a[0] / s, a[1] / s, a[2] / s


@inlined_kernel
def negative(a):
    """Return -a."""
    return -a[0], -a[1], -a[2]


@inlined_kernel
def advanced(p, s, d):
    """Return the point p + s d."""
    return p[0] + s * d[0], p[1] + s * d[1], p[2] + s * d[2]


@inlined_kernel
def midpoint(p, q):
    """Return the midpoint of two points."""
    return 0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]), 0.5 * (p[2] + q[2])


@inlined_kernel
def dot(a, b):
    """Return the scalar product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined_kernel
def cross(a, b):
    """Return the vector product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined_kernel
def norm2(a):
    """Return the squared length."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@inlined_kernel
def norm(a):
    """Return the length."""
    return np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@inlined_kernel
def is_zero(a):
    """Return True if all three components are zero."""
    return a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0


@inlined_kernel
def distance2(p, q):
    """Return the squared distance of two points."""
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return x * x + y * y + z * z


@inlined_kernel
def rotated(matrix, v):
    """Return the product of a matrix (3, 3) and a vector."""
    x, y, z = v[0], v[1], v[2]
    return (
        matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z,
        matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z,
        matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z,
    )


@inlined_kernel
def rotated_back(matrix, v):
    """Return the product of a transposed matrix (3, 3) and a vector."""
    x, y, z = v[0], v[1], v[2]
    return (
        matrix[0, 0] * x + matrix[1, 0] * y + matrix[2, 0] * z,
        matrix[0, 1] * x + matrix[1, 1] * y + matrix[2, 1] * z,
        matrix[0, 2] * x + matrix[1, 2] * y + matrix[2, 2] * z,
    )


@inlined_kernel
def perpendicular(a, square):
    """Return a vector perpendicular to a, by Gram-Schmidt on the coordinate axis with the smallest component of a.

    square: squared length of a.
    """
    x, y, z = a[0], a[1], a[2]
    if abs(z) <= abs(x) and abs(z) <= abs(y):
        return -z * x, -z * y, square - z * z
    if abs(y) <= abs(x):
        return -y * x, square - y * y, -y * z
    return square - x * x, -x * y, -x * z
