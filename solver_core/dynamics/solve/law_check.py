# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent check of a step that was solved: does the contact law explain what its contacts did?

The residuals say how well the impulses solve the problem that was posed. They cannot say whether it was the right problem: a
contact along the side of a level tile is solved as exactly as one along a wall. So this check asks questions about the motion.

*Distance.* A contact with a gap may act only if its bodies would come together without it. The impulses of all such contacts
are taken out of the step, v' = v - M^-1 J^T lam, and time of impact follows the motion v' to the end of the step. A pair that
v' does not bring together had no reason for its contact: it does not overlap, and the gap measured at places along the way does
not fall below half a rest offset. Pairs that are not found in the motion without all of these contacts
are asked about once more, one by one. A contact that holds back less than the bound

    4 rest offsets + (h |u_t|)^2 / 2s,      s the half extent of the smaller body,

is not asked about: by as much a curved surface leaves its tangent plane.

*Angle.* Where the bodies of such a contact would bounce, their normals at the time of impact along v' are compared with those
that the contacts push along: an impact changes the velocities along the line in which its bodies meet.

*Bounce.* An impact that has begun ends in the next step, and one of bodies that touch ends at once: some contact of the pair
opens at e times the speed of approach. If none does, and the pair does not go on closing, the bounce is lost.

*Energy.* The work of the contacts of an island in a step is lam . u - lam . G lam / 2 with the velocities u after it, the
Delassus operator G and the biases in u. Contacts that do not rebound have lam . u <= 0, so an island gives at most what
`rebounds.py` allows: e^2 of the energy that the impacts took.

*Momentum.* The velocity of a body in a step without joints is v_hat + M^-1 J^T lam. Two bodies at a contact have one point, so
their impulses and torques cancel.

Energy and momentum are checked in steps with an impact or a rebound, energy in those that are solved to the tolerance.
Elsewhere all contacts rest or slide, and the residuals say the same. Bodies that bend or deform are asked about their bounces
alone, since their surfaces move while they touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet, deepest_of_pairs
from ...collision.time_of_impact import Motion
from ...problem.result import Status
from ...problem.subsystem import contact_islands
from ...problem.system import apply_inverse_mass, relative_velocities, transpose_product
from ...scene.combine import combine
from ..contact.memory import ContactMemory
from ..look_ahead.impacts import ImpactFinder
from ..look_ahead.later_contacts import LaterContacts
from ..model.bodies import Bodies, State
from ..model.predict import Begin
from ..model.rest_gaps import rest_offsets
from ..model.violations import NO_VIOLATIONS, Violation, Violations
from ..motion.deformation import Deformation
from ..motion.rotation import matrices, rotated_by
from .outcome import Solution

__all__ = ["Checked", "LawCheck"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

Pairs = list[tuple[int, int]]
MotionOf = Callable[[Floats], Motion]

# Rest offsets by which a contact must hold its bodies back before it is asked about. Time of impact sees half of one.
HELD_BACK = 4.0
NEAR = 0.5  # rest offsets: with less than that between them bodies are nearer than at rest
PLACES = 16  # on the way of a pair that does not overlap, at which its gap is measured
MOST_ALONE = 64  # pairs of a step that are asked about one by one
EXPECTED = 2.0  # times the least speed of a bounce: slower rebounds may be lost to the forces of half a step
SAME_LINE = 0.9998  # cosine of two normals that are the same
TURNED = 0.05  # rad between the line along which an impact pushes and that in which its bodies meet
PARTS = 0.5  # of the speed that restitution asks for
GAIN = 1e-2  # of what passes through the contacts of an island: energy above what was taken
UNEXPLAINED = 1e-10  # of a body's energy of motion: that of the velocity which impulses do not explain


class Checked(NamedTuple):
    """A step to be checked.

    Attributes
    ----------
    begin : the step
    state, moved : bodies as it begins, and as it ends
    after : contacts where it ends, of pairs that moved, None where they were not looked for
    solution : the accepted one, with the impulses of this step alone
    memory : contacts of the last step, before this one is remembered
    is_jointed : whether joints take part in the step
    motion_of : the motion of the step with other velocities (dof,)
    """

    begin: Begin
    state: State
    moved: State
    after: ContactSet | None
    solution: Solution
    memory: ContactMemory
    is_jointed: bool
    motion_of: MotionOf


class Held(NamedTuple):
    """The contacts of a step that closed a gap.

    Attributes
    ----------
    row : (k,) among the contacts of the step
    impulse : (k, 3) N s, along their axes
    offset, smaller : (k,) m, the rest offset of the two bodies, and half the largest extent of the smaller one
    """

    row: Ints
    impulse: Floats
    offset: Floats
    smaller: Floats

    def chosen(self, rows: Flags) -> Held:
        """Those of some rows (k,)."""
        return Held(self.row[rows], self.impulse[rows], self.offset[rows], self.smaller[rows])


class LawCheck:
    """Checks the steps of a scene; made once for a scene."""

    def __init__(
        self, bodies: Bodies, impacts: ImpactFinder, later: LaterContacts, deformation: Deformation, restitution_rule: int
    ) -> None:
        """restitution_rule: the code by which the coefficients of two bodies are combined."""
        self._size, self._restitution, self._rule = bodies.model.size, bodies.model.restitution, restitution_rule
        self._impacts, self._later, self._movable = impacts, later, bodies.model.dof >= 0
        self._least_offset = float(rest_offsets(self._size)[np.isfinite(self._size)].min(initial=np.inf))
        self._deforms = ~deformation.never()

    def violations(self, step: Checked) -> Violations:
        """What the contact law does not explain in a step."""
        begin, solution = step.begin, step.solution
        found = {Violation.BOUNCE: self._lost(begin, solution, step.memory)}
        held = self._held(begin, solution)
        rebounds = bool((solution.system.slack < 0.0).any())
        if held is not None:
            found[Violation.DISTANCE], found[Violation.ANGLE] = self._closings(step, held)
        if begin.bend is None and (held is not None or rebounds):
            # impacts before the step and joints take turns: the impulses of both do not tell in which order
            is_ordered = not (step.is_jointed and np.isfinite(solution.struck).any())
            if is_ordered and solution.totals.status == Status.SOLVED:
                found[Violation.ENERGY] = given_by_islands(solution)
            if not step.is_jointed:
                found[Violation.MOMENTUM] = unexplained_bodies(begin, solution)
        if not any(found.values()):
            return NO_VIOLATIONS
        count, pair = NO_VIOLATIONS.count.copy(), NO_VIOLATIONS.pair.copy()
        for which, pairs in found.items():
            count[which] = len(pairs)
            if pairs:
                pair[which] = pairs[0]
        return Violations(count, pair)

    def _held(self, begin: Begin, solution: Solution) -> Held | None:
        """The contacts of rigid bodies that closed a gap of a rest offset at least, None where there are none.

        Bodies that overlap already are in contact.
        """
        closed = (solution.system.slack * begin.h > self._least_offset) & (solution.memory.impulse[:, 0] > 0.0)
        if not closed.any():
            return None
        row, contacts = np.flatnonzero(closed), solution.contacts
        a, b = contacts.body_a[row], contacts.body_b[row]
        smaller = np.minimum(self._size[a], self._size[b])
        offset: Floats = rest_offsets(smaller)
        held = begin.at_rest(contacts).held[row]
        overlap = deepest_of_pairs(contacts, contacts.gap, contacts.chosen(row)) < -offset
        asked = ~held & ~overlap & ~self._deforms[a] & ~self._deforms[b] & (solution.system.slack[row] * begin.h > offset)
        if not asked.any():
            return None
        return Held(row, local_impulses(solution)[row], offset, smaller).chosen(asked)

    def _closings(self, step: Checked, held: Held) -> tuple[Pairs, Pairs]:
        """The pairs whose contacts acted at a distance, and those that bounce along a line in which they did not meet."""
        held = self._not_confirmed(step, held)
        if not len(held.row):
            return [], []
        apart, turned = self._apart_and_turned(step, held)
        ends = step.solution.contacts.ends[held.row]
        several = len(np.unique(ends, axis=0)) > 1
        if several and len(apart) + len(turned):
            # what the impulses on other pairs change is no reason: each is asked about without its own contacts alone
            asked = np.concatenate([apart, turned])[:MOST_ALONE]
            found = [self._apart_and_turned(step, held.chosen((ends == pair).all(axis=1))) for pair in asked]
            apart = np.unique(np.concatenate([pairs for pairs, _ in found]), axis=0)
            turned = np.unique(np.concatenate([pairs for _, pairs in found]), axis=0)
        return as_pairs(apart), as_pairs(turned)

    def _not_confirmed(self, step: Checked, held: Held) -> Held:
        """The contacts that hold back anything, but for those that their pair still has where the step ends."""
        solution, moved = step.solution, step.moved
        held = held.chosen(self._held_back(step, held, without(solution, held)) > 0.0)
        if len(held.row) and step.after is not None:
            held = self._not_among(step.after, solution.contacts, held)
        if not len(held.row):
            return held
        # what came to rest was not looked at again
        chosen = np.zeros(len(self._size), np.bool_)
        chosen[solution.contacts.ends[held.row]] = True
        poses = moved.position, matrices(moved.orientation)
        after = self._later.contacts_at(*poses, chosen, 0.0, chosen & self._movable)
        return self._not_among(after, solution.contacts, held)

    def _not_among(self, after: ContactSet, contacts: ContactSet, held: Held) -> Held:
        """The contacts whose pair has none with the same normal where the step ends."""
        key = np.array([len(self._size), 1])
        same = (contacts.ends[held.row] @ key)[:, None] == after.ends @ key
        return held.chosen(~(same & (contacts.normal[held.row] @ after.normal.T > SAME_LINE)).any(axis=1))

    def _apart_and_turned(self, step: Checked, held: Held) -> tuple[Ints, Ints]:
        """(p, 2), (q, 2): what `_closings` finds without the impulses of all these contacts."""
        solution, v = step.solution, without(step.solution, held)
        left, ends = self._held_back(step, held, v), solution.contacts.ends[held.row]
        u = relative_velocities(solution.system, v)[held.row]
        curved = step.begin.h**2 * (u[:, 1] ** 2 + u[:, 2] ** 2) / (2.0 * held.smaller)
        beyond_curvature, ends = np.unique(ends[left > curved], axis=0), np.unique(ends[left > 0.0], axis=0)
        if not len(ends):
            return ends, ends
        motion, key = step.motion_of(v), np.array([len(self._size), 1])
        met = self._impacts.first_touches(ends, motion)
        apart = beyond_curvature[~np.isin(beyond_curvature @ key, met.bodies @ key)]
        if len(apart):
            apart = self._stay_apart(step.state, apart, motion)
        parts = solution.restitution[held.row] * solution.approach[held.row]
        bouncing = solution.contacts.chosen(held.row[parts > EXPECTED * step.begin.least_bounce])
        met = met.chosen(~met.touching & np.isin(met.bodies @ key, bouncing.ends @ key))
        if not len(met):
            return apart, ends[:0]
        lines = self._later.contacts_at_impact(met.bodies, met.times, step.state, motion)
        turned = [pair for pair in met.bodies if turn_between(bouncing, lines, pair) > TURNED]
        return apart, np.array(turned, np.int64).reshape(-1, 2)

    def _held_back(self, step: Checked, held: Held, v: Floats) -> Floats:
        """(k,) m by which velocities v (dof,) break contacts, beyond what is asked about."""
        system = step.solution.system
        opening = relative_velocities(system, v)[held.row, 0] + system.slack[held.row]
        return -step.begin.h * opening - HELD_BACK * held.offset

    def _stay_apart(self, state: State, pairs: Ints, motion: Motion) -> Ints:
        """(p, 2) those of some pairs that keep their gaps along a motion."""
        chosen = np.zeros(len(self._size), np.bool_)
        chosen[pairs] = True
        key = np.array([len(self._size), 1])
        for time in np.linspace(0.0, motion.h, PLACES + 1)[1:]:
            way = time * motion.twist
            poses = motion.position + way[:, :3], matrices(rotated_by(state.orientation, way[:, 3:]))
            found = self._later.contacts_at(*poses, chosen, 0.0, chosen & self._movable)
            near = found.chosen(found.gap < NEAR * rest_offsets(np.minimum(self._size[found.body_a], self._size[found.body_b])))
            pairs = pairs[~np.isin(pairs @ key, near.ends @ key)]
        return pairs

    def _lost(self, begin: Begin, solution: Solution, memory: ContactMemory) -> Pairs:
        """The pairs whose bounces are lost in the step."""
        asked = self._asked_to_part(begin, solution, memory)
        if not asked:
            return []
        contacts, key = solution.contacts, np.array([len(self._size), 1])
        opening = relative_velocities(solution.system, solution.v)[:, 0]
        goes_on = (solution.approach > 0.0) & (solution.memory.impulse[:, 0] > 0.0)
        pair, twist, lost = contacts.ends @ key, solution.twist, []
        for (a, b), (speed, normal) in asked.items():
            own = slice(*np.searchsorted(pair, [a * key[0] + b, a * key[0] + b + 1]))
            parts = opening[own].max(initial=-np.inf)
            if own.start == own.stop:
                parts = float(normal @ (twist[b, :3] - twist[a, :3]))
            if parts < PARTS * speed - begin.least_bounce and not goes_on[own].any():
                lost.append((a, b))
        return lost

    def _asked_to_part(
        self, begin: Begin, solution: Solution, memory: ContactMemory
    ) -> dict[tuple[int, int], tuple[float, Floats]]:
        """Of pairs whose impact ends in the step the speed in m/s at which they should part, and the normal.

        These began in the last step, or touch as this one begins. Who passes a blow on to a third body need not part.
        """
        least, asked = EXPECTED * begin.least_bounce, dict[tuple[int, int], tuple[float, Floats]]()

        def ask(a: int, b: int, speed: float, normal: Floats) -> None:
            if speed > asked.get((a, b), (least,))[0]:
                asked[a, b] = speed, normal

        for row in np.flatnonzero((memory.approach > 0.0) & (memory.impulse[:, 0] > 0.0)):
            a, b = int(memory.body_a[row]), int(memory.body_b[row])
            e = combine(self._rule, self._restitution[a], self._restitution[b])
            ask(a, b, e * float(memory.approach[row]), memory.normal[row])
        if solution.restitution.any():
            contacts = solution.contacts
            parts = -solution.restitution * relative_velocities(solution.system, begin.velocities)[:, 0]
            if (parts > least).any():
                for row in np.flatnonzero((parts > least) & begin.touching(contacts) & ~np.isfinite(solution.struck)):
                    ask(*pair_of(contacts, row), float(parts[row]), contacts.normal[row])
        return asked


def turn_between(contacts: ContactSet, others: ContactSet, pair: Ints) -> float:
    """The least angle in rad between the normals that a pair (2,) has in two sets of contacts, 0 where it has none in one."""
    own, met = (one.normal[(one.ends == pair).all(axis=1)] for one in (contacts, others))
    if not len(own) or not len(met):
        return 0.0
    return float(np.arccos(np.clip((own @ met.T).max(), -1.0, 1.0)))


def as_pairs(pairs: Ints) -> Pairs:
    """Rows (p, 2) as tuples."""
    return [(int(a), int(b)) for a, b in pairs]


def local_impulses(solution: Solution) -> Floats:
    """(m, 3) N s, the impulses of contacts along their axes."""
    impulse, axes = solution.memory.impulse, solution.axes
    return np.column_stack([impulse[:, 0], np.einsum("kij,kj->ki", axes[:, 1:], impulse[:, 1:])])


def change_by(solution: Solution, impulse: Floats) -> Floats:
    """(dof,) M^-1 J^T lam for impulses (m, 3) N s of all contacts."""
    push = np.zeros(len(solution.v))
    transpose_product(solution.system, impulse, push)
    out = np.zeros_like(push)
    apply_inverse_mass(solution.system, push, out)
    return out


def without(solution: Solution, held: Held) -> Floats:
    """(dof,) the velocities of a step without the impulses of some of its contacts."""
    impulse = np.zeros((len(solution.contacts), 3))
    impulse[held.row] = held.impulse
    return solution.v - change_by(solution, impulse)


def given_by_islands(solution: Solution) -> Pairs:
    """For each island whose contacts give more energy than its impacts have taken, the pair that gives most."""
    system, impulse = solution.system, local_impulses(solution)
    after = relative_velocities(system, solution.v)
    by_impulses = relative_velocities(system, change_by(solution, impulse)) - system.bias
    work = np.einsum("ij,ij->i", impulse, after - 0.5 * by_impulses)
    passes = 0.5 * impulse[:, 0] * (np.abs(after[:, 0]) + np.abs(after[:, 0] - by_impulses[:, 0]))
    may = solution.restitution**2 * solution.memory.taken
    island = islands_of(solution)
    given, through = (np.bincount(island, x) for x in (work - may, passes))
    found = []
    for one in np.flatnonzero(given > GAIN * through):
        rows = np.flatnonzero(island == one)
        most = rows[np.argmax((work - may)[rows])]
        found.append(pair_of(solution.contacts, most))
    return found


def islands_of(solution: Solution) -> Ints:
    """(m,) the island of each contact, joints left out."""
    system = solution.system
    start, order = contact_islands(len(system.offset) - 1, system.body_a, system.body_b)
    island = np.empty(len(order), dtype=np.int64)
    island[order] = np.repeat(np.arange(len(start) - 1), np.diff(start))
    return island


def unexplained_bodies(begin: Begin, solution: Solution) -> Pairs:
    """The bodies that move at velocities which the impulses do not explain, each with -1."""
    before = begin.unknowns(begin.bodies.predicted)
    unexplained = solution.v - before - change_by(solution, local_impulses(solution))
    energy = (np.einsum("ij,ijk,ik->i", v, begin.bodies.mass, v) for v in map(begin.twists, (unexplained, before, solution.v)))
    off, first, last = energy
    bodies = np.flatnonzero(begin.model.dof >= 0)
    is_off = (off > UNEXPLAINED * (first + last)) & (last > 0.0)
    return [(int(body), -1) for body in bodies[is_off]]


def pair_of(contacts: ContactSet, row: int) -> tuple[int, int]:
    """The two bodies of a contact."""
    return int(contacts.body_a[row]), int(contacts.body_b[row])
