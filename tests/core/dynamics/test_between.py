# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts that lie and move between others are left out, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from solver_core.dynamics.motion.between import ContactGeometry, nonredundant

REST = np.array([1e-4, 0.0])


def kept(point, modes=None, gap=None, normal=None, bends=(True, False), bore=()):
    """Of contacts between a body and another at points, with the normal motion (m, r) of its modes there."""
    point = np.asarray(point, dtype=float)
    m = len(point)
    modes = np.ones((m, 1)) if modes is None else np.asarray(modes, dtype=float)
    both = np.zeros((2, m, 3, modes.shape[1]))
    both[0, :, 2] = modes
    normal = np.tile([0.0, 0.0, 1.0], (m, 1)) if normal is None else np.asarray(normal, dtype=float)
    gap = np.zeros(m) if gap is None else np.asarray(gap, dtype=float)
    a, b = np.zeros(m, np.int64), np.ones(m, np.int64)
    bearing = np.isin(np.arange(m), bore)
    return nonredundant(a, b, ContactGeometry(point, normal, gap), np.array(bends), REST, both, bearing).tolist()


LINE = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_of_a_divided_face_that_stays_flat_the_corners_are_left():
    x, y = np.meshgrid(np.linspace(0.0, 1.0, 5), np.linspace(0.0, 0.5, 4), indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), np.zeros(20)], axis=1)
    found = kept(points, 1.0 + points[:, :2])
    left = {tuple(point) for point, keep in zip(points[:, :2], found, strict=True) if keep}
    assert left == {(0.0, 0.0), (1.0, 0.0), (0.0, 0.5), (1.0, 0.5)}


def test_what_bends_between_two_contacts_keeps_the_one_there():
    assert kept(LINE, [[1.0], [1.3], [2.0]]) == [True, False, True]
    assert kept(LINE, [[1.0], [1.4], [2.0]]) == [True, True, True]


@pytest.mark.parametrize("gap, keeps", [(0.0, False), (-1e-5, True), (1e-3, False)])
def test_what_is_nearer_than_the_line_between_two_is_kept(gap, keeps):
    assert kept(LINE, gap=[0.0, gap, 0.0]) == [True, keeps, True]


def test_what_is_beside_the_line_or_looks_elsewhere_is_kept():
    assert all(kept([[0.0, 0.0, 0.0], [0.3, 0.01, 0.0], [1.0, 0.0, 0.0]]))
    assert all(kept(LINE, normal=[[0.0, 0.0, 1.0], [0.01, 0.0, 1.0], [0.0, 0.0, 1.0]]))
    assert all(kept([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.2, 0.0, 0.0]])) is False


def test_contacts_of_rigid_bodies_are_none_of_its_business():
    assert all(kept(LINE, bends=(False, False)))


def test_what_bore_stays_and_others_between_are_left_out():
    line = [[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.6, 0.0, 0.0], [1.0, 0.0, 0.0]]
    assert kept(line, bore=(1,)) == [True, True, False, True]
