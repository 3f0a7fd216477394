# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether compiled kernels can only have come from those who could have us run anything anyway.

numba keeps kernels as pickles, which do whatever they say when they are read. So a folder that the user names is taken only
where nobody else could have put anything into it: this user, root, and whoever owns this package. Windows has lists of rights
in place of owners and modes; there the name is all that is asked for.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

__all__ = ["doubt", "written_by_us_alone"]

PACKAGE = Path(__file__).resolve().parents[1]
OTHERS = stat.S_IWGRP | stat.S_IWOTH


@cache
def doubt(folder: Path) -> str | None:
    """Why kernels in a folder are not read, nor any kept there; None where they can be. It need not exist."""
    if not hasattr(os, "geteuid"):
        return None
    place = folder.resolve()
    there = next(one for one in (place, *place.parents) if one.exists())
    above = (*there.parents, *([] if there == place else [there]))
    # of a folder as /tmp is, nobody takes away or replaces what is another's
    whys = (who_else(str(one), is_shared_well=bool(one.stat().st_mode & stat.S_ISVTX)) for one in above)
    inside = map(who_else, all_in(place)) if there == place else ()
    why = next(filter(None, (*whys, *inside)), None)
    return why and f"the kernels in {folder} are not used, because they are code and {why}"


def all_in(folder: Path) -> Iterator[str]:
    """A folder and everything below it."""
    yield str(folder)
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield os.path.join(root, name)


@cache
def trusted() -> frozenset[int]:
    """Whose files we run anyway: our own, root's, and those of the owner of this package."""
    return frozenset((os.geteuid(), 0, PACKAGE.stat().st_uid))


def who_else(path: str, *, is_shared_well: bool = False) -> str:
    """Who else could have written to a file or a folder; empty where nobody could."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""  # the lock of another process that compiles
    if stat.S_ISLNK(found.st_mode):
        return f"{path} is a link, which may lead anywhere"
    if found.st_uid not in trusted():
        return f"{path} belongs to {name_of(found.st_uid)}"
    if is_shared_well or not found.st_mode & OTHERS:
        return ""
    if found.st_mode & stat.S_IWOTH:
        return f"everybody may write to {path} (chmod -R go-w)"
    return "" if is_private(found) else f"a group may write to {path} (chmod -R go-w)"


def is_private(found: os.stat_result) -> bool:
    """Whether a file's group is its owner's own, as many systems give each user one of the same name."""
    import grp

    try:
        group = grp.getgrgid(found.st_gid)
    except KeyError:
        return False
    return group.gr_name == name_of(found.st_uid) and set(group.gr_mem) <= {group.gr_name}


def name_of(user: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


@contextmanager
def written_by_us_alone() -> Iterator[None]:
    """Have what is made in the block writable by this user alone, however generous the process is otherwise."""
    before = os.umask(0)
    os.umask(before | OTHERS)
    try:
        yield
    finally:
        os.umask(before)
