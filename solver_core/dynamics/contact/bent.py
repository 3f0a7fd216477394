# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of flexible bodies: their velocities include the motion of the surface by modes.

The surface point that is nearest to a contact lies in a triangle, and its mode shapes are interpolated with barycentric
coordinates. Contact impulses act on the body through (e, arm x e, e . R phi).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ..model.bodies import RIGID
from .build import StepProblem

__all__ = ["add_modes"]

Floats = NDArray[np.float64]


def add_modes(problem: StepProblem, modes: Floats, drift: Floats) -> None:
    """Add the modes of flexible bodies to the rows of a step's problem, which has room for them.

    modes: (2, m, 3, r) world, of A and B at the contacts. drift: (m, 3) m/s, world, the part of the problem's drift that is due
    to modes.
    """
    system = problem.system
    add_modal_columns(
        problem.axes, system.body_a, system.body_b, modes, drift, system.jacobian_a, system.jacobian_b, system.bias
    )


@kernel
def add_modal_columns(axes, body_a, body_b, modes, drift, jacobian_a, jacobian_b, bias):
    """Add modes (2, m, 3, r) to the rows of movable bodies (m,), and subtract their drift (m, 3) from the bias."""
    # Columns beyond the widest awake body belong to sleeping bodies.
    count = min(modes.shape[3], jacobian_a.shape[2] - RIGID)
    for k in range(len(axes)):
        for row in range(3):
            for i in range(3):
                bias[k, row] -= axes[k, row, i] * drift[k, i]
                for j in range(count):
                    if body_a[k] >= 0:
                        jacobian_a[k, row, RIGID + j] -= axes[k, row, i] * modes[0, k, i, j]
                    if body_b[k] >= 0:
                        jacobian_b[k, row, RIGID + j] += axes[k, row, i] * modes[1, k, i, j]
