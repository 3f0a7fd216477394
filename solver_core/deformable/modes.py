# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of the lowest frequencies that a body can swing in: K phi = omega^2 M phi.

A free body also moves as a whole, at no frequency. These six shapes are known, and are kept out of the iteration, so that the
modes are orthogonal to them: the frame of q has the body's momentum (a mean-axis frame).

A free body's modes have no moment at its ends, and give way too little where something turns it there. So where loads are
applied, the shapes that bodies take under them take the place of the highest modes: what is left of them beside the lower ones
(residual attachment modes: MacNeal 1971; Rubin 1975). They are orthogonal to these in the metrics of mass and stiffness. The
loads are those of joints. A body without joints has the loads of pressing (`pressing.py`) if it is so soft that its own weight
squashes it. Then modes on which the loads do the least work make room, such as the twists of a ball. The lowest third stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh

from .statics import Statics

__all__ = ["Loads", "elastic_modes"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the mean stiffness over mass of a node: squares of frequencies below are those of rounding.
LEAST_SQUARE = 1e-14
# Of the work that loads do: of what is left of it beside the modes, less makes no shape.
NO_GIVE = 1e-4
# Of the longest side: the modes lack no shape if a load of the body's weight squashes it by less.
LEAST_SQUASH = 1e-5
USUAL_GRAVITY = 9.81
# Of the shapes of a body that is pressed.
SQUASHES = 3
# Unknowns, up to which a dense solver is quicker.
DENSE = 300


@dataclass(frozen=True)
class Loads:
    """Loads whose shapes a body has among its modes.

    Attributes
    ----------
    forces : (v, 3, a) N on nodes
    pressing : whether they press a body, which may be too hard for their shapes to matter
    """

    forces: Array
    pressing: bool

    def least_work(self, statics: Statics, answer: Array) -> float:
        """J, the least work beside the modes that makes a shape. answer: (3 v, a) m, of the body to the forces."""
        if self.pressing:
            weight = USUAL_GRAVITY * float(statics.weights.sum()) / 3.0
            return LEAST_SQUASH * float(np.ptp(statics.points, axis=0).max()) / weight
        return NO_GIVE * float(np.sum(self.forces.reshape(answer.shape) * answer))

    def most_shapes(self, modes: int) -> int:
        """How many of so many modes may make room: half; of a pressed body a quarter, or one for each axis."""
        return min(max(modes // 4, SQUASHES), modes // 2) if self.pressing else modes // 2

    def order(self, squares: Array, work: Array) -> Indices:
        """(r,) modes in the order in which they make room.

        The highest modes are first. Of a pressed body the modes on which the loads do the least work are first, and the lowest
        third is last. squares: (r,) 1/s^2. work: (a, r) of the loads on the modes.
        """
        if not self.pressing:
            return np.arange(len(squares))[::-1]
        taken = (work**2).sum(axis=0) / squares
        taken[: len(squares) // 3] = np.inf
        return np.argsort(taken, kind="stable")


def elastic_modes(statics: Statics, count: int, loads: Loads | None = None) -> tuple[Array, Array]:
    """The lowest modes of a body.

    Parameters
    ----------
    statics : the body's matrices and factors
    count : how many modes
    loads : their shapes take the place of some modes, at most of half of them

    Returns
    -------
    omega : (count,) rad/s, rising
    modes : (v, 3, count) 1/sqrt(kg), orthonormal in the metric of the mass

    Raises ValueError if there are fewer modes, or if rounding exceeds the lowest stiffness.
    """
    points, free = statics.points, statics.free
    room = len(free) - statics.rigid.shape[1]
    if count > room:
        raise ValueError(f"bricks of {len(points)} corners have {max(room, 0)} modes, and {count} are asked for")
    squares, shapes = (_dense if len(free) <= DENSE else _lowest)(statics, count)
    order = np.argsort(squares, kind="stable")
    squares, shapes = squares[order], shapes[:, order]
    scale = statics.stiffness.diagonal().mean() / statics.weights.diagonal().mean()
    if not squares[0] > LEAST_SQUARE * scale:
        raise ValueError(
            "its first bend is so soft beside its bricks that rounding exceeds it: the body is too thin for its length, or its "
            "parts hang on each other by an edge or a corner only"
        )
    if loads is not None and loads.forces.size:
        squares, shapes = _with_shapes_of(loads, statics, squares, shapes)
    modes = shapes * np.sign(shapes[np.argmax(np.abs(shapes), axis=0), np.arange(count)])
    return np.sqrt(squares), modes.reshape(-1, 3, count)


def _with_shapes_of(loads: Loads, statics: Statics, squares: Array, shapes: Array) -> tuple[Array, Array]:
    """The same number of modes, some of which make room for shapes under loads."""
    forces = loads.forces.reshape(len(shapes), -1)
    answer = statics.answer(forces)
    left = np.linalg.eigvalsh(_symmetric(forces.T @ statics.without(shapes, answer)))
    count = min(int((left > loads.least_work(statics, answer)).sum()), loads.most_shapes(len(squares)))
    if not count:
        return squares, shapes
    own = np.sort(loads.order(squares, forces.T @ shapes)[count:])
    kept = shapes[:, own]
    rest = statics.without(kept, answer)
    rest = rest @ np.linalg.eigh(_symmetric(forces.T @ rest))[1][:, -count:]
    rest /= np.sqrt((rest * (statics.weights @ rest)).sum(axis=0))
    rest = statics.without(np.concatenate([statics.rigid, kept], axis=1), rest)
    more, turn = eigh(rest.T @ (statics.stiffness @ rest), rest.T @ (statics.weights @ rest))
    squares, shapes = np.concatenate([squares[own], more]), np.concatenate([kept, rest @ turn], axis=1)
    order = np.argsort(squares, kind="stable")
    return squares[order], shapes[:, order]


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


def _dense(statics: Statics, count: int) -> tuple[Array, Array]:
    free, first = statics.free, statics.rigid.shape[1]
    squares, found = eigh(statics.stiffness[free][:, free].toarray(), statics.weights[free][:, free].toarray())
    shapes = np.zeros((len(statics.rigid), count))
    shapes[free] = found[:, first : first + count]
    return squares[first : first + count], statics.without(statics.rigid, shapes)


def _lowest(statics: Statics, count: int) -> tuple[Array, Array]:
    """By Lanczos' iteration on the static answers to inertial loads, which are orthogonal to the rigid motions."""
    begin = np.zeros(len(statics.rigid))
    begin[statics.free] = np.random.default_rng(0).normal(size=len(statics.free))
    begin = statics.without(statics.rigid, begin)
    squares, shapes = eigsh(statics.stiffness, k=count, M=statics.weights, sigma=0.0, OPinv=_Answer(statics), v0=begin)
    return squares, statics.without(statics.rigid, shapes)


class _Answer(LinearOperator):
    """The static answer of a body, as an operator."""

    def __init__(self, statics: Statics):
        super().__init__(np.float64, (len(statics.rigid), len(statics.rigid)))
        self.statics = statics

    def _matvec(self, x: Array) -> Array:
        return self.statics.answer(x)
