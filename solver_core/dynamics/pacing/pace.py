# SPDX-License-Identifier: GPL-3.0-or-later
"""The pace: how many time steps are taken as one, where nothing happens that needs them.

Leapfrog is exact under forces that do not change: what flies, rests, or slides at a steady force needs no short steps. Where
the acceleration changes by da from one step to the next a body is off by h^2 da / 2 at most, h being the longer of them: that
is kept below the part of its size that was asked for. What slides and would come to rest before the step ends, by its velocity
there, slides back instead: by a quarter of h times that velocity more than it should. So a step that runs into an impact is
given up and taken in shorter ones, down to a single one, and what goes on evenly earns one of twice the length, up to a frame.
Velocities of a leapfrog live in the middle of steps, and a force that ceases at the end of a long step would have ceased in its
middle: where even a single step after it changes too much, they are brought up to its begin.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...problem.result import Status
from ...problem.system import relative_velocities
from ...scene.spec import SolverSettings
from ..model.bodies import State
from ..model.predict import Begin
from ..solve.outcome import Solution

__all__ = ["Pace"]

Floats = NDArray[np.float64]

SAFETY = 0.5  # of the accuracy: what the error is aimed at
ROUND_OFF = 1e-9
JUMP = 4.0  # times as fast as before: accelerations that change at once
LENGTHENING = 2.0  # times as long: the most that a step is longer than the one before


class Pace:
    """How many of the scene's steps the next one is, of n bodies. span: that many, at least 1.

    radius: (n,) m, from the centre of mass to the farthest point; size: (n,) m, half the largest extent. With a step accuracy
    of 0 every step is one.
    """

    def __init__(self, radius: Floats, size: Floats, settings: SolverSettings):
        self._radius, self._size = np.where(np.isfinite(radius), radius, 0.0), size
        self._accuracy, self._most = settings.step_accuracy, settings.substeps
        self.span = 1
        self._acceleration = np.zeros((len(radius), 6))
        self._force = np.zeros((len(radius), 6))  # m/s^2 and N m: by which velocities and momenta changed
        # of the step that was looked at last, half extents and as many a second cubed, and of the one before
        self._error = self._jerk = self._jerk_before = 0.0

    def is_too_long(self, begin: Begin, solution: Solution) -> bool:
        """Whether a step is to be given up, asked of all: several as one that are off by more than they may be, or were not
        solved; a single one after several, where forces change at once."""
        if self._accuracy == 0.0:
            return False
        acceleration = self._accelerations(begin, solution.v)
        change = acceleration - self._acceleration
        speed = np.linalg.norm(change[:, :3], axis=1) + self._radius * np.linalg.norm(change[:, 3:], axis=1)
        off = speed[begin.awake] / self._size[begin.awake]
        most = float(off.max(initial=0.0))
        self._error, self._jerk = 0.5 * max(begin.h, begin.last_step) ** 2 * most, most / begin.force_time
        if begin.h > begin.single:
            self._error = max(self._error, 0.25 * begin.h * turned_back(begin, solution, acceleration, self._size))
            return self._error > self._accuracy or solution.counts[0] != Status.SOLVED
        return begin.last_step > begin.single and self._error > self._accuracy and self._jerk > JUMP * self._jerk_before

    def shorten(self, span: int) -> None:
        """After so many steps that were given up as one: the next try is shorter."""
        self.span = max(1, int(span * min(0.5, np.sqrt(SAFETY * self._accuracy / max(self._error, 1e-300)))))

    def bring_up(self, state: State, last_step: float) -> None:
        """Bring the velocities of a state from the middle of the step before, of `last_step` s, to its end."""
        state.velocity[:] += 0.5 * last_step * self._force[:, :3]
        state.angular_momentum[:] += 0.5 * last_step * self._force[:, 3:]

    def advance(self, begin: Begin, v: Floats, before: State, after: State) -> None:
        """After a step, or a part of one, that was taken with velocities v (dof,) from a state to another."""
        if self._accuracy == 0.0:
            return
        self._force = np.hstack([after.velocity - before.velocity, after.angular_momentum - before.angular_momentum])
        self._force[~begin.awake] = 0.0
        self._force /= begin.force_time
        self._jerk_before = self._jerk
        self._acceleration = self._accelerations(begin, v)
        longer = min(LENGTHENING, np.sqrt(SAFETY * self._accuracy / max(self._error, 1e-300)))
        span = int(longer * begin.h / begin.single * (1.0 + ROUND_OFF))
        # the last step of a frame is as short as what is left of it
        span = max(span, self.span) if longer == LENGTHENING else span
        self.span = min(max(1, span), self._most)

    def _accelerations(self, begin: Begin, v: Floats) -> Floats:
        """(n, 6) of the bodies that the solver moves, over the time that forces act; of others nothing."""
        acceleration = np.zeros_like(self._acceleration)
        acceleration[begin.awake] = (begin.twists(v) - begin.bodies.twist[begin.awake]) / begin.force_time
        return acceleration

    def checkpoint(self) -> dict[str, NDArray]:
        """All that `restore` needs."""
        arrays = {
            "span": np.array([self.span]),
            "jerk": np.array([self._jerk_before]),
            "acceleration": self._acceleration,
            "force": self._force,
        }
        return {f"pace_{name}": array.copy() for name, array in arrays.items()} if self._accuracy else {}

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint, of a version that knew no pace too."""
        self.span = int(checkpoint.get("pace_span", [1])[0])
        self._jerk_before = float(checkpoint.get("pace_jerk", [0.0])[0])
        for name, own in (("acceleration", self._acceleration), ("force", self._force)):
            own[:] = checkpoint.get(f"pace_{name}", 0.0)


def turned_back(begin: Begin, solution: Solution, acceleration: Floats, size: Floats) -> float:
    """The fastest that a contact slides as the step ends, of those that slide the other way in its middle, in half extents of
    the smaller body a second. acceleration: (n, 6) of the step. size: (n,) m."""
    end = solution.v + 0.5 * begin.h * begin.unknowns(acceleration)
    middle, later = (relative_velocities(solution.system, v)[:, 1:] for v in (solution.v, end))
    back = np.einsum("ki,ki->k", middle, later) < 0.0
    contacts = solution.contacts
    smaller = np.minimum(size[contacts.body_a], size[contacts.body_b])
    return float((np.linalg.norm(later, axis=1) / smaller)[back].max(initial=0.0))
