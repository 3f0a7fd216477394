# SPDX-License-Identifier: GPL-3.0-or-later
"""Features that are told to be out of reach are; triangles that are told to keep clear do."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision.mesh import contacts, within_reach
from solver_core.collision.mesh.mesh_pair import Meeting
from solver_core.geometry.surface_table import build_surfaces
from solver_core.geometry.surfaces import mesh_surface

from ..kernels import callable_from_python
from ..meshes import bolt, nut

features_in_reach = callable_from_python(within_reach.features_in_reach)
near_triangles = callable_from_python(contacts.near_triangles)
LIMIT = 0.2


def sampled(corners):
    """Points of a triangle (n, 3), its corners and edges among them, with the bits of the features that each lies on."""
    n = 8
    weights = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
    bits = [
        sum(1 << k for k in range(3) if w[k] == 1.0) | sum(8 << k for k in range(3) if w[(k + 2) % 3] == 0.0) for w in weights
    ]
    return weights @ corners, np.array(bits)


def test_what_is_nearer_than_the_limit_is_never_out_of_reach():
    random = np.random.default_rng(2)
    near = dropped = 0
    for _ in range(400):
        one, other = random.normal(size=(2, 3, 3))
        one = 0.3 * one + random.normal(size=3) * 0.4
        normal = np.cross(other[1] - other[0], other[2] - other[0])
        heights = (one - other[0]) @ (normal / np.linalg.norm(normal))
        corners, others = (tuple(tuple(map(float, v)) for v in t) for t in (one, other))
        told = features_in_reach(corners, tuple(heights.tolist()), others, LIMIT)
        points, bits = sampled(one)
        distance = np.linalg.norm(points[:, None] - sampled(other)[0][None], axis=-1).min(axis=1)
        wanted = int(np.bitwise_or.reduce(bits[distance <= LIMIT], initial=0))
        assert wanted & ~told == 0
        near, dropped = near + wanted.bit_count(), dropped + (63 & ~told).bit_count()
    # and the claim is about something
    assert near > 300 and dropped > 300


@pytest.mark.parametrize("limit", [1e-4, 3e-3])
def test_pairs_of_triangles_are_found_in_an_order_that_does_not_depend_on_the_limit(limit):
    table = build_surfaces([mesh_surface(*nut()), mesh_surface(*bolt())])
    turn = Rotation.from_rotvec((0.0, 0.0, 0.3)).as_matrix()

    def found(distance):
        own, vertices = table.vertices[: table.first_vertex[1]], table.vertices[table.first_vertex[1] :] @ turn.T
        both, stack = (own, vertices), np.empty(512, np.int64)
        meeting = Meeting(0, 1, *both, *both, turn, np.zeros(3), distance, 1e-12, 1.0, False, stack)
        rows, count = near_triangles(table, meeting)
        return [tuple(row) for row in rows[:count].tolist()]

    few, many = found(limit), found(2.0 * limit)
    chosen = set(few)
    assert len(chosen) == len(few) > 1000 and [row for row in many if row in chosen] == few
