# SPDX-License-Identifier: GPL-3.0-or-later
"""Trust in compiled kernels: only trusted users may have written them.

numba stores kernels as pickles, which can run any code when they are read. A folder that the user names is therefore used only
if nobody except this user, root and the owner of this package could have written to it. Windows has access control lists in
place of owners and modes; there a named folder is always trusted.
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
    """Return why kernels in a folder are neither read nor stored there; None if they can be. The folder need not exist."""
    if not hasattr(os, "geteuid"):
        return None
    place = folder.resolve()
    there = next(one for one in (place, *place.parents) if one.exists())
    above = (*there.parents, *([] if there == place else [there]))
    # In a folder with the sticky bit, such as /tmp, users cannot remove or replace files of others.
    whys = (who_else(str(one), is_shared_well=bool(one.stat().st_mode & stat.S_ISVTX)) for one in above)
    inside = map(who_else, all_in(place)) if there == place else ()
    why = next(filter(None, (*whys, *inside)), None)
    return why and f"the kernels in {folder} are not used, because they are code and {why}"


def all_in(folder: Path) -> Iterator[str]:
    """Yield the paths of a folder and everything below it."""
    yield str(folder)
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield os.path.join(root, name)


@cache
def trusted() -> frozenset[int]:
    """Return the trusted users: this user, root, and the owner of this package."""
    return frozenset((os.geteuid(), 0, PACKAGE.stat().st_uid))


def who_else(path: str, *, is_shared_well: bool = False) -> str:
    """Return the untrusted user who could have written to a file or a folder; empty if nobody could."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return ""  # the lock file of another compiling process
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
    """Return whether a file's group is the private group of its owner, which many systems create under the same name."""
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
    """Make files created in the block writable only by this user, regardless of the umask of the process."""
    before = os.umask(0)
    os.umask(before | OTHERS)
    try:
        yield
    finally:
        os.umask(before)
