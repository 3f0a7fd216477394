# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of the solver for each frame of a bake, read from its cache a little at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter
from typing import NamedTuple

import numpy as np
from bpy.types import Scene

from ...solver_core.bake.report import RESIDUALS, frame_summary, worst, worst_pair
from ...solver_core.bake.violations import violating_pair
from ...solver_core.dynamics.model.frame import Frame
from ...solver_core.io.cache import CacheError, FrameCacheReader
from ..bake.bake_files import cache_path
from ..bake.playback import open_cache

__all__ = ["MEASURES", "BakeFigures", "FrameFigures", "figures_of"]


class FrameFigures(NamedTuple):
    """The statistics of one frame.

    They are the largest relative residual, inf if not finite; iterations; the largest number of contacts in a step; the deepest
    overlap [m], also in half extents of the smaller body; wall time [s]; unconverged steps; the indices of the bodies at the
    worst contact and at the deepest overlap; violations of the contact law, and the bodies of the first one.
    """

    frame: int
    residual: float
    iterations: float
    contacts: float
    overlap: float
    overlap_ratio: float
    seconds: float
    missed: int
    worst_pair: tuple[int, ...]
    deepest_pair: tuple[int, ...]
    violations: int = 0
    violating_pair: tuple[int, ...] = ()


# The plotted statistics and their names.
MEASURES = {
    "residual": "Residual",
    "iterations": "Iterations",
    "overlap": "Deepest overlap (mm)",
    "seconds": "Time (s)",
}


def figures_of(frame: Frame) -> FrameFigures:
    """Return the statistics of a frame."""
    statistics = frame.statistics
    summary = frame_summary(statistics)
    residual = worst(summary[name] for name in RESIDUALS)
    deepest: tuple[float, float, tuple[int, ...]] = (0.0, 0.0, ())
    if len(statistics.overlap_ratio):
        step = int(np.argmax(statistics.overlap_ratio))
        pair = tuple(int(body) for body in statistics.deepest_pair[step] if body >= 0)
        deepest = float(statistics.deepest_overlap[step]), float(statistics.overlap_ratio[step]), pair
    return FrameFigures(
        frame.frame,
        math.inf if residual is None else residual,
        summary["iterations"],
        summary["contacts"],
        *deepest[:2],
        summary["seconds"],
        summary["missed_steps"],
        tuple(worst_pair(statistics)),
        deepest[2],
        sum(summary["violations"].values()),
        tuple(violating_pair(statistics)),
    )


class BakeFigures:
    """The statistics of all frames of a scene's bake that have been read."""

    def __init__(self) -> None:
        self._bake = ("", "")
        self._reader: FrameCacheReader | None = None
        self.frames: list[FrameFigures] = []

    @property
    def bodies(self) -> tuple[str, ...]:
        """The names of the bodies to which indices refer."""
        return () if self._reader is None else self._reader.info.bodies

    def read(self, scene: Scene, seconds: float = math.inf) -> bool:
        """Read what is new, for so long; whether that was all. Of a cache that cannot be read there is nothing."""
        bake = scene.stiction.bake
        name = (cache_path(scene), bake.digest) if bake.state != "NONE" and bake.cache else ("", "")
        try:
            if name != self._bake or self._reader is None:
                self.forget()
                if not name[0]:
                    return True
                self._reader, self._bake = open_cache(scene), name
            known = self._reader.frames
            frames = self._reader.refresh()
            if len(frames) < len(known) or len(frames) < len(self.frames):
                self.frames.clear()
            return self._read_until(perf_counter() + seconds, self._reader, iter(frames[len(self.frames) :]))
        except (OSError, CacheError):
            # `outdated` reports missing frames and their expected location.
            self.forget()
            return True

    def _read_until(self, end: float, reader: FrameCacheReader, frames: Iterator[int]) -> bool:
        for frame in frames:
            self.frames.append(figures_of(reader.read(frame)))
            if perf_counter() > end:
                return False
        return True

    def worst(self, measure: str) -> FrameFigures | None:
        """Return the frame with the largest value, for overlaps relative to the smaller body; None if all are zero."""
        name = "overlap_ratio" if measure == "overlap" else measure
        found = max(self.frames, key=lambda figures: getattr(figures, name), default=None)
        return found if found is not None and getattr(found, name) > 0.0 else None

    def forget(self) -> None:
        """Close the cache."""
        self._reader, self._bake = None, ("", "")
        self.frames.clear()
