# SPDX-License-Identifier: GPL-3.0-or-later
"""Impacts that steps have cut in two are one, and the table of a bake says when in the shot they are heard."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from solver_core.dynamics.model.frame import Frame, FrameContacts, FrameImpacts
from solver_core.dynamics.solve.outcome import frame_statistics
from solver_core.impacts import main, merged_impacts
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.snapshot import write_snapshot
from solver_core.process.command_line import ExitStatus
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings

STEP = 0.01


def impacts(*rows):
    """Rows of time, bodies, impulse and height of the point, as a frame has them."""
    count = len(rows)
    columns = [np.array(column) for column in zip(*rows, strict=True)] or [np.zeros(0)] * 5
    points = np.zeros((count, 3), np.float32)
    points[:, 2] = columns[4]
    return FrameImpacts(
        time=columns[0],
        body_a=columns[1].astype(np.int32),
        body_b=columns[2].astype(np.int32),
        point=points,
        normal=np.tile(np.float32([0.0, 0.0, 1.0]), (count, 1)),
        impulse=columns[3].astype(np.float32),
        speed=np.float32(2.0 * columns[3]),
        energy=np.float32(columns[3]),
    )


def test_what_two_steps_have_of_one_impact_is_one_also_over_a_frame():
    frames = [impacts((0.038, 0, 1, 3.0, 0.0)), impacts((0.04, 0, 1, 1.0, 0.4))]
    (one,) = merged_impacts(frames, [STEP] * len(frames))
    assert (one.time, one.impulse, one.speed, one.energy) == (0.038, 4.0, 6.0, 4.0)
    np.testing.assert_allclose(one.point, [0.0, 0.0, 0.1], rtol=1e-6)
    np.testing.assert_allclose(one.normal, [0.0, 0.0, 1.0])


def test_other_bodies_and_later_bounces_are_other_impacts():
    frames = [impacts((0.0, 0, 1, 1.0, 0.0), (0.005, 0, 2, 1.0, 0.0), (0.01, 0, 1, 1.0, 0.0), (0.2, 0, 1, 1.0, 0.0))]
    assert [(one.time, one.body_b, one.impulse) for one in merged_impacts(frames, [STEP] * len(frames))] == [
        (0.0, 1, 2.0),
        (0.005, 2, 1.0),
        (0.2, 1, 1.0),
    ]


def test_what_rattles_without_end_is_no_single_impact():
    rattle = impacts(*((0.01 * k, 0, 1, 1.0, 0.0) for k in range(100)))
    found = merged_impacts([rattle], [STEP])
    assert len(found) > 30 and sum(one.impulse for one in found) == pytest.approx(100.0)


HULL = ShapeSpec(ShapeKind.HULL)
SPEC = SceneSpec(
    (
        BodySpec("Bell, small", BodyKind.ACTIVE, HULL, mass=1.0, material=MaterialSpec(name="Bronze")),
        BodySpec("Floor", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE)),
    ),
    frame_start=10,
    frame_end=12,
    fps=25.0,
    time_scale=0.5,
)
SETTINGS = SolverSettings(substeps=4)


def bake(folder, contacts):
    snapshot, cache = folder / "scene.snapshot", folder / "scene.cache"
    write_snapshot(snapshot, SPEC, SETTINGS)
    with FrameCacheWriter.create(cache, SPEC, SETTINGS) as writer:
        for number in (10, 11):
            kept = contacts if number == 11 else None
            writer.append(Frame(number, np.zeros((2, 7)), np.zeros((2, 6)), frame_statistics([]), contacts=kept), {})
    return main([str(snapshot), str(cache), str(folder / "impacts.csv")])


def test_the_table_has_the_time_of_the_shot_and_the_names_of_bodies_and_materials(tmp_path):
    none = {name: np.zeros(0, np.float32) for name in ("force", "gap", "mu")}
    empty = {name: np.zeros((0, 3), np.float32) for name in ("point", "normal", "friction", "slip")}
    empty["ellipse"] = np.zeros((0, 2, 3), np.float32)
    bodies = {"body_a": np.zeros(0, np.int32), "body_b": np.zeros(0, np.int32)}
    # 0.01 s of a scene at half speed are 0.02 s of the shot, half a frame
    met = impacts((0.01, 0, 1, 0.25, 0.125))
    contacts = FrameContacts(**bodies, **none, **empty, state=np.zeros(0, np.uint8), impacts=met)
    assert bake(tmp_path, contacts) == ExitStatus.DONE
    (row,) = csv.DictReader((tmp_path / "impacts.csv").read_text().splitlines())
    assert (float(row["time"]), float(row["frame"]), float(row["impulse"]), float(row["speed"])) == (0.02, 10.5, 0.25, 0.5)
    assert (float(row["point_z"]), float(row["normal_z"])) == (0.125, 1.0)
    assert (row["body_a"], row["body_b"], row["material_a"], row["material_b"]) == ("Bell, small", "Floor", "Bronze", "")


def test_a_bake_that_kept_no_contacts_has_no_impacts_to_tell(tmp_path, capsys):
    assert bake(tmp_path, None) == ExitStatus.BAD_INPUT
    assert "bake again with Keep Contacts" in capsys.readouterr().err
