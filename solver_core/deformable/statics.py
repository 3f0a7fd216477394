# SPDX-License-Identifier: GPL-3.0-or-later
"""The static answer of a grid of bricks to loads: K u = f.

The stiffness of a free body is singular, since nothing resists its rigid motions. A load on it is first balanced by the inertia
of a rigid acceleration (inertia relief). Six degrees of freedom are then held, which bear nothing under a balanced load, and
the rigid part of the answer is removed. The result is exact however soft the body is. A shift K + s M has to be small beside
the first eigenvalue, which falls with the fourth power of a sheet's thickness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse import csc_array, kron
from scipy.sparse.linalg import splu

__all__ = ["Statics", "rigid_modes"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class Statics:
    """The matrices of a body, and the factors of its stiffness.

    Attributes
    ----------
    points : (v, 3) m, the nodes
    stiffness : (3 v, 3 v) N/m
    weights : (3 v, 3 v) kg, the mass of every degree of freedom
    pinned : (p,) nodes that do not move
    free : (f,) the degrees of freedom of the other nodes
    rigid : (3 v, 6) 1/sqrt(kg), orthonormal rigid motions; (3 v, 0) of a pinned body

    The constructor takes the mass as (v, v) kg, equal along each axis. It raises ValueError if the factors do not exist.
    """

    def __init__(self, stiffness: csc_array, mass: csc_array, points: Array, pinned: Indices) -> None:
        self.points, self.stiffness, self.pinned = points, stiffness, pinned
        self.weights = csc_array(kron(mass, np.eye(3)))
        self.free = np.setdiff1d(np.arange(3 * len(points)), (3 * pinned[:, None] + np.arange(3)).ravel())
        self.rigid = np.zeros((3 * len(points), 0)) if len(pinned) else rigid_modes(points, mass)
        self._inertia = self.weights @ self.rigid
        self._solved = self.free
        if not len(pinned):
            *_, order = qr(self.rigid.T, mode="economic", pivoting=True)
            self._solved = np.setdiff1d(self.free, order[: self.rigid.shape[1]])
        if not len(self._solved):
            raise ValueError(f"all {len(points)} corners of bricks are pinned, so nothing is left to bend")
        matrix, options = stiffness[self._solved][:, self._solved].tocsc(), {"SymmetricMode": True}
        try:
            self._factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
        except RuntimeError as error:
            raise ValueError("the body has a motion that nothing resists") from error

    def displacements_under(self, loads: Array) -> Array:
        """Return static displacements (3 v,) or (3 v, k) [m] under loads of that shape [N], orthogonal to rigid motions."""
        balanced = loads - self._inertia @ (self.rigid.T @ loads)
        found = np.zeros_like(balanced)
        found[self._solved] = self._factors.solve(np.ascontiguousarray(balanced[self._solved]))
        return found - self.rigid @ (self._inertia.T @ found)

    def orthogonal_part(self, shapes: Array, displacements: Array) -> Array:
        """Return displacements (3 v,) or (3 v, k) minus their projection on shapes (3 v, s), orthonormal in the mass metric."""
        return displacements - shapes @ (shapes.T @ (self.weights @ displacements))


def rigid_modes(points: Array, mass: csc_array) -> Array:
    """Return rigid motions (3 v, 6) [1/sqrt(kg)] of nodes (v, 3) [m], orthonormal in the metric of their mass (v, v) [kg]."""
    share = mass.sum(axis=1)
    arms = points - share @ points / share.sum()
    shapes = np.zeros((len(points), 3, 6))
    shapes[:, :, :3] = np.eye(3)
    shapes[:, :, 3:] = np.cross(np.eye(3)[None], arms[:, None]).transpose(0, 2, 1)
    flat = shapes.reshape(len(points), -1)
    gram = np.einsum("vij,vik->jk", shapes, (mass @ flat).reshape(shapes.shape))
    return np.linalg.solve(np.linalg.cholesky(gram), shapes.reshape(-1, 6).T).T
