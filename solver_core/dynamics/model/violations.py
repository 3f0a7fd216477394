# SPDX-License-Identifier: GPL-3.0-or-later
"""The violations of the contact law that a step is checked for after it was solved (`solve/law_check.py`)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_VIOLATIONS", "Violation", "Violations"]


class Violation(IntEnum):
    """What the contact law does not explain; each is a column of the statistics."""

    DISTANCE = 0  # a contact pushed two bodies apart that would not have met without it
    ANGLE = 1  # an impact pushed two bodies along another line than that in which they met
    BOUNCE = 2  # an impact began, and its bodies did not part at the speed that restitution asks for
    ENERGY = 3  # contacts gave more energy than impacts have taken, times the square of the restitution
    MOMENTUM = 4  # a body has a velocity that the impulses on it do not give


class Violations(NamedTuple):
    """The violations in a step.

    Attributes
    ----------
    counts : (k,) of each kind, in the order of `Violation`: pairs of bodies, of ENERGY islands, of MOMENTUM bodies
    pair : (k, 2) the two bodies of the first of each kind, -1 where there is none
    """

    counts: NDArray[np.int64]
    pair: NDArray[np.int64]


NO_VIOLATIONS = Violations(np.zeros(len(Violation), np.int64), np.full((len(Violation), 2), -1))
