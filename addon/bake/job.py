# SPDX-License-Identifier: GPL-3.0-or-later
r"""A bake as a pure state machine: advance(job, event) -> (job, effects).

    STARTING -> BAKING -> BAKED | MISSED        all frames exist; MISSED: some step is unconverged
             \        \-> STOPPED | FAILED     canceled, or the worker died: finished frames are kept, and can be continued
              \        \-> LOST               the cache was removed, truncated or replaced
              \-> REFUSED | FAILED | STOPPED   before the first frame: nothing was changed

It does not depend on Blender or on processes. The runner passes the worker's messages to it and performs the returned effects.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from ...solver_core.process.command_line import ExitStatus
from ...solver_core.process.console import one_line
from ...solver_core.scene.words import distance, duration, in_words
from ...solver_core.validation.findings import first_few
from .progress import Progress, counted, with_frame

__all__ = [
    "CancelRequested",
    "Effect",
    "Event",
    "Job",
    "LetWorkerGoOn",
    "PauseRequested",
    "PauseWorker",
    "Phase",
    "Report",
    "ShowFlexible",
    "ShowFrames",
    "StartPlayback",
    "StopWorker",
    "WorkerEnded",
    "WorkerMessage",
    "advance",
    "compiling",
]

LOADING = "Loading"
COMPILING = "Compiling (first run only)"
# Names in the panel of methods that a report counts.
FOUND = {
    "start": "at once",
    "staggering": "by staggering",
    "newton": "by Newton's method",
    "held_radii": "with Tresca friction",
    "pivoting": "by pivoting",
    "sweeps": "by sweeps",
    "admm": "by ADMM",
    "clusters": "by clusters",
    "energy": "by redistributions of energy",
    "elimination": "with joints eliminated",
}


class Phase(Enum):
    """The state of a bake."""

    STARTING = "starting"
    BAKING = "baking"
    BAKED = "baked"
    MISSED = "missed"
    STOPPED = "stopped"
    REFUSED = "refused"
    FAILED = "failed"
    LOST = "lost"


@dataclass(frozen=True)
class Overlap:
    """Two overlapping bodies: depth [m], depth in half extents of the smaller body, their names, and the frame."""

    depth: float
    ratio: float
    bodies: tuple[str, ...]
    frame: int

    def __str__(self) -> str:
        return one_line(f"{distance(self.depth)}, {' and '.join(self.bodies)}, frame {self.frame}")


@dataclass(frozen=True)
class Job:
    """State of one bake.

    status: current activity, for the user.
    stopping, pausing: requests of the user.
    problems, warnings: readable lines.
    overlap: the deepest so far, or None.
    found: number of islands solved by each method.
    seconds: wall time of the worker's steps in this run [s].
    compiled: fraction of all kernels on disk, 0 if none had to be compiled.
    progress: progress of this run.
    """

    phase: Phase = Phase.STARTING
    status: str = "Starting"
    stopping: bool = False
    pausing: bool = False
    frame_start: int = 0
    frame_end: int = 0
    last_frame: int | None = None
    missed_steps: int = 0
    moving: int = 0  # largest number of bodies in large moving islands
    overlap: Overlap | None = None
    found: tuple[tuple[str, int], ...] = ()
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    error: str = ""
    compiled: float = 0.0
    progress: Progress = field(default_factory=Progress)

    @property
    def is_over(self) -> bool:
        """True if no event will follow."""
        return self.phase not in (Phase.STARTING, Phase.BAKING)

    @property
    def factor(self) -> float:
        """The completed fraction of the frames or, before the first step, of the kernels to compile."""
        if self.last_frame is None or (self.compiled and self.last_frame == self.frame_start):
            return self.compiled
        return (self.last_frame - self.frame_start + 1) / (self.frame_end - self.frame_start + 1)

    @property
    def details(self) -> tuple[str, ...]:
        """Lines about the progress; none while kernels are compiled, which has a time of its own."""
        if self.is_over or self.last_frame is None or self.status.startswith(COMPILING):
            return ()
        return self.progress.lines(self.frame_start, self.last_frame, self.frame_end)

    @property
    def solved_by(self) -> str:
        """The methods that found the solutions, the most frequent first; empty if nothing was solved, or all by pivoting."""
        total = sum(number for _, number in self.found)
        shares = sorted(((100.0 * number / total, FOUND[which]) for which, number in self.found if number > 0), reverse=True)
        return ", ".join(f"{share:.0f} % {how}" if share >= 1.0 else f"{share:.1g} % {how}" for share, how in shares)

    @property
    def summary(self) -> str:
        """One line about the result."""
        if self.last_frame is None:
            return self.error or self.status
        missed = (
            f"{self.missed_steps} step{'s' if self.missed_steps > 1 else ''} did not converge"
            if self.missed_steps
            else "every step converged"
        )
        frames = f"frames {self.frame_start} to {self.last_frame}"
        if self.last_frame < self.frame_end:
            frames += f" of {self.frame_end}"
        overlap = "" if self.overlap is None else f", deepest overlap {self.overlap}"
        return f"{frames}, {missed}{overlap}, {self.seconds:.1f} s"


def deeper(overlap: Overlap | None, record: Mapping[str, Any]) -> Overlap | None:
    """Return the deepest overlap so far, including that of the recorded frame, in which null is a non-finite number."""
    depth, ratio = (math.inf if record[name] is None else record[name] for name in ("deepest_overlap", "overlap_ratio"))
    if not record["deepest_pair"] or (overlap is not None and ratio <= overlap.ratio):
        return overlap
    return Overlap(depth, ratio, tuple(record["deepest_pair"]), record["frame"])


def added(found: tuple[tuple[str, int], ...], more: dict[str, int]) -> tuple[tuple[str, int], ...]:
    """Counts by what found an answer, and those of one more frame."""
    before = dict(found)
    return tuple((which, before.get(which, 0) + number) for which, number in more.items())


@dataclass(frozen=True)
class WorkerMessage:
    """The worker wrote a line."""

    record: Mapping[str, Any]


@dataclass(frozen=True)
class WorkerEnded:
    """The worker's process has ended. trouble: end of its error output. kept: last readable frame."""

    status: int
    trouble: str = ""
    kept: int | None = None


@dataclass(frozen=True)
class CancelRequested:
    """The user requests the end of the bake."""


@dataclass(frozen=True)
class PauseRequested:
    """The user requests a pause, or its end."""

    pause: bool


Event = WorkerMessage | WorkerEnded | CancelRequested | PauseRequested


@dataclass(frozen=True)
class StartPlayback:
    """The input is valid and frames will follow: let the bodies follow the cache."""


@dataclass(frozen=True)
class ShowFrames:
    """The cache has a new frame."""

    frame: int


@dataclass(frozen=True)
class ShowFlexible:
    """The modes of flexible bodies are known: the report's entry for each."""

    entries: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class StopWorker:
    """Request the end of the process."""


@dataclass(frozen=True)
class PauseWorker:
    """Request the process to wait before its next step."""


@dataclass(frozen=True)
class LetWorkerGoOn:
    """Request the process to continue."""


@dataclass(frozen=True)
class Report:
    """A message to the user; level is INFO, WARNING or ERROR."""

    level: str
    text: str


Effect = StartPlayback | ShowFrames | ShowFlexible | StopWorker | PauseWorker | LetWorkerGoOn | Report


def advance(job: Job, event: Event) -> tuple[Job, tuple[Effect, ...]]:
    """Return the job after an event, and the effects to perform, in order."""
    if job.is_over:
        return job, ()
    match event:
        case CancelRequested():
            if job.stopping:
                return job, ()
            return replace(job, stopping=True, status="Stopping"), (StopWorker(),)
        case PauseRequested(pause):
            if job.stopping or pause == job.pausing:
                return job, ()
            if pause:
                return replace(job, pausing=True, status="Pausing after this step"), (PauseWorker(),)
            return replace(job, pausing=False, status="Continuing"), (LetWorkerGoOn(),)
        case WorkerMessage(record):
            return on_message(job, record)
        case WorkerEnded(status, trouble, kept):
            return ended(job, status, trouble, kept)


def on_message(job: Job, record: Mapping[str, Any]) -> tuple[Job, tuple[Effect, ...]]:
    match record.get("event"):
        case "paused":
            moment = "at the start" if job.last_frame is None else f"after frame {job.last_frame}"
            return replace(job, status=f"Paused {moment}") if job.pausing and not job.stopping else job, ()
        case "warning":
            text = one_line(f"{first_few(record['objects'])}: {in_words(record['field'])}: {record['message']}")
            return replace(job, warnings=(*job.warnings, text)), (Report("WARNING", text),)
        case "frame":
            frame = record["frame"]
            baked = replace(
                with_figures(job, record),
                last_frame=frame,
                status=status_at(job, frame, record["contacts"]),
                seconds=job.seconds + record["seconds"],
                progress=with_frame(job.progress, record, is_first=frame == job.frame_start),
            )
            return baked, (ShowFrames(frame),)
        case "kept" | "repeated":
            return replace(with_figures(job, record), status=status_again(job, record)), ()
        case "finished":
            return replace(job, missed_steps=record["missed_steps"], seconds=record["seconds"]), ()
        case "stopped":
            return replace(job, error=f"the bake was stopped: {record['reason']}"), ()
        case "error":
            return refused(job, record), ()
        case _:
            return before_frames(job, record)


def before_frames(job: Job, record: Mapping[str, Any]) -> tuple[Job, tuple[Effect, ...]]:
    match record.get("event"):
        case "compiling":
            unfit = record.get("unfit")
            return replace(job, status=LOADING), (Report("INFO", f"Recompiling: {unfit}"),) if unfit else ()
        case "compiled":
            if job.stopping:
                return job, ()
            return replace(job, status=compiling(record), compiled=record["there"] / max(record["whole"], 1)), ()
        case "preparing":
            if job.stopping:
                return job, ()
            count = f", {record['number']} of {record['of']}" if record["of"] > 1 else ""
            return replace(job, status=f"Computing modes of {one_line(record['body'])}{count}"), ()
        case "prepared":
            return job, (ShowFlexible(tuple(record["bodies"])),)
        case "started":
            started = replace(
                job,
                phase=Phase.BAKING,
                frame_start=record["frame_start"],
                frame_end=record["frame_end"],
                last_frame=record["resumed_from"],
            )
            return started, (StartPlayback(),)
        case _:
            # The exit status decides, for any message of a later version's worker.
            return job, ()


def compiling(record: Mapping[str, Any]) -> str:
    """Return the progress of compilation, from an event of a worker or of a live simulation."""
    time_left = "" if record["left"] is None else f", at most {duration(record['left'])} left"
    return f"{COMPILING}, {record['there']} kernels of at most {record['whole']}{time_left}; later bakes reuse them"


def refused(job: Job, record: Mapping[str, Any]) -> Job:
    """Return the job with the scene's problems. Messages for programs contain the identifiers of fields."""
    message, problems = record["message"], []
    for one in record["problems"]:
        problems.append(one_line(f"{one['object']}: {in_words(one['field'])}: {one['message']}"))
        message = message.replace(one_line(f"{one['object']}: {one['field']}: {one['message']}"), problems[-1])
    return replace(job, error=message, problems=tuple(problems))


def with_figures(job: Job, record: Mapping[str, Any]) -> Job:
    """Return the job with the statistics of a frame of the bake, from any run."""
    return replace(
        job,
        missed_steps=job.missed_steps + record["missed"],
        moving=max(job.moving, record["moving"]),
        found=added(job.found, record["found"]),
        overlap=deeper(job.overlap, record),
    )


def status_at(job: Job, frame: int, contacts: int) -> str:
    if job.stopping or job.pausing:
        return job.status
    # The first frame needs no step. Most kernels are loaded or compiled in the first step.
    if frame == job.frame_start:
        return job.status
    return f"Frame {frame} of {job.frame_end}, {counted(contacts, 'contact')}"


def status_again(job: Job, record: Mapping[str, Any]) -> str:
    if job.stopping or job.pausing or record["event"] == "kept":
        return job.status
    return f"Frame {record['frame']} again, of existing frames up to {record['last']}"


def ended(job: Job, status: int, trouble: str, kept: int | None) -> tuple[Job, tuple[Effect, ...]]:
    if status == ExitStatus.DONE:
        over = replace(job, phase=Phase.BAKED)
        return over, (Report("INFO", f"Baked {over.summary}"),)
    if status == ExitStatus.MISSED_TOLERANCE:
        over = replace(job, phase=Phase.MISSED)
        return over, (Report("WARNING", f"Baked {over.summary}"),)
    if status == ExitStatus.CACHE_LOST:
        over = replace(job, phase=Phase.LOST, error=job.error or "the cache was removed during the bake")
        return over, (Report("ERROR", over.error),)
    if job.stopping:
        over = replace(job, phase=Phase.STOPPED, status="Stopped", error="")
        return over, (Report("INFO", f"Stopped: {over.summary}"),)
    if status == ExitStatus.BAD_INPUT:
        over = replace(job, phase=Phase.REFUSED, error=job.error or trouble or "the worker refused the scene without a message")
    else:
        error = job.error or f"{how_it_ended(status)}\n{trouble}".strip()
        if kept is not None:
            error += f"\nframes up to {kept} are in the cache; Resume (--resume on the command line) continues after them"
        over = replace(job, phase=Phase.FAILED, error=error)
    return over, (Report("ERROR", "\n".join([over.error, *(line for line in over.problems if line not in over.error)])),)


def how_it_ended(status: int) -> str:
    """Return a message for an exit status without a message; negative ones are signals."""
    try:
        name = signal.Signals(-status).name
    except ValueError:
        return f"the worker ended with status {status}"
    # The system sends it when memory runs out.
    hint = "; perhaps out of memory" if name == "SIGKILL" else ""
    return f"the worker was ended by {name}{hint}"
