# SPDX-License-Identifier: GPL-3.0-or-later
"""How far impulses are from Coulomb's law, in kernels: natural maps, five residuals of contacts, and what they are part of.

`problem/accuracy.py` measures a result with these, and with the conditions of other laws.
"""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inner_kernel, kernel, kernel_part, leaf_kernel
from ..linalg.elementary import arctangent, sine_and_cosine
from .cones import natural_interval
from .coulomb import natural_map
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
# Of velocities: their differences are no scale below this. A millionth of it is ten thousand times their round-off, for
# penalties of joints multiply that.
RESOLVED = 1e-5


@kernel_part
def _support(u1, u2, sides):
    """max of -y . u over the unit disk, or over the inscribed regular polygon."""
    speed = np.sqrt(u1 * u1 + u2 * u2)
    if sides == 0 or speed == 0.0:
        return speed
    # the vertex nearest to -u is off by less than half a sector
    step = 2.0 * np.pi / sides
    angle = arctangent(-u2, -u1)
    return speed * sine_and_cosine(angle - step * np.round(angle / step))[1]


@leaf_kernel
def joint_map(box, impulse, u0, u1, u2, kappa):
    """The natural map of the three rows of a joint, m/s; where nothing can move, how fast is what should not be."""
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
    """(j,) the natural maps of joints, m/s; impulse, velocity: (m, 3), kappa: (m,)."""
    contacts = system.mu.size
    out = np.empty(kappa.size - contacts)
    for j in range(out.size):
        k = contacts + j
        out[j] = joint_map(system.box[j], impulse[k], velocity[k, 0], velocity[k, 1], velocity[k, 2], kappa[k])
    return out


@kernel
def effective_masses(inverse):
    """(m,) of `effective_mass`."""
    kappa = np.empty(inverse.shape[0])
    for k in range(kappa.size):
        kappa[k] = effective_mass(inverse, k)
    return kappa


@leaf_kernel
def natural_error(system, impulse, v, kappa, sides):
    """The largest natural map of impulses (m, 3) and the velocities v (n,) that belong to them, m/s."""
    error, _ = natural_error_between(system, impulse, v, kappa, sides, 0, kappa.size, np.inf)
    return error


@leaf_kernel
def natural_error_between(system, impulse, v, kappa, sides, first, last, good):
    """The largest natural map of triples first <= k < last, m/s, nan where there is one; and how many are beyond `good`."""
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
        n, t1, t2 = impulse[k, 0], impulse[k, 1], impulse[k, 2]
        here = natural_map((n, t1, t2), (u + system.slack[k], u1, u2), system.mu[k] * max(n, 0.0), kappa[k], sides)
        if here > error or np.isnan(here):
            error = here
        if not here <= good:
            far += 1
    return error, far


@leaf_kernel
def _largest_term(jacobian, k, system, body):
    """The largest of the terms whose sum is what a body adds to the velocity at contact k."""
    largest = 0.0
    if body >= 0:
        first = system.offset[body]
        for row in range(3):
            for i in range(system.offset[body + 1] - first):
                largest = max(largest, abs(jacobian[k, row, i] * system.velocity[first + i]))
    return largest


@leaf_kernel
def _demand(system, k, r, u):
    """How much of the velocity u of a row of a joint it would change by itself: nothing where that opens a limit, little where
    it gives way, and no more than its force can, as of a motor asked to be faster than it can be."""
    box = system.box[k - system.mu.size]
    bound, gamma = box[r, 1] if u < 0.0 else -box[r, 0], box[r, 2]
    if bound == 0.0 or (gamma == 0.0 and np.isinf(bound)):
        return 0.0 if bound == 0.0 else u
    inverse = inverse_mass_of_row(system, k, r)
    change = abs(u) * inverse / (inverse + gamma) if gamma > 0.0 else abs(u)
    return min(change, bound * inverse) if inverse > 0.0 else 0.0


@kernel
def fastest_velocity(system):
    """The largest relative velocity without impulses, m/s, with what separation is asked for.

    The slack of an open gap, and what a joint is from its limit, is no velocity of anything, and is not counted.
    Bodies that move together have a relative velocity of nothing but round-off: this is not less than `RESOLVED` of the
    velocities that it is the difference of, nor than the least scale of the system.
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
    """N s, of the contacts of a system; impulse: (m, 3)."""
    largest = 0.0
    for k in range(system.mu.size):
        largest = max(largest, impulse[k, 0] ** 2 + impulse[k, 1] ** 2 + impulse[k, 2] ** 2)
    return np.sqrt(largest)


@kernel
def measure(system, impulse, velocity, kappa, sides, value, index):
    """Worst absolute residuals into `value` (5,) and their triples into `index` (5,); velocity (m, 3) belongs to the impulses.
    Of joints there is the natural map."""
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
        found[NATURAL_MAP] = natural_map((n, t1, t2), (v, u1, u2), bound, kappa[k], sides)
        for i in range(5):
            # a nan is the worst there is, and stays: nothing compares greater than it
            if found[i] > value[i] or np.isnan(found[i]):
                value[i] = found[i]
                index[i] = k


@inner_kernel
def relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index):
    """The largest of the five relative residuals, and which it is."""
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
    """The largest relative residual of Coulomb's law of impulses (m, 3), from them alone, with the relative velocities (m, 3)
    and velocities (n,) that they lead to. kappa: (m,) effective masses. fastest: m/s, as of `fastest_velocity`."""
    response, v = np.zeros(system.velocity.size), np.empty(system.velocity.size)
    transpose_product(system, impulse, response)
    apply_inverse_mass(system, response, v)
    v += system.velocity
    velocity, value, index = relative_velocities(system, v), np.empty(5), np.empty(5, np.int64)
    worst, _ = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
    return worst, velocity, v


@kernel
def law_of(system, impulse, sides):
    """`law_of_impulses`, with their masses and scale."""
    return law_of_impulses(system, impulse, effective_masses(effective_inverse_mass(system)), fastest_velocity(system), sides)
