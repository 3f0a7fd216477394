# SPDX-License-Identifier: GPL-3.0-or-later
"""People are told of a value by the name that it has in Blender's interface."""

import bpy
import pytest

OWNERS = {
    "stiction": lambda ob: ob.stiction,
    "rigid_body": lambda ob: ob.rigid_body,
    "scene": lambda ob: bpy.context.scene.stiction,
}


@pytest.mark.parametrize(
    ("owner", "field"),
    [
        ("stiction", "mu_static"),
        ("stiction", "mu_dynamic"),
        ("stiction", "restitution"),
        ("stiction", "density"),
        ("rigid_body", "restitution"),
        ("rigid_body", "collision_shape"),
        ("rigid_body", "mass"),
        ("scene", "tolerance"),
        ("scene", "moving_tolerance"),
        ("scene", "max_iterations"),
        ("scene", "recovery_speed"),
        ("scene", "friction_combine"),
    ],
)
def test_a_field_in_words_is_the_name_of_its_property(make_body, owner, field):
    from stiction.solver_core.scene.words import in_words

    shown = OWNERS[owner](make_body()).bl_rna.properties[field].name
    assert in_words(field) == shown.lower()


def test_a_refusal_and_a_warning_say_words(make_body):
    egg = make_body("Egg", shape="SPHERE")
    egg.scale = (1.0, 1.0, 2.0)
    odd = make_body("Odd")
    odd.location.x = 5.0
    odd.stiction.use_mu_static, odd.stiction.mu_static = True, float("nan")
    with pytest.raises(RuntimeError, match="Odd: static friction: "):
        bpy.ops.stiction.bake()


@pytest.mark.parametrize(
    ("metres", "said"),
    [
        (2e-7, "0.0002 mm"),
        (0.0123, "12.3 mm"),
        (0.9994, "999 mm"),
        (1.0, "1 m"),
        (3.51, "3.51 m"),
        (12.5, "12.5 m"),
        (1520.0, "1520 m"),
    ],
)
def test_a_distance_is_said_in_the_unit_that_suits_it(metres, said):
    from stiction.solver_core.scene.words import distance

    assert distance(metres) == said


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [
        (152.4, 2, "150"),
        (0.0123456, 3, "0.0123"),
        (1e-6, 3, "1e-06"),
        (60_000.0, 4, "60000"),
        (1520.0, 3, "1520"),
        (0.0, 2, "0"),
    ],
)
def test_a_figure_has_no_exponent_where_people_use_none(value, digits, said):
    from stiction.solver_core.scene.words import figure

    assert figure(value, digits) == said
