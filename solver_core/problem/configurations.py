# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations of the literature as contact problems of accelerations and forces: small, exact, and hard.

Baraff 1991 builds both from a thin rod that touches another body with its tip and slides along it. The rod has length two, the
moment of inertia m / 16, and its tip at r = -(cos theta, sin theta) from its centre, in axes (t, n), with tan theta = 3.
Friction acts along +t and the tip slides along -t. The normal force f then gives the tip the normal acceleration (appendix A)

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
TIP = np.array([[0.0, 1.0, -COSINE], [1.0, 0.0, SINE]])  # (n, t) of the tip by (t, n, rotation) of the rod
ALONG_MINUS_T = -1.0


def rod(spin: float, gravity: float, mu: float = 0.75, mass: float = 1.0) -> ContactProblem:
    """The rod of figure 1 on a fixed base: one contact of two dimensions, u accelerations in m/s^2, lam forces in N.

    spin: rad/s; gravity: m/s^2 towards the base; mass: kg. With mu = 3/4 the normal acceleration is -f / m + spin^2 sin theta -
    gravity (2): where the last two add up to more than zero, both f = 0 and one f > 0 are solutions, where to less than zero,
    there is none. Raises ValueError that names the argument.
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
    """The machine of figure 6, whose contact forces, if there are any, are a subset of the masses with the sum `target`.

    A block (of `block` kg) moves in one direction only and is pushed along it with mu target. On it stands a rod for each of
    the masses, spinning so that it bears f_i = 0 or, with mu = 3/4, f_i = m_i (3), and rubs against the push with mu f_i. Two
    more rods of 1 kg skim along the block's ends; neither bears any force, so the block must not accelerate. Contacts: the
    rods in order, then the left and the right end. Raises ValueError that names the argument.
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
    # the normals of the ends point away from the block: to the left, and to the right
    on_block[n, 0, 0], on_block[n + 1, 0, 0] = 1.0, -1.0
    # spin^2 sin theta - gravity = 1 for the standing rods, here without gravity; the others neither spin nor fall
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
    return np.diag([mass, mass, mass / 16.0])


def _require_finite(name: str, value: float) -> None:
    require_number(name, value)
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, not {value!r}")


def _require_positive(name: str, value: float) -> None:
    require_number(name, value)
    if not (np.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be a positive number of kg, not {value!r}")
