# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of two bodies that touch in several places: between parts of compounds, or on concave surfaces.

Contacts whose normals nearly agree make a region of support, for which a few points that span it do. A region with another
normal carries what no point of the first one can, so each keeps its own points: two links of a chain touch in two regions.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.vec3 import dot, vec
from .reduction import FEW_CONTACTS, MOST_CONTACTS, TIED, choose

__all__ = ["MAX_GROUP_CONTACTS", "farthest_gap", "mixed", "reduced_group", "reduced_groups"]

MAX_GROUP_CONTACTS = 32
# Cosine of ten degrees: normals that differ by less support the same way.
SAME_REGION = 0.985


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


@leaf_kernel
def write_regions(normal, gap, limit, region):
    """Writes the region of each contact into region (m,), and returns how many there are, the deepest first.

    A region is of the deepest contact that is in none, and of all others in none with nearly its normal. There are at most
    MAX_GROUP_CONTACTS; the contacts of none have -1.
    """
    for i in range(len(region)):
        region[i] = -1
    for count in range(MAX_GROUP_CONTACTS):
        seed = -1
        for i in range(len(region)):
            # Ties, as between the corners of a box flat on a plane, go to the first feature and not to rounding.
            if region[i] < 0 and (seed < 0 or gap[i] < gap[seed] - TIED * abs(limit - gap[seed])):
                seed = i
        if seed < 0:
            return count
        for i in range(len(region)):
            if region[i] < 0 and dot(vec(normal, i), vec(normal, seed)) > SAME_REGION:
                region[i] = count
        region[seed] = count
    return MAX_GROUP_CONTACTS


@inner_kernel
def reduced_group(point, normal, gap, feature, limit, turn):
    """Indices of the contacts to keep, in order of their features: of every region those that `choose` chooses, and
    MAX_GROUP_CONTACTS in all.

    Where there is not room for all, regions have equal shares, and what one leaves goes to those less deep. turn: (3, 3) of the
    smaller body.
    """
    order = np.argsort(feature, kind="mergesort")
    if len(order) <= FEW_CONTACTS:
        return order
    point, normal, gap = point[order], normal[order], gap[order]
    region = np.empty(len(order), dtype=np.int64)
    count = write_regions(normal, gap, limit, region)
    kept = np.zeros(len(order), dtype=np.bool_)
    chosen = np.empty(MOST_CONTACTS, dtype=np.int64)
    total = 0
    for own in range(count):
        rows = np.flatnonzero(region == own)
        share = (MAX_GROUP_CONTACTS - total) // (count - own)
        number = choose(point[rows], normal[rows], gap[rows], limit, turn, share, chosen)
        kept[rows[chosen[:number]]] = True
        total += number
    return order[kept]


@leaf_kernel
def farthest_gap(reach, travel, a, b):
    """The largest gap in m that contacts of bodies a and b may have (see `detect`)."""
    x, y, z = travel[b, 0] - travel[a, 0], travel[b, 1] - travel[a, 1], travel[b, 2] - travel[a, 2]
    return reach[a] + reach[b] + np.sqrt(x * x + y * y + z * z)


@kernel_part
def one_of_each(feature):
    """Indices of the first contact of each feature, in order of the features."""
    order = np.argsort(feature, kind="mergesort")
    is_first = np.ones(order.size, dtype=np.bool_)
    for i in range(1, order.size):
        is_first[i] = feature[order[i]] != feature[order[i - 1]]
    return order[is_first]


@kernel
def reduced_groups(contacts, scene, radius, whole):
    """Indices of the contacts to keep, those of each two bodies together and in order of their features.

    contacts: those of the same two bodies one after the other. scene: that of `detect`; radius: (n,) of its bodies. whole: (n,)
    bodies that keep all: a few points of a region do for what stays flat, and not for what bends between them.
    """
    m, total, first = contacts.gap.size, 0, 0
    kept = np.empty(m, dtype=np.int64)
    while first < m:
        a, b, end = contacts.body_a[first], contacts.body_b[first], first + 1
        while end < m and contacts.body_a[end] == a and contacts.body_b[end] == b:
            end += 1
        feature = contacts.feature[first:end]
        if whole[a] or whole[b]:
            rows = one_of_each(feature)
        else:
            limit = farthest_gap(scene.reach, scene.travel, a, b)
            turn = scene.rotation[a if radius[a] <= radius[b] else b]
            point, normal, gap = contacts.point[first:end], contacts.normal[first:end], contacts.gap[first:end]
            rows = reduced_group(point, normal, gap, feature, limit, turn)
        for i in rows:
            kept[total] = first + i
            total += 1
        first = end
    return kept[:total]
