# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a time step: they come to the whole of it, whatever is refused, and refusals come to an end."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.dynamics.look_ahead.impacts import Cut
from solver_core.dynamics.pacing.parts import MAX_CUTS, Parts

STEP = 1.0 / 240.0


def test_a_step_that_nothing_refuses_is_one_part():
    parts = Parts(STEP)
    assert (parts.h, parts.cuts, parts.turns) == (STEP, MAX_CUTS, 0)
    parts.accept()
    assert parts.left == 0.0


def test_after_an_impact_the_rest_of_the_step_is_one_part():
    parts = Parts(STEP)
    parts.refuse(Cut(0.3 * STEP, repeatedly=False))
    assert (parts.h, parts.cuts) == (0.3 * STEP, MAX_CUTS - 1)
    parts.accept()
    assert parts.h == parts.left == pytest.approx(0.7 * STEP)


def test_an_impact_that_has_its_turn_costs_no_refusal():
    parts = Parts(STEP)
    parts.refuse(Cut(0.3 * STEP, repeatedly=False, is_turn=True))
    assert (parts.h, parts.cuts, parts.turns) == (0.3 * STEP, MAX_CUTS, 1)


def test_a_part_refused_again_has_half_its_length_at_most():
    parts = Parts(STEP)
    parts.refuse(Cut(0.9 * STEP, repeatedly=False))
    parts.refuse(Cut(0.899 * STEP, repeatedly=False))
    assert parts.h == pytest.approx(0.45 * STEP)


def test_what_has_to_be_short_repeatedly_stays_short_until_eight_parts_went_well():
    parts = Parts(STEP)
    parts.refuse(Cut(STEP / 64.0, repeatedly=True))
    lengths = []
    while parts.left > 0.0:
        lengths.append(parts.h)
        parts.accept()
    assert lengths[:8] == pytest.approx([STEP / 64.0] * 8)
    assert lengths[8] == pytest.approx(STEP / 32.0)
    assert sum(lengths) == pytest.approx(STEP)
    assert parts.cuts == MAX_CUTS


def test_misses_are_counted_from_one_solved_part_to_the_next():
    """A step of which no part is solved is soon taken as it is; where shorter parts are, the next one may be cut as well."""
    parts = Parts(STEP)
    miss = Cut(0.5 * STEP, repeatedly=False, is_miss=True)
    parts.refuse(miss)
    parts.refuse(miss)
    assert (parts.h, parts.misses) == (0.25 * STEP, 2)
    parts.accept(is_solved=False)
    assert parts.misses == 2
    parts.accept(is_solved=True)
    assert parts.misses == 0


@pytest.mark.parametrize("seed", range(20))
def test_parts_come_to_the_whole_step_and_refusals_to_an_end(seed):
    random = np.random.default_rng(seed)
    parts, taken, tried = Parts(STEP), 0.0, 0
    while parts.left > 0.0:
        tried += 1
        assert tried < 3000
        assert 0.0 < parts.h <= parts.left
        if parts.cuts > 0 and random.random() < 0.6:
            parts.refuse(Cut(parts.h * random.uniform(0.05, 1.0), repeatedly=bool(random.random() < 0.5)))
        else:
            taken += parts.h
            parts.accept()
    assert taken == pytest.approx(STEP, rel=1e-12)
