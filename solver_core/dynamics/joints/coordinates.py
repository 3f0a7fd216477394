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

from ...scene.joints import FREE_AXIS, JointSpec

__all__ = ["VECTOR", "Coordinates", "angular_form", "coordinates", "cross", "unwound"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

VECTOR, HINGE, EULER, UNASKED = 0, 1, 4, 5  # all locked; free about X, Y or Z, which are 1, 2 and 3; any other; all left alone
UPRIGHT = 1e-6  # squared cosine of Y: nearer to a right angle X and Z are turns about the same axis


class Coordinates(NamedTuple):
    """value: (j, 6) m and rad. direction: (j, 6, 3) such that their rates are its products with the velocity, or the angular
    velocity, of B against A. point: (j, 3) where B's frame is."""

    value: Floats
    direction: Floats
    point: Floats


def angular_form(joint: JointSpec) -> int:
    """Which angles a joint's are."""
    if all(axis == FREE_AXIS for axis in joint.angular):
        return UNASKED
    free = [axis for axis in range(3) if not joint.angular[axis].lower == joint.angular[axis].upper == 0.0]
    if not free:
        return VECTOR
    return HINGE + free[0] if len(free) == 1 else EULER


def coordinates(place: Floats, axes: Floats, form: Ints) -> Coordinates:
    """The coordinates of frames at places (j, 2, 3) with axes (j, 2, 3, 3) by columns, A's and B's."""
    a, b = np.swapaxes(axes[:, 0], 1, 2), np.swapaxes(axes[:, 1], 1, 2)
    value, direction = np.empty((len(form), 6)), np.empty((len(form), 6, 3))
    value[:, :3] = np.einsum("jia,ja->ji", a, place[:, 1] - place[:, 0])
    direction[:, :3] = a
    for kind in sorted(set(form.tolist())):
        chosen = form == kind
        if kind == UNASKED:
            value[chosen, 3:], direction[chosen, 3:] = 0.0, 0.0
            continue
        angles = _vector if kind == VECTOR else _euler if kind == EULER else _hinge
        value[chosen, 3:], direction[chosen, 3:] = angles(a[chosen], b[chosen], kind - HINGE)
    return Coordinates(value, direction, place[:, 1])


def unwound(angle: Floats, near: Floats, form: Ints) -> Floats:
    """Angles (j, 3) with as many whole turns as bring them nearest to others (j, 3); a rotation vector as it is."""
    turns = 2.0 * np.pi * np.round((near - angle) / (2.0 * np.pi))
    return np.where(form[:, None] == VECTOR, angle, angle + turns)


def cross(x: Floats, y: Floats) -> Floats:
    """As numpy's of vectors (n, 3), which for few of them takes ten times as long."""
    out = np.empty_like(x)
    out[:, 0] = x[:, 1] * y[:, 2] - x[:, 2] * y[:, 1]
    out[:, 1] = x[:, 2] * y[:, 0] - x[:, 0] * y[:, 2]
    out[:, 2] = x[:, 0] * y[:, 1] - x[:, 1] * y[:, 0]
    return out


def _vector(a: Floats, b: Floats, _: int) -> tuple[Floats, Floats]:
    turn = np.einsum("jia,jka->jik", a, b)
    sine = 0.5 * np.stack([turn[:, 2, 1] - turn[:, 1, 2], turn[:, 0, 2] - turn[:, 2, 0], turn[:, 1, 0] - turn[:, 0, 1]], axis=1)
    size = np.linalg.norm(sine, axis=1)
    angle = np.arctan2(size, 0.5 * (np.trace(turn, axis1=1, axis2=2) - 1.0))
    factor = np.divide(angle, size, out=np.ones_like(size), where=size > 0.0)
    # the axes halfway between: the rates then are right to second order in the angle
    return sine * factor[:, None], 0.5 * (a + b)


def _hinge(a: Floats, b: Floats, k: int) -> tuple[Floats, Floats]:
    i, j = (k + 1) % 3, (k + 2) % 3
    value, direction = np.empty((len(a), 3)), np.empty_like(a)
    value[:, i], direction[:, i] = -_dot(b[:, k], a[:, j]), cross(a[:, j], b[:, k])
    value[:, j], direction[:, j] = _dot(b[:, k], a[:, i]), cross(b[:, k], a[:, i])
    value[:, k] = np.arctan2(_dot(b[:, i], a[:, j]), _dot(b[:, i], a[:, i]))
    direction[:, k] = a[:, k]
    return value, direction


def _euler(a: Floats, b: Floats, _: int) -> tuple[Floats, Floats]:
    turn = np.einsum("jia,jka->jik", a, b)
    x = np.arctan2(turn[:, 2, 1], turn[:, 2, 2])
    y = np.arcsin(np.clip(-turn[:, 2, 0], -1.0, 1.0))
    z = np.arctan2(turn[:, 1, 0], turn[:, 0, 0])
    middle = np.cos(z)[:, None] * a[:, 1] - np.sin(z)[:, None] * a[:, 0]
    along = turn[:, 2, :1]  # of b_X and a_Z
    across = np.maximum(1.0 - along**2, UPRIGHT)
    direction = np.stack([(b[:, 0] - along * a[:, 2]) / across, middle, (a[:, 2] - along * b[:, 0]) / across], axis=1)
    return np.stack([x, y, z], axis=1), direction


def _dot(x: Floats, y: Floats) -> Floats:
    return np.einsum("ji,ji->j", x, y)
