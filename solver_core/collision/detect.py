# SPDX-License-Identifier: GPL-3.0-or-later
"""Collision detection for the stepper. The contacts and their order depend only on the shapes, the poses and the options."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import FALSE, TRUE, kernel, kernel_part, leaf_kernel
from ..geometry.shapes import MESH, PLANE, ShapeTable
from ..threads.side_by_side import runs, side_by_side
from .broad_phase import candidate_pairs, grouped_by_bodies
from .contact_buffer import append_rows, capacity_of, deepest_per_feature, ensure_capacity, free_rows, new_buffer, trimmed
from .contact_set import ContactSet, concatenated, empty_contacts
from .grouping import farthest_gap, reduce_body_pairs
from .half_space import plane_of
from .manifold import CAPACITY, reduce_and_sort
from .mesh.contacts import PlacedSurfaces, plane_surface_contacts, surface_contacts
from .mesh.walks import Walks, all_kept, joined_walks, no_walk, no_walks, room_for_walks, walk_of, with_walk
from .pair import (
    DISTANCE_ROUNDING,
    collider_poses,
    core_size,
    is_round,
    pair_contacts,
    pair_work,
    relative_pose,
    round_shape_in_frame,
)
from .polyhedra.hull_pair import MERGE_RATIO
from .reduction import FEW_CONTACTS
from .revolution.candidates import ContactSink
from .revolution.on_mesh import round_surface_contacts
from .revolution.work import RoundWork, round_work
from .world_contacts import place_contacts

__all__ = ["Scene", "detect", "detect_all", "detect_and_keep", "work_for_rounds"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MIN_COLLIDERS_FOR_THREADS = 2000  # fewest colliders of a scene for which threads save time; starting them takes 1 ms
PAIRS_PER_TASK = 512  # pairs per task of a thread

NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


class ColliderPair(NamedTuple):
    """Two colliders, and the largest gap of a contact between their cores [m]."""

    a: int
    b: int
    limit: float


class Scene(NamedTuple):
    """Input of `detect_all`. The fields are the arguments of `detect`."""

    position: Array
    rotation: Array
    reach: Array
    travel: Array
    collections: Indices
    movable: NDArray[np.bool_]
    excluded: Indices


def detect(
    shapes: ShapeTable,
    position: Array,
    rotation: Array,
    reach: Array,
    collections: Indices,
    movable: NDArray[np.bool_],
    excluded: Indices = NO_PAIRS,
    travel: Array | None = None,
) -> ContactSet:
    """Find all contacts with a gap of at most reach[a] + reach[b] + |travel[b] - travel[a]|.

    Arrays are C-contiguous, and float64 unless another type is given.

    shapes: shapes of the n bodies.
    position, rotation: (n, 3) [m] and (n, 3, 3), pose of each body frame in the world, with the axes in columns.
    reach: (n,) contact offset of each body, not negative [m].
    collections: (n,) int64 bit masks. Bodies without a common bit have no contacts.
    movable: (n,) bool. Two immovable bodies have no contacts.
    excluded: (k, 2) int64 pairs of bodies without contacts, with a < b, in sorted order.
    travel: (n, 3) predicted displacement of each body [m]; None for zero.

    Returns a `ContactSet`. Two convex bodies have at most MOST_CONTACTS contacts, other pairs at most MAX_GROUP_CONTACTS.
    """
    if travel is None:
        travel = np.zeros_like(position)
    return detect_all(shapes, Scene(position, rotation, reach, travel, collections, movable, excluded))


def detect_all(
    shapes: ShapeTable,
    scene: Scene,
    threads: int = 1,
    whole: NDArray[np.bool_] | None = None,
    walks: Walks | None = None,
) -> ContactSet:
    """Find all contacts as `detect` does, with threads and a cache.

    The contacts do not depend on the number of threads or on the cache.

    scene: the other arguments of `detect`.
    threads: number of threads.
    whole: (n,) bool, bodies that keep all their contacts; None for none.
    walks: cached triangle pairs from other poses of the meshes, or None.
    """
    return _reduce(shapes, scene, whole, _detect_unreduced(shapes, scene, threads, walks, FALSE)[0])


def detect_and_keep(
    shapes: ShapeTable, scene: Scene, threads: int, whole: NDArray[np.bool_] | None, walks: Walks | None
) -> tuple[ContactSet, Walks | None]:
    """Return the contacts of `detect_all` and the cache of triangle pairs, which is None without meshes."""
    contacts, kept = _detect_unreduced(shapes, scene, threads, walks, TRUE)
    return _reduce(shapes, scene, whole, contacts), kept


def _reduce(shapes: ShapeTable, scene: Scene, whole: NDArray[np.bool_] | None, contacts: ContactSet) -> ContactSet:
    """Reduce the contacts of each pair of bodies, if the scene has meshes or compounds."""
    if shapes.surfaces is None and len(shapes.body) == len(shapes.radius):
        return contacts
    every = np.zeros(len(shapes.radius), np.bool_) if whole is None else whole
    return contacts.chosen(reduce_body_pairs(contacts, scene, shapes.radius, every))


def _detect_unreduced(
    shapes: ShapeTable, scene: Scene, threads: int, walks: Walks | None, keep: np.bool_
) -> tuple[ContactSet, Walks | None]:
    """Return the result of `all_contacts`. If there are many pairs, threads process them in consecutive runs."""
    surfaces = shapes.surfaces
    without_meshes = shapes if surfaces is None else shapes._replace(surfaces=None)
    if surfaces is not None and walks is None:
        walks = no_walks(np.zeros(len(shapes.radius), np.bool_))
    if threads == 1 or len(shapes.body) < MIN_COLLIDERS_FOR_THREADS:
        return all_contacts(without_meshes, surfaces, work_for_rounds(shapes), scene, walks, keep)
    poses, pairs = pairs_near(without_meshes, scene)

    def detect_run(run: tuple[int, int]) -> tuple[ContactSet, Walks | None]:
        run_pairs = pairs[run[0] : run[1]]
        return contacts_of_pairs(without_meshes, surfaces, work_for_rounds(shapes), scene, poses, run_pairs, walks, keep)

    tasks = runs(np.ones(len(pairs), dtype=np.int64), PAIRS_PER_TASK)
    if len(tasks) < 2:
        return detect_run((0, len(pairs)))
    results = side_by_side(threads, [partial(detect_run, run) for run in tasks])
    kept = [walks for _, walks in results if walks is not None]
    return concatenated([contacts for contacts, _ in results]), joined_walks(kept) if kept else None


def work_for_rounds(shapes: ShapeTable) -> RoundWork | None:
    """Return work arrays for cylinders and cones, or None without such shapes.

    With None, numba prunes the branches on `is None` and does not compile the kernels of these shapes. The first cylinder or
    cone compiles them. Meshes work in the same way.
    """
    return round_work() if shapes.round_radius.any() else None


@kernel_part
def mesh_pair_contacts(shapes, surfaces, poses, pair, work, round_workspace, walks):
    """Find the contacts of a pair of colliders with at least one mesh.

    poses: poses of all colliders.
    pair: a `ColliderPair`.
    walks: cached triangle pairs.

    Returns a `ContactBuffer`, the rows to keep in it in the order of their features, the collider in whose frame the contacts
    are, the `Walk` with their triangle pairs, and the number of triangles of both surfaces, or 0 if there is no such walk.
    """
    a, b, limit = pair.a, pair.b, pair.limit
    turn, shift = work.turn, work.shift
    if shapes.kind[a] == PLANE or shapes.kind[b] == PLANE:
        plane = a if shapes.kind[a] == PLANE else b
        mesh = b if shapes.kind[a] == PLANE else a
        relative_pose(poses, mesh, plane, turn, shift)
        half_space = plane_of(turn, shift, plane == a)
        found = plane_surface_contacts(surfaces, shapes.surface[mesh], half_space, limit)
        return found, deepest_per_feature(found), mesh, no_walk(), 0
    first, second = shapes.surface[a], shapes.surface[b]
    noise = DISTANCE_ROUNDING * (core_size(shapes, a) + core_size(shapes, b))
    if round_workspace is not None and (is_round(shapes, a) or is_round(shapes, b)):
        body = a if is_round(shapes, a) else b
        mesh = b if body == a else a
        merge = MERGE_RATIO * core_size(shapes, body)
        collection = ContactSink(body == a, limit, merge, noise, empty_contacts(CAPACITY), round_workspace)
        r = round_shape_in_frame(shapes, poses, mesh, body, work)
        found, is_deep = round_surface_contacts(r, surfaces, shapes.surface[mesh], collection)
        if not is_deep:
            return found, deepest_per_feature(found), mesh, no_walk(), 0
    count_a = surfaces.first_triangle[first + 1] - surfaces.first_triangle[first]
    count_b = surfaces.first_triangle[second + 1] - surfaces.first_triangle[second]
    exchanged = count_a < count_b
    frame, other = (b, a) if exchanged else (a, b)
    relative_pose(poses, frame, other, turn, shift)
    scale = min(core_size(shapes, a), core_size(shapes, b))
    placed = PlacedSurfaces(shapes.surface[frame], shapes.surface[other], turn, shift)
    walk = walk_of(walks, a, b)
    found, rows, walk = surface_contacts(surfaces, placed, limit, noise, scale, exchanged, walk)
    return found, rows, frame, walk, count_a + count_b


@leaf_kernel
def append_convex_contacts(shapes, poses, scene, pairs, row, found, work, round_workspace):
    """Append the contacts of consecutive convex pairs, starting at a row, and return the row at which it stopped.

    It stops at a pair with a mesh, or if the buffer may be too small for the next pair. It handles many pairs per call because
    outside leaf kernels numba updates the reference count of every array in each iteration.
    """
    manifold = free_rows(found)
    while row < len(pairs) and found.used[0] + CAPACITY <= capacity_of(found):
        a, b = pairs[row, 0], pairs[row, 1]
        if shapes.kind[a] == MESH or shapes.kind[b] == MESH:
            break
        limit = max_core_gap(shapes, scene, a, b)
        count, frame = pair_contacts(shapes, poses, a, b, limit, manifold, work, round_workspace)
        if count > 0:
            if count > FEW_CONTACTS:
                smaller = a if shapes.radius[shapes.body[a]] <= shapes.radius[shapes.body[b]] else b
                relative_pose(poses, frame, smaller, work.turn, work.shift)
            count = reduce_and_sort(manifold, count, limit, work.turn)
            place_contacts(found, shapes, poses, a, b, frame, count)
            manifold = free_rows(found)
        row += 1
    return row


@leaf_kernel
def max_core_gap(shapes, scene, a, b):
    """Return the largest gap of a contact between the cores of two colliders [m]."""
    limit = farthest_gap(scene.reach, scene.travel, shapes.body[a], shapes.body[b])
    return limit + shapes.margin[a] + shapes.margin[b]


@kernel
def all_contacts(shapes, surfaces, round_workspace, scene, walks, keep):
    """Find all contacts before reduction by pairs of bodies, and the triangle pairs of their meshes.

    shapes: shapes without surfaces.
    surfaces: surfaces of the meshes; None without meshes.
    round_workspace: from `work_for_rounds`.
    walks: cached triangle pairs; None without surfaces.
    keep: True to return new triangle pairs for the cache.
    """
    poses, pairs = pairs_near(shapes, scene)
    return contacts_of_pairs(shapes, surfaces, round_workspace, scene, poses, pairs, walks, keep)


@kernel
def pairs_near(shapes, scene):
    """Return the `Poses` of all colliders and the candidate pairs (k, 2). Pairs of the same two bodies are consecutive."""
    body = shapes.body
    poses = collider_poses(shapes, scene.position, scene.rotation)
    pairs = candidate_pairs(
        shapes,
        poses.position,
        poses.rotation,
        scene.reach[body],
        scene.collections[body],
        scene.movable[body],
        scene.excluded,
        scene.travel[body],
    )
    bodies = len(shapes.radius)
    if len(body) > bodies:
        pairs = grouped_by_bodies(pairs, body, bodies)
    return poses, pairs


@kernel
def contacts_of_pairs(shapes, surfaces, round_workspace, scene, poses, pairs, walks, keep):
    """Return the result of `all_contacts` for the given pairs (k, 2)."""
    found, kept = new_buffer(max(64, 4 * len(pairs)) + CAPACITY), walks
    if surfaces is not None:
        kept = room_for_walks(walks.lasting, len(pairs) if keep else 0)
    work = pair_work(shapes)
    # numba would compile the kernel again for the literal 0.
    row = np.int64(0)
    while row < len(pairs):
        row = append_convex_contacts(shapes, poses, scene, pairs, row, found, work, round_workspace)
        if row == len(pairs):
            break
        a, b = pairs[row, 0], pairs[row, 1]
        if shapes.kind[a] != MESH and shapes.kind[b] != MESH:
            found = ensure_capacity(found, CAPACITY)
            continue
        row += 1
        if surfaces is not None:
            pair = ColliderPair(a, b, max_core_gap(shapes, scene, a, b))
            here, rows, frame, walk, triangles = mesh_pair_contacts(shapes, surfaces, poses, pair, work, round_workspace, walks)
            found = ensure_capacity(found, len(rows))
            append_rows(found, here, rows)
            place_contacts(found, shapes, poses, a, b, frame, len(rows))
            if keep and triangles > 0 and walks.lasting[shapes.body[a]] and walks.lasting[shapes.body[b]]:
                kept = with_walk(kept, a, b, walk, triangles)
    if surfaces is not None:
        kept = all_kept(kept)
    return trimmed(found), kept
