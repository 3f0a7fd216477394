# SPDX-License-Identifier: GPL-3.0-or-later
"""Where Staggered Projections begin, if that is far from a solution: the methods of first order, one after the other.

Gauss-Seidel sweeps and the alternating direction method of multipliers find out who carries, sticks and slides in the time of a
few factorisations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel
from ...problem.residuals import effective_masses, natural_error, scales
from ...problem.result import Found
from ...problem.system import System, effective_inverse_mass
from ...threads.helpers import helped
from ..block_operator import BOTH, generalised_impulse, velocity_after
from ..criteria import COARSE, FEW_BODIES, LARGE, MAX_CHECKS, Aim
from ..effort import allow
from .admm import admm
from .pieces import assist, how_many_far
from .sweeps import sweeps
from .workspace import workspace, workspace_in_parts

__all__ = ["lead", "propose", "sweep_and_split"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEARBY = 1e-3  # of the fastest velocity: from there Newton's method needs few steps
GAIN = 1.0 / 3.0  # of an error, that a look's sweeps should take away, or the alternating direction method is faster
# Products of blocks in a factorisation, a body: where bodies hang together in trees, or nearly, it takes as long as an
# iteration of first order, which hands on from joint to joint what the factor knows.
OF_A_TREE = 3
WORTH_HELP = 1500  # contacts: of fewer, an iteration is over before a helper is told of it
FACTORISING = 30  # iterations of a solve, of which it may do the factorisations


@inner_kernel
def propose(system, blocks, values, aim, tumbling, effort, impulse, v):
    """Improve impulses (m, 3) and their velocities v (n,) by what needs few factorisations or none; returns what found them,
    and whether Newton's method has the next word. aim: its limit is at least what is enough. tumbling: whether few bodies are
    known to be no structure. Large systems begin with `begin_large` (`regions.py`), and are left as they are, as is what is
    mostly joints, or hangs together in trees with some."""
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
        return Found.START, False
    if system.offset.size - 1 > LARGE:
        return Found.START, error > aim.limit
    in_trees = blocks.structure.target.size <= OF_A_TREE * (system.offset.size - 1)
    if system.box.shape[0] > 0 and (in_trees or system.box.shape[0] >= system.mu.size):
        return Found.START, True
    enough, limit = aim.enough, aim.limit
    if few:
        # the last digits of few are Newton's method's, which is quick from the first ones on
        coarse = 0.5 * COARSE * fastest
        most = max(aim.limit, coarse)
        aim = Aim(aim.inverse, aim.kappa, max(aim.goal, 0.1 * coarse), max(enough, coarse), most, 0, MAX_CHECKS)
    work = workspace(system, blocks, values, impulse, v)
    work.kappa[:] = aim.kappa
    error = sweeps(work, aim, GAIN, effort)
    if error <= aim.enough:
        return Found.SWEEPS, error > enough
    return Found.ADMM, admm(work, aim, effort) > limit


def sweep_and_split(
    system: System,
    aims: tuple[float, float, float],
    effort: Ints,
    impulse: Floats,
    v: Floats,
    threads: int,
    few: int = 0,
    swept: bool = True,
) -> tuple[Found, float]:
    """Improve the impulses (m, 3) of a system, and the velocities v (n,) that belong to them, by sweeps and, where these are
    slow, the alternating direction method, until the natural map is within aims, as those of an `Aim`; returns what found them,
    and the map, m/s. few: so many contacts may be farther off. swept: whether there are sweeps. No answer depends on the number
    of threads."""
    helpers = threads if len(impulse) >= WORTH_HELP else 1
    with helped(helpers, assist, lambda board: workspace_in_parts(board, system, impulse)) as work:
        found, error = lead(work, *aims, few, MAX_CHECKS, effort, swept)
    hand_back(work, system, impulse, v)
    return Found(found), error


@kernel
def lead(work, goal, enough, limit, few, looks, effort, swept):
    """`sweep_and_split`, as the leader goes about it, with so many looks at the residuals at most."""
    allow(effort, FACTORISING, work.blocks.structure.target.size, work.impulse.shape[0])
    inverse = effective_inverse_mass(work.system)
    work.kappa[:] = effective_masses(inverse)
    work.enough[0] = enough
    aim = Aim(inverse, work.kappa, goal, enough, limit, few, looks)
    if swept:
        error = sweeps(work, aim, GAIN, effort)
        if error <= enough or 0 < how_many_far(work) <= few:
            return Found.SWEEPS, error
    return Found.ADMM, admm(work, aim, effort)


@kernel
def hand_back(work, system, impulse, v):
    """Impulses (m, 3) and velocities (n,) of a `Workspace` in the order of the system that it was made of."""
    for k in range(work.contact.size):
        impulse[work.contact[k]] = work.impulse[k]
    for j in range(work.body.size):
        first, size = system.offset[work.body[j]], work.system.offset[j + 1] - work.system.offset[j]
        v[first : first + size] = work.v[work.system.offset[j] : work.system.offset[j + 1]]
