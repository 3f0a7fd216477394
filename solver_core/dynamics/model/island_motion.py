# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bodies stand still, which tumble, and large islands in motion, which are solved to a tolerance of their own.

What stands keeps what its steps leave over, so a wall is asked for all the digits of the tolerance, and has them for nothing:
the impulses of the step before are the answer. In a heap that tumbles few of them hold for a step, the last digits cost ten
times what the first three do, and a settled one drifts by a hundredth of a millimetre in ten seconds without them. So an
island tumbles from the step on in which anything in it slides, rolls or parts faster than gravity makes it within a step, and
its bodies do until they sleep. While they are many they are an island in motion, and asked for the tolerance in motion. Joints
open by what is left of an error: islands in motion that are joined are asked for a tenth of it.

An answer is off by what the solver aims at, and it is a choice whether its velocities are, or its momenta. What rests moves by
that much in the one case, is stopped in the next step by impulses of no equilibrium, and these are the wrong ones a step later.
So what is no faster stands still: its impulses hold it as nearly as any that would be found, and they do so in every step.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, kernel, leaf_kernel
from ...linalg.disjoint_sets import join, root
from ...problem.system import System, relative_velocity
from ...scene.spec import ContactMethod, SolverSettings, Staggering
from ...solvers.criteria import relative_target
from .bodies import RIGID
from .predict import Begin

__all__ = ["IslandMotion"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MANY = 32  # bodies: the last digits of an island of no more are found soon
JOINED = 0.1  # of the tolerance in motion: what is asked of islands with no fewer triples of rows of joints than contacts
STANDS = 10.0  # times what Newton's method aims at: errors add up from the ground to the top of what stands
AT_REST = 30.0  # tolerances: what equilibria that are solved to one leave bodies moving at


class IslandMotion:
    """Which of n bodies tumble, and which are in a large island in motion. tumbling, members: (n,), as of the last step that
    was solved.

    Both are only for Staggered Projections with proposals: the other methods are what was published.
    """

    def __init__(self, radius: Floats, settings: SolverSettings):
        """radius: (n,) m, from the centres of mass to the farthest points."""
        count, self._radius = len(radius), radius
        self.members, self.tumbling = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self._asked = np.full(count, settings.tolerance)
        self._accelerated = settings.method is ContactMethod.STAGGERED and settings.staggering is Staggering.ACCELERATED
        self._tolerance = self._in_motion = settings.tolerance
        if self._accelerated:
            self._in_motion = max(settings.tolerance, settings.moving_tolerance)
        self._tolerances = self._tolerance, max(self._tolerance, JOINED * self._in_motion), self._in_motion

    def look(self, begin: Begin, system: System) -> tuple[Floats, Flags]:
        """The tolerance (moving,) that the island of each body that the solver moves is solved to, and whether it tumbles
        (moving,). Which bodies do, and which are in a large island in motion, is known then."""
        moving = len(begin.offset) - 1
        if not self._accelerated:
            return np.full(moving, self._tolerance), np.zeros(moving, dtype=bool)
        now, of_bodies = begin.velocities, (self.tumbling, self.members, self._asked)
        return who_tumbles(system, begin.model.dof, now, begin.gravity_speed, self._tolerances, of_bodies)

    def stop_what_stands(self, begin: Begin, system: System, v: Floats) -> None:
        """Velocities (dof,) := 0 of islands in which nothing is faster than the solver's error, all points of all bodies."""
        bodies = begin.offset, system.body_a, system.body_b
        stand_still(begin.model.dof, bodies, self._radius, begin.gravity_speed, self._tolerance, v)

    def rest(self) -> None:
        """Know of a step in which the solver moves nobody."""
        self.members[:] = self.tumbling[:] = False
        self._asked[:] = self._tolerance

    def still(self) -> Floats:
        """(n,) what bodies in equilibrium may move at for no better reason than that it is solved to a tolerance, of the speed
        that gravity gives in a step."""
        return AT_REST * self._asked

    def checkpoint(self) -> dict[str, NDArray]:
        """All that `restore` needs."""
        return {"moving_members": self.members.copy(), "tumbling": self.tumbling.copy(), "asked": self._asked.copy()}

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint, also of a version that had one tolerance for all."""
        self.members = np.array(checkpoint.get("moving_members", np.zeros_like(self.members)))
        self.tumbling = np.array(checkpoint.get("tumbling", self.members))
        self._asked = np.array(checkpoint.get("asked", np.where(self.members, self._in_motion, self._tolerance)))


@kernel
def stand_still(dof, bodies, radius, gravity_speed, tolerance, v):
    """Velocities (dof,) := 0 of the rigid bodies of islands in which no point of any is faster than a few times what is aimed
    at for a tolerance, of the speed in m/s that gravity gives in a step; radius: (n,) m. bodies: offset, body_a and body_b of
    a `System`. A body that bends may swing as slowly as that."""
    offset, body_a, body_b = bodies
    slow, parent = STANDS * relative_target(tolerance, FALSE) * gravity_speed, np.arange(offset.size - 1)
    for k in range(body_a.size):
        if body_a[k] >= 0 and body_b[k] >= 0:
            join(parent, body_a[k], body_b[k])
    fastest = np.zeros(parent.size)
    for b in range(dof.size):
        if dof[b] < 0 or offset[dof[b] + 1] - offset[dof[b]] != RIGID:
            continue
        own, first = v[offset[dof[b]] : offset[dof[b] + 1]], root(parent, dof[b])
        straight = np.sqrt(own[0] * own[0] + own[1] * own[1] + own[2] * own[2])
        turning = np.sqrt(own[3] * own[3] + own[4] * own[4] + own[5] * own[5])
        fastest[first] = max(fastest[first], straight + radius[b] * turning)
    for d in range(parent.size):
        if offset[d + 1] - offset[d] == RIGID and fastest[root(parent, d)] <= slow:
            v[offset[d] : offset[d + 1]] = 0.0


@kernel
def who_tumbles(system, dof, now, speed, tolerances, of_bodies):
    """(moving,) and (moving,) as of `IslandMotion.look`, for contacts faster than `speed` at velocities `now` (dof,).

    dof: (n,) of a `Model`. tolerances: of what is in no large island in motion, of those with joints, and of the others.
    of_bodies: (n,) which tumble, which are in one, and the tolerance of each, all of which is brought up to date.
    """
    (tolerance, of_joined, in_motion), (tumbling, members, asked_of) = tolerances, of_bodies
    bodies = system.offset.size - 1
    size, fastest = np.zeros(bodies, np.int64), np.zeros(bodies)
    stirred = np.zeros(bodies, np.bool_)
    contacts, joints = np.zeros(bodies, np.int64), np.zeros(bodies, np.int64)
    asked, together = np.full(bodies, tolerance), np.empty(bodies, np.bool_)
    parent = np.arange(bodies)
    _look_at_islands(system, dof, now, tumbling, parent, (size, fastest, stirred, contacts, joints))
    for i in range(dof.size):
        b = dof[i]
        tumbling[i], members[i], asked_of[i] = False, False, tolerance
        if b < 0:
            continue
        first = root(parent, b)
        together[b] = tumbling[i] = stirred[first] or fastest[first] > speed * speed
        members[i] = tumbling[i] and size[first] > MANY and in_motion > tolerance
        if members[i]:
            asked[b] = asked_of[i] = of_joined if joints[first] > 0 and joints[first] >= contacts[first] else in_motion
    return asked, together


@leaf_kernel
def _look_at_islands(system, dof, now, tumbling, parent, out):
    """For the first body of each island how many there are, the square of its fastest contact, whether something in it
    tumbles, (n,) of bodies, and how many contacts and triples of rows of joints there are; parent: (moving,) disjoint sets."""
    size, fastest, stirred, contacts, joints = out
    for k in range(system.body_a.size):
        if system.body_a[k] >= 0 and system.body_b[k] >= 0:
            join(parent, system.body_a[k], system.body_b[k])
    for i in range(dof.size):
        if dof[i] >= 0:
            first = root(parent, dof[i])
            size[first] += 1
            stirred[first] |= tumbling[i]
    for k in range(system.mu.size):
        first = root(parent, system.body_a[k] if system.body_a[k] >= 0 else system.body_b[k])
        n, t1, t2 = relative_velocity(system, k, now)
        fastest[first] = max(fastest[first], n * n + t1 * t1 + t2 * t2)
        contacts[first] += 1
    for k in range(system.mu.size, system.body_a.size):
        joints[root(parent, system.body_a[k] if system.body_a[k] >= 0 else system.body_b[k])] += 1
