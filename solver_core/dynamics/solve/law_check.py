# SPDX-License-Identifier: GPL-3.0-or-later
"""An independent check of a solved step: does the contact law explain what its contacts did?

The residuals measure how well the impulses solve the given problem. They cannot detect a wrong problem: a contact along the
side of a level tile is solved as exactly as a contact along a wall. This check therefore examines the motion.

*Distance.* A contact with a gap may act only if its bodies would collide without it. Let v' be the velocities of the step
without the impulses of such contacts, v' = v - M^-1 J^T lam. A contact is examined if v' violates it by more than

    4 rest offsets + (h |u_t|)^2 / 2s,      s the half size of the smaller body,

because a curved surface leaves its tangent plane by the last term, and by a speed of more than 0.3 sqrt(g s), because slower
impacts are many and change little. With more than eight moving bodies, one step in sixteen is examined. In a step, the pair
with the largest such speed is examined: time of impact follows the velocities without the contacts of this pair to the end of
the step. The contact acted at a distance if the pair does not overlap on this path and its gap, measured at some positions on
it, does not fall below half a rest offset.

*Angle.* An impact changes velocities along the line in which its bodies collide. If the bodies of such a contact bounce, its
normal is compared with the normals of the pair at the time of impact along v'.

*Bounce.* An impact that has started ends in the next step, and an impact of touching bodies ends in the same step: some contact
of the pair opens at e times the approach speed. The bounce is lost if none does and the pair does not continue to close.

*Energy.* The work of the contacts of an island in a step is lam . u - lam . G lam / 2 with the velocities u after it, the
Delassus operator G and the biases in u. Contacts that do not rebound have lam . u <= 0, so an island gives at most what
`rebounds.py` allows: e^2 of the energy that the impacts took.

*Momentum.* The velocity of a body in a step without joints is v_hat + M^-1 J^T lam. The two bodies of a contact share one
contact point, so their impulses and torques cancel.

Distance, angle, energy and momentum are checked in steps in which contacts close a gap or rebound. In other steps all contacts
rest or slide, and the residuals give the same information. One kernel (`screen`) checks all contacts of a step with the data
that the step has already. At most one pair of bodies is examined geometrically. Flexible and deforming bodies are checked for
lost bounces only, because their surfaces move while they touch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet, deepest_of_pairs
from ...collision.time_of_impact import Motion
from ...compile.kernel import inner_kernel, kernel
from ...linalg.in_order import dot, product
from ...problem.result import Status
from ...problem.subsystem import contact_islands
from ...problem.system import apply_inverse_mass, relative_velocities, relative_velocity, transpose_product
from ...scene.combine import combine
from ..contact.memory import ContactMemory
from ..look_ahead.impacts import ImpactFinder
from ..look_ahead.later_contacts import LaterContacts
from ..model.bodies import Bodies, State
from ..model.predict import Begin
from ..model.rest_gaps import REST_OFFSET, rest_offsets
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

# Rest offsets; a contact is examined if it holds its bodies apart by more. Time of impact detects half a rest offset.
HELD_BACK = 4.0
LEAST_GAP = 0.5  # rest offsets; bodies with a smaller gap are closer than at rest
CHANGES = 0.3  # fraction of sqrt(g s); a contact that changes a velocity by less is not examined
FEW_MOVING = 8  # moving bodies; with no more than that, a pair is examined in every step
SAMPLED = 16  # with more moving bodies, a pair is examined in one step out of so many
PLACES = 16  # positions on the path of a pair that does not overlap, at which its gap is measured
EXPECTED = 2.0  # times the smallest rebound speed; slower rebounds may be lost to the forces of half a step
TURNED = 0.99875  # cosine of 0.05 rad, the largest angle between a contact's normal and the normals at the time of impact
LEAST_PARTING = 0.5  # fraction of the rebound speed that the law of restitution requires
GIVEN_TOO_MUCH = 1e-2  # limit on the added energy, as a fraction of the energy that passes through the contacts of an island
# Fraction of the fastest velocity of the step. Slower loaded contacts add energy by the tolerance of the solve, as in a row of
# balls that waits for another one.
QUIET = 1e-6
UNEXPLAINED = 1e-10  # fraction of a body's kinetic energy; limit on that of the velocity that impulses do not explain


class Checked(NamedTuple):
    """A step to be checked.

    Attributes
    ----------
    begin : the step
    state : of the bodies at the start of the step
    solution : the accepted one, with the impulses of this step alone
    memory : the contact history of the previous step, before this step updates it
    is_jointed : whether joints take part in the step
    motion_of : the motion of the step with other velocities (dof,)
    """

    begin: Begin
    state: State
    solution: Solution
    memory: ContactMemory
    is_jointed: bool
    motion_of: MotionOf


class Held(NamedTuple):
    """Contacts of a pair that closed a gap in a step.

    Attributes
    ----------
    row : (k,) among the contacts of the step
    impulse : (k, 3) N s, along their axes
    offset, smaller : (k,) m, the rest offset of the two bodies, and the half size of the smaller one
    """

    row: Ints
    impulse: Floats
    offset: Floats
    smaller: Floats

    def chosen(self, rows: Flags) -> Held:
        """Return the chosen rows (k,)."""
        return Held(self.row[rows], self.impulse[rows], self.offset[rows], self.smaller[rows])


class Screened(NamedTuple):
    """The results of `screen` for a step.

    Attributes
    ----------
    impulse : (m, 3) N s, of the contacts along their axes
    broken : (m,) m/s, the violation of each contact that closed a gap, at the velocities without such contacts; 0 if small
    gaining : (i,) the contact that adds the most energy, for each island that adds more than it may
    unexplained : (b,) moving bodies with velocities that the impulses do not explain
    """

    impulse: Floats
    broken: Floats
    gaining: Ints
    unexplained: Ints


class StepVelocities(NamedTuple):
    """The velocities of a step. v: (dof,) solved, v_hat: (dof,) without contacts and joints. h: s, the step."""

    v: Floats
    v_hat: Floats
    h: float


class ContactImpulses(NamedTuple):
    """The impulses of m contacts in a step.

    impulse: (m, 4) N s, as in the contact history. axes: (m, 3, 3), rows are the normal and the tangents. restitution: (m,)
    coefficients. taken: (m,) J, the energy that each contact has absorbed.
    """

    impulse: Floats
    axes: Floats
    restitution: Floats
    taken: Floats


class LawCheck:
    """Checks the steps of a scene. One instance serves all steps."""

    def __init__(
        self, bodies: Bodies, impacts: ImpactFinder, later: LaterContacts, deformation: Deformation, restitution_rule: int
    ) -> None:
        """restitution_rule: the code of the rule that combines the coefficients of two bodies."""
        self._size, self._restitution, self._rule = bodies.model.size, bodies.model.restitution, restitution_rule
        self._impacts, self._later, self._movable = impacts, later, bodies.model.dof >= 0
        self._least_offset = float(rest_offsets(self._size)[np.isfinite(self._size)].min(initial=np.inf))
        self._deforms = ~deformation.is_rigid()
        self._bounces = bool(np.any(self._restitution > 0.0))

    def violations(self, step: Checked) -> Violations:
        """Return the violations of the contact law in a step."""
        begin, solution = step.begin, step.solution
        found: dict[Violation, Pairs] = {}
        if self._bounces:
            found[Violation.BOUNCE] = self._lost(begin, solution, step.memory)
        least_slack = self._least_offset / begin.h
        if has_impacts(solution.system.slack, solution.memory.impulse, least_slack):
            screened = self._screen(step)
            held = self._held(begin, solution, screened) if is_looked_at(begin) else None
            if held is not None:
                found[Violation.DISTANCE], found[Violation.ANGLE] = self._closing(step, held)
            # Impacts before the step and joints act in a sequence that their total impulses do not reveal.
            is_ordered = not (step.is_jointed and np.isfinite(solution.struck).any())
            if begin.bend is None and is_ordered and solution.totals.status == Status.SOLVED:
                found[Violation.ENERGY] = [pair_of(solution.contacts, row) for row in screened.gaining]
            if begin.bend is None and not step.is_jointed:
                found[Violation.MOMENTUM] = [(int(begin.moving[body]), -1) for body in screened.unexplained]
        if not any(found.values()):
            return NO_VIOLATIONS
        count, pair = NO_VIOLATIONS.counts.copy(), NO_VIOLATIONS.pair.copy()
        for which, pairs in found.items():
            count[which] = len(pairs)
            if pairs:
                pair[which] = pairs[0]
        return Violations(count, pair)

    def _screen(self, step: Checked) -> Screened:
        """Check a step with its contacts, impulses and velocities alone."""
        begin, solution = step.begin, step.solution
        contacts, memory = solution.contacts, solution.memory
        motion = StepVelocities(solution.v, begin.unknowns(begin.bodies.predicted), begin.h)
        impulses = ContactImpulses(memory.impulse, solution.axes, solution.restitution, memory.taken)
        ends = contacts.body_a, contacts.body_b
        return screen(solution.system, motion, impulses, *ends, self._size, begin.gravity)

    def _held(self, begin: Begin, solution: Solution, screened: Screened) -> Held | None:
        """Return the contacts of the pair to examine; None if there is none.

        Pairs that are jointed, that overlap already, or that have a deforming body are not examined.
        """
        row, contacts = np.flatnonzero(screened.broken), solution.contacts
        if not len(row):
            return None
        a, b = contacts.body_a[row], contacts.body_b[row]
        smaller = np.minimum(self._size[a], self._size[b])
        offset: Floats = rest_offsets(smaller)
        overlap = deepest_of_pairs(contacts, contacts.gap, contacts.chosen(row)) < -offset
        asked = ~begin.at_rest(contacts).held[row] & ~overlap & ~self._deforms[a] & ~self._deforms[b]
        if not asked.any():
            return None
        most = np.argmax(np.where(asked, screened.broken[row], 0.0))
        asked &= (a == a[most]) & (b == b[most])
        return Held(row, screened.impulse[row], offset, smaller).chosen(asked)

    def _closing(self, step: Checked, held: Held) -> tuple[Pairs, Pairs]:
        """Return the pair if its contacts acted at a distance, and the pair if it bounces along a wrong line."""
        solution, v = step.solution, without(step.solution, held)
        left, pair = self._held_back(step, held, v), solution.contacts.ends[held.row[:1]]
        u = relative_velocities(solution.system, v)[held.row]
        curved = step.begin.h**2 * (u[:, 1] ** 2 + u[:, 2] ** 2) / (2.0 * held.smaller)
        if not (left > 0.0).any():
            return [], []
        motion = step.motion_of(v)
        met = self._impacts.first_touches(pair, motion)
        if not len(met):
            apart = (left > curved).any() and self._stays_apart(step.state, pair, motion)
            return (as_pairs(pair) if apart else []), []
        parts = solution.restitution[held.row] * solution.approach[held.row]
        bouncing = solution.contacts.chosen(held.row[parts > EXPECTED * step.begin.least_bounce])
        if not len(bouncing) or met.touching[0]:
            return [], []
        lines = self._later.contacts_at_impact(met.bodies, met.times, step.state, motion)
        return [], (as_pairs(pair) if cosine_between(bouncing, lines, pair[0]) < TURNED else [])

    def _held_back(self, step: Checked, held: Held, v: Floats) -> Floats:
        """Return (k,) m, the violation of contacts by velocities v (dof,) in the step, beyond `HELD_BACK` rest offsets."""
        system = step.solution.system
        opening = relative_velocities(system, v)[held.row, 0] + system.slack[held.row]
        return -step.begin.h * opening - HELD_BACK * held.offset

    def _stays_apart(self, state: State, pair: Ints, motion: Motion) -> bool:
        """Return whether a pair (1, 2) keeps a gap along a motion."""
        chosen = np.zeros(len(self._size), np.bool_)
        chosen[pair] = True
        near = LEAST_GAP * float(rest_offsets(self._size[pair]).min())
        for time in np.linspace(0.0, motion.h, PLACES + 1)[1:]:
            way = time * motion.twist
            poses = motion.position + way[:, :3], matrices(rotated_by(state.orientation, way[:, 3:]))
            found = self._later.contacts_at(*poses, chosen, 0.0, chosen & self._movable)
            if (found.gap[(found.ends == pair).all(axis=1)] < near).any():
                return False
        return True

    def _lost(self, begin: Begin, solution: Solution, memory: ContactMemory) -> Pairs:
        """Return the pairs whose bounces are lost in the step."""
        asked = self._asked_to_part(begin, solution, memory)
        if not asked:
            return []
        contacts, key = solution.contacts, np.array([len(self._size), 1])
        opening = relative_velocities(solution.system, solution.v)[:, 0]
        goes_on = (solution.approach > 0.0) & (solution.memory.impulse[:, 0] > 0.0)
        pair, twist, lost = (contacts.ends * key).sum(axis=1), solution.twist, []
        for (a, b), (speed, normal) in asked.items():
            own = slice(*np.searchsorted(pair, [a * key[0] + b, a * key[0] + b + 1]))
            parts = opening[own].max(initial=-np.inf)
            if own.start == own.stop:
                parts = dot(normal, twist[b, :3] - twist[a, :3])
            if parts < LEAST_PARTING * speed - begin.least_bounce and not goes_on[own].any():
                lost.append((a, b))
        return lost

    def _asked_to_part(
        self, begin: Begin, solution: Solution, memory: ContactMemory
    ) -> dict[tuple[int, int], tuple[float, Floats]]:
        """Return the required rebound speed in m/s and the normal of each pair whose impact ends in the step.

        The impact started in the previous step, or the bodies touch at the start of this one and press on each other in it. A
        pair that propagates an impact to a third body does not have to separate.
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
                meets = (parts > least) & begin.touching(contacts) & (solution.memory.impulse[:, 0] > 0.0)
                for row in np.flatnonzero(meets & ~np.isfinite(solution.struck)):
                    ask(*pair_of(contacts, row), float(parts[row]), contacts.normal[row])
        return asked


def is_looked_at(begin: Begin) -> bool:
    """Return whether a pair of the step is examined by time of impact, which costs about a tenth of a step of a pile."""
    return len(begin.offset) - 1 <= FEW_MOVING or int(begin.at) % SAMPLED == 0


def cosine_between(contacts: ContactSet, others: ContactSet, pair: Ints) -> float:
    """Return the cosine of the smallest angle between the normals of a pair (2,) in two sets of contacts.

    The result is 1 if one set has no contact of the pair.
    """
    own, met = (one.normal[(one.ends == pair).all(axis=1)] for one in (contacts, others))
    if not len(own) or not len(met):
        return 1.0
    return float(product(own, met.T).max())


def as_pairs(pairs: Ints) -> Pairs:
    """Return rows (p, 2) as tuples."""
    return [(int(a), int(b)) for a, b in pairs]


def change_by(solution: Solution, impulse: Floats) -> Floats:
    """Return (dof,) M^-1 J^T lam for impulses (m, 3) N s of all contacts."""
    push = np.zeros(len(solution.v))
    transpose_product(solution.system, impulse, push)
    out = np.zeros_like(push)
    apply_inverse_mass(solution.system, push, out)
    return out


def without(solution: Solution, held: Held) -> Floats:
    """Return (dof,) the velocities of a step without the impulses of the given contacts."""
    impulse = np.zeros((len(solution.contacts), 3))
    impulse[held.row] = held.impulse
    return solution.v - change_by(solution, impulse)


def pair_of(contacts: ContactSet, row: int) -> tuple[int, int]:
    """Return the two bodies of a contact."""
    return int(contacts.body_a[row]), int(contacts.body_b[row])


@kernel
def has_impacts(slack, impulse, least):
    """Return whether a contact carries load across a gap, slack (m,) > least m/s, or rebounds.

    impulse: (m, 4) as in the contact history.
    """
    found = False
    for k in range(slack.size):
        found |= slack[k] < 0.0 or (slack[k] > least and impulse[k, 0] > 0.0)
    return found


@kernel
def screen(system, motion, impulses, body_a, body_b, size, gravity):
    """Check a step with its contacts, impulses and velocities alone. Returns `Screened`.

    Parameters
    ----------
    system : of the m contacts
    motion : `StepVelocities`
    impulses : `ContactImpulses`
    body_a, body_b : (m,) the bodies of the contacts
    size : (n,) m, half sizes of bodies
    gravity : m/s^2
    """
    v, h, m = motion.v, motion.h, body_a.size
    remembered, axes = impulses.impulse, impulses.axes
    impulse, closing, broken, is_any = np.zeros((m, 3)), np.zeros((m, 3)), np.zeros(m), False
    for k in range(m):
        impulse[k, 0] = remembered[k, 0]
        for row in range(1, 3):
            for i in range(3):
                impulse[k, row] += axes[k, row, i] * remembered[k, 1 + i]
        offset = REST_OFFSET * min(size[body_a[k]], size[body_b[k]])
        if system.slack[k] * h > offset and impulse[k, 0] > 0.0:
            is_any = True
            closing[k] = impulse[k]
    change, push = np.zeros(v.size), np.zeros(v.size)
    if is_any:
        transpose_product(system, closing, push)
        apply_inverse_mass(system, push, change)
        without_them = v - change
        for k in range(m):
            if closing[k, 0] > 0.0:
                smaller = min(size[body_a[k]], size[body_b[k]])
                speed = -relative_velocity(system, k, without_them)[0] - system.slack[k]
                if speed * h > HELD_BACK * REST_OFFSET * smaller and speed > CHANGES * np.sqrt(gravity * smaller):
                    broken[k] = speed
        push[:] = 0.0
    transpose_product(system, impulse, push)
    apply_inverse_mass(system, push, change)
    may_give = impulses.restitution * impulses.restitution * impulses.taken
    gaining = _gaining(system, v, change, impulse, may_give)
    return Screened(impulse, broken, gaining, _unexplained(system, v, motion.v_hat, change))


@inner_kernel
def _gaining(system, v, change, impulse, may):
    """Return the contact that adds the most energy, for each island that adds more than it may.

    v, change: (dof,) the solved velocities, and their change by the impulses. impulse: (m, 3) N s, along the contact axes. may:
    (m,) J, the energy that each contact may return.
    """
    start, order = contact_islands(system.offset.size - 1, system.body_a, system.body_b)
    found, count = np.empty(start.size, np.int64), 0
    for island in range(start.size - 1):
        given, through, most, best, fastest = 0.0, 0.0, 0.0, -1, 0.0
        for k in order[start[island] : start[island + 1]]:
            u, by = relative_velocity(system, k, v), relative_velocity(system, k, change)
            work = -may[k]
            for row in range(3):
                work += impulse[k, row] * (u[row] - 0.5 * (by[row] - system.bias[k, row]))
            before = u[0] - by[0] + system.bias[k, 0]
            given += work
            through += 0.5 * impulse[k, 0] * (abs(u[0]) + abs(before))
            if impulse[k, 0] > 0.0:
                fastest = max(fastest, abs(u[0]), abs(before))
            if best < 0 or work > most:
                most, best = work, k
        if given > GIVEN_TOO_MUCH * through and fastest > QUIET * np.abs(v).max():
            found[count] = best
            count += 1
    return found[:count]


@inner_kernel
def _unexplained(system, v, v_hat, change):
    """Return the bodies whose velocity v differs from v_hat plus the change by impulses; each array is (dof,)."""
    found, count = np.empty(system.offset.size - 1, np.int64), 0
    for body in range(system.offset.size - 1):
        first, at = system.offset[body], system.block_start[body]
        size = system.offset[body + 1] - first
        off = before = last = 0.0
        for i in range(size):
            for j in range(size):
                mass = system.mass[at + i * size + j]
                x, y = first + i, first + j
                off += (v[x] - v_hat[x] - change[x]) * mass * (v[y] - v_hat[y] - change[y])
                before += v_hat[x] * mass * v_hat[y]
                last += v[x] * mass * v[y]
        if off > UNEXPLAINED * (before + last) and last > 0.0:
            found[count] = body
            count += 1
    return found[:count]
