# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of two boxes. They are those of `hull_hull.hull_contacts`, computed faster.

The faces of a box are parallel in pairs, so fifteen axes suffice: three normals of each box and nine cross products of edges.
Each separation has a closed form, |p . n| - sum a_i |n_i| - sum b_j |n . R_j|, where p is the center of the second box, R_j are
its axes, and a and b are the half sizes. If a normal decides, `box_face` finds the contacts.

The general kernel handles two cases: closest points that are neither on a face nor between crossing edges, and touching boxes
that several axes separate about equally.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel_part, leaf_kernel
from ...geometry.boxes import EDGE
from ...linalg.vec3 import X, Y, Z, advanced, cross, divided, dot, negative, norm
from ..manifold import EDGE_EDGE, feature_id
from .box_face import box_face_contacts
from .box_pair import B_IN_A, CENTRE_A, HALF_A, HALF_B, OFFSET
from .closest_edges import segment_parameters
from .edge_contacts import NEARLY_PARALLEL
from .hull_pair import FACE_PREFERENCE, MERGE_RATIO, NEAR_FACE_COSINE, RESTING_GAP_RATIO, TIE_RATIO
from .quick_reject import SEPARATION_NOISE
from .separation import PARALLEL
from .several_axes import SECOND_AXIS_TOLERANCE, inset_margin, may_have_tied_axes

__all__ = ["UNDECIDED", "box_contacts"]

UNDECIDED = -1
AXES = X, Y, Z


@inlined_kernel
def best_face(separation_x, separation_y, separation_z, x, y, z):
    """Return the largest of three separations along axes [m], its axis, and whether the other box is on the upper side."""
    if separation_x >= separation_y and separation_x >= separation_z:
        return separation_x, 0, x > 0.0
    return (separation_y, 1, y > 0.0) if separation_y >= separation_z else (separation_z, 2, z > 0.0)


@inlined_kernel
def center_offsets(layout):
    """Return the offset from the center of a to that of b [m], three numbers in the frame of a and three in that of b."""
    px, py, pz = layout[OFFSET], layout[OFFSET + 1], layout[OFFSET + 2]
    qx = layout[0] * px + layout[3] * py + layout[6] * pz
    qy = layout[1] * px + layout[4] * py + layout[7] * pz
    qz = layout[2] * px + layout[5] * py + layout[8] * pz
    return px, py, pz, qx, qy, qz


@inlined_kernel
def face_separations(layout):
    """Return the best face of a and the best face of b, each as in `best_face`."""
    px, py, pz, qx, qy, qz = center_offsets(layout)
    ax, ay, az = layout[HALF_A], layout[HALF_A + 1], layout[HALF_A + 2]
    bx, by, bz = layout[HALF_B], layout[HALF_B + 1], layout[HALF_B + 2]
    of_a = best_face(
        abs(px) - ax - abs(layout[0]) * bx - abs(layout[1]) * by - abs(layout[2]) * bz,
        abs(py) - ay - abs(layout[3]) * bx - abs(layout[4]) * by - abs(layout[5]) * bz,
        abs(pz) - az - abs(layout[6]) * bx - abs(layout[7]) * by - abs(layout[8]) * bz,
        px,
        py,
        pz,
    )
    of_b = best_face(
        abs(qx) - bx - abs(layout[0]) * ax - abs(layout[3]) * ay - abs(layout[6]) * az,
        abs(qy) - by - abs(layout[1]) * ax - abs(layout[4]) * ay - abs(layout[7]) * az,
        abs(qz) - bz - abs(layout[2]) * ax - abs(layout[5]) * ay - abs(layout[8]) * az,
        -qx,
        -qy,
        -qz,
    )
    return of_a, of_b


@inlined_kernel
def axis_of_b(layout, k):
    """Return axis k of b in the frame of a."""
    return layout[B_IN_A + k], layout[B_IN_A + 3 + k], layout[B_IN_A + 6 + k]


@inlined_kernel
def toward_b(layout, axis):
    """Return an axis, or its negative, so that it points from a to b."""
    along = dot(axis, (layout[OFFSET], layout[OFFSET + 1], layout[OFFSET + 2]))
    return axis if along >= 0.0 else negative(axis)


@kernel_part
def normal_of_face(layout, of_a, face_a, face_b):
    """Return the normal of a face from a to b. of_a: True for the face across axis face_a of a, False for face_b of b."""
    return toward_b(layout, AXES[face_a] if of_a else axis_of_b(layout, face_b))


@kernel_part
def normal_of_edges(layout, i, j):
    """Return the unit cross product of axis i of a and axis j of b, from a to b."""
    normal = cross(AXES[i], axis_of_b(layout, j))
    return toward_b(layout, divided(normal, norm(normal)))


@inlined_kernel
def edge_axis(layout, floor):
    """Return the largest separation above `floor` along cross products of edges [m], and the axes of a and b, or -1 for
    none.
    """
    separation = floor
    best_i = -1
    best_j = -1
    for i in range(3):
        k = i + 1 if i < 2 else 0
        m = 3 - i - k
        for j in range(3):
            # n = e_i x R_j has the components -R_mj and R_kj.
            x, y = layout[B_IN_A + 3 * m + j], layout[B_IN_A + 3 * k + j]
            jk = j + 1 if j < 2 else 0
            jm = 3 - j - jk
            # n . R_jk and n . R_jm are R_i,jm and R_i,jk, up to their signs.
            along = abs(layout[OFFSET + m] * y - layout[OFFSET + k] * x)
            along -= layout[HALF_A + k] * abs(x) + layout[HALF_A + m] * abs(y)
            along -= layout[HALF_B + jk] * abs(layout[B_IN_A + 3 * i + jm]) + layout[HALF_B + jm] * abs(
                layout[B_IN_A + 3 * i + jk]
            )
            norm2 = x * x + y * y
            # The axis is no longer than one, so normalization can only decrease a negative separation.
            if (along <= separation and separation <= 0.0) or norm2 <= PARALLEL:
                continue
            along /= np.sqrt(norm2)
            if along > separation:
                separation = along
                best_i = i
                best_j = j
    return separation, best_i, best_j


@inlined_kernel
def crossing_of_edges(pair, i, j, gap):
    """Write the contact of the edges along axis i of a and axis j of b that are nearest along their cross product.

    The contact goes to the first row of the manifold. gap: separation along the cross product [m].

    Returns the distance of the edges [m]; whether both points are farther than the merge distance from the ends and the edges
    are far from parallel; and the near face of a and then of b, each as its axis and whether it is the upper one. A face is
    near if its normal is within NEAR_FACE_COSINE of the cross product. The axis is -1 if there is none.
    """
    layout, manifold = pair.layout, pair.manifold
    merge = MERGE_RATIO * pair.scale
    k = i + 1 if i < 2 else 0
    m = 3 - i - k
    jk = j + 1 if j < 2 else 0
    jm = 3 - j - jk
    nk, nm = -layout[B_IN_A + 3 * m + j], layout[B_IN_A + 3 * k + j]
    sine2 = nk * nk + nm * nm
    length = np.sqrt(sine2)
    if nk * layout[OFFSET + k] + nm * layout[OFFSET + m] < 0.0:
        length = -length
    nk, nm = nk / length, nm / length
    # All vectors are in the axes of a, in the order i, k, m.
    along_k = nk * layout[B_IN_A + 3 * k + jk] + nm * layout[B_IN_A + 3 * m + jk]
    along_m = nk * layout[B_IN_A + 3 * k + jm] + nm * layout[B_IN_A + 3 * m + jm]
    ai, ak, am = layout[HALF_A + i], layout[HALF_A + k], layout[HALF_A + m]
    ak, am = ak if nk > 0.0 else -ak, am if nm > 0.0 else -am
    bj, bk, bm = layout[HALF_B + j], layout[HALF_B + jk], layout[HALF_B + jm]
    bk, bm = bk if along_k < 0.0 else -bk, bm if along_m < 0.0 else -bm
    qi = (
        layout[OFFSET + i]
        - bj * layout[B_IN_A + 3 * i + j]
        + bk * layout[B_IN_A + 3 * i + jk]
        + bm * layout[B_IN_A + 3 * i + jm]
    )
    qk = (
        layout[OFFSET + k]
        - bj * layout[B_IN_A + 3 * k + j]
        + bk * layout[B_IN_A + 3 * k + jk]
        + bm * layout[B_IN_A + 3 * k + jm]
    )
    qm = (
        layout[OFFSET + m]
        - bj * layout[B_IN_A + 3 * m + j]
        + bk * layout[B_IN_A + 3 * m + jk]
        + bm * layout[B_IN_A + 3 * m + jm]
    )
    ei, ek, em = (
        2.0 * bj * layout[B_IN_A + 3 * i + j],
        2.0 * bj * layout[B_IN_A + 3 * k + j],
        2.0 * bj * layout[B_IN_A + 3 * m + j],
    )
    s, t, squared = segment_parameters((-ai, ak, am), (2.0 * ai, 0.0, 0.0), (qi, qk, qm), (ei, ek, em))
    manifold.point[0, i] = layout[CENTRE_A + i] + 0.5 * ((2.0 * s - 1.0) * ai + qi + t * ei)
    manifold.point[0, k] = layout[CENTRE_A + k] + 0.5 * (ak + qk + t * ek)
    manifold.point[0, m] = layout[CENTRE_A + m] + 0.5 * (am + qm + t * em)
    manifold.normal[0, i], manifold.normal[0, k], manifold.normal[0, m] = 0.0, nk, nm
    edge_a = EDGE[i, int(ak > 0.0), int(am > 0.0)]
    edge_b = EDGE[j, int(bk > 0.0), int(bm > 0.0)]
    manifold.feature[0] = feature_id(EDGE_EDGE, edge_a, edge_b)
    manifold.gap[0] = gap
    inside = min(s, 1.0 - s) * 2.0 * ai > merge and min(t, 1.0 - t) * 2.0 * bj > merge
    near_a = k if abs(nk) > NEAR_FACE_COSINE else (m if abs(nm) > NEAR_FACE_COSINE else -1)
    near_b = jk if abs(along_k) > NEAR_FACE_COSINE else (jm if abs(along_m) > NEAR_FACE_COSINE else -1)
    upper_a = (nk if near_a == k else nm) > 0.0
    upper_b = (along_k if near_b == jk else along_m) < 0.0
    return np.sqrt(squared), inside and sine2 > NEARLY_PARALLEL, near_a, upper_a, near_b, upper_b


@inlined_kernel
def edge_contacts_of_boxes(pair, separation, i, j, near_faces):
    """Find the contacts where edges along axis i of a and axis j of b have the largest separation [m].

    near_faces: True to use a face that is nearly as good instead.

    Returns the number of contacts, and whether they are in the frame of b. The number is 0 if the edges do not touch along the
    axis, and UNDECIDED if other contacts may be as near.
    """
    if i < 0:
        return 0, False
    scale, noise = pair.scale, pair.noise
    merge = MERGE_RATIO * scale
    apart = separation > noise
    distance, alone, near_a, upper_a, near_b, upper_b = crossing_of_edges(pair, i, j, separation)
    if distance > abs(separation) + (noise if apart else merge):
        return 0, False
    if near_faces and (near_a >= 0 or near_b >= 0):
        bound = distance / NEAR_FACE_COSINE + noise if apart else separation + merge
        for which in range(2):
            of_a = which == 0
            near, upper = (near_a, upper_a) if of_a else (near_b, upper_b)
            if near < 0:
                continue
            count, smallest = box_face_contacts(pair, of_a, near, upper)
            if count > 0 and smallest <= bound:
                decided = not apart or distance <= RESTING_GAP_RATIO * scale or smallest <= distance + noise
                return count if decided else UNDECIDED, not of_a
        crossing_of_edges(pair, i, j, separation)
    return 1 if alone or not apart else UNDECIDED, False


@kernel_part
def has_another_axis(pair, normal, separation):
    """Return True if a second axis separates two touching boxes about as well as the best one.

    The test is that of `several_axes.wedge_normal`: after a translation into each other along the best normal, the boxes
    overlap less along another axis.

    normal, separation: the best axis and the separation along it [m].
    """
    layout = pair.layout
    margin = inset_margin(separation, pair.scale)
    x, y, z = layout[OFFSET], layout[OFFSET + 1], layout[OFFSET + 2]
    layout[OFFSET], layout[OFFSET + 1], layout[OFFSET + 2] = advanced((x, y, z), -margin - separation, normal)
    (of_a, _, _), (of_b, _, _) = face_separations(layout)
    floor = (SECOND_AXIS_TOLERANCE - 1.0) * margin
    largest = max(of_a, of_b)
    if largest <= floor:
        largest, _, _ = edge_axis(layout, floor)
    layout[OFFSET], layout[OFFSET + 1], layout[OFFSET + 2] = x, y, z
    return largest > floor


@leaf_kernel
def box_contacts(pair):
    """Find the contacts of two boxes with gaps up to the limit.

    Returns their number, or UNDECIDED, and whether they are in the frame of b.
    """
    layout, limit, scale, noise = pair.layout, pair.limit, pair.scale, pair.noise
    (separation_a, face_a, upper_a), (separation_b, face_b, upper_b) = face_separations(layout)
    separation = max(separation_a, separation_b)
    # Separation along the line of the centers, which is not normalized.
    px, py, pz, qx, qy, qz = center_offsets(layout)
    ax, ay, az = layout[HALF_A], layout[HALF_A + 1], layout[HALF_A + 2]
    bx, by, bz = layout[HALF_B], layout[HALF_B + 1], layout[HALF_B + 2]
    between = px * px + py * py + pz * pz
    reaches = abs(px) * ax + abs(py) * ay + abs(pz) * az + abs(qx) * bx + abs(qy) * by + abs(qz) * bz
    far = limit + SEPARATION_NOISE * (limit + ax + ay + az + bx + by + bz)
    if separation > limit or (between > reaches and (between - reaches) * (between - reaches) > far * far * between):
        return 0, False
    merge = MERGE_RATIO * scale
    apart = separation > noise
    by_edges, i, j = separation, -1, -1
    if not apart:
        by_edges, i, j = edge_axis(layout, separation)
        if by_edges > limit:
            return 0, False
    if may_have_tied_axes(by_edges, scale):
        of_a = separation_a >= separation_b
        normal = normal_of_edges(layout, i, j) if i >= 0 else normal_of_face(layout, of_a, face_a, face_b)
        if has_another_axis(pair, normal, by_edges):
            return UNDECIDED, False
    if not apart and by_edges > min(noise, (1.0 - FACE_PREFERENCE) * separation + merge):
        count, in_frame_of_b = edge_contacts_of_boxes(pair, by_edges, i, j, not apart)
        if count != 0:
            return count, in_frame_of_b
        if by_edges > noise:
            return UNDECIDED, False
    a_first = separation_a >= separation_b - TIE_RATIO * scale
    for which in range(2):
        of_a = (which == 0) == a_first
        face_separation = separation_a if of_a else separation_b
        if face_separation <= noise if apart else face_separation < separation - merge:
            continue
        k, upper = (face_a, upper_a) if of_a else (face_b, upper_b)
        count, smallest = box_face_contacts(pair, of_a, k, upper)
        if apart:
            # The distance is between the separation and the smallest gap. This bounds the angle to the closest direction.
            resting = separation <= RESTING_GAP_RATIO * scale or smallest <= separation + noise
            accepted = resting and smallest * NEAR_FACE_COSINE <= separation
        else:
            accepted = smallest <= face_separation + merge
        if count > 0 and accepted:
            return count, not of_a
    if apart:
        by_edges, i, j = edge_axis(layout, separation)
        if by_edges > limit:
            return 0, False
    count, in_frame_of_b = edge_contacts_of_boxes(pair, by_edges, i, j, apart)
    return count if count > 0 else UNDECIDED, in_frame_of_b
