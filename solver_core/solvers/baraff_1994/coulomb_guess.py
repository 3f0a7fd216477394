# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces with Coulomb's law near known ones, by Newton's method: a guess of the index sets and of the directions of NCF.

(21) of Baraff 1994 lets friction act across the sliding. With a = A f + b and rho > 0 Coulomb's law is that

    f_N = max(0, w_N),    f_F = P_{mu f_N}(w_F),    w = f - rho a,

P being the projection onto the disk (Alart and Curnier 1991). Newton's method solves that in forces, with a compliance that
keeps them near the known ones and the equations regular, as in `start`. Convergence is only local: where it fails, one
proximal point step after the other, soft at first and stiffer by and by, often leads there. What comes of it is a guess: index
sets are taken from it, and all that they claim is established by pivoting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...linalg.dense_lu import product, solve_dense
from ..complementarity import Sizes
from ..dense import Layout

__all__ = ["coulomb_forces", "stiff", "stiffening"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

STIFF_STEPS = 8
SOFT_STEPS = 16  # with each of
SOFT = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
STEPS = 25
SHORTEST_STEP = 0.06
UPHILL_STEPS = 6  # of the first ones: where pieces of the equations meet, a step uphill often leads on
ENOUGH = 30.0  # times what counts as at rest: where rounding shows, a guess may be that far off


class Contacts(NamedTuple):
    """Indices of forces: bilateral ones (b,), normal ones without friction (k,), and with it (r, 1 + tangents), mu (r,); and
    rho (n,), one over how much a force does to its own contact, the same for all of a contact, 0 where that is nothing."""

    bilateral: Indices
    smooth: Indices
    rubbing: Indices
    mu: Floats
    rho: Floats


class Law(NamedTuple):
    """f - (w, max(0, w_N), (max(0, w_N), P(w_F))) (n,), and of what is subtracted the derivatives by w: (k,), (r, 1 + tangents,
    1 + tangents)."""

    error: Floats
    smooth: Floats
    rubbing: Floats


def stiff(compliance: float) -> tuple[float, ...]:
    """Compliances of proximal point steps from forces that are nearly right."""
    return STIFF_STEPS * (compliance,)


def stiffening(compliance: float) -> tuple[float, ...]:
    """Compliances of proximal point steps from forces that need not be near, soft ones first."""
    return tuple(soft for soft in SOFT if soft > compliance for _ in range(SOFT_STEPS)) + stiff(compliance)


def coulomb_forces(
    A: Floats,
    b: Floats,
    sizes: Sizes,
    layout: Layout,
    mu: Floats,
    known: Floats,
    compliances: tuple[float, ...],
    at_rest: float,
) -> Floats | None:
    """Forces (n,) that have Coulomb's law up to accelerations of at_rest, from known ones (n,); None where they are not found.

    A: (n, n), b: (n,). mu: (m,). compliances: of A, of one proximal point step after the other. Bilateral constraints stay
    stiff. What the last compliance leaves, as under a body that is heavier by far than what bears it, shrinks step by step.
    """
    A = np.ascontiguousarray(A)
    contacts = _contacts(A, layout, mu)
    left = np.inf
    for compliance in compliances:
        soft = compliance * sizes.row * sizes.column
        soft[: layout.bilateral] = 0.0
        forces = _newton(A + np.diag(soft), b - soft * known, contacts, known, at_rest)
        last = compliance == compliances[-1]
        if forces is None:
            return known if last and left < np.inf else None
        known = forces
        if last:
            before, left = left, _worst(_law(forces, product(A, forces) + b, contacts), contacts)
            if left <= 2.0 * at_rest or not left < 0.5 * before:
                break
    return known


def _newton(A: Floats, b: Floats, contacts: Contacts, f: Floats, at_rest: float) -> Floats | None:
    """Forces (n,) that have the law up to accelerations of at_rest; None where they are not found."""
    law = _law(f, product(A, f) + b, contacts)
    error = _worst(law, contacts)
    for step in range(STEPS):
        if error <= at_rest:
            return f
        change = -law.error
        if not solve_dense(_derivative(A, law, contacts), change):
            return None
        t, before = 1.0, error
        while True:
            trial = f + t * change
            law = _law(trial, product(A, trial) + b, contacts)
            error = _worst(law, contacts)
            if error < (1.0 - 0.1 * t) * before or t < SHORTEST_STEP:
                break
            t *= 0.5
        if not error < before and (step >= UPHILL_STEPS or before <= ENOUGH * at_rest):
            error = before
            break
        f = trial
    return f if error <= ENOUGH * at_rest else None


def _contacts(A: Floats, layout: Layout, mu: Floats) -> Contacts:
    frictional = layout.friction >= 0
    at = np.column_stack([layout.normal[frictional], *(layout.friction[frictional] + t for t in range(layout.tangents))])
    stiffness = np.diag(A).copy()
    stiffness[at] = stiffness[at].mean(axis=1, keepdims=True)
    rho = np.divide(1.0, stiffness, out=np.zeros_like(stiffness), where=stiffness > 0.0)
    return Contacts(np.arange(layout.bilateral), layout.normal[~frictional], at, mu[frictional], rho)


def _law(f: Floats, a: Floats, contacts: Contacts) -> Law:
    w = f - contacts.rho * a
    wanted = w.copy()
    wanted[contacts.smooth] = np.maximum(w[contacts.smooth], 0.0)
    normal, friction = contacts.rubbing[:, 0], contacts.rubbing[:, 1:]
    wanted[normal] = np.maximum(w[normal], 0.0)
    bound, side = contacts.mu * wanted[normal], np.linalg.norm(w[friction], axis=1)
    size = contacts.rubbing.shape[1]
    derivative = np.tile(np.eye(size), (len(contacts.rubbing), 1, 1))
    derivative[:, 0, 0] = w[normal] > 0.0
    slides = side > bound
    along, shrink = w[friction[slides]] / side[slides, None], bound[slides] / side[slides]
    wanted[friction[slides]] = bound[slides, None] * along
    across = np.eye(size - 1) - along[:, :, None] * along[:, None, :]
    derivative[slides, 1:, 1:] = shrink[:, None, None] * across
    derivative[slides, 1:, 0] = (contacts.mu[slides] * derivative[slides, 0, 0])[:, None] * along
    return Law(f - wanted, (w[contacts.smooth] > 0.0).astype(np.float64), derivative)


def _derivative(A: Floats, law: Law, contacts: Contacts) -> Floats:
    """Of the error by f: 1 - D (1 - rho A)."""
    one = np.eye(len(A))
    kept = one - contacts.rho[:, None] * A
    rows = one
    rows[contacts.bilateral] -= kept[contacts.bilateral]
    rows[contacts.smooth] -= law.smooth[:, None] * kept[contacts.smooth]
    rows[contacts.rubbing] -= law.rubbing @ kept[contacts.rubbing]
    return rows


def _worst(law: Law, contacts: Contacts) -> float:
    """The largest error as an acceleration."""
    moves = contacts.rho > 0.0
    return float((np.abs(law.error[moves]) / contacts.rho[moves]).max(initial=0.0))
