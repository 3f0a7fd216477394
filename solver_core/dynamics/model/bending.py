# SPDX-License-Identifier: GPL-3.0-or-later
"""Active bodies that bend: modal velocities beside the twist of a frame that moves as a rigid body of the inertia I(q) does.

A mode of unit mass, q'' + d q' + omega^2 q = g, pulls with the mean of its forces at three steps' ends, weighted a, 1 - 2 a, a,
as the springs of joints do (`joints/rows.py`): its frequency is exact and it loses nothing but by d. The last of the three is
solved for, and so stands in the block of the body that contacts push against:

    (1 + T h a omega^2 + s T d) v+ = (1 + T h' a omega^2 - (1 - s) T d) v - T omega^2 q + T g

with h the step, h' the one before, T the time that forces act for. What is pinned holds the frame of its body where it is, and
the modes of such a body, which have momenta, are pulled by gravity. Modes that swing too fast for the step pull with the force
at its end (backward Euler), and are soon at rest. The mean of both velocities damps, s = 1/2, or more of the later one. The
modes of a body whose spin is fast are coupled (`spinning.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...deformable.floating_frame import quadratic_forces
from ...deformable.reduced import ReducedBody
from ...deformable.reduced_body import joint_loads, preparation_digest, prepared
from ...linalg.in_order import product
from ...scene.spec import SceneSpec, SceneWarning, SolverSettings
from ...validation.stiffness import stiffness_warnings
from ..motion.free_rotation import principal_axes
from .bodies import RIGID, Model, State
from .large_bends import LargeBend, LargeBends
from .predict import Begin, Bend
from .small_bends import FlatModes, add_inertia, flat_modes, predicted_modes
from .spinning import SpunBends, SpunModes, most_coupling, spins_fast, spun_modes

__all__ = ["Bending"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Bending:
    """What is constant of the bodies of a scene that bend. body: (b,) their indices; first: (b + 1,) the first row of each in
    the state's `modal`; reduced: their modes; width: (n,) how many modes each body has; pinned: (n,) whose frames are held.
    flat: the modes as kernels take them; coupling: how much a spin couples the modes of each, see `most_coupling`."""

    body: Ints
    first: Ints
    reduced: tuple[ReducedBody, ...]
    width: Ints
    pinned: NDArray[np.bool_]
    flat: FlatModes
    coupling: tuple[tuple[float, float], ...]

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
        index, width = np.array(body, dtype=np.int64), np.zeros(len(spec.bodies), dtype=np.int64)
        width[index] = [len(one.omega) for one in reduced]
        pinned = np.array(
            [one.deformable is not None and bool(np.size(one.deformable.pinned)) for one in spec.bodies], dtype=bool
        )
        flat = flat_modes(index, reduced, pinned[index])
        coupling = tuple(most_coupling(one.inertia) for one in reduced)
        return cls(index, flat.bodies[1], reduced, width, pinned, flat, coupling)

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
        add_inertia(self.flat.bodies, self.flat.terms, state.modal, inertia)
        axes[body], moments[body] = principal_axes(inertia[body])
        lock = np.where(self.pinned[:, None], 0.0, model.lock)
        return model._replace(inertia=inertia, axes=axes, moments=moments, lock=lock)

    def begin(self, begin: Begin, state: State) -> Begin:
        """The step with modal velocities among its unknowns."""
        if not len(self):
            return begin
        model, bodies = begin.model, begin.bodies
        width = RIGID + self.width[begin.awake]
        offset, block_start = np.zeros(len(width) + 1, dtype=np.int64), np.zeros(len(width) + 1, dtype=np.int64)
        np.cumsum(width, out=offset[1:])
        np.cumsum(width * width, out=block_start[1:])
        begin = begin._replace(offset=offset, block_start=block_start, rigid=offset[:-1, None] + np.arange(RIGID))
        awake = model.dof[self.body] >= 0
        if not awake.any():
            return begin
        # the unknown that a body's first mode is, less its row
        shift = offset[model.dof[self.body]] + RIGID - self.first[:-1]
        row = np.flatnonzero(np.repeat(awake, np.diff(self.first)))
        unknown = row + np.repeat(shift, np.diff(self.first))[row]
        step, frames = (begin.h, begin.last_step, begin.force_time), (model.dof, bodies.rotation, bodies.twist, model.gravity)
        spun = self._spun(begin, state, np.flatnonzero(awake & self.flat.small & ~self.pinned[self.body]), shift)
        alone = self.flat.small.copy()
        alone[list(spun)] = False
        predicted, mass = predicted_modes(self.flat.arrays(alone), step, frames, state.modal, state.modal_velocity)
        for k, one in spun.items():
            predicted[self.rows(k)], mass[self.rows(k)] = one.velocity, np.diag(one.block)
        steps, curves = [], []
        for k in np.flatnonzero(awake & ~self.flat.small):
            rows = self.rows(k)
            steps.append(self._large(k, np.arange(rows.start, rows.stop) + shift[k], begin, state))
            curves.append(steps[-1].free(state.modal_velocity[rows]))
            predicted[rows], mass[rows] = curves[-1].velocity, np.diag(curves[-1].block)
        bend, coupled = (row, unknown, state.modal_velocity[row], predicted[row], mass[row]), tuple(spun.values())
        if steps:
            return begin._replace(bend=LargeBends(*bend, coupled, tuple(steps), tuple(curves)))
        return begin._replace(bend=SpunBends(*bend, coupled) if coupled else Bend(*bend))

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

    def _spun(self, begin: Begin, state: State, which: Ints, shift: Ints) -> dict[int, SpunModes]:
        """The steps of those of some bodies in small bends whose spin is fast, by their numbers among all that bend.

        shift: (b,) the unknown of each body's first mode less its row.
        """
        found = {}
        for k in which.tolist():
            index, rows = int(self.body[k]), self.rows(k)
            turning = product(begin.bodies.rotation[index].T, begin.bodies.twist[index, 3:])
            if spins_fast(self.coupling[k], turning, begin.h):
                of, step = (state.modal[rows], state.modal_velocity[rows]), (begin.h, begin.last_step, begin.force_time)
                unknown = np.arange(rows.start, rows.stop) + shift[k]
                found[k] = spun_modes(self.reduced[k], of, turning, step, unknown)
        return found

    def _large(self, k: int, unknown: Ints, begin: Begin, state: State) -> LargeBend:
        """The step of the k-th body, which is in large bends."""
        q, v = state.modal[self.rows(k)], state.modal_velocity[self.rows(k)]
        step = begin.h, begin.last_step, begin.force_time
        of = int(self.body[k]), unknown, self.reduced[k]
        return LargeBend.begun(of, (q, v), step, self._pulled(k, begin, (q, v)))

    def _pulled(self, k: int, begin: Begin, state: tuple[Floats, Floats]) -> Floats:
        """(r,) N/sqrt(kg), what pulls at the modes of the k-th body besides its material: spin, and gravity where it is pinned.
        state: (r,) q and its velocities."""
        body, index = self.reduced[k], int(self.body[k])
        rotation = begin.bodies.rotation[index]
        force = quadratic_forces(body.inertia, *state, product(rotation.T, begin.bodies.twist[index, 3:]))
        if self.pinned[index]:
            force += product(body.inertia.momentum, product(rotation.T, begin.model.gravity))
        return force
