"""Islands: sets of bodies that touch, solved one by one since nothing couples them (Kaufman et al. 2008, section 8.2)."""

from __future__ import annotations

import numpy as np

from ..accuracy import COMPLEMENTARITY, CONE, DISSIPATION, PENETRATION, relative_coulomb, scales
from ..kernel import kernel, kernel_part, leaf_kernel
from ..solvers.staggered import staggered
from ..system import System, apply_inverse_mass, effective_inverse_mass, relative_velocities, transpose_product

__all__ = ["begin_islands", "connected", "contact_islands", "measure_island", "solve_islands", "subsystem"]

JOINT = np.bool_(True)  # numpy's, since numba compiles a kernel once more for a literal of Python's


@leaf_kernel
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def connected(bodies, joins, body_a, body_b):
    """(bodies,) for each body the first one of its island; those that do not join (bodies,) are islands of their own."""
    parent = np.arange(bodies)
    for k in range(body_a.size):
        if joins[body_a[k]] and joins[body_b[k]]:
            a, b = _root(parent, body_a[k]), _root(parent, body_b[k])
            parent[max(a, b)] = min(a, b)
    for i in range(bodies):
        parent[i] = _root(parent, i)
    return parent


@kernel
def contact_islands(bodies, body_a, body_b):
    """Group contacts by connected bodies: (start, contacts), island i having contacts[start[i] : start[i + 1]].

    body_a, body_b: (m,) indices, negative for what does not move and so connects nothing. Islands come in the order of their
    first body, contacts in their own order.
    """
    parent = np.arange(bodies)
    for k in range(body_a.size):
        if body_a[k] >= 0 and body_b[k] >= 0:
            a, b = _root(parent, body_a[k]), _root(parent, body_b[k])
            parent[max(a, b)] = min(a, b)
    label = np.full(bodies, -1, np.int64)
    count = np.zeros(bodies + 1, np.int64)
    islands = 0
    island = np.empty(body_a.size, np.int64)
    for k in range(body_a.size):
        root = _root(parent, body_a[k] if body_a[k] >= 0 else body_b[k])
        if label[root] < 0:
            label[root] = islands
            islands += 1
        island[k] = label[root]
        count[island[k] + 1] += 1
    start = np.cumsum(count[: islands + 1])
    contacts = np.empty(body_a.size, np.int64)
    filled = start.copy()
    for k in range(body_a.size):
        contacts[filled[island[k]]] = k
        filled[island[k]] += 1
    return start, contacts


@kernel
def begin_islands(system, counts, errors):
    """The islands of a system as from `contact_islands`, and the work array of `subsystem`.

    Out: counts (5,) and errors (6,) of `solve_islands` as they are before any island is solved.
    """
    bodies = system.offset.size - 1
    start, contacts = contact_islands(bodies, system.body_a, system.body_b)
    counts[:] = 0
    counts[1] = start.size - 1
    counts[4] = -1
    errors[:] = 0.0
    return start, contacts, np.full(bodies, -1, np.int64)


@kernel
def subsystem(system, contacts, number):
    """The part of a system that some contacts couple, and its bodies.

    number: (bodies,) work array, -1 everywhere, and again so on return. Bodies keep the order in which the contacts name them.
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
    offset, block_start = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    for i in range(count):
        body = bodies[i]
        number[body] = -1
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
    return (
        System(
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
            system.slack[contacts],
            system.mu[contacts],
        ),
        bodies,
    )


@kernel_part
def measure_island(system, impulse, sides, relative):
    """Relative Coulomb residuals from the impulses alone: cone, complementarity, dissipation into `relative` (3,).

    Returns (largest of these and the relative penetration, the contact it is at).
    """
    momentum, v = np.zeros(system.velocity.size), np.empty(system.velocity.size)
    transpose_product(system, impulse, momentum)
    apply_inverse_mass(system, momentum, v)
    v += system.velocity
    velocity = relative_velocities(system, v)
    inverse = effective_inverse_mass(system)
    kappa = 3.0 / np.maximum(inverse[:, 0] + inverse[:, 1] + inverse[:, 2], 1e-300)
    value, index = np.empty(5), np.empty(5, np.int64)
    fastest, largest = scales(system, impulse)
    worst, which = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
    relative[0] = value[CONE] / largest if value[CONE] > 0.0 else 0.0
    relative[1] = value[COMPLEMENTARITY] / (largest * fastest) if value[COMPLEMENTARITY] > 0.0 else 0.0
    relative[2] = value[DISSIPATION] / (largest * fastest) if value[DISSIPATION] > 0.0 else 0.0
    return worst, index[which if worst > 0.0 else PENETRATION]


@kernel
def solve_islands(system, impulse, tolerance, max_iterations, sides, counts, errors):
    """Solve every island with Staggered Projections; impulse (m, 3) is warm start and answer.

    Out: counts (5,): worst status, islands, most iterations, all factorisations, and the island-wise worst contact (or -1);
    errors (6,): worst relative error (28), sum of the residuals (29), worst cone, complementarity and dissipation, worst of
    all. Returns the velocities (n,).
    """
    v = system.velocity.copy()
    start, contacts, number = begin_islands(system, counts, errors)
    history = np.empty((max_iterations, 3))
    relative = np.empty(3)
    for i in range(start.size - 1):
        chosen = contacts[start[i] : start[i + 1]]
        part, bodies = subsystem(system, chosen, number)
        some = impulse[chosen]
        velocity = np.empty(part.velocity.size)
        history[:] = 0.0
        status, iterations, factorisations, _, _ = staggered(
            part, some, tolerance, max_iterations, sides, JOINT, history, velocity
        )
        worst, contact = measure_island(part, some, sides, relative)
        if status == 0 and not worst <= tolerance:
            status = 1
        counts[0] = max(counts[0], status)
        counts[2] = max(counts[2], iterations)
        counts[3] += factorisations
        if iterations > 0:
            errors[0] = max(errors[0], history[iterations - 1, 0])
            errors[1] += history[iterations - 1, 1]
        for j in range(3):
            errors[2 + j] = max(errors[2 + j], relative[j])
        if not worst <= errors[5]:
            errors[5] = worst
            counts[4] = chosen[contact] if contact >= 0 else -1
        for j in range(chosen.size):
            impulse[chosen[j]] = some[j]
        for j in range(bodies.size):
            first = system.offset[bodies[j]]
            for d in range(part.offset[j + 1] - part.offset[j]):
                v[first + d] = velocity[part.offset[j] + d]
    return v
