# SPDX-License-Identifier: GPL-3.0-or-later
"""A walk of two meshes that is kept for the poses of a step changes no contact, and is not used where it does not reach."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.collision.detect import NO_PAIRS, Scene, detect_all, detect_and_keep
from solver_core.collision.mesh.walks import no_walks
from solver_core.geometry import build_shapes

from ..meshes import PITCH, angle_bracket, bolt, bumpy, chair, nut, torus
from ..shapes import box, hull, mesh

# each with where the second begins to touch the first, and a length of what touches
TOUCHING = {
    "bolt in its nut": (mesh(nut()), mesh(bolt()), (0.0, 0.0, 2.0 * PITCH), 0.005),
    "torus in a torus": (mesh(torus(1.0, 0.3, 20, 16)), mesh(torus(1.0, 0.3, 20, 16)), (1.0, 0.0, 0.61), 0.3),
    "chair on the ground": (mesh(bumpy(12, 2.0, 0.02)), mesh(chair()), (0.0, 0.0, 0.02), 0.2),
    "box on a bracket": (mesh(angle_bracket()), box(0.5, 0.4, 0.3), (0.2, -0.3, 0.66), 0.3),
    "bracket exactly on a bracket": (mesh(angle_bracket()), mesh(angle_bracket()), (0.0, 0.0, 1.0), 0.3),
    "capsule on the ground": (mesh(bumpy(12, 2.0, 0.02)), hull([[-0.1, 0, 0], [0.1, 0, 0]], 0.05), (0.0, 0.1, 0.06), 0.1),
}
LASTING = np.ones(2, np.bool_)


def scene(place, turn, reach):
    """The first at the origin, the second at a place with a turn; both reach as far."""
    position = np.array([np.zeros(3), place])
    rotation = np.array([np.eye(3), turn.as_matrix()])
    ones, still = np.ones(2, np.int64), np.zeros((2, 3))
    return Scene(position, rotation, np.full(2, reach), still, ones, np.array([False, True]), NO_PAIRS)


def poses(name):
    """Table, and six poses of a step, each (place, turn): where it begins, and others no farther away than a fiftieth of the
    size."""
    first, second, place, size = TOUCHING[name]
    random = np.random.default_rng(11)
    ways = [np.zeros(6), *(random.uniform(-1.0, 1.0, size=(5, 6)) * 0.02)]
    some = [(np.array(place) + size * way[:3], Rotation.from_rotvec(0.5 * size * way[3:])) for way in ways]
    return build_shapes([first, second]), some, size


def emptied(walks):
    """The same, as if they had found nothing: contacts show whether they were used."""
    return walks._replace(start=np.zeros_like(walks.start), rows=walks.rows[:0], clear=walks.clear[:0])


@pytest.mark.parametrize("name", TOUCHING)
def test_contacts_are_the_same_to_the_last_bit_with_a_walk_of_another_pose(name):
    table, some, size = poses(name)
    _, walks = detect_and_keep(table, scene(*some[0], 0.1 * size), 1, None, no_walks(LASTING))
    found = 0
    for pose in some:
        for reach in (1e-3 * size, 0.05 * size):
            here = scene(*pose, reach)
            expected, known = detect_all(table, here), detect_all(table, here, walks=walks)
            for one, other in zip(known, expected, strict=True):
                np.testing.assert_array_equal(one, other)
            found += len(expected)
    assert found > 10


def test_a_walk_is_used_wherever_it_reaches():
    table, some, size = poses("bolt in its nut")
    _, walks = detect_and_keep(table, scene(*some[0], 0.1 * size), 1, None, no_walks(LASTING))
    for pose in some:
        here = scene(*pose, 0.05 * size)
        assert len(detect_all(table, here)) and not len(detect_all(table, here, walks=emptied(walks)))


@pytest.mark.parametrize("way", [(0.3, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_a_motion_beyond_the_reach_of_a_walk_is_walked_anew(way):
    """Along with a limit that is larger than that of the walk."""
    table, some, size = poses("torus in a torus")
    _, walks = detect_and_keep(table, scene(*some[0], 0.05 * size), 1, None, no_walks(LASTING))
    here = scene(some[0][0] + np.array(way), some[0][1], 0.06 * size)
    expected, known = detect_all(table, here), detect_all(table, here, walks=emptied(walks))
    assert len(expected) == len(known) > 0
    np.testing.assert_array_equal(known.point, expected.point)


def test_no_walk_is_kept_of_a_surface_that_deforms():
    table, some, size = poses("torus in a torus")
    _, walks = detect_and_keep(table, scene(*some[0], 0.05 * size), 1, None, no_walks(np.array([True, False])))
    assert walks is not None and not len(walks.colliders)
