# SPDX-License-Identifier: GPL-3.0-or-later
"""Stresses of bodies that bend, against those of beams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from solver_core.deformable.reduced_body import brick_modes, reduced_body
from solver_core.deformable.stress import stress_modes
from solver_core.deformable.voxels import brick_grid
from solver_core.geometry.surfaces import mesh_surface
from solver_core.scene.deformable import DeformableSpec

from .beams import DENSITY, box, divided

SIZE, YOUNG = np.array([1.0, 0.08, 0.04]), 4e8
SHAPE = divided(SIZE, (20, 2, 2))
ROOT = np.flatnonzero(SHAPE.vertices[:, 0] < -0.499).astype(np.int32)
SPEC = DeformableSpec(young=YOUNG, poisson=0.3, modes=20, resolution=50, pinned=ROOT)


def test_a_uniform_strain_has_the_stress_of_hookes_law():
    grid = brick_grid(mesh_surface(box().vertices, box().triangles), 20)
    gradient = np.random.default_rng(1).normal(size=(3, 3))
    bricks = brick_modes(grid, (grid.points @ grid.axes @ gradient.T)[:, :, None])
    lam, mu = YOUNG * 0.3 / (1.3 * 0.4), YOUNG / 2.6
    strain = 0.5 * grid.axes @ (gradient + gradient.T) @ grid.axes.T
    stress = lam * np.trace(strain) * np.eye(3) + 2.0 * mu * strain
    wanted = np.array([*np.diag(stress), stress[0, 1], stress[1, 2], stress[2, 0]])
    found = stress_modes(bricks, YOUNG, 0.3)[:, :, 0]
    np.testing.assert_allclose(found, np.tile(wanted, (len(found), 1)), rtol=1e-9, atol=1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("place", [0.0, 0.25, 0.5])
def test_a_cantilever_is_stressed_most_at_its_faces_by_its_bending_moment(place):
    """6 F (L - x) / (b h^2) under a load F at its end, within what bricks and modes allow. Without Poisson's ratio, for a
    clamped section that cannot grow narrower has stresses that beams know nothing of."""
    load = np.array([0.5, 0.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0])
    body = reduced_body(SHAPE, replace(SPEC, poisson=0.0), density=DENSITY, loads=load[None])
    at_end = np.abs(SHAPE.vertices[:, 0] - 0.5) < 1e-9
    q = -2.0 * body.shapes[at_end, 2].mean(axis=0) / body.omega**2
    stress = body.stresses(q)
    there = (np.abs(SHAPE.vertices[:, 0] + 0.5 - place) < 1e-9) & (np.abs(SHAPE.vertices[:, 2]) > 0.0199)
    assert stress[there].mean() == pytest.approx(6.0 * 2.0 * (1.0 - place) / (0.08 * 0.04**2), rel=0.03)


def test_a_body_that_moves_as_a_whole_has_no_stress():
    body = reduced_body(box(), replace(SPEC, pinned=np.zeros(0, np.int32), modes=6), density=DENSITY)
    assert not body.stresses(np.zeros(6)).any()
