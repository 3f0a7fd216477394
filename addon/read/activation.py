# SPDX-License-Identifier: GPL-3.0-or-later
"""The activations of collections, read over the frames of the scene."""

from __future__ import annotations

import math
from collections.abc import Collection as Names
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from numbers import Real

import numpy as np
from bpy.types import Collection, Context, Object, Scene
from numpy.typing import NDArray

from ...solver_core.scene.activation import ActivationSpec, ZoneSpec
from ...solver_core.scene.spec import SceneWarning
from ...solver_core.validation.findings import SceneProblem
from ..blender.placement import PlacementError, matrices_now, placed
from ..settings.activation import activated_collections
from .fields import carrier_of
from .motion import can_change
from .shapes import ShapeError, read_mesh

__all__ = ["Activations", "held_until_woken", "read_activations"]

Array = NDArray[np.float64]

MESHES = "MESH", "CURVE", "SURFACE", "META", "FONT"  # types of objects with a surface; for others, the origin counts


@dataclass(eq=False)
class Source:
    """An object whose surface wakes bodies.

    zone: its state at the first frame. moves: True if its transform is read at every frame.
    """

    ob: Object
    zone: ZoneSpec
    moves: bool
    rows: list[Array] = field(default_factory=list)

    def over_frames(self) -> ZoneSpec:
        """Return the zone with its transforms."""
        if not self.rows:
            return self.zone
        rows = np.array(self.rows)[:, :3]
        return replace(self.zone, transforms=rows[:1] if (rows == rows[0]).all() else rows)


@dataclass(eq=False)
class Value:
    """A custom property of an object, and its value at each frame."""

    ob: Object
    name: str
    rows: list[float] = field(default_factory=list)


@dataclass(eq=False)
class Activations:
    """The activations of a scene, the values read at every frame, problems, and warnings."""

    found: list[tuple[ActivationSpec, list[Source], Value | None]] = field(default_factory=list)
    problems: list[SceneProblem] = field(default_factory=list)
    warnings: list[SceneWarning] = field(default_factory=list)

    def may_change(self) -> bool:
        """Return True if a zone or a value could change between frames."""
        return any(
            (value is not None) or any(source.moves and can_change(source.ob) for source in sources)
            for _, sources, value in self.found
        )

    def read_on_the_way(self, context: Context, frames: Iterator[int]) -> Iterator[int]:
        """Yield the frames, each while it is displayed, and read zones and values."""
        sources = [source for _, of_one, _ in self.found for source in of_one if source.moves]
        values = [value for _, _, value in self.found if value is not None]
        for source in sources:
            source.rows.clear()
        for frame in frames:
            depsgraph = context.evaluated_depsgraph_get()
            for source, world in zip(sources, matrices_now((one.ob for one in sources), depsgraph), strict=True):
                source.rows.append(world)
            for value in values:
                value.rows.append(number_of(value.ob.evaluated_get(depsgraph), value.name))
            yield frame

    def specs(self) -> tuple[ActivationSpec, ...]:
        """Return the activations with all data."""
        return tuple(
            replace(
                one,
                zones=tuple(source.over_frames() for source in sources),
                values=None if value is None else np.array(value.rows),
            )
            for one, sources, value in self.found
        )


def held_until_woken(scene: Scene) -> set[str]:
    """Return the names of the objects whose bodies are held until they wake."""
    return {
        ob.name_full
        for collection, members in activated_collections(scene)
        if collection.stiction_activation.use_hold
        for ob in members
    }


def read_activations(context: Context, simulated: Names[str], start: int) -> Activations:
    """Read the activations at the displayed first frame.

    simulated: names of the bodies that the solver moves. start: first frame.
    """
    out = Activations()
    for collection, members in activated_collections(context.scene):
        names = tuple(ob.name_full for ob in members if ob.name_full in simulated)
        if not names:
            message = f"the collection {collection.name_full} has no active rigid bodies that could be woken"
            out.warnings.append(SceneWarning((collection.name_full,), "activation", message))
            continue
        settings = collection.stiction_activation
        one = ActivationSpec(
            name=collection.name_full,
            bodies=names,
            frame=max(settings.wake_frame - start, 0) if settings.use_frame else None,
            impulse=settings.least_impulse if settings.use_impulse else None,
            holds=settings.use_hold,
            releases=settings.use_release,
        )
        sources = list(sources_of(collection, context, simulated, out.problems))
        out.found.append((one, sources, value_of(collection, context.scene, out.problems)))
    return out


def sources_of(
    collection: Collection, context: Context, simulated: Names[str], problems: list[SceneProblem]
) -> Iterator[Source]:
    """Yield the objects whose surfaces wake the bodies of a collection; append problems.

    simulated: the names of the bodies that the solver moves.
    """
    settings = collection.stiction_activation
    for switch, pointer, label in (("use_volume", "volume_object", "Volume"), ("use_proximity", "near_object", "Proximity")):
        if not getattr(settings, switch):
            continue
        ob, is_volume = getattr(settings, pointer), pointer == "volume_object"
        problem = missing(ob, label, context.scene)
        if problem:
            problems.append(SceneProblem(collection.name_full, pointer, problem))
            continue
        try:
            yield source_of(ob, is_volume, 0.0 if is_volume else settings.distance, simulated, context)
        except (ShapeError, PlacementError) as error:
            message = f"{ob.name_full}, whose {label.lower()} wakes its bodies: {error}"
            problems.append(SceneProblem(collection.name_full, pointer, message))


def missing(ob: Object | None, label: str, scene: Scene) -> str:
    """Return the problem with a chosen object; empty if there is none."""
    if ob is None:
        return f"{label} is on, but no object is chosen; choose one, or disable it"
    if ob.name_full not in {one.name_full for one in scene.objects}:
        return f"{ob.name_full}, the object of {label}, is not in the scene; link it to the scene, or choose another one"
    return ""


def source_of(ob: Object, is_volume: bool, distance: float, simulated: Names[str], context: Context) -> Source:
    """Return an object as a zone. Raises ShapeError and PlacementError."""
    depsgraph = context.evaluated_depsgraph_get()
    vertices, triangles = np.zeros((1, 3)), np.zeros((0, 3), dtype=np.int32)
    if is_volume or ob.type in MESHES:
        mesh = read_mesh(ob, "FINAL", context)
        if not len(mesh.triangles):
            raise ShapeError("mesh", "its mesh has no faces; add some, or choose another object")
        vertices, triangles = np.asarray(mesh.vertices, dtype=np.float64), np.asarray(mesh.triangles, dtype=np.int32)
    world = matrices_now((ob,), depsgraph)[0]
    zone = ZoneSpec(ob.name_full, vertices, triangles, world[None, :3], is_volume=is_volume, distance=distance)
    carrier = carrier_of(ob, simulated)
    if carrier is None:
        return Source(ob, zone, moves=True)
    frame, rotation = placed(carrier, depsgraph)
    in_world = vertices @ world[:3, :3].T + world[:3, 3]
    in_body = (in_world - frame[:3, 3]) @ rotation
    zone = replace(zone, vertices=in_body, transforms=np.eye(4)[None, :3], body=carrier.name_full)
    return Source(ob, zone, moves=False)


def value_of(collection: Collection, scene: Scene, problems: list[SceneProblem]) -> Value | None:
    """Return the custom property that wakes the bodies of a collection, or None; append problems."""
    settings = collection.stiction_activation
    if not settings.use_value:
        return None
    ob, problem = settings.value_object, missing(settings.value_object, "Value", scene)
    if not problem and math.isnan(number_of(ob, settings.value_name)):
        problem = (
            f"{ob.name_full} has no custom property {settings.value_name!r} that is a number; add it in the Object properties, "
            "or choose another one"
        )
    if problem:
        problems.append(SceneProblem(collection.name_full, "value_object", problem))
        return None
    return Value(ob, settings.value_name)


def number_of(ob: Object, name: str) -> float:
    """Return the value of a custom property; NaN if it is missing or no number."""
    value = ob.get(name)
    return float(value) if isinstance(value, Real) else math.nan
