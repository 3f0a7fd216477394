# SPDX-License-Identifier: GPL-3.0-or-later
"""The relative coordinates of a joint's two frames: three displacements, three angles, and the rates of all of them.

a_i and b_i are the axes of A's and of B's joint frame, d is the vector from A's origin to B's, and w is the angular velocity of
B relative to A.

    q_i = a_i . d,    i = X, Y, Z;    its rate is that of B's origin relative to the coincident point of A

The angles are those of the rotations about A's X, then its Y, then its Z that map A's axes to B's, B = Rz Ry Rx. Their rates
are the products of w with the reciprocal basis of the three axes b_X, Rz Y and a_Z. Y stays within a right angle. If two of the
three angles are locked, the third one is unbounded: the coordinates are the tilts of the free axis, b_k . a_j and b_k . a_i,
and the angle about it. If all three are locked, the coordinates are the rotation vector.

Every orientation has two triples of angles: X, Y, Z and X + pi, pi - Y, Z + pi. A joint of the form `EULER_STEEP` has limits
that let Y come near a right angle or pass it. It uses the triple that violates its limits less. `limits.py` describes how its
limits act.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel, leaf_kernel
from ...linalg.elementary import arcsine, arctangent, sine_and_cosine
from ...linalg.vec3 import add, advanced, cross, divided, dot, norm, rotated, scaled, set_vec, sub, vec
from ...scene.joints import FREE_AXIS, AxisSpec, JointSpec

__all__ = [
    "AT_LEAST",
    "AT_MOST",
    "EULER_STEEP",
    "HOLD",
    "NEAR_POLE",
    "RIGHT_ANGLE",
    "TURN",
    "VECTOR",
    "X_ROTATION",
    "Y_ROTATION",
    "Z_ROTATION",
    "Coordinates",
    "angular_form",
    "measured",
]

Floats = NDArray[np.float64]

X_ROTATION, Y_ROTATION, Z_ROTATION = 3, 4, 5  # the angles among the coordinates
HOLD, AT_LEAST, AT_MOST = range(3)  # the kinds of rows that constrain a coordinate
# The forms of a joint's angles: all locked; free about X, Y or Z (1, 2 and 3); any other; all free and unused; as EULER, but
# with limits that let Y come near a right angle.
VECTOR, HINGE, EULER, UNASKED, EULER_STEEP = 0, 1, 4, 5, 6
UPRIGHT = 1e-6  # squared cosine of Y; if it is smaller, X and Z are rotations about the same axis
NEAR_POLE = 0.5  # cosine of Y; if it is smaller, a joint of the form EULER_STEEP ignores its earlier angles
STEEPEST_PLAIN = np.pi / 3.0 + 1e-6  # rad; with limits of Y up to this, a joint has the form EULER
RIGHT_ANGLE = 0.5 * np.pi + 1e-6  # rad, with a margin for limits in single precision
TURN = 2.0 * np.pi


class Coordinates(NamedTuple):
    """The coordinates of joints, in m and rad, and their rates.

    value: (j, 6). direction: (j, 6, 3); its product with the velocity, or the angular velocity, of B relative to A is the rate
    of the coordinate. point: (j, 3) m, the origin of B's frame. axes: (j, 2, 3, 3) the axes of A's and of B's frame by rows.
    chart: (j,) 1 if Y is within a right angle, -1 if a joint of the form `EULER_STEEP` uses its other triple of angles.
    """

    value: Floats
    direction: Floats
    point: Floats
    axes: Floats
    chart: Floats


def angular_form(joint: JointSpec) -> int:
    """Return the form of a joint's angles, which is the same at all frames."""
    ever = [joint.angular, *(change.angular for change in joint.changes)]
    if all(axis == FREE_AXIS for angular in ever for axis in angular):
        return UNASKED
    free = [k for k in range(3) if not all(angular[k].lower == angular[k].upper == 0.0 for angular in ever)]
    if not free:
        return VECTOR
    if len(free) == 1:
        return HINGE + free[0]
    return EULER_STEEP if any(is_steep(angular) for angular in ever) else EULER


def is_steep(angular: tuple[AxisSpec, AxisSpec, AxisSpec]) -> bool:
    """Return whether limits let Y come near a right angle while X or Z is limited too."""
    x, y, z = ((axis.lower, axis.upper) for axis in angular)
    return max(-y[0], y[1]) > STEEPEST_PLAIN and bool(np.isfinite([x, z]).any())


@kernel
def measured(frames, held, position, rotation, near):
    """Measure the coordinates of joints.

    frames: the `Frames` of all joints. held: (j,) the joints to measure. position: (n, 3) m and rotation (n, 3, 3) of
    bodies. near: (j, 3) rad, earlier angles; new angles are chosen within half a turn of them, except for rotation vectors and
    for angles whose limits determine the turn. Returns `Coordinates`.
    """
    count = held.size
    values, axes = (np.zeros((count, 6)), np.zeros((count, 6, 3)), np.zeros((count, 3))), np.zeros((count, 2, 3, 3))
    out = Coordinates(values[0], values[1], values[2], axes, np.ones(count))
    place = np.empty((2, 3))
    for j in range(count):
        if not held[j]:
            continue
        _place_frames(frames, j, position, rotation, place, axes[j])
        a, b = axes[j, 0], axes[j, 1]
        apart = sub(vec(place, 1), vec(place, 0))
        set_vec(out.point, j, vec(place, 1))
        value, direction = out.value[j], out.direction[j]
        for i in range(3):
            value[i] = dot(vec(a, i), apart)
            set_vec(direction, i, vec(a, i))
        form = frames.form[j]
        if form == UNASKED:
            value[3:], direction[3:] = 0.0, 0.0
        elif form == VECTOR:
            _vector(a, b, value, direction)
        elif form == EULER:
            _euler(a, b, value, direction)
        elif form == EULER_STEEP:
            _euler(a, b, value, direction)
            radius = np.sqrt(max(1.0 - _cosine(a, b, 2, 0) ** 2, 0.0))
            out.chart[j] = _choose_chart(radius, frames.limits[j], near[j], value, direction)
        else:
            _hinge(a, b, form - HINGE, value, direction)
        if form != VECTOR and form != EULER_STEEP:
            for i in range(3):
                value[3 + i] += 2.0 * np.pi * np.round((near[j, i] - value[3 + i]) / (2.0 * np.pi))
    return out


@leaf_kernel
def _place_frames(frames, j, position, rotation, place, axes):
    """Write the origins of A's and B's joint frames (2, 3), and their axes by rows (2, 3, 3), in world axes."""
    for end in range(2):
        body = frames.body[j, end]
        if body < 0:
            set_vec(place, end, vec(frames.place[j], end))
        else:
            set_vec(place, end, add(vec(position, body), rotated(rotation[body], vec(frames.place[j], end))))
        for k in range(3):
            axis = vec(frames.axes[j, end], k)
            set_vec(axes[end], k, axis if body < 0 else rotated(rotation[body], axis))


@inlined_kernel
def _cosine(a, b, i, k):
    """Return a_i . b_k, an entry of the matrix that rotates A's axes to B's."""
    return dot(vec(a, i), vec(b, k))


@leaf_kernel
def _vector(a, b, value, direction):
    sine = (
        0.5 * (_cosine(a, b, 2, 1) - _cosine(a, b, 1, 2)),
        0.5 * (_cosine(a, b, 0, 2) - _cosine(a, b, 2, 0)),
        0.5 * (_cosine(a, b, 1, 0) - _cosine(a, b, 0, 1)),
    )
    size = norm(sine)
    angle = arctangent(size, 0.5 * (_cosine(a, b, 0, 0) + _cosine(a, b, 1, 1) + _cosine(a, b, 2, 2) - 1.0))
    factor = angle / size if size > 0.0 else 1.0
    value[3], value[4], value[5] = scaled(factor, sine)
    for i in range(3):
        # With the axes halfway between, the rates are exact to second order in the angle.
        set_vec(direction, 3 + i, scaled(0.5, add(vec(a, i), vec(b, i))))


@leaf_kernel
def _hinge(a, b, k, value, direction):
    i, j = (k + 1) % 3, (k + 2) % 3
    value[3 + i] = -_cosine(a, b, j, k)
    value[3 + j] = _cosine(a, b, i, k)
    value[3 + k] = arctangent(_cosine(a, b, j, i), _cosine(a, b, i, i))
    set_vec(direction, 3 + i, cross(vec(a, j), vec(b, k)))
    set_vec(direction, 3 + j, cross(vec(b, k), vec(a, i)))
    set_vec(direction, 3 + k, vec(a, k))


@leaf_kernel
def _euler(a, b, value, direction):
    along = _cosine(a, b, 2, 0)  # of b_X and a_Z
    value[3] = arctangent(_cosine(a, b, 2, 1), _cosine(a, b, 2, 2))
    value[4] = arcsine(min(max(-along, -1.0), 1.0))
    value[5] = arctangent(_cosine(a, b, 1, 0), _cosine(a, b, 0, 0))
    across = max(1.0 - along * along, UPRIGHT)
    first, last = vec(b, 0), vec(a, 2)
    set_vec(direction, 3, divided(advanced(first, -along, last), across))
    sine, cosine = sine_and_cosine(value[5])
    set_vec(direction, 4, sub(scaled(cosine, vec(a, 1)), scaled(sine, vec(a, 0))))
    set_vec(direction, 5, divided(advanced(last, -along, first), across))


@leaf_kernel
def _choose_chart(radius, limits, near, value, direction):
    """Replace the triple of angles by the other one if that violates the limits (3, 2) less.

    radius: the cosine of Y. near: (3,) rad, the earlier angles, which decide between triples within the limits. value: (6,) and
    direction: (6, 3), in and out. Returns 1 for the triple with Y within a right angle, -1 for the other.
    """
    x, y, z = value[3], value[4], value[5]
    value[3] = _in_turns(x, radius, limits[0, 0], limits[0, 1], near[0])
    value[4] = _nearest_turn(y, near[1])
    value[5] = _in_turns(z, radius, limits[2, 0], limits[2, 1], near[2])
    if limits[1, 1] <= RIGHT_ANGLE and limits[1, 0] >= -RIGHT_ANGLE:
        value[4] = y
        return 1.0
    x_other = _in_turns(x + np.pi, radius, limits[0, 0], limits[0, 1], near[0])
    y_other = _nearest_turn(np.pi - y, near[1])
    z_other = _in_turns(z + np.pi, radius, limits[2, 0], limits[2, 1], near[2])
    off = _violation(value[3], value[4], value[5], radius, limits)
    off_other = _violation(x_other, y_other, z_other, radius, limits)
    if off == off_other:
        off = abs(value[4] - near[1]) + radius * (abs(value[3] - near[0]) + abs(value[5] - near[2]))
        off_other = abs(y_other - near[1]) + radius * (abs(x_other - near[0]) + abs(z_other - near[2]))
    if off <= off_other:
        return 1.0
    value[3], value[4], value[5] = x_other, y_other, z_other
    for i in range(3):
        direction[4, i] = -direction[4, i]
    return -1.0


@inlined_kernel
def _nearest_turn(angle, near):
    """Return the angle, changed by whole turns to be nearest to another angle."""
    return angle + TURN * np.round((near - angle) / TURN)


@leaf_kernel
def _in_turns(angle, radius, lower, upper, near):
    """Return X or Z, changed by whole turns to be nearest to the earlier angle, or to its limits if Y is near a right angle.

    Near a right angle, X and Z can change by half a turn in any step, so the earlier angle does not determine the turn.
    """
    if radius < NEAR_POLE and upper - lower < TURN:
        return _nearest_turn(angle, 0.5 * (lower + upper))
    angle = _nearest_turn(angle, near)
    if radius < NEAR_POLE and angle > upper:
        angle -= TURN * np.ceil((angle - upper) / TURN)
    elif radius < NEAR_POLE and angle < lower:
        angle += TURN * np.ceil((lower - angle) / TURN)
    return angle


@leaf_kernel
def _violation(x, y, z, radius, limits):
    """Return rad by which angles exceed their limits (3, 2). X and Z count by the path length of their axes."""
    off_x = radius * min(max(x - limits[0, 1], limits[0, 0] - x, 0.0), RIGHT_ANGLE)
    off_z = radius * min(max(z - limits[2, 1], limits[2, 0] - z, 0.0), RIGHT_ANGLE)
    return max(off_x, off_z, y - limits[1, 1], limits[1, 0] - y, 0.0)
