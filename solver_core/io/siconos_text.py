# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact problems in the text format of Siconos (`frictionContact_printInFile`, and `global...`).

    dimension (2 or 3), number of contacts
    local:    W, q, mu
    global:   M, H, q (here f), b (here w), mu

A matrix is its storage (0 dense, 1 sparse blocks, 2 sparse), its two sizes, and then

    dense     the sizes again, and the entries in memory order, column by column
    blocks    the numbers of block rows and block columns; the ends of block rows and block columns; the lengths of the two
              lists of compressed rows of blocks, and these lists; and for each block, its number and its entries by column
    sparse    its origin, and the output of CSparse: `col j : locations a to b` and `i : x`, or triplets `i j : x`
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix

from ..problem.forms import GlobalForm, LocalForm
from .problem_data import ProblemFile, ProblemFileError

__all__ = ["read_siconos"]

DENSE_STORAGE, BLOCK_STORAGE, SPARSE_STORAGE = 0, 1, 2
PRINTED_TRIPLETS, PRINTED_COLUMNS = 1, 2
MOST_DIGITS = 18  # largest number of digits of an integer, which must fit into 64 bits
KNOWN_DIMENSIONS, ROLLING_DIMENSIONS = (2, 3), (4, 5)


class Words:
    """The words of a text, read in order. Every error is reported as a sentence."""

    def __init__(self, path: str | os.PathLike[str], text: str):
        self._path, self._words, self._at = path, text.split(), 0

    @property
    def left(self) -> int:
        return len(self._words) - self._at

    def wrong(self, problem: str) -> ProblemFileError:
        place = f"after {self._at} words" if self._at else "at its beginning"
        return ProblemFileError(self._path, f"{problem} {place}: it is no contact problem as Siconos prints it, or is cut off")

    def word(self) -> str:
        if not self.left:
            raise self.wrong("the text ends")
        self._at += 1
        return self._words[self._at - 1]

    def skip_to(self, *ends: str) -> str:
        """Skip words up to and including the first of these words, and return it."""
        while (word := self.word()) not in ends:
            pass
        return word

    def whole(self, name: str, least: int = 0) -> int:
        word = self.word()
        if len(word) > MOST_DIGITS or not word.lstrip("+-").isdigit() or int(word) < least:
            message = f"{name} is {word[:MOST_DIGITS]!r} and no whole number of at least {least}"
            raise self.wrong(f"{message}, with {MOST_DIGITS} digits at most")
        return int(word)

    def numbers(self, name: str, count: int) -> NDArray[np.float64]:
        """Return this many numbers. It is checked that they exist before memory is allocated."""
        if count > self.left:
            raise self.wrong(f"{name} has {count} numbers, and {self.left} words are left")
        words = self._words[self._at : self._at + count]
        try:
            values = np.array(words, dtype=np.float64)
        except ValueError:
            raise self.wrong(f"{name} has something in it that is no number") from None
        self._at += count
        return values

    def wholes(self, name: str, count: int, largest: int) -> NDArray[np.int64]:
        values = self.numbers(name, count)
        if (values != np.floor(values)).any() or (values < 0).any() or (values > largest).any():
            raise self.wrong(f"{name} has something in it that is no whole number between 0 and {largest}")
        return values.astype(np.int64)


def read_siconos(path: str | os.PathLike[str]) -> ProblemFile:
    """Return the problem in a text file of Siconos.

    Raises ProblemFileError, and OSError if the file cannot be opened. Sizes that exceed the memory raise MemoryError, which
    `contact_problem_files.read_problem` converts.
    """
    content = Path(path).read_bytes()
    try:
        words = Words(path, content.decode("ascii"))
    except UnicodeDecodeError:
        raise ProblemFileError(path, "it is neither text of Siconos, nor HDF5 of FCLIB, nor npz of Stiction") from None
    dim, contacts = words.whole("the dimension"), words.whole("the number of contacts")
    if dim in ROLLING_DIMENSIONS:
        raise ProblemFileError(path, f"it has {dim} rows a contact, for rolling friction, which is not solved here")
    if dim not in KNOWN_DIMENSIONS:
        raise words.wrong(f"the dimension is {dim}, and neither 2 nor 3")
    first, rows = _matrix(words, "the first matrix"), dim * contacts
    try:
        if first.shape == (rows, rows) and _ends_with(words, rows + contacts):
            form = LocalForm(first, words.numbers("q", rows), words.numbers("mu", contacts), dim)
        else:
            H = _matrix(words, "H")
            if H.shape != (first.shape[0], rows):
                raise words.wrong(
                    f"H is {H.shape[0]} by {H.shape[1]}, and {first.shape[0]} by {rows} go with M and the contacts"
                )
            f, w = words.numbers("q", first.shape[0]), words.numbers("b", rows)
            form = GlobalForm(first, H, f, w, words.numbers("mu", contacts), dim)
    except ProblemFileError:
        raise
    except ValueError as error:
        raise ProblemFileError(path, str(error)) from None
    return ProblemFile(form)


def _ends_with(words: Words, count: int) -> bool:
    """Return True if only q and mu are left. A file of the global form has another matrix there. Some files end with an extra
    0."""
    return words.left in (count, count + 1)


def _matrix(words: Words, name: str) -> Any:
    """Read a matrix. name: for messages. Raises ProblemFileError."""
    storage, m, n = words.whole(f"the storage of {name}"), words.whole(f"rows of {name}"), words.whole(f"columns of {name}")
    if storage == DENSE_STORAGE:
        if (words.whole("rows"), words.whole("columns")) != (m, n):
            raise words.wrong(f"{name} has two sizes")
        return csr_matrix(words.numbers(name, m * n).reshape(n, m).T)
    if storage == BLOCK_STORAGE:
        return _blocks(words, name, (m, n))
    if storage == SPARSE_STORAGE:
        return _sparse(words, name, (m, n))
    raise words.wrong(f"the storage of {name} is {storage}, and none of 0, 1 and 2")


def _blocks(words: Words, name: str, shape: tuple[int, int]) -> csr_matrix:
    """Read a matrix that is stored as dense blocks. name: for messages. Raises ProblemFileError."""
    count, rows, columns = (words.whole(f"blocks of {name}") for _ in range(3))
    row_ends, column_ends = words.wholes(name, rows, shape[0]), words.wholes(name, columns, shape[1])
    for ends, size in ((row_ends, shape[0]), (column_ends, shape[1])):
        if (ends[-1] if ends.size else 0) != size or (np.diff(ends) < 0).any():
            raise words.wrong(f"the blocks of {name} do not end with its last row and column")
    filled, entries = words.whole(f"block rows of {name}"), words.whole(f"blocks of {name}")
    first, column = words.wholes(name, filled, count), words.wholes(name, entries, max(columns - 1, 0))
    if entries < count or (np.diff(first) < 0).any() or (filled and first[-1] > count) or filled > rows + 1:
        raise words.wrong(f"the rows of blocks of {name} do not fit together")
    row_start, column_start = np.append(0, row_ends), np.append(0, column_ends)
    parts: list[tuple[Any, Any, NDArray[np.float64]]] = []
    for row, (begin, end) in enumerate(pairwise(first.tolist())):
        for number in range(begin, end):
            words.whole(f"the number of a block of {name}")
            block_column = int(column[number])
            height, width = int(row_ends[row] - row_start[row]), int(column_ends[block_column] - column_start[block_column])
            i, j = np.meshgrid(np.arange(height), np.arange(width))
            value = words.numbers(name, height * width)
            parts.append((int(row_start[row]) + i.ravel(), int(column_start[block_column]) + j.ravel(), value))
    if not parts:
        return csr_matrix(shape)
    i, j, value = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return csr_matrix(coo_matrix((value, (i, j)), shape=shape))


def _sparse(words: Words, name: str, shape: tuple[int, int]) -> csr_matrix:
    """Read a matrix that is stored as triplets or compressed columns. name: for messages. Raises ProblemFileError."""
    origin = words.whole(f"the origin of {name}")
    if origin not in (PRINTED_TRIPLETS, PRINTED_COLUMNS):
        raise words.wrong(f"the origin of {name} is {origin}, and neither triplets nor columns")
    words.skip_to("nnz:")
    count = words.whole(f"the entries of {name}", 0) if origin == PRINTED_TRIPLETS else _count(words, name)
    if count * (3 if origin == PRINTED_TRIPLETS else 2) > words.left:
        raise words.wrong(f"{name} has {count} entries, and {words.left} words are left")
    i, j, value = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    if origin == PRINTED_TRIPLETS:
        for k in range(count):
            i[k], j[k] = words.whole(name), words.whole(name)
            words.skip_to(":")
            value[k] = words.numbers(name, 1)[0]
    else:
        _columns(words, name, (i, j, value), shape[1])
    if count and (i.max() >= shape[0] or j.max() >= shape[1]):
        raise words.wrong(f"{name} has an entry beyond its {shape[0]} rows and {shape[1]} columns")
    return csr_matrix(coo_matrix((value, (i, j)), shape=shape))


def _count(words: Words, name: str) -> int:
    """Return the number of entries in `nnz: 36, 1-norm: 4.6`."""
    word = words.word()
    if not word.rstrip(",").isdigit():
        raise words.wrong(f"the number of entries of {name} is {word!r}")
    words.skip_to("1-norm:")
    words.word()
    return int(word.rstrip(","))


def _columns(words: Words, name: str, entries: tuple, columns: int) -> None:
    i, j, value = entries
    for column in range(columns):
        if words.word() != "col" or words.whole("a column of " + name) != column:
            raise words.wrong(f"column {column} of {name} is not there")
        words.skip_to("locations")
        begin = words.whole(name)
        words.skip_to("to")
        # In an empty column, the last location is before the first.
        end = words.whole(name, -1) + 1
        if not 0 <= begin <= end <= i.size:
            raise words.wrong(f"column {column} of {name} has entries {begin} to {end - 1} of {i.size}")
        for k in range(begin, end):
            i[k], j[k] = words.whole(name), column
            words.skip_to(":")
            value[k] = words.numbers(name, 1)[0]
