# SPDX-License-Identifier: GPL-3.0-or-later
"""Geometric stiffness of links under tension, which may swing too fast for the time step.

A force F of fixed direction acts at a lever r from a body's center of mass. If the body rotates by theta, the torque changes by

    -K theta,      K = F . r - (r F^T + F r^T) / 2

(the geometric stiffness of joints: Tournier, Nesme, Gilles and Faure 2015). A light link under strong tension therefore swings
with omega = sqrt(K / I). The leapfrog scheme, which uses the levers at the start of the step, is unstable for omega h > 2. A
mean of the levers at the ends of three steps, weighted a, 1 - 2 a, a like the forces of springs (`rows.py`), has

    (I + a h^2 K) (w^+ - w^-) = J^T lam

in place of I. This added inertia resists changes only, so it does not affect bodies at rest and damps nothing. The scheme is
stable for h^2 K (1 - 4 a) < 4 I. Here h^2 K (1 - 4 a) <= 2 I. Links that swing by less than sqrt(2) radians per step, which are
all but light links under a heavy load, are unchanged bit for bit. Links that would swing faster get the added inertia and swing
more slowly.
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

FOLLOWED = 0.5  # limit on h^2 K / 4, relative to I, below which no inertia is added; half of the stability limit of leapfrog


def geometric_stiffness(count: int, body: Indices, lever: Floats, force: Floats) -> Floats:
    """Return K (count, 3, 3) N m/rad of bodies. lever: (e, 3) m. force: (e, 3) N, at each lever. body: (e,) of each force."""
    stiffness = np.zeros((count, 3, 3))
    along = dots(lever, force)[:, None, None] * np.eye(3)
    outer = lever[:, :, None] * force[:, None, :]
    np.add.at(stiffness, body, along - 0.5 * (outer + outer.transpose(0, 2, 1)))
    return stiffness


def held_in_line(begin: Begin, body: Indices, lever: Floats, force: Floats) -> tuple[Indices, Floats]:
    """Return the bodies (k,) that get added inertia, and their total inertia tensors (k, 3, 3) kg m^2.

    body: (e,) the body in the scene of each end of a joint, or -1. lever: (e, 3) m, from its center of mass. force: (e, 3) N,
    on the body. The returned indices count the bodies that the solver moves.
    """
    dof = np.where(body >= 0, begin.model.dof[body], -1)
    moves = dof >= 0
    dof, lever, force = dof[moves], lever[moves], force[moves]
    inertia = begin.bodies.mass[:, 3:, 3:]
    # The stiffness is at most twice the sum of F r. Most scenes end here.
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
