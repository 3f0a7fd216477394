"""Index sets to begin with, from forces that were right in a problem much like this one (a warm start of Baraff's algorithm).

The forces in C and CF are solved for at once. What then breaks a condition is taken out of its set, and the rest solved for
again, until all that is established holds; the algorithm establishes what is missing.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..kernel import inlined_kernel
from .index_sets import CF, CLAMPED, NCF, NONE, enter, forget, forget_friction, index_sets, slip, start_clamped, stick
from .pivot import compute_forces, establish_bilateral, recompute

__all__ = ["guess_forces", "is_symmetric", "pivot_at_once", "start"]

SWEEPS = 12
SLIDING = 1e-6  # friction this close to its bound, relative, is taken to be at it


@inlined_kernel
def _friction_size(p, c, vector):
    square = 0.0
    for t in range(p.tangents):
        square += vector[p.friction[c] + t] ** 2
    return np.sqrt(square)


@inlined_kernel
def _mend(p, c, at_rest, mended):
    """Whether an established contact broke one of its conditions; it is moved to the set that asks for less.

    Friction changes between CF and NCF once and is then left to be established anew; a normal force that pulls goes at once.
    """
    normal, first = p.normal[c], p.friction[c]
    # a force whose effect counts as zero is none
    if p.force[normal] * p.size[normal] ** 2 <= 1e-2 * at_rest or abs(p.acceleration[normal]) > at_rest:
        forget(p, c)
        return True
    if first < 0 or p.friction_set[c] == NONE:
        return False
    if p.friction_set[c] == NCF:
        along = 0.0
        for t in range(p.tangents):
            along += p.delta[c, t] * p.acceleration[first + t]
        if along <= at_rest:
            return False
        if mended[c]:
            forget_friction(p, c)
        else:
            stick(p, c, np.inf)
    elif _friction_size(p, c, p.force) > p.mu[c] * p.force[normal] * (1.0 + 1e-12):
        if mended[c]:
            forget_friction(p, c)
        else:
            slip(p, c)
    elif _friction_size(p, c, p.acceleration) > at_rest:
        forget_friction(p, c)
    else:
        return False
    mended[c] = True
    return True


@njit(cache=True)
def guess_forces(p):
    """Normal forces by a few sweeps of projected Gauss-Seidel, for a problem without static friction.

    They are only to guess C from. The sweeps end when C has not changed in one.
    """
    n = p.b.size
    force, acceleration = np.zeros(n), p.b.copy()
    for _ in range(SWEEPS):
        same = True
        for c in range(p.normal.size):
            i = p.normal[c]
            column = p.matrix[i]
            if not column[i] > 0.0:
                continue
            f = max(0.0, force[i] - acceleration[i] / column[i])
            step = f - force[i]
            if step != 0.0:
                if (f > 0.0) != (force[i] > 0.0):
                    same = False
                force[i] = f
                for k in range(n):
                    acceleration[k] += step * column[k]
        if same:
            break
    return force


@njit(cache=True)
def start_from(p, guess, at_rest):
    """Take the sets over from forces guess (n,), in the contacts' own axes; all sets are empty before."""
    m = p.normal.size
    for c in range(m):
        bound = guess[p.normal[c]]
        if bound > 0.0:
            slides = p.friction[c] >= 0 and _friction_size(p, c, guess) >= (1.0 - SLIDING) * p.mu[c] * bound
            p.force[p.normal[c]] = bound
            start_clamped(p, c, guess, slides)
    # friction that carried something first: the rest may depend on it
    for carrying in (True, False):
        for c in range(m):
            if p.friction_set[c] == CF:
                for i in range(p.friction[c], p.friction[c] + p.tangents):
                    if (guess[i] != 0.0) == carrying:
                        p.force[i] = guess[i]
                        enter(p, i)
    recompute(p)
    mended = np.zeros(m, np.bool_)
    broken = True
    while broken:
        broken = False
        for c in range(m):
            if p.normal_set[c] == CLAMPED and _mend(p, c, at_rest, mended):
                broken = True
        if broken:
            recompute(p)


@njit(cache=True)
def start(p, bilateral, guess, sweep, at_rest):
    """Establish the bilateral constraints, and begin from forces guess (n,), empty for none, or guessed by sweeps."""
    establish_bilateral(p, bilateral)
    if sweep:
        start_from(p, guess_forces(p), at_rest)
    elif guess.size > 0:
        start_from(p, guess, at_rest)


@njit(cache=True)
def pivot_at_once(
    columns, b, bilateral, normal, friction, tangents, mu, symmetric, guess, sweep, order, at_rest, negligible, budget
):  # fmt: skip
    """Start and pivot: how `compute_forces` ends, force, change, frame, counts.

    columns: (n, n) of A, b: (n,), neither changed; the arguments are those of `index_sets`, `start` and `compute_forces`. To
    hand all the sets to Python and back takes as long as solving for 50 contacts.
    """
    p = index_sets(columns.copy(), b.copy(), bilateral, normal, friction, tangents, mu, symmetric)
    start(p, bilateral, guess, sweep, at_rest)
    ended = compute_forces(p, order, np.zeros(1, np.int64), at_rest, negligible, budget)
    return ended, p.force, p.change, p.frame, p.counts


@njit(cache=True)
def is_symmetric(A):
    """Whether A is, exactly."""
    for i in range(A.shape[0]):
        for j in range(i):
            if A[i, j] != A[j, i]:
                return False
    return True
