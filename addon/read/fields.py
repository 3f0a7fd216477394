# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields read from Blender frame by frame, as they act on Blender's own rigid bodies.

Unsupported features are reported.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bpy.types import Context, Depsgraph, FieldSettings, Object
from numpy.typing import NDArray

from ...solver_core.scene.fields import AbsorberSpec, Falloff, FieldKind, FieldShape, FieldSpec, Keyed, ZDirection
from ...solver_core.scene.spec import SceneWarning
from ...solver_core.scene.words import in_words
from ...solver_core.validation.findings import SceneProblem
from ..blender import actions, overflow
from ..blender.placement import PlacementError, ancestors, matrix, placed
from . import noise
from .effectors import absorbers_of, effectors_of, has_field, particle_fields, weight_of
from .gravity import may_change
from .motion import can_change

__all__ = ["Fields", "carrier_of", "read_fields"]

Array = NDArray[np.float64]

KINDS = {
    "FORCE": FieldKind.FORCE,
    "WIND": FieldKind.WIND,
    "VORTEX": FieldKind.VORTEX,
    "MAGNET": FieldKind.MAGNETIC,
    "HARMONIC": FieldKind.HARMONIC,
    "TURBULENCE": FieldKind.TURBULENCE,
    "DRAG": FieldKind.DRAG,
    "GUIDE": FieldKind.GUIDE,
    "CHARGE": FieldKind.FLOW,
    "LENNARDJ": FieldKind.FLOW,
}
# Settings of a field besides numbers; their values at the first frame apply.
CHOICES = (
    "type",
    "shape",
    "falloff_type",
    "z_direction",
    "apply_to_location",
    "use_absorption",
    "use_gravity_falloff",
    "use_global_coords",
    "seed",
)
# Modifiers of fields that do not change the mesh.
UNCHANGING = ("SURFACE", "COLLISION")
HAS_MESH = (FieldShape.SURFACE, FieldShape.POINTS)


class FieldError(ValueError):
    """A field or an absorber cannot be read; `field` names the cause."""

    def __init__(self, field: str, message: str):
        super().__init__(message)
        self.field = field


@dataclass(eq=False)
class Absorber:
    """An object that absorbs fields, and the body that carries it, or None. rows: its values by name, frame by frame."""

    ob: Object
    carrier: Object | None
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        """Add the next frame. Raises FieldError if the number of vertices of its mesh has changed."""
        if self.rows and "triangles" in row and not np.array_equal(row["triangles"], self.rows[0]["triangles"]):
            raise FieldError(
                "modifiers",
                "the faces of its mesh differ from those at the first frame; disable the modifier that changes them",
            )
        self.rows.append(row)


@dataclass(eq=False)
class Source(Absorber):
    """An object with an active field, and its location."""

    kind: FieldKind = FieldKind.FLOW
    shape: FieldShape = FieldShape.POINT


@dataclass
class Fields:
    """The force fields of a scene, its absorbers, problems and warnings."""

    sources: list[Source] = field(default_factory=list)
    absorbers: list[Absorber] = field(default_factory=list)
    problems: list[SceneProblem] = field(default_factory=list)
    warnings: list[SceneWarning] = field(default_factory=list)

    def may_change(self, context: Context) -> bool:
        """Return True if any field could change between frames."""
        scene = context.scene
        return any(
            can_change(one.ob) or may_change(scene) or source_meshes_change(one) for one in (*self.sources, *self.absorbers)
        )

    def read_on_the_way(self, context: Context, frames: Iterator[int]) -> Iterator[int]:
        """Yield the frames, each while it is displayed, and read the fields."""
        for one in (*self.sources, *self.absorbers):
            one.rows.clear()
        for frame in frames:
            self.read_now(context)
            yield frame

    def read_now(self, context: Context) -> None:
        """Read the fields at the frame that is shown."""
        depsgraph = context.evaluated_depsgraph_get()
        lost = []
        for one in (*self.sources, *self.absorbers):
            try:
                one.add(source_now(one, depsgraph) if isinstance(one, Source) else absorber_now(one, depsgraph))
            except FieldError as error:
                message = f"at frame {context.scene.frame_current}: {error}"
                self.problems.append(SceneProblem(one.ob.name_full, error.field, message))
                lost.append(one)
        self.sources = [one for one in self.sources if one not in lost]
        self.absorbers = [one for one in self.absorbers if one not in lost]

    def specs(self, rate: float) -> tuple[FieldSpec, ...]:
        """Return the fields. rate: frames per second, which Blender's units of fields depend on."""
        has_turbulence = any(source.kind is FieldKind.TURBULENCE for source in self.sources)
        noise_values = {"permutation": noise.permutation()} if has_turbulence else {}
        return tuple(source_spec(source, rate, noise_values) for source in self.sources)

    def absorber_specs(self) -> tuple[AbsorberSpec, ...]:
        """Return the absorbers."""
        return tuple(absorber_spec(absorber) for absorber in self.absorbers)


def read_fields(context: Context, simulated: Collection[str]) -> Fields:
    """Read the force fields that reach the rigid bodies at the frame that is shown, the first. simulated: the names of the
    bodies that the solver moves."""
    scene, found = context.scene, Fields()
    for ob in effectors_of(scene, context.view_layer):
        for system in particle_fields(ob):
            message = f"the force field of its particles {system} does not act on the bodies; give a field to an object instead"
            found.warnings.append(SceneWarning((ob.name_full,), "particle_systems", message))
        if has_field(ob) and acts(ob, found):
            found.warnings += unfollowed_choices(ob)
            found.sources.append(Source(ob, carrier_of(ob, simulated), [], KINDS[ob.field.type], shape_of(ob, found)))
    if any(source.ob.field.use_absorption for source in found.sources):
        meshes = [ob for ob in absorbers_of(context.view_layer) if ob.type == "MESH"]
        found.absorbers = [Absorber(ob, carrier_of(ob, simulated)) for ob in meshes]
    found.read_now(context)
    return found


def acts(ob: Object, found: Fields) -> bool:
    """Return True if a field acts on rigid bodies. Unsupported fields are reported."""
    settings = ob.field
    if settings.type == "TEXTURE" and settings.texture is not None:
        message = "a field of the type Texture does not act on the bodies here; Turbulence does"
        found.warnings.append(SceneWarning((ob.name_full,), "field.type", message))
    elif settings.type == "FLUID_FLOW" and settings.source_object is not None:
        message = "a field of the type Fluid Flow does not act on the bodies here; Wind and Drag do"
        found.warnings.append(SceneWarning((ob.name_full,), "field.type", message))
    elif settings.type in ("CHARGE", "LENNARDJ", "BOID") and settings.flow == 0.0:
        name = settings.bl_rna.properties["type"].enum_items[settings.type].name
        message = f"a field of the type {name} acts on particles only; it has no effect on rigid bodies, as in Blender"
        found.warnings.append(SceneWarning((ob.name_full,), "field.type", message))
    has_points = settings.shape != "POINTS" or ob.type == "MESH"
    return settings.type in KINDS and has_points and settings.apply_to_location


def shape_of(ob: Object, found: Fields) -> FieldShape:
    """Return the shape from which the field acts. Without a mesh, a surface is the object's origin, as in Blender."""
    shape = FieldShape[ob.field.shape]
    if shape is FieldShape.SURFACE and (ob.type != "MESH" or all(one.type != "SURFACE" for one in ob.modifiers)):
        message = "its shape Surface needs a mesh with a Surface modifier; it acts from the object's origin"
        found.warnings.append(SceneWarning((ob.name_full,), "field.shape", message))
        return FieldShape.POINT
    return shape


def unfollowed_choices(ob: Object) -> Iterator[SceneWarning]:
    """Yield a warning for each keyed or driven enum setting of a field, because its value at the first frame applies."""
    drivers = ob.animation_data.drivers if ob.animation_data is not None else ()
    moving = {one.data_path for one in (*(actions.curves(ob) or ()), *drivers)}
    for name in CHOICES:
        if f"field.{name}" in moving:
            message = f"its animation is not followed; {in_words(name)} keeps the value of the first frame"
            yield SceneWarning((ob.name_full,), f"field.{name}", message)


def source_meshes_change(one: Source | Absorber) -> bool:
    """Return True if the mesh of a field or an absorber may change."""
    if isinstance(one, Source) and one.shape not in HAS_MESH:
        return False
    data = one.ob.data
    changing = any(modifier.type not in UNCHANGING for modifier in one.ob.modifiers)
    return changing or (data is not None and data.shape_keys is not None)


def source_now(source: Source, depsgraph: Depsgraph) -> dict[str, Any]:
    """Return a field at the displayed frame."""
    ob = source.ob.evaluated_get(depsgraph)
    row: dict[str, Any] = numbers_of(ob.field) | {"weight": weight_of(depsgraph.scene_eval, ob.field.type)}
    world = seen_from_carrier(source, depsgraph)
    row |= {"position": world[:3, 3], "axis": unit(world[:3, 2])}
    if source.shape in HAS_MESH:
        row["vertices"], row["normals"], row["triangles"] = mesh_now(ob, world)
    return row


def carrier_of(ob: Object, simulated: Collection[str]) -> Object | None:
    """Return the simulated body that carries an object, which may be the object itself."""
    return next((one for one in (ob, *ancestors(ob)) if one.name_full in simulated), None)


def seen_from_carrier(one: Absorber, depsgraph: Depsgraph) -> Array:
    """Return the matrix (4, 4) of an object in the frame of the body that carries it, or in the world."""
    world = matrix(one.ob.evaluated_get(depsgraph).matrix_world)
    if one.carrier is None:
        return world
    try:
        carrier, rotation = placed(one.carrier, depsgraph)
    except PlacementError as error:
        raise FieldError("parent", f"{one.carrier.name_full}, which carries it: {error}") from error
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = rotation, carrier[:3, 3]
    return np.linalg.inv(frame) @ world


def unit(rows: Array) -> Array:
    """Return vectors (..., 3) of length 1; zero vectors are unchanged."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)


def numbers_of(settings: FieldSettings) -> dict[str, float]:
    """Return the numbers of a field; disabled ones have no effect."""
    values = {
        "strength": settings.strength,
        # Blender uses the strength, called linear drag in the panel, for the quadratic term, and vice versa.
        "damping": {"DRAG": settings.quadratic_drag, "HARMONIC": settings.harmonic_damping}.get(settings.type, 0.0),
        "size": {"TURBULENCE": settings.size, "HARMONIC": settings.rest_length}.get(settings.type, 0.0),
        "flow": settings.flow,
        "noise": settings.noise,
        "power": settings.falloff_power,
        "min_distance": settings.distance_min if settings.use_min_distance else 0.0,
        "max_distance": settings.distance_max if settings.use_max_distance else math.inf,
        "radial_power": settings.radial_falloff,
        "radial_min": settings.radial_min if settings.use_radial_min else 0.0,
        "radial_max": settings.radial_max if settings.use_radial_max else math.inf,
    }
    return {name: overflow.number(value) for name, value in values.items()}


def mesh_now(ob: Object, world: Array) -> tuple[Array, Array, NDArray[np.int32]]:
    """Return vertices (n, 3), their normals (n, 3) and triangles (t, 3) of an evaluated mesh object, transformed by a matrix
    (4, 4)."""
    mesh = ob.data
    mesh.calc_loop_triangles()
    vertices, normals = (np.empty(3 * len(mesh.vertices), dtype=np.float32) for _ in range(2))
    triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    mesh.vertices.foreach_get("co", vertices)
    mesh.vertices.foreach_get("normal", normals)
    mesh.loop_triangles.foreach_get("vertices", triangles)
    turn = world[:3, :3].T
    placed_vertices = overflow.places(vertices.reshape(-1, 3).astype(np.float64)) @ turn + world[:3, 3]
    return placed_vertices, unit(normals.reshape(-1, 3).astype(np.float64) @ turn), triangles.reshape(-1, 3)


def source_spec(source: Source, rate: float, noise_values: dict[str, Any]) -> FieldSpec:
    """Return a field from its values at all frames."""
    settings = source.ob.field
    arrays = {
        name: path_of(source.rows, name) for name in ("position", "axis", "vertices", "normals") if name in source.rows[0]
    }
    numbers, keyed = keyed_numbers(source.rows, (*numbers_of(settings), "weight"))
    return FieldSpec(
        name=source.ob.name_full,
        kind=source.kind,
        shape=source.shape,
        carrier="" if source.carrier is None else source.carrier.name_full,
        seed=settings.seed,
        rate=rate,
        falloff=Falloff[settings.falloff_type],
        z_direction=ZDirection[settings.z_direction],
        inverse_square=settings.use_gravity_falloff,
        global_coordinates=settings.use_global_coords,
        absorbed=settings.use_absorption,
        keyed=keyed,
        **arrays,
        **({"triangles": source.rows[0]["triangles"]} if source.shape in HAS_MESH else {}),
        **numbers,
        **noise_values,
    )


def keyed_numbers(rows: list[dict[str, Any]], names: Collection[str]) -> tuple[dict[str, float], tuple[Keyed, ...]]:
    """Return the numbers at the first frame, and those of all frames that are not constant."""
    paths = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}
    changing = tuple(Keyed(name, path) for name, path in paths.items() if (path != path[0]).any())
    return {name: float(path[0]) for name, path in paths.items()}, changing


def path_of(rows: list[dict[str, Any]], name: str) -> Array:
    """Return one value if it is constant, otherwise one per frame."""
    arrays = [np.asarray(row[name], dtype=np.float64) for row in rows]
    return arrays[0] if all(np.array_equal(one, arrays[0], equal_nan=True) for one in arrays) else np.array(arrays)


def absorber_now(absorber: Absorber, depsgraph: Depsgraph) -> dict[str, Any]:
    """Return an absorber at the displayed frame."""
    evaluated = absorber.ob.evaluated_get(depsgraph)
    vertices, _, triangles = mesh_now(evaluated, seen_from_carrier(absorber, depsgraph))
    return {"vertices": vertices, "triangles": triangles, "absorption": evaluated.collision.absorption}


def absorber_spec(absorber: Absorber) -> AbsorberSpec:
    numbers, keyed = keyed_numbers(absorber.rows, ("absorption",))
    return AbsorberSpec(
        name=absorber.ob.name_full,
        vertices=path_of(absorber.rows, "vertices"),
        carrier="" if absorber.carrier is None else absorber.carrier.name_full,
        triangles=absorber.rows[0]["triangles"],
        margin=absorber.ob.collision.thickness_outer,
        keyed=keyed,
        **numbers,
    )
