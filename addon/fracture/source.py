# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of the original object in the collection of its pieces, for joining back."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, PointerProperty
from bpy.types import Collection, Context, Object, PropertyGroup, Scene

from ..blender.rigid_bodies import is_baked

__all__ = ["collections_of", "hide_source", "join_back", "register", "unregister"]


class FractureSource(PropertyGroup):
    """The original object of a collection of pieces, and its former state: visibility, and membership in the world."""

    source: PointerProperty(type=Object)
    in_viewport: BoolProperty()
    in_render: BoolProperty()
    was_in_world: BoolProperty()


def hide_source(ob: Object, pieces: Collection, scene: Scene) -> None:
    """Hide an object in favor of its pieces, and take it out of the rigid body world."""
    kept = pieces.stiction_fracture
    kept.source, kept.in_viewport, kept.in_render = ob, ob.hide_viewport, ob.hide_render
    members = world_objects(scene)
    kept.was_in_world = members is not None and ob.name in members and members[ob.name] == ob
    if members is not None and kept.was_in_world:
        members.unlink(ob)
    ob.hide_viewport = ob.hide_render = True


def collections_of(context: Context) -> list[Collection]:
    """Return the collections of pieces that contain a selected object."""
    selected = set(context.selected_objects)
    return [
        each
        for each in context.scene.collection.children_recursive
        if each.stiction_fracture.source is not None and not selected.isdisjoint(each.all_objects)
    ]


def join_back(pieces: Collection, scene: Scene) -> Object:
    """Remove pieces and all else in their collection, and show the object that they were made of. Returns it.

    Raises ValueError while a bake moves a piece.
    """
    moved = next((ob for ob in pieces.all_objects if is_baked(ob)), None)
    if moved is not None:
        raise ValueError(f"{moved.name} is moved by a bake; use Free Bake first")
    kept = pieces.stiction_fracture
    ob = kept.source
    ob.hide_viewport, ob.hide_render = kept.in_viewport, kept.in_render
    members = world_objects(scene)
    if kept.was_in_world and members is not None and ob.name not in members:
        members.link(ob)
    objects = [*pieces.all_objects]
    meshes = {each.data for each in objects if each.type == "MESH"}
    bpy.data.batch_remove(objects)
    bpy.data.batch_remove([mesh for mesh in meshes if mesh.users == 0])
    bpy.data.batch_remove([*pieces.children_recursive, pieces])
    return ob


def world_objects(scene: Scene) -> bpy.types.CollectionObjects | None:
    """Return the objects of the rigid body world's collection."""
    world = scene.rigidbody_world
    return None if world is None or world.collection is None else world.collection.objects


def register() -> None:
    """Add what a collection remembers."""
    bpy.utils.register_class(FractureSource)
    Collection.stiction_fracture = PointerProperty(type=FractureSource)


def unregister() -> None:
    """Undo `register`."""
    del Collection.stiction_fracture
    bpy.utils.unregister_class(FractureSource)
