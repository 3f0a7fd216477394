# SPDX-License-Identifier: GPL-3.0-or-later
"""One interruption of each kind does no harm; `tests/bench/interruptions.py` does hundreds, in a random order."""

from __future__ import annotations

import pytest

from ...bench.interruptions import FRAMES, KINDS, Trial, can_mount

# Signals to a worker have tests of their own.
QUICK = ("kill", "close pipe", "full disk", "kill Blender", "reload", "pause and kill")


@pytest.fixture(scope="module")
def trial(extension, tmp_path_factory):
    return Trial(tmp_path_factory.mktemp("interruptions"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.long) for kind in KINDS])
def test_an_interruption_loses_nothing_but_the_frame_in_work(kind, trial):
    if kind == "full disk" and not can_mount():
        pytest.skip("a full disk needs the right to mount one")
    trial.interrupt(kind, 2)


@pytest.mark.slow
def test_after_all_of_them_the_bake_has_the_bits_of_one_that_nothing_disturbed(trial):
    trial.interrupt("kill", 2)
    # which compares them
    trial.interrupt("kill", 10 * FRAMES)
    assert trial.done == FRAMES
