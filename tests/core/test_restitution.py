# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounces: as high as restitution says, over in finite time, and none where bodies only rest."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec
from solver_core.scenes import card_house

from .bodies import body, material, poses

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


@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize(("restitution", "bounces"), [(0.1, 1), (0.3, 2), (0.5, 4), (0.8, 10), (1.0, 3)])
def test_bounces_of_a_ball_are_as_high_as_powers_of_its_restitution(restitution, bounces, substeps):
    height = 0.6
    frames = sc.Simulation(dropped_ball(restitution, height), fps=240.0, substeps=substeps).run(700)
    found = tops(poses(frames, 1)[:, 2] - RADIUS - REST_OFFSET)[:bounces]
    np.testing.assert_allclose(found, height * restitution ** (2.0 * np.arange(1, bounces + 1)), rtol=2e-5)


@pytest.mark.parametrize("restitution", [0.3, 0.6, 0.8])
def test_a_ball_comes_to_rest_when_the_sum_of_its_bounces_is_over(restitution):
    """sqrt(2 H / g) (1 + e) / (1 - e), with a step for each bounce that it took, and less what is left of the smallest."""
    height, step = 0.5, 1.0 / 240.0
    frames = sc.Simulation(dropped_ball(restitution, height), fps=240.0, substeps=1, sleeping=False).run(1000)
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


@pytest.mark.parametrize("seed", [*range(7, 16), 27, 39, 57])
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


def test_a_light_ball_between_two_heavy_ones_takes_nothing_from_them():
    """It is hit to and fro dozens of times within a step: all energy and all momentum are there afterwards."""
    masses = [5.0, 0.1, 10.0]
    frames = sc.Simulation(row_of_balls(masses, [1e-3, 2e-4], 1.0), fps=240.0, substeps=1).run(48)
    v = frames[-1].velocities[:, 0]
    assert v @ masses == pytest.approx(15.0, rel=1e-9)
    assert v**2 @ masses == pytest.approx(45.0, rel=1e-5)
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
