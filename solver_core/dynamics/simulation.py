# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene simulated frame by frame: what is due at frames, what is recorded of them, and where a simulation goes on from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..deformable.reduced import ReducedBody
from ..scene.spec import SceneSpec, SceneWarning, SolverSettings, changed
from ..scene.timing import speed_at
from ..validation.scene import scene_warnings, validate
from .contact.first_look import begun_overlaps
from .contact.memory import ContactMemory
from .fields.pull import Pull
from .joints.joints import JointMemory
from .model.bodies import State, to_body_frames
from .model.checkpoints import BEGUN, OF_PAIRS
from .model.frame import Frame, require_finite
from .model.impact_memory import NO_IMPACTS_BEGUN, ImpactMemory
from .model.predict import predicted_step
from .model.taking_up import state_at
from .sleeping import none_remembered, remembered
from .solve.outcome import frame_statistics
from .stepper import See, Stepper

__all__ = ["Simulation"]

Floats = NDArray[np.float64]


class Simulation:
    """A scene that is stepped: `first_frame`, then `advance` once a frame, or `run`.

    warnings: what the user should know before the first step. pull: a body that is pulled by a hand, None for none; it may be
    set between steps, and is no part of a checkpoint; nor is every_contact: leave out no contact of meshes, of which a few that
    span a region do otherwise. Raises SceneError, naming every object and field that is wrong.
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
        self._frame = spec.frame_start
        self._steps = Stepper(spec, self.settings, keep_contacts, threads, see, modes)
        odd = *scene_warnings(spec), *self._steps.bending.warnings(spec, self.settings)
        self.warnings: tuple[SceneWarning, ...] = (*odd, *self._begin_contacts(), *self._of_joints())

    @property
    def pull(self) -> Pull | None:
        """A body that is pulled by a hand, None for none."""
        return self._steps.pull

    @pull.setter
    def pull(self, pull: Pull | None) -> None:
        self._steps.pull = pull

    @property
    def every_contact(self) -> bool:
        """Whether every contact of meshes is solved, as the tables of papers need; the motion is the same, and dearer."""
        return self._steps.every_contact

    @every_contact.setter
    def every_contact(self, every: bool) -> None:
        self._steps.every_contact = every

    @property
    def pull_force(self) -> Floats:
        """(3,) N, the force of `pull` in the last time step; zeros where nothing was pulled."""
        return self._steps.pull_impulse / self._steps.step

    @property
    def held_in_step(self) -> Floats:
        """(j, 6) N s and N m s: what the last time step's impulses were in the coordinates of each joint."""
        return self._steps.held

    @property
    def asleep(self) -> NDArray[np.bool_]:
        """(n,) which bodies fell asleep where they had come to rest."""
        return self._steps.sleep.settled

    @property
    def radius(self) -> Floats:
        """(n,) m, the distance from the center of mass to the farthest point of each body; infinite for a half-space."""
        return self._steps.bodies.shapes.radius

    @property
    def center_of_mass(self) -> Floats:
        """(n, 3) m, where the centers of mass of the bodies that the solver moves are in the world; of others the origins."""
        return self._steps.state.position

    def deepest_overlap(self) -> tuple[float, tuple[int, int] | None]:
        """Measure the deepest overlap of all bodies where they are now.

        Returns
        -------
        depth : m, 0 where nothing overlaps.
        pair : the indices of the two bodies, None where nothing overlaps.
        """
        contacts = self._steps.all_contacts()
        worst = int(np.argmin(contacts.gap)) if len(contacts) else -1
        if worst < 0 or contacts.gap[worst] >= 0.0:
            return 0.0, None
        return -float(contacts.gap[worst]), (int(contacts.body_a[worst]), int(contacts.body_b[worst]))

    def first_frame(self) -> Frame:
        """The state as it is now, before or between steps, without statistics."""
        return self._record([])

    def advance(self, before_step: Callable[[], object] = lambda: None) -> Frame:
        """Simulate one frame, in no time steps where the speed of the simulation is 0.

        What `before_step` raises, which is called before each time step, ends it between two of them; only `restore` leads on
        from there. Raises SceneError where animated bodies cannot be followed to that frame, and where bodies move beyond all
        numbers.
        """
        frame = self._frame - self.spec.frame_start
        substeps = self._steps.enter_frame(frame + 1)
        self._enter_frame()
        rows, first = [], frame * self.settings.substeps
        self._steps.reaction[:] = 0.0
        for substep in range(substeps):
            before_step()
            rows.append(self._steps.advance(first + substep))
        if not substeps:
            before_step()
        self._steps.arrive(frame + 1, has_stood_still=substeps == 0)
        self._frame += 1
        recorded = self._record(rows)
        require_finite(recorded, tuple(body.name for body in self.spec.bodies))
        return recorded

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
        steps = self._steps
        memory = {f"memory_{name}": array.copy() for name, array in zip(ContactMemory._fields, steps.memory, strict=True)}
        begun = {f"begun_{name}": array.copy() for name, array in zip(ImpactMemory._fields, steps.begun, strict=True)}
        state = {name: array.copy() for name, array in zip(State._fields, steps.state, strict=True)}
        joints = {f"joint_{name}": array.copy() for name, array in zip(JointMemory._fields, steps.joints.memory, strict=True)}
        return (
            state
            | memory
            | begun
            | joints
            | steps.sleep.checkpoint()
            | steps.island_motion.checkpoint()
            | steps.together.checkpoint()
            | ({"takeovers": steps.paths.takeovers.copy()} if len(steps.paths.takeovers) else {})
            | ({"waits": steps.activation.waits.copy()} if len(steps.activation) else {})
            | ({} if steps.joints.attached is None else {"joint_attached": steps.joints.attached})
            | {"last_step": np.array([steps.last_step])}
        )

    def restore(self, frame: int, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint that was taken after the given frame."""
        steps = self._steps
        self._frame = frame
        none = {"modal": np.zeros_like(steps.state.modal), "modal_velocity": np.zeros_like(steps.state.modal)}
        steps.state = State(*(np.array((none | checkpoint)[name]) for name in State._fields))
        steps.memory = remembered(checkpoint, "memory")
        nothing_begun = dict(zip(BEGUN, NO_IMPACTS_BEGUN, strict=True))
        steps.begun = ImpactMemory._make(np.array((nothing_begun | checkpoint)[name]) for name in BEGUN)
        if "joint_attached" in checkpoint:
            steps.joints.attach(np.array(checkpoint["joint_attached"]))
        nothing_recent = {"joint_recent": np.zeros_like(steps.joints.memory.recent)}
        joints = nothing_recent | checkpoint
        steps.joints.restore(JointMemory._make(np.array(joints[f"joint_{name}"]) for name in JointMemory._fields))
        steps.take_step(frame - self.spec.frame_start)
        steps.sleep.restore(checkpoint)
        steps.island_motion.restore(checkpoint)
        steps.last_step = float(checkpoint["last_step"][0])
        if "takeovers" in checkpoint:
            steps.paths.takeovers = np.array(checkpoint["takeovers"])
        if "waits" in checkpoint:
            steps.follow_activation(np.array(checkpoint["waits"]))
        steps.follow_modes()
        steps.follow_blows()
        steps.together.follow(steps.joints.links, steps.joints.is_rigid)
        if all(name in checkpoint for name in OF_PAIRS):
            steps.together.restore(checkpoint)
        else:
            # of an earlier version: pairs that are held begin with the gap that there is now
            steps.together.forget()
            steps.take_gaps()

    def take_up(self, frame: Frame, checkpoint: dict[str, NDArray]) -> tuple[SceneWarning, ...]:
        """Go on after a frame of a simulation of another scene, with the same bodies and joints; returns what overlaps now.

        Active bodies are where they were there, as fast, and all others where this scene has them. What was remembered of
        contacts is forgotten, for it may be of other shapes; what slept is awake, but for what was never touched.
        """
        steps = self._steps
        self._frame = frame.frame
        steps.last_step = float(checkpoint["last_step"][0])
        steps.memory, steps.begun = none_remembered(), NO_IMPACTS_BEGUN
        steps.take_step(frame.frame - self.spec.frame_start)
        at = float((frame.frame - self.spec.frame_start) * self.settings.substeps)
        moving = steps.bodies.model.dof >= 0
        for whole, part in zip(steps.state[:4], state_at(steps.bodies, frame)[:4], strict=True):
            whole[moving] = part[moving]
        if len(steps.bending) and len(frame.modal) == len(steps.state.modal):
            steps.state.modal[:], steps.state.modal_velocity[:] = frame.modal, checkpoint["modal_velocity"]
        steps.sleep.keep_untouched(checkpoint)
        steps.follow_modes()
        if "waits" in checkpoint and len(steps.activation):
            steps.follow_activation(np.array(checkpoint["waits"]))
        steps.paths.goes_on(frame.frame - self.spec.frame_start, steps.state)
        steps.hold(frame.frame - self.spec.frame_start)
        steps.place(at, at + 1.0, steps.step)
        if "joint_attached" in checkpoint and steps.joints.attached is not None:
            steps.joints.attach(np.array(checkpoint["joint_attached"]))
        angle, twist = (np.array(checkpoint[f"joint_{name}"]) for name in ("angle", "twist"))
        steps.joints.restore(steps.joints.memory._replace(angle=angle, twist=twist, broken=frame.broken.copy()))
        return self._begin_contacts()

    def _enter_frame(self) -> None:
        """Do what is due at a frame before its first step."""
        steps = self._steps
        steps.paths.require(self._frame + 1)
        frame, held = self._frame - self.spec.frame_start, steps.sleep.held.copy()
        steps.hold(frame)
        released = held & ~steps.sleep.held
        if steps.fields is not None and released.any():
            steps.fields.begin_with(frame, steps.state, released, steps.last_step)
        # what joints become is what they are restored to, too
        changed = steps.joints.enter(frame, steps.state)
        if changed:
            steps.follow_joints()
        if changed | steps.paths.gravity_changes(frame):
            steps.wake(steps.sleep.settled)
        if steps.fields is not None and steps.sleep.asleep.any():
            asleep, untouched = steps.sleep.asleep, steps.sleep.untouched
            steps.wake(steps.sleep.islands_of(steps.fields.wakes(frame, steps.state, asleep, untouched)))

    def _begin_contacts(self) -> tuple[SceneWarning, ...]:
        """Take the gaps that bodies have now for those at which joints hold them; a warning for each pair that overlaps by more
        than its rest offset, of others and of those that only joints to the world hold."""
        steps = self._steps
        steps.together.forget()
        steps.follow_blows()
        steps.together.follow(steps.joints.links, steps.joints.is_rigid)
        contacts = steps.take_gaps()
        apart = contacts.without(steps.together.are_held(contacts))
        through_the_world = contacts.chosen(steps.together.are_held_by_the_world_alone(contacts))
        of_bodies = steps.bodies.model.size, [body.name for body in self.spec.bodies], self._frame
        return begun_overlaps(apart, *of_bodies) + begun_overlaps(through_the_world, *of_bodies, held=True)

    def _of_joints(self) -> list[SceneWarning]:
        """What is odd about the joints as the scene begins."""
        steps = self._steps
        if not len(steps.joints):
            return []
        step, movable = steps.step, steps.bodies.model.dof >= 0
        twists = steps.paths.twists(steps.state, 1.0, step)
        model, awake = steps.bending.model(steps.paths.model(0.0), steps.state), movable & ~steps.sleep.held
        begin = steps.bending.begin(predicted_step(model, steps.state, twists, awake, 0.0, step, 0.0, step), steps.state)
        begun = begin, steps.state
        return [*steps.joints.warnings(), *steps.joints.too_stiff(*begun), *steps.joints.contradictions(*begun)]

    def _record(self, rows: list[dict[str, Any]]) -> Frame:
        steps = self._steps
        bodies = replace(steps.bodies, model=steps.bending.model(steps.bodies.model, steps.state))
        poses, velocities = to_body_frames(bodies, steps.state)
        speed = speed_at(self.spec, self._frame - self.spec.frame_start)
        reactions = steps.reaction * (self.spec.fps / (speed or self.spec.time_scale))
        broken = steps.joints.memory.broken.copy()
        giving_way = np.zeros(len(steps.joints))
        if rows and len(steps.joints):
            # half of what they would come nearer by if nothing else held them
            nearer = 0.5 * self.settings.recovery_speed * self.settings.substeps * steps.step
            giving_way = steps.joints.giving_way(steps.state, nearer)
        contacts = steps.kept.of_frame() if steps.kept is not None and rows else None
        joined = reactions, broken, giving_way
        return Frame(self._frame, poses, velocities, frame_statistics(rows), *joined, contacts, steps.state.modal.copy())
