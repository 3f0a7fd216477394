# SPDX-License-Identifier: GPL-3.0-or-later
"""Nobody waits longer than a limit for a process that hangs."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from solver_core.bake.events import event_in
from solver_core.process.children import await_end, end_child, kill_child

HANGS = "import time; time.sleep(3600)"


@pytest.fixture
def child():
    """Starts Python on the given text."""
    started = []

    def start(text):
        process = subprocess.Popen([sys.executable, "-I", "-S", "-c", text], stdin=subprocess.PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdin.close()


@pytest.mark.parametrize("end", [lambda one: end_child(one, 0.1), lambda one: await_end(one, 0.1), kill_child])
def test_a_child_that_hangs_is_killed_and_is_gone(child, end):
    process = child(HANGS)
    begin = time.monotonic()
    end(process)
    assert process.poll() not in (None, 0) and time.monotonic() - begin < 60.0


def test_a_child_that_hears_the_end_of_its_input_ends_by_itself(child):
    process = child("import sys; sys.stdin.read(); sys.exit(7)")
    end_child(process, 60.0)
    assert process.returncode == 7


def test_a_child_that_has_ended_before_it_read_its_input_is_no_error(child):
    process = child("")
    process.stdin.write(b"x")
    process.wait()
    end_child(process, 60.0)
    assert process.returncode == 0


@pytest.mark.parametrize(
    "line", ["", "3\n", "null\n", "[]\n", '"event"\n', "{}\n", '{"event": 3}\n', "Info: read\n", "[" * 10**5]
)
def test_what_a_library_prints_is_no_event(line):
    assert event_in(line) is None


def test_an_event_is_read_with_its_values():
    assert event_in('{"event": "frame", "frame": 3}\n') == {"event": "frame", "frame": 3}
