# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated motion without contact obeys mechanics, and comes as frames of steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.dynamics.model.violations import Violation
from solver_core.dynamics.motion.rotation import matrices
from solver_core.scene.parts import axis_angle, box_shape, ground
from solver_core.scene.spec import BodyKind, BodySpec, ContactMethod, ShapeSpec, SolverSettings, Staggering

from ..bodies import body, box_inertia, material, run, scene, spin, track

GRAVITY = 9.81
FRAME = 1.0 / 24.0
NO_GRAVITY = np.zeros(3)


# --- free motion


@pytest.mark.parametrize("substeps", [1, 4])
def test_a_thrown_body_flies_a_parabola(substeps):
    start, throw = (0.0, 0.0, 5.0), (3.0, -1.0, 4.0)
    poses, velocities = track(run(scene(body(position=start, velocity=throw)), 24, substeps=substeps))
    t = FRAME * np.arange(25)[:, None]
    gravity = np.array([0.0, 0.0, -GRAVITY])
    np.testing.assert_allclose(poses[:, :3], start + t * throw + 0.5 * t**2 * gravity, atol=1e-12)
    np.testing.assert_allclose(poses[:, 3:], np.tile([1.0, 0.0, 0.0, 0.0], (25, 1)), atol=1e-15)
    assert abs(velocities[-1, :3] - (np.array(throw) + gravity)).max() <= 0.5 * GRAVITY * FRAME / substeps + 1e-12


def test_without_gravity_a_body_goes_straight_on():
    poses, velocities = track(run(scene(body(velocity=(1.0, 2.0, -3.0)), gravity=NO_GRAVITY), 24))
    np.testing.assert_allclose(poses[:, :3], FRAME * np.arange(25)[:, None] * [1.0, 2.0, -3.0], atol=1e-13)
    np.testing.assert_allclose(velocities[:, :3], np.tile([1.0, 2.0, -3.0], (25, 1)), atol=1e-14)


TUMBLING = {"size": (0.4, 0.2, 0.05), "mass": 2.0}


def tumble(substeps, frames=24):
    spec = scene(body(**TUMBLING, angular_velocity=(0.4, 9.0, 0.3)), gravity=NO_GRAVITY)
    return track(run(spec, frames, substeps=substeps))


def tumbled_orientation(time):
    """Euler's equations and the quaternion's, integrated by an outside solver; the intermediate axis tips over."""
    inertia = box_inertia(**TUMBLING)

    def rate(_, state):
        q, w = state[:4], state[4:]
        body_rate = np.linalg.solve(inertia, np.cross(inertia @ w, w))
        return [
            -0.5 * q[1:] @ w,
            *(0.5 * (q[0] * w + np.cross(q[1:], w))),
            *body_rate,
        ]

    found = solve_ivp(rate, (0.0, time), [1.0, 0.0, 0.0, 0.0, 0.4, 9.0, 0.3], rtol=1e-11, atol=1e-12)
    return found.y[:4, -1]


def test_a_tumbling_body_keeps_its_angular_momentum_to_the_last_bits():
    poses, velocities = tumble(4, frames=48)
    inertia = box_inertia(**TUMBLING)
    first = inertia @ [0.4, 9.0, 0.3]
    # what is handed out belongs to the middle of a step: momentum is constant there, energy nearly
    momenta = np.array([spin(p, v, inertia)[0] for p, v in zip(poses, velocities, strict=True)])
    assert np.ptp(np.linalg.norm(poses[:, 3:], axis=1)) <= 1e-14
    np.testing.assert_allclose(momenta, np.tile(first, (49, 1)), atol=1e-12 * np.linalg.norm(first))


@pytest.mark.long
def test_the_orientation_of_a_tumbling_body_is_of_second_order():
    truth = tumbled_orientation(1.0)
    errors = []
    for substeps in (8, 16, 32):
        q = tumble(substeps)[0][-1, 3:]
        errors.append(min(abs(q - truth).max(), abs(q + truth).max()))
    assert errors[2] <= 2e-2
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.25)


@pytest.mark.slow
def test_the_energy_of_a_tumbling_body_is_of_second_order():
    inertia = box_inertia(**TUMBLING)
    drift = []
    for substeps in (8, 16, 32):
        poses, velocities = tumble(substeps, frames=24)
        energy = np.array([spin(p, v, inertia)[1] for p, v in zip(poses, velocities, strict=True)])
        drift.append(np.ptp(energy[1:]) / energy[0])
    assert drift[0] <= 0.05
    assert drift[0] / drift[1] >= 3.0
    assert drift[1] / drift[2] >= 3.0


PENCIL, RULER, STICK = (0.007, 0.007, 0.18), (0.03, 0.001, 0.3), (0.02, 0.02, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("size", [PENCIL, RULER, STICK], ids=["pencil", "ruler", "stick"])
@pytest.mark.parametrize(
    ("rate", "substeps"), [((8.0, 2.0, 50.0), 4), ((15.0, 0.0, 10.0), 10), ((5.0, 1.0, 100.0), 4)], ids=str
)
def test_a_slender_body_that_tumbles_and_spins_gets_no_energy_from_nowhere(size, rate, substeps):
    """Its spin is a small part of its angular momentum divided by a very small moment: what errs there is multiplied."""
    inertia = box_inertia(size=size, mass=1.0)
    poses, velocities = track(
        run(scene(body(size=size, mass=1.0, angular_velocity=rate), gravity=NO_GRAVITY), 48, substeps=substeps)
    )
    energy = np.array([spin(p, v, inertia)[1] for p, v in zip(poses, velocities, strict=True)])
    np.testing.assert_allclose(energy, energy[0], rtol=0.05)


def test_a_symmetric_top_precesses_exactly_whatever_the_step():
    """About L at the rate |L| / I_1, however fast it spins about its own axis."""
    inertia, rate = box_inertia(size=STICK, mass=1.0), np.array([3.0, 0.0, 400.0])
    momentum = inertia @ rate
    poses, _ = track(run(scene(body(size=STICK, mass=1.0, angular_velocity=tuple(rate)), gravity=NO_GRAVITY), 24, substeps=2))
    about, speed = momentum / np.linalg.norm(momentum), np.linalg.norm(momentum) / inertia[0, 0]
    for frame, pose in enumerate(poses):
        axis = matrices(pose[None, 3:])[0][:, 2]
        expected = matrices(axis_angle(about, speed * frame * FRAME)[None])[0][:, 2]
        np.testing.assert_allclose(axis, expected, atol=1e-9)


def test_a_spinning_top_about_a_principal_axis_keeps_it():
    poses, velocities = track(run(scene(body(size=(0.4, 0.2, 0.05), angular_velocity=(0.0, 0.0, 7.0)), gravity=NO_GRAVITY), 24))
    np.testing.assert_allclose(velocities[:, 3:], np.tile([0.0, 0.0, 7.0], (25, 1)), atol=1e-11)
    assert abs(poses[-1, 3:] @ axis_angle((0.0, 0.0, 1.0), 7.0)) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize(("linear", "angular", "substeps"), [(0.04, 0.1, 2), (0.5, 0.9, 20), (0.0, 0.3, 2)])
def test_damping_takes_its_fraction_in_a_second_whatever_the_step(linear, angular, substeps):
    spec = scene(
        body(velocity=(2.0, 0.0, 0.0), angular_velocity=(0.0, 0.0, 3.0), linear_damping=linear, angular_damping=angular),
        gravity=NO_GRAVITY,
    )
    _, velocities = track(run(spec, 48, substeps=substeps))
    for axis, fraction, first in ((0, linear, 2.0), (5, angular, 3.0)):
        assert velocities[48, axis] == pytest.approx(velocities[24, axis] * (1.0 - fraction), rel=1e-9)
        # the velocity at a frame is that of the middle of the last step
        half_step = 0.5 * FRAME / substeps
        assert velocities[24, axis] == pytest.approx(first * (1.0 - fraction) ** (1.0 - half_step), rel=1e-9)


def test_full_damping_stops_a_body():
    spec = scene(body(velocity=(2.0, 0.0, 0.0), linear_damping=1.0, angular_damping=1.0), gravity=NO_GRAVITY)
    _, velocities = track(run(spec, 2))
    assert not velocities[-1].any()


@pytest.mark.parametrize("axis", range(3))
def test_locked_axes_stay_where_they_are(axis):
    """Pushed, turned, dropped on the ground and hit by another box: what is locked does not change."""
    linear, angular = np.ones(3), np.ones(3)
    linear[axis], angular[(axis + 1) % 3] = 0.0, 0.0
    locked = body(
        position=(0.0, 0.0, 0.25),
        velocity=(0.5, 0.4, 0.3),
        angular_velocity=(1.0, 2.0, 3.0),
        linear_factor=linear,
        angular_factor=angular,
        material=material(),
    )
    other = body("Other", position=(0.35, 0.02, 0.2), velocity=(-3.0, 0.0, 0.0), material=material())
    frames = run(scene(ground(material()), locked, other), 24, substeps=5)
    poses, velocities = track(frames, 1)
    assert (poses[:, axis] == poses[0, axis]).all()
    assert not velocities[1:, axis].any()
    np.testing.assert_allclose(velocities[1:, 3 + (axis + 1) % 3], 0.0, atol=1e-14)
    assert np.ptp(poses[:, (axis + 1) % 3]) > 1e-3


def test_a_centre_of_mass_beside_the_origin_flies_the_parabola():
    """A box whose mesh lies one metre beside its origin: the centre falls, the origin circles around it."""
    shape = box_shape((0.2, 0.2, 0.2))
    offset = ShapeSpec(shape.kind, shape.vertices + np.array([1.0, 0.0, 0.0]), shape.triangles)
    spin_rate = 2.0
    spec = scene(BodySpec("Box", BodyKind.ACTIVE, offset, mass=1.0, angular_velocity=np.array([0.0, 0.0, spin_rate])))
    poses, _ = track(run(spec, 24))
    angle, t = spin_rate * FRAME * np.arange(25), FRAME * np.arange(25)
    centre = poses[:, :3] + np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    # the origin stands still at first, so the centre, one metre beside it, moves across with 2 m/s
    np.testing.assert_allclose(centre, np.column_stack([np.ones(25), 2.0 * t, -0.5 * GRAVITY * t**2]), atol=1e-10)


# --- the stepper


def test_frames_come_with_their_numbers_and_one_entry_a_step():
    spec = dataclasses.replace(sc.scenes.slope(), frame_start=10, frame_end=14)
    frames = sc.Simulation(spec, substeps=3).run()
    assert [f.frame for f in frames] == [10, 11, 12, 13, 14]
    assert frames[0].statistics.status.shape == (0,)
    for frame in frames[1:]:
        for field in dataclasses.fields(frame.statistics):
            wide = {"found": (3, len(sc.Found)), "violations": (3, len(Violation)), "violating_pairs": (3, len(Violation), 2)}
            shape = wide.get(field.name, (3, 2) if field.name.endswith("_pair") else (3,))
            assert getattr(frame.statistics, field.name).shape == shape
        assert frame.poses.shape == (2, 7)
        assert frame.velocities.shape == (2, 6)
        assert (frame.statistics.seconds > 0.0).all()


def test_the_first_frame_is_the_scene_as_it_was_given():
    spec = scene(body(position=(1.0, 2.0, 3.0), velocity=(0.1, 0.2, 0.3), angular_velocity=(1.0, 0.0, 2.0)))
    frame = sc.Simulation(spec).first_frame()
    np.testing.assert_allclose(frame.poses[0], [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(frame.velocities[0], [0.1, 0.2, 0.3, 1.0, 0.0, 2.0], atol=1e-14)


@pytest.mark.slow
def test_time_scale_and_frame_rate_both_set_how_long_a_frame_is():
    fall = {}
    for name, changes, settings in (
        ("plain", {}, {}),
        ("slow motion", {"time_scale": 0.5}, {}),
        ("scene's rate", {"fps": 48.0}, {}),
        ("asked rate", {}, {"fps": 48.0}),
    ):
        fall[name] = -run(scene(body(), **changes), 12, **settings)[-1].poses[0, 2]
    assert fall["plain"] == pytest.approx(0.5 * GRAVITY * 0.25)
    for name in ("slow motion", "scene's rate", "asked rate"):
        assert fall[name] == pytest.approx(0.25 * fall["plain"])


def test_an_animated_body_is_where_its_path_has_it():
    frames = 7
    path = np.zeros((frames, 7))
    path[:, :3] = np.random.default_rng(0).normal(size=(frames, 3))
    path[:, 3:] = Rotation.random(frames, random_state=0).as_quat()[:, [3, 0, 1, 2]]
    moved = BodySpec("Hand", BodyKind.ANIMATED, box_shape((0.1, 0.1, 0.1)), path=path)
    spec = scene(moved, body(position=(50.0, 0.0, 0.0)), frame_end=frames)
    poses, _ = track(sc.Simulation(spec).run())
    np.testing.assert_allclose(poses[:, :3], path[:, :3], atol=1e-12)
    sign = np.sign((poses[:, 3:] * path[:, 3:]).sum(axis=1))[:, None]
    np.testing.assert_allclose(sign * poses[:, 3:], path[:, 3:], atol=1e-12)


@pytest.mark.slow
def test_a_pusher_pushes():
    """An animated block moves a box along in front of it at its own speed."""
    frames, speed = 25, 0.5
    path = np.tile([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0], (frames, 1))
    path[:, 0] = speed * FRAME * np.arange(frames)
    pusher = BodySpec("Pusher", BodyKind.ANIMATED, box_shape((0.2, 0.2, 0.2)), material=material(), path=path)
    spec = scene(ground(material()), pusher, body(position=(0.25, 0.0, 0.1), material=material()), frame_end=frames)
    poses, velocities = track(run(spec, frames - 1), 2)
    assert velocities[-1, 0] == pytest.approx(speed, rel=1e-6)
    assert poses[-1, 0] == pytest.approx(path[-1, 0] + 0.2, abs=1e-4)


def test_a_bad_method_is_refused():
    with pytest.raises(ValueError, match=r"method\b.*staggered.*'magic'"):
        sc.Simulation(sc.scenes.slope(), method="magic")


def test_settings_are_given_whole_or_one_by_one():
    settings = SolverSettings(substeps=4, staggering=Staggering.PLAIN)
    changed = sc.Simulation(sc.scenes.slope(), settings, tolerance=1e-4, method="pivot").settings
    assert changed == SolverSettings(ContactMethod.PIVOT, 1e-4, substeps=4, staggering=Staggering.PLAIN)
    assert sc.Simulation(sc.scenes.slope()).settings == SolverSettings()


def test_a_setting_that_does_not_exist_is_named():
    with pytest.raises(TypeError, match="'crowd_tolerance' is no setting: it is called moving_tolerance now"):
        sc.Simulation(sc.scenes.slope(), crowd_tolerance=1e-3)
    with pytest.raises(TypeError, match="'substep' is no setting; there are method, tolerance"):
        sc.Simulation(sc.scenes.slope(), substep=4)
