# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages build, solve and separate: a step's contact problem, with joints in it, solved by the method that was chosen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...problem.ellipse import Disks
from ...problem.result import Status
from ...problem.system import System
from ...scene.spec import ContactMethod, SceneSpec, SolverSettings
from ...solvers.coulomb.cascade import VARIANTS
from ...solvers.effort import deadline_timer, effort_of_a_step, is_worked_off
from ..contact.bent import with_modes
from ..contact.build import NO_TURNING, Beyond, StepProblem, build_system
from ..contact.material_rules import rules_of
from ..contact.memory import ContactMemory, remember
from ..contact.rebounds import lowered, taken
from ..contact.rolling import Rolling
from ..contact.surface_motion import Surfaces
from ..joints.joints import Joints, with_inertia, with_joints
from ..joints.rows import JointRows, JointStep
from ..model.bodies import RIGID, State
from ..model.island_motion import IslandMotion
from ..model.large_bends import LargeBends
from ..model.predict import Begin
from .bent_further import Solved, followed_part, solve_bent
from .bond_graph import BondGraph
from .clusters import Bonds, Clustered
from .energy_step import solve_islands_by_energy
from .islands import Again, Error, Outcomes, Requests, Totals, island_of_each, not_begun, solve_islands, totals
from .kicked import solve_with_kicks
from .moments import Moments, WithMoments, lengths_of, moments_of_step, of_some, recall_moments, remembered_moments
from .outcome import Solution
from .pivot_step import sliding_directions, solve_islands_by_pivoting
from .propagation import Blow, pass_on
from .separation import separation

__all__ = ["Known", "StepSolver"]

Floats = NDArray[np.float64]

CORRECTIONS = 3  # times that a step is solved, each with joints about the velocities that came out
MOST_CORRECTIONS = 6  # the same where joints are loose after that, but come nearer
JOINT_DRIFT = 1e-6  # of a joint's length: what it may be off at a step's end, or the step is solved once more
JOINT_LOOSE = 1e-4  # of it: what it may be off after that, or the step is too long
JOINT_OFF = 1e-3  # of it: the same where a shorter step may be none, or an end is driven, which could ask for what cannot be
LOWERED_FURTHER = 1e-6  # of a rebound: by how much it is lowered at first beyond what its energy asks for; then ten times more
LOWERINGS = 6  # times that bounces which give too much are lowered; the last time to none
MOST_GAIN = 3e-2  # of the energy of motion: what joints, which do no work, may give in a step, or it is too long
MOST_BOUNDED = 6  # times that a step is solved with bounds on rows: once, and for coordinates with several rows again
# Times the compliance of rows with bounds, one after the other: which rows of stiff joints yield is hard to find at once, and
# follows from softer ones, as in the continuation of Madsen and Nielsen (1990) for Huber's function.
SOFTENED = 1e6, 1e4, 1e2
IMPACT_TOLERANCE = 1e-8  # of impacts that follow each other: each begins with what those before it left over
CALM = 0.1  # of a motion: where joints that give way need no more than that, they contradict each other

# the impulses (t, 3) of all joints as they last were, and the bias of their rows in an earlier try of the step, if there was
Known = tuple[Floats, Floats | None]
Moved = Callable[[Floats], State]  # the state at a step's end, of velocities (dof,)
# all that a step is solved of
Try = tuple[Begin, State, JointStep | None, ContactMemory, Known, Moved, ContactSet]
# `Solved`, and (m,) which contacts with restitution push at the rebounds that were asked for
Outcome = tuple[StepProblem, Floats, Totals, bool, NDArray[np.bool_]]


class Begun(NamedTuple):
    """What a solve of islands begins with, beside the system and its impulses.

    now: (dof,) velocities as the step begins. asked: the tolerance of each body that moves, and which have tumbled. again:
    which islands are to be solved, and what became of the others; None for all anew. is_start: whether another solve begins
    with what comes out.
    """

    now: Floats
    asked: tuple[Floats, NDArray[np.bool_]]
    again: Again | None
    is_start: bool


@dataclass(frozen=True)
class Joined:
    """A step with joints as it was solved: `Solved`, (m,) the island of each triple of rows, and what became of each island."""

    solved: Solved
    island: NDArray[np.int64]
    outcomes: Outcomes


class StepSolver:
    """Solves the contact problems of a scene's steps, one after the other, each within its effort."""

    def __init__(
        self,
        spec: SceneSpec,
        settings: SolverSettings,
        joints: Joints,
        surfaces: Surfaces,
        island_motion: IslandMotion,
        rolling: Rolling,
        threads: int,
        see: Callable[[System, Floats], object] | None = None,
    ) -> None:
        """see: is shown each problem and the impulses that it begins with, before it is solved."""
        self._settings, self._joints, self._surfaces, self._island_motion = settings, joints, surfaces, island_motion
        self._deformation = surfaces.deformation
        self._rolling, self._threads, self._see = rolling, threads, see
        self._rules = rules_of(spec)
        self._lengths = lengths_of(spec)
        self._moments: Moments | None = None  # of the contacts of the problem that is in work
        self._breaks = np.zeros(len(joints), np.bool_)  # the bonds that break in the solution that was found last
        self._effort = effort_of_a_step()
        self._deadline = np.inf
        self._fall = 0.0  # m/s, what gravity gives in the step that is in work
        self._is_staggered = settings.method is ContactMethod.STAGGERED
        self._options = settings.max_iterations, settings.polygon_sides, VARIANTS[settings.staggering.value]

    def one_step(self) -> AbstractContextManager[None]:
        """What is solved in here is a step's, and shares its bounds on work and time."""
        seconds = self._settings.step_time_limit or np.inf
        self._deadline = perf_counter() + seconds
        return deadline_timer(self._effort, seconds)

    def solve(
        self,
        begin: Begin,
        state: State,
        joints: JointStep | None,
        memory: ContactMemory,
        known: Known,
        moved: Moved,
        contacts: ContactSet,
        bounces: bool = True,
    ) -> Solution:
        """Build the contact problem, solve it island by island, and part what overlaps.

        state: as the step begins. memory: what is known of the impulses of contacts. known: those of all joints, and the
        bias of their rows in an earlier try of the step. bounces: whether what meets bounces, where all that does can; a step
        with joints that is not to bounce is not to be cut either.
        """
        self._deformation.bend(state.modal)
        of_try = begin, state, joints, memory, known, moved, contacts
        solution = self._solve(of_try, bounces)
        if not bounces or solution.totals.status != Status.INFEASIBLE:
            return solution
        # perhaps a bounce off one body into another
        return self._solve(of_try, False)

    def _solve(self, of_try: Try, bounces: bool) -> Solution:
        """`solve`, with bounces or without."""
        begin, state, joints, memory, known, moved, contacts = of_try
        self._fall = begin.gravity_speed
        held, about = known
        # a bounce off one body into another, both in this step, has no solution that keeps to both
        least_bounce = begin.least_bounce if bounces else np.inf
        problem = self._posed(begin, state, contacts, memory, least_bounce, moved)
        self._moments = self._moments_of(begin, contacts, problem)
        if not self._settings.warm_start:
            problem.impulse[:], held = 0.0, np.zeros_like(held)
        elif self._moments is not None:
            recall_moments(self._moments, memory, contacts)
        blow, gave_way, joints = self._pass_on_to_thresholds(begin, joints, contacts, problem, least_bounce)
        system = blow.problem.system
        joints = joints if joints is None else joints.after(blow.impulse[len(contacts) :])
        self._breaks = np.zeros(len(self._joints), np.bool_)
        of_joints = joints, (held, about)
        problem, v, totals, is_loose, pushes = self._solve_bounces(begin, blow.problem, of_joints, bounces, moved)
        self._island_motion.stop_what_stands(begin, problem.system, v)
        totals = after(blow.factorisations, totals)
        remembered = problem.approach, taken(problem, v)
        problem.impulse[:] += blow.impulse
        box, bias = problem.system.box, problem.system.bias[len(contacts) :]
        if joints is not None:
            gave_way |= joints.giving_way(problem.impulse[len(contacts) :] - blow.impulse[len(contacts) :], box) | self._breaks
            held = np.zeros_like(held)
            held[joints.triples] = problem.impulse[len(contacts) :]
            box = joints.holding(box)
        speed, joined = self._settings.recovery_speed, (self._joints.pairs, box)
        means = self._effort, problem.parting
        in_motion = self._island_motion.keeps_distance
        if is_loose and self._can_be_cut(totals, len(contacts)):
            # nothing of it will be kept
            apart, parting = np.zeros(len(v)), np.zeros(len(contacts))
        else:
            apart, parting = separation(begin, problem.system, contacts, joined, v, speed, in_motion, means)
        twist = begin.all_twists(v + apart)
        impulse = remember(problem.axes, problem.impulse[: len(contacts)])
        moment = remembered_moments(self._moments, len(contacts))
        before = problem.approach_before, problem.taken_before
        which = contacts.body_a, contacts.body_b, contacts.feature
        kept = ContactMemory(*which, impulse, contacts.normal, moment, *before, parting)
        worked_off = is_worked_off(self._effort, len(contacts))
        found = totals, worked_off, problem.axes, is_loose, gave_way
        bounces_off = problem.restitution, pushes, blow.struck
        return Solution(contacts, system, v, apart, twist, kept, held, bias, *remembered, *bounces_off, *found, problem.stretch)

    def _posed(
        self, begin: Begin, state: State, contacts: ContactSet, memory: ContactMemory, least_bounce: float, moved: Moved
    ) -> StepProblem:
        """The contact problem of the step, without joints; what rolls has it about the motion of the last step's impulses."""
        where = contacts.body_a, contacts.body_b, contacts.point, state.position, begin.bodies.rotation
        drift = self._surfaces.drift(contacts, state.position, begin.bodies, begin.h)
        modes = None if begin.bend is None else self._deformation.modes_at(*where)
        bent = 0.0 if modes is None else self._deformation.bent_drift(*where[:2], modes, state.modal_velocity)
        known = memory, self._rules, least_bounce, self._joints.held
        rolls, twist = self._rolling.contacts(begin, state, contacts, memory)
        turning = NO_TURNING, NO_TURNING, rolls
        if np.count_nonzero(rolls):
            moved_on = moved(begin.unknowns(twist))
            turning = self._rolling.turning(begin, state, moved_on, twist, contacts, rolls)
        beyond = Beyond(drift if modes is None else drift + bent, *turning)
        problem = build_system(begin, state, contacts, beyond, *known)
        return with_modes(problem, begin, contacts, modes, bent)

    def _moments_of(self, begin: Begin, contacts: ContactSet, problem: StepProblem) -> Moments | None:
        """What the contacts of a problem bear of rolling and torsional friction; None where they bear nothing."""
        if self._lengths.are_zero or not len(contacts):
            return None
        spin = self._surfaces.motions.spin(contacts, begin.bodies.rotation) if len(self._surfaces.motions) else None
        return moments_of_step(self._lengths, begin.model, contacts, problem.axes, begin.bodies.twist, spin)

    def _pass_on_to_thresholds(
        self, begin: Begin, joints: JointStep | None, contacts: ContactSet, problem: StepProblem, least_bounce: float
    ) -> tuple[Blow, NDArray[np.bool_], JointStep | None]:
        """The impacts of bodies that touch, in which joints transmit no more than their thresholds; (j,) which of them transmit
        these; and the joints without the bonds that break."""
        m, none = len(contacts), np.zeros(len(self._joints), np.bool_)
        blow = self._pass_on(begin, joints, contacts, problem, least_bounce)
        if joints is None:
            return blow, none, joints
        while (breaks := joints.breaking(blow.impulse[m:])).any():
            joints = joints.without(breaks, blow.impulse[m:], none)
            blow = self._pass_on(begin, joints, contacts, problem, least_bounce)
        lost = none.copy()
        lost[joints.joint[joints.has_lost]] = True
        if not joints.exceeding(blow.impulse[m:]).any():
            return blow, lost, joints
        bounded = joints.bounded(~none, blow.impulse[m:])
        blow = self._pass_on(begin, bounded, contacts, problem, least_bounce)
        box = bounded.straight_rows(begin.force_time, self._settings.recovery_speed).box
        return blow, lost | bounded.giving_way(blow.impulse[m:], box), joints

    def _pass_on(
        self, begin: Begin, joints: JointStep | None, contacts: ContactSet, problem: StepProblem, least_bounce: float
    ) -> Blow:
        """The impacts of bodies that touch, before the step is solved."""
        system = problem.system
        if not problem.elastic or not (system.slack < 0.0).any():
            return Blow.none(problem, 0 if joints is None else len(joints.triples))
        if joints is not None:
            rows = joints.straight_rows(begin.force_time, self._settings.recovery_speed)
            system = with_joints(system, rows._replace(box=joints.holding(rows.box)))

        def solve_once(bounce: StepProblem) -> Solved:
            return bounce, *self._solve_islands(begin, bounce, of_impacts(begin)), False

        of_step = self._moments

        def solve(bounce: StepProblem, chosen: NDArray[np.int64]) -> tuple[Floats, Floats, int] | None:
            self._moments = None if of_step is None else of_some(of_step, chosen)
            solved, v, totals, *_ = solve_lowered(bounce, solve_once)
            is_solved = totals.status == Status.SOLVED or totals.errors[Error.WORST] <= self._settings.tolerance
            return (v, solved.impulse, totals.factorisations) if is_solved else None

        blow = pass_on(begin, contacts, problem, system, least_bounce, solve)
        self._moments = of_step
        return blow

    def _solve_bounces(
        self, begin: Begin, problem: StepProblem, of_joints: tuple[JointStep | None, Known], may_cut: bool, moved: Moved
    ) -> Outcome:
        """Solve the contact problem, with joints if there are some, and again where bounces give more than was taken."""
        joints, known = of_joints

        def solve_once(problem: StepProblem) -> Solved:
            if joints is None:
                return problem, *self._solve_islands(begin, problem, self._island_motion.look(begin, problem.system)), False
            return self._solve_joined(begin, joints, problem, known, may_cut, moved)

        bend, crowd = begin.bend, self._island_motion.members
        if isinstance(bend, LargeBends):

            def is_cut(v: Floats) -> bool:
                return may_cut and followed_part(begin, bend, crowd, v) < begin.h

            return solve_lowered(problem, lambda posed: solve_bent(begin, bend, solve_once, posed, is_cut))
        return solve_lowered(problem, solve_once)

    def _solve_joined(
        self, begin: Begin, joints: JointStep, problem: StepProblem, known: Known, may_cut: bool, moved: Moved
    ) -> Solved:
        """Solve the contact problem with joints in it.

        Joints hold whatever they bear at first. Bonds that would transmit more than their strength break, the most loaded
        first, and the step is solved again with what they transmit. Islands in which joints would transmit more than their
        breaking impulses are solved again, with these as bounds on all their joints that can break. So a step in which no joint
        reaches its threshold is what it would be if none could break, and costs no more.
        """
        of_try = begin, problem, known, may_cut, moved
        joined, contacts = self._solve_about(of_try, joints, None), len(problem.system.mu)
        touches = np.zeros(len(self._joints), np.bool_)
        if joints.is_bond.any():
            touches = pairs_that_touch(begin.model.dof, joints.ends, problem.system)
        left = MOST_BOUNDED
        while True:
            impulse, island = joined.solved[0].impulse[contacts:], joined.island[contacts:]
            breaks, over = joints.breaking(impulse), joints.exceeding(impulse)
            # loads of a step that is missed are none to break by
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
            joined = self._solve_about(of_try, joints, (joined, loaded))
        self._breaks = np.zeros(len(self._joints), np.bool_)
        self._breaks[joints.joint[joints.has_lost]] = True
        return joined.solved

    def _break_bonds(
        self, begin: Begin, joints: JointStep, joined: Joined, loaded: NDArray[np.int64], touches: NDArray[np.bool_]
    ) -> JointStep:
        """The joints of a step without the bonds that break in it, one after the other, with the same bias of all rows.

        joined: the step as it was solved. loaded: its islands in which bonds break. touches: (j,) joints between whose bodies
        there are contacts.
        """
        problem, v, *_ = joined.solved
        problem = problem._replace(impulse=problem.impulse.copy())
        first, system = len(problem.system.mu), problem.system
        ends = system.body_a[first:], system.body_b[first:]
        rows = JointRows(*ends, system.jacobian_a[first:], system.jacobian_b[first:], system.bias[first:], system.box)
        asked = self._island_motion.look(begin, system)
        asked, v = (np.minimum(asked[0], self._settings.tolerance), asked[1]), v.copy()
        while (breaks := joints.breaking(problem.impulse[first:])).any():
            joints = joints.without(breaks, problem.impulse[first:], touches)
            again = loaded, v, not_begun(len(joined.outcomes.status))
            v, found = self._solve_islands(begin, problem, asked, again, True, self._bonds_of(begin, joints, rows))
            if found.status != Status.SOLVED:
                break
        return joints

    def _bonds_of(self, begin: Begin, joints: JointStep, rows: JointRows) -> Bonds | None:
        """The bonds among the joints of a step; None where there are none. Bonds of bodies that bend, or that are locked in a
        direction, stay rows of the problem."""
        if not joints.is_bond.any():
            return None
        is_rigid = begin.model.lock[begin.awake].all(axis=1) & (np.diff(begin.offset) == RIGID)
        is_rigid = np.append(is_rigid, True)
        intact = joints.is_bond & ~joints.has_lost & is_rigid[rows.body_a] & is_rigid[rows.body_b]
        graph = BondGraph.of(rows, intact, joints.stiffness_of_rows(self._joints.stiffness), joints.position)
        return Bonds(graph, intact, joints.has_lost, joints.transmitted, JOINT_LOOSE * joints.length / begin.h, begin.h)

    def _solve_about(
        self,
        of_try: tuple[Begin, StepProblem, Known, bool, Moved],
        joints: JointStep,
        before: tuple[Joined, NDArray[np.int64]] | None,
    ) -> Joined:
        """Solve the contact problem with joints in it, about velocities that come nearer to the answer each time; whether they
        did not, which a shorter step could mend. Where it may not be cut, joints are then straight, and give way.

        before: the step as it was solved already, and which of its islands are to be solved again, with bounds on their rows;
        None for all islands, of a step that was not. Bounds are met at the tolerance of what stands: an error that motion hides
        would break a joint.
        """
        begin, problem, (held, about), may_cut, moved = of_try
        limits = begin.force_time, self._settings.recovery_speed
        contacts, impulse = problem.system, np.concatenate([problem.impulse, held[joints.triples]])
        pulled, inertia = joints.in_line(held[joints.triples])
        if pulled.size:
            contacts = with_inertia(contacts, pulled, inertia)
        struck = problem.system.velocity - begin.unknowns(begin.bodies.predicted)
        expected = begin.going_on(self._joints.expected(begin)) + struck
        # what an earlier try solved, and new contacts leave alone, is solved
        rows = joints.rows(moved(expected), expected, *limits) if about is None else joints.biased_rows(about, *limits)
        bonds = self._bonds_of(begin, joints, rows)
        problem = problem._replace(system=with_joints(contacts, rows), impulse=impulse)
        islands, count = island_of_each(problem.system)
        island, asked = islands[len(contacts.mu) :], self._island_motion.look(begin, problem.system)
        which, v, out = np.arange(count), problem.system.velocity.copy(), not_begun(count)
        waiting, is_jointed = which[:0], moved_in(problem.system, np.isin(islands, island))
        if self._is_staggered:
            # islands without joints wait until it is known that the joints need no shorter step
            waiting, which = np.setdiff1d(which, island), np.unique(island)
            out.status[waiting] = Status.MAX_ITERATIONS
        factorisations, exactly = 0, asked
        if before is not None:
            (solved, v, totals, _), out = before[0].solved, before[0].outcomes
            which, waiting, factorisations = before[1], waiting[:0], totals.factorisations
            kept, first = ~np.isin(islands, which), len(contacts.mu)
            bias = np.where(kept[first:, None], solved.system.bias[first:], rows.bias)
            problem.impulse[kept] = solved.impulse[kept]
            rows = rows._replace(bias=bias)
            problem = problem._replace(system=with_joints(contacts, rows))
            if joints.has_bounds:
                of_softer = rows, asked, (which, v, out), bonds
                factorisations = self._soften(begin, problem, of_softer, factorisations)
            exactly = np.minimum(asked[0], self._settings.tolerance), np.zeros_like(asked[1])
        asked_for, drift, change, solves = np.isin(np.arange(count), which), np.full(count, np.inf), np.inf, 0
        while True:
            v, totals = self._solve_islands(begin, problem, exactly, (which, v, out), exactly is not asked, bonds)
            if exactly is not asked and totals.status != Status.SOLVED:
                factorisations += totals.factorisations
                v, totals = self._solve_islands(begin, problem, asked, (which, v, out), bonds=bonds)
            totals = after(factorisations, totals)
            factorisations, rows_before = totals.factorisations, rows
            change = min(change, np.abs(v - expected)[is_jointed].max(initial=0.0))
            about_answer = joints.rows(moved(v), v, *limits)
            found = joints.drift(rows_before, about_answer, problem.impulse[len(contacts.mu) :], island, count)
            solves += 1
            # what turns by an angle in the step comes nearer by about that factor; parts of it would take as many solves each
            most = np.where(found <= JOINT_LOOSE, CORRECTIONS, MOST_CORRECTIONS)
            again = asked_for & (found > JOINT_DRIFT) & (solves < most) & (found < drift)
            drift = found
            if not again.any():
                break
            which = np.flatnonzero(again)
            rows = rows._replace(bias=np.where(again[island][:, None], about_answer.bias, rows.bias))
            bias = np.concatenate([contacts.bias, rows.bias])
            problem = problem._replace(system=problem.system._replace(bias=bias))
        is_loose = not drift.max(initial=0.0) <= (JOINT_LOOSE if may_cut and not joints.are_driven else JOINT_OFF)
        of_joints = problem.impulse[len(contacts.mu) :]
        is_over = joints.exceeding(of_joints).any() or joints.breaking(of_joints).any()
        if is_loose and may_cut and not joints.are_driven and not is_over and self._can_be_cut(totals, len(contacts.mu)):
            return Joined((problem, v, totals, True), islands, out)
        if waiting.size:
            v, totals = self._solve_islands(begin, problem, asked, (waiting, v, out))
            totals = after(factorisations, totals)
        straight = joints.straight_rows(*limits)
        gain = joints.gain(problem.impulse[len(contacts.mu) :], rows_before, straight, JOINT_DRIFT)
        if gain > 0.0:
            is_loose |= gain > MOST_GAIN * max(begin.kinetic(begin.velocities), begin.kinetic(v))
        # to stay where they are keeps all joints whose ends nobody drives apart, so that a shorter step mends it
        if not is_loose or (may_cut and not joints.are_driven):
            return Joined((problem, v, totals, is_loose), islands, out)
        problem = problem._replace(system=with_joints(contacts, straight))
        out = not_begun(count)
        anew = np.arange(count), problem.system.velocity.copy(), out
        v, totals = self._solve_islands(begin, problem, asked, anew, bonds=bonds)
        totals = after(factorisations, totals)
        # what is off already, a shorter step would have to make good in less time
        contradict = joints.off > JOINT_OFF or np.abs(v - expected)[is_jointed].max(initial=0.0) <= CALM * change
        return Joined((problem, v, totals, may_cut and not contradict), islands, out)

    def _can_be_cut(self, totals: Totals, contacts: int) -> bool:
        """Whether a step of so many contacts that came out like this may come out better if it is shorter."""
        return totals.status not in (Status.INFEASIBLE, Status.TIME_LIMIT) and not is_worked_off(self._effort, contacts)

    def _soften(
        self,
        begin: Begin,
        problem: StepProblem,
        of_softer: tuple[JointRows, tuple[Floats, NDArray[np.bool_]], Again, Bonds | None],
        factorisations: int,
    ) -> int:
        """Bring the impulses of a problem near its answer by solving it with ever stiffer rows of joints that have bounds.

        Returns how many factorisations there were, with those before. Other methods than Staggered Projections need no start.
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

    def _solve_islands(
        self,
        begin: Begin,
        problem: StepProblem,
        asked: tuple[Floats, NDArray[np.bool_]],
        again: Again | None = None,
        is_start: bool = False,
        bonds: Bonds | None = None,
    ) -> tuple[Floats, Totals]:
        """Solve the contact problem, its impulse being warm start and answer; velocities (dof,). asked: the tolerance (moving,)
        of bodies, and which have tumbled. again: as of `solve_islands`; published methods solve all islands whatever is solved
        already. is_start: whether another solve begins with what comes out, so that nothing is kicked. bonds: of the step,
        whose clusters move as one body each; None where there are none."""
        of_solve = Begun(begin.velocities, asked, again, is_start)
        if self._rules.grains.are_none:
            return self._solve_clusters(problem.system, problem.impulse, of_solve, bonds)
        disks = Disks.of(problem.system, problem.stretch)
        impulse = disks.impulse(problem.impulse)
        v, totals = self._solve_clusters(disks.system, impulse, of_solve, bonds)
        problem.impulse[:] = disks.undone(impulse)
        return v, totals

    def _solve_clusters(self, system: System, impulse: Floats, begun: Begun, bonds: Bonds | None) -> tuple[Floats, Totals]:
        """As `_solve_islands`, of a system whose friction is the same in all directions; impulse (m, 3): warm start, answer."""
        if bonds is None:
            return self._solve_with_moments(system, impulse, self._moments, begun)
        clustered, again = Clustered.of(system, bonds), begun.again
        exact = np.minimum(begun.asked[0], self._settings.tolerance)
        of_clusters, whose = (None, None) if again is None else clustered.again(again)
        of_solve = Begun(
            clustered.gathered_velocities(begun.now),
            (clustered.asked(begun.asked[0], exact), clustered.asked(begun.asked[1], begun.asked[1])),
            of_clusters,
            begun.is_start,
        )
        own, moments = impulse[clustered.kept], self._moments
        if moments is None:
            v, found = self._solve_with_moments(clustered.system, own, None, of_solve)
        else:
            which = clustered.bears(moments)
            of_kept = clustered.moments(moments, which)
            v, found = self._solve_with_moments(clustered.system, own, of_kept, of_solve)
            moments.impulse[which] = of_kept.impulse
        v = clustered.velocities(v)
        impulse[:] = clustered.impulses(v, own)
        if again is None or of_clusters is None or whose is None:
            return v, found
        again[1][:] = v
        if not self._is_staggered:
            return v, found
        clustered.take_outcomes(of_clusters[2], of_clusters[0], whose, again)
        return v, totals(again[2])

    def _solve_with_moments(
        self, system: System, impulse: Floats, moments: Moments | None, begun: Begun
    ) -> tuple[Floats, Totals]:
        """As `_solve_clusters`, of a system without bonds whose contacts bear moments; these are warm start and answer too."""
        now, asked, again, is_start = begun
        if moments is None or not len(moments.contact):
            return self._solve_system(system, impulse, now, asked, again, is_start)
        wider = WithMoments.of(system, moments)
        own, then = wider.impulse(impulse), wider.velocities(now)
        of_wider = None if again is None else wider.again(again)
        v, found = self._solve_system(wider.system, own, then, asked, of_wider, is_start)
        impulse[:] = wider.without(own)
        wider.keep(own)
        if again is not None:
            again[1][:] = v[wider.columns]
            again[2].worst_contact[:] = wider.of_contacts(again[2].worst_contact)
        worst = wider.of_contacts(np.array([found.worst_contact]))
        return v[wider.columns], found._replace(worst_contact=int(worst[0]))

    def _solve_system(
        self,
        system: System,
        impulse: Floats,
        now: Floats,
        asked: tuple[Floats, NDArray[np.bool_]],
        again: Again | None,
        is_start: bool,
    ) -> tuple[Floats, Totals]:
        """Solve a system by the method that was chosen.

        impulse: warm start and answer. now: (dof,) velocities as the step begins. All else is as in `_solve_islands`.
        """
        settings = self._settings
        if self._see is not None:
            self._see(system, impulse)
        if self._is_staggered:
            requests = Requests(*asked, *self._options)
            if is_start:
                return solve_islands(system, impulse, requests, self._effort, self._threads, again)
            return solve_with_kicks(solve_islands, system, impulse, requests, self._effort, self._threads, again)
        limits = settings.tolerance, settings.max_iterations
        if settings.method is ContactMethod.PIVOT:
            direction = sliding_directions(system, now, self._fall)
            return solve_islands_by_pivoting(system, direction, impulse, *limits, self._deadline)
        return solve_islands_by_energy(system, impulse, *limits, self._deadline)


def moved_in(system: System, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(dof,) the velocities that some contacts or triples of rows (m,) act on."""
    bodies = np.concatenate([system.body_a[rows], system.body_b[rows]])
    acted_on = np.zeros(len(system.offset) - 1, np.bool_)
    acted_on[bodies[bodies >= 0]] = True
    return np.repeat(acted_on, np.diff(system.offset))


def pairs_that_touch(dof: NDArray[np.int64], ends: NDArray[np.int64], system: System) -> NDArray[np.bool_]:
    """(j,) which pairs of bodies (j, 2) of joints have contacts with each other.

    dof: (n,) which body of the system each is, -1 for those that it does not move, which count as one. ends: -1 for the world.
    """
    count, contacts = len(system.offset), len(system.mu)
    number = np.append(dof, -1)[ends]
    of_joints = number.min(axis=1) * count + number.max(axis=1)
    a, b = system.body_a[:contacts], system.body_b[:contacts]
    return np.isin(of_joints, np.minimum(a, b) * count + np.maximum(a, b))


def after(factorisations: int, totals: Totals) -> Totals:
    """The totals of what came after so many factorisations."""
    return totals._replace(factorisations=totals.factorisations + factorisations) if factorisations else totals


def solve_lowered(problem: StepProblem, solve: Callable[[StepProblem], Solved]) -> Outcome:
    """Solve a problem, and again with lower rebounds where they give more than was taken."""
    contacts, factorisations, lowerings = problem.system, 0, 0
    pushes = np.zeros(len(contacts.mu), np.bool_)
    while True:
        solved, v, totals, is_loose = solve(problem)
        totals = after(factorisations, totals)
        factorisations = totals.factorisations
        if lowerings == 0 and problem.elastic:
            pushes = (solved.impulse[: len(pushes), 0] > 0.0) & (problem.restitution > 0.0)
        # a step with loose joints is cut
        share = None if is_loose else lowered(solved, v)
        if share is None or lowerings == LOWERINGS:
            return solved, v, totals, is_loose, pushes
        # each try comes nearer by a factor: a little lower, it is there after a few
        share = np.where(share < 1.0, (1.0 - LOWERED_FURTHER * 10.0**lowerings) * share, 1.0)
        lowerings += 1
        if lowerings == LOWERINGS:
            share = np.where(share < 1.0, 0.0, 1.0)
        contacts = contacts._replace(slack=np.where(contacts.slack < 0.0, share * contacts.slack, contacts.slack))
        problem = problem._replace(system=contacts, impulse=solved.impulse[: len(problem.impulse)].copy())


def of_impacts(begin: Begin) -> tuple[Floats, NDArray[np.bool_]]:
    """The tolerance (moving,) of impacts, and which bodies have tumbled (moving,): none."""
    moving = len(begin.offset) - 1
    return np.full(moving, IMPACT_TOLERANCE), np.zeros(moving, np.bool_)
