# SPDX-License-Identifier: GPL-3.0-or-later
"""All contacts of meshes, in place of a few that span what they support together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import axis_angle, box, ground, pair_material
from solver_core.scene.spec import SceneSpec
from solver_core.scenes.flexible import sheet

ANGLE, MU, SIZE = math.atan(0.5), 0.3, (0.2, 0.2, 0.1)


def slide(every):
    """The distance that a block with divided faces slides down a slope in half a second, in m, and its contacts."""
    turn, material = axis_angle((0.0, 1.0, 0.0), ANGLE), pair_material(MU)
    place = 0.5 * SIZE[2] * np.array([math.sin(ANGLE), 0.0, math.cos(ANGLE)])
    block = replace(box("Block", SIZE, place, material, 1.0, turn), shape=sheet(SIZE, (4, 4, 1)))
    running = sc.Simulation(SceneSpec((ground(material, turn), block)))
    running.every_contact = every
    frames = running.run(12)
    return float(np.linalg.norm(frames[-1].poses[1, :3] - place)), int(frames[-1].statistics.contacts[-1])


@pytest.mark.slow
def test_a_divided_block_slides_as_far_on_all_of_its_contacts_as_on_few():
    exact = 0.5 * 9.81 * (math.sin(ANGLE) - MU * math.cos(ANGLE)) * 0.5**2
    (few_slide, few), (all_slide, every) = slide(every=False), slide(every=True)
    # the corners of its faces along the outline of its bottom
    assert few < every == 16
    assert few_slide == pytest.approx(exact, rel=1e-2) and all_slide == pytest.approx(few_slide, abs=1e-6)
