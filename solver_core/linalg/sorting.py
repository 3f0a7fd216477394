# SPDX-License-Identifier: GPL-3.0-or-later
"""In-place sorting in kernels: insertion sort for few numbers, else heapsort (Williams 1964, "Algorithm 232").

numpy's sort gives the same result for distinct numbers, but numba compiles a quicksort of eight functions for it.
"""

from __future__ import annotations

from ..compile.kernel import kernel_part, leaf_kernel

__all__ = ["sort_in_place"]

MOST_INSERTED = 16  # most numbers that are sorted by insertion


@kernel_part
def _insert(values):
    """Sort by insertion."""
    for i in range(1, values.size):
        value, j = values[i], i
        while j > 0 and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value


@leaf_kernel
def _sift_down(values, begin, end):
    """Make a heap of values[begin:end] if all but its first entry already form one."""
    value, parent = values[begin], begin
    while 2 * parent + 1 < end:
        child = 2 * parent + 1
        if child + 1 < end and values[child + 1] > values[child]:
            child += 1
        if not values[child] > value:
            break
        values[parent] = values[child]
        parent = child
    values[parent] = value


@leaf_kernel
def sort_in_place(values):
    """Sort numbers (n,) in ascending order. None may be NaN."""
    if values.size <= MOST_INSERTED:
        _insert(values)
        return
    for begin in range(values.size // 2 - 1, -1, -1):
        _sift_down(values, begin, values.size)
    for end in range(values.size - 1, 0, -1):
        largest = values[0]
        values[0] = values[end]
        values[end] = largest
        _sift_down(values, 0, end)
