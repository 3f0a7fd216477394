# SPDX-License-Identifier: GPL-3.0-or-later
"""A file lock that the operating system releases when its process ends, for Linux, macOS and Windows.

It uses flock, or a locked byte on Windows, on a file beside the protected one. On a network it works between machines if the
file system passes locks to its server. NFS and SMB do, unless mounted with the options nolock or nobrl. If a file system has no
locks, `FileLock.holds` is False.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Self

from .plain_files import PathRefused, open_plain

__all__ = ["FileLock", "LockHeld"]

SECONDS_BETWEEN_TRIES = 0.1
# Windows lets nobody read what is locked; this byte lies behind everything that is ever written.
LOCKED_BYTE = 1 << 30
MAX_LOCK_BYTES = 4096
# What is written into a lock's file begins with this.
LOCK_BEGINS = b'{"process"'
LOCKED_ERRORS = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK, errno.EDEADLK}
WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}


class LockHeld(Exception):
    """Another process holds the lock. The message says which one, where and since when."""


class FileLock:
    """A lock on the file `path`. Created by `acquire` and ended by `release`.

    holds: whether it excludes other processes; False if the file system has no locks.
    """

    def __init__(self, path: Path, descriptor: int, holds: bool):
        self.holds = holds
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, path: str | os.PathLike[str], patience: float = 0.0) -> Self:
        """Lock the file, which need not exist. Raises LockHeld when it is still held after `patience` seconds, PathRefused when
        the lock's own name leads to something else, and OSError."""
        beside = Path(f"{os.fspath(path)}.lock")
        deadline = time.monotonic() + patience
        while True:
            descriptor = open_plain(beside, os.O_RDWR | os.O_CREAT)
            try:
                refuse_other_file(beside, descriptor)
                holds = lock(descriptor)
                # Its last holder may have removed the file since we opened it; a lock on that would keep nobody out.
                if holds is None or is_still(beside, descriptor):
                    write_holder(descriptor)
                    return cls(beside, descriptor, holds is not None)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    holder = read_holder(descriptor)
                    os.close(descriptor)
                    raise LockHeld(holder) from None
                time.sleep(SECONDS_BETWEEN_TRIES)
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def release(self) -> None:
        """Release the lock and remove its file. A second call does nothing."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        if sys.platform == "win32":
            os.close(descriptor)
        # On Windows somebody may have opened it by now, and it stays; elsewhere it goes while it is still locked. Where its
        # folder was taken away meanwhile, another's lock may have this name.
        with suppress(OSError):
            if sys.platform == "win32" or is_still(self._path, descriptor):
                self._path.unlink()
        if sys.platform != "win32":
            os.close(descriptor)


def lock(descriptor: int) -> bool | None:
    """Lock an open file. Returns None if the file system has no locks. Raises BlockingIOError if the lock is held."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in LOCKED_ERRORS:
            raise BlockingIOError(error.errno, error.strerror) from error
        if error.errno in WITHOUT_LOCKS:
            return None
        raise
    return True


def is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def refuse_other_file(path: Path, descriptor: int) -> None:
    """Raise PathRefused where an open file is neither empty nor a lock's, for it will be written over."""
    found = os.read(descriptor, len(LOCK_BEGINS))
    if not LOCK_BEGINS.startswith(found):
        raise PathRefused(path, "exists and is not the lock of a bake; it is left as it is, move it away")


def write_holder(descriptor: int) -> None:
    since = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
    holder = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, json.dumps(holder).encode())


def read_holder(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        holder = json.loads(os.read(descriptor, MAX_LOCK_BYTES))
        return f"process {holder['process']} on {holder['host']}, since {holder['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that has not yet said which"
