# SPDX-License-Identifier: GPL-3.0-or-later
"""One interruption of each kind does no harm; `tests/bench/interruptions.py` does hundreds, in a random order."""

from __future__ import annotations

import pytest

from ...bench.interruptions import FRAMES, KINDS, OF_WORKER, Trial, can_mount


@pytest.fixture(scope="module")
def trial(extension, tmp_path_factory):
    return Trial(tmp_path_factory.mktemp("interruptions"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_an_interruption_loses_nothing_but_the_frame_in_work(kind, trial):
    if kind == "full disk" and not can_mount():
        pytest.skip("a full disk needs the right to mount one")
    trial.interrupt(kind, 2)


@pytest.mark.slow
def test_after_all_of_them_the_bake_has_the_bits_of_one_that_nothing_disturbed(trial):
    for kind in OF_WORKER[:2]:
        trial.interrupt(kind, 2)
    # which compares them
    trial.interrupt("kill", 10 * FRAMES)
    assert trial.done == FRAMES
