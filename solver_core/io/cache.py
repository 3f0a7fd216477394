# SPDX-License-Identifier: GPL-3.0-or-later
"""The frame cache. A worker appends to it while it bakes (`cache_writer`), and playback reads it while it grows.

`records` describes its content. Records are only ever appended. A writer holds a lock (a file beside the cache) while the cache
is open. Readers need no lock, use no memory map, and keep the file open only while they read. This also works on Windows, where
open files cannot be removed.
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


COARSEST_TIME = 2_000_000_000  # ns; resolution of modification times on FAT


def settled_state(file: BinaryIO) -> tuple[int, ...] | None:
    """Return a value that changes with every write to a file, or None if another write could still have the same time of
    change."""
    found = os.fstat(file.fileno())
    if time.time_ns() - found.st_mtime_ns < COARSEST_TIME:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class FrameCacheReader:
    """Reads any frame of a cache, even while the cache grows; `refresh` finds new frames.

    digest: required digest of the bake, or None for any.
    info: the head of the cache.
    damage: description of the damage after the last good frame; None if the file ends properly or within the record that is
        being written.

    Raises OSError, and CacheError if the file is not a cache, its head is damaged, or it was baked from another snapshot.
    """

    def __init__(self, path: str | os.PathLike[str], digest: str | None = None):
        self.path = os.fspath(path)
        self.digest = digest
        self._state: tuple[int, ...] | None = None
        self.refresh(anew=True)

    @classmethod
    def of_snapshot(cls, path: str | os.PathLike[str], spec: SceneSpec, digest: str) -> Self:
        """Return the reader of a cache baked from the snapshot with this digest, alone or after frames of other bakes."""
        reader = cls(path)
        refuse_other_scene(reader.path, reader.info, spec)
        reader.digest = cache_digest(digest, reader.info.earlier)
        reader.refresh()
        return reader

    def refresh(self, *, anew: bool = False) -> range:
        """Look for new records, from the start if `anew` or if the cache was restarted. Returns `frames`."""
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
        """Return True if all known records are still there. The same bake may have been restarted, with or without contacts."""
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
        """True if the contacts of any frame were stored."""
        return any(CONTACTS in record.between for record in self._places)

    def read(self, frame: int) -> Frame:
        """Return a frame without its contacts. Raises CacheError if it does not exist or is damaged."""
        sizes = len(self.info.bodies), len(self.info.joints)
        found = self._decoded(frame, self._record(frame).frame, lambda chunk: decode_frame(chunk, *sizes))
        rows = self.modal_rows() if len(found.modal) else {}
        if rows and len(found.modal) != max(one.stop for one in rows.values()):
            raise CacheError(f"{self.path}: frame {frame} has {len(found.modal)} modes, others than the cache; bake again")
        return found

    def contacts(self, frame: int) -> FrameContacts | None:
        """Return the contacts of a frame, or None if they were not stored. Raises CacheError, see `read`."""
        place = self._record(frame).between.get(CONTACTS)
        bodies = len(self.info.bodies)
        return None if place is None else self._decoded(frame, place, lambda chunk: contacts_from(chunk.arrays, bodies))

    def modes(self) -> SceneModes:
        """Return the modes to which the `modal` coordinates of the frames belong. They are read once. Raises CacheError, see
        `read`."""
        if self._modes is None:
            first, bodies = self.info.frame_start, len(self.info.bodies)
            place = self._record(first).between.get(MODES)
            read = (
                self._decoded(first, place, lambda chunk: decode_modes(chunk, bodies)) if place is not None else NOTHING_BENDS
            )
            self._modes = read
        return self._modes

    def modal_rows(self) -> dict[int, slice]:
        """The rows in `modal` of each flexible body, by body index."""
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
    """Return True if a bake at `path` can be resumed: the file exists and does not end inside the head."""
    try:
        with open_file(path) as file:
            return locate_chunk(file, 0) is not None
    except (FileNotFoundError, TruncatedError):
        return False
    except ContainerError:
        # The file is not a cache, which `resume` reports.
        return True


def refuse_other_scene(path: str, info: CacheInfo, spec: SceneSpec) -> None:
    """Raise CacheError unless a head has the names and times of a scene: a digest is a claim, which anybody can copy."""
    for kind, names, parts in (("bodies", info.bodies, spec.bodies), ("joints", info.joints, spec.joints)):
        if names != tuple(part.name for part in parts):
            raise CacheError(f"{path}: its {kind} do not match the scene of its digest; bake again")
    times = (info.frame_start, info.frame_end, info.fps, info.time_scale, info.speeds)
    speeds = () if spec.speed_path is None else tuple(float(speed) for speed in spec.speed_path)
    if times != (spec.frame_start, spec.frame_end, spec.fps, spec.time_scale, speeds):
        raise CacheError(f"{path}: its frames do not match the scene of its digest; bake again")
