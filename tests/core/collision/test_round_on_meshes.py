# SPDX-License-Identifier: GPL-3.0-or-later
"""Cylinders and cones touch meshes as exactly as planes and boxes, and see no edges inside of flat parts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import solver_core as sc
from solver_core.collision import detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..meshes import CUBE, CUBE_TRIANGLES, angle_bracket, chair, sheet

PLANE = ShapeSpec(ShapeKind.PLANE)
GRAVITY = 9.81


def cylinder(radius, height):
    """Its axis along z, its middle at the origin."""
    return ShapeSpec(ShapeKind.CYLINDER, np.array([[0, 0, -height / 2], [0, 0, height / 2]]), radius=radius)


def cone(radius, height):
    """Its base in the plane z = 0."""
    return ShapeSpec(ShapeKind.CONE, np.array([[0, 0, 0], [0, 0, height]], dtype=float), radius=radius)


def uneven_triangles(cells=24, size=8.0):
    """A flat sheet whose inner vertices are displaced within its plane."""
    points, triangles = sheet(cells, size)
    inner = (np.abs(points[:, :2]) < 0.49 * size).all(axis=1)
    points[inner, :2] += 0.3 * size / cells * np.random.default_rng(1).uniform(-1.0, 1.0, (int(inner.sum()), 2))
    return ShapeSpec(ShapeKind.MESH, points, triangles)


def found(table, position, rotation, reach):
    poses = np.array([np.zeros(3), position]), np.array([np.eye(3), rotation])
    return detect(table, *poses, np.full(2, 0.5 * reach), np.ones(2, dtype=np.int64), np.ones(2, dtype=bool))


def run(floor, shape, frames, position, rotation=(0.0, 0.0, 0.0), slope=0.0, **motion):
    ground = BodySpec("Ground", BodyKind.PASSIVE, floor, material=MaterialSpec(0.9, 0.9))
    orientation = np.roll(Rotation.from_rotvec(rotation).as_quat(), 1)
    rolling = BodySpec(
        "Rolling",
        BodyKind.ACTIVE,
        shape,
        position=np.array(position),
        orientation=orientation,
        density=700.0,
        material=MaterialSpec(0.9, 0.9),
        **motion,
    )
    gravity = GRAVITY * np.array([np.sin(slope), 0.0, -np.cos(slope)])
    return sc.Simulation(SceneSpec((ground, rolling), gravity=gravity), tolerance=1e-9).run(frames)


ROUND = {"drum": cylinder(0.3, 0.4), "disk": cylinder(0.5, 0.05), "rod": cylinder(0.05, 1.5), "cone": cone(0.3, 0.5)}


@pytest.mark.parametrize("name", ROUND)
def test_over_a_flat_mesh_all_gaps_and_normals_are_those_over_a_plane(name):
    plane, floor = build_shapes([PLANE, ROUND[name]]), build_shapes([uneven_triangles(12, 6.0), ROUND[name]])
    random = np.random.default_rng(4)
    for i in range(60):
        turn = Rotation.from_rotvec(random.normal(size=3)) if i % 3 else Rotation.from_euler("xz", [(i % 2) * np.pi / 2, i])
        rotation, position = turn.as_matrix(), np.array([*random.uniform(-1.5, 1.5, 2), 2.0])
        position[2] -= found(plane, position, rotation, 8.0).gap.min() - 10.0 ** random.uniform(-5, -2)
        contacts = found(floor, position, rotation, 0.02)
        assert contacts.gap.min() == pytest.approx(found(plane, position, rotation, 0.02).gap.min(), abs=1e-9)
        np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1], (len(contacts), 1)), atol=1e-6)


def boxes(*bounds):
    """A compound of boxes between corners."""
    corners = [np.array(pair, dtype=float) for pair in bounds]
    return ShapeSpec(
        ShapeKind.COMPOUND,
        children=tuple(ChildSpec(ShapeSpec(ShapeKind.HULL, CUBE * (b - a)), 0.5 * (a + b)) for a, b in corners),
    )


LEGS = [((x, y, 0.0), (x + 0.045, y + 0.04, 0.43)) for x in (-0.225, 0.18) for y in (-0.225, 0.185)]
SEAT, BACK = ((-0.225, -0.225, 0.43), (0.225, 0.225, 0.47)), ((-0.225, 0.185, 0.47), (0.225, 0.225, 1.0))
CONCAVE = {
    "bracket": (angle_bracket(), boxes(((-0.7, -0.7, -0.5), (0.3, 1.3, 0.5)), ((0.3, -0.7, -0.5), (1.3, 0.3, 0.5)))),
    "chair": (chair(), boxes(*LEGS, SEAT, BACK)),
}


@pytest.mark.parametrize("target", ["bracket", pytest.param("chair", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ROUND)
def test_beside_a_concave_mesh_the_smallest_gap_is_that_beside_its_convex_parts(name, target):
    """Beside, above, in the corner and below the overhang; with boxes cylinders and cones collide as with any hull."""
    surface, parts = CONCAVE[target]
    table, reference = build_shapes([ShapeSpec(ShapeKind.MESH, *surface), ROUND[name]]), build_shapes([parts, ROUND[name]])
    low, high = surface[0].min(axis=0) - 0.4, surface[0].max(axis=0) + 0.4
    random = np.random.default_rng(8)
    tried = 0
    while tried < 40:
        turn, position = Rotation.from_rotvec(random.normal(size=3)).as_matrix(), random.uniform(low, high)
        gap = found(reference, position, turn, 0.1).gap.min(initial=np.inf)
        if 1e-4 < gap < 0.05:
            tried += 1
            assert found(table, position, turn, 0.1).gap.min(initial=np.inf) == pytest.approx(gap, abs=1e-7)


@pytest.mark.parametrize("target", [pytest.param("bracket", marks=pytest.mark.slow), "chair"])
@pytest.mark.parametrize("name", ["drum", pytest.param("cone", marks=pytest.mark.slow)])
def test_no_overlap_with_a_convex_part_of_a_concave_mesh_goes_unseen(name, target):
    """What frees a body of the whole frees it of each part, so the whole is as deep as the deepest part and more. A vertex and
    a side each have a way out of their own; the least of all may be a third of the body's."""
    surface, parts = CONCAVE[target]
    table, reference = build_shapes([ShapeSpec(ShapeKind.MESH, *surface), ROUND[name]]), build_shapes([parts, ROUND[name]])
    low, high = surface[0].min(axis=0) - 0.4, surface[0].max(axis=0) + 0.4
    random = np.random.default_rng(15)
    tried = 0
    while tried < 100:
        turn, position = Rotation.from_rotvec(random.normal(size=3)).as_matrix(), random.uniform(low, high)
        depth = -found(reference, position, turn, 0.0).gap.min(initial=0.0)
        if 1e-3 < depth < 0.02:
            tried += 1
            assert -found(table, position, turn, 0.0).gap.min(initial=0.0) > 0.3 * depth


@pytest.mark.parametrize("depth", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_an_apex_that_touches_the_top_of_a_block_beside_its_edge_is_not_behind_the_blocks_side(depth, tilt):
    """A centimetre from the edge, the apex foremost: it leaves upwards, by as much as it is below the top."""
    block = ShapeSpec(ShapeKind.MESH, CUBE, CUBE_TRIANGLES)
    table = build_shapes([block, ROUND["cone"]])
    # The apex down, and the axis tilted so that the base hangs over the edge, outwards.
    turn = Rotation.from_euler("y", np.pi + tilt).as_matrix()
    apex = np.array([0.49, 0.0, 0.5 - depth])
    contacts = found(table, apex - turn @ [0.0, 0.0, 0.5], turn, 0.0)
    assert -contacts.gap.min() == pytest.approx(depth, rel=1e-6)
    np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1], (len(contacts), 1)), atol=1e-9)


def test_a_cylinder_rolls_straight_down_a_slope_of_triangles_at_two_thirds():
    slope = np.radians(15.0)
    frames = run(uneven_triangles(), cylinder(0.2, 0.4), 24, (-3.0, 0.03, 0.20004), (np.pi / 2, 0, 0), slope)
    assert frames[-1].poses[1, 0] + 3.0 == pytest.approx(GRAVITY * np.sin(slope) / 3.0, rel=5e-3)
    assert abs(frames[-1].poses[1, 1] - 0.03) < 1e-6
    assert np.ptp([frame.poses[1, 2] for frame in frames[1:]]) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "position", "rotation", "motion"),
    [
        (cylinder(0.2, 0.4), (0.013, 0.02, 0.2001), (0, 0, 0), {}),
        (cylinder(0.2, 0.1), (-1.0, 0.02, 0.201), (0.15, np.pi / 2, 0), {"velocity": np.array([0.0, 1.0, 0.0])}),
        (cone(0.2, 0.3), (0.01, 0.02, 0.0001), (0, 0, 0), {}),
    ],
)
def test_what_stands_and_wobbles_on_triangles_does_so_as_on_a_plane(shape, position, rotation, motion):
    on_plane = run(PLANE, shape, 24, position, rotation, **motion)
    on_mesh = run(uneven_triangles(), shape, 24, position, rotation, **motion)
    for one, other in zip(on_plane, on_mesh, strict=True):
        np.testing.assert_allclose(one.poses[1], other.poses[1], atol=1e-4)


@pytest.mark.slow
def test_a_cone_rolls_in_its_circle_on_triangles():
    radius, height, rate = 0.15, 0.4, 2.0
    half = np.arctan2(radius, height)
    rotation = Rotation.align_vectors([[-np.cos(half), 0, -np.sin(half)]], [[0, 0, 1]])[0].as_rotvec()
    base = height * np.array([np.cos(half), 0.0, np.sin(half)])
    spin = np.array([0, 0, rate]) - rate / np.sin(half) * np.array([np.cos(half), 0, np.sin(half)])
    motion = {"velocity": np.cross([0, 0, rate], base), "angular_velocity": spin}
    start = base + np.array([0.01, 0.02, 3e-5])
    on_plane = run(PLANE, cone(radius, height), 48, start, rotation, **motion)
    on_mesh = run(uneven_triangles(), cone(radius, height), 48, start, rotation, **motion)
    around = [np.array([frame.poses[1, :2] - (0.01, 0.02) for frame in frames]) for frames in (on_plane, on_mesh)]
    angle = [np.unwrap(np.arctan2(path[:, 1], path[:, 0]))[-1] for path in around]
    assert angle[0] > 3.5
    assert angle[1] == pytest.approx(angle[0], abs=2e-3)
    assert np.ptp([frame.poses[1, 2] for frame in on_mesh]) < 1e-5
