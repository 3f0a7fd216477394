# SPDX-License-Identifier: GPL-3.0-or-later
"""Classification of islands as resting, moving ("tumbling"), or large and moving, and the tolerances of each class.

A resting wall is solved to the scene's tolerance at no cost, because the impulses of the last step are the solution. In a
moving pile, few impulses stay valid, and the last digits cost ten times as much as the first three. An island is therefore
moving from the step in which the relative speed at one of its contacts exceeds the speed that gravity gives in a step. If it
has many bodies, it is a large moving island and is solved to the moving tolerance. Joints open by the error, so large moving
islands with many joints are solved to a tenth of it.

The errors of an island are relative to its velocity scale, which is at least the speed that gravity gives in a step. In a large
moving island it is at least `LEAST_SCALE` times that. A wall that was hit and is nearly at rest is locked: methods of first
order stall at an error of a thousandth of that speed, 0.04 mm/s at 240 steps a second, and Newton's method takes hundreds of
factorizations. Ten times that error is small beside the speed of a calm island, and ends when the island settles.

At the moving tolerance, the errors of a wall of twenty courses add up: the wall creeps and never sleeps. An island therefore
settles if all its contacts have been slow for a third of a second. From then on its error is a quarter of its motion, or less.
Once its motion is nothing but error, the error falls to a quarter or less in each step, down to the tolerance of the scene.
Then the island is at rest. While bricks still slide slowly, more digits would change nothing visible, and they take Newton's
method thousands of factorizations, because locked bricks exchange impulses. The bodies of a settled island keep the distances
of a large moving island, half a rest offset or more. Bricks that are locked in a wall cannot all be separated further, and each
attempt would set them in motion again.

A solution has an error in velocities or in momenta. An error in velocities moves bodies at rest. The next step stops them with
impulses that are not in equilibrium, and those are wrong a step later. An island that is slower than the error is therefore
stopped. Its impulses remain a valid solution in every step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import FALSE, kernel, leaf_kernel
from ...linalg.disjoint_sets import join, root
from ...problem.system import System, relative_velocity
from ...scene.spec import ContactMethod, SolverSettings, Staggering
from ...solvers.criteria import relative_target
from .bodies import RIGID
from .predict import Begin

__all__ = ["Asked", "BodyMotion", "GravityStep", "IslandMotion", "MotionTolerances", "classify_bodies"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MANY = 32  # bodies; smaller islands are solved to the last digits quickly
JOINED = 0.1  # fraction of the moving tolerance, for islands with at least as many triples of joint rows as contacts
LEAST_SCALE = 10.0  # least velocity scale of a large moving island, relative to that of any other island
STANDS = 10.0  # times the target of Newton's method, because errors add up from the ground to the top of a stack
AT_REST = 30.0  # times the tolerance; bodies at rest move no faster, relative to the speed that gravity gives in a step
CALM = 0.3  # fraction of the speed that gravity gives in a step; an island with slower contacts only may be at rest
CALM_FOR = 1.0 / 3.0  # s; an island that has been calm for so long settles
# Error of an island that settles, relative to its fastest contact. With a larger one a wall creeps and settles later; with a
# smaller one slow motions are solved to invisible digits, which takes thousands of factorizations in a locked wall.
PART_OF_MOTION = 0.25
# s, in which that error is halved as well, so that a wall does not creep while a ball beside it goes on rolling slowly. With a
# longer time such a wall creeps farther; with a shorter one slow motions get too many digits.
HALF_TIME = 0.25


class Asked(NamedTuple):
    """The requested accuracy of the island of each moving body.

    tolerance: (moving,) relative to the velocity scale.
    tumbles: (moving,) whether the island is moving.
    least_scale: (moving,) least velocity scale, relative to that of the system.
    """

    tolerance: Floats
    tumbles: Flags
    least_scale: Floats

    def exactly(self, tolerance: float) -> Asked:
        """Return the same islands with a tolerance that is relative to their own velocity scale."""
        return self._replace(tolerance=np.minimum(self.tolerance, tolerance), least_scale=np.ones_like(self.least_scale))


class MotionTolerances(NamedTuple):
    """Relative tolerances: of ordinary islands, of large moving islands with many joints, and of other large moving islands."""

    ordinary: float
    jointed: float
    moving: float


class GravityStep(NamedTuple):
    """The scales of a step. speed: m/s, the speed that gravity gives in it. h: s, the step."""

    speed: float
    h: float


class BodyMotion(NamedTuple):
    """The motion of the islands of n bodies, updated in each step.

    tumbling: (n,) bodies of moving islands. in_large_island: (n,) bodies of large moving islands. settled: (n,) bodies that
    rest, or sleep, since their large moving island settled. calm, calm_after: (n,) s, how long the island of each body has been
    calm at the start and at the end of the step.
    """

    tumbling: Flags
    in_large_island: Flags
    settled: Flags
    calm: Floats
    calm_after: Floats


class IslandData(NamedTuple):
    """The data of islands, each at the index of its first body, all (moving,).

    size: the number of bodies. fastest: m^2/s^2, the squared speed of the fastest contact. stirred: whether any body was
    moving. calm: s, how long all moving bodies have been calm. contacts, joints: the numbers of contacts and of triples of
    joint rows.
    """

    size: NDArray[np.int64]
    fastest: Floats
    stirred: Flags
    calm: Floats
    contacts: NDArray[np.int64]
    joints: NDArray[np.int64]


class IslandMotion:
    """The motion of islands of n bodies.

    tumbling: (n,) bodies of moving islands. members: (n,) bodies of large moving islands. Both are those of the last solved
    step. settled: (n,) bodies that rest, or sleep, since their large moving island settled.

    Only Staggered Projections with proposals use this classification; the other methods follow their publications.
    """

    def __init__(self, radius: Floats, settings: SolverSettings):
        """radius: (n,) m, from the centers of mass to the farthest points."""
        count, self._radius = len(radius), radius
        self.members, self.tumbling = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self.settled = np.zeros(count, dtype=bool)
        # s, how long the island of each body has been calm, at the start and at the end of the step
        self._calm, self._calm_after = np.zeros(count), np.zeros(count)
        self._accelerated = settings.method is ContactMethod.STAGGERED and settings.staggering is Staggering.ACCELERATED
        self._tolerance = self._in_motion = settings.tolerance
        if self._accelerated:
            self._in_motion = max(settings.tolerance, settings.moving_tolerance)
        jointed = max(self._tolerance, JOINED * self._in_motion)
        self._tolerances = MotionTolerances(self._tolerance, jointed, self._in_motion)

    def look(self, begin: Begin, system: System) -> Asked:
        """Classify the islands of a step, and update `tumbling`, `members` and `settled`."""
        moving = len(begin.offset) - 1
        if not self._accelerated:
            return Asked(np.full(moving, self._tolerance), np.zeros(moving, dtype=bool), np.ones(moving))
        motion = BodyMotion(self.tumbling, self.members, self.settled, self._calm, self._calm_after)
        step = GravityStep(begin.gravity_speed, begin.h)
        return classify_bodies(system, begin.model.dof, begin.velocities, step, self._tolerances, motion)

    def advance(self) -> None:
        """Accept the step that was classified last."""
        self._calm = self._calm_after.copy()

    @property
    def keeps_distance(self) -> Flags:
        """(n,) the bodies whose overlaps are separated with the tolerances of large moving islands."""
        return self.members | self.settled

    def stop_what_stands(self, begin: Begin, system: System, stretch: Floats, v: Floats) -> None:
        """Set the velocities v (dof,) to zero in islands in which no rigid body moves faster than the solver's error.

        stretch: (m, 2) of the rows of the contacts along and across a grain, as of a `StepProblem`.
        """
        stand_still(system, begin.model.dof, stretch, self._radius, begin.gravity_speed, self._tolerance, v)

    def rest(self) -> None:
        """Record a step in which the solver moves no body."""
        self.members[:] = self.tumbling[:] = False
        self._calm[:] = self._calm_after[:] = 0.0

    @property
    def still(self) -> Floats:
        """(n,) the largest speed of a body at rest, relative to the speed that gravity gives in a step.

        It follows from the tolerance of the scene. In a settled island it follows from the moving tolerance, because a ball on
        a pile without rolling friction never stops. In a large moving island that error would hide a body that starts to fall.
        """
        return AT_REST * np.where(self.settled, self._in_motion, self._tolerance)

    def checkpoint(self) -> dict[str, NDArray]:
        """Return copies of all arrays that `restore` needs."""
        arrays = {"moving_members": self.members, "tumbling": self.tumbling, "settled": self.settled}
        return {name: array.copy() for name, array in arrays.items()} | {"calm": self._calm.copy()}

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Continue from a checkpoint, which may lack some of these arrays if an earlier version wrote it."""
        self.members = np.array(checkpoint.get("moving_members", np.zeros_like(self.members)))
        self.tumbling = np.array(checkpoint.get("tumbling", self.members))
        self.settled = np.array(checkpoint.get("settled", np.zeros_like(self.members)))
        self._calm = np.array(checkpoint.get("calm", np.zeros(len(self.members))))
        self._calm_after = self._calm.copy()


@kernel
def stand_still(system, dof, stretch, radius, gravity_speed, tolerance, v):
    """Set the velocities v (dof,) of rigid bodies to zero in islands in which no point of a rigid body is faster than a limit.

    The limit is `STANDS` times the target of the solver at the tolerance, relative to the speed that gravity gives in a step.
    On a grain, the solver's errors are those of stretched rows, so the limit of such an island is larger. Flexible bodies are
    not stopped, because they may oscillate as slowly.

    Parameters
    ----------
    system : the contact problem, with joints
    dof : (n,) of a `Model`
    stretch : (m, 2) of the rows of the contacts along and across a grain
    radius : (n,) m, from the centers of mass to the farthest points
    gravity_speed : m/s
    tolerance : relative, of the scene
    v : (dof,) m/s and rad/s, updated
    """
    offset, body_a, body_b = system.offset, system.body_a, system.body_b
    slow, parent = STANDS * relative_target(tolerance, FALSE) * gravity_speed, np.arange(offset.size - 1)
    for k in range(body_a.size):
        if body_a[k] >= 0 and body_b[k] >= 0:
            join(parent, body_a[k], body_b[k])
    fastest, least_stretch = np.zeros(parent.size), np.ones(parent.size)
    for k in range(stretch.shape[0]):
        first = root(parent, body_a[k] if body_a[k] >= 0 else body_b[k])
        for row in stretch[k]:
            least_stretch[first] = min(least_stretch[first], row) if row > 0.0 else least_stretch[first]
    for b in range(dof.size):
        if dof[b] < 0 or offset[dof[b] + 1] - offset[dof[b]] != RIGID:
            continue
        twist, first = v[offset[dof[b]] : offset[dof[b] + 1]], root(parent, dof[b])
        straight = np.sqrt(twist[0] * twist[0] + twist[1] * twist[1] + twist[2] * twist[2])
        turning = np.sqrt(twist[3] * twist[3] + twist[4] * twist[4] + twist[5] * twist[5])
        fastest[first] = max(fastest[first], straight + radius[b] * turning)
    for d in range(parent.size):
        first = root(parent, d)
        if offset[d + 1] - offset[d] == RIGID and fastest[first] * least_stretch[first] <= slow:
            v[offset[d] : offset[d + 1]] = 0.0


@kernel
def classify_bodies(system, dof, now, step, tolerances, motion):
    """Return `Asked` as `IslandMotion.look` does.

    Parameters
    ----------
    system : the contact problem, with joints
    dof : (n,) of a `Model`
    now : (dof,) velocities at the start of the step
    step : `GravityStep`
    tolerances : `MotionTolerances`
    motion : `BodyMotion`; all but `calm` are written
    """
    speed, tolerance, in_motion = step.speed, tolerances.ordinary, tolerances.moving
    tumbling, members, settled, calm_after = motion.tumbling, motion.in_large_island, motion.settled, motion.calm_after
    bodies = system.offset.size - 1
    size, fastest = np.zeros(bodies, np.int64), np.zeros(bodies)
    stirred, calm_for = np.zeros(bodies, np.bool_), np.full(bodies, np.inf)
    contacts, joints = np.zeros(bodies, np.int64), np.zeros(bodies, np.int64)
    required, together, least_scale = np.full(bodies, tolerance), np.empty(bodies, np.bool_), np.ones(bodies)
    parent = np.arange(bodies)
    islands = IslandData(size, fastest, stirred, calm_for, contacts, joints)
    _collect_islands(system, dof, now, motion, parent, islands)
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
            wanted = tolerances.jointed if joints[first] > 0 and joints[first] >= contacts[first] else in_motion
            if fastest[first] <= CALM * CALM * speed * speed and calm_for[first] >= CALM_FOR:
                # Without gravity, only an island without any motion is calm.
                of_motion = PART_OF_MOTION * np.sqrt(fastest[first]) / (LEAST_SCALE * speed) if fastest[first] > 0.0 else 0.0
                wanted = min(wanted, of_motion * 0.5 ** ((calm_for[first] - CALM_FOR) / HALF_TIME))
            members[i] = wanted > tolerance
            least_scale[b] = LEAST_SCALE if members[i] else 1.0
            settled[i] = not members[i]
            wanted = max(wanted, tolerance)
        if fastest[first] <= CALM * CALM * speed * speed:
            calm_after[i] = calm_for[first] + step.h
            if not members[i] and calm_for[first] >= CALM_FOR:
                tumbling[i], together[b], calm_after[i] = False, False, 0.0
        required[b] = wanted
    return Asked(required, together, least_scale)


@leaf_kernel
def _collect_islands(system, dof, now, motion, parent, out):
    """Collect the data of each island.

    Parameters
    ----------
    system : the contact problem, with joints
    dof : (n,) of a `Model`
    now : (dof,) velocities at the start of the step
    motion : `BodyMotion` at the start of the step
    parent : (moving,) disjoint sets of bodies, updated
    out : `IslandData`; `calm` is infinite and the other arrays are zero before
    """
    tumbling, calm, size, fastest, stirred = motion.tumbling, motion.calm, out.size, out.fastest, out.stirred
    calm_for, contacts, joints = out.calm, out.contacts, out.joints
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
