# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes for tests, and the contacts of some that are placed in the world."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.collision import ContactSet, detect
from solver_core.geometry import build_shapes
from solver_core.scene.spec import ShapeKind, ShapeSpec

from .meshes import CUBE


def hull(points, margin=0.0) -> ShapeSpec:
    """The convex hull of points (n, 3) m."""
    return ShapeSpec(ShapeKind.HULL, np.asarray(points, dtype=np.float64), margin=margin)


def box(*sizes, margin=0.0) -> ShapeSpec:
    """A box of the given edge lengths in m about its own centre."""
    return hull(CUBE * np.array(sizes, dtype=np.float64), margin)


def ball(radius) -> ShapeSpec:
    """A point with a margin: a sphere."""
    return hull(np.zeros((1, 3)), radius)


def mesh(surface, margin=0.0) -> ShapeSpec:
    """What `meshes` makes, as a shape: (vertices, triangles)."""
    return ShapeSpec(ShapeKind.MESH, np.asarray(surface[0], dtype=np.float64), surface[1].astype(np.int32), margin)


def turn(*rotation_vector):
    """Rotation matrix of a rotation vector."""
    return Rotation.from_rotvec(rotation_vector).as_matrix()


def quaternion(rotation: Rotation):
    """(w, x, y, z), as the core has it."""
    return np.roll(rotation.as_quat(), 1)


def find(specs, positions, rotations=None, reach=1e-3) -> ContactSet:
    """Contacts of bodies that are all movable; the reach is that of each pair."""
    return detected(build_shapes(specs), positions, rotations, reach)


def detected(table, positions, rotations=None, reach=1e-3) -> ContactSet:
    """The same of shapes that are built."""
    count = len(positions)
    # C-contiguous, as bakes have them and kernels are compiled for: of what scipy turned, a copy keeps scipy's order
    position = np.array(positions, dtype=np.float64, order="C")
    rotation = np.tile(np.eye(3), (count, 1, 1)) if rotations is None else np.array(rotations, dtype=np.float64, order="C")
    masks = np.ones(count, dtype=np.int64)
    return detect(table, position, rotation, np.full(count, 0.5 * reach), masks, masks > 0)
