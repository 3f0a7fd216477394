# SPDX-License-Identifier: GPL-3.0-or-later
"""Scene snapshots: a `SceneSpec` and its `SolverSettings` in one chunk, the complete input of a bake.

Both are stored field by field, following the dataclasses, so a new field needs no code here. Every float is restored bit for
bit. Equal arrays, such as instances of one mesh, are stored once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import os
import typing
from contextlib import suppress
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..process.plain_files import PathRefused
from ..scene.field_types import field_types, is_array, optional
from ..scene.spec import FORMER_SETTINGS, SceneSpec, SolverSettings
from .atomic import write_atomically
from .container import Chunk, ContainerError, encode_chunk, is_foreign, locate_chunk, open_file, read_chunk

__all__ = ["decode", "file_digest", "read_snapshot", "snapshot_digest", "write_snapshot"]

KIND = "snap"
# Fields that earlier versions did not have, with the values equivalent to their absence. A scene with these values is written,
# and gets the digest, as in those versions.
LATER_FIELDS: dict[str, Any] = {
    "deformable": None,
    "speed_path": None,
    "spans": None,
    "blend_frames": 0,
    "teleports": None,
    "holds_where_enabled": False,
    "center_of_mass": None,
    "surface_motion": None,
    "rolling": 0.0,
    "torsion": 0.0,
    "grain": None,
    "strength": None,
    "area": 0.0,
    "activations": (),
}


def write_snapshot(path: str | os.PathLike[str], spec: SceneSpec, settings: SolverSettings) -> None:
    """Write a snapshot, whole or not at all; raises OSError, also where another kind of file is, or ValueError when a field
    cannot be stored.

    A file that holds the same already is left, for another process may be reading it; it is only given the time of now.
    """
    content = encode_snapshot(spec, settings)
    if not holds(path, content):
        # The path may come from a .blend file and be wrong.
        if is_foreign(path, KIND):
            raise PathRefused(path, "exists and is not a scene snapshot; it is left as it is")
        write_atomically(path, content)
        return
    # The times of another user's file cannot be changed.
    with suppress(PermissionError):
        os.utime(path, follow_symlinks=os.utime not in os.supports_follow_symlinks)


def holds(path: str | os.PathLike[str], content: bytes) -> bool:
    try:
        with open_file(path) as file:
            return file.read() == content
    except FileNotFoundError:
        return False


def read_snapshot(path: str | os.PathLike[str]) -> tuple[SceneSpec, SolverSettings]:
    """Return the scene and the settings of the snapshot at `path`. Raises OSError and ContainerError."""
    with open_file(path) as file:
        place = locate_chunk(file, 0)
        if place is None:
            raise ContainerError(str(path), 0, "the file is empty, not a scene snapshot")
        if place.kind != KIND:
            raise ContainerError(str(path), 0, f"begins with a {place.kind!r} chunk, not with a scene snapshot")
        chunk = read_chunk(file, place)
    try:
        spec = decode(chunk.fields["scene"], SceneSpec, "scene", chunk)
        settings = decode(of_this_version(chunk.fields["settings"]), SolverSettings, "settings", chunk)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ContainerError(str(path), 0, f"not a snapshot that this version of Stiction knows: {error}") from error
    return spec, settings


def of_this_version(settings: Any) -> Any:
    """Return the settings of a snapshot in the form of this version. For those of an earlier version, the tolerance is the one
    that its steps satisfy."""
    if not isinstance(settings, dict):
        return settings
    now = {name: value for name, value in settings.items() if name not in FORMER_SETTINGS}
    former = [float(settings[name]) for name in ("crowd_tolerance", "crowd_limit") if name in settings]
    # If the first tolerance was not reached, the second one was accepted if it was larger.
    return now | {"moving_tolerance": max(former)} if former else now


def file_digest(path: str | os.PathLike[str]) -> str:
    """Return the `snapshot_digest` of a file's content, as computed by the version that wrote it. Raises OSError."""
    with open_file(path) as file:
        return hashlib.blake2b(file.read(), digest_size=16).hexdigest()


def snapshot_digest(spec: SceneSpec, settings: SolverSettings) -> str:
    """Return 32 hexadecimal digits that identify this content.

    They are equal only for scenes and settings that are equal bit for bit.
    """
    return hashlib.blake2b(encode_snapshot(spec, settings), digest_size=16).hexdigest()


def encode_snapshot(spec: SceneSpec, settings: SolverSettings) -> bytes:
    pool = ArrayPool()
    fields = {"scene": encode(spec, "scene", pool), "settings": encode(settings, "settings", pool)}
    return encode_chunk(KIND, fields, pool.arrays)


class ArrayPool:
    """The distinct arrays of a snapshot, each named after the first field that contains it."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.names: dict[tuple[str, tuple[int, ...], bytes], str] = {}

    def add(self, name: str, array: NDArray[Any]) -> str:
        if array.dtype.hasobject:
            raise ValueError(f"{name}: holds Python objects, not numbers")
        name = self.names.setdefault((array.dtype.str, array.shape, array.tobytes()), name)
        self.arrays.setdefault(name, array)
        return name


def encode(value: Any, name: str, pool: ArrayPool) -> Any:
    """Return `value` as JSON, with its arrays in the pool. name: its location, such as scene.bodies.3.mass."""
    if dataclasses.is_dataclass(value):
        keys = [field.name for field in dataclasses.fields(value) if not is_left_out(field.name, getattr(value, field.name))]
        return {key: encode(getattr(value, key), f"{name}.{key}", pool) for key in keys}
    if isinstance(value, tuple):
        return [encode(item, f"{name}.{index}", pool) for index, item in enumerate(value)]
    if isinstance(value, np.ndarray):
        return {"array": pool.add(name, value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        # JSON has no such numbers. They are stored nevertheless, because validation reports them with the object's name.
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"{name}: a {type(value).__name__} cannot be stored in a snapshot")


def is_left_out(name: str, value: Any) -> bool:
    """Return True if earlier versions lack the field and its value is equivalent to its absence."""
    return name in LATER_FIELDS and type(value) is type(LATER_FIELDS[name]) and value == LATER_FIELDS[name]


def decode(value: Any, hint: Any, name: str, chunk: Chunk) -> Any:
    """Return the inverse of `encode` for a value with the declared type `hint`. Raises ValueError that names the location of a
    mismatch."""
    hint, may_be_none = optional(hint)
    if may_be_none and value is None:
        return None
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = field_types(hint)
        if isinstance(value, dict):
            value = {name: default for name, default in LATER_FIELDS.items() if name in hints} | value
        if not isinstance(value, dict) or value.keys() != hints.keys():
            raise ValueError(f"{name} has not the fields of a {hint.__name__}")
        return hint(**{key: decode(value[key], hints[key], f"{name}.{key}", chunk) for key in hints})
    if typing.get_origin(hint) is tuple:
        inner = typing.get_args(hint)[0]
        return tuple(decode(item, inner, f"{name}.{index}", chunk) for index, item in enumerate(value))
    if is_array(hint):
        # Each gets a copy, so that no two bodies of the scene share memory.
        return chunk.arrays[value["array"]].copy()
    if hint is float and isinstance(value, (int, float, str)):
        return float(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if isinstance(hint, type) and isinstance(value, hint):
        return value
    raise ValueError(f"{name} should be {hint}, it is {value!r}")
