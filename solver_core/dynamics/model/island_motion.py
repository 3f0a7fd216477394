# SPDX-License-Identifier: GPL-3.0-or-later
"""Which bodies stand still, which tumble, and which are in a large island in motion, with a tolerance of its own.

A wall that stands has the digits of the scene's tolerance at no cost: the impulses of the last step are the answer. In a heap
that tumbles few of them hold for a step, and the last digits cost ten times what the first three do. So an island tumbles from
the step on in which a contact of it slides, rolls or parts faster than gravity makes it in a step. If it has many bodies, it is
an island in motion, and is solved to the tolerance in motion. Joints open by the error, so islands in motion with many joints
are solved to a tenth of that.

At the tolerance in motion the errors of a wall of twenty courses add up: the wall creeps and never sleeps. So an island settles
when all its contacts have been slow for a third of a second. Its tolerance is halved in each step down to that of the scene.
Then the island stands. Its bodies keep the distances of the motion, half a rest offset or more. Bricks that are locked in a
wall cannot all be separated further, and each attempt would set them in motion again.

A solution has an error in velocities or in momenta. An error in velocities moves bodies at rest, the next step stops them with
impulses that are no equilibrium, and these are wrong a step later. So an island that is slower than the error is stopped. Its
impulses hold it as well as any others, in every step.
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
CALM = 0.1  # of the speed that gravity gives in a step: an island whose contacts are all slower may be at rest
CALM_FOR = 1.0 / 3.0  # s: an island that has been calm for so long settles
TIGHTENED = 0.5  # the tolerance of one step over that of the step before, of an island that settles


class IslandMotion:
    """Which of n bodies tumble, and which are in a large island in motion.

    tumbling, members: (n,), as of the last step that was solved. settled: (n,) which bodies stand since an island in motion
    settled, or sleep since then.

    Both are only for Staggered Projections with proposals: the other methods are what was published.
    """

    def __init__(self, radius: Floats, settings: SolverSettings):
        """radius: (n,) m, from the centres of mass to the farthest points."""
        count, self._radius = len(radius), radius
        self.members, self.tumbling = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.settled = np.zeros(count, dtype=bool)
        # s, for how long the island of each body has been calm as the step begins, and as it ends
        self._calm, self._calm_after = np.zeros(count), np.zeros(count)
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
        flags, times = (self.tumbling, self.members, self.settled), (self._calm, self._calm_after)
        of_bodies, steps = (*flags, *times), (begin.gravity_speed, begin.h, begin.single)
        return who_tumbles(system, begin.model.dof, begin.velocities, steps, self._tolerances, of_bodies)

    def advance(self) -> None:
        """Take over the step that was looked at last."""
        self._calm = self._calm_after.copy()

    @property
    def keeps_distance(self) -> Flags:
        """(n,) the bodies whose overlaps are parted as those of islands in motion."""
        return self.members | self.settled

    def stop_what_stands(self, begin: Begin, system: System, v: Floats) -> None:
        """Velocities (dof,) := 0 of islands in which nothing is faster than the solver's error, all points of all bodies."""
        bodies = begin.offset, system.body_a, system.body_b
        stand_still(begin.model.dof, bodies, self._radius, begin.gravity_speed, self._tolerance, v)

    def rest(self) -> None:
        """Know of a step in which the solver moves nobody."""
        self.members[:] = self.tumbling[:] = False
        self._calm[:] = self._calm_after[:] = 0.0

    @property
    def still(self) -> Floats:
        """(n,) the speed of bodies that may be at rest, relative to the speed that gravity gives in a step.

        It follows from the tolerance of the scene. Bodies of a settled island may be as fast as in motion: a ball that rolls on
        a heap without rolling friction never stops. In an island in motion the error would hide a body about to fall.
        """
        return AT_REST * np.where(self.settled, self._in_motion, self._tolerance)

    def checkpoint(self) -> dict[str, NDArray]:
        """All that `restore` needs."""
        own = {"moving_members": self.members, "tumbling": self.tumbling, "settled": self.settled}
        return {name: array.copy() for name, array in own.items()} | {"calm": self._calm.copy()}

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint, also of a version that had one tolerance for all, or in which islands did not settle."""
        self.members = np.array(checkpoint.get("moving_members", np.zeros_like(self.members)))
        self.tumbling = np.array(checkpoint.get("tumbling", self.members))
        self.settled = np.array(checkpoint.get("settled", np.zeros_like(self.members)))
        self._calm = np.array(checkpoint.get("calm", np.zeros(len(self.members))))
        self._calm_after = self._calm.copy()


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
def who_tumbles(system, dof, now, steps, tolerances, of_bodies):
    """(moving,) and (moving,) as of `IslandMotion.look`, at velocities `now` (dof,) of a step.

    dof: (n,) of a `Model`. steps: m/s that gravity gives in the step; s, of the step, and of a whole one of the scene.
    tolerances: of what is in no large island in motion, of those with joints, and of the others. of_bodies: (n,) which tumble,
    which are in one, and which have settled, all of which is brought up to date; s, for how long the island of each has been
    calm as the step begins, and as it ends, of which the second is written.
    """
    (speed, h, single), (tolerance, of_joined, in_motion) = steps, tolerances
    tumbling, members, settled, calm, calm_after = of_bodies
    bodies = system.offset.size - 1
    size, fastest = np.zeros(bodies, np.int64), np.zeros(bodies)
    stirred, calm_for = np.zeros(bodies, np.bool_), np.full(bodies, np.inf)
    contacts, joints = np.zeros(bodies, np.int64), np.zeros(bodies, np.int64)
    asked, together = np.full(bodies, tolerance), np.empty(bodies, np.bool_)
    parent = np.arange(bodies)
    _look_at_islands(system, dof, now, (tumbling, calm), parent, (size, fastest, stirred, calm_for, contacts, joints))
    for i in range(dof.size):
        b = dof[i]
        tumbling[i], members[i], calm_after[i] = False, False, 0.0
        if b < 0:
            continue
        first = root(parent, b)
        together[b] = tumbling[i] = stirred[first] or fastest[first] > speed * speed
        if not tumbling[i]:
            continue
        settled[i], wanted = False, tolerance
        if size[first] > MANY and in_motion > tolerance:
            wanted = of_joined if joints[first] > 0 and joints[first] >= contacts[first] else in_motion
            if fastest[first] <= CALM * CALM * speed * speed:
                wanted *= TIGHTENED ** max((calm_for[first] - CALM_FOR) / single, 0.0)
            members[i] = wanted > tolerance
            settled[i] = not members[i]
            wanted = max(wanted, tolerance)
        if fastest[first] <= CALM * CALM * speed * speed:
            calm_after[i] = calm_for[first] + h
            if not members[i] and calm_for[first] >= CALM_FOR:
                tumbling[i], together[b], calm_after[i] = False, False, 0.0
        asked[b] = wanted
    return asked, together


@leaf_kernel
def _look_at_islands(system, dof, now, of_bodies, parent, out):
    """For the first body of each island how many there are, the square of its fastest contact, whether something in it
    tumbles, for how long all that tumbles has been calm, and how many contacts and triples of rows of joints there are.
    of_bodies: (n,) which tumble, and s, for how long they have been calm. parent: (moving,) disjoint sets."""
    (tumbling, calm), (size, fastest, stirred, calm_for, contacts, joints) = of_bodies, out
    for k in range(system.body_a.size):
        if system.body_a[k] >= 0 and system.body_b[k] >= 0:
            join(parent, system.body_a[k], system.body_b[k])
    for i in range(dof.size):
        if dof[i] >= 0:
            first = root(parent, dof[i])
            size[first] += 1
            if tumbling[i]:
                stirred[first], calm_for[first] = True, min(calm_for[first], calm[i])
    for k in range(system.mu.size):
        first = root(parent, system.body_a[k] if system.body_a[k] >= 0 else system.body_b[k])
        n, t1, t2 = relative_velocity(system, k, now)
        fastest[first] = max(fastest[first], n * n + t1 * t1 + t2 * t2)
        contacts[first] += 1
    for k in range(system.mu.size, system.body_a.size):
        joints[root(parent, system.body_a[k] if system.body_a[k] >= 0 else system.body_b[k])] += 1
