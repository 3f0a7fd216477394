# SPDX-License-Identifier: GPL-3.0-or-later
"""Large islands that were in motion settle: they come to rest and sleep, and nothing in them freezes that should fall."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.model.island_motion import MANY
from solver_core.dynamics.sleeping import Sleep, none_remembered
from solver_core.scene.parts import axis_angle, box, box_shape, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.solvers.criteria import LARGE

from ..piles import ROUGH

FPS = 24
CUBE = (0.2, 0.2, 0.2)
COLUMNS, HEIGHT = 12, 3
SLAB = (0.3 * (COLUMNS + 4), 0.4, 0.1)
UP = np.array([0.0, 0.0, 1.0])
GRAVITY = 9.81


def against_rough(friction: float) -> MaterialSpec:
    """The material whose coefficient of friction with `ROUGH`, the product of both, is the one given."""
    return MaterialSpec(friction / ROUGH.mu_static, friction / ROUGH.mu_dynamic)


def below(kind: BodyKind, material: MaterialSpec, **changes) -> BodySpec:
    """What the slab lies on."""
    return BodySpec("Below", kind, box_shape((20.0, 20.0, 1.0)), position=-0.6 * UP, material=material, **changes)


def stirred(*bodies: BodySpec) -> list[BodySpec]:
    """A slab with its top at z = 0 that carries columns of cubes, one of which falls onto its column, and the bodies given."""
    slab = box("Slab", SLAB, (0.0, 0.0, -0.05), ROUGH)
    cubes = [
        box(f"Cube {i} {j}", CUBE, (0.3 * (i - 0.5 * COLUMNS), 0.0, 0.1 + 0.2 * j), ROUGH)
        for i in range(COLUMNS)
        for j in range(HEIGHT)
    ]
    cubes[-1] = replace(cubes[-1], position=cubes[-1].position + 0.003 * UP)
    assert len(cubes) > MANY
    return [slab, *cubes, *bodies]


def turned(bodies: list[BodySpec], angle: float) -> list[BodySpec]:
    """Bodies without a turn, turned together about the y axis through the origin."""
    turn = axis_angle((0.0, 1.0, 0.0), angle)
    cosine, sine = math.cos(angle), math.sin(angle)
    matrix = np.array([[cosine, 0.0, sine], [0.0, 1.0, 0.0], [-sine, 0.0, cosine]])
    return [replace(body, position=matrix @ body.position, orientation=turn) for body in bodies]


def was_in_motion(frames: list) -> bool:
    return max(frame.statistics.moving.max() for frame in frames[1:]) > MANY


def knocked(wall: SceneSpec, mass: float, speed: float) -> list:
    """Two seconds of a wall that a ball of so many kg hits in its middle, at so many m/s."""
    middle = np.mean([body.position for body in wall.bodies[1:]], axis=0)
    ball = BodySpec("Ball", BodyKind.ACTIVE, sphere_shape(0.1), mass=mass, material=pair_material(0.6))
    ball = replace(ball, position=middle - np.array([0.0, 0.4, 0.0]), velocity=np.array([0.0, speed, 0.0]))
    return sc.Simulation(replace(wall, bodies=(*wall.bodies, ball), fps=FPS)).run(2 * FPS)


def assert_rests_and_sleeps(frames: list) -> None:
    """The bricks moved, none moves by a micrometer after a second and a quarter, and all sleep at the end."""
    assert was_in_motion(frames)
    bricks = np.array([frame.poses[1:-1, :3] for frame in frames])
    assert np.abs(bricks[5] - bricks[0]).max() >= 1e-3
    assert np.abs(bricks[FPS + 6 :] - bricks[-1]).max() <= 1e-6
    assert frames[-1].statistics.asleep[-1] == bricks.shape[1]


@pytest.mark.slow
def test_a_wall_that_was_hit_comes_to_rest_and_sleeps():
    """A ball knocks a wall of sixteen courses: a second later no brick moves by a micrometer, and in the next all fall asleep.

    At the moving tolerance they crept by up to 0.1 mm in a quarter of a second, for seconds.
    """
    frames = knocked(sc.scenes.wall(courses=16, bricks=3), 4.0, 1.5)
    assert not any(frame.statistics.status.any() for frame in frames[1:])
    assert_rests_and_sleeps(frames)


@pytest.mark.slow
def test_a_wall_of_160_bricks_that_was_hit_comes_to_rest_at_the_cost_of_its_motion():
    """The same for an island of more than `LARGE` bodies, whose last digits take other methods.

    With the tolerance halved in each step, however fast bricks still slid, it took 22,000 factorizations, and missed a step.
    """
    wall = sc.scenes.wall(courses=20, bricks=8)
    assert len(wall.bodies) > LARGE
    frames = knocked(wall, 10.0, 2.0)
    assert not any(frame.statistics.status.any() for frame in frames[1:])
    assert sum(int(frame.statistics.factorisations.sum()) for frame in frames[1:]) <= 3000
    assert_rests_and_sleeps(frames)


@pytest.mark.slow
def test_a_pencil_that_balances_among_many_falls():
    """Its fall is too slow to be seen among the errors of the moving tolerance when the others have come to rest."""
    ends = np.array([[0.0, 0.0, -0.25], [0.0, 0.0, 0.25]])
    shape = ShapeSpec(ShapeKind.HULL, ends, margin=0.01)
    at, turn = np.array([0.3 * 0.5 * COLUMNS, 0.0, 0.26]), axis_angle((0.0, 1.0, 0.0), 1e-6)
    pencil = BodySpec("Pencil", BodyKind.ACTIVE, shape, position=at, orientation=turn, mass=0.1, material=ROUGH)
    frames = sc.Simulation(SceneSpec((below(BodyKind.PASSIVE, ROUGH), *stirred(pencil)), fps=FPS)).run(5 * FPS)
    assert was_in_motion(frames)
    down = next(i for i, frame in enumerate(frames) if frame.poses[-1, 2] < 0.1)
    asleep = [frame.statistics.asleep[-1] for frame in frames[1:]]
    assert not any(asleep[:down])


@pytest.mark.long
def test_many_that_slide_under_hardly_too_little_friction_do_not_freeze():
    """A slab and what it carries on a slope whose friction is short of tan by a thousandth: g (tan - mu) cos, after a knock."""
    tangent, shortfall, seconds = 0.3, 1e-3, 4
    angle = math.atan(tangent)
    bodies = below(BodyKind.PASSIVE, against_rough((1.0 - shortfall) * tangent)), *stirred()
    frames = sc.Simulation(SceneSpec(tuple(turned(list(bodies), angle)), fps=FPS)).run(seconds * FPS)
    assert was_in_motion(frames)
    way = np.array([math.cos(angle), 0.0, -math.sin(angle)])
    along = np.array([frame.poses[1, :3] @ way for frame in frames])
    # the knock gives a velocity, which differences of second order are free of
    half = FPS * seconds // 4
    acceleration = (along[-1] - 2.0 * along[-1 - half] + along[-1 - 2 * half]) * (FPS / half) ** 2
    assert acceleration == pytest.approx(GRAVITY * math.cos(angle) * shortfall * tangent, rel=0.05)


@pytest.mark.slow
def test_on_a_plank_that_tilts_slowly_what_has_the_least_friction_slides_first_and_as_it_should():
    """A smooth cube among many on a slab: at rest up to the angle of friction, and from there g w t^3 / 6 down it."""
    rate, friction, seconds = math.radians(1.0), 0.02, 3.0
    sledge = box("Sledge", CUBE, (0.3 * 0.5 * COLUMNS, 0.0, 0.1), against_rough(friction))
    frames = math.ceil(seconds * FPS) + 1
    path = np.zeros((frames, 7))
    path[:, 3], path[:, 5] = np.cos(0.5 * rate * np.arange(frames) / FPS), np.sin(0.5 * rate * np.arange(frames) / FPS)
    path[:, :3] = [[-0.6 * math.sin(rate * i / FPS), 0.0, -0.6 * math.cos(rate * i / FPS)] for i in range(frames)]
    plank = below(BodyKind.ANIMATED, ROUGH, path=path)
    run = sc.Simulation(SceneSpec((plank, *stirred(sledge)), fps=FPS, frame_end=frames)).run(frames - 1)
    assert was_in_motion(run)
    times = np.arange(frames) / FPS
    way = np.column_stack([np.cos(rate * times), np.zeros(frames), -np.sin(rate * times)])
    poses = np.array([frame.poses for frame in run])
    slid = ((poses[:, -1, :3] - poses[:, 1, :3]) * way).sum(axis=1)
    begins = math.atan(friction) / rate
    before = int(begins * FPS)
    assert np.abs(slid[FPS:before] - slid[FPS]).max() <= 1e-5
    expected = GRAVITY * rate * (times[-1] - begins) ** 3 / 6.0
    assert slid[-1] - slid[before] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("growth", "sleeps"), [(1.0, True), (5.0, False)])
def test_a_settled_heap_sleeps_with_a_slow_roller_but_not_with_a_body_that_begins_to_fall(growth, sleeps):
    """The roller is ten times as fast as what accelerates, and within the bound of settled islands."""
    gravity_speed, step, window = GRAVITY / 240.0, 1.0 / 240.0, 80
    asleep = Sleep(np.ones(2, np.bool_), np.zeros(2), gravity_speed, step, enabled=True)
    memory, joined, nobody = none_remembered(), np.array([[0, 1]]), np.zeros(0, np.int64)
    still = np.full(2, 30.0 * 1e-3)
    for number in range(3 * window):
        twist = np.zeros((2, 6))
        twist[0, 0] = 1e-3 * gravity_speed
        twist[1, 0] = 2e-4 * gravity_speed * growth ** (number // window - 1)
        asleep.record_motion(twist, solved=True)
        if asleep.ends_window(number):
            asleep.update(memory, joined, nobody, still, lambda falling: np.zeros_like(falling))
    assert asleep.asleep.all() == sleeps
    assert asleep.asleep.any() == sleeps
