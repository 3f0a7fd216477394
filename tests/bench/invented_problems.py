# SPDX-License-Identifier: GPL-3.0-or-later
"""Invented contact problems: what a looser tolerance and a warm start with rounding in it must not spoil."""

from __future__ import annotations

import numpy as np

import solver_core as sc

from ..core.contact_problems import any_friction
from .invented import Found, Random, scale_of

TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
METHODS = ("staggered", "pivot", "energy")


def resized(problem: sc.ContactProblem, random: Random) -> tuple[sc.ContactProblem, float, str]:
    """The same contacts with lengths of another unit, and perhaps in a mirror: t2 changes its sides."""
    scale, flip = scale_of(random), (1.0, -1.0)[random.integers(2)]
    sides = np.tile([1.0, 1.0, flip], problem.contacts)
    G, g = problem.delassus * np.outer(sides, sides), scale * sides * problem.free_velocity.ravel()
    return sc.ContactProblem.from_delassus(G, g, problem.mu), scale, "" if flip > 0.0 else ", mirrored"


def looser(random: Random) -> Found:
    """Of any friction and mass ratio: a looser tolerance solves what a tighter one solves."""
    seed = int(random.integers(10_000, 1 << 30))
    problem, scale, how = resized(any_friction(seed), random)
    solved = [sc.solve(problem, tolerance=tolerance).status is sc.Status.SOLVED for tolerance in TOLERANCES]
    tightest = max((i for i, one in enumerate(solved) if one), default=-1)
    worse = solved[: tightest + 1].count(False)
    return Found(f"problem {seed}{how}", scale, 0.0, float(worse), worse == 0, 0)


def warm(random: Random) -> Found:
    """An answer with rounding in it, of contacts that do not press less than nothing, is where a solve begins."""
    seed, method = int(random.integers(10_000, 1 << 30)), METHODS[random.integers(3)]
    problem, scale, how = resized(any_friction(seed), random)
    answer = sc.solve(problem, method)
    # of contacts that all part there is none
    largest = float(np.abs(answer.impulse).max()) or 1.0
    rounding = largest * 10.0 ** random.uniform(-25.0, -12.0)
    start = answer.impulse + rounding * random.uniform(-1.0, 1.0, answer.impulse.shape)
    start[answer.impulse[:, 0] <= 0.0, 0] = -rounding
    again = sc.solve(problem, method, warm_start=start)
    # solved again, if it was; and always measured
    right = again.status is answer.status or again.status is sc.Status.SOLVED
    right &= bool(np.isfinite(again.impulse).all())
    off = float(np.abs(again.velocity - answer.velocity).max() / max(np.abs(problem.free_velocity).max(), 1e-300))
    return Found(
        f"problem {seed}, {method}, {answer.status.name}, rounding {rounding / largest:.0e}{how}", scale, 0.0, off, right, 0
    )
