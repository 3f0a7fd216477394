# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of glTF 2.0: JSON with buffers of numbers, as .glb or .gltf."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

__all__ = ["BODIES", "SHAPES", "UP", "Buffer", "GltfError", "numbers_at", "opened_document", "write_container"]

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
    """A file is no whole glTF document."""


class Buffer:
    """Collects the arrays of a document that is written."""

    def __init__(self, document: Json):
        self.data = bytearray()
        self._document = document

    def add(self, values: Array, kind: str) -> int:
        """Add an array of numbers (n,) or (n, width), and return its accessor."""
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
    """Write a document with its buffer: within a .glb, and as text within a .gltf, so that one file has all."""
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
    """The JSON and the buffers of a file; raises GltfError with a sentence, and OSError."""
    raw = file.read_bytes()
    inner: bytes | None = None
    if raw[:4] == GLB_MAGIC:
        raw, inner = glb_parts(raw)
    try:
        document = json.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise GltfError(f"it is no whole glTF file, and nothing of it is read: {error}; write it anew") from error
    if not isinstance(document, dict) or not isinstance(document.get("asset"), dict):
        raise GltfError("it is no glTF file: it has no asset; write it anew")
    if str(document["asset"].get("version", "")).split(".")[0] != "2":
        raise GltfError(f"it is glTF {document['asset'].get('version')}, and glTF 2.0 is read; write it anew")
    return document, [buffer_of(file, number, entry, inner) for number, entry in enumerate(document.get("buffers", []))]


def glb_parts(raw: bytes) -> tuple[bytes, bytes | None]:
    """The JSON and the buffer of a .glb."""
    if len(raw) < GLB_HEADER + 8 or struct.unpack_from("<I", raw, 8)[0] > len(raw):
        raise GltfError("it is cut off, and nothing of it is read; write it anew")
    parts: dict[bytes, bytes] = {}
    at, end = GLB_CHUNK_BEGIN, struct.unpack_from("<I", raw, 8)[0]
    while at + 8 <= end:
        length, kind = struct.unpack_from("<I4s", raw, at)
        if at + 8 + length > end:
            raise GltfError("it is cut off, and nothing of it is read; write it anew")
        parts.setdefault(kind, raw[at + 8 : at + 8 + length])
        at += 8 + length
    if JSON_CHUNK not in parts:
        raise GltfError("it has no JSON, and nothing of it is read; write it anew")
    return parts[JSON_CHUNK], parts.get(BINARY_CHUNK)


def buffer_of(file: Path, number: int, entry: Json, inner: bytes | None) -> bytes:
    uri = entry.get("uri")
    if uri is None:
        if inner is None:
            raise GltfError(f"buffer {number} is not in it; write it anew")
        data = inner
    elif uri.startswith("data:"):
        try:
            data = base64.b64decode(uri.partition(",")[2], validate=True)
        except (binascii.Error, ValueError) as error:
            raise GltfError(f"buffer {number} cannot be read: {error}; write it anew") from error
    else:
        beside = (file.parent / unquote(uri)).resolve()
        if not beside.is_relative_to(file.parent.resolve()):
            raise GltfError(f"buffer {number} is in {uri}, outside of the folder of the file; put it beside the file")
        if not beside.is_file():
            raise GltfError(f"buffer {number} is in {uri}, which cannot be found; put it beside the file")
        data = beside.read_bytes()
    if len(data) < int(entry.get("byteLength", 0)):
        raise GltfError(f"buffer {number} has {len(data)} of {entry['byteLength']} bytes; write it anew")
    return data


def numbers_at(document: Json, buffers: list[bytes], index: int) -> Array:
    """The numbers (n, width) of an accessor; raises GltfError."""
    try:
        accessor = document["accessors"][index]
        view = document["bufferViews"][accessor["bufferView"]]
        kind = np.dtype(COMPONENT_TYPES[accessor["componentType"]])
        width, count = ELEMENT_WIDTHS[accessor["type"]], int(accessor["count"])
        start = int(view.get("byteOffset", 0)) + int(accessor.get("byteOffset", 0))
        stride = int(view.get("byteStride", 0)) or kind.itemsize * width
        data = buffers[view["buffer"]]
        if start < 0 or count < 0 or start + (count - 1) * stride + kind.itemsize * width > len(data):
            raise GltfError(f"accessor {index} reaches beyond its buffer; write the file anew")
        array = np.ndarray((count, width), kind, data, start, (stride, kind.itemsize))
    except (KeyError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, GltfError):
            raise
        raise GltfError(f"accessor {index} is not one that can be read ({error}); write the file anew") from error
    if "sparse" in accessor:
        raise GltfError(f"accessor {index} is sparse, which is not read; write the file without")
    # what is not finite is refused where it is used
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64 if kind.kind == "f" else np.int64)
