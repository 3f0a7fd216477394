# SPDX-License-Identifier: GPL-3.0-or-later
"""Random problems of contacts between random bodies: what the solvers of contact forces are measured on.

Each contact is between two bodies, or a body and the ground, at a random point of each, with a normal in any direction or
straight up. Masses and inertias differ by a factor of a hundred; the bodies fall, fly, or both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["contact_problem", "frictionless_problem", "given_number"]

Floats = NDArray[np.float64]


def _axes(random: np.random.Generator, dim: int) -> Floats:
    """(dim, dim): normal and tangents as rows."""
    if random.random() < 0.5:
        normal = np.eye(dim)[-1]
    else:
        normal = random.normal(size=dim)
        normal /= np.linalg.norm(normal)
    if dim == 2:
        return np.array([normal, [-normal[1], normal[0]]])
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    return np.array([normal, first, np.cross(normal, first)])


def _lever(r: Floats, axis: Floats) -> Floats:
    return np.atleast_1d(np.cross(r, axis) if r.size == 3 else r[0] * axis[1] - r[1] * axis[0])


def _jacobian(random: np.random.Generator, bodies: int, contacts: int, dim: int) -> Floats:
    """(contacts, dim, bodies d)."""
    d = 3 if dim == 2 else 6
    jacobian = np.zeros((contacts, dim, bodies * d))
    for rows in jacobian:
        a = int(random.integers(-1, bodies)) if bodies > 1 else -1
        b = int(random.choice([i for i in range(bodies) if i != a]))
        axes = _axes(random, dim)
        for body, sign in ((a, -1.0), (b, 1.0)):
            if body >= 0:
                r = random.uniform(-1.0, 1.0, dim)
                for row, axis in zip(rows, axes, strict=True):
                    row[body * d : (body + 1) * d] += sign * np.concatenate([axis, _lever(r, axis)])
    return jacobian


def _inverse_mass(random: np.random.Generator, bodies: int, dim: int) -> Floats:
    turning = 1 if dim == 2 else 3
    mass = 10.0 ** random.uniform(-1.0, 1.0, bodies)
    inertia = mass[:, None] * random.uniform(0.05, 0.4, (bodies, turning))
    return (1.0 / np.concatenate([np.repeat(mass[:, None], dim, axis=1), inertia], axis=1)).ravel()


def _velocity(random: np.random.Generator, bodies: int, dim: int) -> Floats:
    d = 3 if dim == 2 else 6
    falling = -np.eye(d)[dim - 1]
    flying = random.normal(size=bodies * d)
    kind = random.random()
    return flying if kind < 0.5 else np.tile(falling, bodies) + (0.1 * flying if kind < 0.75 else 0.0)


def frictionless_problem(random: np.random.Generator, contacts: int) -> tuple[Floats, Floats]:
    """A (m, m) and b (m,) of a = A f + b, of any rank: there are two contacts to twelve a body."""
    bodies = max(1, int(contacts / random.uniform(2.0, 12.0)))
    normal = _jacobian(random, bodies, contacts, 3)[:, 0]
    A = normal @ (_inverse_mass(random, bodies, 3)[:, None] * normal.T)
    return 0.5 * (A + A.T), normal @ _velocity(random, bodies, 3)


def contact_problem(random: np.random.Generator, dim: int) -> tuple[Floats, Floats, Floats]:
    """G (m dim, m dim), g (m dim,) and mu (m,) between 0 and 1, of one to eight bodies with up to six contacts a body."""
    bodies = int(random.integers(1, 9))
    contacts = int(random.integers(1, 6 * bodies))
    rows = _jacobian(random, bodies, contacts, dim).reshape(contacts * dim, -1)
    G = rows @ (_inverse_mass(random, bodies, dim)[:, None] * rows.T)
    mu = random.uniform(0.0, 1.0, contacts) if random.random() < 0.7 else np.full(contacts, random.uniform())
    return 0.5 * (G + G.T), rows @ _velocity(random, bodies, dim), mu


def given_number(random: np.random.Generator, contacts: int) -> tuple[Floats, Floats]:
    """G and g of so many contacts in three dimensions, six to a body."""
    bodies = max(1, contacts // 6)
    rows = _jacobian(random, bodies, contacts, 3).reshape(3 * contacts, -1)
    G = rows @ (_inverse_mass(random, bodies, 3)[:, None] * rows.T)
    return 0.5 * (G + G.T), rows @ _velocity(random, bodies, 3)
