# SPDX-License-Identifier: GPL-3.0-or-later
"""Prescribed data of a scene, frame by frame: gravity, and the paths of bodies in all or some of the frames.

An active body is kinematic while it follows its path. When it is released, it continues with its velocity. When its path takes
it over, it moves there smoothly, or jumps if the path is far away and no blend time is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import length, product
from ...linalg.mat3 import inverses
from ...scene.spec import BodyKind, BodySpec, SceneSpec, spans_of
from ...scene.timing import Timing
from ...validation.findings import SceneError
from ...validation.paths import followed_frames, lost_motion
from ..motion.blending import NUMBERS_OF_TAKEOVER, Takeover, blended
from ..motion.paths import GivenPath, begin_twist, end_twist
from ..motion.rotation import matrices, rotation_vector
from .bodies import Bodies, Model, State, angular_momentum, to_center_of_mass

__all__ = ["Prescribed"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Span:
    """The frames `first` to `last`, counted from the scene's first, in which a body follows its path.

    blended: the first frame at which it is exactly on its path. released: (6,) m/s and rad/s, the twist with which it is
    released if its path ends in a jump.
    """

    body: int
    path: GivenPath
    first: int
    last: int
    blended: int
    released: Floats

    def leads_to(self, frame: int) -> bool:
        """Return whether the body follows its path during the motion to a frame."""
        return self.first <= frame <= self.last and frame > 0


class Prescribed:
    """The paths and the gravity of a scene. Frames are counted from the first one, times in time steps from there.

    waits: (n,) active bodies that are held, on their path or in place, until something wakes them. woken: (n,) bodies that were
    held so and no longer follow their path. takeovers: (n, NUMBERS_OF_TAKEOVER) data of bodies that paths took over, zeros for
    others; of length 0 if no path of the scene takes a body over.
    """

    def __init__(self, spec: SceneSpec, bodies: Bodies, substeps: int, timing: Timing):
        """substeps: time steps per frame."""
        self._bodies, self._substeps, self._timing = bodies, substeps, timing
        self._gravity = None if spec.gravity_path is None else np.asarray(spec.gravity_path, dtype=np.float64)
        self._movable = bodies.model.dof >= 0
        self._spans = [
            span
            for i, body in enumerate(spec.bodies)
            if body.kind is not BodyKind.PASSIVE and body.path is not None
            for span in spans_in(i, body, bodies.center_of_mass[i])
        ]
        self._followed = [span for span in self._spans if not self._movable[span.body]]
        self._jumps_next: list[Span] = []
        takes_over = any(span.first > 0 for span in self._spans)
        self.takeovers = np.zeros((len(self._movable) if takes_over else 0, NUMBERS_OF_TAKEOVER))
        self._lost = lost_motion(spec)
        self.waits, self.woken = np.zeros((2, len(self._movable)), dtype=bool)

    def require(self, frame: int) -> None:
        """Raise SceneError if a path does not reach this frame of the scene, with its body and its last frame."""
        if self._lost is not None and frame >= self._lost[0]:
            raise SceneError(self._lost[1])

    def model(self, at: float) -> Model:
        """Return the constants of the bodies, with the gravity at a time."""
        if self._gravity is None:
            return self._bodies.model
        frame = min(int(at / self._substeps) + 1, len(self._gravity) - 1)
        return self._bodies.model._replace(gravity=self._gravity[frame])

    def gravity_changes(self, frame: int) -> bool:
        """Return whether gravity changes at a frame."""
        path = self._gravity
        return path is not None and 0 < frame < len(path) - 1 and not np.array_equal(path[frame], path[frame + 1])

    def hold(self, frame: int, state: State, held: Flags, last_step: float) -> None:
        """Make the active bodies kinematic that follow paths after a frame, and release those whose paths end at it.

        Released bodies keep their velocity. held: (n,) is written. last_step: s, the previous step.
        """
        seconds = self._timing.seconds(frame)
        held[:] = False
        self._jumps_next = []
        self._followed = [span for span in self._spans if not self._movable[span.body]]
        for span in self._spans:
            i = span.body
            if not self._movable[i] or self.woken[i]:
                continue
            if self.waits[i]:
                self._followed.append(span)
            elif span.last == frame:
                twist = span.released
                if len(span.path.piece_to(frame)) > 1:
                    twist = end_twist(span.path.piece_to(frame)) / seconds if seconds > 0.0 else np.zeros(6)
                # The next step adds gravity for half of the previous step, so that part is subtracted.
                fallen = 0.5 * last_step * self.model(frame * self._substeps).gravity
                state.velocity[i] = twist[:3] - fallen
                orientation = span.path.pose(float(frame))[3:]
                state.angular_momentum[i] = angular_momentum(self._bodies.model.inertia[i], orientation, twist[3:])
            elif span.leads_to(frame + 1):
                if span.first == frame + 1 and self._is_far(span, state):
                    self._jumps_next.append(span)
                    continue
                if span.first == frame + 1:
                    self._take_over(span, frame, state)
                held[i] = True
                self._followed.append(span)
        held |= self.waits

    def let_go(self, woken: Flags, at: float, state: State, held: Flags, last_step: float) -> None:
        """Release waiting bodies that wake, `woken` (n,), with the velocities of their paths.

        at: time steps since the first frame. held: (n,) is written. last_step: s, the previous step.
        """
        frame = at / self._substeps
        seconds = self._timing.seconds(max(math.ceil(frame), 1))
        let_go = woken & held
        fallen = 0.5 * last_step * self.model(at).gravity
        state.velocity[let_go], state.angular_momentum[let_go] = -fallen, 0.0
        for span in self._followed:
            i = span.body
            if not (self._movable[i] and let_go[i]):
                continue
            self._put(span, state, self._pose(span, frame, after=True))
            twist = span.path.twist(frame) / seconds if seconds > 0.0 else np.zeros(6)
            state.velocity[i] = twist[:3] - fallen
            state.angular_momentum[i] = angular_momentum(self._bodies.model.inertia[i], state.orientation[i], twist[3:])
        self._followed = [span for span in self._followed if not (self._movable[span.body] and let_go[span.body])]
        self.woken |= let_go
        self.waits &= ~woken
        held &= ~let_go

    def goes_on(self, frame: int, state: State) -> None:
        """Restart the transition of bodies to their paths from their present poses, after a frame of another bake."""
        for span in self._spans:
            if 0 < span.first <= frame < span.blended:
                pose = np.concatenate([state.position[span.body], state.orientation[span.body]])
                twist = begin_twist(span.path.piece_from(span.first))
                self.takeovers[span.body] = Takeover(float(frame), pose, twist).row

    def _is_far(self, span: Span, state: State) -> bool:
        """Return whether a body has to be on its path at the next frame, and the path is farther away than its extent."""
        way = span.path.pose(float(span.first))[:3] - state.position[span.body]
        return span.blended == span.first and length(way) > 2.0 * self._bodies.model.size[span.body]

    def _take_over(self, span: Span, frame: int, state: State) -> None:
        """Store the pose and the velocity of a body when its path takes it over, unless they are stored already."""
        known = Takeover.of_row(self.takeovers[span.body])
        if known is not None and known.begin == frame:
            return
        i, seconds = span.body, self._timing.seconds(frame + 1)
        rotation = matrices(state.orientation[i : i + 1])[0]
        local = product(inverses(self._bodies.model.inertia[i : i + 1])[0], product(rotation.T, state.angular_momentum[i]))
        twist = np.concatenate([state.velocity[i], product(rotation, local)]) * seconds
        pose = np.concatenate([state.position[i], state.orientation[i]])
        self.takeovers[i] = Takeover(float(frame), pose, twist).row
        state.velocity[i] = state.angular_momentum[i] = 0.0

    def place(self, state: State, at: float) -> None:
        """Set the poses of bodies that follow paths at a time; at a jump, the poses after it."""
        for span in self._followed:
            self._put(span, state, self._pose(span, at / self._substeps, after=True))

    def lead(self, state: State, end: float) -> None:
        """Set the poses at the end of the motion up to a time; at a jump, the poses before it."""
        for span in self._followed:
            self._put(span, state, self._pose(span, end / self._substeps, after=False))

    def arrive(self, state: State, frame: int, has_stood_still: bool) -> Flags:
        """Place the bodies that jump to a frame, and all that follow paths if time was frozen before it.

        Parameters
        ----------
        state : updated
        frame : counted from the first
        has_stood_still : whether time was frozen before the frame

        Returns
        -------
        (n,) the bodies that have moved
        """
        moved = np.zeros(len(self._movable), dtype=bool)
        for span in self._jumps_next:
            i = span.body
            self.takeovers[i] = 0.0
            state.velocity[i] = state.angular_momentum[i] = 0.0
        for span in [*self._followed, *self._jumps_next]:
            if has_stood_still or span.path.jumps_at(frame) or span in self._jumps_next:
                pose = self._pose(span, float(frame), after=True)
                now = np.concatenate([state.position[span.body], state.orientation[span.body]])
                moved[span.body] = not np.array_equal(pose, now)
                self._put(span, state, pose)
        return moved

    def twists(self, state: State, end: float, h: float) -> Floats:
        """Return (n, 6) the twists that lead from a state to the poses of paths at the end of h seconds; zero for others."""
        twists = np.zeros((len(self._movable), 6))
        for span in self._followed:
            i, after = span.body, self._pose(span, end / self._substeps, after=False)
            twists[i, :3] = (after[:3] - state.position[i]) / h
            twists[i, 3:] = rotation_vector(state.orientation[i], after[3:]) / h
        return twists

    def _pose(self, span: Span, frame: float, *, after: bool) -> Floats:
        pose = span.path.pose(frame) if after else span.path.pose_before(frame)
        takeover = Takeover.of_row(self.takeovers[span.body]) if span.first > 0 and frame < span.blended else None
        return pose if takeover is None else blended(pose, span.path, span.first, float(span.blended), frame, takeover)

    def _put(self, span: Span, state: State, pose: Floats) -> None:
        state.position[span.body], state.orientation[span.body] = pose[:3], pose[3:]


def spans_in(index: int, body: BodySpec, center: Floats) -> list[Span]:
    """Return the spans of a body with a path. center: (3,) m, of mass, in the body frame."""
    assert body.path is not None
    poses = to_center_of_mass(finite_part(body.path), center)
    jumps = body.teleports or ()
    keyed = body.velocity, body.angular_velocity
    velocity, angular = (np.asarray(value, dtype=float) for value in keyed)
    found = []
    for first, last in spans_of(body):
        # A path that is not finite is followed up to its last finite pose.
        path = GivenPath(poses[: last + 1], (*jumps, first))
        blended_at = min(first + body.blend_frames, last) if first > 0 else 0
        orientation = poses[min(last, len(poses) - 1), 3:]
        arm = product(matrices(np.ascontiguousarray(orientation)[None])[0], center)
        released = np.concatenate([velocity + np.cross(angular, arm), angular])
        found.append(Span(index, path, first, last, blended_at, released))
    return found


def finite_part(path: Floats) -> Floats:
    """Return a path (frames, 7) up to its last finite pose. Interpolation between frames also uses later poses."""
    whole = np.asarray(path, dtype=np.float64)
    return whole[: followed_frames(whole)]
