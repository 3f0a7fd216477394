# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of bodies that bend: velocities there have what modes do to the surface besides the motion of the frame.

The surface's point that is nearest to a contact lies between three vertices, and so do its modes, by barycentric coordinates.
The block of a body is diag(m 1, I(q), modes), and contact impulses act on it through (e, arm x e, e . R phi).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...problem.system import System
from ..model.bodies import RIGID
from ..model.predict import Begin
from .build import StepProblem

__all__ = ["with_modal_blocks", "with_modes"]

Floats = NDArray[np.float64]


def with_modes(
    problem: StepProblem, begin: Begin, contacts: ContactSet, modes: tuple[Floats, Floats] | None, drift: Floats | float
) -> StepProblem:
    """A step's problem of rigid frames, with the modes of bodies that bend among its unknowns.

    modes: of A and B at the contacts, (m, 3, r) world, None where nothing that bends is touched. drift: (m, 3) m/s, world, what
    of the drift that the problem was built with was of them.
    """
    bend, system = begin.bend, problem.system
    if bend is None:
        return problem
    widest = int(np.diff(begin.offset).max())
    room = (0, 0), (0, 0), (0, widest - RIGID)
    jacobian_a, jacobian_b, bias = np.pad(system.jacobian_a, room), np.pad(system.jacobian_b, room), system.bias
    if modes is not None:
        sides = (jacobian_a, contacts.body_a, -modes[0]), (jacobian_b, contacts.body_b, modes[1])
        for jacobian, body, of_body in sides:
            # those that are wider than any that is awake are of bodies that sleep
            own = of_body[:, :, : widest - RIGID]
            moves = (begin.model.dof[body] >= 0)[:, None, None]
            jacobian[:, :, RIGID : RIGID + own.shape[2]] = np.where(moves, problem.axes @ own, 0.0)
        bias = bias - np.einsum("mij,mj->mi", problem.axes, np.broadcast_to(drift, contacts.normal.shape))
    return problem._replace(
        system=with_modal_blocks(system, begin)._replace(jacobian_a=jacobian_a, jacobian_b=jacobian_b, bias=bias)
    )


def with_modal_blocks(system: System, begin: Begin) -> System:
    """A system whose blocks have room for modes, and these on their diagonals."""
    if begin.bend is None:
        return system
    width, start = np.diff(begin.offset), begin.block_start
    mass, inverse_mass = np.zeros(start[-1]), np.zeros(start[-1])
    rows, columns = np.divmod(np.arange(RIGID * RIGID), RIGID)
    rigid = start[:-1, None] + rows * width[:, None] + columns
    mass[rigid], inverse_mass[rigid] = begin.bodies.mass.reshape(-1, RIGID**2), begin.bodies.inverse_mass.reshape(-1, RIGID**2)
    body = np.searchsorted(begin.offset, begin.bend.unknown, side="right") - 1
    place = begin.bend.unknown - begin.offset[body]
    diagonal = start[body] + place * (width[body] + 1)
    mass[diagonal], inverse_mass[diagonal] = begin.bend.mass, 1.0 / begin.bend.mass
    return system._replace(mass=mass, inverse_mass=inverse_mass)
