# SPDX-License-Identifier: GPL-3.0-or-later
"""Mass properties against closed forms, against decompositions and against sampling."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.geometry.mass_properties import mass_properties

NO_TRIANGLES = np.zeros((0, 3), dtype=np.int32)

BOX_TRIANGLES = np.array(
    [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
        [1, 5, 7],
        [1, 7, 3],
    ]
)


def box(size, centre=(0.0, 0.0, 0.0)):
    corners = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
    return corners * size + np.asarray(centre, dtype=float), BOX_TRIANGLES


def box_inertia(mass, size):
    x, y, z = np.square(size)
    return mass / 12.0 * np.diag([y + z, x + z, x + y])


def steiner(inertia, mass, offset):
    offset = np.asarray(offset, dtype=float)
    return inertia + mass * (offset @ offset * np.eye(3) - np.outer(offset, offset))


def join(*meshes):
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in meshes)])
    return np.vstack([v for v, _ in meshes]), np.vstack([t + s for (_, t), s in zip(meshes, starts, strict=False)])


def surface_of_revolution(profile, around, closed):
    """Mesh of a grid of points profile(u, v) that is periodic in u, and in v too when `closed`."""
    n, m = around
    u = np.arange(n) * 2.0 * np.pi / n
    v = np.arange(m) * 2.0 * np.pi / m if closed else (np.arange(m) + 1.0) * np.pi / (m + 1.0)
    vertices = np.array([profile(a, b) for a in u for b in v])
    faces = []
    for i in range(n):
        for j in range(m if closed else m - 1):
            a, b = i * m + j, (i + 1) % n * m + j
            c, d = (i + 1) % n * m + (j + 1) % m, i * m + (j + 1) % m
            faces += [[a, c, b], [a, d, c]]
    if not closed:
        north, south = len(vertices), len(vertices) + 1
        vertices = np.vstack([vertices, profile(0.0, 0.0), profile(0.0, np.pi)])
        for i in range(n):
            k = (i + 1) % n
            faces += [[i * m, k * m, north], [k * m + m - 1, i * m + m - 1, south]]
    return vertices, np.array(faces)


def l_shape():
    """A prism over an L: the unit square of height 1 with a unit square beside it, one surface without inner walls."""
    outline = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)
    bottom = np.column_stack([outline, np.zeros(6)])
    top = np.column_stack([outline, np.ones(6)])
    caps = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]]
    sides = [[i, (i + 1) % 6, (i + 1) % 6 + 6] for i in range(6)] + [[i, (i + 1) % 6 + 6, i + 6] for i in range(6)]
    faces = [[c, b, a] for a, b, c in caps] + [[a + 6, b + 6, c + 6] for a, b, c in caps] + sides
    return np.vstack([bottom, top]), np.array(faces)


def test_a_box_has_its_textbook_inertia_and_density_gives_its_mass():
    size, centre = (0.2, 0.7, 1.3), (3.0, -2.0, 0.5)
    solid = mass_properties(*box(size, centre), density=800.0)
    assert solid.closed
    assert solid.volume == pytest.approx(0.2 * 0.7 * 1.3, rel=1e-13)
    assert solid.mass == pytest.approx(800.0 * 0.2 * 0.7 * 1.3, rel=1e-13)
    np.testing.assert_allclose(solid.center_of_mass, centre, rtol=1e-13)
    np.testing.assert_allclose(solid.inertia, box_inertia(solid.mass, size), rtol=1e-12, atol=1e-12)


def test_the_corner_tetrahedron_has_its_textbook_inertia():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    solid = mass_properties(vertices, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]), mass=1.0)
    np.testing.assert_allclose(solid.center_of_mass, [0.25, 0.25, 0.25], atol=1e-15)
    # Integrals of x^2 and of x y over the simplex are 1/60 and 1/120; its volume is 1/6.
    second = 6.0 * (np.eye(3) / 120.0 + np.ones((3, 3)) / 120.0) - np.full((3, 3), 1.0 / 16.0)
    np.testing.assert_allclose(solid.inertia, np.trace(second) * np.eye(3) - second, atol=1e-15)


def test_finer_sphere_meshes_converge_to_the_sphere_with_the_second_order():
    def error(n):
        mesh = surface_of_revolution(
            lambda u, v: (np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v)), around=(2 * n, n), closed=False
        )
        solid = mass_properties(*mesh, density=1.0)
        assert solid.closed
        volume = 4.0 / 3.0 * np.pi
        return np.array([volume - solid.volume, np.linalg.norm(solid.inertia - 0.4 * volume * np.eye(3))])

    coarse, fine = error(16), error(32)
    np.testing.assert_allclose(coarse / fine, 4.0, rtol=0.15)


def test_a_torus_is_not_taken_for_its_hull():
    major, minor = 1.0, 0.3

    def error(n):
        mesh = surface_of_revolution(
            lambda u, v: (
                (major + minor * np.cos(v)) * np.cos(u),
                (major + minor * np.cos(v)) * np.sin(u),
                minor * np.sin(v),
            ),
            around=(2 * n, n),
            closed=True,
        )
        solid = mass_properties(*mesh, mass=1.0)
        assert solid.closed
        across = major**2 / 2.0 + 5.0 * minor**2 / 8.0
        about = major**2 + 3.0 * minor**2 / 4.0
        return np.array(
            [solid.volume - 2.0 * np.pi**2 * major * minor**2, np.abs(solid.inertia - np.diag([across, across, about])).max()]
        )

    coarse, fine = np.abs(error(24)), np.abs(error(48))
    np.testing.assert_allclose(coarse / fine, 4.0, rtol=0.15)


@pytest.mark.parametrize("flip", [False, True], ids=["outward", "inward"])
def test_a_concave_l_is_the_sum_of_its_three_cubes(flip):
    vertices, faces = l_shape()
    solid = mass_properties(vertices, faces[:, ::-1] if flip else faces, density=2.0)
    centres = np.array([[0.5, 0.5, 0.5], [1.5, 0.5, 0.5], [0.5, 1.5, 0.5]])
    middle = centres.mean(axis=0)
    assert solid.closed
    assert solid.mass == pytest.approx(6.0, rel=1e-14)
    np.testing.assert_allclose(solid.center_of_mass, middle, atol=1e-14)
    expected = sum(steiner(box_inertia(2.0, (1, 1, 1)), 2.0, centre - middle) for centre in centres)
    np.testing.assert_allclose(solid.inertia, expected, atol=1e-13)


def test_two_separate_boxes_are_one_body_by_parallel_axes():
    first, second = box((1, 2, 3), (-2, 0, 0)), box((1, 1, 1), (4, 1, 0))
    solid = mass_properties(*join(first, second), density=1.0)
    middle = (6.0 * np.array([-2, 0, 0]) + np.array([4, 1, 0])) / 7.0
    np.testing.assert_allclose(solid.center_of_mass, middle, atol=1e-14)
    expected = steiner(box_inertia(6.0, (1, 2, 3)), 6.0, np.array([-2, 0, 0]) - middle) + steiner(
        box_inertia(1.0, (1, 1, 1)), 1.0, np.array([4, 1, 0]) - middle
    )
    np.testing.assert_allclose(solid.inertia, expected, rtol=1e-13, atol=1e-12)


def test_a_cavity_is_hollow_and_a_part_turned_inside_out_is_not():
    (outer, faces), (inner, _) = box((2, 2, 2)), box((1, 1, 1))
    hollow = mass_properties(*join((outer, faces), (inner, faces[:, ::-1])), density=1.0)
    assert hollow.closed
    assert hollow.mass == pytest.approx(7.0, rel=1e-14)
    np.testing.assert_allclose(hollow.inertia, box_inertia(8.0, (2, 2, 2)) - box_inertia(1.0, (1, 1, 1)), atol=1e-13)
    beside, _ = box((1, 1, 1), (0.0, 0.0, 3.0))
    inverted = mass_properties(*join((outer, faces), (beside, faces[:, ::-1])), density=1.0)
    assert not inverted.closed
    assert inverted.mass == pytest.approx(ConvexHull(np.vstack([outer, beside])).volume, rel=1e-12)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t[1:],
        lambda t: np.vstack([t, t[:1]]),
        lambda t: np.vstack([t[:1, ::-1], t[1:]]),
        lambda t: NO_TRIANGLES,
    ],
    ids=["hole", "face twice", "one face turned over", "no faces"],
)
def test_a_mesh_that_bounds_no_solid_has_its_hulls_properties(spoil):
    vertices, faces = l_shape()
    solid = mass_properties(vertices, spoil(faces), density=1.0)
    assert not solid.closed
    assert solid.volume == pytest.approx(3.5, rel=1e-13)  # the L and the triangle in its notch
    centre = (
        np.array([0.5, 0.5, 0.5]) + np.array([1.5, 0.5, 0.5]) + np.array([0.5, 1.5, 0.5]) + 0.5 * np.array([4 / 3, 4 / 3, 0.5])
    ) / 3.5
    np.testing.assert_allclose(solid.center_of_mass, centre, atol=1e-13)


def test_points_inside_a_hull_and_degenerate_triangles_change_nothing():
    vertices, faces = box((1, 2, 3))
    plain = mass_properties(vertices, faces, mass=1.0)
    more = mass_properties(np.vstack([vertices, np.zeros((5, 3))]), np.vstack([faces, [[1, 1, 2], [3, 4, 4]]]), mass=1.0)
    hull = mass_properties(np.vstack([vertices, 0.1 * vertices]), NO_TRIANGLES, mass=1.0)
    assert more.closed and not hull.closed
    np.testing.assert_allclose(more.inertia, plain.inertia, rtol=1e-14)
    np.testing.assert_allclose(hull.inertia, plain.inertia, rtol=1e-12, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(1e-3, 1e3))
def test_mass_properties_turn_and_move_with_the_body(seed, size):
    rng = np.random.default_rng(seed)
    turn, move = Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), rng.normal(size=3) * size
    vertices, faces = l_shape()
    vertices = vertices * size * rng.uniform(0.2, 1.0, size=3)
    for triangles in (faces, NO_TRIANGLES):
        still = mass_properties(vertices, triangles, density=3.0)
        moved = mass_properties(vertices @ turn.T + move, triangles, density=3.0)
        assert moved.mass == pytest.approx(still.mass, rel=1e-11)
        np.testing.assert_allclose(moved.center_of_mass, turn @ still.center_of_mass + move, atol=1e-11 * size)
        np.testing.assert_allclose(
            moved.inertia, turn @ still.inertia @ turn.T, atol=1e-10 * np.abs(still.inertia).max(), rtol=0.0
        )


@pytest.mark.parametrize("triangles", [BOX_TRIANGLES, NO_TRIANGLES], ids=["mesh", "hull"])
def test_a_small_box_a_kilometre_away_keeps_its_inertia(triangles):
    size = (0.02, 0.03, 0.05)
    vertices, _ = box(size, (1000.0, -1000.0, 1000.0))
    solid = mass_properties(vertices, triangles, mass=0.1)
    # The coordinates themselves are rounded to 1e-13 m there, which is 1e-11 of the size.
    np.testing.assert_allclose(solid.inertia, box_inertia(0.1, size), rtol=1e-10, atol=1e-15)


@pytest.mark.slow
def test_a_hull_agrees_with_sampling():
    rng = np.random.default_rng(5)
    vertices = rng.normal(size=(30, 3)) * (1.0, 0.6, 0.3)
    solid = mass_properties(vertices, NO_TRIANGLES, density=1.0)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    samples = rng.uniform(low, high, size=(400_000, 3))
    faces = ConvexHull(vertices).equations
    samples = samples[(samples @ faces[:, :3].T + faces[:, 3] <= 0.0).all(axis=1)]
    volume = np.prod(high - low) * len(samples) / 400_000
    assert solid.volume == pytest.approx(volume, rel=0.01)
    np.testing.assert_allclose(solid.center_of_mass, samples.mean(axis=0), atol=0.005)
    covariance = np.cov(samples.T)
    expected = solid.mass * (np.trace(covariance) * np.eye(3) - covariance)
    np.testing.assert_allclose(solid.inertia, expected, atol=0.01 * np.abs(expected).max())


def test_a_flat_polygon_is_a_lamina_as_thick_as_its_margin_on_both_sides():
    turn = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
    corners = np.array([[-0.5, -1, 0], [0.5, -1, 0], [0.5, 1, 0], [-0.5, 1, 0], [0, 0, 0]]) @ turn.T + [1.0, 2.0, 3.0]
    ideal = mass_properties(corners, NO_TRIANGLES, mass=6.0)
    np.testing.assert_allclose(ideal.inertia, turn @ box_inertia(6.0, (1, 2, 0)) @ turn.T, atol=1e-13)
    np.testing.assert_allclose(ideal.center_of_mass, [1, 2, 3], atol=1e-14)
    assert ideal.volume == 0.0
    thick = mass_properties(corners, NO_TRIANGLES, density=10.0, margin=0.05)
    assert thick.mass == pytest.approx(2.0, rel=1e-12)
    np.testing.assert_allclose(thick.inertia, turn @ box_inertia(2.0, (1, 2, 0.1)) @ turn.T, atol=1e-13)


def test_an_ideal_lamina_satisfies_the_perpendicular_axis_theorem():
    triangle = np.array([[0, 0, 0], [3, 0, 0], [0, 1, 0]], dtype=float)
    inertia = mass_properties(triangle, NO_TRIANGLES, mass=18.0).inertia
    np.testing.assert_allclose(np.diag(inertia), [1.0, 9.0, 10.0], rtol=1e-13)  # m h^2 / 18 and m b^2 / 18
    assert inertia[0, 1] == pytest.approx(1.5, rel=1e-12)  # m b h / 36


def test_a_sheet_flat_up_to_single_precision_is_still_a_lamina():
    turn = Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix()
    sheet = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) @ turn.T
    rounded = sheet.astype(np.float32).astype(np.float64)
    assert np.abs(rounded - sheet).max() > 0.0
    assert mass_properties(rounded, NO_TRIANGLES, density=1.0, margin=0.01).mass == pytest.approx(0.08, rel=1e-6)


def test_a_thin_card_is_a_solid_and_not_a_lamina():
    size = (0.063, 0.088, 0.0003)
    for triangles in (BOX_TRIANGLES, NO_TRIANGLES):
        solid = mass_properties(box(size)[0], triangles, density=1000.0)
        assert solid.mass == pytest.approx(1000.0 * np.prod(size), rel=1e-12)
        np.testing.assert_allclose(solid.inertia, box_inertia(solid.mass, size), rtol=1e-11, atol=1e-18)


def test_a_point_with_a_margin_is_a_ball():
    ball = mass_properties(np.array([[1.0, 2.0, 3.0]]), NO_TRIANGLES, density=3.0, margin=0.5)
    assert ball.mass == pytest.approx(np.pi / 2.0, rel=1e-15)
    np.testing.assert_allclose(ball.inertia, 0.4 * ball.mass * 0.25 * np.eye(3), rtol=1e-14)
    np.testing.assert_allclose(ball.center_of_mass, [1, 2, 3])


def test_a_segment_with_a_margin_is_the_capsule_that_sampling_finds():
    start, end, radius = np.array([0.0, 0.0, 0.0]), np.array([0.6, 0.8, 0.0]), 0.5
    capsule = mass_properties(np.vstack([start, end, 0.3 * end]), NO_TRIANGLES, density=1.0, margin=radius)
    np.testing.assert_allclose(capsule.center_of_mass, [0.3, 0.4, 0.0], atol=1e-15)
    assert capsule.volume == pytest.approx(np.pi * radius**2 * (1.0 + 4.0 / 3.0 * radius), rel=1e-14)
    samples = np.random.default_rng(3).uniform(-1.0, 1.0, size=(1_000_000, 3)) * (0.8, 0.9, 0.5) + (0.3, 0.4, 0.0)
    nearest = np.clip(samples @ end, 0.0, 1.0)[:, None] * end
    samples = samples[np.linalg.norm(samples - nearest, axis=1) <= radius]
    covariance = np.cov(samples.T)
    expected = capsule.mass * (np.trace(covariance) * np.eye(3) - covariance)
    np.testing.assert_allclose(capsule.inertia, expected, atol=0.01 * np.abs(expected).max())


def test_a_long_capsule_is_a_rod_and_a_short_one_a_ball():
    rod = mass_properties(np.array([[0, 0, 0], [0, 0, 2.0]]), NO_TRIANGLES, mass=3.0, margin=1e-4).inertia
    assert rod[0, 0] == pytest.approx(3.0 * 4.0 / 12.0, rel=1e-3)
    ball = mass_properties(np.array([[0, 0, 0], [0, 0, 1e-4]]), NO_TRIANGLES, mass=3.0, margin=1.0).inertia
    np.testing.assert_allclose(ball, 0.4 * 3.0 * np.eye(3), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("vertices", "keywords", "reason"),
    [
        ([[0, 0, 0]], {"mass": 1.0}, "at one point"),
        ([[0, 0, 0], [1, 1, 1], [2, 2, 2]], {"mass": 1.0}, "on one line"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], {"density": 1.0}, "in one plane"),
        (np.zeros((0, 3)), {"mass": 1.0}, "no vertices"),
        ([[0, 0, np.nan], [1, 0, 0], [0, 1, 0]], {"mass": 1.0}, "vertex 0"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], {}, "exactly one"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], {"mass": 1.0, "density": 1.0}, "exactly one"),
        ([[0, 0, 0], [1, 0, 0], [0, 1, 0]], {"mass": 1.0, "margin": -0.1}, "margin"),
    ],
)
def test_what_has_no_inertia_is_refused_with_the_reason(vertices, keywords, reason):
    with pytest.raises(ValueError, match=reason):
        mass_properties(np.array(vertices, dtype=float), NO_TRIANGLES, **keywords)
