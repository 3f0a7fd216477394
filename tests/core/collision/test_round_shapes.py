# SPDX-License-Identifier: GPL-3.0-or-later
"""Cylinders and cones: exact distances, manifolds that stand and roll, and motion with closed forms."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.geometry import build_shapes
from solver_core.geometry.solids import shape_mass_properties
from solver_core.scene.parts import axis_angle, box_shape, cone_shape, cylinder_shape, ground
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.validation.findings import SceneError

from ..shapes import find, turn

GRAVITY = 9.81
FRAME = 1.0 / 24.0
PLANE = ShapeSpec(ShapeKind.PLANE)
CYLINDER = cylinder_shape(0.5, 1.0)
CONE = cone_shape(0.5, 1.0)
HALF_ANGLE = math.atan(0.5)
POOL = [
    CYLINDER,
    cylinder_shape(1.0, 0.01),
    cylinder_shape(0.02, 1.5),
    CONE,
    cone_shape(1.0, 0.05),
    cone_shape(0.03, 1.5),
    box_shape((0.6, 1.0, 1.8)),
    box_shape((1.2, 1.8, 0.006)),
    ShapeSpec(ShapeKind.HULL, np.random.default_rng(5).normal(size=(20, 3)) * 0.5),
    ShapeSpec(ShapeKind.HULL, np.array([[-1.0, -1, 0], [1, -1, 0], [0.5, 1, 0]])),
    ShapeSpec(ShapeKind.HULL, np.array([[-1.0, 0, 0], [1, 0, 0]])),
    ShapeSpec(ShapeKind.HULL, np.zeros((1, 3))),
]


def heights(shape, rotation, directions):
    """Support function of a shape about its own origin, at directions (k, 3)."""
    local = directions @ rotation
    ends = local @ shape.vertices.T
    if shape.kind is ShapeKind.HULL:
        return ends.max(axis=1)
    rim = shape.radius * np.linalg.norm(local[:, :2], axis=1)
    return np.maximum(ends[:, 0] + rim, ends[:, 1] + (rim if shape.kind is ShapeKind.CYLINDER else 0.0))


def separation(specs, rotations, offset, directions):
    """Along unit directions from the first body to the second: every one is a lower bound of the distance."""
    return directions @ offset - heights(specs[0], rotations[0], directions) - heights(specs[1], rotations[1], -directions)


def best_separation(specs, rotations, offset, near, radius):
    """The largest separation along directions around a given one, found by a random search that closes in on it."""
    random = np.random.default_rng(1)
    best, value = near, separation(specs, rotations, offset, near[None])[0]
    for _ in range(60):
        directions = best + random.normal(size=(40, 3)) * radius
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        values = separation(specs, rotations, offset, directions)
        k = int(np.argmax(values))
        if values[k] > value:
            best, value = directions[k], values[k]
        else:
            radius *= 0.6
    return value


def inside(shape, rotation, offset, point, tolerance):
    local = (point - offset) @ rotation
    if shape.kind is ShapeKind.HULL:
        table = build_shapes([shape])
        if not len(table.planes):
            return True
        return (local @ table.planes[:, :3].T - table.planes[:, 3]).max() <= tolerance
    low, high = shape.vertices[:, 2]
    taper = 1.0 if shape.kind is ShapeKind.CYLINDER else (high - local[2]) / (high - low)
    return low - tolerance <= local[2] <= high + tolerance and np.hypot(*local[:2]) <= shape.radius * taper + 30.0 * tolerance


def poses(seed, count):
    random = np.random.default_rng(seed)
    for _ in range(count):
        i = int(random.integers(6))
        j = int(random.integers(len(POOL)))
        rotations = Rotation.random(2, random_state=int(random.integers(1 << 30))).as_matrix()
        alignment = random.integers(3)
        if alignment == 0:
            rotations[1] = rotations[0]
        elif alignment == 1:
            rotations[1] = (
                rotations[0] @ Rotation.from_rotvec(random.normal(size=3) * 10.0 ** random.uniform(-12, -1)).as_matrix()
            )
        direction = random.normal(size=3)
        yield (POOL[i], POOL[j]), rotations, direction / np.linalg.norm(direction) * random.uniform(0.2, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_the_smallest_gap_is_the_distance_or_the_depth_in_any_pose(seed):
    """A direction near the contact's normal proves the gap from below, and its points, which lie in the bodies, from above."""
    apart = overlapping = 0
    for specs, rotations, offset in poses(seed, 200):
        contacts = find(specs, [np.zeros(3), offset], rotations, reach=10.0)
        assert len(contacts) > 0
        first = int(np.argmin(contacts.gap))
        gap, normal, point = contacts.gap[first], contacts.normal[first], contacts.point[first]
        assert best_separation(specs, rotations, offset, normal, 1e-5) == pytest.approx(gap, abs=1e-8)
        if gap > 1e-6:
            assert inside(specs[0], rotations[0], np.zeros(3), point - 0.5 * gap * normal, 1e-9)
            assert inside(specs[1], rotations[1], offset, point + 0.5 * gap * normal, 1e-9)
            apart += 1
        elif gap < -1e-6:
            overlapping += 1
    assert apart > 50 and overlapping > 15


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 12))
def test_no_direction_separates_bodies_more_than_the_normal_does(seed):
    directions = np.random.default_rng(seed).normal(size=(2000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    for specs, rotations, offset in poses(seed, 150):
        gap = find(specs, [np.zeros(3), offset], rotations, reach=10.0).gap.min()
        start = directions[np.argmax(separation(specs, rotations, offset, directions))]
        assert gap >= best_separation(specs, rotations, offset, start, 0.1) - 1e-8


@pytest.mark.slow
def test_a_pair_beyond_the_reach_has_no_contact_and_one_within_has():
    for specs, rotations, offset in poses(30, 300):
        contacts = find(specs, [np.zeros(3), offset], rotations, reach=10.0)
        gap = contacts.gap.min()
        if gap > 1e-3:
            assert len(find(specs, [np.zeros(3), offset], rotations, reach=gap - 1e-6)) == 0
            assert len(find(specs, [np.zeros(3), offset], rotations, reach=gap + 1e-6)) > 0


@pytest.mark.parametrize("tilt", [0.0, 1e-12, 1e-9])
def test_a_standing_cylinder_has_a_ring_that_tiny_tilts_leave_alone(tilt):
    flat = find([PLANE, CYLINDER], [[0, 0, 0], [0, 0, 0.5001]])
    assert len(flat) == 8
    np.testing.assert_allclose(np.linalg.norm(flat.point[:, :2], axis=1), 0.5, atol=1e-12)
    tilted = find([PLANE, CYLINDER], [[0, 0, 0], [0, 0, 0.5001]], [np.eye(3), turn(0.6 * tilt, 0.8 * tilt, 0.0)])
    np.testing.assert_array_equal(tilted.feature, flat.feature)


@pytest.mark.parametrize("tilt", [1e-6, 1e-3, 0.3])
def test_a_tilted_cylinder_touches_a_plane_at_its_lowest_rim_point(tilt):
    rotation = turn(tilt * math.cos(0.3), tilt * math.sin(0.3), 0.0) @ turn(0, 0, 1.0)
    contacts = find([PLANE, CYLINDER], [[0, 0, 0], [0, 0, 0.8]], [np.eye(3), rotation], reach=2.0)
    lowest = 0.8 - 0.5 * math.cos(tilt) - 0.5 * math.sin(tilt)
    assert contacts.gap.min() == pytest.approx(lowest, abs=1e-14)
    assert len(contacts) <= 8


def test_a_lying_cylinder_touches_a_plane_and_a_box_at_both_ends_of_its_lowest_line():
    lying = turn(math.pi / 2, 0, 0)
    for base, height in ((PLANE, 0.0), (box_shape((4, 4, 1)), 0.5)):
        contacts = find([base, CYLINDER], [[0, 0, 0], [0.2, 0.1, height + 0.5001]], [np.eye(3), lying])
        np.testing.assert_allclose(np.sort(contacts.point[:, 1]), [-0.4, 0.6], atol=1e-12)
        np.testing.assert_allclose(contacts.gap, 1e-4, atol=1e-12)


@pytest.mark.parametrize("yaw", [0.0, 1e-9, -3e-10])
@pytest.mark.parametrize("before", [1e-3, 6e-3, -4e-3])
def test_a_cylinder_that_lies_along_an_edge_touches_it_at_both_ends_of_its_side(before, yaw):
    """A drum that comes to a seam of boards, and goes on past it. Rounding must not choose between the side and a cap."""
    lying = Rotation.from_euler("z", yaw).as_matrix() @ turn(math.pi / 2, 0, 0)
    boards = [box_shape((1, 4, 1))] * 2
    places = [[-0.5, 0, -0.5], [0.5, 0, -0.5], [-before, 0.1, 0.5001]]
    contacts = find([*boards, CYLINDER], places, [np.eye(3), np.eye(3), lying], reach=2e-3)
    for board in (0, 1):
        of_drum = (contacts.body_a == board) & (contacts.body_b == 2)
        ends = contacts.point[of_drum & (np.abs(contacts.point[:, 0]) < 5e-4)]
        np.testing.assert_allclose(np.sort(ends[:, 1]), [-0.4, 0.6], atol=1e-8)


def test_a_cylinder_across_a_narrow_beam_touches_its_two_edges():
    contacts = find([box_shape((0.2, 4, 1)), CYLINDER], [[0, 0, 0], [0, 0, 1.0001]], [np.eye(3), turn(0, math.pi / 2, 0)])
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.1, 0.1], atol=1e-12)
    np.testing.assert_allclose(contacts.gap, 1e-4, atol=1e-12)


def test_parallel_cylinders_touch_twice_and_crossing_ones_once():
    assert len(find([CYLINDER, CYLINDER], [[0, 0, 0], [1.0001, 0, 0.2]])) == 2
    crossing = find([CYLINDER, CYLINDER], [[0, 0, 0], [1.0001, 0, 0.0]], [np.eye(3), turn(1.0, 0, 0)])
    assert len(crossing) == 1
    np.testing.assert_allclose(crossing.point, [[0.50005, 0, 0]], atol=1e-12)


def test_a_cylinder_over_the_edge_of_a_box_is_held_up_to_the_edge():
    contacts = find([box_shape((1, 1, 1)), CYLINDER], [[0, 0, 0], [0.4, 0, 1.0001]])
    assert contacts.point[:, 0].max() == pytest.approx(0.5, abs=1e-12)
    assert contacts.point[:, 0].min() == pytest.approx(-0.1, abs=1e-12)
    np.testing.assert_allclose(contacts.gap, 1e-4, atol=1e-12)


def test_a_cone_stands_on_its_apex_and_lies_on_apex_and_rim():
    upside_down = turn(math.pi, 0, 0)
    contacts = find([PLANE, CONE], [[0, 0, 0], [0, 0, 0.5001]], [np.eye(3), upside_down])
    np.testing.assert_allclose(contacts.point, [[0, 0, 5e-5]], atol=1e-12)
    lying = turn(0, math.pi / 2 + HALF_ANGLE, 0)
    contacts = find([PLANE, CONE], [[0, 0, 0], [0, 0, 0.5 * math.sin(HALF_ANGLE) + 1e-4]], [np.eye(3), lying])
    assert np.ptp(contacts.point[:, 0]) == pytest.approx(math.hypot(1.0, 0.5), abs=1e-12)
    np.testing.assert_allclose(contacts.gap, 1e-4, atol=1e-12)


@pytest.mark.parametrize("shape", [CYLINDER, CONE])
def test_mass_properties_are_those_of_a_fine_sum_of_slices(shape):
    solid = shape_mass_properties(shape, density=2.0)
    z = (np.arange(20000) + 0.5) / 20000 - 0.5
    radius = np.full(20000, 0.5) if shape.kind is ShapeKind.CYLINDER else 0.5 * (0.5 - z)
    mass = 2.0 * math.pi * radius**2 / 20000
    centre = mass @ z / mass.sum()
    across = mass @ (radius**2 / 4.0 + (z - centre) ** 2)
    assert solid.mass == pytest.approx(mass.sum(), rel=1e-7)
    np.testing.assert_allclose(solid.center_of_mass, [0, 0, centre], atol=1e-7)
    np.testing.assert_allclose(solid.inertia, np.diag([across, across, mass @ radius**2 / 2.0]), atol=1e-7)


def body(shape, mu=0.8, **changes):
    return BodySpec("Body", BodyKind.ACTIVE, shape, mass=1.0, material=MaterialSpec(math.sqrt(mu), math.sqrt(mu)), **changes)


def slope(angle, material, on_box):
    """A plane that falls along x through the origin, or the upper face of a box that does."""
    turned = axis_angle((0.0, 1.0, 0.0), angle)
    if not on_box:
        return ground(material, turned)
    below = -0.5 * np.array([math.sin(angle), 0.0, math.cos(angle)])
    return BodySpec("Slope", BodyKind.PASSIVE, box_shape((20.0, 4.0, 1.0)), below, turned, material=material)


def rolling(shape, tangent, mu, frames=24, inertia=None, on_box=False):
    """What rolls down a slope from rest: way down it, rolled way, speed, and how far it left its line."""
    angle, radius = math.atan(tangent), 0.1
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    lying = axis_angle((1.0, 0.0, 0.0), math.pi / 2)
    below = slope(angle, MaterialSpec(math.sqrt(mu), math.sqrt(mu)), on_box)
    spec = SceneSpec((below, body(shape, mu, position=radius * normal, orientation=lying, inertia=inertia)))
    last = sc.Simulation(spec).run(frames)[-1]
    way = last.poses[1, :3] - radius * normal
    return way @ down, radius * last.velocities[1, 4], last.velocities[1, :3] @ down, abs(way[1])


ROLLER = cylinder_shape(0.1, 0.1)
HOOP = np.diag([0.5, 0.5, 1.0]) * 0.01
BALL = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1)


@pytest.mark.parametrize(
    ("shape", "share", "inertia", "on_box"),
    [(ROLLER, 2.0 / 3.0, None, False), (ROLLER, 1.0 / 2.0, HOOP, True), (BALL, 5.0 / 7.0, None, False)],
    ids=["cylinder-plane", "hoop-box", "ball-plane"],
)
def test_round_bodies_roll_straight_down_at_their_share_of_gravity(shape, share, inertia, on_box):
    tangent, frames = 0.3, 24
    way, rolled, speed, aside = rolling(shape, tangent, 0.8, frames, inertia, on_box)
    expected = 0.5 * share * GRAVITY * math.sin(math.atan(tangent)) * (frames * FRAME) ** 2
    assert way == pytest.approx(expected, rel=0.005)
    assert rolled == pytest.approx(speed, rel=1e-3)
    assert aside < 1e-6


@pytest.mark.parametrize(
    ("shape", "share", "inertia"),
    [(ROLLER, 1.0 / 3.0, None), (ROLLER, 1.0 / 2.0, HOOP), (BALL, 2.0 / 7.0, None)],
    ids=["cylinder", "hoop", "ball"],
)
def test_round_bodies_grip_down_to_their_coefficient(shape, share, inertia):
    for factor, grips in ((1.02, True), (0.98, False)):
        _, rolled, speed, _ = rolling(shape, 0.3, share * 0.3 * factor, 12, inertia)
        assert (rolled > 0.999 * speed) == grips


@pytest.mark.slow
def test_a_standing_cylinder_neither_moves_nor_rocks_for_ten_seconds():
    material = MaterialSpec(0.9, 0.9)
    spec = SceneSpec((ground(material), body(cylinder_shape(0.1, 0.3), position=np.array([0.0, 0.0, 0.15]))))
    frames = sc.Simulation(spec).run(240)
    settled = frames[12].poses[1]
    assert np.abs(frames[-1].poses[1] - settled).max() < 1e-6
    assert max(np.abs(frame.velocities[1]).max() for frame in frames[12:]) < 1e-6


@pytest.mark.slow
def test_a_cone_rolls_about_its_apex_at_the_rate_that_its_angle_gives():
    """Without slip the line on the floor is at rest, so the spin along it is the rate over the tangent of the half angle."""
    radius, height, rate, frames = 0.1, 0.2, 2.0, 48
    half = math.atan(radius / height)
    up = np.array([-math.cos(half), 0.0, -math.sin(half)])
    centre = -0.5 * height * up
    spin = np.array([rate / math.tan(half), 0.0, 0.0])
    lying = axis_angle((0.0, 1.0, 0.0), -math.pi / 2 - half)
    cone = body(
        cone_shape(radius, height),
        position=centre,
        orientation=lying,
        velocity=np.cross(spin, centre),
        angular_velocity=spin,
    )
    last = sc.Simulation(SceneSpec((ground(MaterialSpec(0.9, 0.9)), cone))).run(frames)[-1]
    w, x, y, z = last.poses[1, 3:]
    axis = Rotation.from_quat([x, y, z, w]).apply([0.0, 0.0, 1.0])
    apex = last.poses[1, :3] + 0.5 * height * axis
    turned = (math.atan2(-axis[1], -axis[0])) % (2.0 * math.pi)
    assert turned == pytest.approx((-rate * frames * FRAME) % (2.0 * math.pi), abs=0.01 * rate * frames * FRAME)
    assert np.linalg.norm(apex) < 0.005 * height
    assert math.asin(-axis[2]) == pytest.approx(half, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("spin", [20.0, 50.0])
def test_a_spinning_cone_that_falls_over_whirls_on_the_ground_and_not_into_it(spin):
    """Each step lets it in by omega^2 r h^2 / 2, for a contact does not know that the body turns; that must not add up."""
    axis, tilt = np.array([0.0, -np.sin(np.pi - 0.2), np.cos(np.pi - 0.2)]), np.pi - 0.2
    top = body(
        cone_shape(0.1, 0.2),
        mu=0.0,
        position=np.array([0.0, 0.0, 0.1 * np.cos(0.2) + 1e-4]),
        orientation=np.array([np.cos(0.5 * tilt), np.sin(0.5 * tilt), 0.0, 0.0]),
        angular_velocity=spin * axis,
    )
    scene = SceneSpec((slope(0.0, MaterialSpec(0.0, 0.0, 0.0), False), top), frame_end=48)
    frames = sc.Simulation(scene).run()
    step = 1.0 / (24.0 * 10.0)
    assert max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames) < 2.0 * (spin * step) ** 2 * 0.1


def test_wrong_sizes_are_named():
    ends = CYLINDER.vertices
    for shape, field in (
        (dataclasses.replace(CYLINDER, radius=0.0), "radius"),
        (dataclasses.replace(CONE, radius=math.nan), "radius"),
        (dataclasses.replace(CYLINDER, vertices=ends * 0.0), "height"),
        (dataclasses.replace(CONE, vertices=ends[:1]), "vertices"),
        (dataclasses.replace(CONE, vertices=ends * math.nan), "vertices"),
    ):
        with pytest.raises(SceneError, match=f"Body: {field}"):
            sc.Simulation(SceneSpec((body(shape),)))
    for inertia in (np.zeros((3, 3)), np.diag([1.0, 1.0, 3.0]), np.full((3, 3), math.nan), np.ones(3)):
        with pytest.raises(SceneError, match="Body: inertia"):
            sc.Simulation(SceneSpec((body(CYLINDER, inertia=inertia),)))
