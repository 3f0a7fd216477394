# SPDX-License-Identifier: GPL-3.0-or-later
"""What the manifolds of cylinders and cones have in common: the points that can touch, feature ids, and the half-space.

All contacts of a pair share the normal: the closest direction while the bodies are apart, the axis of least penetration when
they overlap. Their points are where the two surfaces that face each other along it can touch first. Each has its own gap along
the normal. Where none of these is as near as the bodies are, the closest points themselves are a contact.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import leaf_kernel
from ..manifold import add_contact, feature_id, write_contact
from ..polyhedra.face_contacts import FACING
from .solid import side_normal, support, unit_across

__all__ = [
    "APEX_FEATURE",
    "CLOSEST",
    "CROSSING",
    "END",
    "LOWEST",
    "NEAR",
    "ON_EDGE",
    "ON_FACE",
    "ON_VERTEX",
    "PARALLEL_TO_SIDE",
    "ROUND_FEATURE",
    "SIDE_INNER",
    "put",
    "put_closest",
    "round_plane_contacts",
    "spots",
]

# Of feature ids, besides those in `manifold`: a feature with one of a round body in it.
ROUND_FEATURE = np.int64(6)
# Points of a round body: 0 to 15 are fixed on the rims, eight on each.
LOWEST = 16  # of the base's rim; the next one of the top's
APEX_FEATURE = 18
CROSSING = np.int64(20)  # of an edge with the base's rim, two for each; then of the top's
END = 24  # of the overlap with a side, at the base's end and at the other
SIDE_INNER = np.int64(26)  # of an edge with the line of the side
CLOSEST = np.int64(27)
ON_VERTEX, ON_EDGE, ON_FACE = np.int64(0), np.int64(1), np.int64(2)

RING = 8
# Cosine of one degree: so near, a cap or a side touches with all of it.
NEAR = 0.99984769515639
# A sine: a line counts as parallel to the side.
PARALLEL_TO_SIDE = 0.02
# In units of the radius: so much lower than the ring, the lowest point of a rim stands beside it.
STANDS_OUT = 2e-9
# The closest points are a contact of their own if no other one is as near, up to this in units of what is merged, and has their
# normal, up to this angle in rad.
NEARER = 2e-3
SAME_NORMAL = 1e-8


@leaf_kernel
def put(manifold, count, limit, merge, px, py, pz, nx, ny, nz, gap, round_is_a, of_round, of_other):
    """Adds a contact at a point of the round body, the normal leading from that to the other body."""
    half = 0.5 * gap
    sign = 1.0 if round_is_a else -1.0
    feature = feature_id(ROUND_FEATURE, of_round, of_other) if round_is_a else feature_id(ROUND_FEATURE, of_other, of_round)
    return add_contact(
        manifold,
        count,
        limit,
        merge,
        px + half * nx,
        py + half * ny,
        pz + half * nz,
        sign * nx,
        sign * ny,
        sign * nz,
        gap,
        feature,
    )


@leaf_kernel
def put_closest(manifold, count, limit, merge, qx, qy, qz, nx, ny, nz, gap, round_is_a, of_other):
    """Adds the closest points as a contact unless one has their gap and normal; (qx, qy, qz) is the other body's point.

    A contact at their place keeps its features and takes over their gap and their normal, which are exact.
    """
    if has_closest(manifold, count, gap, merge, nx, ny, nz, round_is_a):
        return count
    px, py, pz = qx - gap * nx, qy - gap * ny, qz - gap * nz
    half = 0.5 * gap
    sign = 1.0 if round_is_a else -1.0
    for slot in range(count):
        x, y, z = px + half * nx, py + half * ny, pz + half * nz
        dx, dy, dz = manifold.point[slot, 0] - x, manifold.point[slot, 1] - y, manifold.point[slot, 2] - z
        if dx * dx + dy * dy + dz * dz <= merge * merge:
            write_contact(manifold, slot, x, y, z, sign * nx, sign * ny, sign * nz, gap, manifold.feature[slot])
            return count
    return put(manifold, count, limit, merge, px, py, pz, nx, ny, nz, gap, round_is_a, CLOSEST, of_other)


@leaf_kernel
def has_closest(manifold, count, distance, merge, nx, ny, nz, round_is_a):
    """Whether a contact has the distance and the normal of the closest points."""
    sign = 1.0 if round_is_a else -1.0
    for slot in range(count):
        x, y, z = manifold.normal[slot, 0], manifold.normal[slot, 1], manifold.normal[slot, 2]
        x, y, z = x - sign * nx, y - sign * ny, z - sign * nz
        if manifold.gap[slot] <= distance + NEARER * merge and x * x + y * y + z * z <= SAME_NORMAL * SAME_NORMAL:
            return True
    return False


@leaf_kernel
def spots(r, nx, ny, nz, work):
    """The points of the body that can touch a plane across the direction first, into work.spots and their ids: how many."""
    along = nx * r.u + ny * r.v + nz * r.w
    ax, ay, az, length = unit_across(r, nx, ny, nz)
    hx, hy, hz = r.v * r.g - r.w * r.f, r.w * r.e - r.u * r.g, r.u * r.f - r.v * r.e
    radial, rise = side_normal(r)
    side_looks = radial * length + rise * along > -FACING
    # The lowest point stands beside the ring only where it is lower than that, up to noise, and then replaces its neighbours.
    angle = np.arctan2(ax * hx + ay * hy + az * hz, ax * r.e + ay * r.f + az * r.g) if length > 0.0 else 0.0
    turns = angle * RING / (2.0 * np.pi)
    off = abs(turns - np.round(turns)) * 2.0 * np.pi / RING
    stands_out = length * (1.0 - np.cos(off)) > STANDS_OUT
    count = 0
    for cap in range(1 if r.is_cone else 2):
        looks = (along if cap == 1 else -along) > -FACING
        lift = r.height if cap == 1 else 0.0
        mx, my, mz = r.x + lift * r.u, r.y + lift * r.v, r.z + lift * r.w
        if looks:
            for k in range(RING):
                from_lowest = abs(k - turns)
                from_lowest = min(from_lowest, RING - from_lowest)
                if stands_out and from_lowest <= 0.5:
                    continue
                cosine, sine = np.cos(2.0 * np.pi * k / RING), np.sin(2.0 * np.pi * k / RING)
                work.spots[count, 0] = mx + r.radius * (cosine * r.e + sine * hx)
                work.spots[count, 1] = my + r.radius * (cosine * r.f + sine * hy)
                work.spots[count, 2] = mz + r.radius * (cosine * r.g + sine * hz)
                work.spot_ids[count] = RING * cap + k
                count += 1
        if (stands_out and looks) or (side_looks and not looks):
            work.spots[count, 0] = mx + r.radius * ax
            work.spots[count, 1] = my + r.radius * ay
            work.spots[count, 2] = mz + r.radius * az
            work.spot_ids[count] = LOWEST + cap
            count += 1
    if r.is_cone and (side_looks or along > -FACING):
        work.spots[count, 0] = r.x + r.height * r.u
        work.spots[count, 1] = r.y + r.height * r.v
        work.spots[count, 2] = r.z + r.height * r.w
        work.spot_ids[count] = APEX_FEATURE
        count += 1
    return count


@leaf_kernel
def round_plane_contacts(r, x, y, z, offset, plane_is_a, limit, merge, manifold, work):
    """Contacts of a round body with the half-space (x, y, z) . p <= offset: the count."""
    px, py, pz = support(r, -x, -y, -z)
    if x * px + y * py + z * pz - offset > limit:
        return 0
    count = 0
    for spot in range(spots(r, -x, -y, -z, work)):
        px, py, pz = work.spots[spot, 0], work.spots[spot, 1], work.spots[spot, 2]
        gap = x * px + y * py + z * pz - offset
        count = put(
            manifold, count, limit, merge, px, py, pz, -x, -y, -z, gap, not plane_is_a, int(work.spot_ids[spot]), ON_FACE
        )
    return count
