# SPDX-License-Identifier: GPL-3.0-or-later
"""Sheets of paper that are dropped on their short side end flat, however steep they fall."""

from __future__ import annotations

import math

import numpy as np
import pytest

import solver_core as sc
from solver_core.scene.parts import axis_angle, box, ground
from solver_core.scene.spec import MaterialSpec, SceneSpec

THICK, PAPER = 1e-4, MaterialSpec(0.5, 0.5)


@pytest.mark.slow
def test_sheets_of_paper_lie_flat_from_30_to_89_degrees():
    """In other engines they stay on their edge, or fall through the floor. At 90 degrees the edge is an equilibrium."""
    sheets = [
        box(
            f"{angle}",
            (0.21, 0.297, THICK),
            (0.5 * k, 0.0, 0.3),
            PAPER,
            0.005,
            orientation=axis_angle([1, 0, 0], math.radians(angle)),
        )
        for k, angle in enumerate((30, 80, 89))
    ]
    spec = SceneSpec((*sheets, ground(PAPER)), gravity=np.array([0.0, 0.0, -9.81]), frame_end=61, fps=24.0)
    poses = sc.Simulation(spec).run()[-1].poses[:3]
    # the rest offset is at most that of the half extent of the sheet
    assert (poses[:, 2] < THICK).all() and (poses[:, 2] > 0.0).all()
    # a turn about x by 0 or 180 degrees
    assert np.abs(np.abs(np.cos(2 * np.arctan2(poses[:, 4], poses[:, 3]))) - 1.0).max() < 1e-4
