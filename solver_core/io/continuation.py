# SPDX-License-Identifier: GPL-3.0-or-later
"""Reuse of the frames of a bake for a changed scene, and caches that start with frames of other bakes.

If a scene only becomes longer, or its animated bodies or fields change only from some frame on, the earlier frames are equal to
the last bit, because a simulation does not depend on later input. After any other change, a bake can still continue from any
frame of the old bake. The cache then names the bake of each frame.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..scene.activation import ActivationSpec
from ..scene.differences import differences
from ..scene.fields import paths_of, without_paths
from ..scene.spec import BodyKind, BodySpec, SceneSpec, SolverSettings, spans_of
from ..scene.timing import speed_at
from .cache import CacheError, EarlierFrames, FrameCacheReader
from .cache_writer import FrameCacheWriter
from .records import read_head, sound_records
from .snapshot import snapshot_digest

__all__ = ["continue_from", "earlier_frames", "frames_that_hold"]

Content = tuple[SceneSpec, SolverSettings]

# Motion between frames i and i + 1 depends on the poses at frames i - 1 to i + 2, or fewer at the end of a path.
FRAMES_AHEAD = 2


def frames_that_hold(before: Content, now: Content) -> int | None:
    """Return the last frame up to which bakes of two scenes are equal bit for bit, or None if they differ from the start."""
    if snapshot_digest(*without_time(before)) != snapshot_digest(*without_time(now)):
        return None
    old, new = before[0], now[0]
    last = min(old.frame_end, new.frame_end)
    for a, b in zip(old.bodies, new.bodies, strict=True):
        if (a.path is None) != (b.path is None) or not same_deformation(a, b):
            return None
        rows = [first_difference(a.path, b.path), first_other(a.teleports or (), b.teleports or ()), first_other_span(a, b)]
        rows += [first_difference(*both) for both in zip(surface_paths(a), surface_paths(b), strict=True)]
        last = min((last, *(new.frame_start + row - FRAMES_AHEAD for row in rows if row is not None)))
    row = first_difference(speeds(old), speeds(new))
    if row is not None:
        # The value of a frame acts before that frame.
        last = min(last, new.frame_start + row - 1)
    for a, b in zip((*old.fields, *old.absorbers), (*new.fields, *new.absorbers), strict=True):
        for before_path, now_path in zip(paths_of(a), paths_of(b), strict=True):
            row = first_difference(before_path, now_path)
            if row is not None:
                # The value of a frame acts before that frame.
                last = min(last, new.frame_start + row - 1)
    for path, other in zip(activation_paths(old), activation_paths(new), strict=True):
        row = first_difference(path, other)
        if row is not None:
            # A zone moves to its pose at a frame before that frame; bodies that a value wakes move after it.
            last = min(last, new.frame_start + row - 1)
    return last if last >= new.frame_start else None


def continue_from(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    content: Content,
    last: int,
    earlier: tuple[EarlierFrames, ...] = (),
) -> None:
    """Make a cache of `content` at `target` that begins with the frames of `source` up to `last`.

    They have to hold for it, but for those that `earlier` names as frames of other bakes. Raises CacheError and OSError, as
    reading and writing caches does.
    """
    reader = FrameCacheReader(source)
    with open(source, "rb") as file, FrameCacheWriter.create(target, *content, earlier=earlier) as writer:
        info, end = read_head(file)
        writer.modes = reader.modes()
        for record in sound_records(file, info, end):
            if record.number > last:
                break
            frame = replace(reader.read(record.number), contacts=reader.contacts(record.number))
            writer.copy(frame, record)


def earlier_frames(reader: FrameCacheReader, before: Content, now: Content, last: int) -> tuple[EarlierFrames, ...]:
    """Return the description of the frames up to `last`, taken from the cache of a bake of `before`, for a bake of `now`.

    Raises CacheError that names the obstacle: both scenes must have the same bodies and joints, with the same initial states.
    """
    if last not in reader.frames:
        there = f"frames {reader.frames[0]} to {reader.frames[-1]}" if reader.frames else "no frames"
        raise CacheError(f"frame {last} is not in the cache, which has {there}")
    if last >= now[0].frame_end:
        raise CacheError(f"frame {last} is the last of the bake, no frames follow; choose an earlier one")
    refuse_another_beginning(before[0], now[0])
    found = differences(before, now)
    if not found:
        raise CacheError("nothing has changed since the bake; resume it, or bake again")
    parts = reader.info.earlier
    kept = tuple(part for part in parts if part.last_frame < last)
    # The bake of frame `last` itself: an earlier segment, or the newest bake.
    cut = parts[len(kept)] if len(kept) < len(parts) else None
    if cut is None:
        return (*kept, EarlierFrames(last, reader.info.digest, found))
    return (*kept, EarlierFrames(last, cut.digest, tuple(dict.fromkeys((*cut.differences, *found)))))


def refuse_another_beginning(before: SceneSpec, now: SceneSpec) -> None:
    """Raise CacheError unless frames of one scene can be the first ones of the other."""
    wrong: list[str] = []
    for kind, old, new in (("body", before.bodies, now.bodies), ("joint", before.joints, now.joints)):
        names = [one.name for one in old], [one.name for one in new]
        wrong += [f"the {kind} {name} is missing" for name in names[0] if name not in names[1]]
        wrong += [f"the {kind} {name} was added" for name in names[1] if name not in names[0]]
        if sorted(names[0]) == sorted(names[1]) and names[0] != names[1]:
            wrong.append(f"each {kind} is there, but in another order")
    if before.frame_start != now.frame_start:
        wrong.append(f"the first frame was {before.frame_start}, now it is {now.frame_start}")
    for a, b in zip(before.bodies, now.bodies, strict=True) if not wrong else ():
        if a.kind is not b.kind:
            wrong.append(f"{a.name} was {a.kind.value} and is {b.kind.value} now")
        elif a.kind is BodyKind.ACTIVE and not begins_alike(a, b):
            wrong.append(f"{a.name} begins at another place")
        elif not bends_alike(a, b):
            wrong.append(f"{a.name} bends otherwise: its mesh, its mass or its flexible settings have changed")
    if wrong:
        raise CacheError(f"these frames cannot be kept, bake again: {'; '.join(wrong)}")


def begins_alike(a: BodySpec, b: BodySpec) -> bool:
    return np.array_equal(a.position, b.position) and np.array_equal(a.orientation, b.orientation)


def bends_alike(a: BodySpec, b: BodySpec) -> bool:
    """Return True if the flexible bodies of both scenes have the same modes."""
    if a.deformable is None or b.deformable is None:
        return a.deformable is b.deformable
    # Imported here because it loads scipy, which is not needed to read frames.
    from ..deformable.reduced_body import preparation_digest

    return preparation_digest(a) == preparation_digest(b)


def without_time(content: Content) -> Content:
    """Return a scene without its last frame, its speed, its force fields and the prescribed motion of its bodies."""
    spec, settings = content
    without = {"path": None, "deformation": None, "spans": None, "teleports": None}
    bodies = tuple(replace(without_surface_paths(body), **without) for body in spec.bodies)
    fields, absorbers = (tuple(without_paths(one) for one in ones) for ones in (spec.fields, spec.absorbers))
    spec = replace(spec, frame_end=spec.frame_start, bodies=bodies, fields=fields, absorbers=absorbers, speed_path=None)
    return replace(spec, activations=tuple(without_frames(one) for one in spec.activations)), settings


def activation_paths(spec: SceneSpec) -> list[NDArray[np.float64] | None]:
    """Return the inputs of the scene's activations that are given per frame, each (frames, ...), or None if there are none."""
    found: list[NDArray[np.float64] | None] = []
    for one in spec.activations:
        found += [one.values, *(zone.transforms for zone in one.zones)]
    return found


def without_frames(one: ActivationSpec) -> ActivationSpec:
    """Return an activation with empty per-frame inputs."""
    zones = tuple(replace(zone, transforms=zone.transforms[:0]) for zone in one.zones)
    return replace(one, zones=zones, values=None if one.values is None else one.values[:0])


def surface_paths(body: BodySpec) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return the velocity and the spin of a body's surface, (frames, 3) each, or None if they are constant."""
    if body.surface_motion is None:
        return None, None
    velocity, spin = body.surface_motion.velocity, body.surface_motion.spin
    return velocity if np.ndim(velocity) > 1 else None, spin if np.ndim(spin) > 1 else None


def without_surface_paths(body: BodySpec) -> BodySpec:
    """Return a body with empty per-frame surface motion."""
    if body.surface_motion is None:
        return body
    paths = zip(("velocity", "spin"), surface_paths(body), strict=True)
    return replace(
        body, surface_motion=replace(body.surface_motion, **{name: path[:0] for name, path in paths if path is not None})
    )


def same_deformation(a: BodySpec, b: BodySpec) -> bool:
    # The deformation of a mesh is measured over all of its frames.
    if a.deformation is None or b.deformation is None:
        return a.deformation is b.deformation
    return np.array_equal(a.deformation, b.deformation)


def speeds(spec: SceneSpec) -> NDArray[np.float64]:
    """Return the simulation speed on the way to each frame (frames,); 0 for the first frame."""
    frames = range(spec.frame_end - spec.frame_start + 1)
    return np.array([speed_at(spec, frame) if frame else 0.0 for frame in frames])


def first_other_span(a: BodySpec, b: BodySpec) -> int | None:
    """Return the first frame, counted from the scene's first frame, at which only one of two active bodies follows a path."""
    if a.kind is not BodyKind.ACTIVE or (a.spans is None and b.spans is None):
        return None
    led = [{frame for first, last in spans_of(body) for frame in range(first, last + 1)} for body in (a, b)]
    return min(led[0] ^ led[1], default=None)


def first_other(a: tuple[int, ...], b: tuple[int, ...]) -> int | None:
    """Return the smallest number that is in only one of two tuples."""
    return min(set(a) ^ set(b), default=None)


def first_difference(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> int | None:
    """Return the first row in which two paths differ; a missing row differs."""
    if a is None or b is None:
        return None
    common = min(len(a), len(b))
    rows = np.flatnonzero((np.asarray(a)[:common] != np.asarray(b)[:common]).reshape(common, -1).any(axis=1))
    if rows.size:
        return int(rows[0])
    return common if len(a) != len(b) else None
