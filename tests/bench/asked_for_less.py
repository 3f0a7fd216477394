# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a looser tolerance solves what a tighter one solves, in random problems of any friction and mass ratio.

    python -m tests.bench.asked_for_less [--problems 1000] [--tolerances 1e-2 1e-3 ... 1e-8]

A thousand take about three minutes.
"""

from __future__ import annotations

import argparse
from time import process_time

import solver_core as sc

from ..core.contact_problems import any_friction
from .records import on_one_thread, write_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8])
    arguments = parser.parse_args()
    on_one_thread()
    tolerances = sorted(arguments.tolerances, reverse=True)
    seconds, missed = dict.fromkeys(tolerances, 0.0), {tolerance: 0 for tolerance in tolerances}
    worse: list[tuple[int, float]] = []
    sc.solve(any_friction(0))  # compiled, or loaded, before the clock starts
    for seed in range(arguments.problems):
        problem, solved = any_friction(seed), []
        for tolerance in tolerances:
            begin = process_time()
            solved.append(sc.solve(problem, tolerance=tolerance).status is sc.Status.SOLVED)
            seconds[tolerance] += process_time() - begin
            missed[tolerance] += not solved[-1]
        worse += [(seed, tolerances[i]) for i, one in enumerate(solved) if not one and any(solved[i:])]
    seeds = f"0 to {arguments.problems - 1}"
    rows = [{"seed": seeds, "tolerance": one, "missed": missed[one], "seconds": seconds[one]} for one in tolerances]
    for row in rows:
        print(f"{row['tolerance']:6.0e}  missed {row['missed']:3} of {arguments.problems}, {row['seconds']:6.1f} s")
    print(f"missed though solved at a tighter tolerance: {len(worse)}", *worse[:20])
    print(write_rows("asked_for_less", rows))


if __name__ == "__main__":
    main()
