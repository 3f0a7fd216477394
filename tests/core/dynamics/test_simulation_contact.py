# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated motion with contact obeys mechanics: impact, friction, rolling, rest and overlap."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.parts import axis_angle, ground
from solver_core.scene.spec import BodyKind, BodySpec, FrictionCombine, MaterialSpec, PairSpec, ShapeKind, ShapeSpec

from ..bodies import body, box_inertia, material, run, scene, spin, track

GRAVITY = 9.81
FRAME = 1.0 / 24.0
NO_GRAVITY = np.zeros(3)


def ball(radius=0.1, **changes):
    """A point with a margin: a sphere."""
    return BodySpec("Ball", BodyKind.ACTIVE, ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=radius), mass=1.0, **changes)


# --- impact


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_a_dropped_box_bounces_to_the_square_of_its_restitution(restitution):
    height = 1.0
    spec = scene(ground(material(0.5, restitution)), body(position=(0, 0, 0.1 + height), material=material(0.5, restitution)))
    poses, _ = track(run(spec, 230, fps=240.0, substeps=4), 1)
    low = int(np.argmin(poses[:120, 2]))
    top = poses[low:, 2].max() - 0.1
    assert poses[:, 2].min() >= 0.1 - 1e-5
    assert top == pytest.approx(restitution**2 * height, rel=0.03, abs=1e-3)
    np.testing.assert_allclose(poses[:, :2], 0.0, atol=1e-6)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_a_collision_in_space_keeps_momentum_and_loses_what_restitution_says(restitution):
    surface = material(0.4, restitution)
    a = body("A", position=(-0.5, 0.0, 0.0), velocity=(2.0, 0.0, 0.0), mass=1.0, material=surface)
    b = body("B", position=(0.5, 0.0, 0.0), velocity=(-1.0, 0.0, 0.0), mass=3.0, material=surface)
    frames = run(scene(a, b, gravity=NO_GRAVITY), 24)
    (_, first), (_, second) = track(frames, 0), track(frames, 1)
    momentum = first[:, :3] + 3.0 * second[:, :3]
    np.testing.assert_allclose(momentum, np.tile([-1.0, 0.0, 0.0], (25, 1)), atol=1e-11)
    assert second[-1, 0] - first[-1, 0] == pytest.approx(restitution * 3.0, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_an_oblique_collision_keeps_linear_and_angular_momentum(seed):
    """Two tumbling boxes meet off centre with friction: what one gives the other takes, also about any point."""
    random = np.random.default_rng(seed)
    sizes, masses = ((0.3, 0.2, 0.1), (0.2, 0.25, 0.15)), (1.0, 2.5)
    bodies = [
        body(
            name,
            size=size,
            position=(sign * 0.4, 0.05 * sign, 0.03 * sign),
            mass=mass,
            orientation=Rotation.random(random_state=random).as_quat()[[3, 0, 1, 2]],
            velocity=(-2.0 * sign, 0.1, 0.0),
            angular_velocity=tuple(random.normal(size=3)),
            material=material(0.6, 0.5),
        )
        for name, size, mass, sign in zip("AB", sizes, masses, (-1.0, 1.0), strict=True)
    ]
    frames = run(scene(*bodies, gravity=NO_GRAVITY), 24, substeps=10)
    assert max(f.statistics.contacts.max(initial=0) for f in frames) > 0
    linear, angular, energy = [], [], []
    for frame in frames:
        total, about, kinetic = np.zeros(3), np.zeros(3), 0.0
        for i in range(2):
            own, rotation = spin(frame.poses[i], frame.velocities[i], box_inertia(sizes[i], masses[i]))
            momentum = masses[i] * frame.velocities[i, :3]
            total += momentum
            about += own + np.cross(frame.poses[i, :3], momentum)
            kinetic += rotation + 0.5 * momentum @ momentum / masses[i]
        linear.append(total)
        angular.append(about)
        energy.append(kinetic)
    np.testing.assert_allclose(linear, np.tile(linear[0], (25, 1)), atol=1e-12)
    # opening the rest offset of 10 um, without momentum, shifts what moves at some m/s
    np.testing.assert_allclose(angular, np.tile(angular[0], (25, 1)), atol=5e-5)
    assert energy[-1] < 0.99 * energy[0]


# --- friction


@pytest.mark.slow
def test_a_box_between_the_two_angles_of_friction_stays_at_rest_and_slides_on_when_it_moves():
    """mu_s = 0.6 > tan = 0.5 > mu_d = 0.3: whether it moves depends on whether it moved."""
    spec = sc.scenes.slope(tangent=0.5, mu=0.6, mu_dynamic=0.3)
    poses, _ = track(run(spec, 48), 1)
    assert np.linalg.norm(poses[-1, :3] - poses[0, :3]) <= 1e-4
    angle = math.atan(0.5)
    down = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    pushed = dataclasses.replace(spec, bodies=(spec.bodies[0], dataclasses.replace(spec.bodies[1], velocity=0.2 * down)))
    poses, _ = track(run(pushed, 48), 1)
    time = 48 * FRAME
    expected = 0.2 * time + 0.5 * GRAVITY * (math.sin(angle) - 0.3 * math.cos(angle)) * time**2
    assert (poses[-1, :3] - poses[0, :3]) @ down == pytest.approx(expected, rel=0.005)


@pytest.mark.slow
def test_a_conveyor_drags_a_box_along_until_it_has_its_speed():
    """An animated plane moves sideways at 1 m/s under a resting box: mu g acts for v / (mu g), then nothing does."""
    speed, mu, frames = 1.0, 0.5, 25
    path = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (frames, 1))
    path[:, 0] = speed * FRAME * np.arange(frames)
    belt = BodySpec("Belt", BodyKind.ANIMATED, ShapeSpec(ShapeKind.PLANE), material=material(mu), path=path)
    spec = scene(belt, body(size=(0.3, 0.3, 0.1), position=(0.0, 0.0, 0.05), material=material(mu)), frame_end=frames)
    poses, velocities = track(run(spec, frames - 1), 1)
    slip_time = speed / (mu * GRAVITY)
    early = int(0.8 * slip_time / FRAME)
    assert velocities[early, 0] == pytest.approx(mu * GRAVITY * early * FRAME, rel=0.05)
    np.testing.assert_allclose(velocities[int(slip_time / FRAME) + 2 :, 0], speed, atol=1e-6)
    lost = path[-1, 0] - (poses[-1, 0] - poses[0, 0])
    assert lost == pytest.approx(speed**2 / (2.0 * mu * GRAVITY), rel=0.03)


@pytest.mark.slow
def test_a_turntable_carries_a_box_round():
    """An animated plane that turns at 1 rad/s: 0.1 m out, mu g is more than enough to hold the box on its circle."""
    frames, rate, radius = 49, 1.0, 0.1
    path = np.zeros((frames, 7))
    path[:, 3] = np.cos(0.5 * rate * FRAME * np.arange(frames))
    path[:, 6] = np.sin(0.5 * rate * FRAME * np.arange(frames))
    table = BodySpec("Table", BodyKind.ANIMATED, ShapeSpec(ShapeKind.PLANE), material=material(0.8), path=path)
    spec = scene(table, body(size=(0.04, 0.04, 0.02), position=(radius, 0.0, 0.01), material=material(0.8)), frame_end=frames)
    poses, velocities = track(run(spec, frames - 1), 1)
    assert velocities[-1, 5] == pytest.approx(rate, rel=1e-3)
    angle = np.unwrap(np.arctan2(poses[:, 1], poses[:, 0]))
    assert angle[-1] - angle[2] == pytest.approx(rate * FRAME * (frames - 3), rel=2e-3)
    np.testing.assert_allclose(np.linalg.norm(poses[:, :2], axis=1), radius, rtol=0.01)


@pytest.mark.parametrize("tangent", [0.1, 0.3])
def test_a_ball_rolls_down_a_slope_without_bumps(tangent):
    """A solid sphere that rolls without slipping has 5/7 of what gravity gives along the slope."""
    angle, radius, frames = math.atan(tangent), 0.1, 36
    down, normal = np.array([math.cos(angle), 0.0, -math.sin(angle)]), np.array([math.sin(angle), 0.0, math.cos(angle)])
    plane = ground(material(0.8), axis_angle((0.0, 1.0, 0.0), angle))
    poses, velocities = track(run(scene(plane, ball(radius, position=radius * normal, material=material(0.8))), frames), 1)
    time = frames * FRAME
    travelled = (poses[-1, :3] - poses[0, :3]) @ down
    assert travelled == pytest.approx(0.5 * 5.0 / 7.0 * GRAVITY * math.sin(angle) * time**2, rel=0.005)
    assert velocities[-1, 4] * radius == pytest.approx(velocities[-1, :3] @ down, rel=1e-3)
    steps = np.diff(poses[:, :3] @ down, n=2)
    np.testing.assert_allclose(steps[2:], steps[2:].mean(), rtol=0.01)
    np.testing.assert_allclose(poses[:, :3] @ normal, radius, atol=5e-5)


def test_a_ball_pushed_along_the_floor_ends_up_rolling_at_five_sevenths():
    speed, radius = 2.0, 0.1
    spec = scene(
        ground(material(0.5)),
        ball(radius, position=np.array([0.0, 0.0, radius]), velocity=np.array([speed, 0.0, 0.0]), material=material(0.5)),
    )
    _, velocities = track(run(spec, 24), 1)
    assert velocities[-1, 0] == pytest.approx(5.0 / 7.0 * speed, rel=2e-3)
    assert velocities[-1, 4] * radius == pytest.approx(velocities[-1, 0], rel=1e-3)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (FrictionCombine.PRODUCT, 0.2),
        (FrictionCombine.AVERAGE, 0.525),
        (FrictionCombine.GEOMETRIC_MEAN, math.sqrt(0.2)),
        (FrictionCombine.MINIMUM, 0.25),
        (FrictionCombine.MAXIMUM, 0.8),
    ],
)
def test_the_coefficients_of_a_pair_are_combined_as_the_scene_says(rule, expected):
    floor, top = MaterialSpec(0.25, 0.25), MaterialSpec(0.8, 0.8)
    sliding = body(size=(0.3, 0.3, 0.1), position=(0.0, 0.0, 0.05), velocity=(2.0, 0.0, 0.0), material=top)
    spec = scene(ground(floor), sliding, friction_combine=rule)
    poses, _ = track(run(spec, 36), 1)
    time = 36 * FRAME
    stop = 2.0 / (expected * GRAVITY)
    expected_way = 2.0**2 / (2.0 * expected * GRAVITY) if time > stop else 2.0 * time - 0.5 * expected * GRAVITY * time**2
    assert poses[-1, 0] == pytest.approx(expected_way, rel=0.01)


@pytest.mark.parametrize("rule", [FrictionCombine.PRODUCT, FrictionCombine.MAXIMUM])
def test_a_pair_of_materials_slides_by_its_own_coefficients_whatever_the_rule(rule):
    """v^2 / (2 mu g) with the dynamic coefficient of the pair, on the one floor; with the rule's on the other."""
    pairs = (PairSpec("Steel", "Ice", 0.4, 0.2), PairSpec("Ice", "Ice", 0.0, 0.0))
    ice, nameless = MaterialSpec(0.3, 0.3, name="Ice"), MaterialSpec(0.3, 0.3)
    steel = MaterialSpec(0.6, 0.6, name="Steel")
    ways = []
    for floor in (ice, nameless):
        sliding = body(size=(0.3, 0.3, 0.1), position=(0.0, 0.0, 0.05), velocity=(1.0, 0.0, 0.0), material=steel)
        poses, _ = track(run(scene(ground(floor), sliding, friction_combine=rule, pairs=pairs), 24), 1)
        ways.append(poses[-1, 0])
    combined, time = rule.pair(0.3, 0.6), 24 * FRAME
    stop = 1.0 / (combined * GRAVITY)
    way = 1.0 / (2.0 * combined * GRAVITY) if time > stop else time - 0.5 * combined * GRAVITY * time**2
    assert ways == pytest.approx([1.0 / (2.0 * 0.2 * GRAVITY), way], rel=0.01)


@pytest.mark.parametrize(("tilt", "slides"), [(0.39, False), (0.41, True)])
def test_a_pair_holds_up_to_its_static_coefficient(tilt, slides):
    pairs = (PairSpec("Steel", "Ice", 0.4, 0.4),)
    gravity = 9.81 * np.array([tilt, 0.0, -1.0]) / np.hypot(tilt, 1.0)
    resting = body(size=(0.3, 0.3, 0.1), position=(0.0, 0.0, 0.05), material=MaterialSpec(1.0, 1.0, name="Ice"))
    spec = scene(ground(MaterialSpec(1.0, 1.0, name="Steel")), resting, gravity=gravity, pairs=pairs)
    poses, _ = track(run(spec, 24), 1)
    way = 0.5 * 9.81 * (tilt - 0.4) / np.hypot(tilt, 1.0)
    assert poses[-1, 0] == pytest.approx(way if slides else 0.0, abs=2e-4)


def test_bodies_in_different_collections_pass_through_each_other():
    floor = dataclasses.replace(ground(material()), collections=0b01)
    poses, _ = track(run(scene(floor, body(position=(0, 0, 0.3), collections=0b10)), 24), 1)
    assert poses[-1, 2] == pytest.approx(0.3 - 0.5 * GRAVITY, abs=1e-9)


# --- rest and overlap


@pytest.mark.slow
def test_a_box_that_starts_inside_the_ground_is_named_and_lifted_gently():
    deep = 0.02
    spec = scene(ground(material()), body("Crate", position=(0.0, 0.0, 0.1 - deep), material=material()))
    simulation = sc.Simulation(spec)
    (warning,) = simulation.warnings
    assert set(warning.objects) == {"Ground", "Crate"}
    assert warning.field == "overlap"
    assert "20" in warning.message
    frames = simulation.run(48)
    poses, velocities = track(frames, 1)
    assert poses[-1, 2] == pytest.approx(0.1, abs=1e-4)
    assert (np.diff(poses[:, 2]) >= -1e-9).all()
    assert abs(velocities).max() <= GRAVITY * FRAME / 10
    assert abs(np.diff(poses[:, 2])).max() <= 0.2 * 0.1 * FRAME * 1.2
    assert frames[1].statistics.deepest_overlap[0] == pytest.approx(deep, rel=1e-6)
    assert frames[-1].statistics.deepest_overlap[-1] <= 1e-6


def test_two_boxes_inside_each_other_part_without_a_pop():
    spec = scene(
        body("A", position=(-0.09, 0.0, 0.0), material=material()),
        body("B", position=(0.09, 0.0, 0.0), material=material()),
        gravity=NO_GRAVITY,
    )
    simulation = sc.Simulation(spec)
    assert [set(w.objects) for w in simulation.warnings] == [{"A", "B"}]
    frames = simulation.run(48)
    gap = np.array([f.poses[1, 0] - f.poses[0, 0] for f in frames]) - 0.2
    assert gap[0] == pytest.approx(-0.02)
    assert abs(gap[-1]) <= 5e-5
    assert max(abs(f.velocities).max() for f in frames) <= 1e-9


def test_bodies_that_only_touch_are_no_overlap():
    assert sc.Simulation(sc.scenes.tower()).warnings == ()
    assert sc.Simulation(sc.scenes.arch()).warnings == ()
    assert sc.Simulation(sc.scenes.card_house()).warnings == ()


def test_without_gravity_what_touches_stays_and_carries_nothing():
    spec = dataclasses.replace(sc.scenes.tower(boxes=4), gravity=NO_GRAVITY)
    frames = run(spec, 12)
    assert max(f.statistics.contacts.max(initial=0) for f in frames) > 0
    for index in range(1, 5):
        poses, velocities = track(frames, index)
        np.testing.assert_allclose(poses[:, :3], np.tile(poses[0, :3], (13, 1)), atol=1e-4)
        np.testing.assert_allclose(velocities, 0.0, atol=1e-9)


def test_a_body_alone_has_no_contacts_and_no_iterations():
    frames = run(scene(body()), 3)
    for frame in frames[1:]:
        statistics = frame.statistics
        assert (statistics.status == sc.Status.SOLVED).all()
        assert not statistics.contacts.any()
        assert not statistics.islands.any()
        assert (statistics.worst_pair == -1).all()


def test_passive_bodies_never_move():
    spec = sc.scenes.dropped_cube(height=0.1)
    poses, velocities = track(run(spec, 12))
    assert (poses == poses[0]).all()
    assert not velocities.any()


@pytest.mark.parametrize("order", [1, -1])
def test_excluded_bodies_fall_through_each_other_and_nothing_else(order):
    """Two boxes overlap halfway and are excluded, in either order of naming: each comes to rest on the ground by itself."""
    lower, upper = body("Lower", position=(0.0, 0.0, 0.2)), body("Upper", position=(0.0, 0.0, 0.35))
    third = body("Third", position=(0.0, 0.0, 0.8))
    spec = scene(ground(material()), lower, upper, third, excluded=(("Lower", "Upper")[::order],))
    simulation = sc.Simulation(spec)
    assert not simulation.warnings
    heights = simulation.run(36)[-1].poses[1:, 2]
    np.testing.assert_allclose(heights, [0.1, 0.1, 0.3], atol=2e-4)
