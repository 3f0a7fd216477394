# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints as rows of a step's problem, which are satisfied at the end of the step.

A row of the Jacobian J of a coordinate q is evaluated at the start of the step and made exact to first order about velocities w
near the expected solution: bodies are moved with w for h seconds, and the coordinate is q(w) there. Then

    u(v) = J v + b,    b = (q(w) - target) / h - J w,        has u(w) = (q(w) - target) / h,

and u = 0 puts the coordinate on its target at the end of the step, to second order in v - w. The bias b also corrects the error
of the previous step. So joints do not drift, and no positions are corrected apart from the velocities. The impulse acts along J
at the start of the step: this is the SHAKE method (Ryckaert, Ciccotti, Berendsen 1977), which is symplectic like the leapfrog
scheme that it is used with (Leimkuhler, Skeel 1994). A pendulum keeps its energy, whereas J v = 0 would dissipate it.

A spring acts with the mean of its forces at the ends of three steps, weighted a, 1 - 2 a, a; the last of these steps is being
solved. It neither gains nor loses energy, and with a of `weigh` its frequency is exact. A spring that is too stiff for the step
acts with its force at the end of the step (backward Euler) and comes to rest soon. A damper acts with the mean of both
velocities, or with more of the later one if the mean would overshoot. The impulse is linear in the new velocity, so a spring
and a damper together are a compliant row, u + e + gamma lam = 0.

Rows of angles are multiplied by a length, at which a force rotates the bodies as easily as it translates them. All rows are
therefore in m/s and all impulses in N s.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inlined_kernel, kernel, leaf_kernel
from ...linalg.disjoint_sets import connected
from ...linalg.vec3 import cross, scaled, set_vec, sub, vec
from ..model.bodies import RIGID, State
from ..model.predict import Begin, Bend, StepTimes
from .attached import Attached, bent_frames, modal_rows
from .coordinates import measured
from .laws import JOINT_COMPLIANCE, EndMotion, JointPose, laws, laws_about, weigh
from .limits import farthest_off, row_direction, row_value
from .table import AT_MOST, SPRING, Chosen, Frames, Rows
from .tension import JointLevers, held_in_line
from .thresholds import (
    Thresholds,
    bounds_of_rows,
    exceeding,
    most_loaded,
    scaled_to_thresholds,
    transmitted_by_bonds,
    within,
)

__all__ = ["Followed", "Held", "JointRows", "JointStep"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# As JOINT_COMPLIANCE, for joints that conflict with each other by more. An almost straight chain under tension could otherwise
# lengthen a little only by throwing its links sideways at any speed.
SOFT_COMPLIANCE = 1e-3


class JointRows(NamedTuple):
    """The rows of joints in a step's problem, in t triples.

    body_a, body_b: (t,) indices among the bodies that the solver moves, or -1. jacobian_a, jacobian_b: (t, 3, 6), wider by the
    modes of flexible bodies. bias: (t, 3) m/s. box: (t, 3, 3), the bounds and the compliance of each row.
    """

    body_a: Ints
    body_b: Ints
    jacobian_a: Floats
    jacobian_b: Floats
    bias: Floats
    box: Floats


class Held(NamedTuple):
    """The impulses of joints.

    by_coordinate: (j, 6) N s and N m s. on_b: (j, 6) the same on body B, about the joint, in world axes.
    """

    by_coordinate: Floats
    on_b: Floats


class Fixed(NamedTuple):
    """The data of r rows in t triples that do not depend on the velocities of the solution.

    length: (r,) m, of their joints. scale: (r,) the same for angles, else 1. now: (r,) m or rad, the coordinates at the start
    of the step. speed: (r,) m/s, the rates of the scaled coordinates there. known: (r,) the part of `speed` due to bodies that
    the solver does not move. inverse_mass: (r,) 1/kg, effective. last, first: (r,) the weights of spring forces at the last
    and the first of the three step ends. direction: (r, 3) of the impulse. bodies: (t, 2). dof: (2, t) their indices among the
    bodies that the solver moves, or -1. jacobian: (2, t, 3, 6 or more), zero for other bodies.
    """

    length: Floats
    scale: Floats
    now: Floats
    speed: Floats
    known: Floats
    inverse_mass: Floats
    last: Floats
    first: Floats
    direction: Floats
    bodies: Ints
    dof: Ints
    jacobian: Floats


def empty(r: int, t: int, widest: int) -> Fixed:
    """Return an uninitialized `Fixed` for r rows in t triples. widest: the most degrees of freedom of a body."""
    bodies, dof = np.empty((t, 2), dtype=np.int64), np.empty((2, t), dtype=np.int64)
    length, scale, now, speed, known, inverse_mass, last, first = np.empty((8, r))
    numbers = length, scale, now, speed, known, inverse_mass, last, first
    return Fixed(*numbers, np.empty((r, 3)), bodies, dof, np.zeros((2, t, 3, widest)))


class Followed(NamedTuple):
    """The joints of a step for kernels: the arguments of `laws_about` except the motion, and the state at the start."""

    rows: Rows
    fixed: Fixed
    pose: JointPose
    times: StepTimes
    recovery_speed: float
    state: State


class JointStep:
    """The active joints of a step.

    triples: (t,) their triples of rows in the table. bodies: (t, 2) of each triple. off: lengths, the largest constraint error
    at the start of the step. are_driven: whether a joint has an end with prescribed motion. joint: (t,) of each triple. ends:
    (j, 2) the bodies of all joints. is_bond: (t,) triples of bonds. has_lost: (t,) triples of bonds that break in this step;
    they transmit the impulses `transmitted` (t, 3) and no others.
    """

    def __init__(
        self,
        frames: Frames,
        ends: Attached,
        chosen: Chosen,
        angle: Floats,
        begin: Begin,
        state: State,
        thresholds: Thresholds | None = None,
    ):
        """ends: of joints on flexible bodies. angle: (j, 3) rad, the last angles of all joints. thresholds: of all joints; None
        if no joint can break."""
        self._thresholds, self._bounds, self._state = thresholds, None, state
        self._frames, self._ends, self._chosen, self._rows = frames, ends, chosen, chosen.rows
        self._begin, self._times = begin, begin.times
        r, t = len(chosen.rows.joint), len(chosen.triples)
        bent = bent_frames(frames, ends, state.modal)
        bend, widest = begin.bend, RIGID if begin.bend is None else int(np.diff(begin.offset).max())
        self._fixed = fixed = empty(r, t, widest)
        pose = JointPose(bent, chosen.held, angle)
        bends = np.zeros(len(begin.model.dof), np.bool_)
        bends[ends.body] = True
        before, self.off = begin_rows(pose, chosen.rows, begin.model, state.position, begin.bodies, begin.h, bends, fixed)
        self._angle = before.value[:, 3:].copy()
        self._levers = JointLevers(frames.body, before.point[:, None] - state.position[frames.body])
        if bend is not None and len(ends.joint):
            rows, modes, first = modal_rows(
                bent, ends, chosen.rows, fixed.direction, before, state.position, begin, state.modal
            )
            self._bend(bend, *rows, modes, first)
            # Modes lower the effective mass of a row.
            weigh(frames, chosen.rows, begin.h, bends, fixed)
        self.triples, self.joint, self.ends, self.bodies = chosen.triples, chosen.joint, frames.body, fixed.bodies
        self.are_driven = bool(fixed.known.any())
        self.is_bond = np.zeros(t, np.bool_) if thresholds is None else thresholds.is_bond[self.joint]
        self.has_lost, self.transmitted = np.zeros(t, np.bool_), np.zeros((t, 3))

    def _bend(self, bend: Bend, row: Ints, end: Ints, modes: Floats, first: Ints) -> None:
        """Add the modal part of rows.

        row, end: (k,) rows and their ends. modes: (k, r) Jacobians. first: (k,) the first unknown of each.
        """
        fixed, triple, place = self._fixed, self._rows.triple[row], self._rows.place[row]
        # Columns beyond the widest awake body belong to sleeping bodies.
        modes = modes[:, : fixed.jacobian.shape[3] - RIGID]
        width = modes.shape[1]
        fixed.jacobian[end, triple, place, RIGID : RIGID + width] = modes
        unknown = np.minimum(np.searchsorted(bend.unknown, first)[:, None] + np.arange(width), len(bend.unknown) - 1)
        np.add.at(fixed.inverse_mass, row, (modes**2 / bend.mass[unknown]).sum(axis=1))
        np.add.at(fixed.speed, row, (modes * bend.velocity[unknown]).sum(axis=1))

    def too_stiff(self) -> Ints:
        """Return the joints whose springs oscillate too fast for the step."""
        springs = (self._rows.kind == SPRING) & (self._rows.stiffness > 0.0)
        return np.unique(self._rows.joint[springs & (self._fixed.first < self._fixed.last)])

    def after(self, impulse: Floats) -> JointStep:
        """Return the same joints after they have transmitted row impulses (t, 3) in this time step."""
        if self._thresholds is None or not impulse.any():
            return self
        out, load = copy(self), self._thresholds.load + self.held(impulse).by_coordinate
        out._thresholds = Thresholds(self._thresholds.capacity, self._thresholds.is_bond, load)
        out.transmitted = np.zeros_like(self.transmitted)
        return out

    @property
    def can_break(self) -> bool:
        """Whether any joint of the scene can break."""
        return self._thresholds is not None

    @property
    def length(self) -> Floats:
        """(t,) m, at which a force rotates the bodies of a joint as easily as it translates them."""
        return self._frames.length[self.joint]

    @property
    def position(self) -> Floats:
        """(moving, 3) m, of the bodies that the solver moves."""
        return self._state.position[self._begin.awake]

    @property
    def has_bounds(self) -> bool:
        """Whether rows have the bounds of breaking impulses."""
        return self._bounds is not None

    def stiffness_of_rows(self, stiffness: Floats) -> Floats:
        """Return (t, 3) the stiffness of each row of bonds; 0 for other joints.

        stiffness: (j, 6) N/m and N m/rad, of their coordinates.
        """
        rows, out = self._rows, np.zeros((len(self.triples), 3))
        out[rows.triple, rows.place] = stiffness[rows.joint, rows.coordinate] / (self._fixed.scale * self._fixed.scale)
        out[~self.is_bond] = 0.0
        return out

    def breaking(self, impulse: Floats) -> NDArray[np.bool_]:
        """Return (j,) the bonds that break next under row impulses (t, 3): the most loaded among connected bonds."""
        count = len(self._frames.body)
        if self._thresholds is None or not self.is_bond.any():
            return np.zeros(count, np.bool_)
        holds = self.is_bond & ~self.has_lost
        ends = self._fixed.dof[:, holds]
        both = (ends >= 0).all(axis=0)
        moving = int(self._fixed.dof.max(initial=-1)) + 1
        label = connected(moving, np.ones(moving, np.bool_), ends[0, both], ends[1, both])
        component, intact = np.zeros(count, np.int64), np.zeros(count, np.bool_)
        component[self.joint[holds]], intact[self.joint[holds]] = label[ends.max(axis=0)], True
        return most_loaded(self._thresholds, self.held(impulse).by_coordinate, component, intact)

    def without(self, bonds: NDArray[np.bool_], impulse: Floats, touches: NDArray[np.bool_]) -> JointStep:
        """Return the same joints with some bonds broken.

        bonds: (j,) the bonds that break. impulse: (t, 3) the row impulses that they would transmit. touches: (j,) joints whose
        bodies are in contact.
        """
        assert self._thresholds is not None
        out, rows = copy(self), self._rows
        by_coordinate = transmitted_by_bonds(self._thresholds, self.held(impulse).by_coordinate, touches)
        of_rows = np.zeros_like(self.transmitted)
        of_rows[rows.triple, rows.place] = by_coordinate[rows.joint, rows.coordinate] / self._fixed.scale
        new = bonds[self.joint]
        out.transmitted = np.where(new[:, None], of_rows, self.transmitted)
        out.has_lost = self.has_lost | new
        return out

    def exceeding(self, impulse: Floats) -> NDArray[np.bool_]:
        """Return (j,) the joints that exceed their breaking impulses under row impulses (t, 3).

        If the rows have no bounds yet, joints that just reach their breaking impulses count as well.
        """
        if self._thresholds is None:
            return np.zeros(len(self._frames.body), np.bool_)
        by_coordinate = self.held(impulse).by_coordinate
        return exceeding(self._thresholds, by_coordinate, self._bounds is not None).any(axis=1)

    def bounded(self, chosen: NDArray[np.bool_], impulse: Floats) -> JointStep:
        """Return the same joints with bounds on the rows of chosen ones (j,): no coordinate exceeds its threshold.

        A coordinate with several rows, such as a spring and a limit, can exceed its threshold although each row keeps its
        bounds. Such rows transmit the impulses (t, 3) of the last solution, reduced to the threshold.
        """
        assert self._thresholds is not None
        out = copy(self)
        if self._bounds is None:
            out._bounds = bounds_of_rows(self._thresholds, self._rows, self._fixed.scale, chosen, len(self.triples))
        else:
            by_coordinate = self.held(impulse).by_coordinate
            out._bounds = scaled_to_thresholds(self._thresholds, self._rows, by_coordinate, impulse, self._bounds)
        return out

    def giving_way(self, impulse: Floats, box: Floats) -> NDArray[np.bool_]:
        """Return (j,) the joints that transmit their thresholds, with row impulses (t, 3) and row bounds (t, 3, 3)."""
        if self._thresholds is None:
            return np.zeros(len(self._frames.body), np.bool_)
        bounds = self._bounds
        if bounds is None:
            every = np.ones(len(self._frames.body), np.bool_)
            bounds = bounds_of_rows(self._thresholds, self._rows, self._fixed.scale, every, len(self.triples))
        law = box[..., :2]
        is_bounded = ((law == np.clip(law, bounds[..., :1], bounds[..., 1:])) & np.isfinite(bounds)).all(axis=2)
        of_joint = np.bincount(self.joint[is_bounded.any(axis=1)], minlength=len(self._frames.body)) > 0
        by_coordinate = self.held(impulse).by_coordinate
        out = within(self._thresholds, by_coordinate, of_joint)
        out[self._thresholds.is_bond] = False
        out[self.joint[self.has_lost]] = True
        return out

    def holding(self, box: Floats) -> Floats:
        """Return the row bounds (t, 3, 3) with springs, motors and breaking bonds disabled."""
        at = self._rows.kind > AT_MOST
        out = box.copy()
        out[self._rows.triple[at], self._rows.place[at]] = 0.0
        out[self.has_lost] = 0.0
        return out

    def rows(self, moved: State, v: Floats, recovery_speed: float) -> JointRows:
        """Return the rows about velocities v (dof,), which move bodies to the state `moved`.

        recovery_speed: lengths per second, the largest rate at which constraint errors are corrected.
        """
        pose = JointPose(bent_frames(self._frames, self._ends, moved.modal), self._chosen.held, self._angle)
        motion = EndMotion(v, self._begin.offset, moved.position, moved.orientation)
        return self._with(*laws_about(self._rows, self._fixed, pose, motion, self._times, recovery_speed))

    def followed(self, recovery_speed: float) -> Followed | None:
        """Return the joints for kernels. Parameters as in `rows`.

        Returns None if rows have bounds from breaking impulses, if bonds break in this step, or if a body is flexible.
        """
        if self._bounds is not None or self.has_lost.any() or self._begin.bend is not None:
            return None
        pose = JointPose(self._frames, self._chosen.held, self._angle)
        return Followed(self._rows, self._fixed, pose, self._times, recovery_speed, self._state)

    def biased_rows(self, bias: Floats, recovery_speed: float) -> JointRows:
        """Return the rows with a given bias (t, 3) from an earlier solve of this step."""
        return self._about(self._fixed.known, recovery_speed, JOINT_COMPLIANCE)._replace(bias=bias)

    def straight_rows(self, recovery_speed: float, compliance: float | None = None) -> JointRows:
        """Return first-order rows, as if coordinates kept their rates from the start of the step.

        Jointed bodies then lose energy and drift if they rotate, but the rows always have a solution. compliance: relative to
        the inverse mass of a row; None for the default, which is larger if an end is driven.
        """
        if compliance is None:
            compliance = SOFT_COMPLIANCE if self.are_driven else JOINT_COMPLIANCE
        return self._about(self._fixed.known, recovery_speed, compliance)

    def _about(self, rate: Floats, recovery_speed: float, compliance: float) -> JointRows:
        """Return the rows with given rates (r,) m/s of their coordinates in addition to J v."""
        return self._with(*laws(self._rows, self._fixed, rate, self._times, recovery_speed, compliance))

    def _with(self, bias: Floats, box: Floats) -> JointRows:
        """Return the rows with a bias (t, 3) and bounds (t, 3, 3)."""
        fixed = self._fixed
        if self._bounds is not None:
            # A threshold may narrow the bounds of a limit or a motor but not widen them.
            box[..., :2] = np.clip(box[..., :2], self._bounds[..., :1], self._bounds[..., 1:])
        box[self.has_lost] = 0.0
        return JointRows(fixed.dof[0], fixed.dof[1], fixed.jacobian[0], fixed.jacobian[1], bias, box)

    def drift(self, before: JointRows, after: JointRows, impulse: Floats, island: Ints, islands: int) -> Floats:
        """Return (islands,) lengths, the constraint error of joints at the end of a solved step.

        before: the rows with the bias of the solve. after: the rows with the bias about its solution. impulse: (t, 3) of the
        solution; joints that transmit their thresholds do not count. island: (t,) of each triple.
        """
        largest, bias = np.zeros(islands), before.bias
        if self._bounds is not None or self.has_lost.any():
            bias = np.where(self.giving_way(impulse, before.box)[self.joint][:, None], after.bias, bias)
        largest_changes(self._rows, self._fixed, bias, after.bias, island, largest)
        return largest * self._begin.h

    def gain(self, impulse: Floats, before: JointRows, drift: float, recovery_speed: float) -> float:
        """Return the energy that constraints of joints add in the step.

        They do no work unless the step is too long for the rotation of their bodies. Joints that transmit their thresholds are
        not constraints and do not count.

        Parameters
        ----------
        impulse : (t, 3) N s, of the rows
        before : the rows that the step was solved with
        drift : lengths, the allowed drift of joints, along which work is allowed
        recovery_speed : lengths per second, at which large constraint errors are corrected; this work is allowed as well

        Returns
        -------
        J
        """
        if self._bounds is not None or self.has_lost.any():
            impulse = np.where(self.giving_way(impulse, before.box)[self.joint][:, None], 0.0, impulse)
        return work(self._rows, self._fixed, impulse, before.bias, drift, self._times, recovery_speed)

    def in_line(self, impulse: Floats) -> tuple[Ints, Floats]:
        """Return as `held_in_line` does, for bodies under tension from row impulses (t, 3). Bonds do not count."""
        if self.is_bond.any():
            impulse = np.where(self.is_bond[:, None], 0.0, impulse)
        begin = self._begin
        return held_in_line(self._rows, self._fixed, impulse, self._levers, begin.model, begin.bodies, self._times)

    def held(self, impulse: Floats) -> Held:
        """Return the impulses of joints, from row impulses (t, 3)."""
        count = len(self._frames.body)
        held = Held(np.zeros((count, 6)), np.zeros((count, 6)))
        sum_up(self._rows, self._fixed, impulse, held.by_coordinate, held.on_b)
        return held


@kernel
def begin_rows(pose, rows, model, position, bodies, h, bends, out):
    """Fill a `Fixed`, except for the contribution of modes.

    Parameters
    ----------
    pose : `JointPose` of j joints
    rows : their `Rows`
    model : `Model` of n bodies
    position : (n, 3) m, at the start of the step
    bodies : the `Prediction` of the step
    h : s, the step
    bends : (n,) which bodies are flexible
    out : `Fixed`, written

    Returns
    -------
    before : the `Coordinates` at the start of the step
    farthest : lengths, the largest constraint error
    """
    frames = pose.frames
    before, off = measured(frames, pose.active, position, bodies.rotation, pose.angle), np.zeros(pose.active.size)
    farthest_off(rows, frames, before, off)
    farthest = 0.0
    for j in range(off.size):
        farthest = max(farthest, off[j])
    _fill(rows, frames, before, model, position, bodies, out)
    weigh(frames, rows, h, bends, out)
    return before, farthest


@leaf_kernel
def _fill(rows, frames, before, model, position, bodies, out):
    """Fill a `Fixed` as `begin_rows` does. frames, before: of the joints, at the start of the step."""
    for r in range(rows.joint.size):
        j, c, triple, place = rows.joint[r], rows.coordinate[r], rows.triple[r], rows.place[r]
        out.length[r] = length = frames.length[j]
        scale = length if c >= 3 else 1.0
        direction = scaled(scale, row_direction(rows, r, frames, before))
        out.scale[r], out.now[r] = scale, row_value(rows, r, frames, before)
        set_vec(out.direction, r, direction)
        out.speed[r], out.known[r], out.inverse_mass[r] = 0.0, 0.0, 0.0
        for end in range(2):
            body = frames.body[j, end]
            out.bodies[triple, end] = body
            out.dof[end, triple] = -1 if body < 0 else model.dof[body]
            if body < 0:
                continue
            lever = sub(vec(before.point, j), vec(position, body))
            row = out.jacobian[end, triple, place]
            _write_row(direction, lever, c >= 3, 1.0 if end else -1.0, row)
            if model.dof[body] >= 0:
                for i in range(RIGID):
                    row[i] *= model.lock[body, i]
                out.inverse_mass[r] += _quadratic(row, bodies.inverse_mass[model.dof[body]])
            speed = 0.0
            for i in range(RIGID):
                speed += row[i] * bodies.twist[body, i]
            out.speed[r] += speed
            if model.dof[body] < 0:
                out.known[r] += speed
                row[:] = 0.0


@inlined_kernel
def _write_row(direction, lever, is_angular, sign, row):
    """Write a row (6,) of the Jacobian of a body."""
    force, torque = (0.0, 0.0, 0.0), direction
    if not is_angular:
        force, torque = direction, cross(lever, direction)
    for i in range(3):
        row[i], row[3 + i] = sign * force[i], sign * torque[i]


@leaf_kernel
def _quadratic(row, matrix):
    total = 0.0
    for i in range(RIGID):
        if row[i] == 0.0:
            # A row of an angle has no linear part.
            continue
        for k in range(RIGID):
            total += row[i] * matrix[i, k] * row[k]
    return total


@kernel
def largest_changes(rows, fixed, before, after, island, largest):
    """Update `largest` (islands,), the largest change of the bias of locked and limited coordinates, in lengths per second.

    before, after: (t, 3) bias. island: (t,) of each triple.
    """
    for r in range(rows.joint.size):
        if rows.kind[r] <= AT_MOST:
            change = abs(after[rows.triple[r], rows.place[r]] - before[rows.triple[r], rows.place[r]])
            change /= fixed.length[r]
            i = island[rows.triple[r]]
            if change > largest[i] or np.isnan(change):
                largest[i] = change


@kernel
def work(rows, fixed, impulse, bias, drift, times, recovery_speed):
    """Return the work of locked and limited rows in excess of the allowed work.

    The work is the impulse times the mean speed of the coordinate in the step.

    Parameters
    ----------
    rows : Rows
    fixed : Fixed
    impulse : (t, 3) N s
    bias : (t, 3) m/s, of the rows; its difference from that of first-order rows is due to the rotation of rows in the step
    drift : lengths, the allowed motion of each row
    times : `StepTimes`
    recovery_speed : lengths per second, at which a constraint error is corrected that is too large for one step

    Returns
    -------
    J
    """
    total, h = 0.0, times.h
    straight, _ = laws(rows, fixed, fixed.known, times, recovery_speed, JOINT_COMPLIANCE)
    for r in range(rows.joint.size):
        if rows.kind[r] <= AT_MOST:
            triple, place = rows.triple[r], rows.place[r]
            lam, turning = impulse[triple, place], straight[triple, place] - bias[triple, place]
            total += 0.5 * lam * (fixed.speed[r] + turning)
            recovered, allowed = recovery_speed * h * fixed.length[r], drift * fixed.length[r]
            if fixed.scale[r] * abs(fixed.now[r] - rows.target[r]) > recovered:
                allowed += recovered
            total -= abs(lam) * allowed / h
    return total


@kernel
def sum_up(rows, fixed, impulse, by_coordinate, on_b):
    """Add row impulses (t, 3) to `by_coordinate` and `on_b`, as in `Held`."""
    for r in range(rows.joint.size):
        lam = impulse[rows.triple[r], rows.place[r]]
        j, c = rows.joint[r], rows.coordinate[r]
        by_coordinate[j, c] += lam * fixed.scale[r]
        first = 3 if c >= 3 else 0
        for i in range(3):
            on_b[j, first + i] += lam * fixed.direction[r, i]
