# SPDX-License-Identifier: GPL-3.0-or-later
"""Between two frames bodies go straight, and turn as often as they did."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from solver_core.io.between_frames import poses_between

SHARES = (0.0, 0.1, 0.5, 0.75, 1.0)


def pose(position, rotation):
    x, y, z, w = rotation.as_quat()
    return np.array([*position, w, x, y, z])


def rotation_of(poses):
    return Rotation.from_quat(poses[:, [4, 5, 6, 3]])


@pytest.mark.parametrize("turns", [0.0, 1e-12, 0.2, 0.499, 0.5, 0.7, 1.0, 1.3, 5.25])
def test_a_body_that_spins_evenly_is_where_it_was(turns):
    rng = np.random.default_rng(4)
    for _ in range(10):
        axis = rng.normal(size=3)
        spin = Rotation.from_rotvec(2 * np.pi * turns * axis / np.linalg.norm(axis))
        begin = Rotation.from_quat(rng.normal(size=4))
        places = rng.normal(size=(2, 3))
        before, after = pose(places[0], begin)[None], pose(places[1], spin * begin)[None]
        rotvec = 2 * np.pi * turns * axis / np.linalg.norm(axis)
        # velocities at the frames tell the turn of a tumbling body only about
        told = rotvec * rng.uniform(0.95, 1.05)
        for share in SHARES:
            found = poses_between(before, after, told[None], share)
            wanted = Rotation.from_rotvec(share * rotvec) * begin
            assert (rotation_of(found) * wanted.inv()).magnitude() < 1e-6
            assert np.allclose(found[0, :3], (1 - share) * places[0] + share * places[1], rtol=0, atol=1e-12)
            assert np.isclose(np.linalg.norm(found[0, 3:]), 1.0)


def test_what_rests_stays_and_any_number_of_bodies_is_done_at_once():
    rng = np.random.default_rng(1)
    turned = [pose(rng.normal(size=3), Rotation.from_quat(rng.normal(size=4))) for _ in range(7)]
    poses = np.array(turned)
    assert np.allclose(poses_between(poses, poses, np.zeros((7, 3)), 0.3), poses, rtol=0, atol=1e-15)
    alone = [poses_between(poses[i : i + 1], poses[i - 1 : i], np.ones((1, 3)), 0.3)[0] for i in range(1, 7)]
    together = poses_between(poses[1:], poses[:-1], np.ones((6, 3)), 0.3)
    assert np.array_equal(together, alone)


def test_the_sign_of_a_quaternion_says_nothing():
    a, b = (pose(np.zeros(3), Rotation.from_rotvec([0.0, 0.0, angle])) for angle in (0.2, 0.6))
    flipped = b * np.array([1, 1, 1, -1, -1, -1, -1])
    found = [rotation_of(poses_between(a[None], end[None], np.zeros((1, 3)), 0.5)) for end in (b, flipped)]
    assert (found[0] * found[1].inv()).magnitude() < 1e-12
    assert np.isclose(found[0].as_rotvec()[0, 2], 0.4)
