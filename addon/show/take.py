# SPDX-License-Identifier: GPL-3.0-or-later
"""A finished live simulation, and its conversion to the bake of its scene.

Its frames are those of a bake with fewer steps and with a pulling mouse. The cache marks them as frames of another bake, so
*Resume* continues after them with the settings of the scene.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from bpy.types import Scene

from ...solver_core.bake.resuming import told_so_far
from ...solver_core.io.cache import CacheError, EarlierFrames, FrameCacheReader, cache_digest
from ...solver_core.io.continuation import continue_from
from ...solver_core.io.snapshot import snapshot_digest, write_snapshot
from ...solver_core.live import settings_of_play
from ...solver_core.scene.differences import differences
from ...solver_core.scene.spec import SceneSpec, SolverSettings
from ...solver_core.scene.words import figure
from ..bake.bake_files import bake_files, told_parts
from ..bake.fingerprint import with_last_frame
from ..settings.properties import effective_frame_range, set_last_frame

if TYPE_CHECKING:
    from ..read.extract import Extraction

__all__ = ["Take", "keep", "without_bends"]


def without_bends(spec: SceneSpec) -> SceneSpec:
    """Return the scene with all bodies rigid, because computing modes takes too long for an interactive start."""
    return replace(spec, bodies=tuple(replace(body, deformable=None) for body in spec.bodies))


@dataclass(frozen=True)
class Take:
    """A finished live simulation.

    scene: session_uid of its scene.
    extraction: the simulated scene.
    made_from: digests of the scene at the start.
    folder: contains the cache; removed with this object.
    last: last frame.
    pulls: number of pulls. strongest: largest force of a pull [N].
    """

    scene: int
    extraction: Extraction
    made_from: str
    folder: tempfile.TemporaryDirectory
    cache: Path
    last: int
    pulls: int
    strongest: float

    def __str__(self) -> str:
        frames = f"frames {self.extraction.spec.frame_start} to {self.last}"
        if not self.pulls:
            return frames
        return f"{frames}, {'1 pull' if self.pulls == 1 else f'{self.pulls} pulls'} of up to {figure(self.strongest)} N"

    def forget(self) -> None:
        """Remove the frames."""
        with suppress(OSError):
            self.folder.cleanup()


def keep(scene: Scene, take: Take) -> int:
    """Make a take the bake of its scene, whose range of frames becomes as long as it; returns its last frame.

    Raises OSError and CacheError, and then has changed nothing in the scene.
    """
    # Imported here because it loads scipy, which registering should not do.
    from ..bake.runner import Shown, show_cache

    played = without_bends(take.extraction.spec)
    frames = FrameCacheReader(take.cache).frames
    if not frames:
        raise CacheError("the play ended before its first frame was written")
    last = min(take.last, frames[-1])
    content = replace(played, frame_end=max(played.frame_end, last)), take.extraction.settings
    parts = (part_of(take, played, content, last),)
    files = bake_files(scene, cache_digest(snapshot_digest(*content), parts))
    files.cache.parent.mkdir(parents=True, exist_ok=True)
    write_snapshot(files.snapshot, *content)
    continue_from(take.cache, files.cache, content, last, parts)
    reader = FrameCacheReader(files.cache, files.digest)
    missed, _, _ = told_so_far(reader, reader.frames, content[0])
    seen = take.made_from
    if content[0].frame_end > played.frame_end:
        lengthen(scene, content[0].frame_end)
        seen = with_last_frame(seen, scene)
    shown = Shown(seen, told_parts(files.cache), played.frame_start, content[0].frame_end, last)
    show_cache(scene, take.extraction, files, shown)
    scene.stiction.bake.summary = f"Kept from Play: {take}"
    scene.stiction.bake.missed_steps = missed
    return last


def part_of(take: Take, played: SceneSpec, content: tuple[SceneSpec, SolverSettings], last: int) -> EarlierFrames:
    """Return the segment that describes the frames in the cache of a kept take, with a digest unique to the take."""
    found = list(differences((played, settings_of_play(played, take.extraction.settings)), content))
    if any(body.deformable is not None for body in take.extraction.spec.bodies):
        found.append("flexible bodies rigid")
    pulls = f" with {str(take).partition(', ')[2]}" if take.pulls else ""
    digest = blake2b(take.cache.read_bytes(), digest_size=16).hexdigest()
    return EarlierFrames(last, digest, (f"played in the viewport{pulls}", *found))


def lengthen(scene: Scene, last: int) -> None:
    """Set the last frame of the scene's bakes, and remember the one before for *Free Bake*."""
    bake, (_, end) = scene.stiction.bake, effective_frame_range(scene)
    if not bake.end_before or end != bake.end_kept:
        bake.end_before = end
    bake.end_kept = last
    set_last_frame(scene, last)
