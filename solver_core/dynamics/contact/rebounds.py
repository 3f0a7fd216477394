# SPDX-License-Identifier: GPL-3.0-or-later
"""What bounces may give: never more than impacts have taken.

An impact takes two steps (`restitution.py`), and where one runs into the next within them, as in a row of balls with small
gaps, the speed that is remembered says too much: others have pushed the bodies meanwhile. So a contact that slows bodies down
before they touch also remembers the energy that it takes from them,

    -lam . (u^- + u^+) / 2        (with the velocities before and after the impulse: exactly its work)

and all contacts of an island together give it no more than e^2 of what those that bounce have taken: Stronge's energetic
coefficient (1990), for impacts at once. Where speeds ask for more, all rebounds of the island are lowered, and the step is
solved again. With no more remembered than was taken, energy never grows by restitution, whatever meets in whichever order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import dots
from ...problem.subsystem import contact_islands
from ...problem.system import relative_velocities
from .build import StepProblem

__all__ = ["lowered", "taken"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

EXACT = 1e-6  # of what rebounds give: what a solve's tolerance may add to it


def lowered(problem: StepProblem, v: Floats) -> Floats | None:
    """(m,) what a step's rebounds have to be multiplied by for the velocities (dof,) that they led to, None where they may
    stay."""
    if not problem.elastic or not (problem.system.slack < 0.0).any():
        return None
    rebound = np.maximum(-problem.system.slack, 0.0)
    island, work = _work(problem, v)
    given = 0.5 * problem.impulse[: len(rebound), 0] * rebound
    may, given, work = (np.bincount(island, x) for x in (_may_give(problem), given, work))
    over = work - may > EXACT * given
    if not over.any():
        return None
    # what rebounds give falls with them at least in proportion
    share = np.divide(np.maximum(may - (work - given), 0.0), given, out=np.zeros_like(given), where=given > 0.0)
    return np.where(over, share, 1.0)[island]


def taken(problem: StepProblem, v: Floats) -> Floats:
    """(m,) J that contacts have taken from bodies that they slow down, and that they have not given back, after a step."""
    if not problem.elastic:
        return np.zeros(len(problem.approach))
    slows = (problem.approach > 0.0) & (problem.restitution > 0.0)
    if not slows.any():
        return np.zeros(len(slows))
    island, work = _work(problem, v)
    out = np.where(slows, problem.taken_before + np.maximum(-work, 0.0), 0.0)
    has = np.bincount(island, np.where(slows, problem.taken_before, _may_give(problem)) - work)
    total = np.bincount(island, out)
    kept = np.zeros(len(total))
    np.divide(np.clip(has, 0.0, total), total, out=kept, where=total > 0.0)
    return out * kept[island]


def _may_give(problem: StepProblem) -> Floats:
    """(m,) J: e^2 of what contacts have taken, of those that bounce."""
    return np.where(problem.system.slack < 0.0, problem.restitution**2 * problem.taken_before, 0.0)


def _work(problem: StepProblem, v: Floats) -> tuple[Indices, Floats]:
    """(m,) the islands of contacts, and the work in J that they do on bodies, joints left out."""
    system, m = problem.system, len(problem.approach)
    start, order = contact_islands(len(system.offset) - 1, system.body_a, system.body_b)
    island = np.empty(len(order), dtype=np.int64)
    island[order] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    mean = 0.5 * (relative_velocities(system, system.velocity) + relative_velocities(system, v))
    of_contacts: Floats = dots(problem.impulse[:m], mean[:m])
    return island[:m], of_contacts
