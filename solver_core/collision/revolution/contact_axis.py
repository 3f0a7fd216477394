# SPDX-License-Identifier: GPL-3.0-or-later
"""The axis along which a cylinder or cone touches another convex shape: the closest direction, or that of least penetration.

An axis of overlap is refined by the closest points after a separation. If the shapes are moved apart along the axis n by
slightly more than the depth, they are closest along an axis n' whose depth is no larger:

    depth(n') = move n . n' - distance <= move - (move - depth(n)) = depth(n)

Repeated, this converges to the axis of least penetration nearby. Each step reduces the angle to it by the factor (depth + gap)
/ (rho + gap), where the radius of curvature rho there exceeds the depth. At a face one step is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.vec3 import add, distance2, divided, norm, scaled, sub
from ..polyhedra.hull_pair import MAX_AXES
from ..polyhedra.several_axes import SECOND_AXIS_TOLERANCE, add_axis, inset_margin, may_have_tied_axes, start_axes
from .closest_hull import APART, OUT_OF_REACH, OVERLAPPING, closest_to_hull, separation_of_hull
from .closest_revolution import closest_to_round, separation_of_round
from .expanding_polytope import penetration_axis
from .solid import RoundShape

__all__ = ["ContactAxis", "contact_axis"]

# Relative to the size of the round shape: the gap after the separation of overlapping shapes, and the distance below which the
# direction between closest points is lost to rounding.
REFINE_GAP_RATIO = 1e-3
MIN_DISTANCE_RATIO = 1e-5
MAX_AXIS_STEPS = 200
# Relative to the same size: a step that increases the separation by no more is the last one, and a step that decreases it by
# more is discarded.
MIN_GAIN_RATIO = 1e-15
MAX_LOSS_RATIO = 1e-13


class ContactAxis(NamedTuple):
    """The axis along which a round shape and another shape touch.

    touches: False if the distance exceeds the limit. distance: [m], minus the depth for an overlap.
    normal: unit vector from the round shape to the other one.
    point: of the other shape, where the shapes touch after a translation along the normal that leaves them just touching [m].
    vertices: the vertices whose hull contains the point; -1 for fewer than three, or if the other shape is not a polyhedron.
    """

    touches: bool
    distance: float
    normal: tuple[float, float, float]
    point: tuple[float, float, float]
    vertices: tuple[int, int, int]


@leaf_kernel
def translated(r, translation):
    """Return the round shape after a translation [m]."""
    return RoundShape(r.is_cone, r.radius, r.height, add(r.base, translation), r.axis, r.across)


@leaf_kernel
def closest_points(r, other, limit, noise):
    """Return the `Closest` points of the two shapes."""
    return closest_to_hull(r, other.hull, limit, noise) if other.is_hull else closest_to_round(r, other.round, limit, noise)


@leaf_kernel
def separation(r, other, axis):
    """Return the separation along a unit axis from the round shape to the other one [m]."""
    return separation_of_hull(r, other.hull, axis) if other.is_hull else separation_of_round(r, other.round, axis)


@kernel_part
def smaller_size(r, other):
    """Return the size of the smaller shape [m]; 0 for a flat polygon, whose entire border looks like an edge."""
    size = r.radius + r.height
    if not other.is_hull:
        return min(size, other.round.radius + other.round.height)
    hull = other.hull
    if len(hull.planes) <= 2:
        return 0.0
    return min(
        size, np.sqrt(distance2((hull.lower[0], hull.lower[1], hull.lower[2]), (hull.upper[0], hull.upper[1], hull.upper[2])))
    )


@leaf_kernel
def tied_normal(r, other, work, normal, distance):
    """Return whether several axes separate touching shapes, and the normal between these axes (see `several_axes`).

    Axes of overlap are as accurate as `penetration_axis`.

    normal, distance: the best axis and the separation along it [m].
    """
    size = smaller_size(r, other)
    if size == 0.0 or not may_have_tied_axes(distance, size):
        return False, normal
    margin = inset_margin(distance, size)
    translation = start_axes(work.axes, normal, distance, margin)
    for count in range(1, MAX_AXES):
        depth, next_axis = penetration_axis(translated(r, translation), other, work)
        if margin - depth <= SECOND_AXIS_TOLERANCE * margin:
            return count > 1, divided(translation, norm(translation))
        found, translation = add_axis(work.axes, count, next_axis, margin - depth, translation, margin)
        if not found:
            break
    return False, normal


@leaf_kernel
def contact_axis(r, other, limit, noise, work):
    """Return the `ContactAxis` of a round shape and an `OtherShape`.

    limit: largest distance of a contact [m]. noise: distance up to which the shapes count as touching [m].
    """
    state, distance, normal, point, vertices = closest_points(r, other, limit, noise)
    size = r.radius + r.height
    if state == OUT_OF_REACH:
        return ContactAxis(False, distance, normal, point, vertices)
    if state == OVERLAPPING:
        depth, normal = penetration_axis(r, other, work)
        distance = -depth
    elif distance > MIN_DISTANCE_RATIO * size:
        return ContactAxis(True, distance, normal, point, vertices)
    for _ in range(MAX_AXIS_STEPS):
        moved = translated(r, scaled(-(REFINE_GAP_RATIO * size - distance), normal))
        found = closest_points(moved, other, np.inf, noise)
        along = separation(r, other, found.normal)
        if found.state != APART or along < distance - MAX_LOSS_RATIO * size:
            break
        better = along > distance + MIN_GAIN_RATIO * size
        change = sub(found.normal, normal)
        distance, normal, point, vertices = along, found.normal, found.point, found.vertices
        if not better:
            break
        # If the radius of curvature barely exceeds the depth, steps are short. So a step is doubled while the separation grows.
        for _ in range(MAX_AXIS_STEPS):
            candidate = add(normal, change)
            candidate = divided(candidate, norm(candidate))
            along = separation(r, other, candidate)
            if along <= distance + MIN_GAIN_RATIO * size:
                break
            distance, normal = along, candidate
            change = scaled(2.0, change)
    several, between = tied_normal(r, other, work, normal, distance)
    if several:
        moved = translated(r, scaled(separation(r, other, between) - REFINE_GAP_RATIO * size, between))
        found = closest_points(moved, other, np.inf, noise)
        normal, point, vertices = between, found.point, found.vertices
    return ContactAxis(distance <= limit, distance, normal, point, vertices)
