# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that were compiled ahead, on this machine or on another: what they were made for, and how a bake gets them.

A folder of compiled kernels has one folder for each source file (`folders.py`). Once all kernels are in it, it also has
`compiled.json`, which says what they fit. It may have been brought along by the package, or by a wheel of kernels
(`make wheels`), each file's kernels packed. Or it is common to the machines of a farm, and not to be written to. Kernels are
copied from there to where this machine keeps its own, for numba writes next to what it reads: each when it is first called,
since a bake calls two dozen of the 750 that there are.

What numba reads there are pickles, which can do anything that Python can. So nothing is read but the package's own folder,
which is as much to be trusted as the package, and those of the wheel and the one that is named (`named_folder`), where nobody
else could have written to them (`trust.py`).
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tarfile
from collections.abc import Collection
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from .processor import use_level
from .trust import doubt, written_by_us_alone

__all__ = [
    "INDEX",
    "MADE_FOR",
    "SHIPPED",
    "WHEEL",
    "bring",
    "brought",
    "is_complete",
    "made_for",
    "misfit",
    "named_folder",
    "pack",
    "put",
    "say_what_for",
]

SHIPPED = Path(__file__).resolve().parents[1] / "compiled"
CLONE = Path(__file__).resolve().parents[2]
BUILT = CLONE / "build" / "numba"
# the package of a wheel that holds such a folder and nothing else, for this Python and platform
WHEEL = "stiction_kernels"
MADE_FOR = "compiled.json"
PACKED = ".tar.xz"
# files of numba
INDEX, CODE = ".nbi", ".nbc"


def named_folder() -> Path | None:
    """Where kernels are to be kept by NUMBA_CACHE_DIR; in a clone of the repository where the Makefile has them compiled; else
    None, and the user's cache folder has them."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return Path(named)
    return BUILT if (CLONE / "Makefile").is_file() and (CLONE / "pyproject.toml").is_file() else None


def brought() -> tuple[Path, ...]:
    """The folders of kernels that were installed: with this package, and by a wheel of kernels. They need not fit."""
    folders = (SHIPPED, *filter(None, [wheel_folder()]))
    return tuple(folder for folder in folders if folder.is_dir())


@cache
def wheel_folder() -> Path | None:
    """The folder of an installed wheel of kernels; None where there is none, or where others could have written to it."""
    spec = importlib.util.find_spec(WHEEL)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place) / SHIPPED.name
        if folder.is_dir() and doubt(folder) is None:
            return folder
    return None


def made_for() -> dict[str, str]:
    """What kernels fit that are compiled here and now, all of which their machine code or its description may depend on."""
    import llvmlite
    import numba
    import numpy as np
    from llvmlite import binding as llvm
    from numba.core import config

    use_level()
    return {
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        # of numpy it is the rules of types that numba asks for
        "numpy": ".".join(np.__version__.split(".")[:2]),
        "system": llvm.get_process_triple(),
        "processor": str(vars(config).get("CPU_NAME") or llvm.get_host_cpu_name()),
    }


def say_what_for(folder: Path, sources: str) -> None:
    """Note in a folder that all kernels are in it, made of these sources for this machine."""
    text = json.dumps(made_for() | {"sources": sources}, indent=1)
    with written_by_us_alone():
        (folder / MADE_FOR).write_text(text + "\n", encoding="utf-8")


@cache
def misfit(folder: Path) -> str | None:
    """Why kernels in a folder cannot be used here, None if they can."""
    try:
        theirs = json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{folder} has no compiled kernels"
    here = made_for()
    differences = [f"{name} {theirs.get(name)}, here is {here[name]}" for name in here if theirs.get(name) != here[name]]
    return f"the kernels in {folder} are for {'; for '.join(differences)}" if differences else None


def is_complete(folder: Path, sources: str) -> bool:
    """Whether all kernels of these sources are in a folder and can be used here."""
    if misfit(folder) is not None:
        return False
    return json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))["sources"] == sources


def pack(folder: Path, kernels: Collection[str], into: Path) -> None:
    """Pack what a folder has of some kernels into one archive in another folder, a fifth of its size.

    kernels: their names and keys, or `name-*`. Where the folder has nothing of them there is no archive.
    """
    files = [file for file in folder.iterdir() if any(is_of(kernel, file.name) for kernel in kernels)]
    if files:
        with tarfile.open(into / f"{folder.name}{PACKED}", "w:xz") as archive:
            for file in sorted(files):
                archive.add(file, file.name)


def files_of(kernel: str, ahead: Path, folder: str) -> list[tuple[str, bytes]]:
    """Name and content of the files of a kernel that a folder of those compiled ahead has, as they are or packed."""
    plain, packed = ahead / folder, ahead / f"{folder}{PACKED}"
    if plain.is_dir():
        return [(file.name, file.read_bytes()) for file in plain.iterdir() if is_of(kernel, file.name)]
    if not packed.is_file():
        return []
    found = []
    # in one go: to go back in it is to unpack it again
    with tarfile.open(packed) as archive:
        for member in archive:
            # whatever folder it claims to be in; Python 3.11 has the filters of `extractall` from its fourth release on only
            name = Path(member.name).name
            content = archive.extractfile(member) if is_of(kernel, name) else None
            if content is not None:
                found.append((name, content.read()))
    return found


def is_of(kernel: str, name: str) -> bool:
    """Whether a file is numba's index of a kernel, or code of it. kernel: its name and key, or `name-*`."""
    return fnmatchcase(name, f"*.{kernel}.*") and name.endswith((INDEX, CODE))


def bring(folder: Path, kernel: str) -> None:
    """Have the files of a kernel in its folder, from those compiled ahead if there are any that fit, unless they are there.

    kernel: name and key. To be called when it is first called, for most kernels never are, by whoever holds its lock.
    """
    if any(is_of(kernel, file.name) for file in folder.glob(f"*{INDEX}")):
        return
    named = named_folder()
    for ahead in (*brought(), *([named] if named is not None and doubt(named) is None else [])):
        if ahead / folder.name == folder or misfit(ahead):
            continue
        files = files_of(kernel, ahead, folder.name)
        # numba looks for nothing that the index does not name, so that comes last
        for name, content in sorted(files, key=lambda file: file[0].endswith(INDEX)):
            put(folder / name, content)
        if files:
            return


def put(file: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all; raises OSError."""
    part = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        part.write_bytes(content)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
