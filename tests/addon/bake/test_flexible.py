# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that bend: the shape keys that show their bends, and that Free Bake leaves no trace of these."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from ..bakes import bake, played
from ..dump import differences, dump
from ..objects import (
    PLACEMENTS,
    body_named,
    box_mesh,
    mirrored,
    read,
)
from ..planks import in_world, plank_mesh


def seen(objects: list[bpy.types.Object], frames=range(1, 6)) -> np.ndarray:
    result = []
    for frame in frames:
        bpy.context.scene.frame_set(int(frame), subframe=frame - int(frame))
        result.append([in_world(ob) for ob in objects])
    return np.array(result)


def from_cache(frames=range(1, 6)) -> dict[str, np.ndarray]:
    """Where the cache has the vertices (frames, n, 3) of each flexible body."""
    from stiction.addon.bake.playback import open_cache
    from stiction.addon.blender.rotations import matrix_of_quaternion
    from stiction.solver_core.io.between_frames import state_at

    reader = open_cache(bpy.context.scene)
    modes, names = reader.modes(), reader.info.bodies
    found = {}
    for index, one in zip(modes.bodies, modes.reduced, strict=True):
        rest = body_named(read(), names[index]).shape.vertices
        rows = []
        for frame in frames:
            poses, modal = state_at(reader, frame)
            bent = rest + one.shapes @ modal[modes.rows[index]]
            rows.append(bent @ matrix_of_quaternion(poses[index, 3:]).T + poses[index, :3])
        found[names[index]] = np.array(rows)
    return found


@pytest.mark.parametrize("place", PLACEMENTS[::2])
def test_playback_and_keyframes_bend_as_the_cache_has_it(make_plank, fake_worker, place):
    ob = make_plank()
    place(ob)
    rest = seen([ob], [1])[0, 0]
    bake()
    frames = [1, 3, 2.5, 5, 2, 4]
    wanted = from_cache(frames)["Plank"]
    scale = np.abs(wanted).max()
    assert np.abs(seen([ob], frames)[:, 0] - wanted).max() < 1e-5 * scale
    assert np.abs(seen([ob], [1])[0, 0] - rest).max() < 1e-6 * scale
    assert np.abs(in_world(ob) - rest).max() < 1e-6 * scale
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    whole = [0, 1, 3, 4, 5]
    assert np.abs(seen([ob], np.array(frames)[whole])[:, 0] - wanted[whole]).max() < 1e-5 * scale


@pytest.mark.parametrize("large", [False, True])
def test_the_bend_is_no_small_thing(make_plank, fake_worker, large):
    ob = make_plank()
    ob.stiction.use_large_bends = large
    bake()
    shown = seen([ob], [3])[0, 0]
    for item in ob.stiction.backup.keys:
        ob.data.shape_keys.key_blocks[item.name].value = 0.0
    assert np.abs(shown - in_world(ob)).max() > 0.002


def stress_of(ob):
    """(n,) Pa, as a shader gets it."""
    evaluated = ob.evaluated_get(bpy.context.evaluated_depsgraph_get())
    attribute = evaluated.data.attributes.get("stiction_stress")
    if attribute is None:
        return None
    found = np.empty(len(evaluated.data.vertices), dtype=np.float32)
    attribute.data.foreach_get("value", found)
    return found


def test_playback_has_the_stress_of_each_vertex_until_there_are_keyframes(scene, make_plank, fake_worker):
    from stiction.addon.bake.playback import open_cache

    ob = make_plank()
    bake()
    reader = open_cache(scene)
    body = reader.modes().reduced[0]
    for frame in (3, 5, 2):
        scene.frame_set(frame)
        wanted = body.stresses(reader.read(frame).modal)
        assert wanted.max() > 1e3
        np.testing.assert_allclose(stress_of(ob), wanted, rtol=1e-6)
    scene.frame_set(1)
    assert not stress_of(ob).any()
    # keyframes cannot have it
    assert bpy.ops.stiction.bake_to_keyframes() == {"FINISHED"}
    assert stress_of(ob) is None


def test_a_detailed_mesh_follows_a_proxy_that_it_is_bound_to(make_plank, fake_worker):
    proxy = make_plank()
    fine = bpy.data.objects.new("Fine", plank_mesh("Fine", cells=24))
    bpy.context.scene.collection.objects.link(fine)
    fine.parent = proxy
    modifier = fine.modifiers.new("Proxy", "SURFACE_DEFORM")
    modifier.target = proxy
    bpy.context.view_layer.update()
    with bpy.context.temp_override(object=fine, active_object=fine, selected_objects=[fine]):
        assert bpy.ops.object.surfacedeform_bind(modifier="Proxy") == {"FINISHED"}
    bake()
    bpy.context.scene.frame_set(3)
    coarse, detailed = in_world(proxy), in_world(fine)
    # every fourth ring of vertices is one of the proxy's
    rings = detailed.reshape(25, 4, 3)[::4].reshape(-1, 3)
    assert np.abs(rings - coarse).max() < 1e-4


def user_keys(ob):
    """Two keys of the user's own, of which one is animated and one driven."""
    ob.shape_key_add(name="Basis")
    for name in ("Smile", "Stiction 1"):
        block = ob.shape_key_add(name=name, from_mix=False)
        block.data[0].co.z += 0.01
    keys = ob.data.shape_keys
    for frame, value in ((1, 0.0), (5, 1.0)):
        keys.key_blocks["Smile"].value = value
        keys.key_blocks["Smile"].keyframe_insert("value", frame=frame)
    keys.driver_add('key_blocks["Stiction 1"].value').driver.expression = "0.0"
    ob.active_shape_key_index = 1


def plain(ob):
    pass


def shared(ob):
    other = bpy.data.objects.new("Other", ob.data)
    bpy.context.scene.collection.objects.link(other)


def fake_user(ob):
    ob.data.use_fake_user = True


def shared_with_keys(ob):
    user_keys(ob)
    shared(ob)


TRACES = [(what, {}) for what in (plain, user_keys, shared, fake_user, shared_with_keys)]
TRACES += [(what, keyed) for what in (plain, shared_with_keys) for keyed in (None, {"where": "TOLERANCE"})]
TRACES += [(what, {"to_strip": True}) for what in (plain, user_keys, shared_with_keys)]


@pytest.mark.parametrize(("what", "keyed"), TRACES)
def test_free_bake_leaves_no_trace(make_plank, fake_worker, keyed, what):
    ob = make_plank()
    what(ob)
    bpy.context.scene.frame_set(1)
    before = everything()
    bake()
    assert differences(before, everything())
    if keyed is not None:
        assert bpy.ops.stiction.bake_to_keyframes(**keyed) == {"FINISHED"}
    seen([ob])
    bpy.context.scene.frame_set(1)
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert differences(before, everything()) == []


def everything():
    from ..dump import describe

    found = dump()
    for keys in bpy.data.shape_keys:
        blocks = [describe(block, 1) for block in keys.key_blocks]
        places = [np.array([point.co[:] for point in block.data]).tolist() for block in keys.key_blocks]
        data = keys.animation_data
        moved = None if data is None else (data.action and data.action.name, [d.data_path for d in data.drivers])
        found[f"keys/{keys.name}"] = {"blocks": blocks, "places": places, "moved": moved}
    return found


@pytest.mark.parametrize("keyed", [False, True])
def test_keys_of_the_users_own_play_on(make_plank, fake_worker, keyed):
    ob = make_plank()
    user_keys(ob)
    bake()
    wanted = from_cache([5])["Plank"]
    if keyed:
        bpy.ops.stiction.bake_to_keyframes()
    shown = seen([ob], [5])[0, 0]
    off = shown - wanted[0]
    assert np.linalg.norm(off[0]) == pytest.approx(0.01, rel=1e-3)
    assert np.abs(off[1:]).max() < 1e-5


def test_what_bends_is_out_of_blenders_own_simulation_until_it_is_freed(make_plank, make_body, fake_worker):
    """As that begins, it measures all of its meshes, also one that another thread is bending: Blender crashed, one time in
    sixty."""
    plank, other = make_plank(), make_body("Other")
    members = bpy.context.scene.rigidbody_world.collection.objects
    bake()
    assert set(members) == {other}
    assert plank.rigid_body is not None
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert set(members) == {plank, other}


def test_planks_that_share_a_mesh_bend_each_on_its_own_and_share_it_again(make_plank, fake_worker):
    mesh = plank_mesh()
    planks = [make_plank(f"Plank {i}", mesh) for i in range(3)]
    planks[2].stiction.use_flexible = False
    bake()
    wanted = from_cache()
    shown = seen(planks)
    for i, ob in enumerate(planks[:2]):
        assert np.abs(shown[:, i] - wanted[ob.name]).max() < 1e-5 * np.abs(shown).max()
        assert ob.data != mesh
    assert planks[2].data == mesh and mesh.shape_keys is None
    bpy.ops.stiction.free_bake()
    assert [ob.data for ob in planks] == [mesh] * 3 and list(bpy.data.meshes) == [mesh] and not bpy.data.shape_keys


def test_what_is_made_of_a_mesh_meanwhile_stays(make_plank, fake_worker):
    ob = make_plank()
    bake()
    ob.data.materials.append(bpy.data.materials.new("Varnish"))
    bake()
    bpy.ops.stiction.free_bake()
    assert [material.name for material in ob.data.materials] == ["Varnish"]


@pytest.mark.parametrize("linked", [False, True])
def test_a_duplicate_of_a_bent_plank_is_one_of_its_own(make_plank, fake_worker, linked):
    ob = make_plank()
    bake()
    bpy.context.scene.frame_set(3)
    copy = ob.copy()
    if not linked:
        copy.data = ob.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    from stiction.addon.bake.outdated import release_copies

    assert release_copies(bpy.context.scene) == 1
    assert copy.data.shape_keys is None and len(ob.data.shape_keys.key_blocks) == 4
    assert np.abs(seen([ob])[:, 0] - from_cache()["Plank"]).max() < 1e-4
    assert np.abs(in_world(copy) - in_world(ob)).max() > 0.1


@pytest.mark.parametrize(
    ("what", "keyed"), [(plain, True), (user_keys, False), (user_keys, True), (shared, True), (mirrored, False)]
)
def test_what_a_bake_does_is_no_change_and_baking_again_begins_at_rest(make_plank, fake_worker, keyed, what):
    from stiction.addon.bake.outdated import changes

    ob = make_plank()
    what(ob)
    bpy.context.scene.frame_set(1)
    before = read()
    bake()
    if keyed:
        bpy.ops.stiction.bake_to_keyframes()
    for frame in (3, 5):
        bpy.context.scene.frame_set(frame)
        assert changes(bpy.context.scene) == []
        now = body_named(read(), "Plank")
        assert np.array_equal(now.shape.vertices, body_named(before, "Plank").shape.vertices)
    assert np.abs(in_world(ob) - from_cache([5])["Plank"][0])[4:].max() < 1e-4


CHANGES = {
    "flexible of Plank": lambda ob: setattr(ob.stiction, "young", 20.0),
    "flexible of Plank, in large bends": lambda ob: setattr(ob.stiction, "use_large_bends", True),
    "mass of Plank": lambda ob: setattr(ob.stiction, "density", 20.0),
    "shape of Plank": lambda ob: setattr(ob.data.vertices[0], "co", (-0.6, 0.0, 0.0)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_named_and_rigid_too(make_plank, fake_worker, what):
    from stiction.addon.bake.outdated import changes

    ob = make_plank()
    bake()
    CHANGES[what](ob)
    assert changes(bpy.context.scene) == [what.partition(",")[0]]


def test_a_bake_of_an_earlier_version_knows_nothing_of_flexible(make_plank, fake_worker):
    from stiction.addon.bake.fingerprint import changes_since, made_from, written

    ob = make_plank()
    ob.stiction.use_flexible = False
    now = made_from(bpy.context.scene)
    former = {name: {what: value for what, value in of.items() if what != "flexible"} for name, of in now.items()}
    assert changes_since(written(former), now) == []
    ob.stiction.use_flexible = True
    assert "flexible of Plank" in changes_since(written(former), made_from(bpy.context.scene))


def test_thinned_keys_of_bends_stay_within_the_tolerance(scene, make_plank, fake_worker, monkeypatch):
    monkeypatch.setattr(fake_worker, "modal", lambda _self, count, number: np.full(count, 0.002 * number * (number < 40)))
    scene.rigidbody_world.point_cache.frame_end = 60
    ob = make_plank()
    bake()
    frames = range(1, 61)
    wanted = from_cache(frames)["Plank"]
    assert bpy.ops.stiction.bake_to_keyframes(where="TOLERANCE", place_error=0.002) == {"FINISHED"}
    from stiction.addon.blender.actions import curves

    bends = list(curves(ob.data.shape_keys))
    assert len(bends) == 3 and all(len(curve.keyframe_points) < 8 for curve in bends)
    # the place has a tolerance of its own
    assert np.linalg.norm(seen([ob], frames)[:, 0] - wanted, axis=-1).max() < 2 * 0.002 + 0.02


def test_everything_survives_saving_and_loading(make_plank, fake_worker, tmp_path: Path):
    make_plank("A", mesh := plank_mesh())
    make_plank("B", mesh)
    bake()
    wanted = from_cache()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "a.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "a.blend"))
    objects = [bpy.data.objects[name] for name in ("A", "B")]
    shown = seen(objects)
    for i, name in enumerate(("A", "B")):
        assert np.abs(shown[:, i] - wanted[name]).max() < 1e-5 * np.abs(shown).max()
    bpy.ops.stiction.free_bake()
    assert [mesh.name for mesh in bpy.data.meshes] == [objects[0].data.name] and objects[0].data == objects[1].data


@pytest.mark.long
def test_a_hundred_thousand_vertices_bend_as_few_do(make_plank, fake_worker):
    ob = make_plank(mesh=plank_mesh(cells=25_000))
    assert len(ob.data.vertices) > 100_000
    bake()
    wanted = from_cache([4])["Plank"]
    assert np.abs(seen([ob], [4])[:, 0] - wanted).max() < 1e-5 * np.abs(wanted).max()
    assert stress_of(ob).max() > 1e3
    bpy.context.scene.frame_set(1)
    assert bpy.ops.stiction.free_bake() == {"FINISHED"}
    assert ob.data.shape_keys is None and not ob.data.attributes.get("stiction_stress")


def test_modifiers_that_come_after_the_bend_follow_it(make_plank, fake_worker):
    ob = make_plank()
    ob.modifiers.new("Fine", "SUBSURF")
    bake()
    assert len(seen([ob], [3])[0, 0]) > 28


def test_modes_that_blender_has_no_room_for_are_cut_at_ten_lengths(make_plank, fake_worker, monkeypatch):
    monkeypatch.setattr(fake_worker, "modal", lambda _self, count, number: np.full(count, 1e6 * (number - 1)))
    ob = make_plank()
    bake()
    bpy.context.scene.frame_set(5)
    assert {abs(block.value) for block in ob.data.shape_keys.key_blocks[1:]} == {10.0}


def test_play_with_stiction_takes_flexible_bodies_as_rigid(make_plank):
    from stiction.addon.show.live import without_bends

    make_plank()
    assert all(body.deformable is None for body in without_bends(read().spec).bodies)


def test_a_material_makes_the_selected_bodies_flexible_and_only_those_that_can_be(make_plank, make_body):
    plank, box = make_plank(), make_body("Box", mesh=box_mesh("Box", (1.0, 1.0, 1.0)))
    plank.stiction.use_flexible = False
    for ob in (plank, box):
        ob.select_set(True)
    bpy.context.view_layer.objects.active = plank
    assert bpy.ops.stiction.apply_stiffness(material="Steel") == {"FINISHED"}
    own = plank.stiction
    assert own.use_flexible and not box.stiction.use_flexible
    assert (own.young, own.mass_source, own.density) == (212000.0, "DENSITY", 7800.0)
    assert own.poisson == pytest.approx(0.293)


def test_the_panel_says_why_a_body_cannot_bend_and_its_frequency_until_it_is_another(make_plank, make_body):
    from stiction.addon.bake.bending import known_words, tell_flexible
    from stiction.addon.settings.object_properties import why_rigid

    panel, context = bpy.types.STICTION_PT_object_flexible, bpy.context
    box, ob = make_body("Box"), make_plank()
    for one, why in ((box, "The shape Convex Hull cannot bend: choose the shape Mesh"), (ob, "")):
        context.view_layer.objects.active = one
        assert panel.poll(context)
        assert why_rigid(one) == why
    assert known_words(context.window_manager, ob) is None
    entry = {"body": "Plank", "words": "first frequency 5 Hz", "too_stiff": True}
    tell_flexible(context.window_manager, context.scene, [entry])
    assert known_words(context.window_manager, ob) == ("first frequency 5 Hz", True)
    ob.stiction.young = 11.0
    assert known_words(context.window_manager, ob) is None
    assert played([ob]).shape == (5, 1, 4, 4)


def test_a_mesh_from_another_file_is_bent_as_a_copy(make_plank, make_body, fake_worker, tmp_path):
    bpy.data.libraries.write(str(tmp_path / "library.blend"), {plank_mesh("Linked")})
    bpy.data.meshes.remove(bpy.data.meshes["Linked"])
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, here):
        here.meshes = ["Linked"]
    ob = make_plank("Plank", here.meshes[0])
    assert ob.data.library is not None
    bake()
    assert ob.data.library is None
    assert np.abs(seen([ob])[:, 0] - from_cache()["Plank"]).max() < 1e-4
    bpy.ops.stiction.free_bake()
    assert ob.data == here.meshes[0] and [mesh.name for mesh in bpy.data.meshes] == ["Linked"]
