# SPDX-License-Identifier: GPL-3.0-or-later
"""The large scenes of the benchmark: heaps, a wall that is hit, a row of dominoes, a bin of concave meshes, a laid table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from solver_core.linalg.in_order import length
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec
from solver_core.scenes import plain as scenes

from ..core.meshes import angle_bracket, blocks, chair, torus

__all__ = ["FPS", "SCENES", "SEED", "heap_of_cubes", "named"]

Floats = NDArray[np.float64]

EDGE, SPACING, MU = 0.2, 0.40, 0.6
FPS = 24
SEED = 1
MATERIAL = parts.pair_material(MU)


def places(bodies: int, spacing: float = SPACING) -> tuple[Floats, Floats]:
    """Positions (n, 3) on a cubic grid, shaken, and random turns (n, 4)."""
    random = np.random.default_rng(SEED)
    side = max(2, round(bodies ** (1 / 3)))
    position, turn = np.empty((bodies, 3)), np.empty((bodies, 4))
    for i in range(bodies):
        layer, place = divmod(i, side * side)
        y, x = divmod(place, side)
        centre = 0.5 * (side - 1)
        position[i] = spacing * (x - centre), spacing * (y - centre), 0.25 + spacing * layer
        position[i, :2] += 0.05 * spacing * random.uniform(-1.0, 1.0, 2)
        turn[i] = random.normal(size=4)
        turn[i] /= length(turn[i])
    return position, turn


def body(name: str, shape: ShapeSpec, position, orientation=(1.0, 0.0, 0.0, 0.0), mass: float | None = 1.0) -> BodySpec:
    """An active body, or a passive one without a mass."""
    kind = BodyKind.PASSIVE if mass is None else BodyKind.ACTIVE
    at, turn = np.asarray(position, dtype=float), np.asarray(orientation, dtype=float)
    return BodySpec(name, kind, shape, position=at, orientation=turn, mass=mass, material=MATERIAL)


def mesh(surface: tuple[Floats, NDArray[np.int32]], scale: float = 1.0) -> ShapeSpec:
    return ShapeSpec(ShapeKind.MESH, scale * surface[0], surface[1])


def chunk(random: np.random.Generator, size: float) -> ShapeSpec:
    """The hull of twelve points on a sphere of a diameter, m."""
    points = random.normal(size=(12, 3))
    return ShapeSpec(ShapeKind.HULL, 0.5 * size * points / np.linalg.norm(points, axis=1)[:, None])


def heap_of_cubes(cubes: int) -> SceneSpec:
    """Cubes of 0.2 m at random turns that fall onto the ground and come to rest on each other."""
    shape = parts.box_shape((EDGE,) * 3)
    fallen = [body(f"Cube {i}", shape, at, turn) for i, (at, turn) in enumerate(zip(*places(cubes), strict=True))]
    return SceneSpec((parts.ground(MATERIAL), *fallen), fps=FPS)


def heap_of_hulls(hulls: int) -> SceneSpec:
    """The same of convex pieces of twelve corners, eight kinds of them."""
    random = np.random.default_rng(SEED)
    kinds = [chunk(random, 1.4 * EDGE) for _ in range(8)]
    fallen = [body(f"Piece {i}", kinds[i % 8], at, turn) for i, (at, turn) in enumerate(zip(*places(hulls), strict=True))]
    return SceneSpec((parts.ground(MATERIAL), *fallen), fps=FPS)


def wall_that_is_hit(bricks: int) -> SceneSpec:
    """A dry wall of 20 courses, and a ball of 40 kg that flies into it at 8 m/s."""
    courses = min(20, bricks)
    wall = scenes.wall(courses=courses, bricks=max(1, bricks // courses))
    middle = np.mean([b.position for b in wall.bodies[1:]], axis=0)
    ball = body("Ball", parts.sphere_shape(0.15), middle + np.array([0.0, -1.0, 0.0]), mass=40.0)
    return replace(wall, bodies=(*wall.bodies, replace(ball, velocity=np.array([0.0, 8.0, 0.5]))), fps=FPS)


def row_of_dominoes(tiles: int) -> SceneSpec:
    """Dominoes in a bow, the first of which is pushed over."""
    return replace(scenes.dominoes(tiles=tiles, bend=0.01 * tiles), fps=FPS)


def bin_of_meshes(meshes: int) -> SceneSpec:
    """Dented rings, brackets and chairs, none of them convex, dropped into a bin of 1.6 m by 1.6 m."""
    random = np.random.default_rng(SEED)
    side, height, thick = 1.6, 1.2, 0.1
    bodies = [parts.ground(MATERIAL)]
    for i, (x, y) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
        size = (thick, side + 2 * thick, height) if x else (side, thick, height)
        reach = 0.5 * (side + thick)
        bodies.append(body(f"Side {i}", parts.box_shape(size), (reach * x, reach * y, 0.5 * height), mass=None))
    ring, bracket, (corners, faces) = torus(0.11, 0.045, 14, 8), angle_bracket(), chair()
    # about its middle, as the others are: so turned none reaches farther than its place on the grid
    seat = corners - 0.5 * (corners.min(axis=0) + corners.max(axis=0)), faces
    for i in range(meshes):
        dented = ring[0] * (1.0 + 0.075 * random.normal(size=(len(ring[0]), 1))), ring[1]
        shape = (mesh(dented), mesh(bracket, 0.09), mesh(seat, 0.3))[i % 3]
        at = 0.4 * (i % 4 - 1.5), 0.4 * (i // 4 % 4 - 1.5), 0.3 + 0.42 * (i // 16)
        turn = random.normal(size=4)
        bodies.append(body(f"Thing {i}", shape, at, turn / np.linalg.norm(turn)))
    return SceneSpec(tuple(bodies), fps=FPS)


def laid_table(pieces: int) -> SceneSpec:
    """A table with a stack of six plates, a chain of twelve rings that is let down onto it and over its edge, four chairs
    around it, and debris that falls over all of them."""
    random = np.random.default_rng(SEED)
    legs = np.zeros((3, 3, 2), dtype=bool)
    legs[::2, ::2, 0], legs[:, :, 1] = True, True
    top = blocks([-0.8, -0.72, 0.72, 0.8], [-0.5, -0.42, 0.42, 0.5], [0.0, 0.70, 0.75], legs)
    bodies = [parts.ground(MATERIAL), body("Table", mesh(top), (0.0, 0.0, 0.0), mass=25.0)]
    for i in range(6):
        bodies.append(body(f"Plate {i}", parts.cylinder_shape(0.12, 0.02), (-0.4, 0.0, 0.7602 + 0.0203 * i), mass=0.5))
    for i, (x, y, turn) in enumerate(((-0.4, 0.85, 0.0), (0.4, 0.85, 0.0), (-0.4, -0.85, math.pi), (0.4, -0.85, math.pi))):
        at, way = (x, y, 0.0002), parts.axis_angle((0.0, 0.0, 1.0), turn)
        bodies.append(body(f"Chair {i}", mesh(chair()), at, way, mass=6.0))
    for i in range(12):
        # every other ring stands upright through its neighbours
        way = parts.axis_angle((1.0, 0.0, 0.0), 0.5 * math.pi * (i % 2))
        bodies.append(body(f"Link {i}", mesh(torus(0.05, 0.012, 16, 8)), (0.2 + 0.073 * i, 0.1, 0.85), way, mass=0.1))
    for i in range(pieces):
        at = random.uniform((-0.9, -0.9, 1.3), (0.9, 0.9, 1.4)) + np.array([0.0, 0.0, 0.02 * i])
        turn = random.normal(size=4)
        bodies.append(body(f"Piece {i}", chunk(random, 0.12), at, turn / np.linalg.norm(turn), mass=0.4))
    return SceneSpec(tuple(bodies), fps=FPS)


# what makes each scene of a number of bodies, the number by default, and those of `--all`
SCENES: dict[str, tuple[Callable[[int], SceneSpec], int, tuple[int, ...]]] = {
    "cubes": (heap_of_cubes, 125, (27, 125, 512, 1000, 8000)),
    "hulls": (heap_of_hulls, 64, (27, 125, 512, 1000, 8000)),
    "wall": (wall_that_is_hit, 100, (500,)),
    "dominoes": (row_of_dominoes, 200, (200,)),
    "bin": (bin_of_meshes, 32, (300,)),
    "table": (laid_table, 20, (60,)),
}


def named(text: str) -> tuple[str, int]:
    """(scene, number of bodies) of NAME or NAME:NUMBER; ValueError where there is no such scene."""
    name, _, number = text.partition(":")
    if name not in SCENES or (number and not number.isdecimal()):
        raise ValueError(f"{text!r} is no scene: give one of {', '.join(SCENES)}, with :NUMBER for another number of bodies")
    return name, int(number) if number else SCENES[name][1]
