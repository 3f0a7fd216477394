# SPDX-License-Identifier: GPL-3.0-or-later
"""Springs whose modes swing slower and faster than the time steps, against the modes of a chain of masses.

W is (omega h)^2 of a mode. Where the springs of a body are too stiff for the step, Newmark's method with gamma = 0.55 has
(1 + last W) z^2 - (2 - (1 - last - first) W) z + 1 + first W = 0 for the factor z of a mode in a step.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from solver_core.dynamics.joints.laws import STIFF_FIRST, STIFF_LAST
from solver_core.scene.joints import LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box

from ..chains import scene
from ..jointed_runs import NONE, ROUGH, run, solved

H = 1.0 / 240.0
MASSES = 4


def chain(w: float, mode: int, damping: float = 0.0):
    """Four masses of 1 kg in a row along X on five springs, the ends of which stand; they start from rest in a mode.

    w: (omega h)^2 of that mode. mode: from 1, the slowest. damping: N s/m of each damper. Returns the scene and the shape (4,).
    """
    stiffness = w / (4.0 * math.sin(0.5 * math.pi * mode / (MASSES + 1)) ** 2) / H**2
    shape = np.sin(math.pi * mode * np.arange(1, MASSES + 1) / (MASSES + 1))
    names = ["", *(f"Mass {k}" for k in range(MASSES)), ""]
    start = np.concatenate([[0.0], 0.1 * shape, [0.0]])
    masses = [box(names[k], (0.1, 0.1, 0.1), (k + start[k], 0.0, 0.0), ROUGH, mass=1.0) for k in range(1, MASSES + 1)]
    joints = []
    for k, (a, b) in enumerate(pairwise(names)):
        # of the last spring the world is the first body
        first, second, sign = (a, b, 1.0) if b else ("", a, -1.0)
        at = np.array([k + start[k], 0.0, 0.0])
        law = AxisSpec(stiffness=stiffness, damping=damping, rest=sign * (start[k] - start[k + 1]))
        joints.append(JointSpec(f"Spring {k}", first, second, at, linear=(law, LOCKED, LOCKED)))
    return scene(masses, joints, gravity=NONE), 0.1 * shape


def amplitudes(frames, shape):
    """(frames,) the share of a mode in the displacements of the masses, 1 as they begin."""
    x = np.array([frame.poses[:, 0] for frame in frames]) - np.arange(1, MASSES + 1)
    return x @ shape / (shape @ shape)


def phase_and_decay(w):
    """The angle in a step and the factor of the amplitude of a mode under the weights of stiff springs."""
    product = (1.0 + STIFF_FIRST * w) / (1.0 + STIFF_LAST * w)
    total = (2.0 - w * (1.0 - STIFF_FIRST - STIFF_LAST)) / (1.0 + STIFF_LAST * w)
    return math.acos(0.5 * total / math.sqrt(product)), math.sqrt(product)


@pytest.mark.parametrize("w", [1e-3, 0.1, 1.0, 10.0, 1e2, 1e4, 1e8])
def test_the_weights_of_stiff_springs_let_no_mode_grow(w):
    _, decay = phase_and_decay(w)
    assert math.sqrt(STIFF_FIRST / STIFF_LAST) < decay < 1.0


@pytest.mark.parametrize("w", [0.01, 0.1, 0.4])
def test_slow_modes_keep_their_phase_and_their_amplitude(w):
    theta, decay = phase_and_decay(w)
    assert theta == pytest.approx(math.sqrt(w), rel=w / 10.0)
    assert 1.0 - decay == pytest.approx(0.25 * w * 0.1 * 2.0, rel=0.3)


@pytest.mark.parametrize(("mode", "w"), [(1, 0.2), (1, 0.35), (2, 1.2), (4, 3.0)])
def test_modes_of_soft_springs_swing_as_long_as_they_do(mode, w):
    spec, shape = chain(w, mode)
    frames = run(spec, 120)
    share = amplitudes(frames, shape)
    assert solved(frames)
    assert np.abs(share).max() < 1.05
    assert np.abs(share[-20:]).max() > 0.8


@pytest.mark.parametrize("w", [0.6, 0.8])
def test_the_slow_mode_of_a_chain_of_stiff_springs_swings_on(w):
    """Its springs together have 4 k h^2 / m above 4; backward Euler would end the swing within two periods."""
    spec, shape = chain(w, 1)
    share = amplitudes(run(spec, 60), shape)
    theta, decay = phase_and_decay(w)
    steps = np.arange(61)
    np.testing.assert_allclose(share, np.cos(theta * steps) * decay**steps, atol=0.06)
    assert theta == pytest.approx(math.sqrt(w), rel=0.08)


@pytest.mark.parametrize(("mode", "w"), [(4, 8.0), (4, 100.0), (4, 1e6), (1, 100.0)])
def test_a_mode_that_swings_too_fast_for_the_steps_fades(mode, w):
    spec, shape = chain(w, mode)
    frames = run(spec, 60)
    share = np.abs(amplitudes(frames, shape))
    assert solved(frames)
    assert share.max() < 1.0 + 1e-9
    assert share[30:].max() < 0.05


@pytest.mark.parametrize("ratio", [0.05, 0.3])
def test_a_damped_mode_of_stiff_springs_loses_what_its_dampers_take(ratio):
    w = 0.3
    omega = math.sqrt(w) / H
    damping = 2.0 * ratio * omega / (4.0 * math.sin(0.1 * math.pi) ** 2)
    spec, shape = chain(w, 1, damping)
    share = amplitudes(run(spec, 40), shape)
    steps, own = np.arange(41), math.sqrt(w) * math.sqrt(1.0 - ratio**2)
    expected = np.exp(-ratio * math.sqrt(w) * steps) * (
        np.cos(own * steps) + ratio / math.sqrt(1.0 - ratio**2) * np.sin(own * steps)
    )
    np.testing.assert_allclose(share, expected, atol=0.12)
