# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields in a time step: what they change of velocities, and whom they wake.

In a step the force is that of its begin. Drag and magnetic fields are taken further: with c and B held,
m dv/dt = F + v x B - c v is integrated exactly but for the two taking turns, half a turn about B before and after, so that no
drag, however strong, turns a velocity round, and no magnetic field gives energy.
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

    def effects(self, frame: int, state: State, who: Flags, which: Flags | None = None) -> Effects:
        """What acts on bodies, of which some (n,) are asked for, on the way to a frame; of all fields, or of some (f,)."""
        n = len(self._feels)
        out = Effects(np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n))
        fields = np.flatnonzero(np.ones_like(self._carrier) if which is None else which)
        accumulate(self._placed(frame, state), fields, np.flatnonzero(who & self._feels), state.position, state.velocity, out)
        return out

    def push(self, begin: Begin, state: State, duration: float) -> None:
        """Add to the velocities that a step's bodies are predicted to have what fields change of them over a duration in s."""
        model = begin.model
        effects = self.effects(int(begin.at / self._substeps) + 1, state, model.dof >= 0)
        kept = powers(1.0 - model.damping[:, 0], duration)[:, None] * model.lock[:, :3]
        begin.bodies.predicted[:, :3] += kept * gained(effects, state.velocity, duration / model.mass)

    def begin_with(self, frame: int, state: State, released: Flags, last_step: float) -> None:
        """Take from the velocities of bodies (n,) that are let go at a frame, to which these belong, what fields give in half
        of the step before, in which they act once more. last_step: s."""
        force = self.effects(frame + 1, state, released).force[released]
        state.velocity[released] -= 0.5 * last_step / self._bodies.model.mass[released, None] * force

    def wakes(self, frame: int, state: State, asleep: Flags, untouched: Flags) -> Flags:
        """(n,) those asleep that fields push otherwise on the way from a frame than on the way to it, or to whom a body that is
        awake carries a field or an absorber; of those that sleep since the scene began, untouched (n,), all that are pushed."""
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
        """The fields at a frame, those that bodies carry where these have them."""
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
        """Rotation (3, 3) and origin (3,) of a body's frame."""
        turn = matrices(state.orientation[[body]])[0]
        return turn, state.position[body] - product(turn, self._bodies.center_of_mass[body])


def gained(effects: Effects, velocity: Floats, times: Floats) -> Floats:
    """(n, 3) m/s, the changes of velocities (n, 3) after so many seconds a kilogram, (n,)."""
    half = 0.5 * np.linalg.norm(effects.magnetic, axis=1) * times
    decay = effects.drag * times
    # (1 - exp(-x)) / x, which is 1 where there is no drag
    kept, less_one = exponentials(-decay)
    mean = np.divide(-less_one, decay, out=np.ones_like(decay), where=decay != 0.0)
    after = kept[:, None] * turned_about(effects.magnetic, -half, velocity)
    after += (times * mean)[:, None] * effects.force
    return turned_about(effects.magnetic, -half, after) - velocity


def turned_about(axis: Floats, angle: Floats, v: Floats) -> Floats:
    """Vectors v (n, 3) turned about axes (n, 3) of any length by angles (n,) in rad; where the axis is zero they stay."""
    if not axis.any():
        return v
    length = np.linalg.norm(axis, axis=1, keepdims=True)
    unit = np.divide(axis, length, out=np.zeros_like(axis), where=length > 0.0)
    sine, cosine = (part[:, None] for part in sines_and_cosines(angle))
    along = dots(unit, v)[:, None] * unit
    return along + cosine * (v - along) + sine * np.cross(unit, v)
