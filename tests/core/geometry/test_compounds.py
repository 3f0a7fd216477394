# SPDX-License-Identifier: GPL-3.0-or-later
"""Compounds collide, weigh and move as their parts would if these were glued together."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.collision.grouping import MAX_GROUP_CONTACTS
from solver_core.geometry.mass_properties import mass_properties
from solver_core.geometry.solids import shape_mass_properties
from solver_core.io.snapshot import read_snapshot, write_snapshot
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings
from solver_core.validation.findings import SceneError
from solver_core.validation.scene import validate

from ..shapes import ball, box, find, quaternion

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
PLANE = ShapeSpec(ShapeKind.PLANE)
UNTURNED = np.array([1.0, 0.0, 0.0, 0.0])


def child(shape, position=(0, 0, 0), rotation=None):
    turn = UNTURNED if rotation is None else quaternion(rotation)
    return ChildSpec(shape, np.array(position, dtype=np.float64), turn)


def compound(*children):
    return ShapeSpec(ShapeKind.COMPOUND, children=tuple(children))


def table(height=1.0):
    """A top of 2 x 1 on four legs, its origin in the middle of the top."""
    legs = [child(box(0.1, 0.1, height), (x, y, -0.5 * height - 0.05)) for x in (-0.9, 0.9) for y in (-0.4, 0.4)]
    return compound(child(box(2, 1, 0.1)), *legs)


def scene(*bodies):
    return SceneSpec((BodySpec("Floor", BodyKind.PASSIVE, PLANE, material=MaterialSpec(0.8, 0.8)), *bodies))


@pytest.mark.slow
def test_a_placed_part_touches_as_a_body_of_its_own_would():
    random = np.random.default_rng(3)
    compared = 0
    for _ in range(60):
        turn, own = Rotation.from_rotvec(random.normal(size=3)), Rotation.from_rotvec(random.normal(size=3))
        place, at = random.uniform(-0.3, 0.3, 3), random.uniform(-0.5, 0.5, 3) + np.array([0, 0, 1.2])
        inner = compound(child(compound(child(box(0.5, 0.7, 1.1), place, own)), -place, own.inv()))
        placed = find([box(1, 2, 1), inner], [[0, 0, 0], at], [np.eye(3), turn.as_matrix()], 0.1)
        alone = compound(child(box(0.5, 0.7, 1.1)))
        back = own.inv().apply(place) - place
        reference = find([box(1, 2, 1), alone], [[0, 0, 0], at + turn.apply(back)], [np.eye(3), turn.as_matrix()], 0.1)
        np.testing.assert_array_equal(placed.feature, reference.feature)
        for name in ("point", "normal", "gap"):
            np.testing.assert_allclose(getattr(placed, name), getattr(reference, name), atol=1e-12)
        compared += len(placed)
    assert compared > 60


def test_a_table_stands_on_the_outer_corners_of_its_legs():
    contacts = find([PLANE, table()], [[0, 0, 0], [0, 0, 1.05 + 1e-4]])
    assert len(contacts) <= 8
    np.testing.assert_allclose(contacts.gap, 1e-4, atol=1e-12)
    corners = {(x, y) for x in (-0.95, 0.95) for y in (-0.45, 0.45)}
    assert corners <= {tuple(point) for point in contacts.point[:, :2].round(9).tolist()}


def test_a_box_in_a_corner_keeps_the_support_of_every_wall():
    walls = compound(
        child(box(4, 4, 1), (0, 0, -0.5)), child(box(1, 4, 4), (-1.0, 0, 2.0)), child(box(4, 1, 4), (0.0, -1.0, 2.0))
    )
    contacts = find([walls, box(1, 1, 1)], [[0, 0, 0], [1e-4, 1e-4, 0.5 + 1e-4]])
    for axis in range(3):
        wall = contacts.normal[:, axis] > 0.99
        assert wall.sum() == 4
        np.testing.assert_allclose(contacts.gap[wall], 1e-4, atol=1e-12)


def test_many_parts_make_no_more_contacts_than_a_pair_may_have_and_each_feature_once():
    spikes = Rotation.from_rotvec(np.random.default_rng(1).normal(size=(40, 3)))
    star = compound(*(child(box(0.1, 0.1, 2.0), rotation=spike) for spike in spikes))
    contacts = find([star, star], [[0, 0, 0], [0.4, 0.3, 0.2]], reach=0.05)
    assert len(contacts) == MAX_GROUP_CONTACTS
    assert len(set(contacts.feature.tolist())) == MAX_GROUP_CONTACTS
    assert (np.diff(contacts.feature.astype(object)) > 0).all()


def test_parts_of_one_body_never_touch_each_other_and_bodies_keep_their_order():
    pile = compound(child(box(1, 1, 1)), child(box(1, 1, 1), (0, 0, 1.0)), child(box(1, 1, 1), (0.1, 0, 2.0)))
    contacts = find([pile, box(1, 1, 1), pile], [[0, 0, 0], [0, 0, 3.0], [1.0, 0, 0]])
    keys = list(zip(contacts.body_a.tolist(), contacts.body_b.tolist(), contacts.feature.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert {key[:2] for key in keys} == {(0, 1), (0, 2)}


def test_features_of_a_compound_persist_while_it_slides():
    reference = find([PLANE, table()], [[0, 0, 0], [0, 0, 1.05 + 1e-4]])
    moved = find(
        [PLANE, table()], [[0, 0, 0], [0.3, -0.2, 1.05 + 2e-4]], [np.eye(3), Rotation.from_rotvec([0, 0, 0.4]).as_matrix()]
    )
    np.testing.assert_array_equal(moved.feature, reference.feature)


def test_two_halves_weigh_what_the_whole_weighs():
    turn = Rotation.from_rotvec([0.3, -0.7, 0.2])
    halves = compound(child(compound(child(box(1, 2, 1), (0, 0, -0.5)), child(box(1, 2, 1), (0, 0, 0.5))), (1, 2, 3), turn))
    whole = mass_properties(turn.apply(CUBE * (1, 2, 2)) + np.array([1, 2, 3]), np.zeros((0, 3), dtype=np.int32), density=7.0)
    solid = shape_mass_properties(halves, density=7.0)
    assert solid.mass == pytest.approx(whole.mass, rel=1e-12)
    np.testing.assert_allclose(solid.center_of_mass, whole.center_of_mass, rtol=1e-12)
    np.testing.assert_allclose(solid.inertia, whole.inertia, atol=1e-11)
    given = shape_mass_properties(halves, mass=3.0)
    np.testing.assert_allclose(given.inertia, whole.inertia * 3.0 / whole.mass, atol=1e-11)


def test_a_dumbbell_balances_at_the_common_centre_of_its_balls():
    dumbbell = shape_mass_properties(compound(child(ball(0.2), (-1, 0, 0)), child(ball(0.1), (1, 0, 0))), mass=9.0)
    np.testing.assert_allclose(dumbbell.center_of_mass, [(-8.0 + 1.0) / 9.0, 0, 0], atol=1e-15)
    along = 0.4 * (8.0 * 0.04 + 1.0 * 0.01)
    across = along + 8.0 / 9.0 * 4.0
    np.testing.assert_allclose(dumbbell.inertia, np.diag([along, across, across]), atol=1e-12)


def test_a_table_falls_and_stands():
    body = BodySpec(
        "Table", BodyKind.ACTIVE, table(), position=np.array([0, 0, 1.1]), mass=20.0, material=MaterialSpec(0.8, 0.8)
    )
    frames = sc.Simulation(scene(body)).run(24)
    np.testing.assert_allclose(frames[-1].poses[1, :2], 0.0, atol=1e-6)
    assert frames[-1].poses[1, 2] == pytest.approx(1.05, abs=1e-3)
    assert np.abs(frames[-1].velocities[1]).max() < 1e-6


def test_a_compound_of_one_box_moves_as_the_box():
    plain = BodySpec("Box", BodyKind.ACTIVE, box(1, 0.6, 0.4), position=np.array([0, 0, 0.7]), mass=2.0)
    turned = replace(plain, orientation=quaternion(Rotation.from_rotvec([0.4, 0.3, 0.0])))
    wrapped = replace(turned, shape=compound(child(turned.shape)))
    for one, other in zip(sc.Simulation(scene(turned)).run(20), sc.Simulation(scene(wrapped)).run(20), strict=True):
        np.testing.assert_allclose(one.poses, other.poses, atol=1e-9)


def test_a_compound_comes_back_from_its_snapshot(tmp_path):
    body = BodySpec("Table", BodyKind.ACTIVE, compound(child(table(), (1, 2, 3)), child(ball(0.1))), mass=1.0)
    path = tmp_path / "scene.stiction"
    write_snapshot(path, scene(body), SolverSettings())
    back, _ = read_snapshot(path)
    shape = back.bodies[1].shape
    assert shape.kind is ShapeKind.COMPOUND and shape.children[0].shape.kind is ShapeKind.COMPOUND
    np.testing.assert_array_equal(
        shape.children[0].shape.children[1].position, body.shape.children[0].shape.children[1].position
    )
    assert shape.children[1].shape.margin == 0.1


@pytest.mark.parametrize(
    ("shape", "field", "words"),
    [
        (compound(), "children", "no children"),
        (compound(child(box(1, 1, 1)), child(compound())), "children.1.children", "no children"),
        (compound(child(box(np.nan, 1, 1))), "children.0.vertices", "not finite"),
        (compound(child(box(1, 1, 1), (np.inf, 0, 0))), "children.0.position", "finite"),
        (compound(ChildSpec(box(1, 1, 1), orientation=np.zeros(4))), "children.0.orientation", "length 1"),
        (compound(child(PLANE)), "children.0.shape", "Passive"),
        (compound(child(box(1, 1, 1)), child(box(1, 1, 0))), "mass", "child shape 1 of the compound"),
    ],
)
def test_what_is_wrong_with_a_part_is_named(shape, field, words):
    with pytest.raises(SceneError) as raised:
        validate(scene(BodySpec("Pile", BodyKind.ACTIVE, shape, mass=1.0)), SolverSettings())
    problem = next(problem for problem in raised.value.problems if problem.field == field)
    assert problem.object == "Pile" and words in problem.message
