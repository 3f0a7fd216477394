# SPDX-License-Identifier: GPL-3.0-or-later
"""The problems: islands of scenes as they stand and as they move, and random ones, all as W, q and mu."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import solver_core as sc
from solver_core.problem.subsystem import contact_islands, subsystem
from solver_core.problem.system import System
from solver_core.scene.spec import SceneSpec
from solver_core.scenes import plain as scenes

from ...core.contact_problems import random_stack
from ..captured import heap, of_system
from ..random_contacts import given_number
from ..scenes import intercepted_solves

__all__ = ["Given", "problems"]

Floats = NDArray[np.float64]
Given = tuple[Floats, Floats, Floats]  # W (3 m, 3 m), q (3 m,) with gaps over the time step in the normals, mu (m,)

FRAMES = {"card house": 6, "arch": 6, "wall": 6, "heap": 24}
FEW = 10  # contacts: what is called small
SMALL, STACKS = 4, 3  # random problems
LATE = 0.8  # of the steps of a scene: the one that is taken
MOST = 150  # contacts of a captured island, for W is dense


def scenes_of() -> dict[str, SceneSpec]:
    return {
        "card house": scenes.card_house(levels=3),
        "arch": scenes.arch(),
        "wall": scenes.wall(),
        "heap": heap(0.6),
    }


def largest_islands(spec: SceneSpec, frames: int) -> list[System]:
    """The largest island of each step with contacts."""
    found: list[System] = []

    def see(system: System, impulse: np.ndarray) -> None:
        start, contacts = contact_islands(system.offset.size - 1, system.body_a, system.body_b)
        size = np.diff(start)
        size[size > MOST] = 0
        if size.max(initial=0):
            i = int(size.argmax())
            found.append(subsystem(system, contacts[start[i] : start[i + 1]], np.full(system.offset.size - 1, -1))[0])

    with intercepted_solves(see):
        sc.Simulation(spec, sleeping=False).run(frames)
    return found


def given_by(system: System) -> Given:
    problem = of_system(system)
    q = problem.free_velocity.copy()
    q[:, 0] += system.slack
    return problem.delassus, q.ravel(), system.mu


def problems() -> Iterator[tuple[str, str, int, Given]]:
    """Kind, name, seed (-1: nothing is random), and the problem."""
    for name, spec in scenes_of().items():
        found = largest_islands(spec, FRAMES[name])
        at = int(LATE * len(found))
        yield "captured", f"{name}, step {at}", -1, given_by(found[at])
    for seed in range(SMALL):
        G, g = given_number(np.random.default_rng(seed), seed + 2)
        yield "small", f"{seed + 2} contacts", seed, (G, g.ravel(), np.full(seed + 2, 0.5))
    for seed in range(STACKS):
        G, g, mu = random_stack(np.random.default_rng(100 + seed), 3, decades=1.0 * seed)
        yield "stack", f"masses 1 : {100.0**seed:g}", 100 + seed, (G, np.ravel(g), mu)
