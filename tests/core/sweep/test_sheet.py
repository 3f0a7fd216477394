# SPDX-License-Identifier: GPL-3.0-or-later
"""The sheet says what stands and what fell, with the poses of the last frame, whatever the bodies are called."""

from __future__ import annotations

import csv
import dataclasses
import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from solver_core.scene.parts import axis_angle, box, cone_shape, cylinder_shape, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.sweep.axes import parse_axes, variations
from solver_core.sweep.drawing import PICTURE_HEIGHT, PICTURE_WIDTH, View, picture, solids_of, view_of
from solver_core.sweep.outcome import Figures, Outcome, Standing, State, body_sizes, motion_of
from solver_core.sweep.results import Results
from solver_core.sweep.sheet import write_sheet

ROUGH = pair_material(0.5)
USUAL = Standing()
EVIL = "=1+1<script>alert(1)</script>\nname"
SPEC = SceneSpec(
    (
        ground(ROUGH),
        box("Crate", (0.2, 0.2, 0.4), (0.0, 0.0, 0.2), ROUGH),
        box(EVIL, (0.2, 0.2, 0.2), (0.5, 0.0, 0.1), ROUGH),
    )
)


def start(spec=SPEC):
    return np.array([[*body.position, *body.orientation] for body in spec.bodies])


def figures(last, **changes):
    found = Figures(start(), last, 0, 0.0, (), None, 1.5)
    return dataclasses.replace(found, **changes)


def moved(body, by=(0.0, 0.0, 0.0), angle=0.0):
    """The start, with a body moved, and turned about an edge of the world."""
    last = start()
    last[body, :3] += by
    last[body, 3:] = axis_angle([1.0, 0.0, 0.0], angle)
    return last


def stands(last, bound=USUAL):
    return motion_of(figures(last), SPEC, body_sizes(SPEC), bound).stands.tolist()


def test_a_body_stands_within_a_tenth_of_its_size_and_ten_degrees():
    size = math.sqrt(0.2**2 + 0.2**2 + 0.4**2)
    assert body_sizes(SPEC)[1] == pytest.approx(size)
    assert stands(moved(1, (0.0, 0.099 * size, 0.0))) == [True, True]
    assert stands(moved(1, (0.0, 0.101 * size, 0.0))) == [False, True]
    assert stands(moved(1, angle=math.radians(9.9))) == [True, True]
    assert stands(moved(1, angle=-math.radians(10.1))) == [False, True]


def test_the_bound_can_be_said():
    bound = Standing(1e-3, math.radians(1.0))
    assert stands(moved(2, (2e-3, 0.0, 0.0)), bound) == [True, False]
    assert stands(moved(2, (0.5e-3, 0.0, 0.0)), bound) == [True, True]


def test_a_small_turn_keeps_its_digits_and_a_whole_one_is_none():
    turned = motion_of(figures(moved(1, angle=1e-9)), SPEC, body_sizes(SPEC), Standing()).turned[0]
    assert turned == pytest.approx(1e-9, rel=1e-6)
    assert motion_of(figures(moved(1, angle=2.0 * math.pi)), SPEC, body_sizes(SPEC), Standing()).turned[0] < 1e-9


def test_sizes_are_those_of_the_shapes():
    shapes = [sphere_shape(0.5), cylinder_shape(0.5, 1.0), ShapeSpec(ShapeKind.PLANE)]
    spec = SceneSpec(tuple(BodySpec(str(k), BodyKind.PASSIVE, shape) for k, shape in enumerate(shapes)))
    sphere, cylinder, plane = body_sizes(spec)
    assert sphere == pytest.approx(math.sqrt(3.0))
    assert cylinder >= math.hypot(1.0, 1.0, 1.0)
    assert plane == math.inf


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def sheet(tmp_path):
    axes = parse_axes(["friction=0.2,0.4", "method=staggered,pivot"])
    ends = [
        Outcome(
            State.BAKED, "bakes/a.cache", 3, figures=figures(moved(1, angle=0.5), overlap=1e-3, pair=("Crate", EVIL), frame=4)
        ),
        Outcome(State.MISSED, "bakes/b.cache", 0, figures=figures(start(), missed_steps=2)),
        Outcome(State.FAILED, "", 0, said="no space <left> on the device"),
        Outcome(State.BAKED, "bakes/d.cache", 3, figures=figures(moved(1), overlap=math.inf, pair=("Crate", EVIL), frame=4)),
    ]
    write_sheet(tmp_path, Results(SPEC, axes, variations(axes), ends, Standing()))
    return tmp_path


def rows(file):
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def test_the_table_has_a_row_for_each_variation_and_one_that_failed_has_no_figures(sheet):
    first, second, third, fourth = rows(sheet / "sheet.csv")
    assert (first["friction"], first["method"], first["state"], first["standing"], first["fallen"]) == (
        "0.2",
        "staggered",
        "baked",
        "1",
        "1",
    )
    assert float(first["deepest_overlap"]) == 1e-3
    assert (second["state"], second["missed_steps"], second["cache"]) == ("missed", "2", "bakes/b.cache")
    assert (third["state"], third["standing"], third["error"]) == ("failed", "", "no space <left> on the device")
    assert fourth["deepest_overlap"] == "" and fourth["deepest_frame"] == "4"


def test_the_last_pose_of_every_active_body_is_in_a_table_and_no_name_is_a_formula(sheet):
    poses = rows(sheet / "poses.csv")
    assert [row["variation"] for row in poses] == ["1", "1", "2", "2", "4", "4"]
    assert [float(poses[0][name]) for name in ("x", "y", "z")] == [0.0, 0.0, 0.2]
    assert float(poses[0]["turned"]) == pytest.approx(math.degrees(0.5))
    assert {row["stands"] for row in poses if row["variation"] == "2"} == {"1"}
    assert all(row["body"].startswith(("Crate", "'=")) for row in poses)


def test_the_page_runs_nothing_loads_nothing_and_shows_names_as_text(sheet):
    text = (sheet / "sheet.html").read_text(encoding="utf-8")
    page = Tags(text)
    assert "script" not in {tag for tag, _ in page.tags}
    assert not any(name in attributes for _, attributes in page.tags for name in ("src", "href", "onload", "onclick"))
    assert "<script>alert(1)</script>" in page.text
    assert "no space <left> on the device" in page.text
    assert "3 of 4 variations are baked; 1 have unconverged steps; 1 failed" in page.text
    # a picture for each that has one, and three plots for each of two axes
    assert sum(tag == "svg" for tag, _ in page.tags) == 3 + 6
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)


def corners(svg):
    return [[tuple(map(float, pair.split())) for pair in path.split("L")] for path in re.findall(r"d='M([^Z]*)Z'", svg)]


def test_all_bodies_are_in_their_picture_and_what_fell_has_another_colour():
    last = moved(1, angle=0.5)
    solids = solids_of(SPEC)
    view = view_of(SPEC, solids, [start(), last])
    standing = picture(SPEC, solids, view, start(), [True, True, True])
    fallen = picture(SPEC, solids, view, last, [True, False, True])
    for svg in (standing, fallen):
        faces = corners(svg)[1:]  # the first is the ground
        assert len(faces) >= 6  # three faces of each box look at the viewer
        assert all(0.0 <= x <= PICTURE_WIDTH and 0.0 <= y <= PICTURE_HEIGHT for face in faces for x, y in face)
    fills = [set(re.findall(r"fill='(#\w+)'", svg)) for svg in (standing, fallen)]
    assert len(fills[1] - fills[0]) >= 3


def test_what_flies_off_does_not_make_the_rest_invisible():
    solids = solids_of(SPEC)
    near, far = (view_of(SPEC, solids, [start(), moved(2, (by, 0.0, 0.0))]) for by in (0.3, 300.0))
    assert near.scale > 0.2 * view_of(SPEC, solids, [start()]).scale
    assert far.scale == view_of(SPEC, solids, [start()]).scale


@pytest.mark.parametrize(
    "shape",
    [
        sphere_shape(0.1),
        cylinder_shape(0.1, 0.3),
        cone_shape(0.1, 0.3),
        ShapeSpec(ShapeKind.HULL, np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]]), margin=0.05),
        ShapeSpec(ShapeKind.HULL, np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.0, 0.2, 0.0]])),
        ShapeSpec(ShapeKind.MESH, np.eye(3), np.array([[0, 1, 2]], dtype=np.int32)),
    ],
    ids=["sphere", "cylinder", "cone", "capsule", "sheet", "mesh"],
)
def test_every_shape_has_a_picture(shape):
    spec = SceneSpec((BodySpec("One", BodyKind.ACTIVE, shape, mass=1.0),))
    pose = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    svg = picture(spec, solids_of(spec), View(np.zeros(2), 100.0), pose, [True])
    assert corners(svg) and not re.search(r"nan|inf", svg)
    ET.fromstring(svg)
