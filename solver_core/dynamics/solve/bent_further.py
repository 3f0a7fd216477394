# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of bodies in large bends, solved once more about their answers: forces are not linear in what contacts change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import length, product
from ...linalg.small_dense import solved
from ...problem.result import WORST_FIRST, Status
from ..contact.bent import with_curves
from ..contact.build import StepProblem
from ..model.large_bends import BEND_PARTS, Curve, LargeBend, LargeBends
from ..model.predict import Begin
from .islands import Totals

__all__ = ["BENDS_OF", "Solved", "followed_part", "solve_bent"]

Floats = NDArray[np.float64]
# a problem with its impulses, which has the bias of joints, velocities (dof,), what became of it, and whether joints are loose
Solved = tuple[StepProblem, Floats, Totals, bool]

SOLVES = 3  # times that a step is solved about its answer
MOST_SOLVES = 24  # the same where that leads astray, and it is begun anew from rest
BENDS_OF = -2  # a worst contact of totals from here on down is none: BENDS_OF - k is how the k-th body of the scene bends
# Of modal velocities, and of those that gravity gives in the step: what they may be off, and what they may be off after SOLVES.
STRAYED, ASTRAY = 1e-5, 1e-3
PART_ROUNDING = 1e-9  # of a part of a step


@dataclass(frozen=True)
class Linear:
    """A body's step about some velocities, slowed as of `LargeBend.about`, and how far from the rule these were, in
    N s/sqrt(kg)."""

    curve: Curve
    slowed: float
    off: float


def followed_part(begin: Begin, bend: LargeBends, crowd: NDArray[np.bool_], v: Floats | None) -> float:
    """Return the part of a step that follows the strains of bodies in large bends.

    Parameters
    ----------
    begin : the step
    bend : its bodies in large bends
    crowd : (n,) bodies of large islands in motion, for which no step is cut
    v : (dof,) velocities that the step was solved for, None where it is not solved yet

    Returns
    -------
    s; the whole step where it needs no parts, or where the parts would be shorter than BEND_PARTS of a scene's step allow
    """
    parts = [large.parts(None if v is None else v[large.unknown]) for large in bend.steps if not crowd[large.body]]
    part = begin.h / max(parts, default=1)
    return part if part * BEND_PARTS >= (1.0 - PART_ROUNDING) * begin.single else begin.h


def solve_bent(
    begin: Begin,
    bend: LargeBends,
    solve: Callable[[StepProblem], Solved],
    problem: StepProblem,
    is_cut: Callable[[Floats], bool],
) -> Solved:
    """Solve a problem with `solve`, and again about the answer while that is another, or sets too much free.

    Where it is one after MOST_SOLVES too, the step is missed, and the body is the worst contact of the totals, see BENDS_OF.

    Parameters
    ----------
    begin : the step
    bend : its bodies in large bends
    solve : solves a problem that is linear in velocities
    problem : the step's, about its motion without contacts
    is_cut : whether a step with velocities (dof,) will be cut, so that what it sets free does not matter
    """
    steps, linear = list(bend.steps), [Linear(curve, 0.0, np.inf) for curve in bend.curves]
    about, factorisations, solves = problem, 0, 0
    while True:
        solved, v, totals, is_loose = solve(about)
        solves, factorisations = solves + 1, factorisations + totals.factorisations
        totals = totals._replace(factorisations=factorisations)
        near = STRAYED if solves < SOLVES else ASTRAY
        answers = [_about(large, one, v, begin.gravity_speed) for large, one in zip(steps, linear, strict=True)]
        change = np.array([change for _, change in answers])
        linear = [one for one, _ in answers]
        if (change <= near).all() or solves == MOST_SOLVES:
            wild = [k for k, large in enumerate(steps) if large.sets_free(v[large.unknown])]
            if not wild or is_cut(v):
                break
            for k in wild:
                steps[k] = steps[k].calm or steps[k]
                linear[k], solves = Linear(steps[k].free(v[steps[k].unknown]), 0.0, np.inf), 0
        if solves == SOLVES:
            linear = [_from_rest(large) if change[k] > near else linear[k] for k, large in enumerate(steps)]
        about = _posed(begin, bend, problem, [one.curve for one in linear])
        about = about._replace(impulse=solved.impulse[: len(problem.impulse)].copy())
    if not (change <= near).all():
        lost, status = steps[int(np.argmax(change))].body, min(totals.status, Status.MAX_ITERATIONS, key=WORST_FIRST.index)
        totals = totals._replace(status=status, worst_contact=BENDS_OF - lost)
    return solved, v, totals, is_loose


def _about(large: LargeBend, before: Linear, v: Floats, gravity_speed: float) -> tuple[Linear, float]:
    """The step about velocities v (dof,), which solve it about earlier ones, and by how much of them they would change."""
    velocity = v[large.unknown]
    pushed = product(before.curve.block, velocity - before.curve.velocity)
    curve = large.about(velocity)
    off = product(curve.block, velocity - curve.velocity) - pushed
    size, slowed = length(off), before.slowed
    if slowed > 0.0:
        # what was at rest and met by another since was off by nothing
        slowed *= min(size / before.off, 1.0) if before.off > 0.0 else 1.0
        curve = large.about(velocity, slowed)
    scale = max(np.abs(velocity).max(), gravity_speed * np.sqrt(large.mass))
    change = (1.0 + slowed) * np.abs(solved(curve.block, off)).max()
    return Linear(curve, slowed, size), float(change / scale)


def _from_rest(large: LargeBend) -> Linear:
    curve = large.about(np.zeros_like(large.q), 1.0)
    return Linear(curve, 1.0, length(product(curve.block, curve.velocity)))


def _posed(begin: Begin, bend: LargeBends, problem: StepProblem, curves: list[Curve]) -> StepProblem:
    """A step's problem, with bodies about other velocities."""
    system, velocity = with_curves(problem.system, begin, bend, tuple(curves)), problem.system.velocity.copy()
    for large, first, curve in zip(bend.steps, bend.curves, curves, strict=True):
        # of impacts before the step
        impulse = product(first.block, problem.system.velocity[large.unknown] - first.velocity)
        velocity[large.unknown] = curve.velocity + solved(curve.block, impulse)
    return problem._replace(system=system._replace(velocity=velocity))
