# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a surface has no place in a file of another tool is said by name."""

from __future__ import annotations

import pytest

from solver_core.interchange.described import Found, say_activation_left_out, say_surface_left_out
from solver_core.scene.activation import ActivationSpec
from solver_core.scene.spec import Grain, MaterialSpec, SceneSpec, SurfaceMotion

from ..bodies import body


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"material": MaterialSpec(grain=Grain())}, "grain"),
        ({"material": MaterialSpec(rolling=0.1)}, "rolling"),
        ({"surface_motion": SurfaceMotion()}, "surface_motion"),
    ],
)
def test_what_of_a_surface_is_left_out_is_said_of_its_body(changes, field):
    found = Found()
    say_surface_left_out(body("Board", **changes), "UsdPhysics", found)
    (said,) = found.warnings
    assert (said.objects, said.field) == (("Board",), field) and "UsdPhysics" in said.message


def test_a_plain_surface_is_written_whole():
    found = Found()
    say_surface_left_out(body("Board"), "UsdPhysics", found)
    assert not found.warnings


def test_what_wakes_bodies_is_said_to_be_left_out():
    found = Found()
    spec = SceneSpec((body("Board"),), activations=(ActivationSpec("Wall", ("Board",), frame=3),))
    say_activation_left_out(spec, "UsdPhysics", found)
    (said,) = found.warnings
    assert (said.objects, said.field) == (("Wall",), "activation") and "UsdPhysics" in said.message
