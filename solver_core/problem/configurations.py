# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of the literature as contact problems of accelerations and forces. They are small, exact and hard.

Baraff 1991 builds both from a thin rod whose tip touches another body and slides along it. The rod has length two and moment of
inertia m / 16. Its tip is at r = -(cos theta, sin theta) from its center, in axes (t, n), with tan theta = 3. Friction acts
along +t, and the tip slides along -t. The normal force f then gives the tip the normal acceleration (appendix A)

    f / m (1 + 16 (cos^2 theta - mu cos theta sin theta)) = f / m (2.6 - 4.8 mu)

which is -f / m for mu = 3/4: the harder the rod is pushed away, the harder it is pulled in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arguments import require_number
from .contact_problem import ContactProblem
from .friction import Friction
from .given_arrays import finite_array

__all__ = ["rod", "subset_sum_machine"]

SINE, COSINE = 3.0 / np.sqrt(10.0), 1.0 / np.sqrt(10.0)
TIP = np.array([[0.0, 1.0, -COSINE], [1.0, 0.0, SINE]])  # velocity (n, t) of the tip from that of the rod (t, n, rotation)
ALONG_MINUS_T = -1.0


def rod(spin: float, gravity: float, mu: float = 0.75, mass: float = 1.0) -> ContactProblem:
    """Return the rod of figure 1 on a fixed base: one contact in two dimensions, with accelerations u [m/s^2] and forces [N].

    With mu = 3/4 the normal acceleration is -f / m + spin^2 sin theta - gravity (2). If the sum of the last two terms is
    positive, f = 0 and one f > 0 are solutions. If it is negative, there is no solution.

    spin: angular velocity [rad/s]. gravity: towards the base [m/s^2]. mass: [kg].

    Raises ValueError with the name of the argument.
    """
    _require_finite("spin", spin)
    _require_finite("gravity", gravity)
    _require_positive("mass", mass)
    return ContactProblem.from_bodies(
        [_rod_mass(mass)],
        [0.0, -gravity, 0.0],
        ([-1], [0]),
        (np.zeros((1, 2, 3)), TIP[None]),
        Friction(mu, sliding=[True], sliding_direction=[[ALONG_MINUS_T]]),
        bias=[spin**2 * np.array([SINE, COSINE])],
    )


def subset_sum_machine(masses: Sequence[float], target: float, mu: float = 0.75, block: float = 1.0) -> ContactProblem:
    """Return the machine of figure 6, whose contact forces, if they exist, are a subset of the masses with the sum `target`.

    A block moves in one direction only and is pushed along it with the force mu target. On it stands one rod for each mass. Its
    spin is such that its normal force is f_i = 0 or, with mu = 3/4, f_i = m_i (3), and its friction opposes the push with mu
    f_i. Two more rods of 1 kg slide along the ends of the block. Neither has a normal force, so the block must not accelerate.

    The contacts are the rods in order, then the left and the right end.

    masses: [kg]. target: [kg]. mu: coefficient of friction. block: mass of the block [kg].

    Raises ValueError with the name of the argument.
    """
    weights = finite_array("masses", masses)
    if weights.ndim != 1:
        raise ValueError(f"masses must be a row of numbers, not of shape {weights.shape}")
    for i, weight in enumerate(weights):
        _require_positive(f"masses[{i}]", float(weight))
    _require_finite("target", target)
    _require_positive("block", block)
    n, m = weights.size, weights.size + 2
    push = np.zeros(1 + 3 * m)
    push[0] = mu * target / block
    on_block = np.zeros((m, 2, 3))
    on_block[:n, 1, 0] = -1.0
    # The normals of the ends point away from the block, to the left and to the right.
    on_block[n, 0, 0], on_block[n + 1, 0, 0] = 1.0, -1.0
    # spin^2 sin theta - gravity is 1 for the standing rods, here without gravity. The other two rods neither spin nor fall.
    bias = np.zeros((m, 2))
    bias[:n] = 1.0, COSINE / SINE
    return ContactProblem.from_bodies(
        [[[block]], *(_rod_mass(weight) for weight in [*weights, 1.0, 1.0])],
        push,
        (np.zeros(m), np.arange(1, m + 1)),
        (on_block, np.repeat(TIP[None], m, axis=0)),
        Friction(mu, sliding=np.ones(m, dtype=bool), sliding_direction=np.full((m, 1), ALONG_MINUS_T)),
        bias=bias,
    )


def _rod_mass(mass: float) -> np.ndarray:
    """Return the mass matrix (3, 3) of a rod."""
    return np.diag([mass, mass, mass / 16.0])


def _require_finite(name: str, value: float) -> None:
    """Raise ValueError unless the value is a finite number."""
    require_number(name, value)
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, not {value!r}")


def _require_positive(name: str, value: float) -> None:
    """Raise ValueError unless the value is a finite positive number."""
    require_number(name, value)
    if not (np.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be a positive number of kg, not {value!r}")
