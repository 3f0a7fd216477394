# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifolds: as many contacts as the touching features have, where they have them, the same in every step."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.collision import detect
from solver_core.collision.reduction import FEW_CONTACTS, MOST_CONTACTS
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

from ..shapes import box, find, turn

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))
PLANE = ShapeSpec(ShapeKind.PLANE)
CARD = np.array([0.063, 0.0006, 0.089])
LEAN = np.radians(20.0)


def rows(array):
    return sorted(map(tuple, np.round(array, 9).tolist()))


@pytest.mark.parametrize("gap", [1e-4, 1e-9, 0.0, -1e-4])
def test_a_box_flat_on_a_box_touches_at_four_corners(gap):
    contacts = find([box(1, 1, 1), box(1, 1, 1)], [[0, 0, 0], [0.2, -0.1, 1 + gap]])
    half = round(0.5 + 0.5 * gap, 9)
    assert rows(contacts.point) == sorted((x, y, half) for x in (-0.3, 0.5) for y in (-0.5, 0.4))
    np.testing.assert_allclose(contacts.gap, gap, atol=1e-15)
    np.testing.assert_array_equal(contacts.normal, [[0, 0, 1]] * 4)


def test_a_box_turned_by_45_degrees_on_a_box_touches_at_eight_points():
    contacts = find([box(1, 1, 1), box(1, 1, 1)], [[0, 0, 0], [0, 0, 1.0001]], [np.eye(3), turn(0, 0, np.pi / 4)])
    cut = round(np.sqrt(0.5) - 0.5, 9)
    assert rows(contacts.point[:, :2]) == sorted(pair for s in (-0.5, 0.5) for t in (-cut, cut) for pair in ((s, t), (t, s)))


@pytest.mark.parametrize("plane_first", [True, False])
def test_a_thin_card_on_its_edge_touches_a_plane_at_two_points(plane_first):
    lowest = 0.5 * CARD[2] * np.cos(LEAN) + 0.5 * CARD[1] * np.sin(LEAN)
    specs = [PLANE, box(*CARD)]
    poses = [([0, 0, 0], np.eye(3)), ([0, 0, lowest + 1e-5], turn(LEAN, 0, 0))]
    order = slice(None) if plane_first else slice(None, None, -1)
    contacts = find(specs[order], *zip(*poses[order], strict=True), reach=1e-4)
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [-0.0315, 0.0315], atol=1e-15)
    np.testing.assert_allclose(contacts.gap, 1e-5, atol=1e-15)
    np.testing.assert_allclose(contacts.normal, [[0, 0, 1.0 if plane_first else -1.0]] * 2, atol=1e-15)


def test_a_card_flat_on_a_plane_touches_with_its_lower_face_only():
    contacts = find([PLANE, box(0.063, 0.089, 0.0006)], [[0, 0, 0], [0, 0, 0.00031]], reach=2e-3)
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts.gap, 1e-5, atol=1e-15)


def test_gaps_on_a_tilted_face_are_heights_over_its_plane():
    tilt = turn(0.002, -0.001, 0.7)
    contacts = find([box(2, 2, 1), box(1, 1, 1)], [[0, 0, 0], [0.1, 0.1, 1.002]], [np.eye(3), tilt], reach=0.01)
    corners = (CUBE[CUBE[:, 2] < 0] @ tilt.T + [0.1, 0.1, 1.002])[:, 2] - 0.5
    np.testing.assert_allclose(np.sort(contacts.gap), np.sort(corners), atol=1e-15)
    np.testing.assert_array_equal(contacts.normal, [[0, 0, 1]] * 4)


def test_crossing_edges_touch_once():
    contacts = find(
        [box(1, 1, 1), box(1, 1, 1)], [[0, 0, 0], [0, 0, np.sqrt(2) + 1e-4]], [turn(np.pi / 4, 0, 0), turn(0, np.pi / 4, 0)]
    )
    np.testing.assert_allclose(contacts.gap, [1e-4], atol=1e-15)
    np.testing.assert_allclose(contacts.normal, [[0, 0, 1]], atol=1e-12)


def apex(gap=3e-5, along=0.0, extra=None):
    """Two cards that lean against each other with their top edges a gap apart; the second may be turned a little more."""
    extra = np.eye(3) if extra is None else extra
    first, second = turn(-LEAN, 0, 0), turn(LEAN, 0, 0)
    apart = (CUBE * CARD @ first.T)[:, 1].max() - (CUBE * CARD @ second.T)[:, 1].min() + gap
    top = (CUBE * CARD @ first.T)[:, 2].max() - CARD[1] * np.sin(LEAN)
    centre = np.array([along, apart, 0.0])
    pivot = np.array([0.0, 0.5 * apart, top])
    return [box(*CARD), box(*CARD)], [np.zeros(3), pivot + extra @ (centre - pivot)], [first, extra @ second]


@pytest.mark.parametrize("gap", [1e-6, 1e-5, 5e-5])
@pytest.mark.parametrize("along", [0.0, 0.01])
def test_leaning_cards_touch_at_both_ends_of_their_top_edges(gap, along):
    contacts = find(*apex(gap, along))
    np.testing.assert_allclose(np.sort(contacts.point[:, 0]), [along - 0.0315, 0.0315], atol=1e-12)
    np.testing.assert_allclose(contacts.gap, gap, atol=1e-12)
    np.testing.assert_allclose(contacts.normal, [[0, 1, 0]] * 2, atol=1e-6)


def test_leaning_cards_that_part_on_one_side_keep_both_contacts_each_with_its_own_gap():
    for angle in (1e-9, 1e-6, 1e-4, 3e-4):
        contacts = find(*apex(3e-5, extra=turn(0, 0, angle)))
        assert len(contacts) == 2
        order = np.argsort(contacts.point[:, 0])
        np.testing.assert_allclose(contacts.gap[order], 3e-5 + angle * np.array([-0.0315, 0.0315]), rtol=1e-3)


def test_normals_of_leaning_cards_follow_a_skew_continuously_and_do_not_flip():
    """Each end's normal turns by (half the edge's length / gap) times the skew, to opposite sides; the gap hardly changes."""
    previous = None
    for skew in np.linspace(-3e-4, 3e-4, 41):
        contacts = find(*apex(3e-5, extra=turn(0, skew, 0)))
        ends = np.argsort(contacts.point[:, 0])[[0, -1]]
        normals = contacts.normal[ends]
        slope = np.array([1.0, -1.0]) * skew * 0.0315 / 3e-5
        np.testing.assert_allclose(normals[:, 2] / normals[:, 1], slope, atol=2e-3)
        if previous is not None:
            assert np.abs(normals - previous).max() < 0.02
        previous = normals


def test_a_card_lies_on_the_top_edges_of_leaning_cards():
    cards, positions, rotations = apex()
    top = (CUBE * CARD @ rotations[0].T)[:, 2].max()
    positions.append([0.0, positions[1][1] / 2, top + 0.0003 + 2e-5])
    contacts = find([*cards, box(0.063, 0.089, 0.0006)], positions, [*rotations, np.eye(3)], reach=1e-4)
    pairs = list(zip(contacts.body_a.tolist(), contacts.body_b.tolist(), strict=True))
    assert pairs == [(0, 1)] * 2 + [(0, 2)] * 2 + [(1, 2)] * 2
    np.testing.assert_allclose(contacts.gap[2:], 2e-5, atol=1e-12)
    np.testing.assert_allclose(contacts.normal[2:], [[0, 0, 1]] * 4, atol=1e-12)


def arch_blocks():
    """Two neighbouring voussoirs of a round arch, flush in their joint."""
    inner, outer, half = 1.0, 1.3, np.pi / 22
    corners = [(r * np.sin(a), y, r * np.cos(a)) for r in (inner, outer) for a in (-half, half) for y in (-0.2, 0.2)]
    block = ShapeSpec(ShapeKind.HULL, np.array(corners))
    return [block, block], [[0, 0, 0], [0, 0, 0]], [turn(0, -half, 0), turn(0, half, 0)]


def aligned_stack():
    return [box(1, 1, 1), box(1, 1, 1)], [[0, 0, 0], [0, 0, 1]], [np.eye(3), np.eye(3)]


@pytest.mark.parametrize("scene", [aligned_stack, arch_blocks, apex, lambda: apex(along=0.01)])
def test_noise_does_not_change_a_manifold(scene):
    random = np.random.default_rng(0)
    specs, positions, rotations = scene()
    reference = find(specs, positions, rotations)
    assert len(reference) in (2, 4)
    for _ in range(50):
        moved = np.array(positions) + 1e-12 * random.normal(size=(2, 3))
        turned = [rotation @ turn(*1e-12 * random.normal(size=3)) for rotation in rotations]
        contacts = find(specs, moved, turned)
        np.testing.assert_array_equal(contacts.feature, reference.feature)
        np.testing.assert_allclose(contacts.point, reference.point, atol=1e-10)
        np.testing.assert_allclose(contacts.normal, reference.normal, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_manifold_does_not_depend_on_the_unit_of_length(scale):
    for specs, positions, rotations in (aligned_stack(), arch_blocks(), apex()):
        scaled = [ShapeSpec(ShapeKind.HULL, scale * spec.vertices) for spec in specs]
        contacts = find(scaled, scale * np.array(positions), rotations, reach=scale * 1e-3)
        reference = find(specs, positions, rotations)
        np.testing.assert_array_equal(contacts.feature, reference.feature)
        np.testing.assert_allclose(contacts.point, scale * reference.point, atol=1e-11 * scale)


def test_a_small_cube_on_a_slab_of_a_kilometre_has_exact_gaps():
    contacts = find([box(1000, 1000, 1), box(0.01, 0.01, 0.01)], [[0, 0, 0], [433, -211, 0.505 + 1e-6]], reach=1e-4)
    assert len(contacts) == 4
    np.testing.assert_allclose(contacts.gap, 1e-6, atol=1e-13)


def test_a_cube_sinks_into_a_ground_of_one_polygon_on_the_side_it_came_from():
    ground = ShapeSpec(ShapeKind.HULL, np.array([[-5.0, -5, 0], [5, -5, 0], [5, 5, 0], [-5, 5, 0]]))
    for side in (1.0, -1.0):
        contacts = find([ground, box(1, 1, 1)], [[0, 0, 0], [0, 0, side * 0.499]])
        assert len(contacts) == 4
        np.testing.assert_allclose(contacts.gap, -0.001, atol=1e-15)
        np.testing.assert_array_equal(contacts.normal, [[0, 0, side]] * 4)


def test_a_polygon_stands_on_its_edge():
    card = ShapeSpec(ShapeKind.HULL, np.array([[-1.0, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]]))
    for ground in (PLANE, box(9, 9, 2)):
        height = 1.0 + (0.0 if ground is PLANE else 1.0)
        contacts = find([ground, card], [[0, 0, 0], [0, 0, height + 1e-4]], [np.eye(3), turn(0, 0, 0.3) @ turn(0, 1e-4, 0)])
        np.testing.assert_allclose(np.sort(contacts.gap), [0.0, 2e-4], atol=1e-7)


def test_coplanar_polygons_side_by_side_touch_along_their_edges():
    square = ShapeSpec(ShapeKind.HULL, np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]))
    contacts = find([square, square], [[0, 0, 0], [2.0005, 0.5, 0]])
    assert len(contacts) == 2
    np.testing.assert_allclose(contacts.normal, [[1, 0, 0]] * 2, atol=1e-9)
    np.testing.assert_allclose(contacts.gap, 5e-4, atol=1e-12)


def test_points_and_segments_with_margins_are_exact_spheres_and_capsules():
    sphere = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.5)
    capsule = ShapeSpec(ShapeKind.HULL, np.array([[-1.0, 0, 0], [1, 0, 0]]), margin=0.25)
    direction = np.array([2.0, 3.0, 6.0]) / 7.0
    contacts = find([sphere, sphere], [[0, 0, 0], 1.0001 * direction])
    np.testing.assert_allclose(contacts.gap, [1e-4], atol=1e-15)
    np.testing.assert_allclose(contacts.normal, [direction], atol=1e-12)
    np.testing.assert_allclose(contacts.point, [0.50005 * direction], atol=1e-12)
    contacts = find([sphere, capsule], [[0, 0, 0], [0.3, 0.45, 0.6]])
    np.testing.assert_allclose(contacts.gap, [0.0], atol=1e-15)
    np.testing.assert_allclose(contacts.normal, [[0, 0.6, 0.8]], atol=1e-12)
    np.testing.assert_allclose(contacts.point, [[0, 0.3, 0.4]], atol=1e-12)
    contacts = find([capsule, capsule], [[0, 0, 0], [0.5, 0, 0.5]])
    assert sorted(contacts.point[:, 0].tolist()) == [-0.5, 1.0]
    contacts = find([PLANE, sphere, capsule], [[0, 0, 0], [0, 0, 0.5], [9, 0, 0.25]])
    assert contacts.body_b.tolist() == [1, 2, 2]
    np.testing.assert_allclose(contacts.gap, 0.0, atol=1e-15)


def test_a_rounded_box_rolls_over_an_edge_without_a_jump_of_its_gap():
    """Surfaces at margin m from a box and a sphere of radius r: the gap is the distance of the centre from the box - m - r."""
    sphere = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.1)
    rounded = box(1, 1, 1, margin=0.05)
    for angle in np.linspace(0.0, np.pi / 2, 31):
        centre = np.array([0.5 + 0.1503 * np.sin(angle), 0.0, 0.5 + 0.1503 * np.cos(angle)])
        contacts = find([rounded, sphere], [[0, 0, 0], centre])
        np.testing.assert_allclose(contacts.gap, [3e-4], rtol=0.1)
        np.testing.assert_allclose(contacts.normal, [[np.sin(angle), 0, np.cos(angle)]], atol=0.018)


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_moving_the_whole_scene_moves_its_contacts(margin):
    random = np.random.default_rng(4)
    specs = [ShapeSpec(ShapeKind.HULL, random.normal(size=(12, 3)), margin=margin) for _ in range(30)]
    positions = random.uniform(-4, 4, (30, 3))
    rotations = Rotation.random(30, random_state=4).as_matrix()
    reference = find(specs, positions, rotations, reach=0.2)
    assert len(reference) > 60
    shift, rotation = np.array([3.0, -20.0, 7.0]), turn(0.3, 2.0, -1.0)
    contacts = find(specs, positions @ rotation.T + shift, rotation @ rotations, reach=0.2)
    np.testing.assert_array_equal(contacts.feature, reference.feature)
    np.testing.assert_allclose(contacts.gap, reference.gap, atol=1e-12)
    np.testing.assert_allclose(contacts.normal, reference.normal @ rotation.T, atol=1e-9)
    np.testing.assert_allclose(contacts.point, reference.point @ rotation.T + shift, atol=1e-9)


@pytest.mark.slow
def test_exchanging_the_bodies_mirrors_their_contacts():
    random = np.random.default_rng(5)
    compared = 0
    for seed in range(200):
        specs = [ShapeSpec(ShapeKind.HULL, random.normal(size=(10, 3))) for _ in range(2)]
        positions = np.array([[0, 0, 0], random.normal(size=3) * 1.3])
        rotations = Rotation.random(2, random_state=seed).as_matrix()
        one = find(specs, positions, rotations, reach=0.2)
        other = find(specs[::-1], positions[::-1], rotations[::-1], reach=0.2)
        assert len(one) == len(other)
        first, second = np.lexsort(one.point.round(9).T), np.lexsort(other.point.round(9).T)
        np.testing.assert_allclose(one.point[first], other.point[second], atol=1e-9)
        np.testing.assert_allclose(one.normal[first], -other.normal[second], atol=1e-9)
        np.testing.assert_allclose(one.gap[first], other.gap[second], atol=1e-12)
        compared += len(one)
    assert compared > 200


def test_features_keep_their_ids_while_a_box_slides_and_turns_a_little():
    specs = [box(3, 3, 1), box(1, 1, 1)]
    reference = find(specs, [[0, 0, 0], [0.2, 0.1, 1.0001]], [np.eye(3), turn(0, 0, 0.4)])
    assert len(set(reference.feature.tolist())) == 4
    for step in range(1, 20):
        contacts = find(
            specs,
            [[0, 0, 0], [0.2 + 0.01 * step, 0.1, 1.0001]],
            [np.eye(3), turn(1e-5 * step, -2e-5 * step, 0.4 + 0.01 * step)],
        )
        np.testing.assert_array_equal(contacts.feature, reference.feature)


def test_a_disc_of_many_corners_keeps_a_few_contacts_that_span_it():
    angle = 2.0 * np.pi * np.arange(48) / 48
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(48)])
    disc = ShapeSpec(ShapeKind.HULL, np.concatenate([ring, ring + np.array([0, 0, 0.3])]))
    for ground, height in ((PLANE, 0.0), (box(9, 9, 2), 1.0)):
        contacts = find([ground, disc], [[0, 0, 0], [0.3, 0, height + 1e-4]], [np.eye(3), turn(0, 1e-5, 0)])
        assert FEW_CONTACTS <= len(contacts) <= MOST_CONTACTS
        assert ConvexHull(contacts.point[:, :2]).volume > 0.86 * np.pi  # a regular octagon has 0.90 of the circle
        assert contacts.gap.min() == pytest.approx(1e-4 - 1e-5, abs=1e-9)


def test_contacts_are_sorted_and_only_movable_pairs_of_one_collection_touch():
    specs = [box(1, 1, 1)] * 4
    positions = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3.0]])
    rotations = np.tile(np.eye(3), (4, 1, 1))
    reach = np.full(4, 1e-3)
    collections = np.array([1, 3, 2, 2])
    movable = np.array([False, True, False, False])
    contacts = detect(build_shapes(specs), positions, rotations, reach, collections, movable)
    assert set(zip(contacts.body_a.tolist(), contacts.body_b.tolist(), strict=True)) == {(0, 1), (1, 2)}
    keys = list(zip(contacts.body_a.tolist(), contacts.body_b.tolist(), contacts.feature.tolist(), strict=True))
    assert keys == sorted(set(keys))
    excluded = np.array([[0, 1]])
    contacts = detect(build_shapes(specs), positions, rotations, reach, collections, movable, excluded)
    assert set(contacts.body_a.tolist()) == {1}


def test_the_same_poses_give_the_same_bits():
    random = np.random.default_rng(6)
    specs = [box(1, 1, 1)] * 60
    arguments = (specs, random.uniform(-2, 2, (60, 3)), Rotation.random(60, random_state=6).as_matrix(), 0.05)
    one, other = find(*arguments), find(*arguments)
    for name in ("body_a", "body_b", "point", "normal", "gap", "feature"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


@pytest.mark.parametrize("twist", [0.0, 0.3])
def test_two_wedges_face_to_face_touch_at_four_points_or_more(twist):
    """The slanted faces of two prisms of 30 degrees, one turned over onto the other."""
    slant, gap = np.radians(30.0), 1e-4
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, np.tan(slant)], [0, 1, 0], [1, 1, 0], [1, 1, np.tan(slant)]])
    wedge = ShapeSpec(ShapeKind.HULL, corners)
    normal = np.array([-np.sin(slant), 0.0, np.cos(slant)])
    middle = np.array([0.5, 0.5, 0.5 * np.tan(slant)])
    rotation = turn(*(twist * normal)) @ turn(0, np.pi, 0)
    offset = middle + gap * normal - rotation @ middle
    np.testing.assert_allclose(rotation @ normal, -normal, atol=1e-12)
    contacts = find([wedge, wedge], [[0, 0, 0], offset], [np.eye(3), rotation])
    assert len(contacts) >= 4
    np.testing.assert_allclose(contacts.gap, gap, atol=1e-9)
    np.testing.assert_allclose(contacts.normal, np.tile(normal, (len(contacts), 1)), atol=1e-9)
    np.testing.assert_allclose((contacts.point - middle) @ normal, 0.5 * gap, atol=1e-9)
    assert np.ptp(contacts.point[:, 1]) > 0.9 and np.ptp(contacts.point[:, 0]) > 0.8
