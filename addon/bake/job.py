# SPDX-License-Identifier: GPL-3.0-or-later
r"""A bake as a pure state machine: advance(job, event) -> (job, effects).

    STARTING -> BAKING -> BAKED | MISSED        all frames are there; MISSED: some step is not as exact as was asked
             \        \-> STOPPED | FAILED     canceled, or the worker died: the frames so far are kept, and can be continued
              \        \-> LOST               the cache was taken away, cut or replaced meanwhile
              \-> REFUSED | FAILED | STOPPED   before the first frame: nothing was changed

Knows neither Blender nor processes. The runner feeds it what the worker says and does the effects it asks for.
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
from .progress import Progress, with_frame

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
# how the panel names what a report counts
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
    """Where a bake is."""

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
    """Two bodies in each other: depth in m, the same in half extents of the smaller one, their names, and the frame."""

    depth: float
    ratio: float
    bodies: tuple[str, ...]
    frame: int

    def __str__(self) -> str:
        return one_line(f"{distance(self.depth)}, {' and '.join(self.bodies)}, frame {self.frame}")


@dataclass(frozen=True)
class Job:
    """State of one bake.

    status: what goes on, for the user. stopping: the user asked for the end; pausing: for a pause. problems and warnings:
    readable lines. overlap: the deepest so far, None where nothing overlapped. found: how many islands were solved by what.
    seconds: wall time of the worker's steps, of this run. compiled: the share of all kernels that is on disk, 0 where none had
    to be compiled. progress: of this run.
    """

    phase: Phase = Phase.STARTING
    status: str = "Starting"
    stopping: bool = False
    pausing: bool = False
    frame_start: int = 0
    frame_end: int = 0
    last_frame: int | None = None
    missed_steps: int = 0
    moving: int = 0  # bodies, the most that were in large islands in motion
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
        """Whether nothing more will come."""
        return self.phase not in (Phase.STARTING, Phase.BAKING)

    @property
    def factor(self) -> float:
        """Share of the frames that are done; before the first step, of the kernels where there are some to compile."""
        if self.last_frame is None or (self.compiled and self.last_frame == self.frame_start):
            return self.compiled
        return (self.last_frame - self.frame_start + 1) / (self.frame_end - self.frame_start + 1)

    @property
    def details(self) -> tuple[str, ...]:
        """Lines on how it goes, while it does."""
        if self.is_over or self.last_frame is None:
            return ()
        return self.progress.lines(self.frame_start, self.last_frame, self.frame_end)

    @property
    def solved_by(self) -> str:
        """What found the answers, the most frequent first; empty if nothing was solved, or all by pivoting."""
        total = sum(number for _, number in self.found)
        shares = sorted(((100.0 * number / total, FOUND[which]) for which, number in self.found if number > 0), reverse=True)
        return ", ".join(f"{share:.0f} % {how}" if share >= 1.0 else f"{share:.1g} % {how}" for share, how in shares)

    @property
    def summary(self) -> str:
        """One line on what came out."""
        if self.last_frame is None:
            return self.error or self.status
        missed = f"{self.missed_steps} steps did not converge" if self.missed_steps else "every step converged"
        frames = f"frames {self.frame_start} to {self.last_frame}"
        if self.last_frame < self.frame_end:
            frames += f" of {self.frame_end}"
        overlap = "" if self.overlap is None else f", deepest overlap {self.overlap}"
        return f"{frames}, {missed}{overlap}, {self.seconds:.1f} s"


def deeper(overlap: Overlap | None, record: Mapping[str, Any]) -> Overlap | None:
    """The deepest overlap so far, or that of the frame on record, in which null is a number that is not finite."""
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
    """The worker's process is over. trouble: the end of its error output; kept: the last frame that can be read."""

    status: int
    trouble: str = ""
    kept: int | None = None


@dataclass(frozen=True)
class CancelRequested:
    """The user wants the bake to end."""


@dataclass(frozen=True)
class PauseRequested:
    """The user wants the bake to wait, or to go on."""

    pause: bool


Event = WorkerMessage | WorkerEnded | CancelRequested | PauseRequested


@dataclass(frozen=True)
class StartPlayback:
    """The input is sound and frames will come: let the bodies follow the cache."""


@dataclass(frozen=True)
class ShowFrames:
    """There is a new frame in the cache."""

    frame: int


@dataclass(frozen=True)
class ShowFlexible:
    """The modes of flexible bodies are known: what a report says of each."""

    entries: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class StopWorker:
    """Ask the process to end."""


@dataclass(frozen=True)
class PauseWorker:
    """Ask the process to wait before its next step."""


@dataclass(frozen=True)
class LetWorkerGoOn:
    """Ask the process to wait no more."""


@dataclass(frozen=True)
class Report:
    """Tell the user; level is INFO, WARNING or ERROR."""

    level: str
    text: str


Effect = StartPlayback | ShowFrames | ShowFlexible | StopWorker | PauseWorker | LetWorkerGoOn | Report


def advance(job: Job, event: Event) -> tuple[Job, tuple[Effect, ...]]:
    """The job after the event, and what has to be done for it, in order."""
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
            at = "at the start" if job.last_frame is None else f"after frame {job.last_frame}"
            return replace(job, status=f"Paused {at}") if job.pausing and not job.stopping else job, ()
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
            # whatever a later worker may say: the exit status decides
            return job, ()


def compiling(record: Mapping[str, Any]) -> str:
    """How far compiling is, by an event of a worker or of a play."""
    left = "" if record["left"] is None else f", at most {duration(record['left'])} left"
    return f"{COMPILING}, {record['there']} kernels of at most {record['whole']}{left}; later bakes reuse them"


def refused(job: Job, record: Mapping[str, Any]) -> Job:
    """The job with what is wrong with the scene; a message for programs has the identifiers of fields."""
    message, problems = record["message"], []
    for one in record["problems"]:
        problems.append(one_line(f"{one['object']}: {in_words(one['field'])}: {one['message']}"))
        message = message.replace(one_line(f"{one['object']}: {one['field']}: {one['message']}"), problems[-1])
    return replace(job, error=message, problems=tuple(problems))


def with_figures(job: Job, record: Mapping[str, Any]) -> Job:
    """The job with what a frame of the bake had, whichever run it is from."""
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
    # the first frame needs no step; most kernels are loaded, or compiled, with the first step
    if frame == job.frame_start:
        return job.status
    return f"Frame {frame} of {job.frame_end}, {contacts} contacts"


def status_again(job: Job, record: Mapping[str, Any]) -> str:
    if job.stopping or job.pausing or record["event"] == "kept":
        return job.status
    return f"Frame {record['frame']} again, of existing frames up to {record['last']}"


def ended(job: Job, status: int, trouble: str, kept: int | None) -> tuple[Job, tuple[Effect, ...]]:
    if status == ExitStatus.BAKED:
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
    """What an exit status says that no message explains; negative ones are signals."""
    try:
        name = signal.Signals(-status).name
    except ValueError:
        return f"the worker ended with status {status}"
    # what the system does when memory runs out
    hint = "; perhaps out of memory" if name == "SIGKILL" else ""
    return f"the worker was ended by {name}{hint}"
