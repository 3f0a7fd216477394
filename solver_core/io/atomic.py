# SPDX-License-Identifier: GPL-3.0-or-later
"""Atomic writes of whole files: a reader sees either the old content or the new content, never a part."""

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

# Characters of the target's name in the temporary name, which must not be too long.
NAME_KEPT = 40


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write `data` to `path` atomically.

    A symbolic link is replaced, and its target is unchanged. Raises OSError with the name of the file; the old content then
    remains.
    """
    with replacing(Path(path)) as file:
        file.write(data)


def copy_atomically(source: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Copy another file to `path`, like `write_atomically`."""
    with open(source, "rb") as content, replacing(Path(path)) as file:
        shutil.copyfileobj(content, file)


@contextmanager
def replacing(target: Path) -> Iterator[BinaryIO]:
    """Context with a new file, which is renamed to `target` after the block has written it."""
    if not target.name or target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    # In the folder of the target, because files can be renamed only within a file system. The name is unpredictable, so that
    # nobody can place a link there.
    temporary = target.with_name(f".{target.name[:NAME_KEPT]}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, 0o666)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            # Without this, a power failure soon after the rename could leave an empty file.
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        # Errors when writing to an open file, such as a full disk, do not name the file.
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        temporary.unlink(missing_ok=True)
