# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of flexible bodies: their velocities include the motion of the surface by modes.

The surface point that is nearest to a contact lies in a triangle, and its mode shapes are interpolated with barycentric
coordinates. The mass block of a body is diag(m 1, I(q), modes), and contact impulses act on it through (e, arm x e, e . R phi).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...compile.kernel import kernel
from ...linalg.small_dense import inverse
from ...problem.system import System
from ..model.bodies import RIGID
from ..model.large_bends import LargeBends, Linearization
from ..model.predict import Begin
from ..model.spinning import SpunBends
from .build import StepProblem

__all__ = ["with_curves", "with_modal_blocks", "with_modes"]

Floats = NDArray[np.float64]


def with_modes(
    problem: StepProblem, begin: Begin, contacts: ContactSet, modes: Floats | None, drift: Floats | float
) -> StepProblem:
    """Return a step's problem with the modes of flexible bodies among its unknowns.

    problem: without modes. modes: (2, m, 3, r) world, of A and B at the contacts; None if no contact touches a flexible body.
    drift: (m, 3) m/s, world, the part of the problem's drift that is due to modes.
    """
    bend, system = begin.bend, problem.system
    if bend is None:
        return problem
    widest = int(np.diff(begin.offset).max())
    jacobian_a, jacobian_b = widened_rows(system.jacobian_a, system.jacobian_b, widest)
    bias = system.bias
    if modes is not None:
        bias = bias.copy()
        ends = system.body_a, system.body_b
        add_modes(problem.axes, *ends, modes, np.broadcast_to(drift, contacts.normal.shape), jacobian_a, jacobian_b, bias)
    return problem._replace(
        system=with_modal_blocks(system, begin)._replace(jacobian_a=jacobian_a, jacobian_b=jacobian_b, bias=bias)
    )


@kernel
def widened_rows(jacobian_a, jacobian_b, widest):
    """Return Jacobians (m, 3, 6) widened with zeros to `widest` columns."""
    m = len(jacobian_a)
    a, b = np.zeros((m, 3, widest)), np.zeros((m, 3, widest))
    a[:, :, :RIGID], b[:, :, :RIGID] = jacobian_a, jacobian_b
    return a, b


@kernel
def add_modes(axes, body_a, body_b, modes, drift, jacobian_a, jacobian_b, bias):
    """Add modes (2, m, 3, r) to the rows of movable bodies (m,), and subtract their drift (m, 3) from the bias."""
    # Columns beyond the widest awake body belong to sleeping bodies.
    count = min(modes.shape[3], jacobian_a.shape[2] - RIGID)
    for k in range(len(axes)):
        for row in range(3):
            for i in range(3):
                bias[k, row] -= axes[k, row, i] * drift[k, i]
                for j in range(count):
                    if body_a[k] >= 0:
                        jacobian_a[k, row, RIGID + j] -= axes[k, row, i] * modes[0, k, i, j]
                    if body_b[k] >= 0:
                        jacobian_b[k, row, RIGID + j] += axes[k, row, i] * modes[1, k, i, j]


def with_modal_blocks(system: System, begin: Begin) -> System:
    """Return a system whose mass blocks include modes, on their diagonals."""
    if begin.bend is None:
        return system
    rigid = begin.bodies.mass, begin.bodies.inverse_mass
    mass, inverse_mass = widened_blocks(begin.offset, begin.block_start, *rigid, begin.bend.unknown, begin.bend.mass)
    if isinstance(begin.bend, SpunBends):
        for spun in begin.bend.spun:
            write_block(begin, spun.unknown, spun.block, mass, inverse_mass)
    system = system._replace(mass=mass, inverse_mass=inverse_mass)
    return with_curves(system, begin, begin.bend, begin.bend.curves) if isinstance(begin.bend, LargeBends) else system


def with_curves(system: System, begin: Begin, bend: LargeBends, curves: tuple[Linearization, ...]) -> System:
    """Return a step's system with the mass blocks of bodies with large deformations, linearized as in `curves`."""
    mass, inverse_mass = system.mass.copy(), system.inverse_mass.copy()
    for large, curve in zip(bend.steps, curves, strict=True):
        write_block(begin, large.unknown, curve.block, mass, inverse_mass)
    return system._replace(mass=mass, inverse_mass=inverse_mass)


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
def widened_blocks(offset, block_start, mass, inverse_mass, unknown, modal):
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
