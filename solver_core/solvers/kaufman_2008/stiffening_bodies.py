# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton's method on contacts that give way, softly at first and ever less (`stiffening.py`), where bodies are known.

With impulses lam, D = dP/dw of w = lam - kappa (u + c) - compliance (lam - lam_k), and `off` what they lack of P(w), a step is

    (I - D + compliance D) dlam = off - kappa D J dv,    M dv = J^T dlam,

so that dlam goes contact by contact, S = (I - D + compliance D)^-1, and what is left is of the size of the bodies, with the
blocks of `coulomb_newton.py`:

    (M + J^T S kappa D J) dv = J^T S off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...compile.kernel import inner_kernel, kernel_part, leaf_kernel
from ...linalg.block_lu import factorise_lu, solve_lu_in_place
from ...problem.cones import project_interval
from ...problem.coulomb import respond
from ...problem.residuals import natural_error
from ...problem.system import relative_velocity
from ..block_operator import BOTH, Blocks, gap_velocity, generalised_impulse, velocity_after
from ..effort import DONE, count_factorisation, patience, spent
from .compliances import BEGIN, MOST_COMPLIANCES, ROUGHLY, next_compliance
from .coulomb_newton import assemble_unsymmetric
from .projection import DISK

__all__ = ["Factors", "stiffening_bodies"]

Floats = NDArray[np.float64]

JOINTS = 1e-4  # of the compliance of contacts: rows of joints are linear, and bear being stiff
STEPS_OF_ONE = 30  # of Newton's method, for one compliance
SHORTEST_STEP = 0.06
UPHILL_OF_ONE = 4
FACTORISATIONS_OF_STIFFENING = 1200


class Factors(NamedTuple):
    """Blocks of a system and room for their factors, lower and upper."""

    blocks: Blocks
    lower: Floats
    upper: Floats


class Giving(NamedTuple):
    """Contacts that give way: impulses (m, 3) at which they do not, and their compliance, over what they give way by
    themselves."""

    known: Floats
    compliance: float


class Room(NamedTuple):
    """S off, a step and the impulses after it, (m, 3); S kappa D, (m, 3, 3); velocities after it, and two more (n,)."""

    off: Floats
    step: Floats
    trial: Floats
    derivative: Floats
    v: Floats
    dv: Floats
    work: Floats


@leaf_kernel
def _invert(a, b, out):
    """out := a^-1 b, all (3, 3)."""
    c0 = a[1, 1] * a[2, 2] - a[1, 2] * a[2, 1]
    c1 = a[1, 2] * a[2, 0] - a[1, 0] * a[2, 2]
    c2 = a[1, 0] * a[2, 1] - a[1, 1] * a[2, 0]
    over = 1.0 / (a[0, 0] * c0 + a[0, 1] * c1 + a[0, 2] * c2)
    for j in range(b.shape[1]):
        x, y, z = b[0, j], b[1, j], b[2, j]
        out[0, j] = over * (c0 * x + (a[0, 2] * a[2, 1] - a[0, 1] * a[2, 2]) * y + (a[0, 1] * a[1, 2] - a[0, 2] * a[1, 1]) * z)
        out[1, j] = over * (c1 * x + (a[0, 0] * a[2, 2] - a[0, 2] * a[2, 0]) * y + (a[0, 2] * a[1, 0] - a[0, 0] * a[1, 2]) * z)
        out[2, j] = over * (c2 * x + (a[0, 1] * a[2, 0] - a[0, 0] * a[2, 1]) * y + (a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]) * z)


@leaf_kernel
def _law_of_joint(box, kappa, impulse, w, wanted, slope):
    """wanted := P(w) of the rows of a joint, slope (3, 3) := dP/dw; w lacks what the compliance of a row makes of impulses
    (3,)."""
    slope[:] = 0.0
    for r in range(3):
        low, high, gamma = box[r]
        wanted[r], slope[r, r] = project_interval(w[r] - kappa * gamma * impulse[r], low, high, 1.0)


@inner_kernel
def _look(system, kappa, giving, impulse, v, off, derivative, change):
    """The norm of what impulses (m, 3) lack; off (m, 3) := that. change: whether it is S of that, and derivative (m, 3, 3) :=
    S kappa D."""
    work = np.empty(3), np.empty(3), np.empty((3, 1)), np.empty((3, 3)), np.empty((3, 3))
    return _look_at_all(system, kappa, giving, impulse, v, (off, derivative), change, work)


@leaf_kernel
def _look_at_all(system, kappa, giving, impulse, v, out, change, work):
    """The same; out: off and derivative, work: arrays of a triple."""
    (off, derivative), (u, w, wanted, slope, left) = out, work
    total, contacts = 0.0, system.mu.size
    for k in range(kappa.size):
        if kappa[k] == 0.0:
            for r in range(3):
                off[k, r] = -impulse[k, r]
                for j in range(3):
                    derivative[k, r, j] = 0.0
            continue
        gap_velocity(system, k, v, u)
        compliance = giving.compliance if k < contacts else JOINTS * giving.compliance
        for r in range(3):
            w[r] = impulse[k, r] - kappa[k] * u[r] - compliance * (impulse[k, r] - giving.known[k, r])
        if k < contacts:
            respond(system.mu[k], DISK, 1.0, w, wanted[:, 0], slope)
        else:
            _law_of_joint(system.box[k - contacts], kappa[k], impulse[k], w, wanted[:, 0], slope)
        for r in range(3):
            wanted[r, 0] -= impulse[k, r]
            total += wanted[r, 0] * wanted[r, 0] / kappa[k]
        if change:
            for j in range(3):
                more = compliance if k < contacts else compliance + kappa[k] * system.box[k - contacts, j, 2]
                for r in range(3):
                    left[r, j] = (1.0 if r == j else 0.0) - (1.0 - more) * slope[r, j]
                    slope[r, j] *= kappa[k]
            _invert(left, slope, derivative[k])
            _invert(left, wanted, wanted)
        off[k, 0], off[k, 1], off[k, 2] = wanted[0, 0], wanted[1, 0], wanted[2, 0]
    return np.sqrt(total)


@inner_kernel
def _velocities(system, impulse, work, v):
    generalised_impulse(system, BOTH, impulse.shape[0], impulse, work)
    velocity_after(system, system.velocity, work, v)


@leaf_kernel
def _largest(kappa, off):
    """The largest velocity that impulses are off by, m/s."""
    largest = 0.0
    for k in range(kappa.size):
        if kappa[k] > 0.0:
            for r in range(3):
                largest = max(largest, abs(off[k, r]) / kappa[k])
    return largest


@inner_kernel
def _find_step(system, factors, effort, room):
    """The step of all impulses; False where there is none."""
    assemble_unsymmetric(factors.lower, factors.upper, system, factors.blocks, room.derivative)
    count_factorisation(effort)
    if not factorise_lu(factors.blocks.structure, factors.lower, factors.upper):
        return False
    generalised_impulse(system, BOTH, room.off.shape[0], room.off, room.dv)
    solve_lu_in_place(factors.blocks.structure, factors.lower, factors.upper, room.dv)
    return _step_of_impulses(system, room, np.empty(3))


@leaf_kernel
def _step_of_impulses(system, room, u):
    """The step of all impulses, that of velocities being known; False where it is no number. u: (3,)."""
    for k in range(room.off.shape[0]):
        u[0], u[1], u[2] = relative_velocity(system, k, room.dv)
        for r in range(3):
            u[r] -= system.bias[k, r]
        for r in range(3):
            change = room.off[k, r]
            for j in range(3):
                change -= room.derivative[k, r, j] * u[j]
            room.step[k, r] = change
            if not np.isfinite(change):
                return False
    return True


@inner_kernel
def _after(system, kappa, giving, impulse, t, room):
    """The norm of what impulses lack after so much of the step."""
    for k in range(impulse.shape[0]):
        for r in range(3):
            room.trial[k, r] = impulse[k, r] + t * room.step[k, r]
    _velocities(system, room.trial, room.work, room.v)
    return _look(system, kappa, giving, room.trial, room.v, room.off, room.derivative, False)


@inner_kernel
def _search(system, kappa, giving, impulse, now, room):
    """The norm after as much of the step as makes it smaller, or infinity."""
    t, after = 1.0, np.inf
    while t >= SHORTEST_STEP:
        after = _after(system, kappa, giving, impulse, t, room)
        if after < (1.0 - 0.1 * t) * now:
            return after
        t *= 0.5
    return after if after < now else np.inf


@inner_kernel
def _newton(system, factors, kappa, giving, enough, effort, impulse, v):
    """Whether impulses (m, 3) come within `enough`, m/s, of the law with this compliance; they, and v (n,), are improved."""
    m, n = impulse.shape[0], v.size
    room = Room(
        np.empty((m, 3)), np.empty((m, 3)), np.empty((m, 3)), np.zeros((m, 3, 3)), np.empty(n), np.empty(n), np.empty(n)
    )
    uphill = UPHILL_OF_ONE
    _velocities(system, impulse, room.work, v)
    now = _look(system, kappa, giving, impulse, v, room.off, room.derivative, False)
    for _ in range(STEPS_OF_ONE):
        if _largest(kappa, room.off) <= enough:
            return True
        if spent(effort):
            return False
        _look(system, kappa, giving, impulse, v, room.off, room.derivative, True)
        if not _find_step(system, factors, effort, room):
            return False
        after = _search(system, kappa, giving, impulse, now, room)
        if not after < now:
            if uphill == 0:
                return False
            # where pieces of the law meet, a step uphill often leads on
            uphill -= 1
            after = _after(system, kappa, giving, impulse, 1.0, room)
        now = after
        impulse[:] = room.trial
        v[:] = room.v
    return False


@kernel_part
def stiffening_bodies(system, factors, kappa, enough, fastest, effort, impulse, v):
    """Improve impulses (m, 3), which need not be near, and their velocities v (n,); returns the least natural map, m/s.

    kappa: (m,) effective masses. enough: m/s, of the natural map. fastest: m/s, the velocity that errors are a part of.
    """
    known, found, v_found, work = impulse.copy(), impulse.copy(), np.empty_like(v), np.empty_like(v)
    _velocities(system, impulse, work, v)
    least = natural_error(system, impulse, v, kappa, 0)
    best, v_best = impulse.copy(), v.copy()
    course = BEGIN
    last = effort[DONE] + FACTORISATIONS_OF_STIFFENING
    most, mark = min(last, effort[DONE] + patience(effort)), least
    for _ in range(MOST_COMPLIANCES):
        if not least > enough or spent(effort) or effort[DONE] >= most:
            break
        found[:] = impulse
        near = max(0.1 * enough, ROUGHLY * course[0] * fastest)
        answered = _newton(system, factors, kappa, Giving(known, course[0]), near, effort, found, v_found)
        error = natural_error(system, found, v_found, kappa, 0)
        if error < 0.5 * mark:
            mark, most = error, min(last, effort[DONE] + patience(effort))
        if error < least:
            least = error
            best[:] = found
            v_best[:] = v_found
        if answered:
            impulse[:] = found
            known[:] = found
        course = next_compliance(course, answered)
    impulse[:] = best
    v[:] = v_best
    return least
