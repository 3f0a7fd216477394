# SPDX-License-Identifier: GPL-3.0-or-later
"""Stored data of impacts that start in one step and end in the next (`contact/restitution.py`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["NO_IMPACTS_BEGUN", "ImpactMemory"]

Floats = NDArray[np.float64]


class ImpactMemory(NamedTuple):
    """The motion of pairs of bodies that collided in the previous step, for impacts that end in this one.

    Attributes
    ----------
    body_a, body_b : (k,) bodies a < b, sorted
    twist_a, twist_b : (k, 6) m/s and rad/s, about their centers of mass
    taken : (k,) J, the energy that the impact absorbed
    """

    body_a: NDArray[np.int64]
    body_b: NDArray[np.int64]
    twist_a: Floats
    twist_b: Floats
    taken: Floats


NOBODY, NO_TWISTS = np.zeros(0, np.int64), np.zeros((0, 6))
NO_IMPACTS_BEGUN = ImpactMemory(NOBODY, NOBODY, NO_TWISTS, NO_TWISTS, np.zeros(0))
