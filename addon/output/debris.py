# SPDX-License-Identifier: GPL-3.0-or-later
"""Debris for geometry nodes: an object whose points are the debris of the current frame; and a table of all debris."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, FloatProperty, IntProperty, PointerProperty, StringProperty
from bpy.types import Context, Depsgraph, Object, Operator, PropertyGroup, Scene
from numpy.typing import NDArray

from ...solver_core.debris import DebrisKind, DebrisRates, write_debris
from ...solver_core.io.cache import CacheError
from ...solver_core.io.container import ContainerError
from ...solver_core.process.command_line import UsageError
from ...solver_core.process.console import one_line
from ..bake.bake_files import cache_path, snapshot_of
from ..blender.export_operator import ExportOperator
from ..settings.display import remove_shown
from .cached_contacts import CachedContacts, has_contacts
from .cached_debris import CachedDebris, SceneDebris
from .debris_nodes import add_effects
from .point_object import FLOAT, VECTOR, WHOLE, add_object, materials_of, select_alone, write_names, write_points

__all__ = ["fill", "register", "remove_debris", "unregister"]

UNDOABLE = {"REGISTER", "UNDO"}
NAME = "Stiction Debris"
DEFAULT = DebrisRates()
ATTRIBUTES = {
    "id": WHOLE,
    "kind": WHOLE,
    "age": FLOAT,
    "life": FLOAT,
    "impulse": FLOAT,
    "speed": FLOAT,
    "area": FLOAT,
    "energy": FLOAT,
    "random": FLOAT,
    "body_a": WHOLE,
    "body_b": WHOLE,
    "material_a": WHOLE,
    "material_b": WHOLE,
    "debris_normal": VECTOR,
    "slip": VECTOR,
    "body_velocity": VECTOR,
}


class Cache:
    """The data read last."""

    debris = CachedDebris()
    # The last error, which is printed once and not at every frame.
    complaint = ""
    contacts = CachedContacts()


def follow_settings(self: PropertyGroup, _context: Context) -> None:
    """Show the points that the settings ask for."""
    fill(self.id_data)


class SceneDebrisSettings(PropertyGroup):
    """The amount of debris of a bake, and the object that shows it: `scene.stiction_debris`."""

    shown: PointerProperty(name="Debris", description="Object whose points are the debris at the current frame", type=Object)
    per_area: FloatProperty(
        name="Per Area",
        description="Points per m² of broken bonds",
        default=DEFAULT.per_area,
        min=0.0,
        soft_max=10_000.0,
        update=follow_settings,
    )
    joint_area: FloatProperty(
        name="Area of Joints",
        description="Area in m² of a broken constraint that is not a bond",
        default=DEFAULT.joint_area,
        min=0.0,
        soft_max=1.0,
        precision=4,
        update=follow_settings,
    )
    per_joule_of_hits: FloatProperty(
        name="Per Joule of Hits",
        description="Points per joule of energy that bodies lose in impacts",
        default=DEFAULT.per_joule_of_hits,
        min=0.0,
        soft_max=1000.0,
        update=follow_settings,
    )
    per_joule_of_scrapes: FloatProperty(
        name="Per Joule of Scrapes",
        description="Points per joule of energy that sliding bodies lose by friction",
        default=DEFAULT.per_joule_of_scrapes,
        min=0.0,
        soft_max=1000.0,
        update=follow_settings,
    )
    least_impulse: FloatProperty(
        name="Minimum Impulse",
        description="Impulse in N s below which hits make no debris",
        default=DEFAULT.least_impulse,
        min=0.0,
        soft_max=100.0,
        update=follow_settings,
    )
    least_speed: FloatProperty(
        name="Minimum Speed",
        description="Closing speed below which hits make no debris",
        default=DEFAULT.least_speed,
        min=0.0,
        soft_max=10.0,
        unit="VELOCITY",
        update=follow_settings,
    )
    lifetime: FloatProperty(
        name="Lifetime",
        description="Time for which a point is shown, in simulated seconds",
        default=4.0,
        min=0.01,
        soft_max=60.0,
        update=follow_settings,
    )
    seed: IntProperty(
        name="Seed", description="Another seed gives other random positions", default=0, min=0, update=follow_settings
    )


def rates_of(scene: Scene) -> DebrisRates:
    """Return the rates in a scene's settings."""
    settings = scene.stiction_debris
    return DebrisRates(**{name: getattr(settings, name) for name in DebrisRates.__dataclass_fields__})


def attributes_of(debris: SceneDebris, now: float, lifetime: float, materials: NDArray[np.int32]) -> dict[str, NDArray]:
    """Return the points that exist at a time, as "position", and their attributes.

    Parameters
    ----------
    now : s, simulated time
    lifetime : s, older points do not exist
    materials : (bodies + 1,) index of the material of each body, that of the world last
    """
    time = debris.points.events.time
    # The points are sorted by time.
    rows = np.arange(np.searchsorted(time, now - lifetime), np.searchsorted(time, now, side="right"))
    events = debris.points.events.chosen(rows)
    age = now - events.time
    return {
        "position": events.position,
        "id": rows,
        "kind": events.kind,
        "age": age,
        "life": age / lifetime,
        **{name: getattr(events, name) for name in ("impulse", "speed", "area", "energy", "body_a", "body_b", "slip")},
        "random": debris.points.random[rows],
        "material_a": materials[events.body_a],
        "material_b": materials[events.body_b],
        "debris_normal": events.normal,
        "body_velocity": events.velocity,
    }


def fill(scene: Scene) -> str:
    """Update the scene's points of debris for its time. Return why there are none, or an empty string."""
    settings = scene.stiction_debris
    if settings.shown is None or settings.shown.type != "MESH":
        return ""
    debris, trouble = None, ""
    try:
        debris = Cache.debris.of_scene(scene, rates_of(scene))
        trouble = "" if debris is not None else "there is no bake"
    except (OSError, CacheError, ContainerError, UsageError) as error:
        Cache.debris.forget()
        trouble = str(error)
    if debris is None:
        if trouble != Cache.complaint:
            print(one_line(f"Stiction: the debris of {scene.name} cannot be shown: {trouble}"))
        Cache.complaint = trouble
        write_points(settings.shown.data, ATTRIBUTES, {})
        return trouble
    Cache.complaint = ""
    bodies = tuple(body.name for body in debris.spec.bodies)
    materials = materials_of(scene, bodies)
    now = debris.seconds_at(scene.frame_current_final)
    write_points(settings.shown.data, ATTRIBUTES, attributes_of(debris, now, settings.lifetime, materials.of_bodies))
    write_names(settings.shown, bodies, materials)
    return ""


def remove_debris(scene: Scene) -> None:
    """Remove the object and its mesh."""
    ob = scene.stiction_debris.shown
    if ob is not None:
        scene.stiction_debris.shown = None
        remove_shown(ob)


class STICTION_OT_add_debris(Operator):
    """Add an object with points where bonds break and bodies hit or scrape, for geometry nodes; Free Bake removes it"""

    bl_idname = "stiction.add_debris"
    bl_label = "Debris as Points"
    bl_options = UNDOABLE

    with_effects: BoolProperty(
        name="With Effects", description="Add geometry nodes with chips, dust and sparks as well", default=True
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        ob = context.scene.stiction_debris.shown
        if ob is not None and ob.name in context.scene.objects:
            cls.poll_message_set(f"The points exist already: {ob.name}")
            return False
        return has_contacts(cls, Cache.contacts.reader(context.scene))

    def execute(self, context: Context) -> set[str]:
        scene = context.scene
        ob = add_object(context, NAME)
        scene.stiction_debris.shown = ob
        trouble = fill(scene)
        if trouble:
            remove_debris(scene)
            self.report({"ERROR"}, f"There is no debris: {trouble}")
            return {"CANCELLED"}
        if self.with_effects:
            add_effects(ob, scene)
        select_alone(context, ob)
        summary = counts(scene)
        self.report({"INFO"} if summary[0] else {"WARNING"}, summary[1])
        return {"FINISHED"}


def counts(scene: Scene) -> tuple[int, str]:
    """Return the number of points in the whole bake, and a message. Call it after `fill`."""
    debris = Cache.debris.of_scene(scene, rates_of(scene))
    kinds = debris.points.events.kind if debris is not None else np.zeros(0)
    each = [int(np.count_nonzero(kinds == kind)) for kind in DebrisKind]
    words = ", ".join(f"{count} of {name}" for count, name in zip(each, ("breaks", "hits", "scrapes"), strict=True))
    if not sum(each):
        return (
            0,
            "No debris: nothing breaks, hits or scrapes hard enough; raise the rates, or lower the minimum impulse and speed",
        )
    return sum(each), f"{sum(each)} points in the whole bake: {words}"


class STICTION_OT_export_debris(ExportOperator, Operator):
    """Write all points of debris with time, place, impulse, speed, area, bodies and materials to a table"""

    bl_idname = "stiction.export_debris"
    bl_label = "Export Debris"

    filter_glob: StringProperty(default="*.csv", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_contacts(cls, Cache.contacts.reader(context.scene))

    def ending(self) -> str:
        return "debris.csv"

    def write(self, scene: Scene, file: Path) -> str:
        cache = Path(cache_path(scene))
        return f"Wrote {write_debris(snapshot_of(cache), cache, file, rates_of(scene))} points of debris to {file}"


@persistent
def follow_frame(scene: Scene, _depsgraph: Depsgraph | None = None) -> None:
    """Update before the frame is evaluated, so that nodes see the points."""
    if scene.stiction_debris.shown is not None:
        fill(scene)


CLASSES = (SceneDebrisSettings, STICTION_OT_add_debris, STICTION_OT_export_debris)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add settings and operators, and follow the frames."""
    register_classes()
    Scene.stiction_debris = PointerProperty(type=SceneDebrisSettings)
    bpy.app.handlers.frame_change_pre.append(follow_frame)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.frame_change_pre.remove(follow_frame)
    Cache.debris.forget()
    Cache.contacts.forget()
    Cache.complaint = ""
    del Scene.stiction_debris
    unregister_classes()
