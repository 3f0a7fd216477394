# SPDX-License-Identifier: GPL-3.0-or-later
"""The operator *Settle*, which drops objects until they rest."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Operator

from ...solver_core.io.outputs import REPORT, refuse_output, write_output
from ...solver_core.validation.findings import SceneError
from ..bake.worker import WorkerError
from ..blender.cooperative import Step, Steps, at_once
from ..blender.poll import is_idle, load_what_reads
from ..blender.reading_operator import ReadingOperator, is_escape, is_navigation, show_in_status_bar

if TYPE_CHECKING:
    from .reading import Drop, Options
    from .work import Settling

__all__ = ["register", "unregister"]

POLL_SECONDS = 0.1
DIALOG_WIDTH = 340
# Blender wants a plain set; this one is never changed.
UNDO_ONLY = {"UNDO"}


class STICTION_OT_settle(ReadingOperator, Operator):
    """Drop the selected objects until they rest on the rigid bodies around them, and leave them there; Esc stops"""

    bl_idname = "stiction.settle"
    bl_label = "Settle"
    # Not REGISTER: the panel Adjust Last Operation would settle again at every change.
    bl_options = UNDO_ONLY

    whole_world: BoolProperty(
        name="Whole World", description="Settle all active rigid bodies, not only the selected ones", default=False
    )
    land_on: EnumProperty(
        name="Land On",
        description="Objects on which the selected ones may come to rest, in addition to each other",
        items=(
            ("BODIES", "Rigid Bodies", "The other rigid bodies of the scene, which do not move"),
            ("MESHES", "Visible Meshes", "All visible mesh objects, and the other rigid bodies"),
        ),
    )
    max_seconds: FloatProperty(
        name="Maximum Time",
        description="Simulated time after which settling ends, even if some objects still move",
        default=10.0,
        min=0.1,
        soft_max=60.0,
        max=3600.0,
        precision=1,
        subtype="TIME_ABSOLUTE",
        unit="TIME_ABSOLUTE",
    )
    use_gravity: BoolProperty(name="Override Gravity", description="Use a gravity different from that of the scene")
    gravity: FloatVectorProperty(
        name="Gravity",
        description="Direction and strength of gravity while the objects settle",
        default=(0.0, 0.0, -9.81),
        subtype="ACCELERATION",
        unit="ACCELERATION",
    )
    bodies: EnumProperty(
        name="Rigid Bodies",
        description="Rigid bodies of the objects after settling",
        items=(
            ("AS_BEFORE", "As Before", "Objects with a rigid body keep it, others get none"),
            ("ADD", "Add", "Objects without a rigid body become active ones"),
            ("REMOVE", "Remove", "The objects lose their rigid bodies, as for a still image"),
        ),
    )
    seed: IntProperty(name="Seed", description="Seed of the random start", default=0, min=0)
    distance: FloatProperty(
        name="Randomize Location",
        description="Largest random displacement of each object before it is dropped",
        default=0.0,
        min=0.0,
        soft_max=1.0,
        subtype="DISTANCE",
        unit="LENGTH",
    )
    angle: FloatProperty(
        name="Randomize Rotation",
        description="Largest random rotation of each object before it is dropped",
        default=0.0,
        min=0.0,
        max=math.pi,
        subtype="ANGLE",
        unit="ROTATION",
    )
    report_path: StringProperty(
        name="Report",
        description="File for a JSON report of the poses, and of which objects rest",
        subtype="FILE_PATH",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    _from_dialog = False

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.mode != "OBJECT":
            cls.poll_message_set("Objects settle in Object Mode")
            return False
        return is_idle(cls, context)

    def invoke(self, context: Context, event: Event) -> set[str]:
        if bpy.app.background:
            return self.execute(context)
        self._from_dialog = True
        return context.window_manager.invoke_props_dialog(self, width=DIALOG_WIDTH)

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "whole_world")
        layout.prop(self, "land_on")
        layout.prop(self, "max_seconds")
        column = layout.column()
        column.prop(self, "use_gravity")
        gravity_column = column.column()
        gravity_column.active = self.use_gravity
        gravity_column.prop(self, "gravity")
        layout.prop(self, "bodies")
        column = layout.column(align=True)
        column.prop(self, "distance")
        column.prop(self, "angle")
        seed = column.column()
        seed.active = self.distance > 0.0 or self.angle > 0.0
        seed.prop(self, "seed")

    def execute(self, context: Context) -> set[str]:
        self._drop: Drop | None = None
        if self._from_dialog:
            self._from_dialog = False
            context.window_manager.stiction.is_reading = True
            return self.begin_reading(context, self.beginning(context))
        with self.told(context):
            work = at_once(self.beginning(context))
            work.run(lambda _status: None)
            return self.end(context, work)
        return {"CANCELLED"}

    def has_read(self, context: Context) -> set[str]:
        self.poll_every(context, POLL_SECONDS)
        self._said = ""
        return {"RUNNING_MODAL"}

    def has_stopped_reading(self, context: Context) -> None:
        self.report({"INFO"}, "Stopped, and nothing was changed")

    def modal(self, context: Context, event: Event) -> set[str]:
        if self.work is None:
            return self.modal_while_reading(context, event)
        if is_escape(event):
            self.work.cancel()
            self.leave(context)
            self.has_stopped_reading(context)
            return {"CANCELLED"}
        if event.type != "TIMER":
            # Other input would reach a scene that is being settled.
            return {"PASS_THROUGH"} if is_navigation(event) else {"RUNNING_MODAL"}
        if not self.work.poll():
            if self.work.status != self._said:
                self._said = self.work.status
                show_in_status_bar(context, f"Settle, {self._said}")
            return {"RUNNING_MODAL"}
        self.leave(context)
        with self.told(context):
            return self.end(context, self.work)
        return {"CANCELLED"}

    def cancel(self, context: Context) -> None:
        """Blender quits or loads another file, so nobody will read the output of the process."""
        if self.work is None:
            self._turns.end()
        else:
            self.work.cancel()
        self.leave(context)

    def beginning(self, context: Context) -> Steps[Settling]:
        """The steps after which the process starts."""
        if self.report_path:
            refuse_output(self.report_file(), REPORT)
        yield from load_what_reads()
        from .reading import reading
        from .work import Settling

        selected = () if self.whole_world else tuple(context.selected_objects)
        self._drop = yield from reading(context, selected, self.wanted())
        return Settling(self._drop, self.max_seconds, context.scene.stiction.threads)

    def wanted(self) -> Options:
        """Return the requested options."""
        from .choice import LandOn
        from .reading import Options

        return Options(
            land_on=LandOn[self.land_on],
            max_seconds=self.max_seconds,
            gravity=tuple(self.gravity) if self.use_gravity else None,
            seed=self.seed,
            distance=self.distance,
            angle=self.angle,
        )

    def report_file(self) -> Path:
        """Return the path of the report."""
        return Path(bpy.path.abspath(self.report_path))

    @contextmanager
    def told(self, context: Context) -> Iterator[None]:
        """Report errors that prevent settling; the block ends there."""
        from .report import describe

        try:
            yield
        except SceneError as error:
            self.report({"ERROR"}, describe(error.problems))
        except (WorkerError, OSError) as error:
            self.report({"ERROR"}, f"Nothing can settle: {error}")
        except ReferenceError:
            self.report({"ERROR"}, "The scene was changed while it was read; settle again")

    def end(self, context: Context, work: Settling) -> set[str]:
        """Place the objects and report the result."""
        from .place import Bodies, place_settled
        from .report import report_bytes, summary, troubles

        assert self._drop is not None
        if work.outcome is None:
            self.report({"ERROR"}, f"Not settled, and nothing was changed: {work.error}")
            return {"CANCELLED"}
        options, outcome = self.wanted(), work.outcome
        placed = place_settled(context, self._drop, outcome, Bodies[self.bodies], always=options.changes_start)
        for note in (*self._drop.notes, *placed.notes, *troubles(outcome, self.max_seconds)):
            self.report({"WARNING"}, note[0].upper() + note[1:])
        self.report({"INFO"}, summary(outcome, placed))
        if self.report_path:
            write_output(self.report_file(), REPORT, report_bytes(self._drop, options, outcome, placed))
        return {"FINISHED"}

    def show_step(self, context: Context, step: Step) -> None:
        show_in_status_bar(context, f"Settle, {step.status}")

    def leave(self, context: Context) -> None:
        self.remove_timer(context)
        context.window_manager.stiction.is_reading = False
        show_in_status_bar(context, None)


def register() -> None:
    """Add the operator."""
    bpy.utils.register_class(STICTION_OT_settle)


def unregister() -> None:
    """Undo `register`."""
    bpy.utils.unregister_class(STICTION_OT_settle)
