# SPDX-License-Identifier: GPL-3.0-or-later
"""The dynamic friction approximation of static friction (Baraff 1991, section 8.1).

Below the threshold speed eps, friction grows with the tangential velocity v_t of the bodies, from zero to mu f:

    f_t = -mu f v_t / |v_t|           |v_t| >= eps                                         (14)
    f_t = -mu f v_t / eps             |v_t| <  eps                                         (15)

v_t is known before the forces are. This is therefore dynamic friction along v_t / |v_t| with the coefficient
mu min(1, |v_t| / eps), and Lemke's algorithm always ends, with forces or with contact impulses.

Limits. Nothing sticks: a block on a slope below the angle of friction creeps at eps tan(theta) / mu, the speed at which (15)
balances its weight. An explicit step of length h with (15) turns v into v + h g sin(theta) - (h mu g cos(theta) / eps) v. That
is stable only for eps > h mu g cos(theta) / 2, and free of velocity reversals only for twice that. A contact that carries more
than the weight of the body it slows down (light under heavy) needs an eps larger by that ratio. If v_t is instead the velocity
v + h g sin(theta) at the end of the step, the bound is the same, and the creep is slower by h g sin(theta).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ...problem.arguments import require_number
from ...problem.contact_problem import ContactProblem
from ...problem.given_arrays import finite_array

__all__ = ["creep_problem"]


def creep_problem(problem: ContactProblem, creep_speed: float, tangential_velocity: ArrayLike | None = None) -> ContactProblem:
    """Return the problem with static friction replaced by dynamic friction that vanishes with the tangential velocity.

    Contacts with a given sliding direction are unchanged.

    creep_speed: eps [m/s].
    tangential_velocity: (m, dim - 1) v_t [m/s], or None for g_t, that of the problem without impulses. g_t is a velocity only
        in problems of velocities and impulses.

    Raises ValueError that names the argument, if it is not finite or has the wrong shape, or if eps is not positive.
    """
    require_number("creep_speed", creep_speed)
    if not (np.isfinite(creep_speed) and creep_speed > 0.0):
        raise ValueError(f"creep_speed must be a positive number of m/s, not {creep_speed!r}")
    velocity = problem.free_velocity[:, 1:]
    if tangential_velocity is not None:
        wanted = velocity.shape
        velocity = finite_array("tangential_velocity", tangential_velocity)
        if velocity.shape != wanted:
            raise ValueError(f"tangential_velocity must have shape {wanted}, not {velocity.shape}")
    speed = np.linalg.norm(velocity, axis=1)
    given = problem.slides_along_given
    share = np.where(given, 1.0, np.minimum(1.0, speed / creep_speed))
    along = velocity / np.where(speed > 0.0, speed, 1.0)[:, None]
    return replace(
        problem,
        system=problem.system._replace(mu=problem.system.mu * share),
        sliding=np.ones(problem.contacts, dtype=bool),
        direction=np.where(given[:, None], problem.direction, along),
    )
