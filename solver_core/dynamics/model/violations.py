# SPDX-License-Identifier: GPL-3.0-or-later
"""The violations of the contact law that are checked after each solved step (`solve/law_check.py`)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_VIOLATIONS", "Violation", "Violations"]


class Violation(IntEnum):
    """The kinds of violations of the contact law. Each is a column of the statistics."""

    DISTANCE = 0  # a contact pushed two bodies that would not have collided without it
    ANGLE = 1  # an impact pushed two bodies along a line other than the one in which they collided
    BOUNCE = 2  # the bodies of an impact did not separate at the speed that restitution requires
    ENERGY = 3  # contacts returned more energy than e^2 of what impacts absorbed
    MOMENTUM = 4  # the velocity of a body does not follow from the impulses on it


class Violations(NamedTuple):
    """The violations in a step.

    Attributes
    ----------
    counts : (k,) of each kind, in the order of `Violation`: pairs of bodies; islands for ENERGY; bodies for MOMENTUM
    pair : (k, 2) the two bodies of the first violation of each kind, -1 for none
    """

    counts: NDArray[np.int64]
    pair: NDArray[np.int64]


NO_VIOLATIONS = Violations(np.zeros(len(Violation), np.int64), np.full((len(Violation), 2), -1))
