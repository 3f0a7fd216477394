# SPDX-License-Identifier: GPL-3.0-or-later
"""A cache has one writer at a time, in one process or several, and its lock dies with whoever holds it."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from solver_core import worker
from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import CacheHeld, FrameCacheWriter
from solver_core.io.snapshot import snapshot_digest, write_snapshot
from solver_core.process import file_lock
from solver_core.process.command_line import ExitStatus
from solver_core.process.file_lock import FileLock, LockHeld
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec, SolverSettings

ROOT = Path(__file__).resolve().parents[3]
SPHERE = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1)
SPEC = SceneSpec((BodySpec("Ball", BodyKind.ACTIVE, SPHERE, mass=1.0),), frame_start=1, frame_end=1)
SETTINGS = SolverSettings()

HOLDER = """
import sys
from solver_core.process.file_lock import FileLock
lock = FileLock.acquire(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
lock.release()
"""


def hold(path):
    """A process that holds the lock until its standard input ends."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], cwd=ROOT, **pipes)
    assert process.stdout.readline() == "held\n"
    return process


def test_who_holds_a_lock_is_named_with_host_and_time(tmp_path):
    path = tmp_path / "cache"
    with hold(path) as process, pytest.raises(LockHeld) as held:
        try:
            FileLock.acquire(path)
        finally:
            process.kill()
    words = rf"process {process.pid} on {re.escape(socket.gethostname())}, since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d.*"
    assert re.fullmatch(words, str(held.value))


def test_a_lock_dies_with_its_process_and_leaves_nothing_once_it_is_given_back(tmp_path):
    path = tmp_path / "cache"
    process = hold(path)
    process.kill()
    process.wait()
    assert list(tmp_path.iterdir()) == [tmp_path / "cache.lock"]
    FileLock.acquire(path).release()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_is_waited_for(tmp_path):
    path = tmp_path / "cache"
    first = FileLock.acquire(path)
    begin = time.monotonic()
    threading.Timer(0.3, first.release).start()
    second = FileLock.acquire(path, patience=60.0)
    assert time.monotonic() - begin >= 0.3
    second.release()
    second.release()


def test_of_many_who_want_it_at_once_one_has_it(tmp_path):
    """Also while its file is removed and made again by those who had it."""
    path, inside, most = tmp_path / "cache", [], []

    def take():
        for _ in range(50):
            mine = FileLock.acquire(path, patience=60.0)
            inside.append(1)
            most.append(len(inside))
            inside.pop()
            mine.release()

    threads = [threading.Thread(target=take) for _ in range(4)]
    interval, file_lock.SECONDS_BETWEEN_TRIES = file_lock.SECONDS_BETWEEN_TRIES, 0.0005
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        file_lock.SECONDS_BETWEEN_TRIES = interval
    assert max(most) == 1 and len(most) == 200 and list(tmp_path.iterdir()) == []


def test_a_cache_that_is_being_written_is_neither_started_anew_nor_resumed_and_can_be_read(tmp_path):
    path = tmp_path / "cache"
    with FrameCacheWriter.create(path, SPEC, SETTINGS) as writer:
        assert writer.is_locked
        before = path.read_bytes()
        with pytest.raises(CacheHeld, match=rf"{re.escape(str(path))}.*process {os.getpid()} on .*since.*wait.*another cache"):
            FrameCacheWriter.create(path, SPEC, SETTINGS)
        with pytest.raises(CacheHeld):
            FrameCacheWriter.resume(path, snapshot_digest(SPEC, SETTINGS))
        assert path.read_bytes() == before and len(FrameCacheReader(path).frames) == 0
    FrameCacheWriter.resume(path, snapshot_digest(SPEC, SETTINGS)).close()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("arguments", [(), ("--resume",)])
def test_a_worker_refuses_a_cache_that_another_one_writes_with_a_status_that_says_try_again(
    arguments, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(worker, "SECONDS_FOR_LOCK", 0.2)
    source, cache, report = tmp_path / "snapshot", tmp_path / "cache", tmp_path / "report.json"
    write_snapshot(source, SPEC, SETTINGS)
    FrameCacheWriter.create(cache, SPEC, SETTINGS).close()
    with hold(cache) as process:
        status = worker.main([str(source), str(cache), "--report", str(report), *arguments])
        process.kill()
    assert status == ExitStatus.FAILED
    event = json.loads(capsys.readouterr().out)
    assert event["event"] == "error" and f"process {process.pid}" in event["message"]
    assert json.loads(report.read_text())["error"] == event["message"]


def test_a_lock_that_fails_opens_no_cache(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        FrameCacheWriter.create(tmp_path / "nowhere" / "cache", SPEC, SETTINGS)
    (tmp_path / "film.blend").write_bytes(b"BLENDER-v402")
    with pytest.raises(ValueError, match="not a frame cache"):
        FrameCacheWriter.resume(tmp_path / "film.blend", "")
    assert list(tmp_path.iterdir()) == [tmp_path / "film.blend"]


@pytest.mark.skipif(sys.platform == "win32", reason="file systems without locks are mounted elsewhere")
def test_a_file_system_without_locks_is_used_with_a_warning(tmp_path, capsys, monkeypatch):
    import fcntl

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    source, cache, report = tmp_path / "snapshot", tmp_path / "cache", tmp_path / "report.json"
    write_snapshot(source, SPEC, SETTINGS)
    assert worker.main([str(source), str(cache), "--report", str(report)]) == ExitStatus.DONE
    warnings = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "warning" in line]
    assert [warning["objects"] for warning in warnings] == [[str(cache)]]
    assert json.loads(report.read_text())["warnings"][0]["field"] == "cache"


FILLED = """
import resource, sys
from solver_core import worker
append = worker.FrameCacheWriter.append
def append_to_full_disk(*arguments):
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, -1))
    append(*arguments)
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
worker.FrameCacheWriter.append = append_to_full_disk
sys.exit(worker.main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are set differently there")
def test_a_disk_that_is_full_is_said_with_the_path_and_leaves_a_cache_that_goes_on(tmp_path, capsys):
    long = SceneSpec(SPEC.bodies, frame_start=1, frame_end=9)
    source, cache = tmp_path / "snapshot", tmp_path / "cache"
    write_snapshot(source, long, SETTINGS)
    command = [sys.executable, "-c", FILLED, str(source), str(cache)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == ExitStatus.FAILED and done.stderr == ""
    message = json.loads(done.stdout.splitlines()[-1])["message"]
    assert str(cache) in message and "resume" in message
    reader = FrameCacheReader(cache)
    assert reader.damage is None and 0 < len(reader.frames) < 9
    whole = cache.read_bytes()
    FrameCacheWriter.resume(cache, snapshot_digest(long, SETTINGS)).close()
    assert cache.read_bytes() == whole  # no part of a record is left
    assert worker.main([str(source), str(cache), "--resume"]) == ExitStatus.DONE
    assert FrameCacheReader(cache).frames == range(1, 10)
