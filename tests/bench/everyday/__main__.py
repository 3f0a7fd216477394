# SPDX-License-Identifier: GPL-3.0-or-later
"""Run everyday scenes and compare what is seen with what physics says.

    python -m tests.bench.everyday                              as they are, mirrored, turned, at four step lengths
    python -m tests.bench.everyday --quick                      as they are, at 240 steps a second
    python -m tests.bench.everyday seam die --rates 60          scenes with one of these words in their name
    python -m tests.bench.everyday --subjects kerbs --methods staggered pivot energy
    python -m tests.bench.everyday --baked                      through .blend files and `stiction bake`
    python -m tests.bench.everyday --list

A line for each claim that does not hold, or for each with --all, and one for each run. The table of docs/measured.md is made of
the CSV that has a row a run; another one has a row for each claim of each run.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import traceback
from collections.abc import Iterator
from time import monotonic, process_time

from ..records import on_one_thread, write_rows
from .catalog import SUBJECTS, Entry, find
from .experiment import Experiment, Film
from .running import METHODS, PLACINGS, RATES, USUAL_RATE, Verdict, film, judged, placement

Row = dict[str, object]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.everyday", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="only scenes with one of these in their name")
    parser.add_argument("--subjects", nargs="+", choices=list(SUBJECTS), default=list(SUBJECTS))
    parser.add_argument("--placings", nargs="+", choices=PLACINGS, default=list(PLACINGS))
    parser.add_argument("--rates", nargs="+", type=int, choices=RATES, default=list(RATES), help="steps a second")
    parser.add_argument("--every", action="store_true", help="each placing at each rate, not only at 240 steps a second")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=[METHODS[0]])
    parser.add_argument("--quick", action="store_true", help="as they are, at 240 steps a second")
    parser.add_argument("--baked", action="store_true", help="through a .blend file and `stiction bake`")
    parser.add_argument("--limit", type=float, default=math.inf, help="seconds by the clock after which no scene begins")
    parser.add_argument("--all", action="store_true", help="show claims that hold as well")
    parser.add_argument("--list", action="store_true", help="show names and reasons, run nothing")
    return parser.parse_args()


def variants(arguments: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Placings with their rates."""
    if arguments.quick:
        yield PLACINGS[0], USUAL_RATE
        return
    for placing in arguments.placings:
        for rate in arguments.rates:
            if arguments.every or placing == PLACINGS[0] or rate == USUAL_RATE:
                yield placing, rate


def runs(entry: Entry, experiment: Experiment, arguments: argparse.Namespace) -> Iterator[tuple[str, int, str, Film]]:
    """Placing, rate, method and film of each run that was asked for."""
    if arguments.baked:
        from .blends import baked

        yield "baked", USUAL_RATE, METHODS[0], baked(experiment, USUAL_RATE)
        return
    for method in arguments.methods:
        for placing, rate in variants(arguments):
            if 1.0 / rate <= experiment.longest_step * (1.0 + 1e-9):
                yield placing, rate, method, film(experiment, placement(placing, entry.name), rate, method)


def row_of(verdict: Verdict) -> Row:
    claim = verdict.claim
    return {
        "claim": claim.what,
        "unit": claim.unit,
        "low": claim.low,
        "high": claim.high,
        "seen": verdict.seen,
        "margin": verdict.margin,
        "holds": verdict.holds,
    }


def told(verdict: Verdict) -> str:
    """One line about a claim."""
    claim = verdict.claim
    if claim.low == claim.high:
        expected = f"{claim.low:.6g}"
    else:
        expected = f"<= {claim.high:.6g}" if claim.high < float("inf") else f">= {claim.low:.6g}"
    mark = "ok   " if verdict.holds else "WRONG"
    return f"    {mark} {claim.what:38} {expected:>14} +- {verdict.margin:<9.2g} seen {verdict.seen:.6g} {claim.unit}"


def catalog(entries: list[Entry]) -> None:
    """Show names and reasons."""
    for entry in entries:
        print(f"{entry.subject:10} {entry.name}{' (.blend)' if entry.is_baked else ''}: {entry.made().why}")
    print(f"{len(entries)} scenes, {sum(entry.is_baked for entry in entries)} of them with a .blend file")


def ran(entry: Entry, arguments: argparse.Namespace, claims: list[Row]) -> Iterator[Row]:
    """Run an experiment in all ways that were asked for, tell what was seen, add a row for each claim and yield one a run."""
    own: Row = {"subject": entry.subject, "scene": entry.name}
    begin = process_time()
    try:
        experiment = entry.made()
        for placing, rate, method, seen in runs(entry, experiment, arguments):
            verdicts, seconds = judged(experiment, seen), process_time() - begin
            is_right = all(verdict.holds for verdict in verdicts) and not seen.violations
            how = f"{placing}, {rate} steps a second" + (f", {method}" if method != METHODS[0] else "")
            print(f"{'right' if is_right else 'WRONG'} {entry.name} ({how}; missed {seen.missed}; {seconds:.2f} s)", flush=True)
            run = own | {"variant": how}
            for verdict in verdicts:
                if arguments.all or not verdict.holds:
                    print(told(verdict), flush=True)
                claims.append(run | row_of(verdict))
            if seen.violations:
                print(f"    {seen.violations} violations of the contact law by the solver's own check", flush=True)
            broken = [f"{v.claim.what} {v.seen:.4g} {v.claim.unit}" for v in verdicts if not v.holds]
            wrong = "; ".join([*broken, *([f"{seen.violations} violations"] if seen.violations else [])])
            yield run | {"right": is_right, "missed": seen.missed, "processor_s": seconds, "wrong": wrong}
            begin = process_time()
    except Exception as error:  # a scene that ends the run is a finding too
        print(f"WRONG {entry.name}: it ended with\n{traceback.format_exc()}", flush=True)
        yield own | {"variant": "none", "right": False, "missed": 0, "wrong": f"{type(error).__name__}: {error}"}


def main() -> int:
    arguments = parse()
    entries = [entry for entry in find(arguments.subjects, arguments.words) if entry.is_baked or not arguments.baked]
    if arguments.list:
        catalog(entries)
        return 0
    if not arguments.baked and not list(variants(arguments)):
        raise SystemExit(f"mirrored and turned scenes run at {USUAL_RATE} steps a second only; --every for other rates")
    on_one_thread()
    claims: list[Row] = []
    rows: list[Row] = []
    begin = monotonic()
    for number, entry in enumerate(entries):
        if monotonic() - begin > arguments.limit:
            print(f"the limit is reached: {len(entries) - number} scenes are left out")
            break
        rows += ran(entry, arguments, claims)
    print(f"{sum(bool(row['right']) for row in rows)} of {len(rows)} runs are right")
    for name, table in (("everyday_claims", claims), ("everyday", rows)):
        if table:
            print(write_rows(name, table))
    if "bpy" in sys.modules:
        # Blender's own end waits for ever once it has opened a file
        sys.stdout.flush()
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
