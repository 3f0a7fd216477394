# SPDX-License-Identifier: GPL-3.0-or-later
"""Geometric stiffness of links under tension, which may swing too fast for the time step.

A force F of fixed direction acts at a lever r from a body's center of mass. If the body rotates by theta, the torque changes by

    -K theta,      K = F . r - (r F^T + F r^T) / 2

(the geometric stiffness of joints: Tournier, Nesme, Gilles and Faure 2015). A light link under strong tension therefore swings
with omega = sqrt(K / I). The leapfrog scheme, which uses the levers at the start of the step, is unstable for omega h > 2. A
mean of the levers at the ends of three steps, weighted a, 1 - 2 a, a like the forces of springs (`rows.py`), has

    (I + a h^2 K) (w^+ - w^-) = J^T lam

in place of I. This added inertia resists changes only, so it does not affect bodies at rest and damps nothing. The scheme is
stable for h^2 K (1 - 4 a) < 4 I. Here h^2 K (1 - 4 a) <= 2 I. Links that swing by less than sqrt(2) radians per step, which are
all but light links under a heavy load, are unchanged bit for bit. Links that would swing faster get the added inertia and swing
more slowly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part, leaf_kernel
from ...linalg.mat3 import relative_eigen
from ...linalg.vec3 import divided, dot, norm, scaled, set_vec, vec

__all__ = ["FOLLOWED", "JointLevers", "geometric_stiffness", "held_in_line"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

FOLLOWED = 0.5  # limit on h^2 K / 4, relative to I, below which no inertia is added; half of the stability limit of leapfrog


class JointLevers(NamedTuple):
    """The ends of j joints. body: (j, 2), -1 for the world. lever: (j, 2, 3) m, from the body's center of mass to the joint."""

    body: Indices
    lever: Floats


@kernel
def geometric_stiffness(count, body, lever, force):
    """Return K (count, 3, 3) N m/rad of bodies. lever: (e, 3) m. force: (e, 3) N, at each lever. body: (e,) of each force."""
    stiffness = np.zeros((count, 3, 3))
    for e in range(body.size):
        _add_stiffness(vec(lever, e), vec(force, e), stiffness[body[e]])
    return stiffness


@leaf_kernel
def _add_stiffness(lever, force, out):
    """Add K of a force (3,) at a lever (3,) to `out` (3, 3)."""
    along = dot(lever, force)
    for i in range(3):
        for k in range(3):
            out[i, k] += (along if i == k else 0.0) - 0.5 * (lever[i] * force[k] + lever[k] * force[i])


@kernel
def held_in_line(rows, fixed, impulse, levers, model, bodies, times):
    """Return the bodies (k,) that get added inertia, and their total inertia tensors (k, 3, 3) kg m^2.

    The returned indices count the bodies that the solver moves.

    Parameters
    ----------
    rows, fixed : `Rows` and `Fixed` of the joints
    impulse : (t, 3) N s, of the rows
    levers : `JointLevers`
    model, bodies : `Model` and `Prediction` of n bodies
    times : `StepTimes`
    """
    pull, mass, count = np.zeros((levers.body.shape[0], 3)), bodies.mass, 0
    _add_forces(rows, fixed, impulse, times.force_time, pull)
    chosen = _beyond_bound(levers, pull, model.dof, bodies.inverse_mass, times.h)
    stiffness, inertia = np.zeros((chosen.size, 3, 3)), np.empty((chosen.size, 3, 3))
    if chosen.size == 0:
        return chosen, inertia
    number = np.full(mass.shape[0], -1, np.int64)
    for k in range(chosen.size):
        number[chosen[k]] = k
        inertia[k] = mass[chosen[k], 3:, 3:]
    _add_swings(levers, pull, model, number, stiffness)
    ratio, axes = relative_eigen(0.25 * times.h * times.h * stiffness, inertia)
    for k in range(chosen.size):
        if ratio[k, 2] > FOLLOWED:
            chosen[count] = chosen[k]
            _write_inertia(ratio[k], axes[k], inertia[count])
            count += 1
    return chosen[:count], inertia[:count]


@leaf_kernel
def _add_forces(rows, fixed, impulse, force_time, pull):
    """Add the force of each joint on its body B, in N and world axes, to `pull` (j, 3)."""
    for r in range(rows.joint.size):
        if rows.coordinate[r] < 3:
            for i in range(3):
                pull[rows.joint[r], i] += impulse[rows.triple[r], rows.place[r]] * fixed.direction[r, i]
    for j in range(pull.shape[0]):
        set_vec(pull, j, divided(vec(pull, j), force_time))


@kernel_part
def _beyond_bound(levers, pull, dof, inverse_mass, h):
    """Return the moving bodies (k,) that may need added inertia: their stiffness is at most twice the sum of F r.

    pull: (j, 3) N, of the joints. dof: (n,) of a `Model`. inverse_mass: (moving, 6, 6). h: s, the step.
    """
    bound = np.zeros(inverse_mass.shape[0])
    for j in range(pull.shape[0]):
        for end in range(2):
            body = levers.body[j, end]
            if body >= 0 and dof[body] >= 0:
                bound[dof[body]] += norm(vec(levers.lever[j], end)) * norm(vec(pull, j))
    for d in range(bound.size):
        square = 0.0
        for i in range(3, 6):
            for k in range(3, 6):
                square += inverse_mass[d, i, k] ** 2
        bound[d] *= 0.5 * h * h * np.sqrt(square)
    return np.flatnonzero(bound > FOLLOWED)


@leaf_kernel
def _add_swings(levers, pull, model, number, stiffness):
    """Add the geometric stiffness of bodies to `stiffness` (k, 3, 3), without that of locked axes.

    pull: (j, 3) N, of the joints. number: (moving,) the index of each moving body in `stiffness`, or -1.
    """
    for j in range(pull.shape[0]):
        for end in range(2):
            body = levers.body[j, end]
            if body >= 0 and model.dof[body] >= 0 and number[model.dof[body]] >= 0:
                force = scaled(1.0 if end else -1.0, vec(pull, j))
                _add_stiffness(vec(levers.lever[j], end), force, stiffness[number[model.dof[body]]])
    for body in range(model.dof.size):
        if model.dof[body] >= 0 and number[model.dof[body]] >= 0:
            for i in range(3):
                for k in range(3):
                    stiffness[number[model.dof[body]], i, k] *= model.lock[body, 3 + i] * model.lock[body, 3 + k]


@leaf_kernel
def _write_inertia(ratio, axes, out):
    """Write the inertia tensor of a body with added inertia to `out` (3, 3).

    ratio: (3,) h^2 K / 4 relative to I. axes: (3, 3), as `relative_eigen` returns them.
    """
    for i in range(3):
        for k in range(3):
            out[i, k] = 0.0
            for a in range(3):
                out[i, k] += axes[i, a] * max(1.0, 1.0 + ratio[a] - FOLLOWED) * axes[k, a]
