# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems of the activations of a scene, and warnings about conditions that never hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import numpy as np

from ..geometry.surfaces import mesh_surface
from ..scene.activation import ActivationSpec, ZoneSpec
from ..scene.spec import BodyKind, SceneSpec, SceneWarning
from .findings import Findings, SceneProblem, describe, first_few, is_finite, is_not_negative, is_positive

__all__ = ["activation_problems", "activation_warnings"]


def activation_problems(spec: SceneSpec) -> Iterator[SceneProblem]:
    """Yield the problems of the activations of a scene."""
    kinds = {body.name: body.kind for body in spec.bodies}
    frames = max(spec.frame_end - spec.frame_start + 1, 0)
    for name, count in Counter(one.name for one in spec.activations).items():
        if count > 1:
            yield SceneProblem(name, "name", f"{count} activations have this name; give each its own")
    for one in spec.activations:
        for field, message in (*member_findings(one, kinds), *condition_findings(one, spec.frame_start, frames)):
            yield SceneProblem(one.name, field, message)
        for zone in one.zones:
            for field, message in zone_findings(zone, kinds, spec.frame_start, frames):
                yield SceneProblem(zone.name, field, message)
            if zone.body in one.bodies:
                message = f"would wake itself, because it is one of the waiting bodies of {one.name}; remove it from them"
                yield SceneProblem(zone.name, "activation", message)
    held = {name for one in spec.activations if one.holds for name in one.bodies}
    for body in spec.bodies:
        if body.name in held and body.spans is not None:
            message = "waits to be woken, but keyframes of Animated also release it; choose one of the two"
            yield SceneProblem(body.name, "activation", message)


def member_findings(one: ActivationSpec, kinds: dict[str, BodyKind]) -> Findings:
    """Yield the problems of the waiting bodies."""
    unknown = [name for name in one.bodies if name not in kinds]
    if unknown:
        yield "bodies", f"{first_few(unknown)}: not in the scene; name bodies of the scene"
    still = [name for name in one.bodies if name in kinds and kinds[name] is not BodyKind.ACTIVE]
    if still:
        yield "bodies", f"{first_few(still)} cannot wake, because the solver never moves them; make them Active"


def condition_findings(one: ActivationSpec, start: int, frames: int) -> Findings:
    """Yield the problems of the conditions other than zones. start: the first frame. frames: their number."""
    if one.impulse is not None and not is_positive(one.impulse):
        yield "impulse", f"is {one.impulse}; the impulse that wakes a body must be above 0 N s and finite"
    if one.values is None:
        return
    if np.shape(one.values) != (frames,):
        yield "values", f"have the shape {np.shape(one.values)}; {frames} frames need ({frames},)"
    elif not is_finite(one.values, (frames,)):
        first = start + int(np.argmin(np.isfinite(one.values)))
        yield "values", f"are not finite at frame {first}; check the keyframes or the driver of the property there"


def zone_findings(zone: ZoneSpec, kinds: dict[str, BodyKind], start: int, frames: int) -> Findings:
    """Yield the problems of a zone."""
    count = len(zone.vertices) if np.ndim(zone.vertices) == 2 else 0
    if np.shape(zone.vertices)[1:] != (3,) or not count:
        yield "vertices", f"have the shape {np.shape(zone.vertices)}; a zone needs at least one vertex, (n, 3)"
        return
    if not is_finite(zone.vertices, (count, 3)):
        yield "vertices", f"are {describe(zone.vertices)}; they must be finite numbers"
        return
    triangles = np.asarray(zone.triangles)
    if (
        triangles.ndim != 2
        or triangles.shape[1] != 3
        or (len(triangles) and not 0 <= triangles.min() <= triangles.max() < count)
    ):
        yield "triangles", f"are not rows of three of its {count} vertices"
        return
    if not is_not_negative(zone.distance):
        yield "distance", f"is {zone.distance}; the distance within which bodies wake must be 0 m or more and finite"
    if zone.body and zone.body not in kinds:
        yield "body", f"{zone.body!r} is not a body of the scene; name one of its bodies, or none"
    shape = np.shape(zone.transforms)
    if shape not in ((1, 3, 4), (frames, 3, 4)):
        yield "transforms", f"have the shape {shape}; they must be (1, 3, 4), or ({frames}, 3, 4) with one for each frame"
    elif not is_finite(zone.transforms, shape):
        first = start + int(np.argmin(np.isfinite(zone.transforms).all(axis=(1, 2))))
        yield "transforms", f"are not finite at frame {first}; check the object's transform, its parents and its animation"
    elif zone.is_volume:
        yield from volume_findings(zone)


def volume_findings(zone: ZoneSpec) -> Findings:
    """Yield the problems of the surface of a volume."""
    try:
        is_closed = mesh_surface(zone.vertices, zone.triangles).solid
    except ValueError:
        yield "triangles", "its mesh has no faces with an area, so nothing can be inside it; give it a closed mesh"
        return
    if not is_closed:
        yield "triangles", "its mesh is open, so nothing is inside it; close it, or choose a proximity"
    if not np.linalg.det(np.asarray(zone.transforms, dtype=np.float64)[:, :, :3]).any():
        yield "scale", "its scale is 0 at all frames, so nothing can be inside it; make it nonzero along every axis"


def activation_warnings(spec: SceneSpec) -> Iterator[SceneWarning]:
    """Yield warnings about activations of a valid scene that never wake their bodies."""
    frames = spec.frame_end - spec.frame_start
    moved = {body.name for body in spec.bodies if body.kind is BodyKind.ANIMATED or body.path is not None}
    waits: dict[str, set[str]] = {}
    for one in spec.activations:
        has_condition = one.frame is not None or one.zones or one.impulse is not None or one.values is not None
        if not has_condition:
            yield SceneWarning((one.name,), "activation", "nothing wakes its bodies, so they wait forever; choose a condition")
        elif is_late(one, frames) and not one.zones and one.impulse is None:
            yield SceneWarning(
                (one.name,), "activation", "nothing wakes its bodies before the last frame, so they wait forever"
            )
        elif one.frame is None and one.values is None and one.impulse is None and one.holds:
            waits |= {name: {zone.body for zone in one.zones} for name in one.bodies}
    try:
        # A body that waits for a body that is never held is part of no cycle.
        circle = {name: others for name, others in waits.items() if others <= waits.keys() - moved}
        TopologicalSorter(circle).prepare()
    except CycleError as error:
        names = tuple(dict.fromkeys(error.args[1]))
        message = "each of them waits for another one to come near, so none ever wakes; give one a frame or another condition"
        yield SceneWarning(names, "activation", message)


def is_late(one: ActivationSpec, frames: int) -> bool:
    """Return True if neither a frame nor a value wakes bodies before the last frame."""
    by_frame = one.frame is not None and one.frame < frames
    return not by_frame and (one.values is None or not (np.asarray(one.values)[:frames] > 0.0).any())
