# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the objects of the rigid body world at the first frame: bodies, and the data to read at later frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from bpy.types import Context, Depsgraph, Object, PropertyGroup
from numpy.typing import NDArray

from ...solver_core.scene.spec import BodyKind, BodySpec, SceneWarning, ShapeKind, ShapeSpec
from ...solver_core.validation.findings import SceneProblem
from ..blender import actions, overflow, rotations
from ..blender.placement import placed
from ..blender.rigid_bodies import body_kind
from ..settings.object_properties import effective_material, unknown_choices
from .effectors import has_field
from .flexible import deformable_of, flexible_problems
from .grains import in_body
from .initial_motion import (
    ANIMATED,
    follows_animation,
    is_animated_throughout,
    set_in_motion,
    spans_followed,
)
from .mass import center_of_mass_of, inertia_of, mass_problems
from .motion import FrozenTransform, can_change, frozen_body, frozen_part
from .object_findings import object_problems, object_warnings, shape_warnings
from .shapes import ShapeError, compound_parts, deforms, is_compound_part, read_shape
from .surface_motion import motion_now, surface_may_change

__all__ = ["Bodies", "RestState", "choice_problems", "read_object"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RestState:
    """The state of a simulated object at the first frame: its world matrix (4, 4) and its transform channels.

    uid: the object's session_uid, constant through renaming and undo.
    """

    uid: int
    world: Array
    transforms: dict[str, tuple[float, ...]]


@dataclass
class Bodies:
    """The bodies read so far, with errors and warnings, and further data by body name.

    frozen: transforms that keep their value at the first frame.
    meshes: bodies of the shape Mesh.
    launched: active bodies that start with the velocity of their animation.
    held: spans of frames, counted from the first, in which active bodies follow their animation.
    belts: bodies whose surface motion may change between frames.
    """

    problems: list[SceneProblem]
    warnings: list[SceneWarning]
    bodies: list[BodySpec] = field(default_factory=list)
    rest: dict[str, RestState] = field(default_factory=dict)
    animated: dict[str, Object] = field(default_factory=dict)
    deforming: dict[str, Object] = field(default_factory=dict)
    launched: dict[str, Object] = field(default_factory=dict)
    held: dict[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    frozen: list[FrozenTransform] = field(default_factory=list)
    meshes: set[str] = field(default_factory=set)
    belts: dict[str, Object] = field(default_factory=dict)

    def last_followed(self, name: str) -> int | None:
        """Return the number of frames of its animation that a body follows, up to the last one; None for all."""
        return self.held[name][-1][1] + 1 if name in self.held else None

    def begins_held(self, name: str) -> bool:
        """Return True if an active body follows its animation from the first frame on."""
        return name in self.held and self.held[name][0][0] == 0


def read_object(found: Bodies, ob: Object, context: Context, frames: tuple[int, int], *, waits: bool) -> None:
    """Read one object of the rigid body world at the frame that is shown, the first of the frames.

    waits: whether its body is held until something wakes it; an animated one then becomes active.
    """
    spans = spans_followed(ob, *frames) if body_kind(ob) is not BodyKind.PASSIVE else None
    kind = body_kind(ob) if spans is None and not waits else BodyKind.ACTIVE
    follows = waits and body_kind(ob) is BodyKind.ANIMATED and spans is None
    pose_problems = [*object_problems(ob, kind, context), *flexible_problems(ob, context), *mass_problems(ob, kind)]
    found.problems += [*pose_problems, *choice_problems(ob.name_full, ob.stiction)]
    parts = list(all_parts(ob, context))
    # A part moves with its compound, which reads its shape. Problems of its transform are reported here, once.
    if pose_problems or is_compound_part(ob) or any(list(object_problems(part, kind, context)) for part in parts):
        return
    depsgraph = context.evaluated_depsgraph_get()
    rest_world, rotation = placed(ob, depsgraph)
    try:
        shape = read_collider(ob, rotation.T @ rest_world[:3, :3], context)
    except ShapeError as error:
        found.problems.append(SceneProblem(error.object or ob.name_full, error.field, str(error)))
        return
    has_followed_switch = spans is not None or is_animated_throughout(ob, *frames)
    found.warnings += object_warnings(ob, kind, rest_world, (ANIMATED,) if has_followed_switch else ())
    found.warnings += [warning for one in (ob, *parts) for warning in shape_warnings(one)]
    if can_change(ob) and not (kind is BodyKind.ANIMATED and deforms(ob)):
        found.frozen.append(frozen_body(ob, kind, depsgraph))
    found.frozen += [frozen_part(part, depsgraph) for part in parts if can_change(part)]
    body = read_body(ob, kind, shape, (rest_world[:3, 3], rotation), depsgraph)
    body = replace(body, material=in_body(body.material, rotation.T @ rest_world[:3, :3]))
    found.bodies.append(with_spans(body, spans, ob))
    if surface_may_change(ob):
        found.belts[ob.name_full] = ob
    if kind is BodyKind.ACTIVE:
        transforms = {name: tuple(getattr(ob.evaluated_get(depsgraph), name)) for name in actions.TRANSFORMS}
        found.rest[ob.name_full] = RestState(ob.session_uid, rest_world, transforms)
        if follows:
            found.animated[ob.name_full] = ob
        if spans:
            found.animated[ob.name_full], found.held[ob.name_full] = ob, spans
        if follows_animation(ob) and not found.begins_held(ob.name_full):
            found.launched[ob.name_full] = ob
    elif kind is BodyKind.ANIMATED:
        found.animated[ob.name_full] = ob
    if ob.rigid_body.collision_shape == "MESH":
        found.meshes.add(ob.name_full)
    if deforms(ob):
        found.deforming[ob.name_full] = ob


def with_spans(body: BodySpec, spans: tuple[tuple[int, int], ...] | None, ob: Object) -> BodySpec:
    """Return the body with the frames at which it follows its animation, unless it does so only at the first ones."""
    if not spans or (len(spans) == 1 and spans[0][0] == 0):
        return body
    return replace(body, spans=spans, blend_frames=ob.stiction.blend_frames)


def read_collider(ob: Object, to_body: Array, context: Context) -> ShapeSpec:
    """Return the shape of a body, or that of a body without a collider. to_body: as in `read_shape`. Raises ShapeError."""
    if not ob.stiction.use_collider:
        return ShapeSpec(ShapeKind.NONE)
    return read_shape(ob, to_body, context, ob.rigid_body.type == "ACTIVE")


def choice_problems(name: str, settings: PropertyGroup) -> Iterator[SceneProblem]:
    """Yield enum values of an object's or a scene's settings that this version does not have."""
    for field_name in unknown_choices(settings):
        message = "the file has a choice that this version of Stiction does not know; choose another, or use the later version"
        yield SceneProblem(name, field_name, message)


def all_parts(ob: Object, context: Context) -> Iterator[Object]:
    """Return the parts of a compound, including parts of compounds in it; none for other bodies."""
    for part in compound_parts(ob, context) if ob.rigid_body.collision_shape == "COMPOUND" else ():
        yield part
        yield from all_parts(part, context)


def read_body(ob: Object, kind: BodyKind, shape: ShapeSpec, frame: tuple[Array, Array], depsgraph: Depsgraph) -> BodySpec:
    """Return the body of an object with a shape. frame: its position (3,) [m] and its rotation (3, 3) in the world."""
    (body, settings), (position, rotation) = (ob.rigid_body, ob.stiction), frame
    by_density = settings.mass_source == "DENSITY"
    spec = BodySpec(
        name=ob.name_full,
        kind=kind,
        shape=shape,
        position=position,
        orientation=rotations.quaternion_of_matrix(rotation),
        mass=None if by_density else overflow.number(body.mass),
        density=overflow.number(settings.density) if by_density else None,
        material=effective_material(ob),
        collections=sum(1 << index for index, member in enumerate(body.collision_collections) if member),
        linear_damping=body.linear_damping,
        angular_damping=body.angular_damping,
        linear_factor=np.array([0.0 if locked else 1.0 for locked in ob.lock_location]),
        angular_factor=np.array([0.0 if locked else 1.0 for locked in ob.lock_rotation]),
        # As in Blender, only a body with Deactivation can be deactivated.
        starts_asleep=kind is BodyKind.ACTIVE and body.use_deactivation and body.use_start_deactivated,
        feels_fields=not has_field(ob),
        deformable=deformable_of(ob),
        center_of_mass=center_of_mass_of(ob, frame, depsgraph) if kind is BodyKind.ACTIVE else None,
        inertia=inertia_of(ob, rotation, depsgraph) if kind is BodyKind.ACTIVE else None,
        surface_motion=motion_now(ob, depsgraph),
    )
    return set_in_motion(spec, ob) if kind is BodyKind.ACTIVE else spec
