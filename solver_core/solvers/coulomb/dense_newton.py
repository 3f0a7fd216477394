# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method in impulses, for contacts of which nothing but the matrix G is known: u = G lam + g.

Coulomb's law is that impulses are those that their own velocities ask for,

    lam = y(w),    w = lam - rho u,    rho one over what a contact gives way by itself (kappa),

y being max(0, w_N) of the normal ones and of friction the nearest on the disk of radius mu y_N (Alart and Curnier 1991). With
D = dy/dw a Newton step is

    (1 - D + rho D G) dlam = y - lam,

where D vanishes at contacts that do not press, so these leave the matrix.

Where contacts are many and depend on each other Newton's method cycles. With a compliance c,

    u = G lam + g + (c / kappa) (lam - lam_k),

each contact answers mostly to itself, and at c = 1 Newton's method finds the answer from nearly anywhere. That is the next
lam_k, a proximal point step (Rockafellar 1976), and c is lowered (`continuation`). Where no answer is found the path of answers
over c turns back: c is lowered by less, and then raised, for lam_k has moved on and so have the turns of the path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from ...linalg.in_order import length
from ...linalg.small_dense import solved, times
from ...problem.coulomb import natural_maps, responses
from ..criteria import DESCENT, INNER, ROUGHLY, SHORTEST_STEP
from ..effort import LEAST, OVERDUE

__all__ = [
    "MAX_FACTORISATIONS",
    "SOFTEST",
    "Island",
    "continuation",
    "island_of",
    "natural_map",
    "newton",
    "solver",
    "with_diagonal",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ZERO_BLOCK = 1e-14  # of the geometric mean of two diagonal blocks: rounding
DENSE_SHARE, DENSE_ROWS = 0.15, 300  # of blocks that do not vanish, and rows, from which, up to which, dense is faster
MAX_DENSE_STEPS, MAX_DENSE_UPHILL = 25, 2
SOFTEST = 1.0  # compliance of a contact, over what it gives way by itself
STIFFER = 0.3  # of the compliance before, at first
SOFTER = 10.0  # times the last compliance that had an answer, where those below it have none
TRIES_BELOW = 2  # compliances one after the other without an answer, until they are raised
MAX_COMPLIANCES = 200  # in all: what contacts with nothing that moves lack takes no factorisation
FACTORISATIONS_A_CONTACT = 30  # at most
MAX_FACTORISATIONS = 3000
BY_LAPACK = 3e11  # multiplications at most, if half of the contacts press; LAPACK's are ten times as fast as ours


class Island(NamedTuple):
    """Contacts of one dense body: matrix G (3 k, 3 k), dense or sparse, free (k, 3) g, and c of the gaps added to its normals;
    mu, kappa (k,) friction and effective masses, 0 where nothing gives way."""

    matrix: Any
    free: Floats
    mu: Floats
    kappa: Floats

    def velocity(self, impulse: Floats) -> Floats:
        """u + c = G lam + g + c, (k, 3), of impulses (k, 3)."""
        return self.free + product_of(self.matrix, impulse.ravel()).reshape(-1, 3)

    @property
    def mass(self) -> Floats:
        """(k,) effective masses, 1 where nothing gives way."""
        return np.where(self.kappa > 0.0, self.kappa, 1.0)


def island_of(matrix: Floats, free: Floats, mu: Floats) -> Island:
    """Contacts of a dense G (3 k, 3 k), with their velocities without impulses (k, 3), gaps in the normals, and mu (k,)."""
    k, diagonal = len(mu), np.diagonal(matrix).reshape(-1, 3)
    rows = (diagonal > 0.0).sum(axis=1)
    kappa = rows / np.maximum(diagonal.sum(axis=1), np.finfo(float).tiny)
    size = np.sqrt(np.maximum(diagonal.max(axis=1), 0.0))
    largest = np.abs(matrix).reshape(k, 3, k, 3).max(axis=(1, 3))
    coupled = largest > ZERO_BLOCK * np.outer(size, size)
    island = Island(matrix, free, mu, np.where(rows > 0, kappa, 0.0))
    if 3 * k > DENSE_ROWS and coupled.mean() < DENSE_SHARE:
        return island._replace(matrix=sparse.csr_matrix(np.where(np.kron(coupled, np.ones((3, 3), dtype=bool)), matrix, 0.0)))
    return island


def product_of(matrix: Any, x: Floats) -> Floats:
    """(n,) the product of a matrix (n, k), dense or sparse, and a vector (k,); of small ones in a fixed order."""
    if sparse.issparse(matrix) or len(matrix) > DENSE_ROWS:
        return matrix @ x
    return times(matrix, x)


def natural_map(island: Island, impulse: Floats) -> Floats:
    """(k,) m/s, how far impulses and their velocities are from one fixed point of the two projections."""
    return natural_maps(island.mu, impulse, island.velocity(impulse), island.kappa)


class _At(NamedTuple):
    """Impulses (k, 3), what they lack of those that their velocities ask for, (k, 3), D (k, 3, 3), and how much that is."""

    impulse: Floats
    off: Floats
    D: Floats
    error: float


def newton(island: Island, impulse: Floats, acceptable: float) -> tuple[Floats, bool, int]:
    """(impulses (k, 3), whether none is off by more than a velocity `acceptable`, in m/s, makes of it, factorisations)."""
    kappa = island.mass[:, None]
    now = best = _at(island, impulse)
    uphill = MAX_DENSE_UPHILL
    for done in range(MAX_DENSE_STEPS):
        if (np.abs(now.off) <= acceptable * kappa).all():
            return now.impulse, True, done
        step = _step(island, now)
        if not np.isfinite(step).all():
            return best.impulse, False, done + 1
        t, after = 1.0, _at(island, now.impulse + step)
        while not after.error < (1.0 - DESCENT * t) * now.error and t >= SHORTEST_STEP:
            t *= 0.5
            after = _at(island, now.impulse + t * step)
        if not after.error < now.error:
            if uphill == 0:
                return best.impulse, False, done + 1
            # where pieces of the law meet, a step uphill often leads on
            uphill, after = uphill - 1, _at(island, now.impulse + step)
        now = after
        if now.error < best.error:
            best = now
    return best.impulse, False, MAX_DENSE_STEPS


def _at(island: Island, impulse: Floats) -> _At:
    kappa = island.mass[:, None]
    wanted, D = responses(island.mu, impulse - kappa * island.velocity(impulse))
    off = wanted - impulse
    return _At(impulse, off, D, length((off / np.sqrt(kappa)).ravel()))


def _step(island: Island, now: _At) -> Floats:
    """dlam, (k, 3): of contacts that do not press it is known beforehand."""
    presses = now.D[:, 0, 0] > 0.0
    step = np.where(presses[:, None], 0.0, now.off)
    active, k = np.flatnonzero(np.repeat(presses, 3)), int(presses.sum())
    if k == 0:
        return step
    weights, kept = island.mass[presses, None, None] * now.D[presses], np.eye(3) - now.D[presses]
    right = now.off[presses] - np.einsum("kij,kj->ki", weights, product_of(island.matrix, step.ravel()).reshape(-1, 3)[presses])
    if sparse.issparse(island.matrix):
        matrix = (_of_blocks(weights) @ island.matrix[active][:, active] + _of_blocks(kept)).tocsc()
    else:
        matrix = np.einsum("kij,kjc->kic", weights, island.matrix[np.ix_(active, active)].reshape(k, 3, -1))
        matrix.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k)] += kept
        matrix = matrix.reshape(3 * k, -1)
    step[presses] = solver(matrix, symmetric=False)(right.ravel()).reshape(-1, 3)
    return step


def _of_blocks(blocks: Floats) -> Any:
    """The sparse matrix (3 k, 3 k) with blocks (k, 3, 3) on its diagonal."""
    k = len(blocks)
    return sparse.bsr_matrix((blocks, np.arange(k), np.arange(k + 1)), shape=(3 * k, 3 * k))


def with_diagonal(matrix: Any, diagonal: Floats) -> Any:
    """A matrix, dense or sparse, with numbers added to its diagonal, as it is factorised."""
    if sparse.issparse(matrix):
        return (matrix + sparse.diags(diagonal)).tocsc()
    added = matrix.copy()
    added[np.diag_indices_from(added)] += diagonal
    return added


def solver(matrix: Any, *, symmetric: bool) -> Callable[[Floats], Floats]:
    """What solves with a matrix, factorised once, and gives nan where it is singular. symmetric: positive definite besides."""
    if sparse.issparse(matrix):
        order = "MMD_AT_PLUS_A"
        threshold = 0.0 if symmetric else 0.01
        try:
            return splu(matrix, permc_spec=order, diag_pivot_thresh=threshold, options={"SymmetricMode": True}).solve
        except RuntimeError:  # what SuperLU says of a singular matrix
            return _no_solution
    if symmetric:
        inverse = linalg.inv(matrix, check_finite=False)
        return lambda right: inverse @ right
    if len(matrix) <= DENSE_ROWS:
        # as fast as LAPACK, and the same on every processor
        return lambda right: solved(matrix, right)
    factorise, solve = linalg.get_lapack_funcs(("getrf", "getrs"), (matrix,))
    factors, order, singular = factorise(matrix)
    return _no_solution if singular else lambda right: solve(factors, order, right)[0]


def _no_solution(right: Floats) -> Floats:
    return np.full_like(right, np.nan)


class _Course(NamedTuple):
    """A compliance, the last one that had an answer, the factor to the next one, and how many had none since."""

    compliance: float
    last: float
    factor: float
    lost: int

    def next(self, answered: bool) -> _Course:
        """Where to go on after this compliance, with or without an answer."""
        if answered:
            return _Course(self.compliance * self.factor, self.compliance, max(STIFFER, self.factor**1.5), 0)
        if self.lost + 1 < TRIES_BELOW:
            factor = self.factor**0.5
            return _Course(self.last * factor, self.last, factor, self.lost + 1)
        return _Course(min(SOFTER * self.last, SOFTEST), self.last, STIFFER, 0)


def continuation(
    island: Island,
    impulse: Floats,
    acceptable: float,
    fastest: float,
    effort: Indices,
    begin: float = SOFTEST,
    max_factorisations: int = MAX_FACTORISATIONS,
) -> tuple[Floats, float, int]:
    """(impulses (k, 3), their natural map in m/s, factorisations), from impulses that need not be near.

    acceptable: m/s, of the natural map. fastest: m/s, the velocity that errors are a part of. begin: the first compliance.
    max_factorisations: after which no other compliance is tried.
    """
    best, least, cost = impulse, natural_map(island, impulse).max(initial=0.0), 0
    by_work = np.clip(BY_LAPACK / (0.5 * impulse.size) ** 3 * 3.0, LEAST, max_factorisations)
    limit = min(by_work, max_factorisations, FACTORISATIONS_A_CONTACT * len(impulse))
    known, course = impulse, _Course(begin, begin, STIFFER, 0)
    for _ in range(MAX_COMPLIANCES):
        if least <= acceptable or cost >= limit or effort[OVERDUE] > 0:
            break
        soft = course.compliance / island.mass
        giving = island._replace(
            matrix=with_diagonal(island.matrix, np.repeat(soft, 3)), free=island.free - soft[:, None] * known
        )
        found, answered, done = newton(giving, impulse, max(INNER * acceptable, ROUGHLY * course.compliance * fastest))
        cost += done
        error = natural_map(island, found).max()
        if error < least:
            best, least = found, error
        if answered:
            impulse = known = found
        course = course.next(answered)
    return best, least, cost
