# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaking thresholds of joints within a time step.

A joint with a breaking impulse C breaks when one of its coordinates transmits C within a time step. In the step in which that
happens, the impulse of each of its rows is bounded, as that of a motor is:

    -C - c <= s lam <= C - c,

with c what the coordinate transmitted earlier in the time step, and s the length by which a row of an angle is scaled. All
such joints of an island have their bounds at once. So the solution does not depend on their order, two joints of one pair have
a threshold each, and what one joint cannot transmit loads its neighbors in the same step.

A bond has the cross section of the face that two bodies share, Z along its normal from A to B, and a capacity for each
coordinate. Loads that cause stresses at one point of the section add up. With N the tension, M the bending moments, V the shear
force, T the torsion, and a capacity in each denominator, it breaks when one of these sums reaches 1:

    N / C_z + |M_x| / C_rx + |M_y| / C_ry,        |V| / C_xy + |T| / C_rz.

Compression is negative tension. It therefore reduces the tensile stress from bending, and breaks nothing by itself. Bonds are
brittle: among connected bonds, the one with the largest sum breaks first, and the step is solved again without it. A broken
bond transmits no tension or shear in that step, because a crack opens within micrometers. An impulse equal to its strength
would act on its bodies regardless of how the other broken bonds let them move, and could drive them apart.

The strength of a bond is a force, but an impact between rigid bodies is an impulse. Its mean force over a time step would be
larger for a shorter step. A real structure deforms: an impact J loads a mass on a spring of frequency omega by J omega at most.
The force is therefore averaged over a time tau = 1 / omega, `BLOW_TIME`, which does not depend on the step. With the impulse f
of a step of h seconds,

    c = f + (1 - h / tau) c,    C = F tau    (h <= tau),

which decays as the mean does; a steady force F just reaches C. In a longer step C = F h, and no earlier impulse counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .table import Rows

__all__ = [
    "BLOW_TIME",
    "Thresholds",
    "bounds_of_rows",
    "exceeding",
    "left_of",
    "most_loaded",
    "scaled_to_thresholds",
    "transmitted_by_bonds",
    "within",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

BLOW_TIME = 1.0 / 240.0  # s: walls, floors and beams of some meters swing at 10 to 60 Hz, so 1 / omega is 3 to 16 ms
SUM_ROUNDING = 1e-9  # fraction of a threshold by which the rounded sum of bounded impulses may exceed it
NEARLY = 1e-6  # fraction of a threshold by which a bounded impulse of the solver may fall short of it
AS_LOADED = 1e-4  # fraction of the largest sum of stresses; bonds whose sums differ by less break together, as mirror images do
SHEAR_X, SHEAR_Y, TENSION, BENDING_X, BENDING_Y, TORSION = range(6)  # coordinates, by the load on a bond


@dataclass(frozen=True)
class Thresholds:
    """The breaking thresholds of j joints.

    capacity: (j, 6) N s and N m s, at which joints break. is_bond: (j,) bonds, whose loads add up. load: (j, 6) N s and N m s,
    the impulses that coordinates have transmitted in the time step so far.
    """

    capacity: Floats
    is_bond: Flags
    load: Floats


def left_of(recent: Floats, h: float) -> Floats:
    """Return (j, 6) the part of the impulses (j, 6) of the last `BLOW_TIME` that still counts in a step of h seconds."""
    return recent * max(1.0 - h / BLOW_TIME, 0.0)


def sums_of_bonds(thresholds: Thresholds, total: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the tension, the bending, and the shear plus torsion of bonds (j,), relative to their capacity. total: (j, 6)."""
    share: Floats = np.divide(total, thresholds.capacity, out=np.zeros_like(total), where=thresholds.is_bond[:, None])
    size: Floats = np.abs(share)
    # Written out, so that the result has the same bits on every computer, unlike a function of the math library.
    shear: Floats = np.sqrt(share[:, SHEAR_X] * share[:, SHEAR_X] + share[:, SHEAR_Y] * share[:, SHEAR_Y])
    return -share[:, TENSION], size[:, BENDING_X] + size[:, BENDING_Y], shear + size[:, TORSION]


def exceeding(thresholds: Thresholds, by_coordinate: Floats, are_bounded: bool) -> Flags:
    """Find the coordinates of joints with a breaking impulse whose impulse is beyond the threshold.

    by_coordinate: (j, 6) N s and N m s, on top of the load. are_bounded: whether the rows have bounds; a coordinate without
    bounds counts as soon as it reaches its threshold. Returns (j, 6); False for bonds.
    """
    total, capacity = thresholds.load + by_coordinate, thresholds.capacity
    over = np.abs(total) > (1.0 + SUM_ROUNDING) * capacity if are_bounded else np.abs(total) >= capacity
    return over & ~thresholds.is_bond[:, None]


def most_loaded(thresholds: Thresholds, by_coordinate: Floats, component: Ints, intact: Flags) -> Flags:
    """Find the bonds that break next.

    by_coordinate: (j, 6) N s and N m s, on top of the load. component: (j,) which bonds are connected by bonds, a number for
    each. intact: (j,) the bonds that hold. Returns (j,) of each component those with the largest sum of stresses, where that
    reaches 1.
    """
    tension, bending, tangential = sums_of_bonds(thresholds, thresholds.load + by_coordinate)
    sums = np.where(intact, np.maximum(tension + bending, tangential), 0.0)
    largest = np.zeros(component.max(initial=-1) + 1)
    np.maximum.at(largest, component[intact], sums[intact])
    return intact & (sums >= 1.0) & (sums >= (1.0 - AS_LOADED) * largest[component])


def transmitted_by_bonds(thresholds: Thresholds, by_coordinate: Floats, touches: Flags) -> Floats:
    """Return (j, 6) the impulses of breaking bonds: compression, unless contacts of their bodies carry it.

    by_coordinate: (j, 6) N s and N m s, the impulses that they would transmit, in addition to the load. touches: (j,) bonds
    whose bodies are in contact.
    """
    tension, _, _ = sums_of_bonds(thresholds, thresholds.load + by_coordinate)
    out = np.zeros_like(by_coordinate)
    pressed = (tension <= 0.0) & ~touches
    out[pressed, TENSION] = by_coordinate[pressed, TENSION]
    return out


def within(thresholds: Thresholds, by_coordinate: Floats, are_bounded: Flags) -> Flags:
    """Find the joints that transmit their thresholds.

    by_coordinate: (j, 6) N s and N m s, on top of the load. are_bounded: (j,) whose impulses keep to bounds, so that a solution
    can come a little short of them. Returns (j,).
    """
    total, share = thresholds.load + by_coordinate, np.where(are_bounded, 1.0 - NEARLY, 1.0)
    reaches = (np.abs(total) >= share[:, None] * thresholds.capacity).any(axis=1)
    tension, bending, tangential = sums_of_bonds(thresholds, total)
    return np.where(thresholds.is_bond, np.maximum(tension + bending, tangential) >= share, reaches)


def bounds_of_rows(thresholds: Thresholds, rows: Rows, scale: Floats, chosen: Flags, triples: int) -> Floats:
    """Return the smallest and the largest impulse of each row, (triples, 3, 2) N s.

    They are infinite for bonds and for joints that are not chosen (j,). scale: (r,) m for rows of angles, else 1.
    """
    bounds = np.empty((triples, 3, 2))
    bounds[...] = -np.inf, np.inf
    load, at = thresholds.load[rows.joint, rows.coordinate], (rows.joint, rows.coordinate)
    capacity = np.where((chosen & ~thresholds.is_bond)[:, None], thresholds.capacity, np.inf)
    # Earlier partial steps may have reached the threshold except for rounding.
    bounds[rows.triple, rows.place, 0] = np.minimum(-capacity[at] - load, 0.0) / scale
    bounds[rows.triple, rows.place, 1] = np.maximum(capacity[at] - load, 0.0) / scale
    return bounds


def scaled_to_thresholds(thresholds: Thresholds, rows: Rows, by_coordinate: Floats, impulse: Floats, bounds: Floats) -> Floats:
    """Return the bounds (t, 3, 2) with fixed impulses for the rows of coordinates that exceed their thresholds.

    The impulse (t, 3) of such a row is scaled so that its coordinate transmits exactly its threshold. by_coordinate: (j, 6) N s
    and N m s, of these impulses.
    """
    over, total = exceeding(thresholds, by_coordinate, True), thresholds.load + by_coordinate
    aimed = np.sign(total) * thresholds.capacity - thresholds.load
    ratio = np.divide(aimed, by_coordinate, out=np.ones_like(aimed), where=over & (by_coordinate != 0.0))
    out, at = bounds.copy(), over[rows.joint, rows.coordinate]
    triple, place = rows.triple[at], rows.place[at]
    out[triple, place, :] = (ratio[rows.joint, rows.coordinate][at] * impulse[triple, place])[:, None]
    return out
