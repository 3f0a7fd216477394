# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the frames of a joint are against each other: three displacements, three angles, and how fast each of them changes.

a_i and b_i are the axes of A's and of B's frame, d leads from A's to B's, w is the angular velocity of B against A.

    q_i = a_i . d                     i = X, Y, Z; it changes as the point of A that lies where B's frame is, against B's

The angles are those of the turns about A's X, then its Y, then its Z that lead from A's axes to B's, B = Rz Ry Rx; their
rates are w along the reciprocals of the three axes b_X, Rz Y and a_Z that they turn about. Y stays within a right angle. Where
two of the three are locked, the third may be any: those are the tilts of the free axis, b_k . a_j and b_k . a_i, and it is the
turn about that axis. Where all are locked they are the rotation vector.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel, leaf_kernel
from ...linalg.elementary import arcsine, arctangent, sine_and_cosine
from ...linalg.vec3 import add, advanced, cross, divided, dot, norm, rotated, scaled, set_vec, sub, vec
from ...scene.joints import FREE_AXIS, JointSpec

__all__ = ["AT_LEAST", "AT_MOST", "HOLD", "VECTOR", "Coordinates", "angular_form", "farthest_off", "measured"]

Floats = NDArray[np.float64]

HOLD, AT_LEAST, AT_MOST = range(3)  # the kinds of row that say where a coordinate may be
VECTOR, HINGE, EULER, UNASKED = 0, 1, 4, 5  # all locked; free about X, Y or Z, which are 1, 2 and 3; any other; all left alone
UPRIGHT = 1e-6  # squared cosine of Y: nearer to a right angle X and Z are turns about the same axis


class Coordinates(NamedTuple):
    """value: (j, 6) m and rad. direction: (j, 6, 3) such that their rates are its products with the velocity, or the angular
    velocity, of B against A. point: (j, 3) where B's frame is."""

    value: Floats
    direction: Floats
    point: Floats


def angular_form(joint: JointSpec) -> int:
    """Which angles a joint's are, at all frames."""
    ever = [joint.angular, *(change.angular for change in joint.changes)]
    if all(axis == FREE_AXIS for angular in ever for axis in angular):
        return UNASKED
    free = [k for k in range(3) if not all(angular[k].lower == angular[k].upper == 0.0 for angular in ever)]
    if not free:
        return VECTOR
    return HINGE + free[0] if len(free) == 1 else EULER


@kernel
def farthest_off(rows, length, value, out):
    """Out: (j,) lengths, by how much the coordinate of a joint is off that is farthest from where it may be; value: (j, 6)."""
    out[:] = 0.0
    for r in range(rows.joint.size):
        j, c = rows.joint[r], rows.coordinate[r]
        off = value[j, c] - rows.target[r]
        if rows.kind[r] == HOLD:
            off = abs(off)
        elif rows.kind[r] == AT_LEAST:
            off = -off
        elif rows.kind[r] != AT_MOST:
            continue
        out[j] = max(out[j], off if c >= 3 else off / length[j])


@kernel
def measured(frames, held, position, rotation, near):
    """The `Coordinates` of the joints with some `Frames` that are held (j,), of bodies at positions (n, 3) with rotations
    (n, 3, 3). near: (j, 3) rad, which angles are brought nearest to by whole turns, but for a rotation vector."""
    out = Coordinates(np.zeros((held.size, 6)), np.zeros((held.size, 6, 3)), np.zeros((held.size, 3)))
    place, axes = np.empty((2, 3)), np.empty((2, 3, 3))
    for j in range(held.size):
        if not held[j]:
            continue
        _place_frames(frames, j, position, rotation, place, axes)
        a, b = axes[0], axes[1]
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
        else:
            _hinge(a, b, form - HINGE, value, direction)
        if form != VECTOR:
            for i in range(3):
                value[3 + i] += 2.0 * np.pi * np.round((near[j, i] - value[3 + i]) / (2.0 * np.pi))
    return out


@leaf_kernel
def _place_frames(frames, j, position, rotation, place, axes):
    """Where A's and B's frames of a joint are, (2, 3), and their axes by rows, (2, 3, 3)."""
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
    """a_i . b_k, an entry of the matrix that turns A's axes into B's."""
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
        # the axes halfway between: the rates then are right to second order in the angle
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
