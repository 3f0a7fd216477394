# SPDX-License-Identifier: GPL-3.0-or-later
"""Sleep: islands that are at rest are left out of the steps, until something comes near.

A threshold for speeds alone, as is common, stops what creeps, tips slowly, or is about to. Here an island falls asleep only
when its equilibrium is as good as the solver's tolerance: through two windows of time in turn every body of it has moved slower
than a small fraction of what gravity gives in a single step, every step of the scene was solved, and it moved no faster in the
second window than in the first. What is unstable grows, and so does what slides under a little less friction than it needs.

The island keeps its contacts with their impulses. It is woken as a whole, in the step in which a moving body could touch one
of its bodies, before that step is solved; so a body that is asleep is never part of a contact with one that moves.

A body may also sleep from the start, as it is, whether anything holds it or not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..compile.kernel import kernel
from ..linalg.disjoint_sets import connected
from ..scene.spec import SceneSpec
from .contact.memory import ContactMemory

__all__ = ["Sleep", "laid_asleep", "none_remembered", "remembered"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

WINDOW = 1.0 / 3.0  # s: two of them, and what is left of a third, are a second
# Of the speed that gravity gives in a step: what is as slow, all points of it, may be at rest, or what moves no faster than a
# coarse tolerance lets what is at rest.
STILL = 1e-4
GROWTH = 1.2  # from a window to the next: more, and it is no rest
SPEED_NOISE = 1e-5  # of the speed of what may be at rest: growth of less is round-off


class Sleep:
    """Who sleeps among n bodies. asleep: (n,). awake: (n,) those that the solver moves now. held: (n,) those that it will move.

    movable: (n,) those that it moves when they are awake. radius: (n,) m, from the centre of mass to the farthest point.
    gravity_speed: m/s, the speed that gravity gives in a step. step: s. With enabled False nothing falls asleep.
    """

    def __init__(self, movable: Flags, radius: Floats, gravity_speed: float, step: float, enabled: bool):
        self._movable, self._radius, self._enabled = movable, np.where(np.isfinite(radius), radius, 0.0), enabled
        self._gravity_speed, self._window = gravity_speed, steps_of_a_window(step)
        count = len(movable)
        self.asleep = np.zeros(count, dtype=bool)
        self._island = np.full(count, -1, dtype=np.int64)
        # the fastest that each body has been in this window and in the one before
        self._fastest, self._before = np.zeros(count), np.full(count, np.inf)
        self._memory = none_remembered()
        # those that have a path for now
        self.held = np.zeros(count, dtype=bool)
        # those that sleep since the scene began
        self.untouched = np.zeros(count, dtype=bool)

    def lay(self, sleeping: Flags, a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
        """Let bodies (n,) sleep from the start where all that joints of bodies a, b (j,) tie them to may sleep as well."""
        self._island = connected(len(sleeping), self._movable, a, b)
        wakes = np.isin(self._island, self._island[self._movable & ~sleeping])
        self.asleep = self._movable & sleeping & ~wakes
        self.untouched = self.asleep.copy()

    def change_step(self, gravity_speed: float, step: float) -> None:
        """Go on with steps of another length, as in `__init__`. What was slow in steps of the old one proves no rest."""
        self._gravity_speed, self._window = gravity_speed, steps_of_a_window(step)
        self._fastest[:], self._before[:] = np.inf, np.inf

    @property
    def settled(self) -> Flags:
        """(n,) the bodies that fell asleep where they had come to rest."""
        return self.asleep & ~self.untouched

    @property
    def awake(self) -> Flags:
        """(n,) the bodies that the solver moves now."""
        return self._movable & ~self.asleep & ~self.held

    def to_wake(self, a: Indices, b: Indices, wakes: Flags) -> Flags:
        """(n,) which must wake: all of every island that has a contact, or a joint, of bodies a, b (m,) with a body that wakes
        others (n,)."""
        if not self.asleep.any():
            return self.asleep
        met = np.concatenate([a[self.asleep[a] & wakes[b]], b[self.asleep[b] & wakes[a]]])
        return self.asleep & np.isin(self._island, self._island[met])

    def islands_of(self, bodies: Flags) -> Flags:
        """(n,) which sleep in one island with some bodies (n,)."""
        return self.asleep & np.isin(self._island, self._island[bodies & self.asleep])

    def wake(self, woken: Flags, memory: ContactMemory) -> ContactMemory:
        """Wake whole islands; the memory of those awake with what the islands knew of their contacts."""
        of_woken = woken[self._memory.body_a] | woken[self._memory.body_b]
        merged = ContactMemory._make(np.concatenate(pair) for pair in zip(memory, chosen(self._memory, of_woken), strict=True))
        self._memory = chosen(self._memory, ~of_woken)
        self.asleep, self.untouched = self.asleep & ~woken, self.untouched & ~woken
        self._fastest[woken], self._before[woken] = np.inf, np.inf
        return chosen(merged, np.lexsort((merged.feature, merged.body_b, merged.body_a)))

    def record_motion(self, twist: Floats, solved: bool, bending: Floats | float = 0.0) -> None:
        """Take in the twists (n, 6) with which bodies moved in a step, or in a part of one, whether it was solved, and (n,) m/s
        how fast the surfaces of bodies moved within them."""
        if self._enabled:
            keep_fastest(twist, self._radius, solved, self._fastest)
            np.maximum(self._fastest, bending, out=self._fastest)

    def update(
        self,
        number: int,
        memory: ContactMemory,
        joined: Indices,
        driven: Indices,
        still: Floats,
        met: Callable[[Flags], Flags],
    ) -> ContactMemory:
        """After the time step `number`, let islands at rest fall asleep; returns the memory of those that stay awake.

        joined: (k, 2) bodies that joints hold together. driven: bodies that never rest, for a motor drives them.
        still: (n,) the speed of a body that may be at rest, relative to the speed that gravity gives in a step; that of an
        island is its largest one. met: returns which of some bodies (n,) others would wake at once if they slept; those bodies
        wait for the others.
        """
        if not self._enabled or (number + 1) // self._window == number // self._window:
            return memory
        n, awake = len(self.asleep), self.awake
        a, b = np.concatenate([memory.body_a, joined[:, 0]]), np.concatenate([memory.body_b, joined[:, 1]])
        island = connected(n, awake, a, b)
        fastest, before = np.zeros(n), np.zeros(n)
        np.maximum.at(fastest, island, np.where(awake, self._fastest, 0.0))
        np.maximum.at(before, island, np.where(awake, self._before, 0.0))
        limit = np.full(n, STILL)
        np.maximum.at(limit, island, np.where(awake, still, 0.0))
        limit *= self._gravity_speed
        rests = (fastest <= limit) & (before <= limit)
        # A body about to fall accelerates, and is not hidden by a faster body of its island that rolls on steadily.
        accelerates = awake & (self._fastest > np.maximum(GROWTH * self._before, STILL * self._gravity_speed))
        rests[island[accelerates]] = False
        rests &= fastest <= np.maximum(GROWTH * before, SPEED_NOISE * STILL * self._gravity_speed)
        rests[island[driven]] = False
        falling = awake & rests[island]
        while falling.any() and (wait := met(falling)).any():
            falling &= ~np.isin(island, island[wait])
        self._before, self._fastest = self._fastest, np.zeros(n)
        if not falling.any():
            return memory
        self.asleep = self.asleep | falling
        self._island[falling] = island[falling]
        left = falling[memory.body_a] | falling[memory.body_b]
        self._memory = ContactMemory._make(
            np.concatenate(pair) for pair in zip(self._memory, chosen(memory, left), strict=True)
        )
        return chosen(memory, ~left)

    def checkpoint(self) -> dict[str, NDArray]:
        """All that `restore` needs."""
        memory = {f"asleep_{name}": array.copy() for name, array in zip(ContactMemory._fields, self._memory, strict=True)}
        own = {"asleep": self.asleep, "island": self._island, "fastest": self._fastest, "before": self._before}
        own["untouched"] = self.untouched
        return {f"sleep_{name}": array.copy() for name, array in own.items()} | memory

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Go on from a checkpoint."""
        self.asleep, self._island, self._fastest, self._before, self.untouched = (
            np.array(checkpoint[f"sleep_{name}"]) for name in ("asleep", "island", "fastest", "before", "untouched")
        )
        self._memory = remembered(checkpoint, "asleep")

    def keep_untouched(self, checkpoint: dict[str, NDArray]) -> None:
        """Of those that sleep from the start, wake all that did not sleep any more at a checkpoint."""
        self.untouched &= np.array(checkpoint["sleep_untouched"])
        self.asleep = self.untouched.copy()


def steps_of_a_window(step: float) -> int:
    """How many steps of so many s a window has."""
    return max(1, round(WINDOW / step))


@kernel
def keep_fastest(twist, radius, solved, fastest):
    """fastest (n,) := the larger of itself and the speeds of bodies' farthest points in a step; infinite where that was not
    solved. radius: (n,) m."""
    for b in range(fastest.size):
        v, w = twist[b, :3], twist[b, 3:]
        straight, turning = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), np.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        fastest[b] = max(fastest[b], straight + radius[b] * turning) if solved else np.inf


def laid_asleep(spec: SceneSpec) -> tuple[Flags, NDArray[np.int64], NDArray[np.int64]]:
    """(n,) the bodies that a scene lets sleep from the start, and the two bodies (j,), (j,) of each joint between bodies."""
    number = {body.name: index for index, body in enumerate(spec.bodies)}
    joined = [(number[one.body_a], number[one.body_b]) for one in spec.joints if one.body_a and one.body_b]
    a, b = np.array(joined, dtype=np.int64).reshape(-1, 2).T
    return np.array([body.starts_asleep for body in spec.bodies], dtype=bool), a.copy(), b.copy()


def chosen(memory: ContactMemory, rows: NDArray) -> ContactMemory:
    """Some contacts of a memory, by mask or by index."""
    return ContactMemory._make(array[rows] for array in memory)


def none_remembered() -> ContactMemory:
    """The memory of no contacts."""
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    ids = none, none, none.astype(np.uint64)
    return ContactMemory(*ids, np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3)), nothing, nothing, nothing)


def remembered(checkpoint: dict[str, NDArray], whose: str) -> ContactMemory:
    """A memory out of a checkpoint. Those of earlier versions have no normals, moments, energies taken, and partings."""
    given = dict(checkpoint)
    for name in ("normal", "moment"):
        given.setdefault(f"{whose}_{name}", np.zeros((len(given[f"{whose}_approach"]), 3)))
    for name in ("taken", "parting"):
        given.setdefault(f"{whose}_{name}", np.zeros(len(given[f"{whose}_approach"])))
    return ContactMemory._make(np.array(given[f"{whose}_{name}"]) for name in ContactMemory._fields)
