# SPDX-License-Identifier: GPL-3.0-or-later
"""Run everyday scenes and compare what is seen with what physics says.

    python -m tests.bench.everyday                                  all scenes, as they are, mirrored, turned, at four step lengths
    python -m tests.bench.everyday --quick                          all scenes as they are, at 240 steps a second
    python -m tests.bench.everyday seam die --placings mirrored     scenes with one of these words in their name
    python -m tests.bench.everyday --subjects kerbs --methods staggered pivot energy
    python -m tests.bench.everyday --baked                          those with a .blend file, through `stiction bake`
    python -m tests.bench.everyday --list

A line for each claim that does not hold, or for each with --all, and one for each run. The CSV has a row a run and claim.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Iterator
from time import process_time

from ..records import on_one_thread, write_rows
from .catalog import SUBJECTS, find
from .experiment import Experiment, Film
from .running import METHODS, PLACINGS, RATES, USUAL_RATE, Verdict, film, judged, placement


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


def runs(name: str, experiment: Experiment, arguments: argparse.Namespace) -> Iterator[tuple[str, int, str, Film]]:
    """Placing, rate, method and film of each run that was asked for."""
    if arguments.baked:
        from .blends import baked

        if experiment.is_baked:
            yield "baked", USUAL_RATE, METHODS[0], baked(experiment, USUAL_RATE)
        return
    for method in arguments.methods:
        for placing, rate in variants(arguments):
            if 1.0 / rate <= experiment.longest_step * (1.0 + 1e-9):
                yield placing, rate, method, film(experiment, placement(placing, name), rate, method)


def row_of(verdict: Verdict) -> dict[str, object]:
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


def main() -> int:
    arguments = parse()
    chosen = find(arguments.subjects, arguments.words)
    if arguments.list:
        for subject, name, make in chosen:
            experiment = make()
            print(f"{subject:10} {name}{' (.blend)' if experiment.is_baked else ''}: {experiment.why}")
        print(f"{len(chosen)} scenes")
        return 0
    on_one_thread()
    rows: list[dict[str, object]] = []
    wrong = total = 0
    for subject, name, make in chosen:
        begin = process_time()
        try:
            experiment = make()
            for placing, rate, method, seen in runs(name, experiment, arguments):
                verdicts, seconds = judged(experiment, seen), process_time() - begin
                holds = all(verdict.holds for verdict in verdicts)
                total, wrong = total + 1, wrong + (not holds)
                run = {"subject": subject, "scene": name, "placing": placing, "rate": rate, "method": method}
                rows += [run | row_of(verdict) | {"missed": seen.missed, "processor_s": seconds} for verdict in verdicts]
                how = f"{placing}, {rate}/s" + (f", {method}" if method != METHODS[0] else "")
                print(f"{'right' if holds else 'WRONG'} {name} ({how}; missed {seen.missed}; {seconds:.2f} s)", flush=True)
                for verdict in verdicts:
                    if arguments.all or not verdict.holds:
                        print(told(verdict), flush=True)
                begin = process_time()
        except Exception:  # a scene that ends the run is a finding too
            total, wrong = total + 1, wrong + 1
            print(f"WRONG {name}: it ended with\n{traceback.format_exc()}", flush=True)
            rows.append({"subject": subject, "scene": name, "claim": "runs", "holds": False})
    print(f"{total - wrong} of {total} runs are right")
    if rows:
        print(write_rows("everyday", rows))
    if "bpy" in sys.modules:
        # Blender's own end waits for ever once it has opened a file
        sys.stdout.flush()
        os._exit(0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
