# SPDX-License-Identifier: GPL-3.0-or-later
"""Statistics of a bake: the panel, a jump to the worst frame and its two bodies, and the certificate as a file."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy.types import Context, Operator, Panel, Scene

from ...solver_core.certificate import certificate_of, write_certificate
from ...solver_core.scene.words import distance, figure
from ..bake.bake_files import cache_path, snapshot_of
from ..blender.export_operator import ExportOperator
from ..blender.label_wrapping import characters_in_row, draw_wrapped
from ..blender.poll import has_bake
from ..output.bake_statistics import BakeFigures
from ..output.cached_contacts import objects_of_bodies
from ..panels.ui import MorePanel

__all__ = ["export", "register", "unregister"]

UNDOABLE = {"REGISTER", "UNDO"}
CLOSED = {"DEFAULT_CLOSED"}
WORST = (
    ("residual", "Residual", "The least accurate frame, and the two bodies at its worst contact"),
    ("overlap", "Overlap", "The frame with the deepest overlap relative to the smaller body, and the two bodies"),
    ("iterations", "Iterations", "The frame that took the most iterations, and the two bodies at its worst contact"),
    ("seconds", "Time", "The slowest frame, and the two bodies at its worst contact"),
    (
        "violations",
        "Violations",
        "The frame with the most violations of the contact law, and its first two bodies",
    ),
)
SUFFIXES = (
    (".html", "Page", "A page with plots, for any browser, offline"),
    (".csv", "Table", "A row of comma-separated values for each frame"),
    (".json", "JSON", "The report, as from the command line"),
)


def export(scene: Scene, file: Path) -> int:
    """Write the certificate of the scene's bake; returns how many steps did not converge. Raises UsageError, OSError,
    CacheError or ContainerError."""
    cache = Path(cache_path(scene))
    report = certificate_of(snapshot_of(cache), cache)
    write_certificate(report, file)
    return report["totals"]["missed_steps"]


class STICTION_OT_jump_to_worst(Operator):
    """Go to the worst frame by a criterion, and select its two bodies"""

    bl_idname = "stiction.jump_to_worst"
    bl_label = "Jump to Worst Frame"
    bl_options = UNDOABLE

    measure: EnumProperty(name="Criterion", description="Criterion of the worst frame", items=WORST)

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_bake(cls, context)

    def execute(self, context: Context) -> set[str]:
        scene = context.scene
        figures = BakeFigures()
        figures.read(scene)
        found = figures.worst(self.measure)
        if found is None:
            self.report({"WARNING"}, "No frame has a value of this kind" if figures.frames else "There are no frames")
            return {"CANCELLED"}
        pairs = {"overlap": found.deepest_pair, "violations": found.violating_pair}
        pair = pairs.get(self.measure, found.worst_pair)
        names = [figures.bodies[body] for body in pair]
        objects = objects_of_bodies(scene)
        scene.frame_set(found.frame)
        for ob in context.selected_objects:
            ob.select_set(False)
        for ob in (objects[name] for name in names if name in objects):
            if ob.name in context.view_layer.objects:
                ob.select_set(True)
                context.view_layer.objects.active = ob
        summary = {
            "residual": f"residual {found.residual:.3g}",
            "overlap": f"overlap {distance(found.overlap)}",
            "iterations": f"{found.iterations} iterations",
            "seconds": f"{figure(found.seconds)} s",
            "violations": f"{found.violations} violations of the contact law",
        }[self.measure]
        self.report({"INFO"}, ": ".join([f"Frame {found.frame}, {summary}", *([" and ".join(names)] if names else [])]))
        return {"FINISHED"}


class STICTION_OT_export_certificate(ExportOperator, Operator):
    """Write the accuracy of the bake, frame by frame, to a file"""

    bl_idname = "stiction.export_certificate"
    bl_label = "Export Accuracy"

    suffix: EnumProperty(name="As", description="Format of the file", items=SUFFIXES)
    filter_glob: StringProperty(default="*.html;*.csv;*.json", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: Context) -> bool:
        return has_bake(cls, context)

    def ending(self) -> str:
        return f"accuracy{self.suffix}"

    def check(self, context: Context) -> bool:
        """Set the extension of the file name to the chosen format."""
        path = Path(self.filepath)
        known = path.suffix in {suffix for suffix, _, _ in SUFFIXES}
        wanted = str(path.with_suffix(self.suffix) if known else path) if path.suffix != self.suffix else self.filepath
        changed, self.filepath = wanted != self.filepath, wanted
        return changed

    def write(self, scene: Scene, file: Path) -> str:
        export(scene, file)
        return f"Wrote {file}"


class STICTION_PT_scene_statistics(MorePanel, Panel):
    bl_label = "Statistics"
    bl_options = CLOSED

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = context.scene.stiction_display
        solved_by = context.scene.stiction.bake.solved_by
        if solved_by:
            draw_wrapped(layout.column(align=True), f"Islands solved: {solved_by}", "INFO", characters_in_row(context))
        layout.prop(settings, "show_statistics", text="In Viewport")
        row = layout.row()
        row.active = settings.show_statistics
        row.prop(settings, "statistics_corner", expand=True)
        column = layout.column(align=True)
        column.label(text="Jump to Worst Frame")
        grid = column.grid_flow(row_major=True, columns=2, even_columns=True, align=True)
        for measure, label, _ in WORST:
            grid.operator("stiction.jump_to_worst", text=label).measure = measure
        column = layout.column(align=True)
        column.label(text="Export Accuracy")
        row = column.row(align=True)
        for suffix, label, _ in SUFFIXES:
            row.operator("stiction.export_certificate", text=label).suffix = suffix


CLASSES = (STICTION_OT_jump_to_worst, STICTION_OT_export_certificate, STICTION_PT_scene_statistics)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add panel and operators."""
    register_classes()


def unregister() -> None:
    """Undo `register`."""
    unregister_classes()
