# SPDX-License-Identifier: GPL-3.0-or-later
"""Modes of all bodies that bend, one after the other in flat arrays, as kernels take them: the inertia that bodies have as they
are bent, and the step of those in small bends (the equation is in `bending.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel
from ...deformable.floating_frame import coriolis_forces, inertia_change, quadratic_forces
from ...deformable.inertia import ModalInertia
from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...linalg.elementary import sine_and_cosine
from ...linalg.vec3 import rotated_back

__all__ = ["FlatModes", "add_inertia", "flat_modes", "predicted_modes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

FASTEST_SQUARE = MOST_A_STEP**2  # of h^2 omega^2, as of springs


@dataclass(frozen=True)
class FlatModes:
    """Of b bodies that bend, with k modes in all.

    bodies: (b,) their indices, (b + 1,) the first mode of each and (b + 1,) its first pair of modes. small, pinned: (b,) which
    are in small bends, and whose frames are held. rates: (k,) omega in rad/s and (k,) damping in 1/s. terms: the fields of
    `ModalInertia`, (k, 3), (k, 3), (k, 3, 3) of modes, (pairs, 3, 3), (pairs, 3), (pairs, 3, 3) of pairs of modes of a body.
    """

    bodies: tuple[Ints, Ints, Ints]
    small: Flags
    pinned: Flags
    rates: tuple[Floats, Floats]
    terms: tuple[Floats, Floats, Floats, Floats, Floats, Floats]

    def arrays(self, moved: Flags) -> tuple:
        """All of them, with flags (b,) of bodies in place of `small`: `predicted_modes` moves only these."""
        return self.bodies, moved, self.pinned, self.rates, self.terms


def flat_modes(body: Ints, reduced: Sequence[ReducedBody], pinned: Flags) -> FlatModes:
    """Of bodies (b,) with their modes, of which some are pinned (b,)."""
    count, terms = np.array([len(one.omega) for one in reduced], dtype=np.int64), [one.inertia for one in reduced]

    def joined(arrays: list[Floats], *shape: int) -> Floats:
        return np.concatenate([np.zeros((0, *shape)), *(array.reshape(-1, *shape) for array in arrays)])

    return FlatModes(
        (body, np.concatenate([[0], np.cumsum(count)]), np.concatenate([[0], np.cumsum(count**2)])),
        np.array([one.large is None for one in reduced], dtype=np.bool_),
        pinned,
        (joined([one.omega for one in reduced]), joined([one.damping for one in reduced])),
        (
            joined([one.momentum for one in terms], 3),
            joined([one.spin for one in terms], 3),
            joined([one.first for one in terms], 3, 3),
            joined([one.second for one in terms], 3, 3),
            joined([one.gyroscopic for one in terms], 3),
            joined([one.stiffening for one in terms], 3, 3),
        ),
    )


@inner_kernel
def of_body(bodies, terms, k):
    """The `ModalInertia` of the k-th body, views."""
    (_, first, pair), (momentum, spin, first_order, second_order, gyroscopic, stiffening) = bodies, terms
    rows, pairs, count = slice(first[k], first[k + 1]), slice(pair[k], pair[k + 1]), first[k + 1] - first[k]
    second = second_order[pairs].reshape(count, count, 3, 3)
    turned, stiffer = gyroscopic[pairs].reshape(count, count, 3), stiffening[pairs].reshape(count, count, 3, 3)
    return ModalInertia(momentum[rows], spin[rows], first_order[rows], second, turned, stiffer)


@kernel
def add_inertia(bodies, terms, modal, inertia):
    """Add to the inertia (n, 3, 3) kg m^2 of bodies what a state's `modal` makes of it. bodies, terms: as of `FlatModes`."""
    body, first, _ = bodies
    for k in range(len(body)):
        inertia[body[k]] += inertia_change(of_body(bodies, terms, k), modal[first[k] : first[k + 1]])


@kernel
def predicted_modes(modes, step, frames, modal, modal_velocity):
    """Of bodies in small bends that are moved, (k,) modal velocities as a step would end if nothing touched, and (k,) what
    stands for the modes' mass.

    modes: bodies, small, pinned, rates, terms, as of `FlatModes`. step: s, (h, the last one, the time that forces act for).
    frames: of n bodies, the degree of freedom that each begins with, -1 for none (n,), rotations (n, 3, 3), twists (n, 6), and
    gravity (3,). modal, modal_velocity: (k,) of the state.
    """
    bodies, small, pinned, (omega, damping), terms = modes
    (h, last, time), (dof, rotation, twist, gravity), (index, first, _) = step, frames, bodies
    predicted, mass = np.zeros(len(modal)), np.ones(len(modal))
    for k in range(len(index)):
        body, rows = index[k], slice(first[k], first[k + 1])
        if dof[body] < 0 or not small[k]:
            continue
        inertia, spin = of_body(bodies, terms, k), np.empty(3)
        spin[0], spin[1], spin[2] = rotated_back(rotation[body], twist[body, 3:])
        force = quadratic_forces(inertia, modal[rows], modal_velocity[rows], spin)
        # the Coriolis force is that of the mean velocity, to second order, and then does no work
        force += coriolis_forces(inertia, 0.5 * time * coriolis_forces(inertia, modal_velocity[rows], spin), spin)
        pull = rotated_back(rotation[body], gravity)
        for i in range(len(force)):
            j = first[k] + i
            square, damped = omega[j] ** 2, time * damping[j]
            weight = h * h * square
            # what is too fast has the force at the step's end
            later, earlier = 1.0, 0.0
            if weight <= FASTEST_SQUARE:
                later = earlier = 0.5 / (1.0 - sine_and_cosine(np.sqrt(weight))[1]) - 1.0 / weight
            force[i] -= square * modal[j]
            if pinned[k]:
                for axis in range(3):
                    force[i] += inertia.momentum[i, axis] * pull[axis]
            share = max(0.5, 1.0 - 1.0 / max(damped, 1.0))
            mass[j] = 1.0 + time * h * later * square + share * damped
            known = (1.0 + time * last * earlier * square - (1.0 - share) * damped) * modal_velocity[j] + time * force[i]
            predicted[j] = known / mass[j]
    return predicted, mass
