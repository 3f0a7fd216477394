# SPDX-License-Identifier: GPL-3.0-or-later
"""Positions moved on by the velocities that a step was solved for."""

from __future__ import annotations

from ..compile.kernel import kernel
from .motion.rotation import rotate_by

__all__ = ["integrate"]


@kernel
def integrate(model, state, bodies, offset, v, apart, h):
    """Move every body that the solver moves by v + apart, both (dof,), for h seconds; momenta from v alone.

    bodies: the `Prediction` of the step, without contacts. What they change of the angular velocity rotates the body, and
    changes its momentum, on top of that. offset: as in a `System`.
    """
    for b in range(model.dof.size):
        d = model.dof[b]
        if d < 0:
            continue
        at = offset[d]
        w = bodies.predicted[b, 3:]
        for i in range(3):
            state.velocity[b, i] = v[at + i]
            state.position[b, i] += h * (v[at + i] + apart[at + i])
            momentum = bodies.end_momentum[b, i]
            for j in range(3):
                momentum += bodies.mass[d, 3 + i, 3 + j] * (v[at + 3 + j] - w[j])
            state.angular_momentum[b, i] = momentum
        rotate_by(
            bodies.end_orientation[b],
            h * (v[at + 3] - w[0] + apart[at + 3]),
            h * (v[at + 4] - w[1] + apart[at + 4]),
            h * (v[at + 5] - w[2] + apart[at + 5]),
            state.orientation[b],
        )
