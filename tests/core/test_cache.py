# SPDX-License-Identifier: GPL-3.0-or-later
"""A frame cache can be cut, damaged, read while it grows and resumed, and what it gives is what was written."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from solver_core.dynamics.frame import Frame, FrameStatistics
from solver_core.io.cache import CacheError, FrameCacheReader, FrameCacheWriter, cache_has_begun
from solver_core.io.container import locate_chunk
from solver_core.io.snapshot import snapshot_digest
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
    statistics["found"] = rng.integers(0, 9, size=(steps, 8))
    for pair in ("worst_pair", "deepest_pair"):
        statistics[pair] = rng.integers(-1, BODIES, size=(steps, 2))
    return Frame(number, rng.normal(size=(BODIES, 7)), rng.normal(size=(BODIES, 6)), FrameStatistics(**statistics))


def checkpoint(number):
    rng = np.random.default_rng(1000 + number)
    # A warm start grows and shrinks with the contacts.
    return {"impulses": rng.normal(size=(number % 4, 3)), "features": rng.integers(0, 2**63, size=number, dtype=np.uint64)}


def write(path, *numbers):
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        for number in numbers:
            writer.append(frame(number), checkpoint(number))
    return path.read_bytes()


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
    write(path, 10, 11)
    with FrameCacheWriter.resume(path, DIGEST) as writer:
        assert writer.last is not None and writer.last.frame == 11
        assert same_checkpoints(writer.last.checkpoint, checkpoint(11))
        writer.append(frame(12), checkpoint(12))
    assert path.read_bytes() == write(whole, 10, 11, 12)


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
