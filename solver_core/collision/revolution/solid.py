# SPDX-License-Identifier: GPL-3.0-or-later
"""Cylinders and cones as exact surfaces: distance, support and the points of theirs that can touch.

Both are solids of revolution of a convex polygon: in the half plane of the distance rho from the axis and the height z over the
base, a cylinder is a rectangle and a cone a triangle. The signed distance of a point is that of (rho, z) from the polygon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import inlined_kernel, leaf_kernel
from ...geometry.shapes import CONE
from ...linalg.vec3 import add, advanced, cross, divided, dot, norm, perpendicular, rotated, scaled, sub, vec

__all__ = [
    "APEX",
    "BASE",
    "RIM",
    "SIDE",
    "TOP",
    "Round",
    "across",
    "cap_middle",
    "centre_of",
    "part_across",
    "rim_axes",
    "rim_point",
    "round_at",
    "side_distance",
    "side_normal",
    "signed_distance",
    "support",
    "unit_across",
]

# The part of the surface that is closest to a point.
BASE = 0
TOP = 1
SIDE = 2
RIM = 3
APEX = 4

# Of a vector: a part across the axis that is nothing but rounding.
NO_PART = 1e-14


class Round(NamedTuple):
    """A cylinder or a cone in the frame of its pair, in m.

    base: centre of the base; axis: unit, from there to the top's centre or the apex; across: a unit vector across the axis that
    turns with the body.
    """

    is_cone: bool
    radius: float
    height: float
    base: tuple[float, float, float]
    axis: tuple[float, float, float]
    across: tuple[float, float, float]


@leaf_kernel
def across(axis):
    """A unit vector perpendicular to a unit vector."""
    vector = perpendicular(axis, 1.0)
    return divided(vector, norm(vector))


@leaf_kernel
def round_at(shapes, i, turn, shift):
    """The cylinder or cone in row i of the shape table, turned by (3, 3) and moved by (3,)."""
    first = shapes.first_vertex[i]
    base = vec(shapes.vertices, first)
    axis = sub(vec(shapes.vertices, first + 1), base)
    height = norm(axis)
    axis = divided(axis, height)
    return Round(
        shapes.kind[i] == CONE,
        shapes.round_radius[i],
        height,
        add(rotated(turn, base), shift),
        rotated(turn, axis),
        rotated(turn, across(axis)),
    )


@leaf_kernel
def centre_of(r):
    """A point well inside."""
    return advanced(r.base, 0.25 * r.height if r.is_cone else 0.5 * r.height, r.axis)


@inlined_kernel
def cap_middle(r, top):
    """The middle of the base, or of the top; the apex of a cone."""
    return advanced(r.base, r.height if top else 0.0, r.axis)


@inlined_kernel
def rim_axes(r):
    """Two unit vectors across the axis and each other, that turn with the body."""
    return r.across, cross(r.axis, r.across)


@inlined_kernel
def rim_point(r, lift, cosine, sine):
    """The point of the rim at `lift` over the base and at an angle from `across`."""
    e, h = rim_axes(r)
    return advanced(advanced(r.base, lift, r.axis), r.radius, add(scaled(cosine, e), scaled(sine, h)))


@leaf_kernel
def side_normal(r):
    """Components of the side's outward unit normal (across the axis, along it)."""
    if not r.is_cone:
        return 1.0, 0.0
    slant = np.sqrt(r.height * r.height + r.radius * r.radius)
    return r.height / slant, r.radius / slant


@leaf_kernel
def signed_distance(r, point):
    """Distance of a point from the surface, negative inside: (distance, unit normal there, part of the surface)."""
    away = sub(point, r.base)
    height = dot(away, r.axis)
    outwards = part_across(r, away, height)
    rho = norm(outwards)
    outwards = divided(outwards, rho) if rho > NO_PART * r.radius else r.across
    out = rho - r.radius
    if r.is_cone:
        slant = np.sqrt(r.height * r.height + r.radius * r.radius)
        over = (r.height * out + r.radius * height) / slant
        along = (r.height * height - r.radius * out) / slant
        if height < 0.0 and out <= 0.0:
            distance, part, radial, axial = -height, BASE, 0.0, -1.0
        elif height >= 0.0 and over <= 0.0:
            if over > -height:
                distance, part, radial, axial = over, SIDE, r.height / slant, r.radius / slant
            else:
                distance, part, radial, axial = -height, BASE, 0.0, -1.0
        elif along < 0.0:
            distance = np.sqrt(out * out + height * height)
            part, radial, axial = RIM, out / distance, height / distance
        elif along > slant:
            beyond = height - r.height
            distance = np.sqrt(rho * rho + beyond * beyond)
            part, radial, axial = APEX, rho / distance, beyond / distance
        else:
            distance, part, radial, axial = over, SIDE, r.height / slant, r.radius / slant
    else:
        at_top = height > 0.5 * r.height
        beyond = height - r.height if at_top else -height
        sign = 1.0 if at_top else -1.0
        if out > 0.0 and beyond > 0.0:
            distance = np.sqrt(out * out + beyond * beyond)
            part, radial, axial = RIM, out / distance, sign * beyond / distance
        elif out > beyond:
            distance, part, radial, axial = out, SIDE, 1.0, 0.0
        else:
            distance, part, radial, axial = beyond, TOP if at_top else BASE, 0.0, sign
    return distance, add(scaled(radial, outwards), scaled(axial, r.axis)), part


@leaf_kernel
def side_distance(r, point):
    """Distance of a point from the side's surface, extended past its ends, negative inside: (distance, unit normal there).

    At an end of the side, rounding would choose between the side and the cap in `signed_distance`.
    """
    away = sub(point, r.base)
    height = dot(away, r.axis)
    outwards = part_across(r, away, height)
    rho = norm(outwards)
    outwards = divided(outwards, rho) if rho > NO_PART * r.radius else r.across
    radial, axial = side_normal(r)
    return radial * (rho - r.radius) + axial * height, add(scaled(radial, outwards), scaled(axial, r.axis))


@leaf_kernel
def part_across(r, vector, along):
    """The part of a vector across the axis; `along` is that along it.

    Taken twice: the first difference's rounding is along the axis, and large against what is left of a nearly axial vector.
    """
    part = advanced(vector, -along, r.axis)
    return advanced(part, -dot(part, r.axis), r.axis)


@leaf_kernel
def unit_across(r, direction):
    """The direction of a unit vector's part across the axis, any where it has none but rounding, and that part's length."""
    part = part_across(r, direction, dot(direction, r.axis))
    length = norm(part)
    if length <= NO_PART:
        return r.across, 0.0
    return divided(part, length), length


@leaf_kernel
def support(r, direction):
    """The farthest point along a vector of any length; the middle of a cap that looks straight there."""
    along = dot(direction, r.axis)
    part = part_across(r, direction, along)
    length = norm(part)
    # Where nothing but rounding is left across the axis, it must not choose a point of the rim.
    scale = r.radius / length if length > 1e-15 * abs(along) else 0.0
    if r.is_cone:
        if along * r.height > r.radius * length:
            return advanced(r.base, r.height, r.axis)
        lift = 0.0
    else:
        lift = r.height if along > 0.0 else 0.0
    return advanced(advanced(r.base, lift, r.axis), scale, part)
