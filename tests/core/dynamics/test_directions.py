# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that slide, pass or turn past others are obstructed by what they would run into, and by nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.parts import box_shape, cylinder_shape, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ShapeKind, ShapeSpec

from ..bodies import body, material, poses, scene

GRAVITY = 9.81
NO_GRAVITY = np.zeros(3)


def slab(name, low, high, surface) -> BodySpec:
    """A passive box between two corners."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return BodySpec(name, BodyKind.PASSIVE, box_shape(high - low), position=0.5 * (low + high), material=surface)


def tiles(surface, count=6, step=0.0):
    """Tiles of half a meter in a row along x, each second one higher by a step."""
    return [slab(f"Tile {i}", (0.5 * i - 0.3, -1.0, -0.1), (0.5 * i + 0.2, 1.0, step * (i % 2)), surface) for i in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["staggered", "pivot", pytest.param("energy", marks=pytest.mark.long)])
def test_a_box_slides_over_seams_as_on_one_slab(method):
    """v^2 / (2 mu g), whatever method solves the contacts."""
    surface, speed = material(0.3), 2.0
    box = body(size=(0.2, 0.2, 0.1), position=(0.0, 0.0, 0.05), material=surface, velocity=(speed, 0.0, 0.0))
    frames = sc.Simulation(scene(*tiles(surface), box, fps=60.0), substeps=4, method=method).run(45)
    found = poses(frames, 6)
    assert found[-1, 0] == pytest.approx(speed**2 / (2.0 * 0.3 * GRAVITY), abs=2e-5)
    assert np.abs(found[:, 1]).max() < 1e-6
    assert Rotation.from_quat(found[:, 3:], scalar_first=True).magnitude().max() < 1e-5


@pytest.mark.parametrize("step", [1e-4, 5e-3])
def test_a_step_in_the_floor_still_trips_a_box(step):
    surface = material(0.3)
    box = body(size=(0.2, 0.2, 0.1), position=(0.0, 0.0, 0.05), material=surface, velocity=(2.0, 0.0, 0.0))
    frames = sc.Simulation(scene(*tiles(surface, 2, step), box, fps=60.0), substeps=4).run(12)
    # its front meets the step 0.1 m ahead, and lifts its tail
    assert Rotation.from_quat(poses(frames, 2)[:, 3:], scalar_first=True).magnitude().max() > 0.1
    assert poses(frames, 2)[-1, 0] < 0.3


@pytest.mark.parametrize("speed", [2.0, 20.0])
def test_a_body_that_passes_an_edge_keeps_its_twist_bit_for_bit(speed):
    surface = material(0.5, 0.5)
    ledge = slab("Ledge", (0.9, -1.0, -0.5), (1.7, 1.0, 0.0), surface)
    box = body(size=(0.2, 0.2, 0.1), position=(0.0, 0.0, 0.0501), material=surface, velocity=(speed, 0.0, 0.0))
    frames = sc.Simulation(scene(ledge, box, gravity=NO_GRAVITY, fps=60.0), substeps=4).run(int(150.0 / speed))
    assert all((frame.velocities[1] == [speed, 0.0, 0.0, 0.0, 0.0, 0.0]).all() for frame in frames)


def test_a_corner_that_turns_past_a_post_does_not_touch_it():
    """No fixed direction separates the two during the step: the corner is on an arc."""
    surface, rate, length = material(0.5, 0.5), 5.0, 1.0
    place = np.array([0.0, 0.5 * np.hypot(length, 0.04) + 0.05 + 1e-4, 0.0])
    post = BodySpec("Post", BodyKind.PASSIVE, cylinder_shape(0.05, 1.0), position=place, material=surface)
    rod = body(size=(length, 0.04, 0.04), material=surface, angular_velocity=(0.0, 0.0, rate))
    frames = sc.Simulation(scene(post, rod, gravity=NO_GRAVITY, fps=60.0), substeps=4).run(60)
    np.testing.assert_allclose([frame.velocities[1] for frame in frames], [[0.0, 0.0, 0.0, 0.0, 0.0, rate]] * 61, atol=1e-9)


@pytest.mark.parametrize("before", [2.6e-3, 4.7e-3, 5.1e-3, 8e-3])
def test_a_ball_in_a_bend_of_flat_walls_loses_what_the_angle_takes(before):
    """cos(a) of its speed, wherever a step begins: they do not meet along the direction to the edge of the next wall."""
    surface, angle, radius, speed = material(0.0), np.radians(5.0), 0.05, 2.0
    turn = Rotation.from_euler("z", angle)
    corners = np.array([[x, y, z] for x in (0.0, 1.0) for y in (-0.1, 0.0) for z in (-0.2, 0.2)])
    walls = [
        BodySpec(f"Wall {i}", BodyKind.PASSIVE, ShapeSpec(ShapeKind.HULL, points), material=surface)
        for i, points in enumerate((corners - [1.0, 0.0, 0.0], turn.apply(corners)))
    ]
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        sphere_shape(radius),
        np.array([-before, radius * (1.0 + 2e-4), 0.0]),
        mass=1.0,
        material=surface,
    )
    ball = replace(ball, velocity=np.array([speed, 0.0, 0.0]))
    frames = sc.Simulation(scene(*walls, ball, gravity=NO_GRAVITY, fps=60.0), substeps=4).run(4)
    expected = speed * np.cos(angle) * np.array([np.cos(angle), np.sin(angle), 0.0])
    np.testing.assert_allclose(frames[-1].velocities[2, :3], expected, atol=1.5e-4 * speed)


def test_the_mirror_image_of_a_slide_over_seams_is_the_mirrored_slide():
    """Without friction, for of a box on four points the pressures that make up friction are not unique."""
    surface = material(0.0)
    found = []
    for side in (1.0, -1.0):
        turn = Rotation.from_euler("z", side * 0.3)
        box = body(
            size=(0.2, 0.15, 0.1),
            position=(0.0, 0.0, 0.05),
            material=surface,
            velocity=(1.5, side * 0.4, 0.0),
            angular_velocity=(0.0, 0.0, side * 3.0),
            orientation=turn.as_quat(scalar_first=True),
        )
        found.append(poses(sc.Simulation(scene(*tiles(surface), box, fps=60.0), substeps=4).run(30), 6))
    np.testing.assert_allclose(found[1][:, :3], found[0][:, :3] * [1.0, -1.0, 1.0], atol=1e-7)
    assert np.ptp(found[0][:, 0]) > 0.3


@pytest.mark.parametrize("phase", [0.0, 1.3e-3, 2.7e-3])
@pytest.mark.parametrize("degrees", [15.0, 45.0, 60.0])
def test_balls_part_along_their_line_of_centers_whatever_the_angle(degrees, phase):
    """e = -u_n' / u_n along the line of centers as they touch; the speed across it is kept."""
    radius, speed, e = 0.0285, 2.0, 0.95
    surface, aside = material(0.0, e), 2.0 * 0.0285 * np.sin(np.radians(degrees))
    common = {"shape": sphere_shape(radius), "mass": 0.17, "material": surface}
    balls = [
        BodySpec("Cue", BodyKind.ACTIVE, velocity=np.array([speed, 0.0, 0.0]), **common),
        BodySpec("Ball", BodyKind.ACTIVE, position=np.array([0.2 + phase, aside, 0.0]), **common),
    ]
    frames = sc.Simulation(scene(*balls, gravity=NO_GRAVITY, fps=60.0), substeps=4).run(12)
    normal = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0.0])
    relative = frames[-1].velocities[1, :3] - frames[-1].velocities[0, :3]
    # the balls keep a rest offset, which turns the line of centers by 1e-4
    assert relative @ normal == pytest.approx(e * speed * normal[0], rel=1e-3)
    assert np.cross(normal, relative)[2] == pytest.approx(np.cross(normal, [-speed, 0.0, 0.0])[2], rel=1e-3)


@pytest.mark.parametrize("e", [1.0, 0.7])
def test_a_can_dropped_flat_from_any_height_leaves_flat(e):
    """Some of its contacts come about in the first step of the impact, others in the second."""
    surface = material(0.5, e)
    for height in np.linspace(0.4, 0.5, 6):
        can = BodySpec(
            "Can", BodyKind.ACTIVE, cylinder_shape(0.1, 0.2), position=np.array([0.0, 0.0, height]), mass=1.0, material=surface
        )
        frames = sc.Simulation(scene(ground(surface), can, fps=240.0), substeps=1).run(90)
        spin = np.array([np.linalg.norm(frame.velocities[1, 3:]) for frame in frames])
        assert spin.max() < 1e-5, height
        assert max(frame.velocities[1, 2] for frame in frames) == pytest.approx(
            e * np.sqrt(2.0 * GRAVITY * (height - 0.1)), rel=0.02
        )


def test_an_impact_between_two_frames_goes_on_after_a_checkpoint_bit_for_bit():
    """The motion of the pair as it met is a part of the checkpoint."""
    surface = material(0.1, 0.8)
    turn = Rotation.from_rotvec([0.7, 0.3, 0.2]).as_quat(scalar_first=True)
    moving = {"velocity": (1.0, 0.0, -2.0), "angular_velocity": (3.0, 5.0, 1.0)}
    cube = body(position=(0.0, 0.0, 0.35), material=surface, orientation=turn, **moving)
    spec = scene(ground(surface), cube, fps=240.0)
    whole = sc.Simulation(spec, substeps=1)
    frame = whole.first_frame()
    while not len(whole.checkpoint()["begun_body_a"]):
        assert frame.frame < 60, "no impact began"
        frame = whole.advance()
    resumed = sc.Simulation(spec, substeps=1)
    resumed.restore(frame.frame, whole.checkpoint())
    for _ in range(20):
        assert (whole.advance().poses == resumed.advance().poses).all()
