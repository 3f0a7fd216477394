# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene's table of pairs: friction between two materials that replaces the result of the combination rule."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Menu, Operator, Panel, PropertyGroup, Scene, UILayout, UIList

from ...presets import PAIRS
from .ui import MorePanel

__all__ = ["add_pair", "register", "unregister"]

# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}
CLOSED = {"DEFAULT_CLOSED"}
PRESETS = os.path.join("presets", "stiction", "pairs")


def add_pair(scene: Scene, a: str, b: str, mu_static: float, mu_dynamic: float) -> None:
    """Set the friction of a pair of materials; an existing pair is changed."""
    settings = scene.stiction
    pair = next((pair for pair in settings.pairs if {pair.a, pair.b} == {a, b}), None) or settings.pairs.add()
    pair.a, pair.b, pair.mu_static, pair.mu_dynamic = a, b, mu_static, mu_dynamic


def has_pair_shown(settings: PropertyGroup) -> bool:
    """Return True if the index of the displayed pair, which may be any number in a file, is valid."""
    return 0 <= settings.pair_index < len(settings.pairs)


def materials_in(scene: Scene) -> set[str]:
    world = scene.rigidbody_world
    members = world.collection.all_objects if world is not None and world.collection is not None else ()
    return {ob.stiction.material for ob in members if ob.rigid_body is not None} - {""}


def presets_folder(*, create: bool = False) -> Path:
    """Return the folder of the user's own tables, among Blender's other presets."""
    return Path(bpy.utils.user_resource("SCRIPTS", path=PRESETS, create=create))


class STICTION_OT_add_pair(Operator):
    """Add a pair of materials, by default those of the active and of another selected object"""

    bl_idname = "stiction.add_pair"
    bl_label = "Add Pair"
    bl_options = UNDOABLE

    def execute(self, context: Context) -> set[str]:
        settings = context.scene.stiction
        chosen = [context.object, *(ob for ob in context.selected_objects if ob != context.object)]
        names = [ob.stiction.material for ob in chosen if ob is not None and ob.rigid_body is not None and ob.stiction.material]
        a, b = (*names[:2], "", "")[:2]
        known = PAIRS.get((a, b)) or PAIRS.get((b, a)) or {"static": 0.5, "dynamic": 0.5}
        pair = settings.pairs.add()
        pair.a, pair.b, pair.mu_static, pair.mu_dynamic = a, b, known["static"], known["dynamic"]
        settings.pair_index = len(settings.pairs) - 1
        return {"FINISHED"}


class STICTION_OT_remove_pair(Operator):
    """Remove the pair; the scene's rule applies to its materials again"""

    bl_idname = "stiction.remove_pair"
    bl_label = "Remove Pair"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_pair_shown(context.scene.stiction)

    def execute(self, context: Context) -> set[str]:
        settings = context.scene.stiction
        settings.pairs.remove(settings.pair_index)
        settings.pair_index = max(0, min(settings.pair_index, len(settings.pairs) - 1))
        # As when a preset is applied, this outdates a bake.
        context.scene.update_tag()
        return {"FINISHED"}


class STICTION_OT_add_published_pairs(Operator):
    """Add the published friction of all pairs of materials of objects in this scene"""

    bl_idname = "stiction.add_published_pairs"
    bl_label = "Add Published Pairs"
    bl_options = UNDOABLE

    which: EnumProperty(
        name="Pairs",
        items=(
            ("USED", "Of This Scene", "Pairs of materials of objects in this scene"),
            ("ALL", "All", "All published pairs"),
        ),
    )

    def execute(self, context: Context) -> set[str]:
        used = materials_in(context.scene)
        chosen = {names: pair for names, pair in PAIRS.items() if self.which == "ALL" or used.issuperset(names)}
        for (a, b), pair in chosen.items():
            add_pair(context.scene, a, b, pair["static"], pair["dynamic"])
        if not chosen:
            self.report({"WARNING"}, "No two materials of this scene have published friction; choose Materials of objects")
            return {"CANCELLED"}
        self.report({"INFO"}, f"{len(chosen)} pairs")
        return {"FINISHED"}


class STICTION_OT_save_pairs(Operator):
    """Save the table of pairs as your own preset, for other scenes and files"""

    bl_idname = "stiction.save_pairs"
    bl_label = "Save Pairs"
    bl_options = {"REGISTER"}  # noqa: RUF012 (as Blender wants it)

    preset: StringProperty(name="Name", description="Name of the preset", default="My Pairs")

    @classmethod
    def poll(cls, context: Context) -> bool:
        return len(context.scene.stiction.pairs) > 0

    def invoke(self, context: Context, event: bpy.types.Event) -> set[str]:
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context: Context) -> set[str]:
        name = bpy.path.clean_name(self.preset)
        if not name:
            self.report({"ERROR"}, "The preset needs a name")
            return {"CANCELLED"}
        entries = [
            {"materials": [pair.a, pair.b], "friction": {"static": pair.mu_static, "dynamic": pair.mu_dynamic}}
            for pair in context.scene.stiction.pairs
        ]
        file = presets_folder(create=True) / f"{name}.json"
        try:
            file.write_text(json.dumps({"pairs": entries}, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            self.report({"ERROR"}, f"{file} cannot be written: {error}")
            return {"CANCELLED"}
        self.report({"INFO"}, f"Saved as {file}")
        return {"FINISHED"}


class STICTION_OT_load_pairs(Operator):
    """Add the pairs of this preset to the scene"""

    bl_idname = "stiction.load_pairs"
    bl_label = "Load Pairs"
    bl_options = UNDOABLE

    filepath: StringProperty(subtype="FILE_PATH", options={"SKIP_SAVE"})

    def execute(self, context: Context) -> set[str]:
        try:
            pairs = list(read(Path(self.filepath)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.report({"ERROR"}, f"{self.filepath} is not a table of pairs: {error}")
            return {"CANCELLED"}
        for a, b, mu_static, mu_dynamic in pairs:
            add_pair(context.scene, a, b, mu_static, mu_dynamic)
        return {"FINISHED"}


def read(file: Path) -> Iterable[tuple[str, str, float, float]]:
    for pair in json.loads(file.read_text(encoding="utf-8"))["pairs"]:
        a, b = pair["materials"]
        yield str(a), str(b), float(pair["friction"]["static"]), float(pair["friction"]["dynamic"])


class STICTION_MT_pairs(Menu):
    bl_label = "Pairs"
    bl_description = "Published pairs, and your own tables"

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.operator("stiction.add_published_pairs", text="Published Pairs of This Scene").which = "USED"
        layout.operator("stiction.add_published_pairs", text="All Published Pairs").which = "ALL"
        layout.separator()
        folder = presets_folder()
        for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            layout.operator("stiction.load_pairs", text=file.stem).filepath = str(file)
        layout.operator("stiction.save_pairs", text="Save as Preset", icon="ADD")


class STICTION_UL_pairs(UIList):
    def draw_item(
        self,
        context: Context,
        layout: UILayout,
        data: bpy.types.AnyType,
        item: bpy.types.PropertyGroup,
        icon: int,
        active_data: bpy.types.AnyType,
        active_property: str,
    ) -> None:
        # The dynamic coefficient is below the list, because names need the space here.
        row = layout.split(factor=0.75)
        row.label(text=item.name)
        row.label(text=f"{item.mu_static:.2f}")


class STICTION_PT_scene_pairs(MorePanel, Panel):
    bl_label = "Pairs"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        settings = context.scene.stiction
        row = layout.row()
        row.template_list("STICTION_UL_pairs", "", settings, "pairs", settings, "pair_index", rows=4)
        buttons = row.column(align=True)
        buttons.operator("stiction.add_pair", text="", icon="ADD")
        buttons.operator("stiction.remove_pair", text="", icon="REMOVE")
        buttons.separator()
        buttons.menu("STICTION_MT_pairs", text="", icon="DOWNARROW_HLT")
        if has_pair_shown(settings):
            pair = settings.pairs[settings.pair_index]
            layout.use_property_split = True
            layout.use_property_decorate = False
            column = layout.column()
            column.prop(pair, "a")
            column.prop(pair, "b")
            column = layout.column(align=True)
            column.prop(pair, "mu_static", text="Friction")
            column.prop(pair, "mu_dynamic", text="Dynamic")


CLASSES = (
    STICTION_OT_add_pair,
    STICTION_OT_remove_pair,
    STICTION_OT_add_published_pairs,
    STICTION_OT_save_pairs,
    STICTION_OT_load_pairs,
    STICTION_MT_pairs,
    STICTION_UL_pairs,
    STICTION_PT_scene_pairs,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
