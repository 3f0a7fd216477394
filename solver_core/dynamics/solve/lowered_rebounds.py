# SPDX-License-Identifier: GPL-3.0-or-later
"""A step solved again with lower rebounds, until bounces give no more energy than impacts took (`contact/rebounds.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contact.build import StepProblem
from ..contact.rebounds import lowered
from .bent_further import Solved
from .islands import Totals, after

__all__ = ["Rebounded", "solve_lowered"]

Floats = NDArray[np.float64]

# Fraction by which a rebound is first lowered beyond the energy bound. Each further solve uses ten times as much.
LOWERED_FURTHER = 1e-6
LOWERINGS = 6  # solves with lower rebounds; in the last one, the lowered rebounds are zero


class Rebounded(NamedTuple):
    """A step as it was solved, with the rebounds that its energy allows.

    problem: with its impulses. velocities: (dof,). totals: of all solves. is_loose: whether the constraint error of joints is
    too large. pushes: (m,) contacts with restitution that carry load at the requested rebounds.
    """

    problem: StepProblem
    velocities: Floats
    totals: Totals
    is_loose: bool
    pushes: NDArray[np.bool_]


def solve_lowered(problem: StepProblem, solve: Callable[[StepProblem], Solved]) -> Rebounded:
    """Solve a step, and again with lower rebounds while bounces give more energy than impacts took.

    Parameters
    ----------
    problem : the step's contact problem
    solve : solves it

    Returns
    -------
    The step with the last rebounds that were tried. If the constraint error of a joint is too large, the first solve: the
    caller splits that step.
    """
    contacts, factorisations, lowerings = problem.system, 0, 0
    pushes = np.zeros(len(contacts.mu), np.bool_)
    while True:
        solved, v, totals, is_loose = solve(problem)
        totals = after(factorisations, totals)
        factorisations = totals.factorisations
        if lowerings == 0 and problem.elastic:
            pushes = (solved.impulse[: len(pushes), 0] > 0.0) & (problem.restitution > 0.0)
        share = None if is_loose else lowered(solved, v)
        if share is None or lowerings == LOWERINGS:
            return Rebounded(solved, v, totals, is_loose, pushes)
        # Each solve only reduces the excess by a factor. Lowering a little further ends the loop after a few solves.
        share = np.where(share < 1.0, (1.0 - LOWERED_FURTHER * 10.0**lowerings) * share, 1.0)
        lowerings += 1
        if lowerings == LOWERINGS:
            share = np.where(share < 1.0, 0.0, 1.0)
        contacts = contacts._replace(slack=np.where(contacts.slack < 0.0, share * contacts.slack, contacts.slack))
        problem = problem._replace(system=contacts, impulse=solved.impulse[: len(problem.impulse)].copy())
