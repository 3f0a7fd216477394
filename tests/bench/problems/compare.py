# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's solvers beside ours on the same contact problems: time to a given error, measured from outside by one ruler.

    python -m tests.bench.problems.compare [--limit 20] [--jobs 1] [--only NAME ...] [--plot FILE]

Each solver is asked for 1e-3 to 1e-11 in its own terms, cold; the time to an error is the least of those answers that have it
by `ruler.error`. Times are of the processor, on one thread, the least of up to three; building what it solves, and a call on
one contact, are columns of their own. --limit: s, for all tolerances of a problem, after which no other is begun.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..heaps_plot import plotted
from ..records import on_one_thread, write_rows
from .collection import FEW, Given, problems
from .ruler import error

__all__ = ["profile", "summary", "time_to", "write_summary"]

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "build" / "problems"
REQUIREMENTS = ROOT / ".ci" / "requirements-problems.txt"
PEERS = Path(__file__).resolve().parent / "peers"
SYSTEM_PYTHON = Path("/usr/bin/python3")
# Which its module does not say.
QUERY = "['dpkg-query', '-W', '-f=${Version}', 'python3-siconos']"
PACKAGE = f"print(subprocess.run({QUERY}, capture_output=True, text=True).stdout)"
ERRORS = (1e-4, 1e-8)
# Of the clock, s, for loading; and times the limit, on a machine with other work.
TO_START, LONGEST = 20.0, 3.0
OURS = "Stiction staggered"
# Of the least time of any: how much longer counts in the profile.
FACTORS = [2.0**k for k in range(15)]
Row = Mapping[str, Any]


def solvers() -> Iterator[tuple[str, str, str, Path | None, str]]:
    """Name, script, method, the Python that runs it (None: not installed), and its version."""
    ours = Path(sys.executable)
    yield OURS, "stiction_peer.py", "staggered", ours, "this commit"
    yield "Stiction pivot", "stiction_peer.py", "pivot", ours, "this commit"
    theirs = own_environment()
    siconos = version_of(SYSTEM_PYTHON, "import siconos.numerics, subprocess; " + PACKAGE)
    for method in ("NSGS", "NSN_AC", "ADMM", "PROX"):
        yield f"Siconos {method}", "siconos_peer.py", method, SYSTEM_PYTHON if siconos else None, siconos
    pinocchio = version_of(theirs, "import pinocchio; print(pinocchio.__version__)")
    for method in ("ADMM", "PGS"):
        yield f"Pinocchio {method}", "pinocchio_peer.py", method, theirs if pinocchio else None, pinocchio
    for engine in ("Clarabel", "quadprog", "daqp"):
        name = engine.lower()
        found = version_of(theirs, f"import {name}; from importlib.metadata import version; print(version('{name}'))")
        yield engine, "engine_peer.py", engine, theirs if found else None, found


def own_environment() -> Path:
    """The Python of build/problems, made unless it stands."""
    python, stamp = FOLDER / "venv" / "bin" / "python", FOLDER / "requirements.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER / "venv")], check=True)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--only-binary", ":all:"]
        if subprocess.run([*pip, "--requirement", str(REQUIREMENTS)], check=False).returncode == 0:
            stamp.write_text(wanted, encoding="utf-8")
    return python


def version_of(python: Path, code: str) -> str:
    """What some Python says of a peer, "" where it has none."""
    if not python.exists():
        return ""
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def answers(script: str, method: str, python: Path, file: Path, limit: float) -> tuple[list[Row], str]:
    """What a solver printed until the limit, and why there is no more."""
    place = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    place |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    if python == Path(sys.executable):
        place["PYTHONPATH"] = str(ROOT)
    command = [str(python), str(PEERS / script), method, str(file), str(limit)]
    longest = TO_START + LONGEST * limit
    try:
        done = subprocess.run(command, env=place, capture_output=True, text=True, check=False, timeout=longest)
        said, why = done.stdout, "" if done.returncode == 0 else last_line(done.stderr) or f"status {done.returncode}"
    except subprocess.TimeoutExpired as late:
        said, why = (late.stdout or b"").decode(), f"{longest:g} s of the clock were over"
    found = []
    for line in said.splitlines():
        # what a library prints itself is no answer, nor is a line cut off
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict):
            found.append(record)
    return found, why


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1] if text.strip() else ""


def measured(which: Row, given: Given, solver: tuple[str, str, str, Path, str], limit: float) -> list[Row]:
    """The rows of a solver on a problem, one for each tolerance that it answered, or one that says why there is none."""
    name, script, method, python, found_version = solver
    W, q, mu = given
    with TemporaryDirectory() as folder:
        file = Path(folder) / "problem.npz"
        np.savez(file, W=W, q=q, mu=mu)
        found, why = answers(script, method, python, file, limit)
    overhead = next((record["overhead_s"] for record in found if "overhead_s" in record), "")
    common = {**which, "contacts": len(mu), "solver": name, "version": found_version, "overhead_s": overhead}
    rows: list[Row] = [
        {**common, "tolerance": record["tolerance"], "build_s": record["build_s"], "solve_s": record["solve_s"]}
        | {"error": error(W, q, mu, np.array(record["impulse"], dtype=float)), "why": ""}
        for record in found
        if "impulse" in record
    ]
    return [*rows, {**common, "error": np.inf, "why": why}] if why or not rows else rows


def time_to(rows: Sequence[Row], solver: str, problem: str, wanted: float) -> float:
    """Processor time to an error, s; inf where it was not reached."""
    mine = (row for row in rows if row["solver"] == solver and row["problem"] == problem and float(row["error"]) <= wanted)
    return min((float(row["solve_s"]) for row in mine), default=np.inf)


def profile(times: Mapping[str, Sequence[float]]) -> dict[str, list[tuple[float, float]]]:
    """Performance profiles (Dolan and More 2002): by solver, the percentage of problems that it solves within a factor of the
    least time of all."""
    best = np.min(list(times.values()), axis=0)
    there = np.isfinite(best)
    curves = {}
    for solver, of_solver in times.items():
        ratio = np.asarray(of_solver)[there] / best[there]
        curves[solver] = [(factor, 100.0 * float((ratio <= factor).mean())) for factor in FACTORS]
    return curves


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For each error and solver: problems solved, the median of its time over ours on those that both solve, of small ones
    alike, and ms on captured ones ("-": not reached)."""
    names = list(dict.fromkeys(str(row["solver"]) for row in rows))
    every = list(dict.fromkeys(str(row["problem"]) for row in rows))
    small = {str(row["problem"]) for row in rows if int(row["contacts"]) < FEW}
    captured = dict.fromkeys(str(row["problem"]) for row in rows if row["kind"] == "captured")
    lines = []
    for wanted in ERRORS:
        ours = {problem: time_to(rows, OURS, problem, wanted) for problem in every}
        for name in names:
            times = {problem: time_to(rows, name, problem, wanted) for problem in every}
            ratio = {p: times[p] / ours[p] for p in every if np.isfinite(times[p] + ours[p])}
            few, many = ([r for p, r in ratio.items() if (p in small) is which] for which in (True, False))
            line = {"to": wanted, "solver": name, "solved": sum(map(np.isfinite, times.values())), "of": len(every)}
            line |= {"over_ours": np.median(many) if many else "", "over_ours_small": np.median(few) if few else ""}
            found = {problem.split(",")[0]: times[problem] for problem in captured}
            lines.append(line | {f"{p}_ms": f"{1e3 * t:.3g}" if np.isfinite(t) else "-" for p, t in found.items()})
    return lines


def write_summary(rows: Sequence[Row]) -> None:
    """Write the summary of rows beside them, and print where."""
    seeds = ", ".join(dict.fromkeys(str(row["seed"]) for row in rows if str(row["seed"]).isdecimal()))
    print(write_rows("problems_times", [{**line, "seed": seeds} for line in summary(rows)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=20.0)
    parser.add_argument("--jobs", type=int, default=1, help="solvers that run at once")
    parser.add_argument("--only", nargs="*", default=[], help="solvers whose names have one of these in them")
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "bench" / "problems.svg")
    arguments = parser.parse_args()
    on_one_thread()
    found = [one for one in solvers() if not arguments.only or any(word in one[0] for word in arguments.only)]
    there = [one for one in found if one[3] is not None]
    for name in (one[0] for one in found if one[3] is None):
        print(f"not installed, and not in the table: {name}")
    rows: list[Row] = []
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell switches off in the background
    try:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for kind, name, seed, given in problems():
                which = {"kind": kind, "problem": name, "seed": "none: nothing is random" if seed < 0 else seed}
                done = list(pool.map(lambda one, w=which, g=given: measured(w, g, one, arguments.limit), there))
                rows += [row for some in done for row in some]
                print(f"{name}: {len(given[2])} contacts", flush=True)
    except KeyboardInterrupt:
        print("stopped; the table has the problems so far")
    print(write_rows("problems", [{**row, "scipy": version("scipy")} for row in rows]))
    write_summary(rows)
    every = list(dict.fromkeys(str(row["problem"]) for row in rows))
    times = {one[0]: [time_to(rows, one[0], problem, ERRORS[-1]) for problem in every] for one in there}
    print(plotted(profile(times), f"time over the least of all, to {ERRORS[-1]:g}", "problems solved, %", arguments.plot))


if __name__ == "__main__":
    main()
