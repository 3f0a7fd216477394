# SPDX-License-Identifier: GPL-3.0-or-later
"""Reduction of the contacts of two bodies that touch at several places, such as compounds or concave surfaces.

Contacts with nearly the same normal form a region. A few points that span a region are enough to support the load on it. A
region with another normal carries loads that the first cannot, so each region keeps its own points. For example, two links of a
chain touch in two regions.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.vec3 import dot, vec
from .reduction import FEW_CONTACTS, MOST_CONTACTS, TIE_TOLERANCE, select_contacts

__all__ = ["MAX_GROUP_CONTACTS", "child_feature_id", "farthest_gap", "reduce_body_pairs", "reduce_pair"]

MAX_GROUP_CONTACTS = 32
# Cosine of ten degrees. Contacts whose normals differ by less belong to one region.
REGION_COSINE = 0.985


@leaf_kernel
def child_feature_id(feature, part_a, part_b):
    """Return the id of a contact between two colliders of compounds.

    For each pair of colliders it is a one-to-one function of the feature id.
    """
    key = (np.uint64(part_a) << np.uint64(32)) | np.uint64(part_b)
    return splitmix64(np.uint64(feature) ^ splitmix64(key + np.uint64(0x9E3779B97F4A7C15)))


@leaf_kernel
def splitmix64(x):
    """Apply the mixer of SplitMix64, a permutation of the 64-bit integers (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@leaf_kernel
def label_regions(normal, gap, limit, region):
    """Write the region of each contact to region (m,), and return the number of regions.

    A region consists of the deepest contact without a region and all other such contacts with nearly the same normal. The
    deepest region comes first. There are at most MAX_GROUP_CONTACTS regions; contacts in none of them get -1.

    limit: largest gap of a contact [m].
    """
    for i in range(len(region)):
        region[i] = -1
    for count in range(MAX_GROUP_CONTACTS):
        seed = -1
        for i in range(len(region)):
            # In a tie, as between the corners of a box flat on a plane, the first feature decides, not round-off.
            if region[i] < 0 and (seed < 0 or gap[i] < gap[seed] - TIE_TOLERANCE * abs(limit - gap[seed])):
                seed = i
        if seed < 0:
            return count
        for i in range(len(region)):
            if region[i] < 0 and dot(vec(normal, i), vec(normal, seed)) > REGION_COSINE:
                region[i] = count
        region[seed] = count
    return MAX_GROUP_CONTACTS


@inner_kernel
def reduce_pair(point, normal, gap, feature, limit, turn):
    """Return the indices of the contacts to keep for one pair of bodies, in the order of their features.

    `select_contacts` selects the contacts of each region, at most MAX_GROUP_CONTACTS in total. Each region may use an equal
    part of the remaining number, and its unused part is available to the regions after it, which are less deep.

    limit: largest gap of a contact [m]. turn: (3, 3) axes of the smaller body, in columns.
    """
    order = np.argsort(feature, kind="mergesort")
    if len(order) <= FEW_CONTACTS:
        return order
    point, normal, gap = point[order], normal[order], gap[order]
    region = np.empty(len(order), dtype=np.int64)
    count = label_regions(normal, gap, limit, region)
    kept = np.zeros(len(order), dtype=np.bool_)
    chosen = np.empty(MOST_CONTACTS, dtype=np.int64)
    total = 0
    for group in range(count):
        rows = np.flatnonzero(region == group)
        share = (MAX_GROUP_CONTACTS - total) // (count - group)
        number = select_contacts(point[rows], normal[rows], gap[rows], limit, turn, share, chosen)
        kept[rows[chosen[:number]]] = True
        total += number
    return order[kept]


@leaf_kernel
def farthest_gap(reach, travel, a, b):
    """Return the largest gap of a contact of bodies a and b [m] (see `detect`)."""
    x, y, z = travel[b, 0] - travel[a, 0], travel[b, 1] - travel[a, 1], travel[b, 2] - travel[a, 2]
    return reach[a] + reach[b] + np.sqrt(x * x + y * y + z * z)


@kernel_part
def first_per_feature(feature):
    """Return the index of the first contact of each feature, in the order of the features."""
    order = np.argsort(feature, kind="mergesort")
    is_first = np.ones(order.size, dtype=np.bool_)
    for i in range(1, order.size):
        is_first[i] = feature[order[i]] != feature[order[i - 1]]
    return order[is_first]


@kernel
def reduce_body_pairs(contacts, scene, radius, whole):
    """Return the indices of the contacts to keep, grouped by pairs of bodies and in the order of their features.

    contacts: contacts in which those of the same two bodies are consecutive.
    scene: the `Scene` of `detect_all`.
    radius: (n,) radius of each body [m].
    whole: (n,) bodies that keep all contacts. A few points per region suffice for a rigid body, but not for one that bends
        between them.
    """
    m, total, first = contacts.gap.size, 0, 0
    kept = np.empty(m, dtype=np.int64)
    while first < m:
        a, b, end = contacts.body_a[first], contacts.body_b[first], first + 1
        while end < m and contacts.body_a[end] == a and contacts.body_b[end] == b:
            end += 1
        feature = contacts.feature[first:end]
        if whole[a] or whole[b]:
            rows = first_per_feature(feature)
        else:
            limit = farthest_gap(scene.reach, scene.travel, a, b)
            turn = scene.rotation[a if radius[a] <= radius[b] else b]
            point, normal, gap = contacts.point[first:end], contacts.normal[first:end], contacts.gap[first:end]
            rows = reduce_pair(point, normal, gap, feature, limit, turn)
        for i in rows:
            kept[total] = first + i
            total += 1
        first = end
    return kept[:total]
