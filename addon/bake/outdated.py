# SPDX-License-Identifier: GPL-3.0-or-later
"""Detects that the scene has changed since its bake or its check, and follows user changes of baked objects.

Blender announces every change, also while dragging, so a change only sets a mark. After a mark, a timer checks the scene for
a few milliseconds at a time, and the panels show the result.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import bpy
from bpy.app.handlers import persistent
from bpy.types import Context, Depsgraph, Object, Scene

from ...solver_core.io.cache import CacheError
from ..blender.redraw import redraw
from ..blender.restore import baked_objects, copies_of_baked, let_go, start_from_here, unset_all
from ..blender.rigid_bodies import is_baked
from .fingerprint import SCENE, Digests, changes_since, made_from, of_object, of_scene, parts_of, written
from .playback import open_cache

__all__ = ["changes", "look_again", "note_check", "register", "release_copies", "unregister"]

# s; the check starts after this time without changes, and then takes this much of each turn
SECONDS_OF_CALM = 0.2
SECONDS_WHILE_PLAYING = 0.5
SECONDS_BETWEEN_TURNS = 0.02
SECONDS_A_TURN = 0.008


def changes(scene: Scene) -> list[str]:
    """Return the changes of the scene since its bake, one per line; empty if there are none, or no bake."""
    return changes_from(scene, made_from(scene)) if scene.stiction.bake.state != "NONE" else []


def changes_from(scene: Scene, now: Digests) -> list[str]:
    return changes_since(scene.stiction.bake.made_from, now)


def note_check(context: Context) -> None:
    """Store the inputs of the scene that is about to be checked. Its later changes make the findings outdated."""
    context.window_manager.stiction.checked_from = written(made_from(context.scene))


def is_checked(scene: Scene) -> bool:
    """Return True if the panels show the findings of a check of this scene."""
    session = bpy.context.window_manager.stiction
    return session.was_checked and session.checked_scene == str(scene.session_uid) and bool(session.checked_from)


def what_is_lost(scene: Scene) -> str:
    """Return why the frames of a scene that plays from its cache cannot be shown, or an empty string."""
    bake = scene.stiction.bake
    if bake.state != "CACHED":
        return ""
    try:
        frames = open_cache(scene).frames
    except FileNotFoundError as error:
        return f"The frames are missing: there is no file {error.filename}; find them, or bake again"
    except (OSError, CacheError) as error:
        return f"The frames cannot be read: {error}"
    if not frames or frames[-1] < bake.last_frame:
        there = f"ends at frame {frames[-1]} of {bake.last_frame}" if frames else "has no frames"
        return f"The cache {there}; resume, or bake again"
    return ""


def release_copies(scene: Scene, *, just_loaded: bool = False) -> int:
    """Make duplicates of baked objects bodies of their own, and return their number. Those with keyframes keep them.

    just_loaded: the file was just opened.
    """
    forget_copied_record(scene)
    copies = copies_of_baked(scene, just_loaded=just_loaded) if scene.stiction.bake.state == "CACHED" else []
    for ob in copies:
        let_go(ob)
    return len(copies)


def forget_copied_record(scene: Scene) -> bool:
    """Clear the bake of a scene that was copied from another scene. Return True if there was one.

    *Copy Settings* copies all settings of a scene to a new scene without its objects.
    """
    bake = scene.stiction.bake
    if bake.state == "NONE" or baked_objects(scene):
        return False
    same = [one for one in bpy.data.scenes if one != scene and one.stiction.bake.digest == bake.digest and baked_objects(one)]
    if same:
        unset_all(bake)
    return bool(same)


class Watch:
    """Looks at the scenes with a bake or with findings in turns, again after each mark. It stores ids and no references."""

    def __init__(self) -> None:
        self._todo: list[tuple[str, int, str]] | None = None
        self._found: dict[str, dict[str, dict[str, str]]] = {}
        self._meshes: dict[int, Any] = {}
        self.turn: Callable[[], float | None] = self._turn

    def mark(self) -> None:
        """Note a possible change."""
        self._todo = None
        if not bpy.app.background and not bpy.app.timers.is_registered(self.turn):
            bpy.app.timers.register(self.turn, first_interval=SECONDS_OF_CALM)

    @property
    def has_to_look(self) -> bool:
        """True if a mark was set since the last check started."""
        return self._todo is None

    def stop(self) -> None:
        """End the check."""
        if bpy.app.timers.is_registered(self.turn):
            bpy.app.timers.unregister(self.turn)

    def _turn(self) -> float | None:
        if any(window.screen.is_animation_playing for window in bpy.context.window_manager.windows):
            return SECONDS_WHILE_PLAYING
        if self._todo is None:
            self._begin()
        todo = self._todo or []
        by_uid = {ob.session_uid: ob for ob in bpy.data.objects}
        end = perf_counter() + SECONDS_A_TURN
        while todo:
            scene, uid, name = todo.pop()
            if uid in by_uid:
                self._found[scene][name] = of_object(by_uid[uid], self._meshes)
            if perf_counter() > end:
                break
        if todo:
            return SECONDS_BETWEEN_TURNS
        self._publish()
        return None

    def _begin(self) -> None:
        self._todo, self._found, self._meshes = [], {}, {}
        for scene in bpy.data.scenes:
            forget_copied_record(scene)
            is_baked_scene = scene.stiction.bake.state != "NONE"
            if scene.rigidbody_world is None or not (is_baked_scene or is_checked(scene)):
                continue
            if is_baked_scene:
                release_copies(scene)
            self._found[scene.name_full] = {SCENE: of_scene(scene)}
            self._todo += [(scene.name_full, ob.session_uid, name) for name, ob in parts_of(scene)]

    def _publish(self) -> None:
        found = {scene: digests for scene, digests in self._found.items() if scene in bpy.data.scenes}
        baked = {scene: digests for scene, digests in found.items() if bpy.data.scenes[scene].stiction.bake.state != "NONE"}
        tell(bpy.context, baked)
        tell_check(bpy.context, found)


def tell(context: Context, found: dict[str, Any]) -> None:
    """Show the changes of each scene since its bake in the panels."""
    shown = context.window_manager.stiction.changes
    lines = []
    for name, now in found.items():
        scene = bpy.data.scenes[name]
        # A bake that has just started has no frames yet, and no event announces them.
        lost = "" if context.window_manager.stiction.is_baking else what_is_lost(scene)
        lines += [(name, text, bool(lost)) for text in ([lost] if lost else changes_from(scene, now))]
    if lines == [(line.scene, line.name, line.is_lost) for line in shown]:
        return
    shown.clear()
    for scene_name, text, is_lost in lines:
        line = shown.add()
        line.scene, line.name, line.is_lost = scene_name, text, is_lost
    redraw()


def tell_check(context: Context, found: dict[str, Any]) -> None:
    """Show the changes of the checked scene since its check."""
    session = context.window_manager.stiction
    for scene in bpy.data.scenes:
        if session.is_checking or scene.name_full not in found or not is_checked(scene):
            continue
        lines = "\n".join(changes_since(session.checked_from, found[scene.name_full]))
        if session.changes_since_check != lines:
            session.changes_since_check = lines
            redraw()


def follow_moves(scene: Scene, objects: list[Object]) -> None:
    """Let bodies start where the user moved them.

    `shows_start` means that the add-on has placed every body at its start and has moved none since (`restore.place_bodies`
    clears it). A body at another location was therefore moved by the user or a script.
    """
    if scene.stiction.bake.state == "CACHED" and scene.stiction.bake.shows_start:
        for ob in objects:
            start_from_here(ob)


def make_handlers(watch: Watch) -> dict[str, Callable[..., None]]:
    @persistent
    def after_update(scene: Scene, depsgraph: Depsgraph) -> None:
        is_baked_scene = scene.stiction.bake.state != "NONE"
        if not (is_baked_scene or is_checked(scene)) or bpy.app.is_job_running("RENDER"):
            return
        if is_baked_scene:
            moved = [one.id.original for one in depsgraph.updates if one.is_updated_transform and isinstance(one.id, Object)]
            follow_moves(scene, [ob for ob in moved if is_baked(ob)])
        watch.mark()

    @persistent
    def after_undo(_scene: Scene | None, _depsgraph: Depsgraph | None = None) -> None:
        for scene in bpy.data.scenes:
            # Undo may have restored the object without the record of its move, or vice versa.
            follow_moves(scene, baked_objects(scene) if scene.stiction.bake.state == "CACHED" else [])
        watch.mark()

    @persistent
    def before_saving(_file: str) -> None:
        # In the file, a duplicate could no longer be distinguished from its original by its age.
        for scene in bpy.data.scenes:
            release_copies(scene)

    @persistent
    def after_load(_file: str) -> None:
        for manager in bpy.data.window_managers:
            manager.stiction.changes.clear()
        # There may be duplicates if the file was saved without this add-on or automatically.
        for scene in bpy.data.scenes:
            release_copies(scene, just_loaded=True)
        watch.mark()

    return {
        "depsgraph_update_post": after_update,
        "undo_post": after_undo,
        "redo_post": after_undo,
        "load_post": after_load,
        "save_pre": before_saving,
    }


# Created by `register`, for `unregister`; Blender's lists of handlers keep it alive.
WATCHES = "stiction_watch"


def watches() -> list[Watch]:
    """Return the watches of this copy of the add-on and of others."""
    return [getattr(one, WATCHES) for one in bpy.app.handlers.undo_post if hasattr(one, WATCHES)]


def look_again() -> None:
    """Compare the scenes with their bakes again, because a bake was replaced by another.

    Blender announces changes of objects, but not of the record of a bake.
    """
    for watch in watches():
        watch.mark()


def register() -> None:
    """Start the watch."""
    watch = Watch()
    for name, handler in make_handlers(watch).items():
        setattr(handler, WATCHES, watch)
        getattr(bpy.app.handlers, name).append(handler)


def unregister() -> None:
    """End the watch."""
    for name in ("depsgraph_update_post", "undo_post", "redo_post", "load_post", "save_pre"):
        handlers = getattr(bpy.app.handlers, name)
        for handler in [one for one in handlers if hasattr(one, WATCHES)]:
            getattr(handler, WATCHES).stop()
            handlers.remove(handler)
