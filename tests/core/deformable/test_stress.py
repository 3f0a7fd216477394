# SPDX-License-Identifier: GPL-3.0-or-later
"""Stresses of bodies that bend, against those of beams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.deformable.reduced import equivalent_stress
from solver_core.deformable.reduced_body import brick_modes, reduced_body
from solver_core.deformable.strains import bubbles_of
from solver_core.deformable.stress import slope_modes
from solver_core.deformable.voxels import brick_grid
from solver_core.geometry.surfaces import mesh_surface
from solver_core.scene.deformable import DeformableSpec

from .beams import DENSITY, box, divided

SIZE, YOUNG = np.array([1.0, 0.08, 0.04]), 4e8
SHAPE = divided(SIZE, (20, 2, 2))
ROOT = np.flatnonzero(SHAPE.vertices[:, 0] < -0.499).astype(np.int32)
SPEC = DeformableSpec(young=YOUNG, poisson=0.3, modes=20, resolution=50, pinned=ROOT)


LAM, MU = YOUNG * 0.3 / (1.3 * 0.4), YOUNG / 2.6


def von_mises(stress):
    """Of the principal stresses, as textbooks have it."""
    a, b, c = np.linalg.eigvalsh(stress)
    return np.sqrt(0.5 * ((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2))


def test_a_uniform_strain_has_the_stress_of_hookes_law():
    grid = brick_grid(mesh_surface(box().vertices, box().triangles), 20)
    gradient = np.random.default_rng(1).normal(size=(3, 3))
    bricks = brick_modes(grid, (grid.points @ grid.axes @ gradient.T)[:, :, None])
    along = (bricks.modes.transpose(0, 2, 1) @ grid.axes.T).transpose(0, 2, 1)
    slopes = slope_modes(bricks, bubbles_of(grid, along, (LAM, MU)))[..., 0]
    np.testing.assert_allclose(slopes, np.tile(grid.axes @ gradient @ grid.axes.T, (len(slopes), 1, 1)), rtol=0.0, atol=1e-9)
    strain = 0.5 * (gradient + gradient.T)
    wanted = von_mises(LAM * np.trace(strain) * np.eye(3) + 2.0 * MU * strain)
    assert equivalent_stress(slopes, np.array([LAM, MU]), False) == pytest.approx(wanted, rel=1e-9)


def test_what_turns_far_without_a_strain_has_no_stress_and_what_is_stretched_has_that_of_its_law():
    turn = Rotation.from_rotvec([1.0, -2.0, 0.5]).as_matrix()
    stretch = np.diag([1.4, 1.0, 0.9])
    for slopes in (turn - np.eye(3), turn @ stretch - np.eye(3), stretch - np.eye(3)):
        right = slopes + np.eye(3)
        strain = 0.5 * (right.T @ right - np.eye(3))
        wanted = von_mises(right @ (LAM * np.trace(strain) * np.eye(3) + 2.0 * MU * strain) @ right.T)
        found = equivalent_stress(slopes[None], np.array([LAM, MU]), True)[0]
        assert found == pytest.approx(wanted, rel=1e-9, abs=1e-6)
    assert equivalent_stress((turn @ stretch - np.eye(3))[None], np.array([LAM, MU]), True) == pytest.approx(
        equivalent_stress((stretch - np.eye(3))[None], np.array([LAM, MU]), True), rel=1e-9
    )


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
