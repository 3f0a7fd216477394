# SPDX-License-Identifier: GPL-3.0-or-later
"""Impacts ("blows") on breakable bodies: the step is split at such an impact, so that one partial step contains it.

A contact that is open at the start of a step only keeps its bodies from overlapping at the end of the step. Two bodies that
collide in the middle of a step lose a part of their speed in this step, and the rest in the next one. The motion is the same.
But joints break by the impulse that they transmit within one time step, and bodies wake by the impulse of one, so half of an
impact may break nothing. Therefore the step is split at the time at which the bodies touch, and the whole impulse follows. In
long steps, the partial step that starts with an impact lasts as long as the time over which the load of a bond is averaged
(`joints/thresholds.py`).

Only impacts that could break something count. An impact transmits at most the momentum 2 m u of the lighter side to the other
one. If that is a small fraction of the threshold of the weakest joint there, and of the impulse that wakes a body, the step is
not split.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...collision.contact_set import ContactSet
from ...linalg.disjoint_sets import connected
from ..model.predict import Begin
from .impacts import NO_IMPACTS, Impacts

__all__ = ["Blows"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

HARMLESS = 0.01  # fraction of the weakest threshold; a lever of a few lengths makes bending that much larger than shear
SLIVER = 1e-3  # fraction of a time step; no partial step before or after an impact is shorter


class Blows:
    """The impulses that may break a joint of a body, or wake it, for n bodies.

    borne: (n,) N s, the smallest impulse that breaks a joint of a body's group, or wakes the body; infinite if none does.
    mass: (n,) kg, of all bodies that joints connect to a body; infinite if the solver does not move one of them. may_matter:
    whether any of these impulses is finite.
    """

    def __init__(self, mass: Floats, lasting: float) -> None:
        """mass: (n,) kg, of the bodies; infinite for those that the solver does not move. lasting: s, the longest duration of a
        partial step that starts with an impact."""
        self._own, self._lasting = mass, lasting
        self.mass, self.borne = mass, np.full(len(mass), np.inf)
        self.may_matter = False

    def follow(self, joined: Ints, least: Floats, waking: Floats) -> None:
        """Update the joints that may break and the bodies that may wake.

        Parameters
        ----------
        joined : (k, 2) bodies of the active joints, -1 for the world
        least : (k,) N s, the smallest impulse that breaks each joint; infinite for joints that do not break
        waking : (n,) N s, the impulse that wakes each body; infinite if none does
        """
        n = len(self._own)
        # The world is the last index.
        a, b = np.where(joined < 0, n, joined).astype(np.int64).T
        group = connected(n + 1, np.ones(n + 1, np.bool_), np.ascontiguousarray(a), np.ascontiguousarray(b))
        mass, weakest = np.zeros(n + 1), np.full(n + 1, np.inf)
        np.add.at(mass, group, np.append(self._own, np.inf))
        np.minimum.at(weakest, group[a], least)
        self.mass, self.borne = mass[group][:n], np.minimum(weakest[group][:n], waking)
        self.may_matter = bool(np.isfinite(self.borne).any())

    def find(self, begin: Begin, contacts: ContactSet, speed: Floats) -> Impacts:
        """Find the impacts of a step that may break a joint or wake a body.

        Parameters
        ----------
        begin : the step
        contacts : of the step
        speed : (m,) m/s, the opening speeds of the contacts

        Returns
        -------
        the pairs of bodies, with the time of contact of each, or the end of its impact if it is in contact already
        """
        a, b = contacts.body_a, contacts.body_b
        borne = np.minimum(self.borne[a], self.borne[b])
        lighter = np.minimum(self.mass[a], self.mass[b])
        touches = begin.touching(contacts)
        is_blow = (contacts.gap + begin.h * speed < 0.0) & (-speed > 2.0 * begin.least_bounce)
        is_blow &= 2.0 * np.where(np.isfinite(lighter), lighter, 0.0) * -speed > HARMLESS * borne
        # An impact that starts now ends after the time over which its force is averaged.
        time = np.where(touches, self._lasting, contacts.gap / np.where(is_blow, -speed, 1.0))
        # Contacts that close very near the start or the end of the step cause no split: a partial step would be too short.
        is_blow &= (time >= SLIVER * begin.single) & (begin.h - time >= SLIVER * begin.single)
        if not is_blow.any():
            return NO_IMPACTS
        bodies, pair = np.unique(contacts.ends[is_blow], axis=0, return_inverse=True)
        times = np.full(len(bodies), np.inf)
        np.minimum.at(times, pair.reshape(-1), time[is_blow])
        return Impacts(bodies, times, np.zeros(len(bodies), np.bool_))
