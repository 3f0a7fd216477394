# SPDX-License-Identifier: GPL-3.0-or-later
"""Precompiled kernels, from this machine or another: the platforms that they fit, and how a bake gets them.

A folder of compiled kernels has one folder for each source file (`folders.py`). Once all kernels are in it, it also has
`compiled.json`, which describes the platform that they fit. The package or a wheel of kernels (`make wheels`) may contain such
a folder, with the kernels of each file packed. A render farm may share one that is read-only. Kernels are copied from there to
the cache folder of this machine, because numba writes next to the files that it reads. Each kernel is copied at its first call,
because a bake calls two dozen of the 750 kernels.

The files that numba reads are pickles, which can run any Python code. Therefore only these folders are read: that of the
package, which is as trustworthy as the package; and those of the wheel and the named one (`named_folder`), if no other user
could have written to them (`trust.py`).
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
# Package of a wheel that contains only such a folder, for this Python version and platform.
WHEEL = "stiction_kernels"
MADE_FOR = "compiled.json"
PACKED = ".tar.xz"
# files written by numba
INDEX, CODE = ".nbi", ".nbc"


def named_folder() -> Path | None:
    """Return the folder for kernels that NUMBA_CACHE_DIR names, or that of the Makefile in a clone of the repository.

    Returns None otherwise; the user's cache folder is then used.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return Path(named)
    return BUILT if (CLONE / "Makefile").is_file() and (CLONE / "pyproject.toml").is_file() else None


def brought() -> tuple[Path, ...]:
    """Return the folders of installed kernels: of this package, and of a wheel of kernels. They may be incompatible."""
    folders = (SHIPPED, *filter(None, [wheel_folder()]))
    return tuple(folder for folder in folders if folder.is_dir())


@cache
def wheel_folder() -> Path | None:
    """Return the folder of an installed wheel of kernels; None if there is none, or if other users could have written to it."""
    spec = importlib.util.find_spec(WHEEL)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        folder = Path(place) / SHIPPED.name
        if folder.is_dir() and doubt(folder) is None:
            return folder
    return None


def made_for() -> dict[str, str]:
    """Return the properties of this platform that kernels compiled on it, and the descriptions of their types, depend on."""
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
        # numba uses only numpy's typing rules
        "numpy": ".".join(np.__version__.split(".")[:2]),
        "system": llvm.get_process_triple(),
        "processor": str(vars(config).get("CPU_NAME") or llvm.get_host_cpu_name()),
    }


def say_what_for(folder: Path, sources: str) -> None:
    """Record in a folder that it contains all kernels of these sources, compiled for this machine."""
    text = json.dumps(made_for() | {"sources": sources}, indent=1)
    with written_by_us_alone():
        (folder / MADE_FOR).write_text(text + "\n", encoding="utf-8")


@cache
def misfit(folder: Path) -> str | None:
    """Return why the kernels in a folder cannot be used here; None if they can."""
    try:
        theirs = json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{folder} has no compiled kernels"
    here = made_for()
    differences = [f"{name} {theirs.get(name)}, here is {here[name]}" for name in here if theirs.get(name) != here[name]]
    return f"the kernels in {folder} are for {'; for '.join(differences)}" if differences else None


def is_complete(folder: Path, sources: str) -> bool:
    """Return whether a folder contains all kernels of these sources and they can be used here."""
    if misfit(folder) is not None:
        return False
    return json.loads((folder / MADE_FOR).read_text(encoding="utf-8"))["sources"] == sources


def pack(folder: Path, kernels: Collection[str], into: Path) -> None:
    """Pack the files of some kernels in a folder into one archive in another folder, at a fifth of their size.

    kernels: their names and keys, or `name-*`. No archive is written if there are no files.
    """
    files = [file for file in folder.iterdir() if any(is_of(kernel, file.name) for kernel in kernels)]
    if files:
        with tarfile.open(into / f"{folder.name}{PACKED}", "w:xz") as archive:
            for file in sorted(files):
                archive.add(file, file.name)


def files_of(kernel: str, ahead: Path, folder: str) -> list[tuple[str, bytes]]:
    """Return the names and contents of the files of a kernel in a folder of precompiled kernels, packed or not."""
    plain, packed = ahead / folder, ahead / f"{folder}{PACKED}"
    if plain.is_dir():
        return [(file.name, file.read_bytes()) for file in plain.iterdir() if is_of(kernel, file.name)]
    if not packed.is_file():
        return []
    found = []
    # Read the archive once from start to end, because a step back would unpack it again.
    with tarfile.open(packed) as archive:
        for member in archive:
            # Ignore any folder in the name. The filters of `extractall` need Python 3.11.4.
            name = Path(member.name).name
            content = archive.extractfile(member) if is_of(kernel, name) else None
            if content is not None:
                found.append((name, content.read()))
    return found


def is_of(kernel: str, name: str) -> bool:
    """Return whether a file is numba's index of a kernel or its code. kernel: its name and key, or `name-*`."""
    return fnmatchcase(name, f"*.{kernel}.*") and name.endswith((INDEX, CODE))


def bring(folder: Path, kernel: str) -> None:
    """Copy the files of a kernel to its folder from compatible precompiled ones, unless they are there.

    kernel: name and key. Call this at the first call of the kernel, while holding its lock; most kernels are never called.
    """
    if any(is_of(kernel, file.name) for file in folder.glob(f"*{INDEX}")):
        return
    named = named_folder()
    for ahead in (*brought(), *([named] if named is not None and doubt(named) is None else [])):
        if ahead / folder.name == folder or misfit(ahead):
            continue
        files = files_of(kernel, ahead, folder.name)
        # Last, because numba looks only for files that the index names.
        for name, content in sorted(files, key=lambda file: file[0].endswith(INDEX)):
            put(folder / name, content)
        if files:
            return


def put(file: Path, content: bytes) -> None:
    """Write a file atomically. Raises OSError."""
    part = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        part.write_bytes(content)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
