# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Staggered Projections begin, if that is far from a solution: the methods of first order, one after the other.

Gauss-Seidel sweeps and the alternating direction method of multipliers find out who carries, sticks and slides in the time of a
few factorisations.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, kernel
from ...problem.residuals import effective_masses, natural_error, scales
from ...problem.system import effective_inverse_mass
from ..effort import allow
from .admm import admm
from .aim import COARSE, FEW_BODIES, LARGE, Aim
from .projection import BOTH, find_blocks, generalised_impulse, velocity_after
from .sweeps import sweeps

__all__ = ["START", "begin_large", "propose"]

START, SWEPT, BY_ADMM = 0, 5, 6  # values of Found
NEARBY = 1e-3  # of the fastest velocity: from there Newton's method needs few steps
GAIN = 1.0 / 3.0  # of an error, that a look's sweeps should take away, or BY_ADMM is faster
FACTORISING = 30  # iterations of a solve, of which it may do the factorisations


@inner_kernel
def propose(system, blocks, values, aim, tumbling, effort, impulse, v):
    """Improve impulses (m, 3) and their velocities v (n,) by what needs few factorisations or none; returns what found them,
    and whether Newton's method has the next word. tumbling: whether few bodies are known to be no structure. Large systems
    begin with `begin_large`, and are left as they are."""
    degrees = system.velocity.size  # of freedom: a problem given as a matrix is one body of many
    few = degrees <= 6 * FEW_BODIES
    work = np.empty(degrees)
    generalised_impulse(system, BOTH, system.body_a.size, impulse, work)
    velocity_after(system, system.velocity, work, v)
    error = natural_error(system, impulse, v, aim.kappa, 0)
    fastest, _ = scales(system, impulse)
    # few bodies may be a structure, which keeps what its first step leaves it: from nothing, and to the last digits, the
    # projections spread loads evenly over redundant contacts
    exact = not (tumbling or aim.enough >= 0.5 * COARSE * fastest) or not impulse.any()
    if error <= aim.enough or (few and (exact or error <= NEARBY * fastest)):
        return START, False
    if system.offset.size - 1 > LARGE:
        return START, True
    enough = aim.enough
    if few:
        # the last digits of few are Newton's method's, which is quick from the first ones on
        coarse = 0.5 * COARSE * fastest
        aim = Aim(aim.inverse, aim.kappa, max(aim.goal, 0.1 * coarse), max(enough, coarse))
    error = sweeps(system, aim, GAIN, effort, impulse, v)
    if error <= aim.enough:
        return SWEPT, error > enough
    return BY_ADMM, admm(system, blocks, values, aim, effort, impulse, v) > enough


@kernel
def begin_large(system, tolerance, effort, impulse):
    """Improve the impulses (m, 3) of a large system until their natural map is within a tolerance, or that is slow; returns
    what found them."""
    blocks, inverse, v = find_blocks(system), effective_inverse_mass(system), np.empty(system.velocity.size)
    allow(effort, FACTORISING, blocks.structure.target.size, impulse.shape[0])
    fastest, _ = scales(system, impulse)
    aim = Aim(inverse, effective_masses(inverse), 1e-3 * tolerance * fastest, 0.7 * tolerance * fastest)
    if sweeps(system, aim, GAIN, effort, impulse, v) <= aim.enough:
        return SWEPT
    admm(system, blocks, np.empty(blocks.structure.length), aim, effort, impulse, v)
    return BY_ADMM
