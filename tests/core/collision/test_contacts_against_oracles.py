# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of all pairs of convex shapes against proofs, searches and MuJoCo; `make bench` does the same for 21,000 poses."""

from __future__ import annotations

import numpy as np
import pytest

from ..contact_oracle import PAIRS, Tally, pool, poses, tally
from ..mujoco_oracle import MujocoOracle

NAMES = ["-".join(pair) for pair in PAIRS]


def require_right(total: Tally) -> None:
    assert total.wrong == total.missed == total.invented == 0
    assert 0 < total.apart < total.poses


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_distances_and_depths_are_proven_and_no_contact_is_missed_or_invented(pair):
    random = np.random.default_rng([1, PAIRS.index(pair)])
    total = tally(random, poses(random, pool(), pair, 36))
    require_right(total)
    if {"cylinder", "cone", "sphere"} & set(pair):
        assert total.faces == total.edges == total.normals_off == 0


@pytest.mark.slow
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if "cone" not in pair])
def test_distances_are_those_of_mujoco_or_proven_against_it(pair):
    mujoco = MujocoOracle(pool())
    random = np.random.default_rng([2, PAIRS.index(pair)])
    total = tally(random, poses(random, mujoco.solids, pair, 24), mujoco)
    require_right(total)
    assert total.compared == 24 and total.unsettled == 0 and total.agreed >= 18
    assert total.turn < 1e-4
