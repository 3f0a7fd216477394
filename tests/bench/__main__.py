# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the benchmarks of `make bench` one after the other, and name those that failed.

    python -m tests.bench [NAME ...] [--list]

Each is a process of its own with the arguments of `BENCHMARKS`. A benchmark that fails does not stop the others. The status is
1 if any failed: it found a fault, crashed or was killed. A goal that is missed is printed by its benchmark and is no failure.
With names only these benchmarks run, with all their lines.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

__all__ = ["BENCHMARKS", "Outcome", "modules", "report", "run"]

ROOT = Path(__file__).resolve().parents[2]

# The modules of this package and their arguments. With these arguments a line takes up to about a quarter of an hour.
BENCHMARKS = (
    "known_answers",
    "everyday",
    "rates --seconds 2",
    "collision",
    "collision_against_mujoco",
    "artists --limit 60",
    "sleeping",
    "heaps --limit 60",
    "heaps_profile --scenes cubes:125 table wall --frames 24",
    "drift --cubes 27",
    "captured_phases --capture build/bench/captured --solve build/bench/captured --limit 2 --minutes 5",
    "roofline build/bench/captured --seconds 0.3",
    "given_as_matrix --limit 20",
    "staggered_against_quadprog --cap 20",
    "paper_tables --only kaufman --steps 10 --cold 3",
    "paper_tables --only bending baraff faure shipped --steps 10 --cold 3",
    "paper_tables --only decomposition --minutes 0.5 --rules accelerated",
    "captured",
    "pivot",
    "contacts_against_oracles",
    "mesh_scenes --seconds 2",
    "large_bends --seconds 2",
    "beside_the_solve --cubes 1000",
    "fuzz --cases 10000",
    "interruptions --interruptions 100",
    "sweeps --rounds 1 --short 40 --kill 2",
    "first_bake",
)


@dataclass(frozen=True)
class Outcome:
    """How a benchmark ended: its line, its status (negative: the signal that ended it), and its seconds by the clock."""

    line: str
    status: int
    seconds: float


def modules() -> list[str]:
    """The names of the benchmarks, each once."""
    return list(dict.fromkeys(line.split()[0] for line in BENCHMARKS))


def run(lines: Sequence[str]) -> list[Outcome]:
    """Run benchmarks one after the other, whatever becomes of each."""
    outcomes = []
    for line in lines:
        print(f"\npython -m tests.bench.{line}", flush=True)
        name, *arguments = shlex.split(line)
        begin = perf_counter()
        done = subprocess.run([sys.executable, "-m", f"tests.bench.{name}", *arguments], cwd=ROOT, check=False)
        outcomes.append(Outcome(line, done.returncode, perf_counter() - begin))
    return outcomes


def report(outcomes: Sequence[Outcome]) -> str:
    """What is printed at the end: the minutes of each benchmark, and which failed."""
    lines = [f"{outcome.seconds / 60.0:6.1f} min  status {outcome.status:3d}  {outcome.line}" for outcome in outcomes]
    failed = [outcome.line for outcome in outcomes if outcome.status != 0]
    lines.append(f"{len(failed)} of {len(outcomes)} benchmarks failed" + (":" if failed else ""))
    return "\n".join([*lines, *(f"  {line}" for line in failed)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as captured; all without any")
    parser.add_argument("--list", action="store_true", help="print the lines, and run nothing")
    arguments = parser.parse_args()
    unknown = sorted({*arguments.names} - {*modules()})
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(modules())}")
    chosen = [line for line in BENCHMARKS if not arguments.names or line.split()[0] in arguments.names]
    if arguments.list:
        print("\n".join(chosen))
        return 0
    outcomes = run(chosen)
    print(f"\n{report(outcomes)}")
    return int(any(outcome.status != 0 for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
