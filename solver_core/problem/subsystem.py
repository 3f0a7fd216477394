# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a contact problem that some of its contacts make, and the islands that a problem falls into."""

from __future__ import annotations

import numpy as np

from ..compile.kernel import inner_kernel, kernel
from ..disjoint_sets import join, root
from .system import System

__all__ = ["contact_islands", "in_order", "subsystem"]


@kernel
def contact_islands(bodies, body_a, body_b):
    """Group contacts by connected bodies: (start, contacts), island i having contacts[start[i] : start[i + 1]].

    body_a, body_b: (m,) indices, negative for what does not move and so connects nothing. Islands come in the order of their
    first body, contacts in their own order.
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
    """The part of a system that some contacts, or rows of joints, couple, and its bodies.

    contacts: indices, ascending. number: (bodies,) work array, -1 everywhere, and again so on return. Bodies keep the order in
    which the contacts name them.
    """
    m = contacts.size
    bodies = np.empty(2 * m, np.int64)
    count = 0
    body_a, body_b = np.full(m, -1, np.int64), np.full(m, -1, np.int64)
    for i in range(m):
        for whole, part in ((system.body_a, body_a), (system.body_b, body_b)):
            body = whole[contacts[i]]
            if body >= 0:
                if number[body] < 0:
                    number[body] = count
                    bodies[count] = body
                    count += 1
                part[i] = number[body]
    bodies = bodies[:count].copy()
    for body in bodies:
        number[body] = -1
    return in_order(system, contacts, bodies, body_a, body_b), bodies


@inner_kernel
def in_order(system, contacts, bodies, body_a, body_b):
    """The contacts, and rows of joints, of a system, and some of its bodies, in an order.

    contacts: indices, those of contacts first. body_a, body_b: (m,) of these, places in `bodies`.
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
    for i in range(count):
        body = bodies[i]
        velocity[offset[i] : offset[i + 1]] = system.velocity[system.offset[body] : system.offset[body + 1]]
        begin, end = system.block_start[body], system.block_start[body + 1]
        mass[block_start[i] : block_start[i + 1]] = system.mass[begin:end]
        inverse_mass[block_start[i] : block_start[i + 1]] = system.inverse_mass[begin:end]
    touch = 0
    while touch < contacts.size and contacts[touch] < system.mu.size:
        touch += 1
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
    )
