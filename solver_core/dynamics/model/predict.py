# SPDX-License-Identifier: GPL-3.0-or-later
"""The predictor: velocities under gravity, gyroscopic effects and damping alone (Kaufman et al. 2008, (12)).

Velocities are defined in the middle of a step and positions at its ends (leapfrog). A force therefore acts over half of the
previous step and half of this one. Angular momentum is the state variable: contacts and joints change it, and between these
changes a body rotates without torque (`free_rotation.py`). Contacts and joints use the inertia tensor at the orientation half a
step ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import NO_CONTACTS, ContactSet
from ...compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ...linalg.elementary import power
from ...linalg.in_order import dot, product
from ...linalg.mat3 import invert, solve
from ...linalg.vec3 import norm, rotated, set_vec
from ..motion.free_rotation import rotate_freely
from ..motion.rotation import rotate_by, write_matrix
from .bodies import RIGID, Model, State
from .impact_memory import NO_IMPACTS_BEGUN, ImpactMemory
from .rest_gaps import TOUCHING_OFFSETS, AtRest, RestGaps

__all__ = ["Begin", "Bend", "Prediction", "StepTimes", "all_twists", "is_locked", "predict", "predicted_step"]

Floats = NDArray[np.float64]

LEAST_MOTION = 1e-6  # fraction of the half size of the smallest body
NO_REST_GAPS, NONE_BORNE = RestGaps.of_scene(0), np.zeros((0, 4))


class StepTimes(NamedTuple):
    """The times of a step in s.

    h: this step. last_step: the previous one. force_time: the time over which forces act, half of each.
    """

    h: float
    last_step: float
    force_time: float


class Prediction(NamedTuple):
    """The data of n bodies for a step's contact problem. `moving` of them are awake and moved by the solver.

    rotation: (n, 3, 3) and twist: (n, 6), at the start of the step. predicted: (n, 6) and end_momentum: (n, 3), the twists and
    angular momenta at its end without contacts and joints. mass, inverse_mass: (moving, 6, 6).
    """

    rotation: Floats
    twist: Floats
    predicted: Floats
    end_momentum: Floats
    mass: Floats
    inverse_mass: Floats


@dataclass(frozen=True)
class Bend:
    """The modes of awake flexible bodies in a step.

    row: (k,) the index of each mode in `modal` of the state. unknown: (k,) its index among the degrees of freedom. velocity,
    predicted: (k,) modal velocities at the start of the step, and at its end without contacts. mass: (k,) on the diagonal of a
    body's mass block.
    """

    row: NDArray[np.int64]
    unknown: NDArray[np.int64]
    velocity: Floats
    predicted: Floats
    mass: Floats


class MovingBodies(NamedTuple):
    """The bodies that the solver moves in a step. Each has the degrees of freedom of its twist.

    body: (moving,) their indices. dof: (n,) of a `Model`. offset, block_start, rigid: as in `Begin`.
    """

    body: NDArray[np.int64]
    dof: NDArray[np.int64]
    offset: NDArray[np.int64]
    block_start: NDArray[np.int64]
    rigid: NDArray[np.int64]


class Begin(NamedTuple):
    """The context of a step: the data that are known at its start.

    Attributes
    ----------
    at : time steps since the first frame
    h, last_step : s, this step and the previous one
    single : s, the time step of the scene; a step may be a partial step of it
    awake : (n,) the bodies that the solver moves
    moving : (moving,) their indices
    model : of the bodies, with degrees of freedom for awake ones only
    offset : (moving + 1,) the first degree of freedom of each awake body, as in a `System`
    block_start : (moving + 1,) the start of its mass block, as in a `System`
    rigid : (moving, 6) the degrees of freedom of its twist
    gravity : m/s^2, the magnitude
    smallest : m, the half size of the smallest awake body, infinite without one
    bodies : their prediction
    contacts : that may close in the step
    rest : the gaps that pairs of bodies keep at rest
    borne : (k, 4) N s, the part of the stored contact impulses that the prediction includes
    resting : the gaps at rest of `contacts`; None if they were not computed
    bend : the modes of flexible bodies, which follow the twist of their body; None if no flexible body is awake
    begun : impacts that end in the step
    """

    at: float
    h: float
    last_step: float
    single: float
    awake: NDArray[np.bool_]
    moving: NDArray[np.int64]
    model: Model
    offset: NDArray[np.int64]
    block_start: NDArray[np.int64]
    rigid: NDArray[np.int64]
    gravity: float
    smallest: float
    bodies: Prediction
    contacts: ContactSet
    rest: RestGaps
    borne: Floats
    resting: AtRest | None = None
    bend: Bend | None = None
    begun: ImpactMemory = NO_IMPACTS_BEGUN

    @property
    def force_time(self) -> float:
        """The time in s over which forces act."""
        return time_of_forces(self.h, self.last_step)

    @property
    def times(self) -> StepTimes:
        """The times of the step."""
        return StepTimes(self.h, self.last_step, self.force_time)

    @property
    def gravity_speed(self) -> float:
        """The speed in m/s that gravity gives in the step. Slower bodies may be at rest."""
        return self.gravity * self.h

    @property
    def least_scale(self) -> float:
        """The smallest velocity scale of errors, in m/s.

        It is the speed that gravity gives in this step, with which a body at rest would move without its contacts. If gravity
        is weak, it is a millionth of the smallest half size per full time step, which is also the tolerance of joints.
        """
        fall = self.gravity * self.force_time
        return max(fall, LEAST_MOTION * self.smallest / self.single) if math.isfinite(self.smallest) else fall

    @property
    def least_bounce(self) -> float:
        """The smallest rebound speed in m/s, which is the speed that gravity gives in a full time step."""
        return self.gravity * self.single

    def at_rest(self, contacts: ContactSet) -> AtRest:
        """Return the gaps that the bodies of contacts keep at rest."""
        if contacts is self.contacts and self.resting is not None:
            return self.resting
        return self.rest.of(self.model.size, contacts.body_a, contacts.body_b)

    def with_contacts(self, contacts: ContactSet, rest: RestGaps) -> Begin:
        """Return a copy with the contacts that may close in the step, and with the gaps that bodies keep at rest."""
        resting = rest.of(self.model.size, contacts.body_a, contacts.body_b)
        return self._replace(contacts=contacts, rest=rest, resting=resting)

    def rest_gaps(self, contacts: ContactSet) -> Floats:
        """Return (m,) m, the gaps that the bodies of contacts keep at rest."""
        return self.at_rest(contacts).gap

    def touching(self, contacts: ContactSet) -> NDArray[np.bool_]:
        """Return (m,) the contacts whose bodies touch: their gaps are about the gaps at rest. Touching bodies may bounce."""
        rest = self.at_rest(contacts)
        return contacts.gap - rest.gap <= TOUCHING_OFFSETS * rest.offset

    def unknowns(self, twist: Floats) -> Floats:
        """Return velocities (dof,) from the twists (n, 6) of all bodies. Modes have their predicted velocities."""
        rigid = twist.take(self.moving, axis=0)
        if self.bend is None:
            return rigid.reshape(-1)
        v = np.empty(self.offset[-1])
        v[self.rigid] = rigid
        v[self.bend.unknown] = self.bend.predicted
        return v

    @property
    def velocities(self) -> Floats:
        """(dof,) the velocities at the start of the step."""
        return self.going_on(self.bodies.twist)

    def going_on(self, twist: Floats) -> Floats:
        """Return velocities (dof,) as `unknowns` does, with the modal velocities at the start of the step."""
        v = self.unknowns(twist)
        if self.bend is not None:
            v[self.bend.unknown] = self.bend.velocity
        return v

    def kinetic(self, v: Floats) -> float:
        """Return the kinetic energy in J at velocities (dof,)."""
        twist = self.twists(v)
        rigid = 0.5 * dot(twist.ravel(), product(self.bodies.mass, twist[:, :, None]).ravel())
        return rigid if self.bend is None else rigid + 0.5 * dot(self.bend.mass, v[self.bend.unknown] ** 2)

    def twists(self, v: Floats) -> Floats:
        """Return (moving, 6) the twists of awake bodies at velocities (dof,)."""
        return v[self.rigid]

    def all_twists(self, v: Floats) -> Floats:
        """Return (n, 6) the twists of all bodies; those of awake bodies are from velocities (dof,)."""
        return all_twists(self.model.dof, self.offset, self.bodies.predicted, v)


@kernel
def all_twists(dof, offset, predicted, v):
    """Return as `Begin.all_twists` does."""
    out = predicted.copy()
    for b in range(dof.size):
        if dof[b] >= 0:
            out[b] = v[offset[dof[b]] : offset[dof[b]] + RIGID]
    return out


def time_of_forces(h: float, last_step: float) -> float:
    """Return the time in s over which forces act in a step of h seconds: half of the previous step and half of this one."""
    return 0.5 * (last_step + h)


@inner_kernel
def moving_bodies(awake):
    """Return the `MovingBodies` of a step. awake: (n,) the bodies that the solver moves."""
    body, dof = np.flatnonzero(awake), np.full(awake.size, -1)
    for d in range(body.size):
        dof[body[d]] = d
    count = np.arange(body.size + 1)
    rigid = np.arange(body.size * RIGID).reshape(body.size, RIGID)
    return MovingBodies(body, dof, RIGID * count, RIGID * RIGID * count, rigid)


@leaf_kernel
def is_locked(lock):
    """Return whether a rotation axis of a body is locked. lock: (6,), 0 for locked axes."""
    return lock[3] == 0.0 or lock[4] == 0.0 or lock[5] == 0.0


@leaf_kernel
def _world_inertia(rotation, inertia, out):
    """out := R I R^T."""
    for i in range(3):
        for j in range(3):
            s = 0.0
            for k in range(3):
                for m in range(3):
                    s += rotation[i, k] * inertia[k, m] * rotation[j, m]
            out[i, j] = s


@leaf_kernel
def _about_axes(rotation, axes, moments, world, inverse):
    """world := R A diag(moments) A^T R^T, the inertia tensor with principal axes A; inverse := its inverse."""
    for i in range(3):
        for j in range(3):
            world[i, j], inverse[i, j] = 0.0, 0.0
    for k in range(3):
        x, y, z = axes[0, k], axes[1, k], axes[2, k]
        u = rotation[0, 0] * x + rotation[0, 1] * y + rotation[0, 2] * z
        v = rotation[1, 0] * x + rotation[1, 1] * y + rotation[1, 2] * z
        t = rotation[2, 0] * x + rotation[2, 1] * y + rotation[2, 2] * z
        for moment, out in ((moments[k], world), (1.0 / moments[k], inverse)):
            out[0, 0] += moment * u * u
            out[1, 1] += moment * v * v
            out[2, 2] += moment * t * t
            out[0, 1] += moment * u * v
            out[0, 2] += moment * u * t
            out[1, 2] += moment * v * t
    for out in (world, inverse):
        out[1, 0], out[2, 0], out[2, 1] = out[0, 1], out[0, 2], out[1, 2]


@kernel_part
def _about_free_axes(rotation, inertia, lock, world, inverse):
    """world := R I R^T of a body with locked axes, which do not couple to the others; inverse := its inverse."""
    _world_inertia(rotation, inertia, world)
    for i in range(3):
        for j in range(3):
            if i != j and (lock[3 + i] == 0.0 or lock[3 + j] == 0.0):
                world[i, j] = 0.0
    invert(world, inverse)


@kernel
def predict(model, state, prescribed, awake, h, force_time):
    """Predict a step of h seconds.

    Parameters
    ----------
    model : `Model`, whose degrees of freedom are not used
    state : `State` at the start of the step
    prescribed : (n, 6) twists in this step of the bodies that the solver does not move
    awake : (n,) the bodies that the solver moves
    h : s
    force_time : s, over which forces act

    Returns
    -------
    `MovingBodies`; `Prediction`; the smallest half size of a moving body in m, infinite without one; and the magnitude of
    gravity in m/s^2
    """
    moving = moving_bodies(awake)
    n, count = awake.size, moving.body.size
    out = Prediction(
        np.empty((n, 3, 3)),
        np.empty((n, RIGID)),
        np.empty((n, RIGID)),
        np.empty((n, 3)),
        np.empty((count, RIGID, RIGID)),
        np.empty((count, RIGID, RIGID)),
    )
    half, world, inverse = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    middle, w = np.empty(4), np.empty(3)
    smallest = np.inf
    for b in range(n):
        write_matrix(state.orientation[b], out.rotation[b])
        d = moving.dof[b]
        if d < 0:
            out.twist[b] = prescribed[b]
            out.predicted[b] = prescribed[b]
            continue
        smallest = min(smallest, model.size[b])
        momentum = state.angular_momentum[b]
        locked = is_locked(model.lock[b])
        if locked:
            _world_inertia(out.rotation[b], model.inertia[b], world)
            w[0], w[1], w[2] = solve(world, momentum)
            rotate_by(state.orientation[b], 0.5 * h * w[0], 0.5 * h * w[1], 0.5 * h * w[2], middle)
            write_matrix(middle, half)
            _about_free_axes(half, model.inertia[b], model.lock[b], world, inverse)
        else:
            rotate_freely(state.orientation[b], momentum, model.axes[b], model.moments[b], 0.5 * h, middle)
            write_matrix(middle, half)
            _about_axes(half, model.axes[b], model.moments[b], world, inverse)
        for i in range(3):
            w[i] = inverse[i, 0] * momentum[0] + inverse[i, 1] * momentum[1] + inverse[i, 2] * momentum[2]
        out.mass[d] = 0.0
        out.inverse_mass[d] = 0.0
        for i in range(3):
            out.mass[d, i, i] = model.mass[b]
            out.inverse_mass[d, i, i] = 1.0 / model.mass[b]
            for j in range(3):
                out.mass[d, 3 + i, 3 + j] = world[i, j]
                out.inverse_mass[d, 3 + i, 3 + j] = 0.5 * (inverse[i, j] + inverse[j, i])
        keep, keep_angular = power(1.0 - model.damping[b, 0], force_time), power(1.0 - model.damping[b, 1], force_time)
        for i in range(3):
            out.twist[b, i] = state.velocity[b, i] * model.lock[b, i]
            out.twist[b, 3 + i] = w[i] * model.lock[b, 3 + i]
            out.predicted[b, i] = (state.velocity[b, i] + force_time * model.gravity[i]) * keep * model.lock[b, i]
            out.predicted[b, 3 + i] = w[i] * keep_angular * model.lock[b, 3 + i]
            out.end_momentum[b, i] = momentum[i] * keep_angular
        if locked:
            set_vec(out.end_momentum, b, rotated(world, out.predicted[b, 3:]))
    return moving, out, smallest, norm(model.gravity)


def predicted_step(
    model: Model,
    state: State,
    prescribed: Floats,
    awake: NDArray[np.bool_],
    at: float,
    h: float,
    last_step: float,
    single: float,
) -> Begin:
    """Predict a step.

    Parameters
    ----------
    model : of the bodies
    state : at the start of the step
    prescribed : (n, 6) twists of bodies that the solver does not move
    awake : (n,) bodies that the solver moves; the others are treated as static
    at, h, last_step, single : as in `Begin`

    Returns
    -------
    the step, without contacts and modes
    """
    moving, bodies, smallest, gravity = predict(model, state, prescribed, awake, h, time_of_forces(h, last_step))
    model, rest = model._replace(dof=moving.dof), NO_REST_GAPS._replace(bodies=len(awake))
    unknowns = moving.offset, moving.block_start, moving.rigid
    times, which = (at, h, last_step, single), (awake, moving.body, model)
    return Begin(*times, *which, *unknowns, gravity, smallest, bodies, NO_CONTACTS, rest, NONE_BORNE)
