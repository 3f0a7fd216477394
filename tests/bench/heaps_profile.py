# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of a large scene's steps goes, stage by stage.

    python -m tests.bench.heaps_profile [--scenes cubes:125 wall:500] [--frames 72] [--from 0] [--tolerance 1e-6]
                                        [--moving 1e-3] [--limit 300] [--threads 1]

Scenes are those of `heap_scenes.py`, at 24 frames a second and 10 steps a frame. Of each, the processor time of a step from the
frame --from on, by what it went to, each stage without those within it, and how many islands were solved by what. A run that
has used --limit seconds of the processor ends after the frame.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np

import solver_core as sc
from solver_core.dynamics import stepper
from solver_core.dynamics.contact.collide import Collider
from solver_core.dynamics.look_ahead.impacts import ImpactFinder
from solver_core.dynamics.look_ahead.later_contacts import LaterContacts
from solver_core.dynamics.sleeping import Sleep
from solver_core.dynamics.solve import islands, step_solver, system_solver
from solver_core.problem.result import Found
from solver_core.solvers.coulomb import cascade

from .heap_scenes import SCENES, heap_of_cubes, named
from .heaps import SUBSTEPS
from .records import on_one_thread, write_rows

# where the function of each stage is looked up when it is called
STAGES: dict[str, tuple[object, str]] = {
    "contacts": (Collider, "contacts"),
    "the problem built": (step_solver, "build_system"),
    "islands told apart": (system_solver, "solve_islands"),
    "large islands begun": (cascade, "begin_large"),
    "proposals to them": (islands, "propose_beforehand"),
    "islands solved and accepted": (islands, "_solve_in_turn"),
    "overlaps parted": (step_solver, "separation"),
    "impacts looked for": (ImpactFinder, "find"),
    "what is run into": (LaterContacts, "find"),
    "prediction": (stepper, "predicted_step"),
    "sleep": (Sleep, "update"),
}


class Stages:
    """Processor time and calls by stage, that of a stage within another counted once."""

    def __init__(self) -> None:
        self.seconds, self.calls = dict.fromkeys(STAGES, 0.0), dict.fromkeys(STAGES, 0)
        self._within = [0.0]

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time counted."""

        def call(*arguments: Any, **named: Any) -> Any:
            begin = process_time()
            self._within.append(0.0)
            try:
                return function(*arguments, **named)
            finally:
                spent = process_time() - begin
                self.seconds[stage] += spent - self._within.pop()
                self._within[-1] += spent
                self.calls[stage] += 1

        return call

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Within this context stages are counted."""
        with ExitStack() as stack:
            for stage, (owner, name) in STAGES.items():
                stack.enter_context(patch.object(owner, name, self.timed(stage, getattr(owner, name))))
            yield


def profiled(name: str, number: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    """A row a stage."""
    settings = sc.SolverSettings(tolerance=arguments.tolerance, moving_tolerance=arguments.moving, substeps=SUBSTEPS)
    running = sc.Simulation(SCENES[name][0](number), settings, threads=arguments.threads)
    for _ in range(arguments.first):
        running.advance()
    stages, begin = Stages(), process_time()
    steps, solves, missed, found = 0, 0, 0, np.zeros(len(Found), np.int64)
    for _ in range(arguments.frames):
        with stages.counting():
            frame = running.advance()
        steps += len(frame.statistics.status)
        solves += int(frame.statistics.solves.sum())
        missed += int(np.count_nonzero(frame.statistics.status))
        found += frame.statistics.found.sum(axis=0)
        if process_time() - begin > arguments.limit:
            break
    total = process_time() - begin
    by = " ".join(f"{kind.name.lower()} {count}" for kind, count in zip(Found, found, strict=True) if count)
    print(f"{name}:{number}  {steps} steps, {1e3 * total / steps:.2f} ms and {solves / steps:.2f} solves each")
    print(f"  {missed} missed; {by}")
    seconds = stages.seconds | {"all else": total - sum(stages.seconds.values())}
    rows: list[dict[str, object]] = []
    for stage, spent in seconds.items():
        rows.append(
            {"stage": stage, "ms": 1e3 * spent / steps, "calls": stages.calls.get(stage, steps), "share": spent / total}
        )
    of_scene = {"scene": name, "bodies": number, "from_frame": arguments.first, "steps": steps, "solves": solves, "found": by}
    for row in rows:
        print(f"  {row['stage']:30s} {row['ms']:9.3f} ms  {row['share']:7.1%}  {row['calls']:7d} calls", flush=True)
    return [of_scene | row for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=["cubes:125"], metavar="NAME[:NUMBER]")
    parser.add_argument("--frames", type=int, default=72)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--moving", type=float, default=1e-3, metavar="TOLERANCE")
    parser.add_argument("--limit", type=float, default=300.0)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    on_one_thread()
    sc.Simulation(heap_of_cubes(8), substeps=SUBSTEPS).run(20)  # compiled, or loaded, before the clock starts
    rows: list[dict[str, object]] = []
    for name, number in [named(text) for text in arguments.scenes]:
        rows += profiled(name, number, arguments)
    print(write_rows("heaps_profile", rows))


if __name__ == "__main__":
    main()
