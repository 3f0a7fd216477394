# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels show what is needed first, call it what the manual calls it, and stand still while a bake runs."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import bpy
import pytest

from ..fuzzing import Window

NARROW, USUAL, WIDE = 200, 250, 900
# characters of a name beside its field that the usual width has space for
MOST_BESIDE = 11
# Of a row without an icon, in addition to those of a label with one, of the space around a text, and of the arrow of a menu.
WITHOUT_ICON, AROUND, ARROW = 6, 3, "  "


class Drawn:
    """Stands for a layout, and writes down what is drawn: buttons, properties, labels, bars, with the row that each is in.

    beside: the names that are beside their field, where a third of the row is theirs.
    share: of the row, that has the name; a field has the rest. None for a row that is not split.
    shown: names, and fields with their longest text, each with its share of the row.
    """

    def __init__(self, root: Drawn | None = None):
        self.root = self if root is None else root
        self.use_property_split = False
        self.share: float | None = None
        self.beside: list[str] = []
        self.shown: list[tuple[str, float]] = []
        self.operators: list[tuple[Drawn, str, dict[str, Any], SimpleNamespace]] = []
        self.props: list[tuple[Any, str, dict[str, Any]]] = []
        self.labels: list[str] = []
        self.bars: list[str] = []

    def within(self, **_: Any) -> Drawn:
        inner = Drawn(self.root)
        inner.use_property_split = self.use_property_split
        return inner

    row = column = box = grid_flow = within

    def split(self, *, factor: float = 0.5, **_: Any) -> Drawn:
        inner = self.within()
        inner.share = factor
        return inner

    def operator(self, name: str, **options: Any) -> SimpleNamespace:
        asked = SimpleNamespace()
        self.root.operators.append((self, name, options, asked))
        return asked

    def prop(self, owner: Any, name: str, **options: Any) -> None:
        getattr(owner, name)
        self.root.props.append((owner, name, options))
        property_ = owner.bl_rna.properties[name]
        if property_.type not in ("FLOAT", "INT", "ENUM") or getattr(property_, "is_array", False):
            return
        text = options.get("text", property_.name)
        if self.use_property_split and text:
            self.root.beside.append(text)
            return
        if property_.type == "ENUM":
            text += max((item.name for item in property_.enum_items), key=len, default="") + ARROW
        else:
            text += f"{getattr(owner, name):.{getattr(property_, 'precision', 0)}f}"
        self.root.shown.append((text, 1.0 - (self.share or 0.0)))

    def label(self, *, text: str = "", icon: str = "") -> None:
        self.root.labels.append(text)
        self.root.shown.append((text, self.share or 1.0))

    def progress(self, *, factor: float, text: str) -> None:
        self.root.bars.append(text)

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def drawn(panel: str, width: int = 300) -> Drawn:
    context, layout = Window(), Drawn()
    context.region = SimpleNamespace(width=width)
    getattr(bpy.types, f"STICTION_PT_{panel}").draw(SimpleNamespace(layout=layout), context)
    return layout


def scene_panels(*, closed: bool) -> Iterator[str]:
    for panel in bpy.types.Panel.__subclasses__():
        is_closed = "DEFAULT_CLOSED" in getattr(panel, "bl_options", ())
        if panel.__name__.startswith("STICTION_PT_scene") and is_closed == closed and panel.poll(bpy.context):
            yield panel.__name__.removeprefix("STICTION_PT_")


def test_a_new_scene_shows_buttons_a_quality_and_what_a_shot_turns(make_body):
    make_body()
    opened = list(scene_panels(closed=False))
    assert set(opened) == {"scene", "scene_solver"}
    shown = {name for panel in opened for _, name, _ in drawn(panel).props}
    solver = {"method", "tolerance", "moving_tolerance", "max_iterations"}
    assert shown == solver | {"use_substeps", "substeps_per_frame", "friction_combine"}
    advanced = {name for _, name, _ in drawn("scene_advanced").props}
    assert advanced == {"use_sleeping", "threads", "recovery_speed", "step_time_limit"}


def test_names_beside_a_number_are_short_enough_for_the_usual_width(make_body):
    """Blender 5.2 cut Support Loss, with twelve characters, and shows eleven."""
    bpy.context.view_layer.objects.active = make_body()
    bpy.context.object.stiction.use_mu_static = True
    cut = []
    for panel in bpy.types.Panel.__subclasses__():
        if panel.__name__.startswith(("STICTION_PT_scene", "STICTION_PT_object")) and panel.poll(bpy.context):
            names = drawn(panel.__name__.removeprefix("STICTION_PT_"), USUAL).beside
            cut += [(panel.__name__, name) for name in names if len(name) > MOST_BESIDE]
    assert not cut


@pytest.mark.parametrize("width", [NARROW, USUAL, WIDE])
def test_names_and_values_of_the_solver_are_whole_at_any_width(make_body, width):
    """Staggered Projections was cut at the usual width, and Moving Tolerance at a narrow one."""
    from stiction.addon.blender.label_wrapping import characters_in_row

    bpy.context.view_layer.objects.active = make_body()
    context = Window()
    context.region = SimpleNamespace(width=width)
    row = characters_in_row(context) + WITHOUT_ICON
    for panel in ("scene_solver", "object_mass"):
        shown = drawn(panel, width).shown
        assert len(shown) > 1 and not [text for text, share in shown if len(text) + AROUND > share * row + 1e-9], panel


def test_check_scene_is_beside_bake_and_its_findings_are_right_below(make_body):
    make_body()
    rows = {name: row for row, name, _, _ in drawn("scene").operators}
    assert rows["stiction.check_scene"] is rows["stiction.bake"]
    panel = bpy.types.STICTION_PT_scene_check
    others = [getattr(bpy.types, f"STICTION_PT_{name}") for name in scene_panels(closed=True)]
    below = [other for other in others if other.bl_parent_id == "STICTION_PT_scene"]
    assert not panel.poll(bpy.context) and len(below) > 1 and all(panel.bl_order < other.bl_order for other in below)
    session = bpy.context.window_manager.stiction
    session.was_checked, session.checked_scene = True, str(bpy.context.scene.session_uid)
    assert panel.poll(bpy.context)


def test_settings_of_a_scene_have_the_same_name_in_panel_and_manual(make_body):
    from stiction.addon.panels.manual import ANCHORS

    make_body()
    told = ANCHORS["SceneStiction"]
    for panel in [*scene_panels(closed=False), *scene_panels(closed=True)]:
        for owner, name, options in drawn(panel).props:
            if owner != bpy.context.scene.stiction or name not in told:
                continue
            label = owner.bl_rna.properties[name].name
            assert options.get("text", label) in ("", label), (panel, name)
            if not name.startswith("use_"):
                assert told[name] == label.lower().replace(" ", "-"), (panel, name)


def test_a_scene_without_rigid_bodies_says_what_to_do_first(scene):
    bpy.ops.rigidbody.world_remove()
    assert set(scene_panels(closed=False)) == {"scene_start"} and list(scene_panels(closed=True)) == []
    layout = drawn("scene_start")
    assert "stiction.add_card_house" in [name for _, name, _, _ in layout.operators]
    assert any("Add Active" in text for text in layout.labels)


def test_objects_whose_world_is_gone_get_a_new_one(scene, make_body):
    bodies = [make_body(name) for name in ("Box", "Other", "Third")]
    bpy.ops.rigidbody.world_remove()
    left = [ob for ob in bodies if ob.rigid_body is not None]
    if not left:
        pytest.skip("this Blender takes the rigid bodies away with the world")
    assert "stiction.add_world" in [name for _, name, _, _ in drawn("scene_start").operators]
    assert bpy.ops.stiction.add_world() == {"FINISHED"}
    assert set(left) == set(scene.rigidbody_world.collection.objects)


def test_what_few_bakes_need_is_in_one_closed_panel(make_body):
    make_body()
    parents = {name: getattr(bpy.types, f"STICTION_PT_{name}").bl_parent_id for name in scene_panels(closed=True)}
    below = {name for name, parent in parents.items() if parent == "STICTION_PT_scene_more"}
    assert below == {"scene_pairs", "scene_contacts", "scene_debris", "scene_sound", "scene_statistics", "scene_wedge"}
    assert {name for name, parent in parents.items() if parent == "STICTION_PT_scene"} == {"scene_more", "scene_range"}


def test_flexible_is_shown_for_every_shape_and_says_what_to_choose(make_body):
    ob = make_body("Suzanne")
    bpy.context.view_layer.objects.active = ob
    for shape, name in (("CONVEX_HULL", "Convex Hull"), ("SPHERE", "Sphere")):
        ob.rigid_body.collision_shape = shape
        assert bpy.types.STICTION_PT_object_flexible.poll(bpy.context)
        text = " ".join(drawn("object_flexible").labels)
        assert f"The shape {name} cannot bend: choose the shape Mesh" in text
    ob.rigid_body.collision_shape = "MESH"
    assert not any("cannot bend" in text for text in drawn("object_flexible").labels)
    ob.rigid_body.type = "PASSIVE"
    assert "choose the type Active" in " ".join(drawn("object_flexible").labels)


def test_a_play_that_is_over_can_be_kept_in_its_scene_alone(make_body):
    make_body()
    session, scene = bpy.context.window_manager.stiction, bpy.context.scene
    session.take, session.take_scene = "frames 1 to 80, 2 pulls of up to 31 N", str(scene.session_uid)
    (options,) = (options for _, name, options, _ in drawn("scene").operators if name == "stiction.keep_play")
    assert options["text"] == "Keep Frames 1 to 80"
    session.take_scene = "0"
    assert not [name for _, name, _, _ in drawn("scene").operators if name == "stiction.keep_play"]
    session.take = session.take_scene = ""


def test_no_row_of_a_running_bake_is_empty(make_body):
    make_body()
    session = bpy.context.window_manager.stiction
    session.is_baking = True
    for details in ("", "1:20 min left, 3.2 frames/s", "49 s left, 2 frames/s\n3 contacts, 1 iteration"):
        session.details = details
        assert all(drawn("scene").labels)
    session.is_baking = False


def test_a_bake_that_still_reads_the_scene_does_not_say_that_blender_is_usable(make_body):
    make_body()
    session = bpy.context.window_manager.stiction
    session.details, session.is_baking = "", True
    assert "Blender stays usable" in drawn("scene").labels
    session.is_reading = True
    labels = drawn("scene").labels
    session.is_baking = session.is_reading = False
    assert "Blender stays usable" not in labels and "Esc cancels the bake" in labels and all(labels)


def test_the_preferences_say_what_is_compiled_and_where_frames_are(make_body):
    make_body()
    (preferences,) = (one for one in bpy.types.AddonPreferences.__subclasses__() if one.__name__ == "StictionPreferences")
    assert preferences.bl_idname == "stiction"
    context, layout = Window(), Drawn()
    context.region = SimpleNamespace(width=600)
    preferences.draw(SimpleNamespace(layout=layout), context)
    assert len(layout.bars) == 1 and " of at most " in layout.bars[0]
    assert bpy.context.scene.stiction.cache_directory in " ".join(layout.labels)
    assert [name for _, name, _, _ in layout.operators].count("stiction.open_manual") == 2


def test_one_quality_is_pressed_and_says_what_it_costs(make_body):
    make_body()

    def pressed() -> list[str]:
        buttons = [(options, asked) for _, name, options, asked in drawn("scene_solver").operators]
        assert [options["text"] for options, _ in buttons] == ["Production", "Exact"]
        return [asked.preset for options, asked in buttons if options["depress"]]

    assert pressed() == ["Production"]
    for name in ("Exact", "Production"):
        bpy.ops.stiction.apply_solver_preset(preset=name)
        assert pressed() == [name]
        text = " ".join(drawn("scene_solver").labels)
        # not how long a scene takes that the user does not have
        assert "mm" in text and "cubes" not in text and ("ten times as long" in text) == (name == "Exact")
    bpy.context.scene.stiction.tolerance = 3e-5
    assert pressed() == []


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_what_is_below_a_running_bake_stays_where_it_is(make_body, width):
    make_body()
    session = bpy.context.window_manager.stiction
    session.is_baking = True
    heights = []
    for details in (
        "",
        "1:20 min left, 3.2 frames/s",
        "\n".join(["1:20 min left, 3.2 frames/s", "1234 contacts, 12 iterations", "Overlap 0.01 mm, " + "Card " * 30, "3 MB"]),
    ):
        session.details = details
        heights.append(len(drawn("scene", width).labels))
    session.is_baking = False
    assert len(set(heights)) == 1


@pytest.mark.parametrize("width", [NARROW, USUAL, WIDE])
def test_what_is_below_the_count_of_kernels_stays_where_it_is(make_body, width):
    make_body()
    session = bpy.context.window_manager.stiction
    heights = []
    for compiling in (
        "9 of 857 kernels; now islands",
        "166 of 857 kernels; now Staggered Projections",
        "2 of 7 islands: 80 kernels",
    ):
        session.compiling = compiling
        heights.append(len(drawn("scene", width).labels))
    session.compiling = ""
    assert len(set(heights)) == 1 and heights[0] > len(drawn("scene", width).labels)


@pytest.mark.parametrize("unit", ["mm", "m", "s", "min", "MB", "%"])
def test_a_number_and_its_unit_are_in_one_row_and_words_break_as_ever(make_body, unit):
    from stiction.addon.blender.label_wrapping import wrapped

    text = f"deepest overlap 0.019 {unit}, frame 136 more"
    for width in range(16, len(text)):
        rows = wrapped(text, width)
        assert all(len(row) <= width for row in rows)
        assert " ".join(rows).replace("\N{NO-BREAK SPACE}", " ") == text
        assert sum(f"0.019\N{NO-BREAK SPACE}{unit}" in row for row in rows) == 1
    assert wrapped("frame 136 more", 10) == ["frame 136", "more"]


def test_a_first_bake_says_below_its_bar_what_it_compiles_and_that_this_is_done_once(make_body):
    make_body()
    session = bpy.context.window_manager.stiction
    session.is_baking, session.details = True, ""
    session.status = "Compiling (first run only), 136 kernels of at most 544; later bakes reuse them"
    layout = drawn("scene", WIDE)
    assert layout.bars == ["Compiling (first run only)"]
    assert layout.labels[0] == "136 kernels of at most 544; later bakes reuse them"
    session.status, session.details = "Frame 3 of 5, 12 contacts", "2 s left, 1 frames/s\n12 contacts, 3 iterations"
    layout = drawn("scene", WIDE)
    session.is_baking = False
    assert layout.bars == ["Frame 3 of 5"]
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in layout.labels[:2]] == session.details.splitlines()


@pytest.mark.parametrize("frame", [120, 12345])
def test_the_button_that_bakes_the_rest_names_its_frame_and_is_not_cut_at_the_usual_width(make_body, frame):
    from stiction.addon.blender.label_wrapping import characters_in_row

    make_body()
    scene, changes = bpy.context.scene, bpy.context.window_manager.stiction.changes
    bake = scene.stiction.bake
    bake.state, bake.frame_start, bake.last_frame, bake.frame_end = "CACHED", 1, 20000, 20000
    change = changes.add()
    change.scene, change.name = scene.name_full, "friction of Body"
    scene.frame_set(frame)
    texts = [options["text"] for _, _, options, asked in drawn("scene").operators if hasattr(asked, "from_here")]
    changes.clear()
    context = Window()
    context.region = SimpleNamespace(width=USUAL)
    assert len(texts) == 1 and str(frame) in texts[0] and len(texts[0]) <= characters_in_row(context)


def test_what_solved_the_islands_is_among_the_statistics(make_body):
    make_body()
    bake = bpy.context.scene.stiction.bake
    bake.state, bake.solved_by = "KEYED", "50 % by ADMM"
    assert not any("ADMM" in text for text in drawn("scene").labels)
    assert any("ADMM" in text for text in drawn("scene_statistics").labels)


def test_searching_for_stiction_finds_no_list_of_materials(make_body):
    """F3 lists all entries of a menu and of the menus within, the shortest first: "Ice" came before "Bake"."""
    menus = []

    class Menus(Drawn):
        def menu(self, name: str, **_: Any) -> None:
            menus.append(name)

    layout = Menus()
    bpy.types.STICTION_MT_rigid_body.draw(SimpleNamespace(layout=layout), bpy.context)
    assert menus == []
    texts = [options.get("text") for _, _, options, _ in layout.operators]
    assert layout.operators[0][1] == "stiction.bake" and "Material" in texts
