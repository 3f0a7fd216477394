# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of statistics over frames to lines of a plot in pixels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Axis", "Box", "axis_of", "lines_of"]

Floats = NDArray[np.float64]

# Residuals below this are round-off of double precision.
SMALLEST = 1e-17


@dataclass(frozen=True)
class Box:
    """The area of a plot in pixels: lower left corner and size."""

    x: float
    y: float
    width: float
    height: float

    def at(self, frame: float, first: int, last: int) -> float:
        """Return the position of a frame in a plot of the frames first to last."""
        return self.x + self.width * (frame - first) / max(1, last - first)


@dataclass(frozen=True)
class Axis:
    """The values at the lower and the upper edge, as logarithms for a logarithmic axis."""

    low: float
    high: float
    logarithmic: bool

    def share(self, values: Floats) -> Floats:
        """Return the heights of values: 0 at the lower edge, 1 at the upper one and for non-finite values."""
        scaled = np.log10(np.maximum(values, SMALLEST)) if self.logarithmic else values
        share = (np.where(np.isfinite(scaled), scaled, self.high) - self.low) / (self.high - self.low)
        return np.clip(share, 0.0, 1.0)

    @property
    def top(self) -> float:
        """The value at the upper edge."""
        return 10.0**self.high if self.logarithmic else self.high


def axis_of(values: Sequence[float], logarithmic: bool, limit: float | None = None) -> Axis:
    """Return an axis that contains all finite values and the limit; a logarithmic one ends at whole decades."""
    shown = np.array([value for value in (*values, *([] if limit is None else [limit])) if np.isfinite(value)])
    if not logarithmic:
        high = float(shown.max(initial=0.0))
        return Axis(0.0, high if high > 0.0 else 1.0, False)
    decades = np.log10(np.maximum(shown[shown > 0.0], SMALLEST)) if (shown > 0.0).any() else np.zeros(1)
    low, high = float(np.floor(decades.min())), float(np.ceil(decades.max()))
    return Axis(low, max(high, low + 1.0), True)


def lines_of(frames: Sequence[int], values: Sequence[float], box: Box, axis: Axis) -> NDArray[np.float32]:
    """Return the ends of the lines between neighboring frames (2 (n - 1), 2) [pixels]; for one frame, a line of length zero."""
    if not len(frames):
        return np.zeros((0, 2), np.float32)
    x = np.array([box.at(frame, frames[0], frames[-1]) for frame in frames])
    points = np.stack([x, box.y + box.height * axis.share(np.asarray(values, dtype=np.float64))], axis=1)
    ends = np.stack([points[:-1], points[1:]], axis=1) if len(points) > 1 else points[None, [0, 0]]
    return ends.reshape(-1, 2).astype(np.float32)
