# SPDX-License-Identifier: GPL-3.0-or-later
"""What is coupled, cut into domains of at most so many bodies, which overlap.

A factor of a whole heap takes more for each body, the more bodies there are, and is read in every iteration; domains take the
same for each, and can be solved side by side. A domain is solved for with a ring of bodies around its own, and answers for the
contacts of its own alone (the restricted additive Schwarz method; Cai and Sarkis 1999, "A restricted additive Schwarz
preconditioner for general sparse linear systems").
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inner_kernel, kernel

__all__ = ["domains_of"]


@kernel
def domains_of(bodies, body_a, body_b, most):
    """Contacts by domains of at most so many bodies: (start, contacts, owner), domain i being solved for the contacts
    contacts[start[i] : start[i + 1]], ascending, and answering for those whose owner (m,) it is.

    body_a, body_b: (m,) indices, negative for what does not move and so couples nothing. What nothing couples is in domains
    apart, and what is no larger than one domain is one, without a ring.
    """
    m = body_a.size
    touching = _contacts_of_bodies(bodies, body_a, body_b)
    label, count = _bisected(touching, most)
    owner = np.empty(m, np.int64)
    for k in range(m):
        owner[k] = label[body_a[k] if body_a[k] >= 0 else body_b[k]]
    own, members = _by_label(label, count)
    inside = np.full(bodies, -1, np.int64)  # the last domain that has the body, in its ring as well
    start, contacts, size = np.zeros(count + 1, np.int64), np.empty(2 * m + 1, np.int64), 0
    queue, known = np.empty(bodies, np.int64), np.empty(m, np.int64)
    for d in range(count):
        n = _with_ring(touching, members[own[d] : own[d + 1]], d, inside, queue)
        found = _within(touching, queue[:n], d, body_a, inside, known)
        if size + found > contacts.size:
            contacts = np.concatenate((contacts, np.empty(contacts.size + found, np.int64)))
        contacts[size : size + found] = np.sort(known[:found])
        size += found
        start[d + 1] = size
    return start, contacts[:size].copy(), owner


@inner_kernel
def _contacts_of_bodies(bodies, body_a, body_b):
    """(start, contacts, others): those of body b are contacts[start[b] : start[b + 1]], ascending, and the other bodies of
    these, negative for what does not move."""
    start = np.zeros(bodies + 1, np.int64)
    for k in range(body_a.size):
        for body in (body_a[k], body_b[k]):
            if body >= 0:
                start[body + 1] += 1
    start = np.cumsum(start)
    contacts, others, filled = np.empty(start[bodies], np.int64), np.empty(start[bodies], np.int64), start.copy()
    for k in range(body_a.size):
        for body, other in ((body_a[k], body_b[k]), (body_b[k], body_a[k])):
            if body >= 0:
                contacts[filled[body]], others[filled[body]] = k, other
                filled[body] += 1
    return start, contacts, others


@inner_kernel
def _bisected(touching, most):
    """(bodies,) the domain of each body, -1 without contacts, and how many there are: what is coupled is halved, from the
    body that is farthest from one of them on, until none has more than `most`. touching: as from `_contacts_of_bodies`."""
    start = touching[0]
    bodies = start.size - 1
    label, inside = np.full(bodies, -1, np.int64), np.full(bodies, -1, np.int64)
    order, found = np.flatnonzero(start[1:] > start[:-1]), np.empty(bodies, np.int64)
    todo, left = np.empty((bodies + 1, 2), np.int64), 1  # from, to in `order`, of what may be larger
    todo[0, 0], todo[0, 1] = 0, order.size
    domains = stamp = 0
    while left > 0:
        left -= 1
        low, high = todo[left, 0], todo[left, 1]
        stamp += 1
        here = stamp
        inside[order[low:high]] = here
        at = low
        for i in range(low, high):
            if inside[order[i]] != here:
                continue
            stamp += 1
            n = _flood(touching, order[i], here, stamp, inside, found[at:high])
            if n > most:
                _flood(touching, found[at + n - 1], stamp, stamp + 1, inside, found[at:high])
                stamp += 1
                todo[left, 0], todo[left, 1] = at, at + n // 2
                todo[left + 1, 0], todo[left + 1, 1] = at + n // 2, at + n
                left += 2
            else:
                label[found[at : at + n]] = domains
                domains += 1
            at += n
        order[low:high] = found[low:high]
    return label, domains


@inner_kernel
def _flood(touching, body, here, mark, inside, found):
    """What is coupled to a body, of those with inside == here, which is set to the mark: into `found`, the nearest first;
    returns how many."""
    start, _, others = touching
    found[0], n = body, 1
    inside[body] = mark
    i = 0
    while i < n:
        for at in range(start[found[i]], start[found[i] + 1]):
            other = others[at]
            if other >= 0 and inside[other] == here:
                inside[other] = mark
                found[n] = other
                n += 1
        i += 1
    return n


@inner_kernel
def _by_label(label, count):
    """(start, bodies): those of label i are bodies[start[i] : start[i + 1]], ascending."""
    start = np.zeros(count + 1, np.int64)
    for b in range(label.size):
        if label[b] >= 0:
            start[label[b] + 1] += 1
    start = np.cumsum(start)
    bodies, filled = np.empty(start[count], np.int64), start.copy()
    for b in range(label.size):
        if label[b] >= 0:
            bodies[filled[label[b]]] = b
            filled[label[b]] += 1
    return start, bodies


@inner_kernel
def _with_ring(touching, members, domain, inside, queue):
    """Members and what touches them, into `queue`, for which inside (bodies,) is then the domain; returns how many."""
    start, _, others = touching
    n = members.size
    queue[:n] = members
    inside[members] = domain
    for i in range(members.size):
        for at in range(start[members[i]], start[members[i] + 1]):
            other = others[at]
            if other >= 0 and inside[other] != domain:
                inside[other] = domain
                queue[n] = other
                n += 1
    return n


@inner_kernel
def _within(touching, some, domain, body_a, inside, known):
    """The contacts of some bodies that have no body but of a domain, into `known`; returns how many."""
    start, contacts, others = touching
    n = 0
    for body in some:
        for at in range(start[body], start[body + 1]):
            k, other = contacts[at], others[at]
            # of two bodies inside, the first one tells it
            if other < 0 or (inside[other] == domain and body == body_a[k]):
                known[n] = k
                n += 1
    return n
