# SPDX-License-Identifier: GPL-3.0-or-later
"""World poses of colliders, and the contacts of their surfaces in world coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel
from ..linalg.vec3 import ZERO, advanced, set_vec, vec
from .grouping import child_feature_id

__all__ = ["Poses", "place_contacts"]

Array = NDArray[np.float64]


class Poses(NamedTuple):
    """World poses of the c colliders: position (c, 3) [m] and rotation (c, 3, 3)."""

    position: Array
    rotation: Array


@inlined_kernel
def to_world(origin, rotation, v):
    """Return origin + rotation v, summed column by column."""
    for k in range(3):
        origin = advanced(origin, v[k], (rotation[0, k], rotation[1, k], rotation[2, k]))
    return origin


@inlined_kernel
def place_contacts(found, shapes, poses, a, b, frame, count):
    """Append the contacts in the first `count` free rows of a buffer, which are between the cores of colliders a and b.

    Their points, normals and gaps become those of the surfaces in world coordinates.

    frame: the collider in whose frame the contacts are.
    """
    out = found.contacts
    body_a, body_b = shapes.body[a], shapes.body[b]
    margin_a, margin_b = shapes.margin[a], shapes.margin[b]
    first_a, first_b = shapes.first_collider[body_a], shapes.first_collider[body_b]
    alone = shapes.first_collider[body_a + 1] - first_a == 1 and shapes.first_collider[body_b + 1] - first_b == 1
    # Offset from midway between the cores to midway between the surfaces with margin.
    shifted = 0.5 * (margin_a - margin_b)
    total = found.used[0]
    for row in range(total, total + count):
        out.body_a[row] = body_a
        out.body_b[row] = body_b
        out.gap[row] = out.gap[row] - margin_a - margin_b
        if not alone:
            out.feature[row] = child_feature_id(out.feature[row], a - first_a, b - first_b)
        normal = vec(out.normal, row)
        middle = advanced(vec(out.point, row), shifted, normal)
        set_vec(out.point, row, to_world(vec(poses.position, frame), poses.rotation[frame], middle))
        set_vec(out.normal, row, to_world(ZERO, poses.rotation[frame], normal))
    found.used[0] = total + count
