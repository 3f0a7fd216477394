# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies move by the mass properties that they are given: closed forms of pendulums and of bodies with a low center of mass."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.joints import FREE_AXIS, LOCKED, JointSpec
from solver_core.scene.parts import axis_angle, box_shape, ground, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

from ..bodies import body, material, scene

G = 9.81
HINGE = (LOCKED, FREE_AXIS, LOCKED)


def period(angle, fps):
    """s, mean of the times between downward zero crossings of an angle at frames."""
    k = np.flatnonzero((angle[:-1] > 0.0) & (angle[1:] <= 0.0))
    return np.diff(k + angle[k] / (angle[k] - angle[k + 1])).mean() / fps


def large_swing(theta):
    """How much longer a swing takes than a small one, to second order in its amplitude."""
    return 1.0 + theta * theta / 16.0


@pytest.mark.slow
@pytest.mark.parametrize("shape", [box_shape((0.02, 0.02, 1.0)), ShapeSpec(ShapeKind.NONE)], ids=["collider", "link"])
def test_a_compound_pendulum_swings_by_its_given_center_and_inertia(shape):
    theta, inertia, arm = math.radians(5.0), 0.01, 0.95
    at = 0.5 * np.array([math.sin(theta), 0.0, -math.cos(theta)])
    rod = BodySpec(
        "Rod",
        BodyKind.ACTIVE,
        shape,
        position=at,
        orientation=axis_angle([0, 1, 0], -theta),
        mass=1.0,
        center_of_mass=np.array([0.0, 0.0, -0.45]),
        inertia=np.diag([inertia, inertia, 0.001]),
    )
    spec = SceneSpec((rod,), joints=(JointSpec("Pin", "", "Rod", angular=HINGE),), fps=60.0)
    frames = sc.Simulation(spec, substeps=4).run(200)
    places = np.array([frame.poses[0, :3] for frame in frames])
    expected = 2.0 * math.pi * math.sqrt((inertia + arm**2) / (G * arm)) * large_swing(theta)
    assert period(np.arctan2(places[:, 0], -places[:, 2]), 60.0) == pytest.approx(expected, rel=2e-4)


def weeble(angle, low=0.3, radius=0.5, **changes):
    """A ball whose body frame, with the center of mass, is below its middle; tilted by an angle, it touches the ground."""
    shape = sphere_shape(radius)
    return body(
        "Weeble",
        position=(-low * math.sin(angle), 0.0, radius - low * math.cos(angle)),
        orientation=axis_angle([0, 1, 0], angle),
        mass=2.0,
        center_of_mass=np.zeros(3),
        material=material(1.0),
        **changes,
    ), replace(shape, vertices=np.array([[0.0, 0.0, low]]))


def of_weeble(angle, **changes):
    one, shape = weeble(angle, **changes)
    return scene(replace(one, shape=shape), ground(material(1.0)), fps=60.0)


def tilt(frames):
    """rad, of the weeble's axis against the vertical."""
    q = np.array([frame.poses[0, 3:] for frame in frames])
    return 2.0 * np.arctan2(q[:, 2], q[:, 0])


@pytest.mark.slow
def test_a_roly_poly_swings_about_its_lowest_point_by_the_closed_form():
    theta, low, radius = math.radians(4.0), 0.3, 0.5
    frames = sc.Simulation(of_weeble(theta), substeps=4).run(200)
    # about the contact: I = 2/5 m r^2 + m d^2 + m (r - d)^2, torque m g d sin(theta)
    inertia = 0.4 * radius**2 + low**2 + (radius - low) ** 2
    expected = 2.0 * math.pi * math.sqrt(inertia / (G * low))
    assert period(tilt(frames), 60.0) == pytest.approx(expected, rel=3e-3)


@pytest.mark.slow
def test_a_roly_poly_laid_on_its_side_rights_itself_and_a_homogeneous_ball_does_not():
    spec = of_weeble(math.radians(80.0), angular_damping=0.9)
    frames = sc.Simulation(spec, substeps=4).run(300)
    assert abs(tilt(frames[-1:])[0]) < math.radians(1.0)
    homogeneous = replace(spec.bodies[0], center_of_mass=None)
    frames = sc.Simulation(replace(spec, bodies=(homogeneous, spec.bodies[1])), substeps=4).run(60)
    assert tilt(frames[-1:])[0] == pytest.approx(math.radians(80.0), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("center", "stays"), [(np.zeros(3), True), (None, False)], ids=["origin", "volume"])
def test_a_plank_whose_origin_is_on_the_table_stays_there_if_that_is_its_center_of_mass(center, stays):
    wood = material(0.5)
    shape = replace(box_shape((1.0, 0.2, 0.05)), vertices=box_shape((1.0, 0.2, 0.05)).vertices + np.array([0.3, 0.0, 0.0]))
    # 80 percent of it are beyond the edge of the table at x = 0.1, its origin is not
    plank = replace(body("Plank", position=(0.0, 0.0, 0.025), material=wood, center_of_mass=center), shape=shape)
    table = BodySpec("Table", BodyKind.PASSIVE, box_shape((1, 1, 1)), position=np.array([-0.4, 0, -0.5]), material=wood)
    last = sc.Simulation(scene(plank, table), substeps=2).run(24)[-1].poses[0]
    assert (abs(last[2] - 0.025) < 1e-3) == stays


def test_a_link_flies_free_about_its_center_and_touches_nothing():
    link = replace(
        body("Link", position=(0, 0, 0.05), mass=2.0, inertia=np.diag([1.0, 2.0, 2.5]), center_of_mass=np.array([0.1, 0, 0])),
        shape=ShapeSpec(ShapeKind.NONE),
        angular_velocity=np.array([0.0, 0.0, 3.0]),
    )
    frames = sc.Simulation(scene(link, ground(material(0.5))), substeps=1).run(24)
    pose, turn = frames[-1].poses[0], 3.0
    center = pose[:3] + 0.1 * np.array([math.cos(turn), math.sin(turn), 0.0])
    # at rest at first, the origin takes the center of mass along
    assert center == pytest.approx([0.1, 0.3, 0.05 - 0.5 * G], abs=2e-3)


def test_a_flywheel_without_a_collider_does_not_fall_asleep_while_it_turns():
    wheel = replace(
        body("Wheel", mass=1.0, inertia=np.diag([1.0, 1.0, 1.9]), linear_factor=np.zeros(3)),
        shape=ShapeSpec(ShapeKind.NONE),
        angular_velocity=np.array([0.0, 0.0, 0.5]),
    )
    last = sc.Simulation(scene(wheel), substeps=1).run(72)[-1]
    assert last.velocities[0, 5] == pytest.approx(0.5)
