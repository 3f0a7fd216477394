# SPDX-License-Identifier: GPL-3.0-or-later
"""Active bodies that bend: modal velocities beside the twist of a frame that moves as a rigid body of the inertia I(q) does.

A mode of unit mass, q'' + d q' + omega^2 q = g, pulls with the mean of its forces at three steps' ends, weighted a, 1 - 2 a, a,
as the springs of joints do (`joints/rows.py`): its frequency is exact and it loses nothing but by d. The last of the three is
solved for, and so stands in the block of the body that contacts push against:

    (1 + T h a omega^2 + s T d) v+ = (1 + T h' a omega^2 - (1 - s) T d) v - T omega^2 q + T g

with h the step, h' the one before, T the time that forces act for. What is pinned holds the frame of its body where it is, and
the modes of such a body, which have momenta, are pulled by gravity. Modes that swing too fast for the step pull with the force
at its end (backward Euler), and are soon at rest. The mean of both velocities damps, s = 1/2, or more of the later one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...deformable.floating_frame import inertia_change, quadratic_forces
from ...deformable.reduced import MOST_A_STEP, ReducedBody
from ...deformable.reduced_body import joint_loads, preparation_digest, prepared
from ...scene.spec import SceneSpec, SceneWarning, SolverSettings
from ...validation.stiffness import stiffness_warnings
from ..motion.free_rotation import principal_axes
from .bodies import RIGID, Model, State
from .large_bends import LargeBend, LargeBends, later_weight
from .predict import Begin, Bend

__all__ = ["Bending"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FASTEST_SQUARE = MOST_A_STEP**2  # of h^2 omega^2, as of springs


@dataclass(frozen=True)
class Bending:
    """What is constant of the bodies of a scene that bend. body: (b,) their indices; first: (b + 1,) the first row of each in
    the state's `modal`; reduced: their modes; width: (n,) how many modes each body has; pinned: (n,) whose frames are held."""

    body: Ints
    first: Ints
    reduced: tuple[ReducedBody, ...]
    width: Ints
    pinned: NDArray[np.bool_]

    @classmethod
    def of_scene(cls, spec: SceneSpec, modes: Mapping[int, ReducedBody] | None = None) -> Bending:
        """Those of a validated scene. modes: what is known of bodies already, by their indices; the others are computed, once
        for all of the same mesh and material, and with the same joints."""
        body = [i for i, one in enumerate(spec.bodies) if one.deformable is not None]
        known = dict(modes or {})
        same: dict[str, ReducedBody] = {}
        for i in body:
            if i not in known:
                loads = joint_loads(spec, i)
                digest = preparation_digest(spec.bodies[i], loads)
                if digest not in same:
                    same[digest] = prepared(spec.bodies[i], loads)
                known[i] = same[digest]
        reduced = tuple(known[i] for i in body)
        count = np.array([len(one.omega) for one in reduced], dtype=np.int64)
        width = np.zeros(len(spec.bodies), dtype=np.int64)
        width[body] = count
        pinned = np.array(
            [one.deformable is not None and bool(np.size(one.deformable.pinned)) for one in spec.bodies], dtype=bool
        )
        return cls(np.array(body, dtype=np.int64), np.concatenate([[0], np.cumsum(count)]), reduced, width, pinned)

    def __len__(self) -> int:
        return len(self.body)

    def warnings(self, spec: SceneSpec, settings: SolverSettings) -> tuple[SceneWarning, ...]:
        """What is odd about them beside the steps of a scene."""
        return tuple(stiffness_warnings(spec, settings, dict(zip(self.body.tolist(), self.reduced, strict=True))))

    @property
    def bends(self) -> NDArray[np.bool_]:
        """(n,) which bodies do."""
        return self.width > 0

    def rows(self, k: int) -> slice:
        """Of the k-th body that bends, in the state's `modal`."""
        return slice(int(self.first[k]), int(self.first[k + 1]))

    def model(self, model: Model, state: State) -> Model:
        """A model with the inertia that bodies have as they are bent, and the frames held of those that are pinned."""
        if not len(self):
            return model
        inertia, axes, moments, body = model.inertia.copy(), model.axes.copy(), model.moments.copy(), self.body
        for k, one in enumerate(body):
            inertia[one] += inertia_change(self.reduced[k].inertia, state.modal[self.rows(k)])
        axes[body], moments[body] = principal_axes(inertia[body])
        lock = np.where(self.pinned[:, None], 0.0, model.lock)
        return model._replace(inertia=inertia, axes=axes, moments=moments, lock=lock)

    def begin(self, begin: Begin, state: State) -> Begin:
        """The step with modal velocities among its unknowns."""
        if not len(self):
            return begin
        width = RIGID + self.width[begin.awake]
        offset = np.concatenate([[0], np.cumsum(width)])
        parts, large, curves = [], [], []
        for k, body in enumerate(self.body):
            if begin.model.dof[body] >= 0:
                rows = np.arange(self.first[k], self.first[k + 1])
                unknown = offset[begin.model.dof[body]] + RIGID + np.arange(len(rows))
                if self.reduced[k].large is None:
                    found = self._predicted(k, begin, state)
                else:
                    large.append(self._large(k, unknown, begin, state))
                    v = state.modal_velocity[self.rows(k)]
                    curves.append(large[-1].free(v))
                    found = v, curves[-1].velocity, np.diag(curves[-1].block)
                parts.append((rows, unknown, *found))
        bend = Bend(*(np.concatenate(part) for part in zip(*parts, strict=True))) if parts else None
        if bend is not None and large:
            bend = LargeBends(**vars(bend), steps=tuple(large), curves=tuple(curves))
        rigid = offset[:-1, None] + np.arange(RIGID)
        block_start = np.concatenate([[0], np.cumsum(width**2)])
        return begin._replace(offset=offset, block_start=block_start, rigid=rigid, bend=bend)

    def advance(self, begin: Begin, moved: State, v: Floats, apart: Floats) -> None:
        """Move the modes of a state on by velocities v, and others that part what overlaps, both (dof,)."""
        if begin.bend is not None:
            bend = begin.bend
            moved.modal_velocity[bend.row] = v[bend.unknown]
            moved.modal[bend.row] += begin.h * (v + apart)[bend.unknown]

    def of_those(self, which: NDArray[np.bool_], velocity: Floats) -> Floats:
        """Modal velocities (k,) of some bodies (n,), and none of the others."""
        return np.where(np.repeat(which[self.body], np.diff(self.first)), velocity, 0.0)

    def velocities(self, begin: Begin, v: Floats) -> Floats:
        """(k,) of a state's `modal`, of bodies that are awake out of velocities v (dof,); the others do not move."""
        out = np.zeros(self.first[-1])
        if begin.bend is not None:
            out[begin.bend.row] = v[begin.bend.unknown]
        return out

    def _predicted(self, k: int, begin: Begin, state: State) -> tuple[Floats, Floats, Floats]:
        """Of the k-th body: modal velocities as a step begins, those that it would end with, and what stands for their mass."""
        body, rows = self.reduced[k], self.rows(k)
        q, v = state.modal[rows], state.modal_velocity[rows]
        h, time = begin.h, begin.force_time
        square = body.omega**2
        weight = h * h * square
        followed = weight <= FASTEST_SQUARE
        angle = np.where(followed, weight, FASTEST_SQUARE) ** 0.5
        later = np.where(followed, later_weight(angle), 1.0)
        earlier = np.where(followed, later, 0.0)
        damped = time * body.damping
        share = np.maximum(0.5, 1.0 - 1.0 / np.maximum(damped, 1.0))
        force = self._pulled(k, begin, (q, v), -square * q)
        mass = 1.0 + time * h * later * square + share * damped
        known = (1.0 + time * begin.last_step * earlier * square - (1.0 - share) * damped) * v + time * force
        return v, known / mass, mass

    def _large(self, k: int, unknown: Ints, begin: Begin, state: State) -> LargeBend:
        """The step of the k-th body, which is in large bends."""
        q, v = state.modal[self.rows(k)], state.modal_velocity[self.rows(k)]
        step = begin.h, begin.last_step, begin.force_time
        of = int(self.body[k]), unknown, self.reduced[k]
        return LargeBend.begun(of, (q, v), step, self._pulled(k, begin, (q, v), np.zeros_like(q)))

    def _pulled(self, k: int, begin: Begin, state: tuple[Floats, Floats], material: Floats) -> Floats:
        """(r,) N/sqrt(kg), what pulls at the modes of the k-th body, state: (r,) q and its velocities: spin, its material, and
        gravity where it is pinned."""
        body, index = self.reduced[k], int(self.body[k])
        rotation = begin.bodies.rotation[index]
        force = quadratic_forces(body.inertia, *state, rotation.T @ begin.bodies.twist[index, 3:]) + material
        if self.pinned[index]:
            force += body.inertia.momentum @ (rotation.T @ begin.model.gravity)
        return force
