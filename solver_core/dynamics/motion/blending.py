# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth transition of a simulated body to its keyframes.

The offset from the keyframes to the body, and its rate, decrease from their values at the takeover to zero by a cubic Hermite
polynomial. This is the inertialization of Bollo (GDC 2018) with a polynomial of lower order. The velocity of the body is
continuous at the start, and equals that of the keyframes at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import product
from .paths import GivenPath, begin_twist, rate_of_turn
from .rotation import matrices, rotate_by, rotation_vector

__all__ = ["NUMBERS_OF_TAKEOVER", "Takeover", "blended"]

Floats = NDArray[np.float64]

NUMBERS_OF_TAKEOVER = 14  # length of `Takeover.row`


@dataclass(frozen=True)
class Takeover:
    """The state of a body when its keyframes take it over.

    begin: the frame, counted from the first. pose: (7,). twist: (6,) per frame.
    """

    begin: float
    pose: Floats
    twist: Floats

    @property
    def row(self) -> Floats:
        """(NUMBERS_OF_TAKEOVER,) the same as one array, for checkpoints."""
        return np.concatenate([[self.begin], self.pose, self.twist])

    @staticmethod
    def of_row(row: Floats) -> Takeover | None:
        """Return the takeover of such an array; None for zeros."""
        return Takeover(float(row[0]), row[1:8].copy(), row[8:].copy()) if row[4:8].any() else None


def blended(pose: Floats, path: GivenPath, first: int, end: float, frame: float, takeover: Takeover) -> Floats:
    """Return the pose (7,) of a body during the transition from a takeover to its keyframes.

    Parameters
    ----------
    pose : (7,), of the keyframes at the frame.
    path : of the keyframes.
    first : the first frame of the path that counts; before it, its motion is extrapolated backwards.
    end : frame at which the body is on its keyframes, counted from the first of the scene.
    frame : with a fraction.
    takeover : the state at the start of the transition.
    """
    length = end - takeover.begin
    share = (frame - takeover.begin) / length if length > 0.0 else 1.0
    if share >= 1.0:
        return pose
    twist, at_first = begin_twist(path.piece_from(first)), path.pose(float(first))
    start = gone_on(at_first, twist, min(takeover.begin - first, 0.0)) if takeover.begin < first else path.pose(takeover.begin)
    now = gone_on(at_first, twist, frame - first) if frame < first else pose
    offset = np.append(takeover.pose[:3] - start[:3], rotation_vector(start[3:], takeover.pose[3:]))
    turned = product(turning(offset[3:]), twist[3:])
    rate = takeover.twist - np.append(twist[:3], turned)
    rate[3:] = rate_of_turn(offset[3:], rate[3:])
    fades = (1.0 - share) ** 2
    offset = fades * ((1.0 + 2.0 * share) * offset + share * length * rate)
    result = now.copy()
    result[:3] += offset[:3]
    rotate_by(now[3:], offset[3], offset[4], offset[5], result[3:])
    return result


def gone_on(pose: Floats, twist: Floats, frames: float) -> Floats:
    """Return a pose (7,) after so many frames, which may be negative, with a constant twist (6,) per frame."""
    result = pose.copy()
    result[:3] += frames * twist[:3]
    turn = frames * twist[3:]
    rotate_by(pose[3:], turn[0], turn[1], turn[2], result[3:])
    return result


def turning(vector: Floats) -> Floats:
    """Return (3, 3) the rotation matrix of a rotation vector (3,)."""
    turned = np.empty(4)
    rotate_by(np.array([1.0, 0.0, 0.0, 0.0]), vector[0], vector[1], vector[2], turned)
    return matrices(turned[None])[0]
