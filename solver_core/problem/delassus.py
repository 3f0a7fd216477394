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

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix, eye_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from ..compile.kernel import kernel, leaf_kernel
from ..linalg.disjoint_sets import join, root
from ..process.memory import free_memory
from .rounding import ASYMMETRY_MENDED, BELOW_ZERO_MENDED, EXACT_ASYMMETRY, Rounded, Rounding
from .system import System

__all__ = [
    "FEW_DENSE_ROWS",
    "Factor",
    "as_bodies",
    "factor_by_island",
    "require_semidefinite",
    "small_system",
    "small_systems",
    "stays_sparse",
    "unfactored",
    "without_rounding",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNCOUPLED = 1e-15  # of the geometric mean of two entries on the diagonal: what is between them is rounding
LEFT_OVER = 1e-12  # with a diagonal near one: what a factorisation may leave
BELOW_ZERO = 1e-8  # of the largest entry: what an eigenvalue of a matrix that was not rounded may be below zero
MOST_DENSE_ROWS = 3000  # of an island of a sparse matrix: what is wider is never made dense
FEW_DENSE_ROWS = 60  # of a matrix that is sooner factored here than handed to LAPACK island by island
FLOATS_AN_ENTRY = 5  # of an island, while it is factored
FLOAT_BYTES = 8
EPSILON = float(np.finfo(np.float64).eps)
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
    skew = matrix - matrix.T
    size = np.abs(skew)
    largest, scale = float(size.max()) if matrix.shape[0] else 0.0, _largest(matrix)
    if largest > EXACT_ASYMMETRY * scale:
        i, j = np.unravel_index(int(size.argmax()), matrix.shape)
        if largest > ASYMMETRY_MENDED * scale or rounding is Rounding.REFUSE:
            both = f"{name}[{i}, {j}] = {float(matrix[i, j])!r} but {name}[{j}, {i}] = {float(matrix[j, i])!r}"
            told = f"{name} must be symmetric: {both}"
            mended = "" if largest > ASYMMETRY_MENDED * scale else "; which rounding='repair' mends"
            raise ValueError(told + mended)
        return 0.5 * (matrix + matrix.T), Rounded(csr_matrix(matrix), largest / scale, 0.0)
    return 0.5 * (matrix + matrix.T), None


def _largest(matrix: Any) -> float:
    return float(np.abs(matrix).max()) if matrix.shape[0] else 0.0


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


@kernel
def parts_of_dense(dense, group):
    """(rows,) which connected part of a dense matrix each row is in, in the order of their first rows; and how many there are.
    Rows of the same group (rows,), ascending, are connected."""
    n = group.size
    size, parent = np.empty(n), np.arange(group[n - 1] + 1)
    for i in range(n):
        size[i] = np.sqrt(max(dense[i, i], 0.0))
    for i in range(n):
        for j in range(i):
            if abs(dense[i, j]) > UNCOUPLED * size[i] * size[j]:
                join(parent, group[i], group[j])
    label, part, count = np.full(parent.size, -1, np.int64), np.empty(n, np.int64), 0
    for i in range(n):
        first = root(parent, group[i])
        if label[first] < 0:
            label[first] = count
            count += 1
        part[i] = label[first]
    return part, count


@leaf_kernel
def _symmetric_mean(given, out):
    """out := the mean of a matrix and its transpose; whether they differ by no more than the arithmetic has it."""
    n, largest, skew = given.shape[0], 0.0, 0.0
    for i in range(n):
        for j in range(i + 1):
            one, other = given[i, j], given[j, i]
            largest, skew = max(largest, abs(one), abs(other)), max(skew, abs(one - other))
            out[i, j] = out[j, i] = 0.5 * (one + other)
    return skew <= EXACT_ASYMMETRY * largest


@leaf_kernel
def _pivoted_cholesky(A, rows, scale, order, factor):
    """Rows of `factor` := F, G = F F^T, of an island with some rows of a matrix; its rank, -1 where it may not be semidefinite.

    A: (rows, rows) the matrix, of which the part with these rows is worked on. scale, order: (rows,) room.
    """
    n, rank = rows.size, 0
    for i in range(n):
        at, is_empty = rows[i], True
        for j in range(n):
            is_empty &= A[at, rows[j]] == 0.0
        if not is_empty and A[at, at] <= 0.0:
            return -1
        # to between 1/2 and 2, by powers of two, which is exact
        exponent = 0 if is_empty else math.frexp(A[at, at])[1]
        scale[i], order[i] = math.ldexp(1.0, exponent // 2), i
    for i in range(n):
        for j in range(n):
            A[rows[i], rows[j]] /= scale[i] * scale[j]
    least = n * EPSILON
    for column in range(n):
        best = column
        for i in range(column + 1, n):
            if A[rows[order[i]], rows[order[i]]] > A[rows[order[best]], rows[order[best]]]:
                best = i
        order[column], order[best] = order[best], order[column]
        pivot = rows[order[column]]
        if not A[pivot, pivot] > least:
            break
        rank += 1
        root_of = np.sqrt(A[pivot, pivot])
        factor[pivot, column] = root_of
        for i in range(column + 1, n):
            at = rows[order[i]]
            factor[at, column] = A[at, pivot] / root_of
        for i in range(column + 1, n):
            at = rows[order[i]]
            for j in range(column + 1, i + 1):
                to = rows[order[j]]
                A[at, to] -= factor[at, column] * factor[to, column]
                A[to, at] = A[at, to]
    for i in range(rank, n):
        for j in range(rank, n):
            if abs(A[rows[order[i]], rows[order[j]]]) > LEFT_OVER:
                return -1
    for i in range(n):
        for column in range(rank):
            factor[rows[i], column] *= scale[i]
    return rank


@kernel
def small_system(given, dim, free, slack, mu):
    """The `as_bodies` of a small dense matrix, with friction; and whether it is one: it is not where the matrix is less
    symmetric than the arithmetic leaves it, or its eigenvalues have to decide.

    given: (m dim, m dim). free: (m dim,) g. slack, mu: (m,).
    """
    n, m = free.size, slack.size
    A, factor, group = np.empty((n, n)), np.zeros((n, n)), np.arange(n) // dim
    is_one = _symmetric_mean(given, A)
    part, count = parts_of_dense(A, group)
    offset, body, islands = np.zeros(count + 1, np.int64), np.full(m, -1, np.int64), 0
    scale, order, widest = np.empty(n), np.empty(n, np.int64), 0
    for i in range(count):
        rows = np.flatnonzero(part == i)
        rank = _pivoted_cholesky(A, rows, scale, order, factor) if is_one else -1
        is_one &= rank >= 0
        if rank > 0:
            offset[islands + 1] = offset[islands] + rank
            for row in rows:
                body[row // dim] = islands
            islands, widest = islands + 1, max(widest, rank)
    offset, block_start = offset[: islands + 1].copy(), np.zeros(islands + 1, np.int64)
    for i in range(islands):
        block_start[i + 1] = block_start[i] + (offset[i + 1] - offset[i]) ** 2
    mass = np.zeros(block_start[islands])
    for i in range(islands):
        size = offset[i + 1] - offset[i]
        for d in range(size):
            mass[block_start[i] + d * (size + 1)] = 1.0
    jacobian, bias = np.zeros((m, 3, widest)), np.zeros((m, 3))
    for k in range(m):
        for axis in range(dim):
            bias[k, axis] = free[k * dim + axis]
            if body[k] >= 0:
                for d in range(offset[body[k] + 1] - offset[body[k]]):
                    jacobian[k, axis, d] = factor[k * dim + axis, d]
    still, at_rest = np.full(m, -1, np.int64), np.zeros(offset[islands])
    places = System(
        offset, block_start, mass, mass, at_rest, still, body, jacobian, jacobian, bias, slack, mu, np.zeros((0, 3, 3)), 0.0
    )
    return places, is_one


@kernel
def small_systems(matrix, at, start, dim, free, slack, mu):
    """The `small_system` of each of p matrices as one; and of each whether it is one, (p,). What is none has no bodies there.

    matrix: all entries, row-major, those of problem i from at[i] to at[i + 1]. start: (p + 1,) its contacts, as rows of the
    others: free (contacts dim,), slack, mu (contacts,).
    """
    p, contacts = start.size - 1, start[start.size - 1]
    widest = 0
    for i in range(p):
        if (start[i + 1] - start[i]) * dim <= FEW_DENSE_ROWS:
            widest = max(widest, (start[i + 1] - start[i]) * dim)
    jacobian, bias, is_one = np.zeros((contacts, 3, widest)), np.zeros((contacts, 3)), np.ones(p, np.bool_)
    body, bodies = np.full(contacts, -1, np.int64), 0
    offset, block_start, mass = np.zeros(contacts + 1, np.int64), np.zeros(contacts + 1, np.int64), np.zeros(at[p])
    for i in range(p):
        first, m = start[i], start[i + 1] - start[i]
        rows = m * dim
        is_one[i] = rows <= FEW_DENSE_ROWS
        if not is_one[i] or m == 0:
            continue
        given = matrix[at[i] : at[i + 1]].reshape((rows, rows))
        own = free[first * dim : (first + m) * dim], slack[first : first + m], mu[first : first + m]
        system, is_one[i] = small_system(given, dim, *own)
        if not is_one[i]:
            continue
        for j in range(system.offset.size - 1):
            size, block = system.offset[j + 1] - system.offset[j], block_start[bodies + j]
            offset[bodies + j + 1], block_start[bodies + j + 1] = offset[bodies + j] + size, block + size * size
            for d in range(size):
                mass[block + d * (size + 1)] = 1.0
        for k in range(m):
            if system.body_b[k] >= 0:
                body[first + k] = bodies + system.body_b[k]
            jacobian[first + k, :, : system.jacobian_b.shape[2]] = system.jacobian_b[k]
            bias[first + k] = system.bias[k]
        bodies += system.offset.size - 1
    offset, block_start, still = offset[: bodies + 1].copy(), block_start[: bodies + 1].copy(), np.full(contacts, -1, np.int64)
    mass, at_rest, box = mass[: block_start[bodies]].copy(), np.zeros(offset[bodies]), np.zeros((0, 3, 3))
    return System(offset, block_start, mass, mass, at_rest, still, body, jacobian, jacobian, bias, slack, mu, box, 0.0), is_one


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
    scaled = block / size[:, None] / size
    lower, order, rank, _ = PIVOTED_CHOLESKY(scaled, tol=rows * EPSILON, lower=1)
    order = order - 1
    triangle = np.tril(lower)[:, :rank]
    last = order[rank:]
    if np.abs(scaled[np.ix_(last, last)] - triangle[rank:] @ triangle[rank:].T).max(initial=0.0) > LEFT_OVER:
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
