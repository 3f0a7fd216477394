# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with activations is named, each with what to do."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from solver_core.scene import parts
from solver_core.scene.activation import ActivationSpec, ZoneSpec
from solver_core.scene.spec import BodyKind, SceneSpec, SolverSettings
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import scene_warnings, validate

BOX = parts.box_shape((1.0, 1.0, 1.0))
ZONE = ZoneSpec("Zone", BOX.vertices, BOX.triangles, is_volume=True)
GOOD = ActivationSpec("Wake", ("A",), zones=(ZONE,))
BODIES = tuple(
    parts.box(name, (1.0, 1.0, 1.0), (x, 0.0, 0.0), parts.pair_material(0.5)) for name, x in (("A", 0.0), ("B", 2.0))
)


def scene(*activations, bodies=BODIES):
    return SceneSpec(bodies=bodies, frame_end=10, activations=activations)


def zone(**changes):
    return replace(GOOD, zones=(replace(ZONE, **changes),))


def refused(spec):
    with pytest.raises(SceneError) as caught:
        validate(spec, SolverSettings())
    return {(problem.object, problem.field): problem.message for problem in caught.value.problems}


def test_a_good_activation_is_not_refused():
    validate(scene(GOOD, replace(GOOD, name="Other", frame=3, impulse=2.0, values=np.zeros(10))), SolverSettings())


NAN = np.full((1, 3, 4), np.nan)


@pytest.mark.parametrize(
    ("activation", "where", "words"),
    [
        (zone(triangles=BOX.triangles[:-1]), ("Zone", "triangles"), "is open"),
        (zone(triangles=BOX.triangles[:0]), ("Zone", "triangles"), "no faces"),
        (zone(triangles=BOX.triangles + 3), ("Zone", "triangles"), "not rows of three"),
        (zone(vertices=np.zeros((0, 3))), ("Zone", "vertices"), "at least one vertex"),
        (zone(vertices=BOX.vertices * np.nan), ("Zone", "vertices"), "finite"),
        (zone(distance=-1.0), ("Zone", "distance"), "0 m or more"),
        (zone(transforms=np.zeros((3, 3, 4))), ("Zone", "transforms"), r"\(10, 3, 4\)"),
        (zone(transforms=NAN), ("Zone", "transforms"), "not finite at frame 1"),
        (zone(transforms=np.zeros((10, 3, 4))), ("Zone", "scale"), "0 at all frames"),
        (zone(body="C"), ("Zone", "body"), "not a body of the scene"),
        (zone(body="A"), ("Zone", "activation"), "would wake itself"),
        (replace(GOOD, bodies=("A", "C")), ("Wake", "bodies"), "C: not in the scene"),
        (replace(GOOD, impulse=-3.0), ("Wake", "impulse"), "above 0"),
        (replace(GOOD, values=np.zeros(4)), ("Wake", "values"), r"\(10,\)"),
        (replace(GOOD, values=np.full(10, np.nan)), ("Wake", "values"), "not finite at frame 1"),
    ],
)
def test_what_is_wrong_is_named(activation, where, words):
    found = refused(scene(activation))
    assert where in found
    assert re.search(words, found[where])


def test_a_passive_body_cannot_wake():
    still = replace(BODIES[1], kind=BodyKind.PASSIVE, mass=None)
    found = refused(scene(replace(GOOD, bodies=("A", "B")), bodies=(BODIES[0], still)))
    assert "never moves" in found["Wake", "bodies"]


def test_two_activations_of_one_name_are_refused():
    assert ("Wake", "name") in refused(scene(GOOD, GOOD))


def test_bodies_that_wait_for_each_other_are_pointed_out():
    of_a = replace(GOOD, zones=(replace(ZONE, body="B"),))
    of_b = ActivationSpec("Other", ("B",), zones=(replace(ZONE, body="A"),))
    (warning,) = [one for one in scene_warnings(scene(of_a, of_b)) if one.field == "activation"]
    assert {"A", "B"} <= set(warning.objects)
    assert "none ever wakes" in warning.message
    assert not [one for one in scene_warnings(scene(of_a, replace(of_b, frame=3))) if one.field == "activation"]


@pytest.mark.parametrize("activation", [ActivationSpec("Wake", ("A",)), ActivationSpec("Wake", ("A",), frame=30)])
def test_what_never_wakes_is_pointed_out(activation):
    (warning,) = [one for one in scene_warnings(scene(activation)) if one.field == "activation"]
    assert "forever" in warning.message
