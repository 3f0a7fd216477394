# SPDX-License-Identifier: GPL-3.0-or-later
"""Faure 1996: contact forces as a sum of global solutions, each of which redistributes what the one before left inconsistent.

    a = A f + b                                                                       (7)
    f_n >= 0,  a_n >= 0                                                               (1)
    |f_t| <= mu f_n                                                                   (2)
    f_t = -mu f_n v_t / |v_t|   where the contact slides                              (3)

Of every pair of a force and an acceleration one is assumed, the set H, and the other computed; what comes out inconsistent with
(1) to (3) is taken away, the assumptions about it are changed, and a global solution for what was taken away brings back the
balance of energy (figure 3). Bilateral constraints need no assumption: their accelerations are zero throughout. Of all forces
that balance, each redistribution takes the smallest (2.5), so that what bears a load in parallel shares it. Read velocities and
impulses for accelerations and forces, and the same algorithm solves a time step.

As published, friction that came to its bound is never asked again: it neither grows with the normal force nor turns against the
slip, which is (2) and not yet Coulomb's law. By default it is asked anew in every iteration here: friction is sought along

    y = f_t - a_t / k,    k the largest eigenvalue of the contact's own block of A,

which is within the bound where the contact sticks and beyond it, along the slip, where it slides (3); the dependence of (3) on
what is computed is taken in to first order. And bodies that are wholly rigid may go in circles: after some iterations contacts
give way a little, by a compliance that acts on what is redistributed alone, grows less and less and begins anew. 2.5 has the
same reason for the smallest forces, bodies that give way.

An iteration is one factorisation of a dense matrix, whatever happens: its cost is bounded, and what there is after any of them
is consistent with (1) and (2) once it is cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...linalg.in_order import length, product
from ...linalg.mat3 import eigen_of_each
from ...linalg.small_dense import least_norm, times
from ...problem.contact_problem import ContactProblem
from ...problem.result import Result, Statistics, Status
from ..complementarity import ROUNDING
from ..dense import DenseProblem, dense_problem, forces_from_impulse, impulse_from_forces, result_of

__all__ = ["MOST_REDISTRIBUTIONS", "energy"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

MOST_REDISTRIBUTIONS = 200
MARGIN = 0.1  # of the tolerance: what is aimed at as long as an iteration more halves the error
HALVED = 0.5
RANK = 1e-11  # of the largest entry on the diagonal of R: forces whose effect is less have none
# Of the diagonal of A, how much contacts give way: nothing at first, then from FIRST_COMPLIANCE on a third as much after every
# few redistributions, COMPLIANCES times, and again.
RIGID_FIRST = 7
FIRST_COMPLIANCE = 0.1
STIFFENING = 3.0
REDISTRIBUTIONS_A_LEVEL = 8
COMPLIANCES = 10


class Contacts(NamedTuple):
    """Where the unknowns of m contacts are: normal (m,); of the s that may stick, which: static (s,), and tangent (s, t).
    mu: (m,). stiffness: (m,) k."""

    normal: Indices
    static: Indices
    tangent: Indices
    mu: Floats
    stiffness: Floats


class Assumptions(NamedTuple):
    """The set H: closed (m,) contacts, whose normal acceleration is assumed to be zero, not their force; slides (s,): those of
    the static ones whose friction is assumed to be at its bound, along direction (s, t), sought at aim (s, t), not their
    tangential acceleration to be zero."""

    closed: Flags
    slides: Flags
    direction: Floats
    aim: Floats


def energy(
    problem: ContactProblem,
    tolerance: float,
    max_iterations: int | None,
    time_limit: float,
    warm_start: Floats | None,
    error_of: Callable[[Result], float],
    as_published: bool = False,
) -> Result:
    """Solve a contact problem by redistributions of energy; friction along given sliding directions is (5), in the matrix.

    max_iterations: None for 200. time_limit: s. error_of: the relative Coulomb residual of a result. as_published: figure 3 as
    it is, which begins with every contact closed (3.2) and ends when nothing is inconsistent with (1) and (2). The result is
    the one with the least residual of those on the way, SOLVED where that is within the tolerance; as published it is the last,
    and SOLVED claims nothing but that the algorithm ended.
    """
    begin = perf_counter()
    dense = dense_problem(problem)
    dense = dense._replace(A=np.ascontiguousarray(dense.A))
    contacts = _contacts(dense, problem.system.mu)
    force = np.zeros(dense.b.size) if warm_start is None else forces_from_impulse(problem, dense.layout, warm_start)
    response = _without_rounding(dense, force, times(dense.A, force) + dense.b)
    assumed = _first(contacts, force, response, as_published)
    most = MOST_REDISTRIBUTIONS if max_iterations is None else max_iterations
    errors: list[float] = []
    fastest = float(np.abs(dense.b).max(initial=0.0))
    status, best, least = Status.MAX_ITERATIONS, None, np.inf
    while len(errors) < most and status is Status.MAX_ITERATIONS:
        if errors:
            assumed = (_as_published if as_published else _assume)(contacts, force, response, assumed)
        compliance = 0.0 if as_published else _compliance(len(errors))
        force = _restrict(contacts, assumed, force, as_published)
        force, response = _redistribute(dense, contacts, assumed, force, compliance, as_published)
        response = _without_rounding(dense, force, response)
        consistent = impulse_from_forces(problem, dense.layout, _cut_off(contacts, force))
        result = result_of(problem, *consistent, "energy")
        errors.append(error_of(result))
        if as_published or errors[-1] < least or best is None:
            best = result
        if not np.isfinite(errors[-1]):
            status = Status.NOT_FINITE
        elif _is_consistent(contacts, force, response, tolerance, fastest) if as_published else _is_enough(errors, tolerance):
            status = Status.SOLVED
        elif perf_counter() - begin > time_limit:
            status = Status.TIME_LIMIT
        least = min(least, errors[-1])
    assert best is not None
    if not as_published and least <= tolerance:
        status = Status.SOLVED
    history = np.array(errors)
    stats = Statistics(len(errors), len(errors), perf_counter() - begin, coulomb=history)
    return Result(status, best.impulse, best.velocity, best.body_velocity, stats, "energy", best.bilateral)


def _is_enough(errors: list[float], tolerance: float) -> bool:
    """Whether the least error is far within the tolerance, or within it when the last iteration has done little about it."""
    least = min(errors)
    return least <= MARGIN * tolerance or (least <= tolerance and len(errors) > 1 and errors[-1] > HALVED * errors[-2])


def _contacts(dense: DenseProblem, mu: Floats) -> Contacts:
    layout = dense.layout
    static = np.flatnonzero(layout.friction >= 0)
    tangent = layout.friction[static, None] + np.arange(layout.tangents)
    stiffness = np.maximum(np.diag(dense.A)[layout.normal], 0.0)
    if static.size:
        block = np.concatenate([layout.normal[static, None], tangent], axis=1)
        blocks = np.zeros((static.size, 3, 3))
        blocks[:, : block.shape[1], : block.shape[1]] = dense.A[block[:, :, None], block[:, None, :]]
        stiffness[static] = eigen_of_each(blocks)[0][:, -1]
    return Contacts(layout.normal, static, tangent, mu, np.where(stiffness > 0.0, stiffness, 1.0))


def _first(contacts: Contacts, force: Floats, response: Floats, as_published: bool) -> Assumptions:
    """The first set H, in which friction sticks at every closed contact.

    As published (3.2), every contact is closed. Otherwise a contact is closed if it presses or would close without forces.
    """
    every = np.ones(len(contacts.normal), dtype=bool)
    closed = every if as_published else (force[contacts.normal] > 0.0) | (response[contacts.normal] < 0.0)
    still = np.zeros(contacts.tangent.shape)
    return Assumptions(closed, np.zeros(len(contacts.static), dtype=bool), still, still)


def _aims(contacts: Contacts, force: Floats, response: Floats) -> tuple[Floats, Floats]:
    """(m,) and (s, t): the forces less what the accelerations are against, y."""
    k, tangent = contacts.stiffness, contacts.tangent
    normal = force[contacts.normal] - response[contacts.normal] / k
    return normal, force[tangent] - response[tangent] / k[contacts.static, None]


def _bounds(contacts: Contacts, force: Floats) -> Floats:
    """(s,) mu f_n."""
    static = contacts.static
    return contacts.mu[static] * np.maximum(force[contacts.normal[static]], 0.0)


def _assume(contacts: Contacts, force: Floats, response: Floats, _before: Assumptions) -> Assumptions:
    """The assumptions that forces and accelerations suggest, with Coulomb's law. A contact that neither presses nor closes is
    open, and friction that is at its bound and not beyond it sticks, whatever the sign of their rounding."""
    normal, aim = _aims(contacts, force, response)
    least = _rounding(force, normal)
    closed = normal > least
    size = np.linalg.norm(aim, axis=1)
    slides = closed[contacts.static] & (size > _bounds(contacts, force) + least)
    direction = np.divide(aim, size[:, None], out=np.zeros_like(aim), where=size[:, None] > 0.0)
    return Assumptions(closed, slides, direction, aim)


def _as_published(contacts: Contacts, force: Floats, response: Floats, before: Assumptions) -> Assumptions:
    """Figure 3: normal accelerations and forces by their signs; friction beyond its bound is at it from then on."""
    normal, static, tangent = contacts.normal, contacts.static, contacts.tangent
    least = _rounding(force, force[normal])
    attractive = before.closed & (force[normal] < -least)
    closed = (before.closed & ~attractive) | (~before.closed & (response[normal] < 0.0))
    size = np.linalg.norm(force[tangent], axis=1)
    # what has let go once keeps the friction that it has: none
    slides = before.slides | (before.closed[static] & (size > _bounds(contacts, force) + least)) | attractive[static]
    direction = np.divide(force[tangent], size[:, None], out=np.zeros_like(before.direction), where=size[:, None] > 0.0)
    return Assumptions(closed, slides, direction, force[tangent])


def _rounding(force: Floats, sought: Floats) -> float:
    """What is no larger is rounding of forces (n,), or of those sought at contacts (m,)."""
    return ROUNDING * max(float(np.abs(force).max(initial=0.0)), float(np.abs(sought).max(initial=0.0)))


def _compliance(iteration: int) -> float:
    """Of the diagonal of A, in one of the iterations."""
    if iteration < RIGID_FIRST:
        return 0.0
    return FIRST_COMPLIANCE / STIFFENING ** ((iteration - RIGID_FIRST) // REDISTRIBUTIONS_A_LEVEL % COMPLIANCES)


def _restrict(contacts: Contacts, assumed: Assumptions, force: Floats, as_published: bool) -> Floats:
    """Forces that satisfy what is assumed of them: the inconsistent ones compensated, figure 3's v added."""
    force = force.copy()
    open_contacts = ~assumed.closed
    if as_published:
        # friction at its bound is brought down to it, never up
        size, bound = np.linalg.norm(force[contacts.tangent], axis=1), _bounds(contacts, force)
        length = np.minimum(size, bound)
    else:
        length = _bounds(contacts, force)
    held = contacts.tangent[assumed.slides]
    force[held] = length[assumed.slides, None] * assumed.direction[assumed.slides]
    force[contacts.normal[open_contacts]] = 0.0
    force[contacts.tangent[open_contacts[contacts.static]]] = 0.0
    return force


def _redistribute(
    dense: DenseProblem, contacts: Contacts, assumed: Assumptions, force: Floats, compliance: float, as_published: bool
) -> tuple[Floats, Floats]:
    """Forces, and the accelerations that belong to them: the smallest change of what is computed that brings the assumed
    accelerations to zero, figure 3's v-bar. compliance: of the diagonal of A."""
    A, b = dense.A, dense.b
    static = contacts.static
    response = times(A, force) + b
    sliding = np.flatnonzero(assumed.slides & assumed.closed[static])
    computed = np.zeros(b.size, dtype=bool)
    computed[: dense.layout.bilateral] = True
    computed[contacts.normal[assumed.closed]] = True
    computed[contacts.tangent[assumed.closed[static] & ~assumed.slides]] = True
    if not as_published:
        computed[contacts.tangent[sliding]] = True
    unknown = np.flatnonzero(computed)
    if not unknown.size:
        return force, response
    place = np.full(b.size, -1)
    place[unknown] = np.arange(unknown.size)
    matrix, right = A[np.ix_(unknown, unknown)], -response[unknown]
    if not as_published and sliding.size:
        _slide(contacts, assumed, sliding, place, force, response, matrix, right)
    matrix[np.diag_indices_from(matrix)] *= 1.0 + compliance
    force = force.copy()
    force[unknown] += least_norm(matrix, right, RANK)
    return force, times(A, force) + b


def _slide(
    contacts: Contacts,
    assumed: Assumptions,
    sliding: Indices,
    place: Indices,
    force: Floats,
    response: Floats,
    matrix: Floats,
    right: Floats,
) -> None:
    """Writes (3) to first order into the rows of friction that slides, times k:

    df_t = mu y / |y| df_n + r (1 - y y^T / |y|^2) (df_t - da_t / k + what y has changed since),   r = mu f_n / |y|.
    """
    bound = _bounds(contacts, force)
    for s in sliding:
        c = contacts.static[s]
        k, rows = contacts.stiffness[c], place[contacts.tangent[s]]
        direction, aim = assumed.direction[s], assumed.aim[s]
        size = length(aim)
        r = min(bound[s] / size, 1.0) if size > 0.0 else 0.0
        across = r * (np.eye(len(rows)) - np.outer(direction, direction))
        row = product(across, matrix[rows])
        row[:, rows] += k * (np.eye(len(rows)) - across)
        row[:, place[contacts.normal[c]]] -= k * contacts.mu[c] * direction
        now = force[contacts.tangent[s]] - response[contacts.tangent[s]] / k
        matrix[rows] = row
        right[rows] = k * product(across, now - aim)


def _cut_off(contacts: Contacts, force: Floats) -> Floats:
    """The forces without what (1) and (2) do not allow."""
    force = force.copy()
    force[contacts.normal] = np.maximum(force[contacts.normal], 0.0)
    size, bound = np.linalg.norm(force[contacts.tangent], axis=1), _bounds(contacts, force)
    force[contacts.tangent] *= np.divide(bound, size, out=np.ones_like(size), where=size > bound)[:, None]
    return force


def _without_rounding(dense: DenseProblem, force: Floats, response: Floats) -> Floats:
    """The accelerations without those that are rounding of the terms that they are the sum of: their signs are none."""
    size = times(np.abs(dense.A), np.abs(force)) + np.abs(dense.b)
    return np.where(np.abs(response) > ROUNDING * size, response, 0.0)


def _is_consistent(contacts: Contacts, force: Floats, response: Floats, tolerance: float, fastest: float) -> bool:
    """Whether forces and accelerations have (1) and (2), to a tolerance of the largest force, and of the fastest acceleration
    that there is without forces: where all sticks, those with them are rounding."""
    largest = np.abs(force).max(initial=0.0)
    excess = np.linalg.norm(force[contacts.tangent], axis=1) - _bounds(contacts, force)
    return bool(
        force[contacts.normal].min(initial=0.0) >= -tolerance * largest
        and response[contacts.normal].min(initial=0.0) >= -tolerance * fastest
        and excess.max(initial=0.0) <= tolerance * largest
    )
