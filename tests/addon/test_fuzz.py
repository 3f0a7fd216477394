# SPDX-License-Identifier: GPL-3.0-or-later
"""What strangers put into .blend files and command lines is a clear error or a right result."""

from __future__ import annotations

import pytest
from core.fuzzing import try_case

from .fuzzing import KINDS, Room


@pytest.fixture(scope="module")
def room(extension, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "room"
    path.mkdir()
    return Room.made(path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_few_of_what_strangers_send(kind, room):
    # far from those that tests/bench/fuzz.py tries first
    for number in range(100_000, 100_012):
        try_case(kind, number, room, KINDS)
