# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of a running bake: its speed, remaining time, last frame and size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...solver_core.scene.words import distance, duration, figure

__all__ = ["Progress", "counted", "with_frame"]

# Falling piles become slower from frame to frame, so only the last frames predict the speed.
RECENT_FRAMES = 6
UNIT = 1000.0


@dataclass(frozen=True)
class Progress:
    """The last frame of a run.

    It contains its counts, its overlap with the two bodies [m], the times of the last frames, latest first [s], and the size of
    the cache in bytes.

    is_warm: True if frames without loading or compilation of kernels were included.
    expected: time per frame of the scene's last bake [s], or None.
    """

    contacts: int = 0
    iterations: int = 0
    overlap: float | None = 0.0
    pair: tuple[str, ...] = ()
    seconds: tuple[float, ...] = ()
    is_warm: bool = False
    size: int = 0
    expected: float | None = None

    @property
    def seconds_a_frame(self) -> float | None:
        """Time per frame of the last frames [s]; None before the first step."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else None

    def lines(self, first: int, last: int, end: int) -> tuple[str, ...]:
        """Return lines about a bake of the frames first to end that has reached the frame `last`."""
        texts = []
        pace = self.seconds_a_frame
        if pace is not None:
            texts.append(f"{duration(pace * (end - last))} left, {rate(pace)}")
            texts.append(f"{counted(self.contacts, 'contact')}, {counted(self.iterations, 'iteration')}")
        elif self.expected is not None:
            texts.append(f"About {duration(self.expected * (end - last))} left, at the pace of the last bake")
        if self.pair:
            depth = "not finite" if self.overlap is None else distance(self.overlap)
            texts.append(f"Overlap {depth}, {' and '.join(self.pair)}")
        if self.size and last > first:
            whole = self.size * (end - first + 1) / (last - first + 1)
            texts.append(f"{amount(self.size)} of {amount(whole)} on disk")
        return tuple(texts)


def counted(number: int, unit: str) -> str:
    """Return a number with its noun, in the singular for one."""
    return f"1 {unit}" if number == 1 else f"{number} {unit}s"


def with_frame(progress: Progress, record: Mapping[str, Any], is_first: bool) -> Progress:
    """Return the progress after the recorded frame. is_first: it needed no step."""
    seconds, is_warm = progress.seconds, progress.is_warm
    if not is_first:
        # The first step includes loading or compilation of kernels, so it is not representative.
        seconds = (record["seconds"], *(seconds if is_warm else ()))[:RECENT_FRAMES]
        is_warm = is_warm or bool(progress.seconds)
    return replace(
        progress,
        contacts=record["contacts"],
        iterations=record["iterations"],
        overlap=record["deepest_overlap"],
        pair=tuple(record["deepest_pair"]),
        seconds=seconds,
        is_warm=is_warm,
        size=record.get("size", 0),
    )


def rate(seconds_a_frame: float) -> str:
    if 0.0 < seconds_a_frame < 1.0:
        return f"{figure(1.0 / seconds_a_frame, 2)} frames/s"
    return f"{figure(seconds_a_frame, 2)} s/frame"


def amount(size: float) -> str:
    """Format bytes in the unit in which they are below a thousand."""
    for unit in ("B", "kB", "MB"):
        if size < UNIT:
            return f"{figure(size)} {unit}"
        size /= UNIT
    return f"{figure(size)} GB"
