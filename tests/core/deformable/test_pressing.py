# SPDX-License-Identifier: GPL-3.0-or-later
"""Soft compact bodies give way where they lie, as far as a column under its own weight does."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.deformable.pressing import pressing_loads
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


@pytest.mark.parametrize("modes", [6, 12])
@pytest.mark.parametrize("axis", [0, 2])
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


def test_pressures_on_a_cube_are_those_of_its_faces():
    """Each face has one newton. Edges and corners have next to nothing, since a cube does not lie on them."""
    surface = mesh_surface(CUBE, CUBE_TRIANGLES)
    loads = pressing_loads(brick_grid(surface, 4), surface)
    total = np.sort(np.linalg.norm(loads.sum(axis=0), axis=0))
    np.testing.assert_allclose(total[-6:], 1.0, rtol=0.01)
    assert total[:-6].max() < 0.02
