# SPDX-License-Identifier: GPL-3.0-or-later
"""Chunks come back bit for bit, or not at all and with the reason."""

from __future__ import annotations

import hashlib
import json
import pickle
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from solver_core.io.container import MAGIC, ContainerError, TruncatedError, encode_chunk, locate_chunk, read_chunk

PREFIX_SIZE = 48


def read_all(path):
    chunks, offset = [], 0
    with open(path, "rb") as file:
        while (place := locate_chunk(file, offset)) is not None:
            chunks.append(read_chunk(file, place))
            offset = place.end
    return chunks


def forged(header: bytes, data: bytes = b"", *, version: int = 1, header_length: int | None = None) -> bytes:
    """A chunk with right checksums around any header."""
    check = hashlib.blake2b(header + data, digest_size=16).digest()
    length = len(header) if header_length is None else header_length
    prefix = struct.pack("<8sI4sIQ16s", MAGIC, version, b"test", length, len(data), check)
    return prefix + struct.pack("<I", zlib.crc32(prefix)) + header + data


@settings(max_examples=80, deadline=None)
@given(
    array=hnp.arrays(
        dtype=st.sampled_from(["?", "i1", "u2", "<i4", ">i4", "<u8", "<f4", ">f4", "<f8", ">f8"]),
        shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    )
)
def test_every_array_of_numbers_comes_back_with_the_same_values_and_shape(array, tmp_path_factory):
    path = tmp_path_factory.mktemp("chunk") / "a"
    path.write_bytes(encode_chunk("test", {}, {"before": np.ones(3, dtype=np.int8), "a": array}))
    (chunk,) = read_all(path)
    back = chunk.arrays["a"]
    assert back.shape == array.shape and back.dtype == array.dtype.newbyteorder("=")
    assert back.tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()


def test_floats_keep_every_bit(tmp_path):
    bits = np.array([0x7FF8000000000123, 0xFFF0000000000000, 0x8000000000000000, 1, 0x3FF0000000000001], dtype=np.uint64)
    path = tmp_path / "bits"
    path.write_bytes(encode_chunk("test", {}, {"a": bits.view(np.float64)}))
    np.testing.assert_array_equal(read_all(path)[0].arrays["a"].view(np.uint64), bits)


def test_a_slice_a_transpose_and_a_read_only_view_are_stored_by_value(tmp_path):
    whole = np.arange(24.0).reshape(4, 6)
    frozen = whole.copy()
    frozen.flags.writeable = False
    path = tmp_path / "views"
    path.write_bytes(encode_chunk("test", {}, {"slice": whole[::2, 1::3], "transpose": whole.T, "frozen": frozen}))
    arrays = read_all(path)[0].arrays
    np.testing.assert_array_equal(arrays["slice"], [[1, 4], [13, 16]])
    np.testing.assert_array_equal(arrays["transpose"], whole.T)
    assert all(array.flags.writeable and array.flags.c_contiguous for array in arrays.values())


def test_chunks_follow_one_another_and_can_be_stepped_over_without_reading(tmp_path):
    path = tmp_path / "row"
    first, second = (
        encode_chunk("big_", {"n": 1}, {"a": np.zeros(100_000)}),
        encode_chunk("tiny", {"n": 2, "text": "Würfel"}, {}),
    )
    path.write_bytes(first + second)
    with open(path, "rb") as file:
        place = locate_chunk(file, 0)
        assert place is not None and place.end == len(first) and file.tell() == PREFIX_SIZE
    assert [chunk.fields for chunk in read_all(path)] == [{"n": 1}, {"n": 2, "text": "Würfel"}]


def test_the_same_content_is_the_same_bytes():
    arrays = {"a": np.arange(5)}
    assert encode_chunk("test", {"x": 1, "y": 2.5}, arrays) == encode_chunk("test", {"y": 2.5, "x": 1}, arrays)


def test_any_single_flipped_bit_is_noticed_and_located(tmp_path):
    good = encode_chunk("test", {"n": 1}, {"a": np.arange(3.0)})
    path = tmp_path / "flipped"
    for position in range(len(good)):
        for bit in (0, 5):
            spoilt = bytearray(good)
            spoilt[position] ^= 1 << bit
            path.write_bytes(good + spoilt)
            with pytest.raises(ContainerError) as caught:
                read_all(path)
            assert caught.value.offset == len(good)
            assert str(path) in str(caught.value) and str(len(good)) in str(caught.value)


def test_a_file_cut_anywhere_is_said_to_be_cut_off(tmp_path):
    good = encode_chunk("test", {"n": 1}, {"a": np.arange(3.0)})
    path = tmp_path / "cut"
    for length in range(1, len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(TruncatedError):
            read_all(path)
    path.write_bytes(b"")
    assert read_all(path) == []


@pytest.mark.parametrize(
    "array", [np.array([object()]), np.array(["a"]), np.zeros(2, dtype="f8,i4"), np.zeros(1, dtype=complex)]
)
def test_what_is_not_plain_numbers_is_refused_by_name(array):
    with pytest.raises(ValueError, match="'poses'"):
        encode_chunk("test", {}, {"poses": array})


@pytest.mark.parametrize("fields", [{"a": float("nan")}, {"a": object()}, {"a": np.float32(1.0)}])
def test_fields_that_are_not_json_are_refused(fields):
    with pytest.raises(ValueError, match="not JSON"):
        encode_chunk("test", fields, {})


def test_another_kind_of_file_and_a_later_version_are_told_apart(tmp_path):
    path = tmp_path / "other"
    path.write_bytes(b"BLENDER-v402" + bytes(100))
    with pytest.raises(ContainerError, match="another kind of file"):
        read_all(path)
    path.write_bytes(encode_chunk("test", {}, {}).replace(b"\r\n", b"\n"))
    with pytest.raises(ContainerError, match="another kind of file"):
        read_all(path)
    path.write_bytes(forged(b"{}", version=7))
    with pytest.raises(ContainerError, match="version 7"):
        read_all(path)


@pytest.mark.parametrize(
    "descriptor",
    [
        {"dtype": "|O", "shape": [1], "offset": 0},
        {"dtype": "<f8", "shape": [10**15], "offset": 0},
        {"dtype": "<f8", "shape": [2**33, 2**33], "offset": 0},
        {"dtype": "<f8", "shape": [0, 10**40], "offset": 0},
        {"dtype": "<f8", "shape": [-1], "offset": 0},
        {"dtype": "<f8", "shape": [1], "offset": -8},
        {"dtype": "<f8", "shape": [2], "offset": 8},
        {"dtype": "<f8", "shape": [1.0], "offset": 0},
        {"dtype": "<f8", "shape": [1] * 65, "offset": 0},
        {"dtype": "<f8", "shape": 3, "offset": 0},
        {"dtype": ["<f8"], "shape": [1], "offset": 0},
        {"shape": [1], "offset": 0},
        "nonsense",
    ],
)
def test_a_header_that_promises_the_impossible_is_refused_though_its_checksum_is_right(descriptor, tmp_path):
    path = tmp_path / "forged"
    path.write_bytes(forged(json.dumps({"fields": {}, "arrays": {"a": descriptor}}).encode(), bytes(16)))
    with pytest.raises(ContainerError, match="is invalid"):
        read_all(path)


@pytest.mark.parametrize("header", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, pickle.dumps({"fields": {}, "arrays": {}})])
def test_a_header_that_is_not_ours_is_refused(header, tmp_path):
    path = tmp_path / "header"
    path.write_bytes(forged(header))
    with pytest.raises(ContainerError, match="is invalid"):
        read_all(path)


def test_absurd_lengths_are_refused_before_anything_is_allocated(tmp_path):
    path = tmp_path / "absurd"
    path.write_bytes(forged(b"{}", header_length=2**32 - 1))
    with pytest.raises(ContainerError, match="header of 4294967295 bytes"):
        read_all(path)
