# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounces: as high as restitution says, over in finite time, and none where bodies only rest."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import box_shape, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec
from solver_core.scenes.jointed import CRADLE_SUBSTEPS, newtons_cradle
from solver_core.scenes.plain import card_house

from ..bodies import body, material, poses

GRAVITY = 9.81
RADIUS, REST_OFFSET = 0.1, 2e-5  # m; the gap that a ball of that radius keeps to the ground


def dropped_ball(restitution: float, height: float) -> SceneSpec:
    """A ball over the ground, its lowest point at a height above where it touches."""
    surface = material(0.5, restitution)
    place = np.array([0.0, 0.0, RADIUS + REST_OFFSET + height])
    ball = BodySpec("Ball", BodyKind.ACTIVE, sphere_shape(RADIUS), position=place, mass=1.0, material=surface)
    return SceneSpec((ground(surface), ball))


def tops(height):
    """The highest points of a path of parabolas, sampled evenly: each from the three samples around it."""
    found = []
    for before, top, after in zip(height, height[1:], height[2:], strict=False):
        if before < top >= after:
            found.append(top - (before - after) ** 2 / (8.0 * (before - 2.0 * top + after)))
    return np.array(found)


@pytest.mark.parametrize(
    ("restitution", "bounces", "substeps"),
    [(0.1, 1, 1), (0.3, 2, 4), (0.5, 4, 1), (0.8, 10, 1), (1.0, 2, 4), pytest.param(0.8, 10, 4, marks=pytest.mark.long)],
)
def test_bounces_of_a_ball_are_as_high_as_powers_of_its_restitution(restitution, bounces, substeps):
    height = 0.6
    flights = 1.0 + 2.0 * sum(restitution**n for n in range(1, bounces)) + restitution**bounces
    # a bounce may come a step late
    frames = math.ceil(240.0 * math.sqrt(2.0 * height / GRAVITY) * flights) + bounces + 3
    frames = sc.Simulation(dropped_ball(restitution, height), fps=240.0, substeps=substeps).run(frames)
    found = tops(poses(frames, 1)[:, 2] - RADIUS - REST_OFFSET)[:bounces]
    np.testing.assert_allclose(found, height * restitution ** (2.0 * np.arange(1, bounces + 1)), rtol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.3, 0.6, pytest.param(0.8, marks=pytest.mark.long)])
def test_a_ball_comes_to_rest_when_the_sum_of_its_bounces_is_over(restitution):
    """sqrt(2 H / g) (1 + e) / (1 - e), with a step for each bounce that it took, and less what is left of the smallest."""
    height, step = 0.5, 1.0 / 240.0
    # until the bounces are over, and a quarter of a second more
    frames = math.ceil(240.0 * math.sqrt(2.0 * height / GRAVITY) * (1.0 + restitution) / (1.0 - restitution)) + 60
    frames = sc.Simulation(dropped_ball(restitution, height), fps=240.0, substeps=1, sleeping=False).run(frames)
    level = poses(frames, 1)[:, 2] - RADIUS - REST_OFFSET
    rests = step * (np.flatnonzero(np.abs(level) > 1e-6)[-1] + 1)
    fall = math.sqrt(2.0 * height / GRAVITY)
    least = GRAVITY * step  # m/s of a rebound
    bounces = math.ceil(math.log(least / (GRAVITY * fall), restitution)) - 1
    left = 2.0 * restitution ** (bounces + 1) / (1.0 - restitution) * fall
    assert rests == pytest.approx(fall * (1.0 + restitution) / (1.0 - restitution) - left, abs=(bounces + 2) * step)


def test_a_collision_under_gravity_is_that_of_bodies_in_free_fall():
    """One ball thrown up against one that falls: gravity does not change at what speed they meet and part."""
    surface, radius, restitution = material(0.0, 0.7), 0.1, 0.7
    balls = [
        BodySpec(
            name,
            BodyKind.ACTIVE,
            sphere_shape(radius),
            position=np.array([0.0, 0.0, z]),
            velocity=np.array([0.0, 0.0, speed]),
            mass=1.0,
            material=surface,
        )
        for name, z, speed in (("Low", 0.0, 3.0), ("High", 1.0, 0.0))
    ]
    frames = sc.Simulation(SceneSpec(tuple(balls)), fps=240.0, substeps=1).run(120)
    apart = frames[-1].velocities[1, 2] - frames[-1].velocities[0, 2]
    assert apart == pytest.approx(restitution * 3.0, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.1, 0.9])
def test_a_house_that_settles_does_not_bounce(restitution):
    """Cards stand 15 um clear of each other, and settle: what they gather on that way is no impact."""
    settled = []
    for e in (0.0, restitution):
        surface = material(0.8, e)
        house = card_house(levels=3)
        bodies = [dataclasses.replace(one, material=surface) for one in house.bodies]
        settled.append(sc.Simulation(SceneSpec(tuple(bodies))).run(3)[-1])
    np.testing.assert_allclose(settled[1].poses, settled[0].poses, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_stack_at_rest_stays_at_rest_whatever_its_restitution(restitution):
    surface = material(0.6, restitution)
    boxes = [body(f"Box {i}", position=(0.0, 0.0, 0.1 + 0.2 * i), material=surface) for i in range(4)]
    frames = sc.Simulation(SceneSpec((ground(surface), *boxes)), sleeping=False).run(24)
    np.testing.assert_allclose(frames[-1].poses[1:, :3], [one.position for one in boxes], atol=5e-4)
    assert np.abs(frames[-1].velocities).max() < 1e-6


def chain_of_balls(seed: int) -> SceneSpec:
    """2 to 7 balls in a row without gravity, of masses 0.1 to 10 kg, gaps of nothing to 5 mm; the first hits the others."""
    random = np.random.default_rng(seed)
    count, restitution = int(random.integers(2, 8)), 1.0 if seed % 3 == 0 else random.uniform()
    bodies, x = [], 0.0
    for i in range(count):
        radius = random.uniform(0.03, 0.1)
        speed = random.uniform(1.0, 4.0) if i == 0 else random.choice([0.0, 0.0, random.uniform(-1.0, 1.0)])
        bodies.append(
            BodySpec(
                f"Ball {i}",
                BodyKind.ACTIVE,
                sphere_shape(radius),
                position=np.array([x + radius, 0.0, 0.0]),
                velocity=np.array([speed, 0.0, 0.0]),
                mass=float(10.0 ** random.uniform(-1.0, 1.0)),
                material=material(0.0, restitution),
            )
        )
        x += 2.0 * radius + random.choice([0.0, 10.0 ** random.uniform(-5.0, -2.3)], p=[0.2, 0.8])
    return SceneSpec(tuple(bodies), gravity=np.zeros(3))


@pytest.mark.parametrize(
    "seed", [*range(7, 12), 27, 39, *(pytest.param(seed, marks=pytest.mark.long) for seed in (12, 13, 14, 15, 57))]
)
def test_balls_in_a_row_never_have_more_energy_than_before(seed):
    """Whichever hit each other within a step, and however small the gaps between them are; momentum stays."""
    spec = chain_of_balls(seed)
    frames = sc.Simulation(spec, fps=240.0, substeps=1, sleeping=False).run(48)
    mass = np.array([one.mass for one in spec.bodies])
    velocity = np.array([frame.velocities[:, 0] for frame in frames])
    energy, momentum = 0.5 * velocity**2 @ mass, velocity @ mass
    assert (energy[1:] <= energy[:-1].max() * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-9)


def row_of_balls(masses, gaps, restitution: float, speed: float = 3.0) -> SceneSpec:
    """Balls in a row without gravity, of which the first one runs into the others."""
    balls, surface = [], material(0.0, restitution)
    for i, mass in enumerate(masses):
        x = 2.0 * RADIUS * i + sum(gaps[:i])
        ball = BodySpec(f"Ball {i}", BodyKind.ACTIVE, sphere_shape(RADIUS), position=np.array([x, 0.0, 0.0]), material=surface)
        balls.append(dataclasses.replace(ball, mass=float(mass), velocity=np.array([0.0 if i else speed, 0.0, 0.0])))
    return SceneSpec(tuple(balls), gravity=np.zeros(3))


@pytest.mark.parametrize("gap", [1e-4, 1e-3, 3e-3, 3e-2])  # m; a step at 3 m/s goes 12.5 mm
@pytest.mark.parametrize("restitution", [0.6, 1.0])
def test_balls_that_nearly_touch_hit_each_other_one_after_the_other(restitution, gap):
    """Each ball passes on the share of a collision of two, whether the next one is met in the same step or later."""
    masses, speed = [4.0, 2.0, 1.0, 0.5], 3.0
    frames = sc.Simulation(row_of_balls(masses, [gap] * 3, restitution, speed), fps=240.0, substeps=1).run(48)
    expected, moves = [], speed
    for m, other in pairwise(masses):
        expected.append(moves * (m - restitution * other) / (m + other))
        moves *= (1.0 + restitution) * m / (m + other)
    np.testing.assert_allclose(frames[-1].velocities[:, 0], [*expected, moves], rtol=1e-5)


@pytest.mark.parametrize("tolerance", [1e-6, 1e-8])
def test_a_light_ball_between_two_heavy_ones_takes_nothing_from_them(tolerance):
    """It is hit to and fro within a step. All momentum is there afterwards, and all energy, but for the tolerance an impact."""
    masses = [5.0, 0.1, 10.0]
    frames = sc.Simulation(row_of_balls(masses, [1e-3, 2e-4], 1.0), fps=240.0, substeps=1, tolerance=tolerance).run(48)
    v, impacts = frames[-1].velocities[:, 0], sum(int(frame.statistics.cuts.sum()) for frame in frames[1:])
    assert impacts >= 12
    assert v @ masses == pytest.approx(15.0, rel=1e-9)
    assert v**2 @ masses == pytest.approx(45.0, rel=impacts * tolerance)
    assert (np.diff(v) > 0.0).all()


def test_a_ball_that_is_hit_from_behind_before_it_touches_does_not_bounce_with_a_speed_of_the_past():
    """Equal balls with a gap far below the way of a step: no order of their impacts makes energy."""
    surface = material(0.0, 1.0)
    places = [0.0, 0.2001, 0.4003]
    balls = [
        BodySpec(
            f"Ball {i}",
            BodyKind.ACTIVE,
            sphere_shape(0.1),
            position=np.array([x, 0.0, 0.0]),
            velocity=np.array([speed, 0.0, 0.0]),
            mass=1.0,
            material=surface,
        )
        for i, (x, speed) in enumerate(zip(places, (3.0, 0.5, -2.0), strict=True))
    ]
    frames = sc.Simulation(SceneSpec(tuple(balls), gravity=np.zeros(3)), fps=240.0, substeps=1).run(48)
    energy = np.array([(frame.velocities[:, :3] ** 2).sum() for frame in frames])
    # in the two steps of an impact some of it is in between; then all of it is back, as far as Newton's law has it
    assert energy.max() <= energy[0] * (1.0 + 1e-9)
    assert frames[-1].velocities[:, 0].sum() == pytest.approx(1.5)


def touching_row(speeds, masses, gap: float, restitution: float, **settings: Any) -> SceneSpec:
    """Bodies in a row without gravity, each `gap` from the next, all along a direction; boxes face to face if asked for."""
    along, radius = np.array(settings.get("along", (1.0, 0.0, 0.0))), settings.get("radius", RADIUS)
    along = along / np.linalg.norm(along)
    turn = np.array([1.0 + along[0], 0.0, -along[2], along[1]])  # X to `along`
    shape = box_shape((2.0 * radius,) * 3) if settings.get("boxes") else sphere_shape(radius)
    bodies = [
        BodySpec(
            f"Body {i}",
            BodyKind.ACTIVE,
            shape,
            position=i * (2.0 * radius + gap) * along,
            orientation=turn / np.linalg.norm(turn),
            velocity=speed * along,
            mass=float(mass),
            material=material(0.0, restitution),
        )
        for i, (speed, mass) in enumerate(zip(speeds, masses, strict=True))
    ]
    return SceneSpec(tuple(bodies), gravity=np.zeros(3))


def one_by_one(speeds, masses, restitution: float):
    """Speeds of a row whose gaps are equal, after all its impacts, by Newton's law for two at a time, each in its time."""
    v, gap = np.array(speeds, dtype=float), np.ones(len(speeds) - 1)
    while (closing := v[:-1] - v[1:]).max() > 1e-12:
        meets = closing > 1e-12
        i = int(np.where(meets, gap / np.where(meets, closing, 1.0), np.inf).argmin())
        gap -= gap[i] / closing[i] * closing
        gap[i], (a, b) = 0.0, masses[i : i + 2]
        v[i : i + 2] += np.array([-b, a]) / (a + b) * (1.0 + restitution) * closing[i]
    return v


@pytest.mark.parametrize(
    ("gap", "moving"),  # m; the rest offset is 2e-5
    [(0.0, 1), (0.0, 2), (1e-9, 1), (1e-6, 2), (2e-5, 1), (2.5e-5, 2), (4e-5, 1), (1e-3, 2), (0.1, 1)],
)
def test_as_many_balls_go_out_of_a_row_as_come_in_whatever_its_gaps(gap, moving):
    spec = touching_row([3.0] * moving + [0.0] * (7 - moving), [1.0] * 7, gap, 1.0, along=(0.3, -0.8, 0.5))
    frames = sc.Simulation(spec, fps=240.0, substeps=1, tolerance=1e-8).run(80)
    speeds = np.linalg.norm(frames[-1].velocities[:, :3], axis=1)
    # of two steps with impacts each may leave a hundred-millionth of 3 m/s, in each of six contacts
    np.testing.assert_allclose(speeds, [0.0] * (7 - moving) + [3.0] * moving, atol=3.6e-7)


@pytest.mark.parametrize("scale", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_blow_goes_through_touching_bodies_as_through_ones_with_equal_gaps(seed, scale):
    random = np.random.default_rng(seed)
    count = int(random.integers(3, 12))
    masses, restitution = 10.0 ** random.uniform(-0.5, 0.5, count), 1.0 if seed % 2 else random.uniform(0.85, 1.0)
    speeds = np.append([2.0] * int(random.integers(1, 3)), np.zeros(count))[:count] * scale
    row = touching_row(speeds, masses, 0.0, restitution, along=random.normal(size=3), radius=RADIUS * scale, boxes=seed >= 3)
    frames = sc.Simulation(row, fps=240.0, substeps=1).run(4)
    out = frames[-1].velocities[:, :3] @ (row.bodies[-1].position / np.linalg.norm(row.bodies[-1].position))
    np.testing.assert_allclose(out, one_by_one(speeds, masses, restitution), atol=1e-6 * scale)


def test_what_touching_balls_meet_at_is_kept_pair_by_pair():
    spec = touching_row([3.0, *[0.0] * 4], [1.0] * 5, 0.0, 1.0)
    simulation = sc.Simulation(spec, fps=240.0, substeps=1, keep_contacts=True)
    contacts = simulation.run(1)[-1].contacts
    assert contacts is not None
    impacts = contacts.impacts
    np.testing.assert_array_equal(np.column_stack([impacts.body_a, impacts.body_b]), [[i, i + 1] for i in range(4)])
    np.testing.assert_allclose(impacts.impulse, 3.0, rtol=1e-6)
    np.testing.assert_allclose(impacts.speed, 3.0, rtol=1e-6)


@pytest.mark.parametrize("gap", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_ball_between_two_others_meets_both_at_once(gap, mirrored):
    """Equal balls with e = 1, one into the gap of two: for centres at an angle a these leave at 2 v cos a / (1 + 2 cos^2 a)."""
    surface, radius, side = material(0.0, 1.0), 0.05, -1.0 if mirrored else 1.0
    aside = radius + 0.5 * gap
    places = [(-side * math.sqrt((2.0 * radius + gap) ** 2 - aside**2), 0.0), (0.0, aside), (0.0, -aside)]
    balls = [
        BodySpec(
            f"Ball {i}",
            BodyKind.ACTIVE,
            sphere_shape(radius),
            position=np.array([*place, 0.0]),
            velocity=np.array([0.0 if i else 2.0 * side, 0.0, 0.0]),
            mass=1.0,
            material=surface,
        )
        for i, place in enumerate(places)
    ]
    frames = sc.Simulation(SceneSpec(tuple(balls), gravity=np.zeros(3)), fps=240.0, substeps=1).run(12)
    sine = aside / (2.0 * radius + min(gap, 2e-4 * radius))
    cosine = math.sqrt(1.0 - sine**2)
    leaves = 2.0 * 2.0 * cosine / (1.0 + 2.0 * cosine**2)
    away = [[leaves * cosine * side, leaves * sine], [leaves * cosine * side, -leaves * sine]]
    expected = [[2.0 * side - 2.0 * leaves * cosine * side, 0.0], *away]
    np.testing.assert_allclose(frames[-1].velocities[:, :2], expected, atol=2e-5)
    np.testing.assert_allclose(frames[-1].velocities[1, :2], frames[-1].velocities[2, :2] * [1.0, -1.0], atol=2e-6)


@pytest.mark.parametrize("second", [2.62e-4, 2.7e-4, 2.7692e-4, 2.82e-4, 2.85e-4])  # m
def test_a_pair_that_has_met_bounces_before_a_third_that_came_near_meanwhile(second):
    """The middle ball, held for a step, came within the rest offset of the last, and both pairs bounced at once."""
    speeds, gaps = [-0.0089, -0.54, -0.5379], [5.728e-4, second]
    spec = row_of_balls([4.0] * 3, gaps, 1.0, 0.0)
    balls = [
        dataclasses.replace(
            ball,
            shape=sphere_shape(0.05),
            velocity=np.array([v, 0.0, 0.0]),
            position=np.array([0.1 * i + sum(gaps[:i]), 0.0, 0.0]),
        )
        for i, (ball, v) in enumerate(zip(spec.bodies, speeds, strict=True))
    ]
    frames = sc.Simulation(SceneSpec(tuple(balls), gravity=np.zeros(3)), fps=960.0, substeps=1).run(8)
    np.testing.assert_allclose(frames[-1].velocities[:, 0], sorted(speeds), atol=1e-6)


@pytest.mark.parametrize("count", [5, 20, 30])
def test_a_row_of_touching_balls_on_a_floor_passes_a_blow_on(count):
    surface, radius = material(0.0, 1.0), 0.05
    balls = [
        BodySpec(
            f"Ball {i}",
            BodyKind.ACTIVE,
            sphere_shape(radius),
            position=np.array([2.0 * radius * i - (0.03 if i == 0 else 0.0), 0.0, radius * (1.0 + 2e-4)]),
            velocity=np.array([0.0 if i else 2.0, 0.0, 0.0]),
            mass=1.0,
            material=surface,
        )
        for i in range(count)
    ]
    frames = sc.Simulation(SceneSpec((ground(surface), *balls))).run(1)
    np.testing.assert_allclose(frames[-1].velocities[1:, 0], [0.0] * (count - 1) + [2.0], atol=1e-5)
    np.testing.assert_allclose(frames[-1].velocities[1:, 2], 0.0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("raised", [1, pytest.param(2, marks=pytest.mark.long)])
def test_as_many_balls_of_a_touching_cradle_swing_out_as_came_in(raised):
    frames = sc.Simulation(newtons_cradle(raised=raised, gap=0.0), substeps=CRADLE_SUBSTEPS).run(24)
    fastest = np.array([np.abs(frame.velocities[:, 0]) for frame in frames[11:14]])
    assert fastest[:, : 5 - raised].max() < 0.02
    assert fastest[:, 5 - raised :].min() > 0.5
