# SPDX-License-Identifier: GPL-3.0-or-later
"""The certificate of a bake says the same in all of its forms, and its page is text whatever objects are called."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from solver_core.certificate import certificate_of, main
from solver_core.dynamics.model.frame import Frame
from solver_core.dynamics.model.violations import NO_VIOLATIONS, Violation
from solver_core.dynamics.solve.outcome import frame_statistics
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.snapshot import file_digest, write_snapshot
from solver_core.problem.result import Found, Status
from solver_core.process.command_line import ExitStatus
from solver_core.scene.joints import JointSpec
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings

from ..caches import give_settings_of_an_earlier_version

EVIL = "<script>alert('&')</script>"
HULL = ShapeSpec(ShapeKind.HULL)
SPEC = SceneSpec(
    (BodySpec(EVIL, BodyKind.ACTIVE, HULL, mass=1.0), BodySpec('Floor, "the"', BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE))),
    frame_start=3,
    frame_end=6,
)
SETTINGS = SolverSettings(substeps=2, tolerance=1e-6)


def row(**changes):
    return {
        "status": 0,
        "contacts": 4,
        "islands": 1,
        "iterations": 3,
        "factorisations": 2,
        "solves": 1,
        "found": np.arange(len(Found)),
        "cuts": 0,
        "asleep": 0,
        "moving": 0,
        "chosen_normals": 0,
        "chosen_pair": (-1, -1),
        "spin": 0.0,
        "spinning_body": -1,
        "violations": NO_VIOLATIONS.counts,
        "violating_pairs": NO_VIOLATIONS.pair,
        "relative_error": 1e-8,
        "residual": 1e-9,
        "cone": 1e-12,
        "complementarity": 3e-8,
        "dissipation": 0.0,
        "natural_map": 2e-8,
        "worst_pair": (0, 1),
        "deepest_overlap": 2e-5,
        "overlap_ratio": 1e-4,
        "deepest_pair": (0, 1),
        "seconds": 0.25,
    } | changes


@pytest.fixture
def write(tmp_path):
    """Writes the certificate of a bake whose frames after the first have these pairs of steps; status, and a file of each."""

    def make(*steps, settings=SETTINGS, spec=SPEC):
        snapshot, cache = tmp_path / "scene.snapshot", tmp_path / "scene.cache"
        write_snapshot(snapshot, spec, settings)
        of_joints = np.zeros((len(spec.joints), 6)), np.zeros(len(spec.joints), bool), np.zeros(len(spec.joints))
        with FrameCacheWriter.create(cache, spec, settings) as writer:
            for number, rows in enumerate([[], *steps], spec.frame_start):
                still = np.zeros((2, 7)), np.zeros((2, 6)), frame_statistics(rows)
                writer.append(Frame(number, *still, *of_joints), {})
        files = [tmp_path / f"certificate{suffix}" for suffix in (".json", ".csv", ".html")]
        status = main([str(snapshot), str(cache), *map(str, files)])
        return status, *(file.read_text(encoding="utf-8") for file in files)

    return make


GOOD = [row(), row(iterations=5)]
MISSED = [row(), row(status=int(Status.MAX_ITERATIONS), natural_map=4e-3)]
BROKEN = [row(), row(status=int(Status.NOT_FINITE), natural_map=float("nan"), overlap_ratio=np.inf, deepest_overlap=np.inf)]


class Page(HTMLParser):
    """The tags, the attributes and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.said = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.said.append(data)


def test_a_row_of_the_table_is_a_frame_of_the_report(write):
    status, report, table, _ = write(GOOD, GOOD)
    assert status == ExitStatus.DONE
    rows, frames = list(csv.DictReader(table.splitlines())), json.loads(report)["frames"]
    assert [int(one["frame"]) for one in rows] == [one["frame"] for one in frames] == [3, 4, 5]
    assert (rows[1]["iterations"], rows[1]["found_newton"], float(rows[1]["complementarity"])) == ("8", "4", 3e-8)
    assert (rows[1]["worst_pair_1"], rows[1]["deepest_pair_2"]) == (EVIL, 'Floor, "the"')


def test_a_bake_within_tolerance_with_a_contact_at_a_distance_is_not_called_good(write):
    count, pair = NO_VIOLATIONS.counts.copy(), NO_VIOLATIONS.pair.copy()
    count[Violation.DISTANCE], pair[Violation.DISTANCE] = 2, (0, 1)
    status, report, table, page = write(GOOD, [row(), row(violations=count, violating_pairs=pair)])
    assert status == ExitStatus.DONE
    entry = {"frame": 5, "substep": 2, "kind": "distance", "count": 2, "bodies": [EVIL, 'Floor, "the"']}
    assert json.loads(report)["violations"] == [entry]
    assert [one["violations_distance"] for one in csv.DictReader(table.splitlines())] == ["0", "0", "2"]
    found = Page(page)
    said = "".join(found.said)
    assert ("class", "verdict bad") in found.attributes
    assert "the contact law does not explain all motion: contact at a distance 2" in said
    assert "Motion that the contact law does not explain" in said and "script" not in found.tags


def test_the_page_says_whether_every_step_is_as_exact_as_was_asked(write):
    assert "All 4 time steps are within the tolerance of 1e-06" in "".join(Page(write(GOOD, GOOD)[3]).said)
    status, _, _, page = write(GOOD, MISSED, BROKEN)
    said = "".join(Page(page).said)
    assert status == ExitStatus.MISSED_TOLERANCE and "2 of 6 time steps did not converge" in said
    assert "Motion that the contact law does not explain" not in said
    assert "max iterations" in said and "natural map 0.004" in said and "not finite" in said


def test_names_are_text_and_the_page_loads_and_runs_nothing(write):
    page = Page(write(GOOD, MISSED)[3])
    assert EVIL in "".join(page.said)
    assert not {"script", "link", "img", "iframe", "object", "embed", "a", "form", "base"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name in ("src", "href", "style") or name.startswith("on")]
    assert page.tags.count("svg") == 5


def test_what_is_not_finite_is_an_empty_cell_and_a_mark_and_never_a_number(write):
    _, report, table, page = write(GOOD, BROKEN)
    assert json.loads(report)["frames"][2]["natural_map"] is None
    assert list(csv.DictReader(table.splitlines()))[2]["natural_map"] == ""
    values = [value for name, value in Page(page).attributes if name in ("d", "cx", "cy", "x", "y", "y1", "y2")]
    assert not [value for value in values if "nan" in value or "inf" in value]
    assert ("class", "broken") in Page(page).attributes


def test_the_same_bake_gives_the_same_bytes(write):
    assert write(GOOD, MISSED) == write(GOOD, MISSED)


def test_a_bake_of_an_earlier_version_has_a_certificate_to_what_was_accepted_there(tmp_path):
    snapshot, cache = tmp_path / "scene.snapshot", tmp_path / "scene.cache"
    write_snapshot(snapshot, SPEC, SETTINGS)
    give_settings_of_an_earlier_version(snapshot, crowd_tolerance=1e-4)
    with FrameCacheWriter.create(cache, SPEC, SETTINGS, digest=file_digest(snapshot)) as writer:
        for number, rows in enumerate([[], [row(moving=90, natural_map=4e-4)]], SPEC.frame_start):
            writer.append(Frame(number, np.zeros((2, 7)), np.zeros((2, 6)), frame_statistics(rows)), {})
    report = certificate_of(snapshot, cache)
    assert report["digest"] == file_digest(snapshot)
    assert (report["settings"]["moving_tolerance"], report["totals"]["most_moving"]) == (1e-3, 90)


def test_a_bake_without_frames_has_a_certificate_too(write):
    assert write()[0] == ExitStatus.DONE


def test_what_cannot_be_read_or_written_is_named(tmp_path, write, capsys):
    write(GOOD)
    here = [str(tmp_path / "scene.snapshot"), str(tmp_path / "scene.cache")]
    for arguments, word in (
        ([here[0], str(tmp_path / "gone.cache"), "x.csv"], "gone.cache"),
        ([*here, str(tmp_path / "x.pdf")], "must end with .json, .csv, .html"),
        (here, "FILE"),
        ([here[1], here[0], "x.csv"], "scene.cache"),
    ):
        assert main(arguments) == ExitStatus.BAD_INPUT
        assert word in capsys.readouterr().err


def test_the_page_says_what_was_held_to_the_tolerance_in_motion(write):
    page = "".join(Page(write([row(), row(moving=90)], GOOD)[3]).said)
    assert "large moving islands of up to 90 bodies within 0.001 of their fastest motion, or of ten times the speed " in page


def test_the_page_says_how_many_normals_were_a_choice_and_where_and_nothing_where_none_was(write):
    assert "is a choice" not in "".join(Page(write(GOOD, GOOD)[3]).said)
    said = "".join(Page(write(GOOD, [row(), row(chosen_normals=3, chosen_pair=(0, 1))])[3]).said)
    assert f'Most contacts in a step whose normal is a choice3: most between {EVIL} and Floor, "the", frame 5' in said


def test_the_page_names_joints_whose_reactions_are_not_unique(write):
    hinges = tuple(JointSpec(f"Hinge {z}", "", EVIL, np.array([0.0, 0.0, z])) for z in range(6))
    said = "".join(Page(write(GOOD, spec=replace(SPEC, joints=hinges))[3]).said)
    assert "not unique6 of 6: Hinge 0, Hinge 1, Hinge 2, Hinge 3 and 2 more" in said
