# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints as rows of a step's problem, such that they hold where the step ends.

A row of the Jacobian J of a coordinate q, taken where the step begins, is made exact to first order about velocities w near
those that will come out: bodies are moved on with w for h seconds, to where the coordinate is q(w). Then

    u(v) = J v + b,    b = (q(w) - target) / h - J w,        has u(w) = (q(w) - target) / h

and u = 0 puts the coordinate on its target at the step's end, to second order in v - w. So b makes good what the step before
left over: no drift, and nothing is moved behind the back of the velocities. The impulse acts along J of the step's begin: this
is the SHAKE method (Ryckaert, Ciccotti, Berendsen 1977), which is symplectic like the leapfrog that it goes with (Leimkuhler,
Skeel 1994). A pendulum keeps its energy, which J v = 0 would take away.

A spring pulls with the mean of its forces at three steps' ends, weighted a, 1 - 2 a, a, of which the last is the one that is
solved for. It neither gains nor loses energy, and for a of `_weights` its frequency is exact. One that swings too fast for the
step pulls with the force that it has at its end (backward Euler), and is soon at rest. A damper has the mean of both
velocities, or more of the later one where that would overshoot. The impulse is linear in the new velocity, so the two make a
row that gives way, u + e + gamma lam = 0.

Rows of angles are multiplied by a length, at which a force turns the bodies as easily as it moves them: all rows are in m/s,
all impulses in N s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..bodies import RIGID, State
from ..motion.rotation import matrices
from ..predict import Begin
from .coordinates import Coordinates, cross, unwound
from .table import AT_LEAST, AT_MOST, HOLD, MOTOR, SPRING, JointTable, Rows, measured

__all__ = ["Held", "JointRows", "JointStep"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Of a row's inverse mass: joints give way by that much, so that those which say the same, or contradict each other a little,
# share what they bear in one way, and what is straight between two fixed points bears something
JOINT_COMPLIANCE = 1e-6
# Of h^2 k / m of all springs of a body: beyond this they swing too fast for the step, and are pulled to rest
STIFF = 4.0
LEAST_STIFF = 1e-4  # the weight is that of no stiffness at all, to eight digits


class JointRows(NamedTuple):
    """The rows of joints in a step's problem, in t triples. body_a, body_b: (t,) of those that the solver moves, or -1.
    jacobian_a, jacobian_b: (t, 3, 6). bias: (t, 3). box: (t, 3, 3)."""

    body_a: Ints
    body_b: Ints
    jacobian_a: Floats
    jacobian_b: Floats
    bias: Floats
    box: Floats


class Held(NamedTuple):
    """What joints did: by_coordinate (j, 6) N s and N m s; on_b (j, 6) the same on body B, about the joint, in world axes."""

    by_coordinate: Floats
    on_b: Floats


class JointStep:
    """Some joints of a table in a step. triples: (t,) which of the table's they have, and bodies: (t, 2) whose they are."""

    def __init__(self, table: JointTable, which: Ints, angle: Floats, begin: Begin, state: State):
        """which: (k,) indices of joints. angle: (j, 3) as they last were, of all joints."""
        self._table, self._which, self._begin = table, which, begin
        held, used = np.zeros(len(table.body), dtype=bool), np.zeros(table.triples, dtype=bool)
        held[which] = True
        chosen = held[table.rows.joint]
        self._rows = rows = table.rows if chosen.all() else Rows._make(column[chosen] for column in table.rows)
        self._of = np.searchsorted(which, rows.joint)
        used[rows.triple] = True
        self.triples = np.flatnonzero(used)
        self._triple = np.searchsorted(self.triples, rows.triple)
        self.bodies = np.empty((len(self.triples), 2), dtype=np.int64)
        self.bodies[self._triple] = table.body[rows.joint]
        before = measured(table, state.position, begin.bodies.rotation, which)
        self._angle = unwound(before.value[:, 3:], angle[which], table.form[which])
        self._now = self._along_rows(before)
        self._scale = np.where(rows.coordinate >= 3, table.length[rows.joint], 1.0)
        self._direction = before.direction[self._of, rows.coordinate] * self._scale[:, None]
        self._dof = np.append(begin.model.dof, -1)[table.body[rows.joint]]
        self._whole = [self._jacobian(end, before.point[self._of], state) for end in range(2)]
        self._jacobians = [np.where(self._dof[:, end, None] >= 0, self._whole[end], 0.0) for end in range(2)]
        self._inverse_mass = self._inverse_masses()

    def holding(self, box: Floats) -> Floats:
        """The laws (t, 3, 3) without those of springs and motors, which then do nothing."""
        at = self._rows.kind > AT_MOST
        out = box.copy()
        out[self._triple[at], self._rows.place[at]] = 0.0
        return out

    def rows(self, moved: State, v: Floats, force_time: float, recovery_speed: float) -> JointRows:
        """The rows about velocities v (dof,), with which bodies get to `moved`.

        force_time: the time in s over which forces act. recovery_speed: what is off is brought nearer by no more than so many
        lengths a second.
        """
        after = measured(self._table, moved.position, matrices(moved.orientation), self._which)
        # u of a coordinate's own rate of change is J v + rate
        moved_by = self._scale * (self._along_rows(after) - self._now) / self._begin.h
        return self._about(moved_by - self._velocity(self._jacobians, self._begin.twists(v)), force_time, recovery_speed)

    def straight_rows(self, force_time: float, recovery_speed: float) -> JointRows:
        """The rows as if coordinates changed at the rates with which they begin: what they join loses energy, and drifts where
        it turns, but they hold whatever it does."""
        known = np.where(self._begin.awake[:, None], 0.0, self._begin.bodies.twist)
        rate = self._velocity(self._whole, known, self._table.body[self._rows.joint])
        return self._about(rate, force_time, recovery_speed)

    def _about(self, rate: Floats, force_time: float, recovery_speed: float) -> JointRows:
        """The rows (r,) whose coordinates change at a rate beside J v, m/s."""
        rows = self._rows
        bias, box = np.empty_like(rate), np.zeros((len(rate), 3))
        self._hold(rate, recovery_speed * self._table.length[rows.joint], bias, box)
        self._pull(rate, force_time, bias, box)
        driven = rows.kind == MOTOR
        most = (rows.force * force_time / self._scale)[driven]
        bias[driven] = (rate - self._scale * rows.target)[driven]
        box[driven, 0], box[driven, 1] = -most, most
        return self._in_triples(bias, box)

    def drift(self, before: JointRows, after: JointRows) -> float:
        """By how much, in lengths, coordinates that are held are off at the end of a step that was solved with one bias, by the
        bias about its answer."""
        held = self._rows.kind <= AT_MOST
        at = self._triple[held], self._rows.place[held]
        off = np.abs(after.bias[at] - before.bias[at]) * self._begin.h / self._table.length[self._rows.joint[held]]
        return float(off.max(initial=0.0))

    def held(self, impulse: Floats) -> Held:
        """What impulses (t, 3) of the rows come to."""
        rows, count = self._rows, len(self._table.body)
        lam = impulse[self._triple, rows.place]
        held = Held(np.zeros((count, 6)), np.zeros((count, 6)))
        np.add.at(held.by_coordinate, (rows.joint, rows.coordinate), lam * self._scale)
        first = np.where(rows.coordinate >= 3, 3, 0)[:, None] + np.arange(3)
        np.add.at(held.on_b, (rows.joint[:, None], first), lam[:, None] * self._direction)
        return held

    def _along_rows(self, found: Coordinates) -> Floats:
        """(r,) the coordinates of the rows, angles with the turns that they had."""
        angle = unwound(found.value[:, 3:], self._angle, self._table.form[self._which])
        return np.hstack([found.value[:, :3], angle])[self._of, self._rows.coordinate]

    def _jacobian(self, end: int, point: Floats, state: State) -> Floats:
        """(r, 6) of the bodies at one end, be they moved by the solver or not."""
        body, angular = self._table.body[self._rows.joint, end], (self._rows.coordinate >= 3)[:, None]
        lever = point - np.vstack([state.position, np.zeros(3)])[body]
        turning = np.where(angular, self._direction, cross(lever, self._direction))
        lock = np.vstack([self._begin.model.lock, np.ones(RIGID)])[body]
        jacobian = np.hstack([np.where(angular, 0.0, self._direction), turning]) * (1.0 if end else -1.0)
        return np.where(self._dof[:, end, None] >= 0, jacobian * lock, jacobian)

    def _velocity(self, jacobians: list[Floats], twist: Floats, index: Ints | None = None) -> Floats:
        """(r,) m/s of twists (moving, 6), or with the bodies' own index (r, 2) of all."""
        twist, index = np.vstack([twist, np.zeros(RIGID)]), self._dof if index is None else index
        return np.einsum("eri,rei->r", np.array(jacobians), twist[index])

    def _hold(self, rate: Floats, speed: Floats, bias: Floats, box: Floats) -> None:
        """What holds a coordinate, or keeps it from passing a limit: what is wrong is made good at no more than a speed (r,),
        and what is left up to a limit may be used up."""
        off = self._scale * (self._now - self._rows.target) / self._begin.h
        for kind, low, high in ((HOLD, -np.inf, np.inf), (AT_LEAST, 0.0, np.inf), (AT_MOST, -np.inf, 0.0)):
            chosen = self._rows.kind == kind
            least, most = (-np.inf if kind == AT_MOST else -speed), (np.inf if kind == AT_LEAST else speed)
            bias[chosen] = (rate + np.clip(off, least, most))[chosen]
            box[chosen, 0], box[chosen, 1] = low, high
        held = self._rows.kind == HOLD
        box[held, 2] = JOINT_COMPLIANCE * self._inverse_mass[held]

    def _pull(self, rate: Floats, force_time: float, bias: Floats, box: Floats) -> None:
        """Springs and dampers."""
        rows, h, scale = self._rows, self._begin.h, self._scale
        chosen = rows.kind == SPRING
        if not chosen.any():
            return
        inverse = self._inverse_mass / scale**2
        k, c = rows.stiffness, rows.damping
        before = self._velocity(self._whole, self._begin.bodies.twist, self._table.body[rows.joint]) / scale
        # of the first step, which has half the force, the end before it is the mirror image of the one after it
        last, first = (weight * h / force_time for weight in self._weights(h * h * k * inverse))
        late = np.maximum(0.5, 1.0 - 1.0 / np.maximum(c * force_time * inverse, 1e-300))
        gain = force_time * (last * h * k + late * c)
        pull = force_time * (k * (self._now - rows.target - first * h * before) + (1.0 - late) * c * before)
        bias[chosen] = rate[chosen] + scale[chosen] * pull[chosen] / gain[chosen]
        box[chosen, 0], box[chosen, 1], box[chosen, 2] = -np.inf, np.inf, scale[chosen] ** 2 / gain[chosen]

    def _weights(self, stiffness: Floats) -> tuple[Floats, Floats]:
        """(r,) of the last and of the first of three steps' ends, for springs of h^2 k / m (r,).

        A mean with weights a has 2 (1 - cos theta) = W (1 - 2 a (1 - cos theta)), W = h^2 k / m and theta the angle of its
        phase in a step; it is sqrt(W) for the a below, and real while W (1 - 4 a) < 4.
        """
        body = self._table.body[self._rows.joint]
        total = np.zeros(len(self._begin.awake) + 1)
        np.add.at(total, body, stiffness[:, None])
        total[-1] = 0.0
        small = np.clip(stiffness, LEAST_STIFF, STIFF)
        exact = 0.5 / (1.0 - np.cos(np.sqrt(small))) - 1.0 / small
        too_stiff = total[body].max(axis=1, initial=0.0) > STIFF
        return np.where(too_stiff, 1.0, exact), np.where(too_stiff, 0.0, exact)

    def _inverse_masses(self) -> Floats:
        """(r,) 1/kg that each row feels."""
        mass = self._begin.bodies.inverse_mass[np.maximum(self._dof, 0)]
        jacobian = np.array(self._jacobians)
        return np.einsum("eri,reij,erj->r", jacobian, mass, jacobian)

    def _in_triples(self, bias: Floats, box: Floats) -> JointRows:
        shape = len(self.triples), 3
        out = JointRows(
            np.append(self._begin.model.dof, -1)[self.bodies[:, 0]],
            np.append(self._begin.model.dof, -1)[self.bodies[:, 1]],
            np.zeros((*shape, RIGID)),
            np.zeros((*shape, RIGID)),
            np.zeros(shape),
            np.zeros((*shape, 3)),
        )
        for filled, values in zip(out[2:], (*self._jacobians, bias, box), strict=True):
            filled[self._triple, self._rows.place] = values
        return out
