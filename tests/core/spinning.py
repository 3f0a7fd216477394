# SPDX-License-Identifier: GPL-3.0-or-later
"""Tops, tippe tops and bottles that spin, and what Newton and Euler say of them, integrated to 1e-9."""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from solver_core.geometry.solids import shape_mass_properties
from solver_core.scene.parts import cone_shape, cylinder_shape, ground, pair_material, sphere_shape
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from .shapes import quaternion

G = 9.81
UP = np.array([0.0, 0.0, 1.0])
UPSIDE_DOWN = Rotation.from_euler("x", 180, degrees=True)
HEIGHT, BASE = 1.0, 0.5  # m, of a top
HEAVY_BELOW = ShapeSpec(
    ShapeKind.COMPOUND,
    children=(
        ChildSpec(sphere_shape(0.1)),
        *(3 * [ChildSpec(sphere_shape(0.05), position=np.array([0.0, 0.0, -0.045]))]),
    ),
)
LOW = -shape_mass_properties(HEAVY_BELOW, mass=1.0).center_of_mass[2]
BOTTLE, BOTTLE_LENGTH = 0.04, 0.3  # m, radius and length


def cross_matrix(w):
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def frames_of(seconds, change, begin, **settings):
    """(frames, len(begin)) at 24 frames a second."""
    frames = np.arange(round(24 * seconds) + 1) / 24.0
    settings = {"t_eval": frames, "rtol": 1e-9, "atol": 1e-11, "method": "DOP853"} | settings
    return solve_ivp(change, (0.0, frames[-1]), begin, **settings).y.T


def degrees_between(x, y):
    return np.degrees(np.arccos(np.clip((x * y).sum(axis=1), -1.0, 1.0)))


def rolling_ball(seconds, orientation, spin, radius, low, inertia, gravity=G):
    """(frames, 3, 3) orientations of a ball of mass 1 that rolls without slipping, whose centre of mass is so far below that of
    the ball along its third axis: Newton and Euler with the constraint v + w x r = 0 differentiated. A tip is a ball of radius
    0 whose centre of mass is above it."""

    def change(_, y):
        turn, w = y[:9].reshape(3, 3), y[9:]
        world, lever = turn @ inertia @ turn.T, low * turn[:, 2] - radius * UP
        fixed = low * np.cross(w, turn[:, 2])
        # I w' + w x I w = r x F, F = v' - g, v' = -w' x r - w x r'
        arm = cross_matrix(lever)
        known = -np.cross(w, world @ w) + np.cross(lever, -np.cross(w, fixed) + gravity * UP)
        return np.concatenate([(cross_matrix(w) @ turn).ravel(), np.linalg.solve(world - arm @ arm, known)])

    begin = np.concatenate([orientation.as_matrix().ravel(), spin])
    return frames_of(seconds, change, begin)[:, :9].reshape(-1, 3, 3)


def top(rate, tilt, heading=0.0, size=1.0):
    """A cone on its tip, which spins about its axis, tilted about a horizontal axis of that heading; degrees."""
    turn = Rotation.from_euler("ZY", [heading, tilt], degrees=True)
    material = pair_material(3.0)
    spin = turn.apply((0.0, 0.0, rate))
    place = turn.apply((0.0, 0.0, 0.5 * size * HEIGHT))
    body = BodySpec(
        "Top",
        BodyKind.ACTIVE,
        cone_shape(size * BASE, size * HEIGHT),
        position=place,
        orientation=quaternion(turn * UPSIDE_DOWN),
        velocity=np.cross(spin, place),
        angular_velocity=spin,
        mass=1.0,
        material=material,
    )
    return SceneSpec((ground(material), body))


def axis_of_top(rate, tilt, seconds, heading=0.0):
    """(frames, 3) as scipy has it."""
    across = 3.0 / 20.0 * BASE**2 + 3.0 / 80.0 * HEIGHT**2
    turn = Rotation.from_euler("ZY", [heading, tilt], degrees=True)
    inertia = np.diag([across, across, 0.3 * BASE**2])
    return rolling_ball(seconds, turn, turn.apply((0.0, 0.0, rate)), 0.0, -0.75 * HEIGHT, inertia)[:, :, 2]


def tippe_top(rate, tilt, mu, inertia, velocity=(0.0, 0.0)):
    """A ball with a low centre of mass that spins about the vertical, along an axis tilted by degrees; velocity: m/s, of its
    centre of mass. None for the inertia has it as its shape does."""
    turn, material, spin = Rotation.from_euler("y", tilt, degrees=True), pair_material(mu), np.array([0.0, 0.0, rate])
    body = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        HEAVY_BELOW,
        position=np.array([0.0, 0.0, 0.1]),
        orientation=quaternion(turn),
        velocity=np.array([*velocity, 0.0]) + np.cross(spin, turn.apply((0.0, 0.0, LOW))),
        angular_velocity=spin,
        mass=1.0,
        inertia=inertia,
        material=material,
    )
    return SceneSpec((ground(material), body))


def tilts_of_tippe_top(seconds, rate, tilt, mu, inertia, velocity=(0.0, 0.0), radius=0.1):
    """(frames,) degrees by which it is tilted: Newton and Euler for its centre of mass; the normal force N is what keeps the
    point on the ground, friction mu N against its velocity. Ends where it no longer slides; asserts that N is never a pull."""

    def state(y):
        """Orientation, angular velocity, its change, the speed of the contact, N, and the force per N."""
        turn, w, moving = y[:9].reshape(3, 3), y[9:12], np.append(y[12:], 0.0)
        axis, world = turn[:, 2], turn @ inertia @ turn.T
        inverse, arm = np.linalg.inv(world), LOW * axis - radius * UP
        slip = (moving + np.cross(w, arm)) * (1.0, 1.0, 0.0)
        along = UP - mu * slip / np.linalg.norm(slip)
        # the height of the centre of mass is radius - LOW axis_z; w' = inverse (N arm x along) - gyro
        gyro = inverse @ np.cross(w, world @ w)
        falls = LOW * (np.cross(w, np.cross(w, axis)) - np.cross(gyro, axis))[2]
        normal = (G - falls) / (1.0 + LOW * np.cross(inverse @ np.cross(arm, along), axis)[2])
        return turn, w, normal * inverse @ np.cross(arm, along) - gyro, np.linalg.norm(slip), normal, along

    def change(_, y):
        turn, w, faster, _, normal, along = state(y)
        return np.concatenate([(cross_matrix(w) @ turn).ravel(), faster, normal * along[:2]])

    def sticks(_, y):
        return state(y)[3] - 0.02

    sticks.terminal = True
    orientation = Rotation.from_euler("y", tilt, degrees=True).as_matrix()
    begin = np.concatenate([orientation.ravel(), (0.0, 0.0, rate), velocity])
    found = frames_of(seconds, change, begin, events=sticks)
    assert min(state(y)[4] for y in found) > 0.0
    return np.degrees(np.arccos(found[:, 8]))


def bottle(speed, rate, mu):
    """A cylinder that lies along y, comes along x and spins about the vertical."""
    material = pair_material(mu)
    lies = Rotation.from_euler("x", -90.0, degrees=True)
    body = BodySpec(
        "Bottle",
        BodyKind.ACTIVE,
        cylinder_shape(BOTTLE, BOTTLE_LENGTH),
        position=np.array([0.0, 0.0, BOTTLE]),
        orientation=quaternion(lies),
        velocity=np.array([speed, 0.0, 0.0]),
        angular_velocity=np.array([0.0, 0.0, rate]),
        mass=1.0,
        material=material,
    )
    return SceneSpec((ground(material), body))


def way_of_bottle(seconds, speed, rate, mu):
    """(frames, 3) m and rad: where it is on the ground and how far it has turned. Its ends bear what it weighs, shared so that
    they turn the angular momentum about its axis as it turns; friction at both is against their slip."""
    half, about_axis = 0.5 * BOTTLE_LENGTH, 0.5 * BOTTLE**2
    upright = (3.0 * BOTTLE**2 + BOTTLE_LENGTH**2) / 12.0

    def change(_, y):
        angle, (along, spin) = y[2], y[5:]
        axis = np.array([-np.sin(angle), np.cos(angle), 0.0])
        across, w = np.cross(UP, axis), spin * UP + along * axis
        levers = np.array([half * axis, -half * axis]) - BOTTLE * UP
        slips = [y[3:5] + np.cross(w, lever)[:2] for lever in levers]
        forces = np.array([[*(-mu * slip / np.linalg.norm(slip)), 1.0] for slip in slips])
        torques = np.cross(levers, forces)
        share = np.linalg.solve([[1.0, 1.0], torques @ across], [G, about_axis * along * spin])
        force, torque = share @ forces, share @ torques
        return np.array([*y[3:5], spin, *force[:2], torque @ axis / about_axis, torque[2] / upright])

    return frames_of(seconds, change, [0.0, 0.0, 0.0, speed, 0.0, 0.0, rate])[:, :3]
