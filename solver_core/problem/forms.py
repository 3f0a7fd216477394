# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems given by their matrices, for exchange with other programs and for files.

    local     u = W r + V l + q,     0 = V^T r + R l + s
    global    M v = H r + G l + f,   0 = G^T v + b,   u = H^T v + w

with Coulomb's law between u and r at every contact, which has `dim` rows, normal first (Acary, Bremond, Koziara and Perignon
2014, "FCLIB: a collection of discrete 3D frictional contact problems"). All matrices are sparse.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_array, block_diag, coo_matrix, csc_matrix, csr_matrix, issparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from .contact_problem import ContactProblem
from .delassus import without_rounding
from .given_arrays import coefficients, finite_array, finite_sparse
from .rounding import Rounding, rounding_named

__all__ = ["GlobalForm", "LocalForm", "Solution", "global_form_of", "local_form_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Matrix = Any  # a csr_matrix, whose shape may be None according to its stubs

WIDEST_BODY = 60  # largest number of coupled degrees of freedom in M of one body; a larger block is given by its matrix
COLUMNS_AT_ONCE = 256  # columns of M^-1 H that are computed at once; more need more memory, fewer more calls


@dataclass(frozen=True)
class Solution:
    """Solution of a problem in the local or global form.

    r: (m dim,) impulses of contacts [N s]. u: (m dim,) relative velocities [m/s].
    l: (b,) impulses of bilateral constraints. v: (n,) velocities of bodies, empty in the local form.
    """

    r: Floats
    u: Floats
    l: Floats = field(default_factory=lambda: np.zeros(0))  # noqa: E741, as the format calls it
    v: Floats = field(default_factory=lambda: np.zeros(0))


def _matrix(name: str, values: Matrix, shape: tuple[int | None, int | None]) -> Matrix:
    """Return the values as a sparse matrix. Raises ValueError unless it has the shape, where None is any size."""
    matrix: Matrix = finite_sparse(name, values if issparse(values) else csr_matrix(np.atleast_2d(finite_array(name, values))))
    if any(wanted is not None and wanted != there for wanted, there in zip(shape, matrix.shape, strict=True)):
        required = ", ".join("any" if wanted is None else str(wanted) for wanted in shape)
        raise ValueError(f"{name} must have shape ({required}), not {matrix.shape}")
    return matrix


def _vector(name: str, values: ArrayLike, size: int) -> Floats:
    """Return the values as a vector. Raises ValueError unless it has `size` entries."""
    array = finite_array(name, values)
    if array.size != size:
        raise ValueError(f"{name} must have {size} entries, not {array.size}")
    return array.reshape(-1)


def _contacts(dim: int, name: str, rows: int) -> int:
    """Return the number of contacts of a number of rows. Raises ValueError if dim does not divide it."""
    if dim not in (2, 3):
        raise ValueError(f"dim must be 2 or 3, not {dim!r}")
    if rows % dim:
        raise ValueError(f"{name}: {rows} rows of contacts are no multiple of dim = {dim}")
    return rows // dim


def _friction(values: ArrayLike, contacts: int) -> Floats:
    """Return coefficients of friction (m,) from one or m numbers."""
    if np.iscomplexobj(values):
        raise ValueError("mu must be an array of numbers: they are complex")
    mu = np.asarray(values, dtype=np.float64).reshape(-1)
    if mu.size not in (1, contacts):
        raise ValueError(f"mu must have {contacts} entries, not {mu.size}")
    return coefficients("mu", mu if mu.size == contacts else mu[0], contacts)


@dataclass(frozen=True)
class LocalForm:
    """A problem given by its Delassus operator.

    W: (m dim, m dim). q: (m dim,) free velocities [m/s]. mu: (m,) coefficients of friction. dim: 2 or 3.
    V: (m dim, b), R: (b, b), s: (b,), for bilateral constraints; omit them if there are none.

    Raises ValueError with the name of the argument and the index.
    """

    W: Matrix
    q: Floats
    mu: Floats
    dim: int = 3
    V: Matrix | None = None
    R: Matrix | None = None
    s: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Convert lists and dense matrices, and check that the shapes agree."""
        W = _matrix("W", self.W, (None, None))
        rows = W.shape[0]
        _matrix("W", W, (rows, rows))
        contacts = _contacts(self.dim, "W", rows)
        if (self.V is None) != (self.R is None):
            raise ValueError("V and R must be given together, or neither")
        b = len(np.ravel(self.s))
        V = csr_matrix((rows, b)) if self.V is None else _matrix("V", self.V, (rows, b))
        R = csr_matrix((b, b)) if self.R is None else _matrix("R", self.R, (b, b))
        if self.R is None and b:
            raise ValueError("s is given without V and R")
        whole = {"W": W, "V": V, "R": R, "q": _vector("q", self.q, rows), "s": _vector("s", self.s, b)}
        for name, value in (whole | {"mu": _friction(self.mu, contacts)}).items():
            object.__setattr__(self, name, value)

    @property
    def contacts(self) -> int:
        """Number of contacts m."""
        return len(self.mu)

    @property
    def bilateral(self) -> int:
        """Number of bilateral constraints b."""
        return len(self.s)

    def problem(self, rounding: Rounding | str = Rounding.REPAIR) -> ContactProblem:
        """Return the contact problem. rounding: as in `ContactProblem.from_delassus`."""
        assert self.V is not None and self.R is not None
        whole = self.W if not self.bilateral else csr_matrix(block_array([[self.W, self.V], [self.V.T, self.R]]))
        free = np.concatenate([self.q, self.s])
        return ContactProblem.from_delassus(whole, free, self.mu, dim=self.dim, bilateral=self.bilateral, rounding=rounding)

    def solution(self, impulse: Floats, bilateral: Floats) -> Solution:
        """Return the solution with given impulses of contacts (m, dim) and of bilateral constraints (b,)."""
        assert self.V is not None
        r = np.ravel(impulse)
        return Solution(r, self.W @ r + self.V @ bilateral + self.q, bilateral)


@dataclass(frozen=True)
class GlobalForm:
    """A problem given by its mass matrix.

    M: (n, n) symmetric positive definite. H: (n, m dim). f: (n,) [N s]. w: (m dim,) [m/s]. mu: (m,) coefficients of friction.
    dim: 2 or 3.
    G: (n, b) and b: (b,), for bilateral constraints; omit them if there are none.

    Raises ValueError with the name of the argument and the index.
    """

    M: Matrix
    H: Matrix
    f: Floats
    w: Floats
    mu: Floats
    dim: int = 3
    G: Matrix | None = None
    b: Floats = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Convert lists and dense matrices, and check that the shapes agree."""
        M = _matrix("M", self.M, (None, None))
        n = M.shape[0]
        _matrix("M", M, (n, n))
        H = _matrix("H", self.H, (n, None))
        contacts = _contacts(self.dim, "H", H.shape[1])
        b = len(np.ravel(self.b))
        if self.G is None and b:
            raise ValueError("b is given without G")
        G = csr_matrix((n, 0)) if self.G is None else _matrix("G", self.G, (n, b))
        vectors = {"f": _vector("f", self.f, n), "w": _vector("w", self.w, H.shape[1]), "b": _vector("b", self.b, b)}
        for name, value in ({"M": M, "H": H, "G": G, "mu": _friction(self.mu, contacts)} | vectors).items():
            object.__setattr__(self, name, value)

    @property
    def contacts(self) -> int:
        """Number of contacts m."""
        return len(self.mu)

    @property
    def bilateral(self) -> int:
        """Number of bilateral constraints b."""
        return len(self.b)

    def problem(self, rounding: Rounding | str = Rounding.REPAIR) -> ContactProblem:
        """Return the contact problem.

        If M has small blocks and no contact touches more than two of them, it is a problem of bodies, which needs memory in
        proportion to H. Otherwise it is given by its Delassus operator.

        rounding: as in `ContactProblem.from_delassus`.
        """
        without_rounding(self.M, rounding_named(rounding), "M")
        bodies = _bodies(self)
        if bodies is not None:
            return bodies
        local = self.local()
        try:
            return local.problem(rounding)
        except ValueError as error:
            raise ValueError(f"M must be positive definite: of H^T M^-1 H as a matrix G, {error}") from None

    def local(self) -> LocalForm:
        """Return the same problem in the local form, W = H^T M^-1 H."""
        assert self.G is not None
        solve = _inverse(self.M)
        columns = csc_matrix(block_array([[self.H, self.G]])) if self.bilateral else csc_matrix(self.H)
        whole = csr_matrix(columns.T @ _apart(solve, columns))
        free = columns.T @ solve(self.f) + np.concatenate([self.w, self.b])
        rows = self.H.shape[1]
        if not self.bilateral:
            return LocalForm(whole, free, self.mu, self.dim)
        V, R = whole[:rows, rows:], whole[rows:, rows:]
        return LocalForm(whole[:rows, :rows], free[:rows], self.mu, self.dim, V, R, free[rows:])

    def solution(self, impulse: Floats, bilateral: Floats) -> Solution:
        """Return the solution with given impulses of contacts (m, dim) and of bilateral constraints (b,)."""
        assert self.G is not None
        r = np.ravel(impulse)
        v = _inverse(self.M)(self.H @ r + self.G @ bilateral + self.f)
        return Solution(r, self.H.T @ v + self.w, bilateral, v)


def _inverse(M: Matrix) -> Any:
    """Return a function that multiplies with M^-1. Raises ValueError if M is singular."""
    try:
        return splu(csc_matrix(M)).solve
    except RuntimeError as error:
        raise ValueError(f"M must be positive definite: {str(error).lower()}") from None


def _apart(solve: Any, columns: Matrix) -> Matrix:
    """Return M^-1 times a sparse matrix, computed for a few dense columns at a time."""
    parts = range(0, columns.shape[1], COLUMNS_AT_ONCE)
    found = [csc_matrix(solve(columns[:, i : i + COLUMNS_AT_ONCE].toarray())) for i in parts]
    return csr_matrix(block_array([found])) if found else csr_matrix(columns.shape)


def _bodies(form: GlobalForm) -> ContactProblem | None:
    """Return the problem whose bodies are the blocks of M, or None if a block is too large or a contact touches three."""
    n, dim, m = form.M.shape[0], form.dim, form.contacts
    if n == 0:
        return None
    count, body = connected_components(form.M, directed=False)
    size = np.bincount(body, minlength=count)
    if size.max() > WIDEST_BODY:
        return None
    entries = coo_matrix(form.H)
    there = entries.data != 0.0
    row, contact, axis = entries.row[there], entries.col[there] // dim, entries.col[there] % dim
    touching = np.unique(np.stack([contact, body[row]], axis=1), axis=0)
    first = np.searchsorted(touching[:, 0], np.arange(m + 1))
    number = np.diff(first)
    if (number > 2).any():
        return None
    # A contact that touches no body is assigned to the first, with a zero Jacobian.
    body_b, body_a = np.zeros(m, dtype=np.int64), np.full(m, -1, dtype=np.int64)
    body_b[number > 0] = touching[first[:-1][number > 0], 1]
    body_a[number > 1] = touching[first[:-1][number > 1] + 1, 1]
    order, offset = np.argsort(body, kind="stable"), np.concatenate([[0], np.cumsum(size)])
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n) - offset[body[order]]
    left, right = np.zeros((m, dim, int(size.max()))), np.zeros((m, dim, int(size.max())))
    for side, body_of_contact in ((left, body_a), (right, body_b)):
        mine = body[row] == body_of_contact[contact]
        side[contact[mine], axis[mine], place[row[mine]]] = entries.data[there][mine]
    whole = coo_matrix(form.M)
    masses = [np.zeros((k, k)) for k in size]
    for i, j, value in zip(whole.row, whole.col, whole.data, strict=True):
        masses[body[i]][place[i], place[j]] = value
    even: list[ArrayLike] = [0.5 * (block + block.T) for block in masses]
    velocity = np.concatenate([np.linalg.solve(block, form.f[order[a:b]]) for block, a, b in _runs(even, offset)])
    assert form.G is not None
    held = form.G.T.toarray()[:, order]
    bias = form.w.reshape(m, dim)
    return ContactProblem.from_bodies(even, velocity, (body_a, body_b), (left, right), form.mu, bias, bilateral=(held, form.b))


def _runs(masses: list[ArrayLike], offset: Ints) -> Any:
    """Return each block of M with the range of its degrees of freedom."""
    return zip(masses, offset[:-1], offset[1:], strict=True)


def _refuse_more(problem: ContactProblem) -> None:
    """Raise ValueError if neither form can express the problem."""
    if problem.slides_along_given.any():
        raise ValueError("some contacts have a prescribed sliding direction, which neither form can express; use npz")
    box = problem.system.box
    held = np.isneginf(box[..., 0]) & np.isposinf(box[..., 1])
    if not held.all():
        joint, row = (int(i) for i in np.argwhere(~held)[0])
        raise ValueError(f"row {row} of joint {joint} has a limit or a motor, which neither form can express; use npz")


def _rows_of_joints(problem: ContactProblem) -> tuple[Matrix, Floats, Floats]:
    """Return J (rows, n) of contacts and joints, their biases with the slack added, and the compliances of joints."""
    system, dim = problem.system, problem.dim
    contacts = system.mu.size
    entries: list[tuple[Ints, Ints, Floats]] = []
    for index, block in ((system.body_a, system.jacobian_a), (system.body_b, system.jacobian_b)):
        for k in np.flatnonzero(index >= 0):
            begin, end = system.offset[index[k]], system.offset[index[k] + 1]
            rows = np.repeat(3 * k + np.arange(3), end - begin)
            columns = np.tile(np.arange(begin, end), 3)
            entries.append((rows, columns, block[k, :, : end - begin].ravel()))
    total = 3 * len(system.body_a)
    kept = np.ones(total, dtype=bool)
    kept[: 3 * contacts] = np.tile(np.arange(3) < dim, contacts)
    shape = (total, len(system.velocity))
    parts = [np.concatenate([entry[i] for entry in entries]) if entries else np.zeros(0, np.int64) for i in range(3)]
    J = csr_matrix(coo_matrix((parts[2], (parts[0], parts[1])), shape=shape))[np.flatnonzero(kept)]
    J.eliminate_zeros()
    bias = system.bias.copy()
    bias[:contacts, 0] += system.slack
    give = system.box[..., 2].ravel()
    return J, bias.ravel()[kept], give


def _masses(problem: ContactProblem) -> Matrix:
    """Return M of a problem (n, n)."""
    system = problem.system
    sizes = np.diff(system.offset)
    blocks = [system.mass[a : a + k * k].reshape(k, k) for a, k in zip(system.block_start[:-1], sizes, strict=True)]
    return csr_matrix(block_diag(blocks)) if blocks else csr_matrix((0, 0))


def global_form_of(problem: ContactProblem) -> GlobalForm:
    """Return the global form of a contact problem.

    The slack is part of w, so u is the relative velocity plus the slack. The rows of joints become bilateral constraints.

    Raises ValueError if a joint has a limit, a motor or a spring, or if a sliding direction is given.
    """
    _refuse_more(problem)
    J, b, give = _rows_of_joints(problem)
    if give.any():
        raise ValueError("a joint has compliance, which the global form cannot express; use the local form or npz")
    M, rows = _masses(problem), problem.dim * problem.system.mu.size
    held: Matrix = csr_matrix(np.zeros((0, M.shape[0])) if not problem.bilateral_constraints else problem.bilateral[0])
    G = csr_matrix(block_array([[J[rows:].T, held.T]])) if J.shape[0] > rows or held.shape[0] else csr_matrix((M.shape[0], 0))
    bias_b = problem.bilateral[1] - problem.bilateral[0] @ problem.system.velocity
    f = M @ problem.system.velocity
    return GlobalForm(
        M, csr_matrix(J[:rows].T), f, b[:rows], problem.system.mu, problem.dim, G, np.concatenate([b[rows:], bias_b])
    )


def local_form_of(problem: ContactProblem) -> LocalForm:
    """Return the local form of a contact problem, as `global_form_of` does. R may contain the compliance of joints."""
    _refuse_more(problem)
    box = problem.system.box
    rigid = problem.system._replace(box=np.concatenate([box[..., :2], np.zeros_like(box[..., 2:])], axis=-1))
    form = global_form_of(replace(problem, system=rigid)).local()
    give = np.zeros(form.bilateral)
    give[: box[..., 2].size] = box[..., 2].ravel()
    assert form.R is not None
    if not give.any():
        return form
    return LocalForm(form.W, form.q, form.mu, form.dim, form.V, form.R + csr_matrix(np.diag(give)), form.s)
