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
    """Move every body that the solver moves by v + apart, both (dof,), for h seconds; momenta from v alone.

    bodies: the `Prediction` of the step, without contacts. What v changes of the angular velocity changes the angular momentum,
    with which the body turns freely then: kick and drift, each exact, so that the two are symplectic together (Dullweber,
    Leimkuhler, McLachlan 1997). A body with locked axes turns by v. What stands still is where it was to the last bit, which no
    turn by nothing would leave it. offset: as in a `System`.
    """
    for b in range(model.dof.size):
        d = model.dof[b]
        if d < 0:
            continue
        at = offset[d]
        turn, momentum = state.orientation[b], state.angular_momentum[b]
        if not (v[at : at + RIGID].any() or apart[at : at + RIGID].any()):
            state.velocity[b] = 0.0
            momentum[:] = 0.0
            continue
        w = bodies.predicted[b, 3:]
        for i in range(3):
            state.velocity[b, i] = v[at + i]
            state.position[b, i] += h * (v[at + i] + apart[at + i])
            momentum[i] = bodies.end_momentum[b, i]
            for j in range(3):
                momentum[i] += bodies.mass[d, 3 + i, 3 + j] * (v[at + 3 + j] - w[j])
        if is_locked(model.lock[b]):
            rotate_by(turn, h * v[at + 3], h * v[at + 4], h * v[at + 5], turn)
        else:
            rotate_freely(turn, momentum, model.axes[b], model.moments[b], h, turn)
        rotate_by(turn, h * apart[at + 3], h * apart[at + 4], h * apart[at + 5], turn)
