"""Time of impact: when two bodies that move through a step first overlap by more than contacts make good.

Conservative advancement (Mirtich 1996). Along the direction n in which two bodies are apart, their separation falls at most at

    mu = -(v_b - v_a) . n + |w_a x n| r_a + |w_b x n| r_b,    r the farthest that a body's core reaches from its centre of mass,

so that it keeps above s for (separation - s) / mu. Advancing both by that time and measuring again never steps over an impact,
however thin the bodies are. Sliding costs nothing: it does not close n.

Bodies that slide and turn on each other leave the tangent along which contact was solved for, a little in every step. So the
overlap at the step's end is measured too, lest it adds up.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..geometry.round_solids import round_thickness
from ..geometry.shapes import CONE, MESH, PLANE, ShapeTable
from ..kernel import leaf_kernel
from .detect import collider_poses, pair_contacts, place_collider, work_arrays

__all__ = ["earliest_impacts", "thicknesses"]

# Of the thinner body's thickness: the relative motion in a step up to which bodies cannot pass each other, and the overlap that
# ends a step early. The rest offset takes their place where it is larger.
HARMLESS_MOTION = 0.25
OVERLAP = 0.1
# Of that overlap: by how much what is deeper than half of it may deepen in a whole step.
DEEPENING = 0.05
# In units of the rest offset, the gap at which bodies count as touching: near enough for restitution to act.
TOUCHING = 1.25
# Of the step: an impact nearer to its beginning was there already, and the contacts that did not hold need a shorter step.
BEGINNING = 0.01
MOST_ADVANCES = 64


def thicknesses(shapes: ShapeTable) -> np.ndarray:
    """(c,) m: how thin each collider is, measured across its faces, margin included; infinite for a plane and a mesh."""
    thickness = np.empty(len(shapes.kind))
    known: dict[tuple[int, int], float] = {}
    for i in range(len(thickness)):
        shape = int(shapes.first_vertex[i]), int(shapes.first_face[i])
        if shape not in known and shapes.round_radius[i] > 0.0:
            ends = shapes.vertices[shape[0] : shape[0] + 2]
            height = float(np.linalg.norm(ends[1] - ends[0]))
            known[shape] = round_thickness(shapes.kind[i] == CONE, float(shapes.round_radius[i]), height)
        elif shape not in known:
            vertices = shapes.vertices[shape[0] : shape[0] + shapes.vertex_count[i]]
            planes = shapes.planes[shape[1] : shape[1] + shapes.face_count[i]]
            depth = planes[:, 3] - (vertices @ planes[:, :3].T).min(axis=0) if len(planes) else np.zeros(1)
            known[shape] = max(0.0, float(depth.min()))
        thickness[i] = np.inf if shapes.kind[i] in (PLANE, MESH) else known[shape] + 2.0 * shapes.margin[i]
    return thickness


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
def gap_after(shapes, position, rotation, twist, a, b, time, limit, places, turns, pose, contact, normal):
    """Gap of two colliders after some time, infinite beyond the limit, and the normal into (3,), from a to b.

    pose: room for a body's place (3,) and turn (3, 3). contact: from `work_arrays`.
    """
    for collider in (a, b):
        moved_pose(position, rotation, twist, shapes.body[collider], time, pose[0], pose[1])
        place_collider(shapes, collider, pose[0], pose[1], places[collider], turns[collider])
    margin = shapes.margin[a] + shapes.margin[b]
    manifold = contact[0]
    count, frame = pair_contacts(
        shapes,
        places,
        turns,
        a,
        b,
        limit + margin,
        manifold,
        contact[1],
        contact[2],
        contact[3],
        contact[4],
        contact[5],
        contact[6],
        contact[7],
    )
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


@njit(cache=True, error_model="numpy")
def earliest_impacts(shapes, thickness, rest, pairs, position, rotation, twist, h, share):
    """(k,) time in s after which each pair of colliders needs contacts anew, infinity where the whole step is safe; and (k,)
    whether that is because they touch from the beginning and overlap more and more.

    thickness: from `thicknesses`. rest: (n,) m, each body's own rest offset; a pair's is the smaller one. pairs: (k, 2).
    position (n, 3), rotation (n, 3, 3) of the bodies: the step's begin. twist: (n, 6) through the step of h seconds. The time
    is that at which the colliders touch; half the time to a harmful overlap where they touch from the beginning.
    share: h over the scene's time step.
    """
    times, touching = np.full(len(pairs), np.inf), np.zeros(len(pairs), dtype=np.bool_)
    places, turns = collider_poses(shapes, position, rotation)
    pose, normal, contact = (np.empty(3), np.empty((3, 3))), np.empty(3), work_arrays(shapes)
    for row in range(len(pairs)):
        a, b = pairs[row, 0], pairs[row, 1]
        body_a, body_b = shapes.body[a], shapes.body[b]
        radius_a, radius_b = core_radius(shapes, a, body_b, position), core_radius(shapes, b, body_a, position)
        thinner = min(thickness[a], thickness[b])
        offset = min(rest[body_a], rest[body_b])
        bound = motion_bound(twist, body_a, body_b, radius_a, radius_b)
        if bound * h <= max(HARMLESS_MOTION * thinner, offset):
            continue
        touching_gap = TOUCHING * offset
        allowed = max(OVERLAP * thinner, offset)
        deepest = -0.5 * allowed
        time, clear, harmful = 0.0, -1.0, False
        for advance in range(MOST_ADVANCES):
            limit = bound * (h - time) + touching_gap
            gap = gap_after(shapes, position, rotation, twist, a, b, time, limit, places, turns, pose, contact, normal)
            if advance == 0:
                # what overlaps already is parted by the stepper; here it must only not get worse
                deepest = min(deepest, gap - share * DEEPENING * allowed)
            # on the way overlaps are only bounded, and more loosely; at the end they are known
            harmful = gap < (deepest if time == h else deepest - 0.5 * allowed)
            if harmful or time == h or gap == np.inf:
                break
            if gap > touching_gap:
                clear = time
            closing = closing_speed(twist, body_a, body_b, radius_a, radius_b, normal)
            if closing * (h - time) <= gap - deepest:
                break
            time = min(h, time + (gap - deepest + allowed) / closing)
        else:
            # so far it is safe
            times[row], touching[row] = time, True
        if harmful and clear < 0.0:
            times[row], touching[row] = 0.5 * time, True
        elif harmful:
            # back to where they were apart, and up to where they touch
            time = clear
            for _ in range(MOST_ADVANCES):
                limit = bound * (h - time) + touching_gap
                gap = gap_after(shapes, position, rotation, twist, a, b, time, limit, places, turns, pose, contact, normal)
                if gap <= touching_gap:
                    break
                closing = closing_speed(twist, body_a, body_b, radius_a, radius_b, normal)
                time += (gap - offset) / closing
            times[row], touching[row] = (time, False) if time > BEGINNING * h else (0.5 * h, True)
        for i in (a, b):
            place_collider(shapes, i, position[shapes.body[i]], rotation[shapes.body[i]], places[i], turns[i])
    return times, touching
