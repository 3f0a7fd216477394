# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's own exporters write what is shown: cached motion, and keyframes."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest

from ..objects import euler_zyx, world_matrix
from ..planks import in_world

FRAMES = range(1, 6)


def alembic(file: str) -> None:
    bpy.ops.wm.alembic_export(filepath=file, start=FRAMES[0], end=FRAMES[-1], as_background_job=False)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.alembic_import(filepath=file, as_background_job=False)


def usd(file: str) -> None:
    bpy.ops.wm.usd_export(filepath=file, export_animation=True)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=file)


def usd_as_meshes(file: str) -> None:
    """Without blend shapes, whose negative values Blender itself would not read back."""
    bpy.ops.wm.usd_export(filepath=file, export_animation=True, export_shapekeys=False)
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.wm.usd_import(filepath=file)


def shown(ob) -> np.ndarray:
    worlds = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        worlds.append(world_matrix(ob))
    return np.array(worlds)


@pytest.mark.parametrize(("travel", "suffix"), [(alembic, "abc"), (usd, "usdc")])
@pytest.mark.parametrize("keyed", [False, True])
def test_what_is_exported_comes_back_with_the_motion_of_the_cache(make_body, fake_worker, tmp_path, travel, suffix, keyed):
    scene, ob = bpy.context.scene, make_body()
    euler_zyx(ob)
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    wanted = shown(ob)
    if keyed:
        bpy.ops.stiction.bake_to_keyframes(where="TOLERANCE", place_error=1e-5, rotation_error=math.radians(0.01))
    travel(str(tmp_path / f"shot.{suffix}"))
    (found,) = [one for one in bpy.data.objects if one.type == "MESH"]
    assert np.abs(shown(found) - wanted).max() < 3e-5


def bent(ob) -> np.ndarray:
    vertices = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        vertices.append(in_world(ob))
    return np.array(vertices)


@pytest.mark.parametrize(("travel", "suffix"), [(alembic, "abc"), (usd_as_meshes, "usdc")])
@pytest.mark.parametrize("keyed", [False, True])
def test_bends_are_exported_too(make_plank, fake_worker, tmp_path, travel, suffix, keyed):
    scene, ob = bpy.context.scene, make_plank()
    euler_zyx(ob)
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    wanted = bent(ob)
    if keyed:
        bpy.ops.stiction.bake_to_keyframes()
    travel(str(tmp_path / f"bend.{suffix}"))
    (found,) = [one for one in bpy.data.objects if one.type == "MESH"]
    assert np.abs(bent(found) - wanted).max() < 3e-5
