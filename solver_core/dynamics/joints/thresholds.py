# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaking thresholds as bounds on the rows of joints, by which a joint transmits no more than it bears.

A joint breaks when one of its coordinates transmits the threshold B within a time step. In the step in which that happens, the
impulse of each of its rows is bounded, as that of a motor is:

    -B - c <= s lam <= B - c,

with c what the coordinate transmitted earlier in the time step, and s the length by which a row of an angle is scaled. All
joints of an island have their bounds at once. So the solution does not depend on their order, two joints of one pair have a
threshold each, and what one joint cannot transmit loads its neighbors in the same step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .table import Rows

__all__ = ["Thresholds", "bounds_of_rows", "exceeding", "scaled_to_thresholds", "within"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SUM_ROUNDING = 1e-9  # of a threshold: a bounded impulse, scaled and added up, may exceed it by that much
NEARLY = 1e-6  # of a threshold: what a solved impulse with bounds may be short of it


@dataclass(frozen=True)
class Thresholds:
    """breaking: (j,) N s and N m s, at which joints break. load: (j, 6) N s and N m s, what their coordinates have transmitted
    in the time step so far."""

    breaking: Floats
    load: Floats


def exceeding(thresholds: Thresholds, by_coordinate: Floats, are_bounded: bool) -> Flags:
    """Find the coordinates whose impulse is beyond the threshold.

    by_coordinate: (j, 6) N s and N m s, on top of the load. are_bounded: whether the rows have bounds; a coordinate without
    bounds counts as soon as it reaches its threshold. Returns (j, 6).
    """
    total, breaking = np.abs(thresholds.load + by_coordinate), thresholds.breaking[:, None]
    return total > (1.0 + SUM_ROUNDING) * breaking if are_bounded else total >= breaking


def within(thresholds: Thresholds, by_coordinate: Floats, are_bounded: Flags) -> Flags:
    """Find the joints that transmit their thresholds.

    by_coordinate: (j, 6) N s and N m s, on top of the load. are_bounded: (j,) whose impulses keep to bounds, so that a solution
    can come a little short of them. Returns (j,).
    """
    total = np.abs(thresholds.load + by_coordinate).max(axis=1, initial=0.0)
    share = np.where(are_bounded, 1.0 - NEARLY, 1.0)
    return total >= share * thresholds.breaking


def bounds_of_rows(thresholds: Thresholds, rows: Rows, scale: Floats, chosen: Flags, triples: int) -> Floats:
    """The least and the largest impulse of each row, (triples, 3, 2) N s; infinite for joints that are not chosen (j,).

    scale: (r,) m of rows of angles, else 1.
    """
    bounds = np.empty((triples, 3, 2))
    bounds[...] = -np.inf, np.inf
    load = thresholds.load[rows.joint, rows.coordinate]
    breaking = np.where(chosen, thresholds.breaking, np.inf)[rows.joint]
    # earlier parts of the time step can have reached the threshold to the last bit but one
    bounds[rows.triple, rows.place, 0] = np.minimum(-breaking - load, 0.0) / scale
    bounds[rows.triple, rows.place, 1] = np.maximum(breaking - load, 0.0) / scale
    return bounds


def scaled_to_thresholds(thresholds: Thresholds, rows: Rows, by_coordinate: Floats, impulse: Floats, bounds: Floats) -> Floats:
    """The bounds (t, 3, 2) with both equal for the rows of coordinates that exceed their thresholds: to the impulse (t, 3) of
    the row, reduced in the ratio by which the coordinate transmits its threshold.

    by_coordinate: (j, 6) N s and N m s, of these impulses.
    """
    over = exceeding(thresholds, by_coordinate, True)
    aimed = np.sign(thresholds.load + by_coordinate) * thresholds.breaking[:, None] - thresholds.load
    ratio = np.divide(aimed, by_coordinate, out=np.ones_like(aimed), where=over & (by_coordinate != 0.0))
    out, at = bounds.copy(), over[rows.joint, rows.coordinate]
    triple, place = rows.triple[at], rows.place[at]
    out[triple, place, :] = (ratio[rows.joint, rows.coordinate][at] * impulse[triple, place])[:, None]
    return out
