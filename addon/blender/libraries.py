# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies from other files: linked, overridden, or with the results of a bake there.

Blender does not store rigid body settings of a library override: when the file is opened again, they are those of the library.
A bake therefore cannot make an overridden body *Animated*. It removes the body from the rigid body world instead
(`restore.collection_to_leave`), which the file stores, and which also works for users without Stiction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import Object, Scene

from ...solver_core.scene.spec import BodyKind, SceneWarning
from ...solver_core.validation.findings import SceneProblem
from . import actions
from .restore import baked_objects, collection_to_leave
from .rigid_bodies import is_baked, is_linked
from .sanitize_loaded_file import kept

__all__ = [
    "baked_elsewhere",
    "has_keys_of_bake",
    "library_problems",
    "library_warnings",
    "linked_and_baked",
    "register",
    "unregister",
]


def library_problems(ob: Object, kind: BodyKind, scene: Scene) -> Iterator[SceneProblem]:
    """Yield reasons why a bake cannot move a body of a library."""
    if kind is not BodyKind.ACTIVE:
        return
    message = ""
    if is_linked(ob):
        message = f"it is linked from {library_of(ob)}, so it cannot be moved here; make an editable library override of it"
    elif ob.override_library is not None and collection_to_leave(ob, scene) is None:
        is_direct = any(member == ob for member in scene.rigidbody_world.collection.objects)
        how = (
            "also put it into another collection of the scene"
            if is_direct
            else "put the object itself into that collection, and remove from it the collection that contains the object"
        )
        message = f"it is a library override, which must leave the rigid body world's collection when it is baked; {how}"
    if message:
        yield SceneProblem(ob.name_full, "library", message)


def library_warnings(ob: Object) -> Iterator[SceneWarning]:
    """Yield settings of a body of a library that are missing here, or will be lost."""
    if is_linked(ob) and ob.stiction.backup.baked and not has_keys_of_bake(ob):
        message = (
            f"it is linked from {library_of(ob)}, whose cached bake plays only there: it stands still here; press Bake to "
            "Keyframes there"
        )
        yield SceneWarning((ob.name_full,), "library", message)
    changed = changed_settings(ob)
    if changed:
        message = (
            f"it is a library override, in which Blender keeps no rigid body settings: {', '.join(changed)} will be those of "
            f"{library_of(ob)} when this file is opened again; set them there"
        )
        yield SceneWarning((ob.name_full,), "library", message)


def changed_settings(ob: Object) -> list[str]:
    """Return the names of the rigid body settings that an override has changed.

    *Animated* is ignored, because a bake changes it.
    """
    reference = ob.override_library.reference if ob.override_library is not None else None
    if reference is None or reference.rigid_body is None or ob.rigid_body is None:
        return []
    mine, its = ob.rigid_body, reference.rigid_body
    settings = [prop for prop in mine.bl_rna.properties if not prop.is_readonly and prop.identifier != "kinematic"]
    return [prop.name for prop in settings if plain(getattr(mine, prop.identifier)) != plain(getattr(its, prop.identifier))]


def plain(value: Any) -> Any:
    return tuple(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def baked_elsewhere(scene: Scene) -> list[Object]:
    """Return the objects that came from another file with a bake, if the scene has no bake of its own."""
    return baked_objects(scene) if scene.stiction.bake.state == "NONE" else []


def linked_and_baked(scene: Scene) -> list[Object]:
    """Return the bodies that follow keyframes of a bake in the file from which they are linked."""
    world = scene.rigidbody_world
    members = world.collection.all_objects if world is not None and world.collection is not None else ()
    return [ob for ob in members if is_linked(ob) and ob.stiction.backup.baked and has_keys_of_bake(ob)]


def has_keys_of_bake(ob: Object) -> bool:
    """Return True if a baked object moves by keyframes and not by cached frames."""
    return bool(actions.bake_tracks(ob)) or any(actions.is_transform(curve.data_path) for curve in actions.curves(ob) or ())


def library_of(ob: Object) -> str:
    reference = ob.override_library.reference if ob.override_library is not None else None
    library = ob.library or (reference.library if reference is not None else None)
    return library.name if library is not None else "a library"


@persistent
def set_free_again(_file: str) -> None:
    """Free Bake disabled *Animated* of an override whose library is baked, but the file did not store it."""
    for ob in bpy.data.objects:
        reference = ob.override_library.reference if ob.override_library is not None else None
        if reference is None or is_linked(ob) or is_baked(ob) or ob.rigid_body is None:
            continue
        if reference.stiction.backup.baked:
            ob.rigid_body.kinematic = reference.stiction.backup.kinematic


@persistent
def let_overrides_be_compared(_file: str) -> None:
    """Make Blender 5 write our override values one by one.

    It does so only if the library's object has any of them; otherwise it writes that all of them differ, which it cannot read
    again.
    """
    for ob in bpy.data.objects:
        override = ob.override_library
        if override is None or override.reference is None or is_linked(ob) or kept(ob).get("stiction") is None:
            continue
        # Setting a value stores it; its value does not change.
        backup = override.reference.stiction.backup
        backup.body = backup.body
        override.operations_update()


def register() -> None:
    """Handle every file that is opened or saved."""
    bpy.app.handlers.load_post.append(set_free_again)
    bpy.app.handlers.save_pre.append(let_overrides_be_compared)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.save_pre.remove(let_overrides_be_compared)
    bpy.app.handlers.load_post.remove(set_free_again)
