# SPDX-License-Identifier: GPL-3.0-or-later
"""What rolls on, or spins about, a point or a line: its contacts hold along the step, as joints do, and not where it begins.

With J at the step's begin J v = 0 is first order where the lever turns: a top on its tip walks, a disc on its rim loses what
it has. So u = J v + b, with b = u(w) - J w for a motion w of both bodies through the step near the one that comes out: that to
which the last step's impulses lead. Where it ends contacts are looked for once more, with the same features:

- Along the normal h u(w) is by how much the gap changes, so that contacts hold where the step ends (SHAKE).
- Across, each body brings x' + <omega x r>, the mean over the way of its lever from the contact at the begin to that at the
  end. A tip is the same point of the body at both, and <omega x r> is its chord; a rim has another point; on a ball r does not
  change at all. A lever that turns by alpha about omega goes along an arc, whose mean is tan(alpha / 2) / (alpha / 2) times
  that of its ends. For the lever between the surfaces stand the levers of the two surfaces.

The error is of second order in the step, as w is known to first. That is for a body that turns by a few hundredths of a radian
in a step, or whose axis does, as that of a disc that tumbles at a small tilt, and that bore in the last step on one body that
no impulse moves, at no more than two points: of an impact w would be a guess, what stands on three does not roll, and what
rolls on two bodies or more at once could hold to one only where it slid on the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..collision.contact_set import ContactSet
from ..collision.detect import detect
from ..problem.system import System, apply_inverse_mass, transpose_product
from .bodies import Bodies, State
from .crowds import Crowds
from .look_ahead.impacts import ImpactFinder
from .look_ahead.later_contacts import twist_between
from .motion.deformation import Deformation
from .motion.rotation import matrices
from .predict import Begin
from .rest_gaps import rest_offsets

__all__ = ["Rolling", "moved_as_before"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SPIN = 2e-2  # rad in a step: where neither a body nor its axis turns by more, levers hardly do
SLOW = 5e-3  # rad in a step: what turns by less has no axis to speak of
POINTS_OF_A_LINE = 2  # contacts of two bodies that bear: with more they stand on each other
STILL_ITS_NORMAL = 0.7  # cosine: of normals that turn by more in the step the one says nothing about the other


class Rolling:
    """Finds by how much the velocities at contacts of what rolls differ from J v; made once for a scene."""

    def __init__(self, bodies: Bodies, impacts: ImpactFinder, deformation: Deformation, crowds: Crowds) -> None:
        self._bodies, self._impacts, self._deformation, self._crowds = bodies, impacts, deformation, crowds
        self._rest = rest_offsets(bodies.model.size)

    def contacts(self, begin: Begin, contacts: ContactSet, system: System, impulse: Floats) -> Flags:
        """(m,) which contacts are of bodies that roll; impulse: (m, 3) N s, of the last step."""
        # a part of a step is no other law
        step = max(begin.h, begin.single)
        spin = step * begin.bodies.predicted[:, 3:]
        turns, none = dot(spin, spin) > SLOW**2, np.zeros(len(contacts), np.bool_)
        if not turns.any():
            return none
        moves, count = begin.model.dof >= 0, len(turns)
        a, b = contacts.body_a, contacts.body_b
        bears = impulse[:, 0] > 0.0
        # neither meshes that deform, whose surface is not where it will be, nor crowds, which nobody looks at so closely
        alone = ~self._crowds.members & (self._deformation.reach(begin.h) == 0.0)
        body, other = np.where(moves[a], a, b), np.where(moves[a], b, a)
        rolls = turns[body] & ~moves[other] & alone[body] & alone[other]
        if not (rolls & bears).any():
            return none
        points = np.bincount(np.concatenate([a[bears], b[bears]]), minlength=count)
        _, pair = np.unique(body * count + other, return_inverse=True)
        on_this = np.bincount(pair, weights=bears)[pair]
        rolls &= (on_this > 0) & (on_this <= POINTS_OF_A_LINE) & (on_this == points[body])
        if not rolls.any():
            return none
        change = np.zeros_like(spin)
        change[begin.awake] = step * begin.twists(moved_as_before(system, impulse))[:, 3:]
        change -= step * begin.bodies.twist[:, 3:]
        axis, square = np.cross(spin, change), dot(spin, spin)
        fast = (square > SPIN**2) | (dot(axis, axis) > (SPIN * begin.force_time / step * square) ** 2)
        return rolls & fast[body]

    def turning(
        self, begin: Begin, state: State, moved: State, twist: Floats, contacts: ContactSet, which: Flags
    ) -> tuple[Floats, Flags]:
        """u(w) - J w, (m, 3) m/s, world, of those contacts `which` (m,) that a motion from one state to another leaves
        there, and (m,) which these are.

        twist: (n, 6) the velocities w of that motion, as they stand in J w.
        """
        out, known = np.zeros((len(contacts), 3)), np.zeros(len(contacts), np.bool_)
        chosen = np.zeros(len(twist), np.bool_)
        chosen[contacts.body_a[which]] = chosen[contacts.body_b[which]] = True
        reach = 2.0 * self._rest + np.where(chosen, self._impacts.reach(twist, begin.h), 0.0)
        scene = moved.position, matrices(moved.orientation), reach, begin.model.collections
        found = detect(self._bodies.shapes, *scene, chosen & (begin.model.dof >= 0), self._bodies.excluded)
        rows, there = same_features(contacts, found, np.flatnonzero(which))
        if not rows.size:
            return out, known
        before, after = contacts.chosen(rows), found.chosen(there)
        a, b = before.body_a, before.body_b
        way = twist_between(state, moved, twist, begin.h)
        told = velocity_at(before.point, twist[b], state.position[b]) - velocity_at(before.point, twist[a], state.position[a])
        mean = np.zeros_like(told)
        for body, side in ((b, 1.0), (a, -1.0)):
            lever = on_surface(before, side) - state.position[body], on_surface(after, side) - moved.position[body]
            mean += side * (way[body, :3] + mean_along_arc(way[body, 3:], *lever))
        closed = (after.gap - before.gap) / begin.h - dot(mean, before.normal)
        # what goes on as it did neither leaves nor comes in by more than twice what gravity does in a step: it is no impact
        straight = dot(before.normal, after.normal) > STILL_ITS_NORMAL
        straight &= np.abs(after.gap - before.gap) <= 2.0 * begin.single * begin.least_bounce
        known[rows] = straight
        out[rows[straight]] = (mean + closed[:, None] * before.normal - told)[straight]
        return out, known


def moved_as_before(system: System, impulse: Floats) -> Floats:
    """Velocities (dof,) with impulses (m, 3) N s of contacts."""
    pushed, change = np.zeros_like(system.velocity), np.zeros_like(system.velocity)
    transpose_product(system, impulse, pushed)
    apply_inverse_mass(system, pushed, change)
    return system.velocity + change


def same_features(
    before: ContactSet, after: ContactSet, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Those of some contacts (k,) that are there after a motion too, and where."""
    where = {key: place for place, key in enumerate(zip(*(array.tolist() for array in keys(after)), strict=True))}
    of_rows = zip(*(array[rows].tolist() for array in keys(before)), strict=True)
    found = np.array([where.get(key, -1) for key in of_rows], dtype=np.int64)
    return rows[found >= 0], found[found >= 0]


def keys(contacts: ContactSet) -> tuple[NDArray, NDArray, NDArray]:
    """What names a contact."""
    return contacts.body_a, contacts.body_b, contacts.feature


def on_surface(contacts: ContactSet, side: float) -> Floats:
    """(m, 3) m: the points of contacts on the surfaces of the bodies B, side 1, or A, side -1."""
    return contacts.point + (0.5 * side) * contacts.gap[:, None] * contacts.normal


def velocity_at(point: Floats, twist: Floats, position: Floats) -> Floats:
    """(m, 3) m/s: the velocity of bodies at points."""
    return twist[:, :3] + np.cross(twist[:, 3:], point - position)


def mean_along_arc(turn: Floats, begin: Floats, end: Floats) -> Floats:
    """(m, 3) m/s: the mean of omega x r where levers r (m, 3) go from begin to end on arcs about omega (m, 3)."""
    first, last = np.cross(turn, begin), np.cross(turn, end)
    chord, sum_ = np.linalg.norm(last - first, axis=1), np.linalg.norm(first + last, axis=1)
    # tan(alpha / 2); a lever that comes out on the other side has not gone there on an arc
    tangent = np.divide(chord, sum_, out=np.zeros_like(chord), where=chord < sum_)
    factor = np.divide(tangent, np.arctan(tangent), out=np.ones_like(tangent), where=tangent > 0.0)
    return 0.5 * factor[:, None] * (first + last)


def dot(x: Floats, y: Floats) -> Floats:
    """(m,) of vectors (m, 3)."""
    return np.einsum("ki,ki->k", x, y)
