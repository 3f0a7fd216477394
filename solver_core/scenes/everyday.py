# SPDX-License-Identifier: GPL-3.0-or-later
"""Everyday scenes, in m, kg and s: objects that settle, a conveyor, and toys that right themselves. See `plain.py`."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..linalg.in_order import length
from ..scene.parts import axis_angle, box_shape, ground, pair_material, sphere_shape
from ..scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec
from ..scene.surface_motion import SurfaceMotion

__all__ = ["bin_of_mugs", "conveyor", "lathe_shape", "library_shelf", "mug_shape", "roly_polies", "table_for_twelve"]

PORCELAIN, STEEL, APPLE, PAPER, CARDBOARD = 2400.0, 7800.0, 800.0, 800.0, 150.0  # kg / m^3
# Profiles: (radius, height) of each ring [m], from the underside outward, over the rim, to the middle of the upper side.
PLATE = ((0.07, 0.0), (0.125, 0.018), (0.125, 0.023), (0.068, 0.006))
BOWL = ((0.07, 0.0), (0.15, 0.07), (0.15, 0.078), (0.14, 0.078), (0.065, 0.01))
CUP = ((0.03, 0.0), (0.04, 0.025), (0.04, 0.04), (0.041, 0.065), (0.041, 0.08), (0.042, 0.095), (0.037, 0.095), (0.025, 0.008))
SEGMENTS = 24
# Rings of a cup below the two ends of its handle.
LOWER_END, UPPER_END = 1, 3
HANDLE_SECTIONS = 7
SHARE_TILTED = 0.25
HANDLE_REACH = 0.033  # m; distance of the middle of a handle from the wall


def lathe_shape(profile: tuple[tuple[float, float], ...]) -> ShapeSpec:
    """Return the closed mesh that a profile sweeps around the z axis.

    Parameters
    ----------
    profile : m, radius and height of each ring, from the underside outward, over the rim, to the upper side. The radii are
        positive; the first and the last ring are closed by fans.
    """
    return ShapeSpec(ShapeKind.MESH, lathe_corners(profile), np.array(lathe_triangles(len(profile), ()), dtype=np.int32))


def lathe_corners(profile: tuple[tuple[float, float], ...]) -> np.ndarray:
    """Return the corners (n, 3) of all rings, then the centers of the two fans [m]."""
    angles = 2.0 * math.pi * np.arange(SEGMENTS) / SEGMENTS
    rings = [np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(SEGMENTS, z)]) for r, z in profile]
    middles = [[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]]
    return np.concatenate([*rings, middles])


def lathe_triangles(rings: int, left_out: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """Return the triangles between rings and of the two fans, counterclockwise from outside.

    left_out: rings above which the face of the first segment is missing.
    """
    bottom, top, last = SEGMENTS * rings, SEGMENTS * rings + 1, SEGMENTS * (rings - 1)
    triangles = []
    for k in range(SEGMENTS):
        after = (k + 1) % SEGMENTS
        triangles += [(bottom, after, k), (top, last + k, last + after)]
        for ring in range(rings - 1):
            if k > 0 or ring not in left_out:
                triangles += quad(*face(ring, k))
    return triangles


def face(ring: int, k: int) -> tuple[int, int, int, int]:
    """Return the corners of the face above a ring in a segment, counterclockwise from outside."""
    low, after = SEGMENTS * ring, (k + 1) % SEGMENTS
    return low + k, low + after, low + SEGMENTS + after, low + SEGMENTS + k


def quad(a: int, b: int, c: int, d: int) -> list[tuple[int, int, int]]:
    """Return the two triangles of a face with four corners."""
    return [(a, b, c), (a, c, d)]


def mug_shape() -> ShapeSpec:
    """Return a cup with a handle as one closed mesh: a tube with four sides replaces two faces of the outer wall."""
    corners = lathe_corners(CUP)
    triangles = lathe_triangles(len(CUP), (LOWER_END, UPPER_END))
    lower, upper = face(LOWER_END, 0), face(UPPER_END, 0)
    # The upper end is reversed, so that corresponding corners of the two ends lie on one arc.
    ends = corners[list(lower)], corners[[upper[3], upper[2], upper[1], upper[0]]]
    outward = ends[0].mean(axis=0) * np.array([1.0, 1.0, 0.0])
    outward /= length(outward)
    loops = [list(lower)]
    for i in range(1, HANDLE_SECTIONS):
        angle = math.pi * i / HANDLE_SECTIONS
        share = 0.5 * (1.0 - math.cos(angle))
        between = (1.0 - share) * ends[0] + share * ends[1]
        # Corners on the outer side of the arc are farther out.
        thick = np.array([1.0, 1.0, 0.7, 0.7])[:, None]
        loops.append(list(range(len(corners), len(corners) + 4)))
        corners = np.concatenate([corners, between + HANDLE_REACH * math.sin(angle) * thick * outward])
    loops.append([upper[3], upper[2], upper[1], upper[0]])
    for one, other in pairwise(loops):
        for j in range(4):
            triangles += quad(one[j], one[(j + 1) % 4], other[(j + 1) % 4], other[j])
    return ShapeSpec(ShapeKind.MESH, corners, np.array(triangles, dtype=np.int32))


def solid(
    name: str, shape: ShapeSpec, position, density: float, material: MaterialSpec, orientation=(1.0, 0.0, 0.0, 0.0)
) -> BodySpec:
    """Return an active body with a density [kg/m^3]."""
    center, turn = np.asarray(position, dtype=np.float64), np.asarray(orientation, dtype=np.float64)
    return BodySpec(name, BodyKind.ACTIVE, shape, center, turn, density=density, material=material)


def still(name: str, size, position, material: MaterialSpec) -> BodySpec:
    """Return a passive box."""
    center = np.asarray(position, dtype=np.float64)
    return BodySpec(name, BodyKind.PASSIVE, box_shape(size), center, material=material)


def turned(random: np.random.Generator) -> np.ndarray:
    """Return a random orientation."""
    quaternion = random.normal(size=4)
    return quaternion / length(quaternion)


def table_for_twelve(seed: int = 1, frames: int = 121) -> SceneSpec:
    """A table with plates, cups, knives and forks for twelve, and a bowl of apples, ready to settle.

    All objects are a few centimeters above their final position; apples are above their bowl. seed: seed of small rotations.
    """
    material, random = pair_material(0.4), np.random.default_rng(seed)
    level, bodies = 0.75, [ground(material)]
    bodies.append(still("Table Top", (3.6, 1.1, 0.04), (0.0, 0.0, level - 0.02), material))
    for i, (x, y) in enumerate([(-1.65, -0.45), (1.65, -0.45), (-1.65, 0.45), (1.65, 0.45)]):
        bodies.append(still(f"Table Leg {i + 1}", (0.08, 0.08, level - 0.04), (x, y, 0.5 * level - 0.02), material))
    plate, cup, handle = lathe_shape(PLATE), mug_shape(), axis_angle((0.0, 0.0, 1.0), 0.5 * math.pi)
    for i in range(12):
        side, x = (-1.0 if i < 6 else 1.0), 0.58 * (i % 6 - 2.5)
        tilt = axis_angle((0.0, 1.0, 0.0), random.uniform(-0.15, 0.15))
        bodies.append(solid(f"Plate {i + 1}", plate, (x, 0.36 * side, level + 0.05), PORCELAIN, material, tilt))
        place = x + 0.19, 0.17 * side, level + 0.04
        bodies.append(solid(f"Cup {i + 1}", cup, place, PORCELAIN, material, handle if side < 0.0 else (1.0, 0.0, 0.0, 0.0)))
        for name, offset, width in (("Fork", -0.17, 0.022), ("Knife", 0.17, 0.016)):
            tilt = axis_angle((1.0, 0.0, 0.0), random.uniform(-0.2, 0.2))
            cutlery = box_shape((width, 0.19, 0.004))
            place = x + offset, 0.38 * side, level + 0.05
            bodies.append(solid(f"{name} {i + 1}", cutlery, place, STEEL, material, tilt))
    bodies.append(solid("Bowl", lathe_shape(BOWL), (0.0, 0.0, level + 0.02), PORCELAIN, material))
    for i in range(7):
        angle, out = 2.0 * math.pi * i / 6.0, 0.0 if i == 6 else 0.08
        place = out * math.cos(angle), out * math.sin(angle), level + 0.14 + 0.07 * (i % 3) + (0.15 if i == 6 else 0.0)
        bodies.append(solid(f"Apple {i + 1}", sphere_shape(0.037), place, APPLE, replace(material, rolling=0.002)))
    return SceneSpec(tuple(bodies), frame_end=frames)


def bin_of_mugs(mugs: int = 24, seed: int = 1, frames: int = 121) -> SceneSpec:
    """Mugs with handles above an open bin, in random orientations. seed: seed of the orientations."""
    material, random = pair_material(0.4), np.random.default_rng(seed)
    wide, deep, tall, wall = 0.5, 0.36, 0.2, 0.02
    bodies = [ground(material), still("Bin Floor", (wide, deep, wall), (0.0, 0.0, 0.5 * wall), material)]
    for name, x, y in (("Left", -1.0, 0.0), ("Right", 1.0, 0.0), ("Front", 0.0, -1.0), ("Back", 0.0, 1.0)):
        size = (wall, deep, tall) if x else (wide + 2.0 * wall, wall, tall)
        place = 0.5 * x * (wide + wall), 0.5 * y * (deep + wall), 0.5 * tall
        bodies.append(still(f"Bin {name}", size, place, material))
    shape = mug_shape()
    for i in range(mugs):
        layer, place = divmod(i, 6)
        center = 0.15 * (place % 3 - 1), 0.15 * (place // 3 - 0.5), 0.15 + 0.16 * layer
        bodies.append(solid(f"Mug {i + 1}", shape, center, PORCELAIN, material, turned(random)))
    return SceneSpec(tuple(bodies), frame_end=frames)


def library_shelf(shelves: int = 3, seed: int = 2, frames: int = 121) -> SceneSpec:
    """A bookcase with gaps in its rows of books, which lean against each other after settling. seed: seed of the books."""
    material, random = pair_material(0.35), np.random.default_rng(seed)
    wide, deep, rise, board = 0.9, 0.24, 0.34, 0.02
    tall = shelves * rise + board
    bodies = [ground(material)]
    bodies.append(still("Back", (wide + 2.0 * board, board, tall), (0.0, 0.5 * (deep + board), 0.5 * tall), material))
    for name, side in (("Left Side", -1.0), ("Right Side", 1.0)):
        bodies.append(still(name, (board, deep, tall), (0.5 * side * (wide + board), 0.0, 0.5 * tall), material))
    for row in range(shelves + 1):
        bodies.append(still(f"Board {row + 1}", (wide, deep, board), (0.0, 0.0, row * rise + 0.5 * board), material))
    for row in range(shelves):
        bodies += row_of_books(row + 1, wide, deep, row * rise + board, material, random)
    return SceneSpec(tuple(bodies), frame_end=frames)


def row_of_books(
    row: int, wide: float, deep: float, level: float, material: MaterialSpec, random: np.random.Generator
) -> list[BodySpec]:
    """Return books that fill a board of a given width and depth at a given height [m]; a quarter of them tilt into a gap."""
    books, x = [], -0.5 * wide
    while True:
        size = random.uniform((0.018, 0.14, 0.19), (0.05, 0.19, 0.28))
        tilts = random.random() < SHARE_TILTED
        x += random.uniform(0.03, 0.07) if tilts else 0.002
        if x + size[0] > 0.5 * wide - 0.01:
            return books
        # The lower corner of a tilted book is above the board, too.
        center = x + 0.5 * size[0], -0.5 * (deep - size[1]) + 0.02, level + 0.5 * size[2] + 0.006
        turn = axis_angle((0.0, 1.0, 0.0), -0.06 if tilts else 0.0)
        books.append(solid(f"Book {row}.{len(books) + 1}", box_shape(size), center, PAPER, material, turn))
        x += size[0]


def conveyor(parcels: int = 8, speed: float = 0.8, mu: float = 0.6, seed: int = 3, frames: int = 121) -> SceneSpec:
    """Two belts at a right angle: parcels ride on the first, drop onto the second, and continue on it.

    Parameters
    ----------
    parcels : number of boxes on the first belt.
    speed : m/s, of both belts.
    mu : coefficient of friction of parcels, belts and floor.
    seed : seed of the sizes and rotations of the parcels.
    frames : length of the scene.
    """
    material, random = pair_material(mu), np.random.default_rng(seed)
    long, width, thick = 3.2, 0.7, 0.1
    first = still("Upper Belt", (long, width, thick), (-0.5 * long, 0.0, 1.0), material)
    second = still("Lower Belt", (width, 2.0, thick), (0.5 * width, 0.6, 0.6), material)
    along_x, along_y = np.array([speed, 0.0, 0.0]), np.array([0.0, speed, 0.0])
    bodies = [
        ground(material),
        replace(first, surface_motion=SurfaceMotion(velocity=along_x)),
        replace(second, surface_motion=SurfaceMotion(velocity=along_y)),
        still("Stop", (0.04, 2.0, 0.5), (width + 0.02, 0.6, 0.75), material),
    ]
    for i in range(parcels):
        size = random.uniform((0.2, 0.2, 0.14), (0.36, 0.34, 0.3))
        turn = axis_angle((0.0, 0.0, 1.0), random.uniform(-0.4, 0.4))
        center = -0.25 - 0.38 * i, random.uniform(-0.08, 0.08), 1.0 + 0.5 * (thick + size[2])
        bodies.append(solid(f"Parcel {i + 1}", box_shape(size), center, CARDBOARD, material, turn))
    return SceneSpec(tuple(bodies), frame_end=frames)


def roly_polies(count: int = 5, depth: float = 0.5, tilt: float = 1.2, mu: float = 0.6, frames: int = 145) -> SceneSpec:
    """Toys with a heavy foot, which initially lie on their sides and then rise.

    Parameters
    ----------
    count : number of toys.
    depth : distance of the center of mass below the center of the round foot, as a fraction of the foot's radius, 0 to 1.
    tilt : rad, initial angle from the upright.
    mu : coefficient of friction.
    frames : length of the scene.
    """
    material, radius = replace(pair_material(mu), rolling=0.003), 0.12
    # A ball with a neck and a head above it, in units of its radius.
    heights = np.linspace(-1.0, 0.6, 9)[1:]
    rings = [(math.sqrt(1.0 - z * z), z) for z in heights] + [(0.52, 1.3), (0.42, 1.62), (0.2, 1.8)]
    shape = lathe_shape(tuple((radius * r, radius * z) for r, z in [(0.12, -0.9928), *rings]))
    shape = ShapeSpec(ShapeKind.HULL, shape.vertices, shape.triangles)
    bodies = [ground(material)]
    for i in range(count):
        lean = axis_angle((math.cos(2.4 * i), math.sin(2.4 * i), 0.0), tilt)
        center = 0.5 * (i - 0.5 * (count - 1)), 0.12 * (-1.0) ** i, 1.01 * radius
        toy = solid(f"Roly-Poly {i + 1}", shape, center, 400.0, material, lean)
        bodies.append(replace(toy, center_of_mass=np.array([0.0, 0.0, -depth * radius])))
    return SceneSpec(tuple(bodies), frame_end=frames)
