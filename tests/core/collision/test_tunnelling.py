# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing passes through anything: shots at a thin plate, a spinning blade, a plate that sweeps, thin cards that tumble."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.parts import box, box_shape, ground
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..meshes import sheet

NO_GRAVITY = np.zeros(3)
STEP = {"fps": 240.0, "substeps": 1}  # the steps of 24 frames a second with the default 10 substeps, each one a frame
RADIUS, SPEED = 0.005, 100.0
PLATE = np.array([0.2, 0.2, 0.002])


def ball(name, position, velocity=(0.0, 0.0, 0.0), radius=RADIUS, restitution=0.0):
    return BodySpec(
        name,
        BodyKind.ACTIVE,
        ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=radius),
        position=np.asarray(position, dtype=float),
        velocity=np.asarray(velocity, dtype=float),
        mass=0.004,
        material=MaterialSpec(0.7, 0.7, restitution),
    )


def clearance(points, size):
    """Distance of points (n, 3) from a box at the origin, negative inside."""
    outside = np.abs(points) - size / 2.0
    return np.linalg.norm(np.maximum(outside, 0.0), axis=-1) + np.minimum(outside.max(axis=-1), 0.0)


def shots(count):
    """Positions and directions of shots that start outside: a third of them grazing, some of them beside the plate."""
    random = np.random.default_rng(7)
    while count:
        direction = random.normal(size=3) * ((1.0, 1.0, 0.05) if count % 3 == 0 else 1.0)
        direction /= np.linalg.norm(direction)
        start = random.uniform(-0.12, 0.12, 3) * (1.0, 1.0, 0.0) - random.uniform(0.05, 1.2) * direction
        if clearance(start, PLATE) > 2.0 * RADIUS:
            count -= 1
            yield start, direction


def crosses(before, after, size):
    """Whether the segments between points (n, 3) meet the box at the origin, by slabs."""
    way = after - before
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([(-size / 2.0 - before) / way, (size / 2.0 - before) / way])
    enter, leave = np.nanmax(ends.min(axis=0), axis=-1), np.nanmin(ends.max(axis=0), axis=-1)
    return (np.maximum(enter, 0.0) < np.minimum(leave, 1.0)).any()


@pytest.mark.slow
def test_a_small_fast_ball_never_passes_a_thin_plate_and_never_hits_one_that_it_misses():
    """150 shots of a ball of 10 mm at 100 m/s on a plate of 2 mm: in a step it flies 0.42 m."""
    plate = BodySpec("Plate", BodyKind.PASSIVE, box_shape(PLATE), material=MaterialSpec(0.7, 0.7, 1.0))
    hits = misses = cuts = 0
    for start, direction in shots(150):
        spec = SceneSpec((plate, ball("Ball", start, SPEED * direction)), gravity=NO_GRAVITY)
        frames = sc.Simulation(spec, **STEP).run(4)
        path = np.array([frame.poses[1, :3] for frame in frames])
        free = start + np.linspace(0.0, 4.0 / 240.0 * SPEED, 4001)[:, None] * direction
        nearest = clearance(free, PLATE).min() - RADIUS
        assert not crosses(path[:-1], path[1:], PLATE), (start, direction)
        assert clearance(path, PLATE).min() >= RADIUS - 2.5e-4, (start, direction)
        if nearest > 5e-4:
            misses += 1
            np.testing.assert_allclose(path[-1], free[-1], atol=1e-9)
        elif nearest < -5e-4:
            hits += 1
            assert np.linalg.norm(path[-1] - free[-1]) > 1e-4
            cuts += sum(int(frame.statistics.cuts.sum()) for frame in frames[1:])
    assert hits > 75
    assert misses > 12
    assert cuts > 45


@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_a_shot_bounces_where_and_when_it_meets_the_plate(restitution):
    """Mirrored at the plate: the impact has its own time within the step."""
    plate = BodySpec("Plate", BodyKind.PASSIVE, box_shape(PLATE), material=MaterialSpec(0.0, 0.0, 1.0))
    start, direction = np.array([-0.1, 0.0, 0.1]), np.array([np.sqrt(0.5), 0.0, -np.sqrt(0.5)])
    shot = ball("Ball", start, SPEED * direction, restitution=restitution)
    frames = sc.Simulation(SceneSpec((plate, shot), gravity=NO_GRAVITY), **STEP).run(1)
    assert frames[1].statistics.cuts.sum() == 1
    fall = start[2] - PLATE[2] / 2.0 - RADIUS
    travelled = SPEED / 240.0 * np.sqrt(0.5)
    height = PLATE[2] / 2.0 + RADIUS + restitution * (travelled - fall)
    np.testing.assert_allclose(frames[1].poses[1, :3], [start[0] + travelled, 0.0, height], atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [50.0, 200.0])
def test_a_spinning_blade_does_not_pass_a_thin_post(rate):
    """In a step a blade at 50 rad/s turns by 12 degrees, its tip by 31 mm; the post is 3 mm thick."""
    post = BodySpec("Post", BodyKind.PASSIVE, box_shape((0.003, 0.003, 0.2)), position=np.array([0.12, 0.0, 0.0]))
    size = np.array([0.3, 0.004, 0.02])
    for phase in np.linspace(0.1, 3.0, 6):
        blade = box("Blade", size, (0.0, 0.0, 0.0), MaterialSpec(), orientation=turned(phase))
        blade = replace(blade, angular_velocity=np.array([0.0, 0.0, rate]))
        frames = sc.Simulation(SceneSpec((post, blade), gravity=NO_GRAVITY), **STEP).run(40)
        # where the post is, seen from the blade
        poses = np.array([frame.poses[1] for frame in frames])
        seen = Rotation.from_quat(poses[:, [4, 5, 6, 3]]).apply(post.position - poses[:, :3], inverse=True)
        assert not crosses(seen[:-1], seen[1:], size)
        assert max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames[1:]) <= 4e-4


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "deepest"), [(100.0, 2e-4), (300.0, 4e-3)])
def test_a_compound_that_is_shot_and_spins_does_not_pass_a_thin_plate(rate, deepest):
    """A dumbbell of two balls of 10 mm, 40 mm apart, at 60 m/s: in a step it turns through 24 and through 72 degrees.

    Friction doubles that rate and more, and what turns by more than half a radian in a step sinks in deeper.
    """
    shape = ball("", np.zeros(3)).shape
    ends = np.array([[0.02, 0.0, 0.0], [-0.02, 0.0, 0.0]])
    dumbbell = ShapeSpec(ShapeKind.COMPOUND, children=tuple(ChildSpec(shape, end) for end in ends))
    plate = BodySpec("Plate", BodyKind.PASSIVE, box_shape((0.4, 0.4, 0.002)))
    random = np.random.default_rng(5)
    for _ in range(20):
        spin = random.normal(size=3)
        shot = BodySpec(
            "Dumbbell",
            BodyKind.ACTIVE,
            dumbbell,
            position=np.array([0.0, 0.0, random.uniform(0.03, 0.5)]),
            velocity=np.array([0.0, 0.0, -60.0]),
            angular_velocity=rate * spin / np.linalg.norm(spin),
            mass=0.008,
        )
        frames = sc.Simulation(SceneSpec((plate, shot), gravity=NO_GRAVITY), **STEP).run(4)
        for frame in frames:
            turn = Rotation.from_quat(frame.poses[1, [4, 5, 6, 3]])
            assert (turn.apply(ends) + frame.poses[1, :3])[:, 2].min() >= 0.001 + RADIUS - deepest


def turned(angle):
    return np.array([np.cos(angle / 2.0), 0.0, 0.0, np.sin(angle / 2.0)])


@pytest.mark.slow
@pytest.mark.parametrize("balls", [3, 25])
def test_an_animated_plate_sweeps_balls_along(balls):
    """A plate of 10 mm moves 2 m in a frame, 0.2 m in a step, through balls of 20 mm that lie around."""
    random = np.random.default_rng(balls)
    frames = 4
    path = np.tile([-0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (frames, 1))
    path[1:, 0] += 2.0 * np.arange(1, frames)
    plate = BodySpec("Plate", BodyKind.ANIMATED, box_shape((0.01, 1.0, 1.0)), path=path)
    grid = np.array(list(itertools.product(np.linspace(-0.3, 1.0, 5), np.linspace(-0.4, 0.4, 5), [0.0])))
    places = grid[random.permutation(25)[:balls]] + random.uniform(-0.02, 0.02, (balls, 3))
    lying = [ball(f"Ball {i}", place, radius=0.01) for i, place in enumerate(places)]
    swept = sc.Simulation(SceneSpec((plate, *lying), gravity=NO_GRAVITY, frame_end=frames)).run(frames - 1)
    for frame in swept:
        ahead = frame.poses[1:, 0] - frame.poses[0, 0]
        assert ahead.min() >= 0.015 - 1e-3
    assert (swept[-1].poses[1:, 0] > 5.4).all()


@pytest.mark.slow
def test_thin_cards_that_fall_and_turn_do_not_overlap():
    """Cards of 1 mm, 20 rad/s, one above the other, apart at first: no overlap of more than a fifth of a card."""
    random = np.random.default_rng(3)
    cards = [
        replace(
            box(
                f"Card {i}",
                (0.063, 0.088, 0.001),
                (*random.uniform(-0.02, 0.02, 2), 0.1 + 0.12 * i),
                MaterialSpec(0.7, 0.7),
                mass=0.004,
                orientation=Rotation.from_rotvec(random.normal(size=3)).as_quat()[[3, 0, 1, 2]],
            ),
            angular_velocity=20.0 * random.normal(size=3) / np.sqrt(3.0),
        )
        for i in range(6)
    ]
    frames = sc.Simulation(SceneSpec((ground(MaterialSpec(0.7, 0.7)), *cards), frame_end=20)).run(20)
    assert max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames) <= 2e-4


def test_a_step_is_cut_only_so_many_times_and_a_run_with_cuts_can_be_resumed():
    """A ball between two plates that hardly leave it room, with full restitution: impacts without end."""
    wall = MaterialSpec(0.5, 0.5, 1.0)
    plates = [
        BodySpec(f"Plate {z}", BodyKind.PASSIVE, box_shape(PLATE), position=np.array([0.0, 0.0, z]), material=wall)
        for z in (-0.012, 0.012)
    ]
    spec = SceneSpec((*plates, ball("Ball", np.zeros(3), (0.3, 0.1, 80.0), restitution=1.0)), gravity=NO_GRAVITY)
    whole = sc.Simulation(spec)
    frames = whole.run(1)
    kept = whole.checkpoint()
    rest = [whole.advance() for _ in range(2)]
    assert max(frame.statistics.cuts.max(initial=0) for frame in rest) <= 24
    assert abs(rest[-1].poses[2, 2]) < 0.012
    resumed = sc.Simulation(spec)
    resumed.restore(frames[-1].frame, kept)
    for frame in rest:
        np.testing.assert_array_equal(resumed.advance().poses, frame.poses)


RIM = np.array([(0.1 * np.cos(a), 0.1 * np.sin(a), 0.0) for a in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)])
THIN = {
    "cone": ShapeSpec(ShapeKind.CONE, np.array([[0, 0, 0], [0, 0, 0.002]]), radius=0.1),
    "cylinder": ShapeSpec(ShapeKind.CYLINDER, np.array([[0, 0, -0.001], [0, 0, 0.001]]), radius=0.1),
    "hull": box_shape((0.2, 0.2, 0.002)),
    "flat hull": ShapeSpec(ShapeKind.HULL, np.concatenate([RIM, [[0.0, 0.0, 0.002]]])),
    "mesh": ShapeSpec(ShapeKind.MESH, *sheet(6, 0.2)),
}


@pytest.mark.parametrize("kind", THIN)
@pytest.mark.parametrize(
    ("speed", "seeds"),
    [pytest.param(5, (1, 5), marks=pytest.mark.slow), (19, (1, 4)), pytest.param(60, (2, 3), marks=pytest.mark.slow)],
)
def test_a_thin_card_that_hits_a_thin_plate_again_and_again_in_a_step_does_not_pass(kind, speed, seeds):
    """Cards of 40 x 30 x 1 mm hit plates of 2 mm with a corner, then with others: each hit needs a part of the step."""
    size = np.array([0.04, 0.03, 0.001])
    for seed in seeds:
        random = np.random.default_rng([seed, speed])
        aim = random.normal(size=3)
        aim[2] = -abs(aim[2]) - 0.5
        aim /= np.linalg.norm(aim)
        target = np.array([*random.uniform(-0.07, 0.07, 2), 0.0])
        start = target - aim * random.uniform(0.12, 0.5)
        if start[2] < 0.06:
            start = target + aim * (0.07 / aim[2])
        spin = random.normal(size=3)
        turn = Rotation.random(random_state=random)
        if seed % 3 == 0:
            turn = Rotation.from_euler(
                "zxz", [random.uniform(0, 6), random.choice([0, np.pi / 2]), random.choice([0, np.pi / 2])]
            )
        card = BodySpec(
            "Card",
            BodyKind.ACTIVE,
            box_shape(size),
            position=start,
            orientation=np.roll(turn.as_quat(), 1),
            velocity=speed * aim,
            angular_velocity=random.choice([0.0, 5.0, 20.0]) * spin / np.linalg.norm(spin),
            mass=0.004,
            material=MaterialSpec(0.7, 0.7),
        )
        plate = BodySpec("Plate", BodyKind.PASSIVE, THIN[kind], material=MaterialSpec(0.7, 0.7))
        frames = sc.Simulation(SceneSpec((plate, card), gravity=NO_GRAVITY), **STEP).run(int(0.6 / speed * 240) + 4)
        path = np.array([frame.poses[1, :3] for frame in frames])
        assert not crosses(path[:-1], path[1:], np.array([0.14, 0.14, 1e-4]))
        assert max(frame.statistics.deepest_overlap.max() for frame in frames[1:]) <= 2e-4
