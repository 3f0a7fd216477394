# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of bodies in large bends, solved once more about their answers: forces are not linear in what contacts change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..contact.bent import with_curves
from ..contact.build import StepProblem
from ..model.large_bends import Curve, LargeBends
from ..model.predict import Begin
from .islands import Totals

__all__ = ["Solved", "solve_bent"]

Floats = NDArray[np.float64]
# a problem with its impulses, which has the bias of joints, velocities (dof,), what became of it, and whether joints are loose
Solved = tuple[StepProblem, Floats, Totals, bool]

SOLVES = 3  # times that a step is solved
# Of modal velocities, and of those that gravity gives in the step: what they may be off.
STRAYED = 1e-5


def solve_bent(begin: Begin, bend: LargeBends, solve: Callable[[StepProblem], Solved], problem: StepProblem) -> Solved:
    """Solve a problem with `solve`, and again about the answer while that is another."""
    curves, about, factorisations, solves = bend.curves, problem, 0, 0
    while True:
        solved, v, totals, is_loose = solve(about)
        factorisations, solves = factorisations + totals.factorisations, solves + 1
        further = _further(begin, bend, problem, curves, v) if solves < SOLVES else None
        if further is None:
            return solved, v, totals._replace(factorisations=factorisations), is_loose
        about, curves = further
        about = about._replace(impulse=solved.impulse[: len(problem.impulse)].copy())


def _further(
    begin: Begin, bend: LargeBends, problem: StepProblem, about: tuple[Curve, ...], v: Floats
) -> tuple[StepProblem, tuple[Curve, ...]] | None:
    """The problem about velocities v (dof,), which solve it about earlier curves; None where the motion is the same."""
    curves, is_near, impulses = [], True, []
    for large, first, before in zip(bend.steps, bend.curves, about, strict=True):
        velocity, given = v[large.unknown], problem.system.velocity[large.unknown]
        pushed = before.block @ (velocity - before.velocity)
        curve = large.about(velocity)
        moved = curve.velocity + np.linalg.solve(curve.block, pushed)
        scale = max(np.abs(velocity).max(), begin.gravity_speed * np.sqrt(large.mass))
        is_near &= bool(np.abs(moved - velocity).max() <= STRAYED * scale)
        curves.append(curve)
        # of impacts before the step
        impulses.append(first.block @ (given - first.velocity))
    if is_near:
        return None
    found = tuple(curves)
    system, velocity = with_curves(problem.system, begin, bend, found), problem.system.velocity.copy()
    for large, curve, impulse in zip(bend.steps, found, impulses, strict=True):
        velocity[large.unknown] = curve.velocity + np.linalg.solve(curve.block, impulse)
    return problem._replace(system=system._replace(velocity=velocity)), found
