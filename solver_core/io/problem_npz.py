# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems in npz files, which are numpy arrays: each of the two forms, and problems with bodies.

The first array is `stiction_contact_problem`, the version of this format. `form` is local, global or bodies. Matrices are
compressed rows, `W_data`, `W_indices`, `W_indptr` and `W_shape`. Bodies are the arrays of `System` by their names, with `mu`,
`mu_dynamic`, `sliding`, `direction` and `bilateral`. Guesses and the solution are `guess_0_r`, `solution_r` and so on. Nothing
is ever unpickled.
"""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from ..problem.contact_problem import ContactProblem
from ..problem.forms import GlobalForm, LocalForm, Solution
from ..problem.given_arrays import finite_array
from ..problem.system import System
from ..process.memory import free_memory
from .foreign import words_of
from .problem_data import ProblemFile, ProblemFileError

__all__ = ["FIRST_ARRAY", "read_npz", "written_npz"]

FIRST_ARRAY = "stiction_contact_problem"
NPZ_VERSION = 1
FORMS = {
    "local": (LocalForm, ("W", "V", "R"), ("q", "mu", "s")),
    "global": (GlobalForm, ("M", "H", "G"), ("f", "w", "mu", "b")),
}
TEXTS = ("title", "description", "math_info")
SOLUTION_PARTS = ("r", "u", "l", "v")
OF_WHOLE_NUMBERS = {"offset", "block_start", "body_a", "body_b"}  # integer arrays of a system
UNBOUNDED = {"box", "mu", "mu_dynamic"}  # arrays that may be infinite
SLIDING_FIELD = "sliding"
OF_PROBLEM = ("static", "dynamic", SLIDING_FIELD, "direction", "bilateral_rows", "bilateral_free")


def written_npz(problem: ProblemFile) -> bytes:
    """Return the content of a file for a problem."""
    arrays: dict[str, Any] = {FIRST_ARRAY: np.array(NPZ_VERSION)}
    form = problem.form
    if isinstance(form, ContactProblem):
        arrays |= {"form": np.array("bodies"), "dim": np.array(form.dim)} | form.system._asdict()
        mine = form.mu, form.mu_dynamic, form.sliding, form.direction, *form.bilateral
        arrays |= dict(zip(OF_PROBLEM, mine, strict=True))
    else:
        name = next(name for name, (kind, *_) in FORMS.items() if isinstance(form, kind))
        _, matrices, vectors = FORMS[name]
        arrays |= {"form": np.array(name), "dim": np.array(form.dim)} | {one: getattr(form, one) for one in vectors}
        for one in matrices:
            matrix = getattr(form, one)
            arrays |= {f"{one}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
            arrays[f"{one}_shape"] = np.array(matrix.shape)
    arrays |= {name: np.array(getattr(problem, name)) for name in TEXTS}
    kept = [(f"guess_{i}", guess) for i, guess in enumerate(problem.guesses)]
    kept += [("solution", problem.solution)] if problem.solution is not None else []
    arrays |= {f"{name}_{part}": getattr(solution, part) for name, solution in kept for part in SOLUTION_PARTS}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


class Arrays:
    """The arrays of a file by name. Each is checked before memory is allocated for it."""

    def __init__(self, path: str | os.PathLike[str], archive: zipfile.ZipFile):
        self._path, self._archive = path, archive
        self.names = {name.removesuffix(".npy") for name in archive.namelist()}
        whole, free = sum(info.file_size for info in archive.infolist()), free_memory()
        if free is not None and whole > free:
            raise self.wrong(f"it declares {whole / 1e9:.1f} GB of arrays, and {free / 1e9:.1f} GB of memory are free")

    def wrong(self, reason: str) -> ProblemFileError:
        return ProblemFileError(self._path, reason)

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            raise self.wrong(f"it has no array {name}; was it written whole?")
        info = self._archive.getinfo(f"{name}.npy")
        with self._archive.open(info) as member:
            version = np.lib.format.read_magic(member)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = read(member)
            size = int(np.prod([int(one) for one in shape], dtype=object)) * kind.itemsize
            if kind.hasobject or size != info.file_size - member.tell():
                raise self.wrong(f"the array {name} is declared as {shape} of {kind}, which is not what the file has")
        with self._archive.open(info) as member:
            return np.lib.format.read_array(member, allow_pickle=False)

    def text(self, name: str) -> str:
        return str(self[name]) if name in self.names else ""

    def number(self, name: str) -> int:
        value = self[name]
        if value.shape != () or value.dtype.kind not in "iu":
            raise self.wrong(f"{name} must be one whole number")
        return int(value)

    def wholes(self, name: str) -> NDArray[Any]:
        value = self[name]
        if value.dtype.kind not in "iu":
            raise self.wrong(f"{name} must be whole numbers")
        return value

    def reals(self, name: str) -> NDArray[Any]:
        value = self[name]
        if value.dtype.kind not in "iuf":
            raise self.wrong(f"{name} must be real numbers, not {value.dtype}")
        return value

    def matrix(self, name: str) -> csr_matrix:
        data, sizes = self.reals(f"{name}_data"), self[f"{name}_shape"]
        if sizes.shape != (2,) or sizes.dtype.kind not in "iu":
            raise self.wrong(f"{name}_shape must be two whole numbers")
        indices, indptr = self.wholes(f"{name}_indices"), self.wholes(f"{name}_indptr")
        shape = int(sizes[0]), int(sizes[1])
        if indptr.size != shape[0] + 1 or indices.size != data.size or (indices.size and indices.max() >= shape[1]):
            raise self.wrong(f"the matrix {name} does not fit together")
        matrix = csr_matrix((data, indices, indptr), shape=shape)
        matrix.check_format()
        return matrix

    def solution(self, name: str) -> Solution | None:
        if f"{name}_r" not in self.names:
            return None
        return Solution(**{part: finite_array(part, self.reals(f"{name}_{part}")) for part in SOLUTION_PARTS})

    def guesses(self) -> Iterator[Solution]:
        count = 0
        while (guess := self.solution(f"guess_{count}")) is not None:
            count += 1
            yield guess


def read_npz(path: str | os.PathLike[str]) -> ProblemFile:
    """Return the problem in a file.

    Raises ProblemFileError, and OSError if the file cannot be opened. A damaged file raises any exception of zipfile and numpy,
    which `contact_problem_files.read_problem` converts.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                return _read(Arrays(path, archive))
        except OSError as error:
            # raised for an offset outside the file
            raise ProblemFileError(path, f"it is damaged ({words_of(error)}); copy it again") from error


def _read(arrays: Arrays) -> ProblemFile:
    if FIRST_ARRAY not in arrays.names:
        raise arrays.wrong("it is a file of arrays, but of no contact problem")
    if arrays.number(FIRST_ARRAY) != NPZ_VERSION:
        raise arrays.wrong(
            f"it is of version {arrays.number(FIRST_ARRAY)} of the format, and this Stiction reads {NPZ_VERSION}; update it"
        )
    name, dim = arrays.text("form"), arrays.number("dim")
    if name == "bodies":
        form: Any = _bodies(arrays, dim)
    elif name in FORMS:
        kind, matrices, vectors = FORMS[name]
        parts = {one: arrays.matrix(one) for one in matrices} | {one: arrays.reals(one) for one in vectors}
        form = kind(**parts, dim=dim)
    else:
        raise arrays.wrong(f"its form is {name!r}, and none of local, global and bodies")
    texts = {name: arrays.text(name) for name in TEXTS}
    return ProblemFile(form, **texts, guesses=tuple(arrays.guesses()), solution=arrays.solution("solution"))


def _bodies(arrays: Arrays, dim: int) -> ContactProblem:
    """Return a problem with bodies, after a check that all arrays fit together. Kernels do not check it."""
    parts: dict[str, Any] = {}
    for name in System._fields:
        if name in OF_WHOLE_NUMBERS:
            parts[name] = arrays.wholes(name).astype(np.int64)
        else:
            array = arrays.reals(name).astype(np.float64)
            if np.isnan(array).any() or (name not in UNBOUNDED and not np.isfinite(array).all()):
                raise arrays.wrong(f"{name} has something in it that is no finite number")
            parts[name] = np.ascontiguousarray(array)
    if parts["least_scale"].size != 1:
        raise arrays.wrong("least_scale must be one number")
    parts["least_scale"] = float(parts["least_scale"].item())
    system = System(**parts)
    static, dynamic, direction, rows, free = (arrays.reals(name) for name in OF_PROBLEM if name != SLIDING_FIELD)
    sliding = arrays[SLIDING_FIELD]
    if sliding.dtype.kind != "b":
        raise arrays.wrong(f"{SLIDING_FIELD} must be true or false for each contact")
    bodies, n, m, j = len(system.offset) - 1, system.velocity.size, system.body_a.size, len(system.box)
    c, width = m - j, np.diff(system.offset)
    widest = int(width.max(initial=0))
    b = len(free)
    shapes = {
        "offset": bodies >= 0 and system.offset[0] == 0 and (width >= 0).all() and system.offset[-1] == n,
        "block_start": np.array_equal(system.block_start, np.concatenate([[0], np.cumsum(width**2)])),
        "mass": system.mass.shape == system.inverse_mass.shape == (int((width**2).sum()),),
        "body_a, body_b": all(
            index.shape == (m,) and (index >= -1).all() and (index < bodies).all() for index in (system.body_a, system.body_b)
        ),
        "jacobian_a, jacobian_b": all(
            block.ndim == 3 and block.shape[:2] == (m, 3) and block.shape[2] >= widest
            for block in (system.jacobian_a, system.jacobian_b)
        ),
        "bias": system.bias.shape == (m, 3),
        "slack, mu": system.slack.shape == system.mu.shape == (c,) and (system.mu >= 0.0).all(),
        "box": system.box.shape == (j, 3, 3),
        "dim": dim in (2, 3),
        "friction": static.shape == dynamic.shape == (c,) and direction.shape == (c, dim - 1) and len(sliding) == c,
        "bilateral": rows.shape == (b, n) and free.shape == (b,),
    }
    for name, fits in shapes.items():
        if not fits:
            raise arrays.wrong(f"{name} does not go with the other arrays")
    bilateral = np.asarray(rows, dtype=np.float64), np.asarray(free, dtype=np.float64)
    return ContactProblem(dim, system, static, dynamic, np.asarray(sliding, dtype=bool), direction, bilateral)
