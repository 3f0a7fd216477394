# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a bake: reads the scene, starts the worker, passes its messages to the job, and performs the effects in Blender.

The same object serves the window (polled by a modal operator) and background mode (`run`). It stores names and ids and no
references to Blender's data, because undo may replace the data while the worker runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import bpy
from bpy.types import Context, Scene

from ...solver_core.bake.report import VISIBLE_OVERLAP
from ...solver_core.io.cache import CacheError, FrameCacheReader, cache_has_begun
from ...solver_core.io.snapshot import snapshot_digest, write_snapshot
from ...solver_core.process.console import one_line
from ...solver_core.scene.spec import SceneSpec, SceneWarning
from ...solver_core.scene.words import in_words
from ...solver_core.validation.findings import SceneProblem, alike, first_few
from ..blender.cooperative import Steps, aside
from ..blender.restore import baked_objects, give_back, take_over, unset_all
from ..read.extract import Extraction, extracting
from ..settings.properties import effective_frame_range, set_last_frame
from .bake_files import (
    BakeFiles,
    bake_files,
    cache_path,
    caches_in_use,
    files_to_go_on,
    files_to_resume,
    relative_if_asked,
    remove_old_bakes,
    told_parts,
)
from .bending import bend_objects, lacks_keys, tell_flexible
from .causes import with_causes
from .finding import Finding
from .fingerprint import made_from, written
from .job import (
    CancelRequested,
    Event,
    Job,
    LetWorkerGoOn,
    PauseRequested,
    PauseWorker,
    Report,
    ShowFlexible,
    ShowFrames,
    StartPlayback,
    StopWorker,
    WorkerEnded,
    WorkerMessage,
    advance,
)
from .outdated import look_again, release_copies
from .process import Idle
from .progress import Progress
from .worker import Worker

__all__ = ["Bake", "Shown", "begin", "describe", "free", "show_cache"]

WRITING = "Writing the scene"


def begin(
    context: Context,
    say: Callable[[str, str], None],
    *,
    resume: bool = False,
    keep_to: int | None = None,
    report: Path | None = None,
    capture: Sequence[str] = (),
    idle: Idle | None = None,
) -> Steps[Bake]:
    """Read the context's scene and start the worker; nothing of the scene may be changed between the steps.

    Raises SceneError, WorkerError, CacheError or OSError, and then has changed nothing.

    resume: go on after the frames that hold. keep_to: go on after this frame of the bake there is, whatever has changed.
    capture: arguments of the worker that ask for contact problems. idle: the processes that
    earlier bakes left, None for a bake with a process of its own.
    """
    scene = context.scene
    release_copies(scene)
    extraction = yield from extracting(context)
    content = extraction.spec, extraction.settings
    if keep_to is not None:
        files, resume = files_to_go_on(scene, content, keep_to), True
    elif resume:
        files = files_to_resume(scene, content)
    else:
        files = bake_files(scene, (yield from aside(WRITING, partial(snapshot_digest, *content))))
    files.snapshot.parent.mkdir(parents=True, exist_ok=True)
    yield from aside(WRITING, partial(write_snapshot, files.snapshot, *content))
    return Bake(scene, say, extraction, files, resume=resume, report=report, capture=capture, idle=idle)


class Bake:
    """One bake of a scene. `job` is its state; `say` is called with a level and a message for the user."""

    def __init__(
        self,
        scene: Scene,
        say: Callable[[str, str], None],
        extraction: Extraction,
        files: BakeFiles,
        *,
        resume: bool = False,
        report: Path | None = None,
        capture: Sequence[str] = (),
        idle: Idle | None = None,
    ):
        """Start the worker on the snapshot that is in its file; raises WorkerError, CacheError or OSError."""
        self._scene, self._say = scene.session_uid, say
        self._extraction, self._files = extraction, files
        self._made_from = written(made_from(scene))
        self._flexible = frozenset(body.name for body in extraction.spec.bodies if body.deformable is not None)
        found = self._extraction.warnings
        warnings = tuple(one_line(f"{first_few(w.objects)}: {in_words(w.field)}: {w.message}") for w in found)
        pace = scene.stiction.bake.seconds_a_frame
        self.job = replace(Job(), warnings=warnings, progress=Progress(expected=pace if pace > 0.0 else None))
        for text in warnings:
            say("WARNING", text)
        if resume and not cache_has_begun(self._files.cache):
            folder = self._files.cache.parent
            say(
                "WARNING",
                f"{folder} has no bake of this scene with these settings to resume; the bake starts at the first frame",
            )
        self._earlier = told_parts(self._files.cache) if resume and cache_has_begun(self._files.cache) else ""
        if self._earlier:
            say("INFO", self._earlier)
        settings = scene.stiction
        how = {"resume": resume, "contacts": settings.keep_contacts, "threads": settings.threads}
        self._worker = Worker(self._files.snapshot, self._files.cache, report=report, capture=capture, idle=idle, **how)

    @property
    def extraction_warnings(self) -> tuple[SceneWarning, ...]:
        """Return the warnings about the Blender scene, from before the worker read it."""
        return self._extraction.warnings

    @property
    def kept(self) -> int | None:
        """Return the last readable frame of this bake, or None."""
        try:
            frames = FrameCacheReader(self._files.cache, self._files.digest).frames
        except (OSError, CacheError):
            return None
        return frames[-1] if frames else None

    def run(self, on_event: Callable[[Job], None] = lambda _job: None, check: Callable[[], None] = lambda: None) -> Job:
        """Bake to the end, and wait for it; what `check` raises, which is called again and again meanwhile, ends the bake."""
        try:
            for event in self._worker.all_events(check):
                self.handle(event)
                on_event(self.job)
        except BaseException:
            self._worker.end()
            raise
        return self.job

    def poll(self) -> Job:
        """Handle what has happened since the last call."""
        for event in self._worker.new_events():
            self.handle(event)
        return self.job

    def cancel(self) -> None:
        """Request the end of the bake; finished frames remain."""
        self.handle(CancelRequested())

    def pause(self, pause: bool) -> None:
        """Request a pause of the bake, or its end; finished frames can be viewed meanwhile."""
        self.handle(PauseRequested(pause))

    def handle(self, event: Event) -> None:
        """Process an event and perform its effects."""
        self.job, effects = advance(self.job, self._completed(event))
        for effect in effects:
            match effect:
                case StopWorker():
                    self._worker.stop()
                case PauseWorker():
                    self._worker.pause(True)
                case LetWorkerGoOn():
                    self._worker.pause(False)
                case Report(level, text):
                    self._say(level, text)
                case StartPlayback():
                    self._take_over(self._find_scene())
                case ShowFlexible(entries):
                    scene = self._find_scene()
                    if scene is not None:
                        tell_flexible(bpy.context.window_manager, scene, entries)
                case ShowFrames(frame):
                    self._show(self._find_scene(), frame)
        if self.job.is_over and self.job.last_frame is not None and (scene := self._find_scene()) and self._is_shown(scene):
            scene.stiction.bake.summary = self.job.summary
            scene.stiction.bake.solved_by = self.job.solved_by
            overlap = self.job.overlap
            scene.stiction.bake.overlap = "" if overlap is None else str(overlap)
            scene.stiction.bake.overlap_is_visible = overlap is not None and overlap.ratio > VISIBLE_OVERLAP
            scene.stiction.bake.last_frame = self.job.last_frame
            scene.stiction.bake.missed_steps = self.job.missed_steps
            scene.stiction.bake.moving = self.job.moving
            scene.stiction.bake.seconds_a_frame = self.job.progress.seconds_a_frame or 0.0

    def _completed(self, event: Event) -> Event:
        """Return an event of the worker with information that the worker does not have: the readable frames and the causes of
        overlaps."""
        match event:
            case WorkerEnded():
                return replace(event, kept=self.kept)
            case WorkerMessage(record) if record.get("event") == "warning":
                return WorkerMessage(explained(record, self._extraction.spec))
        return event

    def _find_scene(self) -> Scene | None:
        # Constant through undo and renaming, and unique to this file.
        return next((scene for scene in bpy.data.scenes if scene.session_uid == self._scene), None)

    def _is_shown(self, scene: Scene) -> bool:
        bake = scene.stiction.bake
        is_ours = (bake.state, bake.digest) == ("CACHED", self._files.digest)
        return is_ours and Path(cache_path(scene)) == self._files.cache

    def _take_over(self, scene: Scene | None) -> None:
        if scene is None:
            return
        last = self.job.frame_start if self.job.last_frame is None else self.job.last_frame
        shown = Shown(self._made_from, self._earlier, self.job.frame_start, self.job.frame_end, last)
        show_cache(scene, self._extraction, self._files, shown)

    def _show(self, scene: Scene | None, frame: int) -> None:
        if scene is None:
            self.cancel()
            return
        if not self._is_shown(scene):
            # An undo step, so that undo of later changes does not restore the state before the bake.
            self._take_over(scene)
        scene.stiction.bake.last_frame = frame
        if self._flexible and lacks_keys(scene, self._flexible):
            bend_objects(scene, FrameCacheReader(self._files.cache, self._files.digest))
        # Update the view if it shows a frame that was missing until now; otherwise leave it.
        if scene.frame_current >= frame and not bpy.app.background:
            scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)


@dataclass(frozen=True)
class Shown:
    """The record of a bake in a scene: digests of its inputs, a line for each segment from another bake, the first and last
    frame of its range, and the last existing frame."""

    made_from: str
    earlier: str
    frame_start: int
    frame_end: int
    last_frame: int


def show_cache(scene: Scene, extraction: Extraction, files: BakeFiles, shown: Shown) -> None:
    """Let the bodies of a scene follow the frames in a cache, in place of the scene's present bake."""
    end_before, end_kept = range_changed_by_keep(scene)
    remove_bake(scene)
    by_uid = {ob.session_uid: ob for ob in bpy.data.objects}
    for body, rest in extraction.rest.items():
        if (ob := by_uid.get(rest.uid)) is not None:
            take_over(ob, scene, body, rest.world, rest.transforms)
    bake = scene.stiction.bake
    bake.state = "CACHED"
    bake.cache, bake.digest = relative_if_asked(scene, files.cache), files.digest
    bake.made_from, bake.earlier = shown.made_from, shown.earlier
    bake.frame_start, bake.frame_end, bake.last_frame = shown.frame_start, shown.frame_end, shown.last_frame
    bake.end_before, bake.end_kept = end_before, end_kept
    remove_old_bakes(files, caches_in_use())
    look_again()


def free(scene: Scene) -> int:
    """Restore every value in the scene that a bake changed, and the frame range that *Keep* extended.

    Return the number of restored objects.
    """
    end_before, _ = range_changed_by_keep(scene)
    if end_before:
        set_last_frame(scene, end_before)
    count = remove_bake(scene)
    begin_blenders_simulation(scene)
    return count


def begin_blenders_simulation(scene: Scene) -> None:
    """Let Blender's own simulation read where the bodies start.

    It does so at its first frame only. At a later frame it would show the bodies where it had them last, and in a file opened
    with a bake that is the origin of the world.
    """
    world = scene.rigidbody_world
    if world is not None and scene.frame_current > world.point_cache.frame_start:
        current, subframe = scene.frame_current, scene.frame_subframe
        scene.frame_set(world.point_cache.frame_start)
        scene.frame_set(current, subframe=subframe)


def range_changed_by_keep(scene: Scene) -> tuple[int, int]:
    """Return the last frame of the scene's range before *Keep* extended it, and the present one; zeros if *Keep* did not, or if
    the range was changed afterward."""
    bake = scene.stiction.bake
    if not bake.end_before or scene.rigidbody_world is None or effective_frame_range(scene)[1] != bake.end_kept:
        return 0, 0
    return bake.end_before, bake.end_kept


def remove_bake(scene: Scene) -> int:
    """Restore every value in the scene's objects that a bake changed, and remove the record of the bake.

    Return the number of objects.
    """
    objects = baked_objects(scene)
    for ob in objects:
        give_back(ob)
    unset_all(scene.stiction.bake)
    return len(objects)


def explained(warning: Mapping[str, Any], spec: SceneSpec) -> dict[str, Any]:
    """Return the record of a worker's warning, with a known cause in place of the overlap."""
    found = Finding("WARNING", tuple(warning["objects"]), warning["field"], warning["message"])
    (finding,) = with_causes(spec, [found])
    return {**warning, "objects": list(finding.objects), "field": finding.field, "message": finding.message}


def describe(problems: Iterable[SceneProblem]) -> str:
    """Return problems as one readable message, with one line for equal problems of several objects."""
    problems = tuple(problems)
    lines = [one_line(f"{first_few(one.objects)}: {in_words(one.field)}: {one.message}") for one in alike(problems)]
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"Not baked, and nothing was changed: {count}", *lines])
