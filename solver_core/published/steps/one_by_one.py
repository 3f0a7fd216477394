# SPDX-License-Identifier: GPL-3.0-or-later
"""Solution of the islands one by one, with a method for contact problems, and residuals of the method's law."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dynamics.solve.islands import Error, Totals, islands_of, not_begun, totals
from ...problem.accuracy import Residual, Residuals, residuals
from ...problem.contact_problem import ContactProblem
from ...problem.result import Found, Result
from ...problem.subsystem import subsystem
from ...problem.system import System

__all__ = ["BARAFF", "COULOMB", "Law", "solve_one_by_one"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Solver of an island, given its system, the indices of its triples in the step's system, and its warm start. Returns the
# problem, with the law that holds at each contact, and its result.
SolvePart = Callable[[System, Indices, Floats], tuple[ContactProblem, Result]]


class Law(NamedTuple):
    """The law of a method: the names of its residuals, and the name of its natural map."""

    parts: tuple[str, ...]
    natural: str

    def of(self, measured: Residuals) -> tuple[Residual, ...]:
        """Return the residuals of the law."""
        return tuple(getattr(measured, name) for name in self.parts)


COULOMB = Law(("penetration", "cone", "complementarity", "dissipation", "natural_map", "joint"), "natural_map")
BARAFF = Law(("penetration", "cone", "complementarity", "opposition", "saturation", "static_map", "joint"), "static_map")


def solve_one_by_one(system: System, impulse: Floats, solve: SolvePart, law: Law, found: Found) -> tuple[Floats, Totals]:
    """Solve every island.

    impulse: (m, 3) warm start on input, result on output [N s].
    solve: solver of one island.
    law: law whose residuals are reported.
    found: method to which the results are attributed.

    Returns the velocities (n,) and the totals. The totals lack the relative error and the residual of Kaufman et al.
    """
    v = system.velocity.copy()
    start, contacts, number = islands_of(system)
    out = not_begun(start.size - 1)
    out.found[:] = found
    for i in range(start.size - 1):
        chosen = contacts[start[i] : start[i + 1]]
        part, bodies = subsystem(system, chosen, number)
        problem, result = solve(part, chosen, impulse[chosen])
        measured = residuals(problem, result)
        worst = max(law.of(measured), key=lambda residual: residual.relative)
        out.status[i], out.iterations[i], out.factorisations[i] = (
            result.status,
            result.stats.iterations,
            result.stats.factorisations,
        )
        out.errors[i, Error.CONE] = measured.cone.relative
        out.errors[i, Error.COMPLEMENTARITY] = measured.complementarity.relative
        out.errors[i, Error.DISSIPATION] = measured.dissipation.relative
        out.errors[i, Error.WORST] = worst.relative
        out.errors[i, Error.NATURAL_MAP] = max(getattr(measured, law.natural).relative, measured.joint.relative)
        row = worst.index + (part.mu.size if worst is measured.joint else 0)
        out.worst_contact[i] = chosen[row] if worst.index >= 0 else -1
        impulse[chosen] = result.impulse
        for j, body in enumerate(bodies):
            v[system.offset[body] : system.offset[body + 1]] = result.body_velocity[part.offset[j] : part.offset[j + 1]]
    return v, totals(out)
