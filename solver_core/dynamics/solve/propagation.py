# SPDX-License-Identifier: GPL-3.0-or-later
"""Blows that touching bodies pass on: impacts of pairs, one after the other, within no time.

Bodies that touch are what bodies with equal gaps become as these become ever smaller. With gaps each pair that meets has an
impact of its own, by Newton's law, and the next one is that of the pair whose gap closes first; how large the gaps are does
not matter. So here the gap of every pair that touches is 1, and pairs meet when that has closed at the velocities which the
impacts before them left. What meets at the same time has its impacts at once, by Newton's law for all of these: the answer
with the symmetry of the scene, as where a ball runs between two others.

These impacts come before the step is solved and change the velocities that it begins with. Who met in the step before comes
first: its bodies have been held since, and the speed that they came with is remembered (`restitution.py`). Contacts without
restitution hold meanwhile, and joints do. What closes no faster than what rest gathers in a step is no impact and is left to
the step, and so is what would take more impacts than a step may have: it is then answered at once. Where there are many
bodies, or where two meet at several points, that is all but what stands in rows, whose order a user sees.
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

MOST_BLOWS = 2**23  # impacts that follow each other, times the cube of how many bodies and contacts there are
# Bodies and contacts: in more of them all meet all in any order, and orders cannot be distinguished, but in rows.
MOST_STRUCK = 50
IN_LINE = 0.95  # of the square of the normals' tensor where all are parallel: two that are 18 degrees apart
AT_ONCE = 1e-4  # of the time to the next impact: what meets within it meets at once
NO_REBOUND = 1e-7  # of the fastest: a rebound that is slower is rounding

# Of a problem of rebounds and of which contacts of the step it has: velocities (dof,), impulses (k, 3) and factorisations, or
# None where it has no answer.
Solve = Callable[[StepProblem, Indices], tuple[Floats, Floats, int] | None]


class Blow(NamedTuple):
    """What impacts did before a step.

    problem: the step's, with the velocities that they left. impulse: (k, 3) N s, of contacts and triples of joints. struck:
    (m,) m/s, the fastest that contacts closed at, -inf of those that took no part. factorisations: how many it took.
    """

    problem: StepProblem
    impulse: Floats
    struck: Floats
    factorisations: int

    @classmethod
    def none(cls, problem: StepProblem, triples: int) -> Blow:
        """Of a step that begins as it is."""
        m = len(problem.axes)
        return cls(problem, np.zeros((m + triples, 3)), np.full(m, -np.inf), 0)


class Touching(NamedTuple):
    """What touches in the islands that pass on a blow.

    rows: (r,) contacts, and after them triples of joints; island: (r,) theirs. pair: of each of the contacts; of_pair: (pairs,)
    the island of each; max_impacts: (pairs,) how many impacts it may have, one after the other.
    """

    rows: Indices
    island: Indices
    pair: Indices
    of_pair: Indices
    max_impacts: Indices

    def meeting(self, due: Flags, supports: Flags) -> Indices:
        """The rows of pairs that are due (pairs,), and in their islands those that support (m,) and the joints."""
        contacts = len(self.pair)
        chosen = np.isin(self.island, self.of_pair[due])
        chosen[:contacts] &= due[self.pair] | supports[self.rows[:contacts]]
        return self.rows[chosen]


class Law:
    """Newton's law of restitution where forces bring bodies together meanwhile, as in `restitution.py`.

    room: (m,) m, how far contacts are from where their bodies rest.
    """

    def __init__(self, begin: Begin, contacts: ContactSet, problem: StepProblem, least: float):
        """least: m/s, a rebound that is no faster is none."""
        system, self._e, self._least = problem.system, problem.restitution, least
        now, then = (relative_velocities(system, v)[:, 0] for v in (begin.velocities, system.velocity))
        pull = (now - then) / begin.force_time
        self.room = np.maximum(contacts.gap - begin.rest_gaps(contacts), 0.0)
        self._late, self._fallen = 0.5 * begin.h * pull, 2.0 * pull * self.room

    def approach(self, speed: Floats) -> Floats:
        """(m,) m/s at which bodies meet whose contacts open at speeds (m,) in the middle of the step; 0 where they do not."""
        closing = -speed - self._late
        return np.where(closing > 0.0, np.sqrt(np.maximum(closing * closing + self._fallen, 0.0)), 0.0)

    def rebound(self, approach: Floats, negligible: float) -> Floats:
        """(m,) m/s at which they then open in the middle of the step; 0 where they do not bounce."""
        parts = self._e * approach
        return np.where(parts > max(self._least, negligible), np.maximum(parts - self._late, 0.0), 0.0)


def pass_on(begin: Begin, contacts: ContactSet, problem: StepProblem, system: System, least: float, solve: Solve) -> Blow:
    """Let bodies that touch pass on what they are hit by, where there is a third one to pass it on to.

    problem: of the contacts alone; system: with the joints that hold. least: m/s, what would part no faster does not bounce.
    """
    m = len(contacts)
    touching = that_pass_on(begin, contacts, problem, system)
    _, impulse, struck, factorisations = none = Blow.none(problem, len(system.box))
    if touching is None:
        return none
    rows, law = touching.rows[: len(touching.pair)], Law(begin, contacts, problem, least)
    # bodies that met in the step before are where they met: no gap is left between them
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
        # what supports gives way to no more than it does already
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
    # those that are left, if any, bounce at once
    kept = problem.system.slack.copy()
    kept[rows] = slack[rows]
    after = problem.system._replace(velocity=v, slack=kept)
    return Blow(problem._replace(system=after, taken_before=taken), impulse, struck, factorisations)


def that_pass_on(begin: Begin, contacts: ContactSet, problem: StepProblem, system: System) -> Touching | None:
    """What touches in the islands in which a contact bounces whose bodies could bounce off a third one; where impacts have no
    order only if all that bounces is in rows."""
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
    # a row of many passes each blow on once by each of its bodies
    max_impacts = np.where(size <= MOST_STRUCK, MOST_BLOWS // size**3, size)
    return Touching(rows, island, pair.ravel(), island[first], max_impacts[island[first]])


def have_no_order(contacts: ContactSet, rows: Indices, island: Indices, size: Indices) -> Flags:
    """(r,) which rows, ascending, are of islands (r,) of such sizes whose impacts have no order that can be seen: those
    of many, or in which two bodies meet at several points."""
    chosen = rows[rows < len(contacts)]
    a, b = contacts.body_a[chosen], contacts.body_b[chosen]
    again = (a[1:] == a[:-1]) & (b[1:] == b[:-1])
    return (size[island] > MOST_STRUCK) | np.isin(island, island[1 : len(chosen)][again])


def islands_of(system: System, rows: Indices) -> tuple[Indices, Indices]:
    """The islands (r,) that some rows (r,) of a system make of its bodies, and how many rows and bodies each of them has."""
    bodies = len(system.offset) - 1
    a, b = system.body_a[rows], system.body_b[rows]
    start, order = contact_islands(bodies, a, b)
    island = np.empty(len(rows), np.int64)
    island[order] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    of_body = np.full(bodies + 1, -1)
    of_body[a], of_body[b], of_body[-1] = island, island, -1
    return island, np.diff(start) + np.bincount(of_body[of_body >= 0], minlength=len(start) - 1)


def in_rows(begin: Begin, contacts: ContactSet, which: Flags) -> tuple[Flags, Flags]:
    """(m,) contacts whose bodies, of those that move, have no more than two others beside them in some contacts (m,), on
    opposite sides; and (m,) those of them of which a body has two."""
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
    """(pairs,) those that meet next in their island; the gaps (pairs,) become those that there are then.

    closing: (contacts,) m/s, bounces: (contacts,) those that do where they meet.
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
    """The laws (j, 3, 3) of rows of joints, of whose two bounds impulses (j, 3) N s have used up a part.

    A bound of zero is that of a limit, and each impact has it anew.
    """
    used = np.isfinite(box[..., :2]).all(axis=2)[..., None] & (box[..., :2] != 0.0)
    if not used.any():
        return box
    out = box.copy()
    out[..., 0] = np.where(used[..., 0], np.minimum(box[..., 0] - impulse, 0.0), box[..., 0])
    out[..., 1] = np.where(used[..., 1], np.maximum(box[..., 1] - impulse, 0.0), box[..., 1])
    return out


def of_rows(problem: StepProblem, system: System, rows: Indices, slack: Floats, v: Floats, speed: Floats) -> StepProblem:
    """The problem of some contacts and triples of joints, as yet at velocities v (dof,).

    slack: (m,) of contacts. speed: (k, 3) m/s, that rows of the system have at v; those of joints keep it, up to limits.
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
