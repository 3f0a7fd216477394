# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep from the panel: variations of the scene, baked in processes beside Blender, and the sheet that compares them."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.app.handlers import persistent
from bpy.props import EnumProperty
from bpy.types import Context, Event, Operator

from ...solver_core.process.command_line import ExitStatus, UsageError
from ...solver_core.validation.findings import SceneError
from ..bake.job import Event as Said
from ..bake.job import WorkerEnded, WorkerMessage
from ..bake.worker import WorkerError
from ..blender.cooperative import Step, Steps, aside, at_once
from ..blender.poll import is_idle, load_what_reads
from ..blender.reading_operator import ReadingOperator, is_escape, show_in_status_bar
from ..blender.redraw import redraw
from ..settings.wedge import add_axis, axes_of

if TYPE_CHECKING:
    from .sweep import SweepProcess

__all__ = ["register", "sheet_of", "unregister", "variations_of"]

POLL_SECONDS = 0.25
# Blender wants a plain set; this one is never changed.
UNDOABLE = {"REGISTER", "UNDO"}
# Prefix of messages of the command line, removed in the panel.
OPTION = "--vary "


def variations_of(wedge: bpy.types.PropertyGroup) -> int:
    """Return the number of variations. Raises UsageError with a message for the panel."""
    from ...solver_core.sweep.axes import parse_axes, variations

    try:
        return len(variations(parse_axes(axes_of(wedge))))
    except UsageError as error:
        raise UsageError(str(error).replace(OPTION, "").replace("--vary: ", "")) from error


def sheet_of(wedge: bpy.types.PropertyGroup) -> Path:
    """Return the path of the page."""
    from ...solver_core.sweep.folder import SHEET_PAGE

    return Path(bpy.path.abspath(wedge.folder)) / SHEET_PAGE


class STICTION_OT_wedge(ReadingOperator, Operator):
    """Bake the variations beside Blender and open a sheet that compares them; Esc stops, and the next run continues"""

    bl_idname = "stiction.wedge"
    bl_label = "Sweep"

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.scene.rigidbody_world is None:
            cls.poll_message_set("The scene has no rigid bodies")
            return False
        if context.window_manager.stiction_wedge.is_running:
            cls.poll_message_set("A sweep is running")
            return False
        wedge = context.scene.stiction_wedge
        if not wedge.axes:
            cls.poll_message_set("Nothing is varied; add a parameter with several values")
            return False
        if wedge.folder.startswith("//") and not bpy.data.filepath:
            cls.poll_message_set("Save the file first, because the folder is beside it")
            return False
        return is_idle(cls, context)

    def execute(self, context: Context) -> set[str]:
        self._sheet, self._trouble, self._said = "", [], ""
        with self.told(context):
            process = at_once(self.beginning(context))
            for event in process.new_events(wait=True):
                self.hear(context, event)
            return self.end(context)
        return {"CANCELLED"}

    def invoke(self, context: Context, event: Event) -> set[str]:
        self._sheet, self._trouble, self._said = "", [], ""
        session = context.window_manager.stiction_wedge
        session.is_running, session.is_cancelled, session.factor = True, False, 0.0
        return self.begin_reading(context, self.beginning(context))

    def has_read(self, context: Context) -> set[str]:
        self.poll_every(context, POLL_SECONDS)
        self.show(context, 0.0, "Starting workers")
        return {"RUNNING_MODAL"}

    def has_stopped_reading(self, context: Context) -> None:
        self.report({"INFO"}, "Stopped before the first bake")

    def modal(self, context: Context, event: Event) -> set[str]:
        session = context.window_manager.stiction_wedge
        is_esc = is_escape(event)
        if self.work is None:
            return self.stop_reading(context) if session.is_cancelled else self.modal_while_reading(context, event)
        if (is_esc or session.is_cancelled) and session.status != "Stopping":
            self.work.stop()
            self.show(context, session.factor, "Stopping")
        elif event.type != "TIMER":
            return {"PASS_THROUGH"}
        has_ended = [self.hear(context, message) for message in self.work.new_events()]
        if not any(has_ended):
            return {"RUNNING_MODAL" if is_esc else "PASS_THROUGH"}
        self.leave(context)
        return self.end(context)

    def cancel(self, context: Context) -> None:
        """Blender quits or loads another file, so nobody will read the output of the sweep."""
        if self.work is None:
            self._turns.end()
        else:
            self.work.stop()
        self.leave(context)

    def beginning(self, context: Context) -> Steps[SweepProcess]:
        """The steps after which the sweep starts."""
        session, wedge = context.window_manager.stiction_wedge, context.scene.stiction_wedge
        session.result = session.trouble = session.sheet = ""
        variations_of(wedge)
        yield from load_what_reads()
        from ..read.extract import extracting
        from .sweep import SweepProcess

        arguments = [f"--vary={axis}" for axis in axes_of(wedge)]
        arguments += [f"--workers={wedge.workers}"] if wedge.workers else []
        extraction = yield from extracting(context)
        begin = partial(SweepProcess, extraction.spec, extraction.settings, sheet_of(wedge).parent, arguments)
        return (yield from aside("Writing the scene", begin))

    @contextmanager
    def told(self, context: Context) -> Iterator[None]:
        """Report errors that prevent a sweep from starting; the block ends there."""
        try:
            yield
        except SceneError as error:
            from ..bake.runner import describe

            self.fail(context, describe(error.problems))
        except (UsageError, WorkerError, OSError) as error:
            self.fail(context, f"The sweep cannot start: {error}")
        except ReferenceError:
            self.fail(context, "The scene was changed while it was read; start again")

    def fail(self, context: Context, text: str) -> None:
        context.window_manager.stiction_wedge.trouble = text
        self.report({"ERROR"}, text)

    def hear(self, context: Context, event: Said) -> bool:
        """Process an event of the sweep. Return True if the sweep has ended."""
        if isinstance(event, WorkerEnded):
            if event.status not in (ExitStatus.DONE, ExitStatus.MISSED_TOLERANCE) and not self._trouble:
                self._trouble.append(event.trouble or f"the sweep ended with status {event.status}")
            return True
        record = event.record if isinstance(event, WorkerMessage) else {}
        match record.get("event"):
            case "progress":
                self.show(context, record["share"], " ".join(record["text"].split()))
            case "said":
                self._said = record["text"]
            case "error":
                self._trouble.append(record["text"].replace(OPTION, ""))
            case "sheet":
                self._sheet = record["path"]
        return False

    def show_step(self, context: Context, step: Step) -> None:
        self.show(context, step.share, step.status)

    def show(self, context: Context, factor: float, status: str) -> None:
        session = context.window_manager.stiction_wedge
        session.factor, session.status = factor, status
        if session.is_running:
            show_in_status_bar(context, status)
        redraw()

    def leave(self, context: Context) -> None:
        self.remove_timer(context)
        context.window_manager.stiction_wedge.is_running = False
        show_in_status_bar(context, None)
        redraw()

    def end(self, context: Context) -> set[str]:
        """Report the result, and open the sheet if there is one."""
        session = context.window_manager.stiction_wedge
        session.sheet, session.result = self._sheet, self._said.partition(";")[0]
        if self._trouble:
            self.fail(context, "\n".join(self._trouble))
        elif self._said:
            self.report({"INFO"}, self._said)
        if not self._sheet:
            return {"CANCELLED"}
        if not bpy.app.background:
            bpy.ops.wm.url_open(url=Path(self._sheet).as_uri())
        return {"FINISHED"}


class STICTION_OT_cancel_wedge(Operator):
    """Stop the sweep and keep the finished frames; the next one continues after them"""

    bl_idname = "stiction.cancel_wedge"
    bl_label = "Cancel Sweep"

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not context.window_manager.stiction_wedge.is_running:
            cls.poll_message_set("No sweep is running")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        context.window_manager.stiction_wedge.is_cancelled = True
        return {"FINISHED"}


class STICTION_OT_open_sheet(Operator):
    """Open the sheet in this folder in a browser"""

    bl_idname = "stiction.open_sheet"
    bl_label = "Open Sheet"

    @classmethod
    def poll(cls, context: Context) -> bool:
        if not sheet_of(context.scene.stiction_wedge).is_file():
            cls.poll_message_set("The folder has no sheet yet")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        bpy.ops.wm.url_open(url=sheet_of(context.scene.stiction_wedge).as_uri())
        return {"FINISHED"}


class STICTION_OT_change_wedge_axes(Operator):
    """Add a varied parameter, or remove the selected one"""

    bl_idname = "stiction.change_wedge_axes"
    bl_label = "Change Parameters"
    bl_options = UNDOABLE

    change: EnumProperty(
        name="Change",
        description="Change of the list",
        items=(("ADD", "Add", "Add a varied parameter"), ("REMOVE", "Remove", "Remove the selected parameter")),
    )

    def execute(self, context: Context) -> set[str]:
        wedge = context.scene.stiction_wedge
        if self.change == "ADD":
            add_axis(wedge)
            wedge.axis_index = len(wedge.axes) - 1
        elif 0 <= wedge.axis_index < len(wedge.axes):
            wedge.axes.remove(wedge.axis_index)
            wedge.axis_index = max(0, min(wedge.axis_index, len(wedge.axes) - 1))
        return {"FINISHED"}


CLASSES = (
    STICTION_OT_wedge,
    STICTION_OT_cancel_wedge,
    STICTION_OT_open_sheet,
    STICTION_OT_change_wedge_axes,
)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


@persistent
def forget_session(_file: str) -> None:
    """Reset the state that a file saved during a sweep contains."""
    for manager in bpy.data.window_managers:
        session = manager.stiction_wedge
        session.is_running = False
        session.result = session.trouble = session.sheet = ""


def register() -> None:
    """Add the operators, and look at every file that is opened."""
    register_classes()
    bpy.app.handlers.load_post.append(forget_session)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.load_post.remove(forget_session)
    unregister_classes()
