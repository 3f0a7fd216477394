# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels that were compiled ahead, on this machine or on another: what they were made for, and how a bake gets them.

A folder of compiled kernels has one folder for each state of a file's sources (`kernel_cache.py`), and, once all kernels are
in it, `compiled.json`, which tells what they fit. It may have been brought along by the package, each file's kernels packed, or
be common to the machines of a farm and not to be written to. Kernels are copied from there, a file's at a time, to where this
machine keeps its own: for numba writes next to what it reads.

What numba reads there are pickles, which can do anything that Python can. So nothing is read but the package's own folder,
which is as much to be trusted as the package, and the one that the user names by NUMBA_CACHE_DIR, where nobody else could have
written to it (`trust.py`).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path

from .trust import doubt, written_by_us_alone

__all__ = ["MADE_FOR", "SHIPPED", "bring", "is_complete", "made_for", "misfit", "pack", "say_what_for"]

SHIPPED = Path(__file__).resolve().parents[1] / "compiled"
MADE_FOR = "compiled.json"
PACKED = ".tar.xz"


def made_for() -> dict[str, str]:
    """What kernels fit that are compiled here and now, all of which their machine code or its description may depend on."""
    import llvmlite
    import numba
    import numpy as np
    from llvmlite import binding as llvm
    from numba.core import config

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


def pack(folder: Path, into: Path) -> None:
    """Pack a folder with a file's kernels into one archive, in another folder: a fifth of its size."""
    with tarfile.open(into / f"{folder.name}{PACKED}", "w:xz") as archive:
        archive.add(folder, folder.name)


def unpack(packed: Path, folder: Path) -> None:
    """Unpack the files of an archive into a new folder, whatever folders they claim to be in.

    Python 3.11 has the filters of `extractall` from its fourth release on only.
    """
    folder.mkdir()
    with tarfile.open(packed) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                with content, open(folder / Path(member.name).name, "wb") as file:
                    shutil.copyfileobj(content, file)


def bring(folder: Path) -> None:
    """Fill the folder for a file's kernels, which is not there yet, with those compiled ahead, if there are any that fit."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    for ahead in (SHIPPED, *([Path(named)] if named and doubt(Path(named)) is None else [])):
        plain, packed = ahead / folder.name, ahead / f"{folder.name}{PACKED}"
        if plain == folder or not (plain.is_dir() or packed.is_file()) or misfit(ahead):
            continue
        folder.parent.mkdir(parents=True, exist_ok=True)
        # another process may be about the same
        with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
            copy = Path(beside) / folder.name
            if plain.is_dir():
                shutil.copytree(plain, copy, copy_function=shutil.copyfile)
            else:
                unpack(packed, copy)
            try:
                os.rename(copy, folder)
            except OSError:
                if not folder.is_dir():
                    raise
        return
