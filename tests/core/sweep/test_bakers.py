# SPDX-License-Identifier: GPL-3.0-or-later
"""The processes of a sweep end within seconds of the wish, whatever they do and however many there are."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from solver_core.sweep import baker
from solver_core.sweep.baker import Bakers

PATIENCE = 3.0


@pytest.fixture
def patience(monkeypatch):
    """Less than the product has, so that the tests are quick."""
    monkeypatch.setattr(baker, "SECONDS_FOR_ITS_END", PATIENCE)


def seconds_to_end(bakers: Bakers, count: int, has_begun: threading.Semaphore) -> float:
    """The time from the wish to the end of as many bakes."""
    with ThreadPoolExecutor(count) as threads:
        bakes = [threads.submit(bakers.bake, [], lambda record: has_begun.release()) for _ in range(count)]
        for _ in range(count):
            assert has_begun.acquire(timeout=300.0)
        began = time.monotonic()
        bakers.end()
        ended = time.monotonic() - began
        assert all(bake.result()[0] != 0 for bake in bakes)
    return ended


@pytest.mark.slow
def test_deaf_ones_are_killed_together_and_not_one_after_another(monkeypatch, patience):
    monkeypatch.setattr(baker, "WORKER", "tests.core.sweep.deaf_worker")
    # one after another takes 6 times the patience
    assert seconds_to_end(Bakers(), 6, threading.Semaphore(0)) < 4.0 * PATIENCE


@pytest.mark.slow
def test_one_that_has_said_nothing_yet_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(baker, "WORKER", "tests.core.sweep.mute_worker")
    monkeypatch.setattr(baker, "SECONDS_FOR_ITS_END", 300.0)
    bakers = Bakers()
    thread = threading.Thread(target=bakers.bake, args=([], lambda record: None), daemon=True)
    thread.start()
    while not bakers._all:
        time.sleep(0.01)
    began = time.monotonic()
    bakers.end()
    assert time.monotonic() - began < 60.0
    thread.join(60.0)
    assert not thread.is_alive()


def test_after_the_end_nothing_is_baked_any_more():
    bakers = Bakers()
    bakers.end()
    assert bakers.is_over
    status, why = bakers.bake([], lambda record: None)
    assert status != 0 and "wants it to end" in why
