# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages of a step's solve, in order: build the contact problem, pass on blows, solve, separate overlaps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...problem.result import Status
from ...problem.system import System
from ...scene.spec import SceneSpec, SolverSettings
from ..contact.bent import add_modes
from ..contact.build import NO_TURNING, Beyond, StepProblem, build_system
from ..contact.material_rules import rules_of
from ..contact.memory import ContactMemory, remember
from ..contact.rebounds import taken
from ..contact.rolling import Rolling
from ..contact.surface_motion import Surfaces
from ..joints.joints import Joints, with_joints
from ..joints.rows import JointStep
from ..model.bodies import State
from ..model.island_motion import Asked, IslandMotion
from ..model.large_bends import LargeBends
from ..model.predict import Begin
from .bent_further import Solved, followed_part, solve_bent
from .islands import Error, after
from .joined_step import JoinedStep, Known, Moved
from .lowered_rebounds import Rebounded, solve_lowered
from .moments import Moments, lengths_of, moments_of_step, of_some, recall_moments, remembered_moments
from .outcome import Solution
from .propagation import Blow, pass_on
from .separation import JointBounds, SeparationLimits, separation
from .system_solver import SystemSolver

__all__ = ["Known", "StepSolver"]

Floats = NDArray[np.float64]

IMPACT_TOLERANCE = 1e-8  # of impacts in a row: each starts from the error that those before it left


class Try(NamedTuple):
    """The input of a try to solve a step.

    state: at the start of the step. joints: None if there are none. memory: of the impulses of contacts. known: the impulses of
    all joints, and the bias of their rows in an earlier try. moved: the state at the end of the step, from velocities (dof,).
    """

    begin: Begin
    state: State
    joints: JointStep | None
    memory: ContactMemory
    known: Known
    moved: Moved
    contacts: ContactSet


class StepSolver:
    """Solves the contact problems of a scene's steps, one after the other, each within its bounds on work and time."""

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
        """see: is called with each system and its initial impulses, before it is solved."""
        self._settings, self._joints, self._surfaces, self._island_motion = settings, joints, surfaces, island_motion
        self._deformation, self._rolling = surfaces.deformation, rolling
        self._rules, self._lengths = rules_of(spec), lengths_of(spec)
        self._systems = SystemSolver(settings, not self._rules.grains.are_none, threads, see)
        self._joined = JoinedStep(settings, joints, island_motion, self._systems)

    def one_step(self) -> AbstractContextManager[None]:
        """Return a context in which all solves belong to one step, and share its bounds on work and time."""
        return self._systems.one_step()

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
        """Build the contact problem, solve it island by island, and separate overlaps.

        Parameters
        ----------
        begin : the predicted step
        state : at the start of the step
        joints : None if there are none
        memory : the impulses of contacts as they last were
        known : the impulses of all joints as they last were, and the bias of their rows in an earlier try of the step
        moved : the state at the end of the step, from velocities (dof,)
        contacts : of the step
        bounces : whether contacts with restitution bounce. A step with joints that must not bounce must not be cut either.

        Returns
        -------
        The solution. A step that is infeasible with bounces is solved without them.
        """
        self._deformation.place_modes(state.modal)
        of_try = Try(begin, state, joints, memory, known, moved, contacts)
        solution = self._solve(of_try, bounces)
        if not bounces or solution.totals.status != Status.INFEASIBLE:
            return solution
        # A body that bounces off one body into another, both in this step, may have no solution.
        return self._solve(of_try, False)

    def _solve(self, of_try: Try, bounces: bool) -> Solution:
        """Solve a try in five stages. bounces: as in `solve`."""
        begin, state, joints, memory, known, moved, contacts = of_try
        systems = self._systems
        systems.fall = begin.gravity_speed
        held, about = known
        least_bounce = begin.least_bounce if bounces else np.inf
        # Stage 1: the contact problem.
        problem = self._posed(begin, state, contacts, memory, least_bounce, moved)
        systems.moments = self._moments_of(begin, contacts, problem)
        if not self._settings.warm_start:
            problem.impulse[:], held = 0.0, np.zeros_like(held)
        elif systems.moments is not None:
            recall_moments(systems.moments, memory, contacts)
        # Stage 2: blows through bodies that touch.
        blow, gave_way, joints = self._pass_on_to_thresholds(begin, joints, contacts, problem, least_bounce)
        system = blow.problem.system
        joints = joints if joints is None else joints.after(blow.impulse[len(contacts) :])
        # Stage 3: the solve itself.
        self._joined.start()
        of_joints = joints, Known(held, about)
        problem, v, totals, is_loose, pushes = self._solve_bounces(begin, blow.problem, of_joints, bounces, moved)
        # Stage 4: velocities of bodies at rest, and what the next step needs to remember.
        self._island_motion.stop_what_stands(begin, problem.system, problem.stretch, v)
        totals = after(blow.factorisations, totals)
        remembered = problem.approach, taken(problem, v)
        problem.impulse[:] += blow.impulse
        box, bias = problem.system.box, problem.system.bias[len(contacts) :]
        if joints is not None:
            without_blow = problem.impulse[len(contacts) :] - blow.impulse[len(contacts) :]
            gave_way |= joints.giving_way(without_blow, box) | self._joined.breaks
            held = np.zeros_like(held)
            held[joints.triples] = problem.impulse[len(contacts) :]
            box = joints.holding(box)
        # Stage 5: overlaps are separated.
        held_together = JointBounds(self._joints.pairs, box)
        limits = SeparationLimits(self._settings.recovery_speed, self._island_motion.keeps_distance)
        if is_loose and systems.can_be_cut(totals, len(contacts)):
            # The caller discards this solution.
            apart, parting = np.zeros(len(v)), np.zeros(len(contacts))
        else:
            of_solve = held_together, v, limits, systems.effort, problem.parting
            apart, parting = separation(begin, problem.system, contacts, *of_solve)
        twist = begin.all_twists(v + apart)
        impulse = remember(problem.axes, problem.impulse[: len(contacts)])
        moment = remembered_moments(systems.moments, len(contacts))
        before = problem.approach_before, problem.taken_before
        which = contacts.body_a, contacts.body_b, contacts.feature
        kept = ContactMemory(*which, impulse, contacts.normal, moment, *before, parting)
        worked_off = systems.is_worked_off(len(contacts))
        found = totals, worked_off, problem.axes, is_loose, gave_way
        bounces_off = problem.restitution, pushes, blow.struck
        return Solution(contacts, system, v, apart, twist, kept, held, bias, *remembered, *bounces_off, *found, problem.stretch)

    def _posed(
        self, begin: Begin, state: State, contacts: ContactSet, memory: ContactMemory, least_bounce: float, moved: Moved
    ) -> StepProblem:
        """Build the contact problem without joints, with rolling contacts about the motion of the last step's impulses."""
        where = contacts.body_a, contacts.body_b, contacts.point, state.position, begin.bodies.rotation
        drift = self._surfaces.drift(contacts, state.position, begin.bodies, begin.h)
        modes = None if begin.bend is None else self._deformation.modes_at(*where)
        bent = 0.0 if modes is None else self._deformation.modal_surface_velocity(*where[:2], modes, state.modal_velocity)
        known = memory, self._rules, least_bounce, self._joints.held
        rolls, twist = self._rolling.contacts(begin, state, contacts, memory)
        turning = NO_TURNING, NO_TURNING, rolls
        if np.count_nonzero(rolls):
            rolling = np.zeros(len(twist), np.bool_)
            rolling[contacts.body_a[rolls]] = rolling[contacts.body_b[rolls]] = True
            moved_on = moved(begin.unknowns(twist), which=rolling)
            turning = self._rolling.turning(begin, state, moved_on, twist, contacts, rolls)
        beyond = Beyond(drift if modes is None else drift + bent, *turning)
        problem = build_system(begin, state, contacts, beyond, *known)
        if modes is not None:
            add_modes(problem, modes, np.broadcast_to(bent, contacts.normal.shape))
        return problem

    def _moments_of(self, begin: Begin, contacts: ContactSet, problem: StepProblem) -> Moments | None:
        """Return what contacts can carry of rolling and torsional friction; None if they carry none."""
        if self._lengths.are_zero or not len(contacts):
            return None
        spin = self._surfaces.motions.spin(contacts, begin.bodies.rotation) if len(self._surfaces.motions) else None
        return moments_of_step(self._lengths, begin.model, contacts, problem.axes, begin.bodies.twist, spin)

    def _pass_on_to_thresholds(
        self, begin: Begin, joints: JointStep | None, contacts: ContactSet, problem: StepProblem, least_bounce: float
    ) -> tuple[Blow, NDArray[np.bool_], JointStep | None]:
        """Pass on the impacts of bodies that touch through joints that transmit at most their thresholds.

        Returns the blow, (j,) the joints at their thresholds, and the joints without the bonds that break.
        """
        m, none = len(contacts), np.zeros(len(self._joints), np.bool_)
        blow = self._pass_on(begin, joints, contacts, problem, least_bounce)
        if joints is None or not joints.can_break:
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
        box = bounded.straight_rows(self._settings.recovery_speed).box
        return blow, lost | bounded.giving_way(blow.impulse[m:], box), joints

    def _pass_on(
        self, begin: Begin, joints: JointStep | None, contacts: ContactSet, problem: StepProblem, least_bounce: float
    ) -> Blow:
        """Pass on the impacts of bodies that touch, before the step is solved."""
        system = problem.system
        if not problem.elastic or not (system.slack < 0.0).any():
            return Blow.none(problem, 0 if joints is None else len(joints.triples))
        if joints is not None:
            rows = joints.straight_rows(self._settings.recovery_speed)
            system = with_joints(system, rows._replace(box=joints.holding(rows.box)))

        def solve_once(bounce: StepProblem) -> Solved:
            return bounce, *self._systems.solve(begin, bounce, of_impacts(begin)), False

        of_step, systems = self._systems.moments, self._systems

        def solve(bounce: StepProblem, chosen: NDArray[np.int64]) -> tuple[Floats, Floats, int] | None:
            systems.moments = None if of_step is None else of_some(of_step, chosen)
            solved, v, totals, *_ = solve_lowered(bounce, solve_once)
            is_solved = totals.status == Status.SOLVED or totals.errors[Error.WORST] <= self._settings.tolerance
            return (v, solved.impulse, totals.factorisations) if is_solved else None

        blow = pass_on(begin, contacts, problem, system, least_bounce, solve)
        systems.moments = of_step
        return blow

    def _solve_bounces(
        self, begin: Begin, problem: StepProblem, of_joints: tuple[JointStep | None, Known], may_cut: bool, moved: Moved
    ) -> Rebounded:
        """Solve the contact problem with its joints, and again while bounces give more energy than impacts took."""
        joints, known = of_joints

        def solve_once(problem: StepProblem) -> Solved:
            if joints is None:
                return problem, *self._systems.solve(begin, problem, self._island_motion.look(begin, problem.system)), False
            return self._joined.solve(begin, joints, problem, known, may_cut, moved)

        bend, crowd = begin.bend, self._island_motion.members
        if isinstance(bend, LargeBends):

            def is_cut(v: Floats) -> bool:
                return may_cut and followed_part(begin, bend, crowd, v) < begin.h

            return solve_lowered(problem, lambda posed: solve_bent(begin, bend, solve_once, posed, is_cut))
        return solve_lowered(problem, solve_once)


def of_impacts(begin: Begin) -> Asked:
    """Return the requested accuracy of impacts. No island counts as moving."""
    moving = len(begin.offset) - 1
    return Asked(np.full(moving, IMPACT_TOLERANCE), np.zeros(moving, np.bool_), np.ones(moving))
