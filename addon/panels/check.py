# SPDX-License-Identifier: GPL-3.0-or-later
"""Check Scene: lists problems and warnings before a bake, selects the objects, and fixes what one click can fix."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import bpy
from bpy.props import EnumProperty, FloatProperty, IntProperty
from bpy.types import Context, Event, Operator, OperatorProperties, Panel, UILayout

from ..blender.cooperative import Step, Steps, aside, at_once
from ..blender.label_wrapping import characters_in_row, draw_wrapped
from ..blender.poll import load_what_reads, may_read_scene
from ..blender.reading_operator import ReadingOperator
from ..blender.redraw import redraw
from .ui import SceneChildPanel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..bake.findings import Contacts, Finding

__all__ = ["register", "unregister"]

MOST_SHOWN = 20
MOST_NAMED = 3
MOST_CHANGES = 5
ICONS = {"ERROR": "CANCEL", "WARNING": "ERROR", "INFO": "INFO"}
# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}
LOADS = "breaking_threshold"  # field of the loads of breakable constraints


class STICTION_OT_check_scene(ReadingOperator, Operator):
    """List problems and warnings of the scene before it is baked"""

    bl_idname = "stiction.check_scene"
    bl_label = "Check Scene"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return may_read_scene(cls, context)

    def execute(self, context: Context) -> set[str]:
        contacts = at_once(self.beginning(context))
        if contacts is not None:
            self.finish(context, contacts)
        return {"FINISHED"}

    def invoke(self, context: Context, event: Event) -> set[str]:
        state = self.begin_reading(context, self.beginning(context))
        self._number = context.window_manager.stiction.check_number
        return state

    def has_read(self, context: Context) -> set[str]:
        if self.work is not None:
            self.show_status(context, "Checking contacts")
            return {"RUNNING_MODAL"}
        self.leave(context)
        return {"FINISHED"}

    def has_stopped_reading(self, context: Context) -> None:
        context.window_manager.stiction.was_checked = False

    def show_step(self, context: Context, step: Step) -> None:
        self.show_status(context, step.status)

    def show_status(self, context: Context, status: str) -> None:
        context.window_manager.stiction.check_status = status
        redraw()

    def modal(self, context: Context, event: Event) -> set[str]:
        if self.work is None:
            return self.modal_while_reading(context, event)
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        is_latest = context.window_manager.stiction.check_number == self._number
        if is_latest and self.work.runs:
            return {"PASS_THROUGH"}
        self.remove_timer(context)
        if is_latest:
            self.finish(context, self.work)
        else:
            self.work.end()
        redraw()
        return {"FINISHED"}

    def leave(self, context: Context) -> None:
        self.remove_timer(context)
        context.window_manager.stiction.is_checking = False
        redraw()

    def cancel(self, context: Context) -> None:
        """Blender quits or loads another file."""
        self.remove_timer(context)
        if self.work is None:
            self._turns.end()
        else:
            self.work.end()

    def beginning(self, context: Context) -> Steps[Contacts | None]:
        """The steps after which the contact check starts, if the scene can be baked."""
        session = context.window_manager.stiction
        session.findings.clear()
        session.check_number += 1
        session.was_checked = session.is_checking = True
        session.checked_scene, session.checked_from = str(context.scene.session_uid), ""
        session.changes_since_check = ""
        yield from load_what_reads()
        from ..bake.bake_files import cache_folder
        from ..bake.findings import Contacts, Finding, looking
        from ..bake.outdated import note_check
        from ..bake.worker import WorkerError

        # Before the scene is read, so that a change while the contacts are checked counts.
        note_check(context)
        try:
            found = yield from looking(context)
        except ReferenceError:
            message = "the scene was changed while it was read; check it again"
            tell(context, [Finding("ERROR", (), "scene", message)])
            return None
        tell(context, found.findings)
        if found.sound is None:
            return None
        try:
            return (yield from aside("Writing the scene", partial(Contacts, found.sound, cache_folder(context.scene))))
        except (WorkerError, OSError) as error:
            tell(context, [Finding("ERROR", (), "contacts", f"contacts cannot be checked: {error}")])
            return None

    def finish(self, context: Context, contacts: Contacts) -> None:
        from ..bake.bending import tell_flexible

        try:
            tell(context, contacts.findings())
            tell_flexible(context.window_manager, context.scene, contacts.flexible)
        finally:
            contacts.end()
            context.window_manager.stiction.is_checking = False
        count = len(context.window_manager.stiction.findings)
        self.report({"INFO"}, f"{count} found" if count else "No problems found")


def tell(context: Context, findings: Iterable[Finding]) -> None:
    """Add findings to those that the panel shows, the worst first."""
    session = context.window_manager.stiction
    for finding in findings:
        line = session.findings.add()
        line.name, line.level, line.field = finding.message, finding.level, finding.field
        for row, name in enumerate(finding.objects):
            item = line.objects.add()
            item.name = name
            item.value = finding.values[row] if finding.values else 0.0
    order = list(ICONS)
    for end in range(1, len(session.findings)):
        place = end
        while place and order.index(session.findings[place].level) < order.index(session.findings[place - 1].level):
            session.findings.move(place, place - 1)
            place -= 1


def check_again() -> None:
    bpy.ops.stiction.check_scene("EXEC_DEFAULT" if bpy.app.background else "INVOKE_DEFAULT")


class FindingOperator:
    index: IntProperty(options={"HIDDEN", "SKIP_SAVE"})

    def finding(self, context: Context) -> bpy.types.PropertyGroup | None:
        findings = context.window_manager.stiction.findings
        return findings[self.index] if self.index < len(findings) else None

    def objects(self, context: Context) -> list[bpy.types.Object]:
        from ..bake.findings import objects_of

        finding = self.finding(context)
        return [] if finding is None else objects_of(context.scene, [item.name for item in finding.objects])


class STICTION_OT_select_found(FindingOperator, Operator):
    """Select the objects of this problem"""

    bl_idname = "stiction.select_found"
    bl_label = "Select"
    bl_options = UNDOABLE

    def execute(self, context: Context) -> set[str]:
        objects = [ob for ob in self.objects(context) if ob.visible_get() and not ob.hide_select]
        if not objects:
            self.report({"WARNING"}, "None of the objects can be selected; they may be hidden or deleted")
            return {"CANCELLED"}
        for ob in context.selected_objects:
            ob.select_set(False)
        for ob in objects:
            ob.select_set(True)
        context.view_layer.objects.active = objects[0]
        return {"FINISHED"}


class STICTION_OT_mend_found(FindingOperator, Operator):
    """Fix this problem and check again"""

    bl_idname = "stiction.mend_found"
    bl_label = "Fix"
    bl_options = UNDOABLE

    @classmethod
    def description(cls, context: Context, properties: OperatorProperties) -> str:
        from ..bake.quick_fixes import MENDS

        findings = context.window_manager.stiction.findings
        mend = MENDS.get(findings[properties.index].field) if properties.index < len(findings) else None
        return "" if mend is None else f"{mend.tip}, and check again"

    def execute(self, context: Context) -> set[str]:
        from ..bake.quick_fixes import Mend, mend_for

        finding, objects = self.finding(context), self.objects(context)
        mend = None if finding is None else mend_for(finding.field, objects)
        if mend is None:
            self.report({"WARNING"}, "This problem can no longer be fixed; check the scene again")
            return {"CANCELLED"}
        if isinstance(mend, Mend):
            for ob in objects:
                if mend.helps(ob):
                    mend.do(context.scene, ob)
        else:
            mend.do(context.scene)
        check_again()
        return {"FINISHED"}


class STICTION_OT_set_thresholds(FindingOperator, Operator):
    """Set the breaking thresholds to a multiple of the constraints' initial loads, and check again"""

    bl_idname = "stiction.set_thresholds"
    bl_label = "Set Thresholds"
    bl_options = UNDOABLE

    factor: FloatProperty(name="Factor", description="Multiple of the load", default=2.0, min=1.001, soft_max=10.0)
    of: EnumProperty(
        name="Relative To",
        items=(
            ("MOST", "Largest Load", "One threshold for all constraints: a multiple of the largest load"),
            ("EACH", "Own Load", "A separate threshold for each constraint: a multiple of its load"),
        ),
    )

    def invoke(self, context: Context, event: Event) -> set[str]:
        return context.window_manager.invoke_props_dialog(self)

    def execute(self, context: Context) -> set[str]:
        from ..bake.quick_fixes import has_constraint

        finding = self.finding(context)
        bears = {} if finding is None else {item.name: item.value for item in finding.objects}
        objects = [ob for ob in self.objects(context) if has_constraint(ob)]
        if finding is None or finding.field != LOADS or not objects:
            self.report({"WARNING"}, "The constraints no longer exist; check the scene again")
            return {"CANCELLED"}
        largest = max(bears.values())
        for ob in objects:
            load = bears[ob.name_full] if self.of == "EACH" else largest
            # Constraints without load, as in free fall, keep their threshold.
            if load > 0.0:
                ob.rigid_body_constraint.breaking_threshold = self.factor * load
        check_again()
        return {"FINISHED"}


class STICTION_PT_scene_check(SceneChildPanel, Panel):
    bl_label = "Check"
    # Directly below the button beside Bake, before the other panels.
    bl_order = 0

    @classmethod
    def poll(cls, context: Context) -> bool:
        session = context.window_manager.stiction
        is_of_scene = session.was_checked and session.checked_scene == str(context.scene.session_uid)
        return super().poll(context) and is_of_scene

    def draw(self, context: Context) -> None:
        session = context.window_manager.stiction
        layout = self.layout
        width = characters_in_row(context)
        changes = session.changes_since_check.splitlines()
        if changes and not session.is_checking:
            draw_outdated(layout, changes, width)
        for index, finding in enumerate(list(session.findings)[:MOST_SHOWN]):
            draw_finding(layout, context, index, finding, width)
        if len(session.findings) > MOST_SHOWN:
            layout.label(text=f"and {len(session.findings) - MOST_SHOWN} more", icon="BLANK1")
        if session.is_checking:
            draw_wrapped(layout, session.check_status, "TEMP", width)
        elif session.was_checked and not session.findings:
            layout.label(text="No problems found", icon="BLANK1" if changes else "CHECKMARK")


def draw_outdated(layout: UILayout, changes: list[str], width: int) -> None:
    """Draw the changes of the scene since its check. The findings remain, because a user fixes them one by one."""
    column = layout.column(align=True)
    draw_wrapped(column, "Outdated. Changed since the check:", "ERROR", width)
    for line in changes[:MOST_CHANGES]:
        draw_wrapped(column, line, "DOT", width)
    if len(changes) > MOST_CHANGES:
        column.label(text=f"and {len(changes) - MOST_CHANGES} more", icon="BLANK1")
    column.operator("stiction.check_scene", text="Check Again", icon="FILE_REFRESH")


def draw_finding(layout: UILayout, context: Context, index: int, finding: bpy.types.PropertyGroup, width: int) -> None:
    from ..bake.findings import objects_of
    from ..bake.quick_fixes import mend_for

    names = [item.name for item in finding.objects]
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    box = layout.box().column(align=True)
    is_named = all(name in finding.name for name in names)
    draw_wrapped(box, sentence(finding.name) if is_named else f"{shown}: {finding.name}", ICONS[finding.level], width)
    objects = objects_of(context.scene, names)
    mend = mend_for(finding.field, objects)
    row = box.row(align=True)
    if objects:
        # Beside a button with a label there is no space for more text.
        text = "Select" if mend is None and finding.field != LOADS else ""
        row.operator("stiction.select_found", text=text, icon="RESTRICT_SELECT_OFF").index = index
    if mend is not None:
        row.operator("stiction.mend_found", text=mend.label, icon="TOOL_SETTINGS").index = index
    if objects and finding.field == LOADS:
        row.operator("stiction.set_thresholds", icon="TOOL_SETTINGS").index = index


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


CLASSES = (
    STICTION_OT_check_scene,
    STICTION_OT_select_found,
    STICTION_OT_mend_found,
    STICTION_OT_set_thresholds,
    STICTION_PT_scene_check,
)

register, unregister = bpy.utils.register_classes_factory(CLASSES)
