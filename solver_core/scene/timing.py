# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated time of frames if the speed of the simulation changes from frame to frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from .spec import SceneSpec

__all__ = ["Timing", "speed_at"]

Array = NDArray[np.float64]


class Timing:
    """The simulated time of a scene's frames, which are counted from the first.

    The speed at a frame acts during the motion to it. A speed of 0 freezes the simulation: no time passes.
    """

    def __init__(self, spec: SceneSpec, substeps: int = 1) -> None:
        """substeps: time steps per frame."""
        self._spec, self._substeps = spec, substeps
        frames = range(max(spec.frame_end - spec.frame_start, 0) + 1)
        self._begin = None if spec.speed_path is None else np.cumsum([self.seconds(k) if k else 0.0 for k in frames])

    @property
    def changes(self) -> bool:
        """Whether the speed changes from frame to frame."""
        return self._begin is not None

    @property
    def usual_step(self) -> float:
        """The time step in s at the scene's `time_scale`, which is the longest."""
        return self._spec.time_scale / (self._spec.fps * self._substeps)

    def step(self, frame: int) -> float:
        """Return the time step in s during the motion to a frame; 0 if the simulation is frozen."""
        return speed_at(self._spec, frame) / (self._spec.fps * self._substeps)

    def latest_step(self, frame: int) -> float:
        """Return the last nonzero time step in s at or before a frame."""
        for before in range(frame, 0, -1) if self.changes else (frame,):
            if self.step(before) > 0.0:
                return self.step(before)
        return self.step(1) or self.usual_step

    def seconds(self, frame: int) -> float:
        """Return the simulated time in s from the previous frame to this one."""
        return self.step(frame) * self._substeps

    def begin(self, frame: int) -> float:
        """Return the simulated time in s from the first frame to this one."""
        if self._begin is None:
            return frame * self.seconds(frame)
        last = len(self._begin) - 1
        return float(self._begin[min(frame, last)] + (max(frame - last, 0) * self.seconds(frame)))

    def frames_at(self, times: Array) -> Array:
        """Return the frames, with fractions, at simulated times (k,) s; the first such frame while the simulation is frozen."""
        if self._begin is None:
            return times / self.seconds(1)
        starts = np.concatenate([[True], np.diff(self._begin) > 0.0])
        return np.interp(times, self._begin[starts], np.flatnonzero(starts).astype(np.float64))


def speed_at(spec: SceneSpec, frame: int) -> float:
    """Return the speed of the simulation during the motion to a frame, counted from 0; that of the last frame after it."""
    path = spec.speed_path
    return spec.time_scale if path is None else float(path[min(frame, len(path) - 1)])
