# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of impact: when two bodies that move through a step first overlap by more than contacts make good.

Conservative advancement (Mirtich 1996). Along the direction n in which two bodies are apart, their separation falls at most at

    mu = -(v_b - v_a) . n + |w_a x n| r_a + |w_b x n| r_b,    r the farthest that a body's core reaches from its centre of mass,

so that it keeps above s for (separation - s) / mu. Advancing both by that time and measuring again never steps over an impact,
however thin the bodies are. Sliding costs nothing: it does not close n.

A mesh is looked at triangle by triangle: of all pairs that may meet on their way, the first that does counts.

Bodies that slide and turn on each other leave the tangent along which contact was solved for, a little in every step. So the
overlap at the step's end is measured too, lest it adds up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel, leaf_kernel
from ..geometry.shapes import CONE, MESH, PLANE, ShapeTable
from ..geometry.solids_of_revolution import round_thickness
from .detect import PairWork, collider_poses, pair_contacts, pair_work, place_collider, relative_pose
from .mesh.swept_triangles import SCRATCH, Triangles, put_triangle, swept_triangles, take_scratch
from .revolution.expanding_polytope import RoundWork

__all__ = ["HARMLESS_MOTION", "OVERLAP_ALLOWED", "Motion", "earliest_impacts", "thicknesses"]

# Of the thinner body's thickness, the overlap that is an impact; and of that overlap, the relative motion in a step up to which
# bodies cannot pass each other. The rest offset takes their place where it is larger.
OVERLAP_ALLOWED = 0.1
HARMLESS_MOTION = 2.5
# Of that overlap: by how much what is deeper than half of it may deepen in a whole step.
DEEPENING_ALLOWED = 0.05
# In units of the rest offset, the gap at which bodies count as touching: near enough for restitution to act.
TOUCHING = 1.25
# Of the step: an impact nearer to its beginning was there already, and the contacts that did not hold need a shorter step.
BEGINNING = 0.01
MAX_ADVANCES = 64


class Motion(NamedTuple):
    """Where bodies are when a step begins, position (n, 3) and rotation (n, 3, 3), and how they move through its h seconds:
    twist (n, 6). share: h over the scene's time step. overlap: of the thinner body's thickness, what is an impact."""

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    twist: NDArray[np.float64]
    h: float
    share: float
    overlap: float


def thicknesses(shapes: ShapeTable, triangles: Triangles | None) -> NDArray[np.float64]:
    """(c,) m: how thin each collider is, measured across its faces, margin included; infinite for a plane and an open mesh."""
    thickness = np.empty(len(shapes.kind))
    known: dict[tuple[int, int], float] = {}
    for i in range(len(thickness)):
        shape = int(shapes.first_vertex[i]), int(shapes.first_face[i])
        if shape not in known and shapes.round_radius[i] > 0.0:
            ends = shapes.vertices[shape[0] : shape[0] + 2]
            height = float(np.linalg.norm(ends[1] - ends[0]))
            known[shape] = round_thickness(shapes.kind[i] == CONE, float(shapes.round_radius[i]), height)
        elif shapes.kind[i] == MESH:
            assert triangles is not None and shapes.surfaces is not None
            first = shapes.surfaces.first_triangle[shapes.surface[i] : shapes.surface[i] + 2]
            known[shape] = float(triangles.thickness[first[0] : first[1]].min())
        elif shape not in known:
            vertices = shapes.vertices[shape[0] : shape[0] + shapes.vertex_count[i]]
            planes = shapes.planes[shape[1] : shape[1] + shapes.face_count[i]]
            depth = planes[:, 3] - (vertices @ planes[:, :3].T).min(axis=0) if len(planes) else np.zeros(1)
            known[shape] = max(0.0, float(depth.min()))
        thickness[i] = np.inf if shapes.kind[i] == PLANE else known[shape] + 2.0 * shapes.margin[i]
    return thickness


class ImpactWork(NamedTuple):
    """Work arrays: places (c, 3) and turns (c, 3, 3) of the colliders in the world, which hold the step's begin between two
    pairs; the place (3,) and turn (3, 3) of a body; those of `pair_contacts`, and for round bodies; a normal (3,)."""

    places: NDArray[np.float64]
    turns: NDArray[np.float64]
    place: NDArray[np.float64]
    turn: NDArray[np.float64]
    pairs: PairWork
    rounds: RoundWork | None
    normal: NDArray[np.float64]


@leaf_kernel
def moved_pose(position, rotation, twist, body, time, place, turn):
    """Pose of a body that has moved with its twist for some time, into place (3,) and turn (3, 3)."""
    x, y, z = twist[body, 3], twist[body, 4], twist[body, 5]
    speed = np.sqrt(x * x + y * y + z * z)
    for i in range(3):
        place[i] = position[body, i] + time * twist[body, i]
    if speed == 0.0:
        for i in range(3):
            for j in range(3):
                turn[i, j] = rotation[body, i, j]
        return
    x, y, z = x / speed, y / speed, z / speed
    sine, cosine = np.sin(time * speed), np.cos(time * speed)
    for j in range(3):
        # Rodrigues' formula, column by column
        p, q, r = rotation[body, 0, j], rotation[body, 1, j], rotation[body, 2, j]
        along = (1.0 - cosine) * (x * p + y * q + z * r)
        turn[0, j] = cosine * p + sine * (y * r - z * q) + along * x
        turn[1, j] = cosine * q + sine * (z * p - x * r) + along * y
        turn[2, j] = cosine * r + sine * (x * q - y * p) + along * z


@leaf_kernel
def turning_speed(twist, body, x, y, z, radius):
    """The fastest that turning moves a point within the radius along the unit vector (x, y, z)."""
    u, v, w = twist[body, 3], twist[body, 4], twist[body, 5]
    p, q, r = v * z - w * y, w * x - u * z, u * y - v * x
    return radius * np.sqrt(p * p + q * q + r * r)


@leaf_kernel
def core_radius(shapes, collider, other, position):
    """The farthest that the core of a collider reaches from its body's centre of mass; of a plane, where the other body is."""
    body = shapes.body[collider]
    if shapes.kind[collider] != PLANE:
        return shapes.radius[body] - shapes.margin[collider]
    x, y = position[other, 0] - position[body, 0], position[other, 1] - position[body, 1]
    z = position[other, 2] - position[body, 2]
    return np.sqrt(x * x + y * y + z * z) + shapes.radius[other]


@leaf_kernel
def motion_bound(twist, a, b, radius_a, radius_b):
    """The fastest that any point of one body can move against any of the other, m/s."""
    x, y, z = twist[b, 0] - twist[a, 0], twist[b, 1] - twist[a, 1], twist[b, 2] - twist[a, 2]
    speed = np.sqrt(x * x + y * y + z * z)
    speed += radius_a * np.sqrt(twist[a, 3] ** 2 + twist[a, 4] ** 2 + twist[a, 5] ** 2)
    return speed + radius_b * np.sqrt(twist[b, 3] ** 2 + twist[b, 4] ** 2 + twist[b, 5] ** 2)


@leaf_kernel
def gap_after(shapes, triangles, chosen, motion, a, b, time, limit, work):
    """Gap of two colliders after some time, infinite beyond the limit, and the normal into work.normal, from a to b.

    chosen: (2,) the triangles in the slots, -1 for none; triangles is None where there are no meshes.
    """
    places, turns, normal, manifold = work.places, work.turns, work.normal, work.pairs.manifold
    if triangles is not None:
        for k in range(SCRATCH):
            if chosen[k] >= 0:
                put_triangle(shapes, triangles, len(shapes.body) - SCRATCH + k, chosen[k], time)
    for collider in (a, b):
        moved_pose(motion.position, motion.rotation, motion.twist, shapes.body[collider], time, work.place, work.turn)
        place_collider(shapes, collider, work.place, work.turn, places[collider], turns[collider])
    margin = shapes.margin[a] + shapes.margin[b]
    count, frame = pair_contacts(shapes, places, turns, a, b, limit + margin, work.pairs, work.rounds)
    if count == 0:
        return np.inf
    nearest = 0
    for slot in range(1, count):
        if manifold.gap[slot] < manifold.gap[nearest]:
            nearest = slot
    for i in range(3):
        normal[i] = 0.0
        for k in range(3):
            normal[i] += turns[frame, i, k] * manifold.normal[nearest, k]
    return manifold.gap[nearest] - margin


@leaf_kernel
def closing_speed(twist, a, b, radius_a, radius_b, normal):
    """A bound on how fast the gap of two bodies along the normal falls, mu of the module's docstring."""
    x, y, z = normal[0], normal[1], normal[2]
    closing = turning_speed(twist, a, x, y, z, radius_a) + turning_speed(twist, b, x, y, z, radius_b)
    closing -= x * (twist[b, 0] - twist[a, 0])
    closing -= y * (twist[b, 1] - twist[a, 1])
    return closing - z * (twist[b, 2] - twist[a, 2])


@leaf_kernel
def impact(shapes, triangles, chosen, motion, a, b, radius_a, radius_b, drift, bound, thinner, offset, before, work):
    """Time of the impact of two convex colliders (see `earliest_impacts`), infinite if none comes `before` some time in s.

    radius_a, radius_b: m, of the cores around the centres of mass. drift: m/s, how fast the points of either move within their
    bodies; bound: m/s, how fast in all. thinner: m, the thickness of the thinner one. offset: m, what they keep at rest.
    """
    twist, h = motion.twist, motion.h
    body_a, body_b = shapes.body[a], shapes.body[b]
    touching_gap = TOUCHING * offset
    allowed = max(motion.overlap * thinner, offset)
    deepest = -0.5 * allowed
    time, clear, harmful = 0.0, -1.0, False
    for advance in range(MAX_ADVANCES):
        limit = bound * (h - time) + touching_gap
        gap = gap_after(shapes, triangles, chosen, motion, a, b, time, limit, work)
        if advance == 0:
            # what overlaps already is parted by the stepper; here it must only not get worse
            deepest = min(deepest, gap - motion.share * DEEPENING_ALLOWED * allowed)
        # on the way overlaps are only bounded, and more loosely; at the end they are known
        harmful = gap < (deepest if time == h else deepest - 0.5 * allowed)
        if harmful or time == h or gap == np.inf:
            break
        if gap > touching_gap:
            clear = time
        closing = drift + closing_speed(twist, body_a, body_b, radius_a, radius_b, work.normal)
        if closing * (h - time) <= gap - deepest:
            break
        time = min(h, time + (gap - deepest + allowed) / closing)
        if clear >= before:
            break
    else:
        # so far it is safe
        return time, True
    if not harmful:
        return np.inf, False
    if clear < 0.0:
        return 0.5 * time, True
    # back to where they were apart, and up to where they touch
    time = clear
    for _ in range(MAX_ADVANCES):
        limit = bound * (h - time) + touching_gap
        gap = gap_after(shapes, triangles, chosen, motion, a, b, time, limit, work)
        if gap <= touching_gap:
            break
        closing = drift + closing_speed(twist, body_a, body_b, radius_a, radius_b, work.normal)
        time += (gap - offset) / closing
    return (time, False) if time > BEGINNING * h else (0.5 * h, True)


@leaf_kernel
def safe_motion(overlap, thinner, offset):
    """Relative motion in m in a step up to which two colliders cannot pass each other, nor overlap by much."""
    return max(HARMLESS_MOTION * overlap * thinner, offset)


@leaf_kernel
def turning_bound(twist, body):
    """Angular speed in rad/s."""
    return np.sqrt(twist[body, 3] ** 2 + twist[body, 4] ** 2 + twist[body, 5] ** 2)


@kernel
def mesh_impact(shapes, surfaces, triangles, chosen, motion, thickness, a, b, radius_a, radius_b, bound, offset, work):
    """As `impact`, of a mesh a and a collider b, which may be a mesh as well: of all their triangles the earliest."""
    body_a, body_b = shapes.body[a], shapes.body[b]
    both = shapes.kind[b] == MESH
    drift = 0.0
    for row in range(len(triangles.drift)):
        x, y, z = triangles.drift[row, 0], triangles.drift[row, 1], triangles.drift[row, 2]
        drift = max(drift, 2.0 * np.sqrt(x * x + y * y + z * z))
    turn, shift, way = np.empty((3, 3)), np.empty(3), np.zeros(3)
    relative_pose(work.places, work.turns, a, b, turn, shift)
    for i in range(3):
        for k in range(3):
            way[i] += work.turns[a, k, i] * motion.h * (motion.twist[body_b, k] - motion.twist[body_a, k])
    spin = turning_bound(motion.twist, body_a) * radius_a + turning_bound(motion.twist, body_b) * radius_b
    grown = motion.h * (spin + drift) + shapes.margin[a] + shapes.margin[b] + TOUCHING * offset
    rows = swept_triangles(shapes, surfaces, triangles, a, b, turn, shift, way, grown)
    slot = len(shapes.body) - SCRATCH
    other = slot + 1 if both else b
    take_scratch(shapes, slot, a)
    take_scratch(shapes, slot + 1, b)
    earliest, touching = np.inf, False
    for row in range(len(rows)):
        chosen[0], chosen[1] = rows[row, 0], rows[row, 1]
        thinner = triangles.thickness[chosen[0]] + 2.0 * shapes.margin[a]
        thinner = min(thinner, triangles.thickness[chosen[1]] + 2.0 * shapes.margin[b] if both else thickness[b])
        n = triangles.normals[chosen[0]]
        without_width = n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0
        if without_width or (bound + drift) * motion.h <= safe_motion(motion.overlap, thinner, offset):
            continue
        time, touches = impact(
            shapes,
            triangles,
            chosen,
            motion,
            slot,
            other,
            radius_a,
            radius_b,
            drift,
            bound + drift,
            thinner,
            offset,
            min(earliest, motion.h),
            work,
        )
        if time < earliest:
            earliest, touching = time, touches
    chosen[0] = chosen[1] = -1
    return earliest, touching


@kernel
def earliest_impacts(shapes, surfaces, triangles, round_workspace, thickness, rest, pairs, motion):
    """(k,) time in s after which each pair of colliders needs contacts anew, infinity where the whole step is safe; and (k,)
    whether that is because they touch from the beginning and overlap more and more.

    shapes: without surfaces, and with slots where there are meshes; else surfaces and triangles are None. round_workspace: from
    `work_for_rounds`. thickness: from `thicknesses`. rest: (n,) m, each body's own rest offset; a pair's is the smaller one.
    pairs: (k, 2). motion: a `Motion`. The time is that at which the colliders touch; half the time to a harmful overlap where
    they touch from the beginning.
    """
    times, touching = np.full(len(pairs), np.inf), np.zeros(len(pairs), dtype=np.bool_)
    places, turns = collider_poses(shapes, motion.position, motion.rotation)
    work = ImpactWork(places, turns, np.empty(3), np.empty((3, 3)), pair_work(shapes), round_workspace, np.empty(3))
    chosen = np.full(SCRATCH, -1, np.int64)
    for row in range(len(pairs)):
        a, b = pairs[row, 0], pairs[row, 1]
        if shapes.kind[b] == MESH:
            a, b = b, a
        body_a, body_b = shapes.body[a], shapes.body[b]
        radius_a, radius_b = core_radius(shapes, a, body_b, motion.position), core_radius(shapes, b, body_a, motion.position)
        offset = min(rest[body_a], rest[body_b])
        bound = motion_bound(motion.twist, body_a, body_b, radius_a, radius_b)
        if surfaces is not None and shapes.kind[a] == MESH:
            times[row], touching[row] = mesh_impact(
                shapes, surfaces, triangles, chosen, motion, thickness, a, b, radius_a, radius_b, bound, offset, work
            )
        else:
            thinner = min(thickness[a], thickness[b])
            if bound * motion.h <= safe_motion(motion.overlap, thinner, offset):
                continue
            times[row], touching[row] = impact(
                shapes, triangles, chosen, motion, a, b, radius_a, radius_b, 0.0, bound, thinner, offset, motion.h, work
            )
        for i in (a, b):
            body = shapes.body[i]
            place_collider(shapes, i, motion.position[body], motion.rotation[body], places[i], turns[i])
    return times, touching
