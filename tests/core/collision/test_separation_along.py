# SPDX-License-Identifier: GPL-3.0-or-later
"""The separation of two bodies along a direction is that of their points."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision.separation_along import has_face_along, is_one_convex, separation_along
from solver_core.compile.kernel import kernel
from solver_core.geometry import build_shapes
from solver_core.scene.parts import box_shape, cone_shape, cylinder_shape, sphere_shape
from solver_core.scene.spec import ChildSpec, ShapeKind, ShapeSpec

from ..shapes import box, hull


@kernel
def separation(shapes, position, rotation, normal):
    return separation_along(shapes, position, rotation, (0, 1), (normal[0], normal[1], normal[2]))


@kernel
def convex(shapes, body):
    return is_one_convex(shapes, body)


@kernel
def face(shapes, rotation, normal):
    return has_face_along(shapes, rotation, 0, (normal[0], normal[1], normal[2]))


def surface_points(shape: ShapeSpec):
    """Points of a shape's surface, dense enough for its extent along any direction."""
    turn = np.linspace(0.0, 2.0 * np.pi, 7200)
    if shape.kind is ShapeKind.HULL:
        return shape.vertices
    ends, ring = shape.vertices, np.column_stack([np.cos(turn), np.sin(turn), np.zeros_like(turn)]) * shape.radius
    axis = ends[1] - ends[0]
    across, _ = Rotation.align_vectors([axis], [[0.0, 0.0, 1.0]])
    rims = [ends[0] + across.apply(ring), ends[1] + across.apply(ring) if shape.kind is ShapeKind.CYLINDER else ends[1:]]
    return np.concatenate(rims)


SHAPES = {
    "box": box(0.3, 0.2, 0.1),
    "box with a margin": box(0.3, 0.2, 0.1, margin=0.02),
    "ball": sphere_shape(0.15),
    "hull": hull(np.random.default_rng(0).normal(size=(20, 3))),
    "cylinder": cylinder_shape(0.1, 0.3),
    "cone": cone_shape(0.2, 0.3),
}


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("second", SHAPES)
def test_it_is_that_of_the_farthest_points_of_both(first, second):
    rng = np.random.default_rng(1)
    specs = SHAPES[first], SHAPES[second]
    table = build_shapes(specs)._replace(surfaces=None)
    for _ in range(5):
        turns = Rotation.random(2, random_state=rng)
        position, normal = rng.normal(size=(2, 3)), rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        points = [turns[i].apply(surface_points(specs[i])) + position[i] for i in (0, 1)]
        expected = (points[1] @ normal).min() - (points[0] @ normal).max() - specs[0].margin - specs[1].margin
        found = separation(table, position, np.ascontiguousarray(turns.as_matrix()), normal)
        assert found == pytest.approx(expected, abs=1e-6)


def test_a_plane_ends_along_its_normal_alone():
    table = build_shapes([ShapeSpec(ShapeKind.PLANE, np.zeros((0, 3))), box_shape((0.2, 0.2, 0.2))])._replace(surfaces=None)
    position, rotation = np.array([[0.0, 0.0, 0.5], [0.0, 0.0, 1.0]]), np.tile(np.eye(3), (2, 1, 1))
    assert separation(table, position, rotation, np.array([0.0, 0.0, 1.0])) == pytest.approx(0.4)
    assert separation(table, position, rotation, np.array([0.0, 0.6, 0.8])) == -np.inf


def test_compounds_and_meshes_are_not_one_convex_body():
    cube = box_shape((1.0, 1.0, 1.0))
    two = [ChildSpec(cube, np.array([x, 0.0, 0.0])) for x in (0.0, 2.0)]
    triangles = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]], np.int32)
    tetrahedron = ShapeSpec(ShapeKind.MESH, np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), triangles)
    table = build_shapes([cube, ShapeSpec(ShapeKind.COMPOUND, np.zeros((0, 3)), children=tuple(two)), tetrahedron])
    assert [convex(table._replace(surfaces=None), body) for body in range(3)] == [True, False, False]


EDGE = np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
X, Y, Z = np.eye(3)


@pytest.mark.parametrize(
    ("shape", "faces", "others"),
    [
        ("box", (X, -Y, Z), (EDGE, -EDGE, (X + Y + Z) / np.sqrt(3.0))),
        ("box with a margin", (X, -Y, Z), (EDGE,)),
        ("ball", (), (X, EDGE, -Z)),
        ("cylinder", (Z, -Z), (X, EDGE)),
        ("cone", (-Z,), (Z, X)),
    ],
)
def test_a_body_has_faces_only_along_their_normals(shape, faces, others):
    table = build_shapes([SHAPES[shape]])._replace(surfaces=None)
    for turn in Rotation.random(4, random_state=2):
        rotation = turn.as_matrix()[None]
        assert all(face(table, rotation, turn.apply(normal)) for normal in faces)
        assert not any(face(table, rotation, turn.apply(normal)) for normal in others)
