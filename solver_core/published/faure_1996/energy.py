# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact forces as a sum of global solutions (Faure 1996).

    a = A f + b                                                                       (7)
    f_n >= 0,  a_n >= 0                                                               (1)
    |f_t| <= mu f_n                                                                   (2)
    f_t = -mu f_n v_t / |v_t|   for a sliding contact                                 (3)

Of each pair of a force and an acceleration, one is assumed (the set H) and the other is computed. Parts that violate (1) to (3)
are removed, the assumptions about them are changed, and a global solution for the removed parts restores the balance of energy
(figure 3). Bilateral constraints need no assumption, because their accelerations are always zero. Each redistribution is the
smallest one that restores the balance (section 2.5), so parallel supports share the load. With velocities and impulses in place
of accelerations and forces, the same algorithm solves a time step.

As published, friction at its bound is not reconsidered: it neither grows with the normal force nor turns against the slip. That
satisfies (2) but not Coulomb's law. The default here reconsiders it in every iteration, along

    y = f_t - a_t / k,    k the largest eigenvalue of the contact's own block of A.

|y| is within the bound if the contact sticks. If it slides, |y| exceeds the bound, and y points along the friction of (3). The
dependence of (3) on the computed forces is included to first order. Wholly rigid bodies may make the iteration cycle. After
some
iterations, the contacts therefore get a small compliance. It acts on the redistributed forces only, decreases step by step, and
then starts again. Section 2.5 motivates the smallest forces in the same way, by bodies that are slightly elastic.

Every iteration is one factorization of a dense matrix, so its cost is bounded. After each iteration the forces, clipped to (1)
and (2), are a consistent result.
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
MARGIN = 0.1  # relative to the tolerance: the target as long as each iteration halves the error
HALVED = 0.5
RANK = 1e-11  # rank threshold, relative to the largest entry on the diagonal of R
# Compliance relative to the diagonal of A: zero for the first RIGID_FIRST redistributions. It then starts at FIRST_COMPLIANCE,
# decreases by STIFFENING every REDISTRIBUTIONS_A_LEVEL redistributions, and starts again after COMPLIANCES levels.
RIGID_FIRST = 7
FIRST_COMPLIANCE = 0.1
STIFFENING = 3.0
REDISTRIBUTIONS_A_LEVEL = 8
COMPLIANCES = 10


class Contacts(NamedTuple):
    """The indices of the unknowns of m contacts, s of which may stick.

    normal: (m,) index of each normal force.
    static: (s,) contacts that may stick.
    tangent: (s, t) indices of their friction forces.
    mu: (m,) coefficients of friction.
    stiffness: (m,) k.
    """

    normal: Indices
    static: Indices
    tangent: Indices
    mu: Floats
    stiffness: Floats


class Assumptions(NamedTuple):
    """The set H.

    closed: (m,) True if the normal acceleration is assumed to be zero, False if the normal force is.
    slides: (s,) True if friction is assumed to be at its bound, False if the tangential acceleration is assumed to be zero.
    direction: (s, t) unit direction of friction at its bound.
    aim: (s, t) the vector y whose direction that is.
    """

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
    """Solve a contact problem by redistributions of energy. Friction along given sliding directions is (5), in the matrix.

    tolerance: bound on the relative residuals.
    max_iterations: limit of redistributions; None for 200.
    time_limit: time after which the best result so far is returned [s].
    warm_start: (m, dim) impulses to start from, or None [N s].
    error_of: function that returns the relative Coulomb residual of a result.
    as_published: True for figure 3 of the paper without changes. It starts with every contact closed (section 3.2) and ends
        when no force violates (1) and (2).

    Returns a `Result`: the iterate with the smallest residual, SOLVED if that is within the tolerance. As published, it is the
    last iterate, and SOLVED means only that the algorithm ended.
    """
    begin = perf_counter()
    dense = dense_problem(problem)
    dense = dense._replace(A=np.ascontiguousarray(dense.A))
    contacts = _contacts(dense, problem.system.mu)
    force = np.zeros(dense.b.size) if warm_start is None else forces_from_impulse(problem, dense.layout, warm_start)
    response = _without_rounding(dense, force, times(dense.A, force) + dense.b)
    assumed = _first(contacts, force, response, as_published)
    iteration_limit = MOST_REDISTRIBUTIONS if max_iterations is None else max_iterations
    errors: list[float] = []
    fastest = float(np.abs(dense.b).max(initial=0.0))
    status, best, least = Status.MAX_ITERATIONS, None, np.inf
    while len(errors) < iteration_limit and status is Status.MAX_ITERATIONS:
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
    """Return True if the smallest error is far below the tolerance, or within it and no longer decreasing quickly."""
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
    """Return the first set H, in which friction sticks at every closed contact.

    As published (section 3.2), every contact is closed. Otherwise a contact is closed if it has a normal force or would close
    without forces.
    """
    every = np.ones(len(contacts.normal), dtype=bool)
    closed = every if as_published else (force[contacts.normal] > 0.0) | (response[contacts.normal] < 0.0)
    still = np.zeros(contacts.tangent.shape)
    return Assumptions(closed, np.zeros(len(contacts.static), dtype=bool), still, still)


def _aims(contacts: Contacts, force: Floats, response: Floats) -> tuple[Floats, Floats]:
    """Return the normal (m,) and tangential (s, t) parts of y: the forces minus the accelerations over k."""
    k, tangent = contacts.stiffness, contacts.tangent
    normal = force[contacts.normal] - response[contacts.normal] / k
    return normal, force[tangent] - response[tangent] / k[contacts.static, None]


def _bounds(contacts: Contacts, force: Floats) -> Floats:
    """Return the bounds mu f_n of static friction (s,)."""
    static = contacts.static
    return contacts.mu[static] * np.maximum(force[contacts.normal[static]], 0.0)


def _assume(contacts: Contacts, force: Floats, response: Floats, _before: Assumptions) -> Assumptions:
    """Return the set H that the forces and accelerations suggest, with Coulomb's law.

    A contact with neither a normal force nor a closing acceleration is open. Friction at its bound but not beyond it sticks.
    Signs of round-off have no effect.
    """
    normal, aim = _aims(contacts, force, response)
    least = _rounding(force, normal)
    closed = normal > least
    size = np.linalg.norm(aim, axis=1)
    slides = closed[contacts.static] & (size > _bounds(contacts, force) + least)
    direction = np.divide(aim, size[:, None], out=np.zeros_like(aim), where=size[:, None] > 0.0)
    return Assumptions(closed, slides, direction, aim)


def _as_published(contacts: Contacts, force: Floats, response: Floats, before: Assumptions) -> Assumptions:
    """Return the set H of figure 3.

    Contacts open and close by the signs of their forces and accelerations. Friction beyond its bound stays at the bound from
    then on.
    """
    normal, static, tangent = contacts.normal, contacts.static, contacts.tangent
    least = _rounding(force, force[normal])
    attractive = before.closed & (force[normal] < -least)
    closed = (before.closed & ~attractive) | (~before.closed & (response[normal] < 0.0))
    size = np.linalg.norm(force[tangent], axis=1)
    # A contact that has opened keeps its friction of zero.
    slides = before.slides | (before.closed[static] & (size > _bounds(contacts, force) + least)) | attractive[static]
    direction = np.divide(force[tangent], size[:, None], out=np.zeros_like(before.direction), where=size[:, None] > 0.0)
    return Assumptions(closed, slides, direction, force[tangent])


def _rounding(force: Floats, wanted: Floats) -> float:
    """Return the size below which forces (n,), or sought forces at contacts (m,), are round-off."""
    return ROUNDING * max(float(np.abs(force).max(initial=0.0)), float(np.abs(wanted).max(initial=0.0)))


def _compliance(iteration: int) -> float:
    """Return the compliance of an iteration, relative to the diagonal of A."""
    if iteration < RIGID_FIRST:
        return 0.0
    return FIRST_COMPLIANCE / STIFFENING ** ((iteration - RIGID_FIRST) // REDISTRIBUTIONS_A_LEVEL % COMPLIANCES)


def _restrict(contacts: Contacts, assumed: Assumptions, force: Floats, as_published: bool) -> Floats:
    """Return forces that satisfy the assumptions about forces: in figure 3, the inconsistent forces are compensated and v is
    added."""
    force = force.copy()
    open_contacts = ~assumed.closed
    if as_published:
        # Friction at its bound is reduced to it, never increased.
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
    """Return the forces after a redistribution, and their accelerations.

    The computed forces change by the smallest amount that brings the assumed accelerations to zero, v-bar of figure 3.

    compliance: relative to the diagonal of A.
    """
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
    """Write (3), to first order and times k, into the rows of sliding friction:

        df_t = mu y / |y| df_n + r (1 - y y^T / |y|^2) (df_t - da_t / k + d),   r = mu f_n / |y|,

    where d is the change of y since it was assumed.

    place: (n,) row of each unknown, or -1.
    force, response: (n,) current forces and accelerations.
    matrix, right: the linear system; updated.
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
    """Return the forces clipped to (1) and (2)."""
    force = force.copy()
    force[contacts.normal] = np.maximum(force[contacts.normal], 0.0)
    size, bound = np.linalg.norm(force[contacts.tangent], axis=1), _bounds(contacts, force)
    force[contacts.tangent] *= np.divide(bound, size, out=np.ones_like(size), where=size > bound)[:, None]
    return force


def _without_rounding(dense: DenseProblem, force: Floats, response: Floats) -> Floats:
    """Return the accelerations with those set to zero that are round-off of the terms they are the sum of."""
    size = times(np.abs(dense.A), np.abs(force)) + np.abs(dense.b)
    return np.where(np.abs(response) > ROUNDING * size, response, 0.0)


def _is_consistent(contacts: Contacts, force: Floats, response: Floats, tolerance: float, fastest: float) -> bool:
    """Return True if forces and accelerations satisfy (1) and (2).

    The tolerance is relative to the largest force, and to the largest acceleration without forces: if all contacts stick, the
    accelerations with forces are round-off.
    """
    largest = np.abs(force).max(initial=0.0)
    excess = np.linalg.norm(force[contacts.tangent], axis=1) - _bounds(contacts, force)
    return bool(
        force[contacts.normal].min(initial=0.0) >= -tolerance * largest
        and response[contacts.normal].min(initial=0.0) >= -tolerance * fastest
        and excess.max(initial=0.0) <= tolerance * largest
    )
