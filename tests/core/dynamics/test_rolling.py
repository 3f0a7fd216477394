# SPDX-License-Identifier: GPL-3.0-or-later
"""What rolls on, or spins about, a point: tops, discs, wheels and loaded balls beside scipy and closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.geometry.solids import shape_mass_properties
from solver_core.scene.parts import cylinder_shape, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from ..bodies import point, poses, to_matrix
from ..shapes import quaternion
from ..spinning import HEIGHT, G, axis_of_top, degrees_between, rolling_ball, top


def axis(frames):
    return -np.array([to_matrix(pose[3:])[:, 2] for pose in poses(frames, 1)])


def tip(frames):
    return point(frames, 1, (0.0, 0.0, 0.5 * HEIGHT))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "settings"),
    [
        (-60.0, {}),
        (60.0, {"method": "pivot"}),
        pytest.param(120.0, {}, marks=pytest.mark.long),
        *(pytest.param(60.0, settings, marks=pytest.mark.long) for settings in ({}, {"warm_start": False}, {"substeps": 7})),
    ],
)
def test_a_top_on_its_tip_precesses_as_one_with_a_fixed_point(rate, settings):
    frames = sc.Simulation(top(rate, 10.0), **settings).run(48)
    assert degrees_between(axis(frames), axis_of_top(rate, 10.0, 2.0)).max() < 0.3
    assert np.linalg.norm(tip(frames) - tip(frames)[0], axis=1).max() < 1e-3


@pytest.mark.long
def test_half_the_step_is_a_quarter_of_the_error():
    """Of a top that turns by 0.83 rad in a step, and by 0.42."""
    exact = axis_of_top(200.0, 30.0, 1.0)
    off = [degrees_between(axis(sc.Simulation(top(200.0, 30.0), substeps=n).run(24)), exact)[-1] for n in (10, 20)]
    assert off[0] / off[1] > 3.0
    assert off[1] < 0.1


def test_which_way_a_top_leans_is_of_no_matter():
    frames = [sc.Simulation(top(60.0, 20.0, heading=heading)).run(12) for heading in (0.0, 77.0)]
    turned = Rotation.from_euler("z", 77.0, degrees=True).apply(tip(frames[0]) + axis(frames[0]))
    np.testing.assert_allclose(tip(frames[1]) + axis(frames[1]), turned, atol=1e-6)


def test_a_mirrored_top_moves_as_the_mirror_image():
    """In the plane that it leans in; spin is an axial vector."""
    left, right = (sc.Simulation(top(rate, 20.0)).run(12) for rate in (60.0, -60.0))
    np.testing.assert_allclose(axis(left) * (1.0, -1.0, 1.0), axis(right), atol=1e-7)


def test_the_body_that_turns_farthest_in_a_step_is_in_the_statistics():
    """Of those with contacts; in rad."""
    spec = top(60.0, 10.0)
    flying = {"position": np.array([9.0, 0.0, 9.0]), "angular_velocity": np.array([0.0, 99.0, 0.0])}
    flies = replace(spec.bodies[1], name="Flies", **flying)
    frames = sc.Simulation(SceneSpec((*spec.bodies, flies))).run(2)
    np.testing.assert_allclose(frames[-1].statistics.spin, 0.25, rtol=1e-2)
    assert (frames[-1].statistics.spinning_body == 1).all()
    assert len(frames[0].statistics.spin) == 0


def disc(tilt, heading=0.0, sense=1.0, radius=0.5):
    """Euler's disc: its centre at rest, its rim rolls, at Omega^2 sin(tilt) = 4 g / R."""
    turn = Rotation.from_euler("ZY", [heading, tilt], degrees=True)
    material, thickness = pair_material(1.0), 0.002 * radius
    normal, sine = turn.apply((0.0, 0.0, 1.0)), np.sin(np.radians(tilt))
    rate = sense * np.sqrt(4.0 * G / (radius * sine))
    body = BodySpec(
        "Disc",
        BodyKind.ACTIVE,
        cylinder_shape(radius, thickness),
        position=np.array([0.0, 0.0, radius * sine + 0.5 * thickness * normal[2]]),
        orientation=quaternion(turn),
        angular_velocity=rate * (np.array([0.0, 0.0, 1.0]) - normal[2] * normal),
        mass=1.0,
        material=material,
    )
    return SceneSpec((ground(material), body))


def energy(frames, spec):
    """(frames,) J of body 1, whose centre of mass is its origin."""
    properties, found = shape_mass_properties(spec.bodies[1].shape, mass=spec.bodies[1].mass), []
    for frame in frames:
        pose, twist = frame.poses[1], frame.velocities[1]
        local = to_matrix(pose[3:]).T @ twist[3:]
        motion = properties.mass * twist[:3] @ twist[:3] + local @ properties.inertia @ local
        found.append(0.5 * motion + properties.mass * G * pose[2])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(("tilt", "heading", "sense"), [(40.0, 0.0, 1.0), (15.0, 33.0, -1.0), (5.0, 0.0, 1.0)])
def test_eulers_disc_goes_on(tilt, heading, sense):
    """There is no rolling friction: neither its tilt nor its energy changes."""
    spec = disc(tilt, heading, sense)
    frames = sc.Simulation(spec).run(48)
    tilts = np.degrees(np.arccos([abs(to_matrix(pose[3:])[2, 2]) for pose in poses(frames, 1)]))
    np.testing.assert_allclose(tilts, tilt, atol=0.1)
    np.testing.assert_allclose(energy(frames, spec), energy(frames[:1], spec)[0], rtol=2e-3)


@pytest.mark.parametrize("radius", [5e-3, 5.0])
def test_discs_of_any_size_go_on(radius):
    """Steps as many a turn: time scales with the root of the size."""
    spec = disc(30.0, radius=radius)
    frames = sc.Simulation(spec, fps=24.0 * np.sqrt(0.5 / radius)).run(12)
    np.testing.assert_allclose(energy(frames, spec), energy(frames[:1], spec)[0], rtol=2e-3)


def rolling(shape, radius, velocity, turn=None, **changes):
    """A scene in which a round body rolls along the ground."""
    material = pair_material(0.8)
    body = BodySpec(
        "Round",
        BodyKind.ACTIVE,
        shape,
        position=np.array([0.0, 0.0, radius]),
        orientation=quaternion(Rotation.identity() if turn is None else turn),
        velocity=np.asarray(velocity),
        angular_velocity=np.cross((0.0, 0.0, 1.0), velocity) / radius,
        mass=1.0,
        material=material,
        **changes,
    )
    return SceneSpec((ground(material), body))


@pytest.mark.parametrize("kind", ["ball", "wheel"])
def test_what_rolls_upright_keeps_its_speed(kind):
    """At 40 rad/s, a sixth of a radian in a step."""
    on_edge = Rotation.from_euler("x", 90, degrees=True)
    shape, turn = (sphere_shape(0.1), None) if kind == "ball" else (cylinder_shape(0.1, 0.04), on_edge)
    frames = sc.Simulation(rolling(shape, 0.1, (4.0, 0.0, 0.0), turn)).run(24)
    assert frames[-1].velocities[1, 0] == pytest.approx(4.0, rel=1e-4)
    assert frames[-1].velocities[1, 4] == pytest.approx(40.0, rel=1e-4)


LOADED = ShapeSpec(
    ShapeKind.COMPOUND,
    children=(ChildSpec(sphere_shape(0.1)), ChildSpec(sphere_shape(0.06), position=np.array([0.0, 0.0, -0.03]))),
)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [pytest.param(120.0, marks=pytest.mark.long), -60.0])
def test_a_ball_with_a_low_centre_that_spins_moves_as_scipy_has_it(rate):
    """A tippe top that does not slip: it stays as upright as it began."""
    turn, material = Rotation.from_euler("y", 20.0, degrees=True), pair_material(2.0)
    properties = shape_mass_properties(LOADED, mass=1.0)
    low = -properties.center_of_mass[2]
    spin = turn.apply((0.0, 0.0, rate))
    body = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        LOADED,
        position=np.array([0.0, 0.0, 0.1]),
        orientation=quaternion(turn),
        velocity=np.cross(spin, (0.0, 0.0, 0.1)),
        angular_velocity=spin,
        mass=1.0,
        material=material,
    )
    frames = sc.Simulation(SceneSpec((ground(material), body))).run(48)
    exact = rolling_ball(2.0, turn, spin, 0.1, low, properties.inertia)[:, :, 2]
    found = np.array([to_matrix(pose[3:])[:, 2] for pose in poses(frames, 1)])
    assert degrees_between(found, exact).max() < 1.0
