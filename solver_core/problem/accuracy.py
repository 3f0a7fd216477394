# SPDX-License-Identifier: GPL-3.0-or-later
"""Residuals of a result, computed from the contact problem alone.

The velocities are recomputed from the impulses, u = G lam + g, so the velocities of the solver are not trusted. Each residual
has its worst contact, its unit, and a relative value. Velocities are relative to U, the larger of the velocity scale
(`residuals.fastest_velocity`) and the free velocities of bilateral constraints. Impulses are relative to L = max |lam|, and
energies to U L. If there are heavy bodies, L hides errors at light ones. The natural map does not: it expresses the error of
each contact in m/s, by the effective mass of that contact. Joints are measured in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .contact_problem import ContactProblem
from .residuals import (
    COMPLEMENTARITY,
    CONE_EXCESS,
    DISSIPATION,
    NATURAL_MAP,
    PENETRATION,
    effective_masses,
    fastest_velocity,
    joint_maps,
    largest_impulse,
    law_of,
    measure,
)
from .result import Result
from .system import apply_inverse_mass, effective_inverse_mass, relative_velocities, transpose_product

__all__ = ["Residual", "Residuals", "coulomb_error", "masses_of", "residuals"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Residual:
    """The worst value of a residual over all contacts.

    value: absolute value. relative: value relative to the scale of the problem.
    index: index of the worst contact, -1 for none. unit: unit of `value`.
    """

    value: float
    relative: float
    index: int
    unit: str


@dataclass(frozen=True)
class Residuals:
    """Accuracy of a result.

    penetration: max(0, -(u_n + c)) [m/s].
    cone: distance of an impulse from its friction cone [N s].
    complementarity: |lam_n (u_n + c)| [J].
    dissipation: mu lam_n |u_t| + lam_t . u_t [J], zero if friction opposes the slip with the largest impulse that it may have.
    natural_map: |lam - (max(0, lam_n - kappa (u_n + c)), P(lam_t - kappa u_t))| / kappa [m/s], with P onto the disk of radius
        mu lam_n and the effective mass kappa of the contact. It is zero exactly at solutions (Alart and Curnier 1991), and
        expresses an error of an impulse as the velocity that it causes at the contact.
    opposition: max(0, lam_t . u_t) [J], (21) of Baraff 1994.
    saturation: |u_t| (mu lam_n - |lam_t|) [J], the last condition of (16) of Baraff 1994.
    static_map: a natural map of these two conditions and the cone [m/s], instead of P. It is the largest of three: the distance
        of |lam_t| from the cone; the smaller of |u_t| and the unused friction; the smaller of |lam_t| and the slip along it.
    joint: natural map of the three rows of a joint together [m/s], |lam - P((lam - kappa u) / (1 + kappa gamma))| / kappa, with
        P onto the interval of each row. Its index is that of the joint.
    bilateral: |u_b| of a bilateral constraint [m/s]. Its index is that of the constraint.
    consistency: difference of the velocities of the result from G lam + g [m/s].

    At contacts with a prescribed sliding direction d, cone is |lam_t + mu lam_n d|, and there is no condition on u_t. At
    contacts with mu = inf, the friction part of the natural map and of the static map is the smaller of |u_t| and |lam| /
    kappa, and dissipation is |lam| |u_t|.
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
        """Largest relative residual of Coulomb's law.

        It is that of penetration, cone, complementarity, dissipation, natural map, joint and bilateral.
        """
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
        """Largest relative residual of Baraff's conditions (15), (16) and (21).

        They require less of the direction of friction than Coulomb's law. The residual is that of penetration, cone,
        complementarity, opposition, saturation, static map, joint and bilateral.
        """
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
    """Return the largest relative value, or nan if one is nan."""
    return float(np.max([part.relative for part in parts]))


def _larger(one: Residual, other: Residual) -> Residual:
    """Return the residual with the larger value, or one that is nan."""
    return other if other.value > one.value or np.isnan(other.value) else one


def _complementary(y: Floats, u: Floats, kappa: Floats) -> Floats:
    """Return the residual of 0 <= u perp y >= 0 for each contact (m,) [m/s], as `natural_normal` does.

    If kappa is 0, nothing can move, and the residual is max(0, -u).
    """
    moves = np.where(kappa > 0.0, kappa, 1.0)
    return np.abs(np.where(kappa > 0.0, np.where(y > kappa * u, u, y / moves), np.minimum(u, 0.0)))


def _box_map(impulse: Floats, velocity: Floats, mu: Floats, kappa: Floats) -> Floats:
    """Return the natural map of friction (m,) [m/s], with the square around the disk as the set."""
    bound, moves = (mu * np.maximum(impulse[:, 0], 0.0))[:, None], np.where(kappa > 0.0, kappa, 1.0)[:, None]
    u, t = velocity[:, 1:], impulse[:, 1:]
    tried = t - kappa[:, None] * u
    map_ = np.where(np.abs(tried) <= bound, u, (t - np.clip(tried, -bound, bound)) / moves)
    return np.where(kappa > 0.0, np.linalg.norm(map_, axis=1), 0.0)


def residuals(problem: ContactProblem, result: Result, *, polygon_sides: int = 0, box: bool = False) -> Residuals:
    """Measure a result with its problem. If an inexact matrix was repaired, the original matrix is used.

    Parameters
    ----------
    problem : ContactProblem
    result : Result
    polygon_sides : int
        0 for Coulomb's law. K >= 3 measures dissipation with the polygon of K sides, the law of a solver with that polygon.
    box : bool
        True if cone and dissipation are those of the square around the disk, (16) and (18) of Baraff 1991, where each tangent
        axis has its own friction.

    Returns
    -------
    Residuals

    Raises
    ------
    ValueError
        If `polygon_sides` is neither 0 nor at least 3.
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
        # Use the original matrix, not the repaired one.
        free = np.concatenate([problem.free_velocity.ravel(), problem.bilateral[1]])
        given = problem.rounded.velocity(np.concatenate([np.ravel(result.impulse), result.bilateral]), free)
        velocity[:, :dim] = given[: m * dim].reshape(m, dim)
        bilateral_error = np.abs(given[m * dim :])
    difference = np.abs(velocity[:, :dim] - result.velocity).max(axis=1, initial=0.0)
    largest = largest_impulse(system, impulse)
    fastest = max(fastest_velocity(system), float(np.abs(problem.bilateral[1]).max(initial=0.0)))

    value, index = np.zeros(5), np.full(5, -1, dtype=np.int64)
    contacts = system.mu.size
    of_joints = joint_maps(system, impulse, velocity, kappa)
    system = system._replace(body_a=system.body_a[:contacts], body_b=system.body_b[:contacts], box=system.box[:0])
    m, impulse, velocity, kappa = contacts, impulse[:contacts], velocity[:contacts], kappa[:contacts]

    # Friction along a prescribed direction is not an unknown. Its error counts as that of the cone, and is left out of the
    # others.
    given = problem.slides_along_given
    wanted = -system.mu[given, None] * impulse[given, :1] * problem.direction[given]
    direction_error = np.zeros(m)
    direction_error[given] = np.linalg.norm(impulse[given, 1:dim] - wanted, axis=1)
    impulse[given, 1:] = 0.0
    velocity[given, 1:] = 0.0
    # A contact that cannot slip has no cone. It sticks or has no impulse.
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
        row = int(np.argmax(values)) if values.size else -1  # the first nan if there is one
        return residual(float(values[row]) if values.size else 0.0, row, over, unit)

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


def masses_of(problem: ContactProblem) -> Floats:
    """Return the effective masses (m,) [kg] of the contacts of a problem with a sparse Delassus matrix."""
    assert problem.matrix is not None
    inverse = np.zeros((problem.contacts, 3))
    inverse[:, : problem.dim] = problem.matrix.diagonal().reshape(-1, problem.dim)
    return effective_masses(inverse)


def coulomb_error(problem: ContactProblem, result: Result, polygon_sides: int) -> float:
    """Return `residuals(...).coulomb`, in a tenth of the time if the problem is small."""
    if not problem.is_plain:
        return residuals(problem, result, polygon_sides=polygon_sides).coulomb
    impulse = np.zeros((problem.contacts, 3))
    impulse[:, : problem.dim] = result.impulse
    return float(law_of(problem.system, impulse, polygon_sides)[0])
