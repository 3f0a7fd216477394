# SPDX-License-Identifier: GPL-3.0-or-later
"""Structures that come down: a house hit by a ball on a chain, a slab in Voronoi pieces, dominoes in a spiral."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, Voronoi
from scipy.spatial.transform import Rotation

from solver_core.scene import parts
from solver_core.scene.joints import FREE_AXIS, JointSpec
from solver_core.scene.spec import SceneSpec, ShapeKind, ShapeSpec

from ..heap_scenes import FPS
from .piles import capsule_shape, solid

__all__ = ["house", "slab", "spiral"]

Floats = NDArray[np.float64]

SLAB_SEED = 4
BRICK = (0.4, 0.2, 0.2)
BRICKS_A_WALL = 6
LINKS, REACH = 10, 0.22  # of the chain, and m from pin to pin
TILE = (0.0075, 0.024, 0.048)
PITCH = 0.02  # m from domino to domino


def house(count: int) -> SceneSpec:
    """Four walls in running bond of about `count` bricks, and a ball of 150 kg on a chain that swings into one."""
    length, depth, height = BRICK
    courses = max(2, round(count / (4 * BRICKS_A_WALL)))
    half = 0.5 * (BRICKS_A_WALL * length + depth)
    bodies = [parts.ground(parts.pair_material(0.5))]
    shape, mass = parts.box_shape(BRICK), 1800.0 * length * depth * height
    for course in range(courses):
        for wall in range(4):
            turn = Rotation.from_euler("z", 0.5 * math.pi * wall)
            for i in range(BRICKS_A_WALL):
                # each wall ends at the side of the next one; the course above does so the other way round
                x = (i + 0.5) * length - half + (depth if course % 2 else 0.0)
                place = turn.apply([x, 0.5 * depth - half, (course + 0.5) * height])
                bodies.append(solid(f"Brick {len(bodies)}", shape, place, turn, mass))
    pin = np.array([-half - 0.3, 0.0, courses * height + 2.2])
    along = np.array([-0.95, 0.0, -math.sqrt(1.0 - 0.95**2)])
    turn = Rotation.from_euler("y", math.atan2(along[0], along[2]))
    names = ["", *(f"Link {i}" for i in range(LINKS)), "Ball"]
    link = capsule_shape(0.025, 0.12)
    bodies += [solid(names[i + 1], link, pin + (i + 0.5) * REACH * along, turn, 1.0) for i in range(LINKS)]
    bodies.append(solid("Ball", parts.sphere_shape(0.3), pin + (LINKS * REACH + 0.3) * along, mass=150.0))
    free = (FREE_AXIS, FREE_AXIS, FREE_AXIS)
    ends = enumerate(pairwise(names))
    joints = tuple(JointSpec(f"Pin {i}", a, b, pin + i * REACH * along, angular=free) for i, (a, b) in ends)
    return SceneSpec(tuple(bodies), fps=FPS, joints=joints, excluded=tuple(pairwise(names[1:])))


def slab(count: int) -> SceneSpec:
    """A slab of 2 x 0.25 x 1.5 m in Voronoi pieces that touch exactly, hit by a ball of 60 kg at 8 m/s."""
    bodies, half = [parts.ground(parts.pair_material(0.5))], np.array([0.0, 0.0, 0.75])
    for i, corners in enumerate(voronoi_cells(count, np.array([2.0, 0.25, 1.5]))):
        middle, hull = corners.mean(axis=0), ConvexHull(corners)
        shape = ShapeSpec(ShapeKind.HULL, corners - middle, hull.simplices.astype(np.int32))
        bodies.append(solid(f"Piece {i}", shape, middle + half, mass=max(1e-3, 2000.0 * hull.volume)))
    ball = solid("Ball", parts.sphere_shape(0.2), (0.1, -1.5, 0.85), mass=60.0)
    return SceneSpec((*bodies, replace(ball, velocity=np.array([0.0, 8.0, 1.0]))), fps=FPS)


def voronoi_cells(count: int, size: Floats) -> list[Floats]:
    """Corners (c, 3) m of the cells of random points in a box about the origin. Mirror images of the points make its faces."""
    points = np.random.default_rng(SLAB_SEED).uniform(-0.5 * size, 0.5 * size, (count, 3))
    sites = [points]
    for axis, side in ((axis, side) for axis in range(3) for side in (-1.0, 1.0)):
        mirrored = points.copy()
        mirrored[:, axis] = side * size[axis] - mirrored[:, axis]
        sites.append(mirrored)
    diagram = Voronoi(np.concatenate(sites))
    return [diagram.vertices[diagram.regions[diagram.point_region[i]]] for i in range(count)]


def spiral(count: int) -> SceneSpec:
    """Dominoes in a spiral; a ball of 10 g tips the first one."""
    bodies, angle, shape = [parts.ground(parts.pair_material(0.5))], 0.0, parts.box_shape(TILE)
    for i in range(count):
        radius = 0.15 + 0.045 * angle / (2.0 * math.pi)
        place = np.array([radius * math.cos(angle), radius * math.sin(angle), 0.5 * TILE[2]])
        turn = Rotation.from_euler("z", angle + 0.5 * math.pi)
        bodies.append(solid(f"Domino {i}", shape, place, turn, 1200.0 * math.prod(TILE)))
        angle += PITCH / radius
    start = bodies[1].position + np.array([0.0, -0.02, 0.4 * TILE[2]])
    ball = solid("Ball", parts.sphere_shape(0.008), start, mass=0.01)
    return SceneSpec((*bodies, replace(ball, velocity=np.array([0.0, 0.6, 0.0]))), fps=FPS)
