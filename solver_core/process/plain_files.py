# SPDX-License-Identifier: GPL-3.0-or-later
"""Files in folders that others may write to as well: opened for writing only where nothing else can be meant by their names.

The names of caches and locks are known beforehand. Whoever may write to their folder could put a link there, to a file that is
ours alone, and have it emptied by us.
"""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["PathRefused", "open_plain"]

# None of the last three exists on Windows, which translates line ends instead, unless it is asked not to.
FLAGS = sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


class PathRefused(OSError):
    """A path is not written to for what it leads to; says what that is, and what to do."""

    def __init__(self, path: str | os.PathLike[str], reason: str):
        super().__init__(errno.EEXIST, reason, os.fspath(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def open_plain(path: str | os.PathLike[str], flags: int) -> int:
    """The descriptor of a file, opened with the flags of os.open; it is not emptied, whatever they say.

    Raises PathRefused for a link, for a file that has another name too (a hard link), and for what is no file; and OSError.
    """
    try:
        descriptor = os.open(path, (flags & ~os.O_TRUNC) | FLAGS, 0o666)
    except OSError as error:
        if os.path.islink(path):
            raise PathRefused(path, "is a link, which is not followed; remove it, or choose another folder") from error
        raise
    try:
        found = os.fstat(descriptor)
        # Windows has followed it
        if os.path.islink(path):
            raise PathRefused(path, "is a link, which is not followed; remove it, or choose another folder")
        if not stat.S_ISREG(found.st_mode):
            raise PathRefused(path, "is no file; remove it, or choose another folder")
        if found.st_nlink > 1:
            raise PathRefused(path, "is another file's second name (a hard link); remove it, or choose another folder")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
