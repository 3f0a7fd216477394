# SPDX-License-Identifier: GPL-3.0-or-later
"""Time of impact: the first time in a step at which two moving bodies overlap by more than contacts can correct.

The method is conservative advancement (Mirtich 1996). Along a direction n that separates two bodies, their gap closes no faster
than

    mu = -(v_b - v_a) . n + |w_a x n| r_a + |w_b x n| r_b,    r = radius of a body's core about its center of mass.

The gap therefore stays above s for at least (gap - s) / mu. The method advances both bodies by that time and computes the gap
again, so it never steps over an impact, however thin the bodies are. Sliding does not close the gap and costs no advances.

A mesh is tested triangle by triangle. The earliest impact of all pairs of triangles that may touch during the step counts.

Bodies that slide and rotate on each other leave the tangent plane of the solved contact, a little in each step. The overlap at
the end of the step is therefore checked, too, so that it does not accumulate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inlined_kernel, kernel, kernel_part, leaf_kernel
from ..geometry.shapes import CONE, MESH, PLANE, ShapeTable
from ..geometry.solids_of_revolution import round_thickness
from ..linalg.elementary import sine_and_cosine
from ..linalg.in_order import length, product
from ..linalg.vec3 import advanced, cross, distance2, is_zero, norm, rotated_back, scaled, set_vec, sub, vec
from .contact_set import ContactSet, empty_contacts
from .manifold import CAPACITY
from .mesh.keeping_clear import arc_deviation, stays_separated
from .mesh.swept_triangles import SCRATCH, Sweep, Triangles, bind_scratch, load_triangle, swept_triangles
from .pair import PairWork, collider_poses, pair_contacts, pair_work, place_collider, relative_pose
from .revolution.work import RoundWork
from .world_contacts import Poses

__all__ = ["HARMLESS_MOTION", "OVERLAP_ALLOWED", "Motion", "earliest_impacts", "thicknesses"]

# OVERLAP_ALLOWED: overlap that counts as an impact, relative to the thickness of the thinner body. HARMLESS_MOTION: relative
# motion in a step up to which bodies cannot pass each other, relative to that overlap. A larger rest offset replaces both.
OVERLAP_ALLOWED = 0.1
HARMLESS_MOTION = 2.5
# Relative to that overlap: the allowed increase, in a full step, of an overlap that is deeper than half of it.
DEEPENING_RATIO = 0.05
# Relative to the rest offset: the gap up to which bodies count as touching, so that restitution acts.
TOUCHING_GAP_RATIO = 1.25
# Fraction of the step: an earlier impact existed at the start. Its contacts failed to hold and need a shorter step.
START_FRACTION = 0.01
# A long body that turns past another one closes in slowly, but its bound is the speed of its far end.
MAX_ADVANCES = 512


class Motion(NamedTuple):
    """Poses of n bodies at the start of a step, and their motion.

    position, rotation: (n, 3) [m] and (n, 3, 3).
    twist: (n, 6) constant linear [m/s] and angular velocity [rad/s].
    h: duration of the step [s].
    share: h divided by the scene's time step.
    overlap: overlap that counts as an impact, relative to the thickness of the thinner body.
    """

    position: NDArray[np.float64]
    rotation: NDArray[np.float64]
    twist: NDArray[np.float64]
    h: float
    share: float
    overlap: float


def thicknesses(shapes: ShapeTable, triangles: Triangles | None) -> NDArray[np.float64]:
    """Return the least thickness of each collider across its faces, with margins (c,) [m]; inf for planes and open meshes."""
    thickness = np.empty(len(shapes.kind))
    known: dict[tuple[int, int], float] = {}
    for i in range(len(thickness)):
        shape = int(shapes.first_vertex[i]), int(shapes.first_face[i])
        if shape not in known and shapes.round_radius[i] > 0.0:
            ends = shapes.vertices[shape[0] : shape[0] + 2]
            height = length(ends[1] - ends[0])
            known[shape] = round_thickness(shapes.kind[i] == CONE, float(shapes.round_radius[i]), height)
        elif shapes.kind[i] == MESH:
            assert triangles is not None and shapes.surfaces is not None
            first = shapes.surfaces.first_triangle[shapes.surface[i] : shapes.surface[i] + 2]
            known[shape] = float(triangles.thickness[first[0] : first[1]].min())
        elif shape not in known:
            vertices = shapes.vertices[shape[0] : shape[0] + shapes.vertex_count[i]]
            planes = shapes.planes[shape[1] : shape[1] + shapes.face_count[i]]
            depth = planes[:, 3] - product(vertices, planes[:, :3].T).min(axis=0) if len(planes) else np.zeros(1)
            known[shape] = max(0.0, float(depth.min()))
        thickness[i] = np.inf if shapes.kind[i] == PLANE else known[shape] + 2.0 * shapes.margin[i]
    return thickness


class MovingPair(NamedTuple):
    """Two colliders that are tested for an impact.

    a, b: the colliders.
    radius_a, radius_b: radii of the cores about the centers of mass [m].
    drift: bound on the relative velocity of their surfaces within the bodies [m/s].
    bound: bound on the relative velocity of any two points [m/s].
    thinner: thickness of the thinner collider [m].
    offset: rest offset [m].
    """

    a: int
    b: int
    radius_a: float
    radius_b: float
    drift: float
    bound: float
    thinner: float
    offset: float


class ImpactWork(NamedTuple):
    """Work arrays.

    poses: world poses of the colliders. Between two pairs they are those at the start of the step.
    place, turn: (3,) [m] and (3, 3), pose of a body.
    manifold: contacts of a pair. pairs: work arrays of `pair_contacts`.
    rounds: work arrays for cylinders and cones, or None.
    normal: (3,).
    chosen: triangles in the scratch colliders, -1 for none.
    """

    poses: Poses
    place: NDArray[np.float64]
    turn: NDArray[np.float64]
    manifold: ContactSet
    pairs: PairWork
    rounds: RoundWork | None
    normal: NDArray[np.float64]
    chosen: NDArray[np.int64]


@leaf_kernel
def angular_velocity(twist, body):
    """Return the angular velocity of a body [rad/s]."""
    return twist[body, 3], twist[body, 4], twist[body, 5]


@kernel_part
def moved_pose(motion, body, time, place, turn):
    """Write the pose of a body after `time` [s] with constant twist to place (3,) [m] and turn (3, 3)."""
    rotation = motion.rotation[body]
    spin = angular_velocity(motion.twist, body)
    speed = norm(spin)
    place[0], place[1], place[2] = advanced(vec(motion.position, body), time, vec(motion.twist, body))
    if speed == 0.0:
        for i in range(3):
            set_vec(turn, i, vec(rotation, i))
        return
    x, y, z = spin[0] / speed, spin[1] / speed, spin[2] / speed
    sine, cosine = sine_and_cosine(time * speed)
    for j in range(3):
        # Rodrigues' formula, column by column
        p, q, r = rotation[0, j], rotation[1, j], rotation[2, j]
        along = (1.0 - cosine) * (x * p + y * q + z * r)
        turn[0, j] = cosine * p + sine * (y * r - z * q) + along * x
        turn[1, j] = cosine * q + sine * (z * p - x * r) + along * y
        turn[2, j] = cosine * r + sine * (x * q - y * p) + along * z


@inlined_kernel
def turning_speed(twist, body, normal, radius):
    """Return the largest speed along a unit vector that rotation gives to a point within the radius [m/s]."""
    return radius * norm(cross(angular_velocity(twist, body), normal))


@leaf_kernel
def com_radius(shapes, collider, other, position):
    """Return a bound on the distance of the core of a collider from its body's center of mass [m].

    For a plane, only points near the other body count.
    """
    body = shapes.body[collider]
    if shapes.kind[collider] != PLANE:
        return shapes.radius[body] - shapes.margin[collider]
    return np.sqrt(distance2(vec(position, other), vec(position, body))) + shapes.radius[other]


@leaf_kernel
def motion_bound(twist, a, b, radius_a, radius_b):
    """Return a bound on the relative velocity of any two points of two bodies [m/s]."""
    speed = norm(sub(vec(twist, b), vec(twist, a)))
    speed += radius_a * norm(angular_velocity(twist, a))
    return speed + radius_b * norm(angular_velocity(twist, b))


@leaf_kernel
def gap_after(shapes, triangles, motion, pair, time, limit, work):
    """Return the gap of two colliders after `time` [m], or inf if it exceeds the limit.

    The normal from a to b is written to work.normal. triangles is None without meshes.
    """
    a, b, poses, normal, manifold = pair.a, pair.b, work.poses, work.normal, work.manifold
    if triangles is not None:
        for k in range(SCRATCH):
            if work.chosen[k] >= 0:
                load_triangle(shapes, triangles, len(shapes.body) - SCRATCH + k, work.chosen[k], time)
    for collider in (a, b):
        moved_pose(motion, shapes.body[collider], time, work.place, work.turn)
        place_collider(shapes, collider, work.place, work.turn, poses.position[collider], poses.rotation[collider])
    margin = shapes.margin[a] + shapes.margin[b]
    count, frame = pair_contacts(shapes, poses, a, b, limit + margin, manifold, work.pairs, work.rounds)
    if count == 0:
        return np.inf
    nearest = 0
    for slot in range(1, count):
        if manifold.gap[slot] < manifold.gap[nearest]:
            nearest = slot
    for i in range(3):
        normal[i] = 0.0
        for k in range(3):
            normal[i] += poses.rotation[frame, i, k] * manifold.normal[nearest, k]
    return manifold.gap[nearest] - margin


@inlined_kernel
def closing_speed(shapes, motion, pair, normal):
    """Return a bound on the closing speed of two colliders along a unit vector [m/s]: mu of the module docstring plus drift."""
    twist, a, b = motion.twist, shapes.body[pair.a], shapes.body[pair.b]
    closing = turning_speed(twist, a, normal, pair.radius_a) + turning_speed(twist, b, normal, pair.radius_b)
    for k in range(3):
        closing -= normal[k] * (twist[b, k] - twist[a, k])
    return pair.drift + closing


@leaf_kernel
def impact(shapes, triangles, motion, pair, before, work):
    """Time of the impact of two convex colliders (see `earliest_impacts`), infinite if none comes `before` some time in s."""
    h = motion.h
    touching_gap = TOUCHING_GAP_RATIO * pair.offset
    allowed = max(motion.overlap * pair.thinner, pair.offset)
    deepest = -0.5 * allowed
    time, clear, harmful = 0.0, -1.0, False
    for advance in range(MAX_ADVANCES):
        limit = pair.bound * (h - time) + touching_gap
        gap = gap_after(shapes, triangles, motion, pair, time, limit, work)
        if advance == 0:
            # The stepper separates existing overlaps. Here they must only not get much deeper.
            deepest = min(deepest, gap - motion.share * DEEPENING_RATIO * allowed)
        # During the step the overlap has a looser bound than at its end.
        harmful = gap < (deepest if time == h else deepest - 0.5 * allowed)
        if harmful or time == h or gap == np.inf:
            break
        if gap > touching_gap:
            clear = time
        closing = closing_speed(shapes, motion, pair, work.normal)
        if closing * (h - time) <= gap - deepest:
            break
        time = min(h, time + (gap - deepest + allowed) / closing)
        if clear >= before:
            break
    else:
        # The advances did not converge, but the motion is safe up to this time.
        return time, True
    if not harmful:
        return np.inf, False
    if clear < 0.0:
        return 0.5 * time, True
    # Go back to the last time at which they were separated, and advance until they touch.
    time = clear
    for _ in range(MAX_ADVANCES):
        limit = pair.bound * (h - time) + touching_gap
        gap = gap_after(shapes, triangles, motion, pair, time, limit, work)
        if gap <= touching_gap:
            break
        time += (gap - pair.offset) / closing_speed(shapes, motion, pair, work.normal)
    return (time, False) if time > START_FRACTION * h else (0.5 * h, True)


@leaf_kernel
def safe_motion(motion, thinner, offset):
    """Return the relative motion in a step up to which two colliders cannot pass each other or overlap by much [m]."""
    return max(HARMLESS_MOTION * motion.overlap * thinner, offset)


@leaf_kernel
def max_relative_surface_speed(triangles):
    """Return twice the largest speed of a vertex within its body, a bound for two surfaces against each other [m/s]."""
    drift = 0.0
    for v in range(len(triangles.drift)):
        drift = max(drift, 2.0 * norm(vec(triangles.drift, v)))
    return drift


@kernel_part
def mesh_sweep(shapes, motion, pair, turn, shift, work):
    """Return the `Sweep` of a pair whose first collider is a mesh.

    turn: (3, 3) and shift: (3,), storage for the relative pose.
    """
    drift, bound = pair.drift, pair.bound
    h, a, b = motion.h, pair.a, pair.b
    body_a, body_b = shapes.body[a], shapes.body[b]
    relative_pose(work.poses, a, b, turn, shift)
    axes, place = work.poses.rotation[a], vec(work.poses.position, a)
    displacement = scaled(h, sub(vec(motion.twist, body_b), vec(motion.twist, body_a)))
    spin, other_spin = scaled(h, angular_velocity(motion.twist, body_a)), scaled(h, angular_velocity(motion.twist, body_b))
    turned = norm(spin) * pair.radius_a + norm(other_spin) * pair.radius_b + h * drift
    deviation = arc_deviation(spin, pair.radius_a) + arc_deviation(other_spin, pair.radius_b) + h * drift
    if shapes.kind[b] == PLANE:
        deviation += norm(other_spin) * pair.radius_b
    return Sweep(
        a,
        b,
        turn,
        shift,
        rotated_back(axes, displacement),
        turned + shapes.margin[a] + shapes.margin[b] + TOUCHING_GAP_RATIO * pair.offset,
        rotated_back(axes, spin),
        rotated_back(axes, other_spin),
        rotated_back(axes, sub(vec(motion.position, body_a), place)),
        rotated_back(axes, sub(vec(motion.position, body_b), place)),
        deviation,
        bound * h / (HARMLESS_MOTION * motion.overlap),
        pair.thinner,
    )


@kernel_part
def mesh_impact(shapes, surfaces, triangles, motion, thickness, pair, work):
    """Return the earliest impact of the triangles of a mesh a with a collider b, which may be a mesh, as `impact` does.

    pair: the pair without surface velocity from deformation.
    """
    drift = max_relative_surface_speed(triangles)
    bound = pair.bound + drift
    if bound * motion.h <= safe_motion(motion, pair.thinner, pair.offset):
        return np.inf, False
    moving = MovingPair(pair.a, pair.b, pair.radius_a, pair.radius_b, drift, bound, thickness[pair.b], pair.offset)
    sweep = mesh_sweep(shapes, motion, moving, np.empty((3, 3)), np.empty(3), work)
    rows = swept_triangles(shapes, surfaces, triangles, sweep)
    return earliest_triangle_impact(shapes, triangles, motion, moving, rows, sweep, work)


@leaf_kernel
def earliest_triangle_impact(shapes, triangles, motion, pair, rows, sweep, work):
    """Return the earliest impact of the rows (k, 2) from `swept_triangles`. pair: `thinner` is the thickness of collider b."""
    a, b, chosen = sweep.mesh, sweep.other, work.chosen
    scratch = len(shapes.body) - SCRATCH
    bind_scratch(shapes, scratch, a)
    bind_scratch(shapes, scratch + 1, b)
    earliest, touching = np.inf, False
    for row in range(len(rows)):
        f, g = rows[row, 0], rows[row, 1]
        thinner = triangles.thickness[f] + 2.0 * shapes.margin[a]
        thinner = min(thinner, pair.thinner if g < 0 else triangles.thickness[g] + 2.0 * shapes.margin[b])
        without_width = is_zero(vec(triangles.normals, f))
        if without_width or pair.bound * motion.h <= safe_motion(motion, thinner, pair.offset):
            continue
        allowed_gap = shapes.margin[a] + shapes.margin[b] - 0.5 * max(motion.overlap * thinner, pair.offset)
        if stays_separated(shapes, triangles, sweep, rows[row], allowed_gap):
            continue
        other = b if g < 0 else scratch + 1
        two = MovingPair(scratch, other, pair.radius_a, pair.radius_b, pair.drift, pair.bound, thinner, pair.offset)
        chosen[0], chosen[1] = f, g
        time, touches = impact(shapes, triangles, motion, two, min(earliest, motion.h), work)
        if time < earliest:
            earliest, touching = time, touches
    chosen[0] = chosen[1] = -1
    return earliest, touching


@kernel
def earliest_impacts(shapes, surfaces, triangles, round_workspace, thickness, rest, pairs, motion):
    """Return the time of impact of each pair of colliders within a step, by conservative advancement (Mirtich 1996).

    shapes: shapes without surfaces; with meshes, the last rows are the scratch colliders.
    surfaces, triangles: data of the meshes; None without meshes.
    round_workspace: from `work_for_rounds`.
    thickness: from `thicknesses` [m].
    rest: (n,) rest offset of each body; a pair uses the smaller one [m].
    pairs: (k, 2) pairs of colliders.
    motion: poses and twists of the bodies.

    Returns times (k,) [s], inf if the whole step is safe, and flags (k,). If the flag is False, the pair touches at that time.
    If it is True, the step must be cut at that time without an impact, for one of three reasons: the pair touched from the
    start (the time is half of that to a harmful overlap), the impact is at the very start (half of the step), or the advances
    did not converge (the motion is safe up to that time).
    """
    times, touching = np.full(len(pairs), np.inf), np.zeros(len(pairs), dtype=np.bool_)
    poses = collider_poses(shapes, motion.position, motion.rotation)
    chosen = np.full(SCRATCH, -1, np.int64)
    (place, turn), manifold = (np.empty(3), np.empty((3, 3))), empty_contacts(CAPACITY)
    work = ImpactWork(poses, place, turn, manifold, pair_work(shapes), round_workspace, np.empty(3), chosen)
    for row in range(len(pairs)):
        a, b = pairs[row, 0], pairs[row, 1]
        if shapes.kind[b] == MESH:
            a, b = b, a
        body_a, body_b = shapes.body[a], shapes.body[b]
        radius_a, radius_b = com_radius(shapes, a, body_b, motion.position), com_radius(shapes, b, body_a, motion.position)
        bound = motion_bound(motion.twist, body_a, body_b, radius_a, radius_b)
        thinner, offset = min(thickness[a], thickness[b]), min(rest[body_a], rest[body_b])
        pair = MovingPair(a, b, radius_a, radius_b, 0.0, bound, thinner, offset)
        if surfaces is not None and shapes.kind[a] == MESH:
            times[row], touching[row] = mesh_impact(shapes, surfaces, triangles, motion, thickness, pair, work)
        elif bound * motion.h <= safe_motion(motion, thinner, offset):
            continue
        else:
            times[row], touching[row] = impact(shapes, triangles, motion, pair, motion.h, work)
        for i in (a, b):
            body = shapes.body[i]
            place_collider(shapes, i, motion.position[body], motion.rotation[body], poses.position[i], poses.rotation[i])
    return times, touching
