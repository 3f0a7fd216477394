# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of joint angles that work at any angle.

If Y is near a right angle, the angles X and Z of a joint change by half a turn while its bodies hardly rotate. Their rates are
unbounded there, so a linear row for X <= u says nothing about the end of the step. A joint of the form `EULER_STEEP` has rows
for smooth functions of the rotation in place of the angles. With r = cos Y and a limit u,

    r sin(X - u) = a_Z . (b_Y cos u - b_Z sin u),    r sin(Z - u) = b_X . (a_Y cos u - a_X sin u),

are the distances of a_Z and b_X from the plane that the limit allows them to reach. The derivatives of both are at most 1. Near
the limit, both are the angle beyond it times r, which is the path length of the axis. Limits of X up to half a turn apart form
the lune between two such planes. Limits farther apart exclude a lune, and its nearer plane counts; the value is -r if the angle
is more than a right angle away from it.

At the pole the planes leave the twist X - Z (Y > 0) or X + Z (Y < 0) free. So joints with limits of X and Z have two more rows:
lower_X - upper_Z <= X - Z <= upper_X - lower_Z and the like. The limits of X and of Z imply them, and

    d(X - Z) = w . (b_X - a_Z) / (1 + sin Y),    d(X + Z) = w . (b_X + a_Z) / (1 - sin Y)

have no singularity at their pole (Diebel 2006, Representing attitude, section 5.6, gives the singular rates of X and Z).
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel, leaf_kernel
from ...linalg.elementary import arctangent, sine_and_cosine
from ...linalg.vec3 import add, cross, divided, dot, scaled, sub, vec
from .coordinates import (
    AT_LEAST,
    AT_MOST,
    EULER_STEEP,
    HOLD,
    NEAR_POLE,
    RIGHT_ANGLE,
    TURN,
    X_ROTATION,
    Y_ROTATION,
)

__all__ = ["farthest_off", "row_direction", "row_value"]

HALF_TURN, QUARTER_TURN = 0.5 * TURN, 0.25 * TURN
FAR_INSIDE = np.pi  # rad inside its limit; the value of a row that cannot act in a step
BELOW_RIGHT_ANGLE = QUARTER_TURN - 1e-6


@kernel
def farthest_off(rows, frames, found, out):
    """Write the largest violation of each measured joint to `out` (j,), in lengths. found: their `Coordinates`."""
    out[:] = 0.0
    for r in range(rows.joint.size):
        j, c = rows.joint[r], rows.coordinate[r]
        off = row_value(rows, r, frames, found) - rows.target[r]
        if rows.kind[r] == HOLD:
            off = abs(off)
        elif rows.kind[r] == AT_LEAST:
            off = -off
        elif rows.kind[r] != AT_MOST:
            continue
        out[j] = max(out[j], off if c >= 3 else off / frames.length[j])


@inlined_kernel
def row_value(rows, r, frames, found):
    """Return the value of row r, in m or rad. It equals the row's target if the coordinate is at its limit or locked value.

    The value is that of the coordinate, except for rows that lock or limit an angle of a joint of the form `EULER_STEEP`.

    rows: the `Rows` of joints. frames: their `Frames`. found: their `Coordinates`.
    """
    if _is_steep(rows, r, frames):
        return _steep_value(rows, r, frames, found)
    return found.value[rows.joint[r], rows.coordinate[r]]


@inlined_kernel
def row_direction(rows, r, frames, found):
    """Return (3,) the derivative of a row's value by the rotation vector, or by the displacement, of B relative to A."""
    if _is_steep(rows, r, frames):
        return _steep_direction(rows, r, frames, found)
    return vec(found.direction[rows.joint[r]], rows.coordinate[r])


@inlined_kernel
def _is_steep(rows, r, frames):
    """Return whether row r locks or limits an angle of a joint of the form `EULER_STEEP`."""
    return rows.coordinate[r] >= 3 and rows.kind[r] <= AT_MOST and frames.form[rows.joint[r]] == EULER_STEEP


@leaf_kernel
def _steep_value(rows, r, frames, found):
    """Return `row_value` of a row that locks or limits an angle of a joint of the form `EULER_STEEP`."""
    j, c, kind = rows.joint[r], rows.coordinate[r], rows.kind[r]
    sign = -1.0 if kind == AT_LEAST else 1.0
    if rows.is_twist[r]:
        return sign * _twist_beyond(frames.limits[j], found, j, sign)
    target, angle = rows.target[r], found.value[j, c]
    lower, upper = frames.limits[j, c - 3, 0], frames.limits[j, c - 3, 1]
    if c == Y_ROTATION:
        # If both limits are within a right angle, so is Y, and it cannot pass a limit that is a right angle.
        is_bound = lower >= -RIGHT_ANGLE and upper <= RIGHT_ANGLE and abs(target) > BELOW_RIGHT_ANGLE and kind != HOLD
        return target - sign * FAR_INSIDE if is_bound else angle
    radius, beyond = _radius(found, j), sign * (angle - target)
    if kind == HOLD and beyond < 0.0:
        return target - radius * _distance(-beyond, True, radius)
    return target + sign * radius * _distance(beyond, upper - lower <= HALF_TURN, radius)


@leaf_kernel
def _steep_direction(rows, r, frames, found):
    """Return `row_direction` of a row that locks or limits an angle of a joint of the form `EULER_STEEP`."""
    j, c, kind = rows.joint[r], rows.coordinate[r], rows.kind[r]
    if c == Y_ROTATION:
        return vec(found.direction[j], c)
    if rows.is_twist[r]:
        return _twist_direction(found, j)
    sign = -1.0 if kind == AT_LEAST else 1.0
    target, angle = rows.target[r], found.value[j, c]
    is_lune = frames.limits[j, c - 3, 1] - frames.limits[j, c - 3, 0] <= HALF_TURN
    beyond, plane = sign * (angle - target), target
    if kind == HOLD:
        beyond = abs(beyond)
    if beyond > QUARTER_TURN and _radius(found, j) >= NEAR_POLE:
        plane = angle
    elif beyond < -QUARTER_TURN and not is_lune:
        plane = angle + sign * QUARTER_TURN
    sine, cosine = sine_and_cosine(plane)
    a, b = found.axes[j, 0], found.axes[j, 1]
    if c == X_ROTATION:
        normal = sub(scaled(cosine, vec(b, 1)), scaled(sine, vec(b, 2)))
        direction = cross(normal, vec(a, 2))
    else:
        normal = sub(scaled(cosine, vec(a, 1)), scaled(sine, vec(a, 0)))
        direction = cross(vec(b, 0), normal)
    return scaled(found.chart[j], direction)


@leaf_kernel
def _radius(found, j):
    """Return the cosine of Y, which is the distance of b_X from the axis a_Z."""
    first = vec(found.axes[j, 1], 0)
    x, y = dot(vec(found.axes[j, 0], 0), first), dot(vec(found.axes[j, 0], 1), first)
    return np.sqrt(x * x + y * y)


@leaf_kernel
def _distance(beyond, is_lune, radius):
    """Return the distance of an axis from its plane, divided by the radius. beyond: rad, its angle beyond the limit."""
    if beyond > QUARTER_TURN and radius >= NEAR_POLE:
        return 1.0 + beyond - QUARTER_TURN
    if beyond < -QUARTER_TURN and not is_lune:
        return -1.0
    # Within a lune, the sines for both of its limits are negative.
    return sine_and_cosine(max(beyond, -HALF_TURN))[0]


@leaf_kernel
def _twist_beyond(limits, found, j, sign):
    """Return rad by which the twist about the pole exceeds the upper (sign 1) or lower (-1) limit implied by X and Z."""
    a, b = found.axes[j, 0], found.axes[j, 1]
    if _radius(found, j) >= NEAR_POLE:
        return -FAR_INSIDE
    if dot(vec(b, 0), vec(a, 2)) < 0.0:
        lower, upper = limits[0, 0] - limits[2, 1], limits[0, 1] - limits[2, 0]
        sine = dot(vec(a, 0), vec(b, 1)) - dot(vec(a, 1), vec(b, 2))
        cosine = dot(vec(a, 0), vec(b, 2)) + dot(vec(a, 1), vec(b, 1))
    else:
        lower, upper = limits[0, 0] + limits[2, 0], limits[0, 1] + limits[2, 1]
        sine = -dot(vec(a, 0), vec(b, 1)) - dot(vec(a, 1), vec(b, 2))
        cosine = dot(vec(a, 1), vec(b, 1)) - dot(vec(a, 0), vec(b, 2))
    if not upper - lower < TURN:
        return -FAR_INSIDE
    twist, middle = arctangent(sine, cosine), 0.5 * (lower + upper)
    twist += TURN * np.round((middle - twist) / (TURN))
    return twist - upper if sign > 0.0 else lower - twist


@leaf_kernel
def _twist_direction(found, j):
    """Return (3,) the derivative of the twist about the pole by the rotation vector of B relative to A."""
    first, last = vec(found.axes[j, 1], 0), vec(found.axes[j, 0], 2)
    along = dot(first, last)
    return divided(sub(first, last), 1.0 - along) if along < 0.0 else divided(add(first, last), 1.0 + along)
