# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces that move along themselves carry what lies on them, by Coulomb's law: belts, slopes, turntables."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import axis_angle, box_shape, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SurfaceMotion

from ..bodies import body, material, scene

G, FPS = 9.81, 24.0
METHODS = ["staggered", "pivot", pytest.param("energy", marks=pytest.mark.long)]


def belt(mu, velocity=(0.0, 0.0, 0.0), spin=(0.0, 0.0, 0.0), **changes):
    """A wide passive slab whose top is at z = 0, with a surface that moves."""
    shape = replace(box_shape((20.0, 20.0, 1.0)), vertices=box_shape((20.0, 20.0, 1.0)).vertices - [0.0, 0.0, 0.5])
    motion = SurfaceMotion(np.asarray(velocity, dtype=float), np.asarray(spin, dtype=float))
    return BodySpec("Belt", BodyKind.PASSIVE, shape, material=material(mu), surface_motion=motion, **changes)


def crate(mu, **changes):
    return body("Crate", size=(0.4, 0.3, 0.2), position=(0.0, 0.0, 0.1), material=material(mu), **changes)


@pytest.mark.parametrize("method", METHODS)
def test_a_crate_reaches_the_speed_of_a_belt_after_v_over_mu_g(method):
    mu, speed, substeps = 0.2, 0.9, 2
    frames = sc.Simulation(scene(crate(mu), belt(mu, (speed, 0, 0))), method=method, substeps=substeps).run(16)
    v = np.array([frame.velocities[0, 0] for frame in frames])
    time, step = np.arange(17) / FPS, 1.0 / (FPS * substeps)
    # velocities belong to the middle of a step
    assert np.abs(v - np.minimum(mu * G * time, speed)).max() < 0.51 * mu * G * step
    assert v[-1] == pytest.approx(speed, rel=1e-5)
    way = frames[-1].poses[0, 0]
    assert way == pytest.approx(speed * 16 / FPS - speed**2 / (2.0 * mu * G), abs=mu * G * step**2)


def test_dynamic_friction_accelerates_and_static_friction_holds_at_the_speed_of_the_belt():
    surface = material(0.5, mu_dynamic=0.2)
    spec = scene(replace(crate(0.5), material=surface), replace(belt(0.5, (0.9, 0, 0)), material=surface))
    frames = sc.Simulation(spec, substeps=2).run(20)
    assert frames[6].velocities[0, 0] == pytest.approx(0.2 * G * 6 / FPS, rel=0.06)
    assert frames[-1].velocities[0, 0] == pytest.approx(0.9, rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_belt_that_goes_uphill_carries_what_its_friction_holds(method):
    angle, mu, speed = math.radians(20.0), 0.6, 0.5
    turn = axis_angle([0, 1, 0], -angle)
    up, normal = np.array([math.cos(angle), 0.0, math.sin(angle)]), np.array([-math.sin(angle), 0.0, math.cos(angle)])
    box = replace(crate(mu), position=0.1 * normal, orientation=turn, velocity=speed * up)
    frames = sc.Simulation(scene(box, belt(mu, (speed, 0, 0), orientation=turn)), method=method, substeps=2).run(24)
    assert frames[-1].poses[0, :3] - box.position == pytest.approx(speed * up, abs=1e-3)
    # and from rest: v / (g (mu cos - sin)) seconds until it is as fast
    box = replace(box, velocity=np.zeros(3))
    frames = sc.Simulation(scene(box, belt(mu, (speed, 0, 0), orientation=turn)), method=method, substeps=2).run(24)
    gain = G * (mu * math.cos(angle) - math.sin(angle))
    assert (frames[-1].poses[0, :3] - box.position) @ up == pytest.approx(speed - speed**2 / (2.0 * gain), abs=2e-3)


@pytest.mark.parametrize("method", METHODS)
def test_a_turntable_carries_a_box_round_on_its_circle(method):
    spin, radius = 1.5, 0.8
    box = replace(crate(0.5), position=np.array([radius, 0.0, 0.1]), velocity=np.array([0.0, spin * radius, 0.0]))
    box = replace(box, angular_velocity=np.array([0.0, 0.0, spin]))
    frames = sc.Simulation(scene(box, belt(0.5, spin=(0, 0, spin))), method=method, substeps=4).run(48)
    for number, frame in enumerate(frames):
        angle = spin * number / FPS
        assert frame.poses[0, :2] == pytest.approx(radius * np.array([math.cos(angle), math.sin(angle)]), abs=2e-3 * radius)


def test_a_box_too_far_out_on_a_turntable_slides_off():
    spin, radius, mu = 3.0, 0.8, 0.5  # omega^2 r = 7.2 > mu g = 4.9
    box = replace(crate(mu), position=np.array([radius, 0.0, 0.1]), velocity=np.array([0.0, spin * radius, 0.0]))
    last = sc.Simulation(scene(box, belt(mu, spin=(0, 0, spin))), substeps=4).run(24)[-1]
    assert math.hypot(*last.poses[0, :2]) > 1.2 * radius


@pytest.mark.slow
def test_a_ball_on_a_turntable_runs_in_circles_at_two_sevenths_of_its_rate():
    spin, radius, speed = 2.0, 0.1, 0.3
    # v + omega x (-r z) = Omega z x p at p = (1, 0): it rolls on the surface that is there
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        sphere_shape(radius),
        position=np.array([1.0, 0.0, radius]),
        velocity=np.array([speed, 0.0, 0.0]),
        angular_velocity=np.array([spin / radius, speed / radius, 0.0]),
        mass=1.0,
        material=material(1.0),
    )
    rate = 2.0 / 7.0 * spin
    frames = sc.Simulation(scene(ball, belt(1.0, spin=(0, 0, spin))), substeps=4).run(120)
    time = np.arange(121) / FPS
    expected = np.stack([1.0 + speed / rate * np.sin(rate * time), speed / rate * (1.0 - np.cos(rate * time))], axis=1)
    places = np.array([frame.poses[0, :2] for frame in frames])
    assert np.abs(places - expected).max() < 5e-3


def test_the_motion_along_the_normal_moves_nothing():
    frames = sc.Simulation(scene(crate(0.5), belt(0.5, (0.0, 0.0, 3.0))), substeps=2).run(12)
    assert frames[-1].poses[0, :3] == pytest.approx([0.0, 0.0, 0.1], abs=1e-4)


@pytest.mark.slow
def test_what_sleeps_on_a_belt_wakes_when_it_starts_and_stays_awake():
    speed = np.zeros((97, 3))
    speed[73:, 0] = 0.4
    spec = scene(crate(0.5), belt(0.5), frame_end=97)
    moving = replace(spec.bodies[1], surface_motion=SurfaceMotion(velocity=speed))
    frames = sc.Simulation(replace(spec, bodies=(spec.bodies[0], moving)), substeps=2).run(96)
    assert frames[70].statistics.asleep[-1] == 1
    assert frames[70].poses[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert frames[-1].velocities[0, 0] == pytest.approx(0.4, rel=1e-4)


@pytest.mark.slow
def test_what_is_held_back_on_a_running_belt_never_sleeps_and_goes_on_when_it_is_let_go():
    path = np.tile([0.7, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], (97, 1))
    path[60:, 2] = 5.0
    stop = BodySpec(
        "Stop", BodyKind.ANIMATED, box_shape((0.2, 1.0, 1.0)), position=path[0, :3], path=path, material=material(0.1)
    )
    frames = sc.Simulation(scene(crate(0.5), belt(0.5, (0.5, 0, 0)), stop, frame_end=97), substeps=2).run(96)
    assert frames[55].velocities[0, 0] == pytest.approx(0.0, abs=1e-3)
    assert not frames[55].statistics.asleep.any()
    assert frames[-1].velocities[0, 0] == pytest.approx(0.5, rel=1e-3)


def test_an_active_wheel_with_a_moving_surface_drives_itself():
    sled = replace(crate(0.8), surface_motion=SurfaceMotion(np.array([-0.5, 0.0, 0.0])))
    floor = replace(belt(0.8), surface_motion=None)
    frames = sc.Simulation(scene(sled, floor), substeps=2).run(12)
    assert frames[-1].velocities[0, 0] == pytest.approx(0.5, rel=1e-3)
