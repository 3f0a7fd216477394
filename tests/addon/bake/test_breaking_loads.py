# SPDX-License-Identifier: GPL-3.0-or-later
"""Check Scene says what breakable constraints bear as the scene begins, sets their thresholds to a multiple of it, and names
those whose share of a load is not unique."""

from __future__ import annotations

import bpy
import pytest

from ..joints import constrain


@pytest.fixture
def hanging(scene, make_body):
    """Two cubes that hang under each other from the world, by two constraints that break at 1 N s."""
    upper, lower = make_body("Upper"), make_body("Lower")
    for ob, height in ((upper, 5.0), (lower, 2.0)):
        ob.location.z, ob.rigid_body.mass = height, 50.0
    bpy.context.view_layer.update()
    weak = {"use_breaking": True, "breaking_threshold": 1.0}
    joints = [
        constrain("FIXED", None, upper, location=(0.0, 0.0, 6.0), name="Nail", **weak),
        constrain("FIXED", upper, lower, location=(0.0, 0.0, 3.5), name="String", **weak),
    ]
    assert bpy.ops.stiction.check_scene() == {"FINISHED"}
    return joints


def found():
    findings = bpy.context.window_manager.stiction.findings
    return next((i, one) for i, one in enumerate(findings) if one.field == "breaking_threshold")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "bears"), [("EACH", (100.0, 50.0)), pytest.param("MOST", (100.0, 100.0), marks=pytest.mark.long)]
)
def test_constraints_that_break_at_once_are_found_with_what_they_bear_and_get_a_multiple_of_it(hanging, of, bears):
    index, finding = found()
    assert finding.level == "WARNING"
    assert "2 of 2 breakable constraints break in the first two frames" in finding.name
    step = bpy.context.scene.render.fps_base / bpy.context.scene.render.fps / 10.0
    weight = [kilograms * 9.81 * step for kilograms in (100.0, 50.0)]
    assert {item.name: item.value for item in finding.objects} == {
        "Nail": pytest.approx(weight[0], rel=0.01),
        "String": pytest.approx(weight[1], rel=0.01),
    }
    assert bpy.ops.stiction.set_thresholds(index=index, factor=3.0, of=of) == {"FINISHED"}
    thresholds = [ob.rigid_body_constraint.breaking_threshold for ob in hanging]
    assert thresholds == [pytest.approx(3.0 * kilograms * 9.81 * step, rel=0.01) for kilograms in bears]
    _, finding = found()
    assert finding.level == "INFO"
    assert "33 % of their thresholds" in finding.name


@pytest.mark.slow
@pytest.mark.parametrize("breaks", [pytest.param(False, marks=pytest.mark.long), True])
def test_constraints_that_hold_one_body_twice_are_named_and_warned_of_where_they_may_break(scene, make_body, breaks):
    door, bell = make_body("Door"), make_body("Bell")
    door.location.z, bell.location.z = 5.0, 2.0
    bpy.context.view_layer.update()
    weak = {"use_breaking": breaks, "breaking_threshold": 1e4}
    for z in (4.0, 6.0):
        constrain("HINGE", None, door, location=(0.0, 0.0, z), name=f"Hinge {z:g}", **weak)
    constrain("FIXED", door, bell, location=(0.0, 0.0, 3.5), name="Cord", **weak)
    assert bpy.ops.stiction.check_scene() == {"FINISHED"}
    (found,) = (one for one in bpy.context.window_manager.stiction.findings if one.field == "reactions")
    assert [item.name for item in found.objects] == ["Hinge 4", "Hinge 6"]
    assert found.level == ("WARNING" if breaks else "INFO")
