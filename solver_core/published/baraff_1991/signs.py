# SPDX-License-Identifier: GPL-3.0-or-later
"""Static friction by guessing the signs of its components (Baraff 1991, section 8.2).

A box in the tangent axes replaces the friction disk (in two dimensions they are equal). For x, and likewise for y:

    -mu f_i <= f_xi <= mu f_i                                                               (16)
    f_xi sgn(f_xi) >= 0,    a_xi sgn(f_xi) <= 0                                             (17)
    (mu f_i - f_xi sgn(f_xi)) a_xi sgn(f_xi) = 0                                            (18)
    f_i >= 0,    a_i >= 0,    f_i a_i = 0                                                   (19)

The signs are guessed from an iterative solution of (16) to (19) by projected Gauss-Seidel, which need not converge. With known
signs s and phi = s f_x, a multiplier lambda of (16) turns the rest into a linear complementarity problem:

    0 <= f       perp  a >= 0                                                               (19)
    0 <= phi     perp  s a_x + lambda >= 0
    0 <= lambda  perp  mu f - phi >= 0                                                      (16)

If phi > 0, lambda = -s a_x, and this is (17) and (18). If phi = 0 and f > 0, lambda = 0, and s a_x > 0 violates (17): the sign
was wrong. The paper stops at this point, because it has no form of (16) for Lemke's algorithm; lambda provides one. The matrix
of the problem is copositive, z . Mz = (f, phi) . A (f, phi) + mu f . lambda. If all friction is static and the contacts can
separate, there is a solution for any set of signs, and Lemke's algorithm finds it. All wrong signs are then changed and the
problem is solved again, until no sign is wrong or a set of signs repeats.

Limits. Signs may remain wrong; the status is then MAX_ITERATIONS, with the best iterate. In three dimensions the box allows
friction of up to sqrt(2) mu f along its diagonals, and friction that opposes the slip only in part. The paper proposes to
choose the axes again until friction lies along one of them, where (16) to (19) are Coulomb's law. That does not converge. With
x along the friction, the axes of a slipping contact alternate by 45 degrees, because friction saturates along both. With x
against the slip they stay, with a_y = 0 and an arbitrary f_y. There are no contact impulses: if friction along given directions
leaves no solution, that is reported like any other failure.
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel
from ...problem.accuracy import residuals
from ...problem.contact_problem import ContactProblem
from ...problem.result import Result, Statistics, Status
from ...solvers.bilateral import without_bilateral
from ..dense import dense_problem, forces_from_impulse, impulse_from_forces, result_of
from .lemke import lemke

__all__ = ["sign_guessing"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

SIGN_SWEEPS = 100  # sweeps of projected Gauss-Seidel before the signs are read
NO_SIGN = 1e-12  # relative to the largest |b|: the sign of a smaller acceleration is ignored


class BoxProblem(NamedTuple):
    """The problem a = A f + b with box friction.

    A: (n, n). b: (n,).
    friction: (k,) index of each friction force.
    bearing: (k,) index of its normal force.
    mu: (k,) its coefficient of friction.
    """

    A: Floats
    b: Floats
    friction: Indices
    bearing: Indices
    mu: Floats


@kernel
def projected_gauss_seidel(A, b, bounded_by, mu, f, sweeps):
    """Make sweeps of projected Gauss-Seidel over (16) to (19), in place.

    bounded_by: (n,) index of the normal force that bounds each friction force, -1 for normal forces.
    mu: (n,) coefficients of friction.
    f: (n,) forces; updated. A force with a diagonal entry of zero is unchanged.
    """
    for _ in range(sweeps):
        for i in range(b.size):
            if A[i, i] <= 0.0:
                continue
            a = b[i]
            for j in range(b.size):
                a += A[i, j] * f[j]
            f[i] -= a / A[i, i]
            if bounded_by[i] < 0:
                f[i] = max(0.0, f[i])
            else:
                bound = mu[i] * f[bounded_by[i]]
                f[i] = min(max(f[i], -bound), bound)


def guess(box: BoxProblem, forces: Floats) -> Floats:
    """Return the signs (k,) of friction, from forces (n,) that projected Gauss-Seidel improves first.

    Where friction is zero, the sign opposes the acceleration.
    """
    bounded_by, mu = np.full(box.b.size, -1), np.zeros(box.b.size)
    bounded_by[box.friction], mu[box.friction] = box.bearing, box.mu
    f = forces.copy()
    projected_gauss_seidel(box.A, box.b, bounded_by, mu, f, SIGN_SWEEPS)
    f = np.nan_to_num(f, nan=0.0, posinf=0.0, neginf=0.0)
    friction, a = f[box.friction], (box.A @ f + box.b)[box.friction]
    return np.where(np.where(friction != 0.0, friction, -a) >= 0.0, 1.0, -1.0)


def with_signs(box: BoxProblem, signs: Floats, max_iterations: int, time_limit: float) -> tuple[Floats, Statistics]:
    """Solve (16) to (19) for given signs of friction.

    signs: (k,) 1 or -1.
    max_iterations: limit of pivots. time_limit: limit of the time [s].

    Returns the forces (n,), for which some signs may prove wrong, and the statistics of the solve.
    """
    n, k = box.b.size, box.friction.size
    sign = np.ones(n)
    sign[box.friction] = signs
    row = n + np.arange(k)
    M = np.zeros((n + k, n + k))
    M[:n, :n] = sign[:, None] * box.A * sign
    M[box.friction, row] = 1.0
    M[row, box.friction] = -1.0
    M[row, box.bearing] = box.mu
    found = lemke(M, np.append(sign * box.b, np.zeros(k)), np.zeros(n + k, dtype=bool), max_iterations, time_limit)
    forces = found.force[:n]
    # Round-off may have exceeded the bound.
    forces[box.friction] = np.minimum(forces[box.friction], box.mu * forces[box.bearing])
    return sign * forces, found.stats


def wrong_signs(box: BoxProblem, signs: Floats, forces: Floats) -> NDArray[np.bool_]:
    """Return where (17) is violated (k,).

    There, the contact carries load, its friction is zero, and its acceleration points along the sign of friction.
    """
    along = signs * (box.A @ forces + box.b)[box.friction]
    idle = (forces[box.friction] == 0.0) & (forces[box.bearing] > 0.0)
    return idle & (along > NO_SIGN * np.abs(box.b).max(initial=0.0))


def sign_guessing(
    problem: ContactProblem, tolerance: float, max_iterations: int | None, time_limit: float, warm_start: Floats | None
) -> Result:
    """Solve a contact problem with static friction in boxes along its tangent axes.

    tolerance: bound on the relative residuals of the box law.
    max_iterations: limit of pivots over all sets of signs; None for no limit, because no set of signs is tried twice.
    time_limit: time after which the best result so far is returned [s].
    warm_start: (m, dim) impulses for the first guess of the signs, or None [N s].

    Returns a `Result`. SOLVED means that the residuals of the box law are within the tolerance.
    """
    begin = perf_counter()
    free = without_bilateral(problem)
    A, b, _, layout = dense_problem(free.problem)
    tangents = np.arange(layout.tangents)
    start = np.zeros(b.size) if warm_start is None else forces_from_impulse(free.problem, layout, warm_start)
    static = np.flatnonzero(layout.friction >= 0)
    friction = (layout.friction[static, None] + tangents).ravel()
    bearing = np.repeat(layout.normal[static], tangents.size)
    box = BoxProblem(A, b, friction, bearing, np.repeat(problem.system.mu[static], tangents.size))
    nothing = np.zeros((problem.contacts, problem.dim))
    best = result_of(problem, nothing, free.bilateral(nothing), "lemke")
    least = residuals(problem, best, box=True).coulomb
    signs, seen = guess(box, start), set()
    pivots, factorisations = 0, 0
    iteration_limit = np.iinfo(np.int64).max if max_iterations is None else max_iterations
    while signs.tobytes() not in seen and pivots < iteration_limit and perf_counter() - begin < time_limit:
        seen.add(signs.tobytes())
        forces, stats = with_signs(box, signs, iteration_limit - pivots, time_limit - (perf_counter() - begin))
        pivots += stats.iterations
        factorisations += stats.factorisations
        impulse, _ = impulse_from_forces(free.problem, layout, forces)
        candidate = result_of(problem, impulse, free.bilateral(impulse), "lemke")
        measured = residuals(problem, candidate, box=True).coulomb
        if measured < least:
            best, least = candidate, measured
        if measured <= tolerance:
            break
        signs = np.where(wrong_signs(box, signs, forces), -signs, signs)
    cost = Statistics(pivots, factorisations, perf_counter() - begin, restarts=max(0, len(seen) - 1))
    return replace(best, status=Status.SOLVED if least <= tolerance else Status.MAX_ITERATIONS, stats=cost)
