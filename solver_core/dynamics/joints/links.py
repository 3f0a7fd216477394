# SPDX-License-Identifier: GPL-3.0-or-later
"""How far links swing in a time step for what pulls at them, as seen in the frames of a bake.

What swings further than steps follow is held in line (`tension.py`), and swings slower than it should. The pull is the mean of
a frame, in which a jerk counts for little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import product
from ...linalg.mat3 import relative_eigen
from ...scene.joints import JointSpec
from ...scene.spec import SceneSpec, SceneWarning, SolverSettings
from ..model.bodies import build_bodies
from ..model.frame import Frame
from ..motion.rotation import matrices
from .table import joint_table
from .tension import FOLLOWED, geometric_stiffness

__all__ = ["Links", "links_of", "swing_warnings"]

Floats = NDArray[np.float64]

MOST_SWING = 2.0 * np.sqrt(FOLLOWED)  # rad a step: what swings further is held in line


class Links:
    """The bodies of a scene that swing on their joints: active ones, all of whose joints leave them an angle."""

    def __init__(self, spec: SceneSpec, step: float) -> None:
        """step: s, of the simulation."""
        bodies, state = build_bodies(spec)
        frames = joint_table(spec, bodies.model, state).frames
        self._model, self._step, self._place = bodies.model, step, frames.place
        stiff = np.array([not turns(joint) for joint in spec.joints], dtype=bool)
        held = np.unique(frames.body[stiff])
        body = np.where((frames.body >= 0) & ~np.isin(frames.body, held), frames.body, -1)
        self._body = np.where(bodies.model.dof[body] >= 0, body, -1)

    def swing(self, frame: Frame) -> Floats:
        """(n,) rad in a time step, of every body; 0 of those that nothing pulls at."""
        model, count = self._model, len(self._model.dof)
        joint, end = np.nonzero((self._body >= 0) & ~frame.broken[:, None])
        body = self._body[joint, end]
        rotation = matrices(np.ascontiguousarray(frame.poses[:, 3:]))
        lever = product(rotation[body], self._place[joint, end][..., None])[..., 0]
        force = np.where(end[:, None] == 1, 1.0, -1.0) * frame.reactions[joint, :3]
        free = model.lock[:, 3:]
        stiffness = geometric_stiffness(count, body, lever, force) * free[:, :, None] * free[:, None, :]
        pulled = np.unique(body)
        turn = rotation[pulled]
        inertia = product(product(turn, model.inertia[pulled]), turn.transpose(0, 2, 1))
        rate = relative_eigen(stiffness[pulled], inertia)[0][:, -1]
        found = np.zeros(count)
        found[pulled] = self._step * np.sqrt(np.maximum(rate, 0.0))
        return found


def turns(joint: JointSpec) -> bool:
    """Whether a joint leaves its bodies an angle."""
    return any(axis.lower < axis.upper and axis.stiffness == 0.0 for axis in joint.angular)


def links_of(spec: SceneSpec, settings: SolverSettings) -> Links | None:
    """What `swing_warnings` needs of a scene, None where it has no joints."""
    return Links(spec, spec.time_scale / (spec.fps * settings.substeps)) if spec.joints else None


def swing_warnings(
    frames: Iterable[Frame], spec: SceneSpec, settings: SolverSettings, links: Links | None
) -> tuple[SceneWarning, ...]:
    """One for all links that are pulled so hard that the time steps do not follow how they swing, in the first such frame."""
    if links is None:
        return ()
    for frame in frames:
        swing = links.swing(frame)
        names = tuple(spec.bodies[body].name for body in np.flatnonzero(swing > MOST_SWING))
        if names:
            enough = math.ceil(settings.substeps * float(swing.max()) / MOST_SWING)
            what = f"under such tension at frame {frame.frame} that they swing faster than the time step resolves"
            message = f"{what}: they are kept in line and swing too slowly; {enough} substeps resolve their swing"
            return (SceneWarning(names, "swing", message),)
    return ()
