# SPDX-License-Identifier: GPL-3.0-or-later
"""Recording of the contacts, impacts and scrapes of a frame, on request. It reads solved steps and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..linalg.in_order import dots
from ..problem.residuals import effective_masses
from ..problem.system import effective_inverse_mass, relative_velocities
from .contact.build import stick_speed
from .contact.grain import coefficient_along
from .contact.memory import remember
from .model.frame import NOTHING_SCRAPED, ContactState, FrameContacts, FrameImpacts, FrameScrapes
from .model.predict import Begin
from .solve.outcome import Solution

__all__ = ["KeptContacts"]

Floats = NDArray[np.float64]

# Smallest closing speed of an impact, relative to the speed that gravity gives in a step. A resting body that rounding lifts
# closes more slowly.
IMPACT_STEPS = 2.0
IMPACT_SPEED = 1e-3  # m/s, smallest closing speed of an impact
# m/s, smallest slip of a scrape. It does not depend on the step, so that scrapes do not depend on substeps.
SCRAPE_SPEED = 1e-3


class KeptContacts:
    """Records the steps of a frame: call `begin_frame`, then `add` after each partial step, then `of_frame`."""

    def __init__(self, step: float) -> None:
        """step: s, the time step of the scene."""
        self.begin_frame(0.0, 0.0, step)

    def begin_frame(self, step_number: float, time: float, step: float) -> None:
        """Start a frame and discard the records of the previous one.

        Parameters
        ----------
        step_number, time : the start of the frame, in time steps and in s of simulated time, since the first frame
        step : s, the time step of the frame
        """
        self._at, self._time, self._step = step_number, time, step
        self._last: tuple[Begin, Solution] | None = None
        self._impacts: list[FrameImpacts] = []
        self._scrapes: list[FrameScrapes] = []

    def add(self, begin: Begin, solution: Solution) -> None:
        """Record a partial step. Contacts are those of the last one."""
        self._last = begin, solution
        fast = max(IMPACT_SPEED, IMPACT_STEPS * begin.gravity * self._step)
        time = self._time + (begin.at - self._at) * self._step
        impacts = impacts_in(begin, solution, time, fast)
        if len(impacts.time):
            self._impacts.append(impacts)
        scrapes = scrapes_in(begin, solution, time)
        if len(scrapes.time):
            self._scrapes.append(scrapes)

    def of_frame(self) -> FrameContacts:
        """Return the contacts of the last partial step, none if all bodies slept, and all impacts and scrapes of the frame."""
        if self._last is None:
            return NOTHING_TOUCHES
        begin, solution = self._last
        names = FrameImpacts.__dataclass_fields__
        impacts = [*self._impacts, NOTHING_MET]
        joined = FrameImpacts(**{name: np.concatenate([getattr(one, name) for one in impacts]) for name in names})
        found = contacts_of(begin, solution, stick_speed(begin.gravity, begin.h), joined)
        return replace(found, scrapes=scrapes_of_frame(self._scrapes))


def contacts_of(begin: Begin, solution: Solution, slow: float, impacts: FrameImpacts) -> FrameContacts:
    """Return the contacts of a solved step.

    Which side of 0 <= u_n + c perp lam_n >= 0 is zero is decided as in `cones.natural_normal`: the velocity is multiplied by
    the effective mass of the contact and compared with the impulse.

    Parameters
    ----------
    begin, solution : the step and its solution
    slow : m/s; a contact with no more slip sticks
    impacts : of the frame
    """
    contacts, system, time = solution.contacts, solution.system, begin.force_time
    velocity = relative_velocities(system, solution.v)
    slip = remember(solution.axes, velocity)[:, 1:]
    normal, friction = solution.memory.impulse[:, 0], solution.memory.impulse[:, 1:]
    kappa = effective_masses(effective_inverse_mass(system))
    bears = normal > kappa * np.maximum(velocity[:, 0] + system.slack, 0.0)
    slides = np.linalg.norm(slip, axis=1) > slow
    mu, ellipse = system.mu, np.zeros((len(system.mu), 2, 3))
    has_grain = (solution.stretch != 1.0).any(axis=1)
    if has_grain.any():
        mu = coefficient_along(friction, solution.axes, solution.stretch, system.mu)
        semi_axes = system.mu[:, None] * solution.stretch
        ellipse[has_grain] = (semi_axes[:, :, None] * solution.axes[:, 1:])[has_grain]
    states = np.where(slides, ContactState.SLIDING, ContactState.STICKING)
    return FrameContacts(
        body_a=contacts.body_a.astype(np.int32),
        body_b=contacts.body_b.astype(np.int32),
        point=contacts.point.astype(np.float32),
        normal=contacts.normal.astype(np.float32),
        force=(normal / time).astype(np.float32),
        friction=(friction / time).astype(np.float32),
        slip=slip.astype(np.float32),
        gap=contacts.gap.astype(np.float32),
        mu=mu.astype(np.float32),
        ellipse=ellipse.astype(np.float32),
        state=np.where(bears, states, ContactState.SEPARATING).astype(np.uint8),
        impacts=impacts,
    )


def impacts_in(begin: Begin, solution: Solution, time: float, fast: float) -> FrameImpacts:
    """Return the impacts of a partial step, one for each pair of bodies.

    A loaded contact is an impact if it closed fast. It is the rest of an impact if it still closes, and the impact of its pair
    started in the previous partial step. A normal impulse does work on the mean of the normal velocities before and after the
    step, so the energies of an impact add up to the kinetic energy that it absorbs, for any time step.

    Parameters
    ----------
    begin, solution : the step and its solution
    time : s of simulated time, the start of the partial step
    fast : m/s, the smallest closing speed of an impact
    """
    begun = begin.begun
    contacts, system = solution.contacts, solution.system
    approach = -relative_velocities(system, begin.velocities)[:, 0]
    closing = np.maximum(approach, solution.struck)
    impulse = solution.memory.impulse[:, 0]
    energy = 0.5 * impulse * (approach - relative_velocities(system, solution.v)[:, 0])
    is_impact = closing > fast
    if len(begun.body_a):
        pairs = set(zip(begun.body_a.tolist(), begun.body_b.tolist(), strict=True))
        of_contacts = zip(contacts.body_a.tolist(), contacts.body_b.tolist(), strict=True)
        is_impact |= np.array([pair in pairs for pair in of_contacts], dtype=bool) & (closing > IMPACT_SPEED)
    rows = np.flatnonzero((impulse > 0.0) & is_impact)
    if not rows.size:
        return NOTHING_MET
    a, b, weight = contacts.body_a[rows], contacts.body_b[rows], impulse[rows]
    first = np.flatnonzero(np.concatenate([[True], (a[1:] != a[:-1]) | (b[1:] != b[:-1])]))  # contacts are sorted by bodies
    total = np.add.reduceat(weight, first)
    rest = begin.rest_gaps(contacts)[rows]
    touched = np.clip((contacts.gap[rows] - rest) / closing[rows], 0.0, begin.h)
    normal = np.add.reduceat(weight[:, None] * contacts.normal[rows], first)
    point = np.add.reduceat(weight[:, None] * contacts.point[rows], first) / total[:, None]
    # The normals of a body that is clasped from both sides may add up to zero.
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = np.where(size > 0.0, normal / np.where(size > 0.0, size, 1.0), contacts.normal[rows[first]])
    return FrameImpacts(
        time=time + np.minimum.reduceat(touched, first),
        body_a=a[first].astype(np.int32),
        body_b=b[first].astype(np.int32),
        point=point.astype(np.float32),
        normal=normal.astype(np.float32),
        impulse=total.astype(np.float32),
        speed=np.maximum.reduceat(closing[rows], first).astype(np.float32),
        energy=np.add.reduceat(energy[rows], first).astype(np.float32),
    )


def scrapes_in(begin: Begin, solution: Solution, time: float) -> FrameScrapes:
    """Return the work of friction in a partial step, one row for each pair of bodies.

    Friction does work on the mean of the slip before and after the step. The work of a step is therefore the kinetic energy
    that friction dissipates, also in a step in which a body stops, and sums over steps do not depend on their length.

    Parameters
    ----------
    begin, solution : the step and its solution
    time : s of simulated time, the start of the partial step
    """
    contacts, system = solution.contacts, solution.system
    friction = solution.memory.impulse[:, 1:]
    mean = 0.5 * (relative_velocities(system, begin.velocities) + relative_velocities(system, solution.v))
    slip = remember(solution.axes, mean)[:, 1:]
    energy = -dots(friction, slip)
    # A smaller energy would be zero in single precision.
    rows = np.flatnonzero((energy > np.finfo(np.float32).tiny) & (np.linalg.norm(slip, axis=1) > SCRAPE_SPEED))
    if not rows.size:
        return NOTHING_SCRAPED
    a, b, weight = contacts.body_a[rows], contacts.body_b[rows], energy[rows]
    first = np.flatnonzero(np.concatenate([[True], (a[1:] != a[:-1]) | (b[1:] != b[:-1])]))  # contacts are sorted by bodies
    total = np.add.reduceat(weight, first)

    def mean_of(values: Floats) -> Floats:
        return np.add.reduceat(weight[:, None] * values[rows], first) / total[:, None]

    point = mean_of(contacts.point)
    which = np.cumsum(np.isin(np.arange(len(rows)), first)) - 1
    away = (contacts.point[rows] - point[which]) ** 2
    return FrameScrapes(
        time=np.full(len(first), time + 0.5 * begin.h),
        body_a=a[first].astype(np.int32),
        body_b=b[first].astype(np.int32),
        point=point.astype(np.float32),
        spread=np.sqrt(np.add.reduceat(weight[:, None] * away, first) / total[:, None]).astype(np.float32),
        normal=mean_of(contacts.normal).astype(np.float32),
        slip=mean_of(slip).astype(np.float32),
        impulse=np.add.reduceat(np.linalg.norm(friction[rows], axis=1), first).astype(np.float32),
        energy=total.astype(np.float32),
        duration=np.full(len(first), begin.h, np.float32),
    )


def scrapes_of_frame(parts: Sequence[FrameScrapes]) -> FrameScrapes:
    """Combine the scrapes of all partial steps of a frame by pairs of bodies."""
    if not parts:
        return NOTHING_SCRAPED
    rows = {name: np.concatenate([getattr(part, name) for part in parts]) for name in FrameScrapes.__dataclass_fields__}
    pairs, which = np.unique(np.column_stack([rows["body_a"], rows["body_b"]]), axis=0, return_inverse=True)
    which = which.ravel()

    def summed(values: Floats) -> Floats:
        result = np.zeros((len(pairs), *values.shape[1:]))
        np.add.at(result, which, values)
        return result

    energy = rows["energy"].astype(np.float64)
    total = summed(energy)

    def mean_of(values: Floats) -> Floats:
        return summed(energy[:, None] * values) / total[:, None]

    normal = mean_of(rows["normal"])
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    # The normals of a body that is clasped from both sides may add up to zero.
    some = np.zeros_like(normal)
    some[which] = rows["normal"]
    normal = np.where(size > 0.0, normal / np.where(size > 0.0, size, 1.0), some)
    return FrameScrapes(
        time=summed(energy * rows["time"]) / total,
        body_a=pairs[:, 0].astype(np.int32),
        body_b=pairs[:, 1].astype(np.int32),
        point=mean_of(rows["point"]).astype(np.float32),
        spread=np.sqrt(mean_of(rows["spread"].astype(np.float64) ** 2)).astype(np.float32),
        normal=normal.astype(np.float32),
        slip=mean_of(rows["slip"]).astype(np.float32),
        impulse=summed(rows["impulse"]).astype(np.float32),
        energy=total.astype(np.float32),
        duration=summed(rows["duration"]).astype(np.float32),
    )


NOTHING_MET = FrameImpacts(
    time=np.zeros(0),
    body_a=np.zeros(0, np.int32),
    body_b=np.zeros(0, np.int32),
    point=np.zeros((0, 3), np.float32),
    normal=np.zeros((0, 3), np.float32),
    impulse=np.zeros(0, np.float32),
    speed=np.zeros(0, np.float32),
    energy=np.zeros(0, np.float32),
)
NOTHING_TOUCHES = FrameContacts(
    body_a=np.zeros(0, np.int32),
    body_b=np.zeros(0, np.int32),
    point=np.zeros((0, 3), np.float32),
    normal=np.zeros((0, 3), np.float32),
    force=np.zeros(0, np.float32),
    friction=np.zeros((0, 3), np.float32),
    slip=np.zeros((0, 3), np.float32),
    gap=np.zeros(0, np.float32),
    mu=np.zeros(0, np.float32),
    ellipse=np.zeros((0, 2, 3), np.float32),
    state=np.zeros(0, np.uint8),
    impacts=NOTHING_MET,
)
