# SPDX-License-Identifier: GPL-3.0-or-later
"""The methods of first order, one after the other: where Staggered Projections begin, if that is far from a solution.

Gauss-Seidel sweeps and the alternating direction method of multipliers find the contacts that bear load, stick and slide in the
time of a few factorisations.
"""

from __future__ import annotations

from ...compile.kernel import kernel, kernel_part
from ...problem.result import Found
from ..block_operator import measure, operator_of
from ..criteria import (
    COARSE,
    CROWDED,
    FEW_BODIES,
    INNER,
    LARGE,
    LEFT_STANDING,
    MAX_CHECKS,
    NEAR_FOR_NEWTON,
    OF_FEW,
    StoppingCriteria,
)
from ..effort import allow
from .admm import admm
from .gauss_seidel import sweeps

__all__ = ["propose", "sweeps_and_admm"]

# Products of blocks in a factorisation, a body: where bodies hang together in trees, or nearly, it takes as long as an
# iteration of first order, which hands on from joint to joint what the factor knows.
OF_A_TREE = 3
# Sweeps take contacts one after the other, so that of redundant contacts the first ones bear more. With sliding friction the
# distribution matters: a plank on four points turns to one side, and a row of books stays pressed together. Newton's method
# changes all impulses at once. It is as quick from far away in an island of at most so many bodies.
BODIES_AT_ONCE = 12
POINTS_OF_A_LINE = 2  # contacts of a body; more of them, or contacts with more bodies, may be redundant
FACTORISING = 30  # iterations of a solve, of which it may do the factorisations


@kernel_part
def propose(operator, criteria, tumbles, effort, state):
    """Improve a state by what needs few factorisations or none; returns what found it, and whether Newton's method is next.
    tumbles: whether few bodies are known to be no structure. What is large (`subdomains.py`), mostly joints, or coupled in
    trees with some is left as it is."""
    system = operator.system
    degrees, bodies, contacts = system.velocity.size, system.offset.size - 1, system.mu.size
    few = degrees <= 6 * FEW_BODIES  # a problem given as a matrix is one body of many
    error, _ = measure(operator, criteria.acceptable, state)
    # few bodies may be a structure, which keeps what its first step leaves it: from nothing, and to the last digits, the
    # projections spread loads evenly over redundant contacts
    exact = not (tumbles or criteria.acceptable >= OF_FEW * COARSE * criteria.scale) or not state.impulse.any()
    if error <= criteria.acceptable:
        return Found.START, _goes_on(system, criteria, tumbles, error)
    # redundant contacts take first order many iterations, over all of them; factors of few degrees of freedom are cheap
    is_crowded = contacts > max(degrees, CROWDED * bodies)
    is_redundant = bodies <= BODIES_AT_ONCE and contacts > POINTS_OF_A_LINE * bodies
    if few and (exact or is_crowded or is_redundant or error <= NEAR_FOR_NEWTON * criteria.scale):
        # what tumbles would be as far away after a projection
        return Found.START, tumbles
    if bodies > LARGE:
        return Found.START, error > criteria.fallback
    in_trees = operator.blocks.structure.target.size <= OF_A_TREE * bodies
    if system.box.shape[0] > 0 and (in_trees or system.box.shape[0] >= contacts):
        return Found.START, True
    acceptable, fallback = criteria.acceptable, criteria.fallback
    if few:
        coarse = OF_FEW * COARSE * criteria.scale
        target = max(criteria.target, INNER * coarse)
        bounds = target, max(acceptable, coarse), max(fallback, coarse)
        criteria = StoppingCriteria(bounds[0], bounds[1], bounds[2], criteria.scale, 0, MAX_CHECKS)
    # A coarse tolerance asks for no equilibrium.
    is_fine = criteria.acceptable < COARSE * criteria.scale
    error, _ = sweeps(operator, criteria, effort, state)
    if error <= criteria.acceptable:
        return Found.SWEEPS, error > acceptable or (is_fine and _goes_on(system, criteria, tumbles, error))
    error = admm(operator, criteria, effort, state)
    return Found.ADMM, error > fallback or (is_fine and _goes_on(system, criteria, tumbles, error))


@kernel_part
def _goes_on(system, criteria, tumbles, error):
    """Whether a system is known to stand, and its natural map, m/s, is acceptable and no fixed point yet: what an equilibrium
    keeps of an error sets it in motion, and the impulses that stop it are those of no equilibrium."""
    return error > LEFT_STANDING * criteria.target and not tumbles and system.box.shape[0] == 0


@kernel
def sweeps_and_admm(system, criteria, swept, effort, state):
    """Improve a state by sweeps and, where these are slow, the alternating direction method; returns what found it, and its
    natural map, m/s. swept: whether there are sweeps."""
    operator = operator_of(system)
    allow(effort, FACTORISING, operator.blocks.structure.target.size, operator.kappa.size)
    if swept:
        error, unconverged = sweeps(operator, criteria, effort, state)
        if error <= criteria.acceptable or 0 < unconverged <= criteria.max_unconverged:
            return Found.SWEEPS, error
    return Found.ADMM, admm(operator, criteria, effort, state)
