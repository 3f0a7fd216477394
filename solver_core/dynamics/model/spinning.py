# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of a body in small bends whose spin is fast compared with its steps.

A spin couples the modes of a body: the centrifugal force softens them, its stress stiffens them, and the Coriolis force
exchanges their velocities (`deformable/inertia.py`, `deformable/stiffening.py`),

    q'' + (D - G) q' + K q = g,    K = omega^2 + K(w) - C(w),    C_ij = w.(tr P_ij 1 - P_ij) w,    G_ij = 2 w.G_ij.

The diagonal of K acts as the stiffness of a single mode does (`bending.py`): the mean of three steps' ends with the weight a of
its frequency, or the force at the end if the mode is too fast. The rest of K, and a diagonal below zero, follow the midpoint
rule, a = 1/4. The Coriolis force is that of the mean velocity, so that it does no work:

    (B - T/2 G) v+ = (A + T/2 G) v - T K q + T g

B is symmetric and stands in the block that contacts push against; A is the same matrix of the step before. With equal steps and
without damping v.(1 + h^2 (a - 1/4) K) v + (q+ + q).K (q+ + q) / 4 is constant, in which the first term is positive. So a body
whose K is positive is stable in steps of any length, and one that only the Coriolis force stabilizes stays so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel
from ...deformable.inertia import ModalInertia
from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...linalg.elementary import sine_and_cosine
from ...linalg.small_dense import solved
from .predict import Bend

__all__ = ["SpunBends", "SpunModes", "most_coupling", "spins_fast", "spun_modes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# The forces of a spin as a step begins are enough below these: of h^2 times the stiffness that the spin adds, and of h times
# the Coriolis force of a unit velocity.
LITTLE_STIFFNESS = 0.05
LITTLE_TURN = 0.05
# rad a step: a faster spin acts on modes as this one does. B is positive definite up to 2 rad, and the motion of a body that
# turns so far in a step is not resolved at all.
MOST_TURN = 1.5
FASTEST_SQUARE = MOST_A_STEP**2
# Of h^2 times a stiffness: the weight has its limit below.
LEAST_ANGLE_SQUARE = 1e-6
LIMIT = 1.0 / 12.0
MIDPOINT = 0.25


@dataclass(frozen=True)
class SpunModes:
    """The step of one body with coupled modes.

    Attributes
    ----------
    unknown : (r,) the modes among the degrees of freedom
    block : (r, r) that impulses push against
    velocity : (r,) of the modes as the step ends if nothing touches
    """

    unknown: Ints
    block: Floats
    velocity: Floats


@dataclass(frozen=True)
class SpunBends(Bend):
    """The same as `Bend`, with the steps of bodies whose modes are coupled."""

    spun: tuple[SpunModes, ...]


def most_coupling(terms: ModalInertia) -> tuple[float, float]:
    """Bounds of the stiffness that a spin of 1 rad/s adds, in 1, and of the Coriolis force of a unit velocity, in 1."""
    size = np.sqrt((terms.stiffening**2).sum(axis=(2, 3))) + 2.0 * np.sqrt((terms.second**2).sum(axis=(2, 3)))
    turn = 2.0 * np.sqrt((terms.gyroscopic**2).sum(axis=2))
    return float(size.sum(axis=1).max(initial=0.0)), float(turn.sum(axis=1).max(initial=0.0))


def spins_fast(coupling: tuple[float, float], turning: Floats, h: float) -> bool:
    """Whether a body with a spin (3,) rad/s and the bounds of `most_coupling` needs `spun_modes` in a step of h s."""
    angle, (stiffness, turn) = h * float(np.sqrt((turning**2).sum())), coupling
    return angle * angle * stiffness > LITTLE_STIFFNESS or angle * turn > LITTLE_TURN


def spun_modes(
    body: ReducedBody, state: tuple[Floats, Floats], turning: Floats, step: tuple[float, float, float], unknown: Ints
) -> SpunModes:
    """The step of a free body in small bends.

    Parameters
    ----------
    body : its modes
    state : q and its velocities, (r,)
    turning : (3,) rad/s, the spin in the axes of the body
    step : s, this step, the one before, and for how long forces act
    unknown : (r,) the modes among the degrees of freedom

    Returns
    -------
    SpunModes
    """
    angle = step[0] * float(np.sqrt((turning**2).sum()))
    if angle > MOST_TURN:
        turning = turning * (MOST_TURN / angle)
    block, velocity = coupled_step(body.inertia, (body.omega, body.damping), state, turning, step)
    return SpunModes(unknown, block, velocity)


@inner_kernel
def couplings(terms, omega, turning):
    """(r, r) K and (r, r) G of a spin (3,) rad/s."""
    r = len(omega)
    stiffness, gyroscopic = np.zeros((r, r)), np.zeros((r, r))
    for i in range(r):
        for j in range(r):
            trace = terms.second[i, j, 0, 0] + terms.second[i, j, 1, 1] + terms.second[i, j, 2, 2]
            for a in range(3):
                gyroscopic[i, j] += 2.0 * turning[a] * terms.gyroscopic[i, j, a]
                stiffness[i, j] -= turning[a] * turning[a] * trace
                for b in range(3):
                    part = 0.5 * (terms.second[i, j, a, b] + terms.second[i, j, b, a])
                    stiffness[i, j] += turning[a] * turning[b] * (terms.stiffening[i, j, a, b] + part)
        stiffness[i, i] += omega[i] * omega[i]
    return stiffness, gyroscopic


@kernel
def coupled_step(terms, rates, state, turning, step):
    """(r, r) the block and (r,) the velocities of `spun_modes`. rates: (r,) omega in rad/s and (r,) damping in 1/s."""
    (omega, damping), (q, v), (h, last, time) = rates, state, step
    r = len(q)
    stiffness, gyroscopic = couplings(terms, omega, turning)
    block, left, known = np.empty((r, r)), np.empty((r, r)), np.empty(r)
    for i in range(r):
        square, damped = h * h * stiffness[i, i], time * damping[i]
        own_later = own_earlier = MIDPOINT
        if square > FASTEST_SQUARE:
            own_later, own_earlier = 1.0, 0.0
        elif square > LEAST_ANGLE_SQUARE:
            own_later = own_earlier = 0.5 / (1.0 - sine_and_cosine(np.sqrt(square))[1]) - 1.0 / square
        elif square > 0.0:
            own_later = own_earlier = LIMIT
        share = max(0.5, 1.0 - 1.0 / max(damped, 1.0))
        force = 0.0
        for a in range(3):
            for b in range(3):
                # half of the slope of the inertia tensor at q = 0
                force -= 0.5 * turning[a] * turning[b] * terms.first[i, a, b]
                force += 0.5 * turning[b] * turning[b] * terms.first[i, a, a]
        known[i] = (1.0 - (1.0 - share) * damped) * v[i] + time * force
        for j in range(r):
            later, earlier = MIDPOINT, MIDPOINT
            if i == j:
                later, earlier = own_later, own_earlier
            block[i, j] = time * h * later * stiffness[i, j]
            known[i] += time * last * earlier * stiffness[i, j] * v[j]
            known[i] += time * (0.5 * gyroscopic[i, j] * v[j] - stiffness[i, j] * q[j])
            left[i, j] = block[i, j] - 0.5 * time * gyroscopic[i, j]
        block[i, i] += 1.0 + share * damped
        left[i, i] += 1.0 + share * damped
    for i in range(r):
        for j in range(i):
            block[i, j] = block[j, i] = 0.5 * (block[i, j] + block[j, i])
    return block, solved(left, known)
