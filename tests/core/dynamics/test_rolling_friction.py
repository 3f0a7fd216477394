# SPDX-License-Identifier: GPL-3.0-or-later
"""Rolling and torsional friction: moments up to a length times the normal force, by closed forms."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.joints import JointSpec
from solver_core.scene.parts import axis_angle, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ShapeKind, ShapeSpec, SurfaceMotion

from ..bodies import body, material, scene

G, FPS, RADIUS = 9.81, 24.0, 0.1
METHODS = ["staggered", "pivot", pytest.param("energy", marks=pytest.mark.long)]


def ball(surface, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), **changes):
    return BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        sphere_shape(RADIUS),
        position=np.array([0.0, 0.0, RADIUS]),
        velocity=np.asarray(velocity, dtype=float),
        angular_velocity=np.asarray(spin, dtype=float),
        mass=2.0,
        material=surface,
        **changes,
    )


def floor(**changes):
    return ground(replace(material(0.6), **changes))


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_rolls_as_far_as_its_rolling_friction_lets_it(method):
    length, speed = 0.01, 0.7
    rolling = ball(replace(material(0.6), rolling=length), (speed, 0, 0), (0, speed / RADIUS, 0))
    # about the contact: 7/5 m r^2 alpha = - length m g
    slowing = 5.0 / 7.0 * length * G / RADIUS
    frames = sc.Simulation(scene(rolling, floor()), method=method, substeps=4).run(36)
    # velocities belong to the middle of a step
    assert frames[12].velocities[0, 0] == pytest.approx(speed - slowing * (12 - 0.125) / FPS, rel=1e-3)
    assert frames[-1].poses[0, 0] == pytest.approx(speed**2 / (2.0 * slowing), rel=1e-3)
    assert frames[-1].velocities[0] == pytest.approx(np.zeros(6), abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_ball_that_spins_on_the_spot_stops_after_its_closed_form_time(method):
    length, rate = 0.004, 6.0
    spinning = ball(replace(material(0.6), torsion=length), spin=(0, 0, rate))
    # 2/5 m r^2 alpha = - length m g
    slowing = length * G / (0.4 * RADIUS**2)
    frames = sc.Simulation(scene(spinning, floor()), method=method, substeps=4).run(24)
    stop = rate / slowing * FPS
    half = int(stop / 2)
    assert frames[half].velocities[0, 5] == pytest.approx(rate - slowing * half / FPS, rel=2e-2)
    assert frames[math.ceil(stop) + 1].velocities[0, 5] == pytest.approx(0.0, abs=1e-5)


@pytest.mark.parametrize(("slope", "rolls"), [(0.9, False), (1.1, True)])
def test_a_ball_rests_on_a_slope_up_to_the_angle_of_rolling_friction(slope, rolls):
    length = 0.02
    angle = math.atan(slope * length / RADIUS)
    turn = axis_angle([0, 1, 0], angle)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    one = replace(ball(replace(material(0.9), rolling=length)), position=RADIUS * normal)
    plane = replace(ground(material(0.9)), orientation=turn)
    frames = sc.Simulation(scene(one, plane), substeps=2).run(24)
    way = np.linalg.norm(frames[-1].poses[0, :3] - one.position)
    if rolls:
        gain = 5.0 / 7.0 * G * (math.sin(angle) - length / RADIUS * math.cos(angle))
        assert way == pytest.approx(0.5 * gain, rel=5e-2)
    else:
        assert way < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_ball_with_a_link_fixed_in_it_rolls_as_one_body(method):
    length, speed, heavy, inertia = 0.01, 0.5, 1.0, 0.02
    motion = {"velocity": np.array([speed, 0, 0]), "angular_velocity": np.array([0, speed / RADIUS, 0])}
    one = replace(ball(replace(material(0.6), rolling=length)), **motion)
    link = BodySpec(
        "Link",
        BodyKind.ACTIVE,
        ShapeSpec(ShapeKind.NONE),
        position=one.position,
        mass=heavy,
        inertia=inertia * np.eye(3),
        **motion,
    )
    joint = JointSpec("Weld", "Ball", "Link", position=one.position)
    frames = sc.Simulation(scene(one, link, floor(), joints=(joint,)), method=method, substeps=4).run(12)
    mass = 2.0 + heavy
    slowing = length * mass * G * RADIUS / (0.4 * 2.0 * RADIUS**2 + inertia + mass * RADIUS**2)
    expected = speed * 0.5 - 0.5 * slowing * 0.25
    assert frames[-1].poses[:2, 0] == pytest.approx([expected, expected], rel=2e-3)


def test_the_larger_length_of_two_surfaces_counts():
    speed = 0.5
    ways = []
    for own, other in ((0.01, 0.0), (0.0, 0.01), (0.01, 0.004)):
        rolling = ball(replace(material(0.6), rolling=own), (speed, 0, 0), (0, speed / RADIUS, 0))
        ways.append(sc.Simulation(scene(rolling, floor(rolling=other)), substeps=2).run(12)[-1].poses[0, 0])
    assert ways[1:] == pytest.approx([ways[0]] * 2, rel=1e-9)


def test_a_box_slides_as_far_with_moments_as_without():
    surface = material(0.3)
    ways = []
    for moments in ({}, {"rolling": 0.02, "torsion": 0.02}):
        box = body(position=(0, 0, 0.1), material=replace(surface, **moments), velocity=np.array([1.0, 0.0, 0.0]))
        ways.append(sc.Simulation(scene(box, ground(surface)), substeps=2).run(12)[-1].poses[0, 0])
    assert ways[1] == pytest.approx(ways[0], rel=1e-4)


def test_a_turntable_spins_a_ball_up_by_torsional_friction():
    table = replace(floor(torsion=0.004), surface_motion=SurfaceMotion(spin=np.array([0.0, 0.0, 3.0])))
    frames = sc.Simulation(scene(ball(material(0.6)), table), substeps=2).run(24)
    slowing = 0.004 * G / (0.4 * RADIUS**2)
    assert frames[4].velocities[0, 5] == pytest.approx(slowing * 4 / FPS, rel=0.1)
    assert frames[-1].velocities[0, 5] == pytest.approx(3.0, rel=1e-4)


def test_what_rolling_friction_holds_is_solved_once_and_then_stands():
    """Moments are remembered: the next step begins with its answer. It took 7 factorizations in each step without that."""
    length, angle = 0.02, math.atan(0.18)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    one = replace(ball(replace(material(0.9), rolling=length, torsion=length)), position=RADIUS * normal)
    slope = replace(ground(material(0.9)), orientation=axis_angle([0, 1, 0], angle))
    frames = sc.Simulation(scene(one, slope), substeps=4).run(24)
    assert not any(frame.statistics.factorisations.any() for frame in frames[12:])
    assert np.linalg.norm(frames[-1].poses[0, :3] - one.position) < 1e-4


@pytest.mark.parametrize("length", [0.0, 0.01])
def test_a_row_of_balls_that_bear_moments_passes_a_blow_on_to_the_last(length):
    """The impacts of a row are solved one after the other, each with the moments of its own contacts."""
    smooth = replace(material(0.0, restitution=1.0), rolling=length, torsion=length)
    row = [
        replace(ball(smooth, (1.0 if x < 0 else 0.0, 0, 0)), name=f"{x}", position=np.array([x, 0, RADIUS]))
        for x in (-0.5, 0.0, 0.2, 0.4)
    ]
    frames = sc.Simulation(scene(*row, ground(replace(material(0.0), rolling=length))), substeps=10).run(24)
    np.testing.assert_allclose(frames[-1].velocities[:4, 0], [0.0, 0.0, 0.0, 1.0], atol=1e-6)


@pytest.mark.parametrize("stop", [3, 8])
def test_a_bake_with_moments_goes_on_from_a_checkpoint_with_the_same_bits(stop):
    rolling = ball(replace(material(0.6), rolling=0.01, torsion=0.004), (0.7, 0.2, 0), (0, 7.0, 3.0))
    spec = scene(rolling, floor())
    whole = sc.Simulation(spec, substeps=2)
    whole.first_frame()
    frames, kept = {}, {}
    for number in range(2, 13):
        frames[number], kept[number] = whole.advance(), whole.checkpoint()
    again = sc.Simulation(spec, substeps=2)
    again.restore(stop, kept[stop])
    for number in range(stop + 1, 13):
        np.testing.assert_array_equal(again.advance().poses, frames[number].poses)


def test_a_checkpoint_of_an_earlier_version_has_no_moments_and_is_gone_on_from():
    spec = scene(ball(replace(material(0.6), rolling=0.01), (0.7, 0, 0), (0, 7.0, 0)), floor())
    whole = sc.Simulation(spec, substeps=2)
    whole.run(3)
    kept = {name: array for name, array in whole.checkpoint().items() if not name.endswith("_moment")}
    again = sc.Simulation(spec, substeps=2)
    again.restore(4, kept)
    np.testing.assert_allclose(again.advance().poses, whole.advance().poses, atol=1e-6)
