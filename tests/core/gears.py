# SPDX-License-Identifier: GPL-3.0-or-later
"""Spur gears in a row that a motor turns: involute teeth, as engineers draw them."""

from __future__ import annotations

import numpy as np

from solver_core.scene.joints import FREE_AXIS, LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import pair_material
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, SceneSpec, ShapeKind, ShapeSpec

from .meshes import between_rings, triangulated

TEETH, MODULE, THICKNESS, HOLE = 18, 0.01, 0.03, 0.03
PITCH_RADIUS, ROOT = 0.5 * TEETH * MODULE, (0.5 * TEETH - 1.25) * MODULE
APART = 2.0 * PITCH_RADIUS
A_TOOTH = 2.0 * np.pi / TEETH


def around(radius, angle):
    """(n, 2) points."""
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def teeth(backlash):
    """(teeth, 10, 2) m, the corners of each tooth, counter-clockwise, the first along x; 20 degrees of pressure angle. Each is
    thinner by half the backlash, in m along the pitch circle, than what fills a gap."""
    base = PITCH_RADIUS * np.cos(np.radians(20.0))

    def involute(radius):
        return np.sqrt((radius / base) ** 2 - 1.0) - np.arccos(base / radius)

    radii = np.linspace(base, PITCH_RADIUS + MODULE, 4)
    half = 0.25 * A_TOOTH - 0.25 * backlash / PITCH_RADIUS + involute(PITCH_RADIUS) - involute(radii)
    radii, half = np.append(ROOT, radii), np.append(half[0], half)
    tooth = around(np.concatenate([radii, radii[::-1]]), np.concatenate([-half, half[::-1]]))
    turns = A_TOOTH * np.arange(TEETH)
    return np.array([tooth @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]]) for a in turns])


def at_height(outline, z):
    return np.column_stack([outline, np.full(len(outline), z)])


def meshed(backlash):
    """A closed concave mesh with a hole about its axis, z."""
    outer = teeth(backlash).reshape(-1, 2)
    inner = HOLE * outer / np.linalg.norm(outer, axis=1, keepdims=True)
    half = 0.5 * THICKNESS
    rings = np.array([at_height(outer, -half), at_height(outer, half), at_height(inner, half), at_height(inner, -half)])
    quads = between_rings(rings, len(rings))
    return ShapeSpec(ShapeKind.MESH, rings.reshape(-1, 3), triangulated(quads))


def of_hulls(backlash):
    """A compound of a hull for the body of the gear and one for each tooth."""
    parts = [around(np.full(2 * TEETH, ROOT), 0.5 * A_TOOTH * np.arange(2 * TEETH)), *teeth(backlash)]
    half = 0.5 * THICKNESS
    prisms = [np.concatenate([at_height(part, -half), at_height(part, half)]) for part in parts]
    return ShapeSpec(ShapeKind.COMPOUND, children=tuple(ChildSpec(ShapeSpec(ShapeKind.HULL, prism)) for prism in prisms))


def in_a_row(shape, count, rate, torque=50.0, drag=0.0, zigzag=0.0, mu=0.3):
    """A scene of gears on axles in the world, teeth in gaps; a motor turns the first at a rate in rad/s with a torque in N m, a
    damper of drag in N m s/rad holds the last. zigzag: rad, by how much their row turns left and right."""
    material = pair_material(mu)
    bodies, joints, place, turned = [], [], np.zeros(3), 0.0
    for i in range(count):
        if i:
            heading = zigzag * (-1) ** i
            place = place + APART * np.array([np.cos(heading), np.sin(heading), 0.0])
            # it turns the other way: as far past a tooth as the one before is, seen along the line of centres, it is past a gap
            turned = heading + np.pi + (heading - turned) + 0.5 * A_TOOTH
        turn = np.array([np.cos(0.5 * turned), 0.0, 0.0, np.sin(0.5 * turned)])
        bodies.append(BodySpec(f"Gear {i}", BodyKind.ACTIVE, shape, place, turn, mass=1.0, material=material))
        about = AxisSpec(motor_velocity=rate, motor_force=torque) if i == 0 else FREE_AXIS
        about = AxisSpec(damping=drag) if drag and i == count - 1 else about
        joints.append(JointSpec(f"Axle {i}", "", f"Gear {i}", place, angular=(LOCKED, LOCKED, about)))
    return SceneSpec(tuple(bodies), joints=tuple(joints))
