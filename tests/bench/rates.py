# SPDX-License-Identifier: GPL-3.0-or-later
"""How many factorisations projections need, and how fast whole scenes are baked.

    python -m tests.bench.rates [--seconds 10] [--tolerance 1e-6]

Each scene is simulated for some seconds of film at 24 frames a second and 10 steps a frame. In every step the largest island is
also solved to its first contact and friction projection from the warm start of the step before, and in every twentieth step
from nothing; these solves are not in the times. Times are those of the processor, on one thread, of all steps, of which those
that change nothing are not computed again. Goals that are missed are said; the status is 1 when a scene was not solved.
"""

from __future__ import annotations

import argparse
import sys
from time import process_time
from typing import Any

import numpy as np

from solver_core.dynamics.simulation import Simulation
from solver_core.scene.spec import SceneSpec
from solver_core.scenes import plain as scenes
from solver_core.solvers.coulomb.cascade import ACCELERATED, Request, solve_system
from solver_core.solvers.effort import effort_of_a_step

from .records import on_one_thread, write_rows
from .scenes import house_with_box, intercepted_solves, largest_island

COLD_GOAL, WARM_GOAL = 20, 4.0  # factorisations: the most of a cold projection, the median of a warm one
EVERY = 20
SCENES = {
    "card house, 77 thin cards, box": house_with_box,
    "card house, 40 cards": lambda: scenes.card_house(levels=5),
    "arch, 11 blocks": scenes.arch,
    "tower, 10 boxes": scenes.tower,
}


def _measure(name: str, spec: SceneSpec, seconds: float, tolerance: float) -> dict[str, Any]:
    warm, cold = [], []
    apart = 0.0
    step = 0
    history = np.zeros((1, 3))
    once = Request(tolerance, False, 1, 0), ACCELERATED

    def see(system, impulse) -> None:
        nonlocal apart, step
        begin = process_time()
        island, contacts = largest_island(system)
        v = np.empty_like(island.velocity)
        if contacts.size:
            start = impulse[contacts].copy()
            if start.any():
                warm.append(solve_system(island, *once, effort_of_a_step(), start, v, history)[3:])
            if step % EVERY == 0:
                nothing = np.zeros((contacts.size, 3))
                cold.append(solve_system(island, *once, effort_of_a_step(), nothing, v, history)[3:])
        step += 1
        apart += process_time() - begin

    with intercepted_solves(see):
        Simulation(spec, tolerance=tolerance, sleeping=False).advance()  # compiled, or loaded, before the clock starts
        warm.clear()
        cold.clear()
        apart, step = 0.0, 0
        simulation = Simulation(spec, tolerance=tolerance, sleeping=False)
        begin = process_time()
        frames = [simulation.advance() for _ in range(round(seconds * spec.fps))]
        spent = process_time() - begin - apart
    iterations = np.concatenate([frame.statistics.iterations for frame in frames])
    factorisations = np.concatenate([frame.statistics.factorisations for frame in frames])
    of_step = np.concatenate([frame.statistics.status for frame in frames])
    first_warm, first_cold = np.array(warm), np.array(cold)
    row: dict[str, Any] = {
        "scene": name,
        "steps": iterations.size,
        "contacts": int(frames[-1].statistics.contacts[-1]),
        "unsolved": int((of_step != 0).sum()),
        "iterations_mean": float(iterations.mean()),
        "iterations_most": int(iterations.max()),
        "factorisations_mean": float(factorisations.mean()),
        "bake_seconds": spent,
        "steps_a_second": iterations.size / spent,
        "milliseconds_a_step": 1e3 * spent / iterations.size,
    }
    for kind, counts in (("warm", first_warm), ("cold", first_cold)):
        for column, projection in enumerate(("contact", "friction")):
            row[f"{kind}_{projection}_median"] = float(np.median(counts[:, column]))
            row[f"{kind}_{projection}_mean"] = float(counts[:, column].mean())
            row[f"{kind}_{projection}_most"] = int(counts[:, column].max())
    return row


def _report(row: dict[str, Any], seconds: float) -> None:
    print(
        f"{row['scene']}: {row['contacts']} contacts, {seconds:g} s of film in {row['bake_seconds']:.1f} s\n"
        f"  {row['milliseconds_a_step']:.2f} ms a step, {row['steps_a_second']:.0f} steps/s;"
        f" {row['unsolved']} steps missed the tolerance\n"
        f"  a step: {row['iterations_mean']:.2f} iterations, at most {row['iterations_most']}; {row['factorisations_mean']:.1f}"
        " factorisations"
    )
    for projection in ("contact", "friction"):
        for kind in ("warm", "cold"):
            median, mean, most = (row[f"{kind}_{projection}_{figure}"] for figure in ("median", "mean", "most"))
            figures = f"median {median:g}, mean {mean:.2f}, most {most} factorisations"
            print(f"  {kind} {projection} projection: {figures}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of film")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    arguments = parser.parse_args()
    on_one_thread()
    rows, faults, missed = [], [], []
    for name, spec in SCENES.items():
        row = _measure(name, spec(), arguments.seconds, arguments.tolerance)
        rows.append(row)
        _report(row, arguments.seconds)
        for projection in ("contact", "friction"):
            most, median = row[f"cold_{projection}_most"], row[f"warm_{projection}_median"]
            if most > COLD_GOAL:
                missed.append(f"{name}: a cold {projection} projection takes {most} factorisations, wanted {COLD_GOAL}")
            if median > WARM_GOAL:
                missed.append(f"{name}: a warm {projection} projection takes {median:g} in the median, wanted {WARM_GOAL:g}")
        if row["iterations_mean"] == 0.0:
            faults.append(f"{name}: the solver did not iterate")
        if row["unsolved"]:
            faults.append(f"{name}: {row['unsolved']} steps missed the tolerance")
    path = write_rows("rates", rows)
    print(f"\nraw figures in {path}")
    for line in faults:
        print(f"FAULT  {line}")
    for line in missed:
        print(f"MISSED: {line}")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
