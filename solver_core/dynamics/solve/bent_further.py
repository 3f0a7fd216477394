# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of flexible bodies with large deformations: repeated solves, each linearized about the last solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import length, product
from ...linalg.small_dense import solved
from ...problem.result import WORST_FIRST, Status
from ..contact.build import StepProblem
from ..model.large_bends import BEND_PARTS, LargeBend, LargeBends, Linearization
from ..model.mass_blocks import with_curves
from ..model.predict import Begin
from .islands import Totals

__all__ = ["BENDS_OF", "Solved", "followed_part", "solve_bent"]

Floats = NDArray[np.float64]
# The problem with its impulses and the bias of joints, velocities (dof,), totals, and whether joints are loose.
Solved = tuple[StepProblem, Floats, Totals, bool]

SOLVES = 3  # solves of a step, each linearized about the last solution
MOST_SOLVES = 24  # the same if these do not converge and the iteration restarts from rest
BENDS_OF = -2  # values of `worst_contact` at or below this encode a flexible body: body k of the scene is BENDS_OF - k
# Tolerance before and after SOLVES, relative to the modal velocities and to those that gravity gives in the step.
STRAYED, ASTRAY = 1e-5, 1e-3
PART_ROUNDING = 1e-9  # relative rounding error of the length of a partial step


@dataclass(frozen=True)
class Linear:
    """The linearized step of a body.

    curve: the linearization. damping: of the iteration, as of `LargeBend.linearize_at`. off: N s/sqrt(kg), the residual of
    the velocities about which it is linearized.
    """

    curve: Linearization
    damping: float
    off: float


def followed_part(begin: Begin, bend: LargeBends, crowd: NDArray[np.bool_], v: Floats | None) -> float:
    """Return the length of a partial step that resolves the strains of bodies with large deformations.

    Parameters
    ----------
    begin : the step
    bend : its bodies with large deformations
    crowd : (n,) bodies of large moving islands, for which no step is split
    v : (dof,) the solved velocities; None if the step is not solved yet

    Returns
    -------
    s; the whole step if it needs no split, or if the scene's step would be split into more than BEND_PARTS partial steps
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
    """Solve a problem, and again about the last solution while that still changes.

    A body whose strains change too fast for its integration rule is solved again with backward Euler. If the solution still
    changes after MOST_SOLVES solves, the step is unconverged. The worst contact of the totals then encodes the body (BENDS_OF).

    Parameters
    ----------
    begin : the step
    bend : its bodies with large deformations
    solve : solves a problem that is linear in velocities
    problem : of the step, linearized about its motion without contacts
    is_cut : whether a step with velocities (dof,) will be split, so that fast strains do not matter
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
            unresolved = [k for k, large in enumerate(steps) if large.releases_too_much(v[large.unknown])]
            if not unresolved or is_cut(v):
                break
            for k in unresolved:
                steps[k] = steps[k].backward_euler or steps[k]
                linear[k], solves = Linear(steps[k].solve_unconstrained(v[steps[k].unknown]), 0.0, np.inf), 0
        if solves == SOLVES:
            linear = [_from_rest(large) if change[k] > near else linear[k] for k, large in enumerate(steps)]
        about = _posed(begin, bend, problem, [one.curve for one in linear])
        about = about._replace(impulse=solved.impulse[: len(problem.impulse)].copy())
    if not (change <= near).all():
        lost, status = steps[int(np.argmax(change))].body, min(totals.status, Status.MAX_ITERATIONS, key=WORST_FIRST.index)
        totals = totals._replace(status=status, worst_contact=BENDS_OF - lost)
    return solved, v, totals, is_loose


def _about(large: LargeBend, before: Linear, v: Floats, gravity_speed: float) -> tuple[Linear, float]:
    """Linearize a body's step about velocities v (dof,), the solution of the last linearization.

    Returns the new linearization and the relative change of the modal velocities that it asks for.
    """
    velocity = v[large.unknown]
    pushed = product(before.curve.block, velocity - before.curve.velocity)
    curve = large.linearize_at(velocity)
    off = product(curve.block, velocity - curve.velocity) - pushed
    size, damping = length(off), before.damping
    if damping > 0.0:
        # The residual is zero if the body was at rest before another body touched it.
        damping *= min(size / before.off, 1.0) if before.off > 0.0 else 1.0
        curve = large.linearize_at(velocity, damping)
    scale = max(np.abs(velocity).max(), gravity_speed * np.sqrt(large.mass))
    change = (1.0 + damping) * np.abs(solved(curve.block, off)).max()
    return Linear(curve, damping, size), float(change / scale)


def _from_rest(large: LargeBend) -> Linear:
    curve = large.linearize_at(np.zeros_like(large.q), 1.0)
    return Linear(curve, 1.0, length(product(curve.block, curve.velocity)))


def _posed(begin: Begin, bend: LargeBends, problem: StepProblem, curves: list[Linearization]) -> StepProblem:
    """Return the problem of the step with new linearizations of its bodies."""
    system, velocity = with_curves(problem.system, begin, bend, tuple(curves)), problem.system.velocity.copy()
    for large, first, curve in zip(bend.steps, bend.curves, curves, strict=True):
        # The impulse of impacts before the step.
        impulse = product(first.block, problem.system.velocity[large.unknown] - first.velocity)
        velocity[large.unknown] = curve.velocity + solved(curve.block, impulse)
    return problem._replace(system=system._replace(velocity=velocity))
