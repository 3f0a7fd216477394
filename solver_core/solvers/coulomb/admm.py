# SPDX-License-Identifier: GPL-3.0-or-later
"""The alternating direction method of multipliers on contact and friction together: one factorisation, many cheap iterations.

With s_k = mu_k |u_t,k| added to the normal velocities Coulomb's law is a second-order cone complementarity problem (De Saxce
and Feng 1998), and for a given s the minimum of a convex function (Acary, Cadoux, Lemarechal and Malick 2011, "A formulation
of the linear discrete Coulomb friction problem via convex optimization"):

    min over v, z of  1/2 |v - v_hat|_M^2    with  J v + c + s e_n = z,    z in K*,

K* the dual of the friction cones K. The method (Boyd, Parikh, Chu, Peleato and Eckstein 2011, "Distributed optimization and
statistical learning via the alternating direction method of multipliers", section 3.1.1, over-relaxed as in 3.4.3) repeats

    v := argmin 1/2 |v - v_hat|_M^2 + 1/2 |J v + c + s e_n - z + w|_rho^2,
    z := P_K*(x),  w := x - z,  with  x = alpha (J v + c + s e_n) + (1 - alpha) z + w,

where lam = -rho w are impulses, always in K, and s := mu |z_t| is renewed each time (as Carpentier, Montaut and Le Lidec 2024,
"From compliant to rigid contact simulation", do). The matrix M + J^T rho J stays the same, so all iterations share one
Cholesky factor. Two triangular solves and a look at each contact are an iteration: a heap's 1e-4 takes a hundred. With s
renewed it is no longer one convex function that is brought down, and where sliding and pressing depend on each other much,
iterations go in circles; these are the narrower, the lower the penalty, which is lowered where nothing gets better. At low ones
what carries is found slowly, so the first comes again after the last, as long as a round of them halves the error.

What is slow is mostly a drift: redundant contacts hand impulses on among them, the same little in every iteration, until one of
them lets go or slides. x then moves along a straight line, and is carried on along it (Poon and Liang 2019, "Trajectory of
alternating direction method of multipliers and adaptive acceleration"): by more each time that does no harm, by less where it
did, which is taken back.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, leaf_kernel
from ..criteria import is_near
from ..effort import count_factorisation, count_products, spent
from ..kaufman_2008.projection import assemble
from .pieces import factorise_pieces, how_many_far, iterate, measure, measure_split
from .splitting import carry_on, change_penalty, start

__all__ = ["admm"]

ADMM_PENALTY, LAST_ADMM_PENALTY, CHANGE = 3.0, 0.3, np.sqrt(0.1)  # rho_k times the effective inverse mass
ITERATIONS_A_LOOK = 10  # iterations between two looks at the residuals
PATIENT_LOOKS = 25  # looks without half of an error, until the penalty is lowered
OF_A_ROUND = 0.5  # of an error: where all penalties in turn bring it no lower, that is all
DRIFTING = 0.7  # of an error from look to look: x is carried on
HARM = 2.0  # times the error before: that was too far
FIRST_JUMP, LONGEST_JUMP = 4.0, 64.0  # times what x moved by between two looks


@leaf_kernel
def _next_change(penalty, least, least_of_round):
    """The factor to the next penalty of a round, 0 after the last round, and the least error as the round began."""
    if penalty > 1.01 * LAST_ADMM_PENALTY:
        return CHANGE, least_of_round
    if least > OF_A_ROUND * least_of_round:
        return 0.0, least_of_round
    return ADMM_PENALTY / penalty, least


@inner_kernel
def _factor(work, effort):
    """The factor of M + J^T rho J in `values`; False where there is none."""
    rho = work.rho
    derivative = np.zeros((rho.size, 4))
    for k in range(rho.size):
        derivative[k, 0], derivative[k, 1], derivative[k, 3] = rho[k], rho[k], rho[k]
    assemble(work.values, work.system, work.blocks, derivative)
    count_factorisation(effort)
    return factorise_pieces(work)


@inner_kernel
def admm(work, aim, effort):
    """Iterate until the natural map is at most `aim.goal`, or `aim.enough` and that is slow, or `aim.limit` and the penalty is
    not right; returns the least that was seen.

    work: a `Workspace`, whose impulse is warm start and answer, and v that of the answer.
    """
    impulse, x = work.impulse, work.x
    x_before, x_kept, best = np.empty_like(x), np.empty_like(x), impulse.copy()
    error = measure(work)
    start(work.system, aim.inverse, ADMM_PENALTY, impulse, work.v, work.rho, x)
    least, base, error_kept, jump, penalty = error, error, np.inf, FIRST_JUMP, ADMM_PENALTY
    factored, followed, jumped, looks, least_of_round = False, False, False, 0, np.inf
    for _ in range(aim.checks):
        if not factored:
            factored = _factor(work, effort)
            if not factored:
                break
        iterate(work, ITERATIONS_A_LOOK)
        count_products(effort, ITERATIONS_A_LOOK * (work.blocks.structure.length // 100 + impulse.shape[0]))
        before, least_before = error, least
        error = measure_split(work)
        far = how_many_far(work)
        if error < least or 0 < far <= aim.few:
            least = error
            best[:] = impulse
        if is_near(aim, error, least_before, far) or not np.isfinite(error) or spent(effort):
            break
        if jumped and error > HARM * error_kept:
            x[:] = x_kept
            error, jump = error_kept, max(0.25 * jump, 1.0)
            followed, jumped = False, False
            continue
        jump = min(2.0 * jump, LONGEST_JUMP) if jumped else jump
        looks += 1
        if error < 0.5 * base:
            base, looks = error, 0
        if looks >= PATIENT_LOOKS:
            if least <= aim.limit:
                break
            change, least_of_round = _next_change(penalty, least, least_of_round)
            if change == 0.0:
                break
            change_penalty(impulse, work.rho, x, change)
            penalty *= change
            base, looks, factored, followed, jumped = error, 0, False, False, False
            continue
        jumped = followed and error > DRIFTING * before
        if jumped:
            x_kept[:] = x
            error_kept = error
            carry_on(x, x_before, jump)
        x_before[:] = x
        followed = True
    impulse[:] = best
    measure(work)
    return least
