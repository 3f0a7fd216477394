# SPDX-License-Identifier: GPL-3.0-or-later
"""Broad phase: find the pairs of colliders whose expanded bounding boxes overlap.

Boxes of similar size form a class. Each class is sorted along a Morton curve, which keeps neighbors together. An implicit tree
of bounding boxes with four children per node is built over this order. The boxes of each leaf query the tree of their own class
and those of larger classes. A ground that spans the scene, or a few large bodies, therefore do not enlarge the nodes of small
bodies. The query skips nodes that have no candidate pair with the leaf because of collections or immovable bodies. The time is
O(n log n) in the number of boxes, plus the number of pairs. A half-space has no box and is compared with every other collider.

The pairs are sorted by their colliders, so their order does not depend on the trees.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inlined_kernel, inner_kernel, kernel, kernel_part, leaf_kernel
from ..geometry.shapes import PLANE
from ..linalg.elementary import LOG_2, logarithm

__all__ = ["candidate_pairs", "grouped_by_bodies"]

SIZE_CLASSES = 16  # each covers a factor of four in size
LOG_4 = 2.0 * LOG_2
BRANCHING_FACTOR = 4  # children per node, and boxes per leaf
MAX_LEVELS = 31  # of a tree
AXIS_BITS = 19  # bits per axis of a Morton code; three axes and the class fit into 63 bits


@kernel_part
def world_bounds(shapes, position, rotation, reach, travel):
    """Return the lower and upper corners (c, 3) of the swept world boxes of the colliders [m].

    The boxes are expanded by margin and reach, and contain the displacement `travel`. The rows of planes are meaningless.
    """
    n = len(position)
    lower = np.empty((n, 3))
    upper = np.empty((n, 3))
    for i in range(n):
        expansion = shapes.margin[i] + reach[i]
        for k in range(3):
            middle = position[i, k]
            half = expansion
            for j in range(3):
                r = rotation[i, k, j]
                middle += r * 0.5 * (shapes.lower[i, j] + shapes.upper[i, j])
                half += abs(r) * 0.5 * (shapes.upper[i, j] - shapes.lower[i, j])
            lower[i, k] = middle - half + min(travel[i, k], 0.0)
            upper[i, k] = middle + half + max(travel[i, k], 0.0)
    return lower, upper


@kernel_part
def spread_bits(x):
    """Move each of the lowest 21 bits to every third bit of the result."""
    x = (x | (x << 32)) & 0x1F00000000FFFF
    x = (x | (x << 16)) & 0x1F0000FF0000FF
    x = (x | (x << 8)) & 0x100F00F00F00F00F
    x = (x | (x << 4)) & 0x10C30C30C30C30C3
    return (x | (x << 2)) & 0x1249249249249249


@kernel_part
def size_classes(lower, upper, chosen):
    """Return the size classes (m,) of the chosen boxes; class 0 has the largest boxes."""
    largest = 0.0
    extent = np.empty(len(chosen))
    for row in range(len(chosen)):
        i = chosen[row]
        extent[row] = max(upper[i, 0] - lower[i, 0], upper[i, 1] - lower[i, 1], upper[i, 2] - lower[i, 2])
        largest = max(largest, extent[row])
    result = np.empty(len(chosen), dtype=np.int64)
    for row in range(len(chosen)):
        below = logarithm(largest / extent[row]) / LOG_4 if extent[row] > 0.0 else SIZE_CLASSES
        result[row] = min(SIZE_CLASSES - 1, int(below)) if below < SIZE_CLASSES else SIZE_CLASSES - 1
    return result


@inner_kernel
def sort_by_class_and_morton(lower, upper, chosen):
    """Return the chosen boxes sorted by class, then along a Morton curve, and the start of each class (SIZE_CLASSES + 1,)."""
    class_of = size_classes(lower, upper, chosen)
    begin = np.zeros(SIZE_CLASSES + 1, dtype=np.int64)
    lower_corner, upper_corner = np.full((SIZE_CLASSES, 3), np.inf), np.full((SIZE_CLASSES, 3), -np.inf)
    for row in range(len(chosen)):
        begin[class_of[row] + 1] += 1
        for k in range(3):
            middle = lower[chosen[row], k] + upper[chosen[row], k]
            lower_corner[class_of[row], k] = min(lower_corner[class_of[row], k], middle)
            upper_corner[class_of[row], k] = max(upper_corner[class_of[row], k], middle)
    for c in range(SIZE_CLASSES):
        begin[c + 1] += begin[c]
    key = np.empty(len(chosen), dtype=np.int64)
    cells = (1 << AXIS_BITS) - 1
    for row in range(len(chosen)):
        c = class_of[row]
        key[row] = c << (3 * AXIS_BITS)
        for k in range(3):
            width = upper_corner[c, k] - lower_corner[c, k]
            fraction = (lower[chosen[row], k] + upper[chosen[row], k] - lower_corner[c, k]) / width if width > 0.0 else 0.0
            # A box that is not finite gets an arbitrary cell. It overlaps nothing.
            cell = int(fraction * cells) if 0.0 <= fraction <= 1.0 else 0
            key[row] |= spread_bits(cell) << k
    return chosen[np.argsort(key, kind="mergesort")], begin


@leaf_kernel
def write_node(bounds, masks, child_bounds, child_masks, node, first, last):
    """Write a node whose children are first to last - 1: its bounds and masks."""
    masks[node, 0] = masks[node, 1] = 0
    for k in range(3):
        bounds[node, k], bounds[node, 3 + k] = np.inf, -np.inf
    for child in range(first, last):
        masks[node, 0] |= child_masks[child, 0]
        masks[node, 1] |= child_masks[child, 1]
        for k in range(3):
            bounds[node, k] = min(bounds[node, k], child_bounds[child, k])
            bounds[node, 3 + k] = max(bounds[node, 3 + k], child_bounds[child, 3 + k])


@inner_kernel
def build_trees(bounds, masks, begin):
    """Build a tree over each class of boxes.

    bounds: (m, 6) lower and upper corners of the boxes [m].
    masks: (m, 2) collection bits of each box, and the same bits if it is movable, else 0.
    begin: (SIZE_CLASSES + 1,) start of each class.

    Returns the bounds and masks of the nodes, the start of each level (SIZE_CLASSES, MAX_LEVELS) with the leaves first, and the
    number of levels (SIZE_CLASSES,).
    """
    room = 0
    for c in range(SIZE_CLASSES):
        room += (begin[c + 1] - begin[c]) // 2 + MAX_LEVELS
    node_bounds, node_masks = np.empty((room, 6)), np.empty((room, 2), dtype=np.int64)
    level_begin, levels = np.zeros((SIZE_CLASSES, MAX_LEVELS), dtype=np.int64), np.zeros(SIZE_CLASSES, dtype=np.int64)
    filled = 0
    for c in range(SIZE_CLASSES):
        first, last = begin[c], begin[c + 1]
        level = 0
        while last > first:
            level_begin[c, level] = filled
            node = filled
            for child in range(first, last, BRANCHING_FACTOR):
                end = min(child + BRANCHING_FACTOR, last)
                if level == 0:
                    write_node(node_bounds, node_masks, bounds, masks, node, child, end)
                else:
                    write_node(node_bounds, node_masks, node_bounds, node_masks, node, child, end)
                node += 1
            first, last, filled = filled, node, node
            level += 1
            if last - first == 1:
                break
        levels[c] = level
    return node_bounds, node_masks, level_begin, levels


@inlined_kernel
def boxes_overlap(bounds_a, a, bounds_b, b):
    """Return 1 if two rows of bounds overlap, else 0. Callers add the result, because branches on it would be mispredicted."""
    return int(
        (bounds_a[a, 0] <= bounds_b[b, 3])
        & (bounds_b[b, 0] <= bounds_a[a, 3])
        & (bounds_a[a, 1] <= bounds_b[b, 4])
        & (bounds_b[b, 1] <= bounds_a[a, 4])
        & (bounds_a[a, 2] <= bounds_b[b, 5])
        & (bounds_b[b, 2] <= bounds_a[a, 5])
    )


@kernel_part
def is_excluded(excluded, a, b):
    """Return True if the row (a, b) is among the sorted rows."""
    low = 0
    high = len(excluded)
    while low < high:
        middle = (low + high) // 2
        first = excluded[middle, 0]
        if first < a or (first == a and excluded[middle, 1] < b):
            low = middle + 1
        else:
            high = middle
    return low < len(excluded) and excluded[low, 0] == a and excluded[low, 1] == b


@leaf_kernel
def may_collide(body, collections, movable, excluded, a, b):
    """Return True if the collision filter allows contacts between colliders a < b.

    They must belong to different bodies that share a collection and are not excluded, and at least one must be movable.
    """
    if (collections[a] & collections[b]) == 0 or not (movable[a] or movable[b]):
        return False
    return body[a] != body[b] and not is_excluded(excluded, body[a], body[b])


@kernel_part
def grouped_by_bodies(pairs, body, n):
    """Return the sorted pairs of colliders, grouped by their pairs of bodies. n: number of bodies."""
    bodies = np.empty((len(pairs), 2), dtype=np.int64)
    for row in range(len(pairs)):
        bodies[row, 0] = body[pairs[row, 0]]
        bodies[row, 1] = body[pairs[row, 1]]
    return pairs[np.argsort(bodies[:, 0] * n + bodies[:, 1], kind="mergesort")]


@inner_kernel
def counting_sort(pairs, column, n):
    """Sort the pairs by one column, stably, in time linear in the number of pairs and colliders n."""
    start = np.zeros(n + 1, dtype=np.int64)
    for row in range(len(pairs)):
        start[pairs[row, column] + 1] += 1
    for i in range(n):
        start[i + 1] += start[i]
    result = np.empty_like(pairs)
    for row in range(len(pairs)):
        slot = start[pairs[row, column]]
        start[pairs[row, column]] += 1
        result[slot, 0] = pairs[row, 0]
        result[slot, 1] = pairs[row, 1]
    return result


@kernel_part
def leaves_overlapping(bounds, masks, level_begin, levels, leaf, min_leaf, stack, hits):
    """Write the leaves of a tree that overlap a given leaf to `hits`, and return their number.

    Leaves that have no allowed pair with the given leaf, by their masks, are omitted.

    bounds, masks: bounds and masks of the nodes of all trees.
    level_begin, levels: levels of this tree.
    leaf: node of the given leaf.
    min_leaf: smallest index of a leaf to report.
    stack: work array. hits: output.
    """
    count = 0
    stack[0, 0], stack[0, 1] = levels - 1, 0
    top = 1
    while top > 0:
        top -= 1
        level, index = stack[top, 0], stack[top, 1]
        if level == 0:
            hits[count] = index
            count += 1
            continue
        level -= 1
        for child in range(
            BRANCHING_FACTOR * index,
            min(BRANCHING_FACTOR * index + BRANCHING_FACTOR, level_begin[level + 1] - level_begin[level]),
        ):
            node = level_begin[level] + child
            shared = (masks[leaf, 0] & masks[node, 1]) | (masks[leaf, 1] & masks[node, 0])
            stack[top, 0], stack[top, 1] = level, child
            top += boxes_overlap(bounds, leaf, bounds, node) & int(shared != 0) & int(((child + 1) << (2 * level)) > min_leaf)
    return count


@inlined_kernel
def boxes_overlapping_node(bounds, first, last, node_bounds, node, hits):
    """Write the boxes from first to last - 1 that overlap a node to `hits`, and return their number."""
    count = 0
    for row in range(first, last):
        hits[count] = row
        count += boxes_overlap(bounds, row, node_bounds, node)
    return count


@inner_kernel
def overlapping_pairs(lower, upper, chosen, body, collections, movable, excluded):
    """Return an array of pairs a < b of chosen boxes that overlap and pass `may_collide`, unsorted, and the number of pairs."""
    order, begin = sort_by_class_and_morton(lower, upper, chosen)
    m = len(order)
    bounds, masks = np.empty((m, 6)), np.empty((m, 2), dtype=np.int64)
    for row in range(m):
        i = order[row]
        for k in range(3):
            bounds[row, k], bounds[row, 3 + k] = lower[i, k], upper[i, k]
        masks[row, 0] = collections[i]
        masks[row, 1] = collections[i] if movable[i] else 0
    node_bounds, node_masks, level_begin, levels = build_trees(bounds, masks, begin)
    pairs = np.empty((max(64, 8 * m), 2), dtype=np.int64)
    count = 0
    stack = np.empty((BRANCHING_FACTOR * MAX_LEVELS, 2), dtype=np.int64)
    leaves, own_hits, other_hits = (
        np.empty(m + 1, dtype=np.int64),
        np.empty(BRANCHING_FACTOR, dtype=np.int64),
        np.empty(BRANCHING_FACTOR, dtype=np.int64),
    )
    for size_class in range(SIZE_CLASSES):
        for leaf_start in range(begin[size_class], begin[size_class + 1], BRANCHING_FACTOR):
            # All boxes of a leaf query together. In their own class they search for later boxes only.
            number = (leaf_start - begin[size_class]) // BRANCHING_FACTOR
            leaf = level_begin[size_class, 0] + number
            for c in range(size_class + 1):
                if levels[c] == 0:
                    continue
                min_leaf = number if c == size_class else 0
                found = leaves_overlapping(node_bounds, node_masks, level_begin[c], levels[c], leaf, min_leaf, stack, leaves)
                while count + BRANCHING_FACTOR * BRANCHING_FACTOR * found > len(pairs):
                    pairs = np.concatenate((pairs, np.empty_like(pairs)))
                for slot in range(found):
                    first = begin[c] + BRANCHING_FACTOR * leaves[slot]
                    own_count = boxes_overlapping_node(
                        bounds,
                        leaf_start,
                        min(leaf_start + BRANCHING_FACTOR, begin[size_class + 1]),
                        node_bounds,
                        level_begin[c, 0] + leaves[slot],
                        own_hits,
                    )
                    other_count = boxes_overlapping_node(
                        bounds, first, min(first + BRANCHING_FACTOR, begin[c + 1]), node_bounds, leaf, other_hits
                    )
                    for i in range(own_count):
                        for j in range(other_count):
                            a, b = order[own_hits[i]], order[other_hits[j]]
                            pairs[count, 0], pairs[count, 1] = min(a, b), max(a, b)
                            count += boxes_overlap(bounds, own_hits[i], bounds, other_hits[j]) & int(
                                c != size_class or own_hits[i] < other_hits[j]
                            )
    kept = 0
    for row in range(count):
        if may_collide(body, collections, movable, excluded, pairs[row, 0], pairs[row, 1]):
            pairs[kept, 0], pairs[kept, 1] = pairs[row, 0], pairs[row, 1]
            kept += 1
    return pairs, kept


@kernel
def candidate_pairs(shapes, position, rotation, reach, collections, movable, excluded, travel):
    """Return the sorted pairs (k, 2) of colliders a < b whose boxes overlap and that pass `may_collide`.

    position, rotation, reach, collections, movable and travel have one row per collider, and otherwise the meaning of `detect`.
    excluded: pairs of bodies.
    """
    n = len(position)
    body = shapes.body
    lower, upper = world_bounds(shapes, position, rotation, reach, travel)
    # Colliders in no collection are left out of the trees: callers that need the pairs of a few bodies only mask the others.
    planes = np.flatnonzero((shapes.kind == PLANE) & (collections != 0))
    hulls = np.flatnonzero((shapes.kind != PLANE) & (collections != 0))
    pairs, count = overlapping_pairs(lower, upper, hulls, body, collections, movable, excluded)
    for plane in planes:
        for hull in hulls:
            # Height of the lowest corner of the box over the plane. The box already includes the reach of the hull.
            height = -reach[plane] - shapes.margin[plane]
            for k in range(3):
                normal = rotation[plane, k, 2]
                height -= max(0.0, normal * travel[plane, k])
                height += normal * ((lower[hull, k] if normal > 0.0 else upper[hull, k]) - position[plane, k])
            a = min(plane, hull)
            b = max(plane, hull)
            if height > 0.0 or not may_collide(body, collections, movable, excluded, a, b):
                continue
            if count == len(pairs):
                pairs = np.concatenate((pairs, np.empty_like(pairs)))
            pairs[count, 0] = a
            pairs[count, 1] = b
            count += 1
    return counting_sort(counting_sort(pairs[:count], 1, n), 0, n)
