# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects choose a material by name, and two materials have the friction that the scene's table gives them."""

from __future__ import annotations

import bpy
import pytest

from ..objects import problems_of, read


@pytest.fixture
def two(scene, make_body):
    """A box of steel on a floor of ice, by the presets, with the box active and both selected."""
    box, floor = make_body("Box"), make_body("Floor", kind="PASSIVE")
    for ob, name in ((floor, "Ice"), (box, "Steel")):
        for other in (floor, box):
            other.select_set(other == ob)
        bpy.context.view_layer.objects.active = ob
        assert bpy.ops.stiction.apply_material(material=name) == {"FINISHED"}
    floor.select_set(True)
    return box, floor


def friction():
    from stiction.solver_core.scene.spec import pair_friction

    spec = read().spec
    return pair_friction(spec.pairs, spec.friction_combine, *(body.material for body in spec.bodies))


def test_steel_on_ice_is_not_steel_times_ice(scene, two):
    assert friction() == pytest.approx(((0.6 * 0.1) ** 0.5, (0.3 * 0.03) ** 0.5))
    assert bpy.ops.stiction.add_published_pairs() == {"FINISHED"}
    assert [(pair.name, pair.a, pair.b) for pair in scene.stiction.pairs] == [("Ice – Steel", "Ice", "Steel")]  # noqa: RUF001
    assert friction() == pytest.approx((0.4, 0.02))


def test_the_table_of_the_panel_shows_what_is_solved(scene, two):
    from stiction.addon.panels.ui import pairs

    scene.stiction.pair_object = two[1]
    bpy.ops.stiction.add_published_pairs()
    assert pairs(bpy.context, two[0])[1][2:] == pytest.approx(friction())


def test_a_pair_is_added_for_what_is_selected_and_removed_again(scene, two):
    assert bpy.ops.stiction.add_pair() == {"FINISHED"}
    pair = scene.stiction.pairs[0]
    assert {pair.a, pair.b} == {"Steel", "Ice"} and pair.mu_dynamic == pytest.approx(0.02)
    pair.mu_static = pair.mu_dynamic = 0.3
    assert friction() == pytest.approx((0.3, 0.3))
    assert bpy.ops.stiction.remove_pair() == {"FINISHED"}
    assert not scene.stiction.pairs and not bpy.ops.stiction.remove_pair.poll()


def test_a_table_is_saved_and_loaded_as_a_preset(scene, two, tmp_path):
    from stiction.addon.panels.pairs import presets_folder

    bpy.ops.stiction.add_published_pairs(which="ALL")
    before = [(pair.a, pair.b, pair.mu_static, pair.mu_dynamic) for pair in scene.stiction.pairs]
    assert len(before) >= 15
    assert bpy.ops.stiction.save_pairs(preset="Ours") == {"FINISHED"}
    scene.stiction.pairs.clear()
    assert bpy.ops.stiction.load_pairs(filepath=str(presets_folder() / "Ours.json")) == {"FINISHED"}
    assert [(pair.a, pair.b, pair.mu_static, pair.mu_dynamic) for pair in scene.stiction.pairs] == before
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"pairs": [{"materials": ["Steel"]}]}')
    with pytest.raises(RuntimeError, match="is not a table of pairs"):
        bpy.ops.stiction.load_pairs(filepath=str(wrong))


def test_two_pairs_of_the_same_materials_are_refused_by_name(scene, two):
    for names in (("Ice", "Steel"), ("Steel", "Ice")):
        pair = scene.stiction.pairs.add()
        pair.a, pair.b = names
    assert ("Scene", "pairs") in problems_of(read)


def test_copy_to_selected_copies_switches_and_values(scene, make_body):
    source, plain, own = make_body("Source"), make_body("Plain"), make_body("Own")
    source.stiction.material = "Steel"
    source.stiction.use_mu_static, source.stiction.mu_static = True, 0.77
    source.stiction.mass_source, source.stiction.density = "DENSITY", 7800.0
    own.stiction.use_restitution, own.stiction.restitution = True, 0.5
    own.rigid_body.friction = 0.1
    for ob in (source, plain, own):
        ob.select_set(True)
    bpy.context.view_layer.objects.active = source
    own.stiction.backup.body = "kept"
    assert bpy.ops.stiction.copy_to_selected() == {"FINISHED"}
    for ob in (plain, own):
        made = ob.stiction
        assert (made.material, made.use_mu_static, made.mass_source) == ("Steel", True, "DENSITY")
        assert (made.mu_static, made.density) == pytest.approx((0.77, 7800.0))
        assert not made.use_restitution and not made.use_mu_dynamic
    assert own.stiction.backup.body == "kept" and own.rigid_body.friction == pytest.approx(0.1)
