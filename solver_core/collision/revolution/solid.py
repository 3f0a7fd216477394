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
    "RoundShape",
    "cap_middle",
    "inner_point",
    "perpendicular_unit",
    "radial_direction",
    "radial_part",
    "rim_axes",
    "rim_point",
    "round_shape_at",
    "side_normal",
    "signed_distance",
    "support",
]

# The part of the surface that is closest to a point.
BASE = 0
TOP = 1
SIDE = 2
RIM = 3
APEX = 4

# Of a vector: a part across the axis that is nothing but rounding.
NO_RADIAL_PART = 1e-14


class RoundShape(NamedTuple):
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
def perpendicular_unit(axis):
    """A unit vector perpendicular to a unit vector."""
    vector = perpendicular(axis, 1.0)
    return divided(vector, norm(vector))


@leaf_kernel
def round_shape_at(shapes, i, turn, shift):
    """The cylinder or cone in row i of the shape table, turned by (3, 3) and moved by (3,)."""
    first = shapes.first_vertex[i]
    base = vec(shapes.vertices, first)
    axis = sub(vec(shapes.vertices, first + 1), base)
    height = norm(axis)
    axis = divided(axis, height)
    return RoundShape(
        shapes.kind[i] == CONE,
        shapes.round_radius[i],
        height,
        add(rotated(turn, base), shift),
        rotated(turn, axis),
        rotated(turn, perpendicular_unit(axis)),
    )


@leaf_kernel
def inner_point(r):
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
    outwards = radial_part(r, away, height)
    rho = norm(outwards)
    outwards = divided(outwards, rho) if rho > NO_RADIAL_PART * r.radius else r.across
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
def radial_part(r, vector, along):
    """The part of a vector across the axis; `along` is that along it.

    Taken twice: the first difference's rounding is along the axis, and large against what is left of a nearly axial vector.
    """
    part = advanced(vector, -along, r.axis)
    return advanced(part, -dot(part, r.axis), r.axis)


@leaf_kernel
def radial_direction(r, direction):
    """The direction of a unit vector's part across the axis, any where it has none but rounding, and that part's length."""
    part = radial_part(r, direction, dot(direction, r.axis))
    length = norm(part)
    if length <= NO_RADIAL_PART:
        return r.across, 0.0
    return divided(part, length), length


@leaf_kernel
def support(r, direction):
    """The farthest point along a vector of any length; the middle of a cap that looks straight there."""
    along = dot(direction, r.axis)
    part = radial_part(r, direction, along)
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
