# SPDX-License-Identifier: GPL-3.0-or-later
"""A frame cache can be cut, damaged, read while it grows and resumed, and what it gives is what was written."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import tracemalloc
import zlib

import numpy as np
import pytest

from solver_core.dynamics.frame import Frame, FrameContacts, FrameImpacts, FrameStatistics
from solver_core.io.cache import CacheError, FrameCacheReader, FrameCacheWriter, cache_has_begun
from solver_core.io.container import MAGIC, PREFIX, PREFIX_CHECK, encode_chunk, locate_chunk
from solver_core.io.continuation import continue_from
from solver_core.io.snapshot import snapshot_digest
from solver_core.problem.result import Found, Status
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings

BODIES = 3
SPEC = SceneSpec(
    tuple(BodySpec(f"Body.{k}", BodyKind.ACTIVE, ShapeSpec(ShapeKind.HULL), mass=1.0) for k in range(BODIES)),
    frame_start=10,
    frame_end=20,
)
SETTINGS = SolverSettings(substeps=4)
DIGEST = snapshot_digest(SPEC, SETTINGS)


def frame(number):
    rng = np.random.default_rng(number)
    steps = 0 if number == SPEC.frame_start else SETTINGS.substeps
    statistics = {
        field.name: rng.integers(0, 9, size=steps) if "int" in str(field.type) else rng.normal(size=steps)
        for field in dataclasses.fields(FrameStatistics)
    }
    statistics["status"] = rng.integers(0, len(Status), size=steps)
    statistics["found"] = rng.integers(0, 9, size=(steps, len(Found)))
    for pair in ("worst_pair", "deepest_pair"):
        statistics[pair] = rng.integers(-1, BODIES, size=(steps, 2))
    return Frame(number, rng.normal(size=(BODIES, 7)), rng.normal(size=(BODIES, 6)), FrameStatistics(**statistics))


def checkpoint(number):
    rng = np.random.default_rng(1000 + number)
    # A warm start grows and shrinks with the contacts.
    return {"impulses": rng.normal(size=(number % 4, 3)), "features": rng.integers(0, 2**63, size=number, dtype=np.uint64)}


def write(path, *numbers, kept=()):
    """A cache with these frames, and the checkpoints of those that are `kept`."""
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        append(writer, *numbers, kept=kept)
    return path.read_bytes()


def append(writer, *numbers, kept=()):
    for number in numbers:
        writer.append(frame(number), checkpoint(number))
        if number in kept:
            writer.keep_checkpoint()


def same_frames(a, b):
    arrays = [(a.poses, b.poses), (a.velocities, b.velocities)]
    arrays += [(getattr(a.statistics, f.name), getattr(b.statistics, f.name)) for f in dataclasses.fields(FrameStatistics)]
    return a.frame == b.frame and all(x.tobytes() == y.tobytes() and x.shape == y.shape for x, y in arrays)


def same_checkpoints(a, b):
    return a.keys() == b.keys() and all(a[key].tobytes() == b[key].tobytes() and a[key].shape == b[key].shape for key in a)


def test_frames_come_back_by_number_with_the_names_of_their_bodies(tmp_path):
    path = tmp_path / "cache"
    write(path, 10, 11, 12, 13)
    reader = FrameCacheReader(path)
    assert reader.frames == range(10, 14) and reader.damage is None
    assert reader.info.bodies == ("Body.0", "Body.1", "Body.2")
    assert (reader.info.frame_start, reader.info.frame_end, reader.info.substeps) == (10, 20, 4)
    assert reader.info.digest == DIGEST
    for number in (12, 10, 13, 11):
        assert same_frames(reader.read(number), frame(number))
    assert [f.frame for f in reader] == [10, 11, 12, 13]


def test_a_reader_sees_a_frame_as_soon_as_it_is_appended_and_never_half_of_one(tmp_path):
    path, growing = tmp_path / "whole", tmp_path / "growing"
    whole = write(path, 10, 11)
    head = len(write(growing))
    first = len(write(growing, 10))
    growing.write_bytes(whole[:head])
    reader = FrameCacheReader(growing)
    for length in range(head, len(whole), 7):
        with open(growing, "r+b") as file:
            file.write(whole[:length])
        assert reader.refresh() == range(10, 11 if length >= first else 10)
        assert reader.damage is None
    growing.write_bytes(whole)
    assert reader.refresh() == range(10, 12)
    assert same_frames(reader.read(11), frame(11))


def test_a_reader_follows_a_writer_that_is_still_open(tmp_path):
    path = tmp_path / "cache"
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        reader = FrameCacheReader(path)
        assert len(reader.frames) == 0 and writer.last is None
        writer.append(frame(10), checkpoint(10))
        assert reader.refresh() == range(10, 11)
        assert same_frames(reader.read(10), frame(10))


def test_a_reader_notices_that_the_cache_was_started_anew(tmp_path):
    path = tmp_path / "cache"
    write(path, 10, 11, 12)
    reader = FrameCacheReader(path)
    write(path, 10)
    assert reader.refresh() == range(10, 11)
    other = dataclasses.replace(SPEC, frame_start=0)
    with FrameCacheWriter.create(path, other, SETTINGS) as writer:
        for number in range(5):
            writer.append(dataclasses.replace(frame(10), frame=number), {})
    assert reader.refresh() == range(0, 5)
    assert reader.read(4).frame == 4


def test_resuming_gives_the_newest_checkpoint_and_the_file_of_an_uninterrupted_bake(tmp_path):
    path, whole = tmp_path / "cache", tmp_path / "whole"
    write(path, 10, 11, 12, 13, kept=(10, 12))
    with FrameCacheWriter.resume(path, DIGEST) as writer:
        assert writer.last is not None and writer.last.frame == 13
        assert writer.last.checkpoint is not None and writer.last.checkpoint.frame == 12
        assert same_checkpoints(writer.last.checkpoint.arrays, checkpoint(12))
        append(writer, 14, 15, kept=(14,))
    assert path.read_bytes() == write(whole, *range(10, 16), kept=(10, 12, 14))


def test_a_checkpoint_is_kept_once_in_so_many_seconds_and_when_it_is_asked_for(tmp_path):
    path = tmp_path / "cache"
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        append(writer, 10, 11)
        writer.seconds_between_checkpoints = 0.0
        append(writer, 12)
        writer.seconds_between_checkpoints = 60.0
        append(writer, 13, 14)
    assert path.read_bytes() == write(tmp_path / "other", *range(10, 15), kept=(12,))
    with FrameCacheWriter.resume(path, DIGEST) as writer:
        # nothing new to keep
        writer.keep_checkpoint()
    assert path.read_bytes() == write(tmp_path / "other", *range(10, 15), kept=(12,))


def test_a_reader_sees_frames_before_between_and_behind_checkpoints_as_they_come(tmp_path):
    path = tmp_path / "cache"
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        reader = FrameCacheReader(path)
        for number in range(10, 15):
            append(writer, number)
            assert reader.refresh() == range(10, number + 1)
            if number % 2:
                writer.keep_checkpoint()
            assert reader.refresh() == range(10, number + 1) and reader.damage is None
    assert all(same_frames(reader.read(number), frame(number)) for number in range(10, 15))
    assert FrameCacheReader(path).frames == reader.frames


def test_frames_can_be_cut_off_and_others_put_in_their_place(tmp_path):
    path = tmp_path / "cache"
    write(path, 10, 11, 12, 13, kept=(11, 13))
    with FrameCacheWriter.resume(path, DIGEST) as writer:
        writer.cut(12)
        assert writer.last_frame == 11
        append(writer, 12)
    assert path.read_bytes() == write(tmp_path / "other", 10, 11, 12, kept=(11,))


def as_before_there_were_seams(whole):
    """The bytes of a cache with the checkpoints of all frames, as earlier versions wrote it."""
    begin = 0
    with io.BytesIO(whole) as file:
        file.name = "cache"
        while (place := locate_chunk(file, begin)) is not None:
            if place.kind != "seam":
                yield whole[begin : place.end]
            begin = place.end


def test_a_cache_of_an_earlier_version_is_read_and_gone_on_with(tmp_path):
    path = tmp_path / "cache"
    path.write_bytes(b"".join(as_before_there_were_seams(write(path, 10, 11, 12, kept=(10, 11, 12)))))
    reader = FrameCacheReader(path)
    assert [f.frame for f in reader] == [10, 11, 12] and reader.damage is None
    with FrameCacheWriter.resume(path, DIGEST) as writer:
        assert writer.last is not None and writer.last.frame == 12
        assert writer.last.checkpoint is not None and writer.last.checkpoint.frame == 12
        assert same_checkpoints(writer.last.checkpoint.arrays, checkpoint(12))
        append(writer, 13, 14, kept=(13,))
    assert reader.refresh() == range(10, 15)
    assert all(same_frames(reader.read(number), frame(number)) for number in range(10, 15))


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
    for position in range(ends[0], len(whole), 37):
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
    for position in range(ends[0], len(whole), 13):
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


def test_a_cache_of_another_scene_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "cache"
    before = write(path, 10, 11)
    with pytest.raises(CacheError, match="another scene or with other settings"):
        FrameCacheWriter.resume(path, snapshot_digest(SPEC, dataclasses.replace(SETTINGS, tolerance=1e-3)))
    assert path.read_bytes() == before


def test_a_file_that_is_no_cache_is_neither_overwritten_nor_resumed_nor_read(tmp_path):
    path = tmp_path / "scene.blend"
    path.write_bytes(b"BLENDER-v402" * 10)
    with pytest.raises(CacheError, match=r"scene\.blend: exists and is not a frame cache"):
        FrameCacheWriter.create(path, SPEC, SETTINGS)
    assert cache_has_begun(path)
    with pytest.raises(CacheError, match="not a frame cache"):
        FrameCacheWriter.resume(path, DIGEST)
    with pytest.raises(CacheError, match="not a frame cache"):
        FrameCacheReader(path)
    assert path.read_bytes() == b"BLENDER-v402" * 10


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


def test_gaps_and_missing_frames_are_refused(tmp_path):
    path = tmp_path / "cache"
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        with pytest.raises(ValueError, match="frame 10 comes next"):
            writer.append(frame(11), {})
        writer.append(frame(10), {})
        with pytest.raises(ValueError, match="frame 11 comes next"):
            writer.append(frame(10), {})
    with pytest.raises(CacheError, match="no frame 11: the cache has frames 10 to 10"):
        FrameCacheReader(path).read(11)


def test_a_frame_is_found_and_read_without_reading_checkpoints_or_other_frames(tmp_path):
    path = tmp_path / "cache"
    write(path, *range(10, 20))
    with open(path, "rb") as file:
        places, offset = [], 0
        while (place := locate_chunk(file, offset)) is not None:
            places.append(place)
            offset = place.end
    wanted = 1 + 2 * 7  # behind the head and seven records
    with open(path, "r+b") as file:
        for index, place in enumerate(places):
            if index not in (0, wanted):
                file.seek(place.content)
                file.write(b"x" * (place.end - place.content))
    assert same_frames(FrameCacheReader(path).read(17), frame(17))


def with_contacts(number):
    rng = np.random.default_rng(2000 + number)
    m, k = 3 * (number % 3), number % 2

    def bodies(count):
        return rng.integers(0, BODIES, size=count, dtype=np.int32)

    def singles(*shape):
        return rng.normal(size=shape).astype(np.float32)

    names = ("point", "normal", "friction", "slip")
    impacts = FrameImpacts(rng.normal(size=k), bodies(k), bodies(k), singles(k, 3), singles(k, 3), singles(k), singles(k))
    contacts = FrameContacts(
        body_a=bodies(m),
        body_b=bodies(m),
        **{name: singles(m, 3) for name in names},
        **{name: singles(m) for name in ("force", "gap", "mu")},
        state=rng.integers(0, 3, size=m, dtype=np.uint8),
        impacts=impacts,
    )
    return dataclasses.replace(frame(number), contacts=contacts)


def arrays_of(contacts):
    own = {name: value for name, value in vars(contacts).items() if name != "impacts"}
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in (own | vars(contacts.impacts)).items()}


def write_contacts(path, *numbers):
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        for number in numbers:
            writer.append(with_contacts(number), checkpoint(number))
    return path.read_bytes()


def test_contacts_come_back_and_frames_are_the_same_with_and_without_them(tmp_path):
    path = tmp_path / "cache"
    write_contacts(path, 10, 11, 12, 13)
    reader = FrameCacheReader(path)
    assert reader.has_contacts
    for number in (12, 10, 13, 11):
        assert same_frames(reader.read(number), frame(number)) and reader.read(number).contacts is None
        contacts = reader.contacts(number)
        assert contacts is not None and arrays_of(contacts) == arrays_of(with_contacts(number).contacts)
    write(path, 10, 11)
    reader.refresh(anew=True)
    assert not reader.has_contacts and reader.contacts(11) is None


def test_a_bake_with_contacts_is_resumed_with_its_bytes_also_from_inside_of_them(tmp_path):
    path = tmp_path / "cache"
    one, whole = len(write_contacts(path, 10)), write_contacts(path, 10, 11)
    for length in range(one, len(whole), 211):
        path.write_bytes(whole[:length])
        reader = FrameCacheReader(path)
        assert reader.frames == range(10, 11) and reader.damage is None
        with FrameCacheWriter.resume(path, DIGEST) as writer:
            writer.append(with_contacts(11), checkpoint(11))
        assert path.read_bytes() == whole


def test_a_reader_notices_that_the_same_bake_was_started_anew_with_contacts(tmp_path):
    path = tmp_path / "cache"
    write(path, 10, 11)
    reader = FrameCacheReader(path)
    write_contacts(path, 10, 11, 12)
    assert reader.refresh() == range(10, 13)
    assert same_frames(reader.read(11), frame(11)) and reader.contacts(11) is not None


def test_contacts_may_begin_and_end_anywhere_in_a_cache(tmp_path):
    path = tmp_path / "cache"
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        for number in (10, 11, 12):
            writer.append(with_contacts(number) if number == 11 else frame(number), checkpoint(number))
    reader = FrameCacheReader(path)
    assert [reader.contacts(number) is not None for number in reader.frames] == [False, True, False]


def test_chunks_that_a_later_version_puts_between_frame_and_checkpoint_are_stepped_over(tmp_path):
    path, other = tmp_path / "cache", tmp_path / "other"
    head, whole = len(write(path)), write(path, 10)
    with open(path, "rb") as file:
        place = locate_chunk(file, head)
    assert place is not None
    more = encode_chunk("sond", {}, {"loudness": np.ones(3)})
    other.write_bytes(whole[: place.end] + more + whole[place.end :])
    reader = FrameCacheReader(other)
    assert reader.damage is None and same_frames(reader.read(10), frame(10))
    with FrameCacheWriter.resume(other, DIGEST) as writer:
        assert writer.last_frame == 10


def claims(count, data=b""):
    """A chunk of contacts, all checksums right, whose header speaks of so many forces in so little data."""
    arrays = {"force": {"dtype": "<f4", "shape": [count], "offset": 0}}
    header = json.dumps({"fields": {"frame": 10}, "arrays": arrays}).encode()
    check = hashlib.blake2b(header + data, digest_size=16).digest()
    prefix = PREFIX.pack(MAGIC, 1, b"cont", len(header), len(data), check)
    return prefix + PREFIX_CHECK.pack(zlib.crc32(prefix)) + header + data


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
    path.write_bytes(whole[: place.end] + claims(10**15, bytes(16)) + whole[place.end :])
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


def test_a_cache_that_begins_with_the_frames_of_another_has_their_contacts(tmp_path):
    before, longer = tmp_path / "before", dataclasses.replace(SPEC, frame_end=30)
    write_contacts(before, 10, 11, 12)
    continue_from(before, tmp_path / "now", (longer, SETTINGS), 11)
    reader = FrameCacheReader(tmp_path / "now", snapshot_digest(longer, SETTINGS))
    assert list(reader.frames) == [10, 11]
    assert arrays_of(reader.contacts(11)) == arrays_of(with_contacts(11).contacts)


def test_frames_of_a_version_that_knew_fewer_ways_to_an_answer_can_be_read(tmp_path):
    path = tmp_path / "cache"
    old = frame(10)
    old = dataclasses.replace(old, statistics=dataclasses.replace(old.statistics, found=np.zeros((0, 8), int)))
    later = dataclasses.replace(frame(11), statistics=dataclasses.replace(frame(11).statistics, found=np.full((4, 8), 3)))
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        writer.append(old, {})
        writer.append(later, {})
    found = FrameCacheReader(path).read(11).statistics.found
    assert found.shape == (4, len(Found)) and (found[:, :8] == 3).all() and not found[:, 8:].any()
