# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies broken into pieces that fit exactly: what touches is not said to overlap, and what overlaps is told how far."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core import Simulation
from solver_core.collision import detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, ShapeSpec

from ..contact_oracle import Pose, Solid, axis
from ..fractured import CUBE, Pair, fractured, meetings

# Of the size: a choice between features that are equal up to this is settled by their order.
TIE = 1e-6


def worst(said, tolerance):
    """The meetings whose error is over the tolerance, relative to the bodies' size."""
    return {
        meeting.names: (meeting.error(), meeting.pair.deepest, meeting.gap)
        for meeting in said
        if meeting.error() > tolerance * meeting.pair.size
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift", "single"),
    [
        *((0.0, False), (0.0, True), (1e-9, False), (1e-8, True), (1e-6, False), (1e-4, True), (1e-2, False)),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in ((1e-9, True), (1e-8, False), (1e-6, True), (1e-4, False), (1e-2, True))
        ),
    ],
)
def test_pieces_are_as_deep_in_each_other_as_the_minkowski_difference_says(shift, single):
    said, _ = meetings(fractured(1, 60, single=single), shift, 1)
    assert len(said) > 150
    assert worst(said, TIE) == {}


@pytest.mark.slow
def test_pieces_that_touch_in_a_plane_of_single_precision_do_so_along_a_direction_that_parts_them():
    """Their faces are flat to 1e-8 m, and edges nearer than that lead any way, also through the bodies."""
    for seed in (1, 2):
        said, _ = meetings(fractured(seed, 100, single=True), 0.0, seed)
        for meeting in said:
            deepest = np.argmin(meeting.gap)
            assert meeting.gap[deepest] > -1e-6
            # to a degree, which is how far a face may be from the closest direction
            assert meeting.pair.separation(meeting.normal)[deepest] > -0.0175 * meeting.pair.size


def test_no_two_pieces_that_touch_are_missed():
    pieces = fractured(3, 40, single=True)
    said, world = meetings(pieces, 1e-8, 3)
    met = {meeting.names for meeting in said}
    for i, j in itertools.combinations(range(len(world)), 2):
        first, second = world[i], world[j]
        if (i, j) in met or (first.max(axis=0) < second.min(axis=0)).any() or (second.max(axis=0) < first.min(axis=0)).any():
            continue
        assert Pair(first, second).deepest > 1e-9


@pytest.mark.slow
def test_fitting_pieces_touch_at_the_corners_of_what_they_share():
    """No contacts besides: in a block of 200 the mean is 4.2 a pair, for polygons of three to eight corners."""
    said, _ = meetings(fractured(0, 100, thin=False, single=True), 0.0, 0)
    contacts = inside = 0
    for meeting in said:
        contacts += len(meeting.gap)
        if len(meeting.gap) > 3:
            across = np.linalg.svd(meeting.normal[:1])[2][1:]
            inside += len(meeting.gap) - len(ConvexHull(meeting.point @ across.T).vertices)
    assert contacts < 4.5 * len(said)
    assert inside < 0.01 * contacts


@pytest.mark.slow
def test_a_block_of_fitting_pieces_is_not_warned_of():
    bodies = [
        BodySpec(
            f"Piece {i}", BodyKind.ACTIVE, ShapeSpec(ShapeKind.HULL, piece - piece.mean(axis=0)), piece.mean(axis=0), mass=1.0
        )
        for i, piece in enumerate(fractured(0, 100, single=True))
    ]
    assert [warning.message for warning in Simulation(SceneSpec(tuple(bodies))).warnings] == []


def bodies(random):
    """A hull, a plate, a needle, a wedge of two degrees, a sliver and a polygon, in single precision."""
    ball = random.normal(size=(14, 3))
    wedge = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0.035], [1, 1, 0.035]])
    needle = np.concatenate([random.normal(size=(8, 3)) * (0.01, 0.01, 0.01), [[0, 0, 1.5], [0, 0, -1.5]]])
    polygon = np.column_stack([random.normal(size=(8, 2)), np.zeros(8)])
    shapes = [
        ball / np.linalg.norm(ball, axis=1)[:, None],
        CUBE * (1, 1, 1e-3),
        needle,
        wedge,
        random.normal(size=(5, 3)) * (1, 1, 1e-4),
    ]
    return [shape.astype(np.float32).astype(float) for shape in (*shapes, polygon)]


@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-8, 1e-7, -1e-8])
def test_thin_sharp_and_flat_bodies_that_touch_do_so_along_a_direction_that_parts_them(gap):
    """Corner to corner, turned any way, or so that faces and edges are parallel, or nearly so."""
    random = np.random.default_rng(2)
    masks = np.ones(2, dtype=np.int64)
    for first, second in itertools.combinations_with_replacement(bodies(random), 2):
        table = build_shapes([ShapeSpec(ShapeKind.HULL, first), ShapeSpec(ShapeKind.HULL, second)])
        for number in range(10):
            turn = Rotation.from_euler("xyz", random.integers(4, size=3) * 90.0, degrees=True).as_matrix()
            if number % 3:
                turn = turn @ Rotation.from_rotvec(random.normal(size=3) * 10.0 ** random.uniform(-10, 0)).as_matrix()
            direction = random.normal(size=3) if number % 2 else np.eye(3)[random.integers(3)]
            direction /= np.linalg.norm(direction)
            world = second @ turn.T
            place = first[np.argmax(first @ direction)] - world[np.argmin(world @ direction)] + gap * direction
            found = detect(
                table, np.array([np.zeros(3), place]), np.array([np.eye(3), turn]), np.full(2, 1e-3), masks, masks > 0
            )
            pair = Pair(first, world + place)
            least = int(np.argmin(found.gap))
            # bodies that overlap along one direction do so by less along another
            assert min(gap, 0.0) - TIE * pair.size < found.gap[least] < max(gap, 0.0) + TIE * pair.size
            assert pair.separation(found.normal)[least] > -0.0175 * pair.size


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, *(pytest.param(gap, marks=pytest.mark.long) for gap in (1e-8, -1e-8))])
def test_cylinders_and_cones_touch_slivers_and_wedges_along_a_direction_that_parts_them(gap):
    random = np.random.default_rng(4)
    rounds = [Solid("cylinder", axis(h), r) for r, h in ((0.5, 1.0), (1.0, 0.01), (0.02, 1.5))]
    rounds += [Solid("cone", axis(h), r) for r, h in ((0.5, 1.0), (1.0, 0.05), (0.03, 1.5))]
    pieces = [(piece - piece.mean(axis=0)).astype(np.float32).astype(float) for piece in fractured(5, 80, single=True)[::6]]
    for solid, piece, number in itertools.product(rounds, pieces, range(3)):
        hull = Solid("hull", piece)
        turn = Rotation.random(random_state=int(random.integers(1 << 30))).as_matrix()
        # a face of the piece, the side of the round body, or any direction
        faces = -hull.faces()[:, :3] @ turn.T
        direction = (faces[random.integers(len(faces))], np.array([1.0, 0.0, 0.0]), random.normal(size=3))[number]
        direction /= np.linalg.norm(direction)
        rim = np.append(direction[:2], 0.0) * solid.radius / max(float(np.hypot(*direction[:2])), 1e-12)
        ends = solid.points + (rim if solid.kind == "cylinder" else np.array([rim, np.zeros(3)]))
        world = piece @ turn.T
        place = ends[np.argmax(ends @ direction)] - world[np.argmin(world @ direction)] + gap * direction
        pose = Pose(solid, hull, np.array([np.eye(3), turn]), place)
        found = pose.contacts(2e-3)
        least = int(np.argmin(found.gap))
        assert min(gap, 0.0) - 2.0 * TIE < found.gap[least] < max(gap, 0.0) + 2.0 * TIE
        assert pose.separation(found.normal)[least] > -1e-4
