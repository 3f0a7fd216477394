# SPDX-License-Identifier: GPL-3.0-or-later
"""The vibration modes of a body with the lowest frequencies: K phi = omega^2 M phi.

A free body also has six rigid motions of frequency zero. These are known. The iteration is kept orthogonal to them, so the
modes are too, and the frame of the modal coordinates has the body's momentum (a mean-axis frame).

The modes of a free body have no moment at its ends, so they deflect too little where something bends it there. For loads that
act on a body, static shapes under these loads therefore replace the highest modes: the part of the static displacement that is
orthogonal to the remaining modes in the metrics of mass and stiffness (residual attachment modes: MacNeal 1971; Rubin 1975).
The loads are those of joints. A body without joints has pressure loads (`pressing.py`) if it is so soft that its own weight
squashes it. They replace the modes on which they do the least work, such as the twists of a ball, but none of the lowest third.

Modes of equal frequency, such as the five squashes of a ball, form a family. A rotation of a ball mixes the members of a
family, so a body with a part of a family would deform in preferred directions. A family is therefore kept or removed as a
whole, and a symmetric body may have fewer modes than requested. Static shapes on which the loads do equal work form families
too.
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

# Relative to the mean stiffness over mass of a node: smaller squares of frequencies are rounding.
LEAST_SQUARE = 1e-14
# Relative to the work of the loads: a static shape on which they do less work beside the modes is not used.
LEAST_WORK = 1e-4
# Relative to the longest side: pressure shapes are not used if a load of the body's weight squashes it by less.
LEAST_SQUASH = 1e-5
USUAL_GRAVITY = 9.81
# A body under pressure has at least this many static shapes, one for each axis.
SQUASHES = 3
# Relative: modes closer than this in frequency are one family. Bricks and facets split the families of a ball by 0.5 %.
FREQUENCY_GAP = 0.01
# Relative: static shapes closer than this in work are one family. Facets split the families of a ball by 1.1 %.
WORK_GAP = 0.1
# Number of unknowns up to which a dense solver is faster.
DENSE = 300


@dataclass(frozen=True)
class Loads:
    """Loads on a body. Its static shapes under them are added to its modes.

    Attributes
    ----------
    forces : (v, 3, a) N on nodes
    pressing : True for pressure loads, whose shapes are not needed if the body is stiff
    """

    forces: Array
    pressing: bool

    def least_work(self, statics: Statics, response: Array) -> float:
        """Return the work of the loads beside the modes above which a static shape is used [J].

        response: (3 v, a) displacements under the forces [m].
        """
        if self.pressing:
            weight = USUAL_GRAVITY * float(statics.weights.sum()) / 3.0
            return LEAST_SQUASH * float(np.ptp(statics.points, axis=0).max()) / weight
        return LEAST_WORK * float(np.sum(self.forces.reshape(response.shape) * response))

    def most_shapes(self, modes: int) -> int:
        """Return how many modes static shapes may replace: half, or a quarter under pressure, but one for each axis."""
        return min(max(modes // 4, SQUASHES), modes // 2) if self.pressing else modes // 2


def elastic_modes(statics: Statics, count: int, loads: Loads | None = None, whole_families: bool = True) -> tuple[Array, Array]:
    """Return the modes of a body with the lowest frequencies.

    Parameters
    ----------
    statics : the body's matrices and factors
    count : the largest number of modes
    loads : loads whose static shapes replace some modes
    whole_families : True to remove a family of which not all members fit; otherwise there are exactly `count` modes

    Returns
    -------
    omega : (r,) rad/s, ascending, r at most `count`
    modes : (v, 3, r) 1/sqrt(kg), orthonormal in the metric of the mass

    Raises ValueError if there are fewer modes, or if rounding exceeds the lowest stiffness.
    """
    points, free = statics.points, statics.free
    room = len(free) - statics.rigid.shape[1]
    if count > room:
        raise ValueError(f"bricks of {len(points)} corners have {max(room, 0)} modes, and {count} are asked for")
    # One more mode shows whether the last family is complete.
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
    """Return the indices of sorted positive values (r,), divided where neighbors differ by more than `gap`, relative."""
    if not len(values):
        return []
    larger = np.maximum(values[1:], values[:-1])
    return np.split(np.arange(len(values)), np.flatnonzero(np.abs(np.diff(values)) > gap * larger) + 1)


def _whole(omega: Array, count: int) -> int:
    """Return the largest number of modes, up to `count`, that divides no family; `count` if there is none.

    omega: (r,) [rad/s], ascending.
    """
    if len(omega) <= count:
        return len(omega)
    ends = [int(family[-1]) + 1 for family in families(omega, FREQUENCY_GAP)]
    return max((end for end in ends[:-1] if end <= count), default=count)


def _pressed(loads: Loads, statics: Statics, squares: Array, shapes: Array, count: int) -> tuple[Array, Array]:
    """Replace families of modes of a body by families of its static shapes under pressure.

    The families of modes on which the loads do the least work are removed first. Those in the lowest third are never removed.

    squares: (r,) squares of frequencies [rad^2/s^2], ascending. shapes: (3 v, r) modes. count: largest number of shapes.

    Returns the squares of frequencies and the shapes, at most `count`.
    """
    forces = loads.forces.reshape(len(shapes), -1)
    response = statics.displacements_under(forces)
    least_work, limit = loads.least_work(statics, response), loads.most_shapes(count)
    work = ((forces.T @ shapes) ** 2).sum(axis=0) / squares
    of_modes = families(np.sqrt(squares), FREQUENCY_GAP)
    fixed = [family for family in of_modes if family[-1] < count // 3]
    removable = sorted(of_modes[len(fixed) :], key=lambda family: float(work[family].mean()))

    def static_shapes(kept: Indices) -> tuple[list[Indices], Array]:
        """Return families of static shapes beside the kept modes, by decreasing work, and the shapes (3 v, a)."""
        remainder = statics.orthogonal_part(shapes[:, kept], response)
        remaining_work, turn = (array[..., ::-1] for array in np.linalg.eigh(_symmetric(forces.T @ remainder)))
        return families(remaining_work[remaining_work > least_work], WORK_GAP), remainder @ turn

    removed: list[Indices] = []
    while True:
        kept = _joined([*fixed, *removable])
        of_statics, static = static_shapes(kept)
        sizes = np.cumsum([len(family) for family in of_statics])
        number = len(_joined(of_statics[: 1 + int(np.searchsorted(sizes, limit))]))
        if len(kept) + number <= count or not removable:
            break
        removed.insert(0, removable.pop(0))
    # There may be room for a small family after a larger one was removed.
    restored = _fitting(removed, count - len(kept) - number)
    if restored:
        kept = _joined([kept, *restored])
        of_statics, static = static_shapes(kept)
    # Any remaining room is for further static shapes, such as the uniform squash of a cube.
    chosen = _joined(_fitting(of_statics, count - len(kept)))
    if not len(chosen):
        return squares[kept], shapes[:, kept]
    return _with_frequencies(statics, squares[kept], shapes[:, kept], static[:, chosen])


def _joined(parts: list[Indices]) -> Indices:
    """Return the members of all families, sorted."""
    return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))


def _fitting(groups: list[Indices], room: int) -> list[Indices]:
    """Return families, chosen in order, that together have at most `room` members."""
    found: list[Indices] = []
    for group in groups:
        if len(group) <= room:
            found.append(group)
            room -= len(group)
    return found


def _with_shapes_of(loads: Loads, statics: Statics, squares: Array, shapes: Array, _count: int) -> tuple[Array, Array]:
    """Replace the highest modes of a body by as many static shapes under loads.

    squares: (r,) squares of frequencies [rad^2/s^2], ascending. shapes: (3 v, r) modes.

    Returns the squares of frequencies and the shapes, as many as before.
    """
    forces = loads.forces.reshape(len(shapes), -1)
    response = statics.displacements_under(forces)
    remaining_work = np.linalg.eigvalsh(_symmetric(forces.T @ statics.orthogonal_part(shapes, response)))
    number = min(int((remaining_work > loads.least_work(statics, response)).sum()), loads.most_shapes(len(squares)))
    if not number:
        return squares, shapes
    squares, shapes = squares[:-number], shapes[:, :-number]
    remainder = statics.orthogonal_part(shapes, response)
    static = remainder @ np.linalg.eigh(_symmetric(forces.T @ remainder))[1][:, -number:]
    return _with_frequencies(statics, squares, shapes, static)


def _with_frequencies(statics: Statics, squares: Array, modes: Array, static: Array) -> tuple[Array, Array]:
    """Combine modes (3 v, r) with static shapes (3 v, s), which are made orthonormal to them and get frequencies.

    squares: (r,) of the frequencies of the modes [rad^2/s^2].

    Returns the squares of all frequencies (r + s,), ascending, and the shapes (3 v, r + s).
    """
    static = static / np.sqrt((static * (statics.weights @ static)).sum(axis=0))
    static = statics.orthogonal_part(np.concatenate([statics.rigid, modes], axis=1), static)
    more, turn = eigh(static.T @ (statics.stiffness @ static), static.T @ (statics.weights @ static))
    squares, shapes = np.concatenate([squares, more]), np.concatenate([modes, static @ turn], axis=1)
    order = np.argsort(squares, kind="stable")
    return squares[order], shapes[:, order]


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)


def _dense(statics: Statics, count: int) -> tuple[Array, Array]:
    """Return the squares of frequencies (count,) and the modes (3 v, count), by a dense eigenvalue solver."""
    free, first = statics.free, statics.rigid.shape[1]
    squares, found = eigh(statics.stiffness[free][:, free].toarray(), statics.weights[free][:, free].toarray())
    shapes = np.zeros((len(statics.rigid), count))
    shapes[free] = found[:, first : first + count]
    return squares[first : first + count], statics.orthogonal_part(statics.rigid, shapes)


def _lowest(statics: Statics, count: int) -> tuple[Array, Array]:
    """Return the squares of frequencies (count,) and the modes (3 v, count), by Lanczos' iteration.

    It iterates on static displacements under inertial loads, which are orthogonal to the rigid motions.
    """
    begin = np.zeros(len(statics.rigid))
    begin[statics.free] = np.random.default_rng(0).normal(size=len(statics.free))
    begin = statics.orthogonal_part(statics.rigid, begin)
    squares, shapes = eigsh(statics.stiffness, k=count, M=statics.weights, sigma=0.0, OPinv=_StaticResponse(statics), v0=begin)
    return squares, statics.orthogonal_part(statics.rigid, shapes)


class _StaticResponse(LinearOperator):
    """The map from loads to static displacements, as an operator."""

    def __init__(self, statics: Statics):
        super().__init__(np.float64, (len(statics.rigid), len(statics.rigid)))
        self.statics = statics

    def _matvec(self, x: Array) -> Array:
        return self.statics.displacements_under(x)
