# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of the lowest frequencies that a body can swing in: K phi = omega^2 M phi.

A free body also moves as a whole, at no frequency. These six shapes are known, and are kept out of the iteration, so that the
modes are orthogonal to them: the frame of q has the body's momentum (a mean-axis frame).

A free body's modes have no moment at its ends, and give way too little where something turns it there. So where loads are
applied, the shapes that bodies take under them take the place of the highest modes: what is left of them beside the lower ones
(residual attachment modes: MacNeal 1971; Rubin 1975). They are orthogonal to these in the metrics of mass and stiffness.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csc_array, kron
from scipy.sparse.linalg import LinearOperator, SuperLU, eigsh, splu

__all__ = ["elastic_modes", "rigid_modes"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the mean stiffness over mass of a node: what is added to make the matrix of a free body regular. The lowest frequencies of
# slender bodies are of this order.
SHIFT = 1e-8
# Of the same: squares of frequencies below are those of rounding.
LEAST_SQUARE = 1e-14
# Of the work that loads do: of what is left of it beside the modes, less makes no shape.
NO_GIVE = 1e-4
# Unknowns, up to which a dense solver is quicker.
DENSE = 300


def elastic_modes(
    stiffness: csc_array, mass: csc_array, points: Array, count: int, pinned: Indices, loads: Array | None = None
) -> tuple[Array, Array]:
    """omega (count,) rad/s, rising, and modes (v, 3, count), orthonormal in the metric of the mass, 1/sqrt(kg).

    stiffness: (3 v, 3 v). mass: (v, v), the same along each axis. points: (v, 3) m of the nodes. pinned: nodes that stay where
    they are. loads: (v, 3, a) of equal weight, whose shapes may be up to half of the modes. Where fewer modes exist, or there
    is one without a frequency, ValueError.
    """
    weights = csc_array(kron(mass, np.eye(3)))
    free = np.setdiff1d(np.arange(3 * len(points)), (3 * pinned[:, None] + np.arange(3)).ravel())
    still = np.zeros((3 * len(points), 0)) if len(pinned) else rigid_modes(points, mass)
    if count > len(free) - still.shape[1]:
        raise ValueError(
            f"bricks of {len(points)} corners have {max(len(free) - still.shape[1], 0)} modes, and {count} are asked for"
        )
    k, m, still = stiffness[free][:, free], weights[free][:, free], still[free]
    squares, shapes = (_dense if len(free) <= DENSE else _lowest)(k, m, still, count)
    order = np.argsort(squares, kind="stable")
    squares, shapes = squares[order], shapes[:, order]
    scale = k.diagonal().mean() / m.diagonal().mean()
    if not squares[0] > LEAST_SQUARE * scale:
        raise ValueError("the body has a motion that nothing resists; its parts hang on each other by an edge or a corner only")
    if loads is not None and loads.size:
        squares, shapes = _with_shapes_of(loads.reshape(3 * len(points), -1)[free], k, m, still, squares, shapes)
    modes = np.zeros((3 * len(points), count))
    modes[free] = shapes * np.sign(shapes[np.argmax(np.abs(shapes), axis=0), np.arange(count)])
    return np.sqrt(squares), modes.reshape(-1, 3, count)


def rigid_modes(points: Array, mass: csc_array) -> Array:
    """(3 v, 6) orthonormal in the metric of the mass: what a body does as a whole."""
    share = mass.sum(axis=1)
    arms = points - share @ points / share.sum()
    shapes = np.zeros((len(points), 3, 6))
    shapes[:, :, :3] = np.eye(3)
    shapes[:, :, 3:] = np.cross(np.eye(3)[None], arms[:, None]).transpose(0, 2, 1)
    flat = shapes.reshape(len(points), -1)
    gram = np.einsum("vij,vik->jk", shapes, (mass @ flat).reshape(shapes.shape))
    return np.linalg.solve(np.linalg.cholesky(gram), shapes.reshape(-1, 6).T).T


def _with_shapes_of(
    loads: Array, stiffness: csc_array, mass: csc_array, still: Array, squares: Array, shapes: Array
) -> tuple[Array, Array]:
    """The same number of modes, the highest of which make room for shapes under loads (3 v, a)."""
    own = loads - mass @ (still @ (still.T @ loads))
    answer = _without(still, mass, _shifted(stiffness, mass)[0].solve(own))
    whole = np.trace(loads.T @ answer)
    left = np.linalg.eigvalsh(_symmetric(loads.T @ _without(shapes, mass, answer)))
    count = min(int((left > NO_GIVE * whole).sum()), len(squares) // 2)
    if not count:
        return squares, shapes
    kept = shapes[:, : len(squares) - count]
    rest = _without(kept, mass, answer)
    rest = rest @ np.linalg.eigh(_symmetric(loads.T @ rest))[1][:, -count:]
    rest /= np.sqrt((rest * (mass @ rest)).sum(axis=0))
    rest = _without(np.concatenate([still, kept], axis=1), mass, rest)
    more, turn = eigh(rest.T @ (stiffness @ rest), rest.T @ (mass @ rest))
    squares, shapes = np.concatenate([squares[: len(kept.T)], more]), np.concatenate([kept, rest @ turn], axis=1)
    order = np.argsort(squares, kind="stable")
    return squares[order], shapes[:, order]


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


def _dense(stiffness: csc_array, mass: csc_array, still: Array, count: int) -> tuple[Array, Array]:
    squares, shapes = eigh(stiffness.toarray(), mass.toarray())
    first = still.shape[1]
    shapes = _without(still, mass, shapes[:, first : first + count])
    return squares[first : first + count], shapes


def _lowest(stiffness: csc_array, mass: csc_array, still: Array, count: int) -> tuple[Array, Array]:
    """By Lanczos' iteration on (K + s M)^-1, on what is orthogonal to the motions of the whole."""
    factors, shift = _shifted(stiffness, mass)
    size = len(still)
    begin = _without(still, mass, np.random.default_rng(0).normal(size=size))
    inverse = _Inverse(factors, still, mass)
    squares, shapes = eigsh(stiffness, k=count, M=mass, sigma=-shift, OPinv=inverse, v0=begin)
    return squares, _without(still, mass, shapes)


def _shifted(stiffness: csc_array, mass: csc_array) -> tuple[SuperLU, float]:
    """Factors of K + s M, and s."""
    shift = SHIFT * stiffness.diagonal().mean() / mass.diagonal().mean()
    matrix, options = (stiffness + shift * mass).tocsc(), {"SymmetricMode": True}
    return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options), shift


class _Inverse(LinearOperator):
    """Solutions without the motions of the whole, which rounding brings in."""

    def __init__(self, factors: SuperLU, still: Array, mass: csc_array):
        super().__init__(np.float64, (len(still), len(still)))
        self.factors, self.still, self.mass = factors, still, mass

    def _matvec(self, x: Array) -> Array:
        return _without(self.still, self.mass, self.factors.solve(x))


def _without(still: Array, mass: csc_array, shapes: Array) -> Array:
    """Shapes (3 v,) or (3 v, k) without their parts along some that are orthonormal."""
    return shapes - still @ (still.T @ (mass @ shapes))
