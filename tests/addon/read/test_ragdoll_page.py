# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of the manual's page about constraints makes the ragdoll that the page describes, without a finding."""

from __future__ import annotations

import re
from pathlib import Path

import bpy

PAGE = Path(__file__).resolve().parents[3] / "docs" / "ragdoll.md"


def test_the_ragdoll_of_the_manual_is_read_without_a_finding(scene):
    from stiction.addon.blender.cooperative import at_once
    from stiction.addon.read.extract import extracting
    from stiction.solver_core.scene.spec import BodyKind

    (script,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(script, str(PAGE), "exec"), {})
    found = at_once(extracting(bpy.context))
    active = [body for body in found.spec.bodies if body.kind is BodyKind.ACTIVE]
    assert sorted(body.name for body in active) == ["Arm L", "Arm R", "Head", "Leg L", "Leg R", "Torso"]
    assert sum(body.mass for body in active) == 59.0
    assert sorted(joint.name for joint in found.spec.joints) == [
        "Arm L Joint",
        "Arm R Joint",
        "Leg L Joint",
        "Leg R Joint",
        "Neck",
    ]
    assert {joint.body_a for joint in found.spec.joints} == {"Torso"}
    assert not [warning.message for warning in found.warnings]
