# SPDX-License-Identifier: GPL-3.0-or-later
"""A cache that is taken away, cut or replaced under a bake is noticed at the next frame, and nobody is told of whole frames."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from solver_core import worker
from solver_core.bake.events import ListenerGone
from solver_core.io.cache import CacheLost, FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.process.command_line import ExitStatus
from solver_core.process.ending import Ending

from ..caches import DIGEST, SETTINGS, SPEC, append, checkpoint, frame, write
from ..worker_runs import bake, lines, snapshot

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows lets nobody take away a file that is open")

BEGIN = 10


def remove(cache):
    cache.unlink()


def remove_folder(cache):
    shutil.rmtree(cache.parent)


def move(cache):
    cache.rename(cache.with_name("moved"))


def replace(cache):
    cache.rename(cache.with_name("moved"))
    shutil.copyfile(cache.with_name("moved"), cache)


def replace_by_a_link(cache):
    cache.rename(cache.with_name("moved"))
    cache.symlink_to(cache.with_name("moved"))


def cut(cache):
    os.truncate(cache, 1000)


def cut_a_byte(cache):
    os.truncate(cache, cache.stat().st_size - 1)


def empty(cache):
    os.truncate(cache, 0)


def write_behind(cache):
    with open(cache, "ab") as file:
        file.write(b"x")


GONE = [remove, remove_folder, move, replace, replace_by_a_link, empty]
HARMS = [*GONE, cut, cut_a_byte, write_behind]


@pytest.fixture
def cache(tmp_path):
    (tmp_path / "caches").mkdir()
    return tmp_path / "caches" / "a.cache"


@pytest.mark.parametrize("harm", HARMS)
def test_the_next_frame_is_not_written(cache, harm):
    with FrameCacheWriter.create(cache, SPEC, SETTINGS) as writer:
        append(writer, 10, 11)
        writer.check()
        harm(cache)
        for attempt in (
            lambda: append(writer, 12),
            writer.keep_checkpoint,
            lambda: writer.cut(11),
            writer.check,
        ):
            with pytest.raises(CacheLost, match="cache"):
                attempt()


@pytest.mark.parametrize("harm", [cut, cut_a_byte])
def test_of_a_cache_that_was_cut_is_said_how_many_frames_are_left(cache, harm):
    with FrameCacheWriter.create(cache, SPEC, SETTINGS) as writer:
        append(writer, 10, 11, 12)
        harm(cache)
        with pytest.raises(CacheLost) as lost:
            writer.check()
    left = len(FrameCacheReader(cache).frames)
    words = f"first {left} frames" if left else "bake again"
    assert left == (0 if harm is cut else 2) and words in str(lost.value)


def test_what_is_left_as_it_was_is_not_lost(cache):
    """Neither while it is read, nor where it is resumed or cut by the bake itself, nor where a write failed."""
    write(cache, 10, 11, 12, kept=(11,))
    with open(cache, "ab") as file:
        file.write(b"torn")
    with FrameCacheWriter.resume(cache, DIGEST) as writer:
        writer.check()
        writer.cut(12)
        FrameCacheReader(cache)
        writer.append(frame(12), checkpoint(12))
        writer.keep_checkpoint()
        writer.check()


def harmed_at(monkeypatch, cache, harm, number, then=lambda: None):
    """Have the worker's cache harmed as soon as it has said that a frame is done."""
    plain = worker.emit

    def emit(event, **values):
        plain(event, **values)
        if event in ("frame", "repeated") and values["frame"] == number:
            harm(cache)
            then()

    monkeypatch.setattr(worker, "emit", emit)


@pytest.mark.parametrize("report", [False, True])
@pytest.mark.parametrize("harm", HARMS)
def test_a_bake_ends_at_the_next_frame_with_its_own_status(cache, tmp_path, monkeypatch, capsys, harm, report):
    source = snapshot(tmp_path)
    harmed_at(monkeypatch, cache, harm, 3)
    arguments = ["--report", tmp_path / "report.json"] if report else []
    status, events = bake(capsys, source, cache, *arguments)
    assert status == ExitStatus.CACHE_LOST
    assert [event["frame"] for event in events if event["event"] == "frame"] == [1, 2, 3]
    assert events[-1]["event"] == "error" and str(cache) in events[-1]["message"]
    if harm in GONE:
        assert "whole" not in events[-1]["message"] and "resume" not in events[-1]["message"]
    if report:
        assert json.loads((tmp_path / "report.json").read_text())["error"] == events[-1]["message"]


@pytest.mark.parametrize("harm", HARMS)
def test_after_the_last_frame_it_is_noticed_too(cache, tmp_path, monkeypatch, capsys, harm):
    harmed_at(monkeypatch, cache, harm, 12)
    status, events = bake(capsys, snapshot(tmp_path), cache)
    assert status == ExitStatus.CACHE_LOST and events[-1]["event"] == "error"


@pytest.mark.parametrize("harm", HARMS)
def test_whoever_stops_such_a_bake_is_not_told_to_resume_it(cache, tmp_path, monkeypatch, capsys, harm):
    ending = Ending()
    harmed_at(monkeypatch, cache, harm, 3, then=lambda: ending.ask("SIGINT"))
    report = tmp_path / "report.json"
    status = worker.main([snapshot(tmp_path), str(cache), "--report", str(report)], ending)
    last = lines(capsys.readouterr().out)[-1]
    assert (status, last["event"]) == (ExitStatus.CACHE_LOST, "error")
    assert json.loads(report.read_text())["error"] == last["message"]


def test_a_listener_that_is_gone_leaves_a_report_of_what_is_lost(cache, tmp_path, monkeypatch, capsys):
    def leave():
        raise ListenerGone("nobody")

    harmed_at(monkeypatch, cache, remove, 3, then=leave)
    report = tmp_path / "report.json"
    assert worker.main([snapshot(tmp_path), str(cache), "--report", str(report)]) != 0
    assert "removed" in json.loads(report.read_text())["error"]


@pytest.mark.parametrize("harm", [remove, cut, replace])
def test_a_resumed_bake_notices_it_too(cache, tmp_path, monkeypatch, capsys, harm):
    source = snapshot(tmp_path)
    bake(capsys, source, cache)
    os.truncate(cache, cache.stat().st_size * 2 // 3)
    harmed_at(monkeypatch, cache, harm, 2)
    status, events = bake(capsys, source, cache, "--resume")
    assert status == ExitStatus.CACHE_LOST and events[-1]["event"] == "error"


def test_what_was_cut_is_resumed_to_the_same_bits(cache, tmp_path, monkeypatch, capsys):
    source, whole = snapshot(tmp_path), tmp_path / "whole.cache"
    bake(capsys, source, whole)
    with monkeypatch.context() as patched:
        harmed_at(patched, cache, cut_a_byte, 5)
        bake(capsys, source, cache)
    status, _ = bake(capsys, source, cache, "--resume")
    assert status == ExitStatus.DONE
    motion = [[(one.poses.tobytes(), one.velocities.tobytes()) for one in FrameCacheReader(path)] for path in (cache, whole)]
    assert motion[0] == motion[1]


def test_a_report_that_fails_says_so_and_nothing_of_resuming(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device", "report.json")

    monkeypatch.setattr(worker, "write_output", full)
    status, events = bake(capsys, snapshot(tmp_path), tmp_path / "cache", "--report", tmp_path / "report.json")
    assert status == ExitStatus.FAILED
    assert "every frame is in the cache" in events[-1]["message"] and "resume" not in events[-1]["message"]


@pytest.mark.parametrize(
    ("number", "status"), [(28, ExitStatus.FAILED), (13, ExitStatus.BAD_INPUT), (20, ExitStatus.BAD_INPUT)]
)
def test_a_full_disk_at_the_first_byte_is_no_bad_input(tmp_path, monkeypatch, capsys, number, status):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number), "cache")

    source = snapshot(tmp_path)
    monkeypatch.setattr(FrameCacheWriter, "create", refuse)
    assert bake(capsys, source, tmp_path / "cache")[0] == status
