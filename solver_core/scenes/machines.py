# SPDX-License-Identifier: GPL-3.0-or-later
"""The block feeder of Baraff 1994, in m, kg and s; all numbers are ours."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..scene.joints import FREE_AXIS, LOCKED, JointSpec
from ..scene.parts import box, cylinder_shape, ground, pair_material
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec
from .flexible import still
from .jointed import X_TO_Y, Z_TO_Y

__all__ = ["block_feeder"]

AHEAD, SIDEWAYS = np.eye(3)[:2]
IRON, OAK = 7850.0, 700.0  # kg / m^3
STRONG = 100.0  # N m, of the motor: more than anything in the way asks for


def block_feeder(
    blocks: int = 8, turns: float = 1.0, mu: float = 0.3, mu_pusher: float = 0.05, edge: float = 0.1, frames: int = 193
) -> SceneSpec:
    """A crank drives a pusher under a pile of blocks, and takes the lowest out of it once a turn. turns: of the crank a second.

    mu_pusher: of the pusher against the table and the blocks, the square of which it has against itself.
    """
    wood, steel, e, level = (
        pair_material(mu),
        MaterialSpec(mu_pusher / math.sqrt(mu), mu_pusher / math.sqrt(mu)),
        edge,
        3.0 * edge,
    )
    throw, rod, length, tall = 0.75 * e, 3.0 * e, 1.5 * e, 0.9 * e
    back = -0.6 * e - length
    hub = np.array([back - rod + throw, 0.0, level + 0.5 * tall + 0.01 * e])
    rise = 1.05 * e * blocks
    bodies = [ground(wood), still("Table", (11.6 * e, 3.0 * e, level), (3.4 * e, 0.0, 0.5 * level), wood)]
    for name, x in (("Front", 0.6 * e), ("Back", -0.6 * e)):
        bodies.append(still(name, (0.1 * e, 1.2 * e, rise), (x, 0.0, level + 1.2 * e + 0.5 * rise), wood))
    for name, y in (("Left", 0.6 * e), ("Right", -0.6 * e)):
        size = 1.3 * e, 0.1 * e, rise + 1.2 * e
        bodies.append(still(name, size, (0.0, y, level + 0.5 * size[2]), wood))
    for i in range(blocks):
        place = 0.0, 0.0, level + (0.5 + 1.002 * i) * e
        bodies.append(box(f"Block {i + 1}", (e, e, e), place, wood, OAK * e**3))
    place = back + 0.5 * length, 0.0, level + 0.5 * tall + 0.01 * e
    bodies.append(box("Pusher", (length, 0.9 * e, tall), place, steel, IRON * 0.81 * e * e * length))
    wheel = BodySpec("Wheel", BodyKind.ACTIVE, cylinder_shape(1.1 * throw, 0.2 * e), hub, Z_TO_Y, density=IRON, material=steel)
    bodies.append(replace(wheel, position=hub + 0.3 * e * SIDEWAYS))
    pin = hub - throw * AHEAD
    bodies.append(box("Rod", (rod, 0.1 * e, 0.15 * e), pin + 0.5 * rod * AHEAD, steel, IRON * 0.015 * e * e * rod))
    drive = replace(FREE_AXIS, motor_velocity=2.0 * math.pi * turns, motor_force=STRONG)
    free = FREE_AXIS, FREE_AXIS, FREE_AXIS
    joints = (
        _hinge("Crank", "", "Wheel", hub),
        JointSpec("Motor", "", "Wheel", hub, X_TO_Y, linear=free, angular=(drive, FREE_AXIS, FREE_AXIS)),
        _hinge("Crank Pin", "Wheel", "Rod", pin),
        _hinge("Pusher Pin", "Rod", "Pusher", np.array([back, 0.0, hub[2]])),
        JointSpec("Guide", "", "Pusher", np.array(place), linear=(FREE_AXIS, LOCKED, LOCKED)),
    )
    apart = ("Wheel", "Rod"), ("Rod", "Pusher")
    return SceneSpec(tuple(bodies), frame_end=frames, joints=joints, excluded=apart)


def _hinge(name: str, a: str, b: str, place: np.ndarray) -> JointSpec:
    """A hinge about y."""
    return JointSpec(name, a, b, place, Z_TO_Y, angular=(LOCKED, LOCKED, FREE_AXIS))
