# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of two bodies that touch in several places: between parts of compounds, or on concave surfaces.

Contacts whose normals nearly agree make a region of support, for which a few points that span it do. A region with another
normal carries what no point of the first one can, so each keeps its own points: two links of a chain touch in two regions.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inner_kernel, kernel, leaf_kernel
from .manifold import MAX_CONTACTS, TIED

__all__ = ["MAX_GROUP_CONTACTS", "farthest_gap", "mixed", "reduced_group", "reduced_groups"]

MAX_GROUP_CONTACTS = 32
# Cosine of ten degrees: normals that differ by less support the same way.
SAME_REGION = 0.985
# Every corner of a polygon with right angles or wider ones is the farthest point in one of these directions, and no edge along
# the axes lies across one, which would leave the choice between its ends to rounding.
DIRECTIONS = MAX_CONTACTS - 1
FIRST_ANGLE = 0.1
# How many contacts of a region are kept besides, and by how much of the largest gap they have to be lower than those.
MAX_LOWER = 4
LOWER = 0.1


@leaf_kernel
def mixed(feature, part_a, part_b):
    """Feature id of a contact between parts of two bodies: one to one for each two parts, and scattered between them."""
    key = (np.uint64(part_a) << np.uint64(32)) | np.uint64(part_b)
    return scattered(np.uint64(feature) ^ scattered(key + np.uint64(0x9E3779B97F4A7C15)))


@leaf_kernel
def scattered(x):
    """A permutation of the 64-bit numbers in which every bit depends on every other one (Steele, Lea, Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inner_kernel
def regions(normal):
    """(m,) number of the region of each contact: that of the first one before it with nearly its normal."""
    m = len(normal)
    region = np.empty(m, dtype=np.int64)
    seeds = np.empty(m, dtype=np.int64)
    count = 0
    for i in range(m):
        region[i] = count
        for k in range(count):
            j = seeds[k]
            cosine = normal[i, 0] * normal[j, 0] + normal[i, 1] * normal[j, 1] + normal[i, 2] * normal[j, 2]
            if cosine > SAME_REGION:
                region[i] = k
                break
        if region[i] == count:
            seeds[count] = i
            count += 1
    return region, count


@leaf_kernel
def write_axes(normal, axes):
    """Two unit vectors that make right angles with the unit normal (3,) and with each other, into axes (2, 3)."""
    x, y, z = normal[0], normal[1], normal[2]
    # From the coordinate axis least along the normal, what lies along it taken off.
    if abs(x) <= abs(y) and abs(x) <= abs(z):
        u, v, w = 1.0 - x * x, -x * y, -x * z
    elif abs(y) <= abs(z):
        u, v, w = -y * x, 1.0 - y * y, -y * z
    else:
        u, v, w = -z * x, -z * y, 1.0 - z * z
    length = np.sqrt(u * u + v * v + w * w)
    u, v, w = u / length, v / length, w / length
    axes[0, 0], axes[0, 1], axes[0, 2] = u, v, w
    axes[1, 0], axes[1, 1], axes[1, 2] = y * w - z * v, z * u - x * w, x * v - y * u


@inner_kernel
def reduced_group(point, normal, gap, feature, limit):
    """Indices of the contacts to keep, in order of their features: at most MAX_CONTACTS a region and some that are lower than
    most of these, MAX_GROUP_CONTACTS in all.

    Of every region the deepest contact stays, and of the others those that go farthest from it in DIRECTIONS across its
    normal, so that the support polygon stays; a gap near the limit makes a contact count as nearer. Where there is not room for
    all, every region has its first ones.
    """
    order = np.argsort(feature, kind="mergesort")
    m = len(order)
    if m <= MAX_CONTACTS:
        return order
    region, count = regions(normal[order])
    smallest = gap.min()
    spread = max(limit - smallest, 1e-300)
    # Ties, as between the corners of a box flat on a plane, go to the first feature and not to rounding.
    deepest = np.full(count, -1, dtype=np.int64)
    for i in range(m):
        best = deepest[region[i]]
        if best < 0 or gap[order[i]] < gap[order[best]] - TIED * spread:
            deepest[region[i]] = i
    by_depth = np.argsort(gap[order[deepest]], kind="mergesort")
    kept = np.zeros(m, dtype=np.bool_)
    total = 0
    for k in by_depth[:MAX_GROUP_CONTACTS]:
        kept[deepest[k]] = True
        total += 1
    axes = np.empty((count, 2, 3))
    for k in range(count):
        write_axes(normal[order[deepest[k]]], axes[k])
    farthest = np.empty(count, dtype=np.int64)
    reach = np.empty(count)
    for step in range(DIRECTIONS):
        # Three steps at once, so that the first few directions look to all sides.
        angle = FIRST_ANGLE + 2.0 * np.pi * ((3 * step) % DIRECTIONS) / DIRECTIONS
        cosine, sine = np.cos(angle), np.sin(angle)
        farthest[:] = -1
        reach[:] = 0.0
        for i in range(m):
            k = region[i]
            row = order[i]
            origin = order[deepest[k]]
            along = 0.0
            for j in range(3):
                along += (cosine * axes[k, 0, j] + sine * axes[k, 1, j]) * (point[row, j] - point[origin, j])
            score = (1.0 - 0.9 * (gap[row] - smallest) / spread) * along
            if score > reach[k] * (1.0 + TIED):
                reach[k] = score
                farthest[k] = i
        for k in by_depth:
            if farthest[k] >= 0 and not kept[farthest[k]] and total < MAX_GROUP_CONTACTS:
                kept[farthest[k]] = True
                total += 1
    add_lower(gap[order], region, count, kept, LOWER * spread, MAX_GROUP_CONTACTS - total)
    return order[kept]


@inner_kernel
def add_lower(gap, region, count, kept, lower, room):
    """Keeps, of every region, up to MAX_LOWER contacts more that are lower by `lower` than those kept are on average.

    Where a surface bulges, its support polygon is not all that can touch within the step.
    """
    mean, members = np.zeros(count), np.zeros(count)
    for i in range(len(gap)):
        if kept[i]:
            mean[region[i]] += gap[i]
            members[region[i]] += 1.0
    added = np.zeros(count, dtype=np.int64)
    for i in np.argsort(gap, kind="mergesort"):
        k = region[i]
        if room == 0:
            return
        if kept[i] or added[k] == MAX_LOWER or gap[i] > mean[k] / members[k] - lower:
            continue
        kept[i] = True
        added[k] += 1
        room -= 1


@leaf_kernel
def farthest_gap(reach, travel, a, b):
    """The largest gap in m that contacts of bodies a and b may have (see `detect`)."""
    x, y, z = travel[b, 0] - travel[a, 0], travel[b, 1] - travel[a, 1], travel[b, 2] - travel[a, 2]
    return reach[a] + reach[b] + np.sqrt(x * x + y * y + z * z)


@kernel
def reduced_groups(body_a, body_b, point, normal, gap, feature, reach, travel):
    """Indices of the contacts to keep, those of each two bodies together and in order of their features.

    All but reach (n,) and travel (n, 3), those of each body, have a row a contact, and those of the same two bodies follow each
    other.
    """
    kept = np.empty(len(gap), dtype=np.int64)
    total = first = 0
    for row in range(len(gap)):
        end = row + 1
        if end < len(gap) and body_a[end] == body_a[row] and body_b[end] == body_b[row]:
            continue
        limit = farthest_gap(reach, travel, body_a[row], body_b[row])
        for i in reduced_group(point[first:end], normal[first:end], gap[first:end], feature[first:end], limit):
            kept[total] = first + i
            total += 1
        first = end
    return kept[:total]
