# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written after --vary becomes exactly these scenes, or a sentence that says what there is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solver_core.io.snapshot import snapshot_digest
from solver_core.process.command_line import UsageError
from solver_core.scene.parts import box, ground, pair_material
from solver_core.scene.spec import BodyKind, SceneSpec, SolverSettings
from solver_core.sweep.apply import applied, refuse_axes, refuse_values
from solver_core.sweep.axes import parse_axes, variations

ROUGH = pair_material(0.5)
SETTINGS = SolverSettings()
SPEC = SceneSpec(
    (
        ground(ROUGH),
        box("Crate", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1), ROUGH),
        box("A:b=c", (0.2, 0.2, 0.2), (0.0, 0.0, 0.3), ROUGH),
    )
)


def values(text):
    return parse_axes([text])[0].values


def only(*texts):
    """The one scene, with its settings, that these axes make of the scene."""
    (variation,) = variations(parse_axes(texts))
    return applied(SPEC, SETTINGS, variation, 0.01)


def body(spec, name):
    return next(body for body in spec.bodies if body.name == name)


def test_a_range_has_both_of_its_ends_and_no_round_off_in_its_names():
    assert values("friction=0.2:0.8:7") == (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
    assert values("seed=1:4") == (1, 2, 3, 4)
    assert values("substeps=10,20") == (10, 20)
    assert values("method=staggered,pivot") == ("staggered", "pivot")


def test_every_combination_is_a_variation_with_a_name_of_its_own():
    found = variations(parse_axes(["friction=0.2:0.8:7", "Crate:friction=0.3,0.5", "substeps=10,20", "seed=1:20"]))
    names = {variation.name for variation in found}
    assert len(found) == len(names) == 560
    assert "friction=0.2, Crate:friction=0.5, substeps=20, seed=18" in names


def test_what_is_of_one_body_counts_before_what_is_of_all_in_whatever_order_it_is_written():
    for texts in (("friction=0.3", "Crate:friction=0.9"), ("Crate:friction=0.9", "friction=0.3")):
        spec, _ = only(*texts)
        assert body(spec, "Crate").material.mu_static == body(spec, "Crate").material.mu_dynamic == 0.9
        assert {one.material.mu_static for one in spec.bodies if one.name != "Crate"} == {0.3}


def test_a_name_with_colons_and_equals_signs_is_found():
    spec, _ = only("A:b=c:mass=7")
    assert body(spec, "A:b=c").mass == 7.0
    assert body(spec, "Crate").mass == 1.0


def test_only_what_is_varied_is_another():
    spec, settings = only("substeps=20", "Crate:density=500")
    assert settings == dataclasses.replace(SETTINGS, substeps=20)
    crate = body(spec, "Crate")
    assert (crate.mass, crate.density) == (None, 500.0)
    unchanged = dataclasses.replace(crate, mass=1.0, density=None)
    back = dataclasses.replace(spec, bodies=tuple(unchanged if one is crate else one for one in spec.bodies))
    assert snapshot_digest(back, SETTINGS) == snapshot_digest(SPEC, SETTINGS)


def test_a_given_inertia_grows_with_the_mass():
    heavy = dataclasses.replace(SPEC.bodies[1], inertia=np.diag([1.0, 2.0, 3.0]))
    spec = dataclasses.replace(SPEC, bodies=(SPEC.bodies[0], heavy))
    (variation,) = variations(parse_axes(["Crate:mass=3"]))
    assert np.array_equal(body(applied(spec, SETTINGS, variation, 0.0)[0], "Crate").inertia, np.diag([3.0, 6.0, 9.0]))
    with pytest.raises(UsageError, match="the inertia of Crate"):
        refuse_axes(spec, parse_axes(["Crate:density=3"]))


def test_a_seed_pushes_every_active_body_by_no_more_than_was_said_and_each_in_its_own_way():
    pushes = {seed: [one.velocity for one in only(f"seed={seed}")[0].bodies] for seed in range(50)}
    speeds = np.array([[np.linalg.norm(push) for push in of_seed] for of_seed in pushes.values()])
    assert (speeds[:, 0] == 0.0).all()  # the ground is passive
    assert (speeds[:, 1:] > 0.0).all() and (speeds <= 0.01).all()
    assert len({push.tobytes() for of_seed in pushes.values() for push in of_seed[1:]}) == 100
    # alike in all directions: the mean of 100 pushes of at most 10 mm/s
    assert np.abs(np.mean([push for of_seed in pushes.values() for push in of_seed[1:]], axis=0)).max() < 2e-3


def test_the_push_of_a_body_does_not_depend_on_the_others():
    alone = dataclasses.replace(SPEC, bodies=SPEC.bodies[:2])
    (variation,) = variations(parse_axes(["seed=3"]))
    assert np.array_equal(
        body(applied(alone, SETTINGS, variation, 0.01)[0], "Crate").velocity, body(only("seed=3")[0], "Crate").velocity
    )


def test_what_follows_a_path_or_sleeps_is_not_pushed():
    sleeper = dataclasses.replace(SPEC.bodies[1], starts_asleep=True)
    (variation,) = variations(parse_axes(["seed=3"]))
    pushed = applied(dataclasses.replace(SPEC, bodies=(SPEC.bodies[0], sleeper)), SETTINGS, variation, 0.01)[0]
    assert not body(pushed, "Crate").velocity.any()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fricton=1", "'fricton' cannot be varied.*friction, mu_static"),
        ("friction", "must look like"),
        ("friction=", "it has no values"),
        ("friction=a", "'a' is not a number"),
        ("friction=nan", "not finite"),
        ("friction=1,1.0", "occurs twice"),
        ("friction=1:2:3:4", "4 parts"),
        ("friction=1:2:0", "0 values are none"),
        ("seed=3:1", "so there are no values"),
        ("seed=1.5", "not a whole number"),
        ("seed=1:1000000", "more than 10000"),
        ("method=best", "staggered, pivot, energy"),
        ("Crate:substeps=3", "belongs to the whole scene"),
        ("Crat:friction=1", "no rigid body 'Crat'; it has Ground, Crate"),
        ("Ground:mass=1", "Ground is not active"),
        ("friction=-1,0.5", "with friction=-1 .*\n.*Ground: mu_static"),
        ("substeps=0", "with substeps=0"),
        ("Crate:mass=0", "with Crate:mass=0"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_there_is(text, said):
    with pytest.raises(UsageError, match=said):
        axes = parse_axes([text])
        variations(axes)
        refuse_axes(SPEC, axes)
        refuse_values(SPEC, SETTINGS, axes, 0.01)


def test_one_thing_has_one_axis_and_there_is_at_least_one():
    with pytest.raises(UsageError, match="'friction' is varied twice"):
        parse_axes(["friction=1", "friction=2"])
    with pytest.raises(UsageError, match="nothing is varied"):
        parse_axes([])
    with pytest.raises(UsageError, match="more than 10000"):
        variations(parse_axes(["seed=1:200", "friction=0:1:100"]))


def test_a_scene_without_anything_active_has_no_seed():
    still = dataclasses.replace(SPEC, bodies=tuple(dataclasses.replace(one, kind=BodyKind.PASSIVE) for one in SPEC.bodies))
    with pytest.raises(UsageError, match="no body is active"):
        refuse_axes(still, parse_axes(["seed=1:3"]))
