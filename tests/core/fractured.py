# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks broken into convex pieces that fit each other exactly, and what is true of two of them: by proof, or by Minkowski.

Pieces are vertices alone, cut by planes; slivers, needles and sharp wedges are among them, as add-ons that fracture meshes make
them. Two polyhedra overlap by the distance of the origin from the boundary of the convex hull of all differences of their
vertices; that hull is scipy's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from solver_core.collision import detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

Floats = np.ndarray
# A face within a degree of the closest direction stands for it, and for edges that would part bodies with 5 % less motion.
LEAN = np.sin(np.radians(1.0))
FACE_PREFERENCE = 0.05
CUBE = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


def edges(points: Floats) -> Floats:
    """(e, 2) edges of the triangles of a hull."""
    triangles = ConvexHull(points).simplices
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def halves(points: Floats, normal: Floats, offset: float, near: float = 1e-12) -> tuple[Floats, Floats] | None:
    """The parts below and above a plane, with the same points in it; None where the plane cuts nothing off."""
    height = points @ normal - offset
    if height.min() > -near or height.max() < near:
        return None
    ends = edges(points)
    low, high = height[ends].T
    across = (np.minimum(low, high) < -near) & (np.maximum(low, high) > near)
    share = (low[across] / (low[across] - high[across]))[:, None]
    cut = points[ends[across, 0]] + share * (points[ends[across, 1]] - points[ends[across, 0]])
    return np.concatenate([points[height <= near], cut]), np.concatenate([points[-height <= near], cut])


def corners(points: Floats) -> Floats:
    return points[ConvexHull(points).vertices]


def cut_plane(random: np.random.Generator, points: Floats) -> tuple[Floats, float]:
    """Through the middle mostly; else close to a face, or close to an edge and at a few degrees to its face."""
    normal = random.normal(size=3)
    normal /= np.linalg.norm(normal)
    kind = random.random()
    if kind < 0.6:
        return normal, float(normal @ points.mean(axis=0))
    hull = ConvexHull(points)
    face = int(random.integers(len(hull.equations)))
    size = float(np.ptp(points, axis=0).max())
    if kind < 0.8:
        return hull.equations[face, :3], -hull.equations[face, 3] - 10.0 ** random.uniform(-4, -1) * size
    first, second = points[hull.simplices[face, :2]]
    along = (second - first) / np.linalg.norm(second - first)
    lean = np.radians(random.uniform(1.0, 10.0))
    normal = hull.equations[face, :3]
    normal = np.cos(lean) * normal + np.sin(lean) * np.cross(along, normal)
    return normal, float(normal @ first)


def fractured(seed: int, count: int, thin: bool = True, single: bool = False) -> list[Floats]:
    """A cube of one metre in so many pieces, each (n, 3) m where it belongs.

    thin: with slivers and wedges, else all cuts go through the middle. single: coordinates about each piece's own middle in
    single precision, as a mesh has them, so that the pieces fit to 1e-8 m.
    """
    random = np.random.default_rng(seed)
    pieces = [CUBE]
    while len(pieces) < count:
        largest = int(np.argmax([ConvexHull(piece).volume for piece in pieces]))
        whole = pieces.pop(int(random.integers(len(pieces))) if thin and random.random() < 0.3 else largest)
        normal, offset = cut_plane(random, whole)
        if not thin:
            normal = random.normal(size=3)
            normal /= np.linalg.norm(normal)
            offset = float(normal @ whole.mean(axis=0))
        try:
            parts = halves(whole, normal, offset)
            pieces += [whole] if parts is None else [corners(part) for part in parts]
        except QhullError:  # thinner than scipy's hulls can be
            pieces.append(whole)
    if single:
        middles = [piece.mean(axis=0).astype(np.float32).astype(float) for piece in pieces]
        pieces = [(piece - c).astype(np.float32).astype(float) + c for piece, c in zip(pieces, middles, strict=True)]
    return pieces


@dataclass(frozen=True)
class Pair:
    """Two convex bodies by their vertices (n, 3) m in the world."""

    first: Floats
    second: Floats

    @cached_property
    def size(self) -> float:
        """m, of the larger one."""
        return max(float(np.linalg.norm(np.ptp(points, axis=0))) for points in (self.first, self.second))

    def separation(self, normals: Floats) -> Floats:
        """(k,) m along unit normals (k, 3) from the first to the second."""
        return (self.second @ normals.T).min(axis=0) - (self.first @ normals.T).max(axis=0)

    @cached_property
    def deepest(self) -> float:
        """The largest separation along any direction: minus the depth where the bodies overlap, below zero only there.

        Where they are apart, the largest along the normals of the Minkowski difference, which the distance is no less than.
        """
        differences = (self.second[:, None] - self.first[None]).reshape(-1, 3)
        hull = ConvexHull(differences)
        return float(self.separation(-hull.equations[:, :3]).max())


@dataclass(frozen=True)
class Meeting:
    """What is said of two bodies: gap (m,) m, normal (m, 3) and point (m, 3) m of their contacts."""

    names: tuple[int, int]
    pair: Pair
    gap: Floats
    normal: Floats
    point: Floats

    def error(self) -> float:
        """How far in m the contacts are from the truth, beyond what faces may stand for."""
        true, along = self.pair.deepest, self.pair.separation(self.normal)
        deepest = int(np.argmin(self.gap))
        least = float(self.gap[deepest])
        # Apart, the bodies are no nearer than a direction proves.
        off = true * (1.0 - LEAN) - least if true > 0.0 else abs(least - true) + FACE_PREFERENCE * true
        # Bodies reach past a face that stands for the closest direction, elsewhere, as far as it leans.
        past = least - float(along[deepest]) - LEAN * self.pair.size
        # No gap is more negative than the separation along its own normal.
        return max(off, past, float((along - self.gap).max()), 0.0)


def meetings(pieces: list[Floats], shift: float, seed: int, reach: float = 1e-3) -> tuple[list[Meeting], list[Floats]]:
    """What `detect` says of pieces in any common pose, each moved and turned by about `shift` from its place.

    With their vertices in the world.
    """
    random = np.random.default_rng(seed)
    middles = np.array([piece.mean(axis=0).astype(np.float32) for piece in pieces], dtype=float)
    common = Rotation.random(random_state=seed).as_matrix()
    turns = [Rotation.from_rotvec(random.normal(size=3) * shift).as_matrix() @ common for _ in pieces]
    places = middles @ common.T + random.normal(size=3) + random.normal(size=middles.shape) * shift
    table = build_shapes([ShapeSpec(ShapeKind.HULL, piece - c) for piece, c in zip(pieces, middles, strict=True)])
    masks = np.ones(len(pieces), dtype=np.int64)
    found = detect(table, places, np.array(turns), np.full(len(pieces), 0.5 * reach), masks, masks > 0)
    world = [(piece - c) @ r.T + x for piece, c, r, x in zip(pieces, middles, turns, places, strict=True)]
    names = np.column_stack([found.body_a, found.body_b])
    said = []
    for i, j in np.unique(names, axis=0):
        rows = (names == (i, j)).all(axis=1)
        said.append(Meeting((int(i), int(j)), Pair(world[i], world[j]), found.gap[rows], found.normal[rows], found.point[rows]))
    return said, world
