# SPDX-License-Identifier: GPL-3.0-or-later
"""The step of a body with linear deformation whose spin is fast compared with its steps.

A spin couples the modes of a body: the centrifugal force softens them, its stress stiffens them, and the Coriolis force
exchanges their velocities (`deformable/inertia.py`, `deformable/stiffening.py`),

    q'' + (D - G) q' + K q = g,    K = omega^2 + K(w) - C(w),    C_ij = w.(tr P_ij 1 - P_ij) w,    G_ij = 2 w.G_ij.

The diagonal of K acts as the stiffness of a single mode does (`bending.py`): the mean of three steps' ends with the weight a of
its frequency, or the force at the end if the mode is too fast. The rest of K, and a diagonal below zero, follow the midpoint
rule, a = 1/4. The Coriolis force is that of the mean velocity, so that it does no work:

    (B - T/2 G) v+ = (A + T/2 G) v - T K q + T g

B is symmetric and is the mass block for impulses; A is the same matrix of the previous step. With equal steps and
without damping v.(1 + h^2 (a - 1/4) K) v + (q+ + q).K (q+ + q) / 4 is constant, in which the first term is positive. So a body
whose K is positive is stable in steps of any length, and one that only the Coriolis force stabilizes stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel
from ...deformable.inertia import ModalInertia
from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...linalg.elementary import sine_and_cosine
from ...linalg.small_dense import solved
from .predict import Bend, StepTimes

__all__ = ["ModalRates", "ModalState", "SpunBends", "SpunModes", "most_coupling", "spins_fast", "spun_modes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Bounds below which the forces of a spin at the start of a step are accurate enough: on h^2 times the stiffness that the spin
# adds, and on h times the Coriolis force of a unit velocity.
LITTLE_STIFFNESS = 0.05
LITTLE_TURN = 0.05
# rad per step; a faster spin acts on modes like this one. B is positive definite up to 2 rad, and the motion of a body that
# rotates so far in a step is not resolved at all.
MOST_TURN = 1.5
FASTEST_SQUARE = MOST_A_STEP**2
# Bound on h^2 times a stiffness; below it the weight has its limit value.
LEAST_ANGLE_SQUARE = 1e-6
LIMIT = 1.0 / 12.0
MIDPOINT = 0.25


class ModalRates(NamedTuple):
    """The rates of r modes: omega (r,) rad/s, and damping (r,) 1/s."""

    omega: Floats
    damping: Floats


class ModalState(NamedTuple):
    """The state of r modes: q (r,) m sqrt(kg), and velocity (r,) m/s sqrt(kg)."""

    q: Floats
    velocity: Floats


@dataclass(frozen=True)
class SpunModes:
    """The step of one body with coupled modes.

    Attributes
    ----------
    unknown : (r,) the indices of the modes among the degrees of freedom
    block : (r, r) the mass block of the modes for impulses
    velocity : (r,) modal velocities at the end of the step without contacts
    """

    unknown: Ints
    block: Floats
    velocity: Floats


@dataclass(frozen=True)
class SpunBends(Bend):
    """A `Bend` with the steps of bodies whose modes are coupled."""

    spun: tuple[SpunModes, ...]


def most_coupling(terms: ModalInertia) -> tuple[float, float]:
    """Return bounds of the coupling of modes by a spin of 1 rad/s.

    Returns
    -------
    the stiffness that the spin adds, and the Coriolis force of a unit modal velocity; both without unit
    """
    size = np.sqrt((terms.stiffening**2).sum(axis=(2, 3))) + 2.0 * np.sqrt((terms.second**2).sum(axis=(2, 3)))
    turn = 2.0 * np.sqrt((terms.gyroscopic**2).sum(axis=2))
    return float(size.sum(axis=1).max(initial=0.0)), float(turn.sum(axis=1).max(initial=0.0))


def spins_fast(coupling: tuple[float, float], turning: Floats, h: float) -> bool:
    """Return whether a body needs `spun_modes` in a step.

    Parameters
    ----------
    coupling : the result of `most_coupling`
    turning : (3,) rad/s, the spin
    h : s, the step
    """
    angle, (stiffness, turn) = h * float(np.sqrt((turning**2).sum())), coupling
    return angle * angle * stiffness > LITTLE_STIFFNESS or angle * turn > LITTLE_TURN


def spun_modes(body: ReducedBody, state: ModalState, turning: Floats, times: StepTimes, unknown: Ints) -> SpunModes:
    """Solve the step of a free body with linear deformation and coupled modes.

    Parameters
    ----------
    body : its modes
    state : at the start of the step
    turning : (3,) rad/s, the spin in the axes of the body
    times : of the step
    unknown : (r,) the indices of the modes among the degrees of freedom

    Returns
    -------
    SpunModes
    """
    angle = times.h * float(np.sqrt((turning**2).sum()))
    if angle > MOST_TURN:
        turning = turning * (MOST_TURN / angle)
    block, velocity = coupled_step(body.inertia, ModalRates(body.omega, body.damping), state, turning, times)
    return SpunModes(unknown, block, velocity)


@inner_kernel
def couplings(terms, omega, turning):
    """Return K (r, r) 1/s^2 and G (r, r) 1/s for a spin (3,) in rad/s.

    terms: `ModalInertia`. omega: (r,) rad/s.
    """
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
def coupled_step(terms, rates, state, turning, times):
    """Return the block (r, r) and the velocity (r,) of `spun_modes`.

    Parameters
    ----------
    terms : `ModalInertia`
    rates : `ModalRates`
    state : `ModalState`
    turning : (3,) rad/s, the spin in the axes of the body
    times : `StepTimes`
    """
    q, v, h, last, time = state.q, state.velocity, times.h, times.last_step, times.force_time
    r = len(q)
    stiffness, gyroscopic = couplings(terms, rates.omega, turning)
    block, left, known = np.empty((r, r)), np.empty((r, r)), np.empty(r)
    for i in range(r):
        square, damped = h * h * stiffness[i, i], time * rates.damping[i]
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
                # Half of the derivative of the inertia tensor at q = 0.
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
