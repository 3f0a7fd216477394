# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames of a bake hold for another scene, and a cache that begins with them.

A scene that is longer, or whose animated bodies move otherwise from some frame on, has the frames before that in common with
the bake there was: the same to the last bit, for a simulation knows nothing of what comes.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from ..scene.spec import BodySpec, SceneSpec, SolverSettings
from .cache import FrameCacheReader, FrameCacheWriter, read_head, sound_records
from .snapshot import snapshot_digest

__all__ = ["continue_from", "frames_that_hold"]

Content = tuple[SceneSpec, SolverSettings]

# Motion between the frames i and i + 1 is made of the poses at the frames i - 1 to i + 2; at the end of a path, of fewer.
FRAMES_AHEAD = 2


def frames_that_hold(before: Content, now: Content) -> int | None:
    """The last frame up to which a bake of `now` gives the bits that one of `before` gave; None when they begin otherwise."""
    if snapshot_digest(*without_time(before)) != snapshot_digest(*without_time(now)):
        return None
    old, new = before[0], now[0]
    last = min(old.frame_end, new.frame_end)
    for a, b in zip(old.bodies, new.bodies, strict=True):
        if (a.path is None) != (b.path is None) or not same_deformation(a, b):
            return None
        row = first_difference(a, b)
        if row is not None:
            last = min(last, new.frame_start + row - FRAMES_AHEAD)
    return last if last >= new.frame_start else None


def continue_from(source: str | os.PathLike[str], target: str | os.PathLike[str], content: Content, last: int) -> None:
    """Make a cache of `content` at `target` that begins with the frames of `source` up to `last`, which have to hold for it.

    Raises CacheError and OSError, as reading and writing caches does.
    """
    reader = FrameCacheReader(source)
    with open(source, "rb") as file, FrameCacheWriter.create(target, *content) as writer:
        info, end = read_head(file)
        for number, checkpoint, _ in sound_records(file, info, end):
            if number > last:
                break
            writer.append(replace(reader.read(number), contacts=reader.contacts(number)), checkpoint.arrays)


def without_time(content: Content) -> Content:
    """A scene but for its last frame, and for the motion that its bodies are given."""
    spec, settings = content
    bodies = tuple(replace(body, path=None, deformation=None) for body in spec.bodies)
    return replace(spec, frame_end=spec.frame_start, bodies=bodies), settings


def same_deformation(a: BodySpec, b: BodySpec) -> bool:
    # How far a mesh deforms is measured over all of its frames.
    if a.deformation is None or b.deformation is None:
        return a.deformation is b.deformation
    return np.array_equal(a.deformation, b.deformation)


def first_difference(a: BodySpec, b: BodySpec) -> int | None:
    """The row in which two paths first differ, be it that one has none there."""
    if a.path is None or b.path is None:
        return None
    common = min(len(a.path), len(b.path))
    rows = np.flatnonzero((np.asarray(a.path)[:common] != np.asarray(b.path)[:common]).any(axis=1))
    if rows.size:
        return int(rows[0])
    return common if len(a.path) != len(b.path) else None
