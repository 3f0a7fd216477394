# SPDX-License-Identifier: GPL-3.0-or-later
"""Thousands of scenes, snapshots, caches, reports and command lines that nobody means; see `tests/core/fuzzing.py`.

    python tests/bench/fuzz.py [--cases 10000] [--first 0] [--only cache] [--gigabytes 4]

The same numbers are the same cases on every run. Each finding is printed with its kind and number, and its trace once; the
status is 1 when there was one. Memory is limited, so that whoever believes a file which claims billions of bodies is found out.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from time import process_time

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests"))

import records  # noqa: E402, F401 (before any kernel is loaded)
from core.fuzzing import KINDS, Folder, try_case  # noqa: E402

HARD_LIMIT = 600.0  # s, after which Python's own alarm did not help: a kernel hangs


def limit_memory(gigabytes: float) -> None:
    """Let this process have so much more than it has."""
    import resource

    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + int(gigabytes * 1e9),) * 2)


def main() -> None:
    """Run the cases, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=sorted(KINDS))
    parser.add_argument("--gigabytes", type=float, default=4.0)
    arguments = parser.parse_args()
    kinds = [arguments.only] if arguments.only else sorted(KINDS)
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        room = Path(temporary) / "room"
        room.mkdir()
        folder = Folder.made(room)
        if sys.platform == "linux":
            limit_memory(arguments.gigabytes)
        begin = process_time()
        for case in range(arguments.first, arguments.first + arguments.cases):
            kind, number = kinds[case % len(kinds)], case // len(kinds)
            faulthandler.dump_traceback_later(HARD_LIMIT, exit=True)
            (room / "now").write_text(f"{kind} {number}")
            try:
                try_case(kind, number, folder)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                trace = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{type(error).__name__} at {Path(trace.filename).name}:{trace.lineno}"
                if not found[place]:
                    traceback.print_exc()
                found[place] += 1
                print(f"{kind} {number}: {type(error).__name__}: {str(error)[-300:]}", flush=True)
        faulthandler.cancel_dump_traceback_later()
    print(f"{arguments.cases} cases in {process_time() - begin:.0f} s of processor time, {found.total()} findings")
    for place, count in found.most_common():
        print(f"  {count:6d}  {place}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    faulthandler.enable()
    main()
