# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiles all kernels into a folder, so that no bake that finds them there compiles: python -m solver_core.compile_all FOLDER.

Parts that share few kernels are compiled at the same time, each in a process of its own, and put into the folder kernel by
kernel: what was compiled before an end by Ctrl+C is not compiled again. Bakes find the folder by NUMBA_CACHE_DIR; on machines
where it cannot be written to, they copy what they need. Exit status: 0 all is there, 1 anything else, 2 bad usage.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from ..compile.ahead import MADE_FOR, say_what_for
from ..compile.folders import folder_of_kernels
from ..compile.process import start
from ..compile.stock import Stock, sources_of_all, write_keys
from ..compile.trust import doubt, written_by_us_alone
from ..process.children import end_child
from ..process.console import prepare_streams
from ..process.ending import Ending, StopAsked, end_by_force, hear_parent, hear_signals
from ..process.file_lock import FileLock, LockHeld
from .complete import are_all_in

__all__ = ["compile_all", "main"]

SECONDS_BETWEEN_POLLS = 0.1
SECONDS_BETWEEN_COUNTS = 2.0
SECONDS_BETWEEN_TELLING = 5.0
NICE = 10
# longer than another process takes to end once a bake has asked it to
SECONDS_FOR_ANOTHER = 30.0
# from the wish that a part ends until its process is killed, which loses the kernel in work
SECONDS_TO_END = 10.0


def main(argv: Sequence[str], ending: Ending) -> int:
    """Compile as the command line `argv` (without the program's name) says; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m solver_core.compile_all", description="Compiles all kernels.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="their folder; existing kernels stay")
    parser.add_argument("--processes", type=int, metavar="N", default=min(3, os.cpu_count() or 1), help="(%(default)s)")
    parser.add_argument("--part", metavar="NAME", help="one part only, in this process")
    parser.add_argument(
        "--background",
        action="store_true",
        help="do nothing if another process already does this, or the package contains all kernels",
    )
    parser.add_argument("--low-priority", action="store_true", help="run at low priority")
    parser.add_argument("--parent-pipe", action="store_true", help="stop when standard input ends")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:
        return int(end.code or 0)
    if arguments.processes < 1:
        print("--processes: at least one is needed", file=sys.stderr)
        return 2
    if arguments.parent_pipe:
        hear_parent(ending)
    folder = arguments.folder.resolve()
    try:
        with written_by_us_alone():
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"{error}; name a folder that can be written to", file=sys.stderr)
        return 2
    if (why := doubt(folder)) is not None:
        print(f"{why}; name another folder", file=sys.stderr)
        return 2
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if folder_of_kernels() != folder:
        print(f"{folder} cannot be written to; name a folder that can", file=sys.stderr)
        return 2
    try:
        if arguments.low_priority and hasattr(os, "nice"):
            os.nice(NICE)
        if arguments.part is not None:
            # a kernel in work is lost with any end
            ending.hasten()
            return compile_part(arguments.part)
        if arguments.background:
            return compile_in_background(folder, arguments.processes, ending)
        return compile_all(folder, arguments.processes, ending)
    except StopAsked as reason:
        print(f"stopped ({reason}); compiled kernels stay", flush=True)
        return 1


def compile_part(name: str) -> int:
    """Compile one part in this process, and print every now and then how many kernels that were."""
    from numba.core import event

    from ..compile.announce import announcer
    from .rehearsal import PARTS

    class Counter(event.Listener):
        compiled = 0
        last_report = time.monotonic()

        def on_start(self, event: event.Event) -> None:
            pass

        def on_end(self, event: event.Event) -> None:  # noqa: ARG002, numba's
            self.compiled += 1
            if time.monotonic() - self.last_report > SECONDS_BETWEEN_COUNTS:
                self.last_report = time.monotonic()
                print(self.compiled, flush=True)

    # the process that started this one says how far it is
    announcer().is_quiet = True
    counter = Counter()
    event.register("numba:compile", counter)
    next(part for part in PARTS if part.name == name).run()
    print(counter.compiled, flush=True)
    return 0


def compile_in_background(folder: Path, processes: int, ending: Ending) -> int:
    """`compile_all`, unless nothing is left to do or somebody else goes on doing it."""
    if are_all_in(folder):
        return 0
    try:
        lock = FileLock.acquire(folder / "compiling", patience=SECONDS_FOR_ANOTHER)
    except LockHeld:
        return 0
    try:
        return compile_all(folder, processes, ending)
    finally:
        lock.release()


class Process:
    """A part that is compiled in a process of its own, which ends with this one."""

    def __init__(self, name: str, folder: Path):
        self.name, self.kernels, self._begin = name, 0, time.monotonic()
        self._process = start(folder, "--part", name, stdout=subprocess.PIPE)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.strip().isdigit():
                self.kernels = int(line)

    @property
    def status(self) -> int | None:
        """The exit status, None while it runs."""
        return self._process.poll()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begin

    def end(self) -> None:
        """Have it end soon, wherever it is, and wait until it has."""
        end_child(self._process, SECONDS_TO_END)
        self._listener.join(SECONDS_TO_END)


def compile_all(folder: Path, processes: int, ending: Ending) -> int:
    """Compile every part, so many at once, and note in the folder that all is there; prints a line for each."""
    from .keys import all_keys
    from .rehearsal import PARTS

    sources = sources_of_all()
    write_keys(folder, all_keys())
    left, running, done = list(PARTS), [], set()
    stock, last_report = Stock(folder), time.monotonic()
    try:
        while left or running:
            ending.check()
            for part in [part for part in left if done.issuperset(part.after)][: processes - len(running)]:
                left.remove(part)
                running.append(Process(part.name, folder))
            time.sleep(SECONDS_BETWEEN_POLLS)
            for process in [process for process in running if process.status is not None]:
                process.end()
                running.remove(process)
                if process.status:
                    print(f"{process.name}: the process that compiles it ended with status {process.status}", file=sys.stderr)
                    return 1
                done.add(process.name)
                what = f"{process.name}: {process.kernels} kernels, {process.seconds:.0f} s"
                print(f"{len(done)} of {len(PARTS)}  {what}", flush=True)
            if running and time.monotonic() - last_report > SECONDS_BETWEEN_TELLING:
                last_report = time.monotonic()
                now = ", ".join(process.name for process in running)
                print(f"{stock.there} of {stock.whole} kernels; now {now}", flush=True)
    finally:
        for process in running:
            process.end()
    say_what_for(folder, sources)
    megabytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    print(f"all kernels are in {folder}, {megabytes:.0f} MB; {MADE_FOR} names their platform", flush=True)
    return 0


if __name__ == "__main__":
    prepare_streams()
    asked_to_end = Ending()
    hear_signals(asked_to_end)
    end_by_force(asked_to_end, 1)
    status = main(sys.argv[1:], asked_to_end)
    asked_to_end.done()
    sys.exit(status)
