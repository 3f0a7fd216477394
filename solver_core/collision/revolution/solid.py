# SPDX-License-Identifier: GPL-3.0-or-later
"""Cylinders and cones as exact surfaces: distance, support and the points of theirs that can touch.

Both are solids of revolution of a convex polygon: in the half plane of the distance rho from the axis and the height z over the
base, a cylinder is a rectangle and a cone a triangle. The signed distance of a point is that of (rho, z) from the polygon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import leaf_kernel
from ...geometry.shapes import CONE

__all__ = [
    "APEX",
    "BASE",
    "RIM",
    "SIDE",
    "TOP",
    "Round",
    "centre_of",
    "part_across",
    "round_at",
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


class Round(NamedTuple):
    """A cylinder or a cone in the frame of its pair, in m.

    (x, y, z): centre of the base; (u, v, w): unit axis, from there to the top's centre or the apex; (e, f, g): a unit vector
    across the axis that turns with the body.
    """

    is_cone: bool
    radius: float
    height: float
    x: float
    y: float
    z: float
    u: float
    v: float
    w: float
    e: float
    f: float
    g: float


@leaf_kernel
def turned(turn, x, y, z):
    return (
        turn[0, 0] * x + turn[0, 1] * y + turn[0, 2] * z,
        turn[1, 0] * x + turn[1, 1] * y + turn[1, 2] * z,
        turn[2, 0] * x + turn[2, 1] * y + turn[2, 2] * z,
    )


@leaf_kernel
def across(u, v, w):
    """A unit vector perpendicular to the unit vector (u, v, w): the coordinate axis least along it, made perpendicular."""
    if abs(w) <= abs(u) and abs(w) <= abs(v):
        x, y, z = -w * u, -w * v, 1.0 - w * w
    elif abs(v) <= abs(u):
        x, y, z = -v * u, 1.0 - v * v, -v * w
    else:
        x, y, z = 1.0 - u * u, -u * v, -u * w
    length = np.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


@leaf_kernel
def round_at(shapes, i, turn, shift):
    """The cylinder or cone in row i of the shape table, turned by (3, 3) and moved by (3,)."""
    first = shapes.first_vertex[i]
    x, y, z = shapes.vertices[first, 0], shapes.vertices[first, 1], shapes.vertices[first, 2]
    u, v, w = shapes.vertices[first + 1, 0] - x, shapes.vertices[first + 1, 1] - y, shapes.vertices[first + 1, 2] - z
    height = np.sqrt(u * u + v * v + w * w)
    u, v, w = u / height, v / height, w / height
    e, f, g = across(u, v, w)
    e, f, g = turned(turn, e, f, g)
    u, v, w = turned(turn, u, v, w)
    x, y, z = turned(turn, x, y, z)
    return Round(
        shapes.kind[i] == CONE,
        shapes.round_radius[i],
        height,
        x + shift[0],
        y + shift[1],
        z + shift[2],
        u,
        v,
        w,
        e,
        f,
        g,
    )


@leaf_kernel
def centre_of(r):
    """A point well inside."""
    part = 0.25 * r.height if r.is_cone else 0.5 * r.height
    return r.x + part * r.u, r.y + part * r.v, r.z + part * r.w


@leaf_kernel
def side_normal(r):
    """Components of the side's outward unit normal (across the axis, along it)."""
    if not r.is_cone:
        return 1.0, 0.0
    slant = np.sqrt(r.height * r.height + r.radius * r.radius)
    return r.height / slant, r.radius / slant


@leaf_kernel
def signed_distance(r, x, y, z):
    """Distance of a point from the surface, negative inside: (distance, unit normal there (3), part of the surface)."""
    dx, dy, dz = x - r.x, y - r.y, z - r.z
    height = dx * r.u + dy * r.v + dz * r.w
    ax, ay, az = part_across(r, dx, dy, dz, height)
    rho = np.sqrt(ax * ax + ay * ay + az * az)
    if rho > 1e-14 * r.radius:
        ax, ay, az = ax / rho, ay / rho, az / rho
    else:
        ax, ay, az = r.e, r.f, r.g
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
    return distance, radial * ax + axial * r.u, radial * ay + axial * r.v, radial * az + axial * r.w, part


@leaf_kernel
def part_across(r, x, y, z, along):
    """The part of a vector across the axis; `along` is that along it.

    Taken twice: the first difference's rounding is along the axis, and large against what is left of a nearly axial vector.
    """
    ax, ay, az = x - along * r.u, y - along * r.v, z - along * r.w
    rest = ax * r.u + ay * r.v + az * r.w
    return ax - rest * r.u, ay - rest * r.v, az - rest * r.w


@leaf_kernel
def unit_across(r, x, y, z):
    """The direction of a unit vector's part across the axis, any where it has none but rounding, and that part's length."""
    along = x * r.u + y * r.v + z * r.w
    ax, ay, az = part_across(r, x, y, z, along)
    length = np.sqrt(ax * ax + ay * ay + az * az)
    if length <= 1e-14:
        return r.e, r.f, r.g, 0.0
    return ax / length, ay / length, az / length, length


@leaf_kernel
def support(r, x, y, z):
    """The farthest point along (x, y, z), which need not be a unit vector; the middle of a cap that looks straight there."""
    along = x * r.u + y * r.v + z * r.w
    ax, ay, az = part_across(r, x, y, z, along)
    length = np.sqrt(ax * ax + ay * ay + az * az)
    # Where nothing but rounding is left across the axis, it must not choose a point of the rim.
    scale = r.radius / length if length > 1e-15 * abs(along) else 0.0
    if r.is_cone:
        if along * r.height > r.radius * length:
            return r.x + r.height * r.u, r.y + r.height * r.v, r.z + r.height * r.w
        lift = 0.0
    else:
        lift = r.height if along > 0.0 else 0.0
    return r.x + lift * r.u + scale * ax, r.y + lift * r.v + scale * ay, r.z + lift * r.w + scale * az
