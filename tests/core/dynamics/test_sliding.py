# SPDX-License-Identifier: GPL-3.0-or-later
"""What slides while it spins: friction has the direction against the slip of its own moment, beside scipy and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.geometry.solids import shape_mass_properties
from solver_core.scene.parts import cylinder_shape, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec

from ..bodies import poses, to_matrix, track
from ..shapes import quaternion
from ..spinning import HEAVY_BELOW, G, bottle, tilts_of_tippe_top, tippe_top, way_of_bottle

EVEN = 0.004 * np.eye(3)
AS_SHAPED = shape_mass_properties(HEAVY_BELOW, mass=1.0).inertia


def off_in_tilt(spec, exact, **settings):
    """Degrees, the most of all frames."""
    found = poses(sc.Simulation(spec, **settings).run(len(exact) - 1), 1)
    return np.abs(np.degrees(np.arccos([to_matrix(pose[3:])[2, 2] for pose in found])) - exact).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "tilt", "mu", "inertia"),
    [
        (60.0, 40.0, 0.3, AS_SHAPED),
        *(pytest.param(*case, EVEN, marks=pytest.mark.long) for case in ((60.0, 30.0, 0.3), (-60.0, 30.0, 0.25))),
    ],
)
def test_a_tippe_top_turns_over_as_scipy_has_it(rate, tilt, mu, inertia):
    """Its point slides round: the slip turns by a quarter of a radian in a step. Half the step is a quarter of the error."""
    spec, exact = tippe_top(rate, tilt, mu, inertia), tilts_of_tippe_top(3.0, rate, tilt, mu, inertia)
    assert np.ptp(exact) > 20.0
    off = [off_in_tilt(spec, exact, substeps=substeps) for substeps in (10, 20)]
    assert off[0] < 1.0
    assert off[0] / off[1] > 3.0


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"method": "pivot"}, {"substeps": 7}])
def test_a_tippe_top_turns_over_whatever_solves_it(settings):
    spec, exact = tippe_top(60.0, 30.0, 0.3, EVEN), tilts_of_tippe_top(1.5, 60.0, 30.0, 0.3, EVEN)
    assert off_in_tilt(spec, exact, **settings) < 1.5


def test_a_mirrored_tippe_top_moves_as_the_mirror_image():
    """In the plane that it leans in; spin is an axial vector."""
    tops = tippe_top(60.0, 40.0, 0.3, EVEN, (0.3, 0.1)), tippe_top(-60.0, 40.0, 0.3, EVEN, (0.3, -0.1))
    left, right = (sc.Simulation(spec).run(12)[-1] for spec in tops)
    np.testing.assert_allclose(left.poses[1, :3] * (1.0, -1.0, 1.0), right.poses[1, :3], atol=1e-8)
    np.testing.assert_allclose(left.velocities[1] * (1.0, -1.0, 1.0, -1.0, 1.0, -1.0), right.velocities[1], atol=1e-6)


@pytest.mark.parametrize(("speed", "rate", "mu"), [(1.0, 30.0, 0.3), (0.5, -20.0, 0.15), (3.0, 40.0, 0.5)])
def test_a_spun_bottle_slides_and_turns_as_scipy_has_it(speed, rate, mu):
    exact = way_of_bottle(0.5, speed, rate, mu)
    found = poses(sc.Simulation(bottle(speed, rate, mu)).run(12), 1)
    axes = np.array([to_matrix(pose[3:])[:, 2] for pose in found])
    np.testing.assert_allclose(found[:, :2], exact[:, :2], atol=5e-4)
    np.testing.assert_allclose(np.unwrap(np.arctan2(-axes[:, 0], axes[:, 1])), exact[:, 2], atol=5e-3)


def ball(velocity, spin, mu, mu_dynamic=None, radius=0.11):
    surface = MaterialSpec(np.sqrt(mu), np.sqrt(mu if mu_dynamic is None else mu_dynamic))
    shape, place = sphere_shape(radius), np.array([0.0, 0.0, radius])
    velocity, spin = np.array([*velocity, 0.0]), np.array(spin)
    body = BodySpec("Ball", BodyKind.ACTIVE, shape, place, velocity=velocity, angular_velocity=spin, mass=7.0, material=surface)
    return SceneSpec((ground(surface), body))


@pytest.mark.parametrize(
    ("velocity", "spin"),
    [((7.0, 0.0), (0.0, 0.0, 0.0)), ((0.0, -3.0), (30.0, -10.0, 40.0)), ((7.0, 0.0), (0.0, -60.0, 0.0))],
)
def test_a_bowled_ball_rolls_with_what_sliding_leaves_of_it(velocity, spin):
    """Its angular momentum about the line that it slides on stays: v = (5 v_0 + 2 r w_0 x z) / 7, along a parabola before."""
    spec, radius = ball(velocity, spin, 0.3), 0.11
    poses_of_ball, velocities = track(sc.Simulation(spec).run(48), 1)
    ends_with = (5.0 * np.array(velocity) + 2.0 * radius * np.array([spin[1], -spin[0]])) / 7.0
    np.testing.assert_allclose(velocities[-1, :2], ends_with, atol=2e-3)
    slip = np.array(velocity) - radius * np.array([spin[1], -spin[0]])
    slides = 2.0 * np.linalg.norm(slip) / (7.0 * 0.3 * G)
    assert slides < 2.0
    way = np.array(velocity) * slides - 0.5 * 0.3 * G * slides**2 * slip / np.linalg.norm(slip) + ends_with * (2.0 - slides)
    np.testing.assert_allclose(poses_of_ball[-1, :2], way, atol=2e-3)


def energies(spec, frames):
    """(frames,) J of the kinetic energy of body 1, and of its weight."""
    properties, found = shape_mass_properties(spec.bodies[1].shape, mass=spec.bodies[1].mass), []
    for frame in frames:
        turn, twist = to_matrix(frame.poses[1, 3:]), frame.velocities[1]
        local, arm = turn.T @ twist[3:], turn @ properties.center_of_mass
        centre = twist[:3] + np.cross(twist[3:], arm)
        height = frame.poses[1, 2] + arm[2]
        found.append(0.5 * centre @ centre + 0.5 * local @ properties.inertia @ local + G * height)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_what_slides_and_spins_gains_no_energy(seed):
    """Wheels, coins and loaded balls, thrown onto the ground; between frames velocities are those of the middle of a step."""
    random = np.random.default_rng(seed)
    shape = (cylinder_shape(0.1, 0.02), cylinder_shape(0.05, 0.3), HEAVY_BELOW)[seed % 3]
    material = pair_material(float(random.choice([0.05, 0.2, 0.5, 1.0])))
    spin, way = 30.0 * random.normal(size=3), np.append(random.normal(size=2), 0.0)
    turn = quaternion(Rotation.from_rotvec(random.normal(size=3)))
    place = np.array([0.0, 0.0, 0.2])
    thrown = {"velocity": way, "angular_velocity": spin, "mass": 1.0, "material": material}
    spec = SceneSpec((ground(material), BodySpec("Thrown", BodyKind.ACTIVE, shape, place, turn, **thrown)))
    found = energies(spec, sc.Simulation(spec).run(48))
    assert found[-1] < 0.95 * found[0]
    assert (found - np.minimum.accumulate(found)).max() < 5e-3 * found[0]


def test_what_spins_in_place_goes_on_as_long_as_friction_lets_it():
    """A rod of two balls that spins about its middle: its ends slide round, and stop when its energy is gone."""
    spec = bottle(0.0, 30.0, 0.2)
    upright = (3.0 * 0.04**2 + 0.3**2) / 12.0
    slower = 0.2 * G * 0.15 / upright
    found = track(sc.Simulation(spec).run(36), 1)[1][:, 5]
    np.testing.assert_allclose(found, np.maximum(0.0, 30.0 - slower * np.arange(37) / 24.0), atol=0.11)
