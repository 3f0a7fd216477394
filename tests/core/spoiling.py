# SPDX-License-Identifier: GPL-3.0-or-later
"""Spoilt files and values: bytes, chunks whose checksums are right all the same, JSON, arrays, and the fields of a scene."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from solver_core.io.container import MAGIC, PREFIX, PREFIX_CHECK, encode_chunk, locate_chunk, read_chunk
from solver_core.scene.spec import BodyKind, ContactMethod, SceneSpec, ShapeKind

WILD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 7, 2**31, 2**63, 2**64, -(2**63), 10**9, 10**15, 10**400),
    *(0.5, -0.0, 1e-300, 1e300, 1.7e308, "nan", "inf", "-inf"),
    *("", "x", "\0", "\ud800", "é" * 40, "../../../etc/passwd", "/dev/zero", "//x", "C:\\x", "__import__('os')", "a" * 5000),
    *([], [[]], [[[[]]]], {}, {"array": "scene.bodies.0.shape.vertices"}, {"array": "none"}, {"array": 3}, [1, "2", None]),
)

Random = np.random.Generator


def spoilt_bytes(random: Random, content: bytes) -> bytes:
    """A file that was cut, overwritten, doubled or damaged somewhere."""
    data = bytearray(content)
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(0, max(len(data), 1)))
        length = int(random.integers(1, 200))
        match random.integers(0, 7):
            case 0:
                del data[at:]
            case 1:
                data[at : at + length] = random.bytes(length)
            case 2:
                data[at:at] = data[at : at + length]
            case 3:
                del data[at : at + length]
            case 4:
                data[at:at] = random.bytes(length)
            case 5 if at < len(data):
                data[at] ^= 1 << int(random.integers(0, 8))
            case _:
                data[at : at + 8] = (0, 2**40, 2**63 - 1, 2**64 - 1)[int(random.integers(0, 4))].to_bytes(8, "little")
    return bytes(data)


def chunks_of(file: Path) -> list[tuple[str, dict[str, Any], dict[str, np.ndarray]]]:
    found, end = [], 0
    with open(file, "rb") as opened:
        while (place := locate_chunk(opened, end)) is not None:
            chunk = read_chunk(opened, place)
            found.append((chunk.kind, chunk.fields, chunk.arrays))
            end = place.end
    return found


def checked_chunk(kind: str, header: Any, data: bytes) -> bytes:
    """A chunk with whatever header, all of whose checksums are right."""
    encoded = json.dumps(header).encode() if not isinstance(header, bytes) else header
    check = hashlib.blake2b(encoded + data, digest_size=16).digest()
    prefix = PREFIX.pack(MAGIC, 1, kind.encode(), len(encoded), len(data), check)
    return prefix + PREFIX_CHECK.pack(zlib.crc32(prefix)) + encoded + data


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all parts of a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places_in(item, (*path, key))


def with_other(random: Random, value: Any) -> Any:
    """A JSON value with a part of it taken away, doubled or put wild."""
    value = json.loads(json.dumps(value))
    every = list(places_in(value))
    path = every[int(random.integers(0, len(every)))]
    if not path:
        return wild(random)
    owner = value
    for key in path[:-1]:
        owner = owner[key]
    match random.integers(0, 4):
        case 0:
            del owner[path[-1]]
        case 1 if isinstance(owner, list):
            owner += [owner[path[-1]]] * int(random.integers(1, 5))
        case _:
            owner[path[-1]] = wild(random)
    return value


def wild(random: Random) -> Any:
    return WILD[int(random.integers(0, len(WILD)))]


def with_other_array(random: Random, array: np.ndarray) -> np.ndarray:
    """An array of another type or shape, or with wild numbers in it."""
    array = np.array(array)
    match random.integers(0, 8):
        case 0:
            return array.astype(random.choice(["|b1", "|i1", "<u2", "<i4", "<u8", "<f4", "<f8"]))
        case 1:
            return array.reshape(-1)
        case 2:
            return array[: len(array) // 2] if array.ndim else array
        case 3:
            return np.concatenate([array, array]) if array.ndim else np.zeros(3)
        case 4:
            return array[..., None]
    if array.size:
        at = random.integers(0, array.size, size=int(random.integers(1, 4)))
        numbers = (
            [-1, 127, 2**31 - 1] if array.dtype.kind in "iub" else [np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-310, 0.0, -1.0]
        )
        with np.errstate(all="ignore"):
            array.reshape(-1)[at] = np.array(random.choice(numbers)).astype(array.dtype)
    return array


def spoilt_chunks(random: Random, file: Path) -> bytes:
    """A file whose checksums are all right and whose content makes no sense somewhere."""
    chunks = chunks_of(file)
    out = []
    victims = set(random.integers(0, len(chunks), size=int(random.integers(1, 3))).tolist())
    for number, (kind, fields, arrays) in enumerate(chunks):
        if number not in victims:
            out.append(encode_chunk(kind, fields, arrays))
            continue
        way = random.integers(0, 8)
        if way < 4 and arrays:
            name = sorted(arrays)[int(random.integers(0, len(arrays)))]
            out.append(encode_chunk(kind, fields, {**arrays, name: with_other_array(random, arrays[name])}))
        elif way == 4 and arrays:
            gone = sorted(arrays)[int(random.integers(0, len(arrays)))]
            out.append(encode_chunk(kind, fields, {name: array for name, array in arrays.items() if name != gone}))
        elif way == 5:
            other = chunks[int(random.integers(0, len(chunks)))]
            out.append(encode_chunk(other[0], other[1], other[2]) + (encode_chunk(kind, fields, arrays) if number % 2 else b""))
        else:
            whole = encode_chunk(kind, fields, arrays)
            length = PREFIX.unpack_from(whole)[3]
            begin = PREFIX.size + PREFIX_CHECK.size
            header = json.loads(whole[begin : begin + length])
            out.append(checked_chunk(kind, with_other(random, header), whole[begin + length :]))
    return b"".join(out)


def spoilt(random: Random, file: Path) -> tuple[bytes, bool]:
    """The content of a file, spoilt, and whether its checksums tell."""
    return (
        (spoilt_bytes(random, file.read_bytes()), True) if random.integers(0, 3) == 0 else (spoilt_chunks(random, file), False)
    )


def with_other_body(random: Random, spec: SceneSpec) -> SceneSpec:
    try:
        bodies = list(spec.bodies)
        number = int(random.integers(0, len(bodies)))
    except (TypeError, ValueError):
        return spec
    body = bodies[number]
    if not dataclasses.is_dataclass(body):
        return spec
    match random.integers(0, 4):
        case 0 if dataclasses.is_dataclass(body.shape):
            bodies[number] = replace(body, shape=with_other_field(random, body.shape))
        case 1 if dataclasses.is_dataclass(body.material):
            bodies[number] = replace(body, material=with_other_field(random, body.material))
        case _:
            bodies[number] = with_other_field(random, body)
    return replace(spec, bodies=tuple(bodies))


def with_other_field(random: Random, value: Any) -> Any:
    """A dataclass with a field that is wild, or wrong in a finer way."""
    field = dataclasses.fields(value)[int(random.integers(0, len(dataclasses.fields(value))))]
    now = getattr(value, field.name)
    if isinstance(now, np.ndarray) and random.integers(0, 4):
        return replace(value, **{field.name: with_other_array(random, now)})
    if isinstance(now, float) and random.integers(0, 2):
        number = float(random.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-300, 1e300, 1e9, 1e-9]))
        return replace(value, **{field.name: number})
    enums = {"kind": (*BodyKind, *ShapeKind), "method": tuple(ContactMethod)}
    if field.name in enums and random.integers(0, 2):
        choices = enums[field.name]
        return replace(value, **{field.name: choices[int(random.integers(0, len(choices)))]})
    return replace(value, **{field.name: wild(random)})


def with_other_numbers(random: Random, statistics: Any) -> Any:
    changes = {}
    for field in dataclasses.fields(statistics):
        array = np.array(getattr(statistics, field.name))
        if array.dtype.kind == "f" and array.size and random.integers(0, 3) == 0:
            array.reshape(-1)[random.integers(0, array.size)] = random.choice([np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0])
            changes[field.name] = array
    return replace(statistics, **changes)
