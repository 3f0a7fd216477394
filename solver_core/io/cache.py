# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame cache: what a worker appends to while it bakes (`cache_writer`), and what playback reads while it grows.

What is in it, `records` says; they are only ever appended. A writer holds a lock (a file beside the cache) for as long as it is
open. Readers need none, hold no memory map, and keep the file open only while they read, so all of this works on Windows too,
where open files cannot be removed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO, Self, TypeVar

from ..dynamics.model.frame import Frame, FrameContacts
from ..scene.spec import SceneSpec
from .container import (
    Chunk,
    ChunkPlace,
    ContainerError,
    TruncatedError,
    locate_chunk,
    open_file,
    read_chunk,
)
from .kept_contacts import contacts_from
from .kept_modes import NOTHING_BENDS, SceneModes, decode_modes
from .loss import CacheLost
from .records import (
    CONTACTS,
    MODES,
    CacheError,
    CacheInfo,
    EarlierFrames,
    Record,
    cache_digest,
    decode_frame,
    locate_record,
    read_head,
)

__all__ = [
    "CacheError",
    "CacheInfo",
    "CacheLost",
    "EarlierFrames",
    "FrameCacheReader",
    "cache_digest",
    "cache_has_begun",
    "refuse_other_scene",
]

Content = TypeVar("Content")


COARSEST_TIME = 2_000_000_000  # ns, of times of change: FAT's


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


def refuse_other_scene(path: str, info: CacheInfo, spec: SceneSpec) -> None:
    """Raise CacheError unless a head has the names and times of a scene: a digest is a claim, which anybody can copy."""
    for what, names, parts in (("bodies", info.bodies, spec.bodies), ("joints", info.joints, spec.joints)):
        if names != tuple(part.name for part in parts):
            raise CacheError(f"{path}: its {what} do not match the scene of its digest; bake again")
    times = (info.frame_start, info.frame_end, info.fps, info.time_scale, info.speeds)
    speeds = () if spec.speed_path is None else tuple(float(speed) for speed in spec.speed_path)
    if times != (spec.frame_start, spec.frame_end, spec.fps, spec.time_scale, speeds):
        raise CacheError(f"{path}: its frames do not match the scene of its digest; bake again")
