# SPDX-License-Identifier: GPL-3.0-or-later
"""A frame cache can be read while it grows and resumed, also by other versions, and what it gives is what was written."""

from __future__ import annotations

import dataclasses
import io
import os

import numpy as np
import pytest

from solver_core.io import cache as cache_module
from solver_core.io.cache import CacheError, FrameCacheReader, cache_has_begun
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.container import encode_chunk, locate_chunk, read_chunk
from solver_core.io.records import LATER, decode_frame, encode_record, read_head
from solver_core.io.snapshot import snapshot_digest
from solver_core.problem.result import Found

from ..caches import DIGEST, SETTINGS, SPEC, append, checkpoint, frame, rewrite, same_checkpoints, same_frames, write


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


def test_a_cache_that_has_not_changed_is_not_read_again(tmp_path, monkeypatch):
    """Playback asks at every frame; the names of two thousand bodies took a fifth of it."""
    path, reads = tmp_path / "cache", []
    write(path, 10, 11)
    os.utime(path, ns=(0, 10**18))
    monkeypatch.setattr(cache_module, "read_head", lambda file: reads.append(file) or read_head(file))
    reader = FrameCacheReader(path)
    assert reader.refresh() == range(10, 12) and len(reads) == 1
    write(path, 10, 11, 12)
    assert reader.refresh() == range(10, 13) and reader.refresh() == range(10, 13)
    assert len(reads) == 3  # so soon after a change another one could have its time


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


def test_columns_of_statistics_are_read_by_the_names_of_an_earlier_version(tmp_path):
    path = tmp_path / "cache"

    def change(kind, fields, arrays):
        if "statistics.moving" in arrays:
            arrays["statistics.crowd"] = arrays.pop("statistics.moving")
            arrays["statistics.span"] = np.ones_like(arrays["statistics.crowd"])

    write(path, 10, 11, 12)
    rewrite(path, change)
    reader = FrameCacheReader(path)
    assert all(same_frames(reader.read(number), frame(number)) for number in (10, 11, 12))


def test_a_frame_of_a_version_that_counted_less_has_none_of_it():
    """As its arrays are there, but for those of statistics that came later."""
    with io.BytesIO(encode_record(frame(11), {})) as file:
        file.name = "cache"
        chunk = read_chunk(file, locate_chunk(file, 0))
    kept = {name: array for name, array in chunk.arrays.items() if name.removeprefix("statistics.") not in LATER}
    assert len(kept) == len(chunk.arrays) - len(LATER)
    found = decode_frame(dataclasses.replace(chunk, arrays=kept), 3, 0)
    steps = len(found.statistics.status)
    assert steps > 0
    assert found.statistics.chosen_normals.tolist() == [0] * steps
    assert found.statistics.chosen_pair.tolist() == [[-1, -1]] * steps
    assert found.statistics.moving.tolist() == [0] * steps
    assert not found.statistics.violations.any() and (found.statistics.violating_pairs == -1).all()


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


def test_frames_of_bodies_that_bend_have_their_modes_and_others_nothing_of_them(tmp_path):
    def chunks(frame, seam):
        path = tmp_path / "record"
        path.write_bytes(encode_record(frame, seam | {"last_step": np.array([0.1])}))
        with open(path, "rb") as file:
            place = locate_chunk(file, 0)
            return read_chunk(file, place), read_chunk(file, locate_chunk(file, place.end))

    bent = dataclasses.replace(frame(11), modal=np.array([0.1, -0.2, 0.3]))
    whole, seam = chunks(bent, {"modal_velocity": np.array([1.0, 2.0, 3.0])})
    assert decode_frame(whole, 3, 0).modal.tolist() == [0.1, -0.2, 0.3]
    assert seam.arrays["modal_velocity"].tolist() == [1.0, 2.0, 3.0]
    rigid, seam = chunks(frame(11), {"modal_velocity": np.zeros(0)})
    assert "modal" not in rigid.arrays and "modal_velocity" not in seam.arrays
    wrong = dataclasses.replace(whole, arrays=whole.arrays | {"modal": np.array([np.nan])})
    with pytest.raises(ValueError, match="'modal' has numbers that are not finite"):
        decode_frame(wrong, 3, 0)
