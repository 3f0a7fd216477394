# SPDX-License-Identifier: GPL-3.0-or-later
"""The stepper: advances a scene by time steps, in the stages predict, collide, build, solve, separate and integrate.

`docs/design/dynamics.md` shows the stages in order, with the file of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..collision.chosen_normals import chosen_normals
from ..collision.contact_set import ContactSet, merged
from ..collision.mesh.walks import kept_walks
from ..collision.time_of_impact import OVERLAP_ALLOWED, Motion
from ..deformable.reduced import ReducedBody
from ..problem.result import Status
from ..problem.system import System
from ..scene.spec import SceneSpec, SolverSettings, strongest_gravity
from ..scene.timing import Timing
from ..threads.count import number_of_threads
from .activation import Activation, impulses_of_blows
from .contact.borne import bearing_until_met, with_borne
from .contact.collide import Collider
from .contact.directions import Chosen, Directions
from .contact.restitution import along_begun_normals, begun_impacts
from .contact.rolling import Rolling
from .contact.surface_motion import SurfaceMotions, Surfaces
from .fields.fields import Fields
from .fields.pull import Pull
from .joints.joints import Joints
from .joints.rows import JointStep
from .joints.thresholds import BLOW_TIME
from .kept_contacts import KeptContacts
from .look_ahead.blows import Blows
from .look_ahead.impacts import NO_IMPACTS, Cut, ImpactFinder
from .look_ahead.later_contacts import NOTHING_LATER, LaterContacts, twist_between
from .model.bending import Bending
from .model.bodies import State, build_bodies
from .model.held_together import HeldTogether
from .model.impact_memory import NO_IMPACTS_BEGUN
from .model.integrate import FreeMotion, RigidModel, RigidState, integrate
from .model.island_motion import IslandMotion
from .model.large_bends import LargeBends
from .model.predict import Begin, predicted_step
from .model.prescribed import Prescribed
from .motion.deformation import Deformation
from .pacing.parts import MAX_MISSES, Parts
from .pacing.standstill import Situation, Standstill, anything_moves, as_it_was_remembered
from .pacing.successions import first_of_some
from .sleeping import Sleep, laid_asleep, none_remembered
from .solve.bent_further import followed_part
from .solve.law_check import Checked, LawCheck
from .solve.outcome import Attempt, Solution, combined, row_at_rest, step_row
from .solve.step_solver import Known, StepSolver

__all__ = ["See", "Stepper"]

Floats = NDArray[np.float64]
See = Callable[[int, System, Floats], object]

RESERVED_CUTS = 12  # of the allowed cuts of a step, for steps that are not solved; impacts use the others
MAX_TRIES_INFEASIBLE = 2  # solves of a step whose contacts have no solution, for the sake of the other bodies in the scene
MAX_CASCADES = 32  # restarts of a step because yielding joints let their bodies collide
MAX_TRIES = 8  # solves of a step, each with the contacts that the motion of the previous solve violated


class Stepper:
    """Advances the state of a scene. `Simulation` stores and restores the public attributes.

    Attributes
    ----------
    step : s, the length of time steps up to the next frame
    state : of the bodies at the end of the last step
    last_step : s, the length of the last step
    memory : the contact history
    impulse_time : s, the time over which forces act to give the impulses of `memory` and of joints; 0 before the first step
    begun : impacts that end in the next step
    held : (j, 6) N s and N m s, the impulses of joints in the last step, in their coordinates
    reaction : (j, 6) N s and N m s, the impulses of joints on their bodies B since the start of the frame
    pull : the interactive spring between the pointer and a body; None for none
    pull_impulse : (3,) N s, of this spring in the last step
    every_contact : whether meshes keep all contacts instead of a reduced manifold
    """

    def __init__(
        self,
        spec: SceneSpec,
        settings: SolverSettings,
        keep_contacts: bool,
        threads: int,
        see: See | None,
        modes: Mapping[int, ReducedBody] | None,
    ) -> None:
        """Set up the steps of a validated scene. Parameters as of `Simulation`."""
        self.spec, self.settings = spec, settings
        self.timing = Timing(spec, settings.substeps)
        self.step = self.timing.latest_step(1)
        self.bodies, self.state = build_bodies(spec)
        self.last_step = 0.0
        self._predicted = np.zeros((len(spec.bodies), 6))  # the predicted twists of the last step
        self.memory, self.begun, self.impulse_time = none_remembered(), NO_IMPACTS_BEGUN, 0.0
        self._strongest_gravity = strongest_gravity(spec)
        gravity_speed = self._strongest_gravity * self.step
        movable, radius = self.bodies.model.dof >= 0, self.bodies.shapes.radius
        self.island_motion = IslandMotion(np.where(movable, radius, 0.0), settings)
        self.sleep = Sleep(movable, radius, gravity_speed, self.step, settings.sleeping)
        self.sleep.lay(*laid_asleep(spec))
        self.bending = Bending.of_scene(spec, modes)
        unbent = np.zeros(int(self.bending.width.sum()))
        self.state = self.state._replace(modal=unbent, modal_velocity=unbent.copy())
        shapes_of_modes = {int(body): one.shapes for body, one in zip(self.bending.body, self.bending.reduced, strict=True)}
        self.deformation = Deformation(spec, self.bodies.shapes, shapes_of_modes)
        self.deformation.set_modal_velocity(self.state.modal_velocity)
        self.surfaces = SurfaceMotions(spec, self.bodies.center_of_mass)
        self.together = HeldTogether(spec, self.bodies)
        of_bodies = self.bodies, self.together
        self._impacts = ImpactFinder(*of_bodies, self.deformation)
        threads = number_of_threads(threads)
        kept = kept_walks(self.bodies.shapes, self.deformation.is_rigid())
        self._collider = Collider(*of_bodies, self._impacts, self.deformation, kept, threads)
        self._later = LaterContacts(*of_bodies, self._impacts, self.deformation, kept)
        of_scene = self._impacts, self._later, self.deformation, self.bending
        self._directions = Directions(self.bodies, *of_scene, spec.restitution_combine.code)
        self._law = LawCheck(self.bodies, *of_scene[:3], spec.restitution_combine.code)
        self.paths = Prescribed(spec, self.bodies, settings.substeps, self.timing)
        self.kept = KeptContacts(self.step) if keep_contacts else None
        self.activation = Activation(spec, self.bodies)
        self.paths.waits[:] = self.activation.holds
        self.hold(0)
        self.place(0.0, 1.0, self.step)
        self.fields = Fields(spec, self.bodies, settings.substeps) if spec.fields else None
        self.pull: Pull | None = None
        self._pulled = np.zeros(3)  # N s, of the current partial step
        self.pull_impulse = np.zeros(3)
        self.every_contact = False
        self.joints = Joints(spec, self.bodies, self.bending, self.state)
        solved = self.joints, Surfaces(self.deformation, self.surfaces), self.island_motion
        rolling = Rolling(self.bodies, self._impacts, self.deformation, self.island_motion, self.bending.bends)
        self._see, self._step_now = see, 0
        self._solver = StepSolver(spec, settings, *solved, rolling, threads, None if see is None else self._show)
        self._blows = Blows(np.where(movable, self.bodies.model.mass, np.inf), BLOW_TIME)
        self.update_breaking_impulses()
        self.reaction, self.held = np.zeros((len(self.joints), 6)), np.zeros((len(self.joints), 6))
        self._standstill = Standstill(spec)
        self._cascades = 0

    def enter_frame(self, frame: int) -> int:
        """Start the steps to a frame, counted from the first.

        Returns the number of time steps, 0 if time is frozen.
        """
        if self.kept is not None:
            first = (frame - 1) * self.settings.substeps if self.timing.changes else 0
            time = self.timing.begin(frame - 1) if self.timing.changes else 0.0
            self.kept.begin_frame(float(first), time, self.timing.step(frame))
        if self.timing.step(frame) == 0.0:
            return 0
        self.take_step(frame)
        return self.settings.substeps

    def take_step(self, frame: int) -> None:
        """Use the time step of a frame, or of the last frame before it in which time is not frozen."""
        step = self.timing.latest_step(frame)
        if step != self.step:
            self.step = step
            self.sleep.change_step(self._strongest_gravity * step, step)

    def advance(self, number: int) -> dict[str, Any]:
        """Advance by a time step and return its row of statistics. number: of the step, counted from 0 at the first frame."""
        begin = perf_counter()
        self.held[:] = 0.0
        self._pulled, self.pull_impulse = np.zeros(3), np.zeros(3)
        if self.pull is not None:
            self.wake(self.sleep.islands_of(np.arange(len(self.spec.bodies)) == self.pull.body))
        self._step_now = number
        self._activate(float(number))
        with self._solver.one_step():
            rows = [row_at_rest()] if self._step_asleep(number) else self._step_rows(number)
        asleep = int(np.count_nonzero(self.sleep.asleep))
        moving = int(np.count_nonzero(self.island_motion.members))
        if self.sleep.ends_window(number):
            self._scale_impulses(self.step)
            joined = self.joints.pairs, self._driven()
            self.memory = self.sleep.update(self.memory, *joined, self.island_motion.still, self._would_be_woken)
        row = rows[0] if len(rows) == 1 else combined(rows)
        row.update(cuts=len(rows) - 1, seconds=perf_counter() - begin, asleep=asleep, moving=moving)
        return row

    def _activate(self, at: float) -> None:
        """Wake the waiting bodies whose frame, value or zone is due at a time, in time steps since the first frame."""
        if len(self.activation):
            self._wake_up(self.activation.due(at, self.settings.substeps, self.state, self.step), at)

    def _wake_up(self, woken: NDArray[np.bool_], at: float) -> None:
        """Wake waiting bodies and break their bonds.

        woken: (n,). at: the time in time steps since the first frame.
        """
        if not woken.any():
            return
        loosened = self.activation.loosened_by(woken)
        self.activation.wake(woken)
        held = self.sleep.held.copy()
        self.paths.let_go(woken, at, self.state, self.sleep.held, self.last_step)
        released = held & ~self.sleep.held
        if self.fields is not None and released.any():
            self.fields.begin_with(int(at / self.settings.substeps), self.state, released, self.last_step)
        near = self.sleep.islands_of(woken)
        if self.sleep.asleep.any():
            met = self._collider.near(self.state, self.sleep.asleep, woken, np.zeros(len(woken)))
            near |= self.sleep.to_wake(met.body_a, met.body_b, woken)
        self.wake(near)
        self.joints.release(loosened)
        self.update_jointed_pairs()

    def restore_waiting(self, waits: NDArray[np.bool_]) -> None:
        """Restore which bodies (n,) still wait."""
        held = self.activation.holds
        self.activation.wake(~waits)
        self.paths.waits, self.paths.woken = self.activation.holds, held & ~waits

    def _wake_by_blows(self, solution: Solution, at: float) -> bool:
        """Wake the waiting bodies that are hit hard enough in a step. Returns whether there are any.

        at: the start of the step, in time steps since the first frame.
        """
        if not len(self.activation):
            return False
        needed = self.activation.impulse
        if not np.isfinite(needed).any():
            return False
        pushed = solution.memory.impulse[:, 0], self.memory, len(needed)
        woken = impulses_of_blows(solution.contacts, *pushed) > needed
        self._wake_up(woken, at)
        return bool(woken.any())

    def _driven(self) -> NDArray[np.int64]:
        """Return the bodies that never rest, because a motor drives them or the surface below them moves."""
        driven = self.joints.driven
        if not len(self.surfaces):
            return driven
        return np.concatenate([driven, self.surfaces.carried(self.memory.body_a, self.memory.body_b)])

    def _step_asleep(self, at: float) -> bool:
        """Advance by a time step if all bodies that the solver may move sleep through it. Returns whether they do."""
        if np.count_nonzero(self.sleep.awake):
            return False
        prescribed = self.place(at, at + 1.0, self.step)
        self._wake_for(prescribed, self.step)
        if np.count_nonzero(self.sleep.awake):
            return False
        self.paths.lead(self.state, at + 1.0)
        self._predicted, self.last_step = prescribed, self.step
        self.sleep.record_motion(prescribed, True)
        self.island_motion.rest()
        self.update_flexible_surfaces()
        if len(self.joints):
            nothing = np.zeros_like(self.joints.memory.impulse), prescribed, np.zeros_like(self.held)
            self.joints.advance(self.state, *nothing, self.step)
        return True

    def _step_rows(self, step: int) -> list[dict[str, Any]]:
        """Advance by a time step and return the rows of its partial steps.

        If the last step changed nothing, and nothing has changed since, its rows are returned again.
        """
        is_influenced = not self._standstill.is_possible or self.pull is not None or self._see is not None
        if is_influenced or anything_moves(self.sleep.awake, self.state.velocity, self.state.angular_momentum):
            return self._advance_in_parts(step)
        return self._standstill.rows(self._situation, partial(self._advance_in_parts, step), self.kept)

    def _situation(self) -> Situation:
        """Return the data that determine a step, except for those that change in every step."""
        motion = self.island_motion.checkpoint().values()
        times = np.array([self.step, self.last_step, self.impulse_time])
        arrays = *self.state, *self.memory, *self.begun, self.sleep.awake, *motion, times
        return tuple(array.tobytes() for array in arrays)

    def _advance_in_parts(self, step: int) -> list[dict[str, Any]]:
        """Advance by a time step in partial steps and return their rows.

        A partial step ends at an impact that the bodies would miss otherwise.
        """
        rows: list[dict[str, Any]] = []
        parts = Parts(self.step)
        # Each attempt advances, is rejected, or wakes a waiting body. The number of rejections is limited.
        while parts.left > 0.0:
            self._cascades = 0
            if self.joints.hold_again():
                self.update_jointed_pairs()
            outcome = self._try_partial_step(step + 1.0 - parts.left / self.step, parts)
            if outcome is None:
                continue
            if isinstance(outcome, Cut):
                parts.refuse(outcome)
            else:
                rows.append(outcome)
                parts.accept(outcome["status"] == Status.SOLVED)
        return rows

    def _try_partial_step(self, at: float, parts: Parts) -> dict[str, Any] | Cut | None:
        """Try the next partial step.

        Parameters
        ----------
        at : its start, in time steps since the first frame
        parts : the partial steps of the time step

        Returns
        -------
        the row of statistics; or a `Cut` if a shorter partial step is needed, and the state is unchanged; or None if impacts
        have woken bodies, and the partial step has to be tried again
        """
        h, cuts = parts.h, parts.cuts
        begin, chosen = self._predict_and_collide(at, h)
        contacts = self._strain_rejection(begin, None, cuts) or self._contacts_to_solve(begin, chosen, cuts)
        if isinstance(contacts, Cut):
            return contacts
        joints = self.joints.step(begin, self.state, self.held) if len(self.joints) else None
        memory, known = self.memory, Known(self.joints.memory.impulse, None)
        tries: list[Attempt] = []
        while True:
            solve = partial(self._solver.solve, begin, self.state, joints, memory, known, partial(self._integrated, begin))
            solution = solve(contacts, cuts > 0)
            if self._release_yielding_joints(solution):
                return self._try_partial_step(at, parts)
            refused = self._rejection(begin, solution, parts) or self._impact_rejection(begin, solution, parts, solve)
            if refused is not None:
                return refused
            moved = self._integrated(begin, solution.v, solution.apart)
            if begin.bend is not None:
                self.deformation.set_modal_velocity(self.bending.velocities(begin, solution.v + solution.apart))
            if not self._later.may_matter(solution.twist, h, h / self.step):
                tries.append(Attempt(solution, moved, NO_IMPACTS, NOTHING_LATER))
                break
            motion = self._motion(begin, twist_between(self.state, moved, solution.twist, h))
            impacts = self._impacts.find(motion, begin.awake)
            # Large moving islands are not split at impacts within them. Such impacts become contacts.
            alone = impacts.outside(self.island_motion.members)
            if 0 < len(alone) <= cuts - RESERVED_CUTS and solution.may_improve:
                return alone.first()
            self.deformation.place_modes(moved.modal)
            later = self._later.find(begin.contacts, contacts, self.state, motion, moved, impacts, begin.awake)
            tries.append(Attempt(solution, moved, impacts, later))
            if self._wake_touched(later.contacts, begin.awake):
                return self._try_partial_step(at, parts)
            if not len(later.contacts) or len(tries) >= (MAX_TRIES if solution.may_collide_further else MAX_TRIES_INFEASIBLE):
                break
            # Contacts accumulate over the tries. Otherwise two motions that each cause the overlap of the other could
            # alternate.
            contacts = merged(contacts, later.contacts) if len(tries) == 1 else contacts.joined(later.contacts, len(tries))
            memory, known = solution.memory, Known(solution.held, solution.bias)
        best = min(tries, key=Attempt.harm)
        if cuts > 0 and best.unsettled and best.solution.may_improve:
            return Cut(0.5 * h, repeatedly=True)
        if self._wake_by_blows(best.solution, at):
            return None
        return self._commit(begin, joints, best, [attempt.solution for attempt in tries])

    def _contacts_to_solve(self, begin: Begin, chosen: Chosen, cuts: int) -> ContactSet | Cut:
        """Return the contacts for the first solve of a step, or a `Cut` at an impact that these contacts would miss."""
        contacts, bounces = begin.contacts, chosen.bounces.outside(self.island_motion.members)
        if 0 < len(bounces) <= cuts - RESERVED_CUTS:
            return bounces.first()
        motion = self._motion(begin, begin.bodies.predicted)
        if self._blows.may_matter and cuts > RESERVED_CUTS:
            blows = self._blows.find(begin, contacts, self._later.normal_speed(contacts, motion))
            if len(blows):
                return blows.first()
        distant = self._impacts.distant(contacts, motion.twist, begin.h)
        if np.count_nonzero(distant):
            impacts = self._impacts.find(motion, begin.awake)
            impacts = impacts.among(contacts.chosen(distant)).outside(self.island_motion.members)
            if 0 < len(impacts) <= cuts - RESERVED_CUTS:
                return impacts.first()
            # Distant contacts that close in the step are detected again later, with the normal at which they close.
            contacts = contacts.without(distant & ~chosen.stated)
        return self._drop_passed_contacts(begin, contacts)

    def _release_yielding_joints(self, solution: Solution) -> bool:
        """Let bodies collide whose joints transmit their thresholds in this step.

        Their joints do not carry all of the load that presses them together. Returns whether some bodies could not collide
        before.
        """
        if not np.count_nonzero(solution.gave_way) or not self.joints.give_way(solution.gave_way, solution.held):
            return False
        before = self.together.excluded
        self.update_jointed_pairs()
        self._cascades += 1
        return self._cascades <= MAX_CASCADES and not np.array_equal(before, self.together.excluded)

    def _drop_passed_contacts(self, begin: Begin, contacts: ContactSet) -> ContactSet:
        """Remove contacts of bodies on axles that rotate past each other by the end of the step."""
        if not len(self.joints):
            return contacts
        # A partial step uses the same threshold as a full step.
        turning = self._later.between_axles(contacts, begin.bodies.twist, begin.single, self.joints.links)
        if not turning.any():
            return contacts
        twist = self.joints.expected(begin)
        moved = self._integrated(begin, begin.unknowns(twist))
        return contacts.without(self._later.passed_by(contacts, turning, moved, twist, begin.h))

    def _rejection(self, begin: Begin, solution: Solution, parts: Parts) -> Cut | None:
        """Return a `Cut` if the solution of a step requires a shorter one, else None."""
        if (unfollowed := self._strain_rejection(begin, solution.v, parts.cuts)) is not None:
            return unfollowed
        if parts.cuts == 0 or not solution.may_improve:
            return None
        if solution.is_loose:
            return Cut(0.5 * begin.h, repeatedly=True)
        is_missed = solution.totals.status == Status.MAX_ITERATIONS and parts.misses < MAX_MISSES
        return Cut(0.5 * begin.h, repeatedly=False, is_miss=True) if is_missed else None

    def _strain_rejection(self, begin: Begin, v: Floats | None, cuts: int) -> Cut | None:
        """Return a `Cut` if strains of bodies with large deformation require a shorter step, else None.

        v: (dof,) the solved velocities; None if the step is not solved yet.
        """
        if cuts == 0 or not isinstance(begin.bend, LargeBends):
            return None
        part = followed_part(begin, begin.bend, self.island_motion.members, v)
        return Cut(part, repeatedly=True) if part < begin.h else None

    def _impact_rejection(
        self, begin: Begin, solution: Solution, parts: Parts, solve: Callable[[ContactSet], Solution]
    ) -> Cut | None:
        """Return a `Cut` if impacts of a step follow each other and need partial steps of their own, else None."""
        if parts.cuts == 0 or not solution.may_improve:
            return None
        first = first_of_some(begin, solution, self.state.position, parts.turns, solve)
        return Cut(first, repeatedly=False, is_turn=True) if first < begin.h else None

    def _predict_and_collide(self, at: float, h: float) -> tuple[Begin, Chosen]:
        """Predict and collide: return the context of a step of h seconds, and its selected contacts.

        Sleeping bodies that the step could disturb are woken. at: the start, in time steps since the first frame.
        """
        state = self.state
        prescribed = self.place(at, at + h / self.step, h)
        self._wake_for(prescribed, h)
        while True:
            model = self.bending.model(self.paths.model(at), state)
            begin = predicted_step(model, state, prescribed, self.sleep.awake, at, h, self.last_step, self.step)
            begin = begin._replace(begun=self.begun)
            self._scale_impulses(begin.force_time)
            if self.fields is not None:
                self.fields.push(begin, state, begin.force_time)
            if self.pull is not None:
                self._pulled = self.pull.push(begin, state, self.bodies.center_of_mass)
            if len(self.bending):
                begin = self.bending.begin(begin, state)
                self.deformation.place_modes(state.modal)
                self.deformation.set_modal_velocity(self.bending.velocities(begin, begin.unknowns(begin.bodies.predicted)))
            ahead = begin.bodies.predicted, h, begin.bodies.rotation
            contacts = self._collider.contacts(state, begin.awake, *ahead, self.every_contact, self.memory)
            if not self._wake_touched(contacts, begin.awake):
                if len(self.begun.body_a):
                    contacts = along_begun_normals(contacts, self.memory)
                begin = begin.with_contacts(contacts, self.together.rest)
                chosen = self._directions.choose(begin, state, self.memory, self.joints.held)
                if chosen.contacts is not contacts:
                    begin = begin.with_contacts(chosen.contacts, self.together.rest)
                speed, large = self._impacts.reach(begin.bodies.twist, 1.0), self.island_motion.members
                return bearing_until_met(begin, state, speed, self.memory, large | self.bending.bends), chosen

    def _integrated(
        self, begin: Begin, v: Floats, apart: Floats | None = None, which: NDArray[np.bool_] | None = None
    ) -> State:
        """Return the state at the end of a step.

        Parameters
        ----------
        begin : the step
        v, apart : (dof,) the solved velocities, and velocities that separate overlaps
        which : (n,) the bodies that the solver moves, others stay where they are; None for all
        """
        state, model, bodies = self.state, begin.model, begin.bodies
        apart = np.zeros(len(v)) if apart is None else apart
        dof = model.dof if which is None else np.where(which, model.dof, -1)
        constants = RigidModel(dof, model.lock, model.axes, model.moments)
        predicted = FreeMotion(bodies.predicted, bodies.end_momentum, bodies.mass)
        rigid = integrate(constants, RigidState(*state[:4]), predicted, begin.offset, v, apart, begin.h)
        moved = State._make((*rigid, state.modal.copy(), state.modal_velocity.copy()))
        self.bending.advance(begin, moved, v, apart)
        self.paths.lead(moved, begin.at + begin.h / self.step)
        return moved

    def _motion(self, begin: Begin, twist: Floats) -> Motion:
        """Return the motion of all bodies in a step with constant twists (n, 6)."""
        return Motion(self.state.position, begin.bodies.rotation, twist, begin.h, begin.h / self.step, OVERLAP_ALLOWED)

    def _commit(self, begin: Begin, joints: JointStep | None, best: Attempt, solved: list[Solution]) -> dict[str, Any]:
        """Commit the best try of a step to the state and return its row of statistics.

        solved: the solutions of all tries.
        """
        solution = best.solution
        self.pull_impulse += self._pulled

        def motion_of(v: Floats) -> Motion:
            moved = self._integrated(begin, v, solution.apart)
            return self._motion(begin, twist_between(self.state, moved, begin.all_twists(v + solution.apart), begin.h))

        checked = Checked(begin, self.state, solution, self.memory, joints is not None, motion_of)
        violations = self._law.violations(checked)
        kept = with_borne(solution.memory, self.memory, begin.borne)
        solution = solution._replace(memory=kept)
        if self.kept is not None:
            self.kept.add(begin, solution)
        self.together.loosen(begin.contacts, begin.awake)
        poses, bears = (self.state.position, begin.bodies.rotation), best.solution.memory.impulse[:, 0] > 0.0
        chosen = chosen_normals(self.bodies.shapes, *poses, solution.contacts, bears)
        position = self.state.position
        self.state, self.last_step = best.moved, begin.h
        self.island_motion.advance()
        bending = self.deformation.bending_speed()
        self.update_flexible_surfaces()
        self._predicted = begin.bodies.predicted
        self.sleep.record_motion(solution.twist, solution.totals.status == Status.SOLVED, bending)
        found = {"approach": solution.approach, "taken": solution.taken}
        # Separation impulses are not carried over. A contact that pushed once would otherwise keep a small impulse forever.
        memory = kept._replace(parting=np.zeros(len(kept.parting)), **found)
        self.begun = begun_impacts(begin, position, solution.contacts, memory)
        self.memory = as_it_was_remembered(self.memory, memory, solution)
        if joints is not None:
            done = joints.held(solution.held[joints.triples])
            self.held += done.by_coordinate
            self.reaction += done.on_b
            self.joints.advance(self.state, solution.held, begin.bodies.twist, done.by_coordinate, begin.h)
        joined = None if joints is None else joints.bodies
        row = step_row(begin, solution, joined, solved, best.later.deepest, chosen, violations)
        self._standstill.take(row, begin, solution)
        if len(self.joints) and self.joints.break_by(self.held, solution.gave_way):
            self.update_jointed_pairs()
        return row

    def update_flexible_surfaces(self) -> None:
        """Deform the surfaces of flexible bodies as in the state, and set their modal velocities."""
        if len(self.bending):
            self.deformation.place_modes(self.state.modal)
            self.deformation.set_modal_velocity(self.bending.of_those(self.sleep.awake, self.state.modal_velocity))

    def wake(self, woken: NDArray[np.bool_]) -> None:
        """Wake whole islands of bodies (n,) and restore the history of their contacts."""
        if np.count_nonzero(woken):
            self._scale_impulses(self.step)
            self.memory = self.sleep.wake(woken, self.memory)

    def _scale_impulses(self, force_time: float) -> None:
        """Scale the remembered impulses to a step in which forces act over `force_time` s.

        Equal forces then give equal velocities. Otherwise a structure at rest would be solved anew whenever the step changes.
        """
        if force_time == self.impulse_time:
            return
        if self.impulse_time > 0.0:
            ratio = force_time / self.impulse_time
            self.memory = self.memory._replace(impulse=ratio * self.memory.impulse, moment=ratio * self.memory.moment)
            self.joints.scale_impulses(ratio)
        self.impulse_time = force_time

    def _wake_touched(self, contacts: ContactSet, awake: NDArray[np.bool_]) -> bool:
        """Wake sleeping bodies that have contacts with awake ones (n,). Returns whether there are any."""
        if not np.count_nonzero(self.sleep.asleep):
            return False
        woken = self.sleep.to_wake(contacts.body_a, contacts.body_b, awake)
        self.wake(woken)
        return bool(np.count_nonzero(woken))

    def _would_be_woken(self, falling: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return (n,) the bodies among those that fall asleep that awake bodies would touch in the next step."""
        awake = self.sleep.awake & ~falling
        moving = np.where(falling[:, None], 0.0, self._predicted)
        contacts = self._collider.contacts(self.state, awake, moving, self.step)
        a, b = contacts.body_a, contacts.body_b
        met = np.zeros_like(falling)
        met[a[awake[b]]] = True
        met[b[awake[a]]] = True
        return met & falling

    def _wake_for(self, prescribed: Floats, h: float) -> None:
        """Wake sleeping bodies that a moving animated body, deforming mesh or moving surface reaches in h seconds.

        prescribed: (n, 6) m/s and rad/s, twists of animated bodies.
        """
        asleep = self.sleep.asleep
        if not np.count_nonzero(asleep):
            return
        motion, moving = self._collider.moves(prescribed, h)
        moving |= self.surfaces.moving
        if np.count_nonzero(moving):
            pairs, near = self.joints.pairs, self._collider.near(self.state, asleep, moving, motion)
            joined = self.sleep.to_wake(pairs[:, 0], pairs[:, 1], moving)
            self.wake(joined | self.sleep.to_wake(near.body_a, near.body_b, moving))

    def place(self, at: float, end: float, h: float) -> Floats:
        """Place animated bodies and deforming meshes at the start of a step.

        Parameters
        ----------
        at, end : the start and the end of the step, in time steps since the first frame
        h : s, the step

        Returns
        -------
        (n, 6) m/s and rad/s, the twists of animated bodies in the step
        """
        self.paths.place(self.state, at)
        frames = at / self.settings.substeps, end / self.settings.substeps
        self.deformation.place(*frames, h)
        self.surfaces.place(*frames)
        return self.paths.twists(self.state, end, h)

    def hold(self, frame: int) -> None:
        """Make the bodies kinematic that follow paths from a frame on, counted from the first, and release all others."""
        held = self.sleep.held.copy()
        self.paths.hold(frame, self.state, self.sleep.held, self.last_step)
        self.wake(self.sleep.islands_of(self.sleep.held & ~held))

    def arrive(self, frame: int, has_stood_still: bool) -> None:
        """Place bodies that jump to a frame, and wake bodies at rest, which these may have supported.

        has_stood_still: whether time was frozen before the frame.
        """
        moved = self.paths.arrive(self.state, frame, has_stood_still)
        if not moved.any():
            return
        self.wake(self.sleep.settled | self.sleep.islands_of(moved))
        if self.sleep.asleep.any():
            near = self._collider.near(self.state, self.sleep.asleep, moved, np.zeros(len(moved)))
            self.wake(self.sleep.to_wake(near.body_a, near.body_b, moved))

    def update_breaking_impulses(self) -> None:
        """Update the impulses at which impacts break joints or wake bodies."""
        self._blows.follow(*self.joints.weakest(), self.activation.impulse)

    def update_jointed_pairs(self) -> None:
        """Update the pairs of jointed bodies after joints changed."""
        self.update_breaking_impulses()
        if self.together.follow(self.joints.links, self.joints.is_rigid):
            self.record_rest_gaps()

    def record_rest_gaps(self) -> ContactSet:
        """Return all current contacts, and record their gaps as the gaps at rest of newly jointed pairs."""
        contacts = self.all_contacts()
        if len(self.joints.links):
            self.together.begin(self._collider.neighbours(self.state), contacts)
        return contacts

    def all_contacts(self) -> ContactSet:
        """Return the contacts of all bodies at their current positions, including sleeping bodies."""
        still = np.zeros((len(self.spec.bodies), 6))
        return self._collider.contacts(self.state, self.sleep.awake | self.sleep.asleep, still, 0.0)

    def _show(self, system: System, impulse: Floats) -> None:
        """Pass a problem to the observer before it is solved."""
        assert self._see is not None
        self._see(self._step_now, system, impulse)
