# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes a whole file at once: whoever opens its name sees the old content or the new, never half of either."""

from __future__ import annotations

import errno
import os
from pathlib import Path

__all__ = ["write_atomically"]


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Put `data` under the name `path`; raises OSError with that name, and leaves what was there, when it cannot."""
    target = Path(path)
    if not target.name or target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    # Beside the target, since a file can only be renamed into place within its file system.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            # Without this a power cut soon after the renaming could leave an empty file under the final name.
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        # writing to an open file, as on a full disk, fails without saying which
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        temporary.unlink(missing_ok=True)
