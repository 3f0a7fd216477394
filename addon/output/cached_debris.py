# SPDX-License-Identifier: GPL-3.0-or-later
"""The debris of a scene's bake, read from its cache once and sampled again when its rates change."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import bpy
from bpy.types import Scene

from ...solver_core.debris import Debris, DebrisEvents, DebrisRates, events_of, sampled
from ...solver_core.io.cache import CacheError, FrameCacheReader
from ...solver_core.io.snapshot import read_snapshot
from ...solver_core.scene.spec import SceneSpec
from ...solver_core.scene.timing import Timing
from ..bake.bake_files import cache_path, snapshot_of
from ..bake.playback import open_cache

__all__ = ["CachedDebris", "SceneDebris"]

# While a bake runs, its debris is read again only after the number of frames has grown by this factor.
GROWTH = 1.25


class SceneDebris(NamedTuple):
    """The points of a bake, and its scene."""

    points: Debris
    spec: SceneSpec

    def seconds_at(self, frame: float) -> float:
        """Simulated time in s at a frame of the scene, with a fraction; before the first frame it is negative."""
        timing, since = Timing(self.spec), frame - self.spec.frame_start
        if since < 0.0:
            return since * timing.seconds(1)
        whole = math.floor(since)
        begin = timing.begin(whole)
        return begin + (since - whole) * (timing.begin(whole + 1) - begin)


class CachedDebris:
    """Remembers the events and the points of one bake."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Clear the memory."""
        self._bake: tuple[str, str] = ("", "")
        self._reader: FrameCacheReader | None = None
        self._spec: SceneSpec | None = None
        self._events: tuple[int, tuple[float, ...], DebrisEvents] | None = None
        self._points: tuple[DebrisEvents, DebrisRates, Debris] | None = None

    def of_scene(self, scene: Scene, rates: DebrisRates) -> SceneDebris | None:
        """Return the debris of the scene's bake, or None without a bake.

        Raises CacheError, also if the bake has no contacts, ContainerError, UsageError for too many points, and OSError.
        """
        bake = scene.stiction.bake
        if bake.state == "NONE" or not bake.cache:
            self.forget()
            return None
        name = cache_path(scene), bake.digest
        if self._reader is None or self._spec is None or name != self._bake:
            self.forget()
            self._spec, _ = read_snapshot(snapshot_of(Path(name[0])))
            self._reader, self._bake = open_cache(scene), name
        else:
            self._reader.refresh()
        events = self._events_of(self._reader, self._spec, rates)
        if self._points is None or self._points[0] is not events or self._points[1] != rates:
            self._points = events, rates, sampled(events, [body.name for body in self._spec.bodies], rates)
        return SceneDebris(self._points[2], self._spec)

    def _events_of(self, reader: FrameCacheReader, spec: SceneSpec, rates: DebrisRates) -> DebrisEvents:
        if not reader.frames:
            raise CacheError(f"{reader.path}: there are no frames yet")
        chosen = rates.joint_area, rates.least_impulse, rates.least_speed
        count = len(reader.frames)
        if self._events is not None and self._events[1] == chosen:
            before = self._events[0]
            if count == before or (before < count < GROWTH * before and bpy.context.window_manager.stiction.is_baking):
                return self._events[2]
        events = events_of(reader, spec, rates)
        self._events = count, chosen, events
        return events
