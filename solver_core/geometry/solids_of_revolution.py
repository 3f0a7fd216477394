# SPDX-License-Identifier: GPL-3.0-or-later
"""Cylinders and cones as solids: bounds and moments in closed form.

The center of mass of a cylinder is the middle of its axis. Its second moments per volume are r^2/4 perpendicular to the axis
and h^2/12 along it. The center of mass of a cone is at h/4 over its base. A slice at height z has the radius r (1 - z/h), which
gives 3 r^2/20 perpendicular to the axis and 3 h^2/80 along it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..linalg.in_order import dot, length
from ..scene.spec import ShapeKind, ShapeSpec

__all__ = ["ROUND", "max_distance_from_origin", "round_bounds", "round_moments", "round_thickness"]

Array = NDArray[np.float64]

ROUND = (ShapeKind.CYLINDER, ShapeKind.CONE)


def round_bounds(shape: ShapeSpec) -> tuple[Array, Array]:
    """Return the lower and the upper corner (3,) of the bounds of a cylinder or a cone without its margin [m]."""
    base, top = np.asarray(shape.vertices, dtype=np.float64)
    axis = (top - base) / length(top - base)
    half = shape.radius * np.sqrt(np.maximum(1.0 - axis**2, 0.0))
    at_top = half if shape.kind is ShapeKind.CYLINDER else np.zeros(3)
    return np.minimum(base - half, top - at_top), np.maximum(base + half, top + at_top)


def max_distance_from_origin(shape: ShapeSpec) -> float:
    """Return the distance from the origin to the farthest point of a cylinder or a cone without its margin [m]."""
    base, top = np.asarray(shape.vertices, dtype=np.float64)
    axis = (top - base) / length(top - base)
    distances = [length(top)]
    for centre in (base, top) if shape.kind is ShapeKind.CYLINDER else (base,):
        along = dot(centre, axis)
        across = length(centre - along * axis) + shape.radius
        distances.append(math.sqrt(along * along + across * across))
    return max(distances)


def round_thickness(is_cone: bool, radius: float, height: float) -> float:
    """Return the smallest width of a cylinder or a cone, along its axis or perpendicular to its lateral surface [m]."""
    across = 2.0 * radius * height / math.sqrt(height * height + radius * radius) if is_cone else 2.0 * radius
    return float(min(height, across))


def round_moments(shape: ShapeSpec) -> tuple[float, Array, Array]:
    """Return the moments of a cylinder or a cone at unit density.

    Returns volume [m^3], center of mass (3,) [m], and inertia about it (3, 3) [m^5].
    """
    base, top = np.asarray(shape.vertices, dtype=np.float64)
    height = length(top - base)
    axis = (top - base) / height
    square = shape.radius * shape.radius
    if shape.kind is ShapeKind.CYLINDER:
        volume, centre, across, along = np.pi * square * height, 0.5 * (base + top), square / 4.0, height * height / 12.0
    else:
        volume, centre = np.pi * square * height / 3.0, 0.75 * base + 0.25 * top
        across, along = 3.0 * square / 20.0, 3.0 * height * height / 80.0
    # tr(C) 1 - C of the second moment C = across 1 + (along - across) axis axis^T.
    inertia = (across + along) * np.eye(3) - (along - across) * np.outer(axis, axis)
    return volume, centre, volume * inertia
