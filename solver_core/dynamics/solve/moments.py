# SPDX-License-Identifier: GPL-3.0-or-later
"""Rolling and torsional friction in a time step: contacts that also transmit moments.

A moment is solved as a contact of its own behind a massive particle, as `problem/rolling.py` derives it: the contact pushes the
particle, and the particle pushes the contact of the moment. The tangential velocities of the latter are a length times the
angular velocity of B relative to A. Torsion has one such tangent, along the normal; rolling has two, in the plane of the
contact. Both contacts have the same normal impulse. So friction with mu = 1 bounds the moment by the length times the normal
impulse, with maximal dissipation.

Source: Acary and Bourrier 2021, "Coulomb friction with rolling resistance as a cone complementarity problem".

The rows of the moments follow those of the contacts and precede those of the joints. Only the solver uses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...linalg.in_order import dots
from ...problem.system import System, effective_inverse_mass
from ...scene.spec import SceneSpec
from ..contact.memory import ContactMemory, match
from ..model.bodies import RIGID, Model
from .islands import Again

__all__ = [
    "Lengths",
    "Moments",
    "WithMoments",
    "lengths_of",
    "moments_of_step",
    "of_some",
    "recall_moments",
    "remembered_moments",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Lengths(NamedTuple):
    """The largest moments per normal force of n bodies: rolling, torsion, (n,) m. A contact uses the larger of its two."""

    rolling: Floats
    torsion: Floats

    @property
    def are_zero(self) -> bool:
        """Whether no contact transmits a moment."""
        return not (self.rolling.any() or self.torsion.any())


class Moments(NamedTuple):
    """The moments of a step's contacts, k in all.

    contact: (k,) the contact of each. row: (k, 2, 3) m, the world axes of its two components times its length; the second is
    zero for torsion. of_a, of_b: (k, 2, 6) the Jacobians of the two rows by the twists of the contact's bodies. bias: (k, 2)
    m/s, of the rows. impulse: (k, 2) N s, the warm start, and the solution once the step is solved.
    """

    contact: Ints
    row: Floats
    of_a: Floats
    of_b: Floats
    bias: Floats
    impulse: Floats


def lengths_of(spec: SceneSpec) -> Lengths:
    """Return the lengths of a scene's bodies."""
    both = [(body.material.rolling, body.material.torsion) for body in spec.bodies]
    rolling, torsion = np.array(both, dtype=np.float64).reshape(-1, 2).T
    return Lengths(rolling.copy(), torsion.copy())


def moments_of_step(
    lengths: Lengths, model: Model, contacts: ContactSet, axes: Floats, twist: Floats, spin: Floats | None
) -> Moments | None:
    """Return the moments that the contacts of a step may transmit; None if there are none.

    Parameters
    ----------
    lengths : of the bodies
    model : with degrees of freedom for the bodies that the step moves
    contacts : the m contacts
    axes : (m, 3, 3) the normal and the tangents of each contact, by rows
    twist : (n, 6) m/s and rad/s, of the bodies; bodies that the step does not move keep theirs
    spin : (m, 3) rad/s, world; the angular velocity of B's surface relative to A's, in addition to that of the bodies; None if
        no surface moves
    """
    a, b = contacts.body_a, contacts.body_b
    rows, of = [], []
    for length, first, count in ((lengths.torsion, 0, 1), (lengths.rolling, 1, 2)):
        longest = np.maximum(length[a], length[b])
        chosen = np.flatnonzero(longest > 0.0)
        own = np.zeros((chosen.size, 2, 3))
        own[:, :count] = longest[chosen, None, None] * axes[chosen, first : first + count]
        of.append(chosen)
        rows.append(own)
    contact, row = np.concatenate(of), np.concatenate(rows)
    if not contact.size:
        return None
    bias = np.zeros((contact.size, 2)) if spin is None else dots(row, spin[contact][:, None])
    ends = []
    for body, sign in ((a[contact], -1.0), (b[contact], 1.0)):
        is_known = model.dof[body] < 0
        bias += sign * np.where(is_known[:, None], dots(row, twist[body, None, 3:]), 0.0)
        own = np.zeros((contact.size, 2, RIGID))
        own[:, :, 3:] = np.where(is_known[:, None, None], 0.0, sign * row * model.lock[body, None, 3:])
        ends.append(own)
    return Moments(contact, row, ends[0], ends[1], bias, np.zeros((contact.size, 2)))


def recall_moments(moments: Moments, memory: ContactMemory, contacts: ContactSet) -> None:
    """Set the warm start of moments to those of the previous step.

    A stored moment is a vector in world axes, so it still holds a body at rest if the normal rotates. Its component along the
    axis of a row, divided by the length of the row, is the impulse.

    Parameters
    ----------
    moments : of the contacts; their impulses are overwritten
    memory : of the last step
    contacts : (m,), sorted by bodies and feature
    """
    old = match(memory, contacts)[moments.contact]
    borne = np.where((old >= 0)[:, None], memory.moment[old], 0.0) if len(memory.moment) else np.zeros((len(old), 3))
    squares = (moments.row**2).sum(axis=2)
    moments.impulse[:] = dots(moments.row, borne[:, None]) / np.where(squares > 0.0, squares, 1.0)


def of_some(moments: Moments, chosen: Ints) -> Moments:
    """Return the moments of the contacts `chosen` (c,), numbered in that order from 0, with zero impulses."""
    number = np.full(1 + max(int(moments.contact.max(initial=-1)), int(chosen.max(initial=-1))), -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    contact = number[moments.contact]
    kept = contact >= 0
    some = Moments._make(array[kept] for array in moments)
    return some._replace(contact=contact[kept], impulse=np.zeros_like(some.impulse))


def remembered_moments(moments: Moments | None, contacts: int) -> Floats:
    """Return (m, 3) N m s in world axes, the moment that each of m contacts transmits."""
    total = np.zeros((contacts, 3))
    if moments is not None:
        np.add.at(total, moments.contact, (moments.impulse[:, :, None] * moments.row).sum(axis=1))
    return total


@dataclass(frozen=True)
class WithMoments:
    """A system of contacts and joints with the moments of its contacts.

    system: with the rows and particles of the moments. columns: (dof,) indices in `system` of the velocities of the system
    without moments. moments: of the contacts. contacts: their number.
    """

    system: System
    columns: Ints
    moments: Moments
    contacts: int

    @property
    def contact(self) -> Ints:
        """(k,) the contact of each moment."""
        return self.moments.contact

    @classmethod
    def of(cls, system: System, moments: Moments) -> WithMoments:
        """Add moments to a system whose contacts are those of the step."""
        m, k = len(system.mu), len(moments.contact)
        # Each contact has a movable body, whose mass block holds the particle.
        on_b = system.body_b[moments.contact] >= 0
        holder = np.where(on_b, system.body_b[moments.contact], system.body_a[moments.contact])
        sizes = np.diff(system.offset)
        more = np.bincount(holder, minlength=len(sizes)).astype(np.int64)
        place = sizes[holder] + rank_among_equals(holder)
        offset = np.concatenate([[0], np.cumsum(sizes + more)]).astype(np.int64)
        body = np.repeat(np.arange(len(sizes)), sizes)
        columns = offset[body] + np.arange(len(body)) - system.offset[body]
        widest = max(system.jacobian_a.shape[2], int((sizes + more).max(initial=0)))
        inverse = effective_inverse_mass(system)[moments.contact, 0]
        inverse = np.where(inverse > 0.0, inverse, 1.0)
        jacobians = []
        for given, own, holds in ((system.jacobian_a, moments.of_a, ~on_b), (system.jacobian_b, moments.of_b, on_b)):
            rows = np.zeros((len(given) + k, 3, widest))
            rows[:m, :, : given.shape[2]] = given[:m]
            rows[m + k :, :, : given.shape[2]] = given[m:]
            rows[m : m + k, 1:, :RIGID] = own
            held = np.flatnonzero(holds)
            np.subtract.at(rows[:, 0], (moments.contact[held], place[held]), 1.0)
            rows[m + held, 0, place[held]] += 1.0
            jacobians.append(rows)
        velocity = np.zeros(int(offset[-1]))
        velocity[columns] = system.velocity
        bias = np.concatenate([system.bias[:m], np.zeros((k, 3)), system.bias[m:]])
        bias[m : m + k, 1:] = moments.bias
        blocks = [
            widened(given, sizes, more, (holder, place, values))
            for given, values in ((system.mass, 1.0 / inverse), (system.inverse_mass, inverse))
        ]
        extended = system._replace(
            offset=offset,
            block_start=np.concatenate([[0], np.cumsum((sizes + more) ** 2)]).astype(np.int64),
            mass=blocks[0],
            inverse_mass=blocks[1],
            velocity=velocity,
            body_a=with_rows(system.body_a, system.body_a[moments.contact], m),
            body_b=with_rows(system.body_b, system.body_b[moments.contact], m),
            jacobian_a=jacobians[0],
            jacobian_b=jacobians[1],
            bias=bias,
            slack=np.concatenate([system.slack, np.zeros(k)]),
            mu=np.concatenate([system.mu, np.ones(k)]),
        )
        return cls(extended, columns, moments, m)

    def impulse(self, impulse: Floats) -> Floats:
        """Return the warm start (., 3) with moments. The normal impulse of a moment is that of its contact."""
        own = np.column_stack([impulse[self.contact, 0], self.moments.impulse])
        return with_rows(impulse, own, self.contacts)

    def keep(self, impulse: Floats) -> None:
        """Store the moments of the impulses (., 3) that a solve returned."""
        self.moments.impulse[:] = impulse[self.contacts : self.contacts + len(self.contact), 1:]

    def velocities(self, v: Floats) -> Floats:
        """Return velocities with particles at rest, from those without particles (dof,)."""
        wider = np.zeros(len(self.system.velocity))
        wider[self.columns] = v
        return wider

    def without(self, rows: Floats) -> Floats:
        """Remove the rows of moments from rows of contacts, moments and joints."""
        return np.concatenate([rows[: self.contacts], rows[self.contacts + len(self.contact) :]])

    def again(self, again: Again) -> Again:
        """Convert `Again` of the system without moments to the system with moments. Both share the outcomes."""
        out = again.outcomes
        out.worst_contact[:] += np.where(out.worst_contact >= self.contacts, len(self.contact), 0)
        return again._replace(v=self.velocities(again.v))

    def of_contacts(self, rows: Ints) -> Ints:
        """Return row indices without moments, from indices with moments or -1. A moment has the index of its contact."""
        k = len(self.contact)
        of_moment = (rows >= self.contacts) & (rows < self.contacts + k)
        bearing = self.contact[np.clip(rows - self.contacts, 0, k - 1)]
        return np.where(of_moment, bearing, rows - np.where(rows >= self.contacts + k, k, 0))


def with_rows(rows: NDArray, more: NDArray, at: int) -> NDArray:
    """Return rows with more rows inserted at an index."""
    return np.concatenate([rows[:at], more, rows[at:]])


def rank_among_equals(values: Ints) -> Ints:
    """Return (k,) how many equal values precede each value."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered, side="left")
    return rank


def widened(blocks: Floats, sizes: Ints, more: Ints, particles: tuple[Ints, Ints, Floats]) -> Floats:
    """Return the mass blocks of bodies with particles added on their diagonals.

    blocks: of the bodies, row-major and concatenated. sizes: (n,) of the blocks. more: (n,) particles to add to each.
    particles: (k,) the body of each, its index in the block of the body, and its mass.
    """
    holder, place, values = particles
    start, body = np.concatenate([[0], np.cumsum(sizes**2)]), np.repeat(np.arange(len(sizes)), sizes**2)
    wider = sizes + more
    new_start = np.concatenate([[0], np.cumsum(wider**2)])
    row, column = np.divmod(np.arange(len(body)) - start[body], sizes[body])
    out = np.zeros(int(new_start[-1]))
    out[new_start[body] + row * wider[body] + column] = blocks
    out[new_start[holder] + place * (wider[holder] + 1)] = values
    return out
