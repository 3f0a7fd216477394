# SPDX-License-Identifier: GPL-3.0-or-later
"""Active flexible bodies: modal velocities in addition to the twist of a frame, which moves like a rigid body of inertia I(q).

A mode of unit mass, q'' + d q' + omega^2 q = g, acts with the mean of its forces at the ends of three steps, weighted a, 1 - 2
a, a, as the springs of joints do (`joints/rows.py`). Its frequency is exact, and it dissipates energy only by d. The force at
the last of these ends is unknown, so it is part of the mass block of the body for impulses:

    (1 + T h a omega^2 + s T d) v+ = (1 + T h' a omega^2 - (1 - s) T d) v - T omega^2 q + T g

h is the step, h' the previous one, and T the time over which forces act. The frame of a body with pinned vertices does not
move. The modes of such a body have momenta, and gravity acts on them. Modes that are too fast for the step act with the force
at its end (backward Euler), and come to rest soon. Damping acts with the mean of both velocities, s = 1/2, or with more of the
later one. The modes of a body with a fast spin are coupled (`spinning.py`).
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
from .large_bends import FlexibleBody, LargeBend, LargeBends
from .predict import Begin, Bend
from .small_bends import BodyFrames, FlatModes, add_inertia, flat_modes, predicted_modes
from .spinning import ModalState, SpunBends, SpunModes, most_coupling, spins_fast, spun_modes

__all__ = ["Bending"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Bending:
    """The constant data of the b flexible bodies of a scene with n bodies.

    body: (b,) their indices. first: (b + 1,) the first row of each in `modal` of the state. reduced: their modes. width: (n,)
    the number of modes of each body. pinned: (n,) bodies with a fixed frame. flat: the modes for kernels. coupling: of each,
    the result of `most_coupling`.
    """

    body: Ints
    first: Ints
    reduced: tuple[ReducedBody, ...]
    width: Ints
    pinned: NDArray[np.bool_]
    flat: FlatModes
    coupling: tuple[tuple[float, float], ...]

    @classmethod
    def of_scene(cls, spec: SceneSpec, modes: Mapping[int, ReducedBody] | None = None) -> Bending:
        """Collect the flexible bodies of a scene.

        Parameters
        ----------
        spec : a validated scene
        modes : known modes by body index; the others are computed, once for all bodies of the same mesh, material and joints
        """
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
        return cls(index, flat.bodies.first, reduced, width, pinned, flat, coupling)

    def __len__(self) -> int:
        return len(self.body)

    def warnings(self, spec: SceneSpec, settings: SolverSettings) -> tuple[SceneWarning, ...]:
        """Return warnings about modes that the time steps of the scene do not resolve."""
        return tuple(stiffness_warnings(spec, settings, dict(zip(self.body.tolist(), self.reduced, strict=True))))

    @property
    def bends(self) -> NDArray[np.bool_]:
        """(n,) which bodies are flexible."""
        return self.width > 0

    def rows(self, k: int) -> slice:
        """Return the rows of the k-th flexible body in `modal` of the state."""
        return slice(int(self.first[k]), int(self.first[k + 1]))

    def model(self, model: Model, state: State) -> Model:
        """Return a model with the inertia of the deformed bodies, and with fixed frames of pinned bodies."""
        if not len(self):
            return model
        inertia, axes, moments, body = model.inertia.copy(), model.axes.copy(), model.moments.copy(), self.body
        add_inertia(self.flat.bodies, self.flat.terms, state.modal, inertia)
        axes[body], moments[body] = principal_axes(inertia[body])
        lock = np.where(self.pinned[:, None], 0.0, model.lock)
        return model._replace(inertia=inertia, axes=axes, moments=moments, lock=lock)

    def begin(self, begin: Begin, state: State) -> Begin:
        """Return the step with modal velocities among its unknowns."""
        if not len(self):
            return begin
        model, bodies = begin.model, begin.bodies
        width = RIGID + self.width[begin.moving]
        offset, block_start = np.zeros(len(width) + 1, dtype=np.int64), np.zeros(len(width) + 1, dtype=np.int64)
        np.cumsum(width, out=offset[1:])
        np.cumsum(width * width, out=block_start[1:])
        begin = begin._replace(offset=offset, block_start=block_start, rigid=offset[:-1, None] + np.arange(RIGID))
        awake = model.dof[self.body] >= 0
        if not awake.any():
            return begin
        # The unknown of the first mode of each body, minus its row.
        shift = offset[model.dof[self.body]] + RIGID - self.first[:-1]
        row = np.flatnonzero(np.repeat(awake, np.diff(self.first)))
        unknown = row + np.repeat(shift, np.diff(self.first))[row]
        frames = BodyFrames(model.dof, bodies.rotation, bodies.twist, model.gravity)
        spun = self._spun(begin, state, np.flatnonzero(awake & self.flat.linear & ~self.pinned[self.body]), shift)
        uncoupled = self.flat.linear.copy()
        uncoupled[list(spun)] = False
        predicted, mass = predicted_modes(self.flat, uncoupled, begin.times, frames, state.modal, state.modal_velocity)
        for k, one in spun.items():
            predicted[self.rows(k)], mass[self.rows(k)] = one.velocity, np.diag(one.block)
        steps, curves = [], []
        for k in np.flatnonzero(awake & ~self.flat.linear):
            rows = self.rows(k)
            steps.append(self._large(k, np.arange(rows.start, rows.stop) + shift[k], begin, state))
            curves.append(steps[-1].solve_unconstrained(state.modal_velocity[rows]))
            predicted[rows], mass[rows] = curves[-1].velocity, np.diag(curves[-1].block)
        bend, coupled = (row, unknown, state.modal_velocity[row], predicted[row], mass[row]), tuple(spun.values())
        if steps:
            return begin._replace(bend=LargeBends(*bend, coupled, tuple(steps), tuple(curves)))
        return begin._replace(bend=SpunBends(*bend, coupled) if coupled else Bend(*bend))

    def advance(self, begin: Begin, moved: State, v: Floats, apart: Floats) -> None:
        """Integrate the modes of a state.

        Parameters
        ----------
        begin : the step
        moved : the state, updated
        v, apart : (dof,) the solved velocities, and velocities that separate overlaps
        """
        if begin.bend is not None:
            bend = begin.bend
            moved.modal_velocity[bend.row] = v[bend.unknown]
            moved.modal[bend.row] += begin.h * (v + apart)[bend.unknown]

    def of_those(self, which: NDArray[np.bool_], velocity: Floats) -> Floats:
        """Return modal velocities (k,) with those of other bodies than the chosen ones (n,) set to zero."""
        return np.where(np.repeat(which[self.body], np.diff(self.first)), velocity, 0.0)

    def velocities(self, begin: Begin, v: Floats) -> Floats:
        """Return (k,) modal velocities from velocities v (dof,). Those of sleeping bodies are zero."""
        out = np.zeros(self.first[-1])
        if begin.bend is not None:
            out[begin.bend.row] = v[begin.bend.unknown]
        return out

    def _spun(self, begin: Begin, state: State, which: Ints, shift: Ints) -> dict[int, SpunModes]:
        """Solve the steps of bodies with linear deformation and a fast spin.

        Parameters
        ----------
        begin : the step
        state : at its start
        which : indices among the flexible bodies
        shift : (b,) the unknown of the first mode of each body, minus its row

        Returns
        -------
        the steps of bodies with a fast spin, by their indices among the flexible bodies
        """
        found = {}
        for k in which.tolist():
            index, rows = int(self.body[k]), self.rows(k)
            turning = product(begin.bodies.rotation[index].T, begin.bodies.twist[index, 3:])
            if spins_fast(self.coupling[k], turning, begin.h):
                modal = ModalState(state.modal[rows], state.modal_velocity[rows])
                unknown = np.arange(rows.start, rows.stop) + shift[k]
                found[k] = spun_modes(self.reduced[k], modal, turning, begin.times, unknown)
        return found

    def _large(self, k: int, unknown: Ints, begin: Begin, state: State) -> LargeBend:
        """Return the step of the k-th flexible body, which has large deformation. unknown: (r,) the unknowns of its shapes."""
        modal = ModalState(state.modal[self.rows(k)], state.modal_velocity[self.rows(k)])
        body = FlexibleBody(int(self.body[k]), unknown, self.reduced[k])
        return LargeBend.at_start(body, modal, begin.times, self._load(k, begin, modal))

    def _load(self, k: int, begin: Begin, state: ModalState) -> Floats:
        """Return (r,) N/sqrt(kg), the forces on the modes of the k-th flexible body that are not elastic.

        These are the forces of its spin, and gravity if it is pinned.
        """
        body, index = self.reduced[k], int(self.body[k])
        rotation = begin.bodies.rotation[index]
        force = quadratic_forces(body.inertia, *state, product(rotation.T, begin.bodies.twist[index, 3:]))
        if self.pinned[index]:
            force += product(body.inertia.momentum, product(rotation.T, begin.model.gravity))
        return force
