# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two boxes: those of `hull_hull.hull_contacts`, found by what only boxes have.

The faces of a box are parallel in pairs, so fifteen axes decide, three normals of each box and nine cross products of edges,
each with a separation in closed form: |p . n| - sum a_i |n_i| - sum b_j |n . R_j|, where p is the second box's place, R_j are
its axes, and a and b half the sizes. A face of one box is a rectangle, and the other box touches it with corners over the
rectangle, with edges that cross its sides, and with faces over its corners: each is looked for by itself, without polygons.

What the axes do not decide, closest points elsewhere than on a face or between crossing edges, is left to the general way.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, inner_kernel, leaf_kernel
from ...geometry.boxes import EDGE, FACE
from ..manifold import EDGE_EDGE, FACE_VERTEX, VERTEX_FACE, feature_id
from .closest_edges import segment_parameters
from .edge_contacts import NEARLY_PARALLEL
from .face_contacts import FACING
from .hull_hull import CLIP_TOLERANCE, FACE_PREFERENCE, MERGE, NEAR_FACE, RESTING, TIE
from .quick_reject import SEPARATION_NOISE
from .separation import PARALLEL

__all__ = ["UNDECIDED", "box_contacts", "box_work", "place_boxes"]

UNDECIDED = -1

# What is known of a pair of boxes, in one array: the axes of b in the frame of a (9 numbers, row by row), the way from the
# centre of a to that of b (3), half the sizes of a and of b (3 each), the centres of a and of b in their bodies' frames (6).
ABOUT_PAIR = 24

# Of an edge's half length: how far past its end a crossing counts, so that rounding loses none at a corner.
PAST_END = 1e-12
# Instead of infinity where an edge does not lean at all.
STEEP = 1e300


@inner_kernel
def box_work():
    """Room for a pair, and for the other box's half edges over a face (see `face_of_box`)."""
    return np.empty(ABOUT_PAIR), np.empty((3, 6))


@inlined_kernel
def place_boxes(shapes, a, b, turn, shift, pair):
    """Writes what is known of a pair of boxes from the pose of b in the frame of a: turn (3, 3) and shift (3,)."""
    for i in range(3):
        centre_b = 0.5 * (shapes.lower[b, i] + shapes.upper[b, i])
        pair[12 + i] = 0.5 * (shapes.upper[a, i] - shapes.lower[a, i])
        pair[15 + i] = 0.5 * (shapes.upper[b, i] - shapes.lower[b, i])
        pair[18 + i] = 0.5 * (shapes.lower[a, i] + shapes.upper[a, i])
        pair[21 + i] = centre_b
    for i in range(3):
        pair[9 + i] = shift[i] - pair[18 + i]
        for j in range(3):
            pair[3 * i + j] = turn[i, j]
            pair[9 + i] += turn[i, j] * pair[21 + j]


@inlined_kernel
def best_face(separation_x, separation_y, separation_z, x, y, z):
    """The largest of three separations along axes, which axis, and whether the other box is on its upper side."""
    if separation_x >= separation_y and separation_x >= separation_z:
        return separation_x, 0, x > 0.0
    return (separation_y, 1, y > 0.0) if separation_y >= separation_z else (separation_z, 2, z > 0.0)


@inlined_kernel
def edge_axis(pair, floor):
    """Largest separation over the floor along cross products of edges, (separation, axis of a, axis of b), with -1 for none."""
    separation = floor
    best_i = -1
    best_j = -1
    for i in range(3):
        k = i + 1 if i < 2 else 0
        m = 3 - i - k
        for j in range(3):
            # n = e_i x R_j has the components -R_mj and R_kj
            x, y = pair[3 * m + j], pair[3 * k + j]
            jk = j + 1 if j < 2 else 0
            jm = 3 - j - jk
            # n . R_jk and n . R_jm are, up to their signs, R_i,jm and R_i,jk
            along = abs(pair[9 + m] * y - pair[9 + k] * x)
            along -= pair[12 + k] * abs(x) + pair[12 + m] * abs(y)
            along -= pair[15 + jk] * abs(pair[3 * i + jm]) + pair[15 + jm] * abs(pair[3 * i + jk])
            norm2 = x * x + y * y
            # the axis is no longer than one, so that a separation below zero only falls when it is made one
            if (along <= separation and separation <= 0.0) or norm2 <= PARALLEL:
                continue
            along /= np.sqrt(norm2)
            if along > separation:
                separation = along
                best_i = i
                best_j = j
    return separation, best_i, best_j


@inlined_kernel
def crossing_of_edges(pair, i, j, gap, merge, manifold):
    """The edges along axis i of a and axis j of b that are nearest along their cross product, and their gap along it.

    Writes the contact of their closest points into the manifold's first row, and returns (distance of the edges, whether both
    points are inside of the edges by more than merge and the edges far from parallel, the near faces: of a the axis, its side,
    of b the same). A face is near whose normal is within NEAR_FACE of the cross product; the axis is -1 where there is none.
    """
    k = i + 1 if i < 2 else 0
    m = 3 - i - k
    jk = j + 1 if j < 2 else 0
    jm = 3 - j - jk
    nk, nm = -pair[3 * m + j], pair[3 * k + j]
    sine2 = nk * nk + nm * nm
    length = np.sqrt(sine2)
    if nk * pair[9 + k] + nm * pair[9 + m] < 0.0:
        length = -length
    nk, nm = nk / length, nm / length
    # all in the axes of a, taken in the order i, k, m
    along_k = nk * pair[3 * k + jk] + nm * pair[3 * m + jk]
    along_m = nk * pair[3 * k + jm] + nm * pair[3 * m + jm]
    ai, ak, am = pair[12 + i], pair[12 + k], pair[12 + m]
    ak, am = ak if nk > 0.0 else -ak, am if nm > 0.0 else -am
    bj, bk, bm = pair[15 + j], pair[15 + jk], pair[15 + jm]
    bk, bm = bk if along_k < 0.0 else -bk, bm if along_m < 0.0 else -bm
    qi = pair[9 + i] - bj * pair[3 * i + j] + bk * pair[3 * i + jk] + bm * pair[3 * i + jm]
    qk = pair[9 + k] - bj * pair[3 * k + j] + bk * pair[3 * k + jk] + bm * pair[3 * k + jm]
    qm = pair[9 + m] - bj * pair[3 * m + j] + bk * pair[3 * m + jk] + bm * pair[3 * m + jm]
    ei, ek, em = 2.0 * bj * pair[3 * i + j], 2.0 * bj * pair[3 * k + j], 2.0 * bj * pair[3 * m + j]
    s, t, squared = segment_parameters(-ai, ak, am, 2.0 * ai, 0.0, 0.0, qi, qk, qm, ei, ek, em)
    manifold.point[0, i] = pair[18 + i] + 0.5 * ((2.0 * s - 1.0) * ai + qi + t * ei)
    manifold.point[0, k] = pair[18 + k] + 0.5 * (ak + qk + t * ek)
    manifold.point[0, m] = pair[18 + m] + 0.5 * (am + qm + t * em)
    manifold.normal[0, i], manifold.normal[0, k], manifold.normal[0, m] = 0.0, nk, nm
    edge_a = EDGE[i, int(ak > 0.0), int(am > 0.0)]
    edge_b = EDGE[j, int(bk > 0.0), int(bm > 0.0)]
    manifold.feature[0] = feature_id(EDGE_EDGE, edge_a, edge_b)
    manifold.gap[0] = gap
    inside = min(s, 1.0 - s) * 2.0 * ai > merge and min(t, 1.0 - t) * 2.0 * bj > merge
    near_a = k if abs(nk) > NEAR_FACE else (m if abs(nm) > NEAR_FACE else -1)
    near_b = jk if abs(along_k) > NEAR_FACE else (jm if abs(along_m) > NEAR_FACE else -1)
    upper_a = (nk if near_a == k else nm) > 0.0
    upper_b = (along_k if near_b == jk else along_m) < 0.0
    return np.sqrt(squared), inside and sine2 > NEARLY_PARALLEL, near_a, upper_a, near_b, upper_b


@inlined_kernel
def note_contact(manifold, slot, x, y, gap, feature):
    manifold.point[slot, 0], manifold.point[slot, 1] = x, y
    manifold.gap[slot] = gap
    manifold.feature[slot] = feature


@inlined_kernel
def without_doubles(manifold, count, merge):
    """Of points nearer than merge the deeper one stays, with equal gaps that of the first features, as in `add_contact`."""
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
        note_contact(manifold, twin, x, y, gap, feature)
    return kept


@leaf_kernel
def face_of_box(pair, lean, of_a, k, upper, limit, scale, manifold):
    """Contacts with the upper or lower face across axis k of one box, a or else b: (count, smallest gap).

    lean: room for (3, 6). Coordinates are (u, v) in the face and heights over it. The half edges of the other box are taken
    downwards, so that its lowest corner is at its centre plus all three of them.
    """
    u = k + 1 if k < 2 else 0
    v = 3 - k - u
    row, column = (3, 1) if of_a else (1, 3)
    own, other = (12, 15) if of_a else (15, 12)
    px, py, pz = pair[9], pair[10], pair[11]
    if of_a:
        cu, cv, cw = pair[9 + u], pair[9 + v], pair[9 + k]
    else:
        cu = -(pair[u] * px + pair[3 + u] * py + pair[6 + u] * pz)
        cv = -(pair[v] * px + pair[3 + v] * py + pair[6 + v] * pz)
        cw = -(pair[k] * px + pair[3 + k] * py + pair[6 + k] * pz)
    side = 1.0 if upper else -1.0
    top = pair[own + k]
    half_u, half_v = pair[own + u], pair[own + v]
    tolerance = CLIP_TOLERANCE * scale
    room_u, room_v = half_u + tolerance, half_v + tolerance
    middle = side * cw - top
    lowest = middle
    facing = 0
    for j in range(3):
        half = pair[other + j]
        mu, mv, mw = pair[row * u + column * j], pair[row * v + column * j], side * pair[row * k + column * j]
        down = -half if mw > 0.0 else half
        lean[j, 0], lean[j, 1], lean[j, 2] = down * mu, down * mv, abs(half * mw)
        lean[j, 3] = 1.0 / (down * mu) if abs(down * mu) * STEEP > 1.0 else STEEP
        lean[j, 4] = 1.0 / (down * mv) if abs(down * mv) * STEEP > 1.0 else STEEP
        lean[j, 5] = 1.0 if down > 0.0 else -1.0
        lowest -= lean[j, 2]
        facing |= int(abs(mw) > -FACING) << j
    if lowest > limit:
        return 0, lowest

    face = FACE[k, int(upper)]
    count = 0
    # Corners over the rectangle, a digit of `up` for each edge taken upwards; the uppermost corner is on no lower face.
    for up in range(7):
        if (up & facing) == facing:
            continue
        s0, s1, s2 = 1.0 - 2.0 * (up & 1), 1.0 - (up & 2), 1.0 - 0.5 * (up & 4)
        gap = middle - s0 * lean[0, 2] - s1 * lean[1, 2] - s2 * lean[2, 2]
        if gap > limit:
            continue
        x = cu + s0 * lean[0, 0] + s1 * lean[1, 0] + s2 * lean[2, 0]
        y = cv + s0 * lean[0, 1] + s1 * lean[1, 1] + s2 * lean[2, 1]
        if abs(x) > room_u or abs(y) > room_v:
            continue
        corner = 4 * int(s0 * lean[0, 5] > 0.0) + 2 * int(s1 * lean[1, 5] > 0.0) + int(s2 * lean[2, 5] > 0.0)
        feature = feature_id(FACE_VERTEX, face, corner) if of_a else feature_id(VERTEX_FACE, corner, face)
        note_contact(manifold, count, x, y, gap, feature)
        count += 1
    # Edges over its sides.
    for i in range(3):
        j = i + 1 if i < 2 else 0
        m = 3 - i - j
        gu, gv, gw, per_u, per_v = lean[i, 0], lean[i, 1], lean[i, 2], lean[i, 3], lean[i, 4]
        half_enter_u, half_enter_v = room_u * abs(per_u), room_v * abs(per_v)
        for up in range(3):
            sj, sm = 1.0 - 2.0 * (up & 1), 1.0 - (up & 2)
            on_lower = (sj > 0.0 and (facing >> j) & 1 == 1) or (sm > 0.0 and (facing >> m) & 1 == 1)
            height = middle - sj * lean[j, 2] - sm * lean[m, 2]
            if not on_lower or height - gw > limit:
                continue
            x = cu + sj * lean[j, 0] + sm * lean[m, 0]
            y = cv + sj * lean[j, 1] + sm * lean[m, 1]
            enter_u, leave_u = -x * per_u - half_enter_u, -x * per_u + half_enter_u
            enter_v, leave_v = -y * per_v - half_enter_v, -y * per_v + half_enter_v
            enter, leave = max(enter_u, enter_v), min(leave_u, leave_v)
            if enter > leave:
                continue
            for turn in range(2):
                t = enter if turn == 0 else leave
                if abs(t) > 1.0 + PAST_END or height - t * gw > limit:
                    continue
                over_u = enter_u >= enter_v if turn == 0 else leave_u <= leave_v
                # The sides themselves are crossed a little farther in.
                inwards = tolerance * abs(per_u if over_u else per_v)
                t = min(t + inwards, min(leave, 1.0)) if turn == 0 else max(t - inwards, max(enter, -1.0))
                x_of, y_of, gap = x + t * gu, y + t * gv, height - t * gw
                edge = EDGE[v, int(upper), int(x_of > 0.0)] if over_u else EDGE[u, int(y_of > 0.0), int(upper)]
                crossed = EDGE[i, int(sj * lean[j, 5] > 0.0), int(sm * lean[m, 5] > 0.0)]
                feature = feature_id(EDGE_EDGE, edge, crossed) if of_a else feature_id(EDGE_EDGE, crossed, edge)
                note_contact(manifold, count, x_of, y_of, gap, feature)
                count += 1
    # Its own corners under faces: under the one that is highest there, for the box lies above all planes of its lower faces.
    for digits in range(4):
        upper_u, upper_v = digits & 1, digits >> 1
        x, y = half_u if upper_u == 1 else -half_u, half_v if upper_v == 1 else -half_v
        du, dv = x - cu, y - cv
        highest = -np.inf
        under = 0
        for j in range(3):
            half = pair[other + j]
            height = (lean[j, 0] * du + lean[j, 1] * dv - half * half) / lean[j, 2]
            if (facing >> j) & 1 == 1 and height > highest:
                highest = height
                under = j
        if middle + highest > limit:
            continue
        i = under + 1 if under < 2 else 0
        j = 3 - under - i
        half_i, half_j = pair[other + i], pair[other + j]
        if abs(lean[i, 0] * du + lean[i, 1] * dv - lean[i, 2] * highest) > half_i * (half_i + tolerance) or abs(
            lean[j, 0] * du + lean[j, 1] * dv - lean[j, 2] * highest
        ) > half_j * (half_j + tolerance):
            continue
        corner = (int(upper) << (2 - k)) + (upper_u << (2 - u)) + (upper_v << (2 - v))
        lower_face = FACE[under, int(lean[under, 5] > 0.0)]
        feature = feature_id(VERTEX_FACE, corner, lower_face) if of_a else feature_id(FACE_VERTEX, lower_face, corner)
        note_contact(manifold, count, x, y, middle + highest, feature)
        count += 1
    count = without_doubles(manifold, count, MERGE * scale)
    smallest = np.inf
    centre = 18 if of_a else 21
    for slot in range(count):
        x, y, gap = manifold.point[slot, 0], manifold.point[slot, 1], manifold.gap[slot]
        smallest = min(smallest, gap)
        manifold.point[slot, u] = pair[centre + u] + x
        manifold.point[slot, v] = pair[centre + v] + y
        manifold.point[slot, k] = pair[centre + k] + side * (top + 0.5 * gap)
        manifold.normal[slot, u] = manifold.normal[slot, v] = 0.0
        manifold.normal[slot, k] = side if of_a else -side
    return count, smallest


@inlined_kernel
def edge_contacts_of_boxes(pair, lean, separation, i, j, near_faces, limit, scale, noise, manifold):
    """Contacts where edges along axis i of a and axis j of b have the largest separation: (count, whether in the frame of b).

    The count is 0 where the edges do not meet across it, and UNDECIDED where there may be other contacts as near. near_faces:
    whether a face that is nearly as good comes first.
    """
    if i < 0:
        return 0, False
    merge = MERGE * scale
    apart = separation > noise
    distance, alone, near_a, upper_a, near_b, upper_b = crossing_of_edges(pair, i, j, separation, merge, manifold)
    if distance > abs(separation) + (noise if apart else merge):
        return 0, False
    if near_faces and (near_a >= 0 or near_b >= 0):
        bound = distance / NEAR_FACE + noise if apart else separation + merge
        for turn in range(2):
            near = near_a if turn == 0 else near_b
            if near < 0:
                continue
            upper = upper_a if turn == 0 else upper_b
            count, smallest = face_of_box(pair, lean, turn == 0, near, upper, limit, scale, manifold)
            if count > 0 and smallest <= bound:
                decided = not apart or distance <= RESTING * scale or smallest <= distance + noise
                return count if decided else UNDECIDED, turn == 1
        crossing_of_edges(pair, i, j, separation, merge, manifold)
    return 1 if alone or not apart else UNDECIDED, False


@leaf_kernel
def box_contacts(pair, lean, limit, scale, noise, manifold):
    """Collects the contacts of two boxes with gaps up to the limit: (how many or UNDECIDED, whether in the frame of b).

    pair: from `place_boxes`. The other arguments are those of `hull_contacts`.
    """
    px, py, pz = pair[9], pair[10], pair[11]
    ax, ay, az, bx, by, bz = pair[12], pair[13], pair[14], pair[15], pair[16], pair[17]
    separation_a, face_a, upper_a = best_face(
        abs(px) - ax - abs(pair[0]) * bx - abs(pair[1]) * by - abs(pair[2]) * bz,
        abs(py) - ay - abs(pair[3]) * bx - abs(pair[4]) * by - abs(pair[5]) * bz,
        abs(pz) - az - abs(pair[6]) * bx - abs(pair[7]) * by - abs(pair[8]) * bz,
        px,
        py,
        pz,
    )
    # the way between the centres in the frame of b
    qx = pair[0] * px + pair[3] * py + pair[6] * pz
    qy = pair[1] * px + pair[4] * py + pair[7] * pz
    qz = pair[2] * px + pair[5] * py + pair[8] * pz
    separation_b, face_b, upper_b = best_face(
        abs(qx) - bx - abs(pair[0]) * ax - abs(pair[3]) * ay - abs(pair[6]) * az,
        abs(qy) - by - abs(pair[1]) * ax - abs(pair[4]) * ay - abs(pair[7]) * az,
        abs(qz) - bz - abs(pair[2]) * ax - abs(pair[5]) * ay - abs(pair[8]) * az,
        -qx,
        -qy,
        -qz,
    )
    separation = max(separation_a, separation_b)
    # along the line of the centres, of any length
    between = px * px + py * py + pz * pz
    reaches = abs(px) * ax + abs(py) * ay + abs(pz) * az + abs(qx) * bx + abs(qy) * by + abs(qz) * bz
    far = limit + SEPARATION_NOISE * (limit + ax + ay + az + bx + by + bz)
    if separation > limit or (between > reaches and (between - reaches) * (between - reaches) > far * far * between):
        return 0, False
    merge = MERGE * scale
    apart = separation > noise
    by_edges, i, j = separation, -1, -1
    if not apart:
        by_edges, i, j = edge_axis(pair, separation)
        if by_edges > limit:
            return 0, False
        if by_edges > min(noise, (1.0 - FACE_PREFERENCE) * separation + merge):
            count, in_frame_of_b = edge_contacts_of_boxes(pair, lean, by_edges, i, j, not apart, limit, scale, noise, manifold)
            if count != 0:
                return count, in_frame_of_b
            if by_edges > noise:
                return UNDECIDED, False
    a_first = separation_a >= separation_b - TIE * scale
    for turn in range(2):
        of_a = (turn == 0) == a_first
        own = separation_a if of_a else separation_b
        if own <= noise if apart else own < separation - merge:
            continue
        k, upper = (face_a, upper_a) if of_a else (face_b, upper_b)
        count, smallest = face_of_box(pair, lean, of_a, k, upper, limit, scale, manifold)
        if apart:
            # The distance is between the separation and the smallest gap, which bounds the angle to the closest direction.
            resting = separation <= RESTING * scale or smallest <= separation + noise
            accepted = resting and smallest * NEAR_FACE <= separation
        else:
            accepted = smallest <= own + merge
        if count > 0 and accepted:
            return count, not of_a
    if apart:
        by_edges, i, j = edge_axis(pair, separation)
        if by_edges > limit:
            return 0, False
    count, in_frame_of_b = edge_contacts_of_boxes(pair, lean, by_edges, i, j, apart, limit, scale, noise, manifold)
    return count if count > 0 else UNDECIDED, in_frame_of_b
