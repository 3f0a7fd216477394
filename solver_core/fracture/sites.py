# SPDX-License-Identifier: GPL-3.0-or-later
"""Points within a solid about which pieces are cut: evenly, near a point, along a curve, or where weights are painted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from .columns import Intervals, points_within
from .order import Spread
from .solid import FractureError, Solid

__all__ = ["sites"]

Array = NDArray[np.float64]

# For each site.
SITE_CANDIDATES = 30
# Of the density at the middle, which is left everywhere.
LEAST_DENSITY = 1e-3


def sites(solid: Solid, intervals: Intervals, count: int, spread: Spread, random: np.random.Generator) -> Array:
    """Choose sites.

    Parameters: `solid` with weights for each of its vertices in `spread`; `intervals` of lines within it; `count` of sites.

    Returns (count, 3) m.

    Raises FractureError if the weights are zero in too much of the solid.
    """
    candidates = points_within(intervals, SITE_CANDIDATES * count, random)
    density = np.ones(len(candidates))
    if len(spread.near):
        distance = distance_to_curve(candidates, spread.near)
        density = np.maximum(np.exp(-distance / spread.radius), LEAST_DENSITY)
    if len(spread.weights):
        _, nearest = KDTree(solid.vertices).query(candidates)
        density = spread.weights[nearest]
    if np.count_nonzero(density > 0.0) < count:
        raise FractureError(
            "has a weight of zero in almost all of its volume: paint a larger part of it, or ask for fewer pieces"
        )
    # The largest of these keys are a sample without replacement (Efraimidis and Spirakis 2006).
    with np.errstate(divide="ignore"):
        key = np.log(random.uniform(size=len(candidates))) / density
    return candidates[np.argsort(-key)[:count]]


def distance_to_curve(points: Array, curve: Array) -> Array:
    """The distance (p,) m of points (p, 3) from a polyline (k, 3), or from a point (1, 3)."""
    distance = np.linalg.norm(points - curve[0], axis=1)
    for begin, end in pairwise(curve):
        along = end - begin
        length = float(along @ along)
        share = np.clip((points - begin) @ along / length, 0.0, 1.0) if length > 0.0 else np.zeros(len(points))
        distance = np.minimum(distance, np.linalg.norm(points - begin - share[:, None] * along, axis=1))
    return distance
