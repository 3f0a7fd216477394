# SPDX-License-Identifier: GPL-3.0-or-later
"""Play with Stiction: live simulation in the viewport, in which the mouse pulls bodies.

*Keep* makes the bake of the scene from the last live simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import blf
import bpy
import gpu
import numpy as np
from bpy.app.handlers import persistent
from bpy.types import Area, Context, Event, Object, Operator, Region, Scene
from bpy_extras import view3d_utils
from gpu_extras.batch import batch_for_shader
from numpy.typing import NDArray

from ...solver_core.io.cache import CacheError
from ...solver_core.scene.words import figure
from ...solver_core.validation.findings import SceneError
from ..bake.worker import WorkerError
from ..blender.cooperative import at_once
from ..blender.poll import is_idle, load_what_reads, may_read_scene
from ..blender.reading_operator import is_navigation
from ..blender.redraw import redraw, redraw_views
from .live import Live

if TYPE_CHECKING:
    from ..read.extract import Extraction
    from .take import Take

__all__ = ["register", "unregister"]

Array = NDArray[np.float64]

# Blender wants a plain set; this one is never changed.
UNDOABLE = {"REGISTER", "UNDO"}
ENDS = {"ESC", "RET", "NUMPAD_ENTER", "RIGHTMOUSE"}
HAND_COLOUR = (0.90, 0.62, 0.0, 1.0)
LINE_PIXELS = 2.0
TEXT_PIXELS = 13.0
TEXT_BESIDE = 12.0  # pixels; distance of the force label from the end of the line
LEAST_SLANT = 1e-3  # smallest cosine of the angle between the view and the normal of the drag plane


class View:
    """A 3D viewport under the mouse, and the ray at the mouse."""

    def __init__(self, area: Area, region: Region, event: Event):
        mouse = event.mouse_x - region.x, event.mouse_y - region.y
        view = area.spaces.active.region_3d
        self.area = area
        self.origin: Array = np.array(view3d_utils.region_2d_to_origin_3d(region, view, mouse))
        self.direction: Array = np.array(view3d_utils.region_2d_to_vector_3d(region, view, mouse))


def view_under(context: Context, event: Event) -> View | None:
    """Return the 3D viewport under the mouse, or None."""
    for area in context.screen.areas if context.screen is not None else ():
        for region in area.regions if area.type == "VIEW_3D" else ():
            across, up = event.mouse_x - region.x, event.mouse_y - region.y
            if region.type == "WINDOW" and 0 <= across < region.width and 0 <= up < region.height:
                return View(area, region, event)
    return None


class Hand:
    """A mouse drag: the object, the point of its body's frame, and the drag plane, perpendicular to the view."""

    def __init__(self, live: Live, ob: Object, caught: Array, view: View):
        self.object, self.to = ob, caught
        self.point = live.point_of(ob, caught)
        self._at, self._normal = caught, view.direction

    def follow(self, view: View) -> None:
        """Move to the point of the plane under the mouse. In a view along the plane it does not move."""
        slant = float(view.direction @ self._normal)
        if slant > LEAST_SLANT:
            self.to = view.origin + float((self._at - view.origin) @ self._normal) / slant * view.direction


class LastTake:
    """The last live simulation of the session, until it is kept, another one starts, or another file is opened."""

    def __init__(self) -> None:
        self.take: Take | None = None

    def set(self, take: Take | None) -> None:
        """Replace it, and show it in the panels."""
        if self.take is not None:
            self.take.forget()
        self.take = take
        for manager in bpy.data.window_managers:
            manager.stiction.take = "" if take is None else str(take)
            manager.stiction.take_scene = "" if take is None else str(take.scene)
        redraw()

    def of(self, scene: Scene) -> Take | None:
        """Return the one of a scene."""
        return self.take if self.take is not None and self.take.scene == scene.session_uid else None


class STICTION_OT_play(Operator):
    """Simulate the scene in the viewport and pull bodies with the mouse; afterward everything is restored"""

    bl_idname = "stiction.play"
    bl_label = "Play with Stiction"

    last: LastTake

    @classmethod
    def poll(cls, context: Context) -> bool:
        if bpy.app.background:
            cls.poll_message_set("There is no viewport to play in")
            return False
        return may_read_scene(cls, context)

    def invoke(self, context: Context, event: Event) -> set[str]:
        # The animation would move the bodies to its frames.
        if any(window.screen.is_animation_playing for window in context.window_manager.windows):
            bpy.ops.screen.animation_cancel(restore_frame=False)
        try:
            self._live = Live(context, at_once(self.reading(context)))
        except SceneError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except (WorkerError, OSError) as error:
            self.report({"ERROR"}, f"The simulation cannot start: {error}")
            return {"CANCELLED"}
        self.last.set(None)
        self._hand: Hand | None = None
        self._pauses, self._status = False, ""
        self._timer = context.window_manager.event_timer_add(1.0 / context.scene.render.fps, window=context.window)
        add = bpy.types.SpaceView3D.draw_handler_add
        self._drawings = [
            add(self.draw_hand, (), "WINDOW", "POST_VIEW"),
            add(self.draw_force, (), "WINDOW", "POST_PIXEL"),
        ]
        # Other operators do not run while the scene is temporarily changed.
        context.window_manager.stiction.is_reading = True
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def reading(self, context: Context) -> Any:
        """The steps after which the scene is read."""
        yield from load_what_reads()
        from ..read.extract import extracting

        extraction: Extraction = yield from extracting(context)
        return extraction

    def modal(self, context: Context, event: Event) -> set[str]:
        try:
            return self.go_on(context, event)
        except ReferenceError:
            self.report({"ERROR"}, "An object of the simulation was removed")
            self.leave(context)
            return {"CANCELLED"}

    def go_on(self, context: Context, event: Event) -> set[str]:
        """Show what has come, or do what the user wants."""
        if event.type == "TIMER":
            self._live.follow(context)
            if self._live.over:
                self.report({"ERROR"}, self._live.over)
                self.leave(context)
                return {"CANCELLED"}
            self.show_status(context, "paused" if self._pauses else self._live.status)
        elif event.type in ENDS and event.value == "PRESS":
            self.leave(context)
            return {"FINISHED"}
        elif event.type == "K" and event.value == "PRESS":
            self.leave(context)
            if STICTION_OT_keep_play.poll(context) and keep_last(self, context):
                bpy.ops.ed.undo_push(message=STICTION_OT_keep_play.bl_label)
            return {"FINISHED"}
        elif event.type == "SPACE" and event.value == "PRESS":
            self._pauses = not self._pauses
            self._live.pause(self._pauses)
        elif event.type == "LEFTMOUSE" and event.value == "PRESS":
            self.catch(context, event)
        elif event.type == "LEFTMOUSE" and event.value == "RELEASE":
            self.let_go()
        elif event.type == "MOUSEMOVE" and self._hand is not None:
            self.drag(context, event)
        elif is_navigation(event):
            # Other input would reach a temporarily changed scene.
            return {"PASS_THROUGH"}
        return {"RUNNING_MODAL"}

    def show_status(self, context: Context, status: str) -> None:
        """Show a status in the status bar, if it is new: Blender draws the window again for each text."""
        if status != self._status:
            self._status = status
            context.workspace.status_text_set(f"Stiction: {status}    Drag: Pull    Space: Pause    K: Keep    Esc: End")

    def catch(self, context: Context, event: Event) -> None:
        """Grab the body under the mouse, if the solver moves it."""
        view = view_under(context, event)
        if view is None:
            return
        depsgraph = context.evaluated_depsgraph_get()
        hit, place, _, _, ob, _ = context.scene.ray_cast(depsgraph, view.origin, view.direction)
        if hit and self._live.can_pull(ob.original):
            self._hand = Hand(self._live, ob.original, np.array(place), view)
            self.pull()

    def drag(self, context: Context, event: Event) -> None:
        """Pull toward the mouse."""
        view = view_under(context, event)
        if view is not None and self._hand is not None:
            self._hand.follow(view)
            view.area.tag_redraw()
            self.pull()

    def pull(self) -> None:
        """Request the pull of the mouse."""
        assert self._hand is not None
        self._live.pull(self._hand.object, self._hand.point, self._hand.to)

    def let_go(self) -> None:
        """Request the end of the pull."""
        self._hand = None
        self._live.let_go()
        redraw_views()

    def draw_hand(self) -> None:
        """Draw a line from the body to the target of the pull."""
        if self._hand is None:
            return
        shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
        ends = [tuple(self._live.place_of(self._hand.object, self._hand.point)), tuple(self._hand.to)]
        gpu.state.depth_test_set("NONE")
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        shader.uniform_float("lineWidth", LINE_PIXELS * bpy.context.preferences.system.ui_scale)
        shader.uniform_float("color", HAND_COLOUR)
        batch_for_shader(shader, "LINES", {"pos": ends}).draw(shader)

    def draw_force(self) -> None:
        """Draw the force of the pull beside the end of the line."""
        region, view = bpy.context.region, bpy.context.region_data
        if self._hand is None or self._live.force is None or view is None:
            return
        place = view3d_utils.location_3d_to_region_2d(region, view, tuple(self._hand.to))
        if place is None:
            return
        scale = bpy.context.preferences.system.ui_scale
        blf.size(0, TEXT_PIXELS * scale)
        blf.color(0, *HAND_COLOUR)
        blf.position(0, place.x + TEXT_BESIDE * scale, place.y, 0.0)
        blf.draw(0, force_text(self._live.force))

    def cancel(self, context: Context) -> None:
        """Blender quits or loads another file."""
        self.leave(context)

    def leave(self, context: Context) -> None:
        """Restore everything."""
        context.window_manager.event_timer_remove(self._timer)
        for drawing in self._drawings:
            bpy.types.SpaceView3D.draw_handler_remove(drawing, "WINDOW")
        context.window_manager.stiction.is_reading = False
        if context.workspace is not None:
            context.workspace.status_text_set(None)
        self.last.set(self._live.end())
        redraw_views()


def force_text(force: Array) -> str:
    """Return the size of a force (3,) in words [N]."""
    return f"{figure(float(np.linalg.norm(force)))} N"


def keep_last(operator: Operator, context: Context) -> bool:
    """Make what was played last the bake of the context's scene, and report it; returns whether that was possible."""
    from .take import keep

    scene, take = context.scene, STICTION_OT_play.last.of(context.scene)
    assert take is not None
    try:
        last = keep(scene, take)
    except (OSError, CacheError) as error:
        operator.report({"ERROR"}, f"The frames cannot be kept: {error}")
        return False
    end = scene.stiction.bake.frame_end
    rest = f"; Resume bakes the rest, to frame {end}" if last < end else ""
    if last > scene.frame_end:
        rest += f"; the timeline ends at frame {scene.frame_end}, set its End to {last} to see all of it"
    operator.report({"INFO"}, f"Kept {take}{rest}")
    STICTION_OT_play.last.set(None)
    scene.frame_set(scene.frame_current, subframe=scene.frame_subframe)
    return True


class STICTION_OT_keep_play(Operator):
    """Keep the last live simulation as the bake of the scene, with every pull of the mouse"""

    bl_idname = "stiction.keep_play"
    bl_label = "Keep"
    bl_options = UNDOABLE

    @classmethod
    def poll(cls, context: Context) -> bool:
        if STICTION_OT_play.last.of(context.scene) is None:
            cls.poll_message_set("Nothing has been played in this scene since the file was opened")
            return False
        return is_idle(cls, context)

    def execute(self, context: Context) -> set[str]:
        return {"FINISHED"} if keep_last(self, context) else {"CANCELLED"}


@persistent
def forget_take(_file: str) -> None:
    """Discard the last live simulation, because another file is opened."""
    STICTION_OT_play.last.set(None)


CLASSES = (STICTION_OT_play, STICTION_OT_keep_play)

register_classes, unregister_classes = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    """Add the operators."""
    STICTION_OT_play.last = LastTake()
    register_classes()
    bpy.app.handlers.load_post.append(forget_take)


def unregister() -> None:
    """Undo `register`."""
    bpy.app.handlers.load_post.remove(forget_take)
    STICTION_OT_play.last.set(None)
    unregister_classes()
