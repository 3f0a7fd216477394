"""Positions moved on by the velocities that a step was solved for, and overlaps undone without giving them momentum."""

from __future__ import annotations

import numpy as np
from numba import njit

from ..solvers.projection import CONTACT, DISK, find_blocks, project
from ..system import System, effective_inverse_mass
from .build import rest_offset
from .rotation import turn

__all__ = ["integrate", "separation"]

RECOVERY_SPEED = 0.2  # half extents of the smaller body a second
FASTEST = 4.0  # times that: the most that any point moves, however much overlaps contradict each other
NEGLIGIBLE = 0.05  # of the rest offset: what is nearer than this to its place is left there


@njit(cache=True)
def separation(model, system, body_a, body_b, gap, v, h):
    """Velocities (n,) that, over this step and in addition to v, part bodies that are nearer than their rest offset.

    They move positions only, so an overlap is undone without a pop: the smallest motion in the kinetic metric (a contact
    projection) that opens overlaps at no more than the recovery speed and closes no gap.
    """
    m = gap.size
    wanted = np.empty(m)
    needed = False
    for k in range(m):
        offset = rest_offset(model.size[body_a[k]], model.size[body_b[k]])
        missing = offset - gap[k]
        if missing > NEGLIGIBLE * offset:
            speed = RECOVERY_SPEED * min(model.size[body_a[k]], model.size[body_b[k]])
            wanted[k] = -min(missing / h, speed)
            needed = True
        else:
            wanted[k] = 0.0
    out = np.zeros_like(v)
    if not needed:
        return out
    inverse = effective_inverse_mass(system)
    apart = System(
        system.offset,
        system.block_start,
        system.mass,
        system.inverse_mass,
        out,
        system.body_a,
        system.body_b,
        system.jacobian_a,
        system.jacobian_b,
        np.zeros_like(system.bias),
        wanted,
        system.mu,
    )
    fastest = 0.0
    for k in range(m):
        fastest = max(fastest, -wanted[k])
    blocks = find_blocks(apart)
    project(
        apart,
        blocks,
        np.empty(blocks.structure.length),
        CONTACT,
        DISK,
        np.zeros(m),
        np.zeros_like(v),
        inverse,
        1e-3 * fastest,
        1e-2 * fastest,
        np.zeros((m, 3)),
        out,
    )
    slow_down(model, system, out)
    return out


@njit(cache=True)
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


@njit(cache=True)
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
