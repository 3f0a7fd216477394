# SPDX-License-Identifier: GPL-3.0-or-later
"""The ruler by which engines are compared: overlaps of boxes in closed form, slides, falls."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ..bench.rivals.ruler import fallen, measured, overlap
from ..bench.rivals.scenes import box_scene


def placed(*boxes, turn=None):
    """Poses of boxes at places, all turned and carried along by a rotation."""
    turn = turn or Rotation.identity()
    w_last = turn.as_quat()
    return np.array([[*turn.apply(at), w_last[3], *w_last[:3]] for at in boxes])


@pytest.mark.parametrize("seed", range(5))
def test_two_aligned_boxes_overlap_by_the_least_side_however_they_are_turned(seed):
    turn = Rotation.random(random_state=seed)
    half = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]])
    # high above the ground, for that is measured too
    pose = placed((0.0, 0.0, 0.0), (0.38, 0.25, 0.1), turn=turn) + np.r_[0.0, 0.0, 9.0, np.zeros(4)]
    assert overlap(pose, half) == pytest.approx(0.02, abs=1e-12)


def test_edges_that_cross_overlap_along_their_common_normal():
    # two cubes, each standing on an edge, the one on the other, edges at right angles: the heights of both halves meet
    turns = Rotation.from_euler("x", 45, degrees=True), Rotation.from_euler("y", 45, degrees=True)
    height = 2.0 * math.sqrt(2.0) - 0.01
    at = (0.0, 0.0, 9.0), (0.0, 0.0, 9.0 + height)
    pose = np.array([[*p, *np.roll(t.as_quat(), 1)] for p, t in zip(at, turns, strict=True)])
    assert overlap(pose, np.ones((2, 3))) == pytest.approx(0.01, abs=1e-12)


def test_a_corner_in_the_ground_is_as_deep_as_its_height():
    turn = Rotation.align_vectors([[0.0, 0.0, 1.0]], [[1.0, 1.0, 1.0]])[0]
    pose = np.array([[0.0, 0.0, 0.1 * math.sqrt(3.0) - 0.004, *np.roll(turn.as_quat(), 1)]])
    assert overlap(pose, np.full((1, 3), 0.1)) == pytest.approx(0.004, abs=1e-12)


def test_a_slide_is_compared_with_its_closed_form():
    scene = box_scene("slope@0.4")
    seconds = np.arange(scene.frames + 1) / 24
    poses = np.tile(scene.pose, (scene.frames + 1, 1, 1))
    poses[:, 0, 0] += 0.5 * 9.81 / math.hypot(1.0, 0.5) * 0.1 * seconds**2
    row = measured(scene, poses)
    assert row["slid_mm"] == pytest.approx(row["right_mm"], rel=1e-12)
    assert row["right_mm"] > 1000.0


def test_a_house_has_fallen_when_one_card_has_left_its_place():
    scene = box_scene("house@0.3")
    poses = np.stack([scene.pose, scene.pose])
    assert not fallen(scene, poses)
    poses[-1, 3, 2] -= 0.03
    assert fallen(scene, poses)


def test_what_is_no_number_has_blown_up():
    scene = box_scene("tower")
    poses = np.full((3, len(scene.mass), 7), np.nan)
    assert measured(scene, poses) == {"blown_up": True}


@pytest.mark.parametrize("name", ["heap", "cubes", "slope", "tower of babel"])
def test_a_scene_that_is_none_is_named(name):
    with pytest.raises(ValueError, match=f"'{name}' is no scene"):
        box_scene(name)
