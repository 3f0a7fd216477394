# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes that bodies swing in, against the theory of beams."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.deformable.elements import mass_matrix, stiffness_matrix
from solver_core.deformable.modes import elastic_modes
from solver_core.deformable.reduced_body import reduced_body
from solver_core.deformable.statics import Statics
from solver_core.deformable.voxels import brick_grid
from solver_core.geometry.surfaces import mesh_surface
from solver_core.scene.deformable import DeformableSpec

from ..meshes import CUBE, CUBE_TRIANGLES, chair, torus
from .beams import BEAM, CANTILEVER, DENSITY, FREE, YOUNG, box, divided, frequency, mesh

SPEC = DeformableSpec(young=YOUNG, modes=6, resolution=40)
END = np.arange(4, dtype=np.int32)
NOTHING = np.zeros(0, dtype=np.int64)
TURN = Rotation.from_euler("xyz", [0.4, -0.7, 1.1])


@pytest.mark.parametrize("resolution", [0, 20, 40])
def test_a_free_beam_swings_as_euler_and_bernoulli_say(resolution):
    """Shear, which they leave out, lowers it by nearly one per cent."""
    found = reduced_body(box(), replace(SPEC, resolution=resolution), density=DENSITY).frequencies
    assert found[0] == pytest.approx(frequency(FREE), rel=0.02)
    assert found[1] == pytest.approx(frequency(FREE, across=1), rel=0.02)


@pytest.mark.parametrize("resolution", [20, 40])
def test_a_beam_pinned_at_its_end_is_a_cantilever(resolution):
    found = reduced_body(box(), replace(SPEC, resolution=resolution, pinned=END), density=DENSITY)
    assert found.frequencies[0] == pytest.approx(frequency(CANTILEVER), rel=0.02)
    assert found.frequencies[1] == pytest.approx(frequency(CANTILEVER, across=1), rel=0.02)
    assert np.abs(found.shapes[END]).max() < 1e-12
    assert np.abs(found.shapes[4:, 2, 0]).min() > 0.5


def test_a_square_bar_twists_as_saint_venant_says():
    """f = sqrt(G J / (rho I_p)) / (2 L), with J = 0.1406 a^4 and I_p = a^4 / 6: the inertia about the bar counts as well."""
    body = reduced_body(box((1.0, 0.06, 0.06)), replace(SPEC, resolution=80), density=DENSITY)
    exact = 0.5 * np.sqrt(YOUNG / 2.6 / DENSITY * 0.1406 * 6.0)
    assert np.abs(body.frequencies / exact - 1.0).min() < 0.02


@pytest.mark.parametrize("angles", [(0.35, 0.0), (0.35, 0.45), (0.8, 0.3)])
def test_a_beam_askew_in_its_grid_swings_nearly_as_fast(angles):
    surface = mesh_surface(box().vertices, box().triangles)
    grid = brick_grid(surface, 40, Rotation.from_euler("zy", angles).as_matrix())
    assert not grid.inside.all()
    stiffness, mass = stiffness_matrix(grid, YOUNG, 0.3), mass_matrix(grid, DENSITY * surface.volume)
    omega, _ = elastic_modes(Statics(stiffness, mass, grid.points, NOTHING), 3)
    assert omega[0] / (2.0 * np.pi) == pytest.approx(frequency(FREE), rel=0.06)


def test_a_beam_on_two_supports_sags_by_its_weight():
    """w = 5 q L^4 / (384 E I), and 2.5 (h / L)^2 of it more by shear, 0.3 % here."""
    size = np.array([1.0, 0.04, 0.035])
    beam = divided(size, (8, 2, 2))
    found = reduced_body(beam, replace(SPEC, modes=24, resolution=60), density=DENSITY)
    at = [np.flatnonzero(np.isclose(beam.vertices[:, 0], x) & np.isclose(beam.vertices[:, 2], 0.0)) for x in (-0.5, 0.0, 0.5)]
    ends, middle = np.concatenate([at[0], at[2]]), at[1]
    weight = DENSITY * size.prod() * 9.81
    # gravity moves the body as a whole, so that on the modes the supports alone do work
    force = weight * found.shapes[ends, 2].mean(axis=0)
    q = force / found.omega**2
    sag = found.shapes[ends, 2].mean(axis=0) @ q - found.shapes[middle, 2].mean(axis=0) @ q
    exact = 5.0 * weight * size[0] ** 3 / (384.0 * YOUNG * size[1] * size[2] ** 3 / 12.0)
    assert sag == pytest.approx(exact, rel=0.01)


def test_modes_take_no_momentum_and_have_unit_mass():
    vertices, triangles = torus(0.3, 0.1, 24, 12)
    grid = brick_grid(mesh_surface(vertices, triangles), 16)
    stiffness, mass = stiffness_matrix(grid, YOUNG, 0.3), mass_matrix(grid, 5.0)
    omega, modes = elastic_modes(Statics(stiffness, mass, grid.points, NOTHING), 12)
    flat = modes.reshape(-1, 12)
    weighed = (mass @ modes.reshape(len(modes), -1)).reshape(-1, 12)
    np.testing.assert_allclose(flat.T @ weighed, np.eye(12), atol=1e-10)
    reduced = flat.T @ (stiffness @ flat)
    np.testing.assert_allclose(reduced / np.outer(omega, omega), np.eye(12), atol=1e-9)
    per_node = weighed.reshape(modes.shape)
    assert np.abs(per_node.sum(axis=0)).max() < 1e-13
    assert np.abs(np.cross(grid.points[:, None], per_node.transpose(0, 2, 1)).sum(axis=0)).max() < 1e-13


@pytest.mark.parametrize("make", [chair, lambda: (CUBE * BEAM, CUBE_TRIANGLES)])
def test_turned_and_mirrored_bodies_have_the_same_frequencies(make):
    vertices, triangles = make()
    spec = replace(SPEC, young=1e9, modes=4, resolution=30)
    own = reduced_body(mesh(vertices, triangles), spec, density=700.0)
    turned = reduced_body(mesh(TURN.apply(vertices) + np.array([1.0, 2.0, 3.0]), triangles), spec, density=700.0)
    mirrored = reduced_body(mesh(vertices * [-1.0, 1.0, 1.0], triangles[:, ::-1]), spec, density=700.0)
    np.testing.assert_allclose(turned.omega, own.omega, rtol=1e-7)
    np.testing.assert_allclose(mirrored.omega, own.omega, rtol=1e-7)
    # the shapes turn along, up to their sign, and up to any mixture of two of the same frequency
    apart = np.diff(own.omega, prepend=0.0, append=np.inf) > 1e-3 * own.omega[0]
    alone = apart[:-1] & apart[1:]
    assert alone.any()
    back = TURN.inv().as_matrix() @ turned.shapes
    sign = np.sign((back * own.shapes).sum(axis=(0, 1)))
    np.testing.assert_allclose((back * sign)[..., alone], own.shapes[..., alone], atol=1e-5 * np.abs(own.shapes).max())


def test_frequencies_scale_with_size_stiffness_and_density():
    own = reduced_body(box(), SPEC, density=DENSITY).omega
    # ten times as large and as stiff it is no softer under its own weight, by which modes are chosen
    larger = reduced_body(box(10.0 * BEAM), replace(SPEC, young=10.0 * YOUNG), density=DENSITY).omega
    stiffer = reduced_body(box(), replace(SPEC, young=100.0 * YOUNG), density=4.0 * DENSITY).omega
    np.testing.assert_allclose(larger, own / np.sqrt(10.0), rtol=1e-8)
    np.testing.assert_allclose(stiffer, 5.0 * own, rtol=1e-8)


def test_the_same_body_has_the_same_bits():
    one, other = (reduced_body(box(), SPEC, density=DENSITY) for _ in range(2))
    assert one.omega.tobytes() == other.omega.tobytes()
    assert one.shapes.tobytes() == other.shapes.tobytes()


def test_damping_grows_with_the_frequency():
    """That of the first mode is as asked: q'' + 2 zeta omega q' + omega^2 q."""
    body = reduced_body(box(), replace(SPEC, damping_ratio=0.05), density=DENSITY)
    ratio = body.damping / (2.0 * body.omega)
    assert ratio[0] == pytest.approx(0.05, rel=1e-12)
    np.testing.assert_allclose(ratio / ratio[0], body.omega / body.omega[0], rtol=1e-12)


def test_more_modes_than_bricks_have_are_refused():
    with pytest.raises(ValueError, match="bricks of 8 corners have 18 modes, and 19 are asked for"):
        reduced_body(box((1.0, 1.0, 1.0)), replace(SPEC, modes=19, resolution=1), density=DENSITY)
    assert len(reduced_body(box((1.0, 1.0, 1.0)), replace(SPEC, modes=18, resolution=1), density=DENSITY).omega) == 18


# Leissa 1973: omega L^2 sqrt(rho h / D) of a free square plate, nu = 0.3.
FREE_SQUARE = np.array([13.489, 19.789, 24.432])


@pytest.mark.slow
@pytest.mark.parametrize("thickness", [1e-3, 4.2e-4])
def test_a_thin_sheet_swings_as_a_plate_and_takes_no_more_solves(monkeypatch, thickness):
    """A shift of the stiffness that was large beside the lowest eigenvalue took up to a hundred times as many."""
    sheet = box((1.0, 1.0, thickness))
    grid = brick_grid(mesh_surface(sheet.vertices, sheet.triangles))
    statics = Statics(stiffness_matrix(grid, YOUNG, 0.3), mass_matrix(grid, DENSITY * thickness), grid.points, NOTHING)
    solves = []
    answer = statics.displacements_under
    monkeypatch.setattr(statics, "displacements_under", lambda loads: solves.append(1) or answer(loads))
    omega, _ = elastic_modes(statics, 12)
    bending = YOUNG * thickness**3 / 12.0 / (1.0 - 0.3**2)
    np.testing.assert_allclose(omega[:3] / np.sqrt(bending / (DENSITY * thickness)), FREE_SQUARE, rtol=0.03)
    assert len(solves) <= 60
