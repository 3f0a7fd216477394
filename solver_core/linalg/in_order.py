# SPDX-License-Identifier: GPL-3.0-or-later
"""Products of arrays whose sums have a fixed order, in place of numpy's operator @, dot, einsum and norm.

numpy hands those to BLAS, which has kernels for each kind of processor, and they round differently. Multiplication, addition
and square roots of arrays are defined to the last bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["dot", "dots", "length", "product", "sum_of_rows"]

Floats = NDArray[np.float64]


def product(a: Floats, b: Floats) -> Floats:
    """a b, from the first term of each sum to the last.

    a: (..., n, k). b: (..., k, m), or (k,) a vector. The result is (..., n, m), or (..., n). The inner dimension k is a loop
    of Python and is meant to be short: three, or the modes of a body.

    ValueError where the shapes do not fit.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if b.ndim == 1:
        return product(a, b[:, None])[..., 0]
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matrices of the shapes {a.shape} and {b.shape} have no product")
    if not a.shape[-1]:
        return np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    found = a[..., :, 0, None] * b[..., None, 0, :]
    for k in range(1, a.shape[-1]):
        found += a[..., :, k, None] * b[..., None, k, :]
    return found


def dots(a: Floats, b: Floats) -> Floats:
    """(...) the scalar products of vectors (..., k), from the first component to the last."""
    found = a[..., 0] * b[..., 0]
    for k in range(1, a.shape[-1]):
        found = found + a[..., k] * b[..., k]
    return found


def dot(a: Floats, b: Floats) -> float:
    """The scalar product of two vectors (k,) of any length, summed in pairs of halves as numpy does."""
    return float(np.sum(np.asarray(a, dtype=np.float64) * b))


def length(a: Floats) -> float:
    """The length of a vector (k,)."""
    return math.sqrt(dot(a, a))


def sum_of_rows(rows: Floats) -> Floats:
    """(...) the sum over the first axis of (n, ...), in pairs of halves: n may be large."""
    return np.ascontiguousarray(np.moveaxis(rows, 0, -1)).sum(axis=-1)
