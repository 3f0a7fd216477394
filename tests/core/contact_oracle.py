# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two convex bodies judged from outside: by proof, by search over directions, and by MuJoCo.

Bodies that are apart have a proof. The separation along any direction is a lower bound of their distance, and two points, one
in each body, are an upper bound. Where the two meet, at the normal and the points of a contact, the distance is known, and the
normal with it: along a direction off by an angle t, bodies at the distance d are apart by d cos t at most.

The depth of bodies that overlap is the least over all directions, which is searched. Nothing here uses the code under test:
support functions and memberships are written anew, hulls are those of scipy.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.collision import detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

KINDS = ("box", "sphere", "capsule", "cylinder", "cone", "hull")
PAIRS = tuple(itertools.combinations_with_replacement(KINDS, 2))
FAR = 20.0
# m: up to this a distance counts as right.
TOLERANCE = 1e-7
# rad: up to this a normal is right. It is asked for where the cores are this far apart, for nearer the proof lacks digits.
ANGLE, APART = 1e-4, 1e-4
WITHIN_A_DEGREE = 1.0 / np.cos(np.radians(1.0)) - 1.0
CORNERS = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))


@dataclass(frozen=True)
class Solid:
    """A convex body: a core, thickened by `margin` all around.

    points: (n, 3) m, the core's vertices; of a cylinder or a cone the ends of its axis, which is along z, base first.
    """

    kind: str
    points: np.ndarray
    radius: float = 0.0
    margin: float = 0.0

    @property
    def spec(self) -> ShapeSpec:
        kind = {"cylinder": ShapeKind.CYLINDER, "cone": ShapeKind.CONE}.get(self.kind, ShapeKind.HULL)
        return ShapeSpec(kind, self.points, radius=self.radius, margin=self.margin)

    def heights(self, directions: np.ndarray) -> np.ndarray:
        """(k,) how far the body reaches along unit directions (k, 3)."""
        ends = directions @ self.points.T
        if self.kind not in ("cylinder", "cone"):
            return ends.max(axis=1) + self.margin
        rim = self.radius * np.hypot(directions[:, 0], directions[:, 1])
        return np.maximum(ends[:, 0] + rim, ends[:, 1] + (rim if self.kind == "cylinder" else 0.0)) + self.margin

    def outside(self, point: np.ndarray) -> float:
        """How far in m a point is outside of the core, at most; 0 or less inside."""
        if self.kind in ("cylinder", "cone"):
            low, high = self.points[:, 2]
            across = np.hypot(point[0], point[1])
            if self.kind == "cylinder":
                return float(max(low - point[2], point[2] - high, across - self.radius))
            slant = np.hypot(self.radius, high - low)
            over = ((across - self.radius) * (high - low) + self.radius * (point[2] - low)) / slant
            return float(max(low - point[2], over))
        if len(self.points) <= 2:
            start, way = self.points[0], self.points[-1] - self.points[0]
            part = np.clip((point - start) @ way / (way @ way), 0.0, 1.0) if len(self.points) == 2 else 0.0
            return float(np.linalg.norm(point - start - part * way))
        faces = self.faces()
        return float((faces[:, :3] @ point + faces[:, 3]).max())

    def faces(self) -> np.ndarray:
        """(f, 4) the planes of the core's faces, none for a segment or a point."""
        if self.kind in ("cylinder", "cone"):
            return np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, -1.0, 0.0]])
        return hull_planes(self.points.tobytes()) if len(self.points) > 2 else np.zeros((0, 4))

    def edges(self) -> np.ndarray:
        """(e, 3) the directions of the core's edges."""
        if len(self.points) == 2:
            return np.array([[0.0, 0.0, 1.0]])
        return hull_edges(self.points.tobytes()) if len(self.points) > 2 else np.zeros((0, 3))


@cache
def hull_planes(points: bytes) -> np.ndarray:
    return ConvexHull(np.frombuffer(points).reshape(-1, 3)).equations


@cache
def hull_edges(points: bytes) -> np.ndarray:
    vertices = np.frombuffer(points).reshape(-1, 3)
    triangles = ConvexHull(vertices).simplices
    ends = np.unique(
        np.sort(np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]), axis=1), axis=0
    )
    ways = vertices[ends[:, 1]] - vertices[ends[:, 0]]
    return ways / np.linalg.norm(ways, axis=1)[:, None]


def axis(height: float) -> np.ndarray:
    return np.array([[0.0, 0.0, -0.5 * height], [0.0, 0.0, 0.5 * height]])


def hulls() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    slab = random.normal(size=(12, 3)) * (0.6, 0.6, 0.004)
    lopsided = np.concatenate([random.normal(size=(12, 3)) * 0.1, [[1.5, 0.3, -0.2]]])
    ball = random.normal(size=(100, 3))
    return [random.normal(size=(20, 3)) * 0.5, slab, lopsided, 0.7 * ball / np.linalg.norm(ball, axis=1)[:, None]]


def pool() -> dict[str, list[Solid]]:
    """Four bodies of every kind, thin and lopsided ones among them."""
    return {
        "box": [Solid("box", CORNERS * s) for s in ((1, 0.8, 1.2), (1.2, 1.8, 0.006), (0.02, 0.03, 2), (0.05, 0.05, 0.05))],
        "sphere": [Solid("sphere", np.zeros((1, 3)), margin=r) for r in (0.5, 1.5, 0.05, 0.003)],
        "capsule": [Solid("capsule", axis(h), margin=r) for r, h in ((0.2, 1.0), (0.01, 1.6), (0.6, 0.04), (0.05, 0.1))],
        "cylinder": [Solid("cylinder", axis(h), r) for r, h in ((0.5, 1.0), (1.0, 0.01), (0.02, 1.5), (0.05, 0.06))],
        "cone": [Solid("cone", axis(h), r) for r, h in ((0.5, 1.0), (1.0, 0.05), (0.03, 1.5), (0.7, 0.3))],
        "hull": [Solid("hull", points) for points in hulls()],
    }


@dataclass(frozen=True)
class Pose:
    """Two bodies, the first with its origin at the world's; rotations (2, 3, 3), offset (3,) m of the second one."""

    first: Solid
    second: Solid
    rotations: np.ndarray
    offset: np.ndarray

    def separation(self, directions: np.ndarray) -> np.ndarray:
        """(k,) m along unit directions (k, 3) from the first body to the second."""
        of_first = self.first.heights(directions @ self.rotations[0])
        return directions @ self.offset - of_first - self.second.heights(-directions @ self.rotations[1])

    @property
    def of_polyhedra(self) -> bool:
        return not {self.first.kind, self.second.kind} & {"cylinder", "cone", "sphere"}

    def contacts(self, reach: float) -> Any:
        position = np.array([np.zeros(3), self.offset])
        masks = np.ones(2, dtype=np.int64)
        return detect(table(self.first, self.second), position, self.rotations, np.full(2, 0.5 * reach), masks, masks > 0)


TABLES: dict[tuple[int, int], Any] = {}


def table(first: Solid, second: Solid) -> Any:
    key = id(first), id(second)
    if key not in TABLES:
        # the solids are kept too, so that no other ones get their ids
        TABLES[key] = build_shapes([first.spec, second.spec]), first, second
    return TABLES[key][0]


def poses(random: np.random.Generator, solids: dict[str, list[Solid]], pair: tuple[str, str], count: int) -> Iterator[Pose]:
    """Random poses: a third with parallel axes, a third with nearly parallel ones; overlapping, nearly touching, and apart."""
    for number in range(count):
        first, second = (solids[kind][random.integers(len(solids[kind]))] for kind in pair)
        rotations = Rotation.random(2, random_state=int(random.integers(1 << 30))).as_matrix()
        if number % 3:
            quarter = Rotation.from_euler("xyz", random.integers(4, size=3) * 90.0, degrees=True)
            lean = 10.0 ** random.uniform(-12, -1) if number % 3 == 1 else 0.0
            rotations[1] = rotations[0] @ (quarter * Rotation.from_rotvec(random.normal(size=3) * lean)).as_matrix()
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        touching = -Pose(first, second, rotations, np.zeros(3)).separation(direction[None])[0]
        gap = -random.uniform(0.0, 1.0) * touching if number % 4 == 0 else 10.0 ** random.uniform(-5, -0.3)
        yield Pose(first, second, rotations, direction * (touching + gap))


@dataclass(frozen=True)
class Verdict:
    """What is known of the deepest contact of a pose.

    gap: m, as detected. slack: m, between the gap and the separation along the contact's normal. outside: m, by how much the
    contact's points, and with them the gap as an upper bound, leave the bodies. angle: rad, the most that the normal can be
    off where the bodies are apart. excess: m, by how much a search found more separation than the gap; 0 where there is proof.
    of_face: whether the normal is a face's. cores: m between the cores.
    """

    gap: float
    slack: float
    outside: float
    angle: float
    excess: float
    of_face: bool
    cores: float

    @property
    def proven(self) -> bool:
        return self.gap > 0.0 and self.slack + self.outside <= TOLERANCE

    @property
    def deepest_right(self) -> bool:
        """Whether bodies that overlap do so by the gap along the normal, or another direction, and no direction has less."""
        return self.gap <= 0.0 and self.excess <= TOLERANCE and min(self.slack, abs(self.excess)) <= TOLERANCE

    @property
    def face_for_direction(self) -> bool:
        """Whether a face within a degree of the closest direction stands for it, with a gap larger by up to 1 / cos - 1."""
        more = -self.excess
        return self.cores > 0.0 and self.of_face and -TOLERANCE <= more <= WITHIN_A_DEGREE * self.cores + TOLERANCE

    @property
    def face_for_edges(self) -> bool:
        """Whether a face stands for crossing edges that would part the bodies, which overlap, by up to 5 % less motion."""
        return self.cores <= 0.0 and self.of_face and TOLERANCE < self.excess <= -0.05 * self.cores

    @property
    def wrong(self) -> bool:
        return not (self.proven or self.face_for_direction or self.face_for_edges or self.deepest_right)


def judge(pose: Pose, contacts: Any) -> Verdict:
    """What can be said for the closest contact; of several as close up to the tolerance, of the one with the best proof.

    Where there is no proof, for the bodies overlap or the contact is wrong, the search says more.
    """
    near = np.flatnonzero(contacts.gap <= contacts.gap.min() + TOLERANCE)
    verdict = min((proof(pose, contacts, slot) for slot in near), key=lambda proven: proven.slack + proven.outside)
    if verdict.proven and verdict.angle <= ANGLE:
        return verdict
    if verdict.proven:
        # The proof is weak where much of the bodies is across the normal, and stronger for a direction beside it.
        direction, value = closing_in(pose, contacts.normal[near[0]], 1e-4)
        angle = np.sqrt(2.0 * max(verdict.gap - value, 0.0) / verdict.cores)
        return replace(verdict, angle=angle + float(np.linalg.norm(np.cross(direction, contacts.normal[near[0]]))))
    return replace(verdict, excess=best_separation(pose, contacts.normal[near[0]]) - verdict.gap)


def proof(pose: Pose, contacts: Any, slot: int) -> Verdict:
    """Bounds of the distance at a contact."""
    gap, normal, point = float(contacts.gap[slot]), contacts.normal[slot], contacts.point[slot]
    slack = gap - float(pose.separation(normal[None])[0])
    margins = pose.first.margin + pose.second.margin
    on_first = (point - (0.5 * gap + pose.first.margin) * normal) @ pose.rotations[0]
    on_second = (point + (0.5 * gap + pose.second.margin) * normal - pose.offset) @ pose.rotations[1]
    outside = max(pose.first.outside(on_first), pose.second.outside(on_second), 0.0)
    cores = gap + margins
    angle = np.sqrt(2.0 * max(slack + outside, 0.0) / cores) if cores > 0.0 else np.inf
    first, second = pose.first.faces()[:, :3] @ pose.rotations[0].T, pose.second.faces()[:, :3] @ pose.rotations[1].T
    of_face = bool((np.abs(np.concatenate([first, second]) @ normal) > 1.0 - 1e-14).any())
    return Verdict(gap, abs(slack), outside, float(angle), 0.0, of_face, cores)


@cache
def sphere_of_directions() -> np.ndarray:
    directions = np.random.default_rng(0).normal(size=(1500, 3))
    return directions / np.linalg.norm(directions, axis=1)[:, None]


def best_separation(pose: Pose, near: np.ndarray) -> float:
    """The largest separation found: along directions all around, faces, cross products of edges, and by closing in."""
    first = np.concatenate([pose.first.faces()[:, :3], pose.first.edges()]) @ pose.rotations[0].T
    second = np.concatenate([pose.second.faces()[:, :3], pose.second.edges()]) @ pose.rotations[1].T
    crossed = np.cross(first[:, None], second[None]).reshape(-1, 3)
    lengths = np.linalg.norm(crossed, axis=1)
    tried = np.concatenate([first, second, crossed[lengths > 1e-6] / lengths[lengths > 1e-6, None]])
    tried = np.concatenate([sphere_of_directions(), tried, -tried, near[None]])
    values = np.concatenate([pose.separation(some) for some in np.array_split(tried, 1 + len(tried) // 4000)])
    best = float(values.max())
    for start in (*tried[np.argsort(values)[-2:]], near):
        best = max(best, closing_in(pose, start, 0.1)[1])
    return best


def closing_in(pose: Pose, direction: np.ndarray, radius: float) -> tuple[np.ndarray, float]:
    """The direction, and its separation, to which a random search around one comes."""
    random = np.random.default_rng(1)
    value = pose.separation(direction[None])[0]
    for _ in range(120):
        around = direction + random.normal(size=(24, 3)) * radius
        around /= np.linalg.norm(around, axis=1)[:, None]
        values = pose.separation(around)
        k = int(np.argmax(values))
        if values[k] > value:
            direction, value = around[k], values[k]
        else:
            radius *= 0.8
    return direction, float(value)


@dataclass
class Tally:
    """What came out of many poses: counts, and the worst errors in m and rad of what counts as right.

    Of overlapping pairs of polyhedra edges: those where crossing edges would separate with less motion than the face taken.
    unsettled: MuJoCo has another distance, and neither proof nor search says which is right.
    """

    poses: int = 0
    apart: int = 0
    wrong: int = 0
    missed: int = 0
    invented: int = 0
    faces: int = 0
    normals_off: int = 0
    edges: int = 0
    distance: float = 0.0
    depth: float = 0.0
    angle: float = 0.0
    compared: int = 0
    agreed: int = 0
    mujoco_off: int = 0
    unsettled: int = 0
    disagreement: float = 0.0
    turn: float = 0.0


def tally(random: np.random.Generator, posed: Iterator[Pose], mujoco: Any = None) -> Tally:
    """Judges every pose, asks for contacts with a random reach, and compares with MuJoCo where it knows both bodies."""
    total = Tally()
    for pose in posed:
        total.poses += 1
        contacts = pose.contacts(FAR)
        if not len(contacts):
            total.missed += 1
            continue
        verdict = judge(pose, contacts)
        reach = 10.0 ** random.uniform(-4, 0)
        if abs(verdict.gap - reach) > TOLERANCE:
            found = len(pose.contacts(reach)) > 0
            total.missed += not found and verdict.gap < reach
            total.invented += found and verdict.gap > reach
        total.apart += verdict.gap > 0.0
        if verdict.proven:
            total.distance = max(total.distance, verdict.slack + verdict.outside)
            if verdict.cores > APART:
                total.normals_off += verdict.angle > ANGLE
                total.angle = max(total.angle, verdict.angle if verdict.angle <= ANGLE else 0.0)
        elif verdict.deepest_right:
            total.depth = max(total.depth, verdict.excess)
        elif verdict.face_for_direction and pose.of_polyhedra:
            total.faces += 1
        elif verdict.face_for_edges and pose.of_polyhedra:
            total.edges += 1
        else:
            total.wrong += 1
        if mujoco is not None and "cone" not in (pose.first.kind, pose.second.kind):
            compare(total, pose, verdict, contacts, mujoco)
    return total


def compare(total: Tally, pose: Pose, verdict: Verdict, contacts: Any, mujoco: Any) -> None:
    """Adds what MuJoCo says of a pose to the tally."""
    distance, way = mujoco.distance(pose)
    total.compared += 1
    if abs(distance - verdict.gap) <= TOLERANCE:
        total.agreed += 1
        total.disagreement = max(total.disagreement, abs(distance - verdict.gap))
        if verdict.gap > 1e-3 and verdict.proven:
            normals = contacts.normal[contacts.gap <= contacts.gap.min() + TOLERANCE]
            total.turn = max(total.turn, float(np.linalg.norm(np.cross(normals, way / distance), axis=1).min()))
    elif verdict.proven or (verdict.deepest_right and distance < verdict.gap):
        total.mujoco_off += 1
    elif verdict.gap <= 0.0 and distance > verdict.gap + abs(verdict.excess) + TOLERANCE:
        # less depth than any direction has
        total.mujoco_off += 1
    elif not (verdict.face_for_direction or verdict.face_for_edges):
        total.unsettled += 1
