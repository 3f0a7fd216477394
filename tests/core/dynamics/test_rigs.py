# SPDX-License-Identifier: GPL-3.0-or-later
"""Skirts, hair and dolls of many jointed bodies, with one step a frame as with ten."""

from __future__ import annotations

import numpy as np
import pytest

from ..jointed_runs import run, solved
from ..rigs import hair, skirt, thrown_doll

MM = 1e-3


def places(frames) -> np.ndarray:
    return np.array([frame.poses[:, :3] for frame in frames])
