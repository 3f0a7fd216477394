# SPDX-License-Identifier: GPL-3.0-or-later
"""The stiffness of bonds, which determines how parallel bonds share a load.

Rigid pieces with springs at their shared faces are a model of an elastic body (Kawai 1978, "New discrete models and their
application to seismic response analysis of structures"). A bond stands for the material between the centers of mass of its two
bodies, a length L apart along its normal. With the area A and the second moments I of its section it is a spring of

    E A / L along the normal, G A / L across it, E I / L in bending, G (I_x + I_y) / L in torsion.

So a bar is as stiff however many pieces it is cut into, and bonds side by side share a load by their areas. Only ratios count
while the loads are those of rigid bodies, so E follows from the strength: a bond breaks at the strain `STRAIN`, which gives
concrete 9 GPa and wood across the grain 1 GPa. A strength has no second moment of area, but the modulus I / c; the stiffness in
bending is that of the rectangle with the same moduli.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import dots
from ..model.bodies import Model
from .table import JointTable

__all__ = ["stiffness_of_bonds"]

Floats = NDArray[np.float64]

STRAIN = 1.0 / 3000.0  # at which bonds break in tension: of concrete 1e-4 to 1e-3
SHEAR_TO_TENSION = 0.4  # G / E, of a Poisson number of 0.25
SHORTEST = 1e-6  # m, the length of a bond between bodies whose centers of mass lie in its section


def stiffness_of_bonds(table: JointTable, model: Model) -> Floats:
    """Return the stiffness of the six coordinates of bonds.

    table: of j joints. model: of the bodies; immovable ones count as rigid. Returns (j, 6) N/m and N m/rad, 0 for other joints.
    """
    body, place, normal = table.frames.body, table.frames.place, table.frames.axes[:, :, 2]
    moves = np.append(model.dof >= 0, False)[body]
    length = np.maximum(np.where(moves, np.abs(dots(place, normal)), 0.0).sum(axis=1), SHORTEST)
    is_bond = np.isfinite(table.bonds).all(axis=1)
    _, _, tension, bending_x, bending_y, _ = np.where(is_bond[:, None], table.bonds, 1.0).T
    along = tension / (STRAIN * length)
    of_area = [3.0 * (bending / tension) * (bending / tension) for bending in (bending_x, bending_y)]
    across = SHEAR_TO_TENSION * along
    out = np.stack([across, across, along, along * of_area[0], along * of_area[1], across * (of_area[0] + of_area[1])], axis=1)
    return np.where(is_bond[:, None], out, 0.0)
