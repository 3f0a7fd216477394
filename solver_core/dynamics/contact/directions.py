# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of contact normals for a step, which obstruct the expected motion only if bodies would collide.

The narrow phase computes the normals of a pair at the start of the step. The direction between the closest points of two
separate bodies depends on their positions, not on their motion: a box that slides toward a level tile faces the side of the
tile until it is above it. A contact along that normal would stop the box at a wall that is as high as the rest offset.

Two convex bodies that do not rotate cannot collide in a step if one direction n separates them at its start and at its end,
because s_n, the separation along n, is linear in time. Therefore the expected motion w of the step is followed to its end:

1. A contact is in doubt if w breaks it. Of a pair without a contact in doubt all contacts stand.
2. If the direction of the least gap is not in doubt, it separates the pair all along: the contacts in doubt along other
   directions are left out. If it is in doubt and bore in the last step, the pair goes on bearing along it: all of its contacts
   stand. In all rules contacts that bore along the normal of the least gap stand.
3. Else the contacts at the end of w are found. If their normals are those that the pair has as the step begins, or have turned
   with one of the bodies, and the least gap is what those in doubt let expect, the contacts stand.
4. If the normals differ and the bodies do not overlap at the end, and the direction that separates them there also does as the
   step begins, they pass: the contacts of the end take the place of those in doubt.
5. Else the time of impact is found. If there is none, they pass all the same, as a corner that turns past an edge does. If
   there is one, they meet along the direction that separated them last, the normal at that time. This is also asked of bodies
   without a contact at the end: they have passed each other, or gone through. Bodies that are clear at the end and whose
   nearest contact is not in doubt need no such search.

A contact found at a time t of w with the gap phi is stated for the beginning of the step by phi - t u_n(w), as
`look_ahead/later_contacts.py` does, but by no overlap that the pair does not have. Whatever the actual motion runs into is
found there.

In the expected motion, bodies that carried load, touch or are jointed keep their velocities, and all others move as predicted.
With the predicted free fall, every body at rest would move into its support.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet, deepest_of_pairs, merged
from ...collision.separation_along import is_one_convex, separation_along
from ...collision.time_of_impact import OVERLAP_ALLOWED, Motion
from ...compile.kernel import inlined_kernel, kernel, leaf_kernel
from ...linalg.vec3 import dot, rotated, rotated_back, vec
from ..look_ahead.impacts import NO_IMPACTS, ImpactFinder, Impacts, are_among
from ..look_ahead.later_contacts import LaterContacts
from ..model.bending import Bending
from ..model.bodies import Bodies, State
from ..model.predict import Begin
from ..model.rest_gaps import TOUCHING_OFFSETS
from ..motion.deformation import Deformation
from ..motion.rotation import matrices, rotated_by
from .material_rules import combine_in_kernels
from .memory import ContactMemory, match

__all__ = ["Chosen", "Directions"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Rest offsets by which the expected motion breaks a contact that is in doubt, and one that bore in the last step: less is the
# error of the expected motion.
DOUBTED, DOUBTED_BEARING = 1e-3, 0.5
# Rest offsets: an overlap where the step is expected to end that is none.
CLEAR_OFFSETS = 0.5
# Rest offsets: an overlap along a direction as the step begins with which it still separates the bodies.
SEPARATING_OFFSETS = 0.05
# Cosine of two normals that are the same; and the least between normals of the begin and of the end of which one is the other,
# turned with one of the bodies.
UNTURNED_NORMAL, TURNED_NORMAL = 1.0 - 1e-6, 0.9998


class Poses(NamedTuple):
    """Poses of n bodies, position (n, 3) m and rotation (n, 3, 3), as a step begins or ends."""

    position: Floats
    rotation: Floats


class Ahead(NamedTuple):
    """The contacts of the pairs in doubt where the expected motion ends.

    contacts: (k,), sorted. stated_gap: (k,) m, their gaps as of the begin. deepest_before: (k,) m, the deepest overlap of the
    pair as the step begins, at most 0.
    """

    contacts: ContactSet
    stated_gap: Floats
    deepest_before: Floats


class Doubt(NamedTuple):
    """What is known of the m contacts of a step's begin.

    in_doubt: (m,) whether the expected motion breaks them. end_gap: (m,) m, their gaps at its end by their normals and points
    at the begin. bearing: (m,) whether they bore in the last step. bouncing: (m,) whether their bodies would bounce. offset:
    (m,) m, rest offsets.
    """

    in_doubt: Flags
    end_gap: Floats
    bearing: Flags
    bouncing: Flags
    offset: Floats


class Chosen(NamedTuple):
    """The contacts of a step.

    stated: (m,) which of them were found later in the expected motion. bounces: impacts of pairs that meet along another normal
    than that of the begin, and bounce. The exact bounce begins where they touch.
    """

    contacts: ContactSet
    stated: Flags
    bounces: Impacts


class Directions:
    """Chooses the contacts of a scene's steps; made once for a scene."""

    def __init__(
        self,
        bodies: Bodies,
        impacts: ImpactFinder,
        later: LaterContacts,
        deformation: Deformation,
        bending: Bending,
        restitution_rule: int,
    ) -> None:
        """restitution_rule: the code by which the coefficients of two bodies are combined."""
        self._shapes, self._size = bodies.shapes._replace(surfaces=None), bodies.model.size
        self._impacts, self._later, self._deformation, self._bending = impacts, later, deformation, bending
        self._restitution, self._rule = bodies.model.restitution, restitution_rule

    def choose(self, begin: Begin, state: State, memory: ContactMemory, jointed: Flags) -> Chosen:
        """The contacts that a step needs, instead of those that narrow phase found where it begins.

        Parameters
        ----------
        begin : the step, with its contacts and their rest gaps
        state : bodies as it begins
        memory : contacts of the last step
        jointed : (n,) whether joints hold a body

        Returns
        -------
        Chosen : with the contacts of `begin` itself if all of them stand
        """
        contacts = begin.contacts
        if not len(contacts):
            return Chosen(contacts, np.zeros(0, np.bool_), NO_IMPACTS)
        rest = begin.at_rest(contacts)
        twist = expected_twists(begin.bodies, contacts, rest, memory, jointed)
        motion = Motion(state.position, begin.bodies.rotation, twist, begin.h, begin.h / begin.single, OVERLAP_ALLOWED)
        bends = begin.bend is not None
        if bends:
            self._deformation.bend_on(self._bending.velocities(begin, begin.velocities))
        speed = self._later.normal_speed(contacts, motion)
        bouncing = restitutions(self._rule, self._restitution, contacts) * -speed > begin.least_bounce
        doubt, is_any = contacts_in_doubt(contacts, speed, bouncing, begin.h, rest, memory, self._unforeseen)
        if is_any:
            chosen = self._redirected(begin, state, doubt, motion)
        else:
            chosen = Chosen(contacts, np.zeros(len(contacts), np.bool_), NO_IMPACTS)
        if bends:
            self._deformation.bend_on(self._bending.velocities(begin, begin.unknowns(begin.bodies.predicted)))
        return chosen

    @property
    def _unforeseen(self) -> Flags:
        """(n,) bodies whose shape at the end of the step is not known: meshes that deform by keys."""
        return self._deformation.follows_keys()

    def _redirected(self, begin: Begin, state: State, doubt: Doubt, motion: Motion) -> Chosen:
        """As `choose`, where some contacts are in doubt."""
        contacts = begin.contacts
        way = begin.h * motion.twist
        end = Poses(motion.position + way[:, :3], matrices(rotated_by(state.orientation, way[:, 3:])))
        ahead = self._ahead(begin, state, doubt, motion, end)
        before = Poses(motion.position, motion.rotation)
        rows = chosen_rows(self._shapes, (before, end), contacts, doubt, ahead)
        stands, bounces = rows.stands, NO_IMPACTS
        new = ahead.contacts.placed(ahead.contacts.point, ahead.stated_gap).chosen(rows.taken)
        new = no_deeper(new, contacts)
        if rows.asked.any():
            impacts = self._impacts.first_touches(contacts.ends[rows.asked], motion)
            apart = impacts.chosen(~impacts.touching)
            met = no_deeper(self._later.contacts_at_impact(apart.bodies, apart.times, state, motion), contacts)
            bounces = self._that_bounce(apart, met, motion, begin.least_bounce)
            drop_met_and_passing(contacts, doubt.in_doubt, rows, met, impacts.bodies)
            new = merged(new, met)
        if stands.all() and not len(new):
            return Chosen(contacts, ~stands, bounces)
        # a contact of the begin that stands has precedence over one of the same features
        kept = contacts.chosen(stands)
        both = merged(new, kept)
        return Chosen(both, match(kept, both.body_a, both.body_b, both.feature) < 0, bounces)

    def _ahead(self, begin: Begin, state: State, doubt: Doubt, motion: Motion, end: Poses) -> Ahead:
        """The contacts of the pairs in doubt at the end of the expected motion, stated as of the begin."""
        contacts = begin.contacts
        chosen = np.zeros(len(self._size), np.bool_)
        chosen[contacts.body_a[doubt.in_doubt]] = chosen[contacts.body_b[doubt.in_doubt]] = True
        fall = begin.gravity_speed * begin.h
        if begin.bend is not None:
            modal = state.modal.copy()
            modal[begin.bend.row] += begin.h * begin.bend.velocity
            self._deformation.bend(modal)
        found = self._later.contacts_at(end.position, end.rotation, chosen, fall, chosen & begin.awake)
        found = found.chosen(of_pairs_in_doubt(found, contacts, doubt.in_doubt))
        stated = self._later.stated_at_begin(found, begin.h, motion)
        if begin.bend is not None:
            self._deformation.bend(state.modal)
        return Ahead(found.placed(stated.point, found.gap), stated.gap, deepest_of_pairs(contacts, contacts.gap, found))

    def _that_bounce(self, impacts: Impacts, met: ContactSet, motion: Motion, least: float) -> Impacts:
        """The impacts after which bodies part faster than at `least` m/s; met: their contacts, stated as of the begin."""
        e = restitutions(self._rule, self._restitution, met)
        parts = -e * self._later.normal_speed(met, motion) > least
        return impacts.chosen(are_among(impacts.bodies, met.ends[parts], len(self._size)))


def no_deeper(stated: ContactSet, before: ContactSet) -> ContactSet:
    """Contacts stated for the beginning of a step with gaps no deeper than their pairs overlap in the contacts `before`.

    The path of a point on a body that turns is bent, so that phi - t u_n can be an overlap that there is not.
    """
    return stated.placed(stated.point, np.maximum(stated.gap, deepest_of_pairs(before, before.gap, stated)))


@kernel
def expected_twists(bodies, contacts, rest, memory, jointed):
    """Return (n, 6) the twists of the expected motion.

    Bodies that carried load, touch or are jointed (n,) keep their twists at the start of the step; others have the predicted
    ones.

    bodies: their `Prediction`. contacts, rest: of the step, and their `AtRest`. memory: contacts of the last step.
    """
    out, twist = bodies.predicted.copy(), bodies.twist
    for i in range(len(out)):
        if jointed[i]:
            out[i] = twist[i]
    for k in range(memory.body_a.size):
        if memory.impulse[k, 0] > 0.0:
            a, b = memory.body_a[k], memory.body_b[k]
            out[a], out[b] = twist[a], twist[b]
    for k in range(contacts.gap.size):
        if contacts.gap[k] - rest.gap[k] <= TOUCHING_OFFSETS * rest.offset[k]:
            a, b = contacts.body_a[k], contacts.body_b[k]
            out[a], out[b] = twist[a], twist[b]
    return out


@kernel
def restitutions(rule, restitution, contacts):
    """Return (m,) the coefficients of restitution of contacts. rule: a code. restitution: (n,) of bodies."""
    out = np.empty(contacts.gap.size)
    for k in range(out.size):
        out[k] = combine_in_kernels(rule, restitution[contacts.body_a[k]], restitution[contacts.body_b[k]])
    return out


@kernel
def contacts_in_doubt(contacts, speed, bouncing, h, rest, memory, unforeseen):
    """The `Doubt` of contacts that open at speeds (m,) m/s in the expected motion of h seconds, and whether any is in doubt.

    bouncing: (m,) whether their bodies would bounce. rest: their `AtRest`. memory: contacts of the last step. unforeseen: (n,)
    bodies about whose end nothing is known.
    """
    m = contacts.gap.size
    end_gap = contacts.gap + h * speed
    old = match(memory, contacts.body_a, contacts.body_b, contacts.feature)
    in_doubt, bearing, is_any = np.zeros(m, np.bool_), np.zeros(m, np.bool_), False
    for k in range(m):
        bearing[k] = old[k] >= 0 and memory.impulse[old[k], 0] > 0.0
        begun = bearing[k] and memory.approach[old[k]] > 0.0
        if rest.held[k] or begun or unforeseen[contacts.body_a[k]] or unforeseen[contacts.body_b[k]]:
            continue
        allowed = (DOUBTED_BEARING if bearing[k] else DOUBTED) * rest.offset[k]
        in_doubt[k] = end_gap[k] < min(contacts.gap[k], rest.gap[k]) - allowed
        is_any |= in_doubt[k]
    return Doubt(in_doubt, end_gap, bearing, bouncing, rest.offset), is_any


@kernel
def of_pairs_in_doubt(found, contacts, in_doubt):
    """(k,) which contacts are of pairs that have one of the m contacts in doubt; both are sorted by their pairs."""
    out, row = np.zeros(found.gap.size, np.bool_), 0
    for k in range(out.size):
        a, b = found.body_a[k], found.body_b[k]
        while row < in_doubt.size and is_pair_before(contacts.body_a[row], contacts.body_b[row], a, b):
            row += 1
        at = row
        while at < in_doubt.size and contacts.body_a[at] == a and contacts.body_b[at] == b:
            out[k] |= in_doubt[at]
            at += 1
    return out


class Rows(NamedTuple):
    """What becomes of contacts: stands (m,) of the begin, taken (k,) of the end. asked (m,): the first ones of pairs whose time
    of impact is still to be found, and may_pass (m,): of those that do not overlap at the end."""

    stands: Flags
    taken: Flags
    asked: Flags
    may_pass: Flags


@kernel
def chosen_rows(shapes, poses, contacts, doubt, ahead):
    """The `Rows` of a step.

    Parameters
    ----------
    shapes : ShapeTable without surfaces
    poses : the `Poses` as the step begins, and those where it is expected to end
    contacts, doubt : contacts of the begin, and what is known of them
    ahead : contacts of the end
    """
    m, k, found = contacts.gap.size, ahead.contacts.gap.size, ahead.contacts
    out = Rows(np.ones(m, np.bool_), np.zeros(k, np.bool_), np.zeros(m, np.bool_), np.zeros(m, np.bool_))
    end, later = 0, 0
    while end < m:
        first = end
        a, b = contacts.body_a[first], contacts.body_b[first]
        end = end_of_pair(contacts, first)
        if not doubt.in_doubt[first:end].any():
            continue
        while later < k and is_pair_before(found.body_a[later], found.body_b[later], a, b):
            later += 1
        last = later
        if later < k and found.body_a[later] == a and found.body_b[later] == b:
            last = end_of_pair(found, later)
        choose_of_pair(shapes, poses, contacts, doubt, ahead, Pair(first, end, later, last), out)
    return out


@kernel
def drop_met_and_passing(contacts, in_doubt, rows, met, impacts):
    """Leave out the contacts in doubt (m,) of the pairs that have one of the contacts `met`, and of those that may pass and
    have no impact; `rows.stands` is written.

    contacts, met: sorted by their pairs. impacts: (k, 2) pairs of bodies, sorted.
    """
    first, at_met, at_impact = 0, 0, 0
    while first < contacts.gap.size:
        a, b, end = contacts.body_a[first], contacts.body_b[first], end_of_pair(contacts, first)
        while at_met < met.gap.size and is_pair_before(met.body_a[at_met], met.body_b[at_met], a, b):
            at_met += 1
        while at_impact < len(impacts) and is_pair_before(impacts[at_impact, 0], impacts[at_impact, 1], a, b):
            at_impact += 1
        meets = at_met < met.gap.size and met.body_a[at_met] == a and met.body_b[at_met] == b
        has_impact = at_impact < len(impacts) and impacts[at_impact, 0] == a and impacts[at_impact, 1] == b
        if meets or (rows.may_pass[first:end].any() and not has_impact):
            rows.stands[first:end] &= ~in_doubt[first:end]
        first = end


@inlined_kernel
def is_pair_before(a, b, other_a, other_b):
    """Whether a pair of bodies comes before another one in the order of contacts."""
    return a < other_a or (a == other_a and b < other_b)


class Pair(NamedTuple):
    """The rows of a pair of bodies among the contacts of the begin and among those of the end."""

    first: int
    end: int
    first_ahead: int
    end_ahead: int


@leaf_kernel
def end_of_pair(contacts, row):
    """The row after the last contact of the pair that a row is of."""
    a, b = contacts.body_a[row], contacts.body_b[row]
    while row < contacts.gap.size and contacts.body_a[row] == a and contacts.body_b[row] == b:
        row += 1
    return row


@leaf_kernel
def choose_of_pair(shapes, poses, contacts, doubt, ahead, pair, out):
    """Rules 2 to 5 for a pair; its rows of out are written."""
    first, found, offset = pair.first, ahead.contacts, doubt.offset[pair.first]
    bodies = contacts.body_a[first], contacts.body_b[first]
    is_convex = is_one_convex(shapes, bodies[0]) and is_one_convex(shapes, bodies[1])
    nearest = least_gap(contacts, first, pair.end)
    if is_convex and doubt.in_doubt[nearest] and doubt.bearing[nearest]:
        return
    normal = vec(contacts.normal, nearest)
    if is_convex and not doubt.in_doubt[nearest] and keeps_separated(shapes, poses, bodies, normal, offset):
        drop_doubtful(contacts, doubt, pair, True, out)
        return
    is_clear, separates = look_ahead(shapes, poses[0], ahead, pair, offset, is_convex, out.taken)
    same = pair.first_ahead < pair.end_ahead and has_its_normals_ahead(contacts, doubt, found, pair, poses, is_clear)
    if not same and is_clear and separates and pair.first_ahead < pair.end_ahead:
        drop_doubtful(contacts, doubt, pair, False, out)
        if contacts.gap[nearest] > (1.0 + TOUCHING_OFFSETS) * offset:
            for row in range(pair.first_ahead, pair.end_ahead):
                # bodies that pass within the rest offset are not pushed apart on their way
                ahead.stated_gap[row] += max(0.0, offset - found.gap[row])
        return
    if not same and is_clear and is_convex and not doubt.in_doubt[nearest]:
        drop_doubtful(contacts, doubt, pair, False, out)
    elif not same and not doubt.bearing[first : pair.end].any():
        out.asked[first], out.may_pass[first] = True, is_clear
    out.taken[pair.first_ahead : pair.end_ahead] = False


@leaf_kernel
def keeps_separated(shapes, poses, bodies, normal, offset):
    """Whether a direction that separates two bodies as the step begins also does as it ends. offset: m, their rest offset."""
    begin, end = poses
    now = separation_along(shapes, begin.position, begin.rotation, bodies, normal)
    return separation_along(shapes, end.position, end.rotation, bodies, normal) >= min(now, offset) - CLEAR_OFFSETS * offset


@leaf_kernel
def look_ahead(shapes, begin, ahead, pair, offset, is_convex, valid):
    """Whether a pair is clear at the end, and whether the direction of its least gap there separates it as the step begins;
    valid (k,): whether that of each contact there does.

    begin: `Poses`. offset: m, the rest offset of the pair. is_convex: whether both bodies consist of one convex collider.
    """
    found, deepest = ahead.contacts, least_gap(ahead.contacts, pair.first_ahead, pair.end_ahead)
    is_clear, separates = True, True
    for row in range(pair.first_ahead, pair.end_ahead):
        if is_convex:
            bodies = found.body_a[row], found.body_b[row]
            along = separation_along(shapes, begin.position, begin.rotation, bodies, vec(found.normal, row))
            valid[row] = along >= -SEPARATING_OFFSETS * offset
        else:
            valid[row] = ahead.stated_gap[row] >= ahead.deepest_before[row] - SEPARATING_OFFSETS * offset
        is_clear &= found.gap[row] >= -CLEAR_OFFSETS * offset
        if row == deepest:
            separates = valid[row]
    return is_clear, separates


@leaf_kernel
def least_gap(contacts, first, end):
    """The row of the least gap among some rows, -1 where there are none."""
    least = -1
    for row in range(first, end):
        if least < 0 or contacts.gap[row] < contacts.gap[least]:
            least = row
    return least


@leaf_kernel
def drop_doubtful(contacts, doubt, pair, separates, out):
    """Leave out the contacts in doubt of a pair, except those along the normal of its least gap that bore in the last step, or,
    where that direction separates the pair, all of those along it."""
    normal = vec(contacts.normal, least_gap(contacts, pair.first, pair.end))
    for row in range(pair.first, pair.end):
        is_along = dot(normal, vec(contacts.normal, row)) > UNTURNED_NORMAL
        out.stands[row] = not doubt.in_doubt[row] or (is_along and (separates or doubt.bearing[row]))


@leaf_kernel
def turned_with(poses, body, normal):
    """A direction that turns with a body, from the first to the second of two `Poses`."""
    begin, end = poses
    return rotated(end.rotation[body], rotated_back(begin.rotation[body], normal))


@leaf_kernel
def is_same_normal(normal, later, poses, bodies, bounces):
    """Whether a normal at the end is that of a contact at the begin, and obstructs the same motion.

    The normal of a face turns with its body. The normal at an edge or at a round surface also turns where bodies slide past
    each other, and then the two normals are those of different places. bounces: whether the bodies would bounce. A bounce has
    one line, so that its normal may not turn at all.
    """
    cosine = dot(normal, later)
    if cosine > UNTURNED_NORMAL:
        return True
    if bounces or cosine <= TURNED_NORMAL:
        return False
    of_a, of_b = turned_with(poses, bodies[0], normal), turned_with(poses, bodies[1], normal)
    return max(dot(of_a, later), dot(of_b, later)) > UNTURNED_NORMAL


@leaf_kernel
def has_its_normals_ahead(contacts, doubt, found, pair, poses, is_clear):
    """Whether each contact in doubt of a pair has the normal of each contact at the end, of each overlap there if it is not
    clear, and the least gap there is what those in doubt say."""
    bodies = contacts.body_a[pair.first], contacts.body_b[pair.first]
    expected, least = np.inf, np.inf
    for row in range(pair.first, pair.end):
        if doubt.in_doubt[row]:
            expected = min(expected, doubt.end_gap[row])
    for k in range(pair.first_ahead, pair.end_ahead):
        least = min(least, found.gap[k])
    if is_clear and least - expected > CLEAR_OFFSETS * doubt.offset[pair.first]:
        return False
    most = np.inf if is_clear else -CLEAR_OFFSETS * doubt.offset[pair.first]
    for row in range(pair.first, pair.end):
        for k in range(pair.first_ahead, pair.end_ahead):
            if not (doubt.in_doubt[row] and found.gap[k] < most):
                continue
            if not is_same_normal(vec(contacts.normal, row), vec(found.normal, k), poses, bodies, doubt.bouncing[row]):
                return False
    return True
