# SPDX-License-Identifier: GPL-3.0-or-later
"""The predictor: bodies moved on by gravity, gyroscopic effects and damping alone (Kaufman et al. 2008, (12)).

Velocities live in the middle of a step, positions at its ends (leapfrog): a force acts over half of the step before and half of
this one. Angular momentum is the state: contacts and joints change it, and with what they leave of it a body rotates on as it
does without torque (`free_rotation.py`). For them the inertia tensor is that of the orientation half a step ahead.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import NO_CONTACTS, ContactSet
from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...linalg.elementary import power
from ...linalg.in_order import dot, length, product
from ...linalg.mat3 import invert, solve
from ...linalg.vec3 import rotated, set_vec
from ..motion.free_rotation import rotate_freely
from ..motion.rotation import rotate_by, write_matrix
from .bodies import RIGID, Model, State
from .impact_memory import NO_IMPACTS_BEGUN, ImpactMemory
from .rest_gaps import TOUCHING_OFFSETS, AtRest, RestGaps

__all__ = ["Begin", "Bend", "Prediction", "all_twists", "is_locked", "predict", "predicted_step"]

Floats = NDArray[np.float64]

LEAST_MOTION = 1e-6  # of the smallest body's half extent
NO_REST_GAPS, NONE_BORNE = RestGaps.of_scene(0), np.zeros((0, 4))


class Prediction(NamedTuple):
    """What a step's contact problem needs to know of n bodies, of which `moving` are awake and moved by the solver.

    rotation: (n, 3, 3) and twist: (n, 6) at the step's begin. predicted: (n, 6), end_momentum: (n, 3), the twists and angular
    momenta that it would end with if nothing touched. mass, inverse_mass: (moving, 6, 6).
    """

    rotation: Floats
    twist: Floats
    predicted: Floats
    end_momentum: Floats
    mass: Floats
    inverse_mass: Floats


@dataclass(frozen=True)
class Bend:
    """The modes of the bodies that bend and are awake, in a step.

    row: (k,) of each in the state's `modal`, unknown: (k,) among the degrees of freedom. velocity, predicted: (k,) as the step
    begins, and as it would end if nothing touched. mass: (k,) their place on the diagonal of a body's block.
    """

    row: NDArray[np.int64]
    unknown: NDArray[np.int64]
    velocity: Floats
    predicted: Floats
    mass: Floats


class Begin(NamedTuple):
    """A step as it begins.

    at: time steps since the first frame; h, last_step: s, this step and the one before; single: s, one of the scene's time
    steps, of which a step may be a part. awake: (n,). model: with degrees of freedom for those awake only. offset:
    (moving + 1,) the first degree of freedom of each body that the solver moves, block_start: where its mass begins, as in a
    `System`; rigid: (moving, 6) its degrees of freedom. gravity: m/s^2, how strong it is. smallest: m, the half extent of the
    smallest awake, infinite of none. bodies: what is predicted of them. contacts: those that may close in
    the step; rest: the gaps that they keep; resting: those of the contacts, None where they were not looked up. borne: (k, 4)
    N s, what of the remembered impulses of contacts is in the prediction. bend: the modes of bodies that bend, None where none
    of these is awake; they come after the twist of their body. begun: the impacts that end in the step.
    """

    at: float
    h: float
    last_step: float
    single: float
    awake: NDArray[np.bool_]
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
        """The time in s over which forces act: half of the step before and half of this one."""
        return 0.5 * (self.last_step + self.h)

    @property
    def gravity_speed(self) -> float:
        """The speed in m/s that gravity gives in the step: what is slower may be at rest."""
        return self.gravity * self.h

    @property
    def least_scale(self) -> float:
        """The speed in m/s that errors are measured by at least: what gravity gives in this step, by which what
        rests would move without its contacts; or where that is little a millionth of the smallest body in a whole step, as
        much as a joint may be off."""
        fall = self.gravity * self.force_time
        return max(fall, LEAST_MOTION * self.smallest / self.single) if math.isfinite(self.smallest) else fall

    @property
    def least_bounce(self) -> float:
        """The speed in m/s that gravity gives in a whole step: bodies that would part no faster do not bounce."""
        return self.gravity * self.single

    def at_rest(self, contacts: ContactSet) -> AtRest:
        """The gaps that the bodies of contacts keep at rest."""
        if contacts is self.contacts and self.resting is not None:
            return self.resting
        return self.rest.of(self.model.size, contacts.body_a, contacts.body_b)

    def with_contacts(self, contacts: ContactSet, rest: RestGaps) -> Begin:
        """The same with the contacts that may close in the step, and the gaps that bodies keep."""
        resting = rest.of(self.model.size, contacts.body_a, contacts.body_b)
        return self._replace(contacts=contacts, rest=rest, resting=resting)

    def rest_gaps(self, contacts: ContactSet) -> Floats:
        """(m,) m: the gaps that the bodies of contacts keep at rest."""
        return self.at_rest(contacts).gap

    def touching(self, contacts: ContactSet) -> NDArray[np.bool_]:
        """(m,) which contacts are about at the gaps of rest: their bodies touch, and bounce."""
        rest = self.at_rest(contacts)
        return contacts.gap - rest.gap <= TOUCHING_OFFSETS * rest.offset

    def unknowns(self, twist: Floats) -> Floats:
        """Velocities (dof,) of the bodies that the solver moves, from the twists (n, 6) of all; modes move as predicted."""
        if self.bend is None:
            return twist[self.awake].reshape(-1)
        v = np.empty(self.offset[-1])
        v[self.rigid] = twist[self.awake]
        v[self.bend.unknown] = self.bend.predicted
        return v

    @property
    def velocities(self) -> Floats:
        """Velocities (dof,) of the bodies that the solver moves, as the step begins."""
        return self.going_on(self.bodies.twist)

    def going_on(self, twist: Floats) -> Floats:
        """As `unknowns`, with modes that move as the step begins."""
        v = self.unknowns(twist)
        if self.bend is not None:
            v[self.bend.unknown] = self.bend.velocity
        return v

    def kinetic(self, v: Floats) -> float:
        """The energy of motion in J of what the solver moves with velocities (dof,)."""
        twist = self.twists(v)
        rigid = 0.5 * dot(twist.ravel(), product(self.bodies.mass, twist[:, :, None]).ravel())
        return rigid if self.bend is None else rigid + 0.5 * dot(self.bend.mass, v[self.bend.unknown] ** 2)

    def twists(self, v: Floats) -> Floats:
        """(moving, 6) the twists of the bodies that the solver moves, from their velocities (dof,)."""
        return v[self.rigid]

    def all_twists(self, v: Floats) -> Floats:
        """(n, 6) the twists of all bodies, of those that the solver moves from their velocities (dof,)."""
        return all_twists(self.model.dof, self.offset, self.bodies.predicted, v)


@kernel
def all_twists(dof, offset, predicted, v):
    """The same."""
    out = predicted.copy()
    for b in range(dof.size):
        if dof[b] >= 0:
            out[b] = v[offset[dof[b]] : offset[dof[b]] + RIGID]
    return out


@kernel
def degrees_of_freedom(awake, size):
    """The `dof` (n,) of a `Model` of which some are awake (n,), how many these are, and the smallest of their sizes (n,)."""
    dof, moving, smallest = np.full(awake.size, -1, np.int64), 0, np.inf
    for b in range(awake.size):
        if awake[b]:
            dof[b], moving, smallest = moving, moving + 1, min(smallest, size[b])
    return dof, moving, smallest


@leaf_kernel
def is_locked(lock):
    """Whether a body with the locks (6,) may not turn about every axis."""
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
    """world := R A diag(moments) A^T R^T, the inertia tensor, of which A has the principal axes; and its inverse."""
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
    """world := R I R^T of a body that may not turn about every axis, and its inverse: a locked axis neither turns nor couples
    to the others."""
    _world_inertia(rotation, inertia, world)
    for i in range(3):
        for j in range(3):
            if i != j and (lock[3 + i] == 0.0 or lock[3 + j] == 0.0):
                world[i, j] = 0.0
    invert(world, inverse)


@kernel
def predict(model, state, prescribed, h, force_time, out):
    """Fill a `Prediction` for a step of h seconds.

    prescribed: (n, 6) twists over this step of the bodies that the solver does not move. force_time: the time in s over which
    forces act.
    """
    half, world, inverse = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    middle, w = np.empty(4), np.empty(3)
    for b in range(model.dof.size):
        write_matrix(state.orientation[b], out.rotation[b])
        d = model.dof[b]
        if d < 0:
            out.twist[b] = prescribed[b]
            out.predicted[b] = prescribed[b]
            continue
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
    """Predict a step of h seconds after one of `last_step` seconds; bodies that are not awake (n,) are treated as static.
    single: as in `Begin`."""
    dof, moving, smallest = degrees_of_freedom(awake, model.size)
    n, model = len(awake), model._replace(dof=dof)
    bodies = Prediction(
        rotation=np.empty((n, 3, 3)),
        twist=np.empty((n, RIGID)),
        predicted=np.empty((n, RIGID)),
        end_momentum=np.empty((n, 3)),
        mass=np.empty((moving, RIGID, RIGID)),
        inverse_mass=np.empty((moving, RIGID, RIGID)),
    )
    offset = np.arange(moving + 1) * RIGID
    rigid = np.arange(moving * RIGID).reshape(moving, RIGID)
    unknowns, scales = (offset, RIGID * offset, rigid), (length(model.gravity), smallest)
    rest = RestGaps(n, NO_REST_GAPS.pair, NO_REST_GAPS.gap, NO_REST_GAPS.held)
    begin = Begin(at, h, last_step, single, awake, model, *unknowns, *scales, bodies, NO_CONTACTS, rest, NONE_BORNE)
    predict(model, state, prescribed, h, begin.force_time, bodies)
    return begin
