# SPDX-License-Identifier: GPL-3.0-or-later
"""The builder: contacts of bodies become a contact problem. It alone knows both."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..collision.contact_set import ContactSet
from ..compile.kernel import kernel, leaf_kernel
from ..problem.system import System
from .bodies import State
from .predict import Begin

__all__ = ["ContactMemory", "build_contacts", "build_system", "match", "remember", "rest_offset", "rest_offsets"]

Floats = NDArray[np.float64]

REST_OFFSET = 2e-4  # of the smaller body's half extent: normals are unique only while bodies are apart
STICK_FRACTION = 1e-3  # of the speed that gravity gives in a step: slower contacts are at rest
STICK_SPEED = 1e-6  # m/s, where there is no gravity
PRODUCT, AVERAGE, GEOMETRIC_MEAN, MINIMUM, MAXIMUM = range(5)


class ContactMemory(NamedTuple):
    """What the next step needs to know of the contacts of this one, sorted by bodies and feature.

    body_a, body_b: (m,), feature: (m,) ids. impulse: (m, 4) the normal impulse in N s and the friction impulse in world axes.
    approach: (m,) speed in m/s at which the bodies were closing in before contact slowed them down, for restitution.
    """

    body_a: NDArray[np.int64]
    body_b: NDArray[np.int64]
    feature: NDArray[np.uint64]
    impulse: Floats
    approach: Floats


@kernel
def rest_offset(size_a, size_b):
    """Gap in m that two bodies of these half extents keep when they rest on each other."""
    smaller = min(size_a, size_b)
    return REST_OFFSET * smaller if np.isfinite(smaller) else 0.0


def rest_offsets(size: Floats) -> Floats:
    """As `rest_offset`, (n,) of the smaller half extents (n,)."""
    return np.where(np.isfinite(size), REST_OFFSET * size, 0.0)


@leaf_kernel
def _combine(rule, a, b):
    if rule == PRODUCT:
        return a * b
    if rule == AVERAGE:
        return 0.5 * (a + b)
    if rule == GEOMETRIC_MEAN:
        return np.sqrt(a * b)
    return min(a, b) if rule == MINIMUM else max(a, b)


@kernel
def match(memory, body_a, body_b, feature):
    """(m,) index of each contact in the memory, -1 where it is new; both are sorted by bodies and feature."""
    found = np.full(body_a.size, -1, np.int64)
    i, old = 0, memory.body_a.size
    for k in range(body_a.size):
        while i < old:
            if memory.body_a[i] != body_a[k]:
                before = memory.body_a[i] < body_a[k]
            elif memory.body_b[i] != body_b[k]:
                before = memory.body_b[i] < body_b[k]
            else:
                before = memory.feature[i] < feature[k]
            if not before:
                break
            i += 1
        if i < old and memory.body_a[i] == body_a[k] and memory.body_b[i] == body_b[k] and memory.feature[i] == feature[k]:
            found[k] = i
    return found


@leaf_kernel
def _tangents(nx, ny, nz, axes):
    """axes (3, 3): rows n, t1, t2, right-handed; t1 is horizontal wherever n is not vertical."""
    axes[0, 0], axes[0, 1], axes[0, 2] = nx, ny, nz
    if nx * nx + ny * ny > 1e-12:
        size = np.sqrt(nx * nx + ny * ny)
        axes[1, 0], axes[1, 1], axes[1, 2] = -ny / size, nx / size, 0.0
    else:
        size = np.sqrt(nx * nx + nz * nz)
        axes[1, 0], axes[1, 1], axes[1, 2] = nz / size, 0.0, -nx / size
    t = axes[1]
    axes[2, 0] = ny * t[2] - nz * t[1]
    axes[2, 1] = nz * t[0] - nx * t[2]
    axes[2, 2] = nx * t[1] - ny * t[0]


@leaf_kernel
def _fill_jacobian(jacobian, k, sign, axes, arm, lock):
    """Rows sign (e, arm x e) of contact k for each contact axis e, without the locked axes."""
    for row in range(3):
        e0, e1, e2 = axes[row, 0], axes[row, 1], axes[row, 2]
        jacobian[k, row, 0] = sign * e0 * lock[0]
        jacobian[k, row, 1] = sign * e1 * lock[1]
        jacobian[k, row, 2] = sign * e2 * lock[2]
        jacobian[k, row, 3] = sign * (arm[1] * e2 - arm[2] * e1) * lock[3]
        jacobian[k, row, 4] = sign * (arm[2] * e0 - arm[0] * e2) * lock[4]
        jacobian[k, row, 5] = sign * (arm[0] * e1 - arm[1] * e0) * lock[5]


@leaf_kernel
def _point_velocity(twist, arm, out):
    out[0] = twist[0] + twist[4] * arm[2] - twist[5] * arm[1]
    out[1] = twist[1] + twist[5] * arm[0] - twist[3] * arm[2]
    out[2] = twist[2] + twist[3] * arm[1] - twist[4] * arm[0]


@kernel
def build_contacts(
    model,
    position,
    twist,
    h,
    stick_speed,
    friction_rule,
    restitution_rule,
    body_a,
    body_b,
    point,
    normal,
    gap,
    drift,
    memory,
    found,
):
    """Contact arrays of the step's problem.

    twist: (n, 6) velocities at the step's begin. stick_speed: m/s, a contact that slides faster has the dynamic coefficient.
    drift: (m, 3) m/s, of the surface of B against that of A beyond their rigid motions. found: (m,) from `match`. Returns (axes
    (m, 3, 3), jacobian_a, jacobian_b (m, 3, 6), bias (m, 3), slack (m,), mu (m, 2), sliding (m,), approach (m,), impulse (m, 3)
    from the memory).

    A contact with a gap may close it within the step and no more: c = gap / h. Restitution follows the footnote to (14),
    n . (u + e u^t) >= 0, in the step in which the bodies touch, u^t being the speed they approached with before the speculative
    contact of the step before slowed them down.
    """
    m = body_a.size
    axes = np.empty((m, 3, 3))
    jacobian_a, jacobian_b = np.zeros((m, 3, 6)), np.zeros((m, 3, 6))
    bias, slack, mu = np.zeros((m, 3)), np.zeros(m), np.zeros((m, 2))
    sliding, approach = np.zeros(m, np.bool_), np.zeros(m)
    impulse = np.zeros((m, 3))
    arm, at_a, at_b = np.empty(3), np.empty(3), np.empty(3)
    for k in range(m):
        a, b = body_a[k], body_b[k]
        _tangents(normal[k, 0], normal[k, 1], normal[k, 2], axes[k])
        for i in range(3):
            arm[i] = point[k, i] - position[a, i]
        _point_velocity(twist[a], arm, at_a)
        if model.dof[a] >= 0:
            _fill_jacobian(jacobian_a, k, -1.0, axes[k], arm, model.lock[a])
        for i in range(3):
            arm[i] = point[k, i] - position[b, i]
        _point_velocity(twist[b], arm, at_b)
        if model.dof[b] >= 0:
            _fill_jacobian(jacobian_b, k, 1.0, axes[k], arm, model.lock[b])
        u = np.zeros(3)
        for row in range(3):
            for i in range(3):
                e = axes[k, row, i]
                u[row] += e * (at_b[i] - at_a[i] + drift[k, i])
                bias[k, row] += e * drift[k, i]
                # bodies with a prescribed motion are no unknowns: what they contribute to u is the bias
                if model.dof[b] < 0:
                    bias[k, row] += e * at_b[i]
                if model.dof[a] < 0:
                    bias[k, row] -= e * at_a[i]
        sliding[k] = np.sqrt(u[1] * u[1] + u[2] * u[2]) > stick_speed
        mu[k, 0] = _combine(friction_rule, model.mu[a, 0], model.mu[b, 0])
        mu[k, 1] = _combine(friction_rule, model.mu[a, 1], model.mu[b, 1])
        offset = rest_offset(model.size[a], model.size[b])
        slack[k] = max(0.0, gap[k] - offset) / h
        old = found[k]
        if old >= 0:
            impulse[k, 0] = memory.impulse[old, 0]
            for i in range(3):
                impulse[k, 1] += memory.impulse[old, 1 + i] * axes[k, 1, i]
                impulse[k, 2] += memory.impulse[old, 1 + i] * axes[k, 2, i]
        closing = -u[0]
        if closing > 0.0:
            approach[k] = closing if old < 0 else max(closing, memory.approach[old])
            e = _combine(restitution_rule, model.restitution[a], model.restitution[b])
            if gap[k] <= 1.5 * offset:
                if e > 0.0:
                    slack[k] = -e * approach[k]
                approach[k] = 0.0
    return axes, jacobian_a, jacobian_b, bias, slack, mu, sliding, approach, impulse


@kernel
def remember(axes, impulse):
    """(m, 4) impulses to keep: the normal one, and friction turned into world axes."""
    out = np.empty((impulse.shape[0], 4))
    for k in range(impulse.shape[0]):
        out[k, 0] = impulse[k, 0]
        for i in range(3):
            out[k, 1 + i] = impulse[k, 1] * axes[k, 1, i] + impulse[k, 2] * axes[k, 2, i]
    return out


def build_system(
    begin: Begin,
    state: State,
    contacts: ContactSet,
    drift: Floats,
    memory: ContactMemory,
    rules: tuple[int, int],
    bounces: bool,
) -> tuple[System, Floats, Floats, Floats, Floats]:
    """The contact problem of a step.

    drift: (m, 3) as in `build_contacts`. rules: how the friction and the restitution of two bodies are combined. bounces:
    whether bodies may bounce. Returns (the system, axes (m, 3, 3), approach (m,) to be remembered, impulse (m, 3) to begin
    with, and the approach (m,) that was remembered).
    """
    model, h = begin.model, begin.h
    stick_speed = max(STICK_SPEED, STICK_FRACTION * float(np.linalg.norm(model.gravity)) * h)
    found = match(memory, contacts.body_a, contacts.body_b, contacts.feature)
    axes, jacobian_a, jacobian_b, bias, slack, mu, sliding, approach, impulse = build_contacts(
        model,
        state.position,
        begin.twist,
        h,
        stick_speed,
        *rules,
        contacts.body_a,
        contacts.body_b,
        contacts.point,
        contacts.normal,
        contacts.gap,
        drift,
        memory,
        found,
    )
    if not bounces:
        # a bounce off one body into another, both in this step, has no solution that keeps to both
        slack = np.maximum(slack, 0.0)
    moving = len(begin.mass)
    system = System(
        offset=np.arange(0, 6 * moving + 1, 6),
        block_start=np.arange(0, 36 * moving + 1, 36),
        mass=begin.mass.ravel(),
        inverse_mass=begin.inverse_mass.ravel(),
        velocity=begin.predicted[begin.awake].ravel(),
        body_a=model.dof[contacts.body_a],
        body_b=model.dof[contacts.body_b],
        jacobian_a=jacobian_a,
        jacobian_b=jacobian_b,
        bias=bias,
        slack=slack,
        mu=np.where(sliding, mu[:, 1], mu[:, 0]),
    )
    came = np.where(found >= 0, np.append(memory.approach, 0.0)[found], 0.0)
    return system, axes, approach, impulse, came
