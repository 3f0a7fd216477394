# SPDX-License-Identifier: GPL-3.0-or-later
"""Lemke's algorithm for linear complementarity problems, lexicographic (Lemke 1965; Baraff 1991, section 7.2).

    a = A f + b,    f >= 0,    a >= 0,    f . a = 0                                        (9)

An artificial variable z0 with a covering vector d > 0 makes any problem feasible: a = A f + b + d z0 with a large z0. From
there the algorithm visits almost complementary points, at which f_i a_i = 0 for all i and, for one i, both f_i and a_i are
nonbasic. The complement of the variable that left the basis last enters next. The path ends when z0 reaches zero, which is a
solution, or on a ray.

The ray. Along it, the point changes by (df, da, dz0) >= 0 with da = A df + d dz0, and all f_i a_i remain zero: da_i = 0 where
df_i > 0. So (A df)_i = -d_i dz0 <= 0 where df_i > 0, and z = df has the property (10) of valid contact impulses for any A. df =
0 only on the initial ray, to which the path never returns. For some classes more holds. If A is copositive, 0 <= df . A df =
-(d . df) dz0 gives dz0 = 0 and A df >= 0. If A is positive semidefinite, or at least copositive-plus, the problem then has no
solution (Cottle, Pang and Stone 1992, section 4.4). For other A it may have one.

Ties. Rows with equal ratios are compared as if b were b + (e, e^2, ..., e^n) with an infinitesimal e. No basis is then visited
twice, so the path ends for any degenerate problem.

The basis is stored as a dictionary x_basic = T (x_nonbasic, 1): the columns of the nonbasic variables, z0 among them, and the
values of the basic variables. An exchange of two variables is O(n^2). The dictionary is recomputed after every n exchanges, and
before a ray is accepted.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import kernel, kernel_part
from ...problem.result import Statistics, Status
from ..complementarity import ROUNDING, LcpEnd, Sizes, entry_sizes, is_ray, without_rounding

__all__ = ["lemke"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# Outcomes of `walk`.
UNFINISHED, COMPLEMENTARY, ON_RAY = range(3)

# For a dictionary of a problem that is scaled to entries of about one.
ZERO_PIVOT = 1e-10  # smaller entries count as round-off and are not pivots
ZERO_VALUE = 1e-12  # basic variables that are smaller than this after a step count as tied


class Dictionary(NamedTuple):
    """x_basic = T (x_nonbasic, 1). f_i is variable i, a_i is variable n + i, and z0 is variable 2 n.

    table: (n, n + 2) T, with the values in the last column.
    basic: (n,) and nonbasic: (n + 1,) variables.
    place: (2 n + 1,) position of each variable: its column if nonbasic, -1 - row if basic.
    home: (n,) variables that were basic before z0 entered.
    """

    table: Floats
    basic: Ints
    nonbasic: Ints
    place: Ints
    home: Ints


@kernel
def exchange(dictionary, row, column):
    """Exchange the basic variable of the row and the nonbasic variable of the column."""
    table = dictionary.table
    inverse = 1.0 / table[row, column]
    for j in range(table.shape[1]):
        table[row, j] *= -inverse
    table[row, column] = inverse
    for i in range(table.shape[0]):
        factor = table[i, column]
        if i != row and factor != 0.0:
            table[i, column] = 0.0
            for j in range(table.shape[1]):
                table[i, j] += factor * table[row, j]
    leaving, entering = dictionary.basic[row], dictionary.nonbasic[column]
    dictionary.basic[row], dictionary.nonbasic[column] = entering, leaving
    dictionary.place[entering], dictionary.place[leaving] = -1 - row, column


@kernel
def _perturbation(dictionary, row, j):
    """Return the coefficient of e^(j + 1) in the value of a row: the effect of a decrease of the home variable j."""
    at = dictionary.place[dictionary.home[j]]
    if at >= 0:
        return -dictionary.table[row, at]
    return 1.0 if at == -1 - row else 0.0


@kernel_part
def leaving_row(dictionary, column, tied):
    """Return the row that first reaches zero as the variable of the column increases, or -1 if none does.

    This is the lexicographic ratio test. z0 leaves whenever it can, which ends the path.

    tied: (n,) work array.
    """
    table, n = dictionary.table, dictionary.basic.size
    largest = 1.0
    for i in range(n):
        largest = max(largest, abs(table[i, column]))
    smallest = -ZERO_PIVOT * largest
    step = np.inf
    for i in range(n):
        if table[i, column] < smallest:
            step = min(step, max(table[i, n + 1], 0.0) / -table[i, column])
    if step == np.inf:
        return -1
    count = 0
    for i in range(n):
        if table[i, column] < smallest and max(table[i, n + 1], 0.0) + step * table[i, column] <= ZERO_VALUE:
            if dictionary.basic[i] == 2 * n:
                return i
            tied[count] = i
            count += 1
    j = 0
    while count > 1 and j < n:
        least = np.inf
        for k in range(count):
            least = min(least, _perturbation(dictionary, tied[k], j) / -table[tied[k], column])
        kept = 0
        for k in range(count):
            i = tied[k]
            if _perturbation(dictionary, i, j) / -table[i, column] <= least + ZERO_PIVOT * (1.0 + abs(least)):
                tied[kept] = i
                kept += 1
        count = kept
        j += 1
    return tied[0]


@kernel
def walk(dictionary, entering, limit, tied, best):
    """Make at most `limit` exchanges, from the point at which `entering` starts to increase.

    best: (n + 1,) the forces at the smallest z0 so far, and that z0; updated.

    Returns the outcome (UNFINISHED, COMPLEMENTARY or ON_RAY), the next entering variable and the number of exchanges.
    """
    n = dictionary.basic.size
    for made in range(limit):
        column = dictionary.place[entering]
        row = leaving_row(dictionary, column, tied)
        if row < 0:
            return ON_RAY, entering, made
        leaving = dictionary.basic[row]
        exchange(dictionary, row, column)
        if leaving == 2 * n:
            return COMPLEMENTARY, entering, made + 1
        artificial = dictionary.table[-1 - dictionary.place[2 * n], n + 1]
        if artificial < best[n]:
            best[n] = artificial
            for i in range(n):
                at = dictionary.place[i]
                best[i] = max(0.0, dictionary.table[-1 - at, n + 1]) if at < 0 else 0.0
        entering = leaving - n if leaving >= n else leaving + n
    return UNFINISHED, entering, limit


@kernel
def clamp(dictionary, wanted):
    """Make the forces of the wanted indices (n,) basic in place of their accelerations, and return the number of refused
    indices.

    This is a principal pivot transform. It takes the largest diagonal pivot first, or the largest 2 x 2 block if no diagonal
    entry is large enough. An index that depends on the indices before it is refused.
    """
    table, n = dictionary.table, dictionary.basic.size
    waiting = wanted.copy()
    while True:
        best, first = ZERO_PIVOT, -1
        for i in range(n):
            if waiting[i] and abs(table[i, i]) > best:
                best, first = abs(table[i, i]), i
        second = first
        if first < 0:
            for i in range(n):
                for j in range(i):
                    if waiting[i] and waiting[j]:
                        block = np.sqrt(abs(table[i, i] * table[j, j] - table[i, j] * table[j, i]))
                        if block > best:
                            best, first, second = block, i, j
        if first < 0:
            return waiting.sum()
        # f_i of column i replaces a_i in row i, so that rows and columns keep their indices. In a block they come out swapped.
        exchange(dictionary, first, second)
        waiting[first] = False
        if second != first:
            exchange(dictionary, second, first)
            waiting[second] = False
            _uncross(dictionary, first, second)


@kernel_part
def _uncross(dictionary, i, j):
    """Swap two rows, and the two columns with the same indices."""
    table, basic, nonbasic, place = dictionary.table, dictionary.basic, dictionary.nonbasic, dictionary.place
    for k in range(table.shape[1]):
        table[i, k], table[j, k] = table[j, k], table[i, k]
    for k in range(table.shape[0]):
        table[k, i], table[k, j] = table[k, j], table[k, i]
    basic[i], basic[j] = basic[j], basic[i]
    nonbasic[i], nonbasic[j] = nonbasic[j], nonbasic[i]
    place[basic[i]], place[basic[j]] = -1 - i, -1 - j
    place[nonbasic[i]], place[nonbasic[j]] = i, j


def _fresh(A: Floats, b: Floats, d: Floats, dictionary: Dictionary) -> bool:
    """Recompute the dictionary of the current basis from a - A f - d z0 = b. Return False if the basis is singular."""
    n = b.size
    columns = np.column_stack([-A, np.eye(n), -d])
    try:
        found = np.linalg.solve(columns[:, dictionary.basic], np.column_stack([-columns[:, dictionary.nonbasic], b]))
    except np.linalg.LinAlgError:
        return False
    if not np.isfinite(found).all():
        return False
    dictionary.table[:] = found
    return True


def _equilibrated(A: Floats) -> tuple[Floats, Floats]:
    """Return powers of two (rows, columns) that scale the largest entry of each row and column of A to about one."""
    rows, columns = np.ones(A.shape[0]), np.ones(A.shape[0])
    for _ in range(8):
        size = np.abs(A) * rows[:, None] * columns
        high, wide = size.max(axis=1, initial=0.0), size.max(axis=0, initial=0.0)
        rows /= np.sqrt(np.where(high > 0.0, high, 1.0))
        columns /= np.sqrt(np.where(wide > 0.0, wide, 1.0))
    return np.exp2(np.round(np.log2(rows))), np.exp2(np.round(np.log2(columns)))


def _statistics(cost: dict[str, int], seconds: float) -> Statistics:
    return Statistics(
        cost["iterations"],
        cost["factorisations"],
        seconds,
        rank_deficient=cost["rank_deficient"],
        restarts=cost["restarts"],
    )


def _idle(A: Floats, sizes: Sizes, ray: Floats) -> bool:
    """Return True if a ray slows no contact at which it acts. It then has no impulse that could make a contact stick."""
    pushed = ray > 0.0
    return not bool((A @ ray < -ROUNDING * (sizes.column @ ray) * sizes.row)[pushed].any())


def lemke(A: Floats, b: Floats, start: NDArray[np.bool_] | None, max_iterations: int, time_limit: float) -> LcpEnd:
    """Follow the path of Lemke's algorithm to a solution or a ray.

    If indices are initially clamped, d is the covering vector of the transformed problem, and may have any sign in the given
    one. The ray may then lack the property (10), or move nothing, A z = 0, although the problem has a solution. In both cases
    the algorithm starts again from f = 0.

    A: (n, n). b: (n,).
    start: (n,) bool, indices that are initially clamped, or None for none.
    max_iterations: limit of exchanges.
    time_limit: limit of the time [s].

    Returns an `LcpEnd`. At either limit its status is MAX_ITERATIONS, and its force is that at the smallest z0 so far.
    """
    begin = perf_counter()
    n = b.size
    start = np.zeros(n, dtype=bool) if start is None else start
    rows, columns = _equilibrated(A)
    scale = float(np.abs(rows * b).max(initial=0.0)) or 1.0
    scaled, right = A * rows[:, None] * columns, rows * b / scale
    table = np.column_stack([scaled, np.ones(n), right])
    home = np.arange(n, 2 * n)
    place = np.concatenate([np.arange(n), -1 - np.arange(n), [n]])
    dictionary = Dictionary(table, home.copy(), np.append(np.arange(n), 2 * n), place, home)
    cost = {"iterations": 0, "factorisations": 0, "rank_deficient": 0, "restarts": 0}

    def ended(status: Status, force: Floats, ray: Floats | None = None) -> LcpEnd:
        unscaled = force * columns * scale
        return LcpEnd(status, unscaled, A @ unscaled + b, ray, _statistics(cost, perf_counter() - begin))

    covering = np.ones(n)
    if start.any():
        cost["rank_deficient"] = int(clamp(dictionary, start))
        clamped = dictionary.basic < n
        # The d of the given problem for which the column of z0 in the transformed problem is all ones.
        covering = np.where(clamped, 0.0, 1.0) - scaled[:, clamped].sum(axis=1)
        dictionary.home[:] = dictionary.basic
        cost["factorisations"] += 1
        if not _fresh(scaled, right, covering, dictionary):
            raise np.linalg.LinAlgError("a basis made of accepted pivots is singular")
        if dictionary.table[:, n + 1].min() >= -ZERO_VALUE:  # a solution up to the round-off of clamping
            return ended(Status.SOLVED, _refined(scaled, right, dictionary, cost))
    value = dictionary.table[:, n + 1]
    if value.min(initial=0.0) >= 0.0:
        return ended(Status.SOLVED, _forces(dictionary))

    # z0 enters in the row with the lowest value. Of equal rows, the last has the smallest perturbation.
    row = n - 1 - int(np.argmin(value[::-1]))
    leaving = int(dictionary.basic[row])
    exchange(dictionary, row, n)
    entering = (leaving + n) % (2 * n)
    cost["iterations"] = 1
    tied, best = np.empty(n, dtype=np.int64), np.zeros(n + 1)
    best[n] = np.inf
    age, end = 1, UNFINISHED
    while cost["iterations"] < max_iterations and perf_counter() - begin < time_limit:
        limit = min(max_iterations - cost["iterations"], max(1, min(100, max(n, 20) - age)))
        end, entering, made = walk(dictionary, entering, limit, tied, best)
        cost["iterations"] += made
        age += made
        if end == COMPLEMENTARY:
            return ended(Status.SOLVED, _refined(scaled, right, dictionary, cost))
        if end == ON_RAY and age == 0:
            break
        if end == ON_RAY or age >= max(n, 20):
            cost["factorisations"] += 1
            if not _fresh(scaled, right, covering, dictionary):
                break
            age = 0
    if end == ON_RAY:
        ray = columns * _forces_along(dictionary, entering)
        sizes = entry_sizes(A, np.False_)
        ray = without_rounding(sizes, ray / (ray.max(initial=0.0) or 1.0))
        if is_ray(A, sizes, ray) and not (start.any() and _idle(A, sizes, ray)):
            return ended(Status.RAY, best[:n], ray)
        if start.any():
            limits_left = max_iterations - cost["iterations"], time_limit - (perf_counter() - begin)
            again = lemke(A, b, np.zeros(n, dtype=bool), *limits_left)
            total = {name: cost[name] + getattr(again.stats, name) for name in cost}
            total["restarts"] += 1
            return again._replace(stats=_statistics(total, perf_counter() - begin))
    return ended(Status.MAX_ITERATIONS, best[:n])


def _forces(dictionary: Dictionary) -> Floats:
    """Return the forces (n,) of a dictionary, with negative round-off set to zero."""
    n = dictionary.basic.size
    force = np.zeros(n)
    clamped = dictionary.basic < n
    force[dictionary.basic[clamped]] = dictionary.table[clamped, n + 1]
    return np.maximum(force, 0.0)


def _forces_along(dictionary: Dictionary, entering: int) -> Floats:
    """Return the change (n,) of the forces for a unit increase of the entering variable."""
    n = dictionary.basic.size
    change = np.zeros(n)
    clamped = dictionary.basic < n
    change[dictionary.basic[clamped]] = dictionary.table[clamped, dictionary.place[entering]]
    if entering < n:
        change[entering] = 1.0
    return np.maximum(change, 0.0)


def _refined(A: Floats, b: Floats, dictionary: Dictionary, cost: dict[str, int]) -> Floats:
    """Return the forces of a complementary basis from a new solve of A_CC f_C = -b_C with one step of iterative refinement."""
    kept = _forces(dictionary)
    clamped = np.sort(dictionary.basic[dictionary.basic < b.size])
    if clamped.size == 0:
        return kept
    cost["factorisations"] += 1
    block, force = A[np.ix_(clamped, clamped)], np.zeros(b.size)
    try:
        inverse = np.linalg.inv(block)
    except np.linalg.LinAlgError:
        return kept
    found = -inverse @ b[clamped]
    found -= inverse @ (block @ found + b[clamped])
    # Remainders of canceled terms are not forces. If all other forces are zero, they would set the scale.
    found[np.abs(found) <= b.size * np.finfo(float).eps * (np.abs(inverse) @ np.abs(b[clamped]))] = 0.0
    force[clamped] = np.maximum(found, 0.0)
    return min(force, kept, key=lambda f: _violation(A, b, f))


def _violation(A: Floats, b: Floats, force: Floats) -> float:
    """Return the complementarity error of forces, max |min(f, a)|, which is zero exactly at solutions."""
    worst = float(np.abs(np.minimum(force, A @ force + b)).max(initial=0.0))
    return worst if np.isfinite(worst) else np.inf
