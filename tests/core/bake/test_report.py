# SPDX-License-Identifier: GPL-3.0-or-later
"""The report adds up, says where a step did not converge, and is JSON whatever happened."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from solver_core.bake.report import build_report, error_report, report_bytes
from solver_core.dynamics.model.frame import Frame, FrameStatistics
from solver_core.dynamics.model.violations import Violation
from solver_core.problem.result import Found, Status
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, SceneWarning, ShapeKind, ShapeSpec, SolverSettings
from solver_core.validation.findings import SceneProblem

HULL = ShapeSpec(ShapeKind.HULL)
SPEC = SceneSpec(
    (
        BodySpec("Card.1", BodyKind.ACTIVE, HULL, mass=1.0),
        BodySpec("Card.2", BodyKind.ACTIVE, HULL, mass=1.0),
        BodySpec("Table", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE)),
    ),
    frame_start=5,
    frame_end=7,
    fps=25.0,
    time_scale=0.5,
)
SETTINGS = SolverSettings(tolerance=1e-6, substeps=4)


def frame(number, *, steps=4, **changes):
    values = {
        "status": np.zeros(steps, dtype=np.int64),
        "contacts": np.arange(10, 10 + steps),
        "islands": np.ones(steps, dtype=np.int64),
        "iterations": np.full(steps, 2),
        "factorisations": np.full(steps, 5),
        "solves": np.full(steps, 2),
        "found": np.tile([3, 0, 2, 0, 1, *[0] * (len(Found) - 5)], (steps, 1)),
        "cuts": np.full(steps, 1),
        "relative_error": np.full(steps, 1e-7),
        "residual": np.full(steps, 1e-12),
        "cone": np.zeros(steps),
        "complementarity": np.linspace(0.0, 3e-8, steps),
        "dissipation": np.full(steps, 2e-8),
        "natural_map": np.full(steps, 3e-8),
        "worst_pair": np.full((steps, 2), -1),
        "deepest_overlap": np.full(steps, 1e-5),
        "overlap_ratio": np.linspace(1e-4, 3e-4, steps),
        "deepest_pair": np.tile([0, 2], (steps, 1)),
        "asleep": np.arange(steps),
        "moving": np.zeros(steps, np.int64),
        "chosen_normals": np.zeros(steps, np.int64),
        "chosen_pair": np.full((steps, 2), -1),
        "spin": np.zeros(steps),
        "spinning_body": np.full(steps, -1),
        "violations": np.zeros((steps, len(Violation)), np.int64),
        "violating_pairs": np.full((steps, len(Violation), 2), -1),
        "seconds": np.full(steps, 0.25),
    }
    return Frame(number, np.zeros((3, 7)), np.zeros((3, 6)), FrameStatistics(**{**values, **changes}))


def missing_frame():
    return frame(
        7,
        status=np.array([0, 0, int(Status.MAX_ITERATIONS), 0]),
        relative_error=np.array([1e-7, 1e-7, 4e-3, 1e-7]),
        dissipation=np.array([0.0, 0.0, 2e-3, 0.0]),
        worst_pair=np.array([[-1, -1], [-1, -1], [2, 0], [-1, -1]]),
    )


def test_counts_are_sums_and_errors_are_the_worst():
    report = build_report(SPEC, SETTINGS, [frame(5, steps=0), frame(6), frame(7)])
    first, second, _ = report["frames"]
    assert first == {
        "frame": 5,
        "bodies": 3,
        "steps": 0,
        "contacts": 0,
        "iterations": 0,
        "factorisations": 0,
        "cuts": 0,
        "asleep": 0,
        "relative_error": 0.0,
        "cone": 0.0,
        "complementarity": 0.0,
        "dissipation": 0.0,
        "deepest_overlap": 0.0,
        "overlap_ratio": 0.0,
        "deepest_pair": [],
        "worst_pair": [],
        "missed_steps": 0,
        "moving": 0,
        "found": dict.fromkeys((which.name.lower() for which in Found), 0),
        "natural_map": 0.0,
        "seconds": 0.0,
        "chosen_normals": 0,
        "chosen_pair": [],
        "spin": 0.0,
        "spinning_body": "",
        "violations": {"distance": 0, "angle": 0, "bounce": 0, "energy": 0, "momentum": 0},
    }
    assert (second["contacts"], second["iterations"], second["factorisations"], second["seconds"]) == (13, 8, 20, 1.0)
    assert (second["cuts"], report["totals"]["cuts"], second["asleep"]) == (4, 8, 3)
    assert (second["relative_error"], second["complementarity"]) == (1e-7, 3e-8)
    totals = report["totals"]
    assert (totals["frames"], totals["steps"], totals["iterations"], totals["factorisations"]) == (3, 8, 16, 40)
    assert (totals["most_contacts"], totals["seconds"], totals["missed_steps"]) == (13, 2.0, 0)
    assert (totals["deepest_overlap"], totals["dissipation"]) == (1e-5, 2e-8)
    names = [SPEC.bodies[0].name, SPEC.bodies[2].name]
    assert (second["overlap_ratio"], second["deepest_pair"]) == (3e-4, names)
    assert (totals["overlap_ratio"], totals["deepest_pair"], totals["deepest_frame"]) == (3e-4, names, 6)
    assert report["missed"] == []
    # three islands a step were good as they began, two solved by Newton's method, one by pivoting
    counted = {name: count for name, count in second["found"].items() if count}
    assert counted == {"start": 12, "newton": 8, "pivoting": 4}
    assert totals["found"]["newton"] == 16


def test_what_the_contact_law_does_not_explain_is_named_once_for_each_kind_and_pair():
    counts, pairs = np.zeros((4, len(Violation)), np.int64), np.full((4, len(Violation), 2), -1)
    counts[1, Violation.BOUNCE], pairs[1, Violation.BOUNCE] = 1, (0, 2)
    counts[3, Violation.BOUNCE], pairs[3, Violation.BOUNCE] = 1, (0, 2)
    counts[3, Violation.MOMENTUM], pairs[3, Violation.MOMENTUM] = 2, (1, -1)
    report = build_report(SPEC, SETTINGS, [frame(5, steps=0), frame(6), frame(7, violations=counts, violating_pairs=pairs)])
    found = [(row["frame"], row["substep"], row["kind"], row["count"], row["bodies"]) for row in report["violations"]]
    assert found == [
        (7, 2, "bounce", 1, ["Card.1", "Table"]),
        (7, 4, "bounce", 1, ["Card.1", "Table"]),
        (7, 4, "momentum", 2, ["Card.2"]),
    ]
    nothing = {"distance": 0, "angle": 0, "energy": 0}
    assert report["totals"]["violations"] == nothing | {"bounce": 2, "momentum": 2}
    assert [row["violations"]["bounce"] for row in report["frames"]] == [0, 0, 2]
    assert [(one["objects"], one["field"]) for one in report["warnings"]] == [
        (("Card.1", "Table"), "contact_law"),
        (("Card.2",), "contact_law"),
    ]
    assert report["warnings"][0]["message"].startswith("Card.1 and Table met before frame 7 and did not part")


def test_the_scene_and_the_settings_are_told():
    report = build_report(SPEC, SETTINGS, [], [SceneWarning(("Card.1", "Table"), "position", "they overlap")])
    assert report["scene"]["bodies"] == {"active": 2, "passive": 1, "animated": 0}
    assert (report["scene"]["frame_start"], report["scene"]["frame_end"], report["scene"]["fps"]) == (5, 7, 25.0)
    assert report["settings"]["method"] == "staggered" and report["settings"]["tolerance"] == 1e-6
    assert report["warnings"] == [{"objects": ("Card.1", "Table"), "field": "position", "message": "they overlap"}]


def test_a_missed_step_is_located_in_time_and_between_bodies():
    report = build_report(SPEC, SETTINGS, [frame(5, steps=0), frame(6), missing_frame()])
    (missed,) = report["missed"]
    assert (missed["frame"], missed["substep"], missed["status"]) == (7, 3, "max_iterations")
    # Two frames of 0.5/25 s each begin at frame 5; the third of four steps of the second one ends after 1.75 frames.
    assert missed["time"] == pytest.approx(1.75 * 0.02)
    assert missed["bodies"] == ["Table", "Card.1"]
    assert missed["above_tolerance"] == ["relative_error", "dissipation"]
    assert missed["relative_error"] == 4e-3
    assert report["frames"][2]["missed_steps"] == report["totals"]["missed_steps"] == 1


def test_numbers_that_are_not_finite_become_null_and_count_as_missed():
    broken = frame(
        6, status=np.array([0, 2, 0, 0]), relative_error=np.array([0, math.nan, 0, 0]), cone=np.array([0, math.inf, 0, 0])
    )
    report = json.loads(report_bytes(build_report(SPEC, SETTINGS, [frame(5, steps=0), broken])))
    assert report["frames"][1]["relative_error"] is None and report["totals"]["cone"] is None
    (missed,) = report["missed"]
    assert missed["above_tolerance"] == ["relative_error", "cone"] and missed["bodies"] == []


def test_a_bake_that_was_not_done_reports_why():
    report = json.loads(report_bytes(error_report("no", [SceneProblem("Würfel", "mass", "is 0 kg")])))
    assert report["error"] == "no"
    assert report["problems"] == [{"object": "Würfel", "field": "mass", "message": "is 0 kg"}]


@pytest.mark.parametrize(("status", "total"), [(Status.TIME_LIMIT, "out_of_time"), (Status.INFEASIBLE, "infeasible")])
def test_steps_that_ran_out_of_time_or_have_no_solution_are_counted(status, total):
    report = build_report(SPEC, SETTINGS, [frame(5, steps=0), frame(6, status=np.array([0, int(status), 0, 0]))])
    assert (report["totals"][total], report["totals"]["missed_steps"]) == (1, 1)
    assert report["missed"][0]["status"] == status.name.lower()


def test_an_overlap_that_can_be_seen_is_a_warning_once_with_its_bodies_and_frame():
    deep = {"overlap_ratio": np.array([0.0, 0.02, 0.03, 0.0]), "deepest_overlap": np.array([0.0, 2e-3, 3e-3, 0.0])}
    report = build_report(SPEC, SETTINGS, [frame(5, steps=0), frame(6, **deep), frame(7, **deep)])
    (warning,) = report["warnings"]
    assert warning["objects"] == (SPEC.bodies[0].name, SPEC.bodies[2].name)
    assert "2 mm at frame 6" in warning["message"]
    assert report["totals"]["deepest_overlap"] == 3e-3
    known = SceneWarning((SPEC.bodies[0].name, SPEC.bodies[2].name), "overlap", "overlap as modelled")
    assert len(build_report(SPEC, SETTINGS, [frame(6, **deep)], [known])["warnings"]) == 1


def test_the_frame_with_the_most_chosen_normals_is_told_with_the_bodies_that_have_most_and_is_no_warning():
    chosen = {"chosen_normals": np.array([0, 3, 2, 0]), "chosen_pair": np.array([[-1, -1], [0, 1], [0, 2], [-1, -1]])}
    fewer = {"chosen_normals": np.array([1, 0, 0, 0]), "chosen_pair": np.array([[0, 2], *[[-1, -1]] * 3])}
    report = build_report(SPEC, SETTINGS, [frame(5, steps=0), frame(6, **fewer), frame(7, **chosen)])
    assert [(row["chosen_normals"], row["chosen_pair"]) for row in report["frames"]] == [
        (0, []),
        (1, ["Card.1", "Table"]),
        (3, ["Card.1", "Card.2"]),
    ]
    most = tuple(report["totals"][name] for name in ("chosen_normals", "chosen_pair", "chosen_frame"))
    assert most == (3, ["Card.1", "Card.2"], 7)
    assert report["warnings"] == []
    assert build_report(SPEC, SETTINGS, [frame(5, steps=0)])["totals"]["chosen_frame"] is None


@pytest.mark.parametrize(("touching", "is_named"), [(4, True), (3, True), (2, False), (0, False)])
def test_what_turns_too_far_while_it_touches_something_is_named_with_the_substeps_that_it_needs(touching, is_named):
    """In most steps of a frame: what tumbles touches something now and then. One radian asks for twice the steps of half."""
    body = np.where(np.arange(4) < touching, 1, -1)
    frames = [frame(5, steps=0), *(frame(n, spin=np.where(body >= 0, 1.0, 0.0), spinning_body=body) for n in (6, 7))]
    report = build_report(SPEC, SETTINGS, frames)
    named = [warning for warning in report["warnings"] if warning["field"] == "substeps"]
    assert [warning["objects"] for warning in named] == ([("Card.2",)] if is_named else [])
    assert not is_named or ("frame 6" in named[0]["message"] and "8 substeps" in named[0]["message"])
    turned = ("Card.2", 1.0, 6) if touching else ("", 0.0, None)
    assert tuple(report["totals"][name] for name in ("spinning_body", "spin", "spinning_frame")) == turned
