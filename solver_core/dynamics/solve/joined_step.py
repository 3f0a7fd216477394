# SPDX-License-Identifier: GPL-3.0-or-later
"""A step with joints: solved about the velocities that come out, with bonds that break and joints that yield.

Rows of joints are linear in the velocities, joints are not. So a step is solved up to `MOST_CORRECTIONS` times, each with rows
about the last solution. Bonds that exceed their strength break, the most loaded first, and the step is solved without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...problem.result import Status
from ...problem.system import System
from ...scene.spec import SolverSettings
from ..contact.build import StepProblem
from ..joints.joints import Joints, with_inertia, with_joints
from ..joints.rows import JointRows, JointStep
from ..model.bodies import RIGID, State
from ..model.island_motion import Asked, IslandMotion
from ..model.predict import Begin
from .bent_further import Solved
from .bond_graph import BondGraph
from .clusters import Bonds
from .islands import Again, Outcomes, Totals, after, island_of_each, not_begun, totals
from .joined_islands import CorrectedStep, Corrections
from .system_solver import SystemSolver

__all__ = ["JoinedStep", "Known", "Moved"]

Floats = NDArray[np.float64]

CORRECTIONS = 3  # solves of a step, each with rows of joints about the last velocities
MOST_CORRECTIONS = 6  # the same while joints are loose and their drift decreases
JOINT_DRIFT = 1e-6  # of a joint's length: drift at the end of the step that is accepted without another solve
JOINT_LOOSE = 1e-4  # of a joint's length: larger drift after the last solve means that the step is too long
JOINT_OFF = 1e-3  # of a joint's length: the same if the step may not be cut, or an end is driven and may ask for the impossible
CORRECTED = Corrections(JOINT_DRIFT, JOINT_LOOSE, CORRECTIONS, MOST_CORRECTIONS)
MOST_GAIN = 3e-2  # of the kinetic energy: joints do no work; if they add more than that, the step is too long
MOST_BOUNDED = 6  # solves with bounds on rows of joints: one, and more for coordinates with several rows
# Factors on the compliance of bounded rows, in turn. Which rows of stiff joints yield is hard to find at once; softer rows give
# the start for stiffer ones, as in the continuation of Madsen and Nielsen (1990) for Huber's function.
SOFTENED = 1e6, 1e4, 1e2
UNMOVED = 0.1  # of a motion: joints that yield contradict each other if the motion they need is within this


class Moved(Protocol):
    """The motion of a step."""

    def __call__(self, v: Floats, *, which: NDArray[np.bool_] | None = None) -> State:
        """Return the state at the end of the step, from velocities v (dof,). which: (n,) the bodies that move; None for all."""
        ...


class Known(NamedTuple):
    """The warm start of joints.

    impulse: (t, 3) N s, N m s, of all joints as they last were. bias: (t, 3) of their rows in an earlier try of the step; None
    at the first try.
    """

    impulse: Floats
    bias: Floats | None


class JointedTry(NamedTuple):
    """The input of a solve with joints, besides the joints.

    begin: the step. problem: without rows of joints. known: the warm start. may_cut: whether a shorter step may replace this
    one. moved: returns the state at the end of the step from velocities (dof,).
    """

    begin: Begin
    problem: StepProblem
    known: Known
    may_cut: bool
    moved: Moved


class Pass(NamedTuple):
    """The input of a solve with given rows of joints.

    rows: of the joints. asked: the requested accuracy.
    again: the islands to solve. bonds: of the step, None if there are none.
    """

    rows: JointRows
    asked: Asked
    again: Again
    bonds: Bonds | None


class Unfinished(NamedTuple):
    """A solved step some of whose islands have to be solved again. islands: (i,) their indices."""

    joined: Joined
    islands: NDArray[np.int64]


@dataclass(frozen=True)
class Joined:
    """A solved step with joints: the solution, (m,) the island of each triple of rows, and the outcome of each island."""

    solved: Solved
    island: NDArray[np.int64]
    outcomes: Outcomes


class JoinedStep:
    """Solves the steps of a scene with joints. breaks: (j,) bonds that broke in the last solution."""

    def __init__(self, settings: SolverSettings, joints: Joints, island_motion: IslandMotion, systems: SystemSolver) -> None:
        self._settings, self._joints, self._island_motion = settings, joints, island_motion
        self._solve_islands, self._solve_corrected = systems.solve, systems.solve_corrected
        self._can_be_cut, self._is_staggered = systems.can_be_cut, systems.is_staggered
        self.breaks = np.zeros(len(joints), np.bool_)

    def start(self) -> None:
        """Forget the bonds that broke in the last solution."""
        self.breaks = np.zeros(len(self._joints), np.bool_)

    def solve(self, begin: Begin, joints: JointStep, problem: StepProblem, known: Known, may_cut: bool, moved: Moved) -> Solved:
        """Solve the contact problem with its joints.

        Joints are first solved without bounds on their loads. Bonds that exceed their strength break, the most loaded first,
        and the step is solved again with the loads that they transmitted. Islands in which joints exceed their breaking
        impulses are solved again, with these as bounds on all their joints that can break. So a step in which no joint reaches
        its threshold has the same solution, and the same cost, as if none could break.
        """
        of_try = JointedTry(begin, problem, known, may_cut, moved)
        joined, contacts = self._solve_about(of_try, joints, None), len(problem.system.mu)
        if not joints.can_break:
            return joined.solved
        touches = np.zeros(len(self._joints), np.bool_)
        if joints.is_bond.any():
            touches = pairs_that_touch(begin.model.dof, joints.ends, problem.system)
        left = MOST_BOUNDED
        while True:
            impulse, island = joined.solved[0].impulse[contacts:], joined.island[contacts:]
            breaks, over = joints.breaking(impulse), joints.exceeding(impulse)
            # Loads of an unconverged step break nothing.
            breaks &= joined.solved[2].status == Status.SOLVED
            if not breaks.any() and (left == 0 or not over.any()):
                break
            loaded = np.unique(island[(breaks if breaks.any() else over)[joints.joint]])
            if breaks.any():
                joints = self._break_bonds(begin, joints, joined, loaded, touches)
            else:
                chosen, left = np.zeros(len(over), np.bool_), left - 1
                chosen[joints.joint[np.isin(island, loaded)]] = True
                joints = joints.bounded(chosen, impulse)
            joined = self._solve_about(of_try, joints, Unfinished(joined, loaded))
        self.breaks = np.zeros(len(self._joints), np.bool_)
        self.breaks[joints.joint[joints.has_lost]] = True
        return joined.solved

    def _break_bonds(
        self, begin: Begin, joints: JointStep, joined: Joined, loaded: NDArray[np.int64], touches: NDArray[np.bool_]
    ) -> JointStep:
        """Return the joints without the bonds that break in the step, one after the other, with the bias of all rows unchanged.

        joined: the solved step. loaded: its islands in which bonds break. touches: (j,) joints whose bodies are in contact.
        """
        problem, v, *_ = joined.solved
        problem = problem._replace(impulse=problem.impulse.copy())
        first, system = len(problem.system.mu), problem.system
        ends = system.body_a[first:], system.body_b[first:]
        rows = JointRows(*ends, system.jacobian_a[first:], system.jacobian_b[first:], system.bias[first:], system.box)
        asked = self._island_motion.look(begin, system)
        asked, v = asked.exactly(self._settings.tolerance), v.copy()
        while (breaks := joints.breaking(problem.impulse[first:])).any():
            joints = joints.without(breaks, problem.impulse[first:], touches)
            again = Again(loaded, v, not_begun(len(joined.outcomes.status)))
            v, found = self._solve_islands(begin, problem, asked, again, True, self._bonds_of(begin, joints, rows))
            if found.status != Status.SOLVED:
                break
        return joints

    def _bonds_of(self, begin: Begin, joints: JointStep, rows: JointRows) -> Bonds | None:
        """Return the bonds among the joints of a step; None if there are none. Bonds of flexible bodies, and of bodies that are
        locked in a direction, stay rows of the problem."""
        if not joints.is_bond.any():
            return None
        is_rigid = begin.model.lock[begin.awake].all(axis=1) & (np.diff(begin.offset) == RIGID)
        is_rigid = np.append(is_rigid, True)
        intact = joints.is_bond & ~joints.has_lost & is_rigid[rows.body_a] & is_rigid[rows.body_b]
        graph = BondGraph.of(rows, intact, joints.stiffness_of_rows(self._joints.stiffness), joints.position)
        return Bonds(graph, intact, joints.has_lost, joints.transmitted, JOINT_LOOSE * joints.length / begin.h, begin.h)

    def _solve_about(
        self,
        of_try: JointedTry,
        joints: JointStep,
        before: Unfinished | None,
    ) -> Joined:
        """Solve the contact problem with its joints, each time with rows of joints about the last velocities.

        If joints stay loose, a shorter step may help. If the step may not be cut, rows about the start of the step are used,
        and the joints yield.

        before: the solved step, and which of its islands to solve again with bounds on their rows; None to solve all islands of
        a step that is not solved yet. Bounded rows are solved to the tolerance of bodies at rest, since an error that motion
        hides would break a joint.
        """
        begin, problem, (held, about), may_cut, moved = of_try
        recovery = self._settings.recovery_speed
        contacts, impulse = problem.system, np.concatenate([problem.impulse, held[joints.triples]])
        pulled, inertia = joints.in_line(held[joints.triples])
        if pulled.size:
            contacts = with_inertia(contacts, pulled, inertia)
        struck = problem.system.velocity - begin.unknowns(begin.bodies.predicted)
        expected = begin.going_on(self._joints.expected(begin)) + struck
        # Rows keep the bias of an earlier try, so that islands without new contacts stay solved.
        at_end = moved(expected)
        rows = joints.rows(at_end, expected, recovery) if about is None else joints.biased_rows(about, recovery)
        bonds = self._bonds_of(begin, joints, rows)
        problem = problem._replace(system=with_joints(contacts, rows), impulse=impulse)
        islands, count = island_of_each(problem.system)
        island, asked = islands[len(contacts.mu) :], self._island_motion.look(begin, problem.system)
        which, v, out = np.arange(count), problem.system.velocity.copy(), not_begun(count)
        has_joints = flags_of(count, island)
        waiting = which[:0]
        if self._is_staggered:
            # Islands without joints wait, because loose joints may ask for a shorter step.
            (waiting,), (which,) = (~has_joints).nonzero(), has_joints.nonzero()
            out.status[waiting] = Status.MAX_ITERATIONS
        factorisations, exactly = 0, asked
        if before is not None:
            (solved, v, of_all, _), out = before[0].solved, before[0].outcomes
            which, waiting, factorisations = before[1], waiting[:0], of_all.factorisations
            out.factorisations[:] = 0
            kept, first = ~flags_of(count, which)[islands], len(contacts.mu)
            bias = np.where(kept[first:, None], solved.system.bias[first:], rows.bias)
            problem.impulse[kept] = solved.impulse[kept]
            rows = rows._replace(bias=bias)
            problem = problem._replace(system=with_joints(contacts, rows))
            if joints.has_bounds:
                of_softer = Pass(rows, asked, Again(which, v, out), bonds)
                factorisations = self._soften(begin, problem, of_softer, factorisations)
            exactly = asked.exactly(self._settings.tolerance)._replace(tumbles=np.zeros_like(asked.tumbles))
        # One kernel solves and corrects the islands with joints. The loop solves the islands that it leaves unsolved.
        followed = joints.followed(recovery) if before is None and bonds is None else None
        step = None if followed is None else CorrectedStep(begin, followed, at_end, CORRECTED)
        is_solved, drift = self._solve_corrected(problem, asked, step, Again(which, v, out))
        rows = rows._replace(bias=problem.system.bias[len(contacts.mu) :])
        rows_before, which, change, solves = rows, which[~is_solved[which]], np.inf, 0
        asked_for, of_all = flags_of(count, which), after(factorisations, totals(out))
        factorisations = of_all.factorisations
        while which.size:
            of_pass = Pass(rows, asked, Again(which, v, out), bonds)
            v, of_all = self._solve_pass(begin, problem, of_pass, exactly, joints.has_bounds)
            of_all = after(factorisations, of_all)
            factorisations, rows_before = of_all.factorisations, rows
            change = min(change, most_changed(problem.system, has_joints[islands], v - expected))
            about_answer = joints.rows(moved(v), v, recovery)
            found = joints.drift(rows_before, about_answer, problem.impulse[len(contacts.mu) :], island, count)
            solves += 1
            # Each solve reduces the drift by about the angle of rotation in the step. Solves of shorter steps would do so too.
            most = np.where(found <= JOINT_LOOSE, CORRECTIONS, MOST_CORRECTIONS)
            again = asked_for & (found > JOINT_DRIFT) & (solves < most) & (found < drift)
            drift = np.where(is_solved, drift, found)
            if not again.any():
                break
            which = np.flatnonzero(again)
            rows = rows._replace(bias=np.where(again[island][:, None], about_answer.bias, rows.bias))
            bias = np.concatenate([contacts.bias, rows.bias])
            problem = problem._replace(system=problem.system._replace(bias=bias))
        # Joints without driven ends hold if nothing moves, so a shorter step helps.
        can_be_shorter, of_joints = may_cut and not joints.are_driven, problem.impulse[len(contacts.mu) :]
        is_loose = not drift.max(initial=0.0) <= (JOINT_LOOSE if can_be_shorter else JOINT_OFF)
        if is_loose and can_be_shorter and self._can_be_cut(of_all, len(contacts.mu)):
            is_over = joints.exceeding(of_joints).any() or joints.breaking(of_joints).any()
            if not is_over:
                return Joined((problem, v, of_all, True), islands, out)
        if waiting.size:
            v, of_all = self._solve_islands(begin, problem, asked, Again(waiting, v, out))
            of_all = after(factorisations, of_all)
        gain = joints.gain(of_joints, rows_before, JOINT_DRIFT, recovery)
        if gain > 0.0:
            is_loose |= gain > MOST_GAIN * max(begin.kinetic(begin.velocities), begin.kinetic(v))
        if not is_loose or can_be_shorter:
            return Joined((problem, v, of_all, is_loose), islands, out)
        change = min(change, most_changed(problem.system, has_joints[islands], v - expected))
        problem = problem._replace(system=with_joints(contacts, joints.straight_rows(recovery)))
        out = not_begun(count)
        anew = Again(np.arange(count), problem.system.velocity.copy(), out)
        v, of_all = self._solve_islands(begin, problem, asked, anew, bonds=bonds)
        of_all = after(factorisations, of_all)
        # A shorter step would have less time to correct joints that are off already.
        at_last = most_changed(problem.system, has_joints[islands], v - expected)
        contradict = joints.off > JOINT_OFF or at_last <= UNMOVED * change
        return Joined((problem, v, of_all, may_cut and not contradict), islands, out)

    def _solve_pass(
        self,
        begin: Begin,
        problem: StepProblem,
        of_pass: Pass,
        exactly: Asked,
        has_bounds: bool,
    ) -> tuple[Floats, Totals]:
        """Solve a problem about its present rows of joints, to the tolerance `exactly` or else to that of the pass.

        If the first solve fails and rows have bounds, softer rows give the start of the second one. The solution for another
        bias is no good start, because other rows may yield.
        """
        _, asked, again, bonds = of_pass
        v, found = self._solve_islands(begin, problem, exactly, again, exactly is not asked, bonds)
        if exactly is asked or found.status == Status.SOLVED:
            return v, found
        factorisations = found.factorisations
        if has_bounds:
            factorisations = self._soften(begin, problem, of_pass, factorisations)
        v, found = self._solve_islands(begin, problem, asked, again, bonds=bonds)
        return v, after(factorisations, found)

    def _soften(
        self,
        begin: Begin,
        problem: StepProblem,
        of_softer: Pass,
        factorisations: int,
    ) -> int:
        """Improve the impulses of a problem by solving it with ever stiffer bounded rows of joints.

        Returns the number of factorisations, with those given. Methods other than Staggered Projections need no warm start.
        """
        rows, asked, again, bonds = of_softer
        if not self._is_staggered:
            return factorisations
        at = np.isfinite(rows.box[..., :2]).all(axis=2)
        for times in SOFTENED:
            box = rows.box.copy()
            box[at, 2] *= times
            softer = problem._replace(system=problem.system._replace(box=box))
            factorisations += self._solve_islands(begin, softer, asked, again, True, bonds)[1].factorisations
        return factorisations


def flags_of(count: int, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return (count,) flags that are set at the chosen indices."""
    flags = np.zeros(count, np.bool_)
    flags[chosen] = True
    return flags


def most_changed(system: System, rows: NDArray[np.bool_], change: Floats) -> float:
    """Return the largest change of the velocities that the chosen contacts or triples of rows (m,) act on. change: (dof,)."""
    bodies = np.concatenate([system.body_a[rows], system.body_b[rows]])
    acted_on = flags_of(len(system.offset) - 1, bodies[bodies >= 0])
    return float(np.abs(change)[np.repeat(acted_on, np.diff(system.offset))].max(initial=0.0))


def pairs_that_touch(dof: NDArray[np.int64], ends: NDArray[np.int64], system: System) -> NDArray[np.bool_]:
    """Return (j,) which joints connect bodies that are in contact with each other.

    dof: (n,) the index of each body in the system; -1 for bodies that it does not move, which count as one. ends: (j, 2) bodies
    of each joint, -1 for the world.
    """
    count, contacts = len(system.offset), len(system.mu)
    number = np.append(dof, -1)[ends]
    of_joints = number.min(axis=1) * count + number.max(axis=1)
    a, b = system.body_a[:contacts], system.body_b[:contacts]
    return np.isin(of_joints, np.minimum(a, b) * count + np.maximum(a, b))
