# SPDX-License-Identifier: GPL-3.0-or-later
"""Collision detection as the stepper calls it: poses in, contacts out, in an order that depends on nothing but the poses."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import FALSE, TRUE, kernel, kernel_part, leaf_kernel
from ..geometry.shapes import MESH, PLANE, ShapeTable
from ..threads.side_by_side import runs, side_by_side
from .broad_phase import candidate_pairs, grouped_by_bodies
from .contact_set import ContactSet, concatenated
from .grouping import farthest_gap, reduced_groups
from .half_space import plane_of
from .manifold import reduce_and_sort
from .mesh.buffer import one_a_feature
from .mesh.contacts import plane_surface_contacts, surface_contacts
from .mesh.walks import Walks, all_kept, joined_walks, no_walk, no_walks, room_for_walks, walk_of, with_walk
from .pair import (
    DISTANCE_NOISE,
    collider_poses,
    core_size,
    is_round,
    pair_contacts,
    pair_work,
    placed_round,
    relative_pose,
)
from .polyhedra.hull_pair import MERGE
from .reduction import FEW_CONTACTS, MOST_CONTACTS
from .revolution.candidates import Collection
from .revolution.on_mesh import round_surface_contacts
from .revolution.work import RoundWork, round_work
from .world_contacts import all_found, allocate, with_room, write_contacts

__all__ = ["Scene", "detect", "detect_all", "detect_and_keep", "work_for_rounds"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

MANY_COLLIDERS = 256  # of a scene whose pairs are looked at in threads
PAIRS_OF_A_RUN = 512  # that one of them looks at

NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


class Scene(NamedTuple):
    """What `detect` needs of the bodies."""

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
    """All contacts with a gap of at most reach[a] + reach[b] + |travel[b] - travel[a]|.

    position (n, 3) m and rotation (n, 3, 3) place the body frames in the world; reach (n,) m, not negative; travel (n, 3) m,
    how bodies are going to move on, None for not at all; collections (n,) int64 bit masks; movable (n,) bool. Pairs of which
    neither is movable or whose masks share no bit make no contacts, nor do the rows of excluded (k, 2) int64, which have a < b
    and are sorted. Two bodies have at most MOST_CONTACTS contacts where both are convex, else MAX_GROUP_CONTACTS. Arrays are
    C-contiguous float64 where no other type is named.
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
    """`detect`, in so many threads; no contact depends on their number, nor on `walks` of other poses, which save time. Of
    bodies that are `whole` (n,) none is left out."""
    return _reduced(shapes, scene, whole, _unreduced(shapes, scene, threads, walks, FALSE)[0])


def detect_and_keep(
    shapes: ShapeTable, scene: Scene, threads: int, whole: NDArray[np.bool_] | None, walks: Walks | None
) -> tuple[ContactSet, Walks | None]:
    """`detect_all`, and the walks of its meshes, None where there are none."""
    contacts, kept = _unreduced(shapes, scene, threads, walks, TRUE)
    return _reduced(shapes, scene, whole, contacts), kept


def _reduced(shapes: ShapeTable, scene: Scene, whole: NDArray[np.bool_] | None, contacts: ContactSet) -> ContactSet:
    """The contacts that stay of `all_contacts`."""
    if shapes.surfaces is None and len(shapes.body) == len(shapes.radius):
        return contacts
    every = np.zeros(len(shapes.radius), np.bool_) if whole is None else whole
    return contacts.chosen(reduced_groups(contacts, scene, shapes.radius, every))


def _unreduced(
    shapes: ShapeTable, scene: Scene, threads: int, walks: Walks | None, keep: np.bool_
) -> tuple[ContactSet, Walks | None]:
    """`all_contacts`; in threads, where there are many pairs, one run of these after the other."""
    without_meshes, surfaces = shapes._replace(surfaces=None), shapes.surfaces
    if surfaces is not None and walks is None:
        walks = no_walks(np.zeros(len(shapes.radius), np.bool_))
    if threads == 1 or len(shapes.body) < MANY_COLLIDERS:
        return all_contacts(without_meshes, surfaces, work_for_rounds(shapes), scene, walks, keep)
    poses, pairs = pairs_near(without_meshes, scene)

    def look(run: tuple[int, int]) -> tuple[ContactSet, Walks | None]:
        some = pairs[run[0] : run[1]]
        return contacts_of_pairs(without_meshes, surfaces, work_for_rounds(shapes), scene, poses, some, walks, keep)

    pieces = runs(np.ones(len(pairs), dtype=np.int64), PAIRS_OF_A_RUN)
    if len(pieces) < 2:
        return look((0, len(pairs)))
    found = side_by_side(threads, [partial(look, run) for run in pieces])
    kept = [walks for _, walks in found if walks is not None]
    return concatenated([contacts for contacts, _ in found]), joined_walks(kept) if kept else None


def work_for_rounds(shapes: ShapeTable) -> RoundWork | None:
    """Work arrays for cylinders and cones, None where there are none.

    Kernels for these, and for meshes, are compiled when the first one comes along: numba leaves out what asks whether an
    argument is None that is.
    """
    return round_work() if shapes.round_radius.any() else None


@kernel_part
def mesh_pair_contacts(shapes, surfaces, poses, pair, limit, work, round_workspace, walks):
    """Contacts of a pair with a mesh in it, in the frame of one of the two: (a `Buffer`, that one, the `Walk` that they are
    from, and how many triangles it was of, 0 for none)."""
    a, b = pair
    turn, shift = work.turn, work.shift
    if shapes.kind[a] == PLANE or shapes.kind[b] == PLANE:
        plane = a if shapes.kind[a] == PLANE else b
        mesh = b if shapes.kind[a] == PLANE else a
        relative_pose(poses, mesh, plane, turn, shift)
        half_space = plane_of(turn, shift, plane == a)
        return plane_surface_contacts(surfaces, shapes.surface[mesh], half_space, limit), mesh, no_walk(), 0
    first, second = shapes.surface[a], shapes.surface[b]
    noise = DISTANCE_NOISE * (core_size(shapes, a) + core_size(shapes, b))
    if round_workspace is not None and (is_round(shapes, a) or is_round(shapes, b)):
        body = a if is_round(shapes, a) else b
        mesh = b if body == a else a
        merge = MERGE * core_size(shapes, body)
        collection = Collection(body == a, limit, merge, noise, work.manifold, round_workspace)
        r = placed_round(shapes, poses, mesh, body, work)
        found, is_deep = round_surface_contacts(r, surfaces, shapes.surface[mesh], collection)
        if not is_deep:
            return one_a_feature(found), mesh, no_walk(), 0
    count_a = surfaces.first_triangle[first + 1] - surfaces.first_triangle[first]
    count_b = surfaces.first_triangle[second + 1] - surfaces.first_triangle[second]
    exchanged = count_a < count_b
    frame, other = (b, a) if exchanged else (a, b)
    relative_pose(poses, frame, other, turn, shift)
    scale = min(core_size(shapes, a), core_size(shapes, b))
    own = shapes.surface[frame], shapes.surface[other]
    walk = walk_of(walks, a, b)
    found, walk = surface_contacts(surfaces, own, (turn, shift), limit, noise, scale, exchanged, walk)
    return found, frame, walk, count_a + count_b


@leaf_kernel
def convex_contacts(shapes, poses, scene, pairs, row, found, work, round_workspace):
    """Appends the contacts of the pairs from the row on, and returns the row at which it stopped.

    It stops at a pair with a mesh, and where there may be no room for another pair's contacts. One call for many pairs: what
    runs outside of leaf kernels counts references to all arrays that it touches, in every round.
    """
    while row < len(pairs) and found.used[0] + MOST_CONTACTS <= found.contacts.gap.size:
        a, b = pairs[row, 0], pairs[row, 1]
        if shapes.kind[a] == MESH or shapes.kind[b] == MESH:
            break
        limit = largest_gap(shapes, scene, a, b)
        count, frame = pair_contacts(shapes, poses, a, b, limit, work, round_workspace)
        if count > 0:
            if count > FEW_CONTACTS:
                smaller = a if shapes.radius[shapes.body[a]] <= shapes.radius[shapes.body[b]] else b
                relative_pose(poses, frame, smaller, work.turn, work.shift)
            count = reduce_and_sort(work.manifold, count, limit, work.turn)
            write_contacts(found, shapes, poses, a, b, frame, work.manifold, count)
        row += 1
    return row


@leaf_kernel
def largest_gap(shapes, scene, a, b):
    """The largest gap in m between the cores of two colliders with contacts."""
    limit = farthest_gap(scene.reach, scene.travel, shapes.body[a], shapes.body[b])
    return limit + shapes.margin[a] + shapes.margin[b]


@kernel
def all_contacts(shapes, surfaces, round_workspace, scene, walks, keep):
    """All contacts, before those of two bodies with several colliders are reduced, and the `Walks` that they are from.

    shapes: without surfaces, which are None where there is no mesh. round_workspace: from `work_for_rounds`. walks: `Walks`
    that are known, None without surfaces; keep: whether walks are kept.
    """
    poses, pairs = pairs_near(shapes, scene)
    return contacts_of_pairs(shapes, surfaces, round_workspace, scene, poses, pairs, walks, keep)


@kernel
def pairs_near(shapes, scene):
    """The `Poses` of all colliders, and the pairs (k, 2) of them that may touch, those of the same two bodies together."""
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
    """`all_contacts`, of some pairs (k, 2)."""
    found, kept = allocate(max(64, 4 * len(pairs))), walks
    if surfaces is not None:
        kept = room_for_walks(walks.lasting, len(pairs) if keep else 0)
    work = pair_work(shapes)
    # int64 and not 0, for which numba would compile the kernel once more
    row = np.int64(0)
    while row < len(pairs):
        row = convex_contacts(shapes, poses, scene, pairs, row, found, work, round_workspace)
        if row == len(pairs):
            break
        a, b = pairs[row, 0], pairs[row, 1]
        if shapes.kind[a] != MESH and shapes.kind[b] != MESH:
            found = with_room(found, MOST_CONTACTS)
            continue
        row += 1
        if surfaces is not None:
            limit = largest_gap(shapes, scene, a, b)
            here, frame, walk, triangles = mesh_pair_contacts(
                shapes, surfaces, poses, (a, b), limit, work, round_workspace, walks
            )
            found = with_room(found, len(here.gap))
            write_contacts(found, shapes, poses, a, b, frame, here, len(here.gap))
            if keep and triangles > 0 and walks.lasting[shapes.body[a]] and walks.lasting[shapes.body[b]]:
                kept = with_walk(kept, a, b, walk, triangles)
    if surfaces is not None:
        kept = all_kept(kept)
    return all_found(found), kept
