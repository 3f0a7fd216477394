# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies of other files: overrides keep the motion of a bake, and what was baked elsewhere is told what it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from ..bakes import FRAMES, bake, busy_body, closeness, expected, played
from ..objects import body_named, box_mesh, problems_of, read, world_matrix

CACHED, KEYED = "cached", "keyed"


@pytest.fixture
def library(scene, make_body, fake_worker, tmp_path: Path) -> Callable[[str], str]:
    """Writes a file with the collection Props: a crate with all that a bake puts aside, baked or not."""

    def write(how: str = "") -> str:
        props = bpy.data.collections.new("Props")
        scene.collection.children.link(props)
        props.objects.link(busy_body(make_body))
        if how:
            bake()
        if how == KEYED:
            bpy.ops.stiction.bake_to_keyframes()
        file = str(tmp_path / "library.blend")
        bpy.ops.wm.save_as_mainfile(filepath=file)
        return file

    return write


def open_shot(tmp_path: Path) -> bpy.types.Scene:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    scene.rigidbody_world.collection = bpy.data.collections.new("RigidBodyWorld")
    scene.rigidbody_world.point_cache.frame_end = FRAMES[-1]
    scene.stiction.cache_directory = str(tmp_path / "shot")
    return scene


def bring(file: str, tmp_path: Path, how: str, *, to_world: bool = True) -> bpy.types.Object:
    """A new shot with the crate of a library: appended, linked or overridden."""
    scene = open_shot(tmp_path)
    with bpy.data.libraries.load(file, link=how != "append") as (_, wanted):
        wanted.collections = ["Props"]
    props = wanted.collections[0]
    if how == "override":
        props = props.override_hierarchy_create(scene, bpy.context.view_layer, do_fully_editable=True)
    else:
        scene.collection.children.link(props)
    crate = next(ob for ob in props.objects if ob.rigid_body is not None)
    if to_world:
        scene.rigidbody_world.collection.objects.link(crate)
    return crate


def the_override() -> bpy.types.Object:
    return next(ob for ob in bpy.data.objects if ob.override_library is not None and ob.rigid_body is not None)


def reopen(tmp_path: Path) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))


def findings() -> set[tuple[str, str]]:
    from stiction.addon.bake.findings import look

    return {(one.level, one.field) for one in look(bpy.context).findings}


@pytest.mark.parametrize("how", [CACHED, KEYED, "strip"])
def test_a_baked_override_keeps_its_motion_in_the_file(library, fake_worker, tmp_path, how):
    crate = bring(library(), tmp_path, "override")
    place = crate.matrix_basis.copy()
    bake()
    wanted = expected(fake_worker, [crate], np.array([crate.stiction.backup.rest_world[:]]).reshape(1, 4, 4))
    if how != CACHED:
        bpy.ops.stiction.bake_to_keyframes(to_strip=how == "strip")
    reopen(tmp_path)
    reopen(tmp_path)
    crate = the_override()
    assert closeness(played([crate]), wanted) < 1e-6
    # what was put aside comes back, and the body takes part again
    bpy.context.scene.frame_set(1)
    bpy.ops.stiction.free_bake()
    assert crate.matrix_basis == place and crate.animation_data.action == bpy.data.actions["BusyAction"]
    assert crate in list(bpy.context.scene.rigidbody_world.collection.objects) and not crate.rigid_body.kinematic
    reopen(tmp_path)
    assert not the_override().stiction.backup.baked
    bake()


@pytest.mark.parametrize("how", [KEYED, "strip"])
def test_a_baked_override_moves_in_blender_without_the_extension(extension, library, tmp_path, how):
    crate = bring(library(), tmp_path, "override")
    bake()
    bpy.ops.stiction.bake_to_keyframes(to_strip=how == "strip")
    wanted = played([crate])
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    extension.unregister()
    try:
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
        assert closeness(played([the_override()]), wanted) < 1e-6
    finally:
        extension.register()


def test_what_is_set_for_an_override_is_there_after_each_time_the_file_is_saved(library, tmp_path):
    crate = bring(library(), tmp_path, "override")
    crate.stiction.use_mu_static, crate.stiction.mu_static = True, 0.875
    for _ in range(3):
        reopen(tmp_path)
        assert the_override().stiction.use_mu_static and the_override().stiction.mu_static == 0.875
    # what the library has since holds for what was not set here
    assert not the_override().stiction.use_restitution and not the_override().stiction.backup.baked


def within_a_collection(crate: bpy.types.Object, world: bpy.types.Collection) -> str:
    world.children.link(crate.users_collection[0])
    return crate.name_full


def nowhere_else(crate: bpy.types.Object, world: bpy.types.Collection) -> str:
    other = crate.override_library.reference.override_create()
    bpy.context.scene.collection.children.link(world)
    world.objects.link(other)
    return other.name_full


@pytest.mark.parametrize("put", [within_a_collection, nowhere_else])
def test_an_override_that_could_not_keep_its_motion_is_refused_with_what_to_do(library, fake_worker, tmp_path, put):
    crate = bring(library(), tmp_path, "override", to_world=False)
    name = put(crate, bpy.context.scene.rigidbody_world.collection)
    ((about, message),) = problems_of(read).items()
    assert about == (name, "library") and "put" in message and "collection" in message
    assert ("ERROR", "library") in findings()
    with pytest.raises(RuntimeError, match="library override"):
        bake()


def test_settings_that_an_override_forgets_are_named(library, tmp_path):
    crate = bring(library(), tmp_path, "override")
    assert ("WARNING", "library") not in findings()
    crate.rigid_body.mass, crate.rigid_body.collision_collections[3] = 7.0, True
    (said,) = [warning for warning in read().warnings if warning.field == "library"]
    assert "Mass" in said.message and "Collision Collections" in said.message and "Type" not in said.message


@pytest.mark.parametrize("baked", [CACHED, KEYED])
@pytest.mark.parametrize("how", ["append", "override"])
def test_what_another_file_has_baked_can_be_freed_or_baked_here(library, fake_worker, tmp_path, how, baked):
    crate = bring(library(baked), tmp_path, how)
    assert ("INFO" if baked == KEYED else "WARNING", "bake") in findings()
    assert bpy.context.scene.stiction.bake.state == "NONE" and bpy.ops.stiction.free_bake.poll()
    bake()
    assert bpy.context.scene.stiction.bake.state == "CACHED"
    bpy.ops.stiction.free_bake()
    assert not crate.rigid_body.kinematic and crate.animation_data.action.name == "BusyAction"
    assert not bpy.ops.stiction.free_bake.poll()
    # an override's file does not have it, Animated is on in the library
    reopen(tmp_path)
    crate = the_override() if how == "override" else bpy.data.objects["Busy"]
    assert not crate.rigid_body.kinematic and not bpy.ops.stiction.free_bake.poll()
    assert not {field for _, field in findings()} & {"bake", "bodies"}


@pytest.mark.parametrize("baked", [CACHED, KEYED])
def test_a_linked_body_that_its_file_has_baked_is_an_animated_one(library, fake_worker, tmp_path, baked):
    crate = bring(library(baked), tmp_path, "link")
    scene = bpy.context.scene
    ball = bpy.data.objects.new("Ball", box_mesh("Ball", (0.1, 0.1, 0.1)))
    scene.collection.objects.link(ball)
    scene.rigidbody_world.collection.objects.link(ball)
    found = read()
    body = body_named(found, crate.name_full)
    assert body.kind.name == "ANIMATED" and list(found.rest) == ["Ball"]
    assert (body.path is not None and np.ptp(np.array(body.path)[:, 2]) > 0.1) == (baked == KEYED)
    assert {warning.field for warning in found.warnings if crate.name_full in warning.objects} == (
        set() if baked == KEYED else {"library"}
    )
    assert ("INFO" if baked == KEYED else "WARNING", "library") in findings()
    before = world_matrix(crate)
    bake()
    assert crate.stiction.backup.baked and crate.rigid_body.kinematic and np.array_equal(world_matrix(crate), before)
    assert ball.stiction.backup.baked
