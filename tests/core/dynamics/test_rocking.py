# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks that rock from edge to edge (Housner 1963): what an impact leaves of their angular velocity."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.scene.parts import box_shape, ground, pair_material
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from ..bodies import poses

BASE, HEIGHT = 0.5, 2.0
SLENDERNESS = np.arctan(BASE / HEIGHT)  # the angle at which it falls over
AT_IMPACT = 1.0 - 1.5 * np.sin(SLENDERNESS) ** 2  # of a slender block's angular velocity, by the momentum about the new edge


def rocking(share, side=1.0, heading=0.0, scale=1.0):
    """A block let go on one edge, at a share of the angle at which it would fall over."""
    turn = Rotation.from_euler("ZY", [heading, side * share * SLENDERNESS])
    edge = np.array([0.5 * side * BASE, 0.0, -0.5 * HEIGHT])
    place = -scale * turn.apply(edge)
    material = pair_material(2.0)
    block = BodySpec(
        "Block",
        BodyKind.ACTIVE,
        box_shape((scale * BASE, scale * 1.0, scale * HEIGHT)),
        position=place,
        orientation=turn.as_quat(scalar_first=True),
        mass=1000.0,
        material=material,
    )
    return SceneSpec((ground(material), block))


def ratio_of_speeds(share, side=1.0, heading=0.0, scale=1.0):
    """From the energies of the swings before and after the first impact; every time step is a frame."""
    simulation, last = sc.Simulation(rocking(share, side, heading, scale), fps=240.0 / np.sqrt(scale), substeps=1), 0.0
    tilts = []
    for _ in range(700):
        pose = poses([simulation.advance()], 1)[0]
        axis = Rotation.from_quat(pose[3:], scalar_first=True).apply((1.0, 0.0, 0.0))
        tilt = side * -np.arcsin(axis[2])
        tilts.append(tilt)
        # it is on its way back
        if tilt < 0.0 and tilt > last:
            break
        last = tilt
    peak = -min(tilts) / SLENDERNESS
    # the centre of mass is highest over the edge
    risen = np.cos(SLENDERNESS * (1.0 - np.array([share, peak]))) - np.cos(SLENDERNESS)
    return np.sqrt(risen[1] / risen[0])


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.2, 0.5, 0.8])
def test_an_impact_takes_what_the_momentum_about_the_new_edge_says(share):
    assert ratio_of_speeds(share) == pytest.approx(AT_IMPACT, rel=0.005)


@pytest.mark.slow
@pytest.mark.parametrize(("side", "heading", "scale"), [(-1.0, 0.0, 1.0), (1.0, 0.7, 1.0), (1.0, 0.0, 0.01), (1.0, 0.0, 5.0)])
def test_a_mirrored_turned_or_smaller_block_rocks_alike(side, heading, scale):
    """Time scales with the root of the size."""
    assert ratio_of_speeds(0.3, side, heading, scale) == pytest.approx(AT_IMPACT, rel=0.005)
