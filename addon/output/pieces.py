# SPDX-License-Identifier: GPL-3.0-or-later
"""All baked bodies as one object: a point for each body, and geometry nodes that show an instance there.

The bodies themselves are hidden and do not move until the object is removed.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Context, Depsgraph, Mesh, Object, Operator, Scene
from numpy.typing import NDArray

from ...solver_core.io.between_frames import poses_at
from ...solver_core.io.cache import CacheError
from ...solver_core.process.console import one_line
from ..blender import rotations
from ..blender.placement import world_matrices
from ..blender.restore import baked_objects, rest_worlds
from ..settings.display import remove_shown
from .cached_contacts import CachedContacts
from .piece_nodes import NAME, PIECE, ROTATION, SCALE, add_instances

__all__ = ["fill", "register", "remove_pieces", "unregister"]

Array = NDArray[np.float64]

UNDOABLE = {"REGISTER", "UNDO"}
# Blender sorts the objects of a collection by name; leading zeros make this the order of their numbers.
DIGITS = 6


class Rest(NamedTuple):
    """The bodies shown as instances, at the first frame.

    They have the indices of their instances (n,), their names, their world matrices (n, 4, 4), the inverse rotations (n, 3, 3)
    of these, and their scales (n, 3).
    """

    pieces: NDArray[np.int32]
    bodies: list[str]
    worlds: Array
    unscaled: Array
    scales: Array


class Cache:
    """The data read last. The initial transforms are valid until another bake, or until an object is added or removed."""

    frames = CachedContacts()
    key: tuple[str, str, int] = ("", "", 0)
    rest: Rest | None = None


def rest_of(scene: Scene, known: Collection[str]) -> Rest:
    """Return the initial state of the hidden bodies in the bake."""
    bodies = enumerate(hidden.body for hidden in scene.stiction_display.hidden_bodies)
    found = [(piece, ob) for piece, ob in bodies if ob is not None and ob.stiction.backup.body in known]
    worlds = rest_worlds(ob for _, ob in found)
    turned = np.array([rotations.nearest_rotation(world[:3, :3]) for world in worlds]).reshape(-1, 3, 3)
    scales = np.einsum("nji,nji->ni", turned, worlds[:, :3, :3])
    numbers = np.array([piece for piece, _ in found], dtype=np.int32)
    unscaled = np.linalg.inv(worlds[:, :3, :3]) @ turned
    return Rest(numbers, [ob.stiction.backup.body for _, ob in found], worlds, unscaled, scales)


def fill(scene: Scene) -> None:
    """Update the points for the scene's time; leave them unchanged if nothing can be read."""
    shown, bake = scene.stiction_display.pieces_object, scene.stiction.bake
    reader = Cache.frames.reader(scene) if shown is not None and shown.type == "MESH" else None
    if shown is None or reader is None or not reader.frames:
        return
    index = {name: column for column, name in enumerate(reader.info.bodies)}
    key = scene.name_full, bake.digest, len(bpy.data.objects)
    if Cache.rest is None or Cache.key != key:
        Cache.key, Cache.rest = key, rest_of(scene, index)
    rest = Cache.rest
    columns = [index[name] for name in rest.bodies]
    try:
        poses, first = poses_at(reader, scene.frame_current_final)[columns], reader.read(reader.frames[0]).poses[columns]
    except (OSError, CacheError) as error:
        print(one_line(f"Stiction: the pieces of {scene.name} cannot be shown: {error}"))
        return
    worlds = world_matrices(poses, first, rest.worlds)
    write(shown.data, rest, worlds[:, :3, 3], rotations.quaternion_of_matrix(worlds[:, :3, :3] @ rest.unscaled))


def write(mesh: Mesh, rest: Rest, places: Array, turns: Array) -> None:
    """Write a point for each instance to a mesh, at locations (n, 3) with quaternions (n, 4)."""
    if len(mesh.vertices) != len(places):
        mesh.clear_geometry()
        mesh.vertices.add(len(places))
        for name, kind in ((ROTATION, "QUATERNION"), (SCALE, "FLOAT_VECTOR"), (PIECE, "INT")):
            mesh.attributes.new(name, kind, "POINT")
    mesh.vertices.foreach_set("co", places.astype(np.float32).ravel())
    mesh.attributes[ROTATION].data.foreach_set("value", turns.astype(np.float32).ravel())
    mesh.attributes[SCALE].data.foreach_set("vector", rest.scales.astype(np.float32).ravel())
    mesh.attributes[PIECE].data.foreach_set("value", rest.pieces)
    mesh.update()


def make_pieces(context: Context, objects: list[Object]) -> bpy.types.Collection:
    """Return a collection in no scene with an object for each body: its evaluated mesh and its materials."""
    depsgraph = context.evaluated_depsgraph_get()
    collection = bpy.data.collections.new(NAME)
    for number, ob in enumerate(objects):
        data = bpy.data.meshes.new_from_object(ob.evaluated_get(depsgraph)) if ob.modifiers else ob.data
        piece = bpy.data.objects.new(f"{NAME} {number:0{DIGITS}}", data)
        for slot, original_slot in zip(piece.material_slots, ob.material_slots, strict=False):
            if original_slot.link == "OBJECT":
                slot.link, slot.material = "OBJECT", original_slot.material
        collection.objects.link(piece)
    return collection


def remove_pieces(scene: Scene) -> None:
    """Remove the object and everything created for it, and show the bodies again."""
    display = scene.stiction_display
    for hidden in display.hidden_bodies:
        if hidden.body is not None:
            hidden.body.hide_viewport, hidden.body.hide_render = hidden.in_viewport, hidden.in_render
    display.hidden_bodies.clear()
    shown, collection = display.pieces_object, display.pieces
    display.pieces_object = display.pieces = None
    piece_objects = [*collection.objects] if collection is not None else []
    if collection is not None:
        bpy.data.collections.remove(collection)
    for ob in [*piece_objects, *([] if shown is None else [shown])]:
        remove_shown(ob)


class STICTION_OT_add_pieces(Operator):
    """Show all baked bodies as instances of one object, for geometry nodes, and hide the bodies themselves"""

    bl_idname = "stiction.add_pieces"
    bl_label = "Bodies as One Object"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.scene.stiction.bake.state != "CACHED":
            cls.poll_message_set("There are no cached frames; bake first")
            return False
        if context.scene.stiction_display.pieces_object is not None:
            cls.poll_message_set("The bodies are already shown as one object")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        scene, display = context.scene, context.scene.stiction_display
        # those of other types, and what carries other objects, move by themselves
        objects = [ob for ob in baked_objects(scene) if ob.type == "MESH" and not ob.children]
        display.pieces = make_pieces(context, objects)
        shown = bpy.data.objects.new(NAME, bpy.data.meshes.new(NAME))
        context.collection.objects.link(shown)
        add_instances(shown, display.pieces)
        display.pieces_object = shown
        for ob in objects:
            hidden = display.hidden_bodies.add()
            hidden.body, hidden.in_viewport, hidden.in_render = ob, ob.hide_viewport, ob.hide_render
            ob.hide_viewport = ob.hide_render = True
        fill(scene)
        self.report({"INFO"}, f"{len(objects)} bodies are shown as the object {shown.name}")
        return {"FINISHED"}


class STICTION_OT_remove_pieces(Operator):
    """Remove the object with the instances, and show the bodies themselves again"""

    bl_idname = "stiction.remove_pieces"
    bl_label = "Bodies by Themselves"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.scene.stiction_display.pieces_object is None and not context.scene.stiction_display.hidden_bodies:
            cls.poll_message_set("The bodies are not shown as one object")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        remove_pieces(context.scene)
        context.scene.frame_set(context.scene.frame_current, subframe=context.scene.frame_subframe)
        return {"FINISHED"}


@persistent
def follow_frame(scene: Scene, _depsgraph: Depsgraph | None = None) -> None:
    """Before the frame is evaluated, so that nodes see where the points are."""
    if scene.stiction_display.pieces_object is not None:
        fill(scene)


register_classes, unregister_classes = bpy.utils.register_classes_factory((STICTION_OT_add_pieces, STICTION_OT_remove_pieces))


def register() -> None:
    """Add the operators, and follow the frames."""
    register_classes()
    bpy.app.handlers.frame_change_pre.append(follow_frame)


def unregister() -> None:
    """Follow them no more."""
    bpy.app.handlers.frame_change_pre.remove(follow_frame)
    Cache.frames.forget()
    Cache.rest = None
    unregister_classes()
