# SPDX-License-Identifier: GPL-3.0-or-later
"""How well impulses and velocities satisfy the contact problem, measured from the problem alone.

Velocities are recomputed from the impulses, u = G lam + g, so a solver's own bookkeeping is not trusted. Every figure comes
with its worst contact, its unit, and a relative value: velocities over U, the fastest relative velocity there would be without
impulses, or the least scale that the problem has where that is more, impulses over L = max |lam|, energies over U L. Where
heavy bodies press, L hides what goes on at light ones; the natural map is measured contact by contact in m/s, through the mass
that the contact itself has to move. So are joints, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import inner_kernel, kernel, leaf_kernel
from .cones import natural_interval
from .contact_problem import ContactProblem
from .coulomb import natural_map
from .result import Result
from .system import (
    apply_inverse_mass,
    effective_inverse_mass,
    effective_mass,
    inlined_relative_velocity,
    inverse_mass_of_row,
    relative_velocities,
    relative_velocity,
    transpose_product,
)

__all__ = ["Residual", "Residuals", "coulomb_error", "law_of", "law_of_impulses", "masses_of", "residuals"]

Floats = NDArray[np.float64]

PENETRATION, CONE_EXCESS, COMPLEMENTARITY, DISSIPATION, NATURAL_MAP = range(5)
# Of velocities: their differences are no scale below this. A millionth of it is ten thousand times their round-off, for
# penalties of joints multiply that.
RESOLVED = 1e-5


@dataclass(frozen=True)
class Residual:
    """The worst value over all contacts, the same relative to the problem's scale, the contact it is at (-1: none), its
    unit."""

    value: float
    relative: float
    index: int
    unit: str


@dataclass(frozen=True)
class Residuals:
    """Accuracy of a result.

    penetration: max(0, -(u_n + c)), m/s. cone: how far an impulse lies outside its friction cone, N s. complementarity:
    |lam_n (u_n + c)|, J. dissipation: mu lam_n |u_t| + lam_t . u_t, J, zero when friction opposes sliding with all it has.
    natural_map: |lam - (max(0, lam_n - kappa (u_n + c)), P(lam_t - kappa u_t))| / kappa, P onto the disk of radius mu lam_n and
    kappa the contact's effective mass, m/s, zero exactly at solutions (Alart and Curnier 1991): errors of impulses as the
    velocities that they are worth where they act.
    opposition: max(0, lam_t . u_t), J, (21) of Baraff 1994. saturation: |u_t| (mu lam_n - |lam_t|), J, the last of his (16).
    static_map: as natural_map, for these two and the cone instead of P: the largest of how far |lam_t| is outside the cone, of
    the smaller one of |u_t| and what |lam_t| lacks, and of the smaller one of |lam_t| and the slip along it, m/s.
    joint: as natural_map, for the three rows of a joint together, |lam - P((lam - kappa u) / (1 + kappa gamma))| / kappa, P
    onto the interval of each row; its index is the triple's among those of joints.
    bilateral: |u_b| of bilateral constraints, m/s, its index being the constraint's. consistency: difference of the result's
    velocities from G lam + g, m/s.

    At contacts with a given sliding direction d, cone is |lam_t + mu lam_n d|, and there is no condition on u_t. At those with
    mu = inf, natural map and static map have the smaller one of |u_t| and |lam| / kappa for friction, dissipation |lam| |u_t|.
    """

    penetration: Residual
    cone: Residual
    complementarity: Residual
    dissipation: Residual
    natural_map: Residual
    opposition: Residual
    saturation: Residual
    static_map: Residual
    joint: Residual
    bilateral: Residual
    consistency: Residual

    @property
    def coulomb(self) -> float:
        """The largest relative value of penetration, cone, complementarity, dissipation, natural map, joint and bilateral:
        Coulomb's law."""
        return _largest(
            self.penetration,
            self.cone,
            self.complementarity,
            self.dissipation,
            self.natural_map,
            self.joint,
            self.bilateral,
        )

    @property
    def static_friction(self) -> float:
        """The largest relative residual of Baraff's conditions (15), (16) and (21), which ask less of the direction of friction
        than Coulomb's law: penetration, cone, complementarity, opposition, saturation, static map, joint,
        bilateral."""
        return _largest(
            self.penetration,
            self.cone,
            self.complementarity,
            self.opposition,
            self.saturation,
            self.static_map,
            self.joint,
            self.bilateral,
        )


def _largest(*parts: Residual) -> float:
    return float(np.max([part.relative for part in parts]))  # which, unlike max, hands on a nan


def _larger(one: Residual, other: Residual) -> Residual:
    return other if other.value > one.value or np.isnan(other.value) else one


def _complementary(y: Floats, u: Floats, kappa: Floats) -> Floats:
    """(m,) how far 0 <= u perp y >= 0 is from holding, in m/s, as `natural_normal` has it; where nothing moves, how far u is
    below zero."""
    moves = np.where(kappa > 0.0, kappa, 1.0)
    return np.abs(np.where(kappa > 0.0, np.where(y > kappa * u, u, y / moves), np.minimum(u, 0.0)))


def _box_map(impulse: Floats, velocity: Floats, mu: Floats, kappa: Floats) -> Floats:
    """(m,) as `natural_friction`, with the square about the disk."""
    bound, moves = (mu * np.maximum(impulse[:, 0], 0.0))[:, None], np.where(kappa > 0.0, kappa, 1.0)[:, None]
    u, t = velocity[:, 1:], impulse[:, 1:]
    tried = t - kappa[:, None] * u
    map_ = np.where(np.abs(tried) <= bound, u, (t - np.clip(tried, -bound, bound)) / moves)
    return np.where(kappa > 0.0, np.linalg.norm(map_, axis=1), 0.0)


@leaf_kernel
def _support(u1, u2, sides):
    """max of -y . u over the unit disk, or over the inscribed regular polygon."""
    speed = np.sqrt(u1 * u1 + u2 * u2)
    if sides == 0 or speed == 0.0:
        return speed
    # the vertex nearest to -u is off by less than half a sector
    step = 2.0 * np.pi / sides
    angle = np.arctan2(-u2, -u1)
    return speed * np.cos(angle - step * np.round(angle / step))


@leaf_kernel
def joint_map(box, impulse, u0, u1, u2, kappa):
    """The natural map of the three rows of a joint, m/s; where nothing can move, how fast is what should not be."""
    total = 0.0
    for r in range(3):
        u = u0 if r == 0 else (u1 if r == 1 else u2)
        low, high, gamma = box[r, 0], box[r, 1], box[r, 2]
        if kappa > 0.0:
            off = natural_interval(impulse[r], u, kappa, low, high, gamma)
        elif gamma > 0.0:
            off = 0.0
        else:
            off = u if (u < 0.0 and high > 0.0) or (u > 0.0 and low < 0.0) else 0.0
        total += off * off
    return np.sqrt(total)


@kernel
def _joint_maps(system, impulse, velocity, kappa):
    """(j,) the natural maps of joints, m/s; impulse, velocity: (m, 3), kappa: (m,)."""
    contacts = system.mu.size
    out = np.empty(kappa.size - contacts)
    for j in range(out.size):
        k = contacts + j
        out[j] = joint_map(system.box[j], impulse[k], velocity[k, 0], velocity[k, 1], velocity[k, 2], kappa[k])
    return out


@kernel
def effective_masses(inverse):
    """(m,) of `effective_mass`."""
    kappa = np.empty(inverse.shape[0])
    for k in range(kappa.size):
        kappa[k] = effective_mass(inverse, k)
    return kappa


@leaf_kernel
def natural_error(system, impulse, v, kappa, sides):
    """The largest natural map of impulses (m, 3) and the velocities v (n,) that belong to them, m/s."""
    contacts = system.mu.size
    of_joints, _ = natural_error_between(system, impulse, v, kappa, sides, contacts, kappa.size, np.inf)
    of_contacts, _ = natural_error_between(system, impulse, v, kappa, sides, 0, contacts, np.inf)
    return of_contacts if of_contacts > of_joints or np.isnan(of_contacts) else of_joints


@leaf_kernel
def natural_error_between(system, impulse, v, kappa, sides, first, last, good):
    """The largest natural map of triples first <= k < last, m/s, nan where there is one; and how many are beyond `good`."""
    error, far = 0.0, 0
    contacts = system.mu.size
    for k in range(max(first, contacts), last):
        u, u1, u2 = inlined_relative_velocity(system, k, v)
        here = joint_map(system.box[k - contacts], impulse[k], u, u1, u2, kappa[k])
        if here > error or np.isnan(here):
            error = here
        if not here <= good:
            far += 1
    for k in range(first, min(last, contacts)):
        u, u1, u2 = inlined_relative_velocity(system, k, v)
        n, t1, t2 = impulse[k, 0], impulse[k, 1], impulse[k, 2]
        here = natural_map((n, t1, t2), (u + system.slack[k], u1, u2), system.mu[k] * max(n, 0.0), kappa[k], sides)
        if here > error or np.isnan(here):
            error = here
        if not here <= good:
            far += 1
    return error, far


@leaf_kernel
def _largest_term(jacobian, k, system, body):
    """The largest of the terms whose sum is what a body adds to the velocity at contact k."""
    largest = 0.0
    if body >= 0:
        first = system.offset[body]
        for row in range(3):
            for i in range(system.offset[body + 1] - first):
                largest = max(largest, abs(jacobian[k, row, i] * system.velocity[first + i]))
    return largest


@leaf_kernel
def _demand(system, k, r, u):
    """How much of the velocity u of a row of a joint it would change by itself: nothing where that opens a limit, little where
    it gives way, and no more than its force can, as of a motor asked to be faster than it can be."""
    box = system.box[k - system.mu.size]
    bound, gamma = box[r, 1] if u < 0.0 else -box[r, 0], box[r, 2]
    if bound == 0.0 or (gamma == 0.0 and np.isinf(bound)):
        return 0.0 if bound == 0.0 else u
    inverse = inverse_mass_of_row(system, k, r)
    change = abs(u) * inverse / (inverse + gamma) if gamma > 0.0 else abs(u)
    return min(change, bound * inverse) if inverse > 0.0 else 0.0


@kernel
def scales(system, impulse):
    """(U, L): the largest relative velocity without impulses, with what separation is asked for, and the largest impulse of a
    contact.

    The slack of an open gap, and what a joint is from its limit, is no velocity of anything, and is not counted.
    Bodies that move together have a relative velocity of nothing but round-off: U is not less than `RESOLVED` of the velocities
    that it is the difference of, nor than the least scale of the system.
    """
    fastest, largest, term = 0.0, 0.0, 0.0
    for k in range(system.body_a.size):
        n, t1, t2 = relative_velocity(system, k, system.velocity)
        joint = k - system.mu.size
        if joint >= 0:
            n, t1, t2 = _demand(system, k, 0, n), _demand(system, k, 1, t1), _demand(system, k, 2, t2)
        else:
            n += min(system.slack[k], 0.0)
        fastest = max(fastest, n * n + t1 * t1 + t2 * t2)
        if joint < 0:
            largest = max(largest, impulse[k, 0] ** 2 + impulse[k, 1] ** 2 + impulse[k, 2] ** 2)
        term = max(term, _largest_term(system.jacobian_a, k, system, system.body_a[k]))
        term = max(term, _largest_term(system.jacobian_b, k, system, system.body_b[k]))
        if joint < 0:
            term = max(term, abs(system.bias[k, 0]), abs(system.bias[k, 1]), abs(system.bias[k, 2]))
    return max(np.sqrt(fastest), RESOLVED * term, system.least_scale), np.sqrt(largest)


@kernel
def measure(system, impulse, velocity, kappa, sides, value, index):
    """Worst absolute residuals into `value` (5,) and their triples into `index` (5,); velocity (m, 3) belongs to the impulses.
    Of joints there is the natural map."""
    value[:] = 0.0
    index[:] = -1
    found = np.empty(5)
    contacts = system.mu.size
    for k in range(contacts, system.body_a.size):
        off = joint_map(system.box[k - contacts], impulse[k], velocity[k, 0], velocity[k, 1], velocity[k, 2], kappa[k])
        if off > value[NATURAL_MAP] or np.isnan(off):
            value[NATURAL_MAP] = off
            index[NATURAL_MAP] = k
    for k in range(contacts):
        n, t1, t2 = impulse[k, 0], impulse[k, 1], impulse[k, 2]
        v, u1, u2 = velocity[k, 0] + system.slack[k], velocity[k, 1], velocity[k, 2]
        bound = system.mu[k] * max(n, 0.0)
        found[PENETRATION] = max(0.0, -v)
        found[CONE_EXCESS] = max(0.0, np.sqrt(t1 * t1 + t2 * t2) - bound, -n)
        found[COMPLEMENTARITY] = abs(n * v)
        found[DISSIPATION] = abs(bound * _support(u1, u2, sides) + t1 * u1 + t2 * u2)
        found[NATURAL_MAP] = natural_map((n, t1, t2), (v, u1, u2), bound, kappa[k], sides)
        for i in range(5):
            # a nan is the worst there is, and stays: nothing compares greater than it
            if found[i] > value[i] or np.isnan(found[i]):
                value[i] = found[i]
                index[i] = k


@inner_kernel
def relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index):
    """The largest of the five relative residuals, and which it is."""
    measure(system, impulse, velocity, kappa, sides, value, index)
    largest = 0.0
    for k in range(system.mu.size):
        largest = max(largest, impulse[k, 0] ** 2 + impulse[k, 1] ** 2 + impulse[k, 2] ** 2)
    largest = np.sqrt(largest)
    worst, which = 0.0, 0
    for i in range(5):
        over = fastest if i in (PENETRATION, NATURAL_MAP) else (largest if i == CONE_EXCESS else largest * fastest)
        if value[i] > 0.0 or np.isnan(value[i]):
            ratio = value[i] / over if over > 0.0 else np.inf
            if ratio > worst or np.isnan(ratio):
                worst, which = ratio, i
    return worst, which


def residuals(problem: ContactProblem, result: Result, *, polygon_sides: int = 0, box: bool = False) -> Residuals:
    """Measure a result against its problem; where that is given as a matrix that was rounded, by that matrix as it was given.

    polygon_sides: 0 for Coulomb's law; K >= 3 measures dissipation over the K-sided polygon, which is the solver's own problem
    when it was asked for a polygon. box: whether cone and dissipation are those of the square about the disk, (16) and (18) of
    Baraff 1991, each tangent axis by itself.
    """
    if polygon_sides != 0 and not polygon_sides >= 3:
        raise ValueError(f"polygon_sides must be 0 (disk) or at least 3, not {polygon_sides!r}")
    system = problem.system
    m, dim = problem.contacts, problem.dim
    impulse = np.zeros((m, 3))
    impulse[:, :dim] = result.impulse
    response = np.zeros_like(system.velocity)
    transpose_product(system, impulse, response)
    response += problem.bilateral[0].T @ result.bilateral
    moved = np.empty_like(response)
    apply_inverse_mass(system, response, moved)
    bilateral_error = np.abs(problem.bilateral[0] @ moved + problem.bilateral[1])
    moved += system.velocity
    velocity = relative_velocities(system, moved)
    kappa = effective_masses(effective_inverse_mass(system))
    if problem.matrix is not None:
        velocity[:, :dim] = problem.free_velocity + (problem.matrix @ np.ravel(result.impulse)).reshape(m, dim)
        kappa = masses_of(problem)
    if problem.rounded is not None:
        # of the matrix that was given, not of the one that is solved
        free = np.concatenate([problem.free_velocity.ravel(), problem.bilateral[1]])
        given = problem.rounded.velocity(np.concatenate([np.ravel(result.impulse), result.bilateral]), free)
        velocity[:, :dim] = given[: m * dim].reshape(m, dim)
        bilateral_error = np.abs(given[m * dim :])
    difference = np.abs(velocity[:, :dim] - result.velocity).max(axis=1, initial=0.0)
    fastest, largest = scales(system, impulse)
    fastest = max(fastest, float(np.abs(problem.bilateral[1]).max(initial=0.0)))

    value, index = np.zeros(5), np.full(5, -1, dtype=np.int64)
    contacts = system.mu.size
    of_joints = _joint_maps(system, impulse, velocity, kappa)
    system = system._replace(body_a=system.body_a[:contacts], body_b=system.body_b[:contacts], box=system.box[:0])
    m, impulse, velocity, kappa = contacts, impulse[:contacts], velocity[:contacts], kappa[:contacts]

    # friction along a given direction is no unknown: what it should be counts in the cone, and the rest as if it were not there
    given = problem.slides_along_given
    wanted = -system.mu[given, None] * impulse[given, :1] * problem.direction[given]
    direction_error = np.zeros(m)
    direction_error[given] = np.linalg.norm(impulse[given, 1:dim] - wanted, axis=1)
    impulse[given, 1:] = 0.0
    velocity[given, 1:] = 0.0
    # what cannot slip has no cone: it is held, or not there
    tied = np.isposinf(system.mu)
    slipping, dissipated_there = np.zeros((2, m))
    if tied.any():
        of_tie, speed = np.linalg.norm(impulse, axis=1), np.linalg.norm(velocity[:, 1:], axis=1)
        as_speed = np.divide(of_tie, kappa, out=np.zeros(m), where=kappa > 0.0)
        slipping[tied], dissipated_there[tied] = np.minimum(speed, as_speed)[tied], (of_tie * speed)[tied]
        impulse[tied, 1:] = velocity[tied, 1:] = 0.0
        system = system._replace(mu=np.where(tied, 0.0, system.mu))
    measure(system, impulse, velocity, kappa, polygon_sides, value, index)
    friction, slip = np.linalg.norm(impulse[:, 1:], axis=1), np.linalg.norm(velocity[:, 1:], axis=1)

    def residual(absolute: float, worst: int, over: float, unit: str) -> Residual:
        relative = absolute / over if over > 0.0 else (0.0 if absolute == 0.0 else np.inf)
        return Residual(absolute, relative, worst, unit)

    def measured(which: int, over: float, unit: str) -> Residual:
        return residual(float(value[which]), int(index[which]), over, unit)

    def worst(values: Floats, over: float, unit: str) -> Residual:
        at = int(np.argmax(values)) if values.size else -1  # the first nan, where there is one
        return residual(float(values[at]) if values.size else 0.0, at, over, unit)

    dissipation = _larger(measured(DISSIPATION, largest * fastest, "J"), worst(dissipated_there, largest * fastest, "J"))
    cone, lateral_error = measured(CONE_EXCESS, largest, "N s"), worst(direction_error, largest, "N s")
    if box:
        bound = (system.mu * np.maximum(impulse[:, 0], 0.0))[:, None]
        beyond = np.maximum(np.abs(impulse[:, 1:]) - bound, 0.0).max(axis=1, initial=0.0)
        cone = worst(np.maximum(beyond, -impulse[:, 0]), largest, "N s")
        dissipated = bound * np.abs(velocity[:, 1:]) + impulse[:, 1:] * velocity[:, 1:]
        dissipation = worst(np.abs(dissipated).max(axis=1, initial=0.0), largest * fastest, "J")
    gap = worst(difference, fastest, "m/s")
    normal = _complementary(impulse[:, 0], velocity[:, 0] + system.slack, kappa)
    opposing = np.sum(impulse[:, 1:] * velocity[:, 1:], axis=1)
    along = np.divide(np.maximum(0.0, opposing), friction, out=np.zeros(m), where=friction > 0.0)
    lacking = system.mu * np.maximum(impulse[:, 0], 0.0) - friction
    static = np.maximum(_complementary(lacking, slip, kappa), _complementary(friction, along, kappa))
    aside_speed = worst(np.divide(direction_error, kappa, out=np.zeros(m), where=kappa > 0.0), fastest, "m/s")
    of_ties = worst(np.where(tied, np.hypot(normal, slipping), 0.0), fastest, "m/s")
    natural = _larger(measured(NATURAL_MAP, fastest, "m/s"), of_ties)
    if box:
        natural = worst(np.hypot(normal, _box_map(impulse, velocity, system.mu, kappa)), fastest, "m/s")
    return Residuals(
        penetration=measured(PENETRATION, fastest, "m/s"),
        cone=_larger(cone, lateral_error),
        complementarity=measured(COMPLEMENTARITY, largest * fastest, "J"),
        dissipation=dissipation,
        natural_map=_larger(natural, aside_speed),
        opposition=worst(np.maximum(0.0, opposing), largest * fastest, "J"),
        saturation=worst(slip * np.abs(system.mu * impulse[:, 0] - friction), largest * fastest, "J"),
        static_map=_larger(worst(np.hypot(normal, np.maximum(static, slipping)), fastest, "m/s"), aside_speed),
        joint=worst(of_joints, fastest, "m/s"),
        bilateral=worst(bilateral_error, fastest, "m/s"),
        consistency=gap if fastest > 0.0 else Residual(gap.value, gap.value, gap.index, gap.unit),
    )


@inner_kernel
def law_of_impulses(system, impulse, kappa, fastest, sides):
    """The largest relative residual of Coulomb's law of impulses (m, 3), from them alone, with the relative velocities (m, 3)
    and velocities (n,) that they lead to. kappa: (m,) effective masses. fastest: m/s, U of `scales`."""
    response, v = np.zeros(system.velocity.size), np.empty(system.velocity.size)
    transpose_product(system, impulse, response)
    apply_inverse_mass(system, response, v)
    v += system.velocity
    velocity, value, index = relative_velocities(system, v), np.empty(5), np.empty(5, np.int64)
    worst, _ = relative_coulomb(system, impulse, velocity, kappa, sides, fastest, value, index)
    return worst, velocity, v


@kernel
def law_of(system, impulse, sides):
    """`law_of_impulses`, with their masses and scale."""
    fastest, _ = scales(system, impulse)
    return law_of_impulses(system, impulse, effective_masses(effective_inverse_mass(system)), fastest, sides)


def masses_of(problem: ContactProblem) -> Floats:
    """(m,) effective masses of the contacts of a problem that has its matrix: those of `effective_mass`."""
    assert problem.matrix is not None
    inverse = np.zeros((problem.contacts, 3))
    inverse[:, : problem.dim] = problem.matrix.diagonal().reshape(-1, problem.dim)
    return effective_masses(inverse)


def coulomb_error(problem: ContactProblem, result: Result, polygon_sides: int) -> float:
    """`residuals(...).coulomb` alone, which takes a tenth of the time where a problem is small."""
    if not problem.is_plain:
        return residuals(problem, result, polygon_sides=polygon_sides).coulomb
    impulse = np.zeros((problem.contacts, 3))
    impulse[:, : problem.dim] = result.impulse
    return float(law_of(problem.system, impulse, polygon_sides)[0])
