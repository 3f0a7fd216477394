# SPDX-License-Identifier: GPL-3.0-or-later
r"""Checksummed chunks, the binary format of snapshots and frame caches.

A file is a sequence of chunks. All numbers are little-endian:

    prefix (48 bytes)
        magic           8   b"\x93STICT\r\n": not text, and damaged by a conversion of line ends
        version         4   of this format
        kind            4   four ASCII letters, the kind of the chunk
        header length   4
        data length     8
        content check  16   blake2b of header and data
        prefix check    4   crc32 of the 44 bytes before it
    header              UTF-8 JSON {"fields": {...}, "arrays": {name: {"dtype", "shape", "offset"}}}
    data                the arrays, each C-contiguous at its offset, a multiple of 8

The content has a blake2b checksum. It is about as fast as crc32, and with 128 bits it detects all damage in practice. The same
function names snapshots. The prefix has a separate checksum, so that a reader can skip a chunk without reading it and still
trust its length. Nothing is ever unpickled: arrays contain only numbers.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "MAGIC",
    "Chunk",
    "ChunkPlace",
    "ContainerError",
    "TruncatedError",
    "begins_otherwise",
    "encode_chunk",
    "is_foreign",
    "locate_chunk",
    "open_file",
    "read_chunk",
]

MAGIC = b"\x93STICT\r\n"
FORMAT_VERSION = 1
MAX_HEADER = 1 << 28

PREFIX = struct.Struct("<8sI4sIQ16s")
KIND_BYTES = slice(12, 16)  # size of a prefix
PREFIX_CHECK = struct.Struct("<I")
PREFIX_SIZE = PREFIX.size + PREFIX_CHECK.size

DTYPES = {name: np.dtype(name) for name in ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8")}


class ContainerError(ValueError):
    """A file cannot be read as chunks. `path`, the byte `offset` of the chunk, and the `reason`."""

    def __init__(self, path: str, offset: int, reason: str):
        super().__init__(f"{path}: at byte {offset}: {reason}")
        self.path = path
        self.offset = offset
        self.reason = reason


class TruncatedError(ContainerError):
    """The file ends inside a chunk: it was truncated, or its writer has not finished."""


@dataclass(frozen=True)
class Chunk:
    """Content of one chunk: `fields` as in JSON, and writable `arrays` in native byte order."""

    kind: str
    fields: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ChunkPlace:
    """Location of a chunk in its file; offsets and lengths in bytes."""

    kind: str
    offset: int
    header_length: int
    data_length: int
    check: bytes

    @property
    def content(self) -> int:
        """Offset of the header."""
        return self.offset + PREFIX_SIZE

    @property
    def end(self) -> int:
        """Offset of the next chunk."""
        return self.content + self.header_length + self.data_length


def encode_chunk(kind: str, fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the bytes of a chunk. Equal content gives equal bytes.

    kind: four ASCII letters.
    fields: JSON values with finite floats.
    arrays: arrays of booleans, integers or floats of any shape.

    Raises ValueError that names the invalid field or array.
    """
    if len(kind) != 4 or not kind.isascii():
        raise ValueError(f"chunk kind {kind!r}: must be four ASCII letters")
    descriptors: dict[str, dict[str, Any]] = {}
    data = bytearray()
    for name, array in arrays.items():
        array = np.asarray(array)
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            raise ValueError(f"array {name!r}: {array.dtype} cannot be stored, only booleans, integers and floats")
        data.extend(bytes(-len(data) % 8))
        descriptors[name] = {"dtype": dtype, "shape": list(array.shape), "offset": len(data)}
        data.extend(array.astype(dtype, copy=False).tobytes())
    try:
        header = json.dumps({"fields": fields, "arrays": descriptors}, sort_keys=True, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the fields of chunk {kind!r} are not JSON: {error}") from error
    encoded = header.encode()
    if len(encoded) > MAX_HEADER:
        raise ValueError(f"the header of chunk {kind!r} has {len(encoded)} bytes, at most {MAX_HEADER} are allowed")
    check = hashlib.blake2b(encoded, digest_size=16)
    check.update(data)
    prefix = PREFIX.pack(MAGIC, FORMAT_VERSION, kind.encode(), len(encoded), len(data), check.digest())
    return b"".join((prefix, PREFIX_CHECK.pack(zlib.crc32(prefix)), encoded, data))


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a file for reading. Raises OSError if it is not a regular file; a pipe, for example, could block."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "is no file", str(path))
    return open(path, "rb")


def is_foreign(path: str | os.PathLike[str], kind: str) -> bool:
    """Return True if the file exists but does not start with a chunk of this kind, or with an incomplete one, left by a killed
    process."""
    try:
        with open_file(path) as file:
            return begins_otherwise(file, kind)
    except FileNotFoundError:
        return False


def begins_otherwise(file: BinaryIO, kind: str) -> bool:
    """As `is_foreign`, for an open file."""
    file.seek(0)
    head = file.read(KIND_BYTES.stop)
    return not (MAGIC.startswith(head[: len(MAGIC)]) and kind.encode().startswith(head[KIND_BYTES]))


def locate_chunk(file: BinaryIO, offset: int) -> ChunkPlace | None:
    """Read the prefix of the chunk at `offset` and nothing else; None when the file ends exactly there.

    Raises TruncatedError when the file ends inside the chunk, ContainerError when there is no sound prefix.
    """
    path = str(file.name)
    size = file.seek(0, os.SEEK_END)
    if offset == size:
        return None
    file.seek(offset)
    raw = file.read(PREFIX_SIZE)
    if raw[: len(MAGIC)] != MAGIC[: len(raw)]:
        raise ContainerError(path, offset, "no chunk begins here: another kind of file, or damaged")
    if len(raw) < PREFIX_SIZE:
        raise TruncatedError(path, offset, f"the file ends {len(raw)} bytes into a chunk")
    _, version, kind, header_length, data_length, check = PREFIX.unpack_from(raw)
    if zlib.crc32(raw[: PREFIX.size]) != PREFIX_CHECK.unpack_from(raw, PREFIX.size)[0]:
        raise ContainerError(path, offset, "the prefix of the chunk does not match its checksum: damaged")
    if version != FORMAT_VERSION:
        raise ContainerError(path, offset, f"format version {version}; this version of Stiction reads {FORMAT_VERSION}")
    if header_length > MAX_HEADER:
        raise ContainerError(path, offset, f"a header of {header_length} bytes; at most {MAX_HEADER} are allowed")
    place = ChunkPlace(kind.decode("ascii", "replace"), offset, header_length, data_length, check)
    if place.end > size:
        raise TruncatedError(path, offset, f"the chunk should go on to byte {place.end}, the file ends at byte {size}")
    return place


def read_chunk(file: BinaryIO, place: ChunkPlace) -> Chunk:
    """Read and verify the chunk at `place`; raises ContainerError when a bit of it is wrong."""
    path = str(file.name)
    file.seek(place.content)
    content = file.read(place.header_length + place.data_length)
    if len(content) < place.header_length + place.data_length:
        raise TruncatedError(path, place.offset, "the file ends inside the chunk")
    if hashlib.blake2b(content, digest_size=16).digest() != place.check:
        raise ContainerError(path, place.offset, f"the {place.kind!r} chunk does not match its checksum: damaged")
    data = memoryview(content)[place.header_length :]
    # A valid checksum does not mean that this program wrote the data.
    try:
        header = json.loads(content[: place.header_length])
        fields = dict(header["fields"])
        arrays = {name: decode_array(name, descriptor, data) for name, descriptor in header["arrays"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        reason = f"the header of the {place.kind!r} chunk is invalid: {error}"
        raise ContainerError(path, place.offset, reason) from error
    return Chunk(place.kind, fields, arrays)


def decode_array(name: str, descriptor: Mapping[str, Any], data: memoryview) -> NDArray[Any]:
    """Return a copy of the array that `descriptor` finds in `data`. Raises ValueError if the array lies outside."""
    dtype, shape, offset = descriptor["dtype"], descriptor["shape"], descriptor["offset"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ValueError(f"array {name!r}: type {dtype!r} is not one that is stored")
    if not all(type(number) is int and number >= 0 for number in (*shape, offset)) or len(shape) > 32:
        raise ValueError(f"array {name!r}: shape {shape!r} at offset {offset!r}")
    # Python integers do not overflow, so an absurd shape is found here, before any allocation.
    count = 1
    for extent in shape:
        count *= extent
    if offset + count * DTYPES[dtype].itemsize > len(data):
        raise ValueError(f"array {name!r}: shape {shape!r} of {dtype} at offset {offset} goes beyond {len(data)} bytes of data")
    stored = np.frombuffer(data, dtype=DTYPES[dtype], count=count, offset=offset)
    return stored.reshape(shape).astype(DTYPES[dtype].newbyteorder("="))
