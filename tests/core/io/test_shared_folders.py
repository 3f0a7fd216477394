# SPDX-License-Identifier: GPL-3.0-or-later
"""In a cache folder that others may write to, nothing of ours is emptied, filled or written over behind a link."""

from __future__ import annotations

import os
import sys

import pytest

from solver_core import worker
from solver_core.io.cache import CacheError
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.snapshot import snapshot_digest, write_snapshot
from solver_core.process.file_lock import FileLock
from solver_core.process.plain_files import PathRefused

from ..caches import DIGEST, SETTINGS, SPEC, append, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


@pytest.fixture
def places(tmp_path):
    """A folder that is shared, and one whose files are the victim's alone."""
    shared, victim = tmp_path / "shared", tmp_path / "victim"
    shared.mkdir()
    victim.mkdir()
    return shared, victim


def contents(victim):
    return {path.name: path.read_bytes() for path in victim.iterdir()}


CONTENTS = {"text": b"precious thesis", "empty": b"", "cache": None, "nothing": None}


def put(victim, what):
    if what == "cache":
        write(victim / what, 10, 11)
    elif what != "nothing":
        (victim / what).write_bytes(CONTENTS[what])
    return victim / what


@pytest.mark.parametrize("what", CONTENTS)
@pytest.mark.parametrize("name", ["a.cache", "a.cache.lock"])
@pytest.mark.parametrize("resume", [False, True])
def test_no_link_is_followed(places, what, name, resume):
    shared, victim = places
    target = put(victim, what)
    before = contents(victim)
    (shared / name).symlink_to(target)
    if name.endswith(".lock") and resume:
        write(shared / "other.cache", 10)
        os.rename(shared / "other.cache", shared / "a.cache")
    with pytest.raises((PathRefused, CacheError), match=r"is a link|not a frame cache"):
        worker.open_cache(str(shared / "a.cache"), SPEC, SETTINGS, DIGEST, resume=resume)
    assert contents(victim) == before and (shared / name).is_symlink()


@pytest.mark.parametrize("name", ["a.cache", "a.cache.lock"])
def test_no_second_name_of_a_file_is_written_to(places, name):
    shared, victim = places
    target = put(victim, "cache" if name == "a.cache" else "text")
    before = contents(victim)
    os.link(target, shared / name)
    for begin in (lambda: FrameCacheWriter.create(shared / "a.cache", SPEC, SETTINGS), lambda: resume(shared / "a.cache")):
        with pytest.raises(PathRefused, match="hard link"):
            begin()
    assert contents(victim) == before


def resume(path):
    if not path.exists():
        write_over = path.with_name("fresh.cache")
        # made elsewhere, since its own lock is what is refused
        write(write_over, 10)
        os.rename(write_over, path)
    return FrameCacheWriter.resume(path, DIGEST)


def test_a_file_that_is_no_lock_is_left_alone(places):
    shared, _ = places
    (shared / "a.lock").write_bytes(b"combination: 12-34-56")
    with pytest.raises(PathRefused, match="not the lock of a bake"):
        FileLock.acquire(shared / "a")
    assert (shared / "a.lock").read_bytes() == b"combination: 12-34-56"


def test_a_lock_that_is_a_pipe_is_not_waited_for(places):
    os.mkfifo(places[0] / "a.lock")
    with pytest.raises(PathRefused, match="is no file"):
        FileLock.acquire(places[0] / "a")


def test_a_lock_whose_folder_was_made_anew_leaves_the_new_holders_lock(places):
    shared, _ = places
    mine = FileLock.acquire(shared / "a")
    os.rename(shared, shared.with_name("moved"))
    shared.mkdir()
    theirs = FileLock.acquire(shared / "a")
    mine.release()
    assert (shared / "a.lock").exists()
    theirs.release()
    assert not (shared / "a.lock").exists()


def test_a_file_that_is_put_in_place_after_it_was_looked_at_is_left_alone(places, monkeypatch):
    """Between the look and the lock anybody may put another file there."""
    shared, _ = places
    acquire = FileLock.acquire.__func__

    def put_there(cls, path, patience=0.0):
        lock = acquire(cls, path, patience)
        (shared / "a.cache").write_bytes(b"precious")
        return lock

    monkeypatch.setattr(FileLock, "acquire", classmethod(put_there))
    with pytest.raises(ValueError, match="not a frame cache"):
        FrameCacheWriter.create(shared / "a.cache", SPEC, SETTINGS)
    assert contents(shared) == {"a.cache": b"precious"}


def test_a_snapshot_is_put_in_the_place_of_a_link_and_changes_nothing_behind_it(places):
    shared, victim = places
    other = SETTINGS.__class__(substeps=7)
    write_snapshot(victim / "mine", SPEC, other)
    os.utime(victim / "mine", (1, 1))
    before = contents(victim)
    for settings in (SETTINGS, other):
        (shared / "a.snapshot").unlink(missing_ok=True)
        (shared / "a.snapshot").symlink_to(victim / "mine")
        write_snapshot(shared / "a.snapshot", SPEC, settings)
        assert contents(victim) == before and (victim / "mine").stat().st_mtime == 1


def test_what_is_appended_goes_to_the_cache_that_was_opened(places):
    shared, _ = places
    with FrameCacheWriter.create(shared / "a.cache", SPEC, SETTINGS) as writer:
        append(writer, 10, 11)
    with FrameCacheWriter.resume(shared / "a.cache", snapshot_digest(SPEC, SETTINGS)) as writer:
        assert writer.last_frame == 11
        append(writer, 12)
    assert [path.name for path in shared.iterdir()] == ["a.cache"]
