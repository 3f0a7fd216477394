"""Broad phase: which colliders' grown bounding boxes meet.

Boxes are sorted along one axis and swept: a box is compared with those that begin before it ends. The axis is the one along
which boxes are small against their spread. A body that spans the scene is compared with every other one and costs no other pair
anything; a half-space has no box and is compared with every hull by itself.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..geometry.shapes import PLANE
from .kernel import leaf_kernel

__all__ = ["candidate_pairs", "grouped_by_bodies"]


@njit(cache=True, error_model="numpy")
def world_bounds(shapes, position, rotation, reach):
    """(c, 3) lower and upper corners of the world boxes around the colliders, grown by margin and reach; planes get none."""
    n = len(position)
    lower = np.empty((n, 3))
    upper = np.empty((n, 3))
    for i in range(n):
        grown = shapes.margin[i] + reach[i]
        for k in range(3):
            middle = position[i, k]
            half = grown
            for j in range(3):
                r = rotation[i, k, j]
                middle += r * 0.5 * (shapes.lower[i, j] + shapes.upper[i, j])
                half += abs(r) * 0.5 * (shapes.upper[i, j] - shapes.lower[i, j])
            lower[i, k] = middle - half
            upper[i, k] = middle + half
    return lower, upper


@njit(cache=True, error_model="numpy")
def sweep_axis(lower, upper, hulls):
    """The axis along which the boxes' mean width is smallest against the spread of their centres."""
    best = 0
    best_ratio = np.inf
    n = len(hulls)
    for k in range(3):
        mean = 0.0
        width = 0.0
        for i in hulls:
            mean += 0.5 * (lower[i, k] + upper[i, k])
            width += upper[i, k] - lower[i, k]
        mean /= n
        variance = 0.0
        for i in hulls:
            variance += (0.5 * (lower[i, k] + upper[i, k]) - mean) ** 2
        ratio = (width / n) / (np.sqrt(variance / n) + 1e-300)
        if ratio < best_ratio:
            best_ratio = ratio
            best = k
    return best


@leaf_kernel
def is_excluded(excluded, a, b):
    """Whether the row (a, b) is in the sorted rows."""
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
def may_touch(body, collections, movable, excluded, a, b):
    """Whether colliders a < b are of two bodies that share a collection, are not excluded, and of which one is movable."""
    if (collections[a] & collections[b]) == 0 or not (movable[a] or movable[b]):
        return False
    return body[a] != body[b] and not is_excluded(excluded, body[a], body[b])


@njit(cache=True, error_model="numpy")
def grouped_by_bodies(pairs, body, n):
    """The pairs of colliders, which are sorted, in order of their bodies first."""
    bodies = np.empty((len(pairs), 2), dtype=np.int64)
    for row in range(len(pairs)):
        bodies[row, 0] = body[pairs[row, 0]]
        bodies[row, 1] = body[pairs[row, 1]]
    return pairs[np.argsort(bodies[:, 0] * n + bodies[:, 1], kind="mergesort")]


@njit(cache=True, error_model="numpy")
def counting_sort(pairs, column, n):
    """The pairs in order of one column, stable, in time linear in the number of pairs and bodies."""
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


@njit(cache=True, error_model="numpy")
def candidate_pairs(shapes, position, rotation, reach, collections, movable, excluded):
    """(k, 2) pairs a < b of colliders, sorted, that may touch: their boxes meet, and `may_touch`.

    position, rotation, reach, collections and movable have a row a collider; excluded are pairs of bodies.
    """
    n = len(position)
    body = shapes.body
    lower, upper = world_bounds(shapes, position, rotation, reach)
    planes = np.flatnonzero(shapes.kind == PLANE)
    hulls = np.flatnonzero(shapes.kind != PLANE)
    pairs = np.empty((max(64, 4 * n), 2), dtype=np.int64)
    count = 0

    m = len(hulls)
    axis = sweep_axis(lower, upper, hulls) if m > 0 else 0
    second = (axis + 1) % 3
    third = (axis + 2) % 3
    order = hulls[np.argsort(lower[hulls, axis], kind="mergesort")]
    box = np.empty((m, 6))
    for row in range(m):
        i = order[row]
        box[row, 0] = lower[i, axis]
        box[row, 1] = upper[i, axis]
        box[row, 2] = lower[i, second]
        box[row, 3] = upper[i, second]
        box[row, 4] = lower[i, third]
        box[row, 5] = upper[i, third]
    for row in range(m):
        end = box[row, 1]
        low2 = box[row, 2]
        high2 = box[row, 3]
        low3 = box[row, 4]
        high3 = box[row, 5]
        for other in range(row + 1, m):
            if box[other, 0] > end:
                break
            if box[other, 2] > high2 or box[other, 3] < low2 or box[other, 4] > high3 or box[other, 5] < low3:
                continue
            a = min(order[row], order[other])
            b = max(order[row], order[other])
            if not may_touch(body, collections, movable, excluded, a, b):
                continue
            if count == len(pairs):
                pairs = np.concatenate((pairs, np.empty_like(pairs)))
            pairs[count, 0] = a
            pairs[count, 1] = b
            count += 1

    for plane in planes:
        for hull in hulls:
            # Height of the box's lowest corner over the plane; the box already holds the hull's share of the reach.
            height = -reach[plane] - shapes.margin[plane]
            for k in range(3):
                normal = rotation[plane, k, 2]
                height += normal * ((lower[hull, k] if normal > 0.0 else upper[hull, k]) - position[plane, k])
            a = min(plane, hull)
            b = max(plane, hull)
            if height > 0.0 or not may_touch(body, collections, movable, excluded, a, b):
                continue
            if count == len(pairs):
                pairs = np.concatenate((pairs, np.empty_like(pairs)))
            pairs[count, 0] = a
            pairs[count, 1] = b
            count += 1
    return counting_sort(counting_sort(pairs[:count], 1, n), 0, n)
