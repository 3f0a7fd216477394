# SPDX-License-Identifier: GPL-3.0-or-later
"""What slides, passes, bounces and breaks is right whatever method solves it (tests/bench/moving_contacts.py has the table)."""

from __future__ import annotations

import math

import pytest

from ...bench.everyday.running import METHODS
from ...bench.moving_contacts import ROWS, Row

# By kinetic energy each takes as long as all other methods together.
LONG_BY_ENERGY = ("one column of a building is rammed", "box over one seam", "crate down twelve boards")
CASES = [
    pytest.param(
        *(row, method),
        marks=pytest.mark.long if method == "energy" and row.scene in LONG_BY_ENERGY else pytest.mark.slow,
        id=f"{row.scene}: {row.measured}-{method}",
    )
    for row in ROWS
    for method in METHODS
]


@pytest.mark.parametrize(("row", "method"), CASES)
def test_a_scene_of_moving_contacts_is_right_by_every_method(row: Row, method: str):
    seen = row.run(method)
    assert row.holds(seen.value), f"{row.measured}: {seen.value:.6g}, not {row.low:.6g} to {row.high:.6g}"
    assert seen.missed == 0


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.scene}: {row.measured}")
def test_a_row_has_bounds_and_what_was_wrong_before(row: Row):
    assert math.isfinite(row.high) and row.low <= row.high and row.margin >= 0.0
    assert row.before
    assert not row.holds(math.nan)
