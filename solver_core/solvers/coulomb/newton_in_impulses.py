# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method in impulses, as a kernel, for a small dense Delassus operator G: u = G lam + g.

Rows are those of contacts, three each, and then single rows with bounds: limits, motors, and joints that can break. With y the
law (Alart and Curnier 1991 for contacts, the nearest number within the bounds for a row), D = dy/dw at w = lam - kappa u, and c
a compliance over what a contact gives way by itself, a step is

    (1 - D + kappa D G + c D) dlam = y - lam.

It is the method of `dense_newton.py`, which has large and sparse matrices. Rows that do not press have D = 0 and leave the
matrix. The compliance is about the impulses at which it was set, a proximal point step (Rockafellar 1976): it keeps redundant
contacts from handing impulses to each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel_part, leaf_kernel
from ...linalg.copying import copy_vector
from ...problem.cones import project_interval
from ...problem.coulomb import respond
from ..criteria import DESCENT, SHORTEST_STEP

__all__ = ["DenseLaw", "newton_in_impulses"]

Floats = NDArray[np.float64]

STEPS_OF_FEW = 12  # of Newton's method, with one compliance
LEAST_PIVOT = 1e-15  # of the largest entry of a matrix whose rows are near one


class DenseLaw(NamedTuple):
    """A dense problem in impulses, of c contacts and l rows with bounds; r = 3 c + l.

    G: (r, r) 1/kg. free: (r,) m/s, velocities without impulses, the requested separation included. mu: (c,) friction, finite.
    bounds: (l, 2) N s, the least and the largest impulse of a row. kappa: (c + l,) kg, effective masses, 0 for rows without
    compliance.
    """

    G: Floats
    free: Floats
    mu: Floats
    bounds: Floats
    kappa: Floats


class _Work(NamedTuple):
    """What impulses lead to: u (r,) m/s; off (r,) N s, what they lack of those that u asks for; slope (c + l, 3, 3) D."""

    u: Floats
    off: Floats
    slope: Floats


@leaf_kernel
def _fill_velocities(law, lam, u):
    """u := G lam + g."""
    rows = lam.size
    for i in range(rows):
        row, total = law.G[i], law.free[i]
        for k in range(rows):
            total += row[k] * lam[k]
        u[i] = total


@leaf_kernel
def _look(law, compliance, about, lam, scratch, work):
    """Bring the work up to impulses (r,); returns how much they lack, in the metric of the effective masses.

    compliance: c, and about: (r,) the impulses that it is about. scratch: (2, 3).
    """
    _fill_velocities(law, lam, work.u)
    y, w, total, contacts = scratch[0], scratch[1], 0.0, law.mu.size
    for k in range(contacts):
        at, kappa = 3 * k, law.kappa[k]
        for r in range(3):
            w[r] = lam[at + r] - kappa * work.u[at + r] - compliance * (lam[at + r] - about[at + r])
        respond(law.mu[k], 0, 1.0, w, y, work.slope[k])
        for r in range(3):
            work.off[at + r] = y[r] - lam[at + r]
            if kappa > 0.0:
                total += work.off[at + r] * work.off[at + r] / kappa
    for i in range(law.bounds.shape[0]):
        at, kappa = 3 * contacts + i, law.kappa[contacts + i]
        x = lam[at] - kappa * work.u[at] - compliance * (lam[at] - about[at])
        nearest, free = project_interval(x, law.bounds[i, 0], law.bounds[i, 1], 1.0)
        work.slope[contacts + i, 0, 0], work.off[at] = free, nearest - lam[at]
        if kappa > 0.0:
            total += work.off[at] * work.off[at] / kappa
    return np.sqrt(total)


@leaf_kernel
def _is_near(law, target, off):
    """Whether no row is off by more than the impulse that a velocity `target` is worth there."""
    contacts = law.mu.size
    for i in range(off.size):
        unit = i // 3 if i < 3 * contacts else i - 2 * contacts
        if not abs(off[i]) <= target * law.kappa[unit]:
            return False
    return True


@kernel_part
def _fill_rows_of_contact(law, compliance, k, work, active, step, A, first):
    """The three rows of A, from the first one, that belong to contact k, their right side in the last column."""
    count, at = active.size, 3 * k
    g0, g1, g2 = law.G[at], law.G[at + 1], law.G[at + 2]
    for r in range(3):
        row, d, right = A[first + r], work.slope[k, r], work.off[at + r]
        d0, d1, d2 = law.kappa[k] * d[0], law.kappa[k] * d[1], law.kappa[k] * d[2]
        for c in range(step.size):
            if step[c] != 0.0:
                right -= (d0 * g0[c] + d1 * g1[c] + d2 * g2[c]) * step[c]
        for s in range(count):
            row[s] = d0 * g0[active[s]] + d1 * g1[active[s]] + d2 * g2[active[s]]
        for s in range(3):
            row[first + s] += (compliance - 1.0) * d[s]
        row[first + r] += 1.0
        row[count] = right


@kernel_part
def _fill_bounded_row(law, compliance, at, work, active, step, A, first):
    """The row of A that belongs to a row with bounds, which presses within them; its right side in the last column."""
    row, right, g, kappa = A[first], work.off[at], law.G[at], law.kappa[at - 2 * law.mu.size]
    for c in range(step.size):
        if step[c] != 0.0:
            right -= kappa * g[c] * step[c]
    for s in range(active.size):
        row[s] = kappa * g[active[s]]
    row[first] += compliance
    row[active.size] = right


@kernel_part
def _eliminate(A, n):
    """Solve A x = b for b in column n, x in its place; False where A is singular."""
    for i in range(n):
        best, pivot = i, abs(A[i, i])
        for j in range(i + 1, n):
            if abs(A[j, i]) > pivot:
                best, pivot = j, abs(A[j, i])
        if not pivot > LEAST_PIVOT:
            return False
        if best != i:
            for j in range(i, n + 1):
                A[i, j], A[best, j] = A[best, j], A[i, j]
        over, row = 1.0 / A[i, i], A[i]
        for j in range(i + 1, n):
            f = A[j, i] * over
            if f != 0.0:
                other = A[j]
                for c in range(i + 1, n + 1):
                    other[c] -= f * row[c]
    for i in range(n - 1, -1, -1):
        total = A[i, n]
        for j in range(i + 1, n):
            total -= A[i, j] * A[j, n]
        A[i, n] = total / A[i, i]
    return True


@leaf_kernel
def _step(law, compliance, work, A, pressing, step):
    """step (r,) := the Newton step, in which what does not press goes to its bound; False where there is none.

    A: (r, r + 1), pressing: (r,), room for the matrix and for the rows in it.
    """
    count, contacts = 0, law.mu.size
    for unit in range(law.kappa.size):
        at, wide = (3 * unit, 3) if unit < contacts else (2 * contacts + unit, 1)
        presses = work.slope[unit, 0, 0] > 0.0
        for r in range(at, at + wide):
            step[r] = 0.0 if presses else work.off[r]
            if presses:
                pressing[count] = r
                count += 1
    i, active = 0, pressing[:count]
    while i < count:
        at = active[i]
        if at < 3 * contacts:
            _fill_rows_of_contact(law, compliance, at // 3, work, active, step, A, i)
            i += 3
        else:
            _fill_bounded_row(law, compliance, at, work, active, step, A, i)
            i += 1
    if not _eliminate(A, count):
        return False
    for s in range(count):
        step[active[s]] = A[s, count]
    return True


@inner_kernel
def newton_in_impulses(law, compliances, target, lam):
    """Improve impulses (r,) of a `DenseLaw` by Newton's method with each of some compliances in turn.

    compliances: over what contacts and rows give way by themselves; each is about the impulses that the one before led to.
    target: m/s, of the natural map. Returns the number of steps, each of which factors a matrix of the rows that press, and
    whether the target is reached.
    """
    rows, done, is_near = lam.size, 0, False
    work = _Work(np.empty(rows), np.empty(rows), np.empty((law.kappa.size, 3, 3)))
    scratch, A, pressing = np.empty((2, 3)), np.empty((rows, rows + 1)), np.empty(rows, np.int64)
    step, before, about = np.empty(rows), np.empty(rows), np.empty(rows)
    for compliance in compliances:
        copy_vector(lam, about)
        now = _look(law, compliance, about, lam, scratch, work)
        for steps in range(STEPS_OF_FEW + 1):
            is_near = _is_near(law, target, work.off)
            if is_near or steps == STEPS_OF_FEW:
                break
            done += 1
            if not _step(law, compliance, work, A, pressing, step):
                break
            copy_vector(lam, before)
            t, after = 1.0, np.inf
            while t >= SHORTEST_STEP and not after < (1.0 - DESCENT * t) * now:
                for i in range(rows):
                    lam[i] = before[i] + t * step[i]
                after = _look(law, compliance, about, lam, scratch, work)
                t *= 0.5
            if not np.isfinite(after):
                copy_vector(before, lam)
                break
            now = after
    return done, is_near
