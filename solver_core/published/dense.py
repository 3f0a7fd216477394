# SPDX-License-Identifier: GPL-3.0-or-later
"""A contact problem as one dense relation between forces and accelerations, and its solutions as results (Baraff 1991, 1994).

    a = A f + b                                                          (1) of Baraff 1994

The unknowns are the forces of bilateral constraints, the normal forces and, at contacts that may stick, friction. Along a given
sliding direction d, friction is -mu f_N d, (24), and not an unknown: the column of f_N becomes A_N - mu (d_x A_x + d_y A_y),
and the friction rows are removed. A is then unsymmetric, and there may be several solutions or none. Entries of A_N - mu (...)
that are round-off, as for a rod that neither resists nor yields, are set to zero; otherwise they would cause forces of 1e16 N.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..linalg.small_dense import times
from ..problem.contact_problem import ContactProblem
from ..problem.result import Result, Statistics, Status
from .complementarity import ROUNDING, Sizes

__all__ = ["DenseProblem", "Layout", "dense_problem", "forces_from_impulse", "impulse_from_forces", "result_of"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class Layout(NamedTuple):
    """The indices of the unknowns of a contact problem: bilateral constraints first, then contact by contact.

    bilateral: number of bilateral constraints.
    normal: (m,) index of each normal force.
    friction: (m,) index of each first friction force, or -1 for a contact without static friction.
    tangents: number of friction forces of a contact.
    """

    bilateral: int
    normal: Indices
    friction: Indices
    tangents: int


class DenseProblem(NamedTuple):
    """The relation a = A f + b, (1) and (18).

    A: (n, n). b: (n,).
    sizes: bounds on the terms of A.
    layout: meaning of the indices.
    """

    A: Floats
    b: Floats
    sizes: Sizes
    layout: Layout


def dense_problem(problem: ContactProblem) -> DenseProblem:
    """Return the dense form of a contact problem, with dynamic friction substituted (24)."""
    m, dim, count = problem.contacts, problem.dim, problem.bilateral_constraints
    G, cut = problem.delassus, problem.contacts * problem.dim
    slack = np.zeros((m, dim))
    slack[:, 0] = problem.system.slack
    g = np.append((problem.free_velocity + slack).ravel(), problem.bilateral[1])
    is_sliding = problem.slides_along_given
    static = ~is_sliding & (problem.system.mu > 0.0)
    sizes = _sizes(problem)
    columns = G.T.copy()  # row j: the column of force j
    for c in np.flatnonzero(is_sliding):
        column = columns[c * dim]
        for t in range(dim - 1):
            column -= problem.system.mu[c] * problem.direction[c, t] * G[:, c * dim + 1 + t]
        column[np.abs(column) <= ROUNDING * sizes.row * sizes.column[c * dim]] = 0.0
    kept = np.zeros((m, dim), dtype=bool)
    kept[:, 0] = True
    kept[static, 1:] = True
    order = np.concatenate([np.arange(cut, cut + count), np.flatnonzero(kept.ravel())])
    place = np.full(cut, -1)
    place[order[count:]] = np.arange(count, order.size)
    place = place.reshape(m, dim)
    layout = Layout(count, place[:, 0].copy(), place[:, 1].copy(), dim - 1)
    return DenseProblem(columns[np.ix_(order, order)].T, g[order], Sizes(sizes.row[order], sizes.column[order]), layout)


def _sizes(problem: ContactProblem) -> Sizes:
    """Return bounds on the terms of all rows of G, with friction substituted.

    By the Cauchy-Schwarz inequality, the terms of J_i M^-1 J_j^T are at most sqrt(G_ii G_jj).
    """
    m, dim = problem.contacts, problem.dim
    row = np.sqrt(np.maximum(np.diag(problem.delassus), 0.0))
    of_contacts = row[: m * dim].reshape(m, dim)
    of_contacts[:, 1:] = np.linalg.norm(of_contacts[:, 1:], axis=1, keepdims=True)
    column = row.copy()
    sliding_mu = np.where(problem.slides_along_given, problem.system.mu, 0.0)
    column[: m * dim : dim] += sliding_mu * of_contacts[:, 1]
    return Sizes(row, column)


def forces_from_impulse(problem: ContactProblem, layout: Layout, impulse: Floats) -> Floats:
    """Return the forces (n,) that correspond to impulses (m, dim), with zero for bilateral constraints."""
    n = layout.bilateral + problem.contacts + layout.tangents * int((layout.friction >= 0).sum())
    forces = np.zeros(n)
    forces[layout.normal] = impulse[:, 0]
    static = np.flatnonzero(layout.friction >= 0)
    for t in range(layout.tangents):
        forces[layout.friction[static] + t] = impulse[static, 1 + t]
    return forces


def impulse_from_forces(problem: ContactProblem, layout: Layout, forces: Floats) -> tuple[Floats, Floats]:
    """Return the impulses (m, dim) and those of bilateral constraints (b,) that correspond to forces (n,)."""
    impulse = np.zeros((problem.contacts, problem.dim))
    impulse[:, 0] = forces[layout.normal]
    impulse[:, 1:] = -(problem.system.mu * impulse[:, 0])[:, None] * problem.direction
    static = np.flatnonzero(layout.friction >= 0)
    for t in range(layout.tangents):
        impulse[static, 1 + t] = forces[layout.friction[static] + t]
    return impulse, forces[: layout.bilateral].copy()


def result_of(problem: ContactProblem, impulse: Floats, bilateral: Floats, solver: str) -> Result:
    """Return a result for impulses (m, dim) and those of bilateral constraints (b,), with the status MAX_ITERATIONS.

    Negative normal impulses are set to zero, in place.
    """
    impulse[:, 0] = np.maximum(impulse[:, 0], 0.0)
    u = times(problem.delassus, np.append(impulse.ravel(), bilateral))
    velocity = problem.free_velocity + u[: impulse.size].reshape(impulse.shape)
    v = problem.velocity_after(impulse, bilateral)
    return Result(Status.MAX_ITERATIONS, impulse, velocity, v, Statistics(0, 0, 0.0), solver, bilateral)
