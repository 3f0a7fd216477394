# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulation of a scene frame by frame: events at frames, recorded results, checkpoints and continuation."""

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
    """The simulation of one scene. Call `first_frame` and then `advance` once per frame, or call `run`.

    warnings: for the user, known before the first step. pull: the mouse spring on a body; None if there is none. It may be set
    between steps. every_contact: whether all contacts of meshes are kept; by default a few contacts that span each contact
    region are kept. A checkpoint contains neither `pull` nor `every_contact`.
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
        """Set up the simulation of a scene.

        Parameters
        ----------
        spec : the scene
        settings : solver settings; None for the defaults
        fps : frames per second, in place of the scene's; None to use the scene's
        keep_contacts : record the contacts of each frame; this does not change the motion
        threads : threads for large islands, 0 for one per processor; this does not change the motion
        see : called before each solve with the index of the time step (0 at the first frame), the contact problem, and the
            initial impulses (m, 3) in N s. It must not modify them.
        modes : known vibration modes of flexible bodies, by body index; the others are computed
        changes : fields of `SolverSettings` to override; choices also by name, such as method="pivot"

        Raises
        ------
        SceneError : the scene is invalid; the error names every object and field that is wrong
        TypeError : a field in `changes` does not exist
        ValueError : a value is not a valid choice
        """
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
        """The mouse spring on a body; None if there is none."""
        return self._steps.pull

    @pull.setter
    def pull(self, pull: Pull | None) -> None:
        self._steps.pull = pull

    @property
    def every_contact(self) -> bool:
        """Whether all contacts of meshes are solved, as the tables of published papers require. This costs more time."""
        return self._steps.every_contact

    @every_contact.setter
    def every_contact(self, every: bool) -> None:
        self._steps.every_contact = every

    @property
    def pull_force(self) -> Floats:
        """(3,) N, the force of `pull` in the last time step; zeros if no body was pulled."""
        return self._steps.pull_impulse / self._steps.step

    @property
    def held_in_step(self) -> Floats:
        """(j, 6) N s and N m s: the impulses of the last time step in the coordinates of each joint."""
        return self._steps.held

    @property
    def asleep(self) -> NDArray[np.bool_]:
        """(n,) which bodies fell asleep after they came to rest."""
        return self._steps.sleep.settled

    @property
    def radius(self) -> Floats:
        """(n,) m, the distance from the center of mass to the farthest point of each body; infinite for a half-space."""
        return self._steps.bodies.shapes.radius

    @property
    def center_of_mass(self) -> Floats:
        """(n, 3) m, world positions: the center of mass of bodies that the solver moves, the origin of all others."""
        return self._steps.state.position

    def deepest_overlap(self) -> tuple[float, tuple[int, int] | None]:
        """Measure the deepest overlap of all bodies at their current poses.

        Returns
        -------
        depth : m; 0 if no bodies overlap
        pair : the indices of the two bodies; None if no bodies overlap
        """
        contacts = self._steps.all_contacts()
        worst = int(np.argmin(contacts.gap)) if len(contacts) else -1
        if worst < 0 or contacts.gap[worst] >= 0.0:
            return 0.0, None
        return -float(contacts.gap[worst]), (int(contacts.body_a[worst]), int(contacts.body_b[worst]))

    def first_frame(self) -> Frame:
        """Return the current state, without statistics. Call it before or between steps."""
        return self._record([])

    def advance(self, before_step: Callable[[], object] = lambda: None) -> Frame:
        """Simulate one frame. A frame takes no time steps if the speed of the simulation is 0.

        Parameters
        ----------
        before_step : called before each time step. An exception that it raises ends the frame between two time steps; after
            that, the simulation can only continue from a checkpoint with `restore`.

        Returns
        -------
        the new frame, with the statistics of its time steps

        Raises
        ------
        SceneError : an animated body has no path up to this frame, or a position or velocity is not finite
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
        """Return the first frame and the frames after it: `frames` of them, or all up to the end of the scene's range."""
        return list(self.frames(frames))

    def frames(self, frames: int | None = None) -> Iterator[Frame]:
        """Yield the frames of `run` one by one."""
        yield self.first_frame()
        for _ in range(self.spec.frame_end - self._frame if frames is None else frames):
            yield self.advance()

    def checkpoint(self) -> dict[str, NDArray]:
        """Return copies of all arrays that `restore` needs to continue bit for bit."""
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
            | {"last_step": np.array([steps.last_step]), "impulse_time": np.array([steps.impulse_time])}
        )

    def restore(self, frame: int, checkpoint: dict[str, NDArray]) -> None:
        """Continue from a checkpoint that was taken after the given frame."""
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
        steps.impulse_time = float(checkpoint.get("impulse_time", checkpoint["last_step"])[0])
        if "takeovers" in checkpoint:
            steps.paths.takeovers = np.array(checkpoint["takeovers"])
        if "waits" in checkpoint:
            steps.restore_waiting(np.array(checkpoint["waits"]))
        steps.update_flexible_surfaces()
        steps.update_breaking_impulses()
        steps.together.follow(steps.joints.links, steps.joints.is_rigid)
        if all(name in checkpoint for name in OF_PAIRS):
            steps.together.restore(checkpoint)
        else:
            # A checkpoint of an earlier version lacks the initial gaps of jointed pairs: the current gaps replace them.
            steps.together.forget()
            steps.record_rest_gaps()

    def take_up(self, frame: Frame, checkpoint: dict[str, NDArray]) -> tuple[SceneWarning, ...]:
        """Continue after a frame of another scene's simulation. Both scenes have the same bodies and joints.

        Active bodies take the poses and velocities of that frame. All other bodies follow this scene. The contact history is
        discarded, because shapes may differ. Sleeping bodies wake, except those that were never touched.

        Parameters
        ----------
        frame : the frame to continue after
        checkpoint : of the other simulation, taken after that frame

        Returns
        -------
        a warning for each pair of bodies that overlaps now
        """
        steps = self._steps
        self._frame = frame.frame
        steps.last_step = float(checkpoint["last_step"][0])
        steps.memory, steps.begun, steps.impulse_time = none_remembered(), NO_IMPACTS_BEGUN, 0.0
        steps.take_step(frame.frame - self.spec.frame_start)
        at = float((frame.frame - self.spec.frame_start) * self.settings.substeps)
        moving = steps.bodies.model.dof >= 0
        for whole, part in zip(steps.state[:4], state_at(steps.bodies, frame)[:4], strict=True):
            whole[moving] = part[moving]
        if len(steps.bending) and len(frame.modal) == len(steps.state.modal):
            steps.state.modal[:], steps.state.modal_velocity[:] = frame.modal, checkpoint["modal_velocity"]
        steps.sleep.keep_untouched(checkpoint)
        steps.update_flexible_surfaces()
        if "waits" in checkpoint and len(steps.activation):
            steps.restore_waiting(np.array(checkpoint["waits"]))
        steps.paths.goes_on(frame.frame - self.spec.frame_start, steps.state)
        steps.hold(frame.frame - self.spec.frame_start)
        steps.place(at, at + 1.0, steps.step)
        if "joint_attached" in checkpoint and steps.joints.attached is not None:
            steps.joints.attach(np.array(checkpoint["joint_attached"]))
        angle, twist = (np.array(checkpoint[f"joint_{name}"]) for name in ("angle", "twist"))
        steps.joints.restore(steps.joints.memory._replace(angle=angle, twist=twist, broken=frame.broken.copy()))
        return self._begin_contacts()

    def _enter_frame(self) -> None:
        """Apply the events of a frame before its first step: paths, released bodies, joint changes and woken islands."""
        steps = self._steps
        steps.paths.require(self._frame + 1)
        frame, held = self._frame - self.spec.frame_start, steps.sleep.held.copy()
        steps.hold(frame)
        released = held & ~steps.sleep.held
        if steps.fields is not None and released.any():
            steps.fields.begin_with(frame, steps.state, released, steps.last_step)
        # The joints change even if no body is awake, because a checkpoint restores the changed joints.
        changed = steps.joints.enter(frame, steps.state)
        if changed:
            steps.update_jointed_pairs()
        if changed | steps.paths.gravity_changes(frame):
            steps.wake(steps.sleep.settled)
        if steps.fields is not None and steps.sleep.asleep.any():
            asleep, untouched = steps.sleep.asleep, steps.sleep.untouched
            steps.wake(steps.sleep.islands_of(steps.fields.wakes(frame, steps.state, asleep, untouched)))

    def _begin_contacts(self) -> tuple[SceneWarning, ...]:
        """Record the current gaps of jointed pairs as their rest gaps.

        Returns a warning for each pair that overlaps by more than its rest offset, if the pair is not jointed or is jointed
        only because both bodies have joints to the world.
        """
        steps = self._steps
        steps.together.forget()
        steps.update_breaking_impulses()
        steps.together.follow(steps.joints.links, steps.joints.is_rigid)
        contacts = steps.record_rest_gaps()
        apart = contacts.without(steps.together.are_held(contacts))
        through_the_world = contacts.chosen(steps.together.are_held_by_the_world_alone(contacts))
        of_bodies = steps.bodies.model.size, [body.name for body in self.spec.bodies], self._frame
        return begun_overlaps(apart, *of_bodies) + begun_overlaps(through_the_world, *of_bodies, held=True)

    def _of_joints(self) -> list[SceneWarning]:
        """Return warnings about the joints at the start of the scene."""
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
            # Half of the correction that joints would make in a frame if nothing else resisted.
            nearer = 0.5 * self.settings.recovery_speed * self.settings.substeps * steps.step
            giving_way = steps.joints.giving_way(steps.state, nearer)
        contacts = steps.kept.of_frame() if steps.kept is not None and rows else None
        joined = reactions, broken, giving_way
        return Frame(self._frame, poses, velocities, frame_statistics(rows), *joined, contacts, steps.state.modal.copy())
