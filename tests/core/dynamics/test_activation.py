# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies wait until a frame, a value, a zone or a blow wakes them, and go on as fast as they were moved, whatever the step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import solver_core as sc
from solver_core.fracture.bonds import Stresses, bonds_of_bodies
from solver_core.io.continuation import frames_that_hold
from solver_core.io.snapshot import read_snapshot, write_snapshot
from solver_core.scene import parts
from solver_core.scene.activation import ActivationSpec, ZoneSpec
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, SolverSettings

GRAVITY, FPS = 9.81, 24.0
SMOOTH = parts.pair_material(0.0)
STEPS = [1, 4, 10]


def on_path(places, name="Piece"):
    """An active box whose path has these places (frames, 3)."""
    path = np.tile(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), (len(places), 1))
    path[:, :3] = places
    return replace(parts.box(name, (0.2, 0.2, 0.2), places[0], SMOOTH), path=path)


def brick(name, x, z=0.0):
    return parts.box(name, (0.1, 0.1, 0.1), (x, 0.0, z), SMOOTH)


def ball_zone(transforms, **more):
    """A sphere of the radius 1 m, whose surface has a vertex on the X axis."""
    points = np.random.default_rng(1).normal(size=(200, 3))
    points = np.vstack([points / np.linalg.norm(points, axis=1)[:, None], [[1.0, 0.0, 0.0]]])
    return ZoneSpec("Ball", points, ConvexHull(points).simplices.astype(np.int32), transforms, **more)


def scaled(scales):
    """(frames, 3, 4) transforms that scale about the origin."""
    return np.array([np.eye(4)[:3] * scale for scale in scales])


def parabola(frames):
    time = np.arange(frames)[:, None] / FPS
    return np.array([2.0, 0.0, 3.0]) * time + np.array([0.0, 0.0, -0.5 * GRAVITY]) * time**2


def begin_of_fall(depth, end):
    """When a body began to fall that is so deep at a time."""
    return end - np.sqrt(2.0 * depth / GRAVITY)


@pytest.mark.parametrize("substeps", STEPS)
@pytest.mark.parametrize("frame", [0, 1, 7])
def test_a_piece_that_is_let_go_on_its_parabola_stays_on_it(substeps, frame):
    places = parabola(20)
    wakes = ActivationSpec("Wake", ("Piece",), frame=frame)
    spec = SceneSpec(bodies=(on_path(places),), frame_end=20, activations=(wakes,))
    found = np.array([each.poses[0, :3] for each in sc.Simulation(spec, substeps=substeps).run()])
    # at the first frame nothing is known of how it came there but how it goes on
    np.testing.assert_allclose(found, places, atol=1e-9 if frame else GRAVITY / FPS**2)


@pytest.mark.parametrize("substeps", STEPS)
def test_a_zone_lets_go_between_frames_with_the_velocity_of_the_animation(substeps):
    """A plane at x = 0.5 m is reached by the front of the piece at t = 0.2 s, which is no frame."""
    places = parabola(20)
    wall = np.array([[0.5, y, z] for y in (-5.0, 5.0) for z in (-5.0, 5.0)])
    zone = ZoneSpec("Wall", wall, np.array([[0, 1, 3], [0, 3, 2]], np.int32))
    spec = SceneSpec(bodies=(on_path(places),), frame_end=20, activations=(ActivationSpec("Wake", ("Piece",), zones=(zone,)),))
    found = np.array([each.poses[0, :3] for each in sc.Simulation(spec, substeps=substeps).run()])
    np.testing.assert_allclose(found, places, atol=1e-6)


def test_a_jump_of_the_animation_is_no_velocity():
    """A piece stands, appears elsewhere at the fourth frame, and wakes there: it falls from rest."""
    places = np.zeros((12, 3))
    places[4:, 0] = 5.0
    body = replace(on_path(places), teleports=(4,))
    spec = SceneSpec(bodies=(body,), frame_end=12, activations=(ActivationSpec("Wake", ("Piece",), frame=4),))
    frame = sc.Simulation(spec, substeps=4).run()[-1]
    assert frame.poses[0, 0] == pytest.approx(5.0, abs=1e-9)
    assert frame.velocities[0, :2] == pytest.approx([0.0, 0.0], abs=1e-9)


@pytest.mark.parametrize("substeps", STEPS)
def test_a_sphere_that_grows_at_2_m_a_second_wakes_bricks_at_half_their_distance_in_seconds(substeps):
    frames, count = 40, 5
    bricks = [brick(f"Brick {i}", 1.0 + 0.4 * i) for i in range(count)]
    grows = scaled(np.maximum(2.0 * np.arange(frames) / FPS, 1e-6))
    wakes = ActivationSpec("Wake", tuple(one.name for one in bricks), zones=(ball_zone(grows, is_volume=True),))
    spec = SceneSpec(bodies=tuple(bricks), frame_end=frames, activations=(wakes,))
    last = sc.Simulation(spec, substeps=substeps).run()[-1]
    expected = (0.95 + 0.4 * np.arange(count)) / 2.0
    begun = begin_of_fall(-last.poses[:, 2], (frames - 1) / FPS)
    step = 1.0 / (FPS * substeps)
    assert (begun >= expected - 1e-6).all()
    assert (begun <= expected + step + 1e-6).all()


@pytest.mark.parametrize("substeps", STEPS)
def test_a_zone_wakes_what_it_passes_in_a_single_step(substeps):
    """A ball of 0.2 m flies past at 240 m/s, ten times its size a frame."""
    moves = np.tile(np.eye(4)[None, :3] * 0.1, (10, 1, 1))
    moves[:, 0, 3] = 10.0 * np.arange(10) - 25.3
    wakes = ActivationSpec("Wake", ("Brick", "Aside"), zones=(ball_zone(moves, is_volume=True),))
    spec = SceneSpec(bodies=(brick("Brick", 0.0), brick("Aside", 0.0, z=3.0)), frame_end=10, activations=(wakes,))
    last = sc.Simulation(spec, substeps=substeps).run()[-1]
    assert last.velocities[0, 2] < -1.0
    assert last.velocities[1, 2] == 0.0


@pytest.mark.parametrize("substeps", [1, 10])
def test_a_body_that_flies_wakes_what_it_comes_near(substeps):
    """A ball at 3 m/s is within 0.5 m of a brick after (2 - 0.05 - 0.1 - 0.5) / 3 s."""
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        parts.sphere_shape(0.1),
        position=np.array([0.0, 0.0, 0.0]),
        velocity=np.array([3.0, 0.0, 0.0]),
        mass=1.0,
        linear_factor=np.array([1.0, 1.0, 0.0]),
    )
    # the zone is the front of the ball
    zone = ZoneSpec("Ball", np.array([[0.1, 0.0, 0.0]]), body="Ball", distance=0.5)
    wakes = ActivationSpec("Wake", ("Brick",), zones=(zone,))
    spec = SceneSpec(bodies=(ball, brick("Brick", 2.0)), frame_end=20, activations=(wakes,))
    frame = sc.Simulation(spec, substeps=substeps).run(12)[-1]
    begun = begin_of_fall(-frame.poses[1, 2], 12 / FPS)
    assert -1e-9 <= begun - 1.35 / 3.0 <= 1.0 / (FPS * substeps) + 1e-9


@pytest.mark.parametrize("substeps", STEPS)
@pytest.mark.parametrize(("share", "wakes"), [(0.995, False), (1.005, True)])
def test_a_blow_wakes_a_body_above_its_impulse_and_not_below(substeps, share, wakes):
    """A ball of 2 kg at 3 m/s meets a wall of 10 kg that is held, in the middle of a step: 6 N s."""
    wall = parts.box("Wall", (0.5, 0.5, 0.5), (0.0, 0.0, 0.0), SMOOTH, mass=10.0)
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        parts.sphere_shape(0.1),
        position=np.array([-1.0, 0.0, 0.0]),
        velocity=np.array([3.0, 0.0, 0.0]),
        mass=2.0,
        material=SMOOTH,
    )
    activation = ActivationSpec("Wake", ("Wall",), impulse=6.0 / share)
    spec = SceneSpec(bodies=(wall, ball), gravity=np.zeros(3), activations=(activation,))
    frame = sc.Simulation(spec, substeps=substeps).run(10)[-1]
    # they go on together with the momentum that there was, or the wall takes all of it
    expected = 0.5 if wakes else 0.0
    np.testing.assert_allclose(frame.velocities[:, 0], expected, atol=0.01 * 0.5)
    if wakes:
        assert 10.0 * frame.velocities[0, 0] + 2.0 * frame.velocities[1, 0] == pytest.approx(6.0, rel=1e-2)


def test_a_blow_is_passed_on_to_bodies_that_wait_behind():
    """Three boxes in a row, each held until it is hit with 1 N s."""
    boxes = [parts.box(f"Box {i}", (0.5, 0.5, 0.5), (0.5 * i, 0.0, 0.0), SMOOTH, mass=1.0) for i in range(3)]
    ball = replace(parts.box("Ram", (0.2, 0.2, 0.2), (-1.0, 0.0, 0.0), SMOOTH, mass=2.0), velocity=np.array([3.0, 0.0, 0.0]))
    wakes = ActivationSpec("Wake", tuple(box.name for box in boxes), impulse=1.0)
    spec = SceneSpec(bodies=(*boxes, ball), gravity=np.zeros(3), activations=(wakes,))
    frame = sc.Simulation(spec, substeps=4).run(12)[-1]
    np.testing.assert_allclose(frame.velocities[:, 0], 6.0 / 5.0, rtol=1e-2)


def test_a_weight_that_lies_on_a_body_is_no_blow():
    base = parts.box("Base", (1.0, 1.0, 0.5), (0.0, 0.0, 0.0), SMOOTH, mass=1.0)
    weight = parts.box("Weight", (0.5, 0.5, 0.5), (0.0, 0.0, 0.5), SMOOTH, mass=1000.0)
    # 40 times less than the weight gives in a step of 1/24 s
    activation = ActivationSpec("Wake", ("Base",), impulse=10.0)
    starts = replace(activation, impulse=500.0)
    for one, falls in ((starts, False), (activation, True)):
        spec = SceneSpec(bodies=(base, weight), activations=(one,))
        frame = sc.Simulation(spec, substeps=1).run(10)[-1]
        assert bool(frame.poses[0, 2] < -0.1) is falls


@pytest.mark.parametrize(("values", "begins"), [([0.0, 0.0, 0.0, 0.5, 0.0], 3), ([0.0] * 5, None)])
def test_a_value_above_0_wakes_for_good(values, begins):
    values = np.array([*values, *[0.0] * 7])
    spec = SceneSpec(
        bodies=(brick("Brick", 0.0),), frame_end=12, activations=(ActivationSpec("Wake", ("Brick",), values=values),)
    )
    height = sc.Simulation(spec, substeps=2).run()[-1].poses[0, 2]
    seconds = 0.0 if begins is None else (11 - begins) / FPS
    assert height == pytest.approx(-0.5 * GRAVITY * seconds**2, abs=1e-9)


def test_bonds_of_bodies_that_wake_are_released_and_others_hold():
    """A bar sticks out of a wall, and only its outer half wakes; without *Release Bonds* the root goes on to hold all."""
    blocks = [parts.box(f"Block {i}", (0.2, 0.2, 0.2), (0.2 * i + 0.1, 0.0, 0.0), SMOOTH) for i in range(4)]
    wall = replace(parts.box("Wall", (0.2, 0.2, 0.2), (-0.1, 0.0, 0.0), SMOOTH), kind=BodyKind.PASSIVE, mass=None)
    joints = tuple(bonds_of_bodies([wall, *blocks], Stresses(1e9, 1e9), 1e-3))
    for releases, fall in ((True, [0, 0, 1, 1]), (False, [0, 0, 0, 0])):
        wakes = ActivationSpec("Wake", ("Block 2", "Block 3"), frame=2, holds=False, releases=releases)
        spec = SceneSpec(bodies=(wall, *blocks), joints=joints, activations=(wakes,))
        frame = sc.Simulation(spec, substeps=4).run(8)[-1]
        np.testing.assert_array_equal(frame.velocities[1:, 2] < -0.5, np.array(fall, bool))
        assert int(frame.broken.sum()) == (2 if releases else 0)


def test_a_bake_that_is_resumed_has_the_same_bits(tmp_path):
    """Animated pieces in a row, woken by a sphere, a blow and a frame; also after a round trip through a snapshot."""
    frames = 20
    bricks = [on_path(np.array([0.4 * i, 0.0, 0.0]) + 0.3 * parabola(frames), f"Piece {i}") for i in range(3)]
    hit = brick("Hit", 3.0)
    ram = replace(brick("Ram", 2.5), velocity=np.array([4.0, 0.0, 0.0]))
    late = brick("Late", 6.0)
    grows = scaled(np.maximum(2.0 * np.arange(frames) / FPS, 1e-6))
    activations = (
        ActivationSpec("Sphere", tuple(one.name for one in bricks), zones=(ball_zone(grows, is_volume=True),)),
        ActivationSpec("Blow", ("Hit",), impulse=0.5),
        ActivationSpec("Frame", ("Late",), frame=12),
    )
    spec = SceneSpec(bodies=(*bricks, hit, ram, late), frame_end=frames, activations=activations)
    write_snapshot(tmp_path / "scene", spec, SolverSettings(substeps=3))
    spec, settings = read_snapshot(tmp_path / "scene")
    whole = sc.Simulation(spec, settings)
    found = []
    for _ in range(frames - 1):
        found.append((whole.advance(), whole.checkpoint()))
    for begin in (4, 9, 13):
        again = sc.Simulation(spec, settings)
        frame, checkpoint = found[begin]
        again.restore(frame.frame, checkpoint)
        for other, _ in found[begin + 1 :]:
            assert again.advance().poses.tobytes() == other.poses.tobytes()
    assert (found[-1][0].velocities[:, 2] < -0.3).all()


def test_frames_of_a_bake_hold_up_to_where_a_zone_or_a_value_becomes_another_one():
    grows = scaled(np.linspace(0.1, 1.0, 10))
    later = grows.copy()
    later[6:] *= 2.0
    values, sooner = np.zeros(10), np.zeros(10)
    sooner[4] = 1.0

    def content(transforms, values, frame_end=10):
        wakes = ActivationSpec("Wake", ("Brick",), zones=(ball_zone(transforms, is_volume=True),), values=values)
        return SceneSpec(bodies=(brick("Brick", 0.0),), frame_end=frame_end, activations=(wakes,)), SolverSettings()

    before = content(grows, values)
    assert frames_that_hold(before, content(grows, values)) == 10
    assert frames_that_hold(before, content(later, values)) == 6
    assert frames_that_hold(before, content(grows, sooner)) == 4
    assert frames_that_hold(before, content(np.vstack([grows, grows[-1:]]), np.zeros(11), 11)) == 10


def test_half_of_a_blow_breaks_as_little_as_none_would_and_a_whole_one_breaks_at_any_time_of_a_step():
    """A ball of 30 kg at 12 m/s hits a glued row of three bricks; where in the step it meets them does not matter."""
    spans = 12.0 / 240.0
    found = []
    for phase in np.arange(8) / 8.0:
        bricks = [parts.box(f"Brick {i}", (0.5, 0.25, 0.25), (0.5 * i - 0.5, 0.0, 0.0), SMOOTH, mass=40.0) for i in range(3)]
        joints = tuple(
            sc.JointSpec(
                f"Glue {i}", f"Brick {i}", f"Brick {i + 1}", np.array([0.5 * i - 0.25, 0.0, 0.0]), breaking_impulse=90.0
            )
            for i in range(2)
        )
        ball = BodySpec(
            "Ball",
            BodyKind.ACTIVE,
            parts.sphere_shape(0.2),
            position=np.array([0.0, -0.8 - phase * spans, 0.0]),
            velocity=np.array([0.0, 12.0, 0.0]),
            mass=30.0,
            material=SMOOTH,
        )
        spec = SceneSpec(bodies=(*bricks, ball), joints=joints, gravity=np.zeros(3))
        frame = sc.Simulation(spec, substeps=10).run(2)[-1]
        mass = np.array([40.0, 40.0, 40.0, 30.0])
        assert (mass * frame.velocities[:, 1]).sum() == pytest.approx(360.0, rel=1e-9)
        found.append(int(frame.broken.sum()))
    # 360 N s x 120 / 150 kg is what the row would take, a third of it each of the outer bricks: 96 N s
    assert found == [2] * 8
