# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of array arguments of a contact problem. Each raises ValueError with the name of the argument and the index."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, issparse

__all__ = [
    "body_indices",
    "coefficients",
    "finite_array",
    "finite_sparse",
    "mass_blocks",
    "per_contact",
    "square_matrix",
    "symmetric_matrix",
    "two_sides",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ASYMMETRY = 1e-9  # relative to the largest entry; a larger asymmetry is not round-off


def finite_array(name: str, values: ArrayLike) -> Floats:
    """Return the values as a float array. Raises ValueError unless all are finite numbers."""
    if values is None:
        raise ValueError(f"{name} must be an array of numbers, not None")
    try:
        if np.iscomplexobj(values):
            raise ValueError("they are complex")
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}") from None
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        place = f"[{', '.join(str(i) for i in index)}]" if index else ""
        raise ValueError(f"{name}{place} is {array[index]}: every entry must be finite")
    return array


def square_matrix(name: str, values: Any) -> Any:
    """Return the values as a square matrix of finite numbers. A sparse matrix stays sparse."""
    array: Any = finite_sparse(name, values) if issparse(values) else finite_array(name, values)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be a square matrix, not of shape {array.shape}")
    return array


def finite_sparse(name: str, values: Any) -> csr_matrix:
    """Return a sparse matrix of finite numbers, with duplicate entries summed."""
    if np.iscomplexobj(values):
        raise ValueError(f"{name} must be a matrix of numbers: they are complex")
    matrix = csr_matrix(values, dtype=np.float64)
    matrix.sum_duplicates()
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if wrong.size:
        entry = int(wrong[0])
        row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
        place = f"[{row}, {matrix.indices[entry]}]"
        raise ValueError(f"{name}{place} is {matrix.data[entry]}: every entry must be finite")
    return matrix


def symmetric_matrix(name: str, values: ArrayLike) -> Floats:
    """Return the values as a matrix that is symmetric up to round-off."""
    array = square_matrix(name, values)
    skew = np.abs(array - array.T)
    if skew.max(initial=0.0) > ASYMMETRY * np.abs(array).max(initial=0.0):
        i, j = np.unravel_index(int(skew.argmax()), skew.shape)
        raise ValueError(f"{name} must be symmetric: {name}[{i}, {j}] = {array[i, j]!r} but {name}[{j}, {i}] = {array[j, i]!r}")
    return array


def mass_blocks(masses: Any) -> tuple[list[Floats], Floats]:
    """Return symmetric positive definite blocks of any sizes, and the concatenated entries of their inverses."""
    shapes = {np.shape(block) for block in masses} if isinstance(masses, Sequence) else {np.shape(masses)[1:]}
    if len(shapes) == 1 and len(shape := shapes.pop()) == 2 and shape[0] == shape[1]:
        # Blocks of one size are checked together. If this fails, the checks below find the error.
        with suppress(ValueError, np.linalg.LinAlgError):
            blocks = finite_array("masses", masses)
            skew = np.abs(blocks - blocks.transpose(0, 2, 1)).max(axis=(1, 2), initial=0.0)
            if (skew <= ASYMMETRY * np.abs(blocks).max(axis=(1, 2), initial=0.0)).all():
                np.linalg.cholesky(0.5 * (blocks + blocks.transpose(0, 2, 1)))
                return list(blocks), np.linalg.inv(blocks).ravel()
    each = [symmetric_matrix(f"masses[{i}]", block) for i, block in enumerate(masses)]
    for i, block in enumerate(each):
        if np.linalg.eigvalsh(0.5 * (block + block.T)).min(initial=np.inf) <= 0.0:
            raise ValueError(f"masses[{i}] must be positive definite")
    return each, np.concatenate([np.zeros(0), *(np.linalg.inv(block).ravel() for block in each)])


def body_indices(name: str, values: ArrayLike) -> Ints:
    """Return the values as an integer array."""
    array = np.atleast_1d(finite_array(name, values))
    fractional = np.flatnonzero(array != np.floor(array))
    if fractional.size:
        raise ValueError(f"{name}[{fractional[0]}] = {array.ravel()[fractional[0]]} is no index: it must be a whole number")
    return array.astype(np.int64)


def per_contact(name: str, values: ArrayLike, m: int) -> Floats:
    """Return an array (m,) from a scalar or from m numbers."""
    array = finite_array(name, values)
    if array.ndim > 1 or (array.ndim == 1 and array.size != m):
        raise ValueError(f"{name} must be a number or have {m} entries, not shape {array.shape}")
    return np.full(m, array) if array.ndim == 0 else array


def coefficients(name: str, values: ArrayLike, m: int) -> Floats:
    """Return the coefficients of friction (m,), at least 0; a contact with inf cannot slip."""
    try:
        given = np.asarray(values)
    except ValueError:
        given = np.zeros(())  # rows of unequal lengths, which `per_contact` rejects
    tied = np.isposinf(given) if given.dtype.kind == "f" else np.zeros(given.shape, dtype=bool)
    array = per_contact(name, np.where(tied, 0.0, given) if tied.any() else values, m)
    wrong = np.flatnonzero(array < 0.0)
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}] = {array[wrong[0]]} is negative: a coefficient of friction is at least 0")
    array[np.broadcast_to(tied, array.shape)] = np.inf
    return array


def two_sides(name: str, values: Any) -> tuple[Any, Any]:
    """Return a pair of arrays. Raises ValueError unless there are two."""
    try:
        first, second = values
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be two arrays, not {values!r}") from None
    return first, second
