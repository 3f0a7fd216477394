# SPDX-License-Identifier: GPL-3.0-or-later
"""First-order proposals: Gauss-Seidel sweeps, then ADMM. Staggered Projections start from them if the warm start is far away.

They find the contacts that carry load, stick and slide in the time of a few factorizations.
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

# Block products of a factorization, per body, up to which bodies are coupled in a tree, or nearly. Such a factor costs as much
# as a first-order iteration, and couples all joints, while an iteration passes a change on from one joint to the next. With a
# larger value more islands start with Newton's method.
OF_A_TREE = 3
FACTORISING = 30  # the budget of first-order methods in a subdomain, as iterations of a solve (`effort.allow`)
# Sweeps take contacts one after the other, so the first of several redundant contacts carry more load. If they slide, the
# distribution matters: a plank on four points turns to one side, and a row of books stays pressed together. Newton's method
# changes all impulses at once. In an island of at most so many bodies it is as fast.
BODIES_AT_ONCE = 12
AT_ONCE_ERROR = 0.1  # relative to the velocity scale: from a larger error, as of an impact, sweeps come first
POINTS_OF_A_LINE = 2  # contacts per body; with more, or with contacts of more bodies, contacts may be redundant


@kernel_part
def propose(operator, criteria, tumbles, effort, state):
    """Improve a state by sweeps and ADMM, where they pay.

    The state is unchanged in islands of more than `LARGE` bodies (`subdomains.py` starts those), with mostly joints, or with
    joints and coupled in a tree.

    operator: `Operator` of the system. criteria: `StoppingCriteria`.
    tumbles: True if the system is known to be moving.
    effort: counts and bounds the work.

    Returns the method that found the state, and True if Newton's method is next.
    """
    system = operator.system
    degrees, bodies, contacts = system.velocity.size, system.offset.size - 1, system.mu.size
    few = degrees <= 6 * FEW_BODIES  # not by bodies, because a problem given as a matrix is one body
    error, _ = measure(operator, criteria.acceptable, state)
    # Few bodies may be a static structure, which keeps the impulses of its first step. Without a warm start and with a tight
    # tolerance, the projections distribute loads evenly over redundant contacts.
    exact = not (tumbles or criteria.acceptable >= OF_FEW * COARSE * criteria.scale) or not state.impulse.any()
    if error <= criteria.acceptable:
        return Found.START, _goes_on(system, criteria, tumbles, error)
    # First-order methods need many iterations for redundant contacts, while few degrees of freedom have a cheap factor.
    is_crowded = contacts > max(degrees, CROWDED * bodies)
    is_near = error <= AT_ONCE_ERROR * criteria.scale
    is_redundant = is_near and bodies <= BODIES_AT_ONCE and contacts > POINTS_OF_A_LINE * bodies
    if few and (exact or is_crowded or is_redundant or error <= NEAR_FOR_NEWTON * criteria.scale):
        # A moving island would be as far away after a projection.
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
    """Return True if Newton's method refines an acceptable state to a fixed point, because the system is a static structure.

    A remaining error would move the structure, and the impulses that stop it are not those of an equilibrium.
    error: natural map [m/s].
    """
    return error > LEFT_STANDING * criteria.target and not tumbles and system.box.shape[0] == 0


@kernel
def sweeps_and_admm(system, criteria, swept, effort, state):
    """Improve a state by sweeps and, if these are slow, by ADMM.

    swept: False to skip the sweeps. effort: counts and bounds the work.

    Returns the method that found the state, and its natural map [m/s].
    """
    operator = operator_of(system)
    allow(effort, FACTORISING, operator.blocks.structure.target.size, operator.kappa.size)
    if swept:
        error, unconverged = sweeps(operator, criteria, effort, state)
        if error <= criteria.acceptable or 0 < unconverged <= criteria.max_unconverged:
            return Found.SWEEPS, error
    return Found.ADMM, admm(operator, criteria, effort, state)
