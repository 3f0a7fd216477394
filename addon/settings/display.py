# SPDX-License-Identifier: GPL-3.0-or-later
"""Display settings of a bake besides its motion, `scene.stiction_display`. They do not affect a bake."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, FloatProperty, PointerProperty
from bpy.types import Collection, Context, Object, PropertyGroup, Scene

from ..blender.redraw import redraw_views

__all__ = ["register", "remove_shown", "unregister"]


def on_change(self: PropertyGroup, context: Context) -> None:
    redraw_views()


class HiddenBody(PropertyGroup):
    """A body that is hidden while it is shown as an instance, and whether it was hidden before."""

    body: PointerProperty(type=Object)
    in_viewport: BoolProperty()
    in_render: BoolProperty()


class SceneDisplay(PropertyGroup):
    """How the viewport and the timeline show a bake."""

    show_contacts: BoolProperty(
        name="Contacts", description="Show the contacts of the current frame in the viewport", update=on_change
    )
    show_normal_forces: BoolProperty(
        name="Normal Forces",
        description="Show the normal force of each contact as a line",
        default=True,
        update=on_change,
    )
    show_friction_forces: BoolProperty(
        name="Friction Forces",
        description="Show the friction force of each contact as a line",
        default=True,
        update=on_change,
    )
    show_friction_cones: BoolProperty(
        name="Friction Cones",
        description="Show the cone that bounds the force of each contact; a contact slides if its force lies on the cone",
        update=on_change,
    )
    only_selected: BoolProperty(
        name="Only Selected",
        description="Show only the contacts of selected objects, and the forces on these objects",
        update=on_change,
    )
    force_length: FloatProperty(
        name="Length per Newton",
        description="Line length of a force of 1 N; lines are fitted to each frame until it is set",
        default=0.01,
        min=1e-9,
        soft_max=1.0,
        precision=4,
        subtype="DISTANCE",
        update=on_change,
    )
    points_object: PointerProperty(
        name="Points", description="Object whose points are the contacts of the current frame", type=Object
    )
    pieces_object: PointerProperty(
        name="Pieces", description="Object whose instances are the baked bodies at the current frame", type=Object
    )
    pieces: PointerProperty(type=Collection)
    hidden_bodies: CollectionProperty(type=HiddenBody)
    show_grid: BoolProperty(
        name="Show Grid",
        description="Show the bricks that the solver uses to deform the active flexible object",
        update=on_change,
    )
    show_statistics: BoolProperty(
        name="Plots",
        description="Plot the work of the solver over the frames, in a corner of the viewport",
        update=on_change,
    )
    statistics_corner: EnumProperty(
        name="Corner",
        description="Corner of the viewport for the plots",
        items=(("LEFT", "Left", "Bottom left"), ("RIGHT", "Right", "Bottom right")),
        update=on_change,
    )
    show_frames: BoolProperty(
        name="Frames in Timeline",
        description="Show in the timeline which frames are cached, outdated and missing",
        default=True,
        update=on_change,
    )


def remove_shown(ob: Object) -> None:
    """Remove an object that was created for display, and its mesh if it has no other user."""
    mesh = ob.data
    bpy.data.objects.remove(ob)
    if mesh is not None and not mesh.users:
        bpy.data.meshes.remove(mesh)


def register() -> None:
    """Register the properties of scenes."""
    bpy.utils.register_class(HiddenBody)
    bpy.utils.register_class(SceneDisplay)
    Scene.stiction_display = PointerProperty(type=SceneDisplay)


def unregister() -> None:
    """Undo `register`."""
    del Scene.stiction_display
    bpy.utils.unregister_class(SceneDisplay)
    bpy.utils.unregister_class(HiddenBody)
