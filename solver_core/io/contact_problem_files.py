# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of contact problems: npz of Stiction, HDF5 of FCLIB and text of Siconos, recognized by their first bytes."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path

from ..process.command_line import UsageError
from ..process.plain_files import PathRefused
from .fclib import SIGNATURE, h5py_or_why_not, is_fclib, read_fclib, with_solution, written_fclib
from .foreign import malformed_refused
from .outputs import OutputKind, refuse_output, write_output
from .problem_data import Form, ProblemFile, ProblemFileError
from .problem_npz import FIRST_ARRAY, read_npz, written_npz
from .siconos_text import read_siconos

__all__ = [
    "ENDINGS",
    "Form",
    "ProblemFile",
    "ProblemFileError",
    "read_problem",
    "refuse_problem",
    "write_problem",
    "write_solution",
]

ZIP = b"PK"
NPZ = OutputKind("a contact problem of Stiction", re.compile(rb"PK\x03\x04.{26}" + FIRST_ARRAY.encode() + rb"\.npy", re.DOTALL))
HDF5 = OutputKind("a contact problem in HDF5", re.compile(re.escape(SIGNATURE)))
ENDINGS = {".npz": NPZ, ".hdf5": HDF5, ".h5": HDF5}


def read_problem(path: str | os.PathLike[str]) -> ProblemFile:
    """Return the problem in a file of any of the three formats.

    Raises ProblemFileError with the error and the remedy, and OSError if the file cannot be opened.
    """
    with open(path, "rb") as file:
        head = file.read(len(SIGNATURE))
    if not head:
        raise ProblemFileError(path, "it is empty")
    with malformed_refused("contact problem", partial(ProblemFileError, path)):
        if head == SIGNATURE:
            return read_fclib(path)
        return read_npz(path) if head.startswith(ZIP) else read_siconos(path)


def kind_of(path: str | os.PathLike[str]) -> OutputKind:
    kind = ENDINGS.get(Path(path).suffix.lower())
    if kind is None:
        raise UsageError(f"{os.fspath(path)}: the name must end with {', '.join(ENDINGS)}")
    return kind


def refuse_problem(path: str | os.PathLike[str]) -> None:
    """Raise UsageError where a problem's name ends with nothing known, ProblemFileError where what it takes is not installed,
    and PathRefused where it would destroy something."""
    kind = kind_of(path)
    if kind is HDF5:
        h5py_or_why_not(path)
    refuse_output(path, kind)
    if kind is HDF5 and os.path.exists(path) and os.path.getsize(path) and not is_fclib(path):
        raise PathRefused(path, "exists and has no contact problem in it; it is left as it is, name another file or remove it")


def write_problem(path: str | os.PathLike[str], problem: ProblemFile) -> None:
    """Write a problem as its name ends, .npz or .hdf5, whole or not at all. Raises as `refuse_problem`, ProblemFileError where
    the format has no place for what the problem has, and OSError."""
    refuse_problem(path)
    kind = kind_of(path)
    write_output(path, kind, written_fclib(problem, path) if kind is HDF5 else written_npz(problem))


def write_solution(source: str | os.PathLike[str], problem: ProblemFile, path: str | os.PathLike[str]) -> None:
    """Write a problem that was read from `source`, with its solution; of HDF5 to HDF5 all else that the source has stays.
    Raises as `write_problem`."""
    assert problem.solution is not None
    refuse_problem(path)
    with open(source, "rb") as file:
        is_hdf5 = file.read(len(SIGNATURE)) == SIGNATURE
    if is_hdf5 and kind_of(path) is HDF5:
        write_output(path, HDF5, with_solution(source, problem.solution))
        return
    write_problem(path, problem)
