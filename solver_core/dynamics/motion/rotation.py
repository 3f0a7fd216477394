# SPDX-License-Identifier: GPL-3.0-or-later
"""Quaternions (w, x, y, z) that rotate body coordinates to world coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...linalg.elementary import arctangent, sine_and_cosine
from ...linalg.in_order import product

__all__ = ["matrices", "rotate", "rotate_by", "rotated_by", "rotation_vector", "rotation_vectors", "write_matrix"]

Floats = NDArray[np.float64]

SERIES_ANGLE = 1e-4  # rad; below this, two terms of the series are exact to all digits
NO_SINE = 1e-12  # sine of half an angle; below this, its quotient with the angle is 1/2


@kernel
def write_matrix(q, out):
    """out := rotation matrix (3, 3) of a unit quaternion."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0], out[0, 1], out[0, 2] = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)
    out[1, 0], out[1, 1], out[1, 2] = 2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)
    out[2, 0], out[2, 1], out[2, 2] = 2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)


@kernel
def matrices(orientation):
    """(n, 3, 3) rotation matrices of (n, 4) unit quaternions."""
    out = np.empty((orientation.shape[0], 3, 3))
    for i in range(orientation.shape[0]):
        write_matrix(orientation[i], out[i])
    return out


@kernel
def rotate_by(q, w1, w2, w3, out):
    """out := exp(w) q, the orientation rotated by the rotation vector w (rad, world axes), normalized."""
    angle = np.sqrt(w1 * w1 + w2 * w2 + w3 * w3)
    # sin(angle / 2) / angle, by its series where the quotient would lose digits
    sine, c = sine_and_cosine(0.5 * angle)
    s = 0.5 - angle * angle / 48.0 if angle < SERIES_ANGLE else sine / angle
    a, b, d = s * w1, s * w2, s * w3
    w, x, y, z = q[0], q[1], q[2], q[3]
    r0 = c * w - a * x - b * y - d * z
    r1 = c * x + a * w + b * z - d * y
    r2 = c * y + b * w + d * x - a * z
    r3 = c * z + d * w + a * y - b * x
    norm = np.sqrt(r0 * r0 + r1 * r1 + r2 * r2 + r3 * r3)
    out[0], out[1], out[2], out[3] = r0 / norm, r1 / norm, r2 / norm, r3 / norm


@kernel
def rotated_by(orientation, vectors):
    """Return (n, 4) orientations rotated by rotation vectors (n, 3), rad, world axes."""
    out = np.empty_like(orientation)
    for i in range(orientation.shape[0]):
        rotate_by(orientation[i], vectors[i, 0], vectors[i, 1], vectors[i, 2], out[i])
    return out


def rotate(orientation: Floats, vectors: Floats) -> Floats:
    """Return vectors (n, 3) rotated by unit quaternions (n, 4)."""
    return product(matrices(np.ascontiguousarray(orientation)), np.asarray(vectors)[..., None])[..., 0]


def rotation_vector(before: Floats, after: Floats) -> Floats:
    """Return the shortest rotation vector (rad, world axes) that rotates `before` (4,) to `after` (4,)."""
    return rotation_vectors(before[None], after[None])[0]


@kernel
def rotation_vectors(before, after):
    """As `rotation_vector`, (n, 3) of orientations (n, 4)."""
    out = np.empty((len(before), 3))
    for i in range(len(before)):
        p, q = before[i], after[i]
        w = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]
        x = p[0] * q[1] - q[0] * p[1] - (q[2] * p[3] - q[3] * p[2])
        y = p[0] * q[2] - q[0] * p[2] - (q[3] * p[1] - q[1] * p[3])
        z = p[0] * q[3] - q[0] * p[3] - (q[1] * p[2] - q[2] * p[1])
        size = np.sqrt(x * x + y * y + z * z)
        factor = 2.0 if size < NO_SINE else 2.0 * arctangent(size, abs(w)) / size
        if w < 0.0:
            factor = -factor
        out[i, 0], out[i, 1], out[i, 2] = factor * x, factor * y, factor * z
    return out
