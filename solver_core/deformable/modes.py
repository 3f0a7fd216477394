# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of the lowest frequencies that a body can swing in: K phi = omega^2 M phi.

A free body also moves as a whole, at no frequency. These six shapes are known, and are kept out of the iteration, so that the
modes are orthogonal to them: the frame of q has the body's momentum (a mean-axis frame).

A free body's modes have no moment at its ends, and give way too little where something turns it there. So where loads are
applied, the shapes that bodies take under them take the place of the highest modes: what is left of them beside the lower ones
(residual attachment modes: MacNeal 1971; Rubin 1975). They are orthogonal to these in the metrics of mass and stiffness. The
loads are those of joints. A body without joints has the loads of pressing (`pressing.py`) if it is so soft that its own weight
squashes it. Then modes on which the loads do the least work make room, such as the twists of a ball. The lowest third stays.

Modes of equal frequency, such as the five squashes of a ball, form a family. Any rotation of a ball mixes the members of a
family, so a body with a part of a family gives way askew. A family is therefore kept whole or left out whole, and a symmetric
body can have fewer modes than requested. Static shapes form families too: shapes on which the loads do equal work.
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
# Relative: modes closer than this in frequency are one family. Bricks and facets split the families of a ball by 0.5 %.
FREQUENCY_GAP = 0.01
# Relative: static shapes closer than this in work are one family. Facets split the families of a ball by 1.1 %.
WORK_GAP = 0.1
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


def elastic_modes(statics: Statics, count: int, loads: Loads | None = None, whole_families: bool = True) -> tuple[Array, Array]:
    """The lowest modes of a body.

    Parameters
    ----------
    statics : the body's matrices and factors
    count : the largest number of modes
    loads : their shapes take the place of some modes
    whole_families : whether to leave out a family of which not all members fit; otherwise there are exactly `count` modes

    Returns
    -------
    omega : (r,) rad/s, rising, r at most `count`
    modes : (v, 3, r) 1/sqrt(kg), orthonormal in the metric of the mass

    Raises ValueError if there are fewer modes, or if rounding exceeds the lowest stiffness.
    """
    points, free = statics.points, statics.free
    room = len(free) - statics.rigid.shape[1]
    if count > room:
        raise ValueError(f"bricks of {len(points)} corners have {max(room, 0)} modes, and {count} are asked for")
    # the next mode shows whether the last family is whole
    wanted = min(count + whole_families, room)
    squares, shapes = (_dense if len(free) <= DENSE else _lowest)(statics, wanted)
    order = np.argsort(squares, kind="stable")
    squares, shapes = squares[order], shapes[:, order]
    scale = statics.stiffness.diagonal().mean() / statics.weights.diagonal().mean()
    if not squares[0] > LEAST_SQUARE * scale:
        raise ValueError(
            "its first bend is so soft beside its bricks that rounding exceeds it: the body is too thin for its length, or its "
            "parts hang on each other by an edge or a corner only"
        )
    last = _whole(np.sqrt(squares), count) if whole_families else count
    squares, shapes = squares[:last], shapes[:, :last]
    if loads is not None and loads.forces.size:
        with_shapes = _pressed if loads.pressing and whole_families else _with_shapes_of
        squares, shapes = with_shapes(loads, statics, squares, shapes, count)
    modes = shapes * np.sign(shapes[np.argmax(np.abs(shapes), axis=0), np.arange(len(squares))])
    return np.sqrt(squares), modes.reshape(-1, 3, len(squares))


def families(values: Array, gap: float) -> list[Indices]:
    """Indices of rising or falling positive values (r,), divided where neighbors differ by more than `gap`, relatively."""
    if not len(values):
        return []
    larger = np.maximum(values[1:], values[:-1])
    return np.split(np.arange(len(values)), np.flatnonzero(np.abs(np.diff(values)) > gap * larger) + 1)


def _whole(omega: Array, count: int) -> int:
    """The largest number of modes up to `count` that cuts no family; `count` if that is none. omega: (r,) rad/s, rising."""
    if len(omega) <= count:
        return len(omega)
    ends = [int(family[-1]) + 1 for family in families(omega, FREQUENCY_GAP)]
    return max((end for end in ends[:-1] if end <= count), default=count)


def _pressed(loads: Loads, statics: Statics, squares: Array, shapes: Array, count: int) -> tuple[Array, Array]:
    """At most `count` modes of a body, with families of shapes under pressure in the place of families of modes.

    Families of modes leave in the order of the work that the loads do on them, those in the lowest third last.
    """
    forces = loads.forces.reshape(len(shapes), -1)
    answer = statics.answer(forces)
    least, most = loads.least_work(statics, answer), loads.most_shapes(count)
    work = ((forces.T @ shapes) ** 2).sum(axis=0) / squares
    own = families(np.sqrt(squares), FREQUENCY_GAP)
    stays = [family for family in own if family[-1] < count // 3]
    leaves = sorted(own[len(stays) :], key=lambda family: float(work[family].mean()))

    def pressed_beside(kept: Indices) -> tuple[list[Indices], Array]:
        """Families of static shapes, those of the most work first, and the shapes (3 v, a)."""
        rest = statics.without(shapes[:, kept], answer)
        left, turn = (array[..., ::-1] for array in np.linalg.eigh(_symmetric(forces.T @ rest)))
        return families(left[left > least], WORK_GAP), rest @ turn

    gone: list[Indices] = []
    while True:
        kept = _joined([*stays, *leaves])
        found, rest = pressed_beside(kept)
        number = len(_joined(found[: 1 + int(np.searchsorted(np.cumsum([len(family) for family in found]), most))]))
        if len(kept) + number <= count or not leaves:
            break
        gone.insert(0, leaves.pop(0))
    # a smaller family can have room where a larger one had to leave
    back = _fitting(gone, count - len(kept) - number)
    if back:
        kept = _joined([kept, *back])
        found, rest = pressed_beside(kept)
    # room that families of modes leave is for further shapes, such as the uniform squash of a cube
    chosen = _joined(_fitting(found, count - len(kept)))
    if not len(chosen):
        return squares[kept], shapes[:, kept]
    return _beside(statics, squares[kept], shapes[:, kept], rest[:, chosen])


def _joined(parts: list[Indices]) -> Indices:
    """The members of all families, sorted."""
    return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))


def _fitting(groups: list[Indices], room: int) -> list[Indices]:
    """Families, the first of them first, that together have at most `room` members."""
    found: list[Indices] = []
    for group in groups:
        if len(group) <= room:
            found.append(group)
            room -= len(group)
    return found


def _with_shapes_of(loads: Loads, statics: Statics, squares: Array, shapes: Array, _count: int) -> tuple[Array, Array]:
    """The same number of modes, the highest of which make room for shapes under loads."""
    forces = loads.forces.reshape(len(shapes), -1)
    answer = statics.answer(forces)
    left = np.linalg.eigvalsh(_symmetric(forces.T @ statics.without(shapes, answer)))
    number = min(int((left > loads.least_work(statics, answer)).sum()), loads.most_shapes(len(squares)))
    if not number:
        return squares, shapes
    squares, shapes = squares[:-number], shapes[:, :-number]
    rest = statics.without(shapes, answer)
    rest = rest @ np.linalg.eigh(_symmetric(forces.T @ rest))[1][:, -number:]
    return _beside(statics, squares, shapes, rest)


def _beside(statics: Statics, squares: Array, kept: Array, rest: Array) -> tuple[Array, Array]:
    """Modes (3 v, r) and static shapes (3 v, s), made orthonormal and each given a frequency; sorted by frequency."""
    rest = rest / np.sqrt((rest * (statics.weights @ rest)).sum(axis=0))
    rest = statics.without(np.concatenate([statics.rigid, kept], axis=1), rest)
    more, turn = eigh(rest.T @ (statics.stiffness @ rest), rest.T @ (statics.weights @ rest))
    squares, shapes = np.concatenate([squares, more]), np.concatenate([kept, rest @ turn], axis=1)
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
