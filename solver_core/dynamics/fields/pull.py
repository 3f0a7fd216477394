# SPDX-License-Identifier: GPL-3.0-or-later
"""The mouse spring: it pulls a point of a body to a point in the world, as in the demonstrations of Baraff 1994.

For the velocity u of the body's point p, x the point of the world, and K = J M^-1 J^T (3, 3), the inverse mass at p:

    dv = h (w^2 (x - p - h u) - 2 w u) / (1 + w h)^2,      impulse = K^-1 dv

is a backward Euler step of a critically damped spring with w = 2 pi FREQUENCY on the free body. It is stable for any h and does
not overshoot x. In the contact problem the impulse acts as a force of the step. The force is limited to STRONGEST times the
weight of the body on Earth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import length, product
from ...linalg.mat3 import eigen_of_each
from ..model.bodies import State
from ..model.predict import Begin
from ..motion.rotation import matrices

__all__ = ["Pull"]

Floats = NDArray[np.float64]

FREQUENCY = 2.0  # Hz; a lower one lags behind the pointer, a higher one tears stacks apart
STRONGEST = 20.0  # weights of the body
NO_EASE = 1e-9  # fraction of the largest inverse mass at the point; a smaller inverse mass means a locked axis
GRAVITY = 9.81  # m/s^2, for the force limit, also in scenes without gravity


@dataclass(frozen=True)
class Pull:
    """A pull on a body. body: index of an active body. point: (3,) m, in the body frame. to: (3,) m, the target, world."""

    body: int
    point: Floats
    to: Floats

    def push(self, begin: Begin, state: State, center_of_mass: Floats) -> Floats:
        """Add the effect of the spring to the predicted velocities of a step's body, and to its momentum.

        center_of_mass: (n, 3) m in body frames. Returns the impulse (3,) N s on the point, zeros for a body that the solver
        does not move.
        """
        model, predicted = begin.model, begin.bodies.predicted[self.body]
        dof = model.dof[self.body]
        if dof < 0:
            return np.zeros(3)
        arm = product(matrices(state.orientation[[self.body]])[0], np.asarray(self.point) - center_of_mass[self.body])
        jacobian = np.hstack([np.eye(3), -_cross_matrix(arm)]) * model.lock[self.body]
        inverse_mass = product(begin.bodies.inverse_mass[dof], jacobian.T)
        u, w, h = product(jacobian, predicted), 2.0 * math.pi * FREQUENCY, begin.h
        away = np.asarray(self.to) - (state.position[self.body] + arm)
        wanted = h * (w * w * (away - h * u) - 2.0 * w * u) / ((1.0 + w * h) * (1.0 + w * h))
        # A body with locked axes moves along the free ones only.
        ease, axes = eigen_of_each(product(jacobian, inverse_mass)[None])
        moves = ease[0] > NO_EASE * ease[0, -1]
        along = product(axes[0].T, wanted)
        impulse = product(axes[0], np.divide(along, ease[0], out=np.zeros(3), where=moves))
        strongest = STRONGEST * GRAVITY * model.mass[self.body] * h
        impulse *= strongest / max(strongest, length(impulse))
        change = model.lock[self.body] * product(inverse_mass, impulse)
        predicted += change
        begin.bodies.end_momentum[self.body] += product(begin.bodies.mass[dof, 3:, 3:], change[3:])
        return impulse


def _cross_matrix(arm: Floats) -> Floats:
    """(3, 3) what takes a vector to its product with an arm (3,) from the left."""
    x, y, z = arm
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
