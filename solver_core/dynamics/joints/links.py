# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about links under tension that swing too fast for the time step, from the frames of a bake.

Such links are stabilized by geometric stiffness (`tension.py`) and swing too slowly. The tension is the mean of a frame, so a
short peak counts little.
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

MOST_SWING = 2.0 * np.sqrt(FOLLOWED)  # rad per step; links that swing faster are stabilized


class Links:
    """The bodies of a scene that may swing on their joints: active bodies all of whose joints leave an angle free."""

    def __init__(self, spec: SceneSpec, step: float) -> None:
        """step: s, the time step."""
        bodies, state = build_bodies(spec)
        frames = joint_table(spec, bodies.model, state).frames
        self._model, self._step, self._place = bodies.model, step, frames.place
        stiff = np.array([not turns(joint) for joint in spec.joints], dtype=bool)
        held = np.unique(frames.body[stiff])
        body = np.where((frames.body >= 0) & ~np.isin(frames.body, held), frames.body, -1)
        self._body = np.where(bodies.model.dof[body] >= 0, body, -1)

    def swing(self, frame: Frame) -> Floats:
        """Return (n,) rad per time step, the swing of each body; 0 without tension."""
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
    """Return whether a joint leaves an angle free."""
    return any(axis.lower < axis.upper and axis.stiffness == 0.0 for axis in joint.angular)


def links_of(spec: SceneSpec, settings: SolverSettings) -> Links | None:
    """Return the links of a scene for `swing_warnings`; None if it has no joints."""
    return Links(spec, spec.time_scale / (spec.fps * settings.substeps)) if spec.joints else None


def swing_warnings(
    frames: Iterable[Frame], spec: SceneSpec, settings: SolverSettings, links: Links | None
) -> tuple[SceneWarning, ...]:
    """Return one warning for all links that swing too fast for the time step in the first frame with such links."""
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
