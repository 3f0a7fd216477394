# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of a face of one box with the other box, without polygon clipping.

The face is a rectangle. The other box touches it with corners over the rectangle, with edges that cross its sides, and with
faces over its corners. Each kind is found separately.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...geometry.boxes import EDGE, FACE
from ..manifold import EDGE_EDGE, FACE_VERTEX, VERTEX_FACE, feature_id
from .box_pair import CENTRE_A, CENTRE_B, HALF_A, HALF_B, OFFSET
from .face_contacts import FACING
from .hull_pair import CLIP_TOLERANCE, MERGE_RATIO

__all__ = ["box_face_contacts"]

# Relative to the half length of an edge: how far past its end a crossing still counts, so that rounding loses none at a corner.
PAST_END_RATIO = 1e-12
# Replaces the infinite reciprocal of a zero component.
HUGE_RECIPROCAL = 1e300


class BoxFace(NamedTuple):
    """A face of one box, and the other box over it. Coordinates (u, v) in the face are relative to its center.

    of_a: True for a face of a. k: axis across the face. u, v: the other two axes. upper: True for the face at the upper bound.
    half_u, half_v: half sizes of the face [m]. tolerance: points outside by no more count as over the face [m].
    x, y, middle: center of the other box in the face, and its height [m]. lowest: height of its lowest corner [m].
    facing: bit j is set if the lower face of the other box across its axis j faces this face.
    """

    of_a: bool
    k: int
    u: int
    v: int
    upper: bool
    half_u: float
    half_v: float
    tolerance: float
    x: float
    y: float
    middle: float
    lowest: float
    facing: int


@inlined_kernel
def write_face_contact(manifold, slot, x, y, gap, feature):
    """Write a row of the manifold.

    The first two coordinates of the point are those in the face [m]; the normal is not written.
    """
    manifold.point[slot, 0], manifold.point[slot, 1] = x, y
    manifold.gap[slot] = gap
    manifold.feature[slot] = feature


@kernel_part
def merge_close(manifold, count, merge):
    """Merge contacts within the merge distance [m], and return the new count. The deeper one is kept, as in `add_contact`."""
    kept = 0
    noise = 1e-3 * merge
    for slot in range(count):
        x, y, gap, feature = manifold.point[slot, 0], manifold.point[slot, 1], manifold.gap[slot], manifold.feature[slot]
        twin = kept
        for other in range(kept):
            dx, dy, dz = manifold.point[other, 0] - x, manifold.point[other, 1] - y, 0.5 * (manifold.gap[other] - gap)
            if dx * dx + dy * dy + dz * dz <= merge * merge:
                twin = other
                break
        if twin == kept:
            kept += 1
        elif gap > manifold.gap[twin] + noise or (gap >= manifold.gap[twin] - noise and feature > manifold.feature[twin]):
            continue
        write_face_contact(manifold, twin, x, y, gap, feature)
    return kept


@kernel_part
def face_view(pair, of_a, k, upper):
    """Return the `BoxFace` across axis k of one box, and write the half edges of the other box, each pointing down.

    The rows of half_edges (3, 6) have the coordinates (u, v) of the half edge, its descent, 1 / u, 1 / v, and 1.0 if it points
    along its own axis, else -1.0. So the lowest corner of the other box is its center plus all three half edges.
    """
    layout, half_edges = pair.layout, pair.half_edges
    u = k + 1 if k < 2 else 0
    v = 3 - k - u
    row, column = (3, 1) if of_a else (1, 3)
    own, other = (HALF_A, HALF_B) if of_a else (HALF_B, HALF_A)
    px, py, pz = layout[OFFSET], layout[OFFSET + 1], layout[OFFSET + 2]
    if of_a:
        x, y, z = layout[OFFSET + u], layout[OFFSET + v], layout[OFFSET + k]
    else:
        x = -(layout[u] * px + layout[3 + u] * py + layout[6 + u] * pz)
        y = -(layout[v] * px + layout[3 + v] * py + layout[6 + v] * pz)
        z = -(layout[k] * px + layout[3 + k] * py + layout[6 + k] * pz)
    side = 1.0 if upper else -1.0
    middle = side * z - layout[own + k]
    lowest = middle
    facing = 0
    for j in range(3):
        half = layout[other + j]
        mu, mv, mw = layout[row * u + column * j], layout[row * v + column * j], side * layout[row * k + column * j]
        down = -half if mw > 0.0 else half
        half_edges[j, 0], half_edges[j, 1], half_edges[j, 2] = down * mu, down * mv, abs(half * mw)
        half_edges[j, 3] = 1.0 / (down * mu) if abs(down * mu) * HUGE_RECIPROCAL > 1.0 else HUGE_RECIPROCAL
        half_edges[j, 4] = 1.0 / (down * mv) if abs(down * mv) * HUGE_RECIPROCAL > 1.0 else HUGE_RECIPROCAL
        half_edges[j, 5] = 1.0 if down > 0.0 else -1.0
        lowest -= half_edges[j, 2]
        facing |= int(abs(mw) > -FACING) << j
    tolerance = CLIP_TOLERANCE * pair.scale
    return BoxFace(of_a, k, u, v, upper, layout[own + u], layout[own + v], tolerance, x, y, middle, lowest, facing)


@kernel_part
def append_corners_over_face(pair, face):
    """Append the corners of the other box over the face, and return their number."""
    half_edges, facing = pair.half_edges, face.facing
    number = FACE[face.k, int(face.upper)]
    room_u, room_v = face.half_u + face.tolerance, face.half_v + face.tolerance
    count = 0
    # Each bit of `up` reverses one half edge. The uppermost corner, with all bits set, is on no lower face.
    for up in range(7):
        if (up & facing) == facing:
            continue
        s0, s1, s2 = 1.0 - 2.0 * (up & 1), 1.0 - (up & 2), 1.0 - 0.5 * (up & 4)
        gap = face.middle - s0 * half_edges[0, 2] - s1 * half_edges[1, 2] - s2 * half_edges[2, 2]
        if gap > pair.limit:
            continue
        x = face.x + s0 * half_edges[0, 0] + s1 * half_edges[1, 0] + s2 * half_edges[2, 0]
        y = face.y + s0 * half_edges[0, 1] + s1 * half_edges[1, 1] + s2 * half_edges[2, 1]
        if abs(x) > room_u or abs(y) > room_v:
            continue
        corner = 4 * int(s0 * half_edges[0, 5] > 0.0) + 2 * int(s1 * half_edges[1, 5] > 0.0) + int(s2 * half_edges[2, 5] > 0.0)
        feature = feature_id(FACE_VERTEX, number, corner) if face.of_a else feature_id(VERTEX_FACE, corner, number)
        write_face_contact(pair.manifold, count, x, y, gap, feature)
        count += 1
    return count


@kernel_part
def append_edge_crossings(pair, face, count):
    """Append the points where edges of the other box cross the sides of the face, and return the new count."""
    half_edges, facing, limit, tolerance = pair.half_edges, face.facing, pair.limit, face.tolerance
    room_u, room_v = face.half_u + tolerance, face.half_v + tolerance
    for i in range(3):
        j = i + 1 if i < 2 else 0
        m = 3 - i - j
        gu, gv, gw, per_u, per_v = half_edges[i, 0], half_edges[i, 1], half_edges[i, 2], half_edges[i, 3], half_edges[i, 4]
        half_enter_u, half_enter_v = room_u * abs(per_u), room_v * abs(per_v)
        for up in range(3):
            sj, sm = 1.0 - 2.0 * (up & 1), 1.0 - (up & 2)
            on_lower = (sj > 0.0 and (facing >> j) & 1 == 1) or (sm > 0.0 and (facing >> m) & 1 == 1)
            height = face.middle - sj * half_edges[j, 2] - sm * half_edges[m, 2]
            if not on_lower or height - gw > limit:
                continue
            x = face.x + sj * half_edges[j, 0] + sm * half_edges[m, 0]
            y = face.y + sj * half_edges[j, 1] + sm * half_edges[m, 1]
            enter_u, leave_u = -x * per_u - half_enter_u, -x * per_u + half_enter_u
            enter_v, leave_v = -y * per_v - half_enter_v, -y * per_v + half_enter_v
            enter, leave = max(enter_u, enter_v), min(leave_u, leave_v)
            if enter > leave:
                continue
            for end in range(2):
                t = enter if end == 0 else leave
                if abs(t) > 1.0 + PAST_END_RATIO or height - t * gw > limit:
                    continue
                over_u = enter_u >= enter_v if end == 0 else leave_u <= leave_v
                # The clipping rectangle is larger by the tolerance, so move the crossing inward to the side itself.
                inwards = tolerance * abs(per_u if over_u else per_v)
                t = min(t + inwards, min(leave, 1.0)) if end == 0 else max(t - inwards, max(enter, -1.0))
                x_of, y_of, gap = x + t * gu, y + t * gv, height - t * gw
                if over_u:
                    edge = EDGE[face.v, int(face.upper), int(x_of > 0.0)]
                else:
                    edge = EDGE[face.u, int(y_of > 0.0), int(face.upper)]
                crossed = EDGE[i, int(sj * half_edges[j, 5] > 0.0), int(sm * half_edges[m, 5] > 0.0)]
                feature = feature_id(EDGE_EDGE, edge, crossed) if face.of_a else feature_id(EDGE_EDGE, crossed, edge)
                write_face_contact(pair.manifold, count, x_of, y_of, gap, feature)
                count += 1
    return count


@kernel_part
def append_face_corners(pair, face, count):
    """Append the corners of the face under faces of the other box, and return the new count.

    The other box lies above the planes of all its lower faces, so the highest of these planes at a corner gives the gap.
    """
    half_edges, tolerance = pair.half_edges, face.tolerance
    other = HALF_B if face.of_a else HALF_A
    for digits in range(4):
        upper_u, upper_v = digits & 1, digits >> 1
        x, y = face.half_u if upper_u == 1 else -face.half_u, face.half_v if upper_v == 1 else -face.half_v
        du, dv = x - face.x, y - face.y
        highest = -np.inf
        under = 0
        for j in range(3):
            half = pair.layout[other + j]
            height = (half_edges[j, 0] * du + half_edges[j, 1] * dv - half * half) / half_edges[j, 2]
            if (face.facing >> j) & 1 == 1 and height > highest:
                highest = height
                under = j
        if face.middle + highest > pair.limit:
            continue
        i = under + 1 if under < 2 else 0
        j = 3 - under - i
        half_i, half_j = pair.layout[other + i], pair.layout[other + j]
        if abs(half_edges[i, 0] * du + half_edges[i, 1] * dv - half_edges[i, 2] * highest) > half_i * (
            half_i + tolerance
        ) or abs(half_edges[j, 0] * du + half_edges[j, 1] * dv - half_edges[j, 2] * highest) > half_j * (half_j + tolerance):
            continue
        corner = (int(face.upper) << (2 - face.k)) + (upper_u << (2 - face.u)) + (upper_v << (2 - face.v))
        lower_face = FACE[under, int(half_edges[under, 5] > 0.0)]
        feature = feature_id(VERTEX_FACE, corner, lower_face) if face.of_a else feature_id(FACE_VERTEX, lower_face, corner)
        write_face_contact(pair.manifold, count, x, y, face.middle + highest, feature)
        count += 1
    return count


@leaf_kernel
def box_face_contacts(pair, of_a, k, upper):
    """Find the contacts with the face across axis k of one box.

    of_a: True for a face of a. upper: True for the face at the upper bound.

    Returns their number and the smallest gap [m].
    """
    layout, manifold = pair.layout, pair.manifold
    face = face_view(pair, of_a, k, upper)
    if face.lowest > pair.limit:
        return 0, face.lowest
    count = append_corners_over_face(pair, face)
    count = append_edge_crossings(pair, face, count)
    count = append_face_corners(pair, face, count)
    count = merge_close(manifold, count, MERGE_RATIO * pair.scale)
    smallest = np.inf
    u, v = face.u, face.v
    side = 1.0 if upper else -1.0
    centre = CENTRE_A if of_a else CENTRE_B
    top = layout[(HALF_A if of_a else HALF_B) + k]
    for slot in range(count):
        x, y, gap = manifold.point[slot, 0], manifold.point[slot, 1], manifold.gap[slot]
        smallest = min(smallest, gap)
        manifold.point[slot, u] = layout[centre + u] + x
        manifold.point[slot, v] = layout[centre + v] + y
        manifold.point[slot, k] = layout[centre + k] + side * (top + 0.5 * gap)
        manifold.normal[slot, u] = manifold.normal[slot, v] = 0.0
        manifold.normal[slot, k] = side if of_a else -side
    return count, smallest
