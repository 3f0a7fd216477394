# SPDX-License-Identifier: GPL-3.0-or-later
"""The sound of a bake, beside its cache and in the sequencer, and its contact events as a table."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.props import EnumProperty, FloatProperty, IntProperty, PointerProperty, StringProperty
from bpy.types import Context, Object, Operator, PropertyGroup, Scene
from numpy.typing import NDArray

from ...presets import STIFFNESS
from ...solver_core.io.cache import CacheError
from ...solver_core.io.container import ContainerError
from ...solver_core.process.command_line import UsageError
from ...solver_core.validation.findings import first_few
from ..bake.bake_files import cache_path, snapshot_of, sound_of
from ..bake.playback import open_cache
from ..blender.cooperative import aside_with_kernels, at_once
from ..blender.export_operator import ExportOperator
from ..blender.poll import is_idle
from .cached_contacts import CachedContacts, has_contacts, objects_of_bodies

if TYPE_CHECKING:
    from ...solver_core.sound.synthesis import SoundOrder
    from ...solver_core.sound.write import WrittenSound

__all__ = ["register", "remove_sound", "unregister", "write_scene_sound"]

UNDOABLE = {"REGISTER", "UNDO"}
OVERRIDABLE = {"LIBRARY_OVERRIDABLE"}
STRIP = "Stiction Sound"
MOST_CHANNELS = 128
AUTOMATIC = "AUTO"
ITEMS = (
    (AUTOMATIC, "Automatic", "By the surface's name or the density of an active body; none for a passive or animated one"),
    *((name, name, f"{name}: {material['density']['value']:g} kg/m³") for name, material in STIFFNESS.items()),
)


class Cache:
    """What has been read last."""

    contacts = CachedContacts()


class ObjectSound(PropertyGroup):
    """What a rigid body sounds like: `object.stiction_sound`."""

    material: EnumProperty(
        name="Sound Material", description="Material that the body rings like", items=ITEMS, override=OVERRIDABLE
    )
    volume: FloatProperty(
        name="Volume",
        description="Factor on the loudness of the body",
        default=1.0,
        min=0.0,
        soft_max=4.0,
        override=OVERRIDABLE,
    )


class SceneSound(PropertyGroup):
    """How a bake is made audible: `scene.stiction_sound`."""

    scraping: FloatProperty(
        name="Scraping",
        description="Share of the sliding power that each mode of a body takes; 0 for hits alone",
        default=1e-4,
        min=0.0,
        soft_max=0.01,
        precision=5,
        step=0.01,
    )
    support_loss: FloatProperty(
        name="Support Loss",
        description="Loss factor added to that of the materials, for what supports and the air take",
        default=0.002,
        min=0.0,
        soft_max=0.1,
        precision=4,
        step=0.1,
    )
    seed: IntProperty(name="Seed", description="Another seed gives other noise of scrapes", default=0, min=0)


def write_scene_sound(context: Context, file: Path) -> WrittenSound:
    """Write the sound of the scene's bake, or its contact events, by the ending of the name.

    Raises CacheError, ContainerError, OSError, and UsageError where there is nothing to hear.
    """
    # brings scipy
    from ...solver_core.sound.write import write_sound

    cache, order = Path(cache_path(context.scene)), order_of(context)
    return at_once(aside_with_kernels("Writing the sound", lambda: write_sound(snapshot_of(cache), cache, file, order)))


def order_of(context: Context) -> SoundOrder:
    """Return how the scene's bake is made audible. Raises CacheError and OSError."""
    from ...solver_core.sound.synthesis import SoundOrder

    scene = context.scene
    reader = open_cache(scene)
    objects = {name: ob.stiction_sound for name, ob in objects_of_bodies(scene).items() if name in reader.info.bodies}
    materials = {name: settings.material for name, settings in objects.items() if settings.material != AUTOMATIC}
    volumes = {name: settings.volume for name, settings in objects.items()}
    settings = scene.stiction_sound
    return SoundOrder(
        materials, volumes, listener_of(scene, reader.frames), settings.scraping, settings.support_loss, settings.seed
    )


def listener_of(scene: Scene, frames: range) -> NDArray[np.float64] | None:
    """Return (frames, 3) m, where the camera is at each frame; (1, 3) for one that does not move, None without a camera."""
    # Imported here because it imports scipy, which Blender would wait for when the add-on is enabled.
    from ..read.motion import can_change

    camera, markers = scene.camera, [marker for marker in scene.timeline_markers if marker.camera is not None]
    if camera is None:
        return None
    if not markers and not can_change(camera):
        return np.array([camera.matrix_world.translation])
    current, subframe, places = scene.frame_current, scene.frame_subframe, []
    try:
        for frame in frames:
            scene.frame_set(frame)
            # markers choose another one
            places.append((scene.camera or camera).matrix_world.translation[:])
    finally:
        scene.frame_set(current, subframe=subframe)
    return np.array(places)


def has_audio() -> bool:
    """Return whether this Blender can have sounds in its sequencer; the module bpy cannot."""
    return bpy.app.build_options.audaspace


def strips_of(scene: Scene) -> Any:
    """Return the strips of the scene's sequencer, which is made where there is none; before Blender 4.4 they are sequences."""
    editor = scene.sequence_editor or scene.sequence_editor_create()
    return editor.strips if hasattr(editor, "strips") else editor.sequences


def place_sound(scene: Scene, file: Path, frame: int) -> None:
    """Put a sound in the scene's sequencer from a frame on, in the place of the former one, and pack it."""
    strips, kept = strips_of(scene), {}
    channel = min(max((strip.channel for strip in strips), default=0) + 1, MOST_CHANNELS)
    former = strips.get(STRIP)
    if former is not None and former.type == "SOUND":
        channel, kept = former.channel, {name: getattr(former, name) for name in ("volume", "pan", "mute")}
    remove_sound(scene)
    strip = strips.new_sound(STRIP, str(file), channel, frame)
    for name, value in kept.items():
        setattr(strip, name, value)
    # it goes with the .blend file, whatever becomes of the cache
    strip.sound.pack()


def remove_sound(scene: Scene) -> None:
    """Take the sound of a bake out of the sequencer."""
    if scene.sequence_editor is None:
        return
    strips = strips_of(scene)
    strip = strips.get(STRIP)
    if strip is None or strip.type != "SOUND":
        return
    sound = strip.sound
    strips.remove(strip)
    if sound is not None and not sound.users:
        bpy.data.sounds.remove(sound)


class STICTION_OT_bake_sound(Operator):
    """Make a sound of the hits and scrapes of the bake, and place it in the sequencer; Free Bake removes it"""

    bl_idname = "stiction.bake_sound"
    bl_label = "Bake Sound"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        return is_idle(cls, context) and has_contacts(cls, Cache.contacts.reader(context.scene))

    def execute(self, context: Context) -> set[str]:
        scene = context.scene
        file = sound_of(Path(cache_path(scene)))
        if context.window is not None:
            context.window.cursor_set("WAIT")
        try:
            written = write_scene_sound(context, file)
        except (UsageError, OSError, CacheError, ContainerError) as error:
            self.report({"ERROR"}, f"There is no sound: {error}")
            return {"CANCELLED"}
        finally:
            if context.window is not None:
                context.window.cursor_set("DEFAULT")
        if has_audio():
            place_sound(scene, file, open_cache(scene).info.frame_start)
        else:
            self.report({"WARNING"}, "This Blender is built without audio, so the sound is not in the sequencer")
        if written.without_modes:
            why = next(iter(written.without_modes.values()))
            self.report({"WARNING"}, f"{first_few(tuple(written.without_modes))} only clicks and does not ring: {why}")
        self.report({"INFO"}, f"Hits and scrapes: {written.events}, written to {file}")
        return {"FINISHED"}


class STICTION_OT_export_sound_events(ExportOperator, Operator):
    """Write all hits and scrapes with time, duration, place, impulse, sliding power and sound materials to a table"""

    bl_idname = "stiction.export_sound_events"
    bl_label = "Export Sound Events"

    filter_glob: StringProperty(default="*.csv", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_contacts(cls, Cache.contacts.reader(context.scene))

    def ending(self) -> str:
        return "sound.csv"

    def write(self, scene: Scene, file: Path) -> str:
        if file.suffix.lower() != ".csv":
            raise UsageError("the name has to end with .csv")
        return f"Wrote {write_scene_sound(bpy.context, file).events} hits and scrapes to {file}"


CLASSES = (ObjectSound, SceneSound, STICTION_OT_bake_sound, STICTION_OT_export_sound_events)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add settings and operators."""
    register_classes()
    Object.stiction_sound = PointerProperty(type=ObjectSound, override=OVERRIDABLE)
    Scene.stiction_sound = PointerProperty(type=SceneSound)


def unregister() -> None:
    """Take them away."""
    Cache.contacts.forget()
    del Scene.stiction_sound
    del Object.stiction_sound
    unregister_classes()
