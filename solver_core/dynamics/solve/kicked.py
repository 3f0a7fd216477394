# SPDX-License-Identifier: GPL-3.0-or-later
"""Second solve of unconverged islands from perturbed ("kicked") impulses, the last attempt before a step is split.

In a pile of pieces that fit exactly, most contacts can be at the edges of their friction cones: 1,051 of 1,760 loaded contacts
in a pile of 200 settling Voronoi pieces. There the matrix J^T D J of Newton's method (`solvers/coulomb/newton.py`) is nearly
singular and unsymmetric, and the iteration does not converge: with any penalty, errors stay at twice the tolerance while
multipliers drift along redundant contacts. But a solution is near. If the impulses are perturbed by a thousandth, the same
methods find a solution, because they start with another set of sliding contacts.

The perturbations have fixed seeds, so a bake is reproducible. The best result is kept. Solved islands are not perturbed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...problem.result import WORST_FIRST, Status
from ...problem.subsystem import contact_islands
from ...problem.system import System
from ...solvers.effort import OVERDUE, is_worked_off
from .islands import Again, Error, Outcomes, Requests, Totals, island_of_each, not_begun, totals

__all__ = ["SolveIslands", "solve_with_kicks"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SolveIslands = Callable[[System, Floats, Requests, Indices, int, Again | None], tuple[Floats, Totals]]

# Relative perturbations of the impulses of each triple of rows, tried in this order. Larger ones lose the warm start.
KICKS = (1e-3, 1e-4, 3e-3)


def solve_with_kicks(
    solve: SolveIslands,
    system: System,
    impulse: Floats,
    requests: Requests,
    effort: Indices,
    threads: int,
    again: Again | None,
) -> tuple[Floats, Totals]:
    """Solve islands, and solve unconverged islands again from perturbed impulses.

    solve: `solve_islands`, which has the same other parameters and results.
    """
    first: Again = all_anew(system) if again is None else again
    which, out = first.which, first.outcomes
    v, found = solve(system, impulse, requests, effort, threads, first)
    if found.status == Status.SOLVED:
        return v, found
    island, _ = island_of_each(system)
    factorisations = found.factorisations
    for seed, size in enumerate(KICKS):
        failed = (out.status == Status.MAX_ITERATIONS) | (out.status == Status.UNCONFIRMED)
        missed = np.intersect1d(np.flatnonzero(failed), which)
        if not missed.size or effort[OVERDUE] > 0 or is_worked_off(effort, len(system.mu)):
            break
        kept = impulse.copy(), v.copy(), Outcomes._make(array.copy() for array in out)
        off = size * np.random.default_rng(seed).normal(size=(len(impulse), 1))
        impulse[:] = np.where(np.isin(island, missed)[:, None], (1.0 + off) * impulse, impulse)
        v, found = solve(system, impulse, requests, effort, threads, Again(missed, v, out))
        factorisations += found.factorisations
        worse = [i for i in missed if out.status[i] != Status.SOLVED and not _is_nearer(out, kept[2], i)]
        if worse:
            _take_back(system, (island, np.array(worse)), kept, (impulse, v, out))
    found = totals(out)
    status = min(out.status.tolist(), key=WORST_FIRST.index, default=Status.SOLVED)
    return v, found._replace(status=status, factorisations=factorisations)


@kernel
def all_anew(system):
    """Return `Again` for a first solve: all islands of a system, its velocities (n,), and empty outcomes."""
    start, _ = contact_islands(system.offset.size - 1, system.body_a, system.body_b)
    return Again(np.arange(start.size - 1), system.velocity.copy(), not_begun(start.size - 1))


def _is_nearer(out: Outcomes, before: Outcomes, i: int) -> bool:
    """Return whether the new solution of island i has smaller residuals than the old one; False for NaN."""
    return bool(out.errors[i, Error.WORST] < before.errors[i, Error.WORST])


def _take_back(
    system: System,
    islands: tuple[Indices, Indices],
    kept: tuple[Floats, Floats, Outcomes],
    now: tuple[Floats, Floats, Outcomes],
) -> None:
    """Restore the stored impulses (m, 3), velocities (n,) and outcomes of some islands.

    islands: (m,) the island of each triple of rows, and the islands to restore.
    """
    island, which = islands
    rows = np.isin(island, which)
    now[0][rows] = kept[0][rows]
    bodies = np.unique(np.concatenate([system.body_a[rows], system.body_b[rows]]))
    for body in bodies[bodies >= 0]:
        own = slice(system.offset[body], system.offset[body + 1])
        now[1][own] = kept[1][own]
    for array, before in zip(now[2], kept[2], strict=True):
        array[which] = before[which]
