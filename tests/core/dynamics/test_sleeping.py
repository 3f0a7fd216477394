# SPDX-License-Identifier: GPL-3.0-or-later
"""What sleeps is at rest, wakes for whatever comes near, and changes nothing that is seen."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import box, box_shape, ground
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

FPS = 24
ROUGH = MaterialSpec(0.8, 0.8)
CUBE = (0.2, 0.2, 0.2)


def asleep(frames):
    return np.array([frame.statistics.asleep[-1] for frame in frames[1:]])


def poses_of(frames):
    return np.array([frame.poses for frame in frames])


def stack(x, count, name="Cube"):
    return [box(f"{name} {x:g} {i}", CUBE, (x, 0.0, 0.1 + 0.2 * i), ROUGH) for i in range(count)]


def ball(position, **changes):
    shape = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1)
    return BodySpec("Ball", BodyKind.ACTIVE, shape, position=np.array(position), mass=4.0, material=ROUGH, **changes)


def plate_path(moves_at, frames, velocity, orientation=(1.0, 0.0, 0.0, 0.0)):
    """Rests, and moves on from a frame; velocity in m a frame."""
    path = np.tile([0.0, 0.0, 0.0, *orientation], (frames, 1))
    path[moves_at:, :3] += np.arange(frames - moves_at)[:, None] * velocity
    return path


@pytest.mark.slow
@pytest.mark.parametrize("scene", [sc.scenes.card_house, sc.scenes.arch, sc.scenes.tower])
def test_what_stands_falls_asleep_and_stands_as_it_stood(scene):
    sleeping, watching = (sc.Simulation(scene(), sleeping=flag).run(4 * FPS) for flag in (True, False))
    movable = sum(body.kind is BodyKind.ACTIVE for body in scene().bodies)
    assert asleep(sleeping)[-1] == movable
    assert not asleep(watching).any()
    assert sleeping[-1].statistics.contacts.sum() == 0
    np.testing.assert_allclose(poses_of(sleeping), poses_of(watching), atol=5e-6)


@pytest.mark.slow
def test_an_impact_long_after_is_what_it_would_have_been():
    """A box that slides into a row of stacks that sleep: they wake and end where they end without sleep."""
    slider = replace(box("Slider", CUBE, (-1.2, 0.0, 0.1), MaterialSpec(0.0, 0.0)), velocity=np.array([0.5, 0.0, 0.0]))
    spec = SceneSpec((ground(ROUGH), slider, *stack(0.0, 2), *stack(1.0, 3), *stack(9.0, 2, "Far")))
    sleeping, watching = (sc.Simulation(spec, sleeping=flag).run(4 * FPS) for flag in (True, False))
    count = asleep(sleeping)
    assert count[: 2 * FPS].max() == 7
    hit = np.flatnonzero(np.diff(count) < 0)
    assert hit.size == 1
    assert count[hit[0]] - count[hit[0] + 1] == 2  # the first stack, and neither of the others
    np.testing.assert_allclose(poses_of(sleeping), poses_of(watching), atol=2e-5)
    assert abs(poses_of(sleeping)[-1, 2, 0]) > 5e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    "velocity", [(0.0, 0.0, -0.4), (0.01, 0.0, 0.0), pytest.param((0.0, 0.0, 0.01), marks=pytest.mark.long)]
)
def test_what_rests_on_an_animated_body_wakes_when_that_moves(velocity):
    """A plate that falls away from under two cubes, that carries them along, that lifts them."""
    frames = 3 * FPS + 24
    path = plate_path(3 * FPS, frames, np.array(velocity), (math.cos(0.3), 0.0, 0.0, math.sin(0.3)))
    plate = BodySpec("Plate", BodyKind.ANIMATED, box_shape((2.0, 2.0, 0.1)), path=path, material=ROUGH)
    cubes = [replace(cube, position=cube.position + np.array([0.0, 0.0, 0.05])) for cube in stack(0.0, 2)]
    spec = SceneSpec((plate, *cubes), frame_end=frames)
    sleeping, watching = (sc.Simulation(spec, sleeping=flag).run(frames - 1) for flag in (True, False))
    count = asleep(sleeping)
    assert count[3 * FPS - 2] == 2
    assert not count[3 * FPS + 1 :].any()
    np.testing.assert_allclose(poses_of(sleeping), poses_of(watching), atol=1e-6)


@pytest.mark.slow
def test_an_animated_body_that_passes_by_wakes_nobody_and_one_that_hits_does():
    begin, frames = 4 * FPS, 7 * FPS
    spec = SceneSpec(
        (
            ground(ROUGH),
            *stack(0.0, 2),
            *stack(5.0, 1),
            BodySpec(
                "Bar",
                BodyKind.ANIMATED,
                box_shape((0.1, 4.0, 0.1)),
                path=plate_path(begin, frames, np.array([-0.02, 0.0, 0.0])) + np.array([1.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.0]),
            ),
        ),
        frame_end=frames,
    )
    run = sc.Simulation(spec).run(frames - 1)
    count = asleep(run)
    # the bar is 0.85 m from the stack's face and comes by 0.02 m a frame
    meets = begin + int(0.85 / 0.02)
    assert (count[begin : meets - 2] == 3).all()
    assert (count[meets + 2 : meets + 6] == 1).all()
    assert run[meets + 10].poses[2, 0] < -0.1


@pytest.mark.slow
@pytest.mark.parametrize("shortfall", [pytest.param(1e-4, marks=pytest.mark.long), 1e-5])
def test_what_slides_under_hardly_too_little_friction_never_sleeps(shortfall):
    """g (sin - mu cos) with mu short of tan by a ten-thousandth and less, from rest: millimetres in seconds."""
    tangent, seconds = 0.5, 6
    frames = sc.Simulation(sc.scenes.slope(tangent=tangent, mu=(1.0 - shortfall) * tangent)).run(seconds * FPS)
    assert not asleep(frames).any()
    moved = np.linalg.norm(frames[-1].poses[1, :3] - frames[FPS].poses[1, :3])
    wanted = 0.5 * 9.81 * shortfall * tangent / math.hypot(1.0, tangent) * (seconds**2 - 1.0)
    assert moved == pytest.approx(wanted, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("tilt", [pytest.param(1e-5, marks=pytest.mark.long), 1e-8])
def test_a_pencil_on_its_tip_does_not_fall_asleep_before_it_falls(tilt):
    ends = np.array([[0.0, 0.0, -0.5], [0.0, 0.0, 0.5]])
    pencil = BodySpec(
        "Pencil",
        BodyKind.ACTIVE,
        ShapeSpec(ShapeKind.HULL, ends, margin=0.01),
        position=np.array([0.0, 0.0, 0.51]),
        orientation=np.array([math.cos(tilt / 2.0), 0.0, math.sin(tilt / 2.0), 0.0]),
        mass=0.1,
        material=ROUGH,
    )
    frames = sc.Simulation(SceneSpec((ground(ROUGH), pencil))).run(8 * FPS)
    down = next(i for i, frame in enumerate(frames) if frame.poses[1, 2] < 0.1)
    assert not asleep(frames)[:down].any()


@pytest.mark.slow
def test_a_run_that_sleeps_can_be_resumed_bit_for_bit():
    spec = SceneSpec((ground(ROUGH), *stack(0.0, 3), ball((0.05, 0.0, 44.0))))
    whole = sc.Simulation(spec)
    frames = [whole.advance() for _ in range(2 * FPS)]
    kept = whole.checkpoint()
    assert frames[-1].statistics.asleep[-1] == 3
    rest = [whole.advance() for _ in range(FPS + 12)]
    assert rest[-1].statistics.asleep[-1] == 0
    resumed = sc.Simulation(spec)
    resumed.restore(frames[-1].frame, kept)
    for frame in rest:
        np.testing.assert_array_equal(resumed.advance().poses, frame.poses)


def test_at_a_coarse_tolerance_and_without_gravity_only_what_is_still_sleeps():
    drifting = replace(box("Drifting", CUBE, (0.0, 0.0, 0.0), ROUGH), velocity=np.array([1e-9, 0.0, 0.0]))
    still = box("Still", CUBE, (1.0, 0.0, 0.0), ROUGH)
    frames = sc.Simulation(SceneSpec((drifting, still), gravity=np.zeros(3)), tolerance=1e-3).run(3 * FPS)
    assert asleep(frames)[-1] == 1
    assert frames[-1].poses[0, 0] == pytest.approx(3e-9, rel=1e-6)


def test_neighbours_fall_asleep_together_and_do_not_wake_each_other():
    """Two cubes whose sides are a hair apart, one of which comes to rest later: neither is woken by the other's weight."""
    late = replace(box("Late", CUBE, (0.2 + 1e-4, 0.0, 0.1), ROUGH), velocity=np.array([0.0, 0.0, 1.0]))
    frames = sc.Simulation(SceneSpec((ground(ROUGH), box("Early", CUBE, (0.0, 0.0, 0.1), ROUGH), late))).run(5 * FPS)
    sleeping = asleep(frames)
    assert sleeping[-1] == 2
    first = int(np.argmax(sleeping > 0))
    assert (sleeping[first:] > 0).all()


def test_a_step_through_which_all_sleep_is_none_and_says_so():
    frames = sc.Simulation(SceneSpec((ground(ROUGH), *stack(0.0, 1))), keep_contacts=True).run(48)
    before, last = frames[-2:]
    statistics = last.statistics
    assert (statistics.asleep == 1).all() and not (statistics.contacts.any() or statistics.factorisations.any())
    assert (statistics.status == sc.Status.SOLVED).all() and (statistics.worst_pair == -1).all()
    assert len(last.contacts) == 0 and len(frames[1].contacts) == 4
    np.testing.assert_array_equal(last.poses, before.poses)
