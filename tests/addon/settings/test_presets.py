# SPDX-License-Identifier: GPL-3.0-or-later
"""Every number of the presets has a source, and applying a material gives a pair of equal bodies its coefficient."""

from __future__ import annotations

import json

import bpy
import pytest

from ..loading import ROOT

MATERIALS = json.loads((ROOT / "presets" / "materials.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("material", MATERIALS["materials"], ids=lambda material: material["name"])
def test_every_value_names_a_source_that_is_listed(material):
    for key in ("friction", "restitution", "density"):
        if key in material:
            assert material[key]["source"] in MATERIALS["sources"]
    friction = material["friction"]
    assert 0.0 <= friction["dynamic"] <= friction["static"] and friction["pair"]
    assert 0.0 <= material.get("restitution", {"value": 0.0})["value"] <= 1.0


def test_every_source_is_used():
    entries = MATERIALS["materials"] + MATERIALS["pairs"]
    used = {value["source"] for entry in entries for value in entry.values() if isinstance(value, dict)}
    assert used == set(MATERIALS["sources"])


def test_there_are_enough_and_each_is_there_once():
    names = [material["name"] for material in MATERIALS["materials"]]
    pairs = [frozenset(pair["materials"]) for pair in MATERIALS["pairs"]]
    assert len(set(names)) == len(names) >= 25 and len(set(pairs)) == len(pairs) >= 15
    assert {name for pair in pairs for name in pair} <= set(names)


@pytest.mark.parametrize("pair", MATERIALS["pairs"], ids=lambda pair: "-".join(pair["materials"]))
def test_every_pair_names_a_source_and_slides_more_easily_than_it_rests(pair):
    friction = pair["friction"]
    assert friction["source"] in MATERIALS["sources"] and friction["pair"]
    assert 0.0 <= friction["dynamic"] <= friction["static"]
    assert ("one value is given" in friction["pair"]) <= (friction["dynamic"] == friction["static"])


@pytest.mark.parametrize("combine", ["PRODUCT", "AVERAGE", "GEOMETRIC_MEAN", "MINIMUM", "MAXIMUM"])
def test_two_bodies_of_wood_touch_like_wood_on_wood(scene, make_body, combine):
    from stiction.addon.settings.object_properties import effective_material
    from stiction.solver_core.scene.spec import FrictionCombine

    scene.stiction.friction_combine = combine
    ob = make_body()
    bpy.context.view_layer.objects.active = ob
    assert bpy.ops.stiction.apply_material(material="Wood") == {"FINISHED"}
    surface = effective_material(ob)
    rule = FrictionCombine[combine]
    assert rule.pair(surface.mu_static, surface.mu_static) == pytest.approx(0.5)
    assert rule.pair(surface.mu_dynamic, surface.mu_dynamic) == pytest.approx(0.3)
    assert surface.restitution**2 == pytest.approx(0.6)
    assert (ob.stiction.mass_source, ob.stiction.density) == ("DENSITY", 710.0)


def test_a_material_leaves_what_it_does_not_know(scene, make_body):
    ob = make_body()
    bpy.context.view_layer.objects.active = ob
    bpy.ops.stiction.apply_material(material="Teflon")
    assert ob.stiction.use_mu_static and not ob.stiction.use_restitution and ob.stiction.mass_source == "MASS"


def test_the_pair_rule_shown_is_the_one_that_is_solved(extension):
    from stiction.solver_core.dynamics.contact.material_rules import combine_in_kernels
    from stiction.solver_core.scene.combine import FrictionCombine, combine

    assert combine_in_kernels.py_func is combine
    means = {"PRODUCT": 0.24, "AVERAGE": 0.55, "GEOMETRIC_MEAN": 0.24**0.5, "MINIMUM": 0.3, "MAXIMUM": 0.8}
    for rule in FrictionCombine:
        assert rule.pair(0.3, 0.8) == pytest.approx(means[rule.name])


def test_production_is_what_a_new_scene_has(scene):
    from stiction.addon.settings.properties import effective_settings

    before = effective_settings(scene)
    for preset, substeps in (("Paper", 20), ("Exact", 10)):
        assert bpy.ops.stiction.apply_solver_preset(preset=preset) == {"FINISHED"}
        assert effective_settings(scene) != before and effective_settings(scene).substeps == substeps
        bpy.ops.stiction.apply_solver_preset(preset="Production")
        assert effective_settings(scene) == before


def test_a_preset_keeps_the_substeps_that_the_user_chose(scene):
    own = scene.stiction
    own.use_substeps, own.substeps = True, 17
    bpy.ops.stiction.apply_solver_preset(preset="Production")
    assert own.use_substeps and own.substeps == 17


@pytest.mark.parametrize(("former", "now"), [("Structure", "Exact"), ("Draft", "Production")])
def test_a_preset_is_there_under_the_name_that_it_had(scene, former, now):
    from stiction.addon.settings.properties import effective_settings

    bpy.ops.stiction.apply_solver_preset(preset=now)
    wanted = effective_settings(scene)
    bpy.ops.stiction.apply_solver_preset(preset="Paper")
    bpy.ops.stiction.apply_solver_preset(preset=former)
    assert effective_settings(scene) == wanted
