# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft compact bodies give way where they lie, as far as a column under its own weight does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Legendre

from solver_core.deformable.pressing import harmonics, pressing_loads
from solver_core.deformable.reduced_body import reduced_body
from solver_core.deformable.voxels import brick_grid
from solver_core.geometry.surfaces import mesh_surface
from solver_core.scene.deformable import DeformableSpec

from ..meshes import CUBE, CUBE_TRIANGLES, uv_sphere
from .beams import box, divided, mesh

GRAVITY, DENSITY = 9.81, 1000.0


def sag(size, axis, spec):
    """m by which a block that lies on a face comes down at the opposite one: its weight as a pressure from below."""
    block = divided(size, (4, 4, 4))
    body = reduced_body(block, spec, density=DENSITY)
    lies, top = (np.isclose(block.vertices[:, axis], sign * 0.5 * size[axis]) for sign in (-1.0, 1.0))
    # of a quad's corners each has a quarter
    on_edge = np.isclose(np.abs(block.vertices), 0.5 * np.asarray(size))
    weight = 0.5 ** (on_edge.sum(axis=1) - 1.0)
    shares = [np.where(side, weight, 0.0) / weight[side].sum() for side in (lies, top)]
    below, above = (share @ body.shapes[:, axis] for share in shares)
    q = body.mass * GRAVITY * below / body.omega**2
    return float((below - above) @ q)


@pytest.mark.parametrize(("modes", "axis"), [(6, 0), (12, 2)])
def test_a_jelly_cube_sags_by_its_weight(modes, axis):
    """rho g h^2 / (2 E). Twelve modes of vibration alone sag by a twelfth of that."""
    spec = DeformableSpec(young=2e4, poisson=0.45, modes=modes, resolution=8)
    assert sag((0.1, 0.1, 0.1), axis, spec) == pytest.approx(DENSITY * GRAVITY * 0.1**2 / 2.0 / 2e4, rel=0.05)


@pytest.mark.parametrize("axis", [1, 2])
def test_a_block_of_foam_sags_on_its_sides(axis):
    size = (0.6, 0.3, 0.2)
    spec = DeformableSpec(young=1e6, poisson=0.3, modes=12, resolution=12)
    assert sag(size, axis, spec) == pytest.approx(DENSITY * GRAVITY * size[axis] ** 2 / 2.0 / 1e6, rel=0.05)


def test_a_soft_ball_that_is_pressed_at_its_pole_gives_way_straight():
    """Its bricks lie along its axis. Askew in its bricks it gave way sideways by three thousandths, and bounced sideways."""
    vertices, triangles = uv_sphere(0.1, 24, 16)
    spec = DeformableSpec(young=1e6, poisson=0.45, modes=12, resolution=12)
    body = reduced_body(mesh(vertices, triangles), spec, density=1100.0)
    pole = body.shapes[int(np.argmin(vertices[:, 2]))]
    gives = pole @ (pole[2] / body.omega**2)
    assert gives[2] > 0.0
    assert np.abs(gives[:2]).max() < 1e-6 * gives[2]


def test_what_is_too_hard_to_be_squashed_keeps_its_modes():
    """A beam has the frequencies of its material, however many modes it has."""
    hard = DeformableSpec(young=1e9, modes=12, resolution=20)
    few, more = (reduced_body(box(), DeformableSpec(**{**vars(hard), "modes": n}), density=DENSITY).omega for n in (12, 20))
    np.testing.assert_allclose(few, more[:12], rtol=1e-6)


def test_each_face_of_a_cube_can_be_pressed_alone():
    """A sum of the loads presses one face with a newton, and no other."""
    surface = mesh_surface(CUBE, CUBE_TRIANGLES)
    grid = brick_grid(surface, 4)
    loads = pressing_loads(grid, surface)
    for axis in range(3):
        below = np.isclose(grid.points[:, axis], grid.points[:, axis].min())
        wanted = np.zeros(loads.shape[:2])
        weight = 0.5 ** (np.isclose(np.abs(grid.points), 0.5).sum(axis=1) - 1.0)
        wanted[below, axis] = weight[below] / weight[below].sum()
        found = np.linalg.lstsq(loads.reshape(-1, loads.shape[2]), wanted.ravel(), rcond=None)[0]
        np.testing.assert_allclose(loads @ found, wanted, atol=0.01 * wanted.max())


def test_harmonics_have_no_preferred_direction():
    """The sum of products at two unit vectors depends on the angle between them only, as Legendre's addition theorem says."""
    a, b = (random_directions(seed) for seed in (1, 2))
    cosine = (a * b).sum(axis=1)
    legendre = sum((2 * n + 1) * Legendre.basis(n)(cosine) for n in range(4)) / 16.0
    np.testing.assert_allclose((harmonics(a) * harmonics(b)).sum(axis=1), legendre, atol=1e-12)


def test_a_soft_ball_gives_way_alike_on_all_sides():
    """Shapes under pressure cut families of equal frequency: it gave way by 24 % sideways, and three times as far at a pole."""
    vertices, triangles = uv_sphere(0.1, 24, 16)
    spec = DeformableSpec(young=1e6, poisson=0.45, modes=12, resolution=12)
    body = reduced_body(mesh(vertices, triangles), spec, density=1100.0)
    gives, askew = [], []
    for direction in random_directions(3):
        weight = np.maximum(vertices @ direction - 0.094, 0.0)
        at = np.einsum("v,var->ar", weight / weight.sum(), body.shapes)
        moved = at @ (direction @ at / body.omega**2)
        gives.append(moved @ direction)
        askew.append(np.linalg.norm(moved - gives[-1] * direction) / gives[-1])
    assert np.ptp(gives) < 0.1 * np.mean(gives)
    assert max(askew) < 0.06


@pytest.mark.parametrize("modes", [6, 7, 12, 20])
def test_a_symmetric_body_keeps_families_whole(modes):
    """A turned cube is the same cube, so it gives way as far under a face as under any other."""
    body = reduced_body(
        divided((0.2, 0.2, 0.2), (4, 4, 4)), DeformableSpec(young=1e6, poisson=0.45, modes=modes, resolution=8), density=1100.0
    )
    assert len(body.omega) <= modes
    vertices = divided((0.2, 0.2, 0.2), (4, 4, 4)).vertices
    gives = []
    for axis in range(3):
        at = body.shapes[np.isclose(vertices[:, axis], 0.1)].mean(axis=0)
        moved = at @ (at[axis] / body.omega**2)
        gives.append(moved[axis])
        assert np.abs(np.delete(moved, axis)).max() < 1e-6 * moved[axis]
    np.testing.assert_allclose(gives, gives[0], rtol=1e-4)


def random_directions(seed):
    """(40, 3) unit vectors."""
    found = np.random.default_rng(seed).normal(size=(40, 3))
    return found / np.linalg.norm(found, axis=1)[:, None]
