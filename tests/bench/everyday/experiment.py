# SPDX-License-Identifier: GPL-3.0-or-later
"""An experiment: a scene, what is measured in its film, what physics says, and how far a step of that length may be off.

What the integrator itself leaves is the same for all experiments, and each claim says which of these it allows for:

- **Leapfrog.** Positions under constant forces are exact. A body that friction stops does so within a step, so its way is off
  by at most a h^2 / 8 for a deceleration a. Smooth motion is off by a multiple of h^2.
- **Velocities** belong to the middle of the last step, so they differ by g h / 2 from those at its end.
- **Rest offset.** Bodies rest 2e-4 of the smaller one's half extent apart.
- **Impacts** lie somewhere in a step, and compression and rebound may lie in two. Velocities after one are off by what forces
  change in a step, and by what levers and normals turn in a step: both are proportional to h.
- **The solver** is asked for 1e-6 of the fastest velocity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.scene.spec import SceneSpec

__all__ = ["FPS", "Catalog", "Claim", "Experiment", "Film", "Floats", "G", "at_least", "at_most", "equals", "frames_of"]

Floats = np.ndarray
G = 9.81
FPS = 60  # frames a second; a frame has as many steps as the rate of the run asks for


@dataclass(frozen=True)
class Film:
    """What a run showed, in the axes in which the experiment was written.

    names: of the bodies. step: s. times: (f,) s since the begin. poses: (f, bodies, 7). velocities: (f, bodies, 6), those of
    the middle of the step before each time. broken: (joints,) of the last frame. reactions: (frames, joints, 6) N and N m,
    means over whole frames. missed: steps that were not solved. violations: of the contact law, by the solver's own check.
    """

    names: tuple[str, ...]
    step: float
    times: Floats
    poses: Floats
    velocities: Floats
    broken: Floats
    reactions: Floats
    missed: int = 0
    violations: int = 0

    @cached_property
    def index(self) -> dict[str, int]:
        """Of each body by its name."""
        return {name: number for number, name in enumerate(self.names)}

    def places(self, name: str) -> Floats:
        """(f, 3) m."""
        return self.poses[:, self.index[name], :3]

    def velocity(self, name: str) -> Floats:
        """(f, 3) m/s."""
        return self.velocities[:, self.index[name], :3]

    def spin(self, name: str) -> Floats:
        """(f, 3) rad/s."""
        return self.velocities[:, self.index[name], 3:]

    def turns(self, name: str) -> Rotation:
        """f rotations from body axes to world axes."""
        return Rotation.from_quat(self.poses[:, self.index[name], 3:], scalar_first=True)

    def axis(self, name: str, local: Sequence[float]) -> Floats:
        """(f, 3) a direction of the body in the world."""
        return self.turns(name).apply(local)

    def point(self, name: str, local: Sequence[float]) -> Floats:
        """(f, 3) m: a point of the body in the world."""
        return self.places(name) + self.axis(name, local)

    def at(self, seconds: float) -> int:
        """The number of the first picture at that time or later."""
        return min(int(np.searchsorted(self.times, seconds - 1e-9)), len(self.times) - 1)

    def angle(self, name: str) -> Floats:
        """(f,) rad by which the body has turned since the begin, at most pi."""
        turns = self.turns(name)
        return (turns * turns[0].inv()).magnitude()

    def way(self, name: str, axis: int = 0) -> float:
        """How far the body has come along an axis at the end, m."""
        places = self.places(name)
        return float(places[-1, axis] - places[0, axis])

    def farthest(self, name: str, axis: int) -> float:
        """How far the body ever was along an axis, to either side, from where it began, m."""
        places = self.places(name)
        return float(np.abs(places[:, axis] - places[0, axis]).max())

    def rise(self, name: str, axis: int = 2) -> float:
        """How far the body ever was above where it began, m."""
        places = self.places(name)
        return float(places[:, axis].max() - places[0, axis])

    def most_turned(self, name: str) -> float:
        """The largest angle since the begin, rad."""
        return float(self.angle(name).max())


@dataclass(frozen=True)
class Claim:
    """What is measured, between which values it lies, and how far a run may be outside of them.

    low, high: the exact values; both are the same for an equality. rounding: in the unit of the claim, whatever the step;
    per_step and per_square: the same divided by s and s^2, multiplied by the step and its square.
    """

    what: str
    unit: str
    measure: Callable[[Film], float]
    low: float
    high: float
    rounding: float
    per_step: float = 0.0
    per_square: float = 0.0

    def margin(self, step: float) -> float:
        """How far outside a run with steps of so many seconds may be."""
        return self.rounding + self.per_step * step + self.per_square * step * step

    def off(self, seen: float) -> float:
        """How far outside a value is, infinite for nan."""
        if math.isnan(seen):
            return math.inf
        return max(self.low - seen, seen - self.high, 0.0)

    def holds(self, seen: float, step: float) -> bool:
        """Whether the value is as close as it has to be."""
        return self.off(seen) <= self.margin(step)


@dataclass(frozen=True)
class Experiment:
    """A scene, how long it is filmed, and what has to hold.

    why: where the expected values come from, and why a run may be so far off. longest_step: s, the longest step at which the
    experiment makes sense, as for bodies that turn by radians a step; infinite where any does.
    """

    spec: SceneSpec
    seconds: float
    claims: tuple[Claim, ...]
    why: str
    longest_step: float = math.inf


Catalog = dict[str, Callable[[], Experiment]]


def equals(what: str, unit: str, measure: Callable[[Film], float], value: float, rounding: float, **margins: float) -> Claim:
    """A claim of one value."""
    return Claim(what, unit, measure, value, value, rounding, **margins)


def at_most(what: str, unit: str, measure: Callable[[Film], float], value: float, rounding: float, **margins: float) -> Claim:
    """A claim of an upper bound."""
    return Claim(what, unit, measure, -math.inf, value, rounding, **margins)


def at_least(what: str, unit: str, measure: Callable[[Film], float], value: float, rounding: float, **margins: float) -> Claim:
    """A claim of a lower bound."""
    return Claim(what, unit, measure, value, math.inf, rounding, **margins)


def frames_of(seconds: float) -> int:
    """Whole frames that a film of so many seconds takes."""
    return math.ceil(seconds * FPS - 1e-9)
