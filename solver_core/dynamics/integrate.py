"""Positions moved on by the velocities that a step was solved for, and overlaps undone without giving them momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernel import kernel
from ..solvers.projection import CONTACT, DISK, find_blocks, project
from ..system import System, effective_inverse_mass
from .bodies import Model
from .build import rest_offsets
from .rotation import turn

__all__ = ["integrate", "separation"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

RECOVERY_SPEED = 0.2  # half extents of the smaller body a second
FASTEST = 4.0  # times that: the most that any point moves, however much overlaps contradict each other
NEGLIGIBLE = 0.05  # of the rest offset: what is nearer than this to its place is left there


def separation(model: Model, system: System, body_a: Indices, body_b: Indices, gap: Floats, v: Floats, h: float) -> Floats:
    """Velocities (n,) that, over this step and in addition to v, part bodies that are nearer than their rest offset.

    They move positions only, so an overlap is undone without a pop: the smallest motion in the kinetic metric (a contact
    projection) that opens overlaps at no more than the recovery speed and closes no gap.
    """
    out = np.zeros_like(v)
    size = np.minimum(model.size[body_a], model.size[body_b])
    offset = rest_offsets(size)
    missing = offset - gap
    near = missing > NEGLIGIBLE * offset
    if not near.any():
        return out
    wanted = np.where(near, -np.minimum(missing / h, RECOVERY_SPEED * size), 0.0)
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
        np.zeros((len(gap), 3)),
        out,
    )
    slow_down(model, system, out)
    return out


@kernel
def slow_down(model, system, out):
    """Scales the velocities (n,) of bodies that are in contact, directly or not, so that none moves too fast.

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
        allowed = FASTEST * RECOVERY_SPEED * model.size[b]
        if speed > allowed:
            scale[d] = allowed / speed
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
def integrate(model, state, mass, v, apart, h):
    """Move every body that the solver moves by v + apart for h seconds; momenta from v alone."""
    for b in range(model.dof.size):
        d = model.dof[b]
        if d < 0:
            continue
        at = 6 * d
        for i in range(3):
            state.velocity[b, i] = v[at + i]
            state.position[b, i] += h * (v[at + i] + apart[at + i])
            momentum = 0.0
            for j in range(3):
                momentum += mass[d, 3 + i, 3 + j] * v[at + 3 + j]
            state.angular_momentum[b, i] = momentum
        turn(
            state.orientation[b],
            h * (v[at + 3] + apart[at + 3]),
            h * (v[at + 4] + apart[at + 4]),
            h * (v[at + 5] + apart[at + 5]),
            state.orientation[b],
        )
