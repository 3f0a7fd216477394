# SPDX-License-Identifier: GPL-3.0-or-later
"""Chains of springs that swing slower and faster than the time steps, against the modes of a chain of masses.

W is (omega h)^2 of a mode. Backward Euler holds the springs of bodies whose W is above 4 in all; it never adds energy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from solver_core.scene.joints import LOCKED, AxisSpec, JointSpec
from solver_core.scene.parts import box

from ..chains import scene
from ..jointed_runs import NONE, ROUGH, run, solved
from ..rigs import hair

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


@pytest.mark.parametrize(("mode", "w"), [(1, 0.2), (4, 3.0)])
def test_modes_of_soft_springs_swing_as_long_as_they_do(mode, w):
    spec, shape = chain(w, mode)
    frames = run(spec, 120)
    share = amplitudes(frames, shape)
    assert solved(frames)
    assert np.abs(share).max() < 1.05
    assert np.abs(share[-20:]).max() > 0.8


@pytest.mark.parametrize(("mode", "w"), [(4, 8.0), (1, 1e6)])
def test_a_mode_that_swings_too_fast_for_the_steps_fades(mode, w):
    spec, shape = chain(w, mode)
    frames = run(spec, 60)
    share = np.abs(amplitudes(frames, shape))
    assert solved(frames)
    assert share.max() < 1.0 + 1e-9
    assert share[30:].max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("stiffness", [1e3, 4e4])
def test_stiff_hair_without_dampers_never_swings_faster_than_its_head_throws_it(stiffness):
    """One step a frame, in which the head turns by tenths of a radian.

    With the weights of Newmark's method every mode of a straight chain is stable, but these strands are lost within 30 frames.
    """
    law = AxisSpec(stiffness=stiffness)
    spec = hair(61, strands=1, links=7)
    spec = replace(spec, joints=tuple(replace(joint, angular=(law, law, law)) for joint in spec.joints))
    frames = run(spec, 60)
    fastest = [float(np.linalg.norm(frame.velocities[:, :3], axis=1).max()) for frame in frames]
    assert solved(frames)
    assert max(fastest) < 3.0
    assert max(fastest[45:]) < 0.05
