# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of contact normals for a step, which obstruct the expected motion only if bodies would collide.

The narrow phase computes the normals of a pair at the start of the step. The direction between the closest points of two
separate bodies depends on their positions, not on their motion: a box that slides toward a level tile faces the side of the
tile until it is above it. A contact along that normal would stop the box at a wall that is as high as the rest offset.

Two convex bodies that do not rotate cannot collide in a step if one direction n separates them at its start and at its end,
because s_n, the separation along n, is linear in time. Therefore the expected motion w of the step is followed to its end:

1. A contact is in doubt if w violates it. If no contact of a pair is in doubt, all its contacts are kept.
2. If the contact with the smallest gap is not in doubt, its normal separates the pair during the whole step. Contacts in doubt
   along other normals are removed. If it is in doubt and carried load in the last step, the pair continues to rest on it, and
   all contacts are kept. All rules keep contacts that carried load along the normal of the smallest gap.
3. Otherwise the contacts at the end of w are detected. If their normals equal those at the start, or those rotated with one of
   the bodies, and the smallest gap is the one that the contacts in doubt predict, the contacts are kept.
4. If the normals differ, the bodies do not overlap at the end, and the direction that separates them there also separates them
   at the start, then they pass each other. The contacts at the end replace those in doubt.
5. Otherwise the time of impact is computed. If there is none, the bodies pass each other, as a corner does that rotates past an
   edge. If there is one, they collide along the normal at that time, which is the last direction that separated them. This rule
   also applies to bodies without a contact at the end, which have passed each other or tunneled. Bodies that are clear at the
   end and whose nearest contact is not in doubt need no such search.

A contact at a time t of w with the gap phi gets the gap phi - t u_n(w) at the start of the step, as in
`look_ahead/later_contacts.py`. This gap is never deeper than the actual overlap of the pair. `later_contacts.py` detects all
collisions of the actual motion.

In the expected motion, bodies that carried load, touch or are jointed keep their velocities, and all others move as predicted.
With the predicted free fall, every body at rest would move into its support.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet, chosen_contacts, deepest_of_pairs, merged
from ...collision.separation_along import has_face_along, is_one_convex, separation_along
from ...collision.time_of_impact import OVERLAP_ALLOWED, Motion
from ...compile.kernel import inlined_kernel, inner_kernel, kernel, leaf_kernel
from ...linalg.vec3 import dot, negative, rotated, rotated_back, vec
from ..look_ahead.impacts import NO_IMPACTS, ImpactFinder, Impacts, are_among
from ..look_ahead.later_contacts import LaterContacts, normal_speed, poses_at
from ..model.bending import Bending
from ..model.bodies import Bodies, State
from ..model.predict import Begin
from ..model.rest_gaps import TOUCHING_OFFSETS
from ..motion.deformation import Deformation
from .material_rules import combine_in_kernels
from .memory import ContactMemory, match

__all__ = ["Chosen", "Directions"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

# Rest offsets by which the expected motion must violate a contact that is in doubt: a new one, and one that carried load in the
# last step. Smaller violations are errors of the expected motion.
DOUBTED, DOUBTED_BEARING = 1e-3, 0.5
# Rest offsets; a smaller overlap at the end of the expected motion does not count.
CLEAR_OFFSETS = 0.5
# Rest offsets; a direction separates two bodies at the start of the step if they overlap by less along it.
SEPARATING_OFFSETS = 0.05
# Cosine of the angle between equal normals, and between a normal at the start and one at the end that is the same one, rotated
# with one of the bodies.
UNTURNED_NORMAL, TURNED_NORMAL = 1.0 - 1e-6, 0.9998


class Poses(NamedTuple):
    """Poses of n bodies at the start or the end of a step: position (n, 3) m and rotation (n, 3, 3)."""

    position: Floats
    rotation: Floats


class Ahead(NamedTuple):
    """The contacts of the pairs in doubt at the end of the expected motion.

    contacts: (k,), sorted. stated_gap: (k,) m, their gaps converted to the start of the step. deepest_before: (k,) m, the
    deepest overlap of the pair at the start of the step, at most 0.
    """

    contacts: ContactSet
    stated_gap: Floats
    deepest_before: Floats


class BounceLaw(NamedTuple):
    """The law of restitution.

    rule: the code of the rule that combines the coefficients of two bodies. restitution: (n,) these coefficients. least: m/s,
    the smallest rebound speed.
    """

    rule: int
    restitution: Floats
    least: float


class Doubt(NamedTuple):
    """The classification of the m contacts of n bodies at the start of a step.

    in_doubt: (m,) contacts that the expected motion violates. bodies: (n,) those with such a contact. end_gap: (m,) m, the gaps
    of contacts at its end, from their normals and points at the start. bearing: (m,) contacts that carried load in the last
    step. bouncing: (m,) contacts whose bodies would bounce. offset: (m,) m, rest offsets.
    """

    in_doubt: Flags
    bodies: Flags
    end_gap: Floats
    bearing: Flags
    bouncing: Flags
    offset: Floats


class Chosen(NamedTuple):
    """The contacts of a step.

    stated: (m,) contacts that were detected later in the expected motion. bounces: impacts of pairs that collide along another
    normal than the one at the start, and bounce; an exact bounce starts at the time of impact.
    """

    contacts: ContactSet
    stated: Flags
    bounces: Impacts


class Directions:
    """Selects the contacts of steps. One instance serves a scene."""

    def __init__(
        self,
        bodies: Bodies,
        impacts: ImpactFinder,
        later: LaterContacts,
        deformation: Deformation,
        bending: Bending,
        restitution_rule: int,
    ) -> None:
        """restitution_rule: the code of the rule that combines the coefficients of two bodies."""
        self._shapes, self._size = bodies.shapes._replace(surfaces=None), bodies.model.size
        self._impacts, self._later, self._deformation, self._bending = impacts, later, deformation, bending
        self._restitution, self._rule = bodies.model.restitution, restitution_rule

    def choose(self, begin: Begin, state: State, memory: ContactMemory, jointed: Flags) -> Chosen:
        """Return the contacts that a step needs, from those of the narrow phase at its start.

        Parameters
        ----------
        begin : the step, with its contacts and their gaps at rest
        state : of the bodies at its start
        memory : the contact history
        jointed : (n,) bodies with joints

        Returns
        -------
        Chosen : with the contact set of `begin` itself if all of its contacts are kept
        """
        contacts = begin.contacts
        if not len(contacts):
            return Chosen(contacts, np.zeros(0, np.bool_), NO_IMPACTS)
        rest = begin.at_rest(contacts)
        twist = expected_twists(begin.bodies, contacts, rest, memory, jointed)
        motion = Motion(state.position, begin.bodies.rotation, twist, begin.h, begin.h / begin.single, OVERLAP_ALLOWED)
        law = BounceLaw(self._rule, self._restitution, begin.least_bounce)
        bends = begin.bend is not None
        if bends:
            self._deformation.set_modal_velocity(self._bending.velocities(begin, begin.velocities))
        of_modes, deforms = self._later.modal_speed(contacts, motion), self._deformation.moves_by_keyframes()
        doubt, is_any = contacts_in_doubt(contacts, rest, memory, motion, of_modes, law, deforms)
        if is_any:
            chosen = self._redirected(begin, state, doubt, motion, law)
        else:
            chosen = Chosen(contacts, np.zeros(len(contacts), np.bool_), NO_IMPACTS)
        if bends:
            self._deformation.set_modal_velocity(self._bending.velocities(begin, begin.unknowns(begin.bodies.predicted)))
        return chosen

    def _redirected(self, begin: Begin, state: State, doubt: Doubt, motion: Motion, law: BounceLaw) -> Chosen:
        """Return as `choose` does for a step with contacts in doubt."""
        contacts, time = begin.contacts, np.full(len(self._size), begin.h)
        end = Poses(*poses_at(motion.position, state.orientation, motion.twist, time))
        found = self._found_ahead(begin, state, doubt, motion, end, time)
        poses = Poses(motion.position, motion.rotation), end
        rows, new = chosen_rows(self._shapes, poses, contacts, doubt, *found)
        bounces = NO_IMPACTS
        if rows.asked.any():
            impacts = self._impacts.first_touches(contacts.ends[rows.asked], motion)
            apart = impacts.chosen(~impacts.touching)
            met = self._later.contacts_at_impact(apart.bodies, apart.times, state, motion)
            if len(met):
                bounces = apart.chosen(that_bounce(apart.bodies, met, motion, self._later.modal_speed(met, motion), law))
            new = with_met(contacts, doubt.in_doubt, rows, new, met, impacts.bodies)
        if rows.stands.all() and not len(new):
            return Chosen(contacts, ~rows.stands, bounces)
        both, stated = with_kept(new, contacts, rows.stands)
        return Chosen(both, stated, bounces)

    def _found_ahead(
        self, begin: Begin, state: State, doubt: Doubt, motion: Motion, end: Poses, time: Floats
    ) -> tuple[ContactSet, ContactSet]:
        """Return the contacts of bodies in doubt at the end of the expected motion, there and mapped to the start of the step.

        end: the poses there. time: (n,) s, the step.
        """
        if begin.bend is not None:
            modal = state.modal.copy()
            modal[begin.bend.row] += begin.h * begin.bend.velocity
            self._deformation.place_modes(modal)
        fall = begin.gravity_speed * begin.h
        found = self._later.contacts_at(*end, doubt.bodies, fall, doubt.bodies & begin.awake)
        stated = self._later.stated_at_begin(found, time, motion)
        if begin.bend is not None:
            self._deformation.place_modes(state.modal)
        return found, stated


@kernel
def expected_twists(bodies, contacts, rest, memory, jointed):
    """Return (n, 6) the twists of the expected motion.

    Bodies that carried load, touch or are jointed (n,) keep their twists at the start of the step; others have the predicted
    ones.

    bodies: `Prediction`. contacts, rest: of the step, and their `AtRest`. memory: the contact history.
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


@leaf_kernel
def rebound_speed(law, contacts, k, speed):
    """Return m/s, the rebound speed of contact k, which opens at `speed` m/s before its impact. law: `BounceLaw`."""
    a, b = contacts.body_a[k], contacts.body_b[k]
    return combine_in_kernels(law.rule, law.restitution[a], law.restitution[b]) * -speed


@kernel
def contacts_in_doubt(contacts, rest, memory, motion, of_modes, law, deforms):
    """Return the `Doubt` of contacts, and whether any is in doubt.

    Parameters
    ----------
    contacts : the m contacts at the start of the step
    rest : their `AtRest`
    memory : the contact history
    motion : the expected motion
    of_modes : (m,) m/s, the contribution of modes to the normal velocities
    law : `BounceLaw`
    deforms : (n,) bodies whose shape at the end of the step is unknown; their contacts are not in doubt
    """
    m, old = contacts.gap.size, match(memory, contacts)
    speed = normal_speed(contacts, motion.twist, motion.position) + of_modes
    end_gap = contacts.gap + motion.h * speed
    in_doubt, bearing, bouncing, is_any = np.zeros(m, np.bool_), np.zeros(m, np.bool_), np.zeros(m, np.bool_), False
    bodies = np.zeros(len(motion.twist), np.bool_)
    for k in range(m):
        a, b = contacts.body_a[k], contacts.body_b[k]
        bouncing[k] = rebound_speed(law, contacts, k, speed[k]) > law.least
        bearing[k] = old[k] >= 0 and memory.impulse[old[k], 0] > 0.0
        begun = bearing[k] and memory.approach[old[k]] > 0.0
        if rest.held[k] or begun or deforms[a] or deforms[b]:
            continue
        allowed = (DOUBTED_BEARING if bearing[k] else DOUBTED) * rest.offset[k]
        if end_gap[k] < min(contacts.gap[k], rest.gap[k]) - allowed:
            in_doubt[k] = bodies[a] = bodies[b] = is_any = True
    return Doubt(in_doubt, bodies, end_gap, bearing, bouncing, rest.offset), is_any


@inner_kernel
def of_pairs_in_doubt(found, contacts, in_doubt):
    """Return (k,) which of the contacts `found` belong to pairs with a contact in doubt (m,). Both sets are sorted by pairs."""
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
    """The selected rows of the m contacts at the start.

    stands: (m,) contacts that are kept. asked: (m,) the first contact of each pair whose time of impact has to be computed.
    may_pass: (m,) the same of pairs that do not overlap at the end.
    """

    stands: Flags
    asked: Flags
    may_pass: Flags


@kernel
def chosen_rows(shapes, poses, contacts, doubt, found, stated):
    """Select contacts at the start, and contacts at the end that replace others.

    Parameters
    ----------
    shapes : ShapeTable without surfaces
    poses : the `Poses` at the start of the step and at the end of the expected motion
    contacts, doubt : the contacts at the start, and their classification
    found, stated : contacts at the end, and the same contacts mapped to the start

    Returns
    -------
    `Rows`, and the contacts at the end that are added, mapped to the start
    """
    ahead = contacts_ahead(contacts, doubt, found, stated)
    m, k = contacts.gap.size, ahead.stated_gap.size
    out, taken = Rows(np.ones(m, np.bool_), np.zeros(m, np.bool_), np.zeros(m, np.bool_)), np.zeros(k, np.bool_)
    end, later = 0, 0
    while end < m:
        first = end
        a, b = contacts.body_a[first], contacts.body_b[first]
        end = end_of_pair(contacts, first)
        if not doubt.in_doubt[first:end].any():
            continue
        while later < k and is_pair_before(ahead.contacts.body_a[later], ahead.contacts.body_b[later], a, b):
            later += 1
        last = later
        if later < k and ahead.contacts.body_a[later] == a and ahead.contacts.body_b[later] == b:
            last = end_of_pair(ahead.contacts, later)
        choose_of_pair(shapes, poses, contacts, doubt, ahead, Pair(first, end, later, last), out, taken)
    new = chosen_contacts(ahead.contacts, taken)
    new.gap[:] = np.maximum(ahead.stated_gap, ahead.deepest_before)[taken]
    return out, new


@inner_kernel
def contacts_ahead(contacts, doubt, found, stated):
    """Return the `Ahead` of a step. Parameters as of `chosen_rows`."""
    chosen = of_pairs_in_doubt(found, contacts, doubt.in_doubt)
    ahead = chosen_contacts(stated, chosen)
    stated_gap = ahead.gap.copy()
    ahead.gap[:] = found.gap[chosen]
    return Ahead(ahead, stated_gap, deepest_of_pairs(contacts, contacts.gap, ahead))


@kernel
def that_bounce(pairs, met, motion, of_modes, law):
    """Return (k,) the pairs of bodies (k, 2) that bounce.

    Parameters
    ----------
    pairs : (k, 2) each with the lower body first
    met : their m contacts at the time of impact, mapped to the start
    motion : the expected motion
    of_modes : (m,) m/s, the contribution of modes to the normal velocities
    law : `BounceLaw`
    """
    speed = normal_speed(met, motion.twist, motion.position) + of_modes
    ends, count = np.empty((met.gap.size, 2), np.int64), 0
    for k in range(len(ends)):
        if rebound_speed(law, met, k, speed[k]) > law.least:
            ends[count, 0], ends[count, 1] = met.body_a[k], met.body_b[k]
            count += 1
    return are_among(pairs, ends[:count], len(motion.twist))


@kernel
def with_met(contacts, in_doubt, rows, new, met, impacts):
    """Return new contacts with those of colliding pairs.

    Parameters
    ----------
    contacts : the m contacts at the start, sorted by pairs
    in_doubt : (m,)
    rows : `stands` is updated
    new : contacts of other pairs
    met : the contacts of colliding pairs, sorted by pairs
    impacts : (k, 2) pairs of bodies with an impact, sorted
    """
    drop_met_and_passing(contacts, in_doubt, rows, met, impacts)
    # The path of a point on a rotating body is curved, so phi - t u_n can be an overlap that does not exist.
    gap = np.maximum(met.gap, deepest_of_pairs(contacts, contacts.gap, met))
    return merged(new, ContactSet(met.body_a, met.body_b, met.point, met.normal, gap, met.feature))


@kernel
def with_kept(new, contacts, stands):
    """Return new contacts with the contacts that are kept (m,), and flags of the new ones.

    A contact that is kept takes precedence over a new one with the same features.
    """
    kept = chosen_contacts(contacts, stands)
    both = merged(new, kept)
    return both, match(kept, both) < 0


@inner_kernel
def drop_met_and_passing(contacts, in_doubt, rows, met, impacts):
    """Remove the contacts in doubt of pairs that collide, and of pairs that may pass each other and have no impact.

    Parameters
    ----------
    contacts : the m contacts at the start, sorted by pairs
    in_doubt : (m,)
    rows : `stands` is updated
    met : the contacts of colliding pairs, sorted by pairs
    impacts : (k, 2) pairs of bodies with an impact, sorted
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
    """Return whether a pair of bodies precedes another one in the order of contacts."""
    return a < other_a or (a == other_a and b < other_b)


class Pair(NamedTuple):
    """The rows of a pair of bodies among the contacts at the start and among those at the end."""

    first: int
    end: int
    first_ahead: int
    end_ahead: int


@leaf_kernel
def end_of_pair(contacts, row):
    """Return the row after the last contact of the pair to which a row belongs."""
    a, b = contacts.body_a[row], contacts.body_b[row]
    while row < contacts.gap.size and contacts.body_a[row] == a and contacts.body_b[row] == b:
        row += 1
    return row


@leaf_kernel
def choose_of_pair(shapes, poses, contacts, doubt, ahead, pair, out, taken):
    """Apply rules 2 to 5 to a pair.

    The rows of the pair are written in `out`, a `Rows`, and in `taken` (k,), the contacts at the end that are added.
    """
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
    is_clear, separates = look_ahead(shapes, poses[0], ahead, pair, offset, is_convex, taken)
    same = pair.first_ahead < pair.end_ahead and has_its_normals_ahead(shapes, poses, contacts, doubt, found, pair, is_clear)
    if not same and is_clear and separates and pair.first_ahead < pair.end_ahead:
        drop_doubtful(contacts, doubt, pair, False, out)
        if contacts.gap[nearest] > (1.0 + TOUCHING_OFFSETS) * offset:
            for row in range(pair.first_ahead, pair.end_ahead):
                # Bodies that pass each other within the rest offset are not separated on the way.
                ahead.stated_gap[row] += max(0.0, offset - found.gap[row])
        return
    if not same and is_clear and is_convex and not doubt.in_doubt[nearest]:
        drop_doubtful(contacts, doubt, pair, False, out)
    elif not same and not doubt.bearing[first : pair.end].any():
        out.asked[first], out.may_pass[first] = True, is_clear
    taken[pair.first_ahead : pair.end_ahead] = False


@leaf_kernel
def keeps_separated(shapes, poses, bodies, normal, offset):
    """Return whether a direction that separates two bodies at the start of the step also separates them at its end.

    poses: `Poses` at both. bodies: the two indices. normal: of the direction. offset: m, their rest offset.
    """
    begin, end = poses
    now = separation_along(shapes, begin.position, begin.rotation, bodies, normal)
    return separation_along(shapes, end.position, end.rotation, bodies, normal) >= min(now, offset) - CLEAR_OFFSETS * offset


@leaf_kernel
def look_ahead(shapes, begin, ahead, pair, offset, is_convex, valid):
    """Classify the contacts of a pair at the end of the step.

    Parameters
    ----------
    shapes : ShapeTable without surfaces
    begin : `Poses` at the start
    ahead : the contacts at the end
    pair : the rows of the pair
    offset : m, the rest offset of the pair
    is_convex : whether both bodies consist of one convex collider
    valid : (k,) written: whether the normal of each contact at the end separates the pair at the start

    Returns
    -------
    whether the pair is clear at the end, and whether the normal of its smallest gap there separates it at the start
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
    """Return the row with the smallest gap among the rows from first to end, -1 if there are none."""
    least = -1
    for row in range(first, end):
        if least < 0 or contacts.gap[row] < contacts.gap[least]:
            least = row
    return least


@leaf_kernel
def drop_doubtful(contacts, doubt, pair, separates, out):
    """Remove the contacts in doubt of a pair.

    Contacts along the normal of its smallest gap are kept if they carried load in the last step, and all of them if this normal
    separates the pair (`separates`).
    """
    normal = vec(contacts.normal, least_gap(contacts, pair.first, pair.end))
    for row in range(pair.first, pair.end):
        is_along = dot(normal, vec(contacts.normal, row)) > UNTURNED_NORMAL
        out.stands[row] = not doubt.in_doubt[row] or (is_along and (separates or doubt.bearing[row]))


@leaf_kernel
def turns_with(shapes, poses, body, normal, later):
    """Return whether a normal at the start and one at the end are the same direction of a body, as those of a face are.

    A ball that rolls past an edge also rotates as fast as the normal at the edge, but it has no face there.

    Parameters
    ----------
    shapes : ShapeTable without surfaces
    poses : `Poses` at the start and at the end
    body : its index
    normal, later : unit vectors, out of the body
    """
    begin, end = poses
    turned = rotated(end.rotation[body], rotated_back(begin.rotation[body], normal))
    if dot(turned, later) <= UNTURNED_NORMAL:
        return False
    return not is_one_convex(shapes, body) or has_face_along(shapes, end.rotation, body, later)


@leaf_kernel
def is_same_normal(shapes, poses, bodies, normal, later, bounces):
    """Return whether a normal at the end is that of a contact at the start, and obstructs the same motion.

    The normal of a face rotates with its body. The normal at an edge or at a round surface also rotates if bodies slide past
    each other, and then the two normals belong to different places.

    Parameters
    ----------
    shapes : ShapeTable without surfaces
    poses : `Poses` at the start and at the end
    bodies : indices of both bodies
    normal, later : unit normals at the start and at the end, from the first body to the second
    bounces : whether the bodies would bounce; the normal of a bounce may not rotate at all
    """
    cosine = dot(normal, later)
    if cosine > UNTURNED_NORMAL:
        return True
    if bounces or cosine <= TURNED_NORMAL:
        return False
    of_b = turns_with(shapes, poses, bodies[1], negative(normal), negative(later))
    return of_b or turns_with(shapes, poses, bodies[0], normal, later)


@leaf_kernel
def has_its_normals_ahead(shapes, poses, contacts, doubt, found, pair, is_clear):
    """Return whether the contacts in doubt of a pair describe its state at the end of the step.

    Each of them must have the normal of each contact at the end, or of each overlap there if the pair is not clear, and must
    predict the smallest gap there.
    """
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
            normal, later = vec(contacts.normal, row), vec(found.normal, k)
            if not is_same_normal(shapes, poses, bodies, normal, later, doubt.bouncing[row]):
                return False
    return True
