# SPDX-License-Identifier: GPL-3.0-or-later
"""Gaps are distances: thousands of near poses of boxes, cards, needles, hulls and polygons against independent oracles.

The distance of two convex hulls is 1 / |w| for the shortest w with w . (b - a) >= 1 for all vertices a and b, a least-distance
problem that Lawson and Hanson ("Solving Least Squares Problems", ch. 23) solve by non-negative least squares. The depth of an
overlap is the distance of the origin from the boundary of the hull of all b - a.
"""

from __future__ import annotations

import itertools

import mujoco
import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from solver_core.collision import detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
ONE_DEGREE = np.cos(np.radians(1.0))


def prism(sides, height):
    angle = 2.0 * np.pi * np.arange(sides) / sides
    ring = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(sides)])
    return np.concatenate([ring, ring + np.array([0, 0, height])])


def shape_pool():
    random = np.random.default_rng(99)
    return [
        CUBE,
        CUBE * [0.3, 0.5, 0.9],
        CUBE * [0.63, 0.89, 0.003],
        CUBE * [1.0, 0.001, 0.001],
        random.normal(size=(30, 3)) * 0.5,
        random.normal(size=(10, 3)) * [1.0, 0.03, 0.01],
        prism(12, 0.4),
        prism(3, 0.01),
        np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]),
        np.array([[-1.0, 0, 0], [1, 0, 0]]),
        np.zeros((1, 3)),
    ]


POOL = shape_pool()
TABLES = {
    (i, j): build_shapes([ShapeSpec(ShapeKind.HULL, POOL[i]), ShapeSpec(ShapeKind.HULL, POOL[j])])
    for i in range(len(POOL))
    for j in range(len(POOL))
}


def distance(first, second):
    """(lower bound, upper bound, direction from first to second); the direction is None when the hulls overlap."""
    difference = (second[None] - first[:, None]).reshape(-1, 3)
    size = np.abs(difference).max()
    system = np.vstack([difference.T / size, np.ones(len(difference))])
    weights, _ = nnls(system, np.array([0.0, 0.0, 0.0, 1.0]), maxiter=10000)
    residual = system @ weights - np.array([0.0, 0.0, 0.0, 1.0])
    if np.linalg.norm(residual[:3]) < 1e-12:
        return 0.0, 0.0, None
    direction = residual[:3] / np.linalg.norm(residual[:3])
    return (difference @ direction).min(), np.linalg.norm(difference.T @ weights) / weights.sum(), direction


def minkowski_planes(first, second):
    return ConvexHull((second[None] - first[:, None]).reshape(-1, 3)).equations


def near_poses(seed, count):
    """Pairs of shapes whose second is moved to a surface point of the Minkowski difference and then off it by a small gap."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        i, j = random.integers(len(POOL), size=2)
        rotations = Rotation.random(2, random_state=int(random.integers(1 << 30))).as_matrix()
        alignment = random.integers(3)
        if alignment == 0:
            rotations[1] = rotations[0]
        elif alignment == 1:
            tilt = random.normal(size=3) * 10.0 ** random.uniform(-12, -1)
            rotations[1] = rotations[0] @ Rotation.from_rotvec(tilt).as_matrix()
        first, second = POOL[i] @ rotations[0].T, POOL[j] @ rotations[1].T
        difference = (second[None] - first[:, None]).reshape(-1, 3)
        if np.linalg.matrix_rank(difference - difference[0], tol=1e-9) < 3:
            continue
        hull = ConvexHull(difference)
        corners = difference[hull.simplices[random.integers(len(hull.simplices))]]
        surface = random.dirichlet(np.ones(3)) @ corners
        yield random, (i, j), rotations, first, second, hull, surface


def contacts_of(kinds, rotations, offset, reach):
    position = np.array([np.zeros(3), offset])
    return detect(TABLES[kinds], position, rotations, np.full(2, 0.5 * reach), np.ones(2, np.int64), np.ones(2, bool))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 6))])
def test_the_smallest_gap_is_the_distance_and_no_contact_is_missed(seed):
    compared = snapped = 0
    for random, kinds, rotations, first, second, hull, surface in near_poses(seed, 500):
        gap = 10.0 ** random.uniform(-6, -1)
        if random.random() < 0.5:
            outward = surface - hull.points[hull.vertices].mean(axis=0)
            direction = outward / np.linalg.norm(outward)
        else:
            direction = hull.equations[np.argmax(hull.equations[:, :3] @ surface + hull.equations[:, 3]), :3]
        offset = -(surface + gap * direction)
        lower, upper, normal = distance(first, second + offset)
        if normal is None or lower < 1e-7 or upper - lower > min(1e-10, 1e-8 * lower):
            continue
        reach = 10.0 ** random.uniform(-3, 0)
        if abs(lower - reach) < 1e-9:
            continue
        contacts = contacts_of(kinds, rotations, offset, reach)
        if lower > reach:
            assert len(contacts) == 0
            continue
        assert len(contacts) > 0
        smallest = contacts.gap.min()
        # A face within a degree of the closest direction serves as it is, and measures along its own normal.
        assert lower - 1e-9 <= smallest <= lower / ONE_DEGREE + 1e-9
        closest = contacts.normal[np.argmin(contacts.gap)]
        assert closest @ normal >= ONE_DEGREE - 1e-6
        compared += 1
        # Else it is the closest direction itself; nearly parallel edges leave that open by 1e-3 and less.
        if smallest > lower + 1e-9 or closest @ normal < 1.0 - 1e-6:
            snapped += 1
            faces = np.concatenate([_world_normals(TABLES[kinds], body, rotations[body]) for body in range(2)])
            assert np.linalg.norm(np.concatenate([faces - closest, faces + closest]), axis=1).min() < 1e-9
    assert compared > 150
    assert snapped < 0.15 * compared


def _world_normals(table, body, rotation):
    first = table.first_face[body]
    return table.planes[first : first + table.face_count[body], :3] @ rotation.T


@pytest.mark.parametrize("seed", range(10, 13))
def test_every_contact_lies_midway_between_points_of_both_bodies(seed):
    """Half a gap either way along the normal from the contact's point leads into the body there, so that the gap is real."""
    checked = 0
    for random, kinds, rotations, first, second, _, surface in near_poses(seed, 300):
        if min(len(first), len(second)) < 4:
            continue
        offset = -surface * (1.0 + 10.0 ** random.uniform(-5, -2))
        contacts = contacts_of(kinds, rotations, offset, 0.05)
        assert (contacts.gap <= 0.05).all()
        for body in range(2):
            on_surface = contacts.point + (body - 0.5) * contacts.gap[:, None] * contacts.normal
            local = (on_surface - body * offset) @ rotations[body]
            table, face = TABLES[kinds], TABLES[kinds].first_face[body]
            planes = table.planes[face : face + table.face_count[body]]
            heights = local @ planes[:, :3].T - planes[:, 3]
            assert heights[contacts.gap > 0.0].max(initial=0.0) < 1e-7
            checked += np.count_nonzero(contacts.gap > 0.0)
    assert checked > 300


@pytest.mark.parametrize("seed", range(20, 23))
def test_the_deepest_gap_of_an_overlap_is_its_depth(seed):
    """A face is preferred to an edge that is better by less than 5 % of the depth."""
    compared = 0
    for random, kinds, rotations, _, _, hull, surface in near_poses(seed, 300):
        if min(len(POOL[kinds[0]]), len(POOL[kinds[1]])) < 3:
            continue
        centre = hull.points[hull.vertices].mean(axis=0)
        inside = surface + (centre - surface) * 10.0 ** random.uniform(-5, -0.3)
        depth = -(hull.equations[:, :3] @ inside + hull.equations[:, 3]).max()
        if depth < 1e-7:
            continue
        contacts = contacts_of(kinds, rotations, -inside, 1e-3)
        assert len(contacts) > 0
        assert depth - 1e-8 <= -contacts.gap.min() <= 1.06 * depth + 4e-6
        compared += 1
    assert compared > 100


@pytest.mark.slow
def test_distances_agree_with_mujoco():
    random = np.random.default_rng(7)
    hulls = [random.normal(size=(20, 3)) * 0.4 for _ in range(3)]
    meshes = "".join(f'<mesh name="m{i}" vertex="{" ".join(map(repr, map(float, h.ravel())))}"/>' for i, h in enumerate(hulls))
    bodies = "".join(
        f'<body mocap="true" name="b{i}{k}"><geom name="g{i}{k}" type="mesh" mesh="m{i}"/></body>'
        for i in range(3)
        for k in "ab"
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option ccd_tolerance="1e-10" ccd_iterations="200"/><asset>{meshes}</asset>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    compared = 0
    for seed in range(150):
        i, j = random.integers(3, size=2)
        rotations = Rotation.random(2, random_state=seed)
        direction = random.normal(size=3)
        offset = direction / np.linalg.norm(direction) * random.uniform(1.0, 1.8)
        for body, place, turn in ((f"b{i}a", np.zeros(3), rotations[0]), (f"b{j}b", offset, rotations[1])):
            mocap = model.body(body).mocapid[0]
            data.mocap_pos[mocap] = place
            data.mocap_quat[mocap] = np.roll(turn.as_quat(), 1)
        mujoco.mj_forward(model, data)
        ends = np.zeros(6)
        expected = mujoco.mj_geomDistance(model, data, model.geom(f"g{i}a").id, model.geom(f"g{j}b").id, 1.0, ends)
        if not 1e-3 < expected < 0.5:
            continue
        table = build_shapes([ShapeSpec(ShapeKind.HULL, hulls[i]), ShapeSpec(ShapeKind.HULL, hulls[j])])
        contacts = detect(
            table,
            np.array([np.zeros(3), offset]),
            rotations.as_matrix(),
            np.full(2, 0.5),
            np.ones(2, np.int64),
            np.ones(2, bool),
        )
        assert expected - 1e-6 <= contacts.gap.min() <= expected / ONE_DEGREE + 1e-6
        closest = contacts.normal[np.argmin(contacts.gap)]
        assert closest @ (ends[3:] - ends[:3]) / expected >= ONE_DEGREE - 1e-5
        compared += 1
    assert compared > 40
