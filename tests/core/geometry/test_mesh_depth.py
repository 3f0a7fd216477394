# SPDX-License-Identifier: GPL-3.0-or-later
"""Concave meshes that overlap along a curved joint are as deep in each other as the deepest of many points of their faces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.geometry import build_shapes
from solver_core.geometry.surfaces import winding_numbers

from ..meshes import distances, triangulated
from ..shapes import detected, mesh

# Of a triangle: its corners, and points between them, fifteen in all.
PLACES = np.array([(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]) / 4.0


def waves(random, height):
    """A curved joint over the unit square, m."""
    a, b, c, d = random.uniform(2.0, 6.0, 4)
    return lambda x, y: height * (np.sin(a * x) * np.cos(b * y) + 0.5 * np.sin(c * x + d * y))


def block(cells, joint, end):
    """A block between a joint and the plane z = end, in so many cells along x and y."""
    x, y = np.meshgrid(*(np.linspace(0.0, 1.0, n + 1) for n in cells), indexing="ij")
    low, high = (x, y, joint(x, y)), (x, y, np.full_like(x, end))
    if end < 0.0:
        low, high = high, low
    points = np.concatenate([np.stack(side, axis=-1).reshape(-1, 3) for side in (low, high)])
    number = np.arange(x.size).reshape(x.shape)
    quads = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    rim = np.concatenate([number[:-1, 0], number[-1, :-1], number[:0:-1, -1], number[0, :0:-1]])
    sides = np.stack([rim, np.roll(rim, -1), np.roll(rim, -1) + x.size, rim + x.size], axis=-1)
    return points, triangulated(np.concatenate([quads[:, ::-1], quads + x.size, sides]))


def deepest_point(one, other):
    """How deep in m the deepest of fifteen points a face of a mesh is inside of another one."""
    points = np.einsum("pk,tkd->tpd", PLACES, one[0][one[1]]).reshape(-1, 3)
    points = points[((points > other[0].min(axis=0)) & (points < other[0].max(axis=0))).all(axis=1)]
    inside = points[winding_numbers(other[0], other[1], points) > 0.5]
    return float(distances(inside, other[0][other[1]]).max(initial=0.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "others", "height"),
    [
        ((14, 5), (5, 14), 0.1),
        pytest.param((16, 16), (4, 4), 0.05, marks=pytest.mark.long),
    ],
)
def test_the_deepest_overlap_of_concave_blocks_is_that_of_the_deepest_point(cells, others, height):
    """Not how far the curve of the overlap reaches along its normal, which in a curved joint is the height of the waves."""
    for seed in range(2):
        joint = waves(np.random.default_rng(seed), height)
        low, high = block(cells, joint, -0.5), block(others, joint, 0.5)
        wanted = max(deepest_point(low, high), deepest_point(high, low))
        turn = Rotation.random(random_state=seed).as_matrix()
        found = detected(build_shapes([mesh(low), mesh(high)]), np.full((2, 3), 0.3), [turn, turn])
        assert -found.gap.min() == pytest.approx(wanted, rel=0.1)
