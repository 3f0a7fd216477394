# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints on flexible bodies: joint frames move and rotate in the body like the mean of the nodes near them.

With modes q, the joint frame with origin p and axes A in the frame of a flexible body moves to p + P q and gets the axes
exp(T q) A. All coordinates are then those of rigid bodies with other joint frames. In addition to the columns of the twist, a
row of the Jacobian gets

    d . R (P + T' x a)   of a displacement,    d . R T'   of an angle,    T' = J(T q) T,

with its direction d, the rotation R of the body, the vector a from the joint frame in the body to the joint, and J such that
J(w) w' is the angular velocity of exp(w).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...deformable.bricks import attached
from ...linalg.elementary import sines_and_cosines
from ...linalg.in_order import product
from ..model.bending import Bending
from ..model.bodies import RIGID
from ..model.predict import Begin
from ..motion.rotation import SERIES_ANGLE, matrices, rotated_by
from .coordinates import Coordinates
from .table import Frames, Rows

__all__ = ["Attached", "attached_joints", "bent_frames", "modal_rows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STRAIGHT = np.array([1.0, 0.0, 0.0, 0.0])


class Attached(NamedTuple):
    """The ends of joints on flexible bodies.

    joint, end, body: (a,). row: (a, r) indices of the body's modes in `modal` of a state. moves, turns: (a, 3, r) the
    translation and rotation of the joint frame per mode, in body axes, zero beyond the body's own modes. width: (a,) the
    number of its modes.
    """

    joint: Ints
    end: Ints
    body: Ints
    row: Ints
    moves: Floats
    turns: Floats
    width: Ints


def attached_joints(frames: Frames, bending: Bending, center: Floats) -> Attached:
    """Return the ends of joints on undeformed flexible bodies. center: (n, 3) m, centers of mass in body frames."""
    joint, end = np.nonzero((frames.body >= 0) & bending.bends[frames.body])
    body = frames.body[joint, end]
    width = bending.width[body]
    widest = int(width.max(initial=0))
    row = np.zeros((len(joint), widest), dtype=np.int64)
    moves, turns = np.zeros((2, len(joint), 3, widest))
    for a, k in enumerate(np.searchsorted(bending.body, body)):
        own, place = slice(0, width[a]), frames.place[joint[a], end[a]] + center[body[a]]
        row[a, own] = np.arange(bending.first[k], bending.first[k + 1])
        moves[a, :, own], turns[a, :, own] = attached(bending.reduced[k].bricks, place)
    return Attached(joint, end, body, row, moves, turns, width)


def bent_frames(frames: Frames, ends: Attached, modal: Floats) -> Frames:
    """Return the joint frames in bodies that are deformed by `modal` of a state."""
    if not len(ends.joint):
        return frames
    q, at = modal[ends.row], (ends.joint, ends.end)
    place, axes = frames.place.copy(), frames.axes.copy()
    place[at] += product(ends.moves, q[..., None])[..., 0]
    turned = matrices(rotated_by(np.tile(STRAIGHT, (len(q), 1)), product(ends.turns, q[..., None])[..., 0]))
    axes[at] = product(axes[at], turned.transpose(0, 2, 1))
    return frames._replace(place=place, axes=axes)


def modal_rows(
    bent: Frames,
    ends: Attached,
    rows: Rows,
    direction: Floats,
    before: Coordinates,
    position: Floats,
    begin: Begin,
    modal: Floats,
) -> tuple[tuple[Ints, Ints], Floats, Ints]:
    """Return the modal part of joint rows, for awake bodies.

    bent: the joint frames at the start of the step. direction: (r, 3) of each row. before: the coordinates at the start.
    position: (n, 3) m. Returns the rows and their ends, both (k,); their modal Jacobians (k, r); and the first unknown of each
    (k,).
    """
    # The attachment of each end of a row.
    number = np.full(bent.body.shape, -1)
    number[ends.joint, ends.end] = np.arange(len(ends.joint))
    of_row = number[rows.joint]
    awake = (of_row >= 0) & (begin.model.dof[np.maximum(bent.body, 0)[rows.joint]] >= 0)
    row, end = np.nonzero(awake)
    which, joint = of_row[row, end], rows.joint[row]
    body = ends.body[which]
    axes = begin.bodies.rotation[body]
    w = product(ends.turns, modal[ends.row][..., None])[..., 0]
    turns = product(turning(w), ends.turns)[which]
    arm = before.point[joint] - position[body] - product(axes, bent.place[joint, end][..., None])[..., 0]
    angular, along = rows.coordinate[row] >= 3, direction[row]
    about = np.where(angular[:, None], along, np.cross(arm, along))
    local = product(along[:, None, :], axes) * ~angular[:, None, None]
    found = (product(local, ends.moves[which]) + product(product(about[:, None, :], axes), turns))[:, 0]
    sign = np.where(end == 1, 1.0, -1.0)[:, None]
    return (row, end), sign * found, begin.offset[begin.model.dof[body]] + RIGID


def turning(w: Floats) -> Floats:
    """Return (k, 3, 3) J of rotation vectors (k, 3) rad: J(w) w' is the angular velocity of exp(w)."""
    angle = np.linalg.norm(w, axis=1)
    small = angle < SERIES_ANGLE
    safe = np.where(small, 1.0, angle)
    sine, cosine = sines_and_cosines(safe)
    first = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - cosine) / safe**2)[:, None, None]
    second = np.where(small, 1.0 / 6.0 - angle**2 / 120.0, (safe - sine) / (safe * safe * safe))[:, None, None]
    cross = np.zeros((len(w), 3, 3))
    for a, b, c in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        cross[:, a, b], cross[:, b, a] = -w[:, c], w[:, c]
    return np.eye(3) + first * cross + second * product(cross, cross)
