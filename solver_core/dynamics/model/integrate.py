# SPDX-License-Identifier: GPL-3.0-or-later
"""Integration of positions and orientations with the solved velocities."""

from __future__ import annotations

from ...compile.kernel import kernel
from ..motion.free_rotation import rotate_freely
from ..motion.rotation import rotate_by
from .bodies import RIGID
from .predict import is_locked

__all__ = ["integrate"]


@kernel
def integrate(model, state, bodies, offset, v, apart, h):
    """Integrate the bodies that the solver moves for h seconds.

    Positions and orientations move with v + apart; velocities and momenta follow from v alone. The change of angular velocity
    in v changes the angular momentum, and then the body rotates freely. These are an exact kick and an exact drift, so both
    together are symplectic (Dullweber, Leimkuhler, McLachlan 1997). A body with locked axes rotates with v. A body with zero
    velocity keeps its pose bit for bit, which a rotation by zero would not guarantee.

    Parameters
    ----------
    model : dof, lock, axes and moments of a `Model`
    state : position, orientation, velocity and angular momentum of a `State`, at the start of the step
    bodies : predicted, end_momentum and mass of a `Prediction`
    offset : as in a `System`
    v, apart : (dof,) m/s and rad/s, solved velocities, and velocities that separate overlaps
    h : s

    Returns
    -------
    positions (n, 3), orientations (n, 4), velocities (n, 3) and angular momenta (n, 3)

    Notes
    -----
    The kernel takes single fields because numba takes as long to determine the types of whole records as for all else here.
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
