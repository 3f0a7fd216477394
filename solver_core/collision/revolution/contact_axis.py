# SPDX-License-Identifier: GPL-3.0-or-later
"""The axis along which a cylinder or cone and another convex body touch: closest points apart, least penetration in overlap.

An axis of overlap is made exact by the closest points of bodies apart. Moved apart along it by a little more than the depth,
the bodies are closest along an axis on which their depth is no greater, for the normal n' between the closest points has

    depth(n') = move n . n' - distance <= move - (move - depth(n)) = depth(n).

Repeated, this ends at the axis of least penetration nearby. The angle to that shrinks each time by (depth + gap) / (rho + gap),
rho being the radius of curvature there, which is more than the depth; at a face it ends in one step.
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

# Of the size of the round body: the gap to which overlapping bodies are moved apart, and that below which the direction
# between closest points is lost to rounding.
REFINE_GAP_RATIO = 1e-3
MIN_DISTANCE_RATIO = 1e-5
MAX_AXIS_STEPS = 200
# Of the same: a step by which the separation grows by no more has found nothing, one by which it falls by more went astray.
MIN_GAIN_RATIO = 1e-15
MAX_LOSS_RATIO = 1e-13


class ContactAxis(NamedTuple):
    """The axis along which a round body and another one touch.

    distance: m, or minus the depth; touches is False where it exceeds the limit. normal: unit, from the round body to the other
    one. point: of the other one, where the bodies touch when they are moved along the normal until they only do; it lies in the
    hull of the vertices, -1 where fewer do or the body is no hull.
    """

    touches: bool
    distance: float
    normal: tuple[float, float, float]
    point: tuple[float, float, float]
    vertices: tuple[int, int, int]


@leaf_kernel
def translated(r, translation):
    """The round body, moved."""
    return RoundShape(r.is_cone, r.radius, r.height, add(r.base, translation), r.axis, r.across)


@leaf_kernel
def closest_points(r, other, limit, noise):
    """The `Closest` points of the two bodies."""
    return closest_to_hull(r, other.hull, limit, noise) if other.is_hull else closest_to_round(r, other.round, limit, noise)


@leaf_kernel
def separation(r, other, axis):
    """Along a unit axis from the round body to the other one."""
    return separation_of_hull(r, other.hull, axis) if other.is_hull else separation_of_round(r, other.round, axis)


@kernel_part
def smaller_size(r, other):
    """Of the round body and the other one, in m; 0 for one that is flat, of which any border looks like an edge."""
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
    """The normal where several axes separate bodies that touch, see `several_axes`: (whether several do, the normal).

    normal: the best one, along which the distance is. Axes of overlap are as good as `least_penetration` finds them.
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
    """The `ContactAxis` of a round body and an `Other`. noise: m, up to this distance the bodies count as touching."""
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
        # Where the radius of curvature is little more than the depth, steps are short: a step is doubled as long as it pays.
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
