# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems captured from the large scenes, and what each phase of a solve makes of them, alone and together.

    python -m tests.bench.captured_phases --capture FOLDER [--scenes cubes:125 wall] [--at 60 120 240] [--tolerance 1e-4]
    python -m tests.bench.captured_phases --solve FOLDER [--tolerances 1e-2 1e-3 1e-4 1e-6 1e-8] [--phases ...] [--limit 10]
                                          [--minutes 60] [--matrix] [--plot FILE]

--capture writes the largest island of the steps --at of each scene of `heap_scenes.py`, with the step's warm start. --solve
takes each from there and from nothing: by the methods of first order alone, by Newton's method alone, by
the published projections alone, by all of them as a bake does, and by pivoting where contacts are few. Solved is what the
outside measure, the relative natural map or for whole methods all Coulomb residuals, finds within the tolerance. Times are the
processor's, in ms. --limit is of the wall, in s, a solve, and --minutes of the processor for all solves: problems that are left
out are named. --matrix gives problems as a matrix instead.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np

import solver_core as sc
from solver_core.compile.kernel import kernel
from solver_core.problem.residuals import effective_masses, fastest_velocity, natural_error
from solver_core.problem.system import (
    System,
    apply_inverse_mass,
    effective_inverse_mass,
    transpose_product,
)
from solver_core.solvers.block_operator import State, operator_of
from solver_core.solvers.coulomb.newton import FIRST_PENALTIES
from solver_core.solvers.coulomb.newton import newton as newton_in_velocities
from solver_core.solvers.coulomb.subdomains import begin_large
from solver_core.solvers.criteria import criteria_at
from solver_core.solvers.effort import DONE, allow, deadline_timer, effort_of_a_step

from .captured import kept_system, of_system
from .heap_scenes import SCENES, named
from .heaps_plot import plotted
from .records import on_one_thread, write_rows
from .scenes import intercepted_solves, largest_island

ROOT = Path(__file__).resolve().parents[2]

SUBSTEPS = 10
PIVOTED = 100  # contacts up to which pivoting is tried
NEWTON_TRIES = 4
SHOWN, SKIPPED = ("first order", "all"), 1e-2  # in the picture, from the warm start

Floats = np.ndarray
Outcome = tuple[float, int]  # the relative residual reached, factorisations


def velocities(system: System, impulse: Floats) -> Floats:
    momentum, v = np.zeros(system.velocity.size), np.empty(system.velocity.size)
    transpose_product(system, impulse, momentum)
    apply_inverse_mass(system, momentum, v)
    return v + system.velocity


@kernel
def newton_from(system, penalty, criteria, effort, impulse, v):
    """One try of Newton's method: inner kernels are called by kernels only, since from Python they take the process down."""
    operator = operator_of(system)
    allow(effort, 200, operator.blocks.structure.target.size, impulse.shape[0])
    return newton_in_velocities(operator, 0, penalty, criteria, effort, State(impulse, v))


@kernel
def largest_error(system, impulse, v):
    """The natural map, m/s, of impulses and their velocities."""
    return natural_error(system, impulse, v, effective_masses(effective_inverse_mass(system)), 0)


def natural_map(system: System, impulse: Floats) -> float:
    fastest = fastest_velocity(system)
    error = largest_error(system, impulse, velocities(system, impulse))
    return error / fastest if fastest > 0.0 else 0.0


def first_order(problem: sc.ContactProblem, start: Floats, tolerance: float, limit: float) -> Outcome:
    impulse, effort = start.copy(), effort_of_a_step()
    with deadline_timer(effort, limit):
        criteria = criteria_at(tolerance, fastest_velocity(problem.system))
        state = State(impulse, np.empty_like(problem.system.velocity))
        factorisations, _ = begin_large(problem.system, criteria, effort, state, 1)
    return natural_map(problem.system, impulse), factorisations


def newton(problem: sc.ContactProblem, start: Floats, tolerance: float, limit: float) -> Outcome:
    system, effort = problem.system, effort_of_a_step()
    best, least, total = start, np.inf, 0
    criteria = criteria_at(tolerance, fastest_velocity(system))
    with deadline_timer(effort, limit):
        for attempt in range(NEWTON_TRIES):
            impulse, v = best.copy(), np.empty_like(system.velocity)
            newton_from(system, FIRST_PENALTIES[attempt % len(FIRST_PENALTIES)], criteria, effort, impulse, v)
            reached, total = natural_map(system, impulse), total + int(effort[DONE])
            if reached < least:
                best, least = impulse, reached
            if least <= tolerance:
                break
    return least, total


def method(name: str, **options) -> Callable[[sc.ContactProblem, Floats, float, float], Outcome]:
    def solved(problem: sc.ContactProblem, start: Floats, tolerance: float, limit: float) -> Outcome:
        warm = start if start.any() else None
        result = sc.solve(problem, name, tolerance=tolerance, time_limit=limit, warm_start=warm, **options)
        measured = sc.residuals(problem, result)
        reached = measured.static_friction if name == "pivot" else measured.coulomb
        claimed = result.status == sc.Status.SOLVED
        return reached if claimed else max(reached, 1.001 * tolerance), result.stats.factorisations

    return solved


PHASES: dict[str, Callable[[sc.ContactProblem, Floats, float, float], Outcome]] = {
    "first order": first_order,
    "Newton": newton,
    "projections": method("staggered", staggering="plain"),
    "all": method("staggered"),
    "pivot": method("pivot"),
}


def capture(name: str, number: int, steps: list[int], tolerance: float, folder: Path) -> None:
    """Write the largest islands of some steps of a scene, with their warm starts."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: set[int] = set()
    step = [0]

    def see(system: System, impulse: Floats) -> None:
        if step[0] in steps and step[0] not in seen and system.body_a.size:
            seen.add(step[0])
            island, chosen = largest_island(system)
            arrays = dict(zip(System._fields, island, strict=True))
            np.savez_compressed(folder / f"{name}_{number}_{step[0]}.npz", impulse=impulse[chosen], **arrays)

    def count() -> None:
        step[0] += 1

    simulation = sc.Simulation(SCENES[name][0](number), tolerance=tolerance, substeps=SUBSTEPS)
    with intercepted_solves(see):
        while step[0] <= max(steps):
            simulation.advance(count)
    print(f"{name}:{number}  steps {', '.join(str(s) for s in sorted(seen)) or 'none'} written to {folder}", flush=True)


def solve(
    folder: Path, tolerances: list[float], phases: list[str], limit: float, minutes: float, matrix: bool
) -> list[dict[str, object]]:
    """Every captured problem by every phase, to every tolerance, warm and cold; no further one after so many minutes."""
    rows: list[dict[str, object]] = []
    begun: set[str] = set()
    paths, first = sorted(folder.glob("*.npz")), process_time()
    for i, path in enumerate(paths):
        if process_time() - first > 60.0 * minutes:
            print(f"after {minutes:g} minutes left out: {', '.join(left.stem for left in paths[i:])}")
            break
        kept = np.load(path)
        problem = of_system(kept_system(kept))
        made = process_time()
        if matrix:
            slack, mu = problem.system.slack, problem.system.mu
            problem = sc.ContactProblem.from_delassus(problem.delassus, problem.free_velocity, mu, slack=slack)
        made = process_time() - made
        for phase in phases:
            if phase == "pivot" and problem.contacts > PIVOTED:
                continue
            for start, impulse in (("warm", kept["impulse"]), ("cold", np.zeros((problem.contacts, 3)))):
                if phase not in begun:
                    begun.add(phase)
                    PHASES[phase](problem, impulse, tolerances[0], limit)  # compiled, or loaded, before the clock starts
                for tolerance in tolerances:
                    begin = process_time()
                    reached, factorisations = PHASES[phase](problem, impulse, tolerance, limit)
                    row = {"problem": path.stem, "contacts": problem.contacts, "matrix_ms": 1e3 * made, "phase": phase}
                    row |= {"start": start, "tolerance": tolerance, "ms": 1e3 * (process_time() - begin)}
                    rows.append(row | {"residual": reached, "solved": reached <= tolerance, "factorisations": factorisations})
                    print("  ".join(f"{x:.3g}" if isinstance(x, float) else str(x) for x in rows[-1].values()), flush=True)
                    if reached > tolerance and phase != "all":
                        break  # what is not reached once is not reached with less room
    return rows


def table(rows: list[dict[str, object]], tolerances: list[float]) -> str:
    """The solved share and the time of what was solved, a line a phase and start."""
    head = "| phase, start | " + " | ".join(f"{t:.0e}" for t in tolerances) + " |"
    lines = [head, "| --- " * (len(tolerances) + 1) + "|"]
    for phase, start in dict.fromkeys((row["phase"], row["start"]) for row in rows):
        mine = [row for row in rows if row["phase"] == phase and row["start"] == start]
        problems = {row["problem"] for row in mine}
        cells = []
        for tolerance in tolerances:
            done = [float(str(row["ms"])) for row in mine if row["tolerance"] == tolerance and row["solved"]]
            cells.append(f"{len(done)} of {len(problems)}, {np.median(done):.0f} ms" if done else f"0 of {len(problems)}")
        lines.append(f"| {phase}, {start} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--scenes", nargs="+", default=list(SCENES), metavar="NAME[:NUMBER]")
    parser.add_argument("--at", type=int, nargs="+", default=[60, 120, 240, 480])
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--solve", type=Path)
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-2, 1e-3, 1e-4, 1e-6, 1e-8])
    parser.add_argument("--phases", nargs="+", choices=PHASES, default=list(PHASES))
    parser.add_argument("--limit", type=float, default=10.0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--matrix", action="store_true")
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "bench" / "captured_phases.svg")
    arguments = parser.parse_args()
    if arguments.capture is None and arguments.solve is None:
        parser.error("give --capture FOLDER, --solve FOLDER, or both")
    if arguments.matrix and not set(arguments.phases) <= {"projections", "all", "pivot"}:
        parser.error("--matrix is for whole methods: give --phases all, projections or pivot")
    on_one_thread()
    if arguments.capture is not None:
        for name, number in [named(text) for text in arguments.scenes]:
            capture(name, number, arguments.at, arguments.tolerance, arguments.capture)
    if arguments.solve is not None:
        options = arguments.limit, arguments.minutes, arguments.matrix
        rows = solve(arguments.solve, arguments.tolerances, arguments.phases, *options)
        print(table(rows, arguments.tolerances))
        curves: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            if row["solved"]:
                name = f"{row['phase']}, {float(str(row['tolerance'])):.0e}"
                if (
                    row["start"] == "warm"
                    and row["tolerance"] in (1e-3, 1e-4, 1e-6, 1e-8)
                    and row["phase"] in ("first order", "all")
                ):
                    curves.setdefault(name, []).append((float(str(row["contacts"])), float(str(row["ms"]))))
        print(write_rows("captured_phases", rows))
        print(plotted(curves, "contacts", "processor time of a solve from the warm start, ms", arguments.plot))


if __name__ == "__main__":
    main()
