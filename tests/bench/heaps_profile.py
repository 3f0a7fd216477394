# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of a crowded scene's steps goes, stage by stage.

    python tests/bench/heaps_profile.py [--scenes cubes:125 wall:500] [--frames 72] [--from 0] [--tolerance 1e-6]
                                        [--crowd 1e-4:1e-3] [--limit 300] [--threads 1]

Scenes are those of `heap_scenes.py`, at 24 frames a second and 10 steps a frame. Of each, the processor time of a step from the
frame --from on, by what it went to (`cProfile`, whose own cost is in it), and how many islands were solved by what, and solved
again. A run that has used --limit seconds of the processor ends after the frame.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
from pathlib import Path
from time import process_time

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from heap_scenes import SCENES, heap_of_cubes, named  # noqa: E402
from heaps import SUBSTEPS, tolerance_and_limit  # noqa: E402
from records import on_one_thread, write_rows  # noqa: E402

import solver_core as sc  # noqa: E402
from solver_core.problem.result import Found  # noqa: E402

# (file, function): cumulative time, and what of it is a stage of its own
STAGES: dict[str, tuple[tuple[str, str], tuple[tuple[str, str], ...]]] = {
    "contacts": (("collide.py", "contacts"), ()),
    "large islands begun": (("regions.py", "begin_large"), ()),
    "clusters": (("clusters.py", "propose_by_clusters"), (("regions.py", "begin_large"),)),
    "islands solved and accepted": (("islands.py", "solve_all"), ()),
    "missed islands begun again": (
        ("islands.py", "solve_islands"),
        (("clusters.py", "propose_by_clusters"), ("islands.py", "solve_all")),
    ),
    "the problem built": (("build.py", "build_system"), ()),
    "overlaps parted": (("separation.py", "separation"), ()),
    "impacts looked for": (("impacts.py", "find"), ()),
    "what is run into": (("later_contacts.py", "find"), ()),
    "prediction": (("predict.py", "predicted_step"), ()),
    "sleep": (("sleeping.py", "update"), ()),
}


def _cumulative(stats: pstats.Stats, wanted: tuple[str, str]) -> tuple[float, int]:
    """Seconds in a function and all that it calls, and how often it was called."""
    seconds, calls = 0.0, 0
    for (path, _, name), (_, number, _, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        if (Path(path).name, name) == wanted:
            seconds, calls = seconds + cumulative, calls + number
    return seconds, calls


def profiled(name: str, number: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    """A row a stage."""
    crowd = dict(zip(("crowd_tolerance", "crowd_limit"), arguments.crowd, strict=True))
    settings = sc.SolverSettings(tolerance=arguments.tolerance, substeps=SUBSTEPS, **crowd)
    simulation = sc.Simulation(SCENES[name][0](number), settings, threads=arguments.threads)
    for _ in range(arguments.first):
        simulation.advance()
    profile, begin = cProfile.Profile(timer=process_time), process_time()
    steps, solves, missed, found = 0, 0, 0, np.zeros(len(Found), np.int64)
    for _ in range(arguments.frames):
        frame = profile.runcall(simulation.advance)
        steps += int(frame.statistics.span.sum())
        solves += int(frame.statistics.solves.sum())
        missed += int(np.count_nonzero(frame.statistics.status))
        found += frame.statistics.found.sum(axis=0)
        if process_time() - begin > arguments.limit:
            break
    total, stats = process_time() - begin, pstats.Stats(profile)
    by = " ".join(f"{kind.name.lower()} {count}" for kind, count in zip(Found, found, strict=True) if count)
    print(f"{name}:{number}  {steps} steps, {1e3 * total / steps:.2f} ms and {solves / steps:.2f} solves each")
    print(f"  {missed} missed; {by}")
    rows, known = [], 0.0
    for stage, (whole, parts) in STAGES.items():
        seconds, calls = _cumulative(stats, whole)
        seconds -= sum(_cumulative(stats, part)[0] for part in parts)
        known += seconds
        rows.append({"stage": stage, "ms": 1e3 * seconds / steps, "calls": calls})
    rows.append({"stage": "all else", "ms": 1e3 * (total - known) / steps, "calls": steps})
    of_scene = {"scene": name, "bodies": number, "from_frame": arguments.first, "steps": steps, "solves": solves, "found": by}
    for row in rows:
        row["share"] = 1e-3 * float(str(row["ms"])) * steps / total
        print(f"  {row['stage']:30s} {row['ms']:9.3f} ms  {100 * row['share']:5.1f} %  {row['calls']:7d} calls", flush=True)
    return [of_scene | row for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=["cubes:125"], metavar="NAME[:NUMBER]")
    parser.add_argument("--frames", type=int, default=72)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--crowd", type=tolerance_and_limit, default=(1e-4, 1e-3), metavar="TOLERANCE[:LIMIT]")
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
