# SPDX-License-Identifier: GPL-3.0-or-later
"""The outcome of the bake of a variation, read from its cache only, with all checksums verified."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from ..bake.report import deepest_overlap, frame_summary
from ..geometry.body_mass import radius_of_link
from ..geometry.compounds import parts
from ..io.cache import CacheError, FrameCacheReader
from ..scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind
from .folder import VariationFiles

__all__ = ["Figures", "Motion", "Outcome", "Standing", "State", "body_sizes", "figures_of", "motion_of"]

Array = NDArray[np.float64]


class State(Enum):
    """How the bake of a variation ended."""

    BAKED = "baked"
    MISSED = "missed"  # baked, but some step is unconverged
    FAILED = "failed"


@dataclass(frozen=True)
class Figures:
    """The results of a complete bake.

    first, last: (bodies, 7) poses at its first and last frame.
    overlap: deepest overlap [m]; inf if it is not finite. pair: its two bodies, empty without overlap.
    seconds: wall time of all steps [s].
    """

    first: Array
    last: Array
    missed_steps: int
    overlap: float
    pair: tuple[str, ...]
    frame: int | None
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """The outcome of one variation.

    said: reason of a failure.
    cache: file name in the sweep's folder.
    baked: number of frames baked in this run.
    figures: None after a failure.
    """

    state: State
    cache: str
    baked: int
    said: str = ""
    figures: Figures | None = None


@dataclass(frozen=True)
class Standing:
    """How far a body may move and still count as standing.

    distance: from its initial position [m]; None for a tenth of its size, the diagonal of its bounds.
    turn: from its initial orientation [rad].
    """

    distance: float | None = None
    turn: float = np.radians(10.0)

    def __str__(self) -> str:
        by = "a tenth of its size" if self.distance is None else f"{1e3 * self.distance:g} mm"
        return f"at the last frame no more than {by} and {np.degrees(self.turn):g} degrees from where it began"


@dataclass(frozen=True)
class Motion:
    """The motion of the n active bodies from the first frame to the last: their indices (n,), the displacements of their
    origins (n,) [m], their rotations (n,) [rad], and whether they stand (n,)."""

    body: NDArray[np.int64]
    moved: Array
    turned: Array
    stands: NDArray[np.bool_]


def figures_of(files: VariationFiles, spec: SceneSpec) -> Figures:
    """Return the results of the bake in the files. Raises CacheError for a missing or damaged frame, and OSError."""
    reader = FrameCacheReader.of_snapshot(files.cache, spec, files.digest)
    if reader.damage is not None or len(reader.frames) != spec.frame_end - spec.frame_start + 1:
        raise CacheError(f"{files.cache}: not all of its frames are there")
    missed, seconds, deepest, overlap, where = 0, 0.0, -1.0, 0.0, ((), None)
    first = last = np.zeros((0, 7))
    for frame in reader:
        summary, found = frame_summary(frame.statistics), deepest_overlap(frame, spec)
        missed += summary["missed_steps"]
        seconds += summary["seconds"]
        ratio = np.inf if found["overlap_ratio"] is None else found["overlap_ratio"]
        if found["deepest_pair"] and ratio > deepest:
            deepest, where = ratio, (tuple(found["deepest_pair"]), frame.frame)
            overlap = np.inf if found["deepest_overlap"] is None else found["deepest_overlap"]
        first = frame.poses if frame.frame == spec.frame_start else first
        last = frame.poses
    return Figures(first, last, missed, float(overlap), where[0], where[1], seconds)


def motion_of(figures: Figures, spec: SceneSpec, sizes: Array, bound: Standing) -> Motion:
    """Return the motion of the active bodies. sizes: (bodies,) from `body_sizes` [m]."""
    body = np.array([k for k, one in enumerate(spec.bodies) if one.kind is BodyKind.ACTIVE], dtype=np.int64)
    first, last = figures.first[body], figures.last[body]
    moved = np.linalg.norm(last[:, :3] - first[:, :3], axis=1)
    # Computed from the shorter chord of unit quaternions, which is accurate at small angles, unlike the scalar product.
    chords = [np.linalg.norm(last[:, 3:] - sign * first[:, 3:], axis=1) for sign in (1.0, -1.0)]
    turned = 4.0 * np.arcsin(np.clip(np.minimum(*chords) / 2.0, 0.0, 1.0))
    allowed = 0.1 * sizes[body] if bound.distance is None else np.full(len(body), bound.distance)
    return Motion(body, moved, turned, (moved <= allowed) & (turned <= bound.turn))


def body_sizes(spec: SceneSpec) -> Array:
    """Return the diagonals of the bounds of the bodies' shapes along their own axes (bodies,) [m]; inf for planes."""
    return np.array([size_of(body) for body in spec.bodies])


def size_of(body: BodySpec) -> float:
    if body.shape.kind is ShapeKind.NONE:
        return 2.0 * radius_of_link(body)
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for part in parts(body.shape):
        if part.shape.kind is ShapeKind.PLANE:
            return np.inf
        points = part.shape.vertices @ part.rotation.T + part.position
        # For a cylinder or a cone, vertices are the ends of the axis, and the radius bounds the distance from it.
        around = part.shape.margin + part.shape.radius
        low, high = np.minimum(low, points.min(axis=0) - around), np.maximum(high, points.max(axis=0) + around)
    return float(np.linalg.norm(high - low))
