# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of the current frame from the cache of a scene's bake, read once per frame."""

from __future__ import annotations

from bpy.types import Object, Operator, Scene

from ...solver_core.dynamics.model.frame import FrameContacts
from ...solver_core.io.cache import CacheError, FrameCacheReader
from ...solver_core.io.resting_contacts import RestingContacts
from ...solver_core.process.console import one_line
from ..bake.bake_files import cache_path
from ..bake.playback import open_cache
from ..blender.restore import baked_objects
from ..blender.rigid_bodies import is_baked

__all__ = ["CachedContacts", "has_contacts", "objects_of_bodies"]


class CachedContacts:
    """Reads contacts for display. It remembers one cache and one frame.

    with_sleepers: include the last contacts of sleeping bodies.
    """

    def __init__(self, *, with_sleepers: bool = False) -> None:
        self._with_sleepers = with_sleepers
        self._resting: RestingContacts | None = None
        self._bake = ("", "")
        self._reader: FrameCacheReader | None = None
        self._frame: int | None = None
        self._contacts: FrameContacts | None = None

    def reader(self, scene: Scene) -> FrameCacheReader | None:
        """The cache of the scene's bake, or None if it cannot be read."""
        bake = scene.stiction.bake
        if bake.state == "NONE" or not bake.cache:
            self.forget()
            return None
        name = cache_path(scene), bake.digest
        try:
            if self._reader is None or name != self._bake:
                self.forget()
                self._reader, self._bake = open_cache(scene), name
                self._resting = RestingContacts(self._reader) if self._with_sleepers else None
            else:
                self._reader.refresh()
        except (OSError, CacheError):
            # `outdated` reports missing frames and their expected location.
            self.forget()
        return self._reader

    def of_frame(self, scene: Scene) -> FrameContacts | None:
        """Return the contacts of the scene's current frame, or None if none were stored."""
        if self._reader is not None and self._frame == scene.frame_current and self._is_of(scene):
            return self._contacts
        reader = self.reader(scene)
        self._frame, self._contacts = None, None
        if reader is not None and scene.frame_current in reader.frames:
            try:
                self._contacts = (self._resting.of_frame if self._resting else reader.contacts)(scene.frame_current)
            except (OSError, CacheError) as error:
                print(one_line(f"Stiction: the contacts of frame {scene.frame_current} cannot be shown: {error}"))
        if self._contacts is not None:
            self._frame = scene.frame_current
        return self._contacts

    def forget(self) -> None:
        """Close the cache."""
        self._reader, self._resting, self._bake = None, None, ("", "")
        self._frame, self._contacts = None, None

    def _is_of(self, scene: Scene) -> bool:
        bake = scene.stiction.bake
        return bake.state != "NONE" and (cache_path(scene), bake.digest) == self._bake


def objects_of_bodies(scene: Scene) -> dict[str, Object]:
    """Return the scene's objects by the names of their bodies in its bake."""
    world = scene.rigidbody_world
    members = world.collection.all_objects if world is not None and world.collection is not None else ()
    others = {ob.name_full: ob for ob in members if ob.rigid_body is not None and not is_baked(ob)}
    return others | {ob.stiction.backup.body: ob for ob in baked_objects(scene)}


def has_contacts(operator: type[Operator], reader: FrameCacheReader | None) -> bool:
    """Return whether a bake has contacts; the poll message of the operator says why not.

    Parameters: `reader` is the cache of the bake, None where there is no bake.
    """
    if reader is None:
        operator.poll_message_set("There is no bake")
        return False
    if not reader.has_contacts:
        operator.poll_message_set("This bake has no contacts; bake again with Keep Contacts")
        return False
    return True
