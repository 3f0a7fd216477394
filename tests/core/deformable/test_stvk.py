# SPDX-License-Identifier: GPL-3.0-or-later
"""Large bends: their energy against Saint Venant and Kirchhoff's law, and their shapes against the elastica."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from solver_core.deformable.elements import lame
from solver_core.deformable.reduced_body import reduced_body
from solver_core.deformable.strains import Displacements
from solver_core.deformable.stvk import energy, gram_matrix
from solver_core.deformable.stvk_forces import interval_force, tangents
from solver_core.deformable.voxels import brick_grid
from solver_core.geometry.surfaces import mesh_surface
from solver_core.scene.deformable import DeformableSpec, Elasticity

from ..meshes import chair, torus
from .beams import DENSITY, YOUNG, box, divided, mesh

SPEC = DeformableSpec(kind=Elasticity.STVK, young=YOUNG, modes=9, resolution=20)
MATERIAL = YOUNG, 0.3
END = np.arange(4, dtype=np.int32)


def body_of(shape=None, **changes):
    return reduced_body(box() if shape is None else shape, replace(SPEC, **changes), density=DENSITY)


def large_of(body):
    assert body.large is not None
    return body.large


def force(gram, q):
    still = np.zeros(len(q))
    return interval_force(gram, q, still, 0.0, 0.0, still)


@pytest.mark.parametrize("make", [lambda: (box().vertices, box().triangles), chair, lambda: torus(0.2, 0.1, 16, 8)])
def test_a_body_that_is_stretched_and_turned_has_the_energy_of_the_law(make):
    """W = V (lambda / 2 tr(E)^2 + mu E : E) with E = 1/2 (F^T F - 1), whatever share of its bricks is cut."""
    grid = brick_grid(mesh_surface(*make()))
    nodal = np.einsum("va,bd->vdab", grid.points, np.eye(3)).reshape(len(grid.points), 3, 9)
    bubbles = np.zeros((int(grid.inside.all(axis=1).sum()), 3, 3, 9))
    gram = gram_matrix(grid, Displacements(nodal, bubbles), MATERIAL)
    volume = (np.where(grid.inside, 1.0, 1e-4).mean(axis=1) * grid.sizes.prod(axis=1)).sum()
    lam, mu = lame(*MATERIAL)
    turn = Rotation.from_rotvec([0.5, -1.0, 0.7]).as_matrix()
    for stretch in (np.eye(3), np.eye(3) + 0.4 * np.random.default_rng(2).normal(size=(3, 3))):
        gradient = turn @ stretch
        strain = 0.5 * (gradient.T @ gradient - np.eye(3))
        exact = volume * (0.5 * lam * np.trace(strain) ** 2 + mu * (strain**2).sum())
        found = energy(gram, (gradient - np.eye(3)).T.ravel())
        assert found == pytest.approx(exact, rel=1e-10, abs=1e-10 * volume * lam)


@pytest.mark.parametrize("stretch", [0.5, 3**-0.5, 0.8, 1.5])
def test_a_bar_that_is_stretched_or_pressed_bears_the_stress_of_the_law(stretch):
    """Piola's, E (F^3 - F) / 2 without Poisson's ratio, which gives way below F = 1 / sqrt 3."""
    grid = brick_grid(mesh_surface(box().vertices, box().triangles))
    along = grid.points @ grid.axes @ [1.0, 0.0, 0.0]
    nodal = (along[:, None] * (grid.axes @ [1.0, 0.0, 0.0]))[..., None]
    gram = gram_matrix(grid, Displacements(nodal, np.zeros((len(grid.nodes), 3, 3, 1))), (YOUNG, 0.0))
    volume, q = np.ptp(box().vertices, axis=0).prod(), np.array([stretch - 1.0])
    assert force(gram, q)[0] == pytest.approx(volume * YOUNG * (stretch**3 - stretch) / 2.0, rel=1e-10)
    slope = tangents(gram, q, np.zeros(1), 2.0, 0.0, np.zeros(1))[1][0, 0]
    assert slope == pytest.approx(volume * YOUNG * (3.0 * stretch**2 - 1.0) / 2.0, rel=1e-10, abs=1e-9 * volume * YOUNG)


def test_the_force_is_the_slope_of_the_energy_and_does_its_work_over_any_step():
    gram = large_of(body_of()).gram
    random = np.random.default_rng(1)
    q, v, h = 0.1 * random.normal(size=9), random.normal(size=9), 0.05
    step = 1e-6 * np.eye(9)
    slope = np.array([(energy(gram, q + d) - energy(gram, q - d)) / 2e-6 for d in step])
    np.testing.assert_allclose(force(gram, q), slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())
    work = h * v @ interval_force(gram, q, v, h, 0.0, np.zeros(9))
    assert work == pytest.approx(energy(gram, q + h * v) - energy(gram, q), rel=1e-12)


def test_what_damps_only_takes_and_its_slopes_are_its_differences():
    gram = large_of(body_of()).gram
    random = np.random.default_rng(4)
    q, v, h = 0.1 * random.normal(size=9), random.normal(size=9), 0.01
    slack = np.r_[np.zeros(4), random.uniform(1e-9, 1e-8, 5)]
    plain, damped = (interval_force(gram, q, v, h, late, by) for late, by in ((0.0, 0.0 * slack), (2e-3, slack)))
    assert v @ damped > v @ plain
    found, slopes, never_negative = tangents(gram, q, v, h, 2e-3, slack)
    np.testing.assert_allclose(found, damped, rtol=1e-10)
    assert np.linalg.eigvalsh(never_negative).min() > 0.0
    near = [
        interval_force(gram, q, v + d, h, 2e-3, slack) - interval_force(gram, q, v - d, h, 2e-3, slack)
        for d in 1e-6 * np.eye(9)
    ]
    np.testing.assert_allclose(slopes, np.array(near).T / 2e-6, rtol=1e-5, atol=1e-6 * np.abs(slopes).max())


@pytest.mark.slow
def test_a_block_may_have_the_strains_part_of_the_slopes_however_a_body_is_bent():
    """Up to ten lengths, where the true slopes are long indefinite."""
    body, random = body_of(), np.random.default_rng(7)
    gram, still = large_of(body).gram, np.zeros(9)
    assert np.linalg.eigvalsh(gram).min() > -1e-12 * np.abs(gram).max()
    length = 1.0 / np.linalg.norm(body.shapes, axis=1).max(axis=0)
    bends = random.normal(size=(10_000, 9)) * 10.0 ** random.uniform(-3.0, 1.0, (10_000, 1)) * length
    slopes = np.array([tangents(gram, q, still, 2.0, 0.0, still)[2] for q in bends])
    eigenvalues = np.linalg.eigvalsh(slopes)
    assert (eigenvalues[:, -1] > 0.0).all() and (eigenvalues[:, 0] > -1e-12 * eigenvalues[:, -1]).all()


def test_small_bends_are_those_of_linear_modes():
    body, linear = body_of(), body_of(kind=Elasticity.LINEAR, modes=3)
    np.testing.assert_allclose(body.omega[:3], linear.omega, rtol=1e-9)
    np.testing.assert_allclose(body.shapes[..., :3], linear.shapes, atol=1e-6 * np.abs(linear.shapes).max())
    stiffness = large_of(body).gram[:9, :9]
    np.testing.assert_allclose(stiffness, np.diag(body.omega**2), atol=1e-9 * body.omega[-1] ** 2)
    assert large_of(body).modes == 3 and (np.diff(body.omega) > 0.0).all()


def elastica(load):
    """Deflection and shortening, in lengths, of a cantilever under a load P L^2 / (E I) at its tip."""
    s = np.linspace(0.0, 1.0, 101)
    guess = np.array([0.6 * load * (s - 0.5 * s * s), 0.6 * load * (1.0 - s)])
    ends = solve_bvp(
        lambda _, y: np.array([y[1], -load * np.cos(y[0])]), lambda a, b: np.array([a[0], b[1]]), s, guess, tol=1e-8
    )
    angle = ends.sol(s)[0]
    return np.trapz(np.sin(angle), s), 1.0 - np.trapz(np.cos(angle), s)


@pytest.mark.parametrize("load", [0.5, 2.0, 8.0])
def test_a_cantilever_bends_as_the_elastica(load):
    """Which is inextensible, and knows no Poisson's ratio; eight lengths of load bend it by four fifths of its own."""
    size = np.array([1.0, 0.05, 0.05])
    body = body_of(divided(size, (1, 1, 2)), modes=20, resolution=40, poisson=0.0, pinned=_at_left(divided(size, (1, 1, 2))))
    shape = divided(size, (1, 1, 2)).vertices
    tip = np.isclose(shape[:, 0], 0.5) & np.isclose(shape[:, 2], 0.0)
    pull = load * YOUNG * size[1] * size[2] ** 3 / 12.0 * body.shapes[tip, 2].mean(axis=0)
    gram, q = large_of(body).gram, np.zeros(20)
    still, scale = np.zeros(20), body.omega
    found = None
    for share in np.linspace(0.1, 1.0, 10):
        found = root(
            lambda y, share=share: (force(gram, y / scale) - share * pull) / scale,
            q * scale,
            jac=lambda y: tangents(gram, y / scale, still, 2.0, 0.0, still)[1] / np.outer(scale, scale),
            tol=1e-10,
        )
        q = found.x / scale
    assert found is not None and found.success
    moved = (body.shapes @ q)[tip].mean(axis=0)
    down, inwards = elastica(load)
    assert moved[2] == pytest.approx(down, rel=0.005)
    assert -moved[0] == pytest.approx(inwards, rel=0.005)


def _at_left(shape):
    return np.flatnonzero(np.isclose(shape.vertices[:, 0], -0.5)).astype(np.int32)


@pytest.mark.parametrize("pinned", [np.zeros(0, dtype=np.int32), END])
def test_turned_and_mirrored_bodies_store_the_same_energy(pinned):
    """Of a frame that is nowhere symmetric, so that each shape is its own up to its sign."""
    turn = Rotation.from_euler("xyz", [0.4, -0.7, 1.1])
    own = box((1.0, 0.3, 0.2))
    others = mesh(turn.apply(own.vertices), own.triangles), mesh(own.vertices * [1.0, -1.0, 1.0], own.triangles[:, ::-1])
    body = body_of(own, pinned=pinned)
    for shape in others:
        other = body_of(shape, pinned=pinned)
        np.testing.assert_allclose(other.omega, body.omega, rtol=1e-6)
        # the same push at the same corner
        push, turned = np.array([20.0, 30.0, -10.0]), (turn.apply if shape is others[0] else lambda x: x * [1.0, -1.0, 1.0])
        one, two = (
            energy(large_of(b).gram, (b.shapes[7].T @ to) / b.omega**2) for b, to in ((body, push), (other, turned(push)))
        )
        assert two == pytest.approx(one, rel=1e-5)


def test_few_bricks_have_fewer_derivatives_and_more_modes():
    body = body_of(box((1.0, 1.0, 1.0)), modes=18, resolution=1)
    assert len(body.omega) == 18 and large_of(body).modes >= 6
    with pytest.raises(ValueError, match="bricks of 8 corners have 18 modes"):
        body_of(box((1.0, 1.0, 1.0)), modes=19, resolution=1)
