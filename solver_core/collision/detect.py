# SPDX-License-Identifier: GPL-3.0-or-later
"""Collision detection as the stepper calls it: poses in, contacts out, in an order that depends on nothing but the poses."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel, kernel_part, leaf_kernel
from ..geometry.shapes import MESH, PLANE, ShapeTable
from ..threads.side_by_side import runs, side_by_side
from .broad_phase import candidate_pairs, grouped_by_bodies
from .contact_set import ContactSet, concatenated
from .grouping import farthest_gap, reduced_groups
from .half_space import plane_of
from .manifold import reduce_and_sort
from .mesh.buffer import one_a_feature
from .mesh.contacts import plane_surface_contacts, surface_contacts
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

__all__ = ["Scene", "detect", "detect_all", "work_for_rounds"]

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


def detect_all(shapes: ShapeTable, scene: Scene, threads: int = 1, whole: NDArray[np.bool_] | None = None) -> ContactSet:
    """`detect`, in so many threads; no contact depends on their number. Of bodies that are `whole` (n,) none is left out."""
    contacts = _unreduced(shapes, scene, threads)
    if shapes.surfaces is None and len(shapes.body) == len(shapes.radius):
        return contacts
    every = np.zeros(len(shapes.radius), np.bool_) if whole is None else whole
    return contacts.chosen(reduced_groups(contacts, scene, shapes.radius, every))


def _unreduced(shapes: ShapeTable, scene: Scene, threads: int) -> ContactSet:
    """`all_contacts`; in threads, where there are many pairs, one run of these after the other."""
    without_meshes = shapes._replace(surfaces=None)
    if threads == 1 or len(shapes.body) < MANY_COLLIDERS:
        return all_contacts(without_meshes, shapes.surfaces, work_for_rounds(shapes), scene)
    poses, pairs = pairs_near(without_meshes, scene)

    def look(run: tuple[int, int]) -> ContactSet:
        some = pairs[run[0] : run[1]]
        return contacts_of_pairs(without_meshes, shapes.surfaces, work_for_rounds(shapes), scene, poses, some)

    pieces = runs(np.ones(len(pairs), dtype=np.int64), PAIRS_OF_A_RUN)
    if len(pieces) < 2:
        return look((0, len(pairs)))
    return concatenated(side_by_side(threads, [partial(look, run) for run in pieces]))


def work_for_rounds(shapes: ShapeTable) -> RoundWork | None:
    """Work arrays for cylinders and cones, None where there are none.

    Kernels for these, and for meshes, are compiled when the first one comes along: numba leaves out what asks whether an
    argument is None that is.
    """
    return round_work() if shapes.round_radius.any() else None


@kernel_part
def mesh_pair_contacts(shapes, surfaces, poses, a, b, limit, work, round_workspace):
    """Contacts of a pair with a mesh in it, in the frame of one of the two: (a `Buffer`, that one)."""
    turn, shift = work.turn, work.shift
    if shapes.kind[a] == PLANE or shapes.kind[b] == PLANE:
        plane = a if shapes.kind[a] == PLANE else b
        mesh = b if shapes.kind[a] == PLANE else a
        relative_pose(poses, mesh, plane, turn, shift)
        return plane_surface_contacts(surfaces, shapes.surface[mesh], plane_of(turn, shift, plane == a), limit), mesh
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
            return one_a_feature(found), mesh
    count_a = surfaces.first_triangle[first + 1] - surfaces.first_triangle[first]
    count_b = surfaces.first_triangle[second + 1] - surfaces.first_triangle[second]
    exchanged = count_a < count_b
    frame, other = (b, a) if exchanged else (a, b)
    relative_pose(poses, frame, other, turn, shift)
    scale = min(core_size(shapes, a), core_size(shapes, b))
    own = shapes.surface[frame], shapes.surface[other]
    return surface_contacts(surfaces, own, turn, shift, limit, noise, scale, exchanged), frame


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
def all_contacts(shapes, surfaces, round_workspace, scene):
    """All contacts, before those of two bodies with several colliders are reduced.

    shapes: without surfaces, which are None where there is no mesh. round_workspace: from `work_for_rounds`.
    """
    poses, pairs = pairs_near(shapes, scene)
    return contacts_of_pairs(shapes, surfaces, round_workspace, scene, poses, pairs)


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
def contacts_of_pairs(shapes, surfaces, round_workspace, scene, poses, pairs):
    """`all_contacts`, of some pairs (k, 2)."""
    found = allocate(max(64, 4 * len(pairs)))
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
            here, frame = mesh_pair_contacts(shapes, surfaces, poses, a, b, limit, work, round_workspace)
            found = with_room(found, len(here.gap))
            write_contacts(found, shapes, poses, a, b, frame, here, len(here.gap))
    return all_found(found)
