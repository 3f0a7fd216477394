# SPDX-License-Identifier: GPL-3.0-or-later
"""Edges, vertices and rims that coincide, up to rounding and small overlaps: the normal is the one that a mirror image has too,
and what leans on another stands exactly where statics says that it does."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ContactMethod, ShapeKind, ShapeSpec

from ..leaning import leaning, standing
from ..meshes import CUBE, CUBE_TRIANGLES
from ..shapes import box, detected, hull, mesh

# m, for lengths of about one metre
GAPS = (0.0, 1e-9, -1e-9, 1e-6, -1e-6, 1e-5, -1e-5, 1e-4, -1e-4)
CARD, BEAM = (0.002, 0.6, 1.0), (0.1, 0.1, 2.0)


def tapered(thickness, width, length):
    """A board that is narrower at its foot, which makes it a hull and no box."""
    points = CUBE * (thickness, width, length)
    return hull(points * np.where(points[:, 2:] < 0.0, (1.0, 0.9, 1.0), 1.0))


def as_mesh(*sizes):
    """A box as a mesh."""
    return mesh((CUBE * sizes, CUBE_TRIANGLES))


def cylinder(thickness, _, length):
    """A cylinder as thick as a board."""
    ends = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
    return ShapeSpec(ShapeKind.CYLINDER, ends, radius=0.5 * thickness)


SHAPES = {"box": box, "hull": tapered, "mesh": as_mesh, "cylinder": cylinder}


def friction_to_lean(size, degrees):
    """The least coefficient with which they stand: the thrust at the top by the force on the ground."""
    thickness, _, length = size
    return 0.5 / np.tan(np.radians(degrees)) - 0.5 * thickness / length


@pytest.mark.parametrize(("size", "degrees"), [(CARD, 65.0), (BEAM, 45.0), (BEAM, 60.0)])
@pytest.mark.parametrize("kind", ["box", "hull", "cylinder"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0])
def test_edges_that_coincide_push_along_the_normal_of_the_plane_of_symmetry(kind, size, degrees, scale):
    random = np.random.default_rng(1)
    table = build_shapes([SHAPES[kind](*(scale * np.array(size)))] * 2)
    for gap in GAPS:
        turn, origin = Rotation.random(random_state=int(random.integers(1 << 31))), random.normal(size=3)
        places, turns = leaning(scale * np.array(size), degrees, scale * gap)
        found = detected(table, turn.apply(places) + scale * origin, [(turn * own).as_matrix() for own in turns], 1e-3 * scale)
        np.testing.assert_allclose(
            turn.apply(found.normal, inverse=True) - (1.0, 0.0, 0.0), 0.0, atol=2e-3 if kind == "cylinder" else 1e-5
        )
        # as deep as the axis of least penetration says, and apart by the distance
        least = scale * (gap if gap > 0.0 else gap * np.sin(np.radians(max(degrees, 90.0 - degrees))))
        assert found.gap.min() == pytest.approx(least, abs=1e-8 * scale)
        if kind != "cylinder":
            ends = turn.apply(found.point - scale * origin, inverse=True)[:, 1]
            np.testing.assert_allclose(np.sort(ends), 0.5 * scale * size[1] * np.array([-1.0, 1.0]), atol=1e-6 * scale)


@pytest.mark.parametrize(("size", "degrees"), [(CARD, 65.0), (BEAM, 45.0)])
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_edges_of_meshes_that_overlap_a_little_push_to_neither_side(size, degrees, scale):
    """Also where rounding decides which of their triangles cross."""
    table = build_shapes([as_mesh(*(scale * np.array(size)))] * 2)
    for number, gap in itertools.product(range(12), (0.0, -1e-9, -1e-7, -1e-6, -1e-5, -1e-4)):
        turn = Rotation.random(random_state=number)
        places, turns = leaning(scale * np.array(size), degrees, scale * gap)
        found = detected(table, turn.apply(places), [(turn * own).as_matrix() for own in turns], 1e-3 * scale)
        normals = turn.apply(found.normal, inverse=True)
        mean = normals.mean(axis=0) / np.linalg.norm(normals.mean(axis=0))
        np.testing.assert_allclose(mean, (1.0, 0.0, 0.0), atol=1e-3)
        assert 1.001 * scale * gap - 1e-12 < found.gap.min() <= 0.25 * scale * gap + 1e-9 * scale


def polyhedra(random, count):
    """Pairs of hulls (n, 3) that meet in a corner of each at the origin, one above and one below a plane through it."""
    for _ in range(count):
        points = []
        for side in (-1.0, 1.0):
            body = random.normal(size=(9, 3)) * 0.3
            body[:, 2] = side * (0.02 + np.abs(body[:, 2]))
            points.append(np.concatenate([np.zeros((1, 3)), body]))
        yield points


@pytest.mark.parametrize("gap", [0.0, 1e-9, -1e-7, -1e-5, -1e-4])
def test_corners_that_coincide_push_as_those_of_the_mirror_image_do(gap):
    """And along a direction that parts the bodies, but for the overlap that there is."""
    random = np.random.default_rng(3)
    mirror = np.array([-1.0, 1.0, 1.0])
    for low, high in polyhedra(random, 40):
        normals = []
        for sign in (1.0, mirror):
            table = build_shapes([hull(sign * low), hull(sign * high)])
            found = detected(table, [np.zeros(3), (0.0, 0.0, gap)])
            deepest = found.normal[np.argmin(found.gap)]
            normals.append(sign * deepest)
            apart = (sign * high @ deepest).min() - (sign * low @ deepest).max() + gap * deepest[2]
            assert apart > -3.0 * max(-gap, 1e-9)
        np.testing.assert_allclose(normals[0], normals[1], atol=1e-6)


def test_a_corner_above_the_middle_of_a_face_keeps_the_faces_normal():
    """As does an edge, however small the gap: there is one normal."""
    table = build_shapes([box(1.0, 1.0, 0.2), box(0.1, 0.1, 0.1)])
    for gap, tilt in itertools.product(GAPS, ((0.6, 0.0, 0.0), (0.6, 0.3, 0.2))):
        turn = Rotation.from_rotvec(tilt).as_matrix()
        lowest = (CUBE * 0.1 @ turn.T)[:, 2].min()
        found = detected(table, [np.zeros(3), (0.1, -0.2, 0.1 - lowest + gap)], [np.eye(3), turn])
        np.testing.assert_allclose(found.normal - (0.0, 0.0, 1.0), 0.0, atol=1e-12)
        assert found.gap.min() == pytest.approx(gap, abs=1e-12)


def sinks(spec, turn, method=ContactMethod.STAGGERED):
    """By how much the first body sinks in a second, m."""
    frames = sc.Simulation(spec, method=method, threads=1).run(24)
    return turn.apply(frames[0].poses[1, :3] - frames[-1].poses[1, :3], inverse=True)[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "size", "degrees", "gap"),
    [
        # each shape with its features in one place, and boxes at every gap; the others at every gap are long
        pytest.param(kind, size, degrees, gap, marks=() if gap == 0.0 or (kind, size) == ("box", CARD) else pytest.mark.long)
        for gap in GAPS
        for kind, (size, degrees) in itertools.product(("box", "hull", "mesh"), ((CARD, 65.0), (BEAM, 45.0)))
    ],
)
def test_boards_that_lean_on_each_other_stand_where_statics_says_so(kind, size, degrees, gap):
    turn = Rotation.random(random_state=7)
    places, turns = leaning(size, degrees, gap)
    bodies = [(SHAPES[kind](*size), place, own) for place, own in zip(places, turns, strict=True)]
    least = friction_to_lean(size, degrees)
    assert sinks(standing(bodies, turn, 1.05 * least), turn) < 1e-3
    assert sinks(standing(bodies, turn, 0.95 * least), turn) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("number", [*range(3), *(pytest.param(number, marks=pytest.mark.long) for number in range(3, 6))])
@pytest.mark.parametrize("gap", [-1e-9, -1e-7, -1e-5])
def test_leaning_meshes_that_overlap_as_the_scene_begins_stand_however_they_are_turned(gap, number):
    turn = Rotation.random(random_state=4 + number)
    places, turns = leaning(CARD, 65.0, gap)
    bodies = [(as_mesh(*CARD), place, own) for place, own in zip(places, turns, strict=True)]
    assert sinks(standing(bodies, turn, 1.05 * friction_to_lean(CARD, 65.0)), turn) < 1e-3
