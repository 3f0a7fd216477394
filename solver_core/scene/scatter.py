# SPDX-License-Identifier: GPL-3.0-or-later
"""Random changes of the initial poses of bodies, reproducible by a seed."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .spec import BodySpec, SceneSpec, ShapeSpec

__all__ = ["scattered"]

Array = NDArray[np.float64]

# Normally distributed numbers per body: an axis of rotation, and a direction.
DIRECTIONS = 2


def scattered(spec: SceneSpec, moving: Collection[str], seed: int, distance: float, angle: float) -> SceneSpec:
    """Move and turn bodies at random from where they start.

    Each body is moved by a vector that is uniform in a ball, and turned about the center of its shape's bounds around an axis
    that is uniform on the sphere, by an angle that is uniform between 0 and the largest one. The change of a body depends on
    the seed and on its place among the moving bodies in the order of their names.

    Parameters
    ----------
    spec : the scene.
    moving : names of the bodies that are moved.
    seed : not negative.
    distance : m, the largest displacement.
    angle : rad, the largest rotation.

    Returns
    -------
    The scene with other positions and orientations of these bodies.

    Raises
    ------
    ValueError : the seed, the distance or the angle is negative or not finite.
    """
    for name, value in (("seed", seed), ("distance", distance), ("angle", angle)):
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"{name} must be finite and not negative, not {value}")
    random = np.random.default_rng(seed)
    changed: dict[str, BodySpec] = {}
    for body in sorted((body for body in spec.bodies if body.name in moving), key=lambda body: body.name):
        axis, direction = random.normal(size=(DIRECTIONS, 3))
        share, turn = random.random(2)
        shift = distance * np.cbrt(share) * direction / np.linalg.norm(direction)
        changed[body.name] = turned(body, axis / np.linalg.norm(axis), angle * turn, shift)
    return replace(spec, bodies=tuple(changed.get(body.name, body) for body in spec.bodies))


def turned(body: BodySpec, axis: Array, angle: float, shift: Array) -> BodySpec:
    """Turn a body about the center of its shape's bounds, and move it.

    Parameters
    ----------
    axis : (3,) unit vector, world axes.
    angle : rad.
    shift : (3,) m, world axes.
    """
    w, x, y, z = body.orientation
    a, (b, c, d) = math.cos(0.5 * angle), math.sin(0.5 * angle) * axis
    orientation = np.array(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ]
    )
    center = center_of_bounds(body.shape)
    pivot = body.position + rotated(body.orientation, center)
    return replace(body, position=pivot + shift - rotated(orientation, center), orientation=orientation)


def center_of_bounds(shape: ShapeSpec) -> Array:
    """(3,) m, the middle of the bounds of the points of a shape and its children; the origin of a shape without points."""
    points = points_of(shape)
    return 0.5 * (points.min(axis=0) + points.max(axis=0)) if len(points) else np.zeros(3)


def points_of(shape: ShapeSpec) -> Array:
    """(n, 3) m, the vertices of a shape and its children in the axes of the shape."""
    children = (
        np.array([child.position + rotated(child.orientation, point) for point in points_of(child.shape)]).reshape(-1, 3)
        for child in shape.children
    )
    return np.concatenate([np.asarray(shape.vertices, dtype=np.float64).reshape(-1, 3), *children])


def rotated(orientation: Array, vector: Array) -> Array:
    """(3,) a vector turned by a quaternion (w, x, y, z)."""
    w, axis = orientation[0] / np.linalg.norm(orientation), orientation[1:] / np.linalg.norm(orientation)
    across = np.cross(axis, vector)
    return vector + 2.0 * (w * across + np.cross(axis, across))
