# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of glTF 2.0: JSON with buffers of numbers, as .glb or .gltf."""

from __future__ import annotations

import base64
import binascii
import json
import struct
import sys
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from .described import shortened

__all__ = [
    "BODIES",
    "SHAPES",
    "UP",
    "Buffer",
    "GltfError",
    "entry_at",
    "is_index",
    "is_number",
    "numbers_at",
    "opened_document",
    "vector",
    "write_container",
]

Json = dict[str, Any]
Array = NDArray[Any]

BODIES, SHAPES = "KHR_physics_rigid_bodies", "KHR_implicit_shapes"
# (3, 3) from axes with Z up to those of glTF, where it is Y.
UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
GLB_MAGIC, GLB_VERSION = b"glTF", 2
JSON_CHUNK, BINARY_CHUNK = b"JSON", b"BIN\0"
GLB_HEADER = GLB_CHUNK_BEGIN = 12
COMPONENT_TYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
FLOAT_TYPE, INDEX_TYPE = 5126, 5125
ELEMENT_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class GltfError(ValueError):
    """A file is not a complete glTF document. The message completes a sentence that begins with the name of the file."""


def is_number(value: object) -> TypeGuard[float]:
    """Return True if a value of JSON is a number. In Python, true and false are integers as well, but not in JSON."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_index(value: object, count: int) -> TypeGuard[int]:
    """Return True if a value of JSON is an integer from 0 to `count` - 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def vector(value: object, length: int) -> Array:
    """Return a list of JSON as an array (length,) of floats. Raises TypeError or ValueError, and OverflowError."""
    if not isinstance(value, list) or not all(map(is_number, value)):
        raise TypeError(f"{shortened(value)} is not a list of numbers")
    if len(value) != length:
        raise ValueError(f"{shortened(value)} has {len(value)} numbers, not {length}")
    return np.array(value, dtype=np.float64)


def entry_at(document: Json, name: str, index: object) -> Any:
    """Return an entry of one of a document's lists, such as "meshes". Raises GltfError."""
    entries = document.get(name, [])
    if not isinstance(entries, list) or not is_index(index, len(entries)):
        raise GltfError(f"there is no entry {index!r} in its {name}; export it again")
    return entries[index]


def size_of(entry: Json, name: str, default: int = 0) -> int:
    """Return a number of bytes or elements, 0 or more. Raises GltfError."""
    value = entry.get(name, default)
    if not is_index(value, sys.maxsize):
        raise GltfError(f"its {name} is {value!r}, not a whole number of 0 or more; export it again")
    return value


class Buffer:
    """The buffer of a document to write. It collects arrays."""

    def __init__(self, document: Json):
        self.data = bytearray()
        self._document = document

    def add(self, values: Array, kind: str) -> int:
        """Add an array of numbers (n,) or (n, width) and return the index of its accessor. kind: "SCALAR", "VEC3" ..."""
        is_index = values.dtype.kind in "iu"
        packed = np.ascontiguousarray(values, dtype="<u4" if is_index else "<f4")
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": packed.nbytes}
        self.data += packed.tobytes()
        accessor: Json = {
            "bufferView": len(self._document["bufferViews"]),
            "componentType": INDEX_TYPE if is_index else FLOAT_TYPE,
            "count": len(packed),
            "type": kind,
        }
        rows = packed.reshape(len(packed), -1)
        accessor["min"], accessor["max"] = rows.min(axis=0).tolist(), rows.max(axis=0).tolist()
        self._document["bufferViews"].append(view)
        self._document["accessors"].append(accessor)
        return len(self._document["accessors"]) - 1


def write_container(document: Json, data: bytes, file: Path) -> None:
    """Write a document and its buffer to one file: as a chunk of a .glb, or as text in a .gltf. Raises OSError."""
    whole = {key: value for key, value in document.items() if value not in ([], {})}
    if data:
        entry: Json = {"byteLength": len(data)}
        whole["buffers"] = [entry]
        if file.suffix.lower() != ".glb":
            entry["uri"] = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    if file.suffix.lower() != ".glb":
        file.write_text(json.dumps(whole, indent=1, allow_nan=False), encoding="utf-8")
        return
    text = json.dumps(whole, allow_nan=False).encode()
    chunks = chunk(text, JSON_CHUNK, b" ") + (chunk(data, BINARY_CHUNK, b"\0") if data else b"")
    file.write_bytes(struct.pack("<4sII", GLB_MAGIC, GLB_VERSION, GLB_HEADER + len(chunks)) + chunks)


def chunk(data: bytes, kind: bytes, fill: bytes) -> bytes:
    padded = data + fill * (-len(data) % 4)
    return struct.pack("<I4s", len(padded), kind) + padded


def opened_document(file: Path) -> tuple[Json, list[bytes]]:
    """Return the JSON and the buffers of a file. Raises GltfError and OSError."""
    raw = file.read_bytes()
    inner: bytes | None = None
    if raw[:4] == GLB_MAGIC:
        raw, inner = glb_parts(raw)
    try:
        document = json.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise GltfError(f"it is not a complete glTF file: {error}; export it again") from error
    if not isinstance(document, dict) or not isinstance(document.get("asset"), dict):
        raise GltfError("it is not a glTF file, because it has no asset; export it again")
    if str(document["asset"].get("version", "")).split(".")[0] != "2":
        raise GltfError(f"it is glTF {document['asset'].get('version')}, not glTF 2.0; export it as glTF 2.0")
    return document, [buffer_of(file, number, entry, inner) for number, entry in enumerate(document.get("buffers", []))]


def glb_parts(raw: bytes) -> tuple[bytes, bytes | None]:
    """Return the JSON and the buffer of a .glb file. Raises GltfError."""
    if len(raw) < GLB_HEADER + 8 or struct.unpack_from("<I", raw, 8)[0] > len(raw):
        raise GltfError("it is cut off; export it again")
    parts: dict[bytes, bytes] = {}
    offset, end = GLB_CHUNK_BEGIN, struct.unpack_from("<I", raw, 8)[0]
    while offset + 8 <= end:
        length, kind = struct.unpack_from("<I4s", raw, offset)
        if offset + 8 + length > end:
            raise GltfError("it is cut off; export it again")
        parts.setdefault(kind, raw[offset + 8 : offset + 8 + length])
        offset += 8 + length
    if JSON_CHUNK not in parts:
        raise GltfError("it has no JSON; export it again")
    return parts[JSON_CHUNK], parts.get(BINARY_CHUNK)


def buffer_of(file: Path, number: int, entry: Json, inner: bytes | None) -> bytes:
    """Return the bytes of a buffer. inner: the buffer of a .glb, or None. Raises GltfError and OSError."""
    uri = entry.get("uri")
    if uri is None:
        if inner is None:
            raise GltfError(f"buffer {number} is not in it; export it again")
        data = inner
    elif uri.startswith("data:"):
        try:
            data = base64.b64decode(uri.partition(",")[2], validate=True)
        except (binascii.Error, ValueError) as error:
            raise GltfError(f"buffer {number} cannot be read: {error}; export it again") from error
    else:
        beside = (file.parent / unquote(uri)).resolve()
        if not beside.is_relative_to(file.parent.resolve()):
            raise GltfError(f"buffer {number} is in {uri}, outside of the folder of the file; move it to that folder")
        if not beside.is_file():
            raise GltfError(f"buffer {number} is in {uri}, which does not exist; move it to the folder of the file")
        data = beside.read_bytes()
    length = size_of(entry, "byteLength")
    if len(data) < length:
        raise GltfError(f"buffer {number} has {len(data)} of {length} bytes; export it again")
    return data


def numbers_at(document: Json, buffers: list[bytes], index: object) -> Array:
    """Return the numbers (n, width) of an accessor. Raises GltfError."""
    accessor = entry_at(document, "accessors", index)
    try:
        view = entry_at(document, "bufferViews", accessor["bufferView"])
        kind = np.dtype(COMPONENT_TYPES[accessor["componentType"]])
        width, count = ELEMENT_WIDTHS[accessor["type"]], size_of(accessor, "count")
        start = size_of(view, "byteOffset") + size_of(accessor, "byteOffset")
        stride = size_of(view, "byteStride") or kind.itemsize * width
        if not is_index(view["buffer"], len(buffers)):
            raise GltfError(f"there is no buffer {view['buffer']!r}; export it again")
        data = buffers[view["buffer"]]
        if start + (count - 1) * stride + kind.itemsize * width > len(data):
            raise GltfError(f"accessor {index} reaches beyond its buffer; export it again")
        array = np.ndarray((count, width), kind, data, start, (stride, kind.itemsize))
    except GltfError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise GltfError(f"accessor {index} cannot be read ({error}); export it again") from error
    if "sparse" in accessor:
        raise GltfError(f"accessor {index} is sparse, which is not supported; export it without sparse accessors")
    # Values that are not finite are refused where they are used.
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64 if kind.kind == "f" else np.int64)
