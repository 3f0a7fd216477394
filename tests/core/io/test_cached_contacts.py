# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts of a frame lie in its cache beside it, and leave the frames as they are."""

from __future__ import annotations

import dataclasses

from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.continuation import continue_from
from solver_core.io.kept_contacts import contacts_from, contacts_to_arrays
from solver_core.io.snapshot import snapshot_digest

from ..caches import (
    BODIES,
    DIGEST,
    SETTINGS,
    SPEC,
    arrays_of,
    checkpoint,
    frame,
    same_frames,
    with_contacts,
    write,
    write_contacts,
)


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


def test_contacts_of_a_file_from_before_surfaces_had_a_grain_are_round():
    arrays = contacts_to_arrays(with_contacts(11).contacts)
    del arrays["ellipse"]
    found = contacts_from(arrays, BODIES)
    assert found.ellipse.shape == (len(found), 2, 3) and not found.ellipse.any()


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


def test_a_cache_that_begins_with_the_frames_of_another_has_their_contacts(tmp_path):
    before, longer = tmp_path / "before", dataclasses.replace(SPEC, frame_end=30)
    write_contacts(before, 10, 11, 12)
    continue_from(before, tmp_path / "now", (longer, SETTINGS), 11)
    reader = FrameCacheReader(tmp_path / "now", snapshot_digest(longer, SETTINGS))
    assert list(reader.frames) == [10, 11]
    assert arrays_of(reader.contacts(11)) == arrays_of(with_contacts(11).contacts)
