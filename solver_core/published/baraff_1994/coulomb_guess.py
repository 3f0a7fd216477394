# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces that satisfy Coulomb's law, found by Newton's method as a guess of the index sets and of the directions in NCF.

(21) of Baraff 1994 allows friction at an angle to the sliding. Newton's method on Coulomb's law (`coulomb/dense_newton.py`)
finds forces whose friction opposes the sliding. From forces that are nearly right it converges at once; from others it follows
a sequence of decreasing compliances. The forces serve only as a guess of the index sets, which pivoting then establishes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...solvers.coulomb.dense_newton import MAX_FACTORISATIONS, SOFTEST, continuation, island_of
from ...solvers.criteria import OF_A_GUESS
from ...solvers.effort import effort_of_a_step
from ..dense import DenseProblem

__all__ = ["coulomb_forces"]

Floats = NDArray[np.float64]

FACTORISATIONS_FROM_NEAR = 40  # limit from forces that are nearly right; if they help, half of it is enough


def coulomb_forces(dense: DenseProblem, mu: Floats, known: Floats, compliance: float, at_rest: float) -> Floats | None:
    """Return forces (n,) near known ones that satisfy Coulomb's law, or None if they are not found.

    mu: (m,) coefficients of friction.
    known: (n,) forces to start from.
    compliance: compliance of the first proximal point step.
    at_rest: target of the error, as an acceleration [m/s^2].
    """
    A, b, _, layout = dense
    held, m = slice(0, layout.bilateral), len(layout.normal)
    # Eliminate the bilateral constraints, whose accelerations are zero for any contact forces.
    to_held = np.linalg.pinv(A[held, held]) @ np.column_stack([A[held], b[held]])
    free = A - A[:, held] @ to_held[:, :-1]
    constant = b - A[:, held] @ to_held[:, -1]
    place = np.full((m, 3), -1)
    place[:, 0] = layout.normal
    rubs = layout.friction >= 0
    for t in range(layout.tangents):
        place[rubs, 1 + t] = layout.friction[rubs] + t
    there = np.flatnonzero(place.ravel() >= 0)
    index = place.ravel()[there]
    matrix, velocity, start = np.zeros((3 * m, 3 * m)), np.zeros(3 * m), np.zeros(3 * m)
    matrix[np.ix_(there, there)] = free[np.ix_(index, index)]
    velocity[there], start[there] = constant[index], known[index]
    island = island_of(matrix, velocity.reshape(m, 3), np.where(rubs, mu, 0.0))
    fastest = float(np.abs(b).max(initial=0.0))
    limit = MAX_FACTORISATIONS if compliance >= SOFTEST else FACTORISATIONS_FROM_NEAR
    found, error, _ = continuation(island, start.reshape(m, 3), at_rest, fastest, effort_of_a_step(), compliance, limit)
    if not error <= OF_A_GUESS * at_rest:
        return None
    forces = np.zeros(b.size)
    forces[index] = found.ravel()[there]
    forces[held] = -to_held[:, :-1] @ forces - to_held[:, -1]
    return forces
