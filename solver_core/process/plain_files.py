# SPDX-License-Identifier: GPL-3.0-or-later
"""Safe opening of files for writing in folders that other users may write to.

The names of caches and locks are predictable. A user who may write to their folder could place a link there to a private file
of this user, which would then be overwritten.
"""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["PathRefused", "open_plain"]

# None of the last three exists on Windows, which translates line ends instead, unless it is asked not to.
FLAGS = sum(getattr(os, name, 0) for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"))


class PathRefused(OSError):
    """A path is not written to because of the file that it leads to. The message names it, and the remedy."""

    def __init__(self, path: str | os.PathLike[str], reason: str):
        super().__init__(errno.EEXIST, reason, os.fspath(path))

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def open_plain(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file with the flags of os.open and return its descriptor. The file is never truncated.

    Raises PathRefused for a symbolic link, a file with a second name (a hard link), or anything but a file; and OSError.
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
