# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes of what breaks: a framed building with a ram; slabs of Voronoi pieces that touch from the start, loose or glued."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from scipy.spatial import ConvexHull, Voronoi

from solver_core.scene import parts
from solver_core.scene.joints import FREE_AXIS, LOCKED, JointSpec
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

__all__ = ["framed_building", "glued_slab", "voronoi_slab"]

FREE = (FREE_AXIS,) * 3
# each connection is three constraints: along its axis, across it, and against bending
CONNECTION = {
    "pressure": ((LOCKED, FREE_AXIS, FREE_AXIS), FREE),
    "shear": ((FREE_AXIS, LOCKED, LOCKED), FREE),
    "bending": (FREE, (LOCKED,) * 3),
}
TURNS = {
    0: np.array([1.0, 0.0, 0.0, 0.0]),
    1: parts.axis_angle((0.0, 0.0, 1.0), 0.5 * math.pi),
    2: parts.axis_angle((0.0, 1.0, 0.0), -0.5 * math.pi),
}
SPAN, STOREY, WIDTH, DENSITY, SHRUNK = 4.0, 3.0, 0.4, 2400.0, 0.95


def framed_building(
    threshold: float = 1000.0, storeys: int = 2, counts: tuple[int, int] = (3, 2), ram: bool = True, fps: float = 24.0
) -> SceneSpec:
    """Columns, nodes and beams of concrete, shrunk to 0.95 so that nothing touches, held by breakable connections; from half a
    second on a ram of 12 m/s knocks out the column of a corner.

    threshold: N s and N m s, of every constraint. counts: of columns along x and y.
    """
    material, elements, links = parts.pair_material(0.5), {}, []

    def element(key, size, place):
        volume = float(np.prod(size))
        shrunk = tuple(SHRUNK * side for side in size)
        elements[key] = parts.box(" ".join(map(str, key)), shrunk, place, material, mass=DENSITY * volume)

    def link(a, b, place, axis):
        links.append((a, b, np.array(place, dtype=float), axis))

    grid = list(itertools.product(range(counts[0]), range(counts[1])))
    for k in range(storeys):
        top = (k + 1) * STOREY
        for i, j in grid:
            x, y = SPAN * i, SPAN * j
            element(("column", k, i, j), (WIDTH, WIDTH, STOREY - WIDTH), (x, y, k * STOREY + 0.5 * (STOREY - WIDTH)))
            element(("node", k, i, j), (WIDTH, WIDTH, WIDTH), (x, y, top - 0.5 * WIDTH))
            link(("column", k, i, j), ("node", k, i, j), (x, y, top - WIDTH), 2)
            if k:
                link(("node", k - 1, i, j), ("column", k, i, j), (x, y, k * STOREY), 2)
        for (i, j), axis in itertools.product(grid, (0, 1)):
            other = (i + 1, j) if axis == 0 else (i, j + 1)
            if other not in grid:
                continue
            along = np.eye(3)[axis]
            begin = np.array([SPAN * i, SPAN * j, top - 0.5 * WIDTH])
            size = WIDTH + (SPAN - 2.0 * WIDTH) * along
            element(("beam", k, i, j, axis), tuple(size), begin + 0.5 * SPAN * along)
            link(("node", k, i, j), ("beam", k, i, j, axis), begin + 0.5 * WIDTH * along, axis)
            link(("beam", k, i, j, axis), ("node", k, *other), begin + (SPAN - 0.5 * WIDTH) * along, axis)
    bodies = [parts.ground(material), *elements.values()]
    for i, j in grid:
        base = parts.box(f"base {i} {j}", (WIDTH, WIDTH, 0.2), (SPAN * i, SPAN * j, -0.1), material)
        bodies.append(replace(base, kind=BodyKind.PASSIVE, mass=None))
        link(("base", i, j), ("column", 0, i, j), (SPAN * i, SPAN * j, 0.0), 2)
    joints = [
        JointSpec(
            f"{' '.join(map(str, a))} to {' '.join(map(str, b))}, {kind}",
            " ".join(map(str, a)),
            " ".join(map(str, b)),
            place,
            TURNS[axis],
            linear,
            angular,
            threshold,
        )
        for a, b, place, axis in links
        for kind, (linear, angular) in CONNECTION.items()
    ]
    frames = int(2.5 * fps)
    if ram:
        path = np.tile(np.array([-4.0, 0.0, 1.2, 1.0, 0.0, 0.0, 0.0]), (frames, 1))
        path[:, 0] += 12.0 * np.clip(np.arange(frames) / fps - 0.5, 0.0, 0.5)
        one = parts.box("Ram", (0.8, 0.8, 0.8), path[0, :3], material)
        bodies.append(replace(one, kind=BodyKind.ANIMATED, mass=None, path=path))
    return SceneSpec(tuple(bodies), joints=tuple(joints), fps=fps, frame_end=frames)


SLAB = np.array([2.0, 0.25, 1.5])  # m


def cells_of_slab(count: int, seed: int) -> Voronoi:
    """The cells of random points in a box about the origin, and of their mirror images, which give it its faces."""
    points = np.random.default_rng(seed).uniform(-0.5 * SLAB, 0.5 * SLAB, (count, 3))
    mirrored = [points]
    for axis, side in itertools.product(range(3), (-0.5, 0.5)):
        image = points.copy()
        image[:, axis] = 2.0 * side * SLAB[axis] - image[:, axis]
        mirrored.append(image)
    return Voronoi(np.concatenate(mirrored))


def glued_slab(count: int = 30, seed: int = 4, strength: float = 25.0) -> SceneSpec:
    """The slab of `voronoi_slab`, glued with a strength in N s in each face of two pieces, and a ball of 60 kg at 12 m/s."""
    slab, diagram = voronoi_slab(count, seed), cells_of_slab(count, seed)
    joints = []
    for (a, b), face in zip(diagram.ridge_points.tolist(), diagram.ridge_vertices, strict=True):
        if max(a, b) < count:
            at = diagram.vertices[face].mean(axis=0) + np.array([0.0, 0.0, 0.5 * SLAB[2]])
            joints.append(JointSpec(f"Glue {a} {b}", f"Piece {a}", f"Piece {b}", at, breaking_impulse=strength))
    flies = {"position": np.array([0.1, -1.0, 0.85]), "velocity": np.array([0.0, 12.0, 0.5])}
    ball = BodySpec("Ball", BodyKind.ACTIVE, parts.sphere_shape(0.2), mass=60.0, material=parts.pair_material(0.6), **flies)
    return replace(slab, bodies=(*slab.bodies, ball), joints=tuple(joints))


def voronoi_slab(count: int = 200, seed: int = 4) -> SceneSpec:
    """A slab of 2 x 0.25 x 1.5 m that stands on the ground in Voronoi pieces, which fit each other exactly."""
    material, diagram = parts.pair_material(0.6), cells_of_slab(count, seed)
    bodies = [parts.ground(material)]
    for i in range(count):
        corners = diagram.vertices[diagram.regions[diagram.point_region[i]]]
        middle, hull = corners.mean(axis=0), ConvexHull(corners)
        hull_of_piece = ShapeSpec(ShapeKind.HULL, corners - middle, hull.simplices.astype(np.int32))
        place = middle + np.array([0.0, 0.0, 0.5 * SLAB[2]])
        mass = max(1e-3, 2000.0 * hull.volume)
        bodies.append(BodySpec(f"Piece {i}", BodyKind.ACTIVE, hull_of_piece, place, mass=mass, material=material))
    return SceneSpec(tuple(bodies), fps=24.0)
