# SPDX-License-Identifier: GPL-3.0-or-later
"""The modes of all flexible bodies, concatenated in flat arrays for kernels.

The file has the inertia of deformed bodies and the step of bodies with linear deformation. `bending.py` has the equation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel
from ...deformable.floating_frame import coriolis_forces, inertia_change, quadratic_forces
from ...deformable.inertia import ModalInertia
from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...linalg.elementary import sine_and_cosine
from ...linalg.vec3 import rotated_back
from .spinning import ModalRates

__all__ = ["BodyFrames", "FlatModes", "add_inertia", "flat_modes", "predicted_modes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FASTEST_SQUARE = MOST_A_STEP**2  # of h^2 omega^2; faster modes use backward Euler, as springs do


class FlexibleBodies(NamedTuple):
    """The b flexible bodies of a scene.

    body: (b,) indices among all bodies. first: (b + 1,) the first mode of each. first_pair: (b + 1,) its first pair of modes.
    """

    body: Ints
    first: Ints
    first_pair: Ints


class InertiaTerms(NamedTuple):
    """The fields of `ModalInertia` of all flexible bodies, with k modes and p pairs of modes of the same body.

    momentum, spin: (k, 3). first: (k, 3, 3). second, stiffening: (p, 3, 3). gyroscopic: (p, 3).
    """

    momentum: Floats
    spin: Floats
    first: Floats
    second: Floats
    gyroscopic: Floats
    stiffening: Floats


class FlatModes(NamedTuple):
    """The modes of b flexible bodies.

    bodies: of the modes. linear: (b,) bodies with linear deformation. pinned: (b,) bodies with a fixed frame. rates: of the
    modes. terms: their inertia.
    """

    bodies: FlexibleBodies
    linear: Flags
    pinned: Flags
    rates: ModalRates
    terms: InertiaTerms


class BodyFrames(NamedTuple):
    """The frames of n bodies at the start of a step.

    dof: (n,) the index of each body among those that the solver moves, or -1. rotation: (n, 3, 3). twist: (n, 6) m/s and rad/s.
    gravity: (3,) m/s^2.
    """

    dof: Ints
    rotation: Floats
    twist: Floats
    gravity: Floats


def flat_modes(body: Ints, reduced: Sequence[ReducedBody], pinned: Flags) -> FlatModes:
    """Concatenate the modes of flexible bodies.

    Parameters
    ----------
    body : (b,) their indices among all bodies
    reduced : their modes
    pinned : (b,) bodies with a fixed frame

    Returns
    -------
    FlatModes
    """
    count, terms = np.array([len(one.omega) for one in reduced], dtype=np.int64), [one.inertia for one in reduced]

    def joined(arrays: list[Floats], *shape: int) -> Floats:
        return np.concatenate([np.zeros((0, *shape)), *(array.reshape(-1, *shape) for array in arrays)])

    return FlatModes(
        FlexibleBodies(body, np.concatenate([[0], np.cumsum(count)]), np.concatenate([[0], np.cumsum(count**2)])),
        np.array([one.large is None for one in reduced], dtype=np.bool_),
        pinned,
        ModalRates(joined([one.omega for one in reduced]), joined([one.damping for one in reduced])),
        InertiaTerms(
            joined([one.momentum for one in terms], 3),
            joined([one.spin for one in terms], 3),
            joined([one.first for one in terms], 3, 3),
            joined([one.second for one in terms], 3, 3),
            joined([one.gyroscopic for one in terms], 3),
            joined([one.stiffening for one in terms], 3, 3),
        ),
    )


@inner_kernel
def inertia_of_body(bodies, terms, k):
    """Return the `ModalInertia` of the k-th flexible body, as views."""
    first, pair = bodies.first, bodies.first_pair
    rows, pairs, count = slice(first[k], first[k + 1]), slice(pair[k], pair[k + 1]), first[k + 1] - first[k]
    second = terms.second[pairs].reshape(count, count, 3, 3)
    gyroscopic = terms.gyroscopic[pairs].reshape(count, count, 3)
    stiffening = terms.stiffening[pairs].reshape(count, count, 3, 3)
    return ModalInertia(terms.momentum[rows], terms.spin[rows], terms.first[rows], second, gyroscopic, stiffening)


@kernel
def add_inertia(bodies, terms, modal, inertia):
    """Add the change of inertia by deformation to the inertia of the bodies.

    Parameters
    ----------
    bodies : `FlexibleBodies`
    terms : `InertiaTerms`
    modal : (k,) modal coordinates of the state
    inertia : (n, 3, 3) kg m^2, updated
    """
    for k in range(len(bodies.body)):
        coordinates = modal[bodies.first[k] : bodies.first[k + 1]]
        inertia[bodies.body[k]] += inertia_change(inertia_of_body(bodies, terms, k), coordinates)


@kernel
def predicted_modes(modes, moves, times, frames, modal, modal_velocity):
    """Predict the modal velocities of bodies with linear deformation at the end of a step without contacts.

    Parameters
    ----------
    modes : `FlatModes`
    moves : (b,) the bodies to predict; other bodies have zero velocity and unit modal mass
    times : `StepTimes`
    frames : `BodyFrames`
    modal, modal_velocity : (k,) of the state

    Returns
    -------
    predicted : (k,) modal velocities
    mass : (k,) their coefficients in the equation of `bending.py`, which act as modal masses
    """
    h, last, time = times.h, times.last_step, times.force_time
    index, first, omega = modes.bodies.body, modes.bodies.first, modes.rates.omega
    predicted, mass = np.zeros(len(modal)), np.ones(len(modal))
    for k in range(len(index)):
        body, rows = index[k], slice(first[k], first[k + 1])
        if frames.dof[body] < 0 or not moves[k]:
            continue
        inertia, spin = inertia_of_body(modes.bodies, modes.terms, k), np.empty(3)
        spin[0], spin[1], spin[2] = rotated_back(frames.rotation[body], frames.twist[body, 3:])
        force = quadratic_forces(inertia, modal[rows], modal_velocity[rows], spin)
        # The Coriolis force is that of the mean velocity, to second order. It then does no work.
        force += coriolis_forces(inertia, 0.5 * time * coriolis_forces(inertia, modal_velocity[rows], spin), spin)
        pull = rotated_back(frames.rotation[body], frames.gravity)
        for i in range(len(force)):
            j = first[k] + i
            square, damped = omega[j] ** 2, time * modes.rates.damping[j]
            weight = h * h * square
            # Modes that are too fast for the step have the force at its end.
            later, earlier = 1.0, 0.0
            if weight <= FASTEST_SQUARE:
                later = earlier = 0.5 / (1.0 - sine_and_cosine(np.sqrt(weight))[1]) - 1.0 / weight
            force[i] -= square * modal[j]
            if modes.pinned[k]:
                for axis in range(3):
                    force[i] += inertia.momentum[i, axis] * pull[axis]
            share = max(0.5, 1.0 - 1.0 / max(damped, 1.0))
            mass[j] = 1.0 + time * h * later * square + share * damped
            known = (1.0 + time * last * earlier * square - (1.0 - share) * damped) * modal_velocity[j] + time * force[i]
            predicted[j] = known / mass[j]
    return predicted, mass
