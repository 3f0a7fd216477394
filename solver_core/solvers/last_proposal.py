# SPDX-License-Identifier: GPL-3.0-or-later
"""The last proposals to Staggered Projections, where all others have failed; pivoting's is the first without friction.

Newton's method on contacts that give way ever less comes from anywhere, and soon. Baraff's algorithm (1994) takes contacts
one by one where the projections take all at once: what the ones miss, the other often finds. Both work on dense matrices, so
this is for problems of a moderate size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel
from ..problem.contact_problem import ContactProblem
from ..problem.residuals import scales
from ..problem.result import Found
from .effort import effort_of_a_step, ringing
from .joints_as_contacts import joints_as_contacts

__all__ = ["complementary_impulses", "last_proposal", "last_proposals", "turns_kept"]

MAX_PIVOTED_CONTACTS = 100
TURNS_KEPT = 10  # one of so many iterations that are allowed is kept for what begins with this proposal
# What proposals aim at, however little is asked for: pivoting stops at Baraff's law, and what is within a loose tolerance of
# that may be far from Coulomb's.
TIGHT = 1e-8
PIVOTS_PER_CONTACT = 60  # a contact, over all trials: more than the algorithm needs where it finds an answer soon


@kernel
def turns_kept(contacts, max_iterations):
    """How many of the iterations that are allowed are for this proposal: none where it is not made, or few are allowed."""
    return max_iterations // TURNS_KEPT if contacts <= MAX_PIVOTED_CONTACTS else 0


def last_proposals(
    problem: ContactProblem, impulse: NDArray[np.float64], tolerance: float, left: Callable[[], float]
) -> Iterator[tuple[NDArray[np.float64], Found]]:
    """Impulses (m, dim) to start from once more, one after the other, and what found them; none where the problem is too large.

    impulse: (m, dim) so far. left: the seconds that there are still.
    """
    tolerance = min(tolerance, TIGHT)
    if problem.contacts > MAX_PIVOTED_CONTACTS:
        return
    if problem.dim == 3 and not problem.joints and not problem.bilateral_constraints:
        yield _stiffened(problem, impulse, tolerance, left()), Found.NEWTON
    pivoted = last_proposal(problem, tolerance, left())
    if pivoted is not None:
        yield pivoted, Found.PIVOTING


def _stiffened(
    problem: ContactProblem, impulse: NDArray[np.float64], tolerance: float, time_limit: float
) -> NDArray[np.float64]:
    from .kaufman_2008.clusters import GOOD_ENOUGH
    from .kaufman_2008.newton_in_impulses import island_of  # scipy takes as long to load as pivoting's kernels
    from .kaufman_2008.stiffening import stiffening

    free = problem.free_velocity.copy()
    free[:, 0] += problem.system.slack
    effort = effort_of_a_step()
    fastest, _ = scales(problem.system, impulse)
    island = island_of(problem.delassus, free, problem.system.mu)
    with ringing(effort, time_limit):
        return stiffening(island, impulse, GOOD_ENOUGH * tolerance * fastest, fastest, effort)[0]


def last_proposal(problem: ContactProblem, tolerance: float, time_limit: float = np.inf) -> NDArray[np.float64] | None:
    """Impulses (m, dim) to start from once more; None where the problem is too large to ask, or the answer breaks down."""
    from .baraff_1994.contacts import pivot  # whose kernels few need, and take seconds to load

    if problem.contacts > MAX_PIVOTED_CONTACTS:
        return None
    joined = joints_as_contacts(problem)
    result = pivot(joined.problem, min(tolerance, TIGHT), PIVOTS_PER_CONTACT * (problem.contacts + 1), time_limit, None)
    impulse = joined.impulse(result.impulse, result.bilateral) if problem.joints else result.impulse
    return impulse if np.isfinite(impulse).all() else None


def complementary_impulses(problem: ContactProblem, tolerance: float, time_limit: float) -> NDArray[np.float64]:
    """Impulses (m, dim) of a problem without friction that is given as a matrix, by section 4 of Baraff 1994: island by island
    a linear complementarity problem of the normal impulses alone; zero where the answer breaks down."""
    from .baraff_1994.lcp import pivot_lcp

    system, deadline = problem.system, perf_counter() + time_limit
    impulse = np.zeros((problem.contacts, problem.dim))
    free = problem.free_velocity[:, 0] + system.slack
    for body in range(len(system.offset) - 1):
        chosen = np.flatnonzero(system.body_b == body)
        size = int(system.offset[body + 1] - system.offset[body])
        normal = system.jacobian_b[chosen, 0, :size]
        inverse = system.inverse_mass[system.block_start[body] : system.block_start[body + 1]].reshape(size, size)
        operator = normal @ inverse @ normal.T
        left = max(deadline - perf_counter(), 0.0)
        most = PIVOTS_PER_CONTACT * (chosen.size + 1)
        force = pivot_lcp(0.5 * (operator + operator.T), free[chosen], None, min(tolerance, TIGHT), most, left).force
        if np.isfinite(force).all():
            impulse[chosen, 0] = force
    return impulse
