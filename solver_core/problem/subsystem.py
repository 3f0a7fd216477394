# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands of a contact problem, and the subsystem of a subset of its contacts."""

from __future__ import annotations

import numpy as np

from ..compile.kernel import kernel, kernel_part, leaf_kernel
from ..linalg.disjoint_sets import join, root
from .system import System

__all__ = ["contact_islands", "subsystem"]


@kernel
def contact_islands(bodies, body_a, body_b):
    """Group contacts into islands: (start, contacts), where island i has contacts[start[i] : start[i + 1]].

    Islands are ordered by their first contact. The contacts of an island keep their order.

    bodies: number of bodies.
    body_a, body_b: (m,) indices of bodies; negative for the world, which does not connect contacts.
    """
    parent = np.arange(bodies)
    for k in range(body_a.size):
        if body_a[k] >= 0 and body_b[k] >= 0:
            join(parent, body_a[k], body_b[k])
    label = np.full(bodies, -1, np.int64)
    count = np.zeros(bodies + 1, np.int64)
    islands = 0
    island = np.empty(body_a.size, np.int64)
    for k in range(body_a.size):
        first = root(parent, body_a[k] if body_a[k] >= 0 else body_b[k])
        if label[first] < 0:
            label[first] = islands
            islands += 1
        island[k] = label[first]
        count[island[k] + 1] += 1
    start = np.cumsum(count[: islands + 1])
    contacts = np.empty(body_a.size, np.int64)
    filled = start.copy()
    for k in range(body_a.size):
        contacts[filled[island[k]]] = k
        filled[island[k]] += 1
    return start, contacts


@kernel
def subsystem(system, contacts, number):
    """Return the subsystem of some contacts and joint triples, and the indices of its bodies.

    Bodies are ordered by their first occurrence in the contacts.

    contacts: indices of triples, ascending.
    number: (bodies,) work array, filled with -1 before and after the call.
    """
    m = contacts.size
    bodies, body_a, body_b = np.empty(2 * m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    count = _number_bodies(system.body_a, system.body_b, contacts, number, bodies, body_a, body_b)
    bodies = bodies[:count].copy()
    return _in_order(system, contacts, bodies, body_a, body_b), bodies


@leaf_kernel
def _number_bodies(whole_a, whole_b, contacts, number, bodies, body_a, body_b):
    """Write the bodies of some contacts to `bodies`, and their positions there to body_a and body_b. Return their number."""
    count = 0
    for i in range(contacts.size):
        a, b = whole_a[contacts[i]], whole_b[contacts[i]]
        if a >= 0 and number[a] < 0:
            number[a], bodies[count] = count, a
            count += 1
        if b >= 0 and number[b] < 0:
            number[b], bodies[count] = count, b
            count += 1
        body_a[i], body_b[i] = number[a] if a >= 0 else -1, number[b] if b >= 0 else -1
    for i in range(count):
        number[bodies[i]] = -1
    return count


@leaf_kernel
def _copy_pieces(whole, start, bodies, first, out):
    """Copy the entries of some bodies, which start at start[body] in `whole`, to the positions `first` in `out`."""
    for i in range(bodies.size):
        source = start[bodies[i]]
        for j in range(first[i + 1] - first[i]):
            out[first[i] + j] = whole[source + j]


@kernel_part
def _in_order(system, contacts, bodies, body_a, body_b):
    """Return the subsystem of the given triples and bodies, in the given order.

    contacts: indices of triples, contacts before joints.
    bodies: indices of bodies.
    body_a, body_b: (m,) positions in `bodies` of the bodies of each triple, -1 for the world.
    """
    count = bodies.size
    offset, block_start = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    for i in range(count):
        body = bodies[i]
        size = system.offset[body + 1] - system.offset[body]
        offset[i + 1] = offset[i] + size
        block_start[i + 1] = block_start[i] + size * size
    velocity = np.empty(offset[count])
    mass, inverse_mass = np.empty(block_start[count]), np.empty(block_start[count])
    _copy_pieces(system.velocity, system.offset, bodies, offset, velocity)
    _copy_pieces(system.mass, system.block_start, bodies, block_start, mass)
    _copy_pieces(system.inverse_mass, system.block_start, bodies, block_start, inverse_mass)
    touch = np.searchsorted(contacts, system.mu.size)
    touching, joined = contacts[:touch], contacts[touch:] - system.mu.size
    return System(
        offset,
        block_start,
        mass,
        inverse_mass,
        velocity,
        body_a,
        body_b,
        system.jacobian_a[contacts],
        system.jacobian_b[contacts],
        system.bias[contacts],
        system.slack[touching],
        system.mu[touching],
        system.box[joined],
        system.least_scale,
    )
