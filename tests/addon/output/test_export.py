# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's own exporters write what is shown: cached motion, and keyframes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import addon_utils
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


GLTF_NUMBERS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}


def gltf_bends(file: Path) -> np.ndarray:
    """(frames, n, 3) where a file of one mesh puts its vertices, in the order of the file, by what the format says of them."""
    told = json.loads(file.read_text())
    numbers = (file.parent / told["buffers"][0]["uri"]).read_bytes()

    def accessor(index: int) -> np.ndarray:
        one = told["accessors"][index]
        count = one["count"] * GLTF_NUMBERS[one["type"]]
        found = np.zeros(count) if "bufferView" not in one else None
        if found is None:
            view = told["bufferViews"][one["bufferView"]]
            found = np.frombuffer(numbers, np.float32, count, view.get("byteOffset", 0) + one.get("byteOffset", 0)).copy()
        if "sparse" in one:
            where, values = one["sparse"]["indices"], one["sparse"]["values"]
            kind = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32}[where["componentType"]]
            begin = told["bufferViews"][where["bufferView"]].get("byteOffset", 0) + where.get("byteOffset", 0)
            rows = np.frombuffer(numbers, kind, one["sparse"]["count"], begin)
            begin = told["bufferViews"][values["bufferView"]].get("byteOffset", 0) + values.get("byteOffset", 0)
            own = np.frombuffer(numbers, np.float32, len(rows) * GLTF_NUMBERS[one["type"]], begin)
            found.reshape(one["count"], -1)[rows] = own.reshape(len(rows), -1)
        return found.reshape(one["count"], -1)

    (primitive,) = told["meshes"][0]["primitives"]
    rest = accessor(primitive["attributes"]["POSITION"])
    morphs = np.stack([accessor(target["POSITION"]) for target in primitive["targets"]])
    channels = {}
    for animation in told["animations"]:
        for channel in animation["channels"]:
            sampler = animation["samplers"][channel["sampler"]]
            times, values = accessor(sampler["input"])[:, 0], accessor(sampler["output"])
            rows = [int(np.abs(times - frame / bpy.context.scene.render.fps).argmin()) for frame in FRAMES]
            channels[channel["target"]["path"]] = values.reshape(len(times), -1)[rows]
    bent = rest + np.einsum("fr,rvi->fvi", channels["weights"], morphs)
    x, y, z, w = channels["rotation"].T
    turns = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    placed = np.einsum("ijf,fvj->fvi", turns, bent) + channels["translation"][:, None]
    # its y points up
    return placed[..., [0, 2, 1]] * [1.0, -1.0, 1.0]


def test_keyed_bends_are_morph_targets_of_gltf(make_plank, fake_worker, tmp_path):
    addon_utils.enable("io_scene_gltf2")
    scene, ob = bpy.context.scene, make_plank()
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    wanted = bent(ob)
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    bpy.ops.export_scene.gltf(filepath=str(tmp_path / "bend.gltf"), export_format="GLTF_SEPARATE", export_normals=False)
    found = gltf_bends(tmp_path / "bend.gltf")
    # the order of vertices is its own
    nearest = np.linalg.norm(found[0, :, None] - wanted[0], axis=-1).argmin(axis=1)
    assert set(nearest) == set(range(wanted.shape[1]))
    assert np.abs(found - wanted[:, nearest]).max() < 3e-5
