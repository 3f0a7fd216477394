# SPDX-License-Identifier: GPL-3.0-or-later
"""What pulls at joints holds bodies in line, as springs would that may be too stiff for the step.

A force F at a lever r from a body's centre turns with none of them: if the body turns by theta, the torque of F changes by

    -K theta,      K = F . r - (r F^T + F r^T) / 2

(the geometric stiffness of joints: Tournier, Nesme, Gilles and Faure 2015). A light link between strong pulls swings so with
omega = sqrt(K / I), and the leapfrog, which takes levers from the step's begin, drives it where omega h > 2. A mean of the
levers at three steps' ends, weighted a, 1 - 2 a, a as those of springs are (`rows.py`), has

    (I + a h^2 K) (w^+ - w^-) = J^T lam

in place of I: an inertia against changes alone, so what is at rest feels nothing of it, and nothing is damped. It is stable for
h^2 K (1 - 4 a) < 4 I. Here h^2 K (1 - 4 a) <= 2 I: what swings slower than by sqrt(2) radians a step, as all but light
links under a heavy load do, is left as it was, to the last bit; what swings faster is held in line, and swings slower instead.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import dots, product
from ...linalg.mat3 import relative_eigen
from ..model.predict import Begin

__all__ = ["FOLLOWED", "geometric_stiffness", "held_in_line"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FOLLOWED = 0.5  # of I, of h^2 K / 4: as much is left to the leapfrog, half of what it follows


def geometric_stiffness(count: int, body: Indices, lever: Floats, force: Floats) -> Floats:
    """K (count, 3, 3) in N m/rad of bodies at which forces (e, 3) N pull at levers (e, 3) m; body: (e,) which."""
    stiffness = np.zeros((count, 3, 3))
    along = dots(lever, force)[:, None, None] * np.eye(3)
    outer = lever[:, :, None] * force[:, None, :]
    np.add.at(stiffness, body, along - 0.5 * (outer + outer.transpose(0, 2, 1)))
    return stiffness


def held_in_line(begin: Begin, body: Indices, lever: Floats, force: Floats) -> tuple[Indices, Floats]:
    """Which of the bodies that the solver moves (k,) are held in line, and the inertia (k, 3, 3) that they feel, kg m^2.

    body: (e,) of the ends of joints, those of the scene, or -1; lever: (e, 3) m, from its centre, and force: (e, 3) N on it.
    """
    dof = np.where(body >= 0, begin.model.dof[body], -1)
    moves = dof >= 0
    dof, lever, force = dof[moves], lever[moves], force[moves]
    inertia = begin.bodies.mass[:, 3:, 3:]
    # at most twice the sum of F r, so that most scenes are done here
    bound = np.bincount(dof, np.linalg.norm(lever, axis=1) * np.linalg.norm(force, axis=1), minlength=len(inertia))
    free = begin.model.lock[begin.awake][:, 3:]
    least = np.linalg.norm(begin.bodies.inverse_mass[:, 3:, 3:], axis=(1, 2)) if bound.any() else bound
    chosen = np.flatnonzero(0.5 * begin.h * begin.h * bound * least > FOLLOWED)
    if not chosen.size:
        return chosen, inertia[chosen]
    stiffness = geometric_stiffness(len(inertia), dof, lever, force)
    stiffness *= free[:, :, None] * free[:, None, :]
    ratio, axes = relative_eigen(0.25 * begin.h * begin.h * stiffness[chosen], inertia[chosen])
    swings = ratio[:, -1] > FOLLOWED
    chosen, axes, feels = chosen[swings], axes[swings], np.maximum(1.0, 1.0 + ratio[swings] - FOLLOWED)
    return chosen, product(axes * feels[:, None, :], axes.transpose(0, 2, 1))
