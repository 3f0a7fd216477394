# SPDX-License-Identifier: GPL-3.0-or-later
"""Vectors of three numbers in kernels: tuples, and what reads as one. All of this becomes part of its callers.

Sums run from the first component to the last, and terms are added in the order in which they are written.
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
    """The first three numbers in a row of (., >= 3)."""
    return rows[i, 0], rows[i, 1], rows[i, 2]


@inlined_kernel
def set_vec(rows, i, v):
    """Writes a vector into a row of (., >= 3)."""
    rows[i, 0], rows[i, 1], rows[i, 2] = v


@inlined_kernel
def add(a, b):
    """The sum."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined_kernel
def sub(a, b):
    """The difference a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined_kernel
def scaled(s, a):
    """The vector times a number."""
    return s * a[0], s * a[1], s * a[2]


@inlined_kernel
def divided(a, s):
    """The vector over a number, which rounds otherwise than its inverse times the vector."""
    return a[0] / s, a[1] / s, a[2] / s


@inlined_kernel
def negative(a):
    """The vector the other way."""
    return -a[0], -a[1], -a[2]


@inlined_kernel
def advanced(p, s, d):
    """The point p + s d."""
    return p[0] + s * d[0], p[1] + s * d[1], p[2] + s * d[2]


@inlined_kernel
def midpoint(p, q):
    """Of two points."""
    return 0.5 * (p[0] + q[0]), 0.5 * (p[1] + q[1]), 0.5 * (p[2] + q[2])


@inlined_kernel
def dot(a, b):
    """The scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined_kernel
def cross(a, b):
    """The vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@inlined_kernel
def norm2(a):
    """The square of the length."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@inlined_kernel
def norm(a):
    """The length."""
    return np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@inlined_kernel
def is_zero(a):
    """Whether nothing is in any direction."""
    return a[0] == 0.0 and a[1] == 0.0 and a[2] == 0.0


@inlined_kernel
def distance2(p, q):
    """The square of the distance of two points."""
    x, y, z = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return x * x + y * y + z * z


@inlined_kernel
def rotated(matrix, v):
    """The product of a matrix (3, 3) and a vector."""
    x, y, z = v[0], v[1], v[2]
    return (
        matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2] * z,
        matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2] * z,
        matrix[2, 0] * x + matrix[2, 1] * y + matrix[2, 2] * z,
    )


@inlined_kernel
def rotated_back(matrix, v):
    """The product of a transposed matrix (3, 3) and a vector."""
    x, y, z = v[0], v[1], v[2]
    return (
        matrix[0, 0] * x + matrix[1, 0] * y + matrix[2, 0] * z,
        matrix[0, 1] * x + matrix[1, 1] * y + matrix[2, 1] * z,
        matrix[0, 2] * x + matrix[1, 2] * y + matrix[2, 2] * z,
    )


@inlined_kernel
def perpendicular(a, square):
    """A vector at a right angle with a, whose squared length is given: Gram-Schmidt on the coordinate axis least along it."""
    x, y, z = a[0], a[1], a[2]
    if abs(z) <= abs(x) and abs(z) <= abs(y):
        return -z * x, -z * y, square - z * z
    if abs(y) <= abs(x):
        return -y * x, square - y * y, -y * z
    return square - x * x, -x * y, -x * z
