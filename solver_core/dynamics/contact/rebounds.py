# SPDX-License-Identifier: GPL-3.0-or-later
"""Energy limit on restitution: rebounds return at most e^2 of the energy that impacts absorbed.

An impact takes two steps (`restitution.py`). If another impact follows within them, as in a row of balls with small gaps, the
stored approach speed is too large, because other bodies have changed the motion since. A contact that slows bodies down before
they touch therefore also stores the energy that it absorbs,

    -lam . (u^- + u^+) / 2        (with the velocities before and after the impulse; this is exactly its work).

All contacts of an island together return at most e^2 of the energy that its rebounding contacts absorbed. This is Stronge's
energetic coefficient (1990), for simultaneous impacts. If the rebound speeds require more, all rebounds of the island are
lowered, and the step is solved again. No more energy is stored than was absorbed, so restitution never increases the energy,
for any order of impacts.
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

EXACT = 1e-6  # fraction of the energy of rebounds that the tolerance of a solve may add


def lowered(problem: StepProblem, v: Floats) -> Floats | None:
    """Return (m,) the factors by which rebounds have to be lowered; None if they need not be.

    problem: solved, with its impulses. v: (dof,) the solved velocities.
    """
    if not problem.elastic or not (problem.system.slack < 0.0).any():
        return None
    rebound = np.maximum(-problem.system.slack, 0.0)
    island, work = _work(problem, v)
    given = 0.5 * problem.impulse[: len(rebound), 0] * rebound
    may, given, work = (np.bincount(island, x) for x in (_may_give(problem), given, work))
    over = work - may > EXACT * given
    if not over.any():
        return None
    # The energy of rebounds decreases at least in proportion to their speeds.
    share = np.divide(np.maximum(may - (work - given), 0.0), given, out=np.zeros_like(given), where=given > 0.0)
    return np.where(over, share, 1.0)[island]


def taken(problem: StepProblem, v: Floats) -> Floats:
    """Return (m,) J, the energy that contacts have absorbed and not yet returned, after a step with velocities v (dof,)."""
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
    """Return (m,) J, e^2 of the absorbed energy of rebounding contacts, 0 for others."""
    return np.where(problem.system.slack < 0.0, problem.restitution**2 * problem.taken_before, 0.0)


def _work(problem: StepProblem, v: Floats) -> tuple[Indices, Floats]:
    """Return (m,) the islands of contacts, and (m,) J, their work on bodies. Joints do not count."""
    system, m = problem.system, len(problem.approach)
    start, order = contact_islands(len(system.offset) - 1, system.body_a, system.body_b)
    island = np.empty(len(order), dtype=np.int64)
    island[order] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    mean = 0.5 * (relative_velocities(system, system.velocity) + relative_velocities(system, v))
    of_contacts: Floats = dots(problem.impulse[:m], mean[:m])
    return island[:m], of_contacts
