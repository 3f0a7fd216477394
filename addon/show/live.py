# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene that is simulated in the viewport: its process, and the objects that follow it. Nothing of it stays in the file.

While it goes on, the objects are where the newest frame has them, Blender's own simulation is off, and the scene stands at the
first frame; `end` puts all three back.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.types import Context, Object
from numpy.typing import NDArray

from ...solver_core.io.snapshot import write_snapshot
from ...solver_core.scene.spec import BodyKind, SceneSpec
from ..bake.job import WorkerEnded, WorkerMessage
from ..bake.process import Events
from ..bake.worker import started
from ..blender import actions
from ..blender.placement import basis_at, matrices_now, place, world_matrices
from ..blender.rotations import matrix_of_quaternion
from ..output.cached_contacts import objects_of_bodies

if TYPE_CHECKING:
    from ..read.extract import Extraction

__all__ = ["Live"]

Array = NDArray[np.float64]

MODULE = "solver_core.live"


def without_bends(spec: SceneSpec) -> SceneSpec:
    """The scene with all bodies rigid: their modes would take longer to find than anybody waits for a button."""
    return replace(spec, bodies=tuple(replace(body, deformable=None) for body in spec.bodies))


class Live:
    """A scene that plays.

    status: how it goes, for the user. over: why it has ended by itself, empty as long as it goes on.
    """

    def __init__(self, context: Context, extraction: Extraction):
        """Start its process. Raises WorkerError or OSError, and then has changed nothing."""
        scene, spec = context.scene, without_bends(extraction.spec)
        self._folder = tempfile.TemporaryDirectory(prefix="stiction-")
        snapshot = Path(self._folder.name) / "scene.snapshot"
        try:
            write_snapshot(snapshot, spec, extraction.settings)
            self._events: Events = SimpleQueue()
            self._process = started(MODULE, self._events, str(snapshot))
        except BaseException:
            self._folder.cleanup()
            raise
        self._scene, self._world = scene, scene.rigidbody_world
        self._at = scene.frame_current, scene.frame_subframe
        self._world.enabled = False
        scene.frame_set(spec.frame_start)
        of_bodies = objects_of_bodies(scene)
        moving = [body.kind is not BodyKind.PASSIVE and body.name in of_bodies for body in spec.bodies]
        self._columns = np.flatnonzero(moving)
        self._objects: list[Object] = [of_bodies[spec.bodies[column].name] for column in self._columns]
        self._bodies = {
            ob.name_full: column
            for ob, column in zip(self._objects, self._columns.tolist(), strict=True)
            if spec.bodies[column].kind is BodyKind.ACTIVE
        }
        self._rest_worlds = matrices_now(self._objects, context.evaluated_depsgraph_get())
        self._channels = [{name: tuple(getattr(ob, name)) for name in actions.TRANSFORMS} for ob in self._objects]
        self._first: Array | None = None
        self._poses: Array | None = None
        self.status, self.over = "Loading", ""

    def follow(self, context: Context) -> bool:
        """Take in what has come, and show the newest frame; returns whether there was one."""
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
        place(self._objects, basis_at(self._objects, worlds, context.evaluated_depsgraph_get()))
        return True

    def _hear(self, record: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The record of a frame, None of what else is said."""
        if record["event"] == "over":
            self.over = record["why"]
        if record["event"] != "frame":
            return None
        late = "" if record["behind"] < 1.0 / self._scene.render.fps else ", slower than the clock"
        self.status = f"Frame {record['frame']}{late}"
        return record

    def can_pull(self, ob: Object) -> bool:
        """Whether an object is a body that the solver moves."""
        return self._poses is not None and ob.name_full in self._bodies

    def point_of(self, ob: Object, place: Array) -> Array:
        """(3,) m, a place of the world in the frame of an object's body."""
        assert self._poses is not None
        pose = self._poses[self._bodies[ob.name_full]]
        return matrix_of_quaternion(pose[3:]).T @ (place - pose[:3])

    def place_of(self, ob: Object, point: Array) -> Array:
        """(3,) m, where a point of its body's frame is in the world."""
        assert self._poses is not None
        pose = self._poses[self._bodies[ob.name_full]]
        return pose[:3] + matrix_of_quaternion(pose[3:]) @ point

    def pull(self, ob: Object, point: Array, to: Array) -> None:
        """Pull an object by a point of its body's frame, (3,) m, to a place of the world, (3,) m."""
        asked = {"body": self._bodies[ob.name_full], "point": point.tolist(), "to": to.tolist()}
        self._process.say(self._events, json.dumps(asked))

    def let_go(self) -> None:
        """Pull at nothing."""
        self._process.say(self._events, json.dumps({"body": None}))

    def pause(self, pause: bool) -> None:
        """Let it wait, or go on."""
        self._process.pause(self._events, pause)

    def end(self) -> None:
        """End the process, and put everything back as it was."""
        self._process.close()
        with suppress(OSError):
            self._folder.cleanup()
        # an object that somebody removed meanwhile has nothing to be put back
        for ob, channels in zip(self._objects, self._channels, strict=True):
            with suppress(ReferenceError):
                for name, values in channels.items():
                    if tuple(getattr(ob, name)) != values:
                        setattr(ob, name, values)
        with suppress(ReferenceError):
            self._world.enabled = True
            self._scene.frame_set(self._at[0], subframe=self._at[1])
        bpy.context.view_layer.update()
