# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenes of the benchmark, and the contact problems that a running simulation meets in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from solver_core.dynamics.simulation import Simulation
from solver_core.dynamics.solve import system_solver
from solver_core.problem.subsystem import contact_islands, subsystem
from solver_core.problem.system import System
from solver_core.scene import parts
from solver_core.scene.spec import SceneSpec
from solver_core.scenes import plain as scenes

__all__ = ["StepProblem", "capture", "house_with_box", "intercepted_solves", "largest_island"]

THIN_CARD = scenes.CardSize(0.0003, 0.063, 0.088)  # m, a real playing card


@dataclass(frozen=True)
class StepProblem:
    """One island's contact problem in one time step: what the solver was given.

    step: 0 for the first step of the simulation. warm_start: (m, 3) impulses that the step before left.
    """

    step: int
    system: System
    warm_start: NDArray[np.float64]


def house_with_box(levels: int = 7, height: float = 0.03) -> SceneSpec:
    """A house of thin cards, and a box of half a gram that falls on its top from `height` m: 77 cards, over 560 contacts."""
    house = scenes.card_house(levels=levels, card=THIN_CARD)
    top = max(body.position[2] for body in house.bodies) + 0.5 * THIN_CARD.length
    box = parts.box("Box", (0.01, 0.01, 0.01), (0.0, 0.0, top + height), house.bodies[-1].material, 5e-4)
    return replace(house, bodies=(*house.bodies, box))


def largest_island(system: System) -> tuple[System, NDArray[np.int64]]:
    """The island with the most contacts, and the indices of these contacts; the whole system when nothing touches."""
    bodies = system.offset.size - 1
    start, contacts = contact_islands(bodies, system.body_a, system.body_b)
    if start.size < 2:
        return system, contacts
    largest = int(np.argmax(np.diff(start)))
    chosen = contacts[start[largest] : start[largest + 1]]
    return subsystem(system, chosen, np.full(bodies, -1))[0], chosen


@contextmanager
def intercepted_solves(see: Callable[[System, NDArray[np.float64]], None]) -> Iterator[None]:
    """Within this context, `see` is shown the problem and the warm start of every step before it is solved as always."""
    solve_islands = system_solver.solve_islands

    def intercept(system, impulse, *rest):
        see(system, impulse)
        return solve_islands(system, impulse, *rest)

    system_solver.solve_islands = intercept
    try:
        yield
    finally:
        system_solver.solve_islands = solve_islands


def capture(spec: SceneSpec, steps: tuple[int, ...], *, tolerance: float) -> list[StepProblem]:
    """The largest island of the given time steps of a scene.

    A time step without a solve, because nothing touches or all bodies sleep, counts as well, so that this ends for every scene.
    In its place stands the last problem before it, once; if a time step solves several problems, the first one counts.
    """
    found: dict[int, StepProblem] = {}
    step, last = -1, None

    def count() -> None:
        nonlocal step
        step += 1

    def see(system: System, impulse: NDArray[np.float64]) -> None:
        nonlocal last
        if last is None or last.step < step:
            island, contacts = largest_island(system)
            last = StepProblem(step, island, impulse[contacts].copy())
            found[step] = last

    with intercepted_solves(see):
        running = Simulation(spec, tolerance=tolerance)
        while step < max(steps):
            running.advance(count)
    met = [max((one for one in found if one <= wanted), default=None) for wanted in steps]
    return [found[one] for one in dict.fromkeys(met) if one is not None]
