# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions moved on by the velocities that a step was solved for."""

from __future__ import annotations

from ...compile.kernel import kernel
from ..motion.free_rotation import rotate_freely
from ..motion.rotation import rotate_by
from .bodies import RIGID
from .predict import is_locked

__all__ = ["integrate"]


@kernel
def integrate(model, state, bodies, offset, v, apart, h):
    """Positions, orientations, velocities and angular momenta of a `State`, every body that the solver moves moved on by
    v + apart, both (dof,), for h seconds; momenta from v alone.

    model: dof, lock, axes and moments of a `Model`, state: those four of a `State` before, bodies: predicted, end_momentum and
    mass of a `Prediction`: not the whole ones, whose types would take as long to find as all else. What v changes of the
    angular velocity changes the angular momentum, with which the body turns freely then: kick and drift, each exact, so that
    the two are symplectic together (Dullweber, Leimkuhler, McLachlan 1997). A body with locked axes turns by v. What
    stands still is where it was to the last bit, which no turn by nothing would leave it. offset: as in a `System`.
    """
    (dof, lock, axes, moments), (predicted, end_momentum, mass) = model, bodies
    position, orientation, velocity, momenta = state[0].copy(), state[1].copy(), state[2].copy(), state[3].copy()
    for b in range(dof.size):
        d = dof[b]
        if d < 0:
            continue
        at = offset[d]
        turn, momentum, w = orientation[b], momenta[b], predicted[b, 3:]
        if not (v[at : at + RIGID].any() or apart[at : at + RIGID].any()):
            velocity[b] = 0.0
            momentum[:] = 0.0
            continue
        for i in range(3):
            velocity[b, i] = v[at + i]
            position[b, i] += h * (v[at + i] + apart[at + i])
            momentum[i] = end_momentum[b, i]
            for j in range(3):
                momentum[i] += mass[d, 3 + i, 3 + j] * (v[at + 3 + j] - w[j])
        if is_locked(lock[b]):
            rotate_by(turn, h * v[at + 3], h * v[at + 4], h * v[at + 5], turn)
        else:
            rotate_freely(turn, momentum, axes[b], moments[b], h, turn)
        rotate_by(turn, h * apart[at + 3], h * apart[at + 4], h * apart[at + 5], turn)
    return position, orientation, velocity, momenta
