# SPDX-License-Identifier: GPL-3.0-or-later
"""The machines of Baraff 1994, a block feeder and a double-action jack, in m, kg and s. The paper gives no dimensions."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..linalg.in_order import dot
from ..scene.joints import FREE_AXIS, LOCKED, JointSpec
from ..scene.parts import axis_angle, box, cylinder_shape, ground, pair_material
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from .flexible import still
from .jointed import X_TO_Y, Z_TO_Y

__all__ = ["block_feeder", "double_action_jack"]

AHEAD, SIDEWAYS = np.eye(3)[:2]
IRON, OAK = 7850.0, 700.0  # kg / m^3
STRONG = 100.0  # N m; torque of the motor, more than any obstacle requires


def block_feeder(
    blocks: int = 8, turns: float = 1.0, mu: float = 0.3, mu_pusher: float = 0.05, edge: float = 0.1, frames: int = 193
) -> SceneSpec:
    """A crank drives a pusher under a stack of blocks, and pushes out the lowest block once per revolution.

    turns: of the crank [1/s].
    mu_pusher: friction between the pusher and the table or the blocks; the square of the coefficient of the pusher's material.
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
        _hinge("Crank", "Table", "Wheel", hub),
        JointSpec("Motor", "Table", "Wheel", hub, X_TO_Y, linear=free, angular=(drive, FREE_AXIS, FREE_AXIS)),
        _hinge("Crank Pin", "Wheel", "Rod", pin),
        _hinge("Pusher Pin", "Rod", "Pusher", np.array([back, 0.0, hub[2]])),
        JointSpec("Guide", "Table", "Pusher", np.array(place), linear=(FREE_AXIS, LOCKED, LOCKED)),
    )
    apart = ("Wheel", "Rod"), ("Rod", "Pusher")
    return SceneSpec(tuple(bodies), frame_end=frames, joints=joints, excluded=apart)


def double_action_jack(
    load: float = 40.0, turns: float = 0.75, mu: float = 0.3, pitch: float = 0.06, teeth: int = 14, frames: int = 121
) -> SceneSpec:
    """A crank rocks a lever with two struts. The rising strut lifts a rack by one tooth, while the other one sinks by two
    teeth.

    load: mass on the rack [kg].
    turns: of the crank, each of two strokes [1/s].
    mu: friction coefficient of all surfaces.
    pitch: of the teeth [m].
    """
    wood, p = pair_material(mu), pitch
    # The pins of the struts rise and sink by 0.66 p. A stroke of 1.32 p is one tooth plus clearance to get under the next one.
    arm, handle, strut, rod, swing = 3.0 * p, 6.0 * p, 5.0 * p, 6.0 * p, 0.22
    level = 8.0 * p
    root, tip = 0.5 * p, 0.8 * p
    low = level + strut + 0.01 * p - p * (teeth - 1)
    rack = BodySpec("Rack", BodyKind.ACTIVE, _rack_shape(teeth, p, root, tip, 0.8 * p), np.array([0.0, 0.0, low]), density=OAK)
    top, edge = low + (teeth + 0.5) * p, 4.0 * p
    bodies = [
        ground(wood),
        still("Post", (0.8 * p, 0.6 * p, level + 0.4 * p), (0.0, 1.5 * p, 0.5 * level + 0.2 * p), wood),
        replace(rack, material=wood),
        box("Load", (edge, edge, edge), (0.0, 0.0, top + 0.501 * edge), wood, load),
    ]
    begin, end = np.array([-arm - 0.4 * p, 0.8 * p, level]), np.array([handle + 0.4 * p, 0.8 * p, level])
    bodies.append(_bar("Lever", begin, end, (0.4 * p, 0.5 * p), wood))
    joints = [
        JointSpec("Guide", "Post", "Rack", np.array([0.0, 0.0, low]), linear=(LOCKED, LOCKED, FREE_AXIS)),
        _hinge("Fulcrum", "Post", "Lever", np.array([0.0, 0.8 * p, level])),
    ]
    for name, side in (("Left Strut", -1.0), ("Right Strut", 1.0)):
        foot, head = np.array([side * arm, 0.0, level]), np.array([side * (root + 0.01 * p), 0.0, level + strut])
        bodies.append(_bar(name, foot, head, (0.8 * p, 0.3 * p), wood, taper=2.5 * p))
        joints.append(_hinge(f"{name} Pin", "Lever", name, foot))
    grip = np.array([handle, 1.3 * p, level])
    hub = np.array([handle - handle * swing, 1.8 * p, level - rod])
    pin = hub + handle * swing * AHEAD - 0.5 * p * SIDEWAYS
    wheel = BodySpec("Wheel", BodyKind.ACTIVE, cylinder_shape(1.3 * handle * swing, 0.4 * p), hub, Z_TO_Y, density=IRON)
    # Lifting the load takes swing times its weight on a lever arm.
    drive = replace(FREE_AXIS, motor_velocity=2.0 * math.pi * turns, motor_force=STRONG + 9.81 * load * arm)
    free = FREE_AXIS, FREE_AXIS, FREE_AXIS
    bodies += [replace(wheel, material=wood), _bar("Rod", pin, grip, (0.4 * p, 0.4 * p), wood)]
    joints += [
        _hinge("Crank", "Post", "Wheel", hub),
        JointSpec("Motor", "Post", "Wheel", hub, X_TO_Y, linear=free, angular=(drive, FREE_AXIS, FREE_AXIS)),
        _hinge("Crank Pin", "Wheel", "Rod", pin),
        _hinge("Handle Pin", "Rod", "Lever", grip),
    ]
    return SceneSpec(tuple(bodies), frame_end=frames, joints=tuple(joints))


def _bar(name: str, begin: np.ndarray, end: np.ndarray, section, material: MaterialSpec, taper: float = 0.0) -> BodySpec:
    """Return a bar of oak in the x-z plane, `section` m wide along y and across.

    At its end it narrows to an edge over `taper` m.
    """
    along = end - begin
    length, (wide, thick) = math.sqrt(dot(along, along)), section
    shoulder = 0.5 * length - taper
    profile = [(x, z) for x in (-0.5 * thick, 0.5 * thick) for z in (-0.5 * length, shoulder)]
    profile += [(0.0, 0.5 * length)] if taper else []
    shape = ShapeSpec(ShapeKind.HULL, np.array([[x, y, z] for y in (-0.5 * wide, 0.5 * wide) for x, z in profile]))
    turn = axis_angle((0.0, 1.0, 0.0), math.atan2(along[0], along[2]))
    return BodySpec(name, BodyKind.ACTIVE, shape, 0.5 * (begin + end), turn, density=OAK, material=material)


def _rack_shape(teeth: int, pitch: float, root: float, tip: float, wide: float) -> ShapeSpec:
    """Return a rack along z of the given width along y [m], with a plate on top. The teeth on both sides are flat below and
    slope above.

    root, tip: distances from the middle to the roots and tips of the teeth [m].
    """
    reach, thick = 2.0 * pitch, 0.5 * pitch
    right = [(x, k * pitch) for k in range(teeth) for x in (root, tip)]
    right += [(root, teeth * pitch), (reach, teeth * pitch), (reach, teeth * pitch + thick)]
    n = len(right)
    outline = right + [(-x, z) for x, z in right[::-1]]
    feet = [*range(0, 2 * teeth + 1, 2)]
    faces = [(2 * n - 1 - a, a, b) for a, b in pairwise(feet)] + [(2 * n - 1 - a, b, 2 * n - 1 - b) for a, b in pairwise(feet)]
    for k in feet[:-1]:
        faces += [(k, k + 1, k + 2), (2 * n - 1 - k, 2 * n - 3 - k, 2 * n - 2 - k)]
    # The plate; its lower edge contains the roots of the uppermost teeth.
    foot = feet[-1]
    faces += [(foot, foot + 1, foot + 2), (foot, foot + 2, foot + 3), (foot, foot + 3, 2 * n - 1 - foot)]
    faces += [(2 * n - 1 - foot, foot + 3, 2 * n - 2 - foot)]
    m = len(outline)
    vertices = np.array([[x, y, z] for y in (-0.5 * wide, 0.5 * wide) for x, z in outline])
    # The outline is oriented from x to z, so that its face points to -y.
    triangles = list(faces) + [(m + a, m + c, m + b) for a, b, c in faces]
    for a in range(m):
        b = (a + 1) % m
        triangles += [(a, m + b, b), (a, m + a, m + b)]
    return ShapeSpec(ShapeKind.MESH, vertices, np.array(triangles, dtype=np.int32))


def _hinge(name: str, a: str, b: str, place: np.ndarray) -> JointSpec:
    """Return a hinge about y."""
    return JointSpec(name, a, b, place, Z_TO_Y, angular=(LOCKED, LOCKED, FREE_AXIS))
