# SPDX-License-Identifier: GPL-3.0-or-later
"""Blows on what may break: a time step ends where such bodies are hit, so that the blow is in one time step.

A contact that is open as a step begins only keeps its bodies from overlapping as the step ends. Two bodies that meet in the
middle of a step lose a part of their speed in this step, and the rest in the next one. The motion is the same. But joints break
by what they transmit within one time step, and bodies wake by the impulse of one, so half of a blow may break nothing.
Therefore the step is cut at the time at which they touch, and the whole impulse comes after it. In long steps the part that
begins with a blow lasts as long as the mean by which the strength of bonds is measured (`joints/thresholds.py`).

Only blows that could break something count. An impact transmits at most the momentum of the lighter side, 2 m u, to the other
one. Where that is a small share of the weakest joint there, or of the impulse that wakes a body, the step is left as it is.
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

HARMLESS = 0.01  # of the weakest joint: a lever of a few lengths makes its bending that much larger than its shear
SLIVER = 1e-3  # of a time step: no part that a blow ends, or that follows it, is shorter


class Blows:
    """Which bodies a blow could break loose, among n bodies.

    borne: (n,) N s, the least impulse that breaks something at a body; infinite for bodies where nothing breaks. mass: (n,) kg,
    of all that is joined to a body; infinite where that includes a body that the solver does not move.
    """

    def __init__(self, mass: Floats, lasting: float) -> None:
        """mass: (n,) kg, of the bodies; infinite for those that the solver does not move. lasting: s, for which the part of a
        step that begins with a blow lasts at the most."""
        self._own, self._lasting = mass, lasting
        self.mass, self.borne = mass, np.full(len(mass), np.inf)

    def follow(self, joined: Ints, least: Floats, waking: Floats) -> None:
        """Take in what may break now.

        Parameters
        ----------
        joined : (k, 2) bodies of the joints that hold, -1 for the world.
        least : (k,) N s, at which each of these breaks at the least; infinite for joints that do not break.
        waking : (n,) N s, the impulse that wakes each body; infinite where none does.
        """
        n = len(self._own)
        # the world is the last one
        a, b = np.where(joined < 0, n, joined).astype(np.int64).T
        group = connected(n + 1, np.ones(n + 1, np.bool_), np.ascontiguousarray(a), np.ascontiguousarray(b))
        mass, weakest = np.zeros(n + 1), np.full(n + 1, np.inf)
        np.add.at(mass, group, np.append(self._own, np.inf))
        np.minimum.at(weakest, group[a], least)
        self.mass, self.borne = mass[group][:n], np.minimum(weakest[group][:n], waking)

    def find(self, begin: Begin, contacts: ContactSet, speed: Floats) -> Impacts:
        """Find the blows of a step on bodies that may break.

        Parameters
        ----------
        begin : the step.
        contacts : of the step.
        speed : (m,) m/s, at which their gaps open.

        Returns
        -------
        The pairs of bodies with the times at which they touch, or, if they touch already, at which their blow ends.
        """
        a, b = contacts.body_a, contacts.body_b
        borne = np.minimum(self.borne[a], self.borne[b])
        if not np.isfinite(borne).any():
            return NO_IMPACTS
        lighter = np.minimum(self.mass[a], self.mass[b])
        touches = begin.touching(contacts)
        is_blow = (contacts.gap + begin.h * speed < 0.0) & (-speed > 2.0 * begin.least_bounce)
        is_blow &= 2.0 * np.where(np.isfinite(lighter), lighter, 0.0) * -speed > HARMLESS * borne
        # A blow that begins now ends after the time over which its force is averaged.
        time = np.where(touches, self._lasting, contacts.gap / np.where(is_blow, -speed, 1.0))
        # Contacts that close within a sliver of the start or the end of the step cause no cut: the part would be too short.
        is_blow &= (time >= SLIVER * begin.single) & (begin.h - time >= SLIVER * begin.single)
        if not is_blow.any():
            return NO_IMPACTS
        bodies, pair = np.unique(contacts.ends[is_blow], axis=0, return_inverse=True)
        times = np.full(len(bodies), np.inf)
        np.minimum.at(times, pair.reshape(-1), time[is_blow])
        return Impacts(bodies, times, np.zeros(len(bodies), np.bool_))
