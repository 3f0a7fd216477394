# SPDX-License-Identifier: GPL-3.0-or-later
"""What is measured of poses, whichever engine they are from: overlap by separating axes, motion, the way down a slope.

None of it is the collision of `solver_core`. Poses are (frames + 1, n, 7), x y z and w x y z.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from .scenes import FPS, SLOPE, BoxScene

__all__ = ["fallen", "measured", "overlap"]

Floats = NDArray[np.float64]

LAST = FPS // 2  # frames in which what has come to rest should not move
FALLEN = 0.25  # of a box's longest side, by which it has gone from its place where nothing should
LEAST_AXIS = 1e-6  # the length of a cross product of edges that are not parallel
EVERY = 3  # frames, of those whose overlap is measured


def overlap(pose: Floats, half: Floats) -> float:
    """The deepest that boxes (n, 7) of half sides (n, 3) are in each other or in the ground z <= 0, m; 0 where none are."""
    at, turn = pose[:, :3], Rotation.from_quat(np.roll(pose[:, 3:], -1, axis=1)).as_matrix()
    in_ground = np.max((half * np.abs(turn[:, 2])).sum(axis=1) - at[:, 2])
    reach = np.linalg.norm(half, axis=1)
    pairs = cKDTree(at).query_pairs(2.0 * reach.max(), output_type="ndarray")
    near = np.linalg.norm(at[pairs[:, 0]] - at[pairs[:, 1]], axis=1) < reach[pairs[:, 0]] + reach[pairs[:, 1]]
    i, j = pairs[near].T
    if len(i) == 0:
        return max(0.0, float(in_ground))
    a, b = turn[i].transpose(0, 2, 1), turn[j].transpose(0, 2, 1)
    crossed = np.cross(a[:, :, None], b[:, None]).reshape(-1, 9, 3)
    axes = np.concatenate([a, b, crossed], axis=1)
    length = np.linalg.norm(axes, axis=2)
    counts = length > LEAST_AXIS
    axes /= np.where(counts, length, 1.0)[..., None]
    extent = sum(
        np.einsum("pkc,pc->pk", np.abs(np.einsum("pkx,pcx->pkc", axes, sides)), half[of]) for sides, of in ((a, i), (b, j))
    )
    depth = np.where(counts, extent - np.abs(np.einsum("pkx,px->pk", axes, at[j] - at[i])), np.inf)
    return max(0.0, float(in_ground), float(depth.min(axis=1).max()))


def fallen(scene: BoxScene, poses: Floats) -> bool:
    """Whether a box that should stand has gone from its place."""
    way = np.linalg.norm(poses[-1, :, :3] - poses[0, :, :3], axis=1)
    return bool(np.any(way > FALLEN * 2.0 * scene.half.max(axis=1)))


def measured(scene: BoxScene, poses: Floats) -> dict[str, object]:
    """The figures of a film, in mm."""
    if not np.isfinite(poses).all():
        return {"blown_up": True}
    at, mm = poses[:, :, :3], 1e3
    row: dict[str, object] = {"blown_up": False}
    if scene.name.startswith("cubes"):
        deep = [overlap(pose, scene.half) for pose in poses[::-EVERY]]
        row |= {"overlap_mm": mm * max(deep), "rest_overlap_mm": mm * max(deep[: LAST // EVERY])}
        drift = np.linalg.norm(at[-1] - at[-1 - LAST], axis=1)
        return row | {"drift_mm": mm * drift.max(), "median_drift_mm": mm * np.median(drift)}
    if scene.name.startswith("slope"):
        seconds = (len(poses) - 1) / FPS
        right = max(0.0, 9.81 * (SLOPE - scene.mu) / math.hypot(1.0, SLOPE) * seconds**2 / 2.0)
        return row | {"slid_mm": mm * (at[-1, 0, 0] - at[0, 0, 0]), "right_mm": mm * right}
    moved = np.linalg.norm(at - at[0], axis=2).max()
    settled = np.linalg.norm(at[LAST:] - at[LAST], axis=2).max()
    return row | {"moved_mm": mm * moved, "settled_mm": mm * settled, "fallen": fallen(scene, poses)}
