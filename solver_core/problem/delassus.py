# SPDX-License-Identifier: GPL-3.0-or-later
"""A Delassus operator as bodies: G = F F^T, one body of mass 1 an island of contacts that G couples.

F comes of a Cholesky factorisation with complete pivoting (Higham 1990, "Analysis of the Cholesky decomposition of a
semi-definite matrix") of G with a diagonal near one, so that what is light beside something heavy keeps its digits, and has as
many columns as G has rank. Where what is left over is more than rounding, as of a matrix that is known to few digits, the
eigenvalues decide: small ones may be negative, and are none.

G may be dense or one of scipy's sparse matrices. Only its islands are ever dense, and not those of more than 3,000 rows: these
stay as they are, and are solved by their matrix alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix, eye_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from ..process.memory import free_memory
from .rounding import ASYMMETRY_MENDED, BELOW_ZERO_MENDED, EXACT_ASYMMETRY, Rounded, Rounding
from .small_matrices import EPSILON, LEFT_OVER, UNCOUPLED, parts_of_dense
from .system import System

__all__ = [
    "Factor",
    "as_bodies",
    "factor_by_island",
    "require_semidefinite",
    "stays_sparse",
    "unfactored",
    "without_rounding",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BELOW_ZERO = 1e-8  # of the largest entry: what an eigenvalue of a matrix that was not rounded may be below zero
MOST_DENSE_ROWS = 3000  # of an island of a sparse matrix: what is wider is never made dense
FLOATS_AN_ENTRY = 5  # of an island, while it is factored
FLOAT_BYTES = 8
(PIVOTED_CHOLESKY,) = get_lapack_funcs(("pstrf",), (np.zeros((1, 1)),))


class Factor(NamedTuple):
    """F (rows, n) of G = F F^T, island after island. blocks: of each island its rows (k,) and F there, (k, rank). offset:
    (islands + 1,) first column of each. rows: how many there are; some may be in no island, where G is zero. below_zero: the
    most negative eigenvalue that was taken away, of the largest entry."""

    blocks: tuple[tuple[Ints, Floats], ...]
    offset: Ints
    rows: int
    below_zero: float

    def rows_from(self, first: int) -> Floats:
        """The rows of F from `first` on, (rows - first, n)."""
        matrix = np.zeros((self.rows - first, self.offset[-1]))
        for i, (rows, block) in enumerate(self.blocks):
            mine = rows >= first
            matrix[rows[mine] - first, self.offset[i] : self.offset[i + 1]] = block[mine]
        return matrix


def without_rounding(matrix: Any, rounding: Rounding, name: str = "G") -> tuple[Any, Rounded | None]:
    """The mean of a finite square matrix, dense or sparse, and its transpose; and what was given, where that is less exact than
    it was computed. Raises ValueError naming two entries that differ by more than rounding, or at all where that is refused."""
    if not issparse(matrix) and np.array_equal(matrix, matrix.T):
        return matrix, None
    skew = matrix - matrix.T
    # each difference is there with both signs
    largest, scale = float(skew.max()) if matrix.shape[0] else 0.0, _largest(matrix)
    mean = 0.5 * (matrix + matrix.T)
    if largest <= EXACT_ASYMMETRY * scale:
        return mean, None
    if largest > ASYMMETRY_MENDED * scale or rounding is Rounding.REFUSE:
        i, j = np.unravel_index(int(np.abs(skew).argmax()), matrix.shape)
        both = f"{name}[{i}, {j}] = {float(matrix[i, j])!r} but {name}[{j}, {i}] = {float(matrix[j, i])!r}"
        told = f"{name} must be symmetric: {both}"
        mended = "" if largest > ASYMMETRY_MENDED * scale else "; which rounding='repair' mends"
        raise ValueError(told + mended)
    return mean, Rounded(csr_matrix(matrix), largest / scale, 0.0)


def _largest(matrix: Any) -> float:
    return max(float(matrix.max()), -float(matrix.min())) if matrix.shape[0] else 0.0


def factor_by_island(symmetric: Any, group: Ints, rounding: Rounding = Rounding.REFUSE) -> Factor:
    """The factor of a symmetric matrix (rows, rows), dense or sparse, whose rows of the same group (rows,) stay together.

    Raises ValueError where it is not positive semidefinite, by more than rounding or at all where that is refused, or where an
    island of it does not fit into memory.
    """
    scale = _largest(symmetric)
    most = BELOW_ZERO_MENDED if rounding is Rounding.REPAIR else BELOW_ZERO
    factors, below = [], 0.0
    for rows, block in _islands(symmetric, group):
        factor, lowest = _factor(block, scale, most)
        below = min(below, lowest)
        if factor.shape[1]:
            factors.append((rows, factor))
    offset = np.cumsum([0, *(factor.shape[1] for _, factor in factors)]).astype(np.int64)
    return Factor(tuple(factors), offset, symmetric.shape[0], below / scale if below < 0.0 else 0.0)


def _islands(symmetric: Any, group: Ints) -> Iterator[tuple[Ints, Floats]]:
    """The rows of each connected part of a matrix, in the order of their first rows, and what it has there, dense."""
    if not group.size:
        return
    if not issparse(symmetric):
        yield from _dense_islands(symmetric, group)
        return
    entries, part = _parts(symmetric, group)
    inside = part[entries.row] == part[entries.col]
    row, column, value = entries.row[inside], entries.col[inside], entries.data[inside]
    count = int(part.max()) + 1
    _require_room(np.bincount(part, minlength=count))
    by_part, of_entries = np.argsort(part, kind="stable"), np.argsort(part[row], kind="stable")
    first = np.searchsorted(part[by_part], np.arange(count + 1))
    first_entry = np.searchsorted(part[row][of_entries], np.arange(count + 1))
    place = np.empty(group.size, dtype=np.int64)
    place[by_part] = np.arange(group.size) - first[part[by_part]]
    for i in range(count):
        rows, mine = by_part[first[i] : first[i + 1]], of_entries[first_entry[i] : first_entry[i + 1]]
        block = np.zeros((rows.size, rows.size))
        block[place[row[mine]], place[column[mine]]] = value[mine]
        yield rows, block


def _parts(symmetric: Any, group: Ints) -> tuple[coo_matrix, Ints]:
    """The entries of a matrix, and which connected part each row is in, in the order of their first rows."""
    entries = coo_matrix(symmetric)
    entries.sum_duplicates()
    size = np.sqrt(np.maximum(symmetric.diagonal(), 0.0))
    coupled = np.abs(entries.data) > UNCOUPLED * size[entries.row] * size[entries.col]
    ends = group[entries.row[coupled]], group[entries.col[coupled]]
    groups = int(group.max()) + 1
    joined = coo_matrix((np.ones(ends[0].size, dtype=bool), ends), shape=(groups, groups))
    return entries, connected_components(joined, directed=False)[1][group]


def stays_sparse(symmetric: Any, group: Ints) -> bool:
    """Whether an island of a sparse matrix is too wide to be made dense."""
    if not issparse(symmetric) or group.size <= MOST_DENSE_ROWS:
        return False
    return int(np.bincount(_parts(symmetric, group)[1]).max()) > MOST_DENSE_ROWS


def require_semidefinite(symmetric: Any, rounding: Rounding) -> None:
    """Raise ValueError where a sparse matrix has an eigenvalue further below zero than rounding has it."""
    most = BELOW_ZERO_MENDED if rounding is Rounding.REPAIR else BELOW_ZERO
    shifted = csc_matrix(symmetric + most * _largest(symmetric) * eye_array(symmetric.shape[0]))
    # on the diagonal of its factors are as many numbers below zero as it has eigenvalues there (Sylvester)
    factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    if (factors.U.diagonal() <= 0.0).any():
        raise ValueError(f"G must be positive semidefinite: it has an eigenvalue below -{most:.0e} of its largest entry")


def unfactored(dim: int, free_velocity: Floats, slack: Floats) -> System:
    """The contacts of a matrix that is kept as it is, without friction: as of bodies that do not move; what they do the matrix
    says. free_velocity: (m, dim). slack: (m,)."""
    m = len(slack)
    return as_bodies(Factor((), np.zeros(1, np.int64), m * dim, 0.0), dim, free_velocity, slack)


def _dense_islands(dense: Floats, group: Ints) -> Iterator[tuple[Ints, Floats]]:
    """`_islands` of a dense matrix."""
    part, count = parts_of_dense(dense, group)
    if count == 1:
        yield np.arange(group.size), dense
        return
    for i in range(count):
        rows = np.flatnonzero(part == i)
        yield rows, dense[np.ix_(rows, rows)]


def _require_room(sizes: Ints) -> None:
    largest = int(sizes.max())
    needed, free = FLOATS_AN_ENTRY * FLOAT_BYTES * largest**2, free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"G couples {largest} rows with each other, directly or through others: that takes {needed / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free; give the problem by its bodies (from_bodies, GlobalForm), which takes less"
        )


def _factor(block: Floats, scale: float, most: float) -> tuple[Floats, float]:
    """F (k, rank) of a part of a matrix whose largest entry is `scale`, and the most negative eigenvalue that was taken away;
    most: what that may be, of `scale`."""
    rows = len(block)
    diagonal = np.diagonal(block)
    empty = ~block.any(axis=1)
    if (diagonal[~empty] <= 0.0).any():
        return _by_eigenvalues(block, scale, most)
    # to between 1/2 and 2, by powers of two, which is exact
    size = np.ldexp(1.0, np.frexp(np.where(empty, 1.0, diagonal))[1] // 2)
    inverse = 1.0 / size
    scaled = block * inverse[:, None]
    scaled *= inverse
    # its transpose is the same matrix in LAPACK's order
    lower, order, rank, _ = PIVOTED_CHOLESKY(scaled.T, tol=rows * EPSILON, lower=1)
    order = order - 1
    triangle = np.tril(lower[:, :rank])
    last = order[rank:]
    left = scaled[np.ix_(last, last)] - triangle[rank:] @ triangle[rank:].T
    if _largest(left) > LEFT_OVER:
        return _by_eigenvalues(block, scale, most)
    factor = np.empty((rows, rank))
    factor[order] = triangle
    return size[:, None] * factor, 0.0


def _by_eigenvalues(block: Floats, scale: float, most: float) -> tuple[Floats, float]:
    eigenvalues, vectors = np.linalg.eigh(block)
    lowest = float(eigenvalues[0])
    if lowest < -most * max(scale, eigenvalues[-1]):
        share = f"{-lowest / scale:.1g} of its largest entry below zero"
        told = f"G must be positive semidefinite: its smallest eigenvalue is {lowest:.6g}, {share}"
        mended = "; which rounding='repair' mends" if lowest >= -BELOW_ZERO_MENDED * scale else ""
        raise ValueError(told + mended)
    kept = eigenvalues > len(block) * EPSILON * scale
    taken = lowest if lowest < -BELOW_ZERO * scale else 0.0
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]), dtype=np.float64), taken


def as_bodies(factor: Factor, dim: int, free_velocity: Floats, slack: Floats) -> System:
    """The system whose bodies are the islands of a factor, of mass 1, and touch what never moves; without friction.

    The first m dim rows of the factor are of m contacts. free_velocity: (m, dim). slack: (m,).
    """
    m = len(slack)
    width = np.diff(factor.offset)
    jacobian, bias = np.zeros((m, 3, int(width.max(initial=0)))), np.zeros((m, 3))
    bias[:, :dim] = free_velocity
    body = np.full(m, -1, dtype=np.int64)
    for i, (rows, block) in enumerate(factor.blocks):
        mine = rows < m * dim
        contact, axis = np.divmod(rows[mine], dim)
        jacobian[contact, axis, : width[i]] = block[mine]
        body[contact] = i
    ones = [np.eye(size).ravel() for size in width]
    mass = np.concatenate(ones) if ones else np.zeros(0)
    return System(
        offset=factor.offset,
        block_start=np.concatenate([[0], np.cumsum(width**2)]).astype(np.int64),
        mass=mass,
        inverse_mass=mass,
        velocity=np.zeros(factor.offset[-1]),
        body_a=np.full(m, -1, dtype=np.int64),
        body_b=body,
        # of what never moves nothing is read: large islands are not there twice
        jacobian_a=jacobian,
        jacobian_b=jacobian,
        bias=bias,
        slack=slack,
        mu=np.zeros(m),
        box=np.zeros((0, 3, 3)),
        least_scale=0.0,
    )
