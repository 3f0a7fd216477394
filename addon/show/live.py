# SPDX-License-Identifier: GPL-3.0-or-later
"""A live simulation in the viewport: its process, and the objects that follow it. It changes nothing in the file.

While it runs, the objects have the poses of the newest frame, Blender's own simulation is off, and the scene stays at the first
frame. `end` restores all three, as does saving the file, until the next frame. The result is a `Take`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.types import Context, Object, Scene
from numpy.typing import NDArray

from ...solver_core.io.snapshot import write_snapshot
from ...solver_core.scene.spec import BodyKind
from ..bake.fingerprint import made_from, written
from ..bake.job import WorkerEnded, WorkerMessage, compiling
from ..bake.process import Events
from ..bake.worker import started
from ..blender import actions
from ..blender.placement import basis_at, matrices_now, world_matrices
from ..blender.restore import place_bodies
from ..blender.rotations import matrix_of_quaternion
from .take import Take, without_bends

if TYPE_CHECKING:
    from ..read.extract import Extraction

__all__ = ["Live"]

Array = NDArray[np.float64]

MODULE = "solver_core.live"
# Rate below which the status bar shows that the simulation is slower than real time.
AS_FAST = 0.95


class Live:
    """A live simulation.

    status: progress, for the user.
    over: why it has ended by itself; "" while it runs.
    force: (3,) force of the mouse spring in the displayed frame [N]; None without a pull.
    """

    def __init__(self, context: Context, extraction: Extraction):
        """Start its process. Raises WorkerError or OSError, and then has changed nothing."""
        scene, spec = context.scene, without_bends(extraction.spec)
        self._extraction, self._made_from = extraction, written(made_from(scene))
        self._folder = tempfile.TemporaryDirectory(prefix="stiction-")
        snapshot, self._cache = (Path(self._folder.name) / f"play.{ending}" for ending in ("snapshot", "cache"))
        arguments = [str(snapshot), str(self._cache), *(["--contacts"] if scene.stiction.keep_contacts else [])]
        try:
            write_snapshot(snapshot, spec, extraction.settings)
            self._events: Events = SimpleQueue()
            self._process = started(MODULE, self._events, *arguments)
        except BaseException:
            self._folder.cleanup()
            raise
        self._scene, self._world = scene, scene.rigidbody_world
        self._at = scene.frame_current, scene.frame_subframe
        self._starts = [(each, each.stiction.bake.shows_start) for each in bpy.data.scenes]
        scene.frame_set(spec.frame_start)
        self._objects, self._columns = self._followers(extraction)
        self._bodies = {
            ob.name_full: column
            for ob, column in zip(self._objects, self._columns.tolist(), strict=True)
            if spec.bodies[column].kind is BodyKind.ACTIVE
        }
        self._rest_worlds = matrices_now(self._objects, context.evaluated_depsgraph_get())
        for row, column in enumerate(self._columns):
            # Bodies of a bake with missing frames may be anywhere.
            rest = extraction.rest.get(spec.bodies[column].name)
            if rest is not None:
                self._rest_worlds[row] = rest.world
        self._channels = [{name: tuple(getattr(ob, name)) for name in actions.TRANSFORMS} for ob in self._objects]
        self._first: Array | None = None
        self._poses: Array | None = None
        self._frame, self._pulls, self._strongest, self._unkept = spec.frame_start, 0, 0.0, ""
        self.status, self.over, self.force = "Loading", "", None
        self._world.enabled = False
        bpy.app.handlers.save_pre.append(self._put_back_to_save)
        bpy.app.handlers.save_post.append(self._go_on_after_saving)

    def _followers(self, extraction: Extraction) -> tuple[list[Object], NDArray[np.intp]]:
        """Return the moving objects, and the columns of their bodies in the poses."""
        by_uid = {ob.session_uid: ob for ob in bpy.data.objects}
        members = {ob.name_full: ob for ob in self._world.collection.all_objects} if self._world.collection else {}
        objects, columns = [], []
        for column, body in enumerate(extraction.spec.bodies):
            rest = extraction.rest.get(body.name)
            ob = members.get(body.name) if rest is None else by_uid.get(rest.uid)
            if ob is not None and body.kind is not BodyKind.PASSIVE:
                objects.append(ob)
                columns.append(column)
        return objects, np.array(columns, dtype=np.intp)

    def follow(self, context: Context) -> bool:
        """Process new events and show the newest frame. Return True if there was one."""
        newest = None
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                break
            if isinstance(event, WorkerEnded):
                self.over = self.over or f"The simulation has ended: {event.trouble or event.status}"
            elif isinstance(event, WorkerMessage):
                newest = self._hear(event.record) or newest
        if newest is None:
            return False
        self._poses = np.array(newest["poses"], dtype=np.float64).reshape(-1, 7)
        if self._first is None:
            self._first = self._poses
        columns = self._columns
        worlds = world_matrices(self._poses[columns], self._first[columns], self._rest_worlds)
        place_bodies(self._objects, basis_at(self._objects, worlds, context.evaluated_depsgraph_get()))
        return True

    def _hear(self, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the record of a frame, or None for other events."""
        match record["event"]:
            case "over":
                self.over = record["why"]
            case "compiled":
                self.status = compiling(record)
            case "unkept":
                self._unkept = record["why"]
            case "frame":
                self._frame, self._pulls, self._strongest = record["frame"], record["pulls"], record["strongest"]
                self.force = None if record["force"] is None else np.array(record["force"])
                rate = record["rate"]
                self.status = f"Frame {self._frame}" + (f", {rate:.2g} of real time" if rate < AS_FAST else "")
                return record
        return None

    def can_pull(self, ob: Object) -> bool:
        """Return True if the solver moves the object's body."""
        return self._poses is not None and ob.name_full in self._bodies

    def point_of(self, ob: Object, place: Array) -> Array:
        """Return a point of the world in the frame of an object's body (3,) [m]."""
        assert self._poses is not None
        pose = self._poses[self._bodies[ob.name_full]]
        return matrix_of_quaternion(pose[3:]).T @ (place - pose[:3])

    def place_of(self, ob: Object, point: Array) -> Array:
        """Return a point of a body's frame in the world (3,) [m]."""
        assert self._poses is not None
        pose = self._poses[self._bodies[ob.name_full]]
        return pose[:3] + matrix_of_quaternion(pose[3:]) @ point

    def pull(self, ob: Object, point: Array, to: Array) -> None:
        """Pull an object at a point of its body's frame (3,) toward a point of the world (3,) [m]."""
        request = {"body": self._bodies[ob.name_full], "point": point.tolist(), "to": to.tolist()}
        self._process.say(self._events, json.dumps(request))

    def let_go(self) -> None:
        """End the pull."""
        self.force = None
        self._process.say(self._events, json.dumps({"body": None}))

    def pause(self, pause: bool) -> None:
        """Pause or continue."""
        self._process.pause(self._events, pause)

    def end(self) -> Take | None:
        """End the process and restore everything. Return the recorded take, or None."""
        self._process.close()
        for handlers, handler in (
            (bpy.app.handlers.save_pre, self._put_back_to_save),
            (bpy.app.handlers.save_post, self._go_on_after_saving),
        ):
            # Already removed if another file was loaded.
            if handler in handlers:
                handlers.remove(handler)
        take = None
        with suppress(ReferenceError):
            self._put_back()
            self._scene.frame_set(self._at[0], subframe=self._at[1])
            if self._frame > self._extraction.spec.frame_start and not self._unkept:
                pulled = self._frame, self._pulls, self._strongest
                take = Take(self._scene.session_uid, self._extraction, self._made_from, self._folder, self._cache, *pulled)
        if take is None:
            with suppress(OSError):
                self._folder.cleanup()
        bpy.context.view_layer.update()
        return take

    def _put_back(self) -> None:
        """Restore the objects, Blender's simulation, and the state of scenes."""
        # An object that was removed in the meantime needs no restoring.
        for ob, channels in zip(self._objects, self._channels, strict=True):
            with suppress(ReferenceError):
                for name, values in channels.items():
                    if tuple(getattr(ob, name)) != values:
                        setattr(ob, name, values)
        self._world.enabled = True
        for scene, shows_start in self._starts:
            with suppress(ReferenceError):
                if scene.stiction.bake.shows_start != shows_start:
                    scene.stiction.bake.shows_start = shows_start

    def _put_back_to_save(self, _scene: Scene | None, _file: object = None) -> None:
        """Save the file in the user's state."""
        with suppress(ReferenceError):
            self._put_back()

    def _go_on_after_saving(self, _scene: Scene | None, _file: object = None) -> None:
        """Blender's simulation stays off, and the next frame moves the objects."""
        with suppress(ReferenceError):
            self._world.enabled = False
