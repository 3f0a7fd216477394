# SPDX-License-Identifier: GPL-3.0-or-later
"""Settle a scene snapshot: python -m solver_core.settle_file SNAPSHOT [--seconds S] [--threads N] [--parent-pipe]

All active bodies of the snapshot move; all others are static. See `dynamics/settle.py`. Events on standard output, one JSON
object per line:

    compiled    as of `worker`
    progress    seconds (of simulated time), resting, moving (numbers of bodies)
    settled     bodies (their names), poses (7 numbers per body), moving, rests, lost, displacement (m), moved (all per body),
                seconds, steps, missed_steps, overlap (m), overlapping (names)
    error       message, problems: [{object, field, message}]

Exit status: 0 all bodies are at rest and all steps converged, 2 bad usage or input, 3 a body is not at rest or a step is
unconverged, 1 any other error. With --parent-pipe, the process ends at the end of standard input or at the line "stop".
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .bake.events import ListenerGone, emit, emit_count
from .compile.folders import folder_of_kernels
from .io.container import ContainerError
from .io.snapshot import read_snapshot
from .process.command_line import ExitStatus, Parser, UsageError, status_of
from .process.console import flush_output, prepare_streams
from .process.ending import Ending, StopAsked, end_by_force, hear_parent, hear_signals
from .process.memory import keep_freed_memory
from .threads.count import MOST_ASKED
from .validation.findings import SceneError, SceneProblem

if TYPE_CHECKING:
    from .dynamics.settle import Settled
    from .scene.spec import SceneSpec

__all__ = ["main"]


def main(argv: Sequence[str], ending: Ending) -> int:
    """Run the command. argv: the command line without the program name. Returns the exit status."""
    parser = Parser(prog="python -m solver_core.settle_file", description="Drops the bodies of a snapshot until they rest.")
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="the scene and the solver settings")
    parser.add_argument("--seconds", type=float, help="largest simulated time")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads for large piles, 0 for one per processor")
    parser.add_argument("--parent-pipe", action="store_true", help="stop when standard input ends")
    try:
        arguments = parser.parse_args(argv)
        if not 0 <= arguments.threads <= MOST_ASKED:
            raise UsageError(f"--threads: {arguments.threads} is not between 0, for one per processor, and {MOST_ASKED}")
        if arguments.parent_pipe:
            hear_parent(ending)
        return run(arguments.snapshot, arguments.seconds, arguments.threads, ending)
    except SceneError as error:
        return refused(ExitStatus.BAD_INPUT, str(error), error.problems)
    except (UsageError, ContainerError, ValueError) as error:
        return refused(ExitStatus.BAD_INPUT, str(error))
    except OSError as error:
        return refused(status_of(error), str(error))
    except StopAsked as error:
        return refused(ExitStatus.FAILED, str(error))
    except ListenerGone as error:
        print(f"the output is no longer read ({error}); settling ends here", file=sys.stderr)
        return ExitStatus.FAILED


def run(snapshot: str, seconds: float | None, threads: int, ending: Ending) -> int:
    """Settle a snapshot and print the result. Returns the exit status."""
    # Imported here because numba takes a while to load.
    from .compile.watch import Watch
    from .dynamics.settle import SETTLE_SECONDS, settle

    spec, settings = read_snapshot(snapshot)
    with Watch(folder_of_kernels(), emit_count):
        settled = settle(
            spec,
            settings,
            max_seconds=SETTLE_SECONDS if seconds is None else seconds,
            threads=threads,
            before_step=ending.check,
            on_progress=lambda progress: emit("progress", **dataclasses.asdict(progress)),
        )
    print_settled(spec, settled)
    return ExitStatus.DONE if settled.all_rest and not settled.missed_steps else ExitStatus.MISSED_TOLERANCE


def print_settled(spec: SceneSpec, settled: Settled) -> None:
    """Print the event "settled"."""
    emit(
        "settled",
        bodies=[body.name for body in spec.bodies],
        poses=settled.poses.tolist(),
        moving=settled.moving.tolist(),
        rests=settled.rests.tolist(),
        lost=settled.lost.tolist(),
        displacement=settled.displacement.tolist(),
        moved=settled.moved.tolist(),
        seconds=settled.seconds,
        steps=settled.steps,
        missed_steps=settled.missed_steps,
        overlap=settled.overlap,
        overlapping=list(settled.overlapping),
    )


def refused(status: int, message: str, problems: Sequence[SceneProblem] = ()) -> int:
    """Print the event "error". Returns the exit status."""
    emit("error", message=message, problems=[dataclasses.asdict(problem) for problem in problems])
    return status


if __name__ == "__main__":
    prepare_streams()
    keep_freed_memory()
    asked_to_end = Ending()
    hear_signals(asked_to_end)
    # Nothing has to be finished between two steps.
    asked_to_end.hasten()
    end_by_force(asked_to_end, ExitStatus.FAILED)
    status = main(sys.argv[1:], asked_to_end)
    asked_to_end.done()
    flush_output()
    sys.exit(status)
