# SPDX-License-Identifier: GPL-3.0-or-later
"""Moves objects to where they settled, and adds or removes rigid bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

import bpy
import numpy as np
from bpy.types import Collection, Context, Object, Scene
from numpy.typing import NDArray

from ...solver_core.scene.spec import ShapeKind
from ..bake.outdated import changes
from ..blender import actions
from ..blender.placement import ancestors, basis_at, evaluate, matrices_now, world_matrices
from ..blender.restore import place_bodies
from ..blender.rigid_bodies import bodies_of, is_baked, is_linked
from ..read.shapes import is_compound_part
from .reading import Drop
from .work import Outcome

__all__ = ["Bodies", "Placed", "place_settled"]

Array = NDArray[np.float64]

# Tolerance relative to the size of the scene, because matrices are in single precision.
CLOSE = 1e-4
# Blender's names of the shapes of a plain mesh.
SHAPES = {ShapeKind.HULL: "CONVEX_HULL", ShapeKind.MESH: "MESH"}


class Bodies(Enum):
    """Rigid bodies of the objects after settling."""

    AS_BEFORE = "as-before"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True)
class Placed:
    """Result of placing: names of the moved objects, and notes for the user about objects left in place and consequences."""

    moved: tuple[str, ...]
    notes: tuple[str, ...]


def place_settled(context: Context, drop: Drop, outcome: Outcome, bodies: Bodies, *, always: bool) -> Placed:
    """Move objects to where they settled, as one change of the scene.

    Nothing is moved if no body has moved, so that a bake stays valid. Objects that fell past everything stay at their initial
    location.

    Parameters
    ----------
    bodies : rigid bodies of the objects after settling
    always : move objects in any case, as after a random start
    """
    scene, notes = context.scene, []
    by_uid = {ob.session_uid: ob for ob in bpy.data.objects}
    settled = {name: ob for name, uid in drop.uids.items() if (ob := by_uid.get(uid)) is not None}
    removed = sorted(drop.uids.keys() - settled.keys())
    if removed:
        notes.append(f"{', '.join(removed)} was removed in the meantime")
    before = changes(scene)
    names = [name for name in settled if name not in outcome.lost] if outcome.moved or always else []
    if names:
        notes += show_first_frame(scene, [settled[name] for name in names])
        notes += move(context, drop, outcome, {name: settled[name] for name in names})
    objects = list(settled.values())
    if bodies is Bodies.ADD:
        notes += add_bodies(context, drop, [settled[name] for name in settled if name in drop.plain])
    elif bodies is Bodies.REMOVE:
        notes += remove_bodies(context, [ob for ob in objects if ob.rigid_body is not None])
    context.view_layer.update()
    after = changes(scene)
    if after and after != before:
        notes.append(f"the bake of {scene.name} is outdated now: {', '.join(after)}")
    return Placed(tuple(names), tuple(notes))


def show_first_frame(scene: Scene, objects: Sequence[Object]) -> list[str]:
    """Go to the first frame if a simulation or a bake moves the objects at later ones. Return a note about it."""
    first = None
    if scene.stiction.bake.state == "CACHED" and any(is_baked(ob) for ob in objects):
        first = scene.stiction.bake.frame_start
    elif scene.rigidbody_world is not None and scene.rigidbody_world.enabled:
        members = {ob.session_uid for ob in bodies_of(scene.rigidbody_world)}
        if any(ob.session_uid in members for ob in objects):
            first = scene.rigidbody_world.point_cache.frame_start
    if first is None or scene.frame_current == first:
        return []
    scene.frame_set(first)
    return [f"frame {first} is shown, where the simulation starts with the new poses"]


def move(context: Context, drop: Drop, outcome: Outcome, objects: dict[str, Object]) -> list[str]:
    """Move objects, but not the rigid bodies among their children. Return notes."""
    names, moving = list(objects), list(objects.values())
    poses, first, worlds = (np.array([each[name] for name in names]) for each in (outcome.poses, drop.poses, drop.worlds))
    wanted = world_matrices(poses, first, worlds)
    companions = carried_bodies(context.scene, moving)
    depsgraph = context.evaluated_depsgraph_get()
    wanted = np.concatenate([wanted, matrices_now(companions, depsgraph)])
    place_bodies([*moving, *companions], basis_at([*moving, *companions], wanted, depsgraph))
    for ob in moving:
        if is_baked(ob):
            start_bake_here(ob)
    evaluate([*moving, *companions], context.view_layer)
    now = matrices_now([*moving, *companions], context.evaluated_depsgraph_get())
    size = max(1.0, float(np.abs(wanted).max()))
    off = ~(np.abs(now - wanted).max(axis=(1, 2)) <= CLOSE * size)
    return [
        f"{ob.name_full} is not where it settled, because of its parent or its locks"
        for ob, is_off in zip([*moving, *companions], off, strict=True)
        if is_off
    ]


def carried_bodies(scene: Scene, moving: Sequence[Object]) -> list[Object]:
    """Return the static rigid bodies with a settled object among their parents."""
    moved = {ob.session_uid for ob in moving}
    return [
        ob
        for ob in bodies_of(scene.rigidbody_world)
        if ob.session_uid not in moved
        and not is_compound_part(ob)
        and not is_linked(ob)
        and any(above.session_uid in moved for above in ancestors(ob))
    ]


def start_bake_here(ob: Object) -> None:
    """Let the next bake, and Free Bake, use the present transform of a baked object."""
    for name in actions.TRANSFORMS:
        setattr(ob.stiction.backup, name, tuple(getattr(ob, name)))


def add_bodies(context: Context, drop: Drop, objects: Iterable[Object]) -> list[str]:
    """Add to objects the rigid bodies as which they settled. Return notes about objects that get none."""
    scene, notes = context.scene, []
    shapes = {body.name: body.shape.kind for body in drop.spec.bodies}
    for ob in objects:
        shape = SHAPES.get(shapes[ob.name_full])
        if shape is None or ob.type != "MESH":
            notes.append(f"{ob.name_full} gets no rigid body, because it settled as several meshes; join them first")
            continue
        collection_of_bodies(scene).objects.link(ob)
        ob.rigid_body.type, ob.rigid_body.collision_shape, ob.rigid_body.mesh_source = "ACTIVE", shape, "FINAL"
        ob.stiction.mass_source = "DENSITY"
    return notes


def collection_of_bodies(scene: Scene) -> Collection:
    """Return the collection of the scene's rigid body world, created if missing."""
    if scene.rigidbody_world is None:
        bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    assert world is not None
    if world.collection is None:
        world.collection = bpy.data.collections.new("RigidBodyWorld")
    return world.collection


def remove_bodies(context: Context, objects: Sequence[Object]) -> list[str]:
    """Remove the rigid bodies of objects. Return notes about objects that keep theirs."""
    kept = [ob.name_full for ob in objects if is_baked(ob)]
    notes = [f"{name} keeps its rigid body, because a bake moves it; free the bake first" for name in kept]
    removed = [ob for ob in objects if not is_baked(ob)]
    for ob in removed:
        with context.temp_override(object=ob, active_object=ob, selected_objects=[ob], selected_editable_objects=[ob]):
            bpy.ops.rigidbody.objects_remove()
    return notes
