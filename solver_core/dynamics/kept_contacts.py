# SPDX-License-Identifier: GPL-3.0-or-later
"""The contacts, impacts and scrapes that a simulation keeps of a frame on request. It only looks at solved steps."""

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

# Times the speed that gravity gives in a step: what rests and is lifted by rounding comes back with less.
IMPACT_STEPS = 2.0
IMPACT_SPEED = 1e-3  # m/s, where there is no gravity
# Bodies that slip no faster do not scrape. A speed of the scene, not of the step, so that scrapes do not depend on substeps.
SCRAPE_SPEED = 1e-3  # m/s


class KeptContacts:
    """Looks at every step of a frame: `begin_frame`, `add` after each part of a step, `of_frame`."""

    def __init__(self, step: float) -> None:
        """step: s, before it is cut."""
        self.begin_frame(0.0, 0.0, step)

    def begin_frame(self, at: float, time: float, step: float) -> None:
        """Forget what the frame before had.

        Parameters
        ----------
        at, time : a moment in time steps, and in s of simulated time, since the first frame.
        step : s, of the frame's time steps, before they are cut; times are counted in them from that moment.
        """
        self._at, self._time, self._step = at, time, step
        self._last: tuple[Begin, Solution] | None = None
        self._impacts: list[FrameImpacts] = []
        self._scrapes: list[FrameScrapes] = []

    def add(self, begin: Begin, solution: Solution) -> None:
        """Take in a part of a step, the last of them in place of those before."""
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
        """The contacts of the last part that was added, none where all slept, and all impacts."""
        if self._last is None:
            return NOTHING_TOUCHES
        begin, solution = self._last
        names = FrameImpacts.__dataclass_fields__
        impacts = [*self._impacts, NOTHING_MET]
        joined = FrameImpacts(**{name: np.concatenate([getattr(one, name) for one in impacts]) for name in names})
        found = contacts_of(begin, solution, stick_speed(begin.gravity, begin.h), joined)
        return replace(found, scrapes=scrapes_of_frame(self._scrapes))


def contacts_of(begin: Begin, solution: Solution, slow: float, impacts: FrameImpacts) -> FrameContacts:
    """The contacts of a step that was solved. slow: m/s, what slips no faster sticks.

    Which of the two in 0 <= u_n + c perp lam_n >= 0 is zero is asked as `cones.natural_normal` asks it: the impulse is weighed
    against the velocity by the contact's effective mass.
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
    """The impacts of a part of a step, one for each two bodies.

    A contact that bears is an impact if it closed fast. It is the rest of an impact if it still closes, and the impact of its
    two bodies began in the part before. A normal impulse does work on the mean of the normal velocity before and after the
    step, so the energies of an impact in parts add up to the kinetic energy that it takes, whatever the time step.

    Parameters
    ----------
    time : s of simulated time, when the part begins
    fast : m/s
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
    # normals of a body that is clasped may add up to nothing
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
    """What friction dissipated in a part of a step, one row for each two bodies.

    Friction does work on the mean of the slip before and after the step. So the work of a step is the kinetic energy that
    friction takes, also in a step in which a body stops, and sums over steps do not depend on their length.

    Parameters
    ----------
    time : s of simulated time, when the part begins
    """
    contacts, system = solution.contacts, solution.system
    friction = solution.memory.impulse[:, 1:]
    mean = 0.5 * (relative_velocities(system, begin.velocities) + relative_velocities(system, solution.v))
    slip = remember(solution.axes, mean)[:, 1:]
    energy = -dots(friction, slip)
    # a smaller energy would be 0 in single precision
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
    """The scrapes of the parts of a frame's steps, put together by their two bodies."""
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
    # normals that add up to nothing are of a body that is clasped
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
