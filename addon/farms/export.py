# SPDX-License-Identifier: GPL-3.0-or-later
"""*Export Farm Job*: writes the job of the scene to a file chosen in a dialog."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Operator, Scene

from ..blender.export_operator import ExportOperator
from .kinds import FARMS
from .written import job_of, surprises_of, write_job

__all__ = ["register", "unregister"]

ITEMS = [
    ("openjd", "OpenJD", "Job template of Open Job Description, for AWS Deadline Cloud and others"),
    ("flamenco", "Flamenco", "Job type for the scripts folder of a Flamenco manager"),
    ("opencue", "OpenCue", "Outline for pycuerun"),
]


class STICTION_OT_export_farm_job(ExportOperator, Operator):
    """Write a job that bakes this file on one machine of a render farm and renders it by frames on all of them"""

    bl_idname = "stiction.export_farm_job"
    bl_label = "Export Farm Job"

    farm: EnumProperty(name="Farm", description="Render farm that runs the job", items=ITEMS)
    filter_glob: StringProperty(default="*.json;*.js;*.py", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.scene.rigidbody_world is None:
            cls.poll_message_set("The scene has no rigid bodies")
            return False
        if not bpy.data.filepath:
            cls.poll_message_set("Save the file first, where the farm finds it")
            return False
        return True

    def ending(self) -> str:
        return f"job{FARMS[self.farm].ending}"

    def check(self, context: Context) -> bool:
        """Let the name end with what the farm beside it wants."""
        path, ending = Path(self.filepath), FARMS[self.farm].ending
        if path.suffix == ending:
            return False
        known = path.suffix in {farm.ending for farm in FARMS.values()}
        self.filepath = str(path.with_suffix(ending) if known else path.with_name(path.name + ending))
        return True

    def write(self, scene: Scene, file: Path) -> str:
        for sentence in surprises_of(scene):
            self.report({"WARNING"}, sentence[:1].upper() + sentence[1:])
        if bpy.data.is_dirty:
            self.report({"WARNING"}, "The farm bakes the saved file, which has changed since; save it")
        write_job(FARMS[self.farm], job_of(scene), file)
        return f"Wrote {file}"


def register() -> None:
    """Add the operator."""
    bpy.utils.register_class(STICTION_OT_export_farm_job)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_class(STICTION_OT_export_farm_job)
