# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces with Coulomb's law near known ones, by Newton's method: a guess of the index sets and of the directions of NCF.

(21) of Baraff 1994 lets friction act across the sliding. Newton's method on Coulomb's law (`coulomb/dense_newton.py`) finds
forces where it acts against it: from nearly right ones at once, from others along compliances that are lowered. What comes of
it is a guess: index sets are taken from it, and all that they claim is established by pivoting.
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

FACTORISATIONS_FROM_NEAR = 40  # factorisations from forces that are nearly right: where these help, half of that does


def coulomb_forces(dense: DenseProblem, mu: Floats, known: Floats, compliance: float, at_rest: float) -> Floats | None:
    """Forces (n,) that have Coulomb's law up to accelerations of at_rest, from known ones (n,); None where they are not found.

    mu: (m,). compliance: that the first proximal point step begins with, over what contacts give way by themselves.
    """
    A, b, _, layout = dense
    held, m = slice(0, layout.bilateral), len(layout.normal)
    # accelerations of bilateral constraints are zero, whatever the forces of contacts
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
