# SPDX-License-Identifier: GPL-3.0-or-later
"""Links that are pulled too hard for the time steps to follow are named, with the steps that follow them."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.dynamics.joints.links import Links, links_of, swing_warnings
from solver_core.scene.joints import JointSpec
from solver_core.scene.spec import SolverSettings
from solver_core.scenes import jointed as jointed_scenes

from ..chains import G, hung_on_a_light_chain


def warned(spec, frames, settings):
    return swing_warnings(sc.Simulation(spec, settings=settings).run(frames), spec, settings, links_of(spec, settings))


def test_a_link_between_two_pulls_swings_with_the_root_of_twelve_times_the_pull_over_its_mass_and_length():
    """A rod of mass m and length l on which a pull T acts at both ends: K = T l, I = m l^2 / 12 for one that is thin."""
    spec = hung_on_a_light_chain(0.02, 0.0)
    step = 1.0 / 240.0
    swing = Links(spec, step).swing(sc.Simulation(spec, substeps=1, sleeping=False).run(40)[-1])
    # of the middle link, at whose ends 50 kg pull, and hardly anything of the chain
    inertia = 0.02 * (0.09**2 + 0.02**2) / 12.0
    assert swing[5] == pytest.approx(step * math.sqrt(50.0 * G * 0.1 / inertia), rel=0.01)
    assert swing[10] < 0.2 * swing[5]


def test_a_chain_is_named_that_the_steps_do_not_follow_and_not_with_as_many_as_the_warning_asks_for():
    spec = replace(hung_on_a_light_chain(0.1, 0.0), fps=24.0)
    (said,) = warned(spec, 2, SolverSettings(substeps=10))
    assert said.objects == tuple(f"Link {k}" for k in range(10)) and "frame 2" in said.message
    (enough,) = map(int, re.findall(r"(\d+) substeps", said.message))
    assert enough > 10
    assert not warned(spec, 2, SolverSettings(substeps=enough))


def test_what_is_not_pulled_so_or_cannot_swing_is_not_named():
    bridge = replace(jointed_scenes.rope_bridge(planks=6, load=10.0), frame_end=3)
    chain = replace(hung_on_a_light_chain(0.1, 0.0), fps=24.0)
    fixed = replace(chain, joints=tuple(JointSpec(j.name, j.body_a, j.body_b, j.position) for j in chain.joints))
    for spec in (bridge, fixed, replace(bridge, joints=())):
        assert not warned(spec, 2, SolverSettings(substeps=10))
    assert np.all(Links(fixed, 1.0 / 240.0).swing(sc.Simulation(fixed).run(1)[-1]) == 0.0)
