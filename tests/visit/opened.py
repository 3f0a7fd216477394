# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene that is open in the window, its cards and its bake, for the visit."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from window import call, until, window


def scene() -> bpy.types.Scene:
    return window().scene


def bake() -> bpy.types.PropertyGroup:
    return scene().stiction.bake


def cards() -> list[bpy.types.Object]:
    bodies = scene().rigidbody_world.collection.objects
    return sorted((ob for ob in bodies if ob.rigid_body.type == "ACTIVE"), key=lambda ob: ob.name)


def places(frame: int) -> np.ndarray:
    """Where all cards are at a frame, [cards, 4, 4]."""
    scene().frame_set(frame)
    return np.array([ob.matrix_world for ob in cards()])


def moved(a: np.ndarray, b: np.ndarray) -> float:
    """How far the origin of any card is from the one to the other, m."""
    return float(np.linalg.norm(a[:, :3, 3] - b[:, :3, 3], axis=1).max())


def bake_and_wait(**values: object) -> Iterator[float]:
    """Press Bake, and wait for its end."""
    session = bpy.context.window_manager.stiction
    call(bpy.ops.stiction.bake, "INVOKE_DEFAULT", **values)
    yield from until(lambda: not session.is_baking, "end of a bake")
    yield 1.0


def check_and_wait() -> Iterator[float]:
    session = bpy.context.window_manager.stiction
    call(bpy.ops.stiction.check_scene, "INVOKE_DEFAULT")
    yield from until(lambda: session.was_checked and not session.is_checking, "end of the check", 300.0)
