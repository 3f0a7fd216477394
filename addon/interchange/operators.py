# SPDX-License-Identifier: GPL-3.0-or-later
"""File > Import and Export: scenes with rigid bodies in USD and glTF, also by dropping files into a window."""
# pyright: reportInvalidTypeForm=false, reportMissingImports=false

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, StringProperty
from bpy.types import Context, Menu, Operator
from bpy_extras.io_utils import ExportHelper, ImportHelper, poll_file_object_drop

from ...solver_core.validation.findings import SceneError
from ..blender.poll import is_idle, may_read_scene

if TYPE_CHECKING:
    from ...solver_core.interchange.described import Found

__all__ = ["register", "unregister"]

# Blender wants plain sets; these are never changed.
EXPORT_OPTIONS = {"PRESET"}
IMPORT_OPTIONS = {"REGISTER", "UNDO", "PRESET"}
USD, GLTF = "Stiction Physics (.usd/.usda/.usdc)", "Stiction Physics (.glb/.gltf)"


class Export(ExportHelper):
    """Writes the rigid bodies, their joints, and the motion of their bake."""

    bl_options = EXPORT_OPTIONS
    check_extension = None
    instances = False

    @classmethod
    def poll(cls, context: Context) -> bool:
        """Return True if there is something to write."""
        return may_read_scene(cls, context)

    def execute(self: Operator, context: Context) -> set[str]:
        """Write it."""
        from .transfer import export_scene

        file = Path(bpy.path.abspath(self.filepath))
        try:
            found = export_scene(context, file, instances=self.instances)
        except (SceneError, OSError) as error:
            self.report({"ERROR"}, f"{file} cannot be written: {error}")
            return {"CANCELLED"}
        tell(self, found)
        self.report({"INFO"}, f"Written to {file.name}")
        return {"FINISHED"}


class Import(ImportHelper):
    """Adds the rigid bodies and constraints of a file; all of them, or none after an error."""

    bl_options = IMPORT_OPTIONS

    @classmethod
    def poll(cls, context: Context) -> bool:
        """Return True if objects can be added."""
        if context.mode != "OBJECT":
            cls.poll_message_set("Objects are added in Object Mode")
            return False
        return is_idle(cls, context)

    def invoke(self: Operator, context: Context, event: bpy.types.Event) -> set[str]:
        """Ask for the file or, for a dropped file, for the options."""
        return self.invoke_popup(context)

    def execute(self: Operator, context: Context) -> set[str]:
        """Add what it has."""
        from .transfer import import_scene

        file = Path(bpy.path.abspath(self.filepath))
        try:
            collection, found = import_scene(context, file, with_settings=self.with_settings)
        except (SceneError, OSError) as error:
            self.report({"ERROR"}, f"Nothing was imported: {error}")
            return {"CANCELLED"}
        tell(self, found)
        self.report({"INFO"}, f"{len(collection.objects)} objects are in the collection {collection.name}")
        return {"FINISHED"}


def tell(operator: Operator, found: Found) -> None:
    """Report omitted and altered features."""
    from ...solver_core.interchange.described import together
    from ...solver_core.validation.findings import first_few

    for warning in together(found.warnings):
        operator.report({"WARNING"}, f"{first_few(warning.objects)}: {warning.field}: {warning.message}")


def settings_property() -> BoolProperty:
    return BoolProperty(
        name="Scene Settings",
        description="Set the gravity, the frame range and rate, and the friction rule of the scene from the file",
        default=True,
    )


class STICTION_OT_export_usd(Export, Operator):
    """Write rigid bodies, constraints and baked motion as USD with the physics schema"""

    bl_idname = "stiction.export_usd"
    bl_label = "Export Physics to USD"
    filename_ext = ".usdc"

    filter_glob: StringProperty(default="*.usd;*.usda;*.usdc", options={"HIDDEN"})
    instances: BoolProperty(
        name="Instances",
        description="Write equal bodies without constraints as one point instancer of each kind",
    )


class STICTION_OT_import_usd(Import, Operator):
    """Add the rigid bodies and joints of a USD file with the physics schema"""

    bl_idname = "stiction.import_usd"
    bl_label = "Import Physics from USD"
    filename_ext = ".usd"

    filter_glob: StringProperty(default="*.usd;*.usda;*.usdc;*.usdz", options={"HIDDEN"})
    with_settings: settings_property()


class STICTION_OT_export_gltf(Export, Operator):
    """Write rigid bodies, constraints and baked motion as glTF with the extension KHR_physics_rigid_bodies"""

    bl_idname = "stiction.export_gltf"
    bl_label = "Export Physics to glTF"
    filename_ext = ".glb"

    filter_glob: StringProperty(default="*.glb;*.gltf", options={"HIDDEN"})


class STICTION_OT_import_gltf(Import, Operator):
    """Add the rigid bodies and joints of a glTF file with the extension KHR_physics_rigid_bodies"""

    bl_idname = "stiction.import_gltf"
    bl_label = "Import Physics from glTF"
    filename_ext = ".glb"

    filter_glob: StringProperty(default="*.glb;*.gltf", options={"HIDDEN"})
    with_settings: settings_property()


class Dropped:
    """Files that are dropped into a window."""

    @classmethod
    def poll_drop(cls, context: Context) -> bool:
        """Return True if files can be dropped."""
        return poll_file_object_drop(context)


class STICTION_FH_usd(Dropped, bpy.types.FileHandler):
    bl_idname = "STICTION_FH_usd"
    bl_label = "Stiction Physics"
    bl_import_operator = "stiction.import_usd"
    bl_file_extensions = ".usd;.usda;.usdc;.usdz"


class STICTION_FH_gltf(Dropped, bpy.types.FileHandler):
    bl_idname = "STICTION_FH_gltf"
    bl_label = "Stiction Physics"
    bl_import_operator = "stiction.import_gltf"
    bl_file_extensions = ".glb;.gltf"


def draw_import(self: Menu, context: Context) -> None:
    self.layout.operator("stiction.import_usd", text=USD)
    self.layout.operator("stiction.import_gltf", text=GLTF)


def draw_export(self: Menu, context: Context) -> None:
    self.layout.operator("stiction.export_usd", text=USD)
    self.layout.operator("stiction.export_gltf", text=GLTF)


CLASSES = (
    STICTION_OT_export_usd,
    STICTION_OT_import_usd,
    STICTION_OT_export_gltf,
    STICTION_OT_import_gltf,
    STICTION_FH_usd,
    STICTION_FH_gltf,
)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add the operators, to the menus too."""
    register_classes()
    bpy.types.TOPBAR_MT_file_import.append(draw_import)
    bpy.types.TOPBAR_MT_file_export.append(draw_export)


def unregister() -> None:
    """Undo `register`."""
    bpy.types.TOPBAR_MT_file_export.remove(draw_export)
    bpy.types.TOPBAR_MT_file_import.remove(draw_import)
    unregister_classes()
