# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method in impulses, for contacts of which nothing but the matrix G is known: u = G lam + g.

`coulomb_newton.py` and `projection.py` look for velocities v with M (v - v_hat) = J^T y(J v + b). With v = v_hat + M^-1 J^T p
their Newton steps become

    (1 + D G) dp = y(u) - p,    y(u) the trial impulses and D = -dy/du,

where D vanishes at contacts that do not press, so these leave the matrix. For both at once with the radii of friction held that
is the minimum of a convex function, p . G (p - y) its slope along p.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from ..effort import BELL, LAST_CALL
from .coulomb_newton import (
    JOINT_MULTIPLIER_STEPS,
    JOINT_NEWTON_STEPS,
    JOINT_UPHILL_STEPS,
    LAST_JOINT_PENALTY,
    SHORTEST_STEP,
)

__all__ = ["Island", "natural_map", "newton", "project", "solver", "with_diagonal"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

HELD_PENALTY, HELD_STEPS = 3e1, 20  # of projections onto both: the first penalty, multiplier steps


class Island(NamedTuple):
    """Contacts of one dense body: matrix G (3 k, 3 k), dense or sparse, free (k, 3) g, and c of the gaps added to its normals;
    mu, kappa (k,) friction and effective masses."""

    matrix: Any
    free: Floats
    mu: Floats
    kappa: Floats

    def velocity(self, impulse: Floats) -> Floats:
        """u + c = G lam + g + c, (k, 3), of impulses (k, 3)."""
        return self.free + (self.matrix @ impulse.ravel()).reshape(-1, 3)


def natural_map(island: Island, impulse: Floats, held: Floats | None = None) -> Floats:
    """(k,) m/s, how far impulses and their velocities are from one fixed point of the two projections."""
    kappa = np.where(island.kappa > 0.0, island.kappa, 1.0)
    u = island.velocity(impulse)
    pushed = np.maximum(impulse[:, 0], 0.0)
    normal = np.minimum(u[:, 0], impulse[:, 0] / kappa)
    trial = impulse[:, 1:] - kappa[:, None] * u[:, 1:]
    radius, size = island.mu * pushed if held is None else held, np.linalg.norm(trial, axis=1)
    shrink = np.where(size > radius, radius / np.maximum(size, np.finfo(float).tiny), 1.0)[:, None]
    off = (impulse[:, 1:] - shrink * trial) / kappa[:, None]
    friction = np.where(size <= radius, np.linalg.norm(u[:, 1:], axis=1), np.linalg.norm(off, axis=1))
    return np.where(island.kappa > 0.0, np.hypot(normal, friction), 0.0)


def _respond(mu: Floats, held: Floats | None, rho: Floats, trial: Floats) -> tuple[Floats, Floats]:
    """(y (k, 3), D (k, 3, 3) = rho dy/dw) of trial impulses w: contact, and friction of held radii (k,) or those that go with
    contact."""
    y, D = np.zeros_like(trial), np.zeros((len(trial), 3, 3))
    pressed = trial[:, 0] > 0.0
    y[:, 0] = np.where(pressed, trial[:, 0], 0.0)
    D[:, 0, 0] = pressed
    radius, size = mu * y[:, 0] if held is None else held, np.linalg.norm(trial[:, 1:], axis=1)
    sticks = (size <= radius) & (radius > 0.0)
    y[sticks, 1:] = trial[sticks, 1:]
    D[sticks, 1, 1] = D[sticks, 2, 2] = 1.0
    slides = (size > radius) & (radius > 0.0)
    along = trial[slides, 1:] / size[slides, None]
    y[slides, 1:] = radius[slides, None] * along
    if held is None:
        D[slides, 1:, 0] = mu[slides, None] * along
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    D[slides, 1:, 1:] = (radius[slides] / size[slides])[:, None, None] * across[:, :, None] * across[:, None, :]
    return y, rho[:, None, None] * D


def newton(
    island: Island, impulse: Floats, first: float, goal: float, enough: float, effort: Indices
) -> tuple[Floats, float, int]:
    """(impulses (k, 3), the natural map reached, factorisations) by Newton's method on contact and friction together, within
    the method of multipliers.

    first: penalty over effective masses. goal, enough: of the natural map, m/s, what is good and what will do.
    """
    rho = np.where(island.kappa > 0.0, first * island.kappa, 0.0)
    y, p = impulse, impulse.copy()
    best, least, cost, penalty, uphill = impulse, np.inf, 0, first, JOINT_UPHILL_STEPS
    for _ in range(JOINT_MULTIPLIER_STEPS):
        fresh, done, uphill = _balanced(_Trial(island, rho, y), p, goal, enough, uphill, effort)
        cost += done
        if fresh is None:
            break
        y = p = fresh
        before, error = least, natural_map(island, y).max()
        if not error < least:
            break
        best, least = y, error
        slow = error > 0.1 * before
        if error <= goal or (slow and (error <= enough or penalty >= LAST_JOINT_PENALTY)):
            break
        if slow:
            penalty, rho = 10.0 * penalty, 10.0 * rho
    return best, least, cost


class _At(NamedTuple):
    """Trial impulses, how far they are from p, what velocities that makes, and D, all (k, 3) but D (k, 3, 3)."""

    fresh: Floats
    off: Floats
    back: Floats
    D: Floats

    @property
    def imbalance(self) -> float:
        """The kinetic norm of what is off, (J/2)^(1/2)."""
        return float(np.sqrt(max(0.0, np.vdot(self.off, self.back))))


class _Trial(NamedTuple):
    """Multipliers y (k, 3), with penalties rho (k,); held: (k,) radii of friction, None for those that go with contact."""

    island: Island
    rho: Floats
    y: Floats
    held: Floats | None = None

    def at(self, p: Floats) -> _At:
        """Of the velocities that impulses p (k, 3) make."""
        fresh, D = _respond(self.island.mu, self.held, self.rho, self.y - self.rho[:, None] * self.island.velocity(p))
        off = fresh - p
        return _At(fresh, off, (self.island.matrix @ off.ravel()).reshape(-1, 3), D)


def _balanced(
    trial: _Trial, p: Floats, goal: float, enough: float, uphill: int, effort: Indices
) -> tuple[Floats | None, int, int]:
    """(trial impulses in balance with their velocities, None where none are found; factorisations; steps uphill left)."""
    now = trial.at(p)
    for done in range(JOINT_NEWTON_STEPS):
        fastest = np.abs(now.back).max()
        if fastest <= 0.1 * goal:
            return now.fresh, done, uphill
        if effort[BELL] >= LAST_CALL:
            return None, done, uphill
        step = _newton_step(trial.island, now.D, now.off)
        t, after = 1.0, trial.at(p + step)
        while not after.imbalance < (1.0 - 0.1 * t) * now.imbalance and t >= SHORTEST_STEP:
            t *= 0.5
            after = trial.at(p + t * step)
        if not after.imbalance < now.imbalance:
            if fastest <= 0.1 * enough:
                # rounding, on what is almost solved: the multipliers have the last word
                return now.fresh, done + 1, uphill
            if uphill == 0:
                return None, done + 1, uphill
            uphill, t, after = uphill - 1, 1.0, trial.at(p + step)
        p, now = p + t * step, after
    return now.fresh, JOINT_NEWTON_STEPS, uphill


def project(island: Island, impulse: Floats, held: Floats, goal: float, effort: Indices) -> tuple[Floats, int]:
    """(impulses (k, 3) of contact and friction of held radii (k,), factorisations); goal: of the natural map, m/s."""
    rho, penalty = np.where(island.kappa > 0.0, HELD_PENALTY * island.kappa, 0.0), HELD_PENALTY
    y, p, best, least, cost = impulse, impulse.copy(), impulse, np.inf, 0
    for _ in range(HELD_STEPS):
        trial = _Trial(island, rho, y, held)
        now = trial.at(p)
        for _ in range(JOINT_NEWTON_STEPS):
            if np.abs(now.back).max() <= 0.1 * goal or effort[BELL] >= LAST_CALL:
                break
            p, now = _down(trial, p, _newton_step(island, now.D, now.off), now)
            cost += 1
        y = p = now.fresh
        before, error = least, natural_map(island, y, held).max()
        if not error < least:
            break
        best, least = y, error
        slow = error > 0.1 * before
        if error <= goal or (slow and penalty >= LAST_JOINT_PENALTY):
            break
        if slow:
            penalty, rho = 10.0 * penalty, 10.0 * rho
    return best, cost


def _down(trial: _Trial, p: Floats, step: Floats, now: _At) -> tuple[Floats, _At]:
    """Impulses on the way along a step, and what is there: the whole step unless the convex function rises steeply there, else
    about where its slope vanishes (false position, Illinois variant)."""
    start, t, there = -float(np.vdot(step, now.back)), 1.0, trial.at(p + step)
    slope = -float(np.vdot(step, there.back))
    low, high, at_low, at_high = 0.0, 1.0, start, slope
    if start >= 0.0 or slope <= 0.3 * abs(start):
        return p + step, there
    for _ in range(JOINT_NEWTON_STEPS):
        t = (low * at_high - high * at_low) / (at_high - at_low)
        there = trial.at(p + t * step)
        slope = -float(np.vdot(step, there.back))
        if abs(slope) <= 0.1 * abs(start):
            break
        if slope > 0.0:
            high, at_high, at_low = t, slope, 0.5 * at_low
        else:
            low, at_low, at_high = t, slope, 0.5 * at_high
    return p + t * step, there


def _newton_step(island: Island, D: Floats, off: Floats) -> Floats:
    """dp, (k, 3), of (1 + D G) dp = y - p: that of contacts which do not press is known beforehand."""
    presses = D.any(axis=(1, 2))
    step = np.where(presses[:, None], 0.0, off)
    active = np.flatnonzero(np.repeat(presses, 3))
    if active.size == 0:
        return step
    right = off[presses] - np.einsum("kij,kj->ki", D[presses], (island.matrix @ step.ravel()).reshape(-1, 3)[presses])
    k = int(presses.sum())
    if sparse.issparse(island.matrix):
        weights = sparse.bsr_matrix((D[presses], np.arange(k), np.arange(k + 1)), shape=(3 * k, 3 * k))
        matrix = with_diagonal(weights @ island.matrix[active][:, active], np.ones(3 * k))
    else:
        chosen = island.matrix[np.ix_(active, active)]
        matrix = with_diagonal(
            np.einsum("kij,kjc->kic", D[presses], chosen.reshape(k, 3, -1)).reshape(3 * k, -1), np.ones(3 * k)
        )
    step[presses] = solver(matrix, symmetric=False)(right.ravel()).reshape(-1, 3)
    return step


def with_diagonal(matrix: Any, diagonal: Floats) -> Any:
    """A matrix, dense or sparse, with numbers added to its diagonal, as it is factorised."""
    if sparse.issparse(matrix):
        return (matrix + sparse.diags(diagonal)).tocsc()
    added = matrix.copy()
    added[np.diag_indices_from(added)] += diagonal
    return added


def solver(matrix: Any, *, symmetric: bool) -> Callable[[Floats], Floats]:
    """What solves with a matrix, factorised once. symmetric: positive definite besides."""
    if sparse.issparse(matrix):
        order = "MMD_AT_PLUS_A"
        threshold = 0.0 if symmetric else 0.01
        return splu(matrix, permc_spec=order, diag_pivot_thresh=threshold, options={"SymmetricMode": True}).solve
    if symmetric:
        inverse = linalg.inv(matrix, check_finite=False)
        return lambda right: inverse @ right
    factors = linalg.lu_factor(matrix, check_finite=False)
    return lambda right: linalg.lu_solve(factors, right, check_finite=False)
