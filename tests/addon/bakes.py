# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes of a few frames: where the worker of the tests has bodies, where Blender shows them, and a body that has everything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np

from .objects import add_empty, mirrored, world_matrix

FRAMES = range(1, 6)


def bake() -> None:
    assert bpy.ops.stiction.bake() == {"FINISHED"}


def simulate(snapshot: Path, cache: Path) -> None:
    """Bake a snapshot in the worker that the bakes of all tests share."""
    from stiction.addon.bake.worker import Worker
    from stiction.addon.panels.operators import STICTION_OT_bake

    *_, ended = Worker(snapshot, cache, idle=STICTION_OT_bake.idle).all_events()
    assert ended.status == 0, ended


def played(objects: list[bpy.types.Object], times: int = 1) -> np.ndarray:
    """World matrices [frames, objects, 4, 4] as Blender evaluates them; out of order, as someone who scrubs would see them.

    times: how often each frame is set; where members of the rigid body world are parents of each other Blender may be late.
    """
    result = np.empty((len(FRAMES), len(objects), 4, 4))
    for frame in (3, 1, 5, 2, 4):
        for _ in range(times):
            bpy.context.scene.frame_set(frame)
        result[frame - 1] = [world_matrix(ob) for ob in objects]
    return result


def expected(worker: type, objects: list[bpy.types.Object], rest: np.ndarray) -> np.ndarray:
    names = read_names()
    return np.array(
        [[worker.displacement(names.index(ob.name), frame) @ rest[i] for i, ob in enumerate(objects)] for frame in FRAMES]
    )


def closeness(found: np.ndarray, wanted: np.ndarray) -> float:
    """Largest difference, relative to the size of the scene: Blender keeps matrices in single precision."""
    return float(np.abs(found - wanted).max() / max(1.0, np.abs(wanted).max()))


def read_names() -> list[str]:
    from stiction.addon.read.extract import extract

    return [body.name for body in extract(bpy.context).spec.bodies]


def busy_body(make_body: Callable) -> bpy.types.Object:
    """A body with everything that a bake has to put aside: curves of several kinds, a track, a driver, a constraint."""
    ob = make_body("Busy")
    mirrored(ob)
    ob.location = (0.5, 0.25, 4.0)
    for frame, height in ((1, 4.0), (5, 9.0)):
        ob.location.z = height
        ob.keyframe_insert("location", frame=frame)
        ob["glow"] = float(frame)
        ob.keyframe_insert('["glow"]', frame=frame)
    data = ob.animation_data
    strip_action = bpy.data.actions.new("Swing")
    data.nla_tracks.new().strips.new("Swing", 1, strip_action)
    ob.driver_add("scale", 1).driver.expression = "1.0 + 0.25"
    copied = ob.constraints.new("COPY_ROTATION")
    copied.target = add_empty("Guide", (0, 0, 0), (0.4, 0.3, 0.2))
    ob.constraints.new("LIMIT_SCALE").mute = True
    return ob
