# SPDX-License-Identifier: GPL-3.0-or-later
"""The relative pose and the contacts of two colliders."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, inner_kernel, kernel, leaf_kernel
from ..geometry.shapes import CONE, CYLINDER, PLANE
from ..linalg.vec3 import Z
from .half_space import HalfSpace, plane_of
from .polyhedra.box_box import UNDECIDED, box_contacts
from .polyhedra.box_pair import BoxPair, box_work, write_layout
from .polyhedra.hull_hull import hull_contacts
from .polyhedra.hull_pair import MERGE_RATIO, HullPair, HullWork, hull_work
from .polyhedra.hull_plane import plane_contacts
from .polyhedra.polyhedron import core_of, transformed
from .polyhedra.quick_reject import surely_apart
from .revolution.candidates import ContactSink, round_plane_contacts
from .revolution.on_hull import round_hull_contacts
from .revolution.on_revolution import round_round_contacts
from .revolution.solid import round_shape_at
from .world_contacts import Poses

__all__ = [
    "DISTANCE_ROUNDING",
    "PairWork",
    "collider_poses",
    "core_size",
    "is_round",
    "pair_contacts",
    "pair_work",
    "place_collider",
    "relative_pose",
    "round_shape_in_frame",
]

Array = NDArray[np.float64]

# Round-off of a distance between bodies of size one, with a margin for the sums in it.
DISTANCE_ROUNDING = 1e-10


class PairWork(NamedTuple):
    """Work arrays for the contacts of two colliders, large enough for every pair.

    hulls: work arrays of hulls.
    turn, shift: (3, 3) rotation and (3,) translation [m] of the other collider in the frame of one of them.
    vertices, planes, bounds: a polyhedron transformed to that frame.
    boxes: work arrays of boxes.
    """

    hulls: HullWork
    turn: Array
    shift: Array
    vertices: Array
    planes: Array
    bounds: Array
    boxes: tuple[Array, Array]


@inlined_kernel
def core_size(shapes, i):
    """Return the size of a collider: the diagonal of the bounds of its core plus the margin [m]."""
    squared = 0.0
    for k in range(3):
        squared += (shapes.upper[i, k] - shapes.lower[i, k]) ** 2
    return np.sqrt(squared) + shapes.margin[i]


@inlined_kernel
def relative_pose(poses, a, b, turn, shift):
    """Write the pose of collider b in the frame of a to turn (3, 3) and shift (3,) [m]."""
    position, rotation = poses.position, poses.rotation
    for i in range(3):
        shift[i] = 0.0
        for k in range(3):
            shift[i] += rotation[a, k, i] * (position[b, k] - position[a, k])
        for j in range(3):
            turn[i, j] = (
                rotation[a, 0, i] * rotation[b, 0, j]
                + rotation[a, 1, i] * rotation[b, 1, j]
                + rotation[a, 2, i] * rotation[b, 2, j]
            )


@inlined_kernel
def is_round(shapes, i):
    """Return True if a collider is a cylinder or a cone."""
    return shapes.kind[i] == CYLINDER or shapes.kind[i] == CONE


@leaf_kernel
def round_pair_contacts(shapes, poses, a, b, limit, manifold, work, round_workspace):
    """Find the contacts of a pair with a cylinder or a cone.

    Returns the number of contacts and the collider in whose frame they are: b if a is round, else a.
    """
    turn, shift = work.turn, work.shift
    body = a if is_round(shapes, a) else b
    other = b if body == a else a
    merge = MERGE_RATIO * core_size(shapes, body)
    noise = DISTANCE_ROUNDING * core_size(shapes, body)
    if shapes.kind[other] == PLANE:
        relative_pose(poses, other, body, turn, shift)
        r = round_shape_at(shapes, body, turn, shift)
        found = ContactSink(body == a, limit, merge, noise, manifold, round_workspace)
        return round_plane_contacts(r, HalfSpace(Z, 0.0, other == a), found), other
    size = core_size(shapes, other)
    noise += DISTANCE_ROUNDING * size
    if size > 0.0:
        merge = min(merge, MERGE_RATIO * size)
    found = ContactSink(body == a, limit, merge, noise, manifold, round_workspace)
    relative_pose(poses, other, body, turn, shift)
    r = round_shape_at(shapes, body, turn, shift)
    core = core_of(shapes, other)
    if not is_round(shapes, other):
        return round_hull_contacts(found, r, core), other
    relative_pose(poses, other, other, turn, shift)
    return round_round_contacts(found, r, round_shape_at(shapes, other, turn, shift), core), other


@inlined_kernel
def pair_contacts(shapes, poses, a, b, limit, manifold, work, round_workspace):
    """Find the contacts of a pair without meshes.

    limit: largest gap of a contact between the cores [m].
    manifold: `ContactSet` for the contacts, with at least CAPACITY rows.
    work: from `pair_work`.
    round_workspace: from `work_for_rounds`. It is a separate argument because numba prunes `is None` branches only for
        arguments, not for fields.

    Returns the number of contacts and the collider in whose frame they are.
    """
    turn, shift = work.turn, work.shift
    if round_workspace is not None and (is_round(shapes, a) or is_round(shapes, b)):
        return round_pair_contacts(shapes, poses, a, b, limit, manifold, work, round_workspace)
    if shapes.kind[a] == PLANE or shapes.kind[b] == PLANE:
        plane = a if shapes.kind[a] == PLANE else b
        hull = b if shapes.kind[a] == PLANE else a
        relative_pose(poses, hull, plane, turn, shift)
        merge = MERGE_RATIO * core_size(shapes, hull)
        core = core_of(shapes, hull)
        return plane_contacts(core, plane_of(turn, shift, plane == a), limit, merge, manifold, work.hulls.heights), hull
    size_a = core_size(shapes, a)
    size_b = core_size(shapes, b)
    scale = min(size_a, size_b)
    if scale == 0.0:
        scale = max(size_a, size_b)
    relative_pose(poses, a, b, turn, shift)
    noise = DISTANCE_ROUNDING * (size_a + size_b)
    if shapes.box[a] and shapes.box[b]:
        about, lean = work.boxes
        write_layout(shapes, a, b, turn, shift, about)
        count, in_frame_of_b = box_contacts(BoxPair(about, lean, limit, scale, noise, manifold))
        if count != UNDECIDED:
            return count, b if in_frame_of_b else a
    core_a = core_of(shapes, a)
    core_b = core_of(shapes, b)
    if surely_apart(core_a, shapes.core_radius[a], core_b, shapes.core_radius[b], turn, shift, limit):
        return 0, a
    core_b = transformed(core_b, turn, shift, work.vertices, work.planes, work.bounds)
    return hull_contacts(HullPair(core_a, core_b, limit, scale, noise, manifold, work.hulls)), a


@leaf_kernel
def place_collider(shapes, collider, position, rotation, place, turn):
    """Write a collider's world pose to place (3,) [m] and turn (3, 3), from its body's position (3,) and rotation (3, 3)."""
    placed = shapes.placed[collider]
    for i in range(3):
        place[i] = position[i]
        for j in range(3):
            turn[i, j] = rotation[i, j]
            if placed:
                place[i] += rotation[i, j] * shapes.position[collider, j]
                turn[i, j] = 0.0
                for k in range(3):
                    turn[i, j] += rotation[i, k] * shapes.rotation[collider, k, j]


@leaf_kernel
def round_shape_in_frame(shapes, poses, frame, body, work):
    """Return a cylinder or cone in the frame of another collider. Its pose there is written to `work.turn` and `work.shift`."""
    relative_pose(poses, frame, body, work.turn, work.shift)
    return round_shape_at(shapes, body, work.turn, work.shift)


@kernel
def collider_poses(shapes, position, rotation):
    """Return the world `Poses` of all colliders from position (n, 3) [m] and rotation (n, 3, 3) of the bodies."""
    places, turns = np.empty((len(shapes.body), 3)), np.empty((len(shapes.body), 3, 3))
    for collider in range(len(shapes.body)):
        body = shapes.body[collider]
        place_collider(shapes, collider, position[body], rotation[body], places[collider], turns[collider])
    return Poses(places, turns)


@inner_kernel
def pair_work(shapes):
    """Allocate the `PairWork` for the colliders of a scene."""
    longest_loop = 2
    for row in range(len(shapes.loop_start) - 1):
        longest_loop = max(longest_loop, shapes.loop_start[row + 1] - shapes.loop_start[row])
    most_vertices = most_faces = most_edges = 0
    for i in range(len(shapes.kind)):
        most_vertices = max(most_vertices, shapes.vertex_count[i])
        most_faces = max(most_faces, shapes.face_count[i])
        most_edges = max(most_edges, shapes.edge_count[i])
    return PairWork(
        hull_work(longest_loop, most_edges, most_faces, most_vertices),
        np.empty((3, 3)),
        np.empty(3),
        np.empty((most_vertices, 3)),
        np.empty((most_faces, 4)),
        np.empty((3, 3)),
        box_work(),
    )
