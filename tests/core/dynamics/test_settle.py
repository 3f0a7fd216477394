# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that are dropped come to rest: where, in which time, and who does not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import axis_angle, box, ground
from solver_core.scene.settling import settling_scene
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.validation.findings import SceneError

from ..meshes import cup

ROUGH = MaterialSpec(0.8, 0.8)
CUBE = (0.2, 0.2, 0.2)
TILTED = axis_angle((1.0, 0.0, 0.0), 0.5)
# A cube on the ground has its center half an edge and a rest offset above it.
HALF = 0.1


def slab(name, position, angle=0.0, size=(1.0, 1.0, 0.1), material=ROUGH):
    """A passive slab, turned about y."""
    turned = axis_angle((0.0, 1.0, 0.0), angle)
    return replace(box(name, size, position, material, orientation=turned), kind=BodyKind.PASSIVE, mass=None)


def test_a_tilted_cube_ends_flat_on_the_ground():
    settled = sc.settle(SceneSpec((ground(ROUGH), box("Cube", CUBE, (0.0, 0.0, 0.5), ROUGH, orientation=TILTED))))
    up = settled.poses[1, 3:]
    # one of the cube's axes is vertical
    w, x, y, z = up
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    assert np.abs(rotation[2]).max() == pytest.approx(1.0, abs=1e-6)
    assert settled.poses[1, 2] == pytest.approx(HALF, abs=1e-4)
    assert settled.all_rest and settled.moved.tolist() == [False, True] and not settled.lost.any()
    assert settled.overlap == 0.0 and settled.missed_steps == 0


def test_a_body_that_stands_already_is_said_to_have_moved_nowhere():
    settled = sc.settle(SceneSpec((ground(ROUGH), box("Cube", CUBE, (0.0, 0.0, HALF), ROUGH))))
    assert settled.all_rest and not settled.moved.any()
    assert settled.seconds <= 1.5
    assert settled.displacement[1] < 1e-3 * HALF


def test_a_body_that_slides_for_ever_does_not_rest():
    smooth = MaterialSpec(0.0, 0.0)
    slope = slab("Slope", (0.0, 0.0, 0.0), 0.3, (60.0, 1.0, 0.1), smooth)
    settled = sc.settle(SceneSpec((slope, box("Cube", CUBE, (-20.0, 0.0, 6.5), smooth))), max_seconds=1.5)
    assert settled.rests.tolist() == [True, False] and not settled.lost.any()
    assert settled.seconds == 1.5


def test_a_body_that_creeps_up_to_speed_is_not_taken_for_one_at_rest():
    """Friction short by a thousandth: the cube starts at 0.003 m/s^2, and moves 0.4 mm in the first half second."""
    angle = 0.3
    short = MaterialSpec(*[math.sqrt(math.tan(angle) * (1.0 - 1e-3))] * 2)
    slope = slab("Slope", (0.0, 0.0, 0.0), angle, (4.0, 1.0, 0.1), short)
    turned = axis_angle((0.0, 1.0, 0.0), angle)
    above = 0.05 + HALF
    cube = box("Cube", CUBE, (above * math.sin(angle), 0.0, above * math.cos(angle)), short, orientation=turned)
    assert not sc.settle(SceneSpec((slope, cube)), max_seconds=3.0).all_rest


def test_what_falls_past_everything_is_lost_and_ends_the_wait():
    table = slab("Table", (0.0, 0.0, 0.0))
    spec = SceneSpec((table, box("On it", CUBE, (0.0, 0.0, 0.3), ROUGH), box("Beside", CUBE, (2.0, 0.0, 0.3), ROUGH)))
    settled = sc.settle(spec)
    assert settled.rests.tolist() == [True, True, False]
    assert settled.lost.tolist() == [False, False, True]
    assert settled.seconds < 3.0


def test_nothing_is_lost_above_a_ground_without_end():
    settled = sc.settle(SceneSpec((ground(ROUGH), box("Cube", CUBE, (0.0, 0.0, 3.0), ROUGH))), max_seconds=0.5)
    assert not settled.lost.any() and not settled.all_rest


def test_overlapping_bodies_are_measured_at_the_end():
    """Two slabs that cannot move apart."""
    fixed = replace(box("Fixed", CUBE, (0.0, 0.0, 0.05), ROUGH), linear_factor=np.zeros(3), angular_factor=np.zeros(3))
    settled = sc.settle(SceneSpec((slab("Floor", (0.0, 0.0, -0.05)), fixed)), max_seconds=0.2)
    assert settled.overlap == pytest.approx(0.05, abs=1e-6)
    assert set(settled.overlapping) == {"Floor", "Fixed"}


def test_chosen_bodies_move_and_all_others_stand():
    spec = SceneSpec((ground(ROUGH), box("Low", CUBE, (0.0, 0.0, 0.4), ROUGH), box("High", CUBE, (0.0, 0.0, 1.0), ROUGH)))
    settled = sc.settle(spec, moving=["High"])
    assert settled.moving.tolist() == [False, False, True]
    assert settled.poses[1, 2] == 0.4 and settled.poses[2, 2] == pytest.approx(0.6, abs=1e-4)


def test_what_is_animated_stands_and_initial_velocities_do_not_count():
    path = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (3, 1))
    path[:, 0] = (0.0, 1.0, 2.0)
    plate = BodySpec("Plate", BodyKind.ANIMATED, slab("Plate", (0.0, 0.0, 0.0)).shape, path=path, material=ROUGH)
    thrown = box("Cube", CUBE, (0.0, 0.0, 0.2), ROUGH, velocity=(5.0, 0.0, 0.0))
    settled = sc.settle(SceneSpec((plate, thrown), frame_end=3))
    assert settled.all_rest
    assert np.abs(settled.poses[1, :2]).max() < 1e-6
    assert settled.poses[1, 2] == pytest.approx(0.05 + HALF, abs=1e-4)


def test_without_gravity_bodies_stay_and_rest():
    settled = sc.settle(SceneSpec((box("Cube", CUBE, (0.0, 0.0, 1.0), ROUGH),), gravity=np.zeros(3)))
    assert settled.all_rest and not settled.moved.any()


@pytest.mark.slow
def test_a_cup_in_millimeters_lies_in_another_without_overlap():
    """Concave meshes as they are: a small cup falls into a large one, and rests on its bottom."""
    shapes = [
        ShapeSpec(ShapeKind.MESH, 1e-3 * points, triangles) for points, triangles in (cup(60, 80, 5, 24), cup(25, 60, 4, 24))
    ]
    large = BodySpec("Large", BodyKind.PASSIVE, shapes[0], material=ROUGH)
    place = np.array([0.01, 0.0, 0.1])
    small = BodySpec("Small", BodyKind.ACTIVE, shapes[1], position=place, density=1000.0, material=ROUGH)
    settled = sc.settle(SceneSpec((large, small)))
    assert settled.all_rest and settled.overlap < 1e-4
    assert settled.poses[1, 2] == pytest.approx(0.005, abs=1e-4)


@pytest.mark.parametrize(("moving", "message"), [(["Nobody"], "no body named 'Nobody'"), ([], "nothing would move")])
def test_wrong_names_are_refused(moving, message):
    with pytest.raises(ValueError, match=message):
        settling_scene(SceneSpec((ground(ROUGH), box("Cube", CUBE, (0.0, 0.0, 1.0), ROUGH))), moving)


def test_a_scene_without_active_bodies_is_refused():
    with pytest.raises(ValueError, match="at least one body active"):
        settling_scene(SceneSpec((ground(ROUGH),)))


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_a_time_that_is_none_is_refused(seconds):
    with pytest.raises(ValueError, match="max_seconds"):
        sc.settle(SceneSpec((ground(ROUGH), box("Cube", CUBE, (0.0, 0.0, 1.0), ROUGH))), max_seconds=seconds)


def test_what_cannot_be_simulated_is_named():
    bad = replace(box("Cube", CUBE, (0.0, 0.0, 1.0), ROUGH), mass=-1.0)
    with pytest.raises(SceneError, match="Cube: mass"):
        sc.settle(SceneSpec((ground(ROUGH), bad)))


def test_a_random_start_is_repeatable_and_stays_within_its_bounds():
    bodies = [box(f"Cube {i}", CUBE, (i, 0.0, 1.0), ROUGH) for i in range(40)]
    spec, names = SceneSpec((ground(ROUGH), *bodies)), {body.name for body in bodies}
    first, again, other = (sc.scattered(spec, names, seed, 0.1, 0.5) for seed in (7, 7, 8))
    shift = np.array([new.position - old.position for new, old in zip(first.bodies, spec.bodies, strict=True)])
    angle = np.array([2.0 * np.arccos(min(1.0, abs(body.orientation[0]))) for body in first.bodies])
    assert np.array_equal([b.position for b in first.bodies], [b.position for b in again.bodies])
    assert not np.array_equal([b.position for b in first.bodies], [b.position for b in other.bodies])
    assert np.array_equal(shift[0], np.zeros(3)) and angle[0] == 0.0
    distances = np.linalg.norm(shift[1:], axis=1)
    assert distances.max() <= 0.1 and distances.max() > 0.08 and 0.0 < angle[1:].max() <= 0.5


def test_a_body_far_from_its_origin_is_turned_about_itself():
    far = box("Cube", CUBE, (0.0, 0.0, 0.0), ROUGH)
    far = replace(far, shape=replace(far.shape, vertices=far.shape.vertices + np.array([100.0, 0.0, 0.0])))
    turned = sc.scattered(SceneSpec((far,)), ["Cube"], 1, 0.0, math.pi).bodies[0]
    w, axis = turned.orientation[0], turned.orientation[1:]
    center = np.array([100.0, 0.0, 0.0])
    moved = center + 2.0 * (w * np.cross(axis, center) + np.cross(axis, np.cross(axis, center)))
    np.testing.assert_allclose(turned.position + moved, center, atol=1e-9)


@pytest.mark.parametrize(("seed", "distance", "angle"), [(-1, 0.0, 0.0), (0, -0.1, 0.0), (0, 0.0, math.nan)])
def test_a_random_start_with_values_that_are_none_is_refused(seed, distance, angle):
    with pytest.raises(ValueError, match="must be finite and not negative"):
        sc.scattered(SceneSpec((box("Cube", CUBE, (0.0, 0.0, 1.0), ROUGH),)), ["Cube"], seed, distance, angle)
