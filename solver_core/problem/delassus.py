# SPDX-License-Identifier: GPL-3.0-or-later
"""A Delassus operator as bodies: G = F F^T, with one body of unit mass per island of contacts that G couples.

F is a Cholesky factor with complete pivoting (Higham 1990, "Analysis of the Cholesky decomposition of a semi-definite matrix")
of G scaled to a diagonal near one. The scaling keeps the digits of light bodies next to heavy ones. F has as many columns as G
has rank. If the factorization leaves more than round-off, for example because G is known to few digits, the eigenvalues decide:
small negative ones are removed.

G may be dense or a sparse matrix of scipy. Only its islands are made dense, and only those of up to 3,000 rows. Larger islands
stay sparse and are solved with the matrix itself.
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

# Largest negative eigenvalue that is round-off, relative to the largest entry. A larger value accepts indefinite matrices, a
# smaller one refuses exact ones.
BELOW_ZERO = 1e-8
MOST_DENSE_ROWS = 3000  # largest island of a sparse matrix that is made dense; a factor of 3,000 rows takes 72 MB
FLOATS_AN_ENTRY = 5  # numbers in memory per entry of an island while it is factored
FLOAT_BYTES = 8
(PIVOTED_CHOLESKY,) = get_lapack_funcs(("pstrf",), (np.zeros((1, 1)),))


class Factor(NamedTuple):
    """The factor F (rows, n) of G = F F^T, by islands.

    blocks: for each island, its rows (k,) and its part of F (k, rank).
    offset: (islands + 1,) first column of each island.
    rows: number of rows; a row where G is zero is in no island.
    below_zero: most negative eigenvalue that was removed, relative to the largest entry, or 0.
    """

    blocks: tuple[tuple[Ints, Floats], ...]
    offset: Ints
    rows: int
    below_zero: float

    def rows_from(self, first: int) -> Floats:
        """Return the rows of F from `first` on, (rows - first, n)."""
        matrix = np.zeros((self.rows - first, self.offset[-1]))
        for i, (rows, block) in enumerate(self.blocks):
            mine = rows >= first
            matrix[rows[mine] - first, self.offset[i] : self.offset[i + 1]] = block[mine]
        return matrix


def without_rounding(matrix: Any, rounding: Rounding, name: str = "G") -> tuple[Any, Rounded | None]:
    """Return the mean of a finite square matrix, dense or sparse, and its transpose.

    Also returns the original if its asymmetry is more than round-off, else None. Raises ValueError with two entries that differ
    by more than can be repaired, or by more than round-off if repair is refused.
    """
    if not issparse(matrix) and np.array_equal(matrix, matrix.T):
        return matrix, None
    skew = matrix - matrix.T
    # Each difference occurs with both signs.
    largest, scale = float(skew.max()) if matrix.shape[0] else 0.0, _largest(matrix)
    mean = 0.5 * (matrix + matrix.T)
    if largest <= EXACT_ASYMMETRY * scale:
        return mean, None
    if largest > ASYMMETRY_MENDED * scale or rounding is Rounding.REFUSE:
        i, j = np.unravel_index(int(np.abs(skew).argmax()), matrix.shape)
        both = f"{name}[{i}, {j}] = {float(matrix[i, j])!r} but {name}[{j}, {i}] = {float(matrix[j, i])!r}"
        message = f"{name} must be symmetric: {both}"
        hint = "" if largest > ASYMMETRY_MENDED * scale else "; rounding='repair' repairs it"
        raise ValueError(message + hint)
    return mean, Rounded(csr_matrix(matrix), largest / scale, 0.0)


def _largest(matrix: Any) -> float:
    """Return the largest absolute entry of a matrix, dense or sparse."""
    return max(float(matrix.max()), -float(matrix.min())) if matrix.shape[0] else 0.0


def factor_by_island(symmetric: Any, group: Ints, rounding: Rounding = Rounding.REFUSE) -> Factor:
    """Factor a symmetric matrix by islands.

    symmetric: (rows, rows), dense or sparse.
    group: (rows,) rows of the same group stay in one island.
    rounding: whether small negative eigenvalues are repaired or refused.

    Raises ValueError if the matrix is not positive semidefinite, or if an island does not fit into memory.
    """
    scale = _largest(symmetric)
    tolerance = BELOW_ZERO_MENDED if rounding is Rounding.REPAIR else BELOW_ZERO
    factors, below = [], 0.0
    for rows, block in _islands(symmetric, group):
        factor, lowest = _factor(block, scale, tolerance)
        below = min(below, lowest)
        if factor.shape[1]:
            factors.append((rows, factor))
    offset = np.cumsum([0, *(factor.shape[1] for _, factor in factors)]).astype(np.int64)
    return Factor(tuple(factors), offset, symmetric.shape[0], below / scale if below < 0.0 else 0.0)


def _islands(symmetric: Any, group: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Return the rows of each connected component of a matrix, and its dense block, ordered by the first row."""
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
    """Return the entries of a matrix, and the connected component of each row, ordered by the first row."""
    entries = coo_matrix(symmetric)
    entries.sum_duplicates()
    size = np.sqrt(np.maximum(symmetric.diagonal(), 0.0))
    coupled = np.abs(entries.data) > UNCOUPLED * size[entries.row] * size[entries.col]
    ends = group[entries.row[coupled]], group[entries.col[coupled]]
    groups = int(group.max()) + 1
    joined = coo_matrix((np.ones(ends[0].size, dtype=bool), ends), shape=(groups, groups))
    return entries, connected_components(joined, directed=False)[1][group]


def stays_sparse(symmetric: Any, group: Ints) -> bool:
    """Return True if an island of a sparse matrix is too large to be made dense."""
    if not issparse(symmetric) or group.size <= MOST_DENSE_ROWS:
        return False
    return int(np.bincount(_parts(symmetric, group)[1]).max()) > MOST_DENSE_ROWS


def require_semidefinite(symmetric: Any, rounding: Rounding) -> None:
    """Raise ValueError if a sparse matrix has a negative eigenvalue that is more than round-off, or cannot be repaired."""
    tolerance = BELOW_ZERO_MENDED if rounding is Rounding.REPAIR else BELOW_ZERO
    shifted = csc_matrix(symmetric + tolerance * _largest(symmetric) * eye_array(symmetric.shape[0]))
    # The diagonal of the factor has as many negative entries as the matrix has negative eigenvalues (Sylvester).
    factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    if (factors.U.diagonal() <= 0.0).any():
        raise ValueError(f"G must be positive semidefinite: it has an eigenvalue below -{tolerance:.0e} of its largest entry")


def unfactored(dim: int, free_velocity: Floats, slack: Floats) -> System:
    """Return the system of a matrix that is not factored, without friction. Its bodies do not move; the matrix replaces them.

    free_velocity: (m, dim) [m/s]. slack: (m,) [m/s].
    """
    m = len(slack)
    return as_bodies(Factor((), np.zeros(1, np.int64), m * dim, 0.0), dim, free_velocity, slack)


def _dense_islands(dense: Floats, group: Ints) -> Iterator[tuple[Ints, Floats]]:
    """Return the islands of a dense matrix, as `_islands` does."""
    part, count = parts_of_dense(dense, group)
    if count == 1:
        yield np.arange(group.size), dense
        return
    for i in range(count):
        rows = np.flatnonzero(part == i)
        yield rows, dense[np.ix_(rows, rows)]


def _require_room(sizes: Ints) -> None:
    """Raise ValueError if the largest island does not fit into memory. sizes: (islands,) rows of each."""
    largest = int(sizes.max())
    needed, free = FLOATS_AN_ENTRY * FLOAT_BYTES * largest**2, free_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"G couples {largest} rows with each other, directly or through others; that needs {needed / 1e9:.1f} GB, and "
            f"{free / 1e9:.1f} GB are free; give the problem by its bodies (from_bodies, GlobalForm), which needs less"
        )


def _factor(block: Floats, scale: float, tolerance: float) -> tuple[Floats, float]:
    """Return the factor F (k, rank) of an island, and the most negative eigenvalue that was removed, or 0.

    block: (k, k). scale: largest entry of the whole matrix.
    tolerance: largest negative eigenvalue allowed, relative to `scale`.
    """
    rows = len(block)
    diagonal = np.diagonal(block)
    empty = ~block.any(axis=1)
    if (diagonal[~empty] <= 0.0).any():
        return _by_eigenvalues(block, scale, tolerance)
    # Scale the diagonal to between 1/2 and 2 by powers of two, which is exact.
    size = np.ldexp(1.0, np.frexp(np.where(empty, 1.0, diagonal))[1] // 2)
    inverse = 1.0 / size
    scaled = block * inverse[:, None]
    scaled *= inverse
    # The transpose is the same matrix in the order of LAPACK.
    lower, order, rank, _ = PIVOTED_CHOLESKY(scaled.T, tol=rows * EPSILON, lower=1)
    order = order - 1
    triangle = np.tril(lower[:, :rank])
    last = order[rank:]
    remainder = scaled[np.ix_(last, last)] - triangle[rank:] @ triangle[rank:].T
    if _largest(remainder) > LEFT_OVER:
        return _by_eigenvalues(block, scale, tolerance)
    factor = np.empty((rows, rank))
    factor[order] = triangle
    return size[:, None] * factor, 0.0


def _by_eigenvalues(block: Floats, scale: float, tolerance: float) -> tuple[Floats, float]:
    """Return the result of `_factor` from the eigenvalues. Raises ValueError if one of them is too negative."""
    eigenvalues, vectors = np.linalg.eigh(block)
    lowest = float(eigenvalues[0])
    if lowest < -tolerance * max(scale, eigenvalues[-1]):
        share = f"{-lowest / scale:.1g} of its largest entry below zero"
        message = f"G must be positive semidefinite: its smallest eigenvalue is {lowest:.6g}, {share}"
        hint = "; rounding='repair' repairs it" if lowest >= -BELOW_ZERO_MENDED * scale else ""
        raise ValueError(message + hint)
    kept = eigenvalues > len(block) * EPSILON * scale
    removed = lowest if lowest < -BELOW_ZERO * scale else 0.0
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]), dtype=np.float64), removed


def as_bodies(factor: Factor, dim: int, free_velocity: Floats, slack: Floats) -> System:
    """Return the system whose bodies are the islands of a factor, without friction.

    The bodies have unit mass and touch the world. The first m dim rows of the factor belong to m contacts.

    free_velocity: (m, dim) [m/s]. slack: (m,) [m/s].
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
        # The Jacobian of the world is never read, so both share one array.
        jacobian_a=jacobian,
        jacobian_b=jacobian,
        bias=bias,
        slack=slack,
        mu=np.zeros(m),
        box=np.zeros((0, 3, 3)),
        least_scale=0.0,
    )
