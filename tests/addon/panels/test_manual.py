# SPDX-License-Identifier: GPL-3.0-or-later
"""Every setting is told of in the manual, with its unit, its default and its cost, and the help of Blender leads there."""

from __future__ import annotations

import math
import re
from fnmatch import fnmatchcase
from pathlib import Path

import bpy
import pytest

ROOT = Path(__file__).resolve().parents[3]

# What no user sets: what a bake remembers, lists that have panels of their own, what a file's dialogue asks for by itself.
NO_SETTINGS = {
    "ObjectStiction": {"name", "backup"},
    "SceneStiction": {"name", "pairs", "pair_index", "bake"},
    "PairFriction": {"name"},
    "SceneDisplay": {"name", "points_object", "pieces_object", "pieces", "hidden_bodies"},
    "WedgeAxis": {"name"},
    "CollectionActivation": {"name"},
    "CollectionBonds": {"name"},
    "SceneDebrisSettings": {"name", "shown"},
    "ObjectSound": {"name"},
    "SceneSound": {"name"},
    "SceneWedge": {"name", "axes", "axis_index"},
    "STICTION_OT_bake_to_keyframes": set(),
    "STICTION_OT_add_contact_points": set(),
    "STICTION_OT_add_debris": set(),
    "STICTION_OT_jump_to_worst": set(),
    "STICTION_OT_export_certificate": {"filepath", "filter_glob"},
}
# Which heading tells of a field of a dialogue; of these Blender's help asks for the operator only.
DIALOGUES = {
    "STICTION_OT_bake_to_keyframes": {
        "where": "keys",
        "place_error": "distance",
        "rotation_error": "angle",
        "step": "step",
        "a_frame": "keys-per-frame",
        "to_strip": "nla-strip",
    },
    "STICTION_OT_add_contact_points": {"with_marks": "with-marks"},
    "STICTION_OT_add_debris": {"with_effects": "with-effects"},
    "STICTION_OT_jump_to_worst": {"measure": "criterion"},
    "STICTION_OT_export_certificate": {"suffix": "accuracy-as"},
}
LINE = re.compile(r"\*\*Unit\*\* (?P<unit>.+) · \*\*Default\*\* (?P<default>.+) · \*\*Cost\*\* (?P<cost>.+)")


def slug(heading: str) -> str:
    """The anchor of a heading, as pages have it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def told() -> dict[str, str]:
    """What stands below each heading of the page of settings, by its anchor."""
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    parts = re.split(r"^#{2,3} (.+)$", text, flags=re.MULTILINE)[1:]
    return {slug(heading): body.strip() for heading, body in zip(parts[::2], parts[1::2], strict=True)}


def properties_of(owner: str) -> dict[str, bpy.types.Property]:
    """The properties of a type of the add-on."""
    if owner.startswith("STICTION_OT_"):
        made = getattr(bpy.ops.stiction, owner.removeprefix("STICTION_OT_")).get_rna_type()
    else:
        made = {
            "ObjectStiction": bpy.types.Object.bl_rna.properties["stiction"].fixed_type,
            "SceneStiction": bpy.types.Scene.bl_rna.properties["stiction"].fixed_type,
            "SceneDisplay": bpy.types.Scene.bl_rna.properties["stiction_display"].fixed_type,
            "CollectionActivation": bpy.types.Collection.bl_rna.properties["stiction_activation"].fixed_type,
            "CollectionBonds": bpy.types.Collection.bl_rna.properties["stiction_bonds"].fixed_type,
            "SceneDebrisSettings": bpy.types.Scene.bl_rna.properties["stiction_debris"].fixed_type,
            "ObjectSound": bpy.types.Object.bl_rna.properties["stiction_sound"].fixed_type,
            "SceneSound": bpy.types.Scene.bl_rna.properties["stiction_sound"].fixed_type,
            "SceneWedge": bpy.types.Scene.bl_rna.properties["stiction_wedge"].fixed_type,
            "WedgeAxis": bpy.types.Scene.bl_rna.properties["stiction_wedge"].fixed_type.properties["axes"].fixed_type,
        }.get(owner) or bpy.types.Scene.bl_rna.properties["stiction"].fixed_type.properties["pairs"].fixed_type
    return {prop.identifier: prop for prop in made.properties if prop.identifier != "rna_type"}


def default_of(prop: bpy.types.Property) -> str:
    """A default in words, as the manual has it."""
    if prop.type == "BOOLEAN":
        return "on" if prop.default else "off"
    if prop.type == "ENUM":
        return prop.enum_items[prop.default].name
    if prop.type == "POINTER":
        return "none"
    if prop.type == "STRING":
        return prop.default or "empty"
    if prop.type == "FLOAT" and prop.is_array:
        return ", ".join(f"{value:g}" for value in prop.default_array)
    value = math.degrees(prop.default) if prop.subtype == "ANGLE" else prop.default
    return f"{value:.5g}"


@pytest.mark.parametrize("owner", NO_SETTINGS)
def test_every_setting_has_its_unit_its_default_and_its_cost_in_the_manual(extension, owner):
    from stiction.addon.panels.manual import ANCHORS

    properties, below, anchors = properties_of(owner), told(), {**ANCHORS, **DIALOGUES}[owner]
    assert set(anchors) == set(properties) - NO_SETTINGS[owner]
    for name, anchor in anchors.items():
        found = LINE.search(below[anchor])
        assert found is not None, f"{anchor} has no line of unit, default and cost"
        if name.startswith("use_") and name.removeprefix("use_") in properties:
            continue  # a switch is told of with what it switches
        prop, default = properties[name], found["default"]
        has_switch = f"use_{name}" in properties
        if has_switch:
            assert default.startswith(("Blender's", "the static one")), (name, default)
        elif name == "force_length":
            assert default.startswith("fitted"), default  # which is what holds until it is set
        else:
            assert default == default_of(prop), (name, default, default_of(prop))
        if prop.unit not in ("NONE", "LENGTH"):
            units = {"VELOCITY": "m/s", "ROTATION": "degrees", "TIME_ABSOLUTE": "s"}
            assert found["unit"].startswith(units[prop.unit]), (name, found["unit"])


def test_online_manual_finds_every_setting_and_every_button(extension, tmp_path, monkeypatch):
    from stiction.addon.panels import manual

    monkeypatch.setattr(manual, "PAGES", tmp_path)
    prefix, mapping = manual.manual_map()
    assert prefix == f"{tmp_path.as_uri()}/"

    def place(name: str) -> str:
        return next((suffix for pattern, suffix in mapping if fnmatchcase(name.lower(), pattern)), "")

    assert place("bpy.types.SceneStiction.moving_tolerance") == "docs/settings.html#moving-tolerance"
    assert place("bpy.ops.stiction.bake_to_keyframes") == "docs/baking.html#bake-to-keyframes"
    assert place("bpy.ops.stiction.bake") == "docs/baking.html#bake-pause-and-resume"
    assert place("bpy.ops.stiction.add_arch") == "docs/gallery.html"
    buttons = [name for name in dir(bpy.ops.stiction) if not name.startswith("_")]
    assert len(buttons) > 30
    assert not [name for name in buttons if not place(f"bpy.ops.stiction.{name}")]


def test_blender_opens_the_page_of_a_setting(extension, tmp_path, monkeypatch):
    import webbrowser

    from stiction.addon.panels import manual

    opened = []
    monkeypatch.setattr(manual, "PAGES", tmp_path)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    bpy.ops.wm.doc_view_manual(doc_id="ObjectStiction.density")
    bpy.ops.wm.doc_view_manual(doc_id="STICTION_OT_free_bake.name")
    assert opened == [f"{tmp_path.as_uri()}/docs/settings.html#density", f"{tmp_path.as_uri()}/docs/baking.html#free-bake"]


def test_the_places_that_the_help_leads_to_are_there(extension):
    from stiction.addon.panels.manual import ANCHORS, FRONT, PLACES

    below = told()
    assert {anchor for anchors in ANCHORS.values() for anchor in anchors.values()} <= set(below)
    sources = [file.read_text(encoding="utf-8") for file in (ROOT / "addon").rglob("*.py")]
    opened = {page for source in sources for page in re.findall(r'"(docs/[\w-]+\.html[^"]*)"', source)}
    assert len(opened) >= 2
    for place in {*PLACES.values(), *opened, FRONT}:
        page, _, anchor = place.partition("#")
        text = (ROOT / page).with_suffix(".md").read_text(encoding="utf-8")
        assert not anchor or anchor in {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}, place


def test_without_pages_the_button_says_how_to_make_them(extension, tmp_path, monkeypatch):
    from stiction.addon.panels import manual

    monkeypatch.setattr(manual, "PAGES", tmp_path)
    with pytest.raises(RuntimeError, match=r"README\.html; install Stiction again, or run `make docs`"):
        bpy.ops.stiction.open_manual()


def test_without_pages_blender_says_itself_that_there_is_nothing(extension, tmp_path, monkeypatch):
    from stiction.addon.panels import manual

    monkeypatch.setattr(manual, "PAGES", tmp_path / "manual")
    assert manual.manual_map() == ("", ())
