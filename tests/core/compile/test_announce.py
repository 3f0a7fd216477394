# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that waits for kernels is told so after two seconds, and one that does not wait is told nothing."""

from __future__ import annotations

import time

import pytest

from solver_core.compile import announce


@pytest.fixture
def listener(monkeypatch):
    """An announcer for which two seconds are a tenth of one; that of the process is done with earlier tests, and is quiet."""
    of_process, end = announce.announcer(), time.monotonic() + 60.0
    while of_process._is_watched and time.monotonic() < end:
        time.sleep(0.05)
    monkeypatch.setattr(of_process, "is_quiet", True)
    monkeypatch.setattr(announce, "QUIET_SECONDS", 0.1)
    monkeypatch.setattr(announce, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(announce, "SECONDS_BETWEEN_GLANCES", 0.01)
    return announce.Announcer()


def lines_when_it_is_over(listener: announce.Announcer, capsys) -> list[str]:
    end = time.monotonic() + 60.0
    while listener._is_watched and time.monotonic() < end:
        time.sleep(0.01)
    return capsys.readouterr().err.splitlines()


def test_a_long_compilation_is_told_with_how_many_kernels_it_was_and_where_they_are(listener, capsys):
    for _ in range(2):
        listener.on_start(None)
    listener.on_end(None)
    time.sleep(0.5)
    listener.on_end(None)
    first, last = lines_when_it_is_over(listener, capsys)
    assert "compiling kernels, once on this machine: 1 so far" in first
    assert last.startswith("solver_core: 2 kernels compiled in ") and str(announce.folder_of_kernels()) in last


def test_a_short_one_is_not_told(listener, capsys, monkeypatch):
    monkeypatch.setattr(announce, "QUIET_SECONDS", 30.0)
    listener.on_start(None)
    listener.on_end(None)
    assert lines_when_it_is_over(listener, capsys) == []


def test_nothing_is_told_where_another_process_tells_it(listener, capsys):
    listener.is_quiet = True
    listener.on_start(None)
    time.sleep(0.3)
    listener.on_end(None)
    assert lines_when_it_is_over(listener, capsys) == []


def test_a_closed_standard_error_ends_nothing(listener, monkeypatch):
    monkeypatch.setattr(announce.sys, "stderr", None)
    announce.say("anything")
