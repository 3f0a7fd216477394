# SPDX-License-Identifier: GPL-3.0-or-later
"""The stepper: a scene moved on frame by frame, in the stages predict, collide, build, solve, separate, integrate, record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..collision.chosen_normals import chosen_normals
from ..collision.contact_set import ContactSet, merged
from ..collision.time_of_impact import OVERLAP_ALLOWED, Motion
from ..deformable.reduced import ReducedBody
from ..problem.result import Status
from ..problem.system import System
from ..scene.spec import (
    SceneSpec,
    SceneWarning,
    SolverSettings,
    changed,
    strongest_gravity,
)
from ..threads.count import number_of_threads
from ..validation.scene import scene_warnings, validate
from .contact.borne import bearing_until_met, with_borne
from .contact.build import ContactMemory
from .contact.collide import Collider
from .contact.first_look import begun_overlaps
from .contact.rolling import Rolling
from .fields.fields import Fields
from .fields.pull import Pull
from .joints.joints import JointMemory, Joints
from .joints.rows import JointStep
from .kept_contacts import KeptContacts
from .look_ahead.impacts import NO_IMPACTS, Cut, ImpactFinder
from .look_ahead.later_contacts import NOTHING_LATER, LaterContacts, twist_between
from .model.bending import Bending
from .model.bodies import State, build_bodies, to_body_frames
from .model.checkpoints import OF_PAIRS
from .model.frame import Frame, require_finite
from .model.held_together import HeldTogether
from .model.integrate import integrate
from .model.moving import MovingIslands
from .model.predict import Begin, predicted_step
from .model.prescribed import Prescribed
from .model.taking_up import state_at
from .motion.deformation import Deformation
from .pacing.parts import Parts
from .pacing.successions import first_of_some
from .sleeping import Sleep, laid_asleep, none_remembered, remembered
from .solve.outcome import Attempt, Solution, combined, frame_statistics, step_row
from .solve.step_solver import Known, StepSolver

__all__ = ["Simulation"]

Floats = NDArray[np.float64]
See = Callable[[int, System, Floats], object]

KEPT_CUTS = 12  # of those allowed, for what is not solved in so many tries; the others are made at impacts
FEW_TRIES = 2  # where contact has no solution, or its time is over: for what else goes on in the scene
MAX_TRIES = 8  # of a step, each with the contacts that the one before ran into


class Simulation:
    """A scene that is stepped: `first_frame`, then `advance` once a frame, or `run`.

    warnings: what the user should know before the first step. pull: a body that is pulled by a hand, None for none; it may be
    set between steps, and is no part of a checkpoint. Raises SceneError, naming every object and field that is wrong.
    """

    def __init__(
        self,
        spec: SceneSpec,
        settings: SolverSettings | None = None,
        *,
        fps: float | None = None,
        keep_contacts: bool = False,
        threads: int = 1,
        see: See | None = None,
        modes: Mapping[int, ReducedBody] | None = None,
        **changes: Any,
    ) -> None:
        """settings: how the scene is solved, None for the defaults. changes: fields of `SolverSettings` with other
        values, choices by name as well, as method="pivot". fps: frames a second instead of the scene's. keep_contacts:
        hand out the contacts of every frame; the motion does not depend on it. threads: that large islands are solved
        in, 0 for one for each processor; nor on these. see: is shown the contact problem of each time step, counted
        from 0 at the first frame, and the impulses (m, 3) that it begins with, each time before it is solved; neither
        may be changed. modes: of bodies that bend, by their indices, where they are known. Raises TypeError for a field that
        does not exist, and ValueError for a choice that is none."""
        self.settings = changed(SolverSettings() if settings is None else settings, changes)
        if fps is not None:
            spec = replace(spec, fps=fps)
        validate(spec, self.settings)
        self.spec = spec
        self._step = spec.time_scale / (spec.fps * self.settings.substeps)
        self._bodies, self._state = build_bodies(spec)
        self._frame = spec.frame_start
        self._last_step = 0.0
        self._predicted = np.zeros((len(spec.bodies), 6))  # twists, as the last step began
        self._memory = none_remembered()
        gravity_speed = strongest_gravity(spec) * self._step
        movable, radius = self._bodies.model.dof >= 0, self._bodies.shapes.radius
        self._moving = MovingIslands(len(spec.bodies), self.settings)
        self._sleep = Sleep(movable, radius, gravity_speed, self._step, self.settings.sleeping)
        self._sleep.lay(*laid_asleep(spec))
        self._bending = Bending.of_scene(spec, modes)
        shapes_of_modes = {int(body): one.shapes for body, one in zip(self._bending.body, self._bending.reduced, strict=True)}
        self._deformation = Deformation(spec, self._bodies.shapes, shapes_of_modes)
        self._deformation.bend_on(self._state.modal_velocity)
        self._together = HeldTogether(spec, self._bodies)
        of_bodies = self._bodies, self._together
        self._impacts = ImpactFinder(*of_bodies, self._deformation)
        threads = number_of_threads(threads)
        self._collider = Collider(*of_bodies, self._impacts, self._deformation, threads)
        self._later = LaterContacts(*of_bodies, self._impacts, self._deformation)
        self._paths = Prescribed(spec, self._bodies, self.settings.substeps, self._step)
        self._kept = KeptContacts(self._step) if keep_contacts else None
        self._paths.hold(0, self._state, self._sleep.held, self._last_step)
        self._prescribed(0.0, 1.0, self._step)
        self._fields = Fields(spec, self._bodies, self.settings.substeps) if spec.fields else None
        self.pull: Pull | None = None
        self._joints = Joints(spec, self._bodies, self._bending, self._state)
        solved = self._joints, self._deformation, self._moving
        rolling = Rolling(self._bodies, self._impacts, self._deformation, self._moving, self._bending.bends)
        self._see, self._step_now = see, 0
        self._solver = StepSolver(spec, self.settings, *solved, rolling, threads, None if see is None else self._show)
        self._reaction, self._held = np.zeros((len(self._joints), 6)), np.zeros((len(self._joints), 6))
        odd = *scene_warnings(spec), *self._bending.warnings(spec, self.settings)
        self.warnings: tuple[SceneWarning, ...] = (*odd, *self._begin_contacts(), *self._of_joints())

    def _show(self, system: System, impulse: Floats) -> None:
        """Show the problem that is solved next."""
        assert self._see is not None
        self._see(self._step_now, system, impulse)

    @property
    def held_in_step(self) -> Floats:
        """(j, 6) N s and N m s: what the last time step's impulses were in the coordinates of each joint."""
        return self._held

    def first_frame(self) -> Frame:
        """The state as it is now, before or between steps, without statistics."""
        return self._record([])

    def advance(self, before_step: Callable[[], object] = lambda: None) -> Frame:
        """Simulate one frame. What `before_step` raises, which is called before each time step, ends it between two of them;
        only `restore` leads on from there. Raises SceneError where animated bodies cannot be followed to that frame, and where
        bodies move beyond all numbers."""
        self._enter_frame()
        rows = []
        self._reaction[:] = 0.0
        if self._kept is not None:
            self._kept.begin_frame()
        for substep in range(self.settings.substeps):
            before_step()
            rows.append(self._advance_step(substep))
        self._frame += 1
        frame = self._record(rows)
        require_finite(frame, tuple(body.name for body in self.spec.bodies))
        return frame

    def run(self, frames: int | None = None) -> list[Frame]:
        """The first frame and those after it: `frames` more, or up to the end of the scene's range."""
        return list(self.frames(frames))

    def frames(self, frames: int | None = None) -> Iterator[Frame]:
        """As `run`, one by one."""
        yield self.first_frame()
        for _ in range(self.spec.frame_end - self._frame if frames is None else frames):
            yield self.advance()

    def checkpoint(self) -> dict[str, NDArray]:
        """All that `restore` needs to go on bit for bit."""
        memory = {f"memory_{name}": array.copy() for name, array in zip(ContactMemory._fields, self._memory, strict=True)}
        state = {name: array.copy() for name, array in zip(State._fields, self._state, strict=True)}
        joints = {f"joint_{name}": array.copy() for name, array in zip(JointMemory._fields, self._joints.memory, strict=True)}
        return (
            state
            | memory
            | joints
            | self._sleep.checkpoint()
            | self._moving.checkpoint()
            | self._together.checkpoint()
            | {"last_step": np.array([self._last_step])}
        )

    def restore(self, frame: int, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint that was taken after the given frame."""
        self._frame = frame
        none = {"modal": np.zeros_like(self._state.modal), "modal_velocity": np.zeros_like(self._state.modal)}
        self._state = State(*(np.array((none | checkpoint)[name]) for name in State._fields))
        self._memory = remembered(checkpoint, "memory")
        self._joints.restore(JointMemory(*(np.array(checkpoint[f"joint_{name}"]) for name in JointMemory._fields)))
        self._sleep.restore(checkpoint)
        self._moving.restore(checkpoint)
        self._last_step = float(checkpoint["last_step"][0])
        self._follow_modes()
        self._together.follow(self._joints.links, self._joints.is_rigid)
        if all(name in checkpoint for name in OF_PAIRS):
            self._together.restore(checkpoint)
        else:
            # of an earlier version: pairs that are held begin with the gap that there is now
            self._together.forget()
            self._take_gaps()

    def take_up(self, frame: Frame, checkpoint: dict[str, NDArray]) -> tuple[SceneWarning, ...]:
        """Go on after a frame of a simulation of another scene, with the same bodies and joints; returns what overlaps now.

        Active bodies are where they were there, as fast, and all others where this scene has them. What was remembered of
        contacts is forgotten, for it may be of other shapes; what slept is awake, but for what was never touched.
        """
        self._frame = frame.frame
        self._last_step = float(checkpoint["last_step"][0])
        self._memory = none_remembered()
        at = float((frame.frame - self.spec.frame_start) * self.settings.substeps)
        moving = self._bodies.model.dof >= 0
        for whole, part in zip(self._state[:4], state_at(self._bodies, frame)[:4], strict=True):
            whole[moving] = part[moving]
        if len(self._bending) and len(frame.modal) == len(self._state.modal):
            self._state.modal[:], self._state.modal_velocity[:] = frame.modal, checkpoint["modal_velocity"]
        self._sleep.keep_untouched(checkpoint)
        self._follow_modes()
        self._paths.hold(frame.frame - self.spec.frame_start, self._state, self._sleep.held, self._last_step)
        self._prescribed(at, at + 1.0, self._step)
        angle, twist = (np.array(checkpoint[f"joint_{name}"]) for name in ("angle", "twist"))
        self._joints.restore(self._joints.memory._replace(angle=angle, twist=twist, broken=frame.broken.copy()))
        return self._begin_contacts()

    def _enter_frame(self) -> None:
        """Do what is due at a frame before its first step."""
        self._paths.require(self._frame + 1)
        frame, held = self._frame - self.spec.frame_start, self._sleep.held.copy()
        self._paths.hold(frame, self._state, self._sleep.held, self._last_step)
        released = held & ~self._sleep.held
        if self._fields is not None and released.any():
            self._fields.begin_with(frame, self._state, released, self._last_step)
        # what joints become is what they are restored to, too
        changed = self._joints.enter(frame)
        if changed:
            self._follow_joints()
        if changed | self._paths.gravity_changes(frame):
            self._wake(self._sleep.settled)
        if self._fields is not None and self._sleep.asleep.any():
            asleep, untouched = self._sleep.asleep, self._sleep.untouched
            self._wake(self._sleep.islands_of(self._fields.wakes(frame, self._state, asleep, untouched)))

    def _advance_step(self, substep: int) -> dict[str, Any]:
        """Advance by a time step of the frame; its row of statistics."""
        begin = perf_counter()
        first = (self._frame - self.spec.frame_start) * self.settings.substeps + substep
        self._held[:] = 0.0
        if self.pull is not None:
            self._wake(self._sleep.islands_of(np.arange(len(self.spec.bodies)) == self.pull.body))
        self._step_now = first
        with self._solver.one_step():
            rows = self._advance_in_parts(first)
        asleep = int(self._sleep.asleep.sum())
        if len(self._joints) and self._joints.break_by(self._held):
            self._follow_joints()
        moving = int(np.count_nonzero(self._moving.members))
        joined = self._joints.pairs, self._joints.driven
        self._memory = self._sleep.update(first, self._memory, *joined, self._moving.still, self._met_asleep)
        row = rows[0] if len(rows) == 1 else combined(rows)
        spent = {"cuts": len(rows) - 1, "seconds": perf_counter() - begin}
        return row | spent | {"asleep": asleep, "moving": moving}

    def _advance_in_parts(self, step: int) -> list[dict[str, Any]]:
        """Advance by a time step, in parts from impact to impact where bodies would pass each other; the rows of these."""
        rows: list[dict[str, Any]] = []
        parts = Parts(self._step)
        # every attempt advances or is refused, and only so many are
        while parts.left > 0.0:
            outcome = self._attempt(step + 1.0 - parts.left / self._step, parts.h, parts.cuts, parts.turns)
            if isinstance(outcome, Cut):
                parts.refuse(outcome)
            else:
                rows.append(outcome)
                parts.accept()
        return rows

    def _attempt(self, at: float, h: float, cuts: int, turns: int = 0) -> dict[str, Any] | Cut:
        """Advance by h seconds; or leave all as it is and return where it has to be cut.

        at: the begin, in time steps since the first frame. cuts: how many are still allowed; with none, it advances. turns: how
        many impacts of the step have had a part of their own.
        """
        begin = self._begin(at, h)
        contacts = begin.contacts
        distant = self._impacts.distant(contacts, begin.bodies.predicted, h)
        if distant.any():
            impacts = self._impacts.find(self._motion(begin, begin.bodies.predicted), begin.awake)
            impacts = impacts.among(contacts.chosen(distant)).outside(self._moving.members)
            if 0 < len(impacts) <= cuts - KEPT_CUTS:
                return impacts.first()
            # those that are met will be found once more, with the direction that they are met from
            contacts = contacts.without(distant)
        contacts = self._without_passed(begin, contacts)
        joints = self._joints.step(begin, self._state) if len(self._joints) else None
        memory, known = self._memory, (self._joints.memory.impulse, None)
        tries: list[Attempt] = []
        while True:
            solve = partial(self._solved, begin, joints, memory, known)
            solution = solve(contacts, cuts > 0)
            refused = self._refused(begin, solution, cuts) or self._turn(begin, solution, cuts, turns, solve)
            if refused is not None:
                return refused
            moved = self._moved(begin, solution.v, solution.apart)
            if begin.bend is not None:
                self._deformation.bend_on(self._bending.velocities(begin, solution.v + solution.apart))
            if not self._later.may_matter(solution.twist, h, h / self._step):
                tries.append(Attempt(solution, moved, NO_IMPACTS, NOTHING_LATER))
                break
            motion = self._motion(begin, twist_between(self._state, moved, solution.twist, h))
            impacts = self._impacts.find(motion, begin.awake)
            # a large island in motion does not wait for two of its bodies: what they meet at are contacts
            alone = impacts.outside(self._moving.members)
            if 0 < len(alone) <= cuts - KEPT_CUTS and solution.may_improve:
                return alone.first()
            self._deformation.bend(moved.modal)
            later = self._later.find(begin.contacts, contacts, self._state, motion, moved, impacts, begin.awake)
            tries.append(Attempt(solution, moved, impacts, later))
            woken = self._sleep.to_wake(later.contacts.body_a, later.contacts.body_b, begin.awake)
            if woken.any():
                self._wake(woken)
                return self._attempt(at, h, cuts, turns)
            if not len(later.contacts) or len(tries) >= (MAX_TRIES if solution.may_improve else FEW_TRIES):
                break
            # what was held once stays held, or two motions that each let in the other's overlap would take turns
            contacts = merged(contacts, later.contacts) if len(tries) == 1 else contacts.joined(later.contacts, len(tries))
            memory, known = solution.memory, (solution.held, solution.bias)
        best = min(tries, key=Attempt.harm)
        if cuts > 0 and best.unsettled and best.solution.may_improve:
            return Cut(0.5 * h, repeatedly=True)
        return self._advanced(begin, joints, best, [attempt.solution for attempt in tries])

    def _without_passed(self, begin: Begin, contacts: ContactSet) -> ContactSet:
        """The contacts without those that bodies on axles will have turned past as the step ends."""
        if not len(self._joints):
            return contacts
        # a part of a step is no other law
        turning = self._later.between_axles(contacts, begin.bodies.twist, begin.single, self._joints.links)
        if not turning.any():
            return contacts
        twist = self._joints.expected(begin)
        moved = self._moved(begin, begin.unknowns(twist))
        return contacts.without(self._later.passed_by(contacts, turning, moved, twist, begin.h))

    def _solved(
        self,
        begin: Begin,
        joints: JointStep | None,
        memory: ContactMemory,
        known: Known,
        contacts: ContactSet,
        bounces: bool = True,
    ) -> Solution:
        """A step solved for some contacts; those that cannot all bounce as they should do not."""
        of_try = begin, self._state, joints, contacts, memory, known
        moved = partial(self._moved, begin)
        self._deformation.bend(self._state.modal)
        solution = self._solver.solve(*of_try, bounces, moved)
        if not bounces or solution.totals.status != Status.INFEASIBLE:
            return solution
        # perhaps a bounce off one body into another
        return self._solver.solve(*of_try, False, moved)

    def _refused(self, begin: Begin, solution: Solution, cuts: int) -> Cut | None:
        """Where a step has to be cut for what its solution says alone; None where it has not."""
        if cuts == 0 or not solution.may_improve:
            return None
        if solution.is_loose:
            return Cut(0.5 * begin.h, repeatedly=True)
        # of a whole step each half is another problem, and problems that are missed are rare
        is_missed = solution.totals.status == Status.MAX_ITERATIONS and begin.h >= begin.single
        return Cut(0.5 * begin.h, repeatedly=False) if is_missed else None

    def _turn(
        self, begin: Begin, solution: Solution, cuts: int, turns: int, solve: Callable[[ContactSet], Solution]
    ) -> Cut | None:
        """Where a step has to be cut for impacts that follow each other, of which so many had their turn; None where not."""
        if cuts == 0 or not solution.may_improve:
            return None
        first = first_of_some(begin, solution, self._state.position, turns, solve)
        return Cut(first, repeatedly=False, is_turn=True) if first < begin.h else None

    def _begin(self, at: float, h: float) -> Begin:
        """Predict and collide: bodies and contacts as a step of h seconds begins, with all awake that it could disturb."""
        state = self._state
        prescribed = self._prescribed(at, at + h / self._step, h)
        self._wake(self._to_wake(prescribed, h))
        while True:
            model = self._bending.model(self._paths.model(at), state)
            begin = predicted_step(model, state, prescribed, self._sleep.awake, at, h, self._last_step, self._step)
            if self._fields is not None:
                self._fields.push(begin, state, begin.force_time)
            if self.pull is not None:
                self.pull.push(begin, state, self._bodies.center_of_mass)
            if len(self._bending):
                begin = self._bending.begin(begin, state)
                self._deformation.bend(state.modal)
                self._deformation.bend_on(self._bending.velocities(begin, begin.unknowns(begin.bodies.predicted)))
            contacts = self._collider.contacts(state, begin.awake, begin.bodies.predicted, h, begin.bodies.rotation)
            woken = self._sleep.to_wake(contacts.body_a, contacts.body_b, begin.awake)
            if not woken.any():
                begin = begin.with_contacts(contacts, self._together.rest)
                speed = self._impacts.reach(begin.bodies.twist, 1.0)
                return bearing_until_met(begin, state, speed, self._memory, self._moving.members | self._bending.bends)
            self._wake(woken)

    def _moved(self, begin: Begin, v: Floats, apart: Floats | None = None) -> State:
        """The state at the end of a step with velocities v, and others that part what overlaps, both (dof,)."""
        moved = State(*(array.copy() for array in self._state))
        apart = np.zeros_like(v) if apart is None else apart
        integrate(begin.model, moved, begin.bodies, begin.offset, v, apart, begin.h)
        self._bending.advance(begin, moved, v, apart)
        self._paths.place(moved, self._sleep.held, begin.at + begin.h / self._step)
        return moved

    def _motion(self, begin: Begin, twist: Floats) -> Motion:
        """Bodies that move on from where they are with constant twists (n, 6)."""
        return Motion(self._state.position, begin.bodies.rotation, twist, begin.h, begin.h / self._step, OVERLAP_ALLOWED)

    def _advanced(self, begin: Begin, joints: JointStep | None, best: Attempt, solved: list[Solution]) -> dict[str, Any]:
        """Take over the best that a step was solved for; its row of statistics."""
        solution = best.solution
        kept = with_borne(solution.memory, self._memory, begin.borne)
        if self._kept is not None:
            self._kept.add(begin, solution._replace(memory=kept))
        self._together.loosen(begin.contacts, begin.awake)
        poses, bears = (self._state.position, begin.bodies.rotation), solution.memory.impulse[:, 0] > 0.0
        chosen = chosen_normals(self._bodies.shapes, *poses, solution.contacts, bears)
        self._state, self._last_step = best.moved, begin.h
        bending = self._deformation.bending_speed()
        self._follow_modes()
        self._predicted = begin.bodies.predicted
        self._sleep.record_motion(solution.twist, solution.totals.status == Status.SOLVED, bending)
        found = {"approach": solution.approach, "taken": solution.taken}
        # what parts the overlaps of the next step is found anew: contacts that pushed once would push for ever, a little
        self._memory = kept._replace(parting=np.zeros_like(kept.parting), **found)
        if joints is not None:
            done = joints.held(solution.held[joints.triples])
            self._held += done.by_coordinate
            self._reaction += done.on_b
            self._joints.advance(self._state, solution.held, begin.bodies.twist)
        joined = None if joints is None else joints.bodies
        return step_row(begin, solution, joined, solved, best.later.deepest, chosen)

    def _follow_modes(self) -> None:
        """Put the surfaces of bodies that bend where the state has them, to move on as it does."""
        self._deformation.bend(self._state.modal)
        self._deformation.bend_on(self._bending.of_those(self._sleep.awake, self._state.modal_velocity))

    def _wake(self, woken: NDArray[np.bool_]) -> None:
        if woken.any():
            self._memory = self._sleep.wake(woken, self._memory)

    def _met_asleep(self, falling: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(n,) which of some bodies would be met in the next step by what stays awake, were they to sleep."""
        awake = self._sleep.awake & ~falling
        moving = np.where(falling[:, None], 0.0, self._predicted)
        contacts = self._collider.contacts(self._state, awake, moving, self._step)
        a, b = contacts.body_a, contacts.body_b
        met = np.zeros_like(falling)
        met[a[awake[b]]] = True
        met[b[awake[a]]] = True
        return met & falling

    def _to_wake(self, prescribed: Floats, h: float) -> NDArray[np.bool_]:
        """(n,) which must wake because an animated body that moves, or a mesh that deforms, comes near."""
        asleep = self._sleep.asleep
        if not asleep.any():
            return np.zeros_like(asleep)
        motion, moving = self._collider.moves(prescribed, h)
        if not moving.any():
            return np.zeros_like(asleep)
        pairs = self._joints.pairs
        joined = self._sleep.to_wake(pairs[:, 0], pairs[:, 1], moving)
        near = self._collider.near(self._state, asleep, moving, motion)
        return joined | self._sleep.to_wake(near.body_a, near.body_b, moving)

    def _prescribed(self, at: float, end: float, h: float) -> Floats:
        """Put what is animated or deforms where it is at the begin; the twists (n, 6) over the h seconds up to the end."""
        self._paths.place(self._state, self._sleep.held, at)
        self._deformation.place(at / self.settings.substeps, end / self.settings.substeps, h)
        return self._paths.twists(self._state, self._sleep.held, end, h)

    def _begin_contacts(self) -> tuple[SceneWarning, ...]:
        """Take the gaps that bodies have now for those at which joints hold them; a warning for each pair of others that
        overlap by more than their rest offset."""
        self._together.forget()
        self._together.follow(self._joints.links, self._joints.is_rigid)
        contacts = self._take_gaps()
        apart, names = contacts.without(self._together.are_held(contacts)), [body.name for body in self.spec.bodies]
        return begun_overlaps(apart, self._bodies.model.size, names, self._frame)

    def _follow_joints(self) -> None:
        """Have contacts agree with the joints that hold now."""
        if self._together.follow(self._joints.links, self._joints.is_rigid):
            self._take_gaps()

    def _take_gaps(self) -> ContactSet:
        """All contacts as they are now, at whose gaps joints hold from now on whom they did not hold before."""
        still = np.zeros((len(self.spec.bodies), 6))
        contacts = self._collider.contacts(self._state, self._sleep.awake | self._sleep.asleep, still, 0.0)
        if len(self._joints.links):
            self._together.begin(self._collider.neighbours(self._state), contacts)
        return contacts

    def _of_joints(self) -> list[SceneWarning]:
        """What is odd about the joints as the scene begins."""
        if not len(self._joints):
            return []
        step, movable = self._step, self._bodies.model.dof >= 0
        twists = self._paths.twists(self._state, self._sleep.held, 1.0, step)
        model, awake = self._bending.model(self._paths.model(0.0), self._state), movable & ~self._sleep.held
        begin = self._bending.begin(predicted_step(model, self._state, twists, awake, 0.0, step, 0.0, step), self._state)
        begun = begin, self._state
        return [*self._joints.warnings(), *self._joints.too_stiff(*begun), *self._joints.contradictions(*begun)]

    def _record(self, rows: list[dict[str, Any]]) -> Frame:
        bodies = replace(self._bodies, model=self._bending.model(self._bodies.model, self._state))
        poses, velocities = to_body_frames(bodies, self._state)
        reactions = self._reaction * (self.spec.fps / self.spec.time_scale)
        broken = self._joints.memory.broken.copy()
        giving_way = np.zeros(len(self._joints))
        if rows and len(self._joints):
            # half of what they would come nearer by if nothing else held them
            nearer = 0.5 * self.settings.recovery_speed * self.settings.substeps * self._step
            giving_way = self._joints.giving_way(self._state, nearer)
        contacts = self._kept.of_frame() if self._kept is not None and rows else None
        joined = reactions, broken, giving_way
        return Frame(self._frame, poses, velocities, frame_statistics(rows), *joined, contacts, self._state.modal.copy())
