# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts for geometry nodes: an object whose mesh has a point for each contact and impact of the current frame, and a table
of all impacts.

The points have attributes with all data. The mesh is filled from the cache when the frame changes.
"""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, StringProperty
from bpy.types import Context, Depsgraph, Operator, Scene
from numpy.typing import NDArray

from ...solver_core.dynamics.model.frame import FrameContacts
from ...solver_core.impacts import write_impacts
from ..bake.bake_files import cache_path, snapshot_of
from ..blender.export_operator import ExportOperator
from ..settings.display import remove_shown
from .cached_contacts import CachedContacts, has_contacts
from .contact_nodes import add_example
from .point_object import FLOAT, VECTOR, WHOLE, add_object, materials_of, select_alone, write_names, write_points

__all__ = ["IMPACT", "fill", "register", "remove_points", "unregister"]

UNDOABLE = {"REGISTER", "UNDO"}
NAME = "Stiction Contacts"
# State of a point that is an impact, in addition to those of contacts.
IMPACT = 3

ATTRIBUTES = {
    "impulse": FLOAT,
    "force": FLOAT,
    "slip_speed": FLOAT,
    "state": WHOLE,
    "body_a": WHOLE,
    "body_b": WHOLE,
    "material_a": WHOLE,
    "material_b": WHOLE,
    "contact_normal": VECTOR,
    "friction": VECTOR,
    "slip": VECTOR,
}


class Points:
    """The data read last."""

    contacts = CachedContacts()


def attributes_of(contacts: FrameContacts, step: float, materials: NDArray[np.int32]) -> dict[str, NDArray]:
    """Return the points (m, 3) as "position", and their attributes: contacts first, then impacts.

    step: time step [s]. materials: (bodies + 1,) index of the material of each body, that of the world last.
    """
    impacts = contacts.impacts
    zeros = np.zeros((len(impacts.time), 3), np.float32)
    body_a, body_b = (np.concatenate([getattr(contacts, name), getattr(impacts, name)]) for name in ("body_a", "body_b"))
    force = np.concatenate([contacts.force, impacts.impulse / step])
    return {
        "position": np.concatenate([contacts.point, impacts.point]),
        "impulse": np.concatenate([contacts.force * step, impacts.impulse]),
        "force": force,
        "slip_speed": np.concatenate([np.linalg.norm(contacts.slip, axis=1), zeros[:, 0]]),
        "state": np.concatenate([contacts.state, np.full(len(zeros), IMPACT)]),
        "body_a": body_a,
        "body_b": body_b,
        "material_a": materials[body_a],
        "material_b": materials[body_b],
        "contact_normal": np.concatenate([contacts.normal, impacts.normal]),
        "friction": np.concatenate([contacts.friction, zeros]),
        "slip": np.concatenate([contacts.slip, zeros]),
    }


def fill(scene: Scene) -> None:
    """Update the scene's points for its current frame; there are none if no contacts were stored."""
    ob = scene.stiction_display.points_object
    if ob is None or ob.type != "MESH":
        return
    contacts = Points.contacts.of_frame(scene)
    reader = Points.contacts.reader(scene) if contacts is not None else None
    if contacts is None or reader is None:
        write_points(ob.data, ATTRIBUTES, {})
        return
    info = reader.info
    materials = materials_of(scene, info.bodies)
    step = info.seconds_to(scene.frame_current) / info.substeps
    write_points(ob.data, ATTRIBUTES, attributes_of(contacts, step, materials.of_bodies))
    write_names(ob, info.bodies, materials)


def remove_points(scene: Scene) -> None:
    """Remove the object and its mesh."""
    ob = scene.stiction_display.points_object
    if ob is None:
        return
    scene.stiction_display.points_object = None
    remove_shown(ob)


class STICTION_OT_add_contact_points(Operator):
    """Add an object with a point for each contact and impact of the current frame, for geometry nodes; Free Bake removes it"""

    bl_idname = "stiction.add_contact_points"
    bl_label = "Contacts as Points"
    bl_options = UNDOABLE

    with_marks: BoolProperty(
        name="With Marks",
        description="Also add example geometry nodes: a ball at each slide or impact, sized by its impulse",
        default=True,
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        ob = context.scene.stiction_display.points_object
        if ob is not None and ob.name in context.scene.objects:
            cls.poll_message_set(f"The points exist already: {ob.name}")
            return False
        return has_contacts(cls, Points.contacts.reader(context.scene))

    def execute(self, context: Context) -> set[str]:
        scene = context.scene
        ob = add_object(context, NAME)
        scene.stiction_display.points_object = ob
        fill(scene)
        if self.with_marks:
            add_example(ob)
        select_alone(context, ob)
        return {"FINISHED"}


class STICTION_OT_export_impacts(ExportOperator, Operator):
    """Write time, place, impulse, bodies and materials of all impacts to a table, for sound"""

    bl_idname = "stiction.export_impacts"
    bl_label = "Export Impacts"

    filter_glob: StringProperty(default="*.csv", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_contacts(cls, Points.contacts.reader(context.scene))

    def ending(self) -> str:
        return "impacts.csv"

    def write(self, scene: Scene, file: Path) -> str:
        cache = Path(cache_path(scene))
        return f"Wrote {write_impacts(snapshot_of(cache), cache, file)} impacts to {file}"


@persistent
def follow_frame(scene: Scene, _depsgraph: Depsgraph | None = None) -> None:
    """Update before the frame is evaluated, so that nodes see the points."""
    if scene.stiction_display.points_object is not None:
        fill(scene)


register_classes, unregister_classes = bpy.utils.register_classes_factory(
    (STICTION_OT_add_contact_points, STICTION_OT_export_impacts)
)


def register() -> None:
    """Add the operators, and follow the frames."""
    register_classes()
    bpy.app.handlers.frame_change_pre.append(follow_frame)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.frame_change_pre.remove(follow_frame)
    Points.contacts.forget()
    unregister_classes()
