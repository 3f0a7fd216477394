# SPDX-License-Identifier: GPL-3.0-or-later
"""Block Gauss-Seidel sweeps over contacts, each given its Coulomb law exactly: the method of nonsmooth contact dynamics.

Contact after contact, the impulse lam_k takes the value that solves

    u = G_kk lam_k + g_k,    0 <= u_n + c  perp  lam_n >= 0,    lam_t in argmin { y . u_t : |y| <= mu lam_n },

with what all others have done so far in g_k (Jean and Moreau 1992, "Unilaterality and dry friction in the dynamics of rigid
body collections"; Jean 1999, "The non-smooth contact dynamics method"). A sweep costs about what it costs to look at the
residuals. Every second one runs backwards: what presses at the bottom of a heap and what falls onto its top are as far from
each other both ways. Few sweeps find out who carries, many never come to the last digits: a proposal. Of a joint the rows are
taken one by one.

The parts that the elimination tree of a large system falls into share no contact, so a sweep takes them side by side, and the
contacts of what lies between them after all others, or before.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel
from ..criteria import is_near
from ..effort import count_products, spent
from .pieces import fill_all_delassus_blocks, how_many_far, measure, sweep_all

__all__ = ["sweeps"]

MOST_SWEEPS = 60
SWEEPS_A_LOOK = 5  # sweeps between two looks at the residuals


@inner_kernel
def sweeps(work, aim, gain, effort):
    """Sweep until the natural map is at most `aim.goal`, or `aim.enough` and that is slow, or all is slow; returns it.

    work: a `Workspace` with room for the Delassus blocks, whose impulse is warm start and answer, and v that of the answer.
    gain: the share of the natural map that a look's sweeps should at least take away.
    """
    before, error = np.inf, np.inf
    for done in range(MOST_SWEEPS + 1):
        if done % SWEEPS_A_LOOK == 0:
            before, error = error, measure(work)
            count_products(effort, SWEEPS_A_LOOK * work.impulse.shape[0])
            slow = error > aim.enough and error > (1.0 - gain) * before
            if slow or is_near(aim, error, before, how_many_far(work)) or spent(effort):
                break
            if done == 0:
                fill_all_delassus_blocks(work)
        if done < MOST_SWEEPS:
            sweep_all(work, done % 2 == 1)
    return error
