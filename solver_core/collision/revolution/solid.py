# SPDX-License-Identifier: GPL-3.0-or-later
"""Cylinders and cones as exact surfaces: distance, support and candidate points.

Both are solids of revolution of a convex polygon. In the half plane of the distance rho from the axis and the height z over the
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
    "side_distance",
    "side_normal",
    "signed_distance",
    "support",
]

# Parts of the surface.
BASE = 0
TOP = 1
SIDE = 2
RIM = 3
APEX = 4

# Relative to the length of a vector: a smaller radial part is rounding.
NO_RADIAL_PART = 1e-14


class RoundShape(NamedTuple):
    """A cylinder or a cone in the frame of its pair.

    radius, height: [m]. base: center of the base [m]. axis: unit vector from the base to the top or the apex.
    across: unit vector perpendicular to the axis, fixed in the body.
    """

    is_cone: bool
    radius: float
    height: float
    base: tuple[float, float, float]
    axis: tuple[float, float, float]
    across: tuple[float, float, float]


@leaf_kernel
def perpendicular_unit(axis):
    """Return a unit vector perpendicular to a unit vector."""
    vector = perpendicular(axis, 1.0)
    return divided(vector, norm(vector))


@leaf_kernel
def round_shape_at(shapes, i, turn, shift):
    """Return the cylinder or cone in row i of the shape table, after a rotation (3, 3) and a translation (3,) [m]."""
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
    """Return a point well inside the shape [m]."""
    return advanced(r.base, 0.25 * r.height if r.is_cone else 0.5 * r.height, r.axis)


@inlined_kernel
def cap_middle(r, top):
    """Return the center of the base or of the top [m]; for a cone the top is the apex."""
    return advanced(r.base, r.height if top else 0.0, r.axis)


@inlined_kernel
def rim_axes(r):
    """Return two perpendicular unit vectors, both perpendicular to the axis and fixed in the body."""
    return r.across, cross(r.axis, r.across)


@inlined_kernel
def rim_point(r, lift, cosine, sine):
    """Return the point of a rim, `lift` above the base [m], at the angle from `across` with the given cosine and sine."""
    e, h = rim_axes(r)
    return advanced(advanced(r.base, lift, r.axis), r.radius, add(scaled(cosine, e), scaled(sine, h)))


@leaf_kernel
def side_normal(r):
    """Return the radial and the axial component of the unit normal of the lateral surface."""
    if not r.is_cone:
        return 1.0, 0.0
    slant = np.sqrt(r.height * r.height + r.radius * r.radius)
    return r.height / slant, r.radius / slant


@leaf_kernel
def signed_distance(r, point):
    """Return the signed distance of a point from the surface, negative inside [m], the unit normal, and the closest part."""
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
def side_distance(r, point):
    """Return the signed distance of a point from the lateral surface, extended past its ends, and the unit normal there.

    At an end of the side, rounding would choose between side and cap in `signed_distance`.
    """
    away = sub(point, r.base)
    height = dot(away, r.axis)
    outwards = radial_part(r, away, height)
    rho = norm(outwards)
    outwards = divided(outwards, rho) if rho > NO_RADIAL_PART * r.radius else r.across
    radial, axial = side_normal(r)
    return radial * (rho - r.radius) + axial * height, add(scaled(radial, outwards), scaled(axial, r.axis))


@leaf_kernel
def radial_part(r, vector, along):
    """Return the part of a vector perpendicular to the axis. along: component on the axis.

    The projection is done twice. The rounding error of the first one is axial, and large compared with the rest of a nearly
    axial vector.
    """
    part = advanced(vector, -along, r.axis)
    return advanced(part, -dot(part, r.axis), r.axis)


@leaf_kernel
def radial_direction(r, direction):
    """Return the unit radial direction of a unit vector and the length of its radial part; any direction and 0 for an axial
    vector.
    """
    part = radial_part(r, direction, dot(direction, r.axis))
    length = norm(part)
    if length <= NO_RADIAL_PART:
        return r.across, 0.0
    return divided(part, length), length


@leaf_kernel
def support(r, direction):
    """Return the point farthest along a vector of any length [m]; the center of a cap for an axial vector."""
    along = dot(direction, r.axis)
    part = radial_part(r, direction, along)
    length = norm(part)
    # A radial part that is only rounding must not choose a point of the rim.
    scale = r.radius / length if length > 1e-15 * abs(along) else 0.0
    if r.is_cone:
        if along * r.height > r.radius * length:
            return advanced(r.base, r.height, r.axis)
        lift = 0.0
    else:
        lift = r.height if along > 0.0 else 0.0
    return advanced(advanced(r.base, lift, r.axis), scale, part)
