# SPDX-License-Identifier: GPL-3.0-or-later
"""Products of arrays whose sums have a fixed order, as replacements of numpy's operator @, dot, einsum and norm.

numpy delegates these to BLAS, which has kernels for each kind of processor that round differently. Elementwise multiplication,
addition and square roots are defined to the last bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["dot", "dots", "length", "product", "sum_of_rows"]

Floats = NDArray[np.float64]


def product(a: Floats, b: Floats) -> Floats:
    """Return the product a b, each sum in the order of its terms.

    a: (..., n, k). b: (..., k, m), or a vector (k,). The result is (..., n, m), or (..., n). The inner dimension k is a Python
        loop, so it should be small: three, or the number of modes of a body.

    Raises ValueError if the shapes do not match.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if b.ndim == 1:
        return product(a, b[:, None])[..., 0]
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"cannot multiply matrices of shapes {a.shape} and {b.shape}")
    if not a.shape[-1]:
        return np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    found = a[..., :, 0, None] * b[..., None, 0, :]
    for k in range(1, a.shape[-1]):
        found += a[..., :, k, None] * b[..., None, k, :]
    return found


def dots(a: Floats, b: Floats) -> Floats:
    """Return the scalar products (...) of vectors (..., k), summed from the first component to the last."""
    found = a[..., 0] * b[..., 0]
    for k in range(1, a.shape[-1]):
        found = found + a[..., k] * b[..., k]
    return found


def dot(a: Floats, b: Floats) -> float:
    """Return the scalar product of two vectors (k,). numpy's pairwise summation makes it accurate for any length."""
    return float(np.sum(np.asarray(a, dtype=np.float64) * b))


def length(a: Floats) -> float:
    """Return the length of a vector (k,)."""
    return math.sqrt(dot(a, a))


def sum_of_rows(rows: Floats) -> Floats:
    """Return the sum (...) over the first axis of (n, ...), by pairwise summation, so n may be large."""
    return np.ascontiguousarray(np.moveaxis(rows, 0, -1)).sum(axis=-1)
