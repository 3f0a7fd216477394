# SPDX-License-Identifier: GPL-3.0-or-later
"""Thousands of scenes, snapshots, caches, reports, .blend files, files of other programs and command lines that nobody means;
see `fuzzing.py` in `tests/core` and in `tests/addon`, and `foreign_fuzzing.py` in `tests/core`.

    python -m tests.bench.fuzz [--cases 10000] [--first 0] [--only cache] [--gigabytes 4]

The same numbers are the same cases on every run, so that a long one may be done in parts. Each finding is printed with its kind
and number, and its trace once; the status is 1 when there was one. Memory is limited, so that whoever believes a file which
claims billions of bodies is found out.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import process_time

from ..addon import fuzzing as of_addon
from ..addon.loading import load_extension
from ..core import foreign_fuzzing, fuzzing
from .records import write_rows

KINDS = {**fuzzing.KINDS, **foreign_fuzzing.KINDS, **of_addon.KINDS}
# the add-on's start processes: they come once where the others come three times
TURN = [*sorted([*fuzzing.KINDS, *foreign_fuzzing.KINDS]) * 3, *sorted(of_addon.KINDS)]
CASES_BETWEEN_LINES = 500
HARD_LIMIT = 600.0  # s, after which Python's own alarm did not help: a kernel hangs


def limit_memory(gigabytes: float) -> None:
    """Let this process have so much more than it has."""
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(gigabytes * 1e9),) * 2)


def without_blenders_own() -> None:
    """Let Python's standard output go on, and Blender's, which tells of each file that it opens, go nowhere."""
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def made_rooms(folder: Path) -> dict[str, fuzzing.Room]:
    """The room of each kind of case, each with a bake of its own."""
    rooms = {name: folder / name / "room" for name in ("core", "foreign", "addon")}
    for room in rooms.values():
        room.mkdir(parents=True)
    core, addon = fuzzing.Folder.made(rooms["core"]), of_addon.Room.made(rooms["addon"])
    foreign = foreign_fuzzing.Foreign.made(rooms["foreign"])
    return (
        dict.fromkeys(fuzzing.KINDS, core)
        | dict.fromkeys(foreign_fuzzing.KINDS, foreign)
        | dict.fromkeys(of_addon.KINDS, addon)
    )


def try_cases(cases: range, turn: list[str], rooms: dict[str, fuzzing.Room], now: Path) -> Counter[str]:
    """Run the cases; returns how many findings there were at each place. `now` says which case is at work, for crashes."""
    found: Counter[str] = Counter()
    for case in cases:
        kind = turn[case % len(turn)]
        faulthandler.dump_traceback_later(HARD_LIMIT, exit=True)
        now.write_text(f"{kind} {case}")
        try:
            fuzzing.try_case(kind, case, rooms[kind], KINDS)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            trace = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} at {Path(trace.filename).name}:{trace.lineno}"
            if not found[place]:
                traceback.print_exc()
            found[place] += 1
            print(f"{kind} {case}: {type(error).__name__}: {str(error)[-300:]}", flush=True)
        if (case + 1) % CASES_BETWEEN_LINES == 0:
            print(f"up to case {case}: {found.total()} findings", flush=True)
    faulthandler.cancel_dump_traceback_later()
    return found


def main() -> None:
    """Run the cases, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=sorted(KINDS))
    parser.add_argument("--gigabytes", type=float, default=4.0)
    arguments = parser.parse_args()
    without_blenders_own()
    load_extension().register()
    with tempfile.TemporaryDirectory() as temporary:
        rooms = made_rooms(Path(temporary))
        if sys.platform == "linux":
            limit_memory(arguments.gigabytes)
        begin = process_time()
        cases = range(arguments.first, arguments.first + arguments.cases)
        found = try_cases(cases, [arguments.only] if arguments.only else TURN, rooms, Path(temporary) / "now")
        seconds = process_time() - begin
    print(f"cases {cases.start} to {cases.stop - 1} in {seconds:.0f} s of processor time, {found.total()} findings")
    for place, count in found.most_common():
        print(f"  {count:6d}  {place}")
    seed = f"{cases.start} to {cases.stop - 1}"
    print(write_rows("fuzz", [{"seed": seed, "cases": len(cases), "findings": found.total(), "processor_s": seconds}]))
    sys.stdout.flush()
    sys.stderr.flush()
    # Blender's own end may crash or wait for ever, as `addon/command/console.py` says
    os._exit(1 if found else 0)


if __name__ == "__main__":
    faulthandler.enable()
    main()
