# SPDX-License-Identifier: GPL-3.0-or-later
"""Compounds: the simple shapes of which a shape consists, each with its pose in the body frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..linalg.in_order import length, product
from ..scene.spec import ShapeKind, ShapeSpec

__all__ = ["Part", "parts", "shifted"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """A shape that is not a compound. position, rotation: (3,) [m] and (3, 3), from its frame to that of the body."""

    shape: ShapeSpec
    position: Array
    rotation: Array


def parts(shape: ShapeSpec) -> Iterator[Part]:
    """Yield the simple shapes of a shape, in the order of its children; the shape itself if it is not a compound; none for
    NONE.
    """
    if shape.kind is ShapeKind.NONE:
        return
    if shape.kind is not ShapeKind.COMPOUND:
        yield Part(shape, np.zeros(3), np.eye(3))
        return
    for child in shape.children:
        turn = rotation_matrix(child.orientation)
        for part in parts(child.shape):
            yield Part(part.shape, product(turn, part.position) + child.position, product(turn, part.rotation))


def shifted(shape: ShapeSpec, by: Array) -> ShapeSpec:
    """Return a shape after a translation by (3,) [m]. Planes are returned unchanged, so their translation must be zero."""
    if shape.kind in (ShapeKind.PLANE, ShapeKind.NONE):
        return shape
    if shape.kind is ShapeKind.COMPOUND:
        return replace(shape, children=tuple(replace(child, position=child.position + by) for child in shape.children))
    return replace(shape, vertices=shape.vertices + by)


def rotation_matrix(quaternion: Array) -> Array:
    """Return the rotation matrix (3, 3) of a quaternion (w, x, y, z). That of the identity is exact."""
    q = np.asarray(quaternion, dtype=np.float64)
    w, x, y, z = (q / length(q)).tolist()
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
