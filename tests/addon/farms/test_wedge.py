# SPDX-License-Identifier: GPL-3.0-or-later
"""*Sweep* hands what the panel has to a sweep beside Blender, shows how it goes, stops it, and says what came out."""

from __future__ import annotations

import csv
from pathlib import Path

import bpy
import pytest


@pytest.fixture
def wedge(scene, make_body, tmp_path: Path):
    """The settings of a scene with a crate, varied in friction."""
    make_body("Crate").location = (0, 0, 2)
    scene.stiction_wedge.folder = str(tmp_path / "wedge")
    vary("friction", "0.2, 0.4")
    return scene.stiction_wedge


def vary(field: str, values: str, body: bpy.types.Object | None = None) -> None:
    bpy.ops.stiction.change_wedge_axes(change="ADD")
    axis = bpy.context.scene.stiction_wedge.axes[-1]
    axis.field, axis.values, axis.body = field, values, body


def session():
    return bpy.context.window_manager.stiction_wedge


class Says:
    """A sweep that says what it is told to."""

    def __init__(self, *events):
        from stiction.addon.bake.job import WorkerEnded, WorkerMessage

        *said, status = events
        self._events = [*(WorkerMessage({"event": name, **more}) for name, more in said), WorkerEnded(status, "no memory")]
        self.given = ()

    def __call__(self, *given):
        self.given = given
        return self

    def new_events(self, wait=False):
        yield from self._events


@pytest.fixture
def says(monkeypatch):
    """Puts a sweep in place of the process."""
    from stiction.addon.farms import sweep

    def put(*events):
        process = Says(*events)
        monkeypatch.setattr(sweep, "SweepProcess", process)
        return process

    return put


PROGRESS = ("progress", {"text": " 45 %  3 of 6 variations, 12 s", "share": 0.45})


def test_every_field_of_a_sweep_can_be_chosen(scene):
    from stiction.addon.settings.wedge import FIELDS
    from stiction.solver_core.sweep.axes import BODY_FIELDS, SCENE_FIELDS

    bpy.ops.stiction.change_wedge_axes(change="ADD")
    items = scene.stiction_wedge.axes[0].bl_rna.properties["field"].enum_items
    assert {item.identifier for item in items} == set(FIELDS) == {*BODY_FIELDS, *SCENE_FIELDS}
    assert not [item.identifier for item in items if not item.description or item.description.endswith(".")]


def test_a_second_thing_that_is_varied_is_none_that_is_there_already(scene):
    from stiction.addon.farms.wedge import variations_of

    for _ in range(2):
        bpy.ops.stiction.change_wedge_axes(change="ADD")
    assert len({axis.field for axis in scene.stiction_wedge.axes}) == 2
    assert variations_of(scene.stiction_wedge) > 2


def test_what_is_varied_the_scene_and_the_folder_are_handed_over(wedge, says, tmp_path):
    vary("seed", "1:3", bpy.data.objects["Crate"])  # of the scene: its body does not count
    vary("mass", "1,2", bpy.data.objects["Crate"])
    wedge.workers = 2
    said = ("said", {"text": "12 of 12 variations are baked; sheet.html"})
    process = says(PROGRESS, said, ("sheet", {"path": "/a/sheet.html"}), 0)
    assert bpy.ops.stiction.wedge() == {"FINISHED"}
    spec, settings, folder, arguments = process.given
    assert [body.name for body in spec.bodies] == ["Crate"] and settings.substeps == 10
    assert folder == tmp_path / "wedge"
    assert arguments == ["--vary=friction=0.2, 0.4", "--vary=seed=1:3", "--vary=Crate:mass=1,2", "--workers=2"]
    assert (session().result, session().sheet, session().trouble) == ("12 of 12 variations are baked", "/a/sheet.html", "")
    assert session().factor == pytest.approx(0.45) and session().status == "45 % 3 of 6 variations, 12 s"


def test_a_value_that_makes_no_sense_is_said_in_the_words_of_the_panel_and_nothing_begins(wedge, says):
    from stiction.addon.farms.wedge import variations_of
    from stiction.solver_core.process.command_line import UsageError

    vary("substeps", "ten")
    process = says(0)
    with pytest.raises(UsageError, match=r"^'substeps=ten': substeps is counted: 'ten' is not a whole number$"):
        variations_of(wedge)
    with pytest.raises(RuntimeError, match="The sweep cannot start: 'substeps=ten'"):
        bpy.ops.stiction.wedge()
    assert not process.given and "'ten' is not a whole number" in session().trouble
    wedge.axes[1].values = "10,20"
    assert variations_of(wedge) == 4


def test_a_sweep_that_fails_says_why_and_one_that_dies_what_it_left(wedge, says):
    said = ("said", {"text": "1 of 2 variations are baked; /a/sheet.html"})
    says(said, ("error", {"text": "1 variations failed"}), ("sheet", {"path": "/a/sheet.html"}), 1)
    with pytest.raises(RuntimeError, match="1 variations failed"):
        bpy.ops.stiction.wedge()
    assert session().sheet == "/a/sheet.html" and session().result == "1 of 2 variations are baked"
    says(-9)
    with pytest.raises(RuntimeError, match="no memory"):
        bpy.ops.stiction.wedge()
    assert session().trouble == "no memory" and not session().sheet


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda scene: scene.stiction_wedge.axes.clear(), "Nothing is varied"),
        (lambda scene: setattr(scene.stiction_wedge, "folder", "//wedge"), "Save the file first"),
        (lambda scene: setattr(session(), "is_running", True), "A sweep is running"),
        (lambda scene: bpy.ops.rigidbody.world_remove(), "no rigid bodies"),
    ],
)
def test_the_button_says_why_it_cannot_be_pressed(wedge, spoil, said):
    spoil(bpy.context.scene)
    try:
        with pytest.raises(RuntimeError, match=said):
            bpy.ops.stiction.wedge()
    finally:
        session().is_running = False


def test_the_list_is_added_to_and_taken_from(wedge):
    vary("mass", "1,2")
    assert (len(wedge.axes), wedge.axis_index) == (2, 1)
    for left in (1, 0, 0):
        bpy.ops.stiction.change_wedge_axes(change="REMOVE")
        assert (len(wedge.axes), wedge.axis_index) == (left, 0)


@pytest.mark.slow
def test_a_wedge_bakes_its_variations_and_writes_the_sheet(wedge, tmp_path):
    wedge.workers = 1
    assert bpy.ops.stiction.wedge() == {"FINISHED"}
    with (tmp_path / "wedge" / "sheet.csv").open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    assert [row["friction"] for row in rows] == ["0.2", "0.4"]
    assert session().sheet == str(tmp_path / "wedge" / "sheet.html") and Path(session().sheet).is_file()
    assert session().result == "2 of 2 variations are baked"


def test_a_sweep_that_says_nothing_is_ended_and_says_how_to_go_on(wedge, tmp_path, monkeypatch):
    from stiction.addon.blender.cooperative import at_once
    from stiction.addon.farms import sweep
    from stiction.addon.read.extract import extracting

    monkeypatch.setattr(sweep, "LONGEST_SILENCE", 0.01)
    extraction = at_once(extracting(bpy.context))
    process = sweep.SweepProcess(extraction.spec, extraction.settings, tmp_path / "out", ["--vary=seed=1:2"])
    (ended,) = process.new_events(wait=True)
    assert ended.status == 1 and "run it again with the same folder" in ended.trouble


@pytest.mark.slow
def test_one_that_is_stopped_ends_with_the_variation_in_work(wedge, tmp_path):
    from stiction.addon.bake.job import WorkerEnded
    from stiction.addon.blender.cooperative import at_once
    from stiction.addon.farms.sweep import SweepProcess
    from stiction.addon.read.extract import extracting

    extraction = at_once(extracting(bpy.context))
    process = SweepProcess(extraction.spec, extraction.settings, tmp_path / "out", ["--vary=seed=1:50", "--workers=1"])
    events = process.new_events(wait=True)
    first = next(events)
    process.stop()
    *between, last = events
    assert first.record["event"] == "progress" and isinstance(last, WorkerEnded) and last.status == 1
    assert "goes on after the frames so far" in between[-1].record["text"]
    # seconds would be those of a busy machine; tests/core/sweep/test_bakers.py has them for the bakes
    begun = list((tmp_path / "out").rglob("*.cache"))
    assert len(begun) < 10, begun
