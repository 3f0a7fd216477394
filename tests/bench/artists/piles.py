# SPDX-License-Identifier: GPL-3.0-or-later
"""Piles: planks, mixed shapes in a bowl, cubes in a drum that turns, machine parts in a box."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

from ...core.meshes import angle_bracket, torus, triangulated
from ..heap_scenes import FPS, chunk, mesh

__all__ = ["drum", "hardware", "mixed", "planks"]

Floats = NDArray[np.float64]
Surface = tuple[Floats, NDArray[np.int32]]

PLANKS_SEED, MIXED_SEED, DRUM_SEED, HARDWARE_SEED = 6, 3, 7, 8
AROUND = 32  # faces around an axis
DRUM_SPEED = 1.5  # rad/s
PADDLES = 4


def planks(count: int) -> SceneSpec:
    """Planks at random turns that fall into a pile on the ground."""
    random = np.random.default_rng(PLANKS_SEED)
    shape, bodies = parts.box_shape((0.3, 0.2, 0.03)), [parts.ground(parts.pair_material(0.5))]
    for i, place in enumerate(grid(count, max(2, round(0.75 * count ** (1 / 3))), 0.38, 0.25)):
        leaning = np.concatenate([[1.0], 0.5 * random.normal(size=3)])
        tilt = Rotation.from_quat(leaning, scalar_first=True)
        turn = tilt * Rotation.from_euler("z", random.uniform(0.0, 2.0 * math.pi))
        bodies.append(solid(f"Plank {i}", shape, place, turn, 1.0))
    return SceneSpec(tuple(bodies), fps=FPS)


def mixed(count: int) -> SceneSpec:
    """Boxes, cylinders, hulls, capsules, rings and brackets dropped into a bowl."""
    random = np.random.default_rng(MIXED_SEED)
    kinds = [
        parts.box_shape((0.2, 0.16, 0.12)),
        parts.cylinder_shape(0.09, 0.18),
        chunk(random, 0.26),
        capsule_shape(0.06, 0.14),
        mesh(torus(0.085, 0.035, 16, 8)),
        mesh(angle_bracket(), 0.06),
    ]
    radius = 0.36 * count ** (1 / 3)
    angles = np.linspace(0.02, 0.5 * math.pi, 10)
    bowl = swept(np.column_stack([radius * np.sin(angles), radius * (1.0 - np.cos(angles))]), inward=True)
    bodies = [solid("Bowl", mesh(bowl), (0.0, 0.0, 0.0)), low_ground(-0.05)]
    for i, place in enumerate(grid(count, max(2, round(0.8 * count ** (1 / 3))), 0.34, radius)):
        turn = Rotation.random(rng=random)
        bodies.append(solid(f"Thing {i}", kinds[i % len(kinds)], place, turn, random.uniform(0.5, 2.5)))
    return SceneSpec(tuple(bodies), fps=FPS)


def drum(count: int, frames: int = 3 * FPS + 1) -> SceneSpec:
    """Cubes in a drum with paddles, an animated mesh that turns about the y axis."""
    radius, depth = 0.133 * count ** (1 / 3), 0.154 * count ** (1 / 3)
    wall = swept(np.array([(0.01, -0.5), (1.0, -0.5), (1.0, 0.5), (0.01, 0.5)]) * [radius, depth], inward=True)
    points, triangles = wall[0], [wall[1]]
    for k in range(PADDLES):
        angle = 2.0 * math.pi * k / PADDLES
        edges = product((radius, 0.75 * radius), (-0.5 * depth, 0.5 * depth))
        corners = [(r * math.cos(angle), r * math.sin(angle), z) for r, z in edges]
        triangles.append(len(points) + np.array([(0, 1, 3), (0, 3, 2)], dtype=np.int32))
        points = np.concatenate([points, corners])
    upright = Rotation.from_euler("x", -90.0, degrees=True)
    turns = Rotation.from_rotvec(np.outer(DRUM_SPEED * np.arange(frames) / FPS, [0.0, 1.0, 0.0]))
    path = np.hstack([np.zeros((frames, 3)), turns.as_quat(scalar_first=True)])
    shape = mesh((upright.apply(points), np.concatenate(triangles)))
    bodies = [BodySpec("Drum", BodyKind.ANIMATED, shape, path=path, material=parts.pair_material(0.5))]
    random, step, cube = np.random.default_rng(DRUM_SEED), 0.155, parts.box_shape((0.09, 0.09, 0.09))
    across, along = np.arange(-radius, radius, step), np.arange(-0.5 * depth + 0.12, 0.5 * depth - 0.11, step)
    free = [(x, y, z) for z, x, y in product(across, across, along) if math.hypot(x, z) < 0.75 * radius - 0.09]
    bodies += [solid(f"Cube {i}", cube, place, Rotation.random(rng=random), 0.7) for i, place in enumerate(free[:count])]
    return SceneSpec(tuple(bodies), fps=FPS, frame_end=frames)


def hardware(count: int) -> SceneSpec:
    """Gears, bolts and brackets, closed concave meshes, dropped into a box."""
    random = np.random.default_rng(HARDWARE_SEED)
    kinds = [mesh(gear()), mesh(hexagonal_bolt()), mesh(angle_bracket(), 0.05)]
    bodies = [parts.ground(parts.pair_material(0.4))]
    for i, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        size = (0.1, 1.2, 0.6) if x else (1.0, 0.1, 0.6)
        bodies.append(solid(f"Side {i}", parts.box_shape(size), (0.55 * x, 0.55 * y, 0.3)))
    for i in range(count):
        place = 0.25 * (i % 4 - 1.5), 0.25 * (i // 4 % 4 - 1.5), 0.2 + 0.26 * (i // 16)
        bodies.append(solid(f"Part {i}", kinds[i % 3], place, Rotation.random(rng=random), 1.0))
    return SceneSpec(tuple(bodies), fps=FPS)


def solid(name: str, shape: ShapeSpec, place, turn: Rotation | None = None, mass: float | None = None) -> BodySpec:
    """An active body, or a passive one without a mass; friction of a pair 0.5."""
    kind = BodyKind.PASSIVE if mass is None else BodyKind.ACTIVE
    orientation = (turn or Rotation.identity()).as_quat(scalar_first=True)
    material = parts.pair_material(0.5)
    return BodySpec(name, kind, shape, np.array(place, dtype=float), orientation, mass=mass, material=material)


def low_ground(height: float) -> BodySpec:
    """The ground at a height, m."""
    base = parts.ground(parts.pair_material(0.5))
    return BodySpec(base.name, base.kind, base.shape, np.array([0.0, 0.0, height]), material=base.material)


def capsule_shape(radius: float, height: float) -> ShapeSpec:
    """A capsule along z of a radius, with a distance between the centers of its ends, m."""
    return ShapeSpec(ShapeKind.HULL, np.array([[0.0, 0.0, -0.5 * height], [0.0, 0.0, 0.5 * height]]), margin=radius)


def grid(count: int, side: int, step: float, height: float) -> Floats:
    """(count, 3) m: layers of side x side places above a height, about the z axis."""
    layer, place = np.divmod(np.arange(count), side * side)
    y, x = np.divmod(place, side)
    return np.column_stack([step * (x - 0.5 * (side - 1)), step * (y - 0.5 * (side - 1)), height + step * layer])


def swept(profile: Floats, *, inward: bool) -> Surface:
    """The open surface that a profile (n, 2) of radius and height in m sweeps about the z axis.

    The normals of a profile that rises along the outside point outward; `inward` turns them.
    """
    angles = 2.0 * math.pi * np.arange(AROUND) / AROUND
    rings = np.stack([np.outer(profile[:, 0], np.cos(angles)), np.outer(profile[:, 0], np.sin(angles))], axis=-1)
    points = np.concatenate([rings, np.broadcast_to(profile[:, 1, None, None], (*rings.shape[:2], 1))], axis=-1)
    return points.reshape(-1, 3), triangulated(strips(len(profile) - 1)[:, ::-1] if inward else strips(len(profile) - 1))


def strips(count: int, rings: int | None = None) -> NDArray[np.int64]:
    """Quads from each of `count` rings of AROUND points to the next one, modulo the number of rings."""
    i, j = (index.ravel() for index in np.meshgrid(np.arange(count), np.arange(AROUND), indexing="ij"))
    above, beside = (i + 1) % (rings or count + 1), (j + 1) % AROUND
    return np.stack([i * AROUND + j, i * AROUND + beside, above * AROUND + beside, above * AROUND + j], axis=1)


def gear() -> Surface:
    """A closed gear of eight teeth with a hole, 0.2 m across."""
    angles = 2.0 * math.pi * np.arange(AROUND) / AROUND
    outer = np.where(np.arange(AROUND) % 4 < 2, 0.1, 0.08)
    rings = [(outer, -0.015), (outer, 0.015), (np.full(AROUND, 0.03), 0.015), (np.full(AROUND, 0.03), -0.015)]
    points = [np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(AROUND, z)]) for r, z in rings]
    return np.concatenate(points), triangulated(strips(4, rings=4))


def hexagonal_bolt() -> Surface:
    """A closed bolt: a hexagonal head on a round shank, 0.17 m long."""
    angles = 2.0 * math.pi * np.arange(AROUND) / AROUND
    # the distance of the sides of a hexagon from its center, in each direction
    head = 0.043 / np.cos((angles + math.pi / 6.0) % (math.pi / 3.0) - math.pi / 6.0)
    rings = [(head, -0.03), (head, 0.0), (np.full(AROUND, 0.02), 0.0), (np.full(AROUND, 0.02), 0.14)]
    points = [np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(AROUND, z)]) for r, z in rings]
    low, high, top = 4 * AROUND, 4 * AROUND + 1, 3 * AROUND
    k, after = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    fans = [np.column_stack([np.full(AROUND, low), after, k]), np.column_stack([np.full(AROUND, high), top + k, top + after])]
    corners = np.concatenate([*points, [[0.0, 0.0, -0.03], [0.0, 0.0, 0.14]]])
    return corners, np.concatenate([triangulated(strips(3)), *fans]).astype(np.int32)
