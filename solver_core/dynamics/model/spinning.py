# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of a body in small bends that spins fast beside its steps.

The modes of such a body are coupled: the centrifugal force softens them, its stress stiffens them, and the Coriolis force turns
their velocities into each other (`deformable/inertia.py`, `deformable/stiffening.py`),

    q'' + (D - G) q' + K q = g,    K = omega^2 + K(w) - C(w),    C_ij = w.(tr P_ij 1 - P_ij) w,    G_ij = 2 w.G_ij.

In the directions in which K is diagonal, forces act as those of single modes do (`bending.py`): the mean of three steps' ends,
or the force at the end where that is too fast. Directions of negative stiffness, which only the Coriolis force can stabilize,
follow the midpoint rule. The Coriolis force is that of the mean velocity, so that it does no work:

    (B - T/2 G) v+ = (A + T/2 G) v - T K q + T g

B is symmetric and stands in the block that contacts push against; A is the same of the step before. Without damping and with
equal steps v.B v + q.K q', of places before and after, is constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...deformable.inertia import ModalInertia
from ...deformable.reduced import MOST_A_STEP, ReducedBody
from .large_bends import later_weight

__all__ = ["SpunModes", "most_coupling", "spins_fast", "spun_modes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Below these the forces of a spin as a step begins are enough: of h^2 times the stiffness that it adds, and of h times the
# Coriolis force of a unit velocity.
LITTLE_STIFFNESS = 0.05
LITTLE_TURN = 0.05
# Of the square of MOST_A_STEP: angles below have the limit of their weight.
LEAST_SQUARE = 1e-6
LIMIT = 1.0 / 12.0
# The same of directions of negative stiffness: the midpoint rule, with which the Coriolis force stabilizes them at every spin.
MIDPOINT = 0.25
# Of h^2 times a stiffness, at the least: a fifth of the mass is left then. A body that spins faster turns by 1.8 rad a step.
SOFTEST = -3.2


class SpunModes(NamedTuple):
    """unknown: (r,) among the degrees of freedom. block: (r, r), which impulses push against. velocity: (r,) as the step would
    end if nothing touched."""

    unknown: Ints
    block: Floats
    velocity: Floats


def most_coupling(terms: ModalInertia) -> tuple[float, float]:
    """Bounds of the stiffness that a spin of 1 rad/s adds, 1/s^2, and of the Coriolis force of a unit velocity, 1/s."""
    if not len(terms.second):
        return 0.0, 0.0
    added = terms.stiffening - _centrifugal(terms)
    stiffness = np.linalg.norm(added, axis=(2, 3)).sum(axis=1).max()
    return float(stiffness), float(2.0 * np.linalg.norm(terms.gyroscopic, axis=2).sum(axis=1).max())


def spins_fast(coupling: tuple[float, float], turning: Floats, h: float) -> bool:
    """Whether a step of h s of a body that turns with (3,) rad/s has to be one of `spun_modes`."""
    angle, (stiffness, turn) = h * float(np.linalg.norm(turning)), coupling
    return angle * angle * stiffness > LITTLE_STIFFNESS or angle * turn > LITTLE_TURN


def spun_modes(
    body: ReducedBody,
    state: tuple[Floats, Floats],
    turning: Floats,
    step: tuple[float, float, float],
    unknown: Ints,
) -> SpunModes:
    """A step of a free body in small bends.

    Parameters
    ----------
    state : q and its velocities, (r,)
    turning : (3,) rad/s, in the body's axes
    step : s, this step, the one before, and how long forces act
    unknown : (r,) the body's modes among the degrees of freedom
    """
    (q, v), (h, last, time), terms = state, step, body.inertia
    added = np.einsum("ijab,a,b->ij", terms.stiffening - _centrifugal(terms), turning, turning)
    stiffness, axes = np.linalg.eigh(np.diag(body.omega**2) + added)
    stiffness = np.maximum(stiffness, SOFTEST / (h * h))
    square = h * h * stiffness
    follows = square <= MOST_A_STEP**2
    angle = np.sqrt(np.clip(square, LEAST_SQUARE, MOST_A_STEP**2))
    weight = np.where(square > LEAST_SQUARE, later_weight(angle), LIMIT)
    later = np.where(follows, np.where(square > 0.0, weight, MIDPOINT), 1.0)
    earlier = np.where(follows, later, 0.0)
    damped = time * body.damping
    share = np.maximum(0.5, 1.0 - 1.0 / np.maximum(damped, 1.0))
    block = np.diag(1.0 + share * damped) + (axes * (time * h * later * stiffness)) @ axes.T
    coriolis = terms.gyroscopic @ (time * turning)
    pulled = 0.5 * np.einsum("iab,a,b->i", _slopes_at_rest(terms), turning, turning) - axes @ (stiffness * (axes.T @ q))
    known = (1.0 - (1.0 - share) * damped) * v + axes @ (time * last * earlier * stiffness * (axes.T @ v))
    velocity = np.linalg.solve(block - coriolis, known + coriolis @ v + time * pulled)
    return SpunModes(unknown, 0.5 * (block + block.T), velocity)


def _centrifugal(terms: ModalInertia) -> Floats:
    """(r, r, 3, 3) half of the second derivatives of the inertia tensor."""
    second = 0.5 * (terms.second + terms.second.swapaxes(2, 3))
    return np.einsum("ijkk->ij", second)[:, :, None, None] * np.eye(3) - second


def _slopes_at_rest(terms: ModalInertia) -> Floats:
    """(r, 3, 3) the first derivatives of the inertia tensor at q = 0."""
    return np.einsum("ikk->i", terms.first)[:, None, None] * np.eye(3) - terms.first
