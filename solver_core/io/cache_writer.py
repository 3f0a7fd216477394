# SPDX-License-Identifier: GPL-3.0-or-later
"""Writer of frame caches: one process at a time appends frames and checkpoints."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Self

from numpy.typing import NDArray

from ..dynamics.model.frame import Frame
from ..process.file_lock import FileLock, LockHeld
from ..process.plain_files import open_plain
from ..scene.spec import SceneSpec, SolverSettings
from .container import (
    begins_otherwise,
    is_foreign,
)
from .kept_modes import NOTHING_BENDS
from .loss import refuse_lost
from .records import (
    HEAD,
    CacheError,
    CacheInfo,
    Checkpoint,
    EarlierFrames,
    SoundRecord,
    cache_digest,
    encode_checkpoint,
    encode_head,
    encode_record,
    read_head,
    sound_records,
)
from .snapshot import snapshot_digest

__all__ = ["CacheHeld", "FrameCacheWriter", "LastFrame"]

OTHER_FILE = "{}: exists and is not a frame cache; choose another file, this one is left as it is"
# s; bound on the work, apart from one frame, that is repeated after a bake is killed.
SECONDS_BETWEEN_CHECKPOINTS = 60.0


class CacheHeld(CacheError):
    """Another process is writing to the cache."""


@dataclass(frozen=True)
class LastFrame:
    """The point at which a bake can continue.

    It contains the number of the last good frame, and the newest checkpoint, or None. If the first frames are from other bakes,
    `seam` is the state after the last of them.
    """

    frame: int
    checkpoint: Checkpoint | None
    seam: dict[str, NDArray[Any]] | None


class FrameCacheWriter:
    """Appends frames to a cache. It is created by `create` or `resume`, and closed by `close` or at the end of a `with` block.

    No other process can open the cache for writing in the meantime.

    last: end of the cache when it was opened; None if it had no frames.
    seconds_between_checkpoints: bound on the work, apart from one frame, that is repeated after the process is killed [s].
    is_locked: False on a file system without locks, where the user must ensure that there is only one writer.
    modes: modes of the flexible bodies, to be set before the first frame.
    """

    def __init__(self, file: BinaryIO, lock: FileLock, info: CacheInfo, last: LastFrame | None, begins: Sequence[int] = ()):
        self.info = info
        self.last = last
        self.is_locked = lock.holds
        self.modes = NOTHING_BENDS
        self.seconds_between_checkpoints = SECONDS_BETWEEN_CHECKPOINTS
        self._file = file
        self._lock = lock
        self._begins = list(begins)  # offsets of the records
        self._kept_at = time.monotonic()
        self._waiting: Checkpoint | None = None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        spec: SceneSpec,
        settings: SolverSettings,
        *,
        digest: str | None = None,
        earlier: tuple[EarlierFrames, ...] = (),
        patience: float = 0.0,
    ) -> Self:
        """Start a cache; one that exists is emptied. digest: of the snapshot file, if there is one that an earlier version may
        have written. earlier: of which bakes its first frames will be.

        Raises CacheHeld when another process still writes to it after `patience` seconds, CacheError when `path` is some other
        file, and OSError.
        """
        if is_foreign(path, HEAD):
            raise CacheError(OTHER_FILE.format(path))
        info = CacheInfo(
            digest=cache_digest(digest or snapshot_digest(spec, settings), earlier),
            bodies=tuple(body.name for body in spec.bodies),
            joints=tuple(joint.name for joint in spec.joints),
            frame_start=spec.frame_start,
            frame_end=spec.frame_end,
            fps=spec.fps,
            time_scale=spec.time_scale,
            substeps=settings.substeps,
            earlier=earlier,
            speeds=() if spec.speed_path is None else tuple(float(speed) for speed in spec.speed_path),
        )
        # Emptied in place, because on Windows a file that a reader has open cannot be replaced.
        with locked(path, os.O_CREAT, patience) as (file, lock):
            if begins_otherwise(file, HEAD):
                raise CacheError(OTHER_FILE.format(path))
            file.truncate(0)
            file.seek(0)
            write_whole(file, encode_head(info))
            return cls(file, lock, info, None)

    @classmethod
    def resume(cls, path: str | os.PathLike[str], digest: str, *, patience: float = 0.0) -> Self:
        """Open a cache to go on with it; `last` is then its last good record, None when it has none.

        What follows the last good record is cut off. digest: of the snapshot that is being baked. Raises CacheHeld as `create`
        does, CacheError when the cache was made from another snapshot or its head is damaged, and OSError.
        """
        with locked(path, 0, patience) as (file, lock):
            info, end = read_head(file)
            if info.digest != cache_digest(digest, info.earlier):
                raise CacheError(
                    f"{path}: this cache was baked from another scene or with other settings (snapshot {info.digest[:8]}, "
                    f"this one is {digest[:8]}); bake without resuming to start it anew, or choose another cache file"
                )
            last, begins = None, []
            for record in sound_records(file, info, end):
                last, end = last_frame(record, last, info), record.end
                begins.append(record.begin)
            file.truncate(end)
            file.seek(end)
            return cls(file, lock, info, last, begins)

    @property
    def last_frame(self) -> int | None:
        """Number of the last frame in the cache, or None."""
        return self._next - 1 if self._begins else None

    @property
    def _next(self) -> int:
        return self.info.frame_start + len(self._begins)

    @property
    def size(self) -> int:
        """Current size of the cache in bytes."""
        return self._file.tell()

    def check(self) -> None:
        """Raise CacheLost unless all that was written is where it was written to."""
        refuse_lost(self._file, self._begins)

    def append(self, frame: Frame, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Append the frame that follows; raises ValueError on a gap, CacheLost, and OSError.

        Of its checkpoint, what a simulation needs to go on after it, the file gets all once in a while, and otherwise what
        another scene would take up.
        """
        self._append(frame, checkpoint)
        self._waiting = Checkpoint(frame.frame, dict(checkpoint))
        if time.monotonic() - self._kept_at >= self.seconds_between_checkpoints:
            self.keep_checkpoint()

    def copy(self, frame: Frame, record: SoundRecord) -> None:
        """Append a frame of another cache, with the checkpoint that it has there; raises ValueError on a gap, and OSError."""
        self._append(frame, record.seam)
        if record.checkpoint is not None:
            write_whole(self._file, encode_checkpoint(record.checkpoint))

    def _append(self, frame: Frame, seam: Mapping[str, NDArray[Any]]) -> None:
        if frame.frame != self._next:
            raise ValueError(f"frame {frame.frame} cannot be appended: frame {self._next} comes next")
        self.check()
        begin = self._file.tell()
        write_whole(self._file, encode_record(frame, seam, NOTHING_BENDS if self._begins else self.modes))
        self._begins.append(begin)
        self._waiting = None

    def remember(self, frame: int, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Remember the checkpoint of an existing frame, so that the one of the last frame can be stored."""
        if frame == self.last_frame:
            self._waiting = Checkpoint(frame, dict(checkpoint))

    def keep_checkpoint(self) -> None:
        """Write the checkpoint of the last frame, unless it is there, so that nothing has to be done again.

        Raises CacheLost and OSError.
        """
        self.check()
        if self._waiting is not None:
            write_whole(self._file, encode_checkpoint(self._waiting))
        self._waiting, self._kept_at = None, time.monotonic()

    def cut(self, frame: int) -> None:
        """Remove the frames from this one on. Raises CacheLost and OSError."""
        self.check()
        begin = self._begins[frame - self.info.frame_start]
        self._file.truncate(begin)
        self._file.seek(begin)
        del self._begins[frame - self.info.frame_start :]
        self._waiting = None

    def close(self) -> None:
        """Close the file and give the lock back."""
        self._file.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def last_frame(record: SoundRecord, before: LastFrame | None, info: CacheInfo) -> LastFrame:
    """Return the point at which a bake can continue after a record, given the point `before` it."""
    checkpoint = before.checkpoint if record.checkpoint is None and before is not None else record.checkpoint
    is_seam = bool(info.earlier) and record.number == info.earlier[-1].last_frame
    seam = record.seam if is_seam else None if before is None else before.seam
    return LastFrame(record.number, checkpoint, seam)


@contextmanager
def locked(path: str | os.PathLike[str], flags: int, patience: float) -> Iterator[tuple[BinaryIO, FileLock]]:
    """Context with the cache opened for writing, with these flags of os.open, once no other process writes to it. If the block
    succeeds, the file and the lock stay open.

    Raises PathRefused for a link, which is not followed.
    """
    try:
        lock = FileLock.acquire(path, patience)
    except LockHeld as holder:
        raise CacheHeld(
            f"{path}: another bake is writing to this cache: {holder}; wait until it has ended, or choose another cache folder"
        ) from None
    try:
        # Unbuffered, so that written data survives if this process is killed.
        file = open(path, "r+b", buffering=0, opener=lambda name, how: open_plain(name, how | flags))  # noqa: SIM115 (stays open)
        try:
            yield file, lock
        except BaseException:
            file.close()
            raise
    except BaseException:
        lock.release()
        raise


def write_whole(file: BinaryIO, data: bytes) -> None:
    """Write all of `data`, or leave the file as it was and raise OSError with the file's name."""
    begin = file.tell()
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]
    except OSError as error:
        file.truncate(begin)
        file.seek(begin)
        raise OSError(error.errno, error.strerror, str(file.name)) from error
