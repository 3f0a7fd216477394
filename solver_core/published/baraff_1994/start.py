# SPDX-License-Identifier: GPL-3.0-or-later
"""Index sets to begin with: from forces that were right in a problem much like this one, or from a guess.

The forces in C and CF are solved for at once. What then breaks a condition is taken out of its set, and the rest solved for
again, until all that is established holds; the algorithm establishes what is missing.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import inlined_kernel, kernel, kernel_part
from .index_sets import (
    CF,
    CLAMPED,
    NCF,
    NONE,
    enter,
    enter_acting,
    forget,
    forget_friction,
    index_sets,
    slip,
    start_clamped,
    stick,
)
from .pivot import compute_forces, establish_bilateral
from .step import holds, recompute

__all__ = ["ZERO_ACCELERATION", "guess_forces", "pivot_at_once", "start", "zero_accelerations"]

ZERO_ACCELERATION = 1e-12  # of the largest |b|: an acceleration below counts as zero
DEPENDENT_ACCELERATION = 1e-9  # of the largest |b|: one that cannot be driven to zero because it depends on others already is
SLIDING = 1e-6  # friction this close to its bound, relative, is taken to be at it


@inlined_kernel
def _friction_size(p, c, vector):
    square = 0.0
    for t in range(p.tangents):
        square += vector[p.friction[c] + t] ** 2
    return np.sqrt(square)


@inlined_kernel
def _repair(p, c, at_rest, negligible, repaired):
    """Whether an established contact broke one of its conditions; it is moved to the set that asks for less.

    Friction changes between CF and NCF once and is then left to be established anew; a normal force that pulls goes at once.
    """
    normal, first = p.normal[c], p.friction[c]
    # a force whose effect counts as zero is none
    effect = p.force[normal] * p.sizes.row[normal] * p.sizes.column[normal]
    if effect <= 1e-2 * at_rest or abs(p.acceleration[normal]) > negligible:
        forget(p, c)
        return True
    if first < 0 or p.friction_set[c] == NONE:
        return False
    if p.friction_set[c] == NCF:
        along = 0.0
        for t in range(p.tangents):
            along += p.delta[c, t] * p.acceleration[first + t]
        if along <= negligible:
            return False
        if repaired[c]:
            forget_friction(p, c)
        else:
            stick(p, c, np.inf)
    elif _friction_size(p, c, p.force) > p.mu[c] * p.force[normal] * (1.0 + 1e-12):
        if repaired[c]:
            forget_friction(p, c)
        else:
            slip(p, c)
    elif _friction_size(p, c, p.acceleration) > negligible:
        forget_friction(p, c)
    else:
        return False
    repaired[c] = True
    return True


@inlined_kernel
def _relax(p, i, force, acceleration, step):
    """Change force i by a step."""
    if step != 0.0:
        force[i] += step
        column = p.matrix[i]
        for k in range(force.size):
            acceleration[k] += step * column[k]


@inlined_kernel
def _relax_friction(p, c, force, acceleration):
    """Friction goes against the acceleration, no further than its bound."""
    i, j = p.friction[c], p.friction[c] + p.tangents - 1
    a, b, d = p.matrix[i, i], p.matrix[i, j], p.matrix[j, j]
    half = 0.5 * (a - d)
    stiffness = a if i == j else 0.5 * (a + d) + np.sqrt(half * half + b * b)
    if not stiffness > 0.0:
        return
    x, y = force[i] - acceleration[i] / stiffness, force[j] - acceleration[j] / stiffness
    size = abs(x) if i == j else np.sqrt(x * x + y * y)
    bound = p.mu[c] * force[p.normal[c]]
    shrink = bound / size if size > bound else 1.0
    x, y = shrink * x - force[i], shrink * y - force[j]
    _relax(p, i, force, acceleration, x)
    if i != j:
        _relax(p, j, force, acceleration, y)


@kernel_part
def guess_forces(p, known, sweeps):
    """Forces (n,) by sweeps of projected Gauss-Seidel from known ones, empty for none; they are only to guess the sets from.

    Where friction acts, it comes out opposed to the sliding, as Coulomb's law has it, which (21) does not ask for. Without
    friction the sweeps end when C has not changed in one.
    """
    n = p.b.size
    force, acceleration, has_static_friction = np.zeros(n), p.b.copy(), False
    for i in range(known.size):
        _relax(p, i, force, acceleration, known[i])
    for _ in range(sweeps):
        same = True
        for i in range(p.bilateral):
            if p.matrix[i, i] > 0.0:
                _relax(p, i, force, acceleration, -acceleration[i] / p.matrix[i, i])
        for c in range(p.normal.size):
            i = p.normal[c]
            if not p.matrix[i, i] > 0.0:
                continue
            f = max(0.0, force[i] - acceleration[i] / p.matrix[i, i])
            same = same and (f > 0.0) == (force[i] > 0.0)
            _relax(p, i, force, acceleration, f - force[i])
            if p.friction[c] >= 0:
                has_static_friction = True
                _relax_friction(p, c, force, acceleration)
        if same and not has_static_friction:
            break
    return force


@kernel_part
def start_from(p, guess, at_rest, negligible):
    """Take the sets over from forces guess (n,), in the contacts' own axes; all sets are empty before."""
    m, count = p.normal.size, 0
    for c in range(m):
        bound = guess[p.normal[c]]
        if bound > 0.0:
            slides = p.friction[c] >= 0 and _friction_size(p, c, guess) >= (1.0 - SLIDING) * p.mu[c] * bound
            p.force[p.normal[c]] = bound
            start_clamped(p, c, guess, slides)
            p.acting[count] = p.normal[c]
            count += 1
    enter_acting(p, count)
    # friction that carried something first: the rest may depend on it
    for carrying in (True, False):
        for c in range(m):
            if p.friction_set[c] == CF:
                for i in range(p.friction[c], p.friction[c] + p.tangents):
                    if (guess[i] != 0.0) == carrying:
                        p.force[i] = guess[i]
                        enter(p, i)
    # what is good enough is left as it is: to solve for it moves forces among contacts that share a load
    if not holds(p, at_rest):
        recompute(p)
    repaired = np.zeros(m, np.bool_)
    broken = True
    while broken:
        broken = False
        for c in range(m):
            if p.normal_set[c] == CLAMPED and _repair(p, c, at_rest, negligible, repaired):
                broken = True
        if broken:
            recompute(p)


@kernel_part
def _soften(p, known, compliance):
    """A := A + C, b := b - C f for a diagonal C, relative to A, and known forces f: a step of the proximal point method.

    Bilateral constraints stay stiff, since their forces are not known.
    """
    for i in range(p.bilateral, p.b.size):
        c = compliance * p.sizes.row[i] * p.sizes.column[i]
        p.matrix[i, i] += c
        p.effective[i, i] = p.matrix[i, i]
        if known.size > 0:
            p.b[i] -= c * known[i]


@kernel
def start(p, known, sweeps, compliance, at_rest, negligible):
    """Establish the bilateral constraints, and begin from known forces (n,), empty for none, improved by sweeps.

    compliance: how much the forces may resist being changed, relative to A. Forces that many contacts share in many ways stay
    near the known ones, evenly spread, and A becomes regular; where they already solve the problem they still do.
    """
    force = guess_forces(p, known, sweeps) if sweeps > 0 else known
    if compliance > 0.0:
        _soften(p, force, compliance)
    establish_bilateral(p)
    if force.size > 0:
        start_from(p, force, at_rest, negligible)


@kernel
def zero_accelerations(b, at_rest):
    """(what counts as zero acceleration, at_rest times the largest |b|; what as one that cannot be driven away)."""
    scale = 0.0
    for i in range(b.size):
        scale = max(scale, abs(b[i]))
    return at_rest * scale, max(DEPENDENT_ACCELERATION, at_rest) * scale


@kernel
def pivot_at_once(unknowns, known, sweeps, compliance, order, scales, budget):
    """Start and pivot: how `compute_forces` ends, force, change, frame, counts.

    The arguments are those of `index_sets`, `start` and `compute_forces`. To hand all the sets to Python and back takes as long
    as solving for 50 contacts.
    """
    p, (at_rest, negligible) = index_sets(unknowns), scales
    start(p, known, sweeps, compliance, at_rest, negligible)
    ended = compute_forces(p, order, np.zeros(1, np.int64), at_rest, negligible, budget)
    return ended, p.force, p.change, p.frame, p.counts
