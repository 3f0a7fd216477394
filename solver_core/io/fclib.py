# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems in the HDF5 format of FCLIB (Acary, Bremond, Koziara and Perignon 2014; fclib.h, version 3).

    /fclib_local    spacedim, W, V, R, vectors/q, vectors/mu, vectors/s, info/title, info/description, info/math_info
    /fclib_global   spacedim, M, H, G, vectors/f, vectors/w, vectors/mu, vectors/b, info/...
    /guesses        number_of_guesses, 1, 2, ... each with v, u, r, l
    /solution       v, u, r, l

A matrix is a group of m, n, nzmax, nz, p, i, x as in CSparse: nz is -1 for compressed columns, -2 for compressed rows, and
otherwise the number of triplets, with rows i and columns p. h5py is imported only when a file is read or written.
"""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csc_matrix, csr_matrix

from ..problem.contact_problem import ContactProblem
from ..problem.forms import GlobalForm, LocalForm, Solution, global_form_of, local_form_of
from .foreign import words_of
from .problem_data import ProblemFile, ProblemFileError

__all__ = ["SIGNATURE", "h5py_or_why_not", "is_fclib", "read_fclib", "with_solution", "written_fclib"]

SIGNATURE = b"\x89HDF\r\n\x1a\n"
LOCAL, GLOBAL, SOLUTION, GUESSES = "fclib_local", "fclib_global", "solution", "guesses"
TRIPLET, COMPRESSED_COLUMNS, COMPRESSED_ROWS = 0, -1, -2
MOST_PACKED = 1100  # largest compression ratio of the library
MOST_GUESSES = 1000
MOST_UNWRITTEN = 1 << 24  # bytes
TEXTS = ("title", "description", "math_info")

Floats = NDArray[np.float64]


def h5py_or_why_not(path: str | os.PathLike[str]) -> Any:
    """Return the module h5py. Raises ProblemFileError with the remedy if it is not installed."""
    try:
        import h5py
    except ImportError:
        raise ProblemFileError(
            path, "HDF5 files are read and written by h5py, which is not installed: pip install h5py"
        ) from None
    return h5py


class Reader:
    """An open file. Every error in it is reported as a sentence."""

    def __init__(self, path: str | os.PathLike[str], file: Any):
        self.path, self._file = path, file

    def wrong(self, reason: str) -> ProblemFileError:
        return ProblemFileError(self.path, reason)

    def has(self, place: str) -> bool:
        return place in self._file

    def dataset(self, place: str) -> NDArray[Any]:
        """Return the numbers of a dataset as a 1D array."""
        found = self._file.get(place)
        if found is None or not hasattr(found, "shape"):
            raise self.wrong(f"it has no {place}, which an FCLIB file has; was it written whole?")
        if found.dtype.kind not in "iuf":
            raise self.wrong(f"{place} must be numbers, not {found.dtype}")
        needed, stored = found.size * found.dtype.itemsize, found.id.get_storage_size()
        # A dataset that was declared but not written is zero, which is valid, for example for an unknown solution.
        if needed > max(MOST_PACKED * stored, MOST_UNWRITTEN):
            raise self.wrong(f"{place} is declared as {found.size} numbers, and {stored} bytes are there: it is damaged")
        return np.asarray(found[()]).reshape(-1)

    def whole(self, place: str) -> int:
        """Return the single integer of a dataset."""
        values = self.dataset(place)
        if values.size != 1 or not np.isfinite(values[0]) or values[0] != int(values[0]):
            raise self.wrong(f"{place} must be one whole number, not {values[:4].tolist()}")
        return int(values[0])

    def indices(self, place: str) -> NDArray[np.int64]:
        values = self.dataset(place)
        if values.dtype.kind == "f" and (values != np.floor(values)).any():
            raise self.wrong(f"{place} has an index that is no whole number")
        return values.astype(np.int64)

    def vector(self, place: str, size: int | None = None) -> Floats:
        values = self.dataset(place).astype(np.float64)
        if size is not None and values.size != size:
            raise self.wrong(f"{place} has {values.size} entries, and {size} are needed to go with the matrices")
        return values

    def text(self, place: str) -> str:
        found = self._file.get(place)
        value = found[()] if found is not None and hasattr(found, "shape") and found.shape in ((), (1,)) else b""
        value = value[0] if isinstance(value, np.ndarray) else value
        return value.decode("utf-8", "replace").rstrip("\0") if isinstance(value, bytes) else str(value)

    def matrix(self, place: str, rows: int, columns: int) -> csr_matrix:
        """Return a matrix with the shape that the vectors require.

        It is checked first, so a declared size allocates nothing.
        """
        m, n, kind = (self.whole(f"{place}/{name}") for name in ("m", "n", "nz"))
        if (m, n) != (rows, columns):
            raise self.wrong(f"{place} is declared to be {m} by {n}, and {rows} by {columns} go with the vectors")
        p, i = self.indices(f"{place}/p"), self.indices(f"{place}/i")
        x = self.dataset(f"{place}/x")
        count = kind if kind >= TRIPLET else (int(p[-1]) if p.size else 0)
        if kind < COMPRESSED_ROWS or count < 0 or min(i.size, x.size) < count:
            raise self.wrong(f"{place} has nz = {kind}, {i.size} indices and {x.size} values, which is no sparse matrix")
        i, x = i[:count], x[:count].astype(np.float64)
        if kind >= TRIPLET:
            return self._triplets(place, (i, p[:count], x), (m, n))
        runs, across = (n, m) if kind == COMPRESSED_COLUMNS else (m, n)
        if p.size != runs + 1 or p[0] != 0 or (np.diff(p) < 0).any():
            raise self.wrong(f"{place}/p must be {runs + 1} numbers that rise from 0, where the runs of {place}/x begin")
        if count and (i.min() < 0 or i.max() >= across):
            raise self.wrong(f"{place}/i has an index beyond 0 to {across - 1}")
        return csr_matrix(csc_matrix((x, i, p), (m, n)) if kind == COMPRESSED_COLUMNS else csr_matrix((x, i, p), (m, n)))

    def _triplets(self, place: str, entries: tuple[Any, Any, Floats], shape: tuple[int, int]) -> csr_matrix:
        row, column, value = entries
        if column.size != row.size:
            raise self.wrong(f"{place}/p has {column.size} indices for {row.size} triplets")
        for index, count, name in ((row, shape[0], "i"), (column, shape[1], "p")):
            if index.size and (index.min() < 0 or index.max() >= count):
                raise self.wrong(f"{place}/{name} has an index beyond 0 to {count - 1}")
        return csr_matrix(coo_matrix((value, (row, column)), shape=shape))

    def solution(self, place: str, sizes: dict[str, int]) -> Solution | None:
        """Return the solution in a group, with zeros for missing vectors, or None if the group is missing."""
        if not self.has(place):
            return None
        parts = {name: np.zeros(size) for name, size in sizes.items()}
        for name in parts:
            if self.has(f"{place}/{name}"):
                parts[name] = self.vector(f"{place}/{name}", sizes[name])
        return Solution(**parts)


def is_fclib(path: str | os.PathLike[str]) -> bool:
    """Return True if a file is an HDF5 file with a contact problem."""
    h5py = h5py_or_why_not(path)
    try:
        with h5py.File(path, "r") as file:
            return LOCAL in file or GLOBAL in file
    except OSError:
        return False


def read_fclib(path: str | os.PathLike[str]) -> ProblemFile:
    """Return the problem in an FCLIB file.

    Raises ProblemFileError, and OSError if the file cannot be opened. A damaged file raises any exception of h5py, which
    `contact_problem_files.read_problem` converts.
    """
    h5py = h5py_or_why_not(path)
    with open(path, "rb"):
        pass  # A missing file has its own error.
    try:
        with h5py.File(path, "r") as file:
            return _read(Reader(path, file))
    except OSError as error:
        # h5py raises it for any error in a file.
        raise ProblemFileError(path, f"it is damaged HDF5 ({words_of(error)}); copy it again") from error


def _read(file: Reader) -> ProblemFile:
    if not file.has(LOCAL) and not file.has(GLOBAL):
        raise file.wrong(f"it is HDF5, but has neither a group {LOCAL} nor {GLOBAL}: it is no FCLIB file")
    top = GLOBAL if file.has(GLOBAL) else LOCAL
    dim = file.whole(f"{top}/spacedim")
    if dim not in (2, 3):
        raise file.wrong(f"{top}/spacedim must be 2 or 3, not {dim}")
    try:
        form, sizes = _global(file, dim) if top == GLOBAL else _local(file, dim)
    except ProblemFileError:
        raise
    except ValueError as error:
        raise file.wrong(str(error)) from None
    count = file.whole(f"{GUESSES}/number_of_guesses") if file.has(f"{GUESSES}/number_of_guesses") else 0
    if not 0 <= count <= MOST_GUESSES:
        raise file.wrong(f"{GUESSES}/number_of_guesses must be between 0 and {MOST_GUESSES}, not {count}")
    guesses = [file.solution(f"{GUESSES}/{i + 1}", sizes) for i in range(count)]
    texts = {name: file.text(f"{top}/info/{name}") for name in TEXTS}
    kept = tuple(guess for guess in guesses if guess is not None)
    return ProblemFile(form, **texts, guesses=kept, solution=file.solution(SOLUTION, sizes))


def _local(file: Reader, dim: int) -> tuple[LocalForm, dict[str, int]]:
    q = file.vector(f"{LOCAL}/vectors/q")
    mu = file.vector(f"{LOCAL}/vectors/mu", len(q) // dim)
    W = file.matrix(f"{LOCAL}/W", len(q), len(q))
    if not file.has(f"{LOCAL}/V") and not file.has(f"{LOCAL}/R"):
        return LocalForm(W, q, mu, dim), {"u": len(q), "r": len(q), "l": 0, "v": 0}
    s = file.vector(f"{LOCAL}/vectors/s")
    V, R = file.matrix(f"{LOCAL}/V", len(q), len(s)), file.matrix(f"{LOCAL}/R", len(s), len(s))
    return LocalForm(W, q, mu, dim, V, R, s), {"u": len(q), "r": len(q), "l": len(s), "v": 0}


def _global(file: Reader, dim: int) -> tuple[GlobalForm, dict[str, int]]:
    f, w = file.vector(f"{GLOBAL}/vectors/f"), file.vector(f"{GLOBAL}/vectors/w")
    mu = file.vector(f"{GLOBAL}/vectors/mu", len(w) // dim)
    M, H = file.matrix(f"{GLOBAL}/M", len(f), len(f)), file.matrix(f"{GLOBAL}/H", len(f), len(w))
    b = file.vector(f"{GLOBAL}/vectors/b") if file.has(f"{GLOBAL}/G") else np.zeros(0)
    G = file.matrix(f"{GLOBAL}/G", len(f), len(b)) if b.size else None
    return GlobalForm(M, H, f, w, mu, dim, G, b), {"u": len(w), "r": len(w), "l": len(b), "v": len(f)}


def written_fclib(problem: ProblemFile, path: str | os.PathLike[str] = "-") -> bytes:
    """Return the content of an FCLIB file for a problem. Problems with bodies are written in the global form, or in the local
    form if joints have compliance.

    Raises ProblemFileError if the format cannot express the problem.
    """
    h5py, form = h5py_or_why_not(path), problem.form
    if isinstance(form, ContactProblem):
        try:
            # Only the local form can express joints with compliance.
            form = local_form_of(form) if form.system.box[..., 2].any() else global_form_of(form)
        except ValueError as error:
            raise ProblemFileError(path, str(error)) from None
    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        top = file.create_group(LOCAL if isinstance(form, LocalForm) else GLOBAL)
        top["spacedim"] = np.array([form.dim], dtype=np.int32)
        if isinstance(form, LocalForm):
            pairs = (("V", form.V), ("R", form.R)) if form.bilateral else ()
            vectors = {"q": form.q, "mu": form.mu} | ({"s": form.s} if form.bilateral else {})
            matrices = (("W", form.W), *pairs)
        else:
            matrices = (("M", form.M), ("H", form.H), *((("G", form.G),) if form.bilateral else ()))
            vectors = {"f": form.f, "w": form.w, "mu": form.mu} | ({"b": form.b} if form.bilateral else {})
        for name, matrix in matrices:
            _put_matrix(top.create_group(name), csc_matrix(matrix))
        for name, vector in vectors.items():
            top[f"vectors/{name}"] = vector
        for name in TEXTS:
            if getattr(problem, name):
                top[f"info/{name}"] = np.bytes_(getattr(problem, name).encode())
        if problem.guesses:
            file[f"{GUESSES}/number_of_guesses"] = np.array([len(problem.guesses)], dtype=np.int32)
        for i, guess in enumerate(problem.guesses):
            _put_solution(file, f"{GUESSES}/{i + 1}", guess)
        if problem.solution is not None:
            _put_solution(file, SOLUTION, problem.solution)
    return buffer.getvalue()


def _put_matrix(group: Any, matrix: Any) -> None:
    m, n = matrix.shape
    matrix.sort_indices()
    for name, value in (("nzmax", matrix.nnz), ("m", m), ("n", n), ("nz", COMPRESSED_COLUMNS)):
        group[name] = np.array([value], dtype=np.int32)
    group["p"], group["i"], group["x"] = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def _put_solution(file: Any, place: str, solution: Solution) -> None:
    if place in file:
        del file[place]
    for name in ("v", "u", "r", "l"):
        if getattr(solution, name).size:
            file[f"{place}/{name}"] = getattr(solution, name)


def with_solution(path: str | os.PathLike[str], solution: Solution) -> bytes:
    """Return the content of an FCLIB file with the given solution in place of its own."""
    h5py = h5py_or_why_not(path)
    with open(path, "rb") as source:
        buffer = io.BytesIO(source.read())
    with h5py.File(buffer, "r+") as file:
        _put_solution(file, SOLUTION, solution)
    return buffer.getvalue()
