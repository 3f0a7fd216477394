# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method in impulses, for contacts of which only the matrix G is known: u = G lam + g. The matrix can be large.

The equation and the step are those of `newton_in_impulses.py`, with a compliance c relative to 1 / kappa:

    lam = y(w),    w = lam - kappa (G lam + g) - c (lam - lam_k),    (1 - D + kappa D G + c D) dlam = y - lam.

A small dense matrix goes to that kernel. The others are factored by LAPACK, or by SuperLU if they are sparse. The iteration is
that of `newton_iteration.py` for both.

With many contacts that depend strongly on each other, Newton's method cycles. With c = 1 each contact depends mostly on itself,
and the method converges from almost any start. Its solution is the next lam_k, a proximal point step (Rockafellar 1976), and c
decreases (`continuation`). Where no solution is found, the path of solutions over c turns back. Then c decreases by less, and
after repeated failures it increases, since lam_k and with it the turns of the path have moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from ...linalg.in_order import length
from ...linalg.small_dense import times
from ...problem.coulomb import natural_maps, responses
from ..criteria import INNER
from ..effort import LEAST, OVERDUE
from .newton_in_impulses import LARGE_RULES, DenseLaw, newton_from_far
from .newton_iteration import NewtonOperator, newton_iteration

__all__ = [
    "MAX_FACTORISATIONS",
    "SOFTEST",
    "Island",
    "continuation",
    "island_of",
    "natural_map",
    "solver",
    "with_diagonal",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

ZERO_BLOCK = 1e-14  # a (3, 3) block of G up to this is round-off; relative to the geometric mean of its two diagonal blocks
# A matrix of more than DENSE_ROWS rows is stored as sparse if at most DENSE_SHARE of its blocks are nonzero. With more of
# them, dense factors are faster. Up to DENSE_ROWS rows the kernel is as fast as LAPACK, and has the same bits everywhere.
DENSE_SHARE, DENSE_ROWS = 0.15, 300
SOFTEST = 1.0  # first and largest compliance; from here Newton's method converges from almost any start
STIFFER = 0.3  # factor of the compliance after a solution, at first; smaller ones fail more often
SOFTER = 10.0  # factor of the last compliance with a solution, after repeated failures
TRIES_BELOW = 2  # consecutive failures until the compliance increases
# Error of an intermediate solution, relative to the velocity scale times the compliance. A larger one disturbs the next
# proximal step, a smaller one costs Newton steps.
ROUGHLY = 1e-4
MAX_COMPLIANCES = 200  # limit of compliances, for problems whose steps need no factorization
FACTORISATIONS_A_CONTACT = 30  # limit of factorizations per contact; a larger one lets failures take longer
MAX_FACTORISATIONS = 3000  # limit of factorizations in all
# Limit of multiplications in factorizations if half of the contacts carry load, about half a minute: ten times
# `effort.MULTIPLICATIONS`, because LAPACK is ten times as fast as the kernels.
BY_LAPACK = 3e11


class Island(NamedTuple):
    """Contacts of which the Delassus operator is known.

    matrix: (3 k, 3 k) G [1/kg], dense or sparse.
    free: (k, 3) velocities without impulses, with the slack included in the normal ones [m/s].
    mu: (k,) coefficients of friction.
    kappa: (k,) effective masses [kg], 0 if nothing can move.
    """

    matrix: Any
    free: Floats
    mu: Floats
    kappa: Floats

    def velocity(self, impulse: Floats) -> Floats:
        """Return u + c = G lam + g + c (k, 3) [m/s] for impulses (k, 3) [N s]."""
        return self.free + product_of(self.matrix, impulse.ravel()).reshape(-1, 3)

    @property
    def mass(self) -> Floats:
        """Effective masses (k,) [kg], 1 if nothing can move."""
        return np.where(self.kappa > 0.0, self.kappa, 1.0)

    @property
    def is_small(self) -> bool:
        """True if a kernel factors the matrix."""
        return not sparse.issparse(self.matrix) and len(self.matrix) <= DENSE_ROWS


def island_of(matrix: Floats, free: Floats, mu: Floats) -> Island:
    """Return the `Island` of a dense matrix.

    matrix: (3 k, 3 k) Delassus operator [1/kg].
    free: (k, 3) velocities without impulses, with the slack included in the normal ones [m/s].
    mu: (k,) coefficients of friction.
    """
    k, diagonal = len(mu), np.diagonal(matrix).reshape(-1, 3)
    rows = (diagonal > 0.0).sum(axis=1)
    kappa = rows / np.maximum(diagonal.sum(axis=1), np.finfo(float).tiny)
    size = np.sqrt(np.maximum(diagonal.max(axis=1), 0.0))
    largest = np.abs(matrix).reshape(k, 3, k, 3).max(axis=(1, 3))
    coupled = largest > ZERO_BLOCK * np.outer(size, size)
    island = Island(matrix, free, mu, np.where(rows > 0, kappa, 0.0))
    if not island.is_small and coupled.mean() < DENSE_SHARE:
        return island._replace(matrix=sparse.csr_matrix(np.where(np.kron(coupled, np.ones((3, 3), dtype=bool)), matrix, 0.0)))
    return island


def product_of(matrix: Any, x: Floats) -> Floats:
    """Return the product (n,) of a matrix (n, k), dense or sparse, and a vector (k,). Small ones are added in a fixed order."""
    if sparse.issparse(matrix) or len(matrix) > DENSE_ROWS:
        return matrix @ x
    return times(matrix, x)


def natural_map(island: Island, impulse: Floats) -> Floats:
    """Return the natural map (k,) of each contact [m/s] for impulses (k, 3) [N s]."""
    return natural_maps(island.mu, impulse, island.velocity(impulse), island.kappa)


class _Equation(NamedTuple):
    """The equation of one proximal point step: the island, c, and lam_k (k, 3) [N s]."""

    island: Island
    compliance: float
    center: Floats


class _Trial(NamedTuple):
    """Evaluation of the equation: residual (k, 3) y(w) - lam [N s], derivative (k, 3, 3) D."""

    residual: Floats
    derivative: Floats


def _evaluate(equation: _Equation, x: Floats, trial: _Trial) -> float:
    """Update `trial` to impulses x (3 k,) and return the norm of the residual in the metric of 1 / kappa."""
    island, impulse = equation.island, x.reshape(-1, 3)
    kappa = island.mass[:, None]
    w = impulse - kappa * island.velocity(impulse) - equation.compliance * (impulse - equation.center)
    response, trial.derivative[:] = responses(island.mu, w)
    trial.residual[:] = response - impulse
    return length((trial.residual / np.sqrt(kappa)).ravel())


def _is_solved(equation: _Equation, trial: _Trial, target: float) -> bool:
    """Return True if no residual exceeds the impulse that changes the velocity of its contact by `target` [m/s]."""
    return bool((np.abs(trial.residual) <= target * equation.island.mass[:, None]).all())


def _find_step(equation: _Equation, trial: _Trial, _fresh: bool, step: Floats) -> bool:
    """Set step (3 k,) to the Newton step. The impulses of contacts without load go to zero. Return False if there is none."""
    island, residual, derivative = equation.island, trial.residual, trial.derivative
    is_active = derivative[:, 0, 0] > 0.0
    change = np.where(is_active[:, None], 0.0, residual)
    rows, k = np.flatnonzero(np.repeat(is_active, 3)), int(is_active.sum())
    if k > 0:
        D = derivative[is_active]
        weights, diagonal = island.mass[is_active, None, None] * D, np.eye(3) + (equation.compliance - 1.0) * D
        known = product_of(island.matrix, change.ravel()).reshape(-1, 3)[is_active]
        right = residual[is_active] - np.einsum("kij,kj->ki", weights, known)
        if sparse.issparse(island.matrix):
            matrix = (_of_blocks(weights) @ island.matrix[rows][:, rows] + _of_blocks(diagonal)).tocsc()
        else:
            matrix = np.einsum("kij,kjc->kic", weights, island.matrix[np.ix_(rows, rows)].reshape(k, 3, -1))
            matrix.reshape(k, 3, k, 3)[np.arange(k), :, np.arange(k)] += diagonal
            matrix = matrix.reshape(3 * k, -1)
        change[is_active] = solver(matrix, symmetric=False)(right.ravel()).reshape(-1, 3)
    step[:] = change.ravel()
    return bool(np.isfinite(step).all())


NEWTON_WITH_MATRIX = NewtonOperator(_evaluate, _is_solved, _find_step)


def _of_blocks(blocks: Floats) -> Any:
    """Return the sparse matrix (3 k, 3 k) with blocks (k, 3, 3) on its diagonal."""
    k = len(blocks)
    return sparse.bsr_matrix((blocks, np.arange(k), np.arange(k + 1)), shape=(3 * k, 3 * k))


def _proximal_step(island: Island, compliance: float, impulse: Floats, target: float) -> tuple[Floats, bool, int]:
    """Do one proximal point step from impulses (k, 3) [N s].

    target: bound on the change of velocity that the residual of a row means [m/s].

    Returns the impulses (k, 3), whether the target is reached, and the number of factorizations.
    """
    x = impulse.ravel().copy()
    if island.is_small:
        law = DenseLaw(np.ascontiguousarray(island.matrix), island.free.ravel(), island.mu, island.kappa)
        steps, is_solved = newton_from_far(law, compliance, target, x)
    else:
        trial = _Trial(np.empty(impulse.shape), np.empty((len(impulse), 3, 3)))
        equation = _Equation(island, compliance, impulse)
        steps, is_solved = newton_iteration.py_func(NEWTON_WITH_MATRIX, equation, LARGE_RULES, target, x, trial)
    return x.reshape(-1, 3), bool(is_solved), int(steps)


def with_diagonal(matrix: Any, diagonal: Floats) -> Any:
    """Return a matrix (n, n), dense or sparse, with a diagonal (n,) added, in the storage that `solver` factors."""
    if sparse.issparse(matrix):
        return (matrix + sparse.diags(diagonal)).tocsc()
    added = matrix.copy()
    added[np.diag_indices_from(added)] += diagonal
    return added


def solver(matrix: Any, *, symmetric: bool) -> Callable[[Floats], Floats]:
    """Factor a matrix (n, n) and return a function that solves with the factor. It returns nan if the matrix is singular.

    symmetric: True if the matrix is symmetric and positive definite.
    """
    if sparse.issparse(matrix):
        order = "MMD_AT_PLUS_A"
        threshold = 0.0 if symmetric else 0.01
        try:
            return splu(matrix, permc_spec=order, diag_pivot_thresh=threshold, options={"SymmetricMode": True}).solve
        except RuntimeError:  # SuperLU's error for a singular matrix
            return _no_solution
    if symmetric:
        inverse = linalg.inv(matrix, check_finite=False)
        return lambda right: inverse @ right
    factorise, solve = linalg.get_lapack_funcs(("getrf", "getrs"), (matrix,))
    factors, order, singular = factorise(matrix)
    return _no_solution if singular else lambda right: solve(factors, order, right)[0]


def _no_solution(right: Floats) -> Floats:
    return np.full_like(right, np.nan)


class _Course(NamedTuple):
    """The sequence of compliances.

    compliance: the present one. last: the last one with a solution. factor: to the next one.
    failures: consecutive compliances without a solution.
    """

    compliance: float
    last: float
    factor: float
    failures: int

    def next(self, is_solved: bool) -> _Course:
        """Return the next compliance, after a solution at this one or a failure."""
        if is_solved:
            return _Course(self.compliance * self.factor, self.compliance, max(STIFFER, self.factor**1.5), 0)
        if self.failures + 1 < TRIES_BELOW:
            factor = self.factor**0.5
            return _Course(self.last * factor, self.last, factor, self.failures + 1)
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
    """Solve by proximal point steps with decreasing compliances, from any start.

    island: the contacts.
    impulse: (k, 3) start [N s].
    acceptable: bound on the natural map [m/s].
    fastest: velocity scale to which errors are relative [m/s].
    effort: its deadline ends the solve.
    begin: first compliance, relative to 1 / kappa.
    max_factorisations: no compliance is tried after this number of factorizations.

    Returns the impulses (k, 3) with the smallest natural map, that map [m/s], and the number of factorizations.
    """
    best, least, cost = impulse, natural_map(island, impulse).max(initial=0.0), 0
    by_work = np.clip(BY_LAPACK / (0.5 * impulse.size) ** 3 * 3.0, LEAST, max_factorisations)
    limit = min(by_work, max_factorisations, FACTORISATIONS_A_CONTACT * len(impulse))
    course = _Course(begin, begin, STIFFER, 0)
    for _ in range(MAX_COMPLIANCES):
        if least <= acceptable or cost >= limit or effort[OVERDUE] > 0:
            break
        target = max(INNER * acceptable, ROUGHLY * course.compliance * fastest)
        found, is_solved, done = _proximal_step(island, course.compliance, impulse, target)
        cost += done
        error = natural_map(island, found).max()
        if error < least:
            best, least = found, error
        if is_solved:
            impulse = found
        course = course.next(is_solved)
    return best, least, cost
