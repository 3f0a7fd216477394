# SPDX-License-Identifier: GPL-3.0-or-later
"""Staggered Projections: Kaufman, Sueda, James and Pai 2008, "Staggered projections for frictional contact in multibody
systems".

Contact impulses c = N alpha and friction impulses f = D beta are each the projection, in the kinetic metric, of what the other
leaves over: (25) and (24). Algorithm 1 repeats the two projections, (27), from the last step's friction, until the friction of
two iterations agrees (28). The friction with the smallest residual (29) is kept, and a contact projection always comes last, so
that the answer never violates contact however early it is asked for.

Beyond the paper: an iterate is accepted only when its relative Coulomb residuals, too, are within the tolerance; what is
returned where none is has the smallest of these, proposals among them; nothing more is tried where all has failed to halve them
for long; and iterations may begin with a proposal. Staggering converges as slowly as normal and tangential impulses are coupled
(a leaning card, section 4 of the paper), so contact and friction are solved together: by Newton's method on both, then on
contacts that give way ever less (`stiffening_bodies.py`) and with penalties that rise and fall (`multipliers.py`), or, in every
other turn of iterations where that gets nowhere, by one projection onto both with the friction radii held, which leaves
only the dependence of the radii on alpha to be iterated, r := mu alpha(r), and that Anderson's method accelerates. Turns,
because each of the two settles where the other does not. Where the start is far from a solution, as where bodies tumble, or
bodies are many, proposals come first that need a factorisation or none: Gauss-Seidel sweeps and the alternating direction
method of multipliers. They find out who carries, who sticks and who slides. What is accepted is a fixed point (26) of the two
published projections either way.
"""

from __future__ import annotations

import numpy as np

from ...compile.kernel import kernel_part, leaf_kernel
from ...linalg.block_cholesky import room_of_factor
from ...problem.residuals import effective_masses, natural_error, relative_coulomb, scales
from ...problem.system import apply_inverse_mass, effective_inverse_mass, relative_velocity
from ..effort import BELL, DONE, allow, patience, spent
from .aim import MOST_LOOKS, Aim
from .anderson import accelerate, anderson
from .coulomb_newton import coulomb_newton
from .first_order import START, propose
from .multipliers import Means, multipliers
from .projection import BOTH, CONTACT, FRICTION, MULTIPLIER_STEPS, find_blocks, generalised_impulse, project, velocity_after
from .stiffening_bodies import Factors, stiffening_bodies

__all__ = ["ACCELERATED", "SOLVED", "VARIANTS", "staggered"]

SOLVED, MAX_ITERATIONS, NOT_FINITE, TIME_LIMIT = 0, 1, 2, 5  # values of Status
STAGGERING, NEWTON, HELD_RADII = 1, 2, 3  # values of Found
ACCELERATED, PLAIN, PUBLISHED = 0, 1, 2
VARIANTS = {"accelerated": ACCELERATED, "plain": PLAIN, "published": PUBLISHED}

HOLDS = 1e-8  # of the fastest velocity: no contact is said to be broken that is left by less
BROKEN = 10.0  # times a residual: what breaks contact has to be so much better than what holds it
HARDLY = 1e-3  # of the fastest velocity: what leaves a contact by more is no answer, however good the rest
HOPELESS = 3  # iterations one after the other whose contact projection fails: friction is not what is wrong
TURN = 10  # iterations with the radii held, then as many without, where Newton's method fails
# Of the tolerance, what projections and Newton's method aim at: what stands keeps for good what a step leaves over, what
# tumbles has forgotten it a step later.
AIM, AIM_OF_TUMBLING = 1e-3, 1e-1
JAMMED = (3, 5)  # tries, by multipliers: what Newton's method and stiffening do not solve in the first three may jam
KINDS_OF_PROPOSALS = 4  # each of which has had its turn before a solve is given up
PROGRESS = 0.1  # of the residual of the iteration before: a proposal that comes so near is taken, though it is no solution yet


@leaf_kernel
def _kinetic(system, p, work):
    """p^T M^-1 p."""
    apply_inverse_mass(system, p, work)
    s = 0.0
    for i in range(p.size):
        s += p[i] * work[i]
    return s


@leaf_kernel
def _set_radii(system, impulse, radius):
    """radius := mu alpha."""
    for k in range(system.mu.size):
        radius[k] = system.mu[k] * impulse[k, 0]


@leaf_kernel
def _into_cones(system, impulse):
    """Impulses (m, 3) that contacts and joints may have: a warm start may be from other ones, or have rounding in it."""
    for k in range(system.mu.size):
        impulse[k, 0] = max(impulse[k, 0], 0.0)
        size, bound = np.hypot(impulse[k, 1], impulse[k, 2]), system.mu[k] * impulse[k, 0]
        if size > bound:
            impulse[k, 1] *= bound / size
            impulse[k, 2] *= bound / size
    for j in range(system.box.shape[0]):
        k = system.mu.size + j
        for r in range(3):
            impulse[k, r] = min(max(impulse[k, r], system.box[j, r, 0]), system.box[j, r, 1])


@kernel_part
def _relative_error(system, c, f, f_next, work):
    """(28): |f_next - f|^2 / |f|^2 in the kinetic metric; 0 where the change is round-off beside the contact impulse c."""
    change = _kinetic(system, f_next - f, work)
    if change <= 1e-20 * _kinetic(system, c, work):
        return 0.0
    before = _kinetic(system, f, work)
    return change / before if before > 0.0 else np.inf


@leaf_kernel
def _residual(system, impulse, v):
    """(29) at v = v_hat + M^-1 (N alpha + D beta)."""
    total = 0.0
    for k in range(system.slack.size):
        u, _, _ = relative_velocity(system, k, v)
        total += abs(impulse[k, 0] * (u + system.slack[k]))
    return total


@leaf_kernel
def _gap_velocities(system, v, velocity):
    """Relative velocities (m, 3); returns how fast the contact that is broken most is, m/s."""
    off = 0.0
    for k in range(velocity.shape[0]):
        velocity[k, 0], velocity[k, 1], velocity[k, 2] = relative_velocity(system, k, v)
        if k < system.mu.size:
            off = max(off, -velocity[k, 0] - system.slack[k])
    return off


@leaf_kernel
def _score(coulomb, off, holds, fastest):
    """What iterates are chosen by where none is accepted: the Coulomb residual, more where contact is broken by `off`, m/s."""
    return coulomb if off <= holds * fastest else BROKEN * max(coulomb, off / fastest)


@kernel_part
def _by_newton(system, means, aims, tries, jammed, effort, impulse, v):
    """Improve impulses (m, 3) and their velocities v (n,) by what is due after so many tries; returns the natural map, m/s.
    aims: as of `multipliers`, which are due where jammed."""
    (blocks, lower, upper), sides, inverse, kappa = means
    goal, enough, fastest = aims
    if jammed:
        return multipliers(system, means, aims, effort, impulse, v)
    if sides == 0 and tries == 1:
        return stiffening_bodies(system, means.factors, kappa, enough, fastest, effort, impulse, v)
    return coulomb_newton(system, blocks, lower, upper, sides, inverse, kappa, tries, goal, enough, effort, impulse, v)


@kernel_part
def staggered(system, impulse, asked, tolerance, tumbling, max_iterations, sides, staggering, effort, history, v):
    """Solve a `System` by Algorithm 1.

    impulse: (m, 3) alpha and beta of each contact, and the rows of joints, warm start and answer. asked: what proposals and
    projections aim at, at most the tolerance, which is that of what is accepted. tumbling: whether it is known to be no
    structure (see `propose`). sides: 0 for the friction disk, else K. staggering: ACCELERATED begins with proposals, PLAIN does
    without, PUBLISHED also stops, and chooses what to return, as the paper does. effort: what it may cost. history:
    (max_iterations, 3) relative error (28), residual (29) and relative Coulomb residual of each iteration. v: (n,) velocities,
    answer. Returns (status, iterations, what found the answer, factorisations of the first contact and of the first friction
    projection).
    """
    m, n, contacts = system.body_a.size, system.velocity.size, system.mu.size
    v[:] = system.velocity
    effort[DONE] = 0
    if m == 0:
        return SOLVED, 0, START, 0, 0
    blocks = find_blocks(system)
    allow(effort, max_iterations, blocks.structure.target.size, m)
    values, upper = room_of_factor(blocks.structure), np.empty(blocks.structure.length)
    inverse = effective_inverse_mass(system)
    kappa = effective_masses(inverse)
    velocity = np.empty((m, 3))
    value, index = np.empty(5), np.empty(5, np.int64)
    fastest, _ = scales(system, impulse)
    aimed_at = AIM_OF_TUMBLING if tumbling else AIM
    goal = aimed_at * max(min(asked, 1e-4), 1e-10) * fastest  # what projections aim at, in m/s
    enough = 0.7 * tolerance * fastest  # and what keeps the natural map, and with it the rest, within the tolerance
    holds = max(tolerance, HOLDS)
    radius, held, memory = np.zeros(m), np.zeros(m), anderson(m)
    target, c, f, f_next, work = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    candidate, v_candidate = np.empty((m, 3)), np.empty(n)
    _into_cones(system, impulse)
    best, v_best, least, found = impulse.copy(), v.copy(), np.inf, START
    started, done, broken, tries, coulomb = False, 0, 0, 0, np.inf
    first_contact, first_friction = 0, 0
    coarse = False
    means = Means(Factors(blocks, values, upper), sides, inverse, kappa)
    nearest, v_nearest, near, mark, progressed = impulse.copy(), v.copy(), np.inf, np.inf, 0
    if staggering == ACCELERATED and sides == 0:
        aim = Aim(inverse, kappa, goal, 0.7 * asked * fastest, enough, 0, MOST_LOOKS)
        found, coarse = propose(system, blocks, values, aim, tumbling, effort, impulse, v)
        if coarse:
            off = _gap_velocities(system, v, velocity)
            proposed, _ = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
            least = _score(proposed, off, holds, fastest)
            best[:] = impulse
            v_best[:] = v
        nearest[:] = impulse
    for i in range(max_iterations):
        done = i + 1
        before = effort[DONE]
        if i > 0:
            found = STAGGERING
        if staggering == ACCELERATED and (i > 0 or coarse):
            if tries == 0:
                # what the iterations began with
                generalised_impulse(system, BOTH, m, nearest, f_next)
                velocity_after(system, system.velocity, f_next, v_nearest)
                near = natural_error(system, nearest, v_nearest, kappa, sides) / fastest
            jammed = not tumbling and tries in JAMMED
            candidate[:] = nearest if jammed and near < coulomb else impulse
            reached = _by_newton(system, means, (goal, enough, fastest), tries, jammed, effort, candidate, v)
            tries += 1
            if reached < near * fastest:
                near = reached / fastest
                nearest[:] = candidate
                v_nearest[:] = v
            if reached <= max(enough, PROGRESS * coulomb * fastest):
                impulse[:] = candidate
                found = NEWTON
            elif i > 0 and (i // TURN) % 2 == 0:
                _set_radii(system, impulse, radius)
                if started:
                    accelerate(memory, held, radius)
                else:
                    held[:] = radius
                    started = True
                project(
                    system,
                    blocks,
                    values,
                    BOTH,
                    sides,
                    held,
                    system.velocity,
                    inverse,
                    goal,
                    enough,
                    effort,
                    impulse,
                    v,
                    MULTIPLIER_STEPS,
                )
                found = HELD_RADII
            if i > 0 and spent(effort):
                # a proposal cut short is none, and contact is intact in what there was before
                done = i
                break
        # line 5: N alpha := P_C(-M v_hat - f), in velocities: contact acts on what friction has left; joints hold in both
        # projections, so what is handed over is without them
        generalised_impulse(system, FRICTION, contacts, impulse, f)
        velocity_after(system, system.velocity, f, target)
        off = project(
            system, blocks, values, CONTACT, sides, radius, target, inverse, goal, enough, effort, impulse, v, MULTIPLIER_STEPS
        )
        if i == 0:
            first_contact = effort[DONE] - before
            if first_contact > 0 and found == START:
                found = STAGGERING
        _gap_velocities(system, v, velocity)
        coulomb, _ = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
        history[i, 2] = coulomb
        if not np.isfinite(coulomb):
            return NOT_FINITE, done, found, first_contact, first_friction
        candidate[:] = impulse
        v_candidate[:] = v
        broken = 0 if off <= holds * fastest else broken + 1
        if staggering != PUBLISHED:
            score = _score(coulomb, off, holds, fastest)
            if score < least:
                least = score
                best[:] = impulse
                v_best[:] = v
        # line 6: f := P_F(alpha)(-M v_hat - N alpha)
        before = effort[DONE]
        generalised_impulse(system, CONTACT, contacts, impulse, c)
        velocity_after(system, system.velocity, c, target)
        _set_radii(system, impulse, radius)
        project(
            system, blocks, values, FRICTION, sides, radius, target, inverse, goal, enough, effort, impulse, v, MULTIPLIER_STEPS
        )
        if i == 0:
            first_friction = effort[DONE] - before
        generalised_impulse(system, FRICTION, contacts, impulse, f_next)
        history[i, 0] = _relative_error(system, c, f, f_next, work)
        history[i, 1] = _residual(system, impulse, v)
        if history[i, 0] <= tolerance and (coulomb <= tolerance or staggering == PUBLISHED):
            # f and P_F(alpha) agree: f is a fixed point, and the contact projection that goes with it is done
            impulse[:] = candidate
            v[:] = v_candidate
            return SOLVED, done, found, first_contact, first_friction
        if staggering == PUBLISHED and history[i, 1] < least and not spent(effort):
            least = history[i, 1]
            best[:] = impulse
        if min(near, coulomb) <= 0.5 * mark:
            mark, progressed = min(near, coulomb), effort[DONE]
        if (
            spent(effort)
            or broken == HOPELESS
            or (tries >= KINDS_OF_PROPOSALS and effort[DONE] - progressed >= patience(effort))
        ):
            break
    if near < np.inf and effort[BELL] == 0:
        # when time is over nothing comes after contact
        off = _gap_velocities(system, v_nearest, velocity)
        coulomb, _ = relative_coulomb(system, nearest, velocity, kappa, sides, fastest, value, index)
        if off <= HARDLY * fastest and _score(coulomb, off, holds, fastest) < least:
            best[:] = nearest
            v_best[:] = v_nearest
    impulse[:] = best
    v[:] = v_best
    if staggering == PUBLISHED:
        # lines 15 to 17: the best friction, and the contact projection that goes with it
        generalised_impulse(system, FRICTION, contacts, impulse, f)
        velocity_after(system, system.velocity, f, target)
        project(
            system, blocks, values, CONTACT, sides, radius, target, inverse, goal, enough, effort, impulse, v, MULTIPLIER_STEPS
        )
    if _gap_velocities(system, v, velocity) > max(_gap_velocities(system, system.velocity, velocity), holds * fastest):
        # a contact projection that came to nothing: no impulses do less harm
        impulse[:] = 0.0
        v[:] = system.velocity
    return TIME_LIMIT if effort[BELL] > 0 else MAX_ITERATIONS, done, found, first_contact, first_friction
