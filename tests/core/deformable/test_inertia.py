# SPDX-License-Identifier: GPL-3.0-or-later
"""What a body that bends weighs, and what its spin does to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.spatial.transform import Rotation

from solver_core.deformable.elements import mass_matrix
from solver_core.deformable.floating_frame import inertia_change, inertia_slopes, quadratic_forces
from solver_core.deformable.inertia import angular_momentum
from solver_core.deformable.reduced_body import reduced_body
from solver_core.deformable.voxels import brick_grid
from solver_core.geometry.mass_properties import mass_properties
from solver_core.geometry.surfaces import mesh_surface
from solver_core.scene.deformable import DeformableSpec

from ..meshes import chair, torus
from .beams import DENSITY, YOUNG, box, divided

SPEC = DeformableSpec(young=YOUNG, modes=8, resolution=40)


@pytest.mark.parametrize(("make", "within"), [(chair, 1e-9), (lambda: torus(0.3, 0.1, 24, 12), 5e-3)])
def test_bricks_have_the_inertia_of_the_mesh(make, within):
    """By the three motions with which it turns as a whole."""
    vertices, triangles = make()
    grid = brick_grid(mesh_surface(vertices, triangles))
    exact = mass_properties(vertices, triangles, mass=3.0)
    mass = mass_matrix(grid, 3.0)
    points = grid.points @ grid.axes
    centre = mass.sum(axis=0) @ points / 3.0
    np.testing.assert_allclose(centre, exact.center_of_mass, atol=within)
    turns = np.stack([np.cross(axis, points - centre) for axis in np.eye(3)])
    inertia = np.array([[(a * (mass @ b)).sum() for b in turns] for a in turns])
    np.testing.assert_allclose(inertia, exact.inertia, atol=within * exact.inertia.max())


def test_a_bent_beam_has_the_inertia_of_its_deflection():
    """A mode of unit mass, to and fro along z: q^2 about x and y, and none about z."""
    body = reduced_body(box(), replace(SPEC, modes=1), density=DENSITY)
    change = inertia_change(body.inertia, np.array([0.04]))
    np.testing.assert_allclose(change, 0.04**2 * np.diag([1.0, 1.0, 0.0]), atol=0.02 * 0.04**2)


def test_a_beam_that_swings_along_itself_changes_its_inertia_across():
    """u = q sqrt(2 / m) sin(pi x / L), so that I changes by 2 int x u dm = 4 q sqrt(2 m) L / pi^2."""
    body = reduced_body(
        box((1.0, 0.2, 0.2)), DeformableSpec(young=YOUNG, poisson=0.0, modes=16, resolution=20), density=DENSITY
    )
    along = int(np.argmin(np.abs(body.frequencies - 0.5 * np.sqrt(YOUNG / DENSITY))))
    assert body.frequencies[along] == pytest.approx(0.5 * np.sqrt(YOUNG / DENSITY), rel=2e-3)
    change = inertia_change(body.inertia, 1e-4 * np.eye(16)[along])
    expected = 1e-4 * 4.0 * np.sqrt(2.0 * body.mass) / np.pi**2
    np.testing.assert_allclose(np.abs(np.diag(change)), [0.0, expected, expected], atol=2e-3 * expected)


def test_slopes_of_the_inertia_are_its_differences():
    body = reduced_body(box(), SPEC, density=DENSITY)
    q = 0.01 * np.random.default_rng(4).normal(size=8)
    slopes = inertia_slopes(body.inertia, q)
    for k, step in enumerate(1e-5 * np.eye(8)):
        difference = (inertia_change(body.inertia, q + step) - inertia_change(body.inertia, q - step)) / 2e-5
        np.testing.assert_allclose(slopes[k], difference, atol=1e-10)


def test_a_square_beam_that_whirls_has_the_angular_momentum_of_its_circle():
    """Two modes of unit mass, in a circle of radius q about the beam: q^2 times the angular velocity, along the beam."""
    body = reduced_body(box((1.0, 0.03, 0.03)), replace(SPEC, modes=2), density=DENSITY)
    momentum = angular_momentum(body.inertia, np.array([0.02, 0.0]), np.array([0.0, 0.02 * 7.0]))
    np.testing.assert_allclose(np.abs(momentum), [0.02**2 * 7.0, 0.0, 0.0], rtol=0.01, atol=1e-12)


def test_coriolis_forces_do_no_work():
    random = np.random.default_rng(6)
    body = reduced_body(box(), SPEC, density=DENSITY)
    q, velocity, turning = 0.01 * random.normal(size=8), random.normal(size=8), random.normal(size=3)
    coriolis = quadratic_forces(body.inertia, q, velocity, turning) - quadratic_forces(body.inertia, q, 0.0 * velocity, turning)
    assert np.abs(coriolis).max() > 1e-3
    assert abs(coriolis @ velocity) < 1e-12 * np.linalg.norm(coriolis) * np.linalg.norm(velocity)


def test_a_spinning_bar_grows_longer():
    """By rho w^2 L^3 / (24 E) at each end."""
    length, turning = 1.0, np.array([0.0, 0.0, 30.0])
    beam = divided((length, 0.2, 0.2), (2, 2, 2))
    body = reduced_body(beam, DeformableSpec(young=YOUNG, poisson=0.0, modes=40, resolution=20), density=DENSITY)
    still = np.zeros(len(body.omega))
    q = quadratic_forces(body.inertia, still, still, turning) / body.omega**2
    moved = (body.shapes @ q)[np.isclose(beam.vertices[:, 0], 0.5 * length), 0].mean()
    assert moved == pytest.approx(DENSITY * turning[2] ** 2 * length**3 / (24.0 * YOUNG), rel=0.02)


def test_a_pinned_body_has_the_momentum_of_its_modes():
    """A cantilever of length L in its first mode: a share 0.783^2 of its mass moves with it (Blevins 1979)."""
    free = reduced_body(box(), SPEC, density=DENSITY)
    held = reduced_body(box(), replace(SPEC, pinned=np.arange(4, dtype=np.int32)), density=DENSITY)
    assert np.abs(free.inertia.momentum).max() < 1e-12
    assert np.abs(free.inertia.spin).max() < 1e-12
    assert np.abs(held.inertia.momentum[0]) == pytest.approx([0.0, 0.0, 0.783 * np.sqrt(held.mass)], rel=0.01, abs=1e-6)


def tension_share(root: float) -> float:
    """What tension adds to the square of a free beam's frequency, over the square of its spin: int T phi'^2 / int phi^2 with
    the tension T = (L^2/4 - x^2) / 2 and the shapes of Euler and Bernoulli."""
    x = np.linspace(0.0, 1.0, 20_001)
    ratio = (np.cosh(root) - np.cos(root)) / (np.sinh(root) - np.sin(root))
    shape = np.cosh(root * x) + np.cos(root * x) - ratio * (np.sinh(root * x) + np.sin(root * x))
    return float(trapezoid(0.5 * (0.25 - (x - 0.5) ** 2) * np.gradient(shape, x) ** 2, x) / trapezoid(shape**2, x))


def test_the_stress_of_a_spin_stiffens_a_beam_as_tension_does():
    """The square of the frequency rises by 3.05 w^2 in the first mode and 6.42 w^2 in the second. A spin about the axis of the
    beam causes no tension."""
    beam = reduced_body(box((1.0, 0.03, 0.024)), replace(SPEC, modes=4, resolution=50), density=DENSITY)
    about_z, along = (np.diag(beam.inertia.stiffening[:, :, k, k]) for k in (2, 0))
    first, second = tension_share(4.73004074), tension_share(7.85320462)
    assert first == pytest.approx(3.05, abs=0.01)
    np.testing.assert_allclose(about_z, [first, first, second, second], rtol=0.01)
    assert np.abs(along).max() < 0.02


def test_a_turned_body_is_stiffened_by_the_turned_spin():
    vertices = box((1.0, 0.06, 0.05))
    turn = Rotation.from_euler("xyz", [0.4, -0.7, 1.1])
    turned = replace(vertices, vertices=turn.apply(vertices.vertices))
    spin = np.array([3.0, -5.0, 7.0])
    added = []
    for shape, w in ((vertices, spin), (turned, turn.apply(spin))):
        terms = reduced_body(shape, replace(SPEC, modes=4), density=DENSITY).inertia
        added.append(np.linalg.eigvalsh(np.einsum("ijab,a,b->ij", terms.stiffening, w, w)))
    np.testing.assert_allclose(added[1], added[0], rtol=1e-6, atol=1e-9)


def test_the_frame_of_a_pinned_body_does_not_turn_and_stiffens_nothing():
    held = reduced_body(box(), replace(SPEC, pinned=np.arange(4, dtype=np.int32)), density=DENSITY)
    assert not held.inertia.stiffening.any()
