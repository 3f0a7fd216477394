# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of bodies from a recorded frame of another simulation."""

from __future__ import annotations

import numpy as np

from ..motion.rotation import matrices, rotate
from .bodies import Bodies, State, momenta
from .frame import Frame

__all__ = ["state_at"]


def state_at(bodies: Bodies, frame: Frame) -> State:
    """Return the state in which bodies have the poses and velocities of a frame. Masses and shapes are those of `bodies`."""
    orientation, angular = np.ascontiguousarray(frame.poses[:, 3:]), frame.velocities[:, 3:]
    arm = rotate(orientation, bodies.center_of_mass)
    rotation = matrices(orientation)
    momentum = momenta(rotation, bodies.model.inertia, angular)
    of_modes = frame.modal, np.zeros_like(frame.modal)
    return State(frame.poses[:, :3] + arm, orientation, frame.velocities[:, :3] + np.cross(angular, arm), momentum, *of_modes)
