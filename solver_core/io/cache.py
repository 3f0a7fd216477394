# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame cache: what a worker appends to while it bakes, and what playback reads while it grows.

What is in it, `records` says; they are only ever appended. A writer holds a lock (a file beside the cache) for as long as it is
open. Readers need none, hold no memory map, and keep the file open only while they read, so all of this works on Windows too,
where open files cannot be removed.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Self, TypeVar

from numpy.typing import NDArray

from ..dynamics.model.frame import Frame, FrameContacts
from ..process.file_lock import FileLock, LockHeld
from ..process.plain_files import open_plain
from ..scene.spec import SceneSpec, SolverSettings
from .container import (
    Chunk,
    ChunkPlace,
    ContainerError,
    TruncatedError,
    begins_otherwise,
    encode_chunk,
    is_foreign,
    locate_chunk,
    open_file,
    read_chunk,
)
from .kept_contacts import contacts_from
from .kept_modes import NOTHING_BENDS, SceneModes, decode_modes
from .loss import CacheLost, refuse_lost
from .records import (
    CONTACTS,
    HEAD,
    MODES,
    CacheError,
    CacheInfo,
    Checkpoint,
    EarlierFrames,
    Record,
    SoundRecord,
    cache_digest,
    decode_frame,
    encode_checkpoint,
    encode_record,
    locate_record,
    read_head,
    sound_records,
)
from .snapshot import snapshot_digest

__all__ = [
    "CacheError",
    "CacheHeld",
    "CacheInfo",
    "CacheLost",
    "EarlierFrames",
    "FrameCacheReader",
    "FrameCacheWriter",
    "LastFrame",
    "cache_digest",
    "cache_has_begun",
    "refuse_other_scene",
]

Content = TypeVar("Content")


class CacheHeld(CacheError):
    """Another process is writing to the cache."""


OTHER_FILE = "{}: exists and is not a frame cache; choose another file, this one is left as it is"
# Of work that a bake which was killed does again at most, but for one frame.
SECONDS_BETWEEN_CHECKPOINTS = 60.0
COARSEST_TIME = 2_000_000_000  # ns, of times of change: FAT's


@dataclass(frozen=True)
class LastFrame:
    """Where a bake can go on: the last good frame's number, and the newest checkpoint, None when there is none yet; and where
    the first frames are of other bakes, `seam`, what the last of those hands over."""

    frame: int
    checkpoint: Checkpoint | None
    seam: dict[str, NDArray[Any]] | None


class FrameCacheWriter:
    """Appends frames to a cache; made by `create` or `resume`, closed by `close` or at the end of a `with` block.

    Nobody else can open the cache for writing meanwhile. last: what the cache already ended with when it was opened, None when
    it had no frames. seconds_between_checkpoints: so much work at most, and one frame, has to be done again after the process
    was killed. is_locked: False on a file system without locks, where only the user can see to that. modes: of the bodies that
    bend, to be there before the first frame is.
    """

    def __init__(self, file: BinaryIO, lock: FileLock, info: CacheInfo, last: LastFrame | None, begins: Sequence[int] = ()):
        self.info = info
        self.last = last
        self.is_locked = lock.holds
        self.modes = NOTHING_BENDS
        self.seconds_between_checkpoints = SECONDS_BETWEEN_CHECKPOINTS
        self._file = file
        self._lock = lock
        self._begins = list(begins)  # of the records
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
        )
        # Emptied in place, for a reader may have it open, and Windows would then refuse to replace it.
        with locked(path, os.O_CREAT, patience) as (file, lock):
            if begins_otherwise(file, HEAD):
                raise CacheError(OTHER_FILE.format(path))
            file.truncate(0)
            file.seek(0)
            write_whole(file, encode_chunk(HEAD, dataclasses.asdict(info), {}))
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
        """Number of the last frame in the cache, None when it has none."""
        return self._next - 1 if self._begins else None

    @property
    def _next(self) -> int:
        return self.info.frame_start + len(self._begins)

    @property
    def size(self) -> int:
        """Of the cache so far, in bytes."""
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
        """Have the checkpoint of a frame that is there already; that of the last one can then be kept."""
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
        """Take away the frames from this one on; raises CacheLost and OSError."""
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


def settled_state(file: BinaryIO) -> tuple[int, ...] | None:
    """What changes whenever a file is written to; None as long as another write could have the same time of change."""
    found = os.fstat(file.fileno())
    if time.time_ns() - found.st_mtime_ns < COARSEST_TIME:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class FrameCacheReader:
    """Reads any frame of a cache, also of one that still grows: `refresh` finds what was appended since.

    digest: of the bake that it has to be, None for any. info: the head. damage: what is wrong behind the last
    frame found, None when the file ends cleanly or in the record that is being written. Raises CacheError when the file is no
    cache, its head is damaged or it was baked from another snapshot, and OSError.
    """

    def __init__(self, path: str | os.PathLike[str], digest: str | None = None):
        self.path = os.fspath(path)
        self.digest = digest
        self._state: tuple[int, ...] | None = None
        self.refresh(anew=True)

    @classmethod
    def of_snapshot(cls, path: str | os.PathLike[str], spec: SceneSpec, digest: str) -> Self:
        """The reader of a cache that was baked from the snapshot of this scene with this digest, after other bakes or alone."""
        reader = cls(path)
        refuse_other_scene(reader.path, reader.info, spec)
        reader.digest = cache_digest(digest, reader.info.earlier)
        reader.refresh()
        return reader

    def refresh(self, *, anew: bool = False) -> range:
        """Look for new records, from the beginning when `anew` or when the cache was restarted; returns `frames`."""
        with open_file(self.path) as file:
            state = settled_state(file)
            if anew or state is None or state != self._state:
                self._find_records(file, anew)
            self._state = state
        self._refuse_another(self.info)
        return self.frames

    def _refuse_another(self, info: CacheInfo) -> None:
        if self.digest not in (None, info.digest):
            raise CacheError(
                f"{self.path}: these frames were baked from another scene or with other settings (snapshot "
                f"{info.digest[:8]}, wanted is {self.digest[:8]}); bake again"
            )

    def _find_records(self, file: BinaryIO, anew: bool) -> None:
        info, end = read_head(file)
        self._refuse_another(info)
        if anew or info != self.info or not self._is_continued(file):
            self.info = info
            self._places: list[Record] = []
            self._modes: SceneModes | None = None
            self._end = end
        self.damage: ContainerError | None = None
        try:
            while (record := locate_record(file, self._end)) is not None:
                self._places.append(record)
                self._end = record.last.end
        except TruncatedError:
            pass
        except ContainerError as error:
            self.damage = error

    def _is_continued(self, file: BinaryIO) -> bool:
        """Whether all that was found is there still: the same bake may have been started anew, with contacts or without."""
        if not self._places:
            return file.seek(0, os.SEEK_END) >= self._end
        try:
            return locate_record(file, self._places[-1].frame.offset) == self._places[-1]
        except ContainerError:
            return False

    @property
    def frames(self) -> range:
        """The numbers of the frames that can be read."""
        return range(self.info.frame_start, self.info.frame_start + len(self._places))

    @property
    def has_contacts(self) -> bool:
        """Whether the contacts of any frame were kept."""
        return any(CONTACTS in record.between for record in self._places)

    def read(self, frame: int) -> Frame:
        """The frame of that number, without its contacts; raises CacheError when there is none or it is damaged."""
        sizes = len(self.info.bodies), len(self.info.joints)
        found = self._decoded(frame, self._record(frame).frame, lambda chunk: decode_frame(chunk, *sizes))
        rows = self.modal_rows() if len(found.modal) else {}
        if rows and len(found.modal) != max(one.stop for one in rows.values()):
            raise CacheError(f"{self.path}: frame {frame} has {len(found.modal)} modes, others than the cache; bake again")
        return found

    def contacts(self, frame: int) -> FrameContacts | None:
        """The contacts of the frame of that number, None when they were not kept; raises CacheError as `read` does."""
        place = self._record(frame).between.get(CONTACTS)
        bodies = len(self.info.bodies)
        return None if place is None else self._decoded(frame, place, lambda chunk: contacts_from(chunk.arrays, bodies))

    def modes(self) -> SceneModes:
        """What `modal` of the frames counts; read once, raises CacheError as `read` does."""
        if self._modes is None:
            first, bodies = self.info.frame_start, len(self.info.bodies)
            place = self._record(first).between.get(MODES)
            read = (
                self._decoded(first, place, lambda chunk: decode_modes(chunk, bodies)) if place is not None else NOTHING_BENDS
            )
            self._modes = read
        return self._modes

    def modal_rows(self) -> dict[int, slice]:
        """By the index of each body that bends, its rows in `modal`."""
        return self.modes().rows

    def _record(self, frame: int) -> Record:
        if frame not in self.frames:
            there = f"frames {self.frames[0]} to {self.frames[-1]}" if self.frames else "no frames yet"
            raise CacheError(f"{self.path}: no frame {frame}: the cache has {there}")
        return self._places[frame - self.info.frame_start]

    def _decoded(self, frame: int, place: ChunkPlace, decode: Callable[[Chunk], Content]) -> Content:
        with open_file(self.path) as file:
            try:
                chunk = read_chunk(file, place)
                stored, content = chunk.fields["frame"], decode(chunk)
            except (ContainerError, KeyError, TypeError, ValueError) as error:
                raise CacheError(f"frame {frame} of the cache cannot be read: {error}; resume the bake to repair it") from error
        if stored != frame:
            raise CacheError(f"{self.path}: frame {stored} where {frame} should be; resume the bake to repair it")
        return content

    def __iter__(self) -> Iterator[Frame]:
        return (self.read(frame) for frame in self.frames)


def last_frame(record: SoundRecord, before: LastFrame | None, info: CacheInfo) -> LastFrame:
    """Where a bake can go on after a record, and those `before` it."""
    checkpoint = before.checkpoint if record.checkpoint is None and before is not None else record.checkpoint
    is_seam = bool(info.earlier) and record.number == info.earlier[-1].last_frame
    seam = record.seam if is_seam else None if before is None else before.seam
    return LastFrame(record.number, checkpoint, seam)


def cache_has_begun(path: str | os.PathLike[str]) -> bool:
    """Whether there is anything to resume at `path`: not when no file is there, or one that ends inside the head."""
    try:
        with open_file(path) as file:
            return locate_chunk(file, 0) is not None
    except (FileNotFoundError, TruncatedError):
        return False
    except ContainerError:
        # Something is there, and it is not a cache: `resume` says so.
        return True


@contextmanager
def locked(path: str | os.PathLike[str], flags: int, patience: float) -> Iterator[tuple[BinaryIO, FileLock]]:
    """The cache opened for writing, as it is and with these flags of os.open, once nobody else writes to it; both stay open
    unless the block raises. Raises PathRefused for a link, which is not followed."""
    try:
        lock = FileLock.acquire(path, patience)
    except LockHeld as holder:
        raise CacheHeld(
            f"{path}: another bake is writing to this cache: {holder}; wait until it has ended, or choose another cache folder"
        ) from None
    try:
        # Unbuffered, so that what is written is the operating system's, which keeps it when this process is killed.
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


def refuse_other_scene(path: str, info: CacheInfo, spec: SceneSpec) -> None:
    """Raise CacheError unless a head has the names and times of a scene: a digest is a claim, which anybody can copy."""
    for what, names, parts in (("bodies", info.bodies, spec.bodies), ("joints", info.joints, spec.joints)):
        if names != tuple(part.name for part in parts):
            raise CacheError(f"{path}: its {what} do not match the scene of its digest; bake again")
    times = (info.frame_start, info.frame_end, info.fps, info.time_scale)
    if times != (spec.frame_start, spec.frame_end, spec.fps, spec.time_scale):
        raise CacheError(f"{path}: its frames do not match the scene of its digest; bake again")
