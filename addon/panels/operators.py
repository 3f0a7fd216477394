# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators Bake, Pause, Cancel, Free Bake and Bake to Keyframes."""
# pyright: reportInvalidTypeForm=false

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import bpy
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, StringProperty
from bpy.types import Context, Event, Operator

from ...solver_core.io.cache import CacheError
from ...solver_core.validation.findings import SceneError
from ..bake.process import Idle
from ..blender.cooperative import Step, Steps, at_once
from ..blender.libraries import baked_elsewhere
from ..blender.poll import is_idle, load_what_reads, may_read_scene
from ..blender.reading_operator import ReadingOperator, is_escape, show_in_status_bar
from ..blender.redraw import redraw
from ..output.channel_tracks import Keys, Tolerance
from ..output.contact_points import remove_points
from ..output.debris import remove_debris
from ..output.keyframes import commit
from ..output.pieces import remove_pieces
from ..output.sound import remove_sound

if TYPE_CHECKING:
    from ..bake.runner import Bake

__all__ = ["register", "unregister"]

POLL_SECONDS = 0.1
# Blender wants plain sets; these are never changed.
UNDOABLE = {"REGISTER", "UNDO"}
UNDO_ONLY = {"UNDO"}


class STICTION_OT_bake(ReadingOperator, Operator):
    """Simulate the rigid bodies with exact friction and play them from the cache; Esc stops and keeps the finished frames"""

    bl_idname = "stiction.bake"
    bl_label = "Bake"
    # Not REGISTER: the panel Adjust Last Operation would bake again at every change.
    bl_options = UNDO_ONLY

    resume: BoolProperty(
        name="Resume",
        description="Continue after the last good frame of the cache instead of starting over",
        options={"SKIP_SAVE"},
    )
    from_here: BoolProperty(
        name="From Here",
        description="Keep the frames up to the current one, and bake the others with the present scene",
        options={"SKIP_SAVE"},
    )
    report_path: StringProperty(
        name="Report", description="File for a JSON report of every frame", subtype="FILE_PATH", options={"HIDDEN", "SKIP_SAVE"}
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        return may_read_scene(cls, context)

    def execute(self, context: Context) -> set[str]:
        with self.told(context):
            bake = at_once(self.beginning(context))
            bake.run()
            return self.end(context, bake)
        return {"CANCELLED"}

    def invoke(self, context: Context, event: Event) -> set[str]:
        session = context.window_manager.stiction
        session.is_baking, session.is_cancelled, session.is_paused = True, False, False
        session.details = ""
        return self.begin_reading(context, self.beginning(context))

    def has_read(self, context: Context) -> set[str]:
        self.poll_every(context, POLL_SECONDS)
        self.show_job(context, self.work)
        return {"RUNNING_MODAL"}

    def has_stopped_reading(self, context: Context) -> None:
        self.report({"INFO"}, "Stopped before the bake started; nothing was changed")

    def modal(self, context: Context, event: Event) -> set[str]:
        if self.work is None:
            return self.modal_while_reading(context, event)
        # Esc that ends the playback does not apply to the bake.
        is_esc = is_escape(event) and not plays(context)
        if is_esc or context.window_manager.stiction.is_cancelled:
            self.work.cancel()
        elif event.type != "TIMER":
            return {"PASS_THROUGH"}
        self.work.pause(context.window_manager.stiction.is_paused)
        job = self.work.poll()
        self.show_job(context, self.work)
        if not job.is_over:
            return {"RUNNING_MODAL" if is_esc else "PASS_THROUGH"}
        self.leave(context)
        return self.end(context, self.work)

    def cancel(self, context: Context) -> None:
        """Blender quits or loads another file, so nobody will read the worker's output."""
        if self.work is None:
            self._turns.end()
        else:
            self.work.cancel()
        self.leave(context)

    def beginning(self, context: Context) -> Steps[Bake]:
        """The steps after which the worker runs."""
        context.window_manager.stiction.messages.clear()
        report = Path(bpy.path.abspath(self.report_path)) if self.report_path else None
        keep_to = context.scene.frame_current if self.from_here else None
        yield from load_what_reads()
        from ..bake.runner import begin

        say = partial(self.say, context)
        return (yield from begin(context, say, resume=self.resume, keep_to=keep_to, report=report, idle=self.idle))

    @contextmanager
    def told(self, context: Context) -> Iterator[None]:
        """Report errors that prevent a bake from starting; the block ends there."""
        from ..bake.worker import WorkerError

        try:
            yield
        except SceneError as error:
            from ..bake.runner import describe

            self.say(context, "ERROR", describe(error.problems))
        except (WorkerError, CacheError, OSError) as error:
            self.say(context, "ERROR", f"The bake cannot start: {error}")
        except ReferenceError:
            self.say(context, "ERROR", "The scene was changed while it was read; bake again")

    def say(self, context: Context, level: str, text: str) -> None:
        for line in text.splitlines():
            if level != "INFO":
                message = context.window_manager.stiction.messages.add()
                message.name, message.is_error = line, level == "ERROR"
        self.report({level}, text)

    def show_step(self, context: Context, step: Step) -> None:
        self.show(context, step.share, step.status, ())

    def show_job(self, context: Context, bake: Bake) -> None:
        self.show(context, bake.job.factor, bake.job.status, bake.job.details)

    def show(self, context: Context, factor: float, status: str, details: Sequence[str]) -> None:
        session = context.window_manager.stiction
        session.factor, session.status = factor, status
        session.details = "\n".join(details)
        show_in_status_bar(context, ", ".join((status, *details[:1])))
        redraw()

    def leave(self, context: Context) -> None:
        self.remove_timer(context)
        context.window_manager.stiction.is_baking = False
        show_in_status_bar(context, None)

    def end(self, context: Context, bake: Bake) -> set[str]:
        # Playback follows frame changes, and only now do all frames exist.
        if context.scene.stiction.bake.state == "CACHED":
            context.scene.frame_set(context.scene.frame_current, subframe=context.scene.frame_subframe)
        return {"FINISHED"} if bake.job.last_frame is not None else {"CANCELLED"}


def plays(context: Context) -> bool:
    """Return True if an animation is playing in any window."""
    return any(window.screen.is_animation_playing for window in context.window_manager.windows)


def is_baking(cls: type[Operator], context: Context) -> bool:
    """Return True if a bake is running. For `poll`, with a message."""
    if not context.window_manager.stiction.is_baking:
        cls.poll_message_set("No bake is running")
        return False
    return True


class STICTION_OT_cancel(Operator):
    """Stop the running bake and keep the finished frames"""

    bl_idname = "stiction.cancel"
    bl_label = "Cancel"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return is_baking(cls, context)

    def execute(self, context: Context) -> set[str]:
        context.window_manager.stiction.is_cancelled = True
        return {"FINISHED"}


class STICTION_OT_pause(Operator):
    """Pause the running bake, or continue it; a paused bake uses no processor time"""

    bl_idname = "stiction.pause"
    bl_label = "Pause"

    @classmethod
    def poll(cls, context: Context) -> bool:
        return is_baking(cls, context)

    def execute(self, context: Context) -> set[str]:
        session = context.window_manager.stiction
        session.is_paused = not session.is_paused
        return {"FINISHED"}


class STICTION_OT_free_bake(Operator):
    """Restore everything that the bake changed: motion, actions, constraints and the Animated option"""

    bl_idname = "stiction.free_bake"
    bl_label = "Free Bake"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        is_missing = context.scene.stiction.bake.state == "NONE" and not baked_elsewhere(context.scene)
        return may_change_bake(cls, context, is_missing, "There is no bake")

    def execute(self, context: Context) -> set[str]:
        from ..bake.runner import free

        count = free(context.scene)
        remove_points(context.scene)
        remove_debris(context.scene)
        remove_sound(context.scene)
        remove_pieces(context.scene)
        context.window_manager.stiction.messages.clear()
        # Blender does not redraw the timeline when objects change.
        redraw()
        self.report({"INFO"}, f"Objects restored to their state before the bake: {count}")
        return {"FINISHED"}


class STICTION_OT_bake_to_keyframes(Operator):
    """Give the baked objects keyframes, so that the cache is no longer needed"""

    bl_idname = "stiction.bake_to_keyframes"
    bl_label = "Bake to Keyframes"
    bl_options = UNDOABLE

    where: EnumProperty(
        name="Keys",
        description="Which frames have keys",
        items=(
            ("EVERY", "Every Frame", "A key at every frame"),
            ("STEP", "Every Nth Frame", "A key every few frames, and at the last one"),
            ("TOLERANCE", "Within Tolerance", "Few keys, with which the motion stays within a tolerance of the cache"),
        ),
    )
    place_error: FloatProperty(
        name="Distance",
        description="Largest distance of a body from its cached location, at any frame",
        default=0.001,
        min=1e-6,
        soft_max=0.1,
        precision=4,
        subtype="DISTANCE",
        unit="LENGTH",
    )
    rotation_error: FloatProperty(
        name="Angle",
        description="Largest angle of a body from its cached rotation, at any frame",
        default=math.radians(0.5),
        min=math.radians(0.001),
        soft_max=math.radians(10.0),
        max=math.pi,
        precision=3,
        subtype="ANGLE",
        unit="ROTATION",
    )
    step: IntProperty(name="Step", description="Number of frames between keys", default=2, min=1, soft_max=20)
    a_frame: IntProperty(
        name="Keys per Frame",
        description="More keys between frames, for motion blur of bodies that turn by more than a quarter turn per frame",
        default=1,
        min=1,
        soft_max=8,
        max=64,
    )
    to_strip: BoolProperty(
        name="NLA Strip",
        description="Write the keys to a strip in a separate track, and leave the action free for additions",
    )

    @classmethod
    def poll(cls, context: Context) -> bool:
        return may_change_bake(
            cls, context, context.scene.stiction.bake.state != "CACHED", "There are no cached frames; bake first"
        )

    def execute(self, context: Context) -> set[str]:
        try:
            written = commit(context, self.keys())
        except (OSError, CacheError) as error:
            self.report({"ERROR"}, f"The cached frames cannot be read: {error}")
            return {"CANCELLED"}
        self.report({"INFO"}, str(written))
        return {"FINISHED"}

    def invoke(self, context: Context, event: Event) -> set[str]:
        return context.window_manager.invoke_props_dialog(self)

    def draw(self, context: Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "where")
        column = layout.column(align=True)
        column.prop(self, "place_error")
        column.prop(self, "rotation_error")
        column.active = self.where == "TOLERANCE"
        step = layout.column()
        step.active = self.where == "STEP"
        step.prop(self, "step")
        samples = layout.column()
        samples.active = self.where != "STEP"
        samples.prop(self, "a_frame")
        layout.prop(self, "to_strip")

    def keys(self) -> Keys:
        """Return the requested keyframes."""
        if self.where == "STEP":
            return Keys(step=self.step, to_strip=self.to_strip)
        tolerance = Tolerance(self.place_error, self.rotation_error) if self.where == "TOLERANCE" else None
        return Keys(a_frame=self.a_frame, tolerance=tolerance, to_strip=self.to_strip)


class STICTION_OT_add_world(Operator):
    """Add a rigid body world with all objects of the scene that have rigid bodies or rigid body constraints"""

    bl_idname = "stiction.add_world"
    bl_label = "Add Rigid Body World"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        if context.scene.rigidbody_world is not None:
            cls.poll_message_set("The scene has a rigid body world")
            return False
        return True

    def execute(self, context: Context) -> set[str]:
        bpy.ops.rigidbody.world_add()
        world = context.scene.rigidbody_world
        world.collection = bpy.data.collections.new("RigidBodyWorld")
        world.constraints = bpy.data.collections.new("RigidBodyConstraints")
        for ob in context.scene.objects:
            if ob.rigid_body is not None:
                world.collection.objects.link(ob)
            if ob.rigid_body_constraint is not None:
                world.constraints.objects.link(ob)
        return {"FINISHED"}


def may_change_bake(cls: type[Operator], context: Context, is_missing: bool, message: str) -> bool:
    if is_missing:
        cls.poll_message_set(message)
        return False
    return is_idle(cls, context)


@persistent
def forget_session(_file: str) -> None:
    """Reset the state that a file saved during a bake contains."""
    for manager in bpy.data.window_managers:
        manager.stiction.is_baking = manager.stiction.is_reading = False
        manager.stiction.messages.clear()
        manager.stiction.findings.clear()
        manager.stiction.is_checking = manager.stiction.was_checked = False
        manager.stiction.checked_scene = manager.stiction.checked_from = manager.stiction.changes_since_check = ""


CLASSES = (
    STICTION_OT_bake,
    STICTION_OT_pause,
    STICTION_OT_cancel,
    STICTION_OT_free_bake,
    STICTION_OT_add_world,
    STICTION_OT_bake_to_keyframes,
)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add the operators, and look at every file that is opened."""
    STICTION_OT_bake.idle = Idle()
    register_classes()
    bpy.app.handlers.load_post.append(forget_session)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.load_post.remove(forget_session)
    unregister_classes()
    STICTION_OT_bake.idle.end()
