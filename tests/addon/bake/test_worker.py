# SPDX-License-Identifier: GPL-3.0-or-later
"""How the worker's Python and its libraries are found, and what is said when they are not."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.fixture
def worker(extension):
    from stiction.addon.bake import worker

    return worker


def test_the_python_found_is_of_this_version(worker):
    version = subprocess.run(
        [worker.find_python(), "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, text=True, check=True
    )
    assert version.stdout.strip() == str(sys.version_info[:2])


def test_a_blender_that_calls_itself_the_python_is_not_taken_for_one(worker, monkeypatch, tmp_path):
    blender = tmp_path / "blender"
    blender.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(blender))
    assert Path(worker.find_python()).name.startswith("python")


def test_no_python_at_all_is_an_error_that_says_where_it_was_looked_for(worker, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "blender"))
    for name in ("prefix", "exec_prefix", "base_prefix"):
        monkeypatch.setattr(sys, name, str(tmp_path))
    with pytest.raises(worker.WorkerError, match=str(tmp_path / "bin")):
        worker.find_python()


def test_a_missing_library_is_named(worker, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else find(name))
    with pytest.raises(worker.WorkerError, match="numba"):
        worker.worker_environment()


@pytest.mark.slow
def test_registering_loads_neither_numba_nor_scipy():
    code = (
        "import sys; from tests.addon.loading import load_extension\n"
        "load_extension().register(); loaded = {'numba', 'scipy'} & set(sys.modules); load_extension().unregister()\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def start(worker, monkeypatch, tmp_path):
    """Starts a worker whose program is the given text."""

    def begin(program: str):
        package = tmp_path / "solver_core"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "worker.py").write_text(program)
        monkeypatch.setattr(worker, "worker_environment", lambda: {**os.environ, "PYTHONPATH": str(tmp_path)})
        return worker.Worker(tmp_path / "snapshot", tmp_path / "cache")

    return begin


def test_a_worker_is_asked_to_end_by_the_end_of_its_input_and_waited_for(start, worker):
    process = start('import sys; sys.stdin.read(); print(\'{"event": "stopped"}\', flush=True); sys.exit(1)')
    process.end()
    said, ended = process.all_events()
    assert said.record == {"event": "stopped"} and ended.status == 1


def test_a_worker_is_told_to_wait_and_to_go_on_by_lines_on_its_input(start, worker):
    process = start('import sys, json\nfor line in sys.stdin: print(json.dumps({"event": line.strip()}), flush=True)')
    process.pause(True)
    process.pause(False)
    process.end()
    assert [event.record["event"] for event in list(process.all_events())[:-1]] == ["pause", "continue"]


def test_what_a_library_prints_is_no_event_and_hides_no_end(start):
    process = start("print('3'); print('null'); print('[1]'); raise SystemExit(5)")
    (ended,) = process.all_events()
    assert ended.status == 5 and ended.trouble.splitlines() == ["3", "null", "[1]"]


def test_a_worker_that_hangs_is_killed(start, worker, monkeypatch):
    from stiction.addon.bake import process as processes

    monkeypatch.setattr(processes, "SECONDS_TO_END", 0.5)
    process = start("import time; time.sleep(3600)")
    begin = time.monotonic()
    process.end()
    assert time.monotonic() - begin < 60.0
    (ended,) = process.all_events()
    assert ended.status != 0
