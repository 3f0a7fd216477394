# SPDX-License-Identifier: GPL-3.0-or-later
"""Coupled contacts cut into subdomains: the regions that they fall into, or domains of so many bodies, which overlap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...problem.subsystem import contact_islands

__all__ = ["Subdomains", "domains", "regions"]

Indices = NDArray[np.int64]


class Subdomains(NamedTuple):
    """Subdomain i is solved for the contacts contacts[start[i] : start[i + 1]], ascending, and answers for those whose owner
    (m,) it is."""

    start: Indices
    contacts: Indices
    owner: Indices


def regions(bodies: int, body_a: Indices, body_b: Indices) -> Subdomains:
    """What is coupled, each a subdomain, without overlap. body_a, body_b: (m,), negative for what does not move and so couples
    nothing."""
    start, contacts = contact_islands(bodies, body_a, body_b)
    owner = np.empty_like(contacts)
    owner[contacts] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return Subdomains(start, contacts, owner)


def domains(bodies: int, body_a: Indices, body_b: Indices, max_bodies: int) -> Subdomains:
    """Domains of at most so many bodies, solved for with a ring of bodies around their own; arguments as of `regions`. What is
    no larger than a domain is one, without a ring."""
    from scipy import sparse  # takes as long to load as all kernels, and few scenes are so large

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
        inside[members] = inside[graph[members].indices] = inside[bodies] = True  # what does not move, index -1, is the last
        chosen.append(np.flatnonzero(inside[body_a] & inside[body_b]))
    start = np.concatenate([[0], np.cumsum([len(contacts) for contacts in chosen])])
    return Subdomains(start.astype(np.int64), np.concatenate(chosen), domain[mover])


def _bisected(graph: Any, touching: Indices, max_bodies: int) -> tuple[Indices, int]:
    """(bodies,) the domain of each body, -1 without contacts, and how many there are: what is coupled is halved, from the body
    that is farthest from one of them on, until none has more than so many. graph: (bodies, bodies), sparse and symmetric."""
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
