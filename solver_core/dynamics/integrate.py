"""Positions moved on by the velocities that a step was solved for, and overlaps undone without giving them momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernel import kernel
from ..solvers.projection import CONTACT, DISK, find_blocks, project
from ..system import System, effective_inverse_mass, relative_velocities
from .bodies import Model
from .build import rest_offsets
from .islands import connected
from .rotation import turn

__all__ = ["integrate", "separation"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

# Of the multipliers: what cannot be parted, as a peg that fills its hole, would slip out along normals that hardly lean.
FEW_STEPS = np.int64(2)
# Times the fastest that a contact of an island is to open: the most that any point moves, however much overlaps contradict.
FASTEST = 1.5
NEGLIGIBLE = 0.05  # of the rest offset: what is nearer than this to its place is left there


def separation(
    model: Model,
    system: System,
    body_a: Indices,
    body_b: Indices,
    gap: Floats,
    v: Floats,
    twist: Floats,
    h: float,
    recovery_speed: float,
    effort: Indices,
) -> Floats:
    """Velocities (n,) that, over this step and in addition to v, part bodies that are nearer than their rest offset.

    They move positions only, so an overlap is undone without a pop: the smallest motion in the kinetic metric (a contact
    projection) that opens overlaps at no more than the recovery speed, in half extents of the smaller body a second, beyond
    what they let in themselves, and closes no gap. What v opens by itself is left to it. twist: (bodies, 6) of all bodies.
    effort: whose bell ends it when the step's time is over.
    """
    out = np.zeros_like(v)
    size = np.minimum(model.size[body_a], model.size[body_b])
    offset = rest_offsets(size)
    velocity = relative_velocities(system, v)
    missing = offset - gap - h * np.maximum(velocity[:, 0], 0.0)
    near = missing > NEGLIGIBLE * offset
    if not near.any():
        return out
    inward = _speed_of_entry(model, body_a, body_b, velocity[:, 1:], twist, h)
    wanted = np.where(near, -np.minimum(missing / h, recovery_speed * size + inward), 0.0)
    apart = system._replace(velocity=out, bias=np.zeros_like(system.bias), slack=wanted)
    fastest = -wanted.min()
    blocks = find_blocks(apart)
    project(
        apart,
        blocks,
        np.empty(blocks.structure.length),
        CONTACT,
        DISK,
        np.zeros(len(gap)),
        np.zeros_like(v),
        effective_inverse_mass(system),
        1e-3 * fastest,
        1e-2 * fastest,
        effort,
        np.zeros((len(gap), 3)),
        out,
        FEW_STEPS,
    )
    slow_down(model, system, FASTEST * fastest_of_islands(model, body_a, body_b, -wanted), out)
    return out


def _speed_of_entry(model: Model, body_a: Indices, body_b: Indices, slip: Floats, twist: Floats, h: float) -> Floats:
    """(m,) how fast the steps themselves let bodies into each other.

    A contact's normal velocity is not negative where the step begins. Over the step, a point at a distance r from the axis of a
    turning body leaves its tangent by omega^2 r h^2 / 2, and what slides over a surface of radius r leaves that by
    u_t^2 h^2 / 2 r; half extents stand for both.
    """
    size = np.minimum(model.size[body_a], model.size[body_b])
    square = np.einsum("bi,bi->b", twist[:, 3:], twist[:, 3:])
    turning = np.where(square > 0.0, model.size, 0.0) * square
    return 0.5 * h * (turning[body_a] + turning[body_b] + np.einsum("ki,ki->k", slip, slip) / size)


def fastest_of_islands(model: Model, body_a: Indices, body_b: Indices, speed: Floats) -> Floats:
    """(bodies,) the largest of the speeds (m,) of the contacts of each body and of all that it touches, directly or not."""
    island = connected(len(model.dof), model.dof >= 0, body_a, body_b)
    largest = np.zeros(len(model.dof))
    for bodies in (body_a, body_b):
        moving = model.dof[bodies] >= 0
        np.maximum.at(largest, island[bodies[moving]], speed[moving])
    return largest[island]


@kernel
def slow_down(model, system, allowed, out):
    """Scales the velocities (n,) of bodies that are in contact, directly or not, so that none is faster than allowed (bodies,).

    What parts two overlaps whose normals nearly oppose each other is a fast motion across both.
    """
    scale = np.ones(len(out) // 6)
    for b in range(model.dof.size):
        d = model.dof[b]
        if d < 0:
            continue
        v = out[6 * d : 6 * d + 6]
        turning = np.sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5])
        speed = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) + model.size[b] * turning
        if speed > allowed[b]:
            scale[d] = allowed[b] / speed
    differs = scale.min() < 1.0 if len(scale) else False
    while differs:
        differs = False
        for k in range(len(system.body_a)):
            a, b = system.body_a[k], system.body_b[k]
            if a >= 0 and b >= 0 and scale[a] != scale[b]:
                scale[a] = scale[b] = min(scale[a], scale[b])
                differs = True
    for row in range(len(out)):
        out[row] *= scale[row // 6]


@kernel
def integrate(model, state, mass, predicted, ahead, carried, v, apart, h):
    """Move every body that the solver moves by v + apart for h seconds; momenta from v alone.

    predicted: (n,) velocities, ahead (bodies, 4) and carried (bodies, 3): what `predict` says of the step without contacts.
    What they change of the angular velocity turns the body, and changes its momentum, on top of that.
    """
    for b in range(model.dof.size):
        d = model.dof[b]
        if d < 0:
            continue
        at = 6 * d
        for i in range(3):
            state.velocity[b, i] = v[at + i]
            state.position[b, i] += h * (v[at + i] + apart[at + i])
            momentum = carried[b, i]
            for j in range(3):
                momentum += mass[d, 3 + i, 3 + j] * (v[at + 3 + j] - predicted[at + 3 + j])
            state.angular_momentum[b, i] = momentum
        turn(
            ahead[b],
            h * (v[at + 3] - predicted[at + 3] + apart[at + 3]),
            h * (v[at + 4] - predicted[at + 4] + apart[at + 4]),
            h * (v[at + 5] - predicted[at + 5] + apart[at + 5]),
            state.orientation[b],
        )
