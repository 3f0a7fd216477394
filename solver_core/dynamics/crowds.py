# SPDX-License-Identifier: GPL-3.0-or-later
"""Crowds: islands of many bodies that have tumbled, which are solved to a tolerance of their own.

What stands keeps what its steps leave over, so a wall is asked for all the digits of the tolerance, and has them for nothing:
the impulses of the step before are the answer. In a heap that tumbles few of them hold for a step, the last digits cost ten
times what the first four do, and a settled one drifts by 0.03 mm in ten seconds without them. So an island of many bodies is a
crowd from the step on in which anything in it slides, rolls or parts faster than gravity makes it within a step; its bodies
remain one until they sleep, or until they are no longer many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel
from ..disjoint_sets import join, root
from ..problem.system import System, relative_velocity
from ..scene.spec import ContactMethod, SolverSettings, Staggering
from .predict import Begin

__all__ = ["Crowds"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MANY = 32  # bodies, of which no crowd is made: the last digits of so few are found soon
AT_REST = 30.0  # tolerances: what equilibria that are solved to one leave bodies moving at


class Crowds:
    """Who of n bodies is in a crowd. members: (n,), as of the last step that was solved.

    There are crowds only for Staggered Projections with proposals: the other methods are what was published.
    """

    def __init__(self, count: int, settings: SolverSettings):
        self.members = np.zeros(count, dtype=bool)
        accelerated = settings.method is ContactMethod.STAGGERED and settings.staggering is Staggering.ACCELERATED
        self._tolerance = self._of_crowds = settings.tolerance
        if accelerated:
            self._of_crowds = max(settings.tolerance, settings.crowd_tolerance)

    def tolerances(self, begin: Begin, system: System) -> Floats:
        """The tolerance (moving,) that the island of each body that the solver moves is solved to. Who is in a crowd is known
        then."""
        moving = len(begin.offset) - 1
        if moving <= MANY or self._of_crowds == self._tolerance:
            self.members[:] = False
            return np.full(moving, self._tolerance)
        members = crowded(system, begin.unknowns(begin.bodies.twist), begin.gravity_speed, self.members[begin.awake])
        self.members[:] = False
        self.members[begin.awake] = members
        return np.where(members, self._of_crowds, self._tolerance)

    def still(self) -> Floats:
        """(n,) what bodies in equilibrium may move at for no better reason than that it is solved to a tolerance, of the speed
        that gravity gives in a step."""
        return AT_REST * np.where(self.members, self._of_crowds, self._tolerance)

    def checkpoint(self) -> dict[str, NDArray]:
        """All that `restore` needs."""
        return {"crowd_members": self.members.copy()}

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint, of a version that knew no crowds too."""
        self.members = np.array(checkpoint.get("crowd_members", np.zeros_like(self.members)))


@kernel
def crowded(system, now, speed, members):
    """(bodies,) who is in an island of many bodies that has members (bodies,) of a crowd, or a contact that moves faster than
    `speed` at velocities `now` (dof,)."""
    bodies = system.offset.size - 1
    parent = np.arange(bodies)
    for k in range(system.body_a.size):
        if system.body_a[k] >= 0 and system.body_b[k] >= 0:
            join(parent, system.body_a[k], system.body_b[k])
    size, stirred = np.zeros(bodies, np.int64), np.zeros(bodies, np.bool_)
    for b in range(bodies):
        first = root(parent, b)
        size[first] += 1
        stirred[first] |= members[b]
    for k in range(system.mu.size):
        first = root(parent, system.body_a[k] if system.body_a[k] >= 0 else system.body_b[k])
        if size[first] > MANY and not stirred[first]:
            n, t1, t2 = relative_velocity(system, k, now)
            stirred[first] = n * n + t1 * t1 + t2 * t2 > speed * speed
    out = np.empty(bodies, np.bool_)
    for b in range(bodies):
        first = root(parent, b)
        out[b] = stirred[first] and size[first] > MANY
    return out
