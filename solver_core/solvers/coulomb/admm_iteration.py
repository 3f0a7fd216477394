# SPDX-License-Identifier: GPL-3.0-or-later
"""The control of ADMM: when it stops, extrapolates, and changes its penalty. It is the same for bodies and for a matrix.

An `AdmmOperator` has the functions that depend on the form of the problem: `admm.py` for bodies,
`laboratory/given_as_matrix.py` for a matrix. Both iterate on x = z + w, one row per contact or joint (`admm.py` has the
method). The control is Python source that kernels inline; an operator of Python functions runs the same source as
`admm_iteration.py_func`.

**Penalty.** s = mu |z_t| changes in each iteration, so the iterations minimize no single convex function. If normal and
tangential impulses are strongly coupled, they cycle. The cycles shrink with the penalty, so the penalty decreases if progress
stalls. With a small penalty the contacts that carry load are found slowly. So the first penalty follows the last one, as long
as a round of both halves the error.

**Extrapolation.** Slow progress is mostly a drift. Redundant contacts exchange impulses, the same amount in each iteration,
until one of them separates or slides. x then moves along a straight line and is extrapolated along it (Poon and Liang 2019,
"Trajectory of alternating direction method of multipliers and adaptive acceleration"). Each extrapolation is longer than the
last one. One that increases the error is undone, and the next is shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part
from ..criteria import HALVED

__all__ = ["ADMM_PENALTY", "ITERATIONS_A_CHECK", "AdmmArrays", "AdmmOperator", "admm_iteration"]

Floats = NDArray[np.float64]

# rho_k times the effective inverse mass: first and last penalty, and the factor from one to the next. With a larger first one
# the iterates cycle more widely; with a smaller last one they are slower.
ADMM_PENALTY, LAST_ADMM_PENALTY, CHANGE = 3.0, 0.3, np.sqrt(0.1)
ITERATIONS_A_CHECK = 10  # iterations between two measurements; fewer cost more measurements, more end later than necessary
PATIENT_CHECKS = 25  # checks without half of the error, until the penalty changes; fewer leave slow progress too early
DRIFTING = 0.7  # fraction of the error that remains from check to check; x is extrapolated if it is larger
HARM = 2.0  # growth of the error by an extrapolation; a larger one is undone
# Length of the first and the longest extrapolation, relative to the change of x between two checks.
FIRST_JUMP, LONGEST_JUMP = 4.0, 64.0


class AdmmOperator(NamedTuple):
    """The functions of one form of the problem. `equation` is a record that they know, `arrays` an `AdmmArrays`.

    factorise: (equation, arrays) factors the matrix for the present penalty. It returns False if the matrix has no factor.
    advance: (equation, arrays) does `ITERATIONS_A_CHECK` iterations.
    measure: (equation, arrays) updates the impulses to x. It returns their natural map [m/s] and the number of contacts and
        joints that are not acceptable.
    is_done: (equation, criteria, error, before, unconverged) returns True if the method may stop, or has to.
    change_penalty: (equation, arrays, change) multiplies the penalty by a factor, and keeps the impulses.
    copy: (source, out) copies an array (m, 3).
    extrapolate: (x, before, times) adds times (x - before) to x.
    """

    factorise: Callable[[Any, Any], bool]
    advance: Callable[[Any, Any], None]
    measure: Callable[[Any, Any], tuple[float, int]]
    is_done: Callable[[Any, Any, float, float, int], bool]
    change_penalty: Callable[[Any, Any, float], None]
    copy: Callable[[Any, Any], None]
    extrapolate: Callable[[Any, Any, float], None]


class AdmmArrays(NamedTuple):
    """The iterate and its copies, (m, 3) each.

    x: z + w [m/s]. impulse: -rho w [N s]. before: x at the last check. kept: x before the last extrapolation.
    best: the impulses with the smallest error.
    """

    x: Floats
    impulse: Floats
    before: Floats
    kept: Floats
    best: Floats


@kernel
def _next_change(penalty, least, least_of_round):
    """Return the factor to the next penalty of a round, 0 after the last round, and the smallest error at the round's start."""
    if penalty > 1.01 * LAST_ADMM_PENALTY:
        return CHANGE, least_of_round
    if least > HALVED * least_of_round:
        return 0.0, least_of_round
    return ADMM_PENALTY / penalty, least


@kernel_part
def admm_iteration(operator, equation, arrays, criteria, error):
    """Iterate until the natural map converges, and return the smallest natural map [m/s].

    If the penalty would have to change, it also stops if the smallest natural map is at most `criteria.fallback`.

    operator: `AdmmOperator`. equation: record that its functions know.
    arrays: on input, x and the impulses of the start, also as `best`; on output, `best` are the impulses with the smallest
        error.
    error: natural map of the start [m/s].
    """
    least, base, error_kept, jump, penalty = error, error, np.inf, FIRST_JUMP, ADMM_PENALTY
    factored, followed, jumped, checks, least_of_round = False, False, False, 0, np.inf
    for _ in range(criteria.max_checks):
        if not factored:
            factored = operator.factorise(equation, arrays)
            if not factored:
                break
        operator.advance(equation, arrays)
        before, least_before = error, least
        error, unconverged = operator.measure(equation, arrays)
        if error < least or 0 < unconverged <= criteria.max_unconverged:
            least = error
            operator.copy(arrays.impulse, arrays.best)
        if operator.is_done(equation, criteria, error, least_before, unconverged) or not np.isfinite(error):
            break
        if jumped and error > HARM * error_kept:
            operator.copy(arrays.kept, arrays.x)
            error, jump = error_kept, max(0.25 * jump, 1.0)
            followed, jumped = False, False
            continue
        jump = min(2.0 * jump, LONGEST_JUMP) if jumped else jump
        checks += 1
        if error < HALVED * base:
            base, checks = error, 0
        if checks >= PATIENT_CHECKS:
            if least <= criteria.fallback:
                break
            change, least_of_round = _next_change(penalty, least, least_of_round)
            if change == 0.0:
                break
            operator.change_penalty(equation, arrays, change)
            penalty *= change
            base, checks, factored, followed, jumped = error, 0, False, False, False
            continue
        jumped = followed and error > DRIFTING * before
        if jumped:
            operator.copy(arrays.x, arrays.kept)
            error_kept = error
            operator.extrapolate(arrays.x, arrays.before, jump)
        operator.copy(arrays.x, arrays.before)
        followed = True
    return least
