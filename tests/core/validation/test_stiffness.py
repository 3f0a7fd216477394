# SPDX-License-Identifier: GPL-3.0-or-later
"""What swings faster than the steps is said by name, with what to do, and what swings is not."""

from __future__ import annotations

import math

import numpy as np

import solver_core as sc
from solver_core.scene.deformable import DeformableSpec
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..deformable.beams import BEAM, DENSITY, FREE, box, frequency


def warnings(young, count=1, substeps=10):
    spec = DeformableSpec(young=young, modes=3, resolution=20)
    beams = (
        BodySpec(f"Beam {i}", BodyKind.ACTIVE, box(), np.array([0.0, i, 0.0]), density=DENSITY, deformable=spec)
        for i in range(count)
    )
    return sc.Simulation(SceneSpec(tuple(beams)), substeps=substeps).warnings


def test_a_beam_that_the_steps_follow_is_no_surprise():
    assert not warnings(1e7)


def test_the_substeps_that_follow_the_first_mode_are_named():
    """Of a free beam in closed form; two radians a step are followed."""
    young = 1.6e8
    first = frequency(FREE, young=young)
    (warning,) = warnings(young, count=2, substeps=1)
    assert warning.objects == ("Beam 0", "Beam 1") and warning.field == "substeps"
    wanted = int(warning.message.rpartition("; ")[2].split()[0])
    assert wanted == math.ceil(2.0 * math.pi * first / 24.0 / 2.0)
    assert not warnings(young, substeps=wanted)


def test_what_nobody_sees_bend_is_said_to_be_the_same_rigid():
    (warning,) = warnings(2e11)
    assert warning.field == "young" and "rigid body looks the same" in warning.message
    assert frequency(FREE, young=2e11, size=BEAM) > 1000.0 / math.pi
