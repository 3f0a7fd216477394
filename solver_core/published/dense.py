# SPDX-License-Identifier: GPL-3.0-or-later
"""A contact problem as one dense relation of forces and accelerations, and its answers as results (Baraff 1991, 1994).

    a = A f + b                                                          (1) of Baraff 1994

The unknowns are forces of bilateral constraints, normal forces and, where a contact may stick, friction. Along a given sliding
direction d friction is -mu f_N d, (24), no unknown: the column of f_N becomes A_N - mu (d_x A_x + d_y A_y) and the friction
rows go. A is then unsymmetric, and there may be several solutions or none. What is left of A_N - mu (...) may be rounding, as
where a rod neither resists nor gives way; it is zero then, lest forces of 1e16 N follow from it.
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
    """Where the unknowns of a contact problem are among n indices: bilateral constraints first, then contact after contact.

    bilateral: their number. normal: (m,), friction: (m,) first index of static friction or -1, tangents: how many each has.
    """

    bilateral: int
    normal: Indices
    friction: Indices
    tangents: int


class DenseProblem(NamedTuple):
    """a = A f + b (1), (18): A (n, n), b (n,), the sizes of the terms of A, and what the indices mean."""

    A: Floats
    b: Floats
    sizes: Sizes
    layout: Layout


def dense_problem(problem: ContactProblem) -> DenseProblem:
    """Normal forces, static friction, and dynamic friction substituted (24)."""
    m, dim, count = problem.contacts, problem.dim, problem.bilateral_constraints
    G, cut = problem.delassus, problem.contacts * problem.dim
    slack = np.zeros((m, dim))
    slack[:, 0] = problem.system.slack
    g = np.append((problem.free_velocity + slack).ravel(), problem.bilateral[1])
    given = problem.slides_along_given
    static = ~given & (problem.system.mu > 0.0)
    sizes = _sizes(problem)
    columns = G.T.copy()  # row j: the column of force j
    for c in np.flatnonzero(given):
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
    """Of all rows of G, friction substituted: by Cauchy and Schwarz the terms of J_i M^-1 J_j^T are at most sqrt(G_ii G_jj)."""
    m, dim = problem.contacts, problem.dim
    row = np.sqrt(np.maximum(np.diag(problem.delassus), 0.0))
    of_contacts = row[: m * dim].reshape(m, dim)
    of_contacts[:, 1:] = np.linalg.norm(of_contacts[:, 1:], axis=1, keepdims=True)
    column = row.copy()
    sliding_mu = np.where(problem.slides_along_given, problem.system.mu, 0.0)
    column[: m * dim : dim] += sliding_mu * of_contacts[:, 1]
    return Sizes(row, column)


def forces_from_impulse(problem: ContactProblem, layout: Layout, impulse: Floats) -> Floats:
    """Forces (n,) at all indices of impulses (m, dim), zero at bilateral constraints."""
    n = layout.bilateral + problem.contacts + layout.tangents * int((layout.friction >= 0).sum())
    forces = np.zeros(n)
    forces[layout.normal] = impulse[:, 0]
    static = np.flatnonzero(layout.friction >= 0)
    for t in range(layout.tangents):
        forces[layout.friction[static] + t] = impulse[static, 1 + t]
    return forces


def impulse_from_forces(problem: ContactProblem, layout: Layout, forces: Floats) -> tuple[Floats, Floats]:
    """(impulses (m, dim), bilateral ones (b,)) of forces (n,)."""
    impulse = np.zeros((problem.contacts, problem.dim))
    impulse[:, 0] = forces[layout.normal]
    impulse[:, 1:] = -(problem.system.mu * impulse[:, 0])[:, None] * problem.direction
    static = np.flatnonzero(layout.friction >= 0)
    for t in range(layout.tangents):
        impulse[static, 1 + t] = forces[layout.friction[static] + t]
    return impulse, forces[: layout.bilateral].copy()


def result_of(problem: ContactProblem, impulse: Floats, bilateral: Floats, solver: str) -> Result:
    """What impulses (m, dim) and those of bilateral constraints (b,) do, as a result without a claim to be solved."""
    impulse[:, 0] = np.maximum(impulse[:, 0], 0.0)
    u = times(problem.delassus, np.append(impulse.ravel(), bilateral))
    velocity = problem.free_velocity + u[: impulse.size].reshape(impulse.shape)
    v = problem.velocity_after(impulse, bilateral)
    return Result(Status.MAX_ITERATIONS, impulse, velocity, v, Statistics(0, 0, 0.0), solver, bilateral)
