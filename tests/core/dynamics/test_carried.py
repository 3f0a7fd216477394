# SPDX-License-Identifier: GPL-3.0-or-later
"""What sticks to something that turns goes round with it, and neither outward nor inward."""

from __future__ import annotations

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.contact.build import NO_TURNING, Beyond, build_system
from solver_core.dynamics.contact.material_rules import rules_of
from solver_core.scene.parts import sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.scenes.jointed import four_ball_solid

from ..bodies import body, material, poses, scene

FRAME = 1.0 / 24.0
MU = 0.8


def turntable(rate: float, frames: int) -> BodySpec:
    """An animated plane that turns about the vertical through the origin, in rad/s."""
    half, path = 0.5 * rate * FRAME * np.arange(frames), np.zeros((frames, 7))
    path[:, 3], path[:, 6] = np.cos(half), np.sin(half)
    return BodySpec("Table", BodyKind.ANIMATED, ShapeSpec(ShapeKind.PLANE), material=material(MU), path=path)


@pytest.mark.parametrize(("rate", "radius", "substeps"), [(1.0, 0.5, 2), (3.0, 0.2, 10), (-6.0, 0.1, 2)])
def test_a_box_on_a_turntable_keeps_its_radius(rate, radius, substeps):
    """mu g is more than omega^2 r: it stays where it is on the table, whatever the step."""
    frames = 30
    carried = body(
        size=(0.04, 0.04, 0.02),
        position=(radius, 0.0, 0.01),
        velocity=(0.0, rate * radius, 0.0),
        angular_velocity=(0.0, 0.0, rate),
        material=material(MU),
    )
    spec = scene(turntable(rate, frames), carried, frame_end=frames)
    path = poses(sc.Simulation(spec, substeps=substeps).run(frames - 1), 1)[6:]
    np.testing.assert_allclose(np.hypot(path[:, 0], path[:, 1]), np.hypot(*path[0, :2]), rtol=1e-8)
    turned = np.unwrap(np.arctan2(path[:, 1], path[:, 0]))
    np.testing.assert_allclose(turned - turned[0], rate * FRAME * np.arange(len(path)), atol=1e-6)


def test_a_box_slides_off_a_turntable_that_is_too_fast():
    """omega^2 r above mu g: friction cannot hold it, and nothing else does."""
    rate, radius, frames = 6.0, 0.3, 13
    carried = body(
        size=(0.04, 0.04, 0.02),
        position=(radius, 0.0, 0.01),
        velocity=(0.0, rate * radius, 0.0),
        angular_velocity=(0.0, 0.0, rate),
        material=material(MU),
    )
    path = poses(sc.Simulation(scene(turntable(rate, frames), carried, frame_end=frames)).run(frames - 1), 1)
    assert np.hypot(path[-1, 0], path[-1, 1]) > 1.5 * radius


@pytest.mark.slow
def test_a_solid_that_sticks_to_a_driven_plane_stays_where_it_is_on_it():
    frames = sc.Simulation(four_ball_solid()).run(72)[48:]
    away = [np.linalg.norm(frame.poses[1:5, :2].mean(axis=0)) for frame in frames]
    assert away[-1] == pytest.approx(away[0], rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("substeps", [10, pytest.param(40, marks=pytest.mark.long)])
def test_a_ball_that_rolls_on_a_turntable_goes_round_in_two_sevenths_of_its_rate(substeps):
    """A solid ball that rolls on a plane turning at omega goes round in a circle at 2/7 omega, wherever it was put."""
    rate, radius, speed, frames = 2.0, 0.05, 0.3, 97
    centre = np.array([0.4, 0.1, radius])
    # to roll: v + w x (-r e_z) is the plane's velocity below it
    below = rate * np.array([-centre[1], centre[0]])
    slip = np.array([speed, 0.0]) - below
    spin = np.array([-slip[1] / radius, slip[0] / radius, rate])
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        sphere_shape(radius),
        position=centre,
        velocity=np.array([speed, 0.0, 0.0]),
        angular_velocity=spin,
        mass=1.0,
        material=material(MU),
    )
    spec = SceneSpec((turntable(rate, frames), ball), frame_end=frames)
    velocity = np.array([frame.velocities[1, :2] for frame in sc.Simulation(spec, substeps=substeps).run(frames - 1)])
    heading = np.unwrap(np.arctan2(velocity[:, 1], velocity[:, 0]))
    expected = 2.0 / 7.0 * rate * FRAME * (frames - 1)
    assert heading[-1] - heading[0] == pytest.approx(expected, rel=0.03)
    assert np.linalg.norm(velocity[-1]) == pytest.approx(speed, rel=0.01 * 10.0 / substeps)


def test_what_tumbles_nearly_as_one_can_stick_by_all_its_contacts():
    """Two boxes side by side on a third, thrown with turns that differ by some per cent: velocities exist that slip nowhere.

    Else redundant contacts could only stick here by sliding there, which is a problem next to none.
    """
    rates = [(5.0, 1.0, 0.3), (5.1, 1.0, 0.3), (5.0, 1.05, 0.3)]
    places = [(0.0, 0.0, 0.05), (-0.1, 0.0, 0.15), (0.1, 0.0, 0.15)]
    sizes = [(0.4, 0.2, 0.1), (0.2, 0.2, 0.1), (0.2, 0.2, 0.1)]
    thrown = [
        body(
            f"Box {i}",
            size,
            (x, 0.0, z + 5.0),
            velocity=tuple(np.cross(rates[0], (x, 0.0, z))),
            angular_velocity=rate,
            material=material(MU),
        )
        for i, (size, (x, _, z), rate) in enumerate(zip(sizes, places, rates, strict=True))
    ]
    simulation = sc.Simulation(scene(*thrown))
    begin = simulation._steps._predict_and_collide(0.0, simulation._steps.step)[0]
    count = len(begin.contacts)
    beyond = Beyond(np.zeros((count, 3)), NO_TURNING, NO_TURNING, np.zeros(count, dtype=bool))
    known = beyond, simulation._steps.memory, rules_of(simulation.spec)
    given = begin, simulation._steps.state, begin.contacts, *known, np.inf
    system = build_system(*given, np.zeros(3, dtype=bool)).system
    assert {*zip(system.body_a, system.body_b, strict=True)} == {(0, 1), (0, 2), (1, 2)}
    jacobian = np.zeros((len(begin.contacts), 3, 18))
    for k, (a, b) in enumerate(zip(system.body_a, system.body_b, strict=True)):
        jacobian[k, :, 6 * a : 6 * a + 6] += system.jacobian_a[k]
        jacobian[k, :, 6 * b : 6 * b + 6] += system.jacobian_b[k]
    rows, asked = jacobian.reshape(-1, 18), -system.bias.ravel()
    v = np.linalg.lstsq(rows, asked, rcond=1e-12)[0]
    assert np.abs(rows @ v - asked).max() < 1e-12
