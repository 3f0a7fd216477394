# SPDX-License-Identifier: GPL-3.0-or-later
"""What is cut off or damaged costs a frame cache what lies behind it at most, and what makes no sense is refused by name."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest

from solver_core.io.cache import CacheError, FrameCacheReader, cache_has_begun
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.container import locate_chunk

from ..caches import (
    BODIES,
    DIGEST,
    SETTINGS,
    SPEC,
    append,
    checkpoint,
    frame,
    same_checkpoints,
    same_frames,
    with_contacts,
    write,
)
from ..spoiling import checked_chunk


@pytest.mark.slow
def test_a_cache_cut_at_any_byte_resumes_after_its_last_whole_frame(tmp_path):
    path = tmp_path / "cache"
    ends = [len(write(path, *range(10, 10 + count))) for count in range(4)]
    whole = path.read_bytes()
    for length in range(ends[0], len(whole) + 1, 11):
        path.write_bytes(whole[:length])
        frames = sum(end <= length for end in ends) - 1
        with FrameCacheWriter.resume(path, DIGEST) as writer:
            assert (None if writer.last is None else writer.last.frame) == (9 + frames if frames else None)
        assert path.stat().st_size == ends[frames]


@pytest.mark.slow
def test_cut_or_damaged_anywhere_the_newest_sound_checkpoint_counts(tmp_path):
    path = tmp_path / "cache"
    kept = (11, 12)
    ends = [len(write(path, *range(10, 10 + count), kept=kept)) for count in range(5)]
    whole, plain = path.read_bytes(), [len(write(path, *range(10, 10 + count))) for count in range(5)]
    # behind the checkpoint, and behind its record
    of_record = [ends[count - 1] + plain[count] - plain[count - 1] for count in range(1, 5)]
    for position in range(ends[0], len(whole), 101):
        spoilt = bytearray(whole)
        spoilt[position] ^= 0x10
        for content in (whole[:position], bytes(spoilt)):
            path.write_bytes(content)
            checkpoints = [number for number in kept if ends[number - 9] <= position]
            with FrameCacheWriter.resume(path, DIGEST) as writer:
                last = 9 + sum(end <= position for end in of_record)
                # of a checkpoint that is spoilt within, the frames behind it are good
                assert (writer.last_frame or 9) >= last
                if writer.last is not None and writer.last_frame == last:
                    found = writer.last.checkpoint
                    assert (None if found is None else found.frame) == max(checkpoints, default=None)
                    assert found is None or same_checkpoints(found.arrays, checkpoint(found.frame))
                append(writer, *range((writer.last_frame or 9) + 1, 14))
            reader = FrameCacheReader(path)
            assert all(same_frames(reader.read(number), frame(number)) for number in range(10, 14))


@pytest.mark.slow
def test_damage_anywhere_keeps_what_lies_before_it(tmp_path):
    path = tmp_path / "cache"
    ends = [len(write(path, *range(10, 10 + count))) for count in range(5)]
    whole = path.read_bytes()
    for position in range(ends[0], len(whole), 41):
        spoilt = bytearray(whole)
        spoilt[position] ^= 0x10
        path.write_bytes(spoilt)
        good = sum(end <= position for end in ends) - 1
        reader = FrameCacheReader(path)
        assert all(same_frames(reader.read(number), frame(number)) for number in range(10, 10 + good))
        with FrameCacheWriter.resume(path, DIGEST) as writer:
            assert (None if writer.last is None else writer.last.frame) == (9 + good if good else None)
            for number in range(10 + good, 14):
                writer.append(frame(number), checkpoint(number))
        assert path.read_bytes() == whole


def test_a_damaged_frame_is_an_error_of_that_frame_alone_and_a_damaged_prefix_ends_the_cache(tmp_path):
    path = tmp_path / "cache"
    ends = [len(write(path, *range(10, 10 + count))) for count in range(4)]
    whole = bytearray(path.read_bytes())
    whole[ends[1] + 700] ^= 1
    path.write_bytes(whole)
    reader = FrameCacheReader(path)
    assert reader.frames == range(10, 13) and reader.damage is None
    with pytest.raises(CacheError, match=r"frame 11 .* byte .* damaged.*resume"):
        reader.read(11)
    assert same_frames(reader.read(12), frame(12))
    whole[ends[1] + 20] ^= 1
    path.write_bytes(whole)
    reader.refresh(anew=True)
    assert reader.frames == range(10, 11)
    assert reader.damage is not None and reader.damage.offset == ends[1]


def test_a_cache_that_was_cut_inside_its_head_has_not_begun_and_can_be_started_anew(tmp_path):
    path = tmp_path / "cache"
    assert not cache_has_begun(path)
    head = write(path)
    assert cache_has_begun(path)
    for length in range(len(head)):
        path.write_bytes(head[:length])
        assert not cache_has_begun(path)
        FrameCacheWriter.create(path, SPEC, SETTINGS).close()
        assert path.read_bytes() == head


def test_a_damaged_head_is_not_trusted(tmp_path):
    path = tmp_path / "cache"
    spoilt = bytearray(write(path, 10))
    spoilt[100] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(CacheError, match="head is damaged"):
        FrameCacheWriter.resume(path, DIGEST)
    with pytest.raises(CacheError, match="head is damaged"):
        FrameCacheReader(path)


def spoilt_contacts(**changes):
    contacts = with_contacts(11).contacts
    assert contacts is not None
    return dataclasses.replace(with_contacts(11), contacts=dataclasses.replace(contacts, **changes))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"body_b": np.full(6, BODIES, np.int32)}, "bodies that the scene of 3 does not have"),
        ({"body_a": np.full(6, -1, np.int32)}, "bodies that the scene of 3 does not have"),
        ({"state": np.full(6, 7, np.uint8)}, "no states"),
        ({"force": np.zeros(5, np.float32)}, "'force' is of float32 and shape"),
        ({"normal": np.zeros((6, 3))}, "'normal' is of float64"),
    ],
)
def test_contacts_that_make_no_sense_are_refused_by_name(changes, words, tmp_path):
    path = tmp_path / "cache"
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        writer.append(frame(10), {})
        writer.append(spoilt_contacts(**changes), {})
    with pytest.raises(CacheError, match=f"frame 11 of the cache cannot be read: .*{words}"):
        FrameCacheReader(path).contacts(11)


def test_contacts_that_claim_to_be_billions_are_refused_before_there_is_memory_for_them(tmp_path):
    path = tmp_path / "cache"
    whole = write(path, 10)
    with open(path, "rb") as file:
        head = locate_chunk(file, 0)
        place = locate_chunk(file, head.end) if head is not None else None
    assert place is not None
    # in so little data, all checksums right
    arrays = {"force": {"dtype": "<f4", "shape": [10**15], "offset": 0}}
    claims = checked_chunk("cont", {"fields": {"frame": 10}, "arrays": arrays}, bytes(16))
    path.write_bytes(whole[: place.end] + claims + whole[place.end :])
    reader = FrameCacheReader(path)
    tracemalloc.start()
    try:
        with pytest.raises(CacheError, match=r"shape \[1000000000000000\].* goes beyond"):
            reader.contacts(10)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert same_frames(reader.read(10), frame(10))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"poses": np.zeros((2, 7))}, "'poses' has the shape"),
        ({"velocities": np.zeros((3, 7))}, "'velocities' has the shape"),
        ({"status": np.full(4, 99)}, "no status"),
        ({"contacts": np.zeros(3, int)}, "'contacts' has the shape"),
        ({"worst_pair": np.full((4, 2), BODIES)}, "'worst_pair' names bodies"),
    ],
)
def test_a_frame_that_makes_no_sense_is_refused_by_name(changes, words, tmp_path):
    path = tmp_path / "cache"
    own = {name: value for name, value in changes.items() if name in ("poses", "velocities")}
    statistics = {name: value for name, value in changes.items() if name not in own}
    spoilt = dataclasses.replace(frame(11), **own, statistics=dataclasses.replace(frame(11).statistics, **statistics))
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        writer.append(frame(10), {})
        writer.append(spoilt, {})
    with pytest.raises(CacheError, match=f"frame 11 of the cache cannot be read: .*{words}"):
        FrameCacheReader(path).read(11)
