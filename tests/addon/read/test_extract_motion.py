# SPDX-License-Identifier: GPL-3.0-or-later
"""What moves over the frames is followed, refused with its frame, or said not to be followed."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ..objects import add_empty, body_named, problems_of, read


def keyed(ob, path, *values):
    """Key the first value at frame 1 and the second at frame 5, the first and the last of the scene."""
    for frame, value in zip((1, 5), values, strict=True):
        setattr(ob, path, value)
        ob.keyframe_insert(path, frame=frame)
    return ob


def warned(field: str) -> list[tuple[str, ...]]:
    return [warning.objects for warning in read().warnings if warning.field == field]


@pytest.fixture
def animated(make_body):
    make_body("Falling")
    ob = make_body("Door", kind="PASSIVE")
    ob.rigid_body.kinematic = True
    return ob


@pytest.mark.parametrize("scale", [(0, 0, 0), (1, 0, 1), (1, 1, 1e-12)])
def test_an_animated_body_whose_scale_vanishes_is_named_with_the_frame(animated, scale):
    keyed(animated, "scale", (1, 1, 1), scale)
    found = problems_of(read)
    assert list(found) == [("Door", "scale")]
    assert found["Door", "scale"].startswith("at frame 5: the scale")


def by_key(ob):
    from stiction.addon.blender.actions import curves

    keyed(ob, "location", (0, 0, 0), (1, 0, 0))
    for curve in curves(ob):
        curve.keyframe_points[1].co.y = math.nan
        curve.keyframe_points[0].interpolation = "CONSTANT"


def by_driver(ob):
    """Blender takes a driver that is no number for 0, but one that is too large for single precision as it is, or from 5.0 on
    as the largest number."""
    ob.driver_add("location", 0).driver.expression = "1e48 if frame > 4 else 0.1 * frame"


def by_constraint(ob):
    target = add_empty("Leader", (0, 0, 0), (0, 0, 0))
    by_driver(target)
    ob.constraints.new("COPY_LOCATION").target = target


def by_half_a_constraint(ob):
    by_constraint(ob)
    ob.constraints[0].influence = 0.5


def by_parent(ob):
    ob.parent = add_empty("Carrier", (0, 0, 0), (0, 0, 0))
    by_driver(ob.parent)


def by_turned_parent(ob):
    by_parent(ob)
    ob.parent.parent = add_empty("Turned", (0, 0, 0), (0.3, -0.4, 0.7))


@pytest.mark.parametrize(
    "lose",
    [by_key, by_driver, by_constraint, by_half_a_constraint, by_parent, by_turned_parent],
    ids=lambda lose: lose.__name__,
)
def test_an_animated_body_is_followed_to_the_frame_before_its_place_is_not_a_number(animated, lose):
    lose(animated)
    found = read()
    assert np.isfinite(body_named(found, "Door").path).all(axis=1).tolist() == [True] * 4 + [False]
    (message,) = (warning.message for warning in found.warnings if warning.field == "matrix_world")
    assert message.startswith("at frame 5: its transform is not a number")


def test_one_that_is_nowhere_at_the_second_frame_is_refused(animated):
    animated.driver_add("location", 0).driver.expression = "1e48 if frame > 1 else 0"
    assert problems_of(read)["Door", "path"].startswith("the pose at frame 2 is not finite")


def test_a_parent_without_volume_is_named_for_what_is_below_it(make_body):
    make_body("Falling")
    root, between = add_empty("Root", (0, 0, 0), (0.3, 0.5, 0.7)), add_empty("Between", (1, 0, 0), (0.4, -0.2, 0.1))
    between.parent, root.scale = root, (2.0, 1.0, 0.0)
    ob = make_body("Child")
    ob.parent, ob.rotation_euler = between, (0.5, 0.6, 0.7)
    message = problems_of(read)["Child", "scale"]
    assert "(2.0, 1.0, 0.0) of Root among its parents" in message


def test_a_parent_that_shrinks_to_nothing_is_named_with_the_frame(animated):
    parent = keyed(add_empty("Root", (0, 0, 0), (0.3, 0.5, 0.7)), "scale", (1, 1, 1), (0, 1, 1))
    animated.parent, animated.rotation_euler = parent, (0.5, 0.6, 0.7)
    message = problems_of(read)["Door", "scale"]
    assert message.startswith("at frame 5") and "of Root among its parents" in message


@pytest.mark.parametrize("kind", ["ACTIVE", "PASSIVE"])
def test_a_scale_that_changes_is_said_not_to_be_followed(make_body, kind):
    make_body("Falling")
    ob = keyed(make_body("Balloon", kind=kind), "scale", (1, 1, 1), (1, 1, 1.01))
    ob.rigid_body.kinematic = kind == "PASSIVE"
    keyed(ob, "location", (0, 0, 0), (1, 2, 3))
    keyed(ob, "rotation_euler", (0, 0, 0), (1, 2, 3))
    assert warned("scale") == [("Balloon",)]
    assert np.ptp(body_named(read(), "Balloon").shape.vertices, axis=0).max() == pytest.approx(0.6)


def test_a_passive_body_that_moves_and_is_not_animated_is_named(make_body):
    make_body("Falling")
    keyed(make_body("Lift", kind="PASSIVE"), "location", (0, 0, 0), (0, 0, 0.01))
    keyed(make_body("Wheel", kind="PASSIVE"), "rotation_euler", (0, 0, 0), (0, 0, math.pi))
    keyed(make_body("Grows", kind="PASSIVE"), "scale", (1, 1, 1), (1, 1, 2))
    carried, following = make_body("Carried", kind="PASSIVE"), make_body("Following", kind="PASSIVE")
    carried.parent = keyed(add_empty("Cart", (0, 0, 0), (0, 0, 0)), "location", (0, 0, 0), (1, 0, 0))
    following.constraints.new("COPY_LOCATION").target = carried.parent
    frozen = keyed(make_body("Frozen"), "location", (0, 0, 0), (0, 0, 1))
    frozen.rigid_body.enabled = False
    keyed(make_body("Still", kind="PASSIVE"), "location", (1, 2, 3), (1, 2, 3))
    keyed(make_body("Animated", kind="PASSIVE"), "location", (0, 0, 0), (0, 0, 1)).rigid_body.kinematic = True
    keyed(make_body("Thrown"), "location", (0, 0, 0), (0, 0, 1))
    messages = {name: warning.message for warning in read().warnings for name in warning.objects}
    assert set(messages) == {"Lift", "Wheel", "Grows", "Carried", "Following", "Frozen"}
    assert "enable Animated" in messages["Lift"] and "enable Dynamic and Animated" in messages["Frozen"]


def test_a_passive_body_that_shrinks_to_nothing_after_the_first_frame_is_only_a_warning(make_body):
    make_body("Falling")
    keyed(make_body("Grows", kind="PASSIVE"), "scale", (1, 1, 1), (0, 0, 0))
    assert warned("kinematic") == [("Grows",)]


@pytest.mark.parametrize("shape", ["SPHERE", "CAPSULE", "CYLINDER", "CONE"])
def test_a_round_shape_of_what_is_not_round_is_said(make_body, shape):
    from ..objects import box_mesh

    ob = make_body("Can", shape=shape, mesh=box_mesh("Can", (0.5, 0.5, 0.5)))
    assert not warned("collision_shape")
    ob.scale = (1.0, 2.0, 1.0)
    assert warned("collision_shape") == [("Can",)]
    ob.scale = (1.0, 1.0, 2.0)
    assert warned("collision_shape") == ([("Can",)] if shape == "SPHERE" else [])
