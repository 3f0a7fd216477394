# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps on several workers: how long one takes beside one worker, and whether any variation is lost where workers are.

    python -m tests.bench.sweeps [--rounds 2] [--short 200] [--kill 5] [--seed 1]

Rows named "share" are of the same sweep of eight bakes of a heap of 64 cubes, on one worker and on two, in turn. seconds are
those of the whole command by the clock, with the load of the machine as it began, for other programs slow both; path_s is what
does not depend on them: the processor time of the command's own process and of that worker, with what it started, which took
most. Rows named "short" are of many bakes of a few frames on four workers, of which one is killed now and then. Every frame is
compared with those of the first sweep, by its bits.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil

from solver_core.io.cache import FrameCacheReader
from solver_core.io.snapshot import write_snapshot
from solver_core.scene.spec import SolverSettings
from solver_core.scenes import dominoes

from .heap_scenes import heap_of_cubes
from .records import write_rows

ROOT = Path(__file__).resolve().parents[2]
SECONDS_BETWEEN_KILLS = 12.0


def sweep(snapshot: Path, folder: Path, count: int, workers: int, kills: int = 0, seed: int = 0) -> dict[str, object]:
    """Sweep over so many seeds, and kill a worker now and then; returns what is measured of it."""
    command = [sys.executable, "-m", "solver_core.sweep", str(snapshot), str(folder)]
    options = [f"--vary=seed=1:{count}", f"--workers={workers}"]
    begin, rng, killed = time.monotonic(), random.Random(seed), 0
    process = subprocess.Popen([*command, *options], cwd=ROOT, stdout=subprocess.DEVNULL)
    next_kill, own, of_workers, load = begin + SECONDS_BETWEEN_KILLS, 0.0, dict[int, float](), os.getloadavg()[0]
    while process.poll() is None:
        time.sleep(0.1)
        own = processor_time(process.pid) or own
        for worker in children_of(process.pid):
            spent = [processor_time(one.pid) for one in (worker, *children_of(worker.pid))]
            of_workers[worker.pid] = max(of_workers.get(worker.pid, 0.0), sum(spent))
        if killed < kills and time.monotonic() >= next_kill:
            children = psutil.Process(process.pid).children(recursive=True)
            bakers = [one for one in children if "solver_core.warm_worker" in " ".join(one.cmdline())]
            if bakers:
                rng.choice(bakers).kill()
                killed += 1
            next_kill = time.monotonic() + SECONDS_BETWEEN_KILLS
    path = own + max(of_workers.values(), default=0.0)
    spent = {"seconds": round(time.monotonic() - begin, 1), "path_s": round(path, 1), "load": round(load, 1)}
    return {"killed": killed, "status": process.returncode, **spent}


def children_of(process: int) -> list[psutil.Process]:
    """Those that it started, while it is there."""
    try:
        return psutil.Process(process).children()
    except psutil.NoSuchProcess:
        return []


def processor_time(process: int) -> float:
    """Of a process so far, s; 0 once it is gone."""
    try:
        spent = psutil.Process(process).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return spent.user + spent.system


def bits(folder: Path) -> dict[str, str]:
    """A digest of all frames of each variation that the sheet has."""
    with (folder / "sheet.csv").open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["state"] != "failed"]
    found = {}
    for row in rows:
        content = hashlib.blake2b()
        for frame in FrameCacheReader(folder / row["cache"]):
            content.update(frame.poses.tobytes() + frame.velocities.tobytes())
        found[row["seed"]] = content.hexdigest()
    return found


def share(place: Path, rounds: int) -> list[dict[str, object]]:
    """The same sweep on one worker and on two, in turn."""
    spec = heap_of_cubes(64)
    write_snapshot(place / "heap.snapshot", replace(spec, frame_end=spec.frame_start + 60), SolverSettings())
    rows, first = [], None
    sweep(place / "heap.snapshot", place / "warm", 1, 1)
    for number in range(rounds):
        for workers in (1, 2):
            folder = place / f"share-{number}-{workers}"
            measured = sweep(place / "heap.snapshot", folder, 8, workers)
            found = bits(folder)
            first = first or found
            row = {"sweep": "share", "round": number, "workers": workers, "variations": 8}
            rows.append(row | measured | {"lost": 8 - len(found), "same": found == first})
            print(rows[-1], flush=True)
    return rows


def short(place: Path, count: int, kills: int, seed: int) -> list[dict[str, object]]:
    """Many short bakes on four workers."""
    spec = dominoes()
    write_snapshot(place / "short.snapshot", replace(spec, frame_end=spec.frame_start + 6), SolverSettings())
    rows, first = [], None
    for killing in (0, kills):
        folder = place / f"short-{killing}"
        measured = sweep(place / "short.snapshot", folder, count, 4, killing, seed)
        found = bits(folder)
        first = first or found
        row = {"sweep": "short", "workers": 4, "variations": count, "seed": seed}
        rows.append(row | measured | {"lost": count - len(found), "same": found == first})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Sweep, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--short", type=int, default=200)
    parser.add_argument("--kill", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "numba"))
    with tempfile.TemporaryDirectory() as folder:
        rows = short(Path(folder), arguments.short, arguments.kill, arguments.seed) if arguments.short else []
        rows += share(Path(folder), arguments.rounds) if arguments.rounds else []
    print(write_rows("sweeps", rows))


if __name__ == "__main__":
    main()
