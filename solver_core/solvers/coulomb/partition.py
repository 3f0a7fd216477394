# SPDX-License-Identifier: GPL-3.0-or-later
"""Division of coupled contacts into subdomains: separate regions, or overlapping domains of limited size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.subsystem import contact_islands

__all__ = ["Subdomains", "domains", "regions"]

Indices = NDArray[np.int64]


class Subdomains(NamedTuple):
    """Subdomains of m contacts and joints.

    start: (subdomains + 1,) subdomain i is solved for contacts[start[i] : start[i + 1]].
    contacts: contacts and joints of all subdomains, ascending in each.
    owner: (m,) the subdomain that provides the impulse of each contact.
    """

    start: Indices
    contacts: Indices
    owner: Indices


def regions(bodies: int, body_a: Indices, body_b: Indices) -> Subdomains:
    """Return each connected component as a subdomain, without overlap.

    bodies: number of bodies.
    body_a, body_b: (m,) bodies of each contact, negative for the world, which couples nothing.
    """
    start, contacts = contact_islands(bodies, body_a, body_b)
    owner = np.empty_like(contacts)
    owner[contacts] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return Subdomains(start, contacts, owner)


def domains(bodies: int, body_a: Indices, body_b: Indices, max_bodies: int) -> Subdomains:
    """Return domains of at most `max_bodies` bodies, each with one ring of neighbors.

    A connected component of at most `max_bodies` bodies is one domain and has no neighbors. The other arguments are those of
    `regions`.
    """
    from scipy import sparse  # loaded here, because it takes as long as all kernels and few scenes are so large

    both = (body_a >= 0) & (body_b >= 0)
    one = (np.ones(np.count_nonzero(both)), (body_a[both], body_b[both]))
    graph = sparse.csr_matrix(one, shape=(bodies, bodies))
    graph = (graph + graph.T).tocsr()
    mover = np.where(body_a >= 0, body_a, body_b)
    coupled = np.unique(np.concatenate([body_a, body_b]))
    domain, count = _bisected(graph, coupled[coupled >= 0], max_bodies)
    chosen, inside = [], np.empty(bodies + 1, dtype=bool)
    for i in range(count):
        members = np.flatnonzero(domain == i)
        inside[:] = False
        inside[members] = inside[graph[members].indices] = inside[bodies] = True  # the last is the world, index -1
        chosen.append(np.flatnonzero(inside[body_a] & inside[body_b]))
    start = np.concatenate([[0], np.cumsum([len(contacts) for contacts in chosen])])
    return Subdomains(start.astype(np.int64), np.concatenate(chosen), domain[mover])


def _bisected(graph: Any, touching: Indices, max_bodies: int) -> tuple[Indices, int]:
    """Bisect each connected component by graph distance until no part has more than `max_bodies` bodies.

    The order of a component is by distance from a body that is farthest from its first one.

    graph: (bodies, bodies) sparse and symmetric. touching: the bodies with contacts.

    Returns the domain of each body (bodies,), -1 without contacts, and the number of domains.
    """
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    def order_from(part: Any, body: int) -> Indices:
        return breadth_first_order(part, body, directed=False, return_predecessors=False)

    domain, count, left = np.full(graph.shape[0], -1, np.int64), 0, [touching]
    while left:
        some = left.pop()
        part = graph[some][:, some]
        number, component = connected_components(part, directed=False)
        begin = np.cumsum(np.bincount(component, minlength=number))[:-1]
        for members in np.split(np.argsort(component, kind="stable"), begin):
            if len(members) <= max_bodies:
                domain[some[members]] = count
                count += 1
                continue
            farthest = order_from(part, members[0])[-1]
            order = some[order_from(part, farthest)]
            left += [order[: len(order) // 2], order[len(order) // 2 :]]
    return domain, count
