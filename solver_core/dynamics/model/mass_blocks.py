# SPDX-License-Identifier: GPL-3.0-or-later
"""The mass blocks of the bodies of a step: six by six for rigid bodies, and larger with the modes of flexible ones.

The block of a flexible body is diag(m 1, I(q), modes).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...linalg.small_dense import inverse
from ...problem.system import System
from .bodies import RIGID
from .large_bends import LargeBends, Linearization
from .predict import Begin
from .spinning import SpunBends

__all__ = ["mass_blocks", "widest_block", "with_curves", "with_modal_blocks"]

Floats = NDArray[np.float64]


def widest_block(begin: Begin) -> int:
    """Return the largest number of degrees of freedom of a body that the solver moves."""
    return RIGID if begin.bend is None else int(np.diff(begin.offset).max())


def mass_blocks(begin: Begin) -> tuple[Floats, Floats]:
    """Return the concatenated mass blocks of the bodies that the solver moves, and their inverses, as in a `System`."""
    mass, inverse_mass = begin.bodies.mass, begin.bodies.inverse_mass
    if begin.bend is None:
        return mass.reshape(-1), inverse_mass.reshape(-1)
    blocks, inverses = blocks_with_modes(
        begin.offset, begin.block_start, mass, inverse_mass, begin.bend.unknown, begin.bend.mass
    )
    if isinstance(begin.bend, SpunBends):
        for spun in begin.bend.spun:
            write_block(begin, spun.unknown, spun.block, blocks, inverses)
    if isinstance(begin.bend, LargeBends):
        write_curves(begin, begin.bend, begin.bend.curves, blocks, inverses)
    return blocks, inverses


def with_modal_blocks(system: System, begin: Begin) -> System:
    """Return a system of rigid bodies with the mass blocks of the step, which include modes."""
    if begin.bend is None:
        return system
    mass, inverse_mass = mass_blocks(begin)
    return system._replace(mass=mass, inverse_mass=inverse_mass)


def with_curves(system: System, begin: Begin, bend: LargeBends, curves: tuple[Linearization, ...]) -> System:
    """Return a step's system with the mass blocks of bodies with large deformations, linearized as in `curves`."""
    mass, inverse_mass = system.mass.copy(), system.inverse_mass.copy()
    write_curves(begin, bend, curves, mass, inverse_mass)
    return system._replace(mass=mass, inverse_mass=inverse_mass)


def write_curves(begin: Begin, bend: LargeBends, curves: tuple[Linearization, ...], mass: Floats, inverse_mass: Floats) -> None:
    """Write the mass blocks of bodies with large deformations, linearized as in `curves`, to the blocks of a system."""
    for large, curve in zip(bend.steps, curves, strict=True):
        write_block(begin, large.unknown, curve.block, mass, inverse_mass)


def write_block(begin: Begin, unknown: NDArray[np.int64], block: Floats, mass: Floats, inverse_mass: Floats) -> None:
    """Write the mass block of a body's modes to the blocks of a system.

    Parameters
    ----------
    begin : the step
    unknown : (r,) the modes among the degrees of freedom
    block : (r, r) symmetric and positive definite
    mass, inverse_mass : of the system, written to
    """
    body = int(np.searchsorted(begin.offset, unknown[0], side="right")) - 1
    width, place = int(begin.offset[body + 1] - begin.offset[body]), unknown - begin.offset[body]
    entries = begin.block_start[body] + place[:, None] * width + place
    mass[entries], inverse_mass[entries] = block, inverse(block)


@kernel
def blocks_with_modes(offset, block_start, mass, inverse_mass, unknown, modal):
    """Return the concatenated mass blocks of bodies, and their inverses.

    mass, inverse_mass: (b, 6, 6) the rigid blocks. unknown, modal: (k,) the unknowns of modes, and their masses.
    """
    blocks, inverses = np.zeros(block_start[-1]), np.zeros(block_start[-1])
    row = 0
    for body in range(len(mass)):
        width, start = offset[body + 1] - offset[body], block_start[body]
        for i in range(RIGID):
            for j in range(RIGID):
                at = start + i * width + j
                blocks[at], inverses[at] = mass[body, i, j], inverse_mass[body, i, j]
        while row < len(unknown) and unknown[row] < offset[body + 1]:
            at = start + (unknown[row] - offset[body]) * (width + 1)
            blocks[at], inverses[at] = modal[row], 1.0 / modal[row]
            row += 1
    return blocks, inverses
