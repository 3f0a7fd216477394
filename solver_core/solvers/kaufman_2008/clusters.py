# SPDX-License-Identifier: GPL-3.0-or-later
"""The last digits of large islands that tumble: block Gauss-Seidel with clusters of bodies for blocks.

Once the alternating direction method has an island to 1e-4, or comes no nearer, most contacts are far better, and the worst
ones are few and apart. Around each of the worst, the bodies that are fewest contacts away make a cluster: the impulses of all
contacts that are not wholly within it are held, and its own are solved by Staggered Projections, as those of a small island,
which Newton's method does in few steps (the multiplicative Schwarz method, here for a complementarity problem; Xu 1992,
"Iterative methods by space decomposition and subspace correction"). Rounds repeat until the worst contact of all is good. A
proposal, like all others. What stands has its digits without them (`begin_standing`), or by Newton's method on all of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...problem.residuals import effective_masses, scales
from ...problem.result import Found
from ...problem.subsystem import subsystem
from ...problem.system import System, effective_inverse_mass
from ..effort import BELL, is_worked_off
from .aim import COARSE, LARGE
from .regions import GOOD_ENOUGH, MOST_TOGETHER, begin_large, begin_standing, measure_each, velocities

__all__ = ["OF_A_CLUSTER", "SolvePart", "is_large", "propose_by_clusters"]

CLUSTER = 64  # in a cluster: with 8 the rounds stall, with 32 there are three times as many solves
CENTRE = 32  # of these, the nearest, that no other cluster of a round may begin in
BETTER = 0.3  # of the tolerance, that clusters are solved to, and what is good enough not to begin one
ROUNDS = 30
OF_A_CLUSTER = 20  # iterations
PATIENT_ROUNDS = 6  # rounds without progress

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
SolvePart = Callable[[System, Floats, float], int]


def is_large(system: System) -> bool:
    """Whether a system is worth taking apart."""
    return len(system.offset) - 1 > LARGE


def propose_by_clusters(
    system: System,
    impulse: Floats,
    tolerance: float,
    tumbling: bool,
    effort: Indices,
    solve: SolvePart,
    threads: int,
) -> tuple[int, Found]:
    """Improve impulses (m, 3) until their natural map is within a tolerance, first by what large ones begin with, in so many
    threads; returns the factorisations, and what found them.

    tumbling: whether the system is known to be no structure; what may be one has no clusters.
    solve: Staggered Projections for a part: system, impulses (k, 3) that are improved, tolerance; returns its factorisations.
    """
    if not tumbling and tolerance < COARSE and len(system.offset) - 1 <= MOST_TOGETHER:
        return begin_standing(system, tolerance, effort, impulse, threads)
    fastest, _ = scales(system, impulse)
    kappa, v, errors = effective_masses(effective_inverse_mass(system)), np.empty_like(system.velocity), np.empty(len(impulse))
    factorisations, found = begin_large(system, max(tolerance, COARSE), effort, impulse, threads)
    measure_each(system, impulse, kappa, v, errors)
    if errors.max() <= GOOD_ENOUGH * tolerance * fastest:
        return factorisations, found
    start, neighbours = _neighbours(system)
    best, least, since = impulse.copy(), errors.max(), 0
    for _ in range(ROUNDS):
        if errors.max() <= GOOD_ENOUGH * tolerance * fastest or since == PATIENT_ROUNDS:
            break
        taken = np.zeros(len(start) - 1, dtype=bool)
        for k in np.argsort(-errors, kind="stable"):
            if errors[k] <= BETTER * tolerance * fastest or effort[BELL] > 0 or is_worked_off(effort, len(impulse)):
                break
            seeds = [int(body) for body in (system.body_a[k], system.body_b[k]) if body >= 0]
            if taken[seeds].any():
                continue
            cluster = _around(seeds, start, neighbours)
            taken[cluster[:CENTRE]] = True
            factorisations += _solve_cluster(system, cluster, impulse, BETTER * tolerance * fastest, solve)
        measure_each(system, impulse, kappa, v, errors)
        since += 1
        if errors.max() < least:
            best[:], least, since = impulse, errors.max(), 0
    impulse[:] = best
    return factorisations, Found.CLUSTERS


def _solve_cluster(system: System, cluster: Indices, impulse: Floats, speed: float, solve: SolvePart) -> int:
    """Solve for the impulses of contacts within a cluster, to `speed` (m/s), with all others held."""
    bodies = len(system.offset) - 1
    inside = np.zeros(bodies + 1, dtype=bool)
    inside[cluster], inside[bodies] = True, True  # what never moves, index -1, is in every cluster
    chosen = np.flatnonzero(inside[system.body_a] & inside[system.body_b])
    held = impulse.copy()
    held[chosen] = 0.0
    v = np.empty_like(system.velocity)
    velocities(system, held, v)
    part, _ = subsystem(system._replace(velocity=v), chosen, np.full(bodies, -1))
    some = impulse[chosen]
    fastest, _ = scales(part, some)
    if fastest == 0.0:
        return 0
    factorisations = solve(part, some, speed / fastest)
    if np.isfinite(some).all():
        impulse[chosen] = some
    return factorisations


def _neighbours(system: System) -> tuple[Indices, Indices]:
    """(start, bodies): those that body b touches are bodies[start[b] : start[b + 1]], ascending."""
    bodies = len(system.offset) - 1
    both = (system.body_a >= 0) & (system.body_b >= 0)
    a, b = system.body_a[both], system.body_b[both]
    pairs = np.unique(np.concatenate([a * bodies + b, b * bodies + a]))
    return np.searchsorted(pairs // bodies, np.arange(bodies + 1)), pairs % bodies


def _around(seeds: list[int], start: Indices, neighbours: Indices) -> Indices:
    """The bodies that are fewest contacts away from some, these first."""
    found = dict.fromkeys(seeds)
    queue = list(found)
    for body in queue:
        for other in neighbours[start[body] : start[body + 1]].tolist():
            if len(found) == CLUSTER:
                return np.array(queue)
            if other not in found:
                found[other] = None
                queue.append(other)
    return np.array(queue)
