# SPDX-License-Identifier: GPL-3.0-or-later
"""Initial index sets, from the forces of a similar problem or from a guess.

All forces in C and CF are solved for at once. Forces that then violate a condition leave their set, and the others are solved
for again. This repeats until all established conditions hold. Pivoting then establishes the missing ones.
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

ZERO_ACCELERATION = 1e-12  # relative to the largest |b|: smaller accelerations count as zero
DEPENDENT_ACCELERATION = 1e-9  # relative to the largest |b|: as above, for accelerations that depend on others
SLIDING = 1e-6  # friction this close to its bound, relative to it, counts as sliding


@inlined_kernel
def _friction_size(p, c, vector):
    square = 0.0
    for t in range(p.tangents):
        square += vector[p.friction[c] + t] ** 2
    return np.sqrt(square)


@inlined_kernel
def _repair(p, c, at_rest, negligible, repaired):
    """Return True if an established contact violates one of its conditions, and move it to a set with fewer conditions.

    A normal force that pulls, or whose acceleration is not zero, is removed at once. Friction may change once between CF and
    NCF. The second time, it is removed, and pivoting establishes it again.

    repaired: (m,) True for contacts whose friction has changed its set; updated.
    """
    normal, first = p.normal[c], p.friction[c]
    # A normal force whose effect counts as zero is removed.
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
    """Add step to force i and update the accelerations."""
    if step != 0.0:
        force[i] += step
        column = p.matrix[i]
        for k in range(force.size):
            acceleration[k] += step * column[k]


@inlined_kernel
def _relax_friction(p, c, force, acceleration):
    """Do one projected step of the friction of contact c, against its acceleration and up to its bound."""
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
    """Return forces (n,) after sweeps of projected Gauss-Seidel. They serve only to guess the index sets.

    Friction opposes the sliding, as in Coulomb's law; (21) does not require that. Without friction, the sweeps end when a sweep
    does not change C.

    known: (n,) forces to start from, or an empty array.
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
    """Choose the initial sets from guessed forces (n,) in the contacts' axes. All sets must be empty."""
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
    # Enter nonzero friction first, because the other friction indices may depend on it.
    for carrying in (True, False):
        for c in range(m):
            if p.friction_set[c] == CF:
                for i in range(p.friction[c], p.friction[c] + p.tangents):
                    if (guess[i] != 0.0) == carrying:
                        p.force[i] = guess[i]
                        enter(p, i)
    # Keep forces that already hold; another solve would only shift them among redundant contacts.
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
    """Set A := A + C and b := b - C f, a step of the proximal point method from known forces f.

    C is diagonal, with entries relative to A. Bilateral constraints get no compliance, since their forces are not known.
    """
    for i in range(p.bilateral, p.b.size):
        c = compliance * p.sizes.row[i] * p.sizes.column[i]
        p.matrix[i, i] += c
        p.effective[i, i] = p.matrix[i, i]
        if known.size > 0:
            p.b[i] -= c * known[i]


@kernel
def start(p, known, sweeps, compliance, at_rest, negligible):
    """Establish the bilateral constraints, and choose the initial sets from known forces.

    known: (n,) known forces, or an empty array.
    sweeps: Gauss-Seidel sweeps that first improve them.
    compliance: compliance of a proximal point step, relative to A. It makes A regular and keeps the forces of redundant
        contacts near the known forces. Known forces that solve the problem remain a solution.
    at_rest, negligible: from `zero_accelerations` [m/s^2].
    """
    force = guess_forces(p, known, sweeps) if sweeps > 0 else known
    if compliance > 0.0:
        _soften(p, force, compliance)
    establish_bilateral(p)
    if force.size > 0:
        start_from(p, force, at_rest, negligible)


@kernel
def zero_accelerations(b, at_rest):
    """Return the accelerations that count as zero [m/s^2]: in general, and if they cannot be driven to zero.

    at_rest: the first one, relative to the largest |b|.
    """
    scale = 0.0
    for i in range(b.size):
        scale = max(scale, abs(b[i]))
    return at_rest * scale, max(DEPENDENT_ACCELERATION, at_rest) * scale


@kernel
def pivot_at_once(unknowns, known, sweeps, compliance, order, scales, budget):
    """Choose the initial sets and pivot in one call, since passing all sets to Python and back takes as long as 50 contacts.

    The arguments are those of `index_sets`, `start` and `compute_forces`.

    Returns the outcome of `compute_forces`, and force (n,), change (n,), frame (m, 2) and counts (4,) of the `Sets`.
    """
    p, (at_rest, negligible) = index_sets(unknowns), scales
    start(p, known, sweeps, compliance, at_rest, negligible)
    ended = compute_forces(p, order, np.zeros(1, np.int64), at_rest, negligible, budget)
    return ended, p.force, p.change, p.frame, p.counts
