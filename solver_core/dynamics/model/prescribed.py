# SPDX-License-Identifier: GPL-3.0-or-later
"""What a scene prescribes frame by frame: bodies that follow paths, for good or until they are let go, and gravity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...scene.spec import BodyKind, SceneSpec
from ...validation.findings import SceneError
from ...validation.paths import followed_frames, lost_motion
from ..motion.paths import end_twist, path_pose
from ..motion.rotation import rotation_vector
from .bodies import Bodies, Model, State, angular_momentum, to_center_of_mass

__all__ = ["Prescribed"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Prescribed:
    """The paths and the gravity of a scene; made once for it. Frames are counted from the first one, times in time steps from
    there. held: (n,) active bodies that follow their path still."""

    def __init__(self, spec: SceneSpec, bodies: Bodies, substeps: int, step: float):
        """step: s, a time step, of which a frame has so many."""
        self._bodies, self._substeps, self._frame_seconds = bodies, substeps, step * substeps
        self._gravity = None if spec.gravity_path is None else np.asarray(spec.gravity_path, dtype=np.float64)
        self._movable = bodies.model.dof >= 0
        self._paths = [
            (i, to_center_of_mass(finite_part(body.path), bodies.center_of_mass[i]))
            for i, body in enumerate(spec.bodies)
            if body.kind is not BodyKind.PASSIVE and body.path is not None
        ]
        self._lost = lost_motion(spec)

    def require(self, frame: int) -> None:
        """Raise SceneError where paths do not lead to this frame of the scene, with whose, and how far they do."""
        if self._lost is not None and frame >= self._lost[0]:
            raise SceneError(self._lost[1])

    def model(self, at: float) -> Model:
        """The constants of the bodies, with the gravity that acts at a time."""
        if self._gravity is None:
            return self._bodies.model
        frame = min(int(at / self._substeps) + 1, len(self._gravity) - 1)
        return self._bodies.model._replace(gravity=self._gravity[frame])

    def gravity_changes(self, frame: int) -> bool:
        """Whether gravity is another one on the way to the next frame than on the way to this one."""
        path = self._gravity
        return path is not None and 0 < frame < len(path) - 1 and not np.array_equal(path[frame], path[frame + 1])

    def hold(self, frame: int, state: State, held: Flags, last_step: float) -> None:
        """Hold the active bodies that follow paths at a frame, and let go those whose paths end at it, with the velocity that
        they have there. last_step: s, the step before."""
        for i, path in self._paths:
            held[i] = self._movable[i] and frame < len(path) - 1
            if self._movable[i] and frame == len(path) - 1:
                twist = end_twist(path) / self._frame_seconds
                # of the step before, over half of which gravity acts in the one to come
                fallen = 0.5 * last_step * self.model(frame * self._substeps).gravity
                state.velocity[i] = twist[:3] - fallen
                state.angular_momentum[i] = angular_momentum(self._bodies.model.inertia[i], path[-1, 3:], twist[3:])

    def place(self, state: State, held: Flags, at: float) -> None:
        """Put the bodies that follow paths where these have them at a time."""
        for i, path in self._followed(held):
            pose = path_pose(path, at / self._substeps)
            state.position[i], state.orientation[i] = pose[:3], pose[3:]

    def twists(self, state: State, held: Flags, end: float, h: float) -> Floats:
        """(n, 6) twists that lead from a state to where paths have their bodies at the end of h seconds; zero for others."""
        twists = np.zeros((len(self._movable), 6))
        for i, path in self._followed(held):
            after = path_pose(path, end / self._substeps)
            twists[i, :3] = (after[:3] - state.position[i]) / h
            twists[i, 3:] = rotation_vector(state.orientation[i], after[3:]) / h
        return twists

    def _followed(self, held: Flags) -> list[tuple[int, Floats]]:
        return [(i, path) for i, path in self._paths if held[i] or not self._movable[i]]


def finite_part(path: Floats) -> Floats:
    """A path (frames, 7) up to where it is lost: motion between frames is made of poses further on, too."""
    whole = np.asarray(path, dtype=np.float64)
    return whole[: followed_frames(whole)]
