# SPDX-License-Identifier: GPL-3.0-or-later
"""Motion control as in Faure 1996: an acceleration is prescribed, and the force or torque that it takes is given back.

A body's acceleration is that of an animated one that it is joined to, a joint's is that of its motor's speed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointChange, JointSpec
from solver_core.scene.parts import box, ground
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..bodies import box_inertia

G, FPS, FRAMES = 9.81, 24.0, 24
SMOOTH = MaterialSpec(0.5, 0.5)
LOCKS = (LOCKED, LOCKED, LOCKED)
SECONDS = np.arange(FRAMES + 1) / FPS
METHODS = "staggered", "pivot", pytest.param("energy", marks=pytest.mark.long)


def hand(path):
    """An animated body without a face that could touch, which goes along a path (frames, 7)."""
    corner = ShapeSpec(ShapeKind.HULL, np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) * 0.01)
    return BodySpec("Hand", BodyKind.ANIMATED, corner, position=path[0, :3], orientation=path[0, 3:], path=path, collections=2)


def reactions(bodies, joint, method, gravity=G):
    spec = SceneSpec(
        tuple(bodies), gravity=np.array([0.0, 0.0, -gravity]), fps=FPS, frame_start=0, frame_end=FRAMES, joints=(joint,)
    )
    frames = sc.Simulation(spec, method=method, sleeping=False).run(FRAMES)
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames[1:])
    return np.array([frame.reactions[0] for frame in frames[1:]])


@pytest.mark.parametrize("method", METHODS)
def test_a_hand_that_speeds_up_feels_weight_and_inertia_of_what_it_carries(method):
    """F = m (g + a) and, about the joint, r x F; the hand is let in at the speed that the carried body begins with."""
    acceleration, speed, arm = np.array([2.0, 0.0, 3.0]), np.array([-1.0, 0.0, 0.5]), np.array([0.3, 0.0, 0.0])
    path = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (FRAMES + 1, 1))
    path[:, :3] = SECONDS[:, None] * speed + 0.5 * SECONDS[:, None] ** 2 * acceleration
    load = box("Load", (0.2, 0.2, 0.2), arm, SMOOTH, 4.0, velocity=speed)
    found = reactions([hand(path), load], JointSpec("Grip", "Hand", "Load"), method)
    force = 4.0 * (acceleration + np.array([0.0, 0.0, G]))
    # a path knows its acceleration from the second frame on, and to the last but one
    np.testing.assert_allclose(found[2:-2, :3], np.tile(force, (FRAMES - 4, 1)), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[2:-2, 3:], np.tile(np.cross(arm, force), (FRAMES - 4, 1)), rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_hand_that_pushes_a_crate_faster_and_faster_feels_its_inertia_and_its_friction(method):
    """F = m a + mu m g, where the hand leaves the crate its weight."""
    mass, acceleration, mu = 3.0, 1.5, 0.25
    path = np.tile([-0.5, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0], (FRAMES + 1, 1))
    path[:, 0] += 0.5 * SECONDS + 0.5 * acceleration * SECONDS**2
    crate = box("Crate", (0.2, 0.2, 0.2), (0.0, 0.0, 0.1), SMOOTH, mass, velocity=(0.5, 0.0, 0.0))
    # pushed where it slides, so that nothing turns it
    push = JointSpec("Push", "Hand", "Crate", linear=(LOCKED, FREE_AXIS, FREE_AXIS), angular=(FREE_AXIS,) * 3)
    found = reactions([ground(SMOOTH), hand(path), crate], push, method)
    np.testing.assert_allclose(found[3:-2, 0], mass * (acceleration + mu * G), rtol=1e-4)
    np.testing.assert_allclose(found[3:-2, 1:3], 0.0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_motor_that_speeds_up_gives_the_torque_of_the_wheel_that_it_turns(method):
    """Its speed is keyed: tau = I alpha in every frame, whatever the motor could give, and no more than that."""
    size, mass, alpha, most = (0.4, 0.3, 0.1), 2.0, 5.0, 0.25
    inertia = box_inertia(size, mass)[2, 2]

    def about_z(frame):
        # faster and faster for half of the film, then at once as fast as it cannot become
        speed = alpha * frame / FPS if frame <= FRAMES // 2 else 100.0
        return LOCKED, LOCKED, AxisSpec(motor_velocity=speed, motor_force=most)

    changes = tuple(JointChange(k, LOCKS, about_z(k)) for k in range(1, FRAMES + 1))
    axle = JointSpec("Axle", "", "Wheel", angular=about_z(0), changes=changes)
    found = reactions([box("Wheel", size, (0.0, 0.0, 0.0), SMOOTH, mass)], axle, method)
    half = FRAMES // 2
    assert inertia * alpha < most
    np.testing.assert_allclose(found[:half, 5], inertia * alpha, rtol=1e-6)
    np.testing.assert_allclose(found[half:, 5], most, rtol=1e-6)
    np.testing.assert_allclose(found[1:, :3], np.tile([0.0, 0.0, mass * G], (FRAMES - 1, 1)), rtol=1e-6, atol=1e-6)


def test_a_body_that_is_turned_as_prescribed_gives_back_torque_and_centripetal_force():
    """Turned about an axis beside it with alpha t: tau = (I + m r^2) alpha, F = m (alpha x r - omega^2 r), in the middle."""
    size, mass, alpha, omega, radius = (0.2, 0.1, 0.3), 1.5, 1.2, 0.4, 0.5
    angle = omega * SECONDS + 0.5 * alpha * SECONDS**2
    path = np.zeros((FRAMES + 1, 7))
    path[:, 3:] = Rotation.from_rotvec(angle[:, None] * [0.0, 0.0, 1.0]).as_quat(scalar_first=True)
    arm = box("Arm", size, (radius, 0.0, 0.0), SMOOTH, mass, velocity=(0.0, omega * radius, 0.0))
    arm = replace(arm, angular_velocity=np.array([0.0, 0.0, omega]))
    found = reactions([hand(path), arm], JointSpec("Grip", "Hand", "Arm"), "staggered", gravity=0.0)[3:-2]
    torque = (box_inertia(size, mass)[2, 2] + mass * radius**2) * alpha
    np.testing.assert_allclose(found[:, 5], torque, rtol=1e-3)
    middle = (np.arange(FRAMES) + 0.5)[3:-2] / FPS
    outward = np.linalg.norm(found[:, :3], axis=1)
    expected = mass * radius * np.hypot(alpha, (omega + alpha * middle) ** 2)
    np.testing.assert_allclose(outward, expected, rtol=3e-3)
