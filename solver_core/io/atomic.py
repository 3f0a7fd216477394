# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a whole file at once: whoever opens its name sees the old content or the new, never half of either."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from ..process.plain_files import FLAGS

__all__ = ["copy_atomically", "write_atomically"]

# Of the file's own name, so that the temporary one is not too long for a file.
NAME_KEPT = 40


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` under the name `path`; raises OSError with that name, and leaves what was there, when it cannot.

    A link of that name is replaced, and what it leads to is left alone.
    """
    with replacing(Path(path)) as file:
        file.write(data)


def copy_atomically(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """The same with the content of another file."""
    with open(source, "rb") as content, replacing(Path(path)) as file:
        shutil.copyfileobj(content, file)


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """A new file, which gets the name `target` once the block has written it."""
    if not target.name or target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    # Beside the target, since a file can only be renamed into place within its file system; by a name that nobody can know and
    # put a link under.
    temporary = target.with_name(f".{target.name[:NAME_KEPT]}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            # Without this a power cut soon after the renaming could leave an empty file under the final name.
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        # writing to an open file, as on a full disk, fails without saying which
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        temporary.unlink(missing_ok=True)
