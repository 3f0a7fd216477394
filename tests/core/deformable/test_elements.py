# SPDX-License-Identifier: GPL-3.0-or-later
"""Bricks: what they resist, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.deformable.bricks import CORNERS
from solver_core.deformable.elements import bending_bricks, cut_bricks, lame, mass_matrix, stiffness_matrix
from solver_core.deformable.voxels import brick_grid
from solver_core.geometry.surfaces import mesh_surface

from ..meshes import chair, torus
from .beams import box

MATERIAL = lame(2e6, 0.3)


def grid_of(vertices, triangles, resolution=0, axes=None):
    return brick_grid(mesh_surface(vertices, triangles), resolution, axes)


def askew():
    beam = box()
    return grid_of(beam.vertices, beam.triangles, 40, Rotation.from_euler("zy", [0.35, 0.45]).as_matrix())


def strain_energy(gradient, young=2e6, poisson=0.3):
    """J/m^3 of Hooke's law for the displacement gradient x."""
    strain = 0.5 * (gradient + gradient.T)
    lam, mu = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))
    return 0.5 * lam * np.trace(strain) ** 2 + mu * (strain**2).sum()


@pytest.mark.parametrize("size", [(0.1, 0.1, 0.1), (0.3, 0.02, 0.1), (0.088, 0.063, 0.003)])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.0])
def test_a_uniformly_strained_brick_has_the_energy_of_hookes_law(size, share):
    random = np.random.default_rng(3)
    gradient = random.normal(size=(3, 3))
    moved = (CORNERS * size @ gradient.T).ravel()
    inside = random.random((1, 64)) < share
    sizes = np.array([size])
    block = bending_bricks(sizes, *MATERIAL)[0] if share == 1.0 else cut_bricks(sizes, inside, *MATERIAL)[0]
    volume = np.prod(size) * (1.0 if share == 1.0 else np.where(inside, 1.0, 1e-4).mean())
    assert 0.5 * moved @ block @ moved == pytest.approx(volume * strain_energy(gradient), rel=1e-12)


@pytest.mark.parametrize("make", [lambda: grid_of(*chair()), askew, lambda: grid_of(*torus(0.3, 0.1, 24, 12), 24)])
def test_a_body_resists_no_motion_as_a_whole_and_a_uniform_strain_by_its_volume(make):
    grid = make()
    stiffness = stiffness_matrix(grid, 2e6, 0.3)
    largest = abs(stiffness).max()
    turn = np.cross([0.3, -0.2, 0.5], grid.points).ravel()
    shift = np.tile([1.0, -2.0, 0.5], len(grid.points))
    for motion in (turn, shift):
        assert np.abs(stiffness @ motion).max() < 1e-12 * largest * np.abs(motion).max()
    gradient = np.random.default_rng(1).normal(size=(3, 3))
    moved = (grid.points @ gradient.T).ravel()
    volume = (np.where(grid.inside, 1.0, 1e-4).mean(axis=1) * grid.sizes.prod(axis=1)).sum()
    assert 0.5 * moved @ (stiffness @ moved) == pytest.approx(volume * strain_energy(gradient), rel=1e-11)


def test_full_bricks_bear_a_uniform_strain_without_forces_inside():
    beam = box()
    grid = grid_of(beam.vertices, beam.triangles, 40)
    forces = (stiffness_matrix(grid, 2e6, 0.3) @ (grid.points @ np.diag([1e-3, 2e-3, -1e-3])).ravel()).reshape(-1, 3)
    within = (np.abs(grid.points) < grid.points.max(axis=0) - 1e-9).all(axis=1)
    assert within.sum() > 10
    assert np.abs(forces[within]).max() < 1e-12 * np.abs(forces).max()


@pytest.mark.parametrize("across", [1, 2])
def test_a_brick_bends_as_a_beam_does(across):
    """Pure bending of a beam of one brick across, without its volume's change: moment over curvature is E I."""
    size = np.array([[0.2, 0.05, 0.04]])
    block = bending_bricks(size, *lame(1e7, 0.0))[0]
    places = (CORNERS - 0.5) * size
    bent = np.zeros((8, 3))
    bent[:, 0] = -places[:, 0] * places[:, across]
    second = size[0].prod() * size[0, across] ** 2 / 12.0
    # the ends stay plane, and their middles where they are: the brick's own bubble makes the arc
    assert 0.5 * bent.ravel() @ block @ bent.ravel() == pytest.approx(0.5 * 1e7 * second, rel=1e-12)


def test_no_cut_brick_has_a_motion_that_nothing_resists():
    random = np.random.default_rng(5)
    inside = random.random((20, 64)) < random.random((20, 1))
    values = np.linalg.eigvalsh(cut_bricks(np.tile([0.1, 0.05, 0.2], (20, 1)), inside, *MATERIAL))
    assert (np.abs(values[:, :6]) < 1e-12 * values[:, -1:]).all()
    assert (values[:, 6] > 1e-9 * values[:, -1]).all()


@pytest.mark.parametrize("make", [lambda: grid_of(*chair()), askew, lambda: grid_of(*torus(0.3, 0.1, 24, 12), 24)])
def test_the_mass_is_the_bodys_whatever_the_bricks(make):
    grid = make()
    mass = mass_matrix(grid, 3.0)
    assert mass.sum() == pytest.approx(3.0, rel=1e-13)
    assert np.linalg.eigvalsh(mass[:200][:, :200].toarray())[0] > 0.0
