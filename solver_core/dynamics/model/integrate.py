# SPDX-License-Identifier: GPL-3.0-or-later
"""Integration of positions and orientations with the solved velocities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ..motion.free_rotation import rotate_freely
from ..motion.rotation import rotate_by
from .bodies import RIGID
from .predict import is_locked

__all__ = ["FreeMotion", "RigidModel", "RigidState", "integrate"]

Floats = NDArray[np.float64]


class RigidModel(NamedTuple):
    """The fields of a `Model` of n bodies that `integrate` needs.

    dof: (n,). lock: (n, 6). axes: (n, 3, 3). moments: (n, 3) kg m^2.
    """

    dof: NDArray[np.int64]
    lock: Floats
    axes: Floats
    moments: Floats


class RigidState(NamedTuple):
    """The state of n bodies without modes: position (n, 3) m, orientation (n, 4), velocity (n, 3) m/s, angular_momentum (n, 3)
    N m s, as in a `State`."""

    position: Floats
    orientation: Floats
    velocity: Floats
    angular_momentum: Floats


class FreeMotion(NamedTuple):
    """The fields of a `Prediction` that `integrate` needs.

    predicted: (n, 6) twists and end_momentum: (n, 3) N m s, at the end of the step without contacts and joints. mass:
    (moving, 6, 6).
    """

    predicted: Floats
    end_momentum: Floats
    mass: Floats


@kernel
def integrate(model, state, bodies, offset, v, apart, h):
    """Integrate the bodies that the solver moves for h seconds.

    Positions and orientations move with v + apart; velocities and momenta follow from v alone. The change of angular velocity
    in v changes the angular momentum, and then the body rotates freely. These are an exact kick and an exact drift, so both
    together are symplectic (Dullweber, Leimkuhler, McLachlan 1997). A body with locked axes rotates with v. A body with zero
    velocity keeps its pose bit for bit, which a rotation by zero would not guarantee.

    Parameters
    ----------
    model : `RigidModel`
    state : `RigidState` at the start of the step
    bodies : `FreeMotion`
    offset : as in a `System`
    v, apart : (dof,) m/s and rad/s, solved velocities, and velocities that separate overlaps
    h : s

    Returns
    -------
    `RigidState` at the end of the step

    Notes
    -----
    The records have few fields, because numba would take as long to determine the types of whole models, states and
    predictions as for all else here.
    """
    dof, lock, axes, moments = model.dof, model.lock, model.axes, model.moments
    predicted, end_momentum, mass = bodies.predicted, bodies.end_momentum, bodies.mass
    position, orientation = state.position.copy(), state.orientation.copy()
    velocity, momenta = state.velocity.copy(), state.angular_momentum.copy()
    for b in range(dof.size):
        d = dof[b]
        if d < 0:
            continue
        first = offset[d]
        turn, momentum, w = orientation[b], momenta[b], predicted[b, 3:]
        if not (v[first : first + RIGID].any() or apart[first : first + RIGID].any()):
            velocity[b] = 0.0
            momentum[:] = 0.0
            continue
        for i in range(3):
            velocity[b, i] = v[first + i]
            position[b, i] += h * (v[first + i] + apart[first + i])
            momentum[i] = end_momentum[b, i]
            for j in range(3):
                momentum[i] += mass[d, 3 + i, 3 + j] * (v[first + 3 + j] - w[j])
        if is_locked(lock[b]):
            rotate_by(turn, h * v[first + 3], h * v[first + 4], h * v[first + 5], turn)
        else:
            rotate_freely(turn, momentum, axes[b], moments[b], h, turn)
        rotate_by(turn, h * apart[first + 3], h * apart[first + 4], h * apart[first + 5], turn)
    return RigidState(position, orientation, velocity, momenta)
