# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields in a time step: velocity changes, and the bodies that they wake.

A step uses the force at its start. Drag and magnetic fields are integrated further: with constant c and B,
m dv/dt = F + v x B - c v is integrated by splitting into exact parts, with half of the rotation about B before and half after.
Therefore no drag, however strong, reverses a velocity, and no magnetic field adds energy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...linalg.elementary import exponentials, powers, sines_and_cosines
from ...linalg.in_order import dots, product
from ...scene.spec import BodyKind, SceneSpec
from ..model.bodies import Bodies, State
from ..model.predict import Begin
from ..motion.rotation import matrices
from .forces import Effects, FieldTable, accumulate
from .table import FieldFrames

__all__ = ["Fields"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# What of the table is where the body is that carries the field, or the absorber.
PLACED = "position", "axis", "vertices", "normals", "boxes", "absorbing"


class Fields:
    """The force fields of a scene, which must have some. Frames are counted from the first one, times in steps from there."""

    def __init__(self, spec: SceneSpec, bodies: Bodies, substeps: int) -> None:
        self._frames, self._bodies, self._substeps = FieldFrames(spec), bodies, substeps
        number = {body.name: index for index, body in enumerate(spec.bodies)}
        self._carrier = np.array([number[field.carrier] if field.carrier else -1 for field in spec.fields], dtype=np.int64)
        names = [number[one.carrier] if one.carrier else -1 for one in self._frames.absorbers]
        self._absorbers = np.array(names, dtype=np.int64)
        self._feels = np.array([body.feels_fields and body.kind is BodyKind.ACTIVE for body in spec.bodies], dtype=bool)
        self._can_move = np.array([body.kind is not BodyKind.PASSIVE for body in spec.bodies], dtype=bool)
        self._frame, self._table = 0, self._frames.table(0)

    def effects(self, frame: int, state: State, bodies: Flags, which: Flags | None = None) -> Effects:
        """Return the effects of fields on the chosen bodies (n,) during the motion to a frame.

        which: (f,) the fields that count; None for all.
        """
        n = len(self._feels)
        out = Effects(np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n))
        fields = np.flatnonzero(np.ones_like(self._carrier) if which is None else which)
        accumulate(
            self._placed(frame, state), fields, np.flatnonzero(bodies & self._feels), state.position, state.velocity, out
        )
        return out

    def push(self, begin: Begin, state: State, duration: float) -> None:
        """Add the velocity changes by fields over a duration in s to the predicted velocities of a step."""
        model = begin.model
        effects = self.effects(int(begin.at / self._substeps) + 1, state, model.dof >= 0)
        kept = powers(1.0 - model.damping[:, 0], duration)[:, None] * model.lock[:, :3]
        begin.bodies.predicted[:, :3] += kept * gained(effects, state.velocity, duration / model.mass)

    def begin_with(self, frame: int, state: State, released: Flags, last_step: float) -> None:
        """Subtract the effect of fields over half of the previous step from the velocities of bodies released at a frame.

        The velocities belong to the frame, and the next step applies fields over that half step again. released: (n,).
        last_step: s.
        """
        force = self.effects(frame + 1, state, released).force[released]
        state.velocity[released] -= 0.5 * last_step / self._bodies.model.mass[released, None] * force

    def wakes(self, frame: int, state: State, asleep: Flags, untouched: Flags) -> Flags:
        """Return (n,) the sleeping bodies that fields wake at a frame.

        A body wakes if the effect of the fields on it changes at the frame, or if a field or absorber on an awake body acts on
        it. Bodies that have slept since the start of the scene, untouched (n,), wake under any force.
        """
        woken = untouched & self.effects(frame + 1, state, untouched).force.any(axis=1)
        settled = asleep & ~untouched
        if not settled.any():
            return woken
        awake = self._can_move & ~asleep
        moving = (self._carrier >= 0) & awake[self._carrier]
        if awake[self._absorbers[self._absorbers >= 0]].any():
            moving |= self._table.absorbed
        if moving.any():
            woken |= settled & self.effects(frame + 1, state, settled, moving).force.any(axis=1)
        if 0 < frame < self._frames.last and self._frames.changing[frame]:
            before = self.effects(frame, state, settled).force
            woken |= settled & (self.effects(frame + 1, state, settled).force != before).any(axis=1)
        return woken

    def _placed(self, frame: int, state: State) -> FieldTable:
        """Return the fields at a frame, with those that bodies carry at the poses of these bodies."""
        frame = min(frame, self._frames.last)
        if frame != self._frame and self._frames.changing.any():
            self._frame, self._table = frame, self._frames.table(frame)
        table, carried, absorbing = self._table, np.flatnonzero(self._carrier >= 0), np.flatnonzero(self._absorbers >= 0)
        if not len(carried) and not len(absorbing):
            return table
        table = table._replace(**{name: getattr(table, name).copy() for name in PLACED})
        for a in absorbing.tolist():
            turn, place = self._body_frame(state, int(self._absorbers[a]))
            boxes = self._frames.boxes_of_absorber(a, frame, turn, place)
            table.absorbing[table.first_box[a] : table.first_box[a + 1]] = boxes
        for f in carried.tolist():
            turn, place = self._body_frame(state, int(self._carrier[f]))
            own = slice(table.first_vertex[f], table.first_vertex[f + 1])
            table.position[f] = product(turn, table.position[f]) + place
            table.axis[f] = product(turn, table.axis[f])
            table.vertices[own] = product(table.vertices[own], turn.T) + place
            table.normals[own] = product(table.normals[own], turn.T)
            faces = slice(table.first_triangle[f], table.first_triangle[f + 1])
            corners = table.vertices[table.triangles[faces]]
            table.boxes[faces] = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
        return table

    def _body_frame(self, state: State, body: int) -> tuple[Floats, Floats]:
        """Return the rotation (3, 3) and the origin (3,) of a body's frame."""
        turn = matrices(state.orientation[[body]])[0]
        return turn, state.position[body] - product(turn, self._bodies.center_of_mass[body])


def gained(effects: Effects, velocity: Floats, times: Floats) -> Floats:
    """Return (n, 3) m/s, the changes of velocities (n, 3). times: (n,) s/kg, the duration divided by the mass."""
    half = 0.5 * np.linalg.norm(effects.magnetic, axis=1) * times
    decay = effects.drag * times
    # (1 - exp(-x)) / x, which is 1 where there is no drag
    kept, less_one = exponentials(-decay)
    mean = np.divide(-less_one, decay, out=np.ones_like(decay), where=decay != 0.0)
    after = kept[:, None] * turned_about(effects.magnetic, -half, velocity)
    after += (times * mean)[:, None] * effects.force
    return turned_about(effects.magnetic, -half, after) - velocity


def turned_about(axis: Floats, angle: Floats, v: Floats) -> Floats:
    """Return vectors v (n, 3) rotated about axes (n, 3) of any length by angles (n,) rad; unchanged if the axis is zero."""
    if not axis.any():
        return v
    length = np.linalg.norm(axis, axis=1, keepdims=True)
    unit = np.divide(axis, length, out=np.zeros_like(axis), where=length > 0.0)
    sine, cosine = (part[:, None] for part in sines_and_cosines(angle))
    along = dots(unit, v)[:, None] * unit
    return along + cosine * (v - along) + sine * np.cross(unit, v)
