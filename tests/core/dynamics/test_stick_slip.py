# SPDX-License-Identifier: GPL-3.0-or-later
"""A block on a belt, held back by a leaf spring that bends, sticks and slips as its closed form says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import solver_core as sc
from solver_core.deformable.bricks import attached
from solver_core.deformable.reduced_body import joint_loads, prepared
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.joints import FREE_AXIS, LOCKED, JointSpec
from solver_core.scene.parts import box as rigid_box
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec

from ..deformable.beams import divided

STATIC, DYNAMIC, SPEED, MASS = 0.5, 0.3, 0.03, 2.0
LEAF, DENSITY = np.array([0.02, 0.1, 1.0]), 20.0
YOUNG, FPS = 1.6e9, 240
FREE = (FREE_AXIS, FREE_AXIS, FREE_AXIS)


def scene(law, frames):
    """A leaf that is pinned at its upper end holds the block by its lower one; the belt moves along x."""
    shape = divided(LEAF, (1, 1, 10))
    pinned = np.flatnonzero(np.isclose(shape.vertices[:, 2], 0.5)).astype(np.int32)
    leaf = BodySpec("Leaf", BodyKind.ACTIVE, shape, density=DENSITY, position=np.array([0.0, 0.0, 0.525]))
    leaf = replace(leaf, deformable=DeformableSpec(law, YOUNG, 0.0, 12, 50, damping_ratio=0.0, pinned=pinned))
    # of two bodies the product counts
    friction = MaterialSpec(math.sqrt(STATIC), math.sqrt(DYNAMIC))
    block = rigid_box("Block", (0.3, 0.3, 0.05), (0.0, 0.0, 0.025), friction, MASS)
    path = np.zeros((frames + 1, 7))
    path[:, 0], path[:, 2], path[:, 3] = SPEED * np.arange(frames + 1) / FPS, -0.05, 1.0
    belt = rigid_box("Belt", (4.0, 1.0, 0.1), (0.0, 0.0, -0.05), friction, 1.0)
    belt = replace(belt, kind=BodyKind.ANIMATED, mass=None, path=path)
    # along the block's axes: those of the leaf's end lean, and would press the block down
    eye = JointSpec("Eye", "Block", "Leaf", np.array([0.0, 0.0, 0.025]), linear=(LOCKED, FREE_AXIS, FREE_AXIS), angular=FREE)
    apart = ("Leaf", "Block"), ("Leaf", "Belt")
    return SceneSpec((leaf, block, belt), joints=(eye,), excluded=apart, fps=FPS, frame_end=frames + 1)


@pytest.mark.slow
@pytest.mark.parametrize("law", [Elasticity.LINEAR, pytest.param(Elasticity.STVK, marks=pytest.mark.long)])
def test_a_block_on_a_leaf_spring_sticks_and_slips_on_a_belt(law):
    """Carried along to mu_s m g / k, it slips about mu_d m g / k, a half turn and what its speed adds, until it is as fast as
    the belt again, as far on the other side."""
    spec = scene(law, 440)
    leaf = prepared(spec.bodies[0], joint_loads(spec, 0))
    tip = attached(leaf.bricks, np.array([0.0, 0.0, -0.5]))[0][0]
    stiffness = 1.0 / (tip**2 / leaf.omega**2).sum()
    bends = YOUNG * LEAF[1] * LEAF[0] ** 3 / 12.0
    assert stiffness == pytest.approx(3.0 * bends / LEAF[2] ** 3, rel=0.03)
    # of a cantilever 33/140 swings along
    omega = np.sqrt(stiffness / (MASS + 33.0 / 140.0 * leaf.mass))
    frames = sc.Simulation(spec, modes={0: leaf}, substeps=1, sleeping=False).run(440)
    assert all((frame.statistics.status == sc.Status.SOLVED).all() for frame in frames[1:])
    x, time = np.array([frame.poses[1, 0] for frame in frames]), np.arange(441) / FPS
    slip, middle = (STATIC - DYNAMIC) * MASS * 9.81 / stiffness, DYNAMIC * MASS * 9.81 / stiffness
    turn = np.arctan(SPEED / (omega * slip))
    period = 2.0 * slip / SPEED + (np.pi + 2.0 * turn) / omega
    # where lines through what is carried along meet the middle
    carried = np.abs(np.diff(x) * FPS - SPEED) < 0.01 * SPEED
    crossings = [time[k] + (middle - x[k]) / SPEED for k in np.flatnonzero(carried) if x[k] <= middle < x[k + 1]]
    assert len(crossings) == 2
    np.testing.assert_allclose(np.diff(crossings), period, rtol=0.02)
    later = x[time > crossings[0]]
    swing = np.hypot(slip, SPEED / omega)
    assert later.max() - middle == pytest.approx(swing, rel=0.02)
    assert middle - later.min() == pytest.approx(swing, rel=0.02)
