# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a bake: where it is worst, how a plot shows them, what is exported, what the timeline says."""

from __future__ import annotations

import csv
import dataclasses
import json
import math

import bpy
import numpy as np
import pytest

FOUND = 10  # ways in which an answer is found
KINDS = 5  # of violations of the contact law


def step(**changes):
    return {
        "status": 0,
        "contacts": 2,
        "islands": 1,
        "iterations": 3,
        "factorisations": 2,
        "solves": 1,
        "found": np.zeros(FOUND, int),
        "cuts": 0,
        "asleep": 0,
        "moving": 0,
        "chosen_normals": 0,
        "chosen_pair": (-1, -1),
        "spin": 0.0,
        "spinning_body": -1,
        "violations": np.zeros(KINDS, int),
        "violating_pairs": np.full((KINDS, 2), -1),
        **dict.fromkeys(("relative_error", "residual", "cone", "complementarity", "dissipation"), 0.0),
        "natural_map": 1e-9,
        "worst_pair": (0, 1),
        "deepest_overlap": 0.0,
        "overlap_ratio": 0.0,
        "deepest_pair": (-1, -1),
        "seconds": 0.1,
    } | changes


# Of the frames 2 to 5: the worst residual is in 3, the overlap that is deepest for its bodies in 4, the longest in 5.
ROWS = {
    2: [step(deepest_overlap=5e-3, overlap_ratio=1e-4, deepest_pair=(0, 1)), step(iterations=40)],
    3: [step(natural_map=4e-5, status=1, worst_pair=(1, 2)), step()],
    4: [step(deepest_overlap=1e-4, overlap_ratio=2e-2, deepest_pair=(0, 2)), step()],
    5: [step(seconds=3.0), step(violations=np.eye(KINDS, dtype=int)[1], violating_pairs=np.tile([1, 2], (KINDS, 1)))],
}


@pytest.fixture
def baked(scene, make_body, fake_worker, monkeypatch):
    """A bake of the bodies A, B and C with these statistics."""
    from stiction.solver_core.dynamics.solve.outcome import frame_statistics

    plain = fake_worker.frame

    def frame(self, number):
        return dataclasses.replace(plain(self, number), statistics=frame_statistics(ROWS.get(number, [])))

    monkeypatch.setattr(fake_worker, "frame", frame)
    for name in "ABC":
        make_body(name)
    assert bpy.ops.stiction.bake() == {"FINISHED"}
    return scene


def selected():
    return {ob.name for ob in bpy.context.selected_objects}


@pytest.mark.parametrize(
    ("measure", "frame", "names"),
    [
        ("residual", 3, {"B", "C"}),
        ("overlap", 4, {"A", "C"}),
        ("iterations", 2, {"A", "B"}),
        ("seconds", 5, {"A", "B"}),
        ("violations", 5, {"B", "C"}),
    ],
)
def test_the_worst_frame_is_shown_with_its_two_bodies_selected(baked, measure, frame, names):
    bpy.data.objects["B"].select_set(True)
    assert bpy.ops.stiction.jump_to_worst(measure=measure) == {"FINISHED"}
    assert baked.frame_current == frame and selected() == names
    assert bpy.context.view_layer.objects.active.name in names


def test_a_renamed_body_is_still_the_one_that_is_meant(baked):
    bpy.data.objects["C"].name = "Renamed"
    bpy.ops.stiction.jump_to_worst(measure="overlap")
    assert selected() == {"A", "Renamed"}


def test_without_a_bake_or_anything_in_it_there_is_no_worst_frame(scene, make_body, fake_worker):
    assert not bpy.ops.stiction.jump_to_worst.poll() and not bpy.ops.stiction.export_certificate.poll()
    make_body("A")
    bpy.ops.stiction.bake()
    assert bpy.ops.stiction.jump_to_worst(measure="overlap") == {"CANCELLED"}


def test_figures_are_read_a_little_at_a_time_and_follow_the_bake(baked):
    from stiction.addon.output.bake_statistics import BakeFigures

    figures, turns = BakeFigures(), 0
    while not figures.read(baked, 0.0):
        turns += 1
    assert turns >= 4 and [one.frame for one in figures.frames] == [1, 2, 3, 4, 5]
    assert (figures.frames[2].residual, figures.frames[2].missed, figures.frames[3].overlap) == (4e-5, 1, 1e-4)
    bpy.ops.stiction.free_bake()
    assert figures.read(baked) and figures.frames == []


@pytest.mark.parametrize("suffix", [".json", ".csv", ".html"])
def test_the_certificate_is_written_as_what_its_name_ends_with(baked, suffix, tmp_path):
    file = tmp_path / f"accuracy{suffix}"
    assert bpy.ops.stiction.export_certificate(filepath=str(file)) == {"FINISHED"}
    text = file.read_text(encoding="utf-8")
    if suffix == ".json":
        assert json.loads(text)["totals"]["missed_steps"] == 1
    elif suffix == ".csv":
        assert [int(row["frame"]) for row in csv.DictReader(text.splitlines())] == [1, 2, 3, 4, 5]
    else:
        assert "1 of 8 time steps did not converge" in text


def test_what_cannot_be_exported_is_said(baked, tmp_path):
    for file in (tmp_path / "accuracy.pdf", tmp_path / "nowhere" / "accuracy.csv"):
        with pytest.raises(RuntimeError, match="cannot be written"):
            bpy.ops.stiction.export_certificate(filepath=str(file))


def test_the_command_line_writes_certificates_and_tells_a_miss_by_its_status(baked, tmp_path):
    from stiction.addon.command import cli

    blend = tmp_path / "baked.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    files = [tmp_path / "a.csv", tmp_path / "a.html"]
    assert int(cli.run(["report", str(blend), "-o", str(files[0]), "-o", str(files[1])])) == 3
    assert all(file.is_file() for file in files)
    bpy.ops.stiction.free_bake()
    assert int(cli.run(["report", "-o", str(files[0])])) == 2
    assert int(cli.run(["report", str(blend), "-o", str(tmp_path / "nowhere" / "a.csv")])) == 2


@pytest.fixture
def plots(extension):
    from stiction.addon.show import plots

    return plots


def test_a_plot_begins_and_ends_at_its_edges(plots):
    box, axis = plots.Box(100.0, 50.0, 200.0, 40.0), plots.axis_of([0.0, 5.0, 10.0], False)
    lines = plots.lines_of([3, 4, 5], [0.0, 5.0, 10.0], box, axis)
    np.testing.assert_allclose(lines, [[100, 50], [200, 70], [200, 70], [300, 90]])
    assert box.at(4, 3, 5) == 200.0 and len(plots.lines_of([], [], box, axis)) == 0


def test_a_logarithmic_axis_has_whole_decades_and_shows_what_is_no_number_at_the_top(plots):
    axis = plots.axis_of([3e-9, 2e-7, 0.0, math.inf], True, limit=1e-6)
    assert (axis.low, axis.high) == (-9.0, -6.0)
    np.testing.assert_allclose(axis.share(np.array([1e-9, 1e-6, 0.0, math.inf])), [0.0, 1.0, 0.0, 1.0])


def test_the_timeline_tells_cached_outdated_lost_and_missing_frames_apart(baked):
    from stiction.addon.bake.fingerprint import ONLY_THE_END
    from stiction.addon.show import timeline

    def strips(changes=(), is_lost=False):
        return [(s.first, s.last, s.colour) for s in timeline.strips_of(baked, list(changes), is_lost)]

    assert strips() == strips([ONLY_THE_END]) == [(1, 5, timeline.CACHED)]
    assert strips(["friction of A"]) == [(1, 5, timeline.OUTDATED)]
    assert strips(["gone"], True) == [(1, 5, timeline.LOST)]
    baked.stiction.bake.last_frame = 3
    assert strips() == [(1, 3, timeline.CACHED), (4, 5, timeline.MISSING)]
    bpy.ops.stiction.free_bake()
    assert strips() == []


def test_without_a_window_nothing_is_drawn(extension):
    from stiction.addon.show import statistics_overlay, timeline

    assert not statistics_overlay.Plots.handler.is_added and not timeline.Timeline.handler.is_added


def test_the_lines_of_all_plots_lie_in_their_boxes_one_above_the_other(baked):
    from stiction.addon.output.bake_statistics import BakeFigures
    from stiction.addon.show import statistics_overlay as overlay

    figures = BakeFigures()
    figures.read(baked)
    boxes = overlay.boxes_of_plots(10.0, 20.0, 2.0)
    assert list(boxes) == ["seconds", "overlap", "iterations", "residual"]
    assert [box.y for box in boxes.values()] == sorted(box.y for box in boxes.values())
    points, colours = (np.array(one) for one in overlay.lines_of_plots(boxes, figures.frames[1:], 1e-6))
    whole = overlay.background_of(list(boxes.values()), 6.0)
    assert len(points) == len(colours) and len(points) % 2 == 0
    assert (points >= (whole.x, whole.y)).all() and (points <= (whole.x + whole.width, whole.y + whole.height)).all()
    # the one frame with an unconverged step is marked
    marks = points[(colours == overlay.LIMIT).all(axis=1)].reshape(-1, 2, 2)
    assert len(marks) == 2 and marks[1, 0, 0] == pytest.approx(boxes["residual"].at(3, 2, 5))
