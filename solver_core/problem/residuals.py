# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled residuals of Coulomb's law: natural maps of contacts and joints, and five residuals of contacts.

`problem/accuracy.py` uses them to measure a result. It adds the residuals of other friction laws.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.elementary import arctangent, sine_and_cosine
from .cones import natural_interval
from .coulomb import ContactVector, natural_map
from .system import (
    apply_inverse_mass,
    effective_inverse_mass,
    effective_mass,
    inlined_relative_velocity,
    inverse_mass_of_row,
    relative_velocities,
    relative_velocity,
    transpose_product,
)

__all__ = [
    "COMPLEMENTARITY",
    "CONE_EXCESS",
    "DISSIPATION",
    "NATURAL_MAP",
    "PENETRATION",
    "effective_masses",
    "fastest_velocity",
    "joint_maps",
    "largest_impulse",
    "law_of",
    "law_of_impulses",
    "measure",
    "natural_error",
    "natural_error_between",
    "relative_coulomb",
]

PENETRATION, CONE_EXCESS, COMPLEMENTARITY, DISSIPATION, NATURAL_MAP = range(5)
# Floor of the velocity scale, relative to the velocities that cancel. A tolerance of 1e-6 then resolves 1e-11 of them, 1e4
# times their round-off, because the penalties of joints amplify round-off.
RESOLVED = 1e-5


@kernel_part
def _support(u1, u2, sides):
    """Return the maximum of -y . u over y in the unit disk, or in the inscribed regular polygon."""
    speed = np.sqrt(u1 * u1 + u2 * u2)
    if sides == 0 or speed == 0.0:
        return speed
    # The direction of the vertex nearest to -u differs from it by at most half a sector.
    step = 2.0 * np.pi / sides
    angle = arctangent(-u2, -u1)
    return speed * sine_and_cosine(angle - step * np.round(angle / step))[1]


@leaf_kernel
def joint_map(box, impulse, u0, u1, u2, kappa):
    """Return the natural map of the three rows of a joint [m/s].

    If kappa is 0, nothing can move, and the result is the velocity that violates the rows without compliance.

    box: (3, 3) bounds and compliance of the rows.
    impulse: (3,) [N s]. u0, u1, u2: velocities of the rows [m/s]. kappa: effective mass [kg].
    """
    total = 0.0
    for r in range(3):
        u = u0 if r == 0 else (u1 if r == 1 else u2)
        low, high, gamma = box[r, 0], box[r, 1], box[r, 2]
        if kappa > 0.0:
            off = natural_interval(impulse[r], u, kappa, low, high, gamma)
        elif gamma > 0.0:
            off = 0.0
        else:
            off = u if (u < 0.0 and high > 0.0) or (u > 0.0 and low < 0.0) else 0.0
        total += off * off
    return np.sqrt(total)


@kernel
def joint_maps(system, impulse, velocity, kappa):
    """Return the natural maps of the joints, (j,) [m/s]. impulse, velocity: (m, 3). kappa: (m,)."""
    contacts = system.mu.size
    out = np.empty(kappa.size - contacts)
    for j in range(out.size):
        k = contacts + j
        out[j] = joint_map(system.box[j], impulse[k], velocity[k, 0], velocity[k, 1], velocity[k, 2], kappa[k])
    return out


@kernel
def effective_masses(inverse):
    """Return the effective masses (m,) [kg]. inverse: (m, 3) diagonal of J M^-1 J^T [1/kg]."""
    kappa = np.empty(inverse.shape[0])
    for k in range(kappa.size):
        kappa[k] = effective_mass(inverse, k)
    return kappa


@leaf_kernel
def natural_error(system, impulse, v, kappa, sides):
    """Return the largest natural map [m/s] of impulses (m, 3) and the corresponding velocities v (n,)."""
    error, _ = natural_error_between(system, impulse, v, kappa, sides, 0, kappa.size, np.inf)
    return error


@leaf_kernel
def natural_error_between(system, impulse, v, kappa, sides, first, last, good):
    """Return the largest natural map of triples first <= k < last [m/s], nan if one is nan, and how many exceed `good`."""
    error, far = 0.0, 0
    contacts = system.mu.size
    for k in range(max(first, contacts), last):
        u, u1, u2 = inlined_relative_velocity(system, k, v)
        here = joint_map(system.box[k - contacts], impulse[k], u, u1, u2, kappa[k])
        if here > error or np.isnan(here):
            error = here
        if not here <= good:
            far += 1
    for k in range(first, min(last, contacts)):
        u, u1, u2 = inlined_relative_velocity(system, k, v)
        lam, velocity = ContactVector(impulse[k, 0], impulse[k, 1], impulse[k, 2]), ContactVector(u + system.slack[k], u1, u2)
        here = natural_map(lam, velocity, system.mu[k] * max(lam.n, 0.0), kappa[k], sides)
        if here > error or np.isnan(here):
            error = here
        if not here <= good:
            far += 1
    return error, far


@leaf_kernel
def _largest_term(jacobian, k, system, body):
    """Return the largest summand of a body's contribution to the relative velocity of triple k [m/s]."""
    largest = 0.0
    if body >= 0:
        first = system.offset[body]
        for row in range(3):
            for i in range(system.offset[body + 1] - first):
                largest = max(largest, abs(jacobian[k, row, i] * system.velocity[first + i]))
    return largest


@leaf_kernel
def _demand(system, k, r, u):
    """Return the velocity change that row r of joint triple k would cause alone [m/s].

    It is zero if the velocity u opens a limit. Compliance reduces it. The largest impulse of the row bounds it, as for a motor
    that cannot reach its speed.
    """
    box = system.box[k - system.mu.size]
    bound, gamma = box[r, 1] if u < 0.0 else -box[r, 0], box[r, 2]
    if bound == 0.0 or (gamma == 0.0 and np.isinf(bound)):
        return 0.0 if bound == 0.0 else u
    inverse = inverse_mass_of_row(system, k, r)
    change = abs(u) * inverse / (inverse + gamma) if gamma > 0.0 else abs(u)
    return min(change, bound * inverse) if inverse > 0.0 else 0.0


@kernel
def fastest_velocity(system):
    """Return the velocity scale U of a system [m/s], to which velocity errors are relative.

    U is the largest relative velocity without impulses, including negative slacks. The slack of an open gap does not count,
    and neither does a joint velocity that its row would not or could not change. The relative velocity of bodies that move
    together is only round-off. U is therefore at least `RESOLVED` times the largest term that cancels in a relative velocity,
    and at least the system's `least_scale`.
    """
    fastest, term = 0.0, 0.0
    for k in range(system.body_a.size):
        n, t1, t2 = relative_velocity(system, k, system.velocity)
        joint = k - system.mu.size
        if joint >= 0:
            n, t1, t2 = _demand(system, k, 0, n), _demand(system, k, 1, t1), _demand(system, k, 2, t2)
        else:
            n += min(system.slack[k], 0.0)
        fastest = max(fastest, n * n + t1 * t1 + t2 * t2)
        term = max(term, _largest_term(system.jacobian_a, k, system, system.body_a[k]))
        term = max(term, _largest_term(system.jacobian_b, k, system, system.body_b[k]))
        if joint < 0:
            term = max(term, abs(system.bias[k, 0]), abs(system.bias[k, 1]), abs(system.bias[k, 2]))
    return max(np.sqrt(fastest), RESOLVED * term, system.least_scale)


@kernel
def largest_impulse(system, impulse):
    """Return the largest impulse of a contact [N s]. impulse: (m, 3)."""
    largest = 0.0
    for k in range(system.mu.size):
        largest = max(largest, impulse[k, 0] ** 2 + impulse[k, 1] ** 2 + impulse[k, 2] ** 2)
    return np.sqrt(largest)


@kernel
def measure(system, impulse, velocity, kappa, sides, value, index):
    """Write the largest absolute residuals to `value` (5,) and their triples to `index` (5,), -1 for none.

    Joints contribute only to the natural map.

    impulse, velocity: (m, 3) impulses [N s] and the corresponding relative velocities [m/s].
    kappa: (m,) effective masses [kg].
    sides: number of sides of the friction polygon, 0 for the disk.
    """
    value[:] = 0.0
    index[:] = -1
    found = np.empty(5)
    contacts = system.mu.size
    for k in range(contacts, system.body_a.size):
        off = joint_map(system.box[k - contacts], impulse[k], velocity[k, 0], velocity[k, 1], velocity[k, 2], kappa[k])
        if off > value[NATURAL_MAP] or np.isnan(off):
            value[NATURAL_MAP] = off
            index[NATURAL_MAP] = k
    for k in range(contacts):
        n, t1, t2 = impulse[k, 0], impulse[k, 1], impulse[k, 2]
        v, u1, u2 = velocity[k, 0] + system.slack[k], velocity[k, 1], velocity[k, 2]
        bound = system.mu[k] * max(n, 0.0)
        found[PENETRATION] = max(0.0, -v)
        found[CONE_EXCESS] = max(0.0, np.sqrt(t1 * t1 + t2 * t2) - bound, -n)
        found[COMPLEMENTARITY] = abs(n * v)
        found[DISSIPATION] = abs(bound * _support(u1, u2, sides) + t1 * u1 + t2 * u2)
        found[NATURAL_MAP] = natural_map(ContactVector(n, t1, t2), ContactVector(v, u1, u2), bound, kappa[k], sides)
        for i in range(5):
            # nan counts as the largest value. It is kept because no value compares greater than nan.
            if found[i] > value[i] or np.isnan(found[i]):
                value[i] = found[i]
                index[i] = k


@inner_kernel
def relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index):
    """Return the largest of the five relative residuals and its index. The other arguments are those of `measure`."""
    measure(system, impulse, velocity, kappa, sides, value, index)
    largest = 0.0
    for k in range(system.mu.size):
        largest = max(largest, impulse[k, 0] ** 2 + impulse[k, 1] ** 2 + impulse[k, 2] ** 2)
    largest = np.sqrt(largest)
    worst, which = 0.0, 0
    for i in range(5):
        over = fastest if i in (PENETRATION, NATURAL_MAP) else (largest if i == CONE_EXCESS else largest * fastest)
        if value[i] > 0.0 or np.isnan(value[i]):
            ratio = value[i] / over if over > 0.0 else np.inf
            if ratio > worst or np.isnan(ratio):
                worst, which = ratio, i
    return worst, which


@inner_kernel
def law_of_impulses(system, impulse, kappa, fastest, sides):
    """Return the largest relative residual of Coulomb's law, computed from the impulses alone.

    impulse: (m, 3) [N s].
    kappa: (m,) effective masses [kg].
    fastest: velocity scale, from `fastest_velocity` [m/s].
    sides: number of sides of the friction polygon, 0 for the disk.

    Also returns the relative velocities (m, 3) and the velocities (n,) that the impulses cause.
    """
    response, v = np.zeros(system.velocity.size), np.empty(system.velocity.size)
    transpose_product(system, impulse, response)
    apply_inverse_mass(system, response, v)
    v += system.velocity
    velocity, value, index = relative_velocities(system, v), np.empty(5), np.empty(5, np.int64)
    worst, _ = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
    return worst, velocity, v


@kernel
def law_of(system, impulse, sides):
    """Return the result of `law_of_impulses` with the effective masses and the velocity scale of the system."""
    return law_of_impulses(system, impulse, effective_masses(effective_inverse_mass(system)), fastest_velocity(system), sides)
