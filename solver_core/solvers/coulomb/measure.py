# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a state is from one that keeps Coulomb's law: the natural map, of the whole and of each contact."""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, kernel
from ...problem.residuals import natural_error_between
from ..block_operator import update_velocities

__all__ = ["measure", "measure_each"]


@inner_kernel
def measure(operator, acceptable, state):
    """The natural map of a state, m/s, and of how many contacts and joints it is beyond `acceptable`; its velocities are
    brought up to date."""
    update_velocities(operator.system, state)
    impulse, v, kappa = state.impulse, state.v, operator.kappa
    return natural_error_between(operator.system, impulse, v, kappa, 0, 0, kappa.size, acceptable)


@kernel
def measure_each(system, kappa, state):
    """(m,) the natural map of each contact and joint, m/s, 0 where nothing can move; the velocities of the state are brought
    up to date. kappa: (m,) effective masses."""
    update_velocities(system, state)
    errors = np.zeros(kappa.size)
    for k in range(errors.size):
        if kappa[k] > 0.0:
            errors[k], _ = natural_error_between(system, state.impulse, state.v, kappa, 0, k, k + 1, np.inf)
    return errors
