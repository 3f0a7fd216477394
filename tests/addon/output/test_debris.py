# SPDX-License-Identifier: GPL-3.0-or-later
"""Debris as points with attributes follows the frame, its nodes make chips, dust and sparks, and Free Bake takes it away."""

from __future__ import annotations

import csv
from dataclasses import replace

import bpy
import numpy as np
import pytest

FPS, GRAVITY = 24.0, 9.81
# Of the scrape at each frame: sliding speed and energy.
SLIDE, LOST = 5.0, 10.0


@pytest.fixture
def baked(scene, make_body, fake_worker, monkeypatch):
    """The fake worker's impacts of 1 N s at 2 m/s, and a scrape of two bodies at every frame that a step led to."""
    from stiction.solver_core.dynamics.model.frame import FrameScrapes

    contacts_at = fake_worker.contacts_at

    def with_scrape(self, number):
        found = contacts_at(self, number)
        place, along = np.float32([[0.1 * number, 0.0, 2.0]]), np.float32([[SLIDE, 0.0, 0.0]])
        scrapes = FrameScrapes(
            time=np.array([(number - 1.5) / FPS]),
            body_a=found.body_a[:1],
            body_b=found.body_b[:1],
            point=place,
            spread=np.zeros((1, 3), np.float32),
            normal=np.float32([[0.0, 0.0, 1.0]]),
            slip=along,
            impulse=np.ones(1, np.float32),
            energy=np.full(1, LOST, np.float32),
            duration=np.full(1, 1.0 / FPS, np.float32),
        )
        return replace(found, scrapes=scrapes)

    monkeypatch.setattr(fake_worker, "contacts_at", with_scrape)
    make_body("A").stiction.material = "Steel"
    make_body("B")
    scene.stiction.keep_contacts = True
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    own = scene.stiction_debris
    own.per_joule_of_hits = own.per_joule_of_scrapes = 10.0
    scene.frame_set(3)
    return scene


@pytest.fixture
def points(baked):
    assert bpy.ops.stiction.add_debris(with_effects=False) == {"FINISHED"}
    return baked.stiction_debris.shown


def values(mesh, name):
    attribute = mesh.attributes[name]
    is_vector = attribute.data_type == "FLOAT_VECTOR"
    found = np.zeros(len(attribute.data) * (3 if is_vector else 1))
    attribute.data.foreach_get("vector" if is_vector else "value", found)
    return found.reshape(-1, 3) if is_vector else found


def shown_at(scene, frame, subframe=0.0):
    scene.frame_set(frame, subframe=subframe)
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return scene.stiction_debris.shown.evaluated_get(depsgraph).data


def test_points_come_with_time_and_age(baked, points):
    mesh = shown_at(baked, 3)
    kinds = values(mesh, "kind")
    # until frame 3 two scrapes of 10 J, and two impacts of 1 N s within 0.05 s, which are one hit of 2 N s at 2 m/s: 2 J
    assert [int((kinds == kind).sum()) for kind in (0, 1, 2)] == [0, pytest.approx(20, abs=1), pytest.approx(200, abs=1)]
    assert values(mesh, "impulse")[kinds == 1].sum() == pytest.approx(2.0, abs=0.11)
    assert values(mesh, "energy")[kinds == 2].sum() == pytest.approx(2 * LOST, abs=0.11)
    np.testing.assert_allclose(values(mesh, "slip")[kinds == 2], np.tile([SLIDE, 0.0, 0.0], (int((kinds == 2).sum()), 1)))
    age = values(mesh, "age")
    assert (age >= 0.0).all() and age.max() == pytest.approx(2.0 / FPS, abs=2e-3)
    np.testing.assert_allclose(values(mesh, "life"), age / baked.stiction_debris.lifetime, rtol=1e-5)
    assert set(values(mesh, "material_a")) == {0} and set(values(mesh, "material_b")) == {-1}
    assert (points["bodies"], points["materials"]) == ("A, B", "Steel")
    # the same points half a frame later, and some more
    first, ids = age[0], values(mesh, "id")
    later = shown_at(baked, 3, subframe=0.5)
    assert values(later, "age")[0] == pytest.approx(first + 0.5 / FPS, abs=1e-5)
    assert len(values(later, "id")) > len(ids) and np.array_equal(values(later, "id")[: len(ids)], ids)


def test_frames_outside_of_the_bake_have_no_points_before_it_and_old_ones_after_it(baked, points):
    assert len(shown_at(baked, -10).vertices) == len(shown_at(baked, 1).vertices) == 0
    after = values(shown_at(baked, 29), "age")
    assert after.min() >= 24.0 / FPS - 1e-5
    baked.stiction_debris.lifetime = 0.5
    assert len(points.data.vertices) == 0


def test_settings_act_at_once_and_a_new_bake_is_followed(baked, points):
    count = len(points.data.vertices)
    baked.stiction_debris.per_joule_of_scrapes = 0.0
    assert 0 < len(points.data.vertices) < 0.2 * count
    baked.frame_set(1)
    bpy.ops.stiction.bake()
    assert len(shown_at(baked, 4).vertices)
    assert not bpy.ops.stiction.add_debris.poll()
    name = points.name
    bpy.ops.stiction.free_bake()
    assert name not in bpy.data.objects
    baked.frame_set(2)


def test_points_are_saved_and_follow_after_loading_also_without_the_cache(baked, points, tmp_path, capsys):
    from pathlib import Path

    from stiction.addon.bake.bake_files import cache_path

    file, count = str(tmp_path / "scene.blend"), len(shown_at(baked, 4).vertices)
    bpy.ops.wm.save_as_mainfile(filepath=file)
    bpy.ops.wm.open_mainfile(filepath=file)
    scene = bpy.context.scene
    assert not len(shown_at(scene, 1).vertices) and len(shown_at(scene, 4).vertices) == count
    Path(cache_path(scene)).unlink()
    bpy.ops.wm.open_mainfile(filepath=file)
    scene = bpy.context.scene
    assert not len(shown_at(scene, 3).vertices) and not len(shown_at(scene, 4).vertices)
    assert capsys.readouterr().out.count("the debris of") == 1


def test_undo_takes_the_points_away_and_redo_brings_them_back(baked):
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.stiction.add_debris(with_effects=False)
    bpy.ops.ed.undo_push(message="debris")
    count = len(bpy.context.scene.stiction_debris.shown.data.vertices)
    bpy.ops.ed.undo()
    assert bpy.context.scene.stiction_debris.shown is None
    bpy.context.scene.frame_set(4)
    bpy.ops.ed.redo()
    assert len(shown_at(bpy.context.scene, 3).vertices) == count


def effects_of(ob):
    """Where each chip and each spark is, and for each point of dust where the dust is; with their materials."""
    found = []
    for one in bpy.context.evaluated_depsgraph_get().object_instances:
        if one.is_instance and one.parent is not None and one.parent.original == ob:
            material = next(each.name for each in one.object.data.materials if each is not None)
            count = len(one.object.data.points) if one.object.type == "POINTCLOUD" else 1
            found += [(np.array(one.matrix_world), material)] * count
    return found


def test_effects_are_chips_of_hits_sparks_of_fast_scrapes_and_dust(baked):
    from stiction.addon.blender.modifier_inputs import set_input

    baked.gravity = (0.0, 0.0, -GRAVITY)
    assert bpy.ops.stiction.add_debris() == {"FINISHED"}
    ob = baked.stiction_debris.shown
    modifier = ob.modifiers[0]
    set_input(modifier, "Chip Share", 1.0)
    set_input(modifier, "Chip Speed", 0.0)
    set_input(modifier, "Ground", 2.5)
    shown_at(baked, 3)
    found, kinds = effects_of(ob), values(ob.data, "kind")
    assert {name for _, name in found} == {"Stiction Chips", "Stiction Sparks"}
    assert sum(name == "Stiction Chips" for _, name in found) == (kinds == 1).sum()
    # the hits are at heights of 2.5 and 4.5; sparks have died and chips are down, for that takes 0.64 s
    shown_at(baked, 21)
    found, kinds = effects_of(ob), values(ob.data, "kind")
    heights = [matrix[2, 3] for matrix, name in found if name == "Stiction Chips"]
    assert {name for _, name in found} == {"Stiction Chips"} and len(found) == (kinds == 1).sum()
    np.testing.assert_allclose(heights, 2.5, atol=1e-5)
    # slow scrapes are dust
    set_input(modifier, "Spark Speed", 2.0 * SLIDE)
    ob.update_tag()
    baked.frame_set(3)
    assert {name for _, name in effects_of(ob)} == {"Stiction Chips", "Stiction Dust"}
    bpy.ops.stiction.free_bake()
    bpy.ops.stiction.bake()
    bpy.ops.stiction.add_debris()
    assert len([tree for tree in bpy.data.node_groups if tree.name.startswith("Stiction Debris")]) == 1


def test_debris_is_written_to_a_table_with_the_rates_of_the_scene(baked, points, tmp_path):
    file = tmp_path / "debris.csv"
    assert bpy.ops.stiction.export_debris(filepath=str(file)) == {"FINISHED"}
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert len(rows) == len(shown_at(baked, 6).vertices)
    assert {(row["body_a"], row["body_b"], row["material_a"]) for row in rows} == {("A", "B", "Steel")}


def test_without_contacts_there_is_no_debris(scene, make_body, fake_worker):
    make_body("A")
    assert not bpy.ops.stiction.add_debris.poll()
    bpy.ops.stiction.bake()
    assert not bpy.ops.stiction.add_debris.poll() and not bpy.ops.stiction.export_debris.poll()
