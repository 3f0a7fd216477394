# SPDX-License-Identifier: GPL-3.0-or-later
"""Reduction of sampled motion to keys, so that straight lines between the keys are within a tolerance of every sample.

A key has the value of its sample. All motions are processed together, in two stages. Splitting: a line that deviates by more
than the tolerance gets a key at its worst sample (D. H. Douglas, T. K. Peucker: Algorithms for the reduction of the number of
points required to represent a digitized line or its caricature, 1973). Pruning: a key is removed if the line between its
neighbors is within the tolerance, because later keys make earlier ones redundant. In the end no line deviates too much, and no
single key can be removed. The number of keys is not necessarily minimal.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["interpolated", "keys_within", "sharp_turns"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
# Takes samples (k,), numbered by motion, and their replacements (k, channels). Returns the deviations in tolerances (k,).
Deviation = Callable[[Indices, Array], Array]


def keys_within(times: Array, values: Array, deviation: Deviation, kept: Flags) -> Flags:
    """Return the samples (motions, samples) that become keys; deviations between them are at most 1.

    times: (samples,) ascending. values: (motions, samples, channels), interpolated one by one. kept: (motions, samples) samples
    that are keys in any case, in addition to the first and the last.
    """
    keys = kept.copy()
    keys[:, [0, -1]] = True
    required = keys.copy()
    split(times, values, deviation, keys)
    prune(times, values, deviation, keys, required)
    return keys


def interpolated(times: Array, values: Array, keys: Flags) -> Array:
    """Return values (motions, samples, channels) interpolated linearly between the keys, at all samples."""
    left, right = neighbours(keys)
    every = np.arange(keys.size)
    return lines(times, values, every, left, right).reshape(values.shape)


def sharp_turns(velocities: Array, limit: float) -> Flags:
    """Return the samples (motions, samples) on both sides of a change of velocity by more than `limit`.

    velocities: (motions, samples, 3), in the unit of `limit`.
    """
    jumps = np.linalg.norm(np.diff(velocities, axis=1), axis=-1) > limit
    result = np.zeros(velocities.shape[:2], dtype=bool)
    result[:, :-1] |= jumps
    result[:, 1:] |= jumps
    return result


def split(times: Array, values: Array, deviation: Deviation, keys: Flags) -> None:
    """Set keys until no line is off."""
    flat = keys.reshape(-1)
    todo = np.flatnonzero(~flat)
    while todo.size:
        left, right = neighbours(keys)
        line = left[todo]
        errors = deviation(todo, lines(times, values, todo, line, right[todo]))
        first = np.flatnonzero(np.diff(line, prepend=-1))
        worst = np.maximum.reduceat(errors, first)
        # negated, so that NaN counts as a deviation
        off = ~(worst <= 1.0)
        length = np.diff(first, append=todo.size)
        is_off = np.repeat(off, length)
        is_worst = is_off & ~(errors < np.repeat(worst, length))
        chosen = np.flatnonzero(is_worst)
        flat[todo[chosen[np.unique(line[chosen], return_index=True)[1]]]] = True
        todo = todo[is_off & ~flat[todo]]


def prune(times: Array, values: Array, deviation: Deviation, keys: Flags, required: Flags) -> None:
    """Remove keys that are not required, until no single key can be removed."""
    flat, required = keys.reshape(-1), required.reshape(-1)
    # A key is checked again only after the removal of a neighbor.
    todo = flat & ~required
    while todo.any():
        found = np.flatnonzero(flat)
        rank = np.flatnonzero(todo[found])
        # Never two neighbors at once, because each removal relies on the neighbors.
        chosen = found[rank[alternate(rank)]]
        todo[chosen] = False
        position = np.searchsorted(found, chosen)
        before, after = found[position - 1], found[position + 1]
        count = after - before - 1
        owner = np.repeat(np.arange(len(chosen)), count)
        samples = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + before[owner] + 1
        errors = deviation(samples, lines(times, values, samples, before[owner], after[owner]))
        idle = np.maximum.reduceat(errors, np.cumsum(count) - count) <= 1.0
        flat[chosen[idle]] = False
        for neighbour in (before[idle], after[idle]):
            todo[neighbour] = flat[neighbour] & ~required[neighbour]


def alternate(rank: Indices) -> Flags:
    """Return every second number of each run of consecutive numbers, starting with the first."""
    begins = np.diff(rank, prepend=rank[0] - 2) != 1
    place = np.arange(len(rank))
    since = place - np.maximum.accumulate(np.where(begins, place, 0))
    return since % 2 == 0


def neighbours(keys: Flags) -> tuple[Indices, Indices]:
    """Return for every sample the key at or before it and the key after it (at it for the last), numbered motion by motion."""
    flat = keys.reshape(-1)
    every = np.arange(flat.size)
    left = np.maximum.accumulate(np.where(flat, every, 0))
    at_or_after = np.minimum.accumulate(np.where(flat, every, flat.size - 1)[::-1])[::-1]
    right = np.append(at_or_after[1:], flat.size - 1)
    # The last sample of a motion has no successor.
    last = np.arange(1, len(keys) + 1) * keys.shape[1] - 1
    right[last] = last
    return left, right


def lines(times: Array, values: Array, samples: Indices, left: Indices, right: Indices) -> Array:
    """Return the values (k, channels) at samples (k,) on the straight lines from the keys `left` to the keys `right`."""
    count = len(times)
    rows = values.reshape(-1, values.shape[-1])
    time, begin, end = times[samples % count], times[left % count], times[right % count]
    share = np.divide(time - begin, end - begin, out=np.zeros_like(time), where=end != begin)[:, None]
    return rows[left] + share * (rows[right] - rows[left])
