# SPDX-License-Identifier: GPL-3.0-or-later
"""The content of a frame cache: its head, and a record for each frame.

    head                     digest of the bake, names of the bodies and joints, frame range, fps, earlier frames
    frame, seam              a record: the frame as it is displayed, then the state that another scene needs to continue
    frame, contacts, seam    the same with contacts, if they were requested
    frame, modes, seam       the first record if bodies are flexible: the modes to which `modal` of all frames belongs
    checkpoint               after some of the records: the complete state for the next step, bit for bit
    ...

A record starts with its frame and ends with its seam. Chunks of unknown kinds between them are skipped. Records follow each
other with consecutive frame numbers, so the number of a frame gives its position. A checkpoint is four times as large as a
frame. It is therefore stored only from time to time, and a resumed bake simulates the frames after it again. Caches of an
earlier version have a checkpoint in place of each seam. A reader skips seams and checkpoints without reading them.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..dynamics.model.frame import TAKEN_UP, Frame, FrameStatistics
from ..dynamics.model.violations import Violation
from ..problem.result import Found, Status
from .container import Chunk, ChunkPlace, ContainerError, TruncatedError, encode_chunk, locate_chunk, read_chunk
from .kept_contacts import contacts_from, contacts_to_arrays
from .kept_modes import MODES, NOTHING_BENDS, SceneModes, decode_modes, encode_modes
from .snapshot import decode

__all__ = [
    "CONTACTS",
    "HEAD",
    "MODES",
    "CacheError",
    "CacheInfo",
    "Checkpoint",
    "EarlierFrames",
    "Record",
    "SoundRecord",
    "cache_digest",
    "decode_frame",
    "encode_checkpoint",
    "encode_record",
    "locate_record",
    "read_head",
    "sound_records",
]

HEAD = "head"
# Blender's own limit is a million.
MOST_FRAMES = 1 << 31
FRAME = "fram"
CONTACTS = "cont"
SEAM = "seam"
CHECKPOINT = "chkp"
# Arrays left out of a seam for scenes without joints, for which they are zero.
OF_JOINTS = ("joint_angle", "joint_twist")
# The same for scenes without flexible bodies.
OF_BENDING = ("modal_velocity",)
# Either kind ends a record, the second one in caches of an earlier version.
ENDS = (SEAM, CHECKPOINT)

PAIRS = ("worst_pair", "deepest_pair", "chosen_pair")
# Statistics with more than one number per step.
WIDTHS: dict[str, tuple[int, ...]] = {
    "found": (len(Found),),
    "violations": (len(Violation),),
    "violating_pairs": (len(Violation), 2),
    **dict.fromkeys(PAIRS, (2,)),
}
STATISTICS = tuple(field.name for field in dataclasses.fields(FrameStatistics))
TYPES = {
    field.name: np.dtype(np.int64 if "int64" in str(field.type) else np.float64)
    for field in dataclasses.fields(FrameStatistics)
}
# Left out of frames without violations.
OF_VIOLATIONS = ("violations", "violating_pairs")
# Statistics that are missing in caches of earlier versions, and their values there.
LATER = {
    "moving": 0,
    "spin": 0.0,
    "spinning_body": -1,
    "chosen_normals": 0,
    "chosen_pair": -1,
    "violations": 0,
    "violating_pairs": -1,
}
# Former names.
FORMER_STATISTICS = {"moving": "crowd"}


class CacheError(ValueError):
    """A frame cache cannot be used for the requested purpose."""


@dataclass(frozen=True)
class EarlierFrames:
    """The frames up to last_frame, after those of the previous segment, are from the bake with this digest.

    differences: differences of that bake's inputs, in words.
    """

    last_frame: int
    digest: str
    differences: tuple[str, ...]


@dataclass(frozen=True)
class CacheInfo:
    """Head of a cache.

    digest: digest of the bake, see `cache_digest`.
    bodies: names, in the order of the poses.
    joints: names, in the order of the reactions.
    frame_start, frame_end, fps, time_scale, substeps: the timing.
    earlier: segments of frames from other bakes, the first frames first.
    speeds: time scale on the way to each frame if it changes, otherwise empty.
    """

    digest: str
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    frame_start: int
    frame_end: int
    fps: float
    time_scale: float
    substeps: int
    earlier: tuple[EarlierFrames, ...] = ()
    speeds: tuple[float, ...] = ()

    def seconds_to(self, frame: int) -> float:
        """Return the simulated time between a frame and the previous one [s]."""
        row = min(max(frame - self.frame_start, 0), len(self.speeds) - 1)
        return (self.speeds[row] if self.speeds else self.time_scale) / self.fps


def cache_digest(snapshot: str, earlier: tuple[EarlierFrames, ...]) -> str:
    """Return the digest of a bake: that of its snapshot, combined with the segments of other bakes if there are any."""
    if not earlier:
        return snapshot
    parts = [snapshot, *(f"{part.digest} {part.last_frame}" for part in earlier)]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


@dataclass(frozen=True)
class Record:
    """Locations of the chunks of one frame: the frame, the chunk that ends the record, and the chunks between them by kind."""

    frame: ChunkPlace
    between: dict[str, ChunkPlace]
    last: ChunkPlace


@dataclass(frozen=True)
class Checkpoint:
    """The state from which a simulation continues after the frame with this number."""

    frame: int
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class SoundRecord:
    """A record without damage: the number of its frame, its start and end, its checkpoint or None, and the state that another
    scene needs to continue."""

    number: int
    begin: int
    end: int
    seam: dict[str, NDArray[Any]]
    checkpoint: Checkpoint | None


def encode_record(frame: Frame, seam: Mapping[str, NDArray[Any]], modes: SceneModes = NOTHING_BENDS) -> bytes:
    """Return the bytes of a frame's record. The seam, or a whole checkpoint, gives the state for other scenes. modes: modes of
    the first frame."""
    silent = () if frame.statistics.violations.any() else OF_VIOLATIONS
    statistics = {f"statistics.{name}": getattr(frame.statistics, name) for name in STATISTICS if name not in silent}
    joints = {"reactions": frame.reactions, "broken": frame.broken, "giving_way": frame.giving_way}
    arrays = {"poses": frame.poses, "velocities": frame.velocities, **joints, **statistics}
    if len(frame.modal):
        arrays["modal"] = frame.modal
    fields = {"frame": frame.frame}
    record = encode_chunk(FRAME, fields, arrays)
    if frame.contacts is not None:
        record += encode_chunk(CONTACTS, fields, contacts_to_arrays(frame.contacts))
    if modes.bodies:
        record += encode_modes(modes, **fields)
    idle = (*(() if len(frame.reactions) else OF_JOINTS), *(() if len(frame.modal) else OF_BENDING))
    names = [name for name in TAKEN_UP if name in seam and name not in idle]
    return record + encode_chunk(SEAM, fields, {name: seam[name] for name in names})


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """Return the bytes of a checkpoint, which follows the record of its frame."""
    return encode_chunk(CHECKPOINT, {"frame": checkpoint.frame}, checkpoint.arrays)


def encode_head(info: CacheInfo) -> bytes:
    """Return the bytes of a head. Without speeds it equals that of earlier versions, which can then read it."""
    fields = dataclasses.asdict(info)
    return encode_chunk(HEAD, {name: value for name, value in fields.items() if name != "speeds" or value}, {})


def read_head(file: BinaryIO) -> tuple[CacheInfo, int]:
    """Return the head and the offset after it. Raises CacheError."""
    try:
        place = locate_chunk(file, 0)
        if place is None:
            raise CacheError(f"{file.name}: the frame cache is empty; its bake has not begun, start it anew")
        if place.kind != HEAD:
            raise CacheError(f"{file.name}: begins with a {place.kind!r} chunk, it is not a frame cache")
        fields = read_chunk(file, place).fields
        info = decode({"earlier": [], "speeds": [], **fields}, CacheInfo, "head", Chunk(HEAD, fields, {}))
        refuse_odd_times(info)
        return info, place.end
    except (ContainerError, ValueError, TypeError, OverflowError) as error:
        if isinstance(error, CacheError):
            raise
        raise CacheError(f"not a frame cache, or its head is damaged ({error}); start the bake anew") from error


def refuse_odd_times(info: CacheInfo) -> None:
    """Raise ValueError where no bake has such times."""
    if not (-MOST_FRAMES <= info.frame_start <= info.frame_end <= MOST_FRAMES):
        raise ValueError(f"frames {info.frame_start} to {info.frame_end}")
    if info.substeps < 1 or not (0.0 < info.fps < math.inf and 0.0 < info.time_scale < math.inf):
        raise ValueError(f"{info.substeps} substeps at {info.fps} frames a second and a time scale of {info.time_scale}")
    if info.speeds and len(info.speeds) != info.frame_end - info.frame_start + 1:
        raise ValueError(f"{len(info.speeds)} speeds for {info.frame_end - info.frame_start + 1} frames")
    if not all(0.0 <= speed < math.inf for speed in info.speeds):
        raise ValueError("speeds that are not finite, or below 0")
    lasts = [part.last_frame for part in info.earlier]
    if lasts != sorted(set(lasts)) or not all(info.frame_start <= last <= info.frame_end for last in lasts):
        raise ValueError(f"earlier frames up to {lasts}")


def locate_record(file: BinaryIO, offset: int) -> Record | None:
    """Return the record at `offset`, or after a checkpoint there, without reading it; None at the end.

    Raises ContainerError.
    """
    frame = locate_chunk(file, offset)
    if frame is not None and frame.kind == CHECKPOINT:
        frame = locate_chunk(file, frame.end)
    if frame is None:
        return None
    if frame.kind != FRAME:
        raise ContainerError(str(file.name), frame.offset, f"a {frame.kind!r} chunk instead of a frame")
    between: dict[str, ChunkPlace] = {}
    end = frame.end
    while (chunk := locate_chunk(file, end)) is not None and chunk.kind not in ENDS:
        if chunk.kind == FRAME or chunk.kind in between:
            raise ContainerError(str(file.name), end, f"a {chunk.kind!r} chunk instead of the end of a record")
        between[chunk.kind] = chunk
        end = chunk.end
    if chunk is None:
        raise TruncatedError(str(file.name), end, "the file ends inside the record of its last frame")
    return Record(frame, between, chunk)


def sound_records(file: BinaryIO, info: CacheInfo, offset: int) -> Iterator[SoundRecord]:
    """Yield the records from `offset` on, up to the first damaged one."""
    expected = info.frame_start
    try:
        while (record := locate_record(file, offset)) is not None:
            frame, last = read_chunk(file, record.frame), read_chunk(file, record.last)
            numbers = [chunk.fields.get("frame") for chunk in (frame, last)]
            numbers += [read_chunk(file, place).fields.get("frame", expected) for place in record.between.values()]
            if any(number != expected for number in numbers) or not makes_sense(file, record, frame, info):
                return
            none = {"joint_angle": np.zeros((len(info.joints), 3)), "joint_twist": np.zeros((len(info.bodies), 6))}
            checkpoint, end = checkpoint_behind(file, last, record.last.end, expected)
            yield SoundRecord(expected, record.frame.offset, end, none | last.arrays, checkpoint)
            offset = end
            expected += 1
    except ContainerError:
        # These errors end the iteration, and the caller truncates the file here.
        return


def makes_sense(file: BinaryIO, record: Record, frame: Chunk, info: CacheInfo) -> bool:
    """Return True if the frame and the contacts of a record can be decoded. A valid checksum does not guarantee it."""
    try:
        decode_frame(frame, len(info.bodies), len(info.joints))
        if CONTACTS in record.between:
            contacts_from(read_chunk(file, record.between[CONTACTS]).arrays, len(info.bodies))
        if MODES in record.between:
            decode_modes(read_chunk(file, record.between[MODES]), len(info.bodies))
    except (KeyError, TypeError, ValueError):
        return False
    return True


def checkpoint_behind(file: BinaryIO, last: Chunk, end: int, frame: int) -> tuple[Checkpoint | None, int]:
    """Return the checkpoint that ends a record or follows it, and its end. It is None if there is none or it is damaged."""
    if last.kind == CHECKPOINT:
        return Checkpoint(frame, last.arrays), end
    try:
        place = locate_chunk(file, end)
        chunk = None if place is None or place.kind != CHECKPOINT else read_chunk(file, place)
    except ContainerError:
        # The frames before it are good, and a later read reports the damage.
        return None, end
    if place is None or chunk is None or chunk.fields.get("frame") != frame:
        return None, end
    return Checkpoint(frame, chunk.arrays), place.end


def decode_frame(chunk: Chunk, bodies: int, joints: int) -> Frame:
    """Return the frame in a chunk, for a scene with these numbers of bodies and joints. Raises KeyError and ValueError for
    invalid content."""
    arrays = {name: chunk.arrays[name] for name in ("poses", "velocities", "reactions", "broken")}
    # missing in caches of an earlier version
    arrays["giving_way"] = chunk.arrays.get("giving_way", np.zeros(joints))
    statistics = {name: chunk.arrays[f"statistics.{name}"] for name in STATISTICS if name not in LATER}
    steps = statistics["status"].size
    for name, of_all in LATER.items():
        there = (f"statistics.{one}" for one in (name, FORMER_STATISTICS.get(name, name)))
        absent = np.full((steps, *WIDTHS.get(name, ())), of_all)
        statistics[name] = next((chunk.arrays[one] for one in there if one in chunk.arrays), absent)
    statistics["found"] = with_later_columns(statistics["found"])
    shapes = {"poses": (bodies, 7), "velocities": (bodies, 6), "reactions": (joints, 6)}
    shapes |= {"broken": (joints,), "giving_way": (joints,)}
    shapes |= {name: (steps, *WIDTHS.get(name, ())) for name in statistics}
    types = {"broken": np.dtype(bool)} | TYPES
    for name, array in (arrays | statistics).items():
        wanted = types.get(name, np.dtype(np.float64))
        if array.shape != shapes[name] or array.dtype != wanted:
            raise ValueError(f"array {name!r} has the shape {array.shape} of {array.dtype}, not {shapes[name]} of {wanted}")
    # empty without flexible bodies
    arrays["modal"] = modal = chunk.arrays.get("modal", np.zeros(0))
    if modal.ndim != 1 or modal.dtype != np.dtype(np.float64):
        raise ValueError(f"array 'modal' has the shape {modal.shape} of {modal.dtype}")
    for name in ("poses", "velocities", "modal"):
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"array {name!r} has numbers that are not finite")
    for name in (*PAIRS, "spinning_body", "violating_pairs"):
        if not ((statistics[name] >= -1) & (statistics[name] < bodies)).all():
            raise ValueError(f"array {name!r} names bodies that the scene of {bodies} does not have")
    if not np.isin(statistics["status"], list(Status)).all():
        raise ValueError("array 'status' has values that are no status")
    whole = FrameStatistics(**statistics)
    of_joints = arrays["reactions"], arrays["broken"], arrays["giving_way"]
    return Frame(chunk.fields["frame"], arrays["poses"], arrays["velocities"], whole, *of_joints, modal=modal)


def with_later_columns(found: NDArray[Any]) -> NDArray[Any]:
    """Return the counts of methods in a cache of a version with fewer methods, extended to all methods."""
    missing = len(Found) - found.shape[1] if found.ndim == 2 else 0
    return np.pad(found, ((0, 0), (0, missing))) if missing > 0 else found
