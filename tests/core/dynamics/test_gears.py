# SPDX-License-Identifier: GPL-3.0-or-later
"""Gears in a row that a motor turns: each tooth comes between two others, with little room on either side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc

from ..bodies import poses
from ..gears import A_TOOTH, PITCH_RADIUS, in_a_row, meshed, of_hulls

BACKLASH = 6e-4


def turned(frames, gear):
    """(frames,) rad about its axle."""
    headings = Rotation.from_quat(poses(frames, gear)[:, 3:], scalar_first=True).as_euler("xyz")[:, 2]
    return np.unwrap(headings) - headings[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "count", "rate", "drag", "zigzag"),
    [
        pytest.param(of_hulls, 5, 4.0, 0.0, 0.0, marks=pytest.mark.long),
        (of_hulls, 5, 4.0, 3.0, 0.7),
        pytest.param(of_hulls, 5, -12.0, 0.5, 0.4, marks=pytest.mark.long),
        pytest.param(meshed, 3, 4.0, 1.0, 0.3, marks=pytest.mark.long),
    ],
)
def test_gears_turn_together_and_no_step_is_missed(shape, count, rate, drag, zigzag):
    """Each the other way than the one before it, and no farther from it than the backlash lets it be."""
    frames = sc.Simulation(in_a_row(shape(BACKLASH), count, rate, drag=drag, zigzag=zigzag)).run(48)
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames)
    angles = np.array([(-1) ** i * turned(frames, i) for i in range(count)])
    assert angles[0, -1] * np.sign(rate) > 10.0 * A_TOOTH
    assert np.abs(np.diff(angles, axis=0)).max() < BACKLASH / PITCH_RADIUS + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "backlash", "count", "rate"), [(of_hulls, 2e-4, 3, 12.0), (meshed, BACKLASH, 2, -12.0)])
def test_gears_driven_from_rest_keep_up_with_their_motor_and_out_of_each_other(shape, backlash, count, rate):
    """A twentieth of a radian a step, with less room between the teeth than these go in one."""
    frames = sc.Simulation(in_a_row(shape(backlash), count, rate)).run(16)
    for i in range(count):
        speed = np.diff(turned(frames, i))[4:].mean() * 24.0
        assert speed == pytest.approx((-1) ** i * rate, rel=0.02)
    assert max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames[1:]) < 1e-4
