# SPDX-License-Identifier: GPL-3.0-or-later
"""Propagation of impacts through touching bodies: a sequence of impacts of pairs, in zero time.

Touching bodies are treated as the limit of bodies with equal, ever smaller gaps. With gaps, each pair has an impact of its own
by Newton's law, and the pair whose gap closes first is next. The size of the gaps does not matter, so every touching pair has
a virtual gap of 1, which closes at the velocities that the previous impacts left. Pairs that collide at the same time are
solved together. The result then has the symmetry of the scene, for example if a ball runs between two others.

These impacts are solved before the step and change its initial velocities. Pairs that collided in the previous step come first:
they were kept in contact since, and their impact speed was stored (`restitution.py`). Contacts without restitution and joints
stay satisfied during each impact. A pair that closes no faster than gravity accelerates a resting body in a step has no impact
here; the step solves it. The step also solves, simultaneously, what would take more than the allowed number of impacts. In
islands with many bodies, or in which two bodies touch at several points, only bodies in rows have sequential impacts, because
their order is visible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...problem.subsystem import contact_islands
from ...problem.system import System, relative_velocities
from ..contact.build import StepProblem
from ..model.predict import Begin
from .separation import left_to_limits

__all__ = ["Blow", "have_no_order", "in_rows", "islands_of", "left_to_thresholds", "pass_on"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

MOST_BLOWS = 2**23  # limit on the number of sequential impacts times the cube of the number of bodies and contacts
MOST_STRUCK = 50  # bodies and contacts of an island; in larger ones the order of impacts makes no difference, except in rows
IN_LINE = 0.95  # fraction of the squared norm that the tensor of parallel normals has; two normals 18 degrees apart reach it
AT_ONCE = 1e-4  # fraction of the time to the next impact; impacts within it are simultaneous
NO_REBOUND = 1e-7  # fraction of the fastest approach; a slower rebound is rounding

# Solves a problem of rebounds, given the contacts of the step that it contains. Returns velocities (dof,), impulses (k, 3) and
# the number of factorizations; None if it is unsolved.
Solve = Callable[[StepProblem, Indices], tuple[Floats, Floats, int] | None]


class Blow(NamedTuple):
    """The result of the impacts before a step.

    problem: of the step, with the velocities after the impacts. impulse: (k, 3) N s, of contacts and triples of joint rows.
    struck: (m,) m/s, the largest approach speed of each contact, -inf without an impact. factorisations: their number.
    """

    problem: StepProblem
    impulse: Floats
    struck: Floats
    factorisations: int

    @classmethod
    def none(cls, problem: StepProblem, triples: int) -> Blow:
        """Return the result for a step without impacts before it."""
        m = len(problem.axes)
        return cls(problem, np.zeros((m + triples, 3)), np.full(m, -np.inf), 0)


class Touching(NamedTuple):
    """The touching contacts and the joints of the islands that propagate impacts.

    rows: (r,) contacts, then triples of joint rows. island: (r,) of each row. pair: the index of the pair of each contact.
    of_pair: (pairs,) the island of each pair. max_impacts: (pairs,) limit on the sequential impacts of each pair's island.
    """

    rows: Indices
    island: Indices
    pair: Indices
    of_pair: Indices
    max_impacts: Indices

    def meeting(self, due: Flags, supports: Flags) -> Indices:
        """Return the rows of the pairs that collide, `due` (pairs,), with the supporting contacts (m,) and joints of their
        islands."""
        contacts = len(self.pair)
        chosen = np.isin(self.island, self.of_pair[due])
        chosen[:contacts] &= due[self.pair] | supports[self.rows[:contacts]]
        return self.rows[chosen]


class Law:
    """Newton's law of restitution for bodies that forces accelerate during the step, as in `restitution.py`.

    room: (m,) m, the gap of each contact beyond its gap at rest.
    """

    def __init__(self, begin: Begin, contacts: ContactSet, problem: StepProblem, least: float):
        """least: m/s; slower rebounds do not occur."""
        system, self._e, self._least = problem.system, problem.restitution, least
        now, then = (relative_velocities(system, v)[:, 0] for v in (begin.velocities, system.velocity))
        pull = (now - then) / begin.force_time
        self.room = np.maximum(contacts.gap - begin.rest_gaps(contacts), 0.0)
        self._late, self._fallen = 0.5 * begin.h * pull, 2.0 * pull * self.room

    def approach(self, speed: Floats) -> Floats:
        """Return (m,) m/s, the impact speeds, from the opening speeds (m,) in the middle of the step; 0 without an impact."""
        closing = -speed - self._late
        return np.where(closing > 0.0, np.sqrt(np.maximum(closing * closing + self._fallen, 0.0)), 0.0)

    def rebound(self, approach: Floats, negligible: float) -> Floats:
        """Return (m,) m/s, the opening speeds in the middle of the step after the rebound; 0 without a rebound."""
        parts = self._e * approach
        return np.where(parts > max(self._least, negligible), np.maximum(parts - self._late, 0.0), 0.0)


def pass_on(begin: Begin, contacts: ContactSet, problem: StepProblem, system: System, least: float, solve: Solve) -> Blow:
    """Resolve chains of impacts through touching bodies before the step is solved.

    Parameters
    ----------
    begin : the step
    contacts : the m contacts
    problem : the contact problem without rows of joints
    system : its system with t triples of joint rows
    least : m/s; slower rebounds do not occur
    solve : solves simultaneous impacts

    Returns
    -------
    the problem after the impacts, with their impulses (m + t, 3) and approach speeds
    """
    m = len(contacts)
    touching = that_pass_on(begin, contacts, problem, system)
    _, impulse, struck, factorisations = none = Blow.none(problem, len(system.box))
    if touching is None:
        return none
    rows, law = touching.rows[: len(touching.pair)], Law(begin, contacts, problem, least)
    # Bodies that collided in the previous step are in contact: their virtual gap is 0.
    waiting = np.where(problem.approach_before > 0.0, np.maximum(-problem.system.slack, 0.0), 0.0)
    gap = np.ones(len(touching.of_pair))
    gap[touching.pair[waiting[rows] > 0.0]] = 0.0
    v, slack, taken, negligible = system.velocity, problem.system.slack, problem.taken_before.copy(), 0.0
    for turn in range(int(touching.max_impacts.max()) + 1):
        speed = relative_velocities(system, v)
        approach = law.approach(speed[:m, 0])
        negligible = max(negligible, NO_REBOUND * float(approach[rows].max(initial=0.0)))
        rebound = np.maximum(law.rebound(approach, negligible), waiting)
        slack = np.where(rebound > 0.0, -rebound, law.room / begin.h)
        due = next_to_meet(touching, gap, -speed[rows, 0], rebound[rows] > 0.0)
        due &= turn < touching.max_impacts
        if not due.any():
            break
        some = touching.meeting(due, problem.restitution == 0.0)
        hit = rows[due[touching.pair]]
        # Supporting contacts may not close faster than they already do.
        held = np.maximum(law.room / begin.h, -speed[:m, 0])
        held[hit] = slack[hit]
        left = system._replace(box=left_to_thresholds(system.box, impulse[m:]))
        solved = solve(of_rows(problem._replace(taken_before=taken), left, some, held, v, speed), some[some < m])
        if solved is None:
            break
        v, pushed, spent = solved
        impulse[some] += pushed
        factorisations += spent
        taken[hit], waiting[:] = 0.0, 0.0
        struck[hit] = np.maximum(struck[hit], approach[hit])
    # The step solves any remaining rebounds simultaneously.
    kept = problem.system.slack.copy()
    kept[rows] = slack[rows]
    after = problem.system._replace(velocity=v, slack=kept)
    return Blow(problem._replace(system=after, taken_before=taken), impulse, struck, factorisations)


def that_pass_on(begin: Begin, contacts: ContactSet, problem: StepProblem, system: System) -> Touching | None:
    """Return the touching contacts of the islands that propagate impacts; None if there are none.

    In such an island a contact bounces, and one of its bodies may bounce off a third body. Islands whose impacts have no order
    are included only if all contacts that may bounce are in rows.
    """
    fastest = float(np.abs(begin.bodies.predicted[:, :3]).max(initial=0.0))
    bounces = -problem.system.slack > NO_REBOUND * fastest
    if not bounces.any():
        return None
    m, ends = len(contacts), contacts.ends
    touch = begin.touching(contacts)
    may_bounce = touch & (problem.restitution > 0.0)
    met = np.bincount(np.unique(ends[may_bounce], axis=0).ravel(), minlength=len(begin.awake))
    passes = bounces & (np.where(begin.model.dof >= 0, met, 0)[ends].max(axis=1) > 1)
    if not passes.any():
        return None
    rows = np.concatenate([np.flatnonzero(touch), np.arange(m, len(system.body_a))])
    island, size = islands_of(system, rows)
    mixed = have_no_order(contacts, rows, island, size)
    if mixed.any():
        in_line, between = in_rows(begin, contacts, may_bounce)
        out_of_line = np.isin(rows, np.flatnonzero(may_bounce & ~in_line))
        passes &= between | ~np.isin(np.arange(m), rows[mixed])
        mixed &= np.isin(island, island[out_of_line])
    wanted = np.isin(island, island[np.isin(rows, np.flatnonzero(passes))]) & ~mixed
    if not wanted.any():
        return None
    rows, island = rows[wanted], island[wanted]
    _, first, pair = np.unique(ends[rows[rows < m]], axis=0, return_index=True, return_inverse=True)
    # In a long row, each body propagates an impact once.
    max_impacts = np.where(size <= MOST_STRUCK, MOST_BLOWS // size**3, size)
    return Touching(rows, island, pair.ravel(), island[first], max_impacts[island[first]])


def have_no_order(contacts: ContactSet, rows: Indices, island: Indices, size: Indices) -> Flags:
    """Return (r,) which rows belong to islands whose impacts have no visible order.

    These are large islands, and islands in which two bodies touch at several points.

    rows: (r,) ascending. island: (r,) of each row. size: (islands,) the number of rows and bodies of each island.
    """
    chosen = rows[rows < len(contacts)]
    a, b = contacts.body_a[chosen], contacts.body_b[chosen]
    again = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
    return (size[island] > MOST_STRUCK) | np.isin(island, island[1 : len(chosen)][again])


def islands_of(system: System, rows: Indices) -> tuple[Indices, Indices]:
    """Return the islands (r,) that the given rows (r,) of a system form, and the number of rows and bodies of each island."""
    bodies = len(system.offset) - 1
    a, b = system.body_a[rows], system.body_b[rows]
    start, order = contact_islands(bodies, a, b)
    island = np.empty(len(rows), np.int64)
    island[order] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    of_body = np.full(bodies + 1, -1)
    of_body[a], of_body[b], of_body[-1] = island, island, -1
    return island, np.diff(start) + np.bincount(of_body[of_body >= 0], minlength=len(start) - 1)


def in_rows(begin: Begin, contacts: ContactSet, which: Flags) -> tuple[Flags, Flags]:
    """Return (m,) the contacts between bodies in a row, and (m,) those of them with a body that has two neighbors.

    A movable body is in a row if, among the contacts `which` (m,), it has at most two movable neighbors, on opposite sides.
    """
    moves, ends = begin.model.dof >= 0, contacts.ends
    among = np.flatnonzero(which & moves[ends].all(axis=1))
    pairs, first = np.unique(ends[among], axis=0, return_index=True)
    normal, tensor = contacts.normal[among[first]], np.zeros((len(moves), 3, 3))
    np.add.at(tensor, pairs.ravel(), np.repeat(normal[:, :, None] * normal[:, None, :], 2, axis=0))
    met = np.bincount(pairs.ravel(), minlength=len(moves))
    is_in_line = (met <= 2) & ((tensor * tensor).reshape(len(tensor), -1).sum(axis=1) >= IN_LINE * met * met)
    in_line = is_in_line[ends].all(axis=1)
    return in_line, in_line & (met[ends].max(axis=1) > 1)


def next_to_meet(touching: Touching, gap: Floats, closing: Floats, bounces: Flags) -> Flags:
    """Return (pairs,) which pairs collide next in their island, and update the virtual gaps (pairs,) to that time.

    closing: (contacts,) m/s. bounces: (contacts,) which contacts bounce if they collide.
    """
    fastest, meets = np.full(len(gap), -np.inf), np.zeros(len(gap), np.bool_)
    np.maximum.at(fastest, touching.pair, closing)
    meets[touching.pair[bounces]] = True
    wait = np.full(len(gap), np.inf)
    np.divide(gap, fastest, out=wait, where=meets & (fastest > 0.0))
    wait[meets & (gap == 0.0)] = 0.0
    least = np.full(int(touching.of_pair.max()) + 1, np.inf)
    np.minimum.at(least, touching.of_pair, wait)
    passed = least[touching.of_pair]
    due = (wait <= (1.0 + AT_ONCE) * passed) & np.isfinite(wait)
    moving = np.isfinite(passed)
    gap[moving] = np.maximum(gap[moving] - passed[moving] * fastest[moving], 0.0)
    gap[due] = 0.0
    return due


def left_to_thresholds(box: Floats, impulse: Floats) -> Floats:
    """Return the bounds (j, 3, 3) of joint rows, less the impulses (j, 3) N s that previous impacts used of them.

    A bound of zero belongs to a limit. It is the same for each impact.
    """
    used = np.isfinite(box[..., :2]).all(axis=2)[..., None] & (box[..., :2] != 0.0)
    if not used.any():
        return box
    out = box.copy()
    out[..., 0] = np.where(used[..., 0], np.minimum(box[..., 0] - impulse, 0.0), box[..., 0])
    out[..., 1] = np.where(used[..., 1], np.maximum(box[..., 1] - impulse, 0.0), box[..., 1])
    return out


def of_rows(problem: StepProblem, system: System, rows: Indices, slack: Floats, v: Floats, speed: Floats) -> StepProblem:
    """Return the problem of some contacts and triples of joint rows, with initial velocities v (dof,).

    slack: (m,) m/s, of contacts. speed: (k, 3) m/s, of the rows of the system at v; joint rows keep it, except at limits.
    """
    m = len(slack)
    some, joints = rows[rows < m], rows[rows >= m]
    box, bias = system.box[joints - m], system.bias[rows]
    bias[len(some) :] += left_to_limits(speed[joints], box) - speed[joints]
    part = system._replace(
        velocity=v,
        body_a=system.body_a[rows],
        body_b=system.body_b[rows],
        jacobian_a=system.jacobian_a[rows],
        jacobian_b=system.jacobian_b[rows],
        bias=bias,
        slack=slack[some],
        mu=system.mu[some],
        box=box,
    )
    of_contacts = (array[some] for array in problem[4:])
    return StepProblem(part, problem.elastic, problem.axes[some], np.zeros((len(rows), 3)), *of_contacts)
