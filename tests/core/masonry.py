# SPDX-License-Identifier: GPL-3.0-or-later
"""What architects draw with snapped vertices, without a gap anywhere, and what statics says of it.

Every neighbour has its corners exactly where the other has them. The bounds are those of limit analysis: no tension, no
crushing, friction where it is named.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy.spatial import ConvexHull, HalfspaceIntersection

from solver_core.scene.parts import block, ground, pair_material
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

Floats = np.ndarray
STONE = 2400.0
# of radius, below which a semicircular arch has no thrust line within it (Milankovitch 1907)
THINNEST = 0.1075


def scene_of(bodies, mu: float) -> SceneSpec:
    return SceneSpec((ground(pair_material(mu)), *bodies))


def piece(name: str, corners: Floats, mu: float, density: float = STONE) -> BodySpec:
    """A convex body between any corners (n, 3); its origin is their middle."""
    centre = corners.mean(axis=0)
    shape = ShapeSpec(ShapeKind.HULL, corners - centre)
    return BodySpec(name, BodyKind.ACTIVE, shape, position=centre, density=density, material=pair_material(mu))


def between(low: Floats, high: Floats) -> Floats:
    """The eight corners in a box's order of what lies between two quadrilaterals (4, 3), each in the order 00, 01, 10, 11."""
    return np.concatenate([low, high])


def barrel_vault(thickness: float, mu: float = 0.8, stones: int = 15, rings: int = 3) -> SceneSpec:
    """Half a cylinder of mean radius 1 m along y, in courses whose upright joints lie half a stone apart; thickness in m."""
    inner, outer, length = 1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness, 0.6
    bodies = []
    for course, (low, high) in enumerate(pairwise(np.linspace(0.0, math.pi, stones + 1))):
        ends = np.arange(rings + 1) * length
        if course % 2:
            ends = np.unique(np.concatenate([ends[:1], ends[:-1] + 0.5 * length, ends[-1:]]))
        for ring, (near, far) in enumerate(pairwise(ends)):
            sides = []
            for angle in (low, high):
                along = np.array([math.cos(angle), 0.0, math.sin(angle)])
                sides.append([radius * along + [0.0, y, 0.0] for radius in (inner, outer) for y in (near, far)])
            # from the higher joint to the lower one, so that the three directions are right-handed
            corners = between(*(np.array(side) for side in sides))
            bodies.append(block(f"Stone {course}.{ring}", righted(corners), pair_material(mu), STONE))
    return scene_of(bodies, mu)


def righted(corners: Floats) -> Floats:
    """The corners of a block with its first direction turned round where the three are left-handed."""
    axes = corners[[4, 2, 1]] - corners[0]
    return corners if np.linalg.det(axes) > 0.0 else corners[[4, 5, 6, 7, 0, 1, 2, 3]]


def dry_stone_wall(lean: float, mu: float = 0.7, seed: int = 4, courses: int = 6, stones: int = 4) -> SceneSpec:
    """A wall 0.4 m thick and 1.6 m high of courses of unequal heights and stones with leaning joints, gravity turned by the
    angle of `lean`, its tangent: it falls on its face beyond 0.25, which is its thickness over its height."""
    random = np.random.default_rng(seed)
    heights = np.concatenate([[0.0], np.cumsum(random.uniform(0.8, 1.2, courses))])
    heights *= 1.6 / heights[-1]
    bodies = []
    for course, (low, high) in enumerate(pairwise(heights)):
        joints = np.linspace(0.0, 2.0, stones + 1) + (0.25 * (course % 2)) * np.array([0.0] + [1.0] * (stones - 1) + [0.0])
        leaning = random.uniform(-0.06, 0.06, stones + 1)
        leaning[[0, -1]] = 0.0
        for stone in range(stones):
            left, right = joints[stone : stone + 2]
            off_left, off_right = leaning[stone : stone + 2]
            corners = [
                [x + side * off, y, z]
                for x, off in ((left, off_left), (right, off_right))
                for y in (0.0, 0.4)
                for z, side in ((low, -1.0), (high, 1.0))
            ]
            bodies.append(block(f"Stone {course}.{stone}", np.array(corners), pair_material(mu), STONE))
    angle = math.atan(lean)
    return replace(scene_of(bodies, mu), gravity=9.81 * np.array([0.0, -math.sin(angle), -math.cos(angle)]))


def timber_frame(pitch: float, mu: float, frames: int = 2) -> SceneSpec:
    """Posts, tie beams and pairs of rafters with a plumb cut at the ridge and a level one at the feet; pitch in rad.

    A rafter's thrust is half its weight over the tangent of its pitch, and its foot bears its weight: it holds where mu is at
    least 1 / (2 tan pitch), by how far the load's middle lies from the foot's (`thrust`).
    """
    bodies = []
    for frame in range(frames):
        y0, y1 = 1.2 * frame, 1.2 * frame + 0.16
        for side in (-1.0, 1.0):
            bodies.append(upright(f"Post {frame} {side:+.0f}", (1.4 * side - 0.1, y0, 0.0), (1.4 * side + 0.1, y1, 2.0), mu))
        bodies.append(upright(f"Tie {frame}", (-1.7, y0, 2.0), (1.7, y1, 2.2), mu))
        for side in (-1.0, 1.0):
            profile = rafter(pitch)
            corners = np.array([[side * x, y, 2.2 + z] for x, z in profile for y in (y0, y1)])
            bodies.append(piece(f"Rafter {frame} {side:+.0f}", corners, mu, 600.0))
    return scene_of(bodies, mu)


def rafter(pitch: float, run: float = 1.5, depth: float = 0.14) -> Floats:
    """(4, 2) corners of a rafter's side, x from the ridge: plumb at the ridge, level at the foot."""
    rise = run * math.tan(pitch)
    plumb, level = depth / math.cos(pitch), depth / math.sin(pitch)
    return np.array([[0.0, rise], [0.0, rise - plumb], [run, 0.0], [run - level, 0.0]])


def thrust(pitch: float) -> tuple[float, float]:
    """The least and the largest friction coefficient at a foot with which a pair of rafters can stand: forces meet where the
    ridge's, level and anywhere along its cut, and the foot's, anywhere along it, have the weight between them."""
    corners = rafter(pitch)
    hull = corners[ConvexHull(corners).vertices]
    weight_x = centroid(hull)[0]
    least, most = math.inf, 0.0
    for x in corners[2:, 0]:
        for z in corners[:2, 1]:
            tangent = abs(x - weight_x) / z
            least, most = min(least, tangent), max(most, tangent)
    return least, most


def centroid(polygon: Floats) -> Floats:
    """(2,) of a convex polygon (n, 2), its corners in order."""
    first, second = polygon, np.roll(polygon, -1, axis=0)
    cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    return ((first + second) * cross[:, None]).sum(axis=0) / (3.0 * cross.sum())


def upright(name: str, low, high, mu: float) -> BodySpec:
    """A box of wood between two corners."""
    corners = [[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
    return block(name, np.array(corners), pair_material(mu), 600.0)


SIDES = 12  # of the newel: a step is turned by one of them against the one below, so that corners lie on corners
NEWEL, TREAD, RISE = 0.25, 0.9, 0.18


def tread(half_angle: float, turn: float) -> Floats:
    """(n, 2) outline of a step: the newel's polygon and a tread as wide as twice an angle in rad, turned by another."""
    around = 2.0 * math.pi * np.arange(SIDES) / SIDES
    newel = NEWEL * np.stack([np.cos(around), np.sin(around)], axis=1)
    tip = TREAD * np.array([[math.cos(a), math.sin(a)] for a in (turn - half_angle, turn, turn + half_angle)])
    outline = np.concatenate([newel, tip])
    return outline[ConvexHull(outline).vertices]


def spiral_stair(half_angle: float, steps: int = 7, mu: float = 0.7) -> SceneSpec:
    """Steps about a newel, each turned by 30 degrees and laid on the one below."""
    bodies = []
    for step in range(steps):
        outline = tread(half_angle, 2.0 * math.pi * step / SIDES)
        corners = np.array([[x, y, z] for x, y in outline for z in (RISE * step, RISE * (step + 1))])
        bodies.append(piece(f"Step {step}", corners, mu))
    return scene_of(bodies, mu)


def stair_margin(half_angle: float, steps: int = 7) -> float:
    """How far in m the weight of all above stays inside what bears it, at the joint where it comes nearest to its edge.

    Loads are upright and each step lies on one other, so it stands where that is positive: statics of rigid bodies, exactly.
    """
    outlines = [tread(half_angle, 2.0 * math.pi * step / SIDES) for step in range(steps)]
    centres = np.array([centroid(outline) for outline in outlines])
    margins = [inside(outlines[0], centres.mean(axis=0))]
    for step in range(1, steps):
        planes = np.concatenate([ConvexHull(outlines[step - 1]).equations, ConvexHull(outlines[step]).equations])
        bearing = HalfspaceIntersection(planes, np.zeros(2)).intersections
        margins.append(inside(bearing, centres[step:].mean(axis=0)))
    return min(margins)


def inside(polygon: Floats, point: Floats) -> float:
    """The distance of a point (2,) from the outline of the hull of points (n, 2), negative outside."""
    return float(-(ConvexHull(polygon).equations @ [*point, 1.0]).max())


__all__ = [
    "THINNEST",
    "barrel_vault",
    "dry_stone_wall",
    "spiral_stair",
    "stair_margin",
    "thrust",
    "timber_frame",
]
