# SPDX-License-Identifier: GPL-3.0-or-later
"""Settling: bodies are dropped until all are at rest, and the final poses are returned, without an animation.

    settled = sc.settle(spec)
    settled.poses, settled.rests, settled.seconds, settled.overlap

The stepper is that of every simulation. This module decides when to stop. A body is at rest if it sleeps, see `sleeping`. It is
also at rest if, in each of two consecutive windows of half a second, it moved by at most a thousandth of its half size and a
thousandth of the distance that it would fall in that time, and no farther in the second window than in the first. The second
rule is needed because bodies that jitter within the tolerance of a large pile may never sleep.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.compounds import parts
from ..linalg.in_order import dots, length, product
from ..problem.result import Status
from ..scene.settling import FRAME_RATE, settling_scene
from ..scene.spec import BodyKind, BodySpec, SceneSpec, ShapeKind, SolverSettings, changed
from .motion.rotation import rotate
from .simulation import Simulation

__all__ = ["SETTLE_SECONDS", "Progress", "Settled", "settle"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SETTLE_SECONDS = 10.0  # default limit on simulated time in s
WINDOW_FRAMES = 12  # half a second
SLOWEST_SHARE = 1e-3  # fraction of the half size, and of the free fall in a window; a body that moves less may be at rest
MOST_GROWTH = 1.2  # largest ratio of the motions in consecutive windows of a body at rest
LEAST_GROWTH = 0.1  # fraction of the bound; growth of a smaller motion is noise


@dataclass(frozen=True)
class Progress:
    """The progress of a settle: simulated time in s, and how many of the moving bodies are at rest."""

    seconds: float
    resting: int
    moving: int


@dataclass(frozen=True)
class Settled:
    """The result of a settle.

    Attributes
    ----------
    poses : (n, 7) position in m and orientation quaternion (w, x, y, z) of every body frame in the world, in the order of the
        bodies of the scene
    moving : (n,) bodies that could move
    rests : (n,) bodies at rest, including those that cannot move
    lost : (n,) bodies that fell below all static bodies and will never come to rest
    displacement : (n,) m, an upper bound on the displacement of any point of each body
    moved : (n,) whether it exceeds a thousandth of the radius of the body
    seconds : simulated time
    steps, missed_steps : number of time steps, and of those that did not reach their tolerance
    overlap : m, the deepest overlap at the end, 0 for none
    overlapping : the names of its two bodies
    """

    poses: Floats
    moving: Flags
    rests: Flags
    lost: Flags
    displacement: Floats
    moved: Flags
    seconds: float
    steps: int
    missed_steps: int
    overlap: float
    overlapping: tuple[str, ...]

    @property
    def all_rest(self) -> bool:
        """Whether every body is at rest."""
        return bool(self.rests.all())


def settle(
    spec: SceneSpec,
    settings: SolverSettings | None = None,
    *,
    moving: Collection[str] | None = None,
    max_seconds: float = SETTLE_SECONDS,
    threads: int = 1,
    before_step: Callable[[], object] = lambda: None,
    on_progress: Callable[[Progress], object] = lambda _progress: None,
    **changes: Any,
) -> Settled:
    """Drop bodies until all are at rest, or the time limit is reached.

    Parameters
    ----------
    spec : the scene; `scene/settling.py` describes which of its data count.
    settings : solver settings, None for the defaults; the step is 1 / (24 substeps) s, and bodies sleep.
    moving : names of the bodies that move; None for all active ones.
    max_seconds : s of simulated time at most.
    threads : for large islands, 0 for one per processor.
    before_step : called before each time step; an exception that it raises ends the settle.
    on_progress : called 24 times per simulated second.
    changes : fields of `SolverSettings` with other values.

    Returns
    -------
    Settled : with a flag for each body at rest. The simulation also ends when all other bodies are lost.

    Raises
    ------
    SceneError : the scene is invalid; lists every object and field
    ValueError : max_seconds is not a positive number, a name is unknown, or no body would move
    """
    if not (math.isfinite(max_seconds) and max_seconds > 0.0):
        raise ValueError(f"max_seconds must be positive and finite, not {max_seconds}")
    scene = settling_scene(spec, moving)
    wanted = changed(SolverSettings() if settings is None else settings, changes)
    simulation = Simulation(scene, replace(wanted, sleeping=True, step_time_limit=0.0), threads=threads)
    frame = simulation.first_frame()
    watch = RestWatch(scene, simulation, frame.poses)
    steps = missed = number = 0
    for number in range(1, math.ceil(max_seconds * FRAME_RATE) + 1):
        frame = simulation.advance(before_step)
        steps += len(frame.statistics.status)
        missed += int(np.count_nonzero(frame.statistics.status != Status.SOLVED))
        watch.see(number, frame.poses)
        on_progress(Progress(number / FRAME_RATE, int(np.count_nonzero(watch.rests & watch.moving)), len(watch)))
        if (watch.rests | watch.lost).all():
            break
    depth, pair = simulation.deepest_overlap()
    displacement = watch.displacement(frame.poses)
    return Settled(
        poses=frame.poses,
        moving=watch.moving,
        rests=watch.rests & ~watch.lost,
        lost=watch.lost,
        displacement=displacement,
        moved=displacement > SLOWEST_SHARE * simulation.radius,
        seconds=number / FRAME_RATE,
        steps=steps,
        missed_steps=missed,
        overlap=depth,
        overlapping=() if pair is None else tuple(scene.bodies[index].name for index in pair),
    )


class RestWatch:
    """Detects which bodies of a simulation are at rest.

    moving: (n,) bodies that the solver moves. rests, lost: (n,) as in `Settled`, at the last frame.
    """

    def __init__(self, spec: SceneSpec, simulation: Simulation, poses: Floats) -> None:
        """poses: (n, 7) at the start of the simulation."""
        self.moving = np.array([body.kind is BodyKind.ACTIVE for body in spec.bodies])
        self.rests, self.lost = ~self.moving, np.zeros(len(poses), dtype=bool)
        self._simulation, self._radius = simulation, simulation.radius
        self._start = self._first = Placement.now(simulation, poses)
        gravity = length(spec.gravity)
        fall = 0.5 * gravity * (WINDOW_FRAMES / FRAME_RATE) ** 2 if gravity > 0.0 else np.inf
        self._bound = SLOWEST_SHARE * np.minimum(self._radius, fall)
        self._farthest, self._before = np.zeros(len(poses)), np.full(len(poses), np.inf)
        self._was_slow = np.zeros(len(poses), dtype=bool)
        self._down = np.asarray(spec.gravity, dtype=float) / gravity if gravity > 0.0 else np.zeros(3)
        joined = {name for joint in spec.joints for name in (joint.body_a, joint.body_b)}
        self._may_be_lost = self.moving & np.array([body.name not in joined for body in spec.bodies])
        stand = (body for body in spec.bodies if body.kind is not BodyKind.ACTIVE)
        self._lowest = max((farthest_along(body, self._down) for body in stand), default=-np.inf)

    def __len__(self) -> int:
        return int(np.count_nonzero(self.moving))

    def see(self, number: int, poses: Floats) -> None:
        """Update with the poses (n, 7) of a frame. number: of the frame, counted from 1."""
        now = Placement.now(self._simulation, poses)
        self._farthest = np.maximum(self._farthest, now.distance(self._first, self._radius))
        if number % WINDOW_FRAMES == 0:
            grows = self._farthest > np.maximum(MOST_GROWTH * self._before, LEAST_GROWTH * self._bound)
            slow = self._farthest <= self._bound
            self.rests = ~self.moving | (slow & self._was_slow & ~grows)
            self._before, self._was_slow, self._farthest, self._first = self._farthest, slow, np.zeros(len(poses)), now
        else:
            self.rests = self.rests & (self._farthest <= self._bound)
        self.rests = self.rests | self._simulation.asleep
        self.lost = self._are_lost(now) if self._down.any() else self.lost

    def displacement(self, poses: Floats) -> Floats:
        """Return (n,) m, an upper bound on the displacement of any point of each body since the start, at poses (n, 7)."""
        now = Placement.now(self._simulation, poses)
        return np.where(self.moving, now.distance(self._start, self._radius), 0.0)

    def _are_lost(self, now: Placement) -> Flags:
        highest = product(now.center, self._down) - self._radius
        return self._may_be_lost & (highest > self._lowest) & ~self._simulation.asleep


def farthest_along(body: BodySpec, direction: Floats) -> float:
    """Return the coordinate in m of the farthest point of a body along a unit vector (3,); infinite for a half-space."""
    farthest = -np.inf
    for part in parts(body.shape):
        if part.shape.kind is ShapeKind.PLANE:
            return np.inf
        local = product(part.shape.vertices, part.rotation.T) + part.position
        points = rotate(np.broadcast_to(body.orientation, (len(local), 4)), local) + body.position
        farthest = max(farthest, float(product(points, direction).max()) + part.shape.margin + part.shape.radius)
    return farthest


@dataclass(frozen=True)
class Placement:
    """The placement of bodies: their centers of mass (n, 3) m and their orientations (n, 4)."""

    center: Floats
    orientation: Floats

    @classmethod
    def now(cls, simulation: Simulation, poses: Floats) -> Placement:
        """Return the placement in a simulation whose last frame has the poses (n, 7)."""
        return cls(simulation.center_of_mass.copy(), poses[:, 3:].copy())

    def distance(self, other: Placement, radius: Floats) -> Floats:
        """Return (n,) m, an upper bound on the distance of any point of each body from its position in another placement.

        radius: (n,) m, from the centers to the farthest points; infinite ones count as zero.
        """
        cosine = np.abs(dots(self.orientation, other.orientation))
        half_sine = np.sqrt(np.maximum(0.0, 1.0 - np.minimum(cosine, 1.0) ** 2))
        reach = np.where(np.isfinite(radius), radius, 0.0)
        return np.linalg.norm(self.center - other.center, axis=1) + 2.0 * reach * half_sine
