# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a bake: the scene, the cost of each frame, and unconverged steps.

It is plain JSON: a number that is not finite is null. The same scene gives the same report in every run, except for the times.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from typing import Any

import numpy as np

from ..dynamics.model.frame import Frame, FrameStatistics
from ..io.cache import EarlierFrames
from ..io.kept_modes import NOTHING_BENDS, SceneModes
from ..problem.result import Found, Status
from ..scene.spec import BodyKind, SceneSpec, SceneWarning, SolverSettings
from ..scene.timing import Timing
from ..scene.words import distance, figure
from ..validation.findings import FARTHEST_TURN, SceneProblem
from .bends import add_bends, bend_warnings, bending_entries
from .joints import add_reactions, breaking_warnings, contradiction_warnings, joint_entries, note_breaking
from .result_hash import ResultHash
from .violations import all_counts, violation_counts, violation_entries, violation_warnings

__all__ = [
    "VISIBLE_OVERLAP",
    "build_report",
    "deepest_overlap",
    "error_report",
    "frame_summary",
    "missed_steps",
    "overlap_warnings",
    "report_bytes",
    "spin_warnings",
    "worst_pair",
]

# Version of the layout of the report; it increases when a field changes its name or meaning.
VERSION = 2

# Visible overlap, relative to the smaller body's half extent.
VISIBLE_OVERLAP = 0.01

RESIDUALS = ("relative_error", "cone", "complementarity", "dissipation", "natural_map")


def build_report(
    spec: SceneSpec,
    settings: SolverSettings,
    frames: Iterable[Frame],
    warnings: Iterable[SceneWarning] = (),
    earlier: Iterable[EarlierFrames] = (),
    modes: SceneModes = NOTHING_BENDS,
) -> dict[str, Any]:
    """Return the report of a whole bake.

    frames: all frames in order, from this run and earlier ones. earlier: the first frames that come from bakes of other scenes.
    modes: of the flexible bodies. The entry "result" is the `ResultHash` of the frames.
    """
    rows: list[dict[str, Any]] = []
    missed: list[dict[str, Any]] = []
    violations: list[dict[str, Any]] = []
    warned: set[tuple[str, tuple[str, ...]]] = set()
    warnings, seen = tuple(warnings), list[SceneWarning]()
    joints, flexible, result = joint_entries(spec), bending_entries(spec, settings, modes), ResultHash()
    for frame in frames:
        deepest = deepest_overlap(frame, spec)
        worst_at, summary = worst_contact(frame, spec), frame_summary(frame.statistics)
        of_bodies = {**worst_at, **deepest, **most_chosen(frame, spec), **farthest_turn(frame, spec)}
        rows.append({"frame": frame.frame, "bodies": len(frame.poses), **summary, **of_bodies})
        add_reactions(frame, joints)
        seen.extend(breaking_warnings(frame, spec, {entry["joint"] for entry in joints if entry["broke"] is not None}))
        known = {name for w in (*warnings, *seen) if w.field == "contradiction" for name in w.objects}
        seen.extend(contradiction_warnings(frame, spec, known))
        note_breaking(frame, joints)
        seen.extend(overlap_warnings(frame, spec, {w.objects for w in (*warnings, *seen) if w.field == "overlap"}))
        seen.extend(spin_warnings(frame, spec, settings, {w.objects for w in (*warnings, *seen) if w.field == "substeps"}))
        seen.extend(bend_warnings(frame, spec, modes, {w.objects for w in (*warnings, *seen) if w.field == "deformable"}))
        add_bends(frame, modes, flexible)
        missed.extend(missed_steps(frame, spec, settings))
        result.add(frame)
        violations.extend(violation_entries(frame, spec))
        seen.extend(violation_warnings(frame, spec, warned))
    kinds = Counter(body.kind for body in spec.bodies)
    report = {
        "version": VERSION,
        "scene": {
            "bodies": {kind.value: kinds[kind] for kind in BodyKind},
            "frame_start": spec.frame_start,
            "frame_end": spec.frame_end,
            "fps": spec.fps,
            "time_scale": spec.time_scale,
            **({} if spec.speed_path is None else {"speeds": [float(speed) for speed in spec.speed_path]}),
            "substeps": settings.substeps,
            "gravity": [number_or_null(value) for value in np.asarray(spec.gravity, dtype=np.float64)],
            "friction_combine": spec.friction_combine.value,
            "restitution_combine": spec.restitution_combine.value,
            "pairs": [dataclasses.asdict(pair) for pair in spec.pairs],
        },
        "settings": {
            key: value.value if isinstance(value, Enum) else value for key, value in dataclasses.asdict(settings).items()
        },
        "result": result.hexdigest(),
        "earlier": [dataclasses.asdict(part) for part in earlier],
        "frames": rows,
        "joints": joints,
        "flexible": flexible,
        "missed": missed,
        "violations": violations,
        "warnings": [dataclasses.asdict(warning) for warning in (*warnings, *seen)],
        "totals": {
            "frames": len(rows),
            "steps": sum(row["steps"] for row in rows),
            "missed_steps": len(missed),
            "iterations": sum(row["iterations"] for row in rows),
            "factorisations": sum(row["factorisations"] for row in rows),
            "found": {which.name.lower(): sum(row["found"][which.name.lower()] for row in rows) for which in Found},
            "out_of_time": sum(row["status"] == Status.TIME_LIMIT.name.lower() for row in missed),
            "infeasible": sum(row["status"] == Status.INFEASIBLE.name.lower() for row in missed),
            "violations": all_counts(rows),
            "cuts": sum(row["cuts"] for row in rows),
            "most_contacts": max((row["contacts"] for row in rows), default=0),
            "most_moving": max((row["moving"] for row in rows), default=0),
            **{name: worst(row[name] for row in rows) for name in RESIDUALS},
            **deepest_of(rows),
            **most_chosen_of(rows),
            **farthest_of(rows),
            "seconds": sum(row["seconds"] for row in rows),
        },
    }
    return with_nulls(report)


def with_nulls(value: Any) -> Any:
    """Return a part of a report with null for every number that is not finite."""
    if isinstance(value, dict):
        return {key: with_nulls(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(with_nulls(item) for item in value)
    return number_or_null(value) if isinstance(value, float) else value


def error_report(message: str, problems: Iterable[SceneProblem] = ()) -> dict[str, Any]:
    """Return the report of a bake that failed before it started."""
    return {"version": VERSION, "error": message, "problems": [dataclasses.asdict(problem) for problem in problems]}


def report_bytes(report: dict[str, Any]) -> bytes:
    """Return the report as the bytes of its file."""
    return (json.dumps(report, indent=1, allow_nan=False) + "\n").encode()


def frame_summary(statistics: FrameStatistics) -> dict[str, Any]:
    """Return a summary of a frame's steps.

    It contains their number, the largest number of contacts, the sums of counts and seconds, the number of islands solved by
    each method (see `Found`), the worst of each residual, the violations of each kind, the number of sleeping bodies at the
    end, and the largest number of bodies in large moving islands.
    """
    return {
        "steps": len(statistics.status),
        "contacts": int(statistics.contacts.max(initial=0)),
        "iterations": int(statistics.iterations.sum()),
        "factorisations": int(statistics.factorisations.sum()),
        "found": {which.name.lower(): int(statistics.found[:, which].sum()) for which in Found},
        "cuts": int(statistics.cuts.sum()),
        **{name: worst(getattr(statistics, name)) for name in RESIDUALS},
        "asleep": int(statistics.asleep[-1]) if len(statistics.asleep) else 0,
        "moving": int(statistics.moving.max(initial=0)),
        "missed_steps": int(np.count_nonzero(statistics.status != Status.SOLVED)),
        "violations": violation_counts(statistics),
        "seconds": float(statistics.seconds.sum()),
    }


def worst_contact(frame: Frame, spec: SceneSpec) -> dict[str, Any]:
    """Return worst_pair: the names of the bodies at the worst contact of the step with the largest residuals; may be empty."""
    return {"worst_pair": [spec.bodies[body].name for body in worst_pair(frame.statistics)]}


def worst_pair(statistics: FrameStatistics) -> list[int]:
    """Return the indices of the bodies at the worst contact of the step with the largest residuals."""
    if not len(statistics.status):
        return []
    # NaN counts as the largest value.
    step = int(np.argmax(np.max([getattr(statistics, name) for name in RESIDUALS], axis=0)))
    return [int(body) for body in statistics.worst_pair[step] if body >= 0]


def deepest_overlap(frame: Frame, spec: SceneSpec) -> dict[str, Any]:
    """Return the deepest overlap of a frame's steps, relative to the size of the smaller body.

    deepest_overlap: m. overlap_ratio: in half extents of that body. deepest_pair: the names of both bodies, empty without an
    overlap.
    """
    statistics = frame.statistics
    if not len(statistics.overlap_ratio):
        return {"deepest_overlap": 0.0, "overlap_ratio": 0.0, "deepest_pair": []}
    # NaN counts as the largest value.
    step = int(np.argmax(statistics.overlap_ratio))
    return {
        "deepest_overlap": number_or_null(statistics.deepest_overlap[step]),
        "overlap_ratio": number_or_null(statistics.overlap_ratio[step]),
        "deepest_pair": [spec.bodies[body].name for body in statistics.deepest_pair[step] if body >= 0],
    }


def deepest_of(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the entries about overlap of the frame with the deepest one, and its number."""
    names = ("deepest_overlap", "overlap_ratio", "deepest_pair")
    row = max(rows, key=lambda row: math.inf if row["overlap_ratio"] is None else row["overlap_ratio"], default=None)
    if row is None or not row["deepest_pair"]:
        return {"deepest_overlap": 0.0, "overlap_ratio": 0.0, "deepest_pair": [], "deepest_frame": None}
    return {name: row[name] for name in names} | {"deepest_frame": row["frame"]}


def overlap_warnings(frame: Frame, spec: SceneSpec, known: Collection[tuple[str, ...]]) -> Iterator[SceneWarning]:
    """Yield a warning for each pair of bodies that overlap visibly in the frame, except for known names."""
    statistics = frame.statistics
    warned = set(known)
    for step in np.flatnonzero(statistics.overlap_ratio > VISIBLE_OVERLAP):
        a, b = (spec.bodies[body].name for body in statistics.deepest_pair[step])
        if (a, b) in warned:
            continue
        warned.add((a, b))
        depth, ratio = float(statistics.deepest_overlap[step]), float(statistics.overlap_ratio[step])
        share = f"{figure(100.0 * ratio, 2)} % of the smaller one's half extent"
        message = f"{a} and {b} overlap by {distance(depth)} at frame {frame.frame}, {share}: they are pushed apart slowly; "
        yield SceneWarning((a, b), "overlap", message + "more substeps help")


def most_chosen(frame: Frame, spec: SceneSpec) -> dict[str, Any]:
    """Return the largest number of loaded contacts with an ambiguous normal in a step of the frame.

    chosen_normals: that number. chosen_pair: the names of the two bodies with most of them, empty if there are none.
    """
    statistics = frame.statistics
    step = int(np.argmax(statistics.chosen_normals)) if len(statistics.chosen_normals) else -1
    if step < 0 or not statistics.chosen_normals[step]:
        return {"chosen_normals": 0, "chosen_pair": []}
    names = [spec.bodies[body].name for body in statistics.chosen_pair[step]]
    return {"chosen_normals": int(statistics.chosen_normals[step]), "chosen_pair": names}


def most_chosen_of(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the entries about such contacts of the frame with the most of them in a step, and its number."""
    row = max(rows, key=lambda row: row["chosen_normals"], default=None)
    if row is None or not row["chosen_normals"]:
        return {"chosen_normals": 0, "chosen_pair": [], "chosen_frame": None}
    return {"chosen_normals": row["chosen_normals"], "chosen_pair": row["chosen_pair"], "chosen_frame": row["frame"]}


def farthest_turn(frame: Frame, spec: SceneSpec) -> dict[str, Any]:
    """Return the body with contacts that rotates farthest in a step of the frame: spin in rad, spinning_body its name."""
    statistics = frame.statistics
    step = int(np.argmax(statistics.spin)) if len(statistics.spin) else -1
    if step < 0 or statistics.spinning_body[step] < 0:
        return {"spin": 0.0, "spinning_body": ""}
    return {
        "spin": number_or_null(statistics.spin[step]),
        "spinning_body": spec.bodies[statistics.spinning_body[step]].name,
    }


def farthest_of(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the entries about rotation of the frame with the largest one in a step, and its number."""
    row = max(rows, key=lambda row: math.inf if row["spin"] is None else row["spin"], default=None)
    if row is None or not row["spinning_body"]:
        return {"spin": 0.0, "spinning_body": "", "spinning_frame": None}
    return {"spin": row["spin"], "spinning_body": row["spinning_body"], "spinning_frame": row["frame"]}


def spin_warnings(
    frame: Frame, spec: SceneSpec, settings: SolverSettings, known: Collection[tuple[str, ...]]
) -> Iterator[SceneWarning]:
    """Yield a warning for a body that rotates too far for its contacts in most steps of the frame, except for known names.

    A body with contacts in only a step or two of a frame, such as tumbling debris, does not count.
    """
    statistics = frame.statistics
    too_far = statistics.spinning_body[statistics.spin > FARTHEST_TURN]
    for body in np.unique(too_far):
        name = spec.bodies[body].name
        if 2 * np.count_nonzero(too_far == body) <= len(statistics.spin) or (name,) in known:
            continue
        turn = float(statistics.spin[statistics.spinning_body == body].max())
        wanted = math.ceil(settings.substeps * turn / FARTHEST_TURN)
        message = (
            f"it turns by {figure(turn, 2)} rad in a step while it touches something, at frame {frame.frame}: its motion on "
            f"a tip, a rim or an edge is coarse; {wanted} substeps reduce it to {FARTHEST_TURN}"
        )
        yield SceneWarning((name,), "substeps", message)


def missed_steps(frame: Frame, spec: SceneSpec, settings: SolverSettings) -> Iterator[dict[str, Any]]:
    """Yield an entry for each unconverged step of a frame: its error, and the two bodies.

    substep counts from 1. time is the end of the step, in s of simulated time since the first frame.
    """
    statistics = frame.statistics
    # The number of steps of this frame; another bake may have had more or fewer.
    steps = len(statistics.status)
    missed = np.flatnonzero(statistics.status != Status.SOLVED)
    if not len(missed):
        return
    timing, row = Timing(spec, steps), frame.frame - spec.frame_start
    for index in missed:
        values = {name: float(getattr(statistics, name)[index]) for name in RESIDUALS}
        tolerance = settings.tolerance
        if statistics.moving[index]:
            # An error within the moving tolerance is not from a large moving island, so the ordinary tolerance applies to it.
            in_motion = max(tolerance, settings.moving_tolerance)
            tolerance = in_motion if any(not value <= in_motion for value in values.values()) else tolerance
        yield {
            "frame": frame.frame,
            "substep": int(index) + 1,
            "time": timing.begin(row - 1) + (int(index) + 1) * timing.step(row),
            "status": Status(int(statistics.status[index])).name.lower(),
            **{name: number_or_null(value) for name, value in values.items()},
            # The comparison counts NaN as above the tolerance.
            "above_tolerance": [name for name, value in values.items() if not value <= tolerance],
            "bodies": [spec.bodies[body].name for body in statistics.worst_pair[index] if body >= 0],
        }


def worst(values: Iterable[float | None]) -> float | None:
    """Return the largest value; 0 if there are none, None if one of them is not finite."""
    largest = 0.0
    for value in values:
        if value is None or not math.isfinite(value):
            return None
        largest = max(largest, float(value))
    return largest


def number_or_null(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
