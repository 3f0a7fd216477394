# SPDX-License-Identifier: GPL-3.0-or-later
"""A file of an earlier version keeps its settings under their names of now, and says what is no setting any more."""

from __future__ import annotations

import bpy
import pytest

from ..objects import kept


@pytest.fixture
def reopened(scene, tmp_path):
    """Saves the scene with values where Blender keeps those of our properties, and opens it again."""

    def reopen(**values):
        scene.stiction.max_iterations = 77
        own = kept(scene)["stiction"]
        for name, value in values.items():
            own[name] = value
        bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "earlier.blend"))
        bpy.ops.wm.read_factory_settings(use_empty=True)
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "earlier.blend"))
        return bpy.context.scene

    return reopen


def test_a_file_keeps_the_value_that_it_has_by_a_former_name(scene, reopened, capfd):
    scene.stiction.bake.missed_steps = 0
    kept(scene)["stiction"]["bake"]["crowd"] = 40
    scene = reopened(crowd_tolerance=2e-5)
    assert (scene.stiction.moving_tolerance, scene.stiction.max_iterations) == (pytest.approx(2e-5), 77)
    assert scene.stiction.bake.moving == 40
    assert "crowd_tolerance" not in kept(scene)["stiction"].keys()  # noqa: SIM118 (no dictionary)
    assert "Stiction" not in capfd.readouterr().out


def test_what_was_set_by_the_name_of_now_stays(reopened):
    assert reopened(crowd_tolerance=2e-5, moving_tolerance=3e-4).stiction.moving_tolerance == pytest.approx(3e-4)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"crowd_limit": 1e-2}, "crowd limit"),
        ({"crowd_tolerance": 1e-4, "crowd_limit": 1e-3}, "Moving Tolerance"),
        ({"friction_cone": 1, "polygon_sides": 6}, "friction cone"),
        ({"staggering": 2}, "staggering"),
        ({"step_accuracy": 1e-3}, "step accuracy"),
    ],
)
def test_a_setting_that_is_gone_is_said_once_where_it_changes_a_bake(reopened, tmp_path, capfd, values, said):
    scene = reopened(**values)
    (line,) = [line for line in capfd.readouterr().out.splitlines() if line.startswith("Stiction")]
    assert said in line and scene.name in line
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "earlier.blend"))
    assert "Stiction" not in capfd.readouterr().out


def test_what_changes_no_bake_is_not_said(reopened, capfd):
    reopened(crowd_limit=1e-3, friction_cone=0, polygon_sides=8, staggering=0, step_accuracy=0.0)
    assert "Stiction" not in capfd.readouterr().out


@pytest.mark.parametrize("value", ["x", [1.0, 2.0], {"a": 1}, 7])
def test_nonsense_by_a_former_name_is_left_out(reopened, value):
    assert reopened(crowd_tolerance=value, crowd_limit=value).stiction.moving_tolerance == pytest.approx(1e-3)


@pytest.mark.parametrize("former", ["tolerance in motion", "crowd tolerance"])
def test_a_bake_of_an_earlier_version_is_not_outdated_by_the_name_of_a_setting(scene, make_body, former):
    from stiction.addon.bake.fingerprint import SCENE, changes_since, made_from, written

    make_body()
    now = made_from(scene)
    earlier = {**now, SCENE: dict(now[SCENE])}
    earlier[SCENE][former] = earlier[SCENE].pop("moving tolerance")
    assert changes_since(written(earlier), now) == []
    scene.stiction.moving_tolerance = 1e-5
    assert changes_since(written(earlier), made_from(scene)) == ["moving tolerance of the scene"]
