# SPDX-License-Identifier: GPL-3.0-or-later
"""How long problems take that are given as a matrix: heaps of cubes as they come to rest, and random contacts.

    python -m tests.bench.given_as_matrix [--heaps 27:240 64:240 125:240] [--random 30 100 276] [--seeds 1] [--mu 0.6 0]
                                          [--tolerances 1e-4 1e-6 1e-8] [--methods staggered pivot] [--limit 60]

Heaps are the largest islands of the steps named, solved to 1e-4 until then. Times are the processor's; --limit is of the wall,
in s, a solve. The residual is the outside measure of the method's own law.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np

import solver_core as sc

from .captured import of_system
from .heap_scenes import SEED, heap_of_cubes
from .random_contacts import given_number
from .records import on_one_thread, write_rows
from .scenes import capture

Floats = np.ndarray
FEW = 5


def of_heap(cubes: int, step: int) -> tuple[Floats, Floats, Floats]:
    """G, g and slack of the largest island of a step."""
    problem = of_system(capture(heap_of_cubes(cubes), (step,), tolerance=1e-4)[0].system)
    return problem.delassus, problem.free_velocity, problem.system.slack


def of_random(contacts: int, seed: int = SEED) -> tuple[Floats, Floats, Floats]:
    G, g = given_number(np.random.default_rng(seed), contacts)
    return G, g, np.zeros(contacts)


def measured(name: str, given: tuple[Floats, Floats, Floats], mu: float, method: str, tolerance: float, limit: float):
    """The row of a solve."""
    begin = process_time()
    problem = sc.ContactProblem.from_delassus(given[0], given[1], mu, slack=given[2])
    made = process_time()
    result = sc.solve(problem, method, tolerance=tolerance, time_limit=limit)
    done = process_time()
    residuals = sc.residuals(problem, result)
    row = {
        "problem": name,
        "seed": SEED if name.startswith("heap") else name.rpartition(" ")[2],
        "contacts": problem.contacts,
        "rank": problem.system.velocity.size,
        "mu": mu,
        "method": method,
    }
    row |= {"tolerance": tolerance, "made_s": made - begin, "solved_s": done - made, "status": result.status.name}
    reached = residuals.static_friction if method == "pivot" else residuals.coulomb
    return row | {"residual": reached, "factorisations": result.stats.factorisations}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heaps", nargs="*", default=["27:240", "64:240", "125:240"], metavar="CUBES:STEP")
    parser.add_argument("--random", type=int, nargs="*", default=[30, 100, 276])
    parser.add_argument("--seeds", type=int, default=1, help="random problems of each number")
    parser.add_argument("--mu", type=float, nargs="+", default=[0.6, 0.0])
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-4, 1e-6, 1e-8])
    parser.add_argument("--methods", nargs="+", default=["staggered", "pivot"])
    parser.add_argument("--limit", type=float, default=60.0)
    arguments = parser.parse_args()
    on_one_thread()
    seeds = range(SEED, SEED + arguments.seeds)
    given = {f"random {contacts} {seed}": of_random(contacts, seed) for contacts in arguments.random for seed in seeds}
    for text in arguments.heaps:
        cubes, _, step = text.partition(":")
        given[f"heap {text}"] = of_heap(int(cubes), int(step))
    for method in arguments.methods:  # compiled, or loaded, before the clock starts
        for mu in arguments.mu:
            measured("", of_random(FEW), mu, method, arguments.tolerances[0], arguments.limit)
    rows = []
    for name, problem in given.items():
        for mu in arguments.mu:
            for method in arguments.methods:
                for tolerance in arguments.tolerances:
                    rows.append(measured(name, problem, mu, method, tolerance, arguments.limit))
                    shown = (f"{value:.3g}" if isinstance(value, float) else str(value) for value in rows[-1].values())
                    print("  ".join(shown), flush=True)
    print(write_rows("given_as_matrix", rows))


if __name__ == "__main__":
    main()
