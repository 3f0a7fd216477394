# SPDX-License-Identifier: GPL-3.0-or-later
"""A Delassus operator as bodies: G = F F^T, one body of mass 1 an island of contacts that G couples.

F comes of a Cholesky factorisation with complete pivoting (Higham 1990, "Analysis of the Cholesky decomposition of a
semi-definite matrix") of G with a diagonal near one, so that what is light beside something heavy keeps its digits, and has as
many columns as G has rank. Where what is left over is more than rounding, as of a matrix that is known to few digits, the
eigenvalues decide: small ones may be negative, and are none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from .system import System

__all__ = ["Factor", "as_bodies", "factor_by_island"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNCOUPLED = 1e-15  # of the geometric mean of two entries on the diagonal: what is between them is rounding
LEFT_OVER = 1e-12  # with a diagonal near one: what a factorisation may leave
BELOW_ZERO = 1e-8  # of the largest entry: what an eigenvalue may be below zero


class Factor(NamedTuple):
    """F (rows, n) of G = F F^T, island after island. offset: (islands + 1,) first column of each. island: (rows,) of each row,
    -1 where the row of G is zero."""

    matrix: Floats
    offset: Ints
    island: Ints


def factor_by_island(delassus: Floats, group: Ints) -> Factor:
    """The factor of a symmetric matrix (rows, rows), whose rows of the same group (rows,) stay together.

    Raises ValueError where it is not positive semidefinite.
    """
    rows = len(delassus)
    symmetric = 0.5 * (delassus + delassus.T)
    scale = float(np.abs(symmetric).max(initial=0.0))
    part = _parts(symmetric, group)
    factors = [np.flatnonzero(part == i) for i in range(part.max(initial=-1) + 1)]
    blocks = [(chosen, _factor(symmetric[np.ix_(chosen, chosen)], scale)) for chosen in factors]
    blocks = [(chosen, block) for chosen, block in blocks if block.shape[1]]
    offset = np.cumsum([0, *(block.shape[1] for _, block in blocks)]).astype(np.int64)
    matrix, island = np.zeros((rows, offset[-1])), np.full(rows, -1, dtype=np.int64)
    for i, (chosen, block) in enumerate(blocks):
        matrix[chosen, offset[i] : offset[i + 1]] = block
        island[chosen] = i
    return Factor(matrix, offset, island)


def _parts(symmetric: Floats, group: Ints) -> Ints:
    """(rows,) which connected part of the matrix each row is in, in the order of their first rows."""
    size = np.sqrt(np.maximum(np.diagonal(symmetric), 0.0))
    coupled = csr_matrix(np.abs(symmetric) > UNCOUPLED * np.outer(size, size))
    rows = np.arange(len(group))
    together = csr_matrix((np.ones(rows.size, dtype=bool), (rows, group)), shape=(rows.size, group.max(initial=-1) + 1))
    joined = (together.T @ coupled @ together).astype(bool) if rows.size else csr_matrix((0, 0), dtype=bool)
    return connected_components(joined, directed=False)[1][group] if rows.size else group


def _factor(block: Floats, scale: float) -> Floats:
    """F (k, rank) of a part of a matrix whose largest entry is `scale`."""
    rows = len(block)
    diagonal = np.diagonal(block)
    empty = ~block.any(axis=1)
    if (diagonal[~empty] <= 0.0).any():
        return _by_eigenvalues(block, scale)
    # to between 1/2 and 2, by powers of two, which is exact
    size = np.ldexp(1.0, np.frexp(np.where(empty, 1.0, diagonal))[1] // 2)
    scaled = block / size[:, None] / size
    (pivoted_cholesky,) = get_lapack_funcs(("pstrf",), (scaled,))
    lower, order, rank, _ = pivoted_cholesky(scaled, tol=rows * np.finfo(float).eps, lower=1)
    order = order - 1
    triangle = np.tril(lower)[:, :rank]
    last = order[rank:]
    if np.abs(scaled[np.ix_(last, last)] - triangle[rank:] @ triangle[rank:].T).max(initial=0.0) > LEFT_OVER:
        return _by_eigenvalues(block, scale)
    factor = np.empty((rows, rank))
    factor[order] = triangle
    return size[:, None] * factor


def _by_eigenvalues(block: Floats, scale: float) -> Floats:
    eigenvalues, vectors = np.linalg.eigh(block)
    if eigenvalues[0] < -BELOW_ZERO * max(scale, eigenvalues[-1]):
        raise ValueError(f"G must be positive semidefinite: its smallest eigenvalue is {eigenvalues[0]:.6g}")
    kept = eigenvalues > len(block) * np.finfo(float).eps * scale
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]), dtype=np.float64)


def as_bodies(factor: Factor, dim: int, free_velocity: Floats, slack: Floats) -> System:
    """The system whose bodies are the islands of a factor, of mass 1, and touch what never moves; without friction.

    The first m dim rows of the factor are of m contacts. free_velocity: (m, dim). slack: (m,).
    """
    m = len(slack)
    width = np.diff(factor.offset)
    jacobian, bias = np.zeros((m, 3, int(width.max(initial=0)))), np.zeros((m, 3))
    bias[:, :dim] = free_velocity
    rows = factor.matrix[: m * dim].reshape(m, dim, factor.offset[-1])
    body = factor.island[: m * dim].reshape(m, dim).max(axis=1, initial=-1)
    for i, size in enumerate(width):
        mine = body == i
        jacobian[mine, :dim, :size] = rows[mine][:, :, factor.offset[i] : factor.offset[i + 1]]
    ones = [np.eye(size).ravel() for size in width]
    mass = np.concatenate(ones) if ones else np.zeros(0)
    return System(
        offset=factor.offset,
        block_start=np.concatenate([[0], np.cumsum(width**2)]).astype(np.int64),
        mass=mass,
        inverse_mass=mass.copy(),
        velocity=np.zeros(factor.offset[-1]),
        body_a=np.full(m, -1, dtype=np.int64),
        body_b=body,
        jacobian_a=np.zeros_like(jacobian),
        jacobian_b=jacobian,
        bias=bias,
        slack=slack,
        mu=np.zeros(m),
        box=np.zeros((0, 3, 3)),
        least_scale=0.0,
    )
