# SPDX-License-Identifier: GPL-3.0-or-later
"""Detection of a cache that was removed, truncated or replaced while it was written, before the next frame is appended.

The operating system allows writes to a file that was removed, and beyond the end of a file that was truncated.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import BinaryIO

from .records import CacheError

__all__ = ["CacheLost", "refuse_lost"]


class CacheLost(CacheError):
    """The file of a cache was removed, truncated or replaced while it was written. The message describes what remains."""


def refuse_lost(file: BinaryIO, begins: Sequence[int]) -> None:
    """Raise CacheLost unless the file has the name by which it was opened, and ends where its writer stands.

    begins: the bytes at which the records begin that were written.
    """
    path, size = str(file.name), file.tell()
    try:
        here, there = os.fstat(file.fileno()), os.lstat(path)
    except FileNotFoundError:
        raise CacheLost(f"{path}: the cache was removed or moved away while it was baked; bake again") from None
    except OSError as error:
        raise CacheLost(f"{path}: the cache and its frames are no longer accessible: {error.strerror}") from error
    if not os.path.samestat(here, there):
        raise CacheLost(f"{path}: another file replaced the cache while it was baked; bake again")
    if here.st_size < size:
        whole = sum(end <= here.st_size for end in (*begins[1:], size))
        remedy = f"resume, which keeps the intact ones of its first {whole} frames" if whole else "bake again"
        raise CacheLost(f"{path}: the cache was cut to {here.st_size} of {size} bytes while it was baked; {remedy}")
    if here.st_size > size:
        raise CacheLost(f"{path}: another program wrote to the cache while it was baked; resume, which removes its data")
