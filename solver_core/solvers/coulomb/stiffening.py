# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method on contacts that give way, softly at first and ever less: impulses with Coulomb's law, from anywhere.

Where contacts are many and depend on each other Newton's method goes round. With a compliance,

    u = G lam + g + (c / kappa) (lam - lam_k),

each contact answers mostly to itself, and at c = 1 Newton's method finds the answer from nearly anywhere. That is the next
lam_k, a proximal point step (Rockafellar 1976), and c is lowered. Where no answer is found the path of answers over c turns
back: c is lowered by less, and then raised, for lam_k has moved on and so have the turns of the path. Each round comes nearer.
`baraff_1994/coulomb_guess.py` does so in forces, with a given course of compliances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..effort import LEAST, OVERDUE
from .compliances import BEGIN, MOST_COMPLIANCES, ROUGHLY, next_compliance
from .newton_in_impulses import Island, natural_map, newton, with_diagonal

__all__ = ["stiffening"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FACTORISATIONS_A_CONTACT = 30  # at most
MOST_FACTORISATIONS = 3000
BY_LAPACK = 3e11  # multiplications at most, if half of the contacts press; LAPACK's are ten times as fast as ours


def stiffening(island: Island, impulse: Floats, enough: float, fastest: float, effort: Indices) -> tuple[Floats, float, int]:
    """(impulses (k, 3), their natural map in m/s, factorisations), from impulses that need not be near.

    enough: m/s, of the natural map. fastest: m/s, the velocity that errors are a part of.
    """
    best, least, cost = impulse, natural_map(island, impulse).max(initial=0.0), 0
    most = np.clip(BY_LAPACK / (0.5 * impulse.size) ** 3 * 3.0, LEAST, MOST_FACTORISATIONS)
    most = min(most, FACTORISATIONS_A_CONTACT * len(impulse))
    known, course = impulse, BEGIN
    for _ in range(MOST_COMPLIANCES):
        if least <= enough or cost >= most or effort[OVERDUE] > 0:
            break
        soft = course[0] / island.mass
        giving = island._replace(
            matrix=with_diagonal(island.matrix, np.repeat(soft, 3)), free=island.free - soft[:, None] * known
        )
        found, answered, done = newton(giving, impulse, max(0.1 * enough, ROUGHLY * course[0] * fastest))
        cost += done
        error = natural_map(island, found).max()
        if error < least:
            best, least = found, error
        if answered:
            impulse = known = found
        course = next_compliance(course, answered)
    return best, least, cost
