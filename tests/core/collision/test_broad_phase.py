# SPDX-License-Identifier: GPL-3.0-or-later
"""The broad phase finds every pair of bodies whose grown boxes meet and no pair that may not touch."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision.broad_phase import candidate_pairs
from solver_core.collision.detect import NO_PAIRS, detect
from solver_core.geometry import PLANE, build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

from ..shapes import box

CUBE = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))


def pairs_of(shapes, position, *others, excluded=NO_PAIRS):
    """The pairs of what is not going to move on."""
    return candidate_pairs(shapes, position, *others, excluded, np.zeros_like(position))


def random_scene(seed, count):
    random = np.random.default_rng(seed)
    specs = [box(*10.0 ** random.uniform(-1, 0.5, 3)) for _ in range(count - 3)]
    specs += [box(100, 100, 1), ShapeSpec(ShapeKind.PLANE), ShapeSpec(ShapeKind.PLANE)]
    order = random.permutation(count)
    return {
        "shapes": build_shapes([specs[i] for i in order]),
        "position": random.uniform(-4, 4, (count, 3)) * random.choice([0.2, 1.0, 3.0], 3),
        "rotation": Rotation.random(count, random_state=seed).as_matrix(),
        "reach": random.uniform(0, 0.2, count),
        "collections": random.integers(0, 8, count),
        "movable": random.random(count) < 0.7,
    }


def brute_force(shapes, position, rotation, reach, collections, movable):
    count = len(position)
    lower, upper = np.zeros((2, count, 3))
    corners = {}
    for i in range(count):
        first = shapes.first_vertex[i]
        corners[i] = shapes.vertices[first : first + shapes.vertex_count[i]] @ rotation[i].T + position[i]
        lower[i] = corners[i].min(axis=0) - reach[i] - shapes.margin[i]
        upper[i] = corners[i].max(axis=0) + reach[i] + shapes.margin[i]
    found = []
    for a, b in itertools.combinations(range(count), 2):
        if not collections[a] & collections[b] or not (movable[a] or movable[b]):
            continue
        planes = [i for i in (a, b) if shapes.kind[i] == PLANE]
        if len(planes) == 2:
            continue
        if planes:
            hull = a + b - planes[0]
            box_corners = np.array(list(itertools.product(*zip(lower[hull], upper[hull], strict=True))))
            heights = (box_corners - position[planes[0]]) @ rotation[planes[0]][:, 2]
            meets = heights.min() <= reach[planes[0]]
        else:
            meets = (lower[a] <= upper[b]).all() and (lower[b] <= upper[a]).all()
        if meets:
            found.append((a, b))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_it_finds_what_comparing_all_boxes_finds(seed):
    scene = random_scene(seed, 60)
    pairs = pairs_of(*scene.values())
    assert [tuple(pair) for pair in pairs.tolist()] == brute_force(**scene)


@pytest.mark.slow
def test_sizes_over_eight_orders_and_a_body_lost_far_away_hide_no_pair():
    random = np.random.default_rng(11)
    count = 300
    sizes = 10.0 ** random.uniform(-5, 3, count)
    position = random.normal(size=(count, 3)) * (0.3 * sizes[:, None] + 0.01)
    position[7] = (3e8, -1e9, 2e7)
    specs = [box(*(size * random.uniform(0.1, 1.0, 3))) for size in sizes]
    movable = random.random(count) < 0.5
    turned = np.ascontiguousarray(Rotation.from_rotvec(random.normal(size=(count, 3))).as_matrix())
    scene = (build_shapes(specs), position, turned, np.zeros(count), random.integers(1, 8, count), movable)
    found = pairs_of(*scene)
    assert len(found) > 1000
    assert [tuple(pair) for pair in found.tolist()] == brute_force(*scene)


@pytest.mark.parametrize("seed", range(4))
def test_what_moves_on_is_found_wherever_it_comes(seed):
    """What meets at some moment of the way is among the pairs; what flies side by side is not."""
    scene = random_scene(seed, 60)
    travel = np.random.default_rng(seed).normal(size=(60, 3))
    found = {tuple(pair) for pair in candidate_pairs(*scene.values(), NO_PAIRS, travel).tolist()}
    start = scene["position"].copy()
    met = set()
    for share in np.linspace(0.0, 1.0, 11):
        met |= set(brute_force(**{**scene, "position": start + share * travel}))
    assert len(met) > len(pairs_of(*scene.values()))
    assert met <= found
    row = np.zeros((40, 3))
    row[:, 1] = 2.0 * np.arange(40)
    side_by_side = (build_shapes([box(1, 1, 1)] * 40), row, np.tile(np.eye(3), (40, 1, 1)), np.full(40, 0.1))
    others = (np.ones(40, np.int64), np.ones(40, bool), NO_PAIRS)
    assert len(candidate_pairs(*side_by_side, *others, np.tile([50.0, 0.0, 0.0], (40, 1)))) == 0


def test_bodies_all_in_one_place_are_all_pairs():
    count = 100
    shapes = build_shapes([ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)))] * count)
    scene = (shapes, np.ones((count, 3)), np.tile(np.eye(3), (count, 1, 1)), np.zeros(count), np.ones(count, np.int64))
    found = pairs_of(*scene, np.ones(count, bool))
    assert found.tolist() == [list(pair) for pair in itertools.combinations(range(count), 2)]


def test_what_is_nowhere_hides_no_pair():
    scene = random_scene(5, 60)
    whole = pairs_of(*scene.values())
    lost = int(whole[len(whole) // 2, 0])
    scene["position"][lost] = np.nan
    found = pairs_of(*scene.values())
    assert [pair for pair in found.tolist() if lost not in pair] == [pair for pair in whole.tolist() if lost not in pair]


def test_excluded_pairs_make_no_contacts_and_no_other_pair_suffers():
    scene = random_scene(3, 60)
    pairs = pairs_of(*scene.values())
    left_out = pairs[::3].copy()
    remaining = pairs_of(*scene.values(), excluded=left_out)
    assert set(map(tuple, remaining.tolist())) == set(map(tuple, pairs.tolist())) - set(map(tuple, left_out.tolist()))


def test_no_bodies_make_no_contacts():
    empty = np.zeros((0, 3))
    contacts = detect(build_shapes([]), empty, np.zeros((0, 3, 3)), empty[:, 0], np.zeros(0, np.int64), np.zeros(0, bool))
    assert len(contacts) == 0


def test_time_grows_no_faster_than_the_pairs_when_the_ground_touches_everything():
    seconds = {}
    for side in (20, 60):
        count = side * side
        shapes = build_shapes([box(1000, 1000, 1), ShapeSpec(ShapeKind.PLANE)] + [box(1, 1, 1)] * count)
        grid = np.array(list(itertools.product(range(side), range(side))), dtype=float)
        position = np.vstack([[0, 0, -0.5], [0, 0, 0], np.column_stack([1.5 * grid, np.full(count, 0.5)])])
        rotation = np.tile(np.eye(3), (count + 2, 1, 1))
        movable = np.arange(count + 2) > 1
        arguments = (shapes, position, rotation, np.full(count + 2, 1e-3), np.ones(count + 2, np.int64), movable)
        assert len(pairs_of(*arguments)) == 2 * count
        times = []
        for _ in range(7):
            start = time.process_time()
            pairs_of(*arguments)
            times.append(time.process_time() - start)
        seconds[side] = min(times)
    # Nine times the bodies: comparing all pairs would take 81 times as long.
    assert seconds[60] < 30.0 * seconds[20]


def test_eight_times_the_pile_takes_hardly_more_than_eight_times_as_long():
    """Turned cubes that all touch their neighbours: sorting along one axis took thirty to fifty times as long."""
    seconds = {}
    for side in (10, 20):
        count = side**3
        random = np.random.default_rng(side)
        position = 0.95 * np.array(list(itertools.product(range(side), repeat=3))) + random.uniform(-0.1, 0.1, (count, 3))
        rotation = np.ascontiguousarray(Rotation.from_rotvec(random.normal(size=(count, 3))).as_matrix())
        shapes = build_shapes([box(1, 1, 1)] * count)
        arguments = (shapes, position, rotation, np.full(count, 0.02), np.ones(count, np.int64), np.ones(count, bool))
        assert len(pairs_of(*arguments)) > 8 * count
        times = []
        for _ in range(9):
            start = time.process_time()
            pairs_of(*arguments)
            times.append(time.process_time() - start)
        seconds[side] = min(times)
    assert seconds[20] < 25.0 * seconds[10]
