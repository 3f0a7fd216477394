# SPDX-License-Identifier: GPL-3.0-or-later
"""Sleep: islands at rest are left out of the steps until another body comes near.

A common speed threshold alone also stops bodies that creep or tip slowly, or that are about to. Here an island falls asleep
only if its equilibrium is as accurate as the solver's tolerance: in two consecutive windows of time, every body of it moved
slower than a small fraction of the speed that gravity gives in a single step, every step of the scene was solved, and the
island moved no faster in the second window than in the first. The speed of an unstable island grows, and so does that of one
that slides for lack of friction.

A sleeping island keeps its contacts with their impulses. It wakes as a whole in the step in which a moving body could touch one
of its bodies, before that step is solved. A sleeping body is therefore never part of a contact with a moving one.

A body may also sleep from the start, in any pose, whether it is supported or not.
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

WINDOW = 1.0 / 3.0  # s; an island that comes to rest within a window falls asleep in at most three windows, one second
# Largest speed of any point of a body at rest, as a fraction of the speed that gravity gives in a step. A coarse tolerance
# raises it.
STILL = 1e-4
GROWTH = 1.2  # largest ratio of the speeds in two consecutive windows at rest
SPEED_NOISE = 1e-5  # fraction of the speed limit at rest; smaller growth is rounding


class Sleep:
    """The sleeping bodies among n bodies.

    asleep: (n,). awake: (n,) bodies that the solver moves now. held: (n,) active bodies that follow a path for now. untouched:
    (n,) bodies that have slept since the start of the scene.

    The constructor takes movable: (n,) bodies that the solver moves if they are awake; radius: (n,) m, from the center of mass
    to the farthest point; gravity_speed: m/s that gravity gives in a step; step: s; and enabled: False if no body falls asleep.
    """

    def __init__(self, movable: Flags, radius: Floats, gravity_speed: float, step: float, enabled: bool):
        self._movable, self._radius, self._enabled = movable, np.where(np.isfinite(radius), radius, 0.0), enabled
        self._gravity_speed, self._window = gravity_speed, steps_of_a_window(step)
        count = len(movable)
        self.asleep = np.zeros(count, dtype=bool)
        self._island = np.full(count, -1, dtype=np.int64)
        # The largest speed of each body in this window and in the previous one
        self._fastest, self._before = np.zeros(count), np.full(count, np.inf)
        self._memory = none_remembered()
        # Bodies that follow a path for now
        self.held = np.zeros(count, dtype=bool)
        # Bodies that have slept since the start of the scene
        self.untouched = np.zeros(count, dtype=bool)

    def lay(self, sleeping: Flags, a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
        """Put bodies (n,) to sleep from the start, if all bodies that joints connect them to may sleep too.

        a, b: (j,) the bodies of the joints.
        """
        self._island = connected(len(sleeping), self._movable, a, b)
        wakes = np.isin(self._island, self._island[self._movable & ~sleeping])
        self.asleep = self._movable & sleeping & ~wakes
        self.untouched = self.asleep.copy()

    def change_step(self, gravity_speed: float, step: float) -> None:
        """Change the length of steps; parameters as in `__init__`. Speeds recorded with the old length are discarded."""
        self._gravity_speed, self._window = gravity_speed, steps_of_a_window(step)
        self._fastest[:], self._before[:] = np.inf, np.inf

    @property
    def settled(self) -> Flags:
        """(n,) the bodies that fell asleep after they came to rest."""
        return self.asleep & ~self.untouched

    @property
    def awake(self) -> Flags:
        """(n,) the bodies that the solver moves now."""
        return self._movable & ~self.asleep & ~self.held

    def to_wake(self, a: Indices, b: Indices, wakes: Flags) -> Flags:
        """Return (n,) the sleeping bodies that must wake.

        These are all bodies of an island that has a contact or joint (a, b), (m,), with a body flagged in `wakes` (n,).
        """
        if not self.asleep.any():
            return self.asleep
        touched = np.concatenate([a[self.asleep[a] & wakes[b]], b[self.asleep[b] & wakes[a]]])
        return self.asleep & np.isin(self._island, self._island[touched])

    def islands_of(self, bodies: Flags) -> Flags:
        """Return (n,) the sleeping bodies in the same island as any of the given bodies (n,)."""
        return self.asleep & np.isin(self._island, self._island[bodies & self.asleep])

    def wake(self, woken: Flags, memory: ContactMemory) -> ContactMemory:
        """Wake the bodies `woken` (n,), which are whole islands.

        memory: the contact history of awake bodies. Returns it with the stored contacts of the woken islands.
        """
        of_woken = woken[self._memory.body_a] | woken[self._memory.body_b]
        merged = ContactMemory._make(np.concatenate(pair) for pair in zip(memory, chosen(self._memory, of_woken), strict=True))
        self._memory = chosen(self._memory, ~of_woken)
        self.asleep, self.untouched = self.asleep & ~woken, self.untouched & ~woken
        self._fastest[woken], self._before[woken] = np.inf, np.inf
        return chosen(merged, np.lexsort((merged.feature, merged.body_b, merged.body_a)))

    def record_motion(self, twist: Floats, solved: bool, bending: Floats | float = 0.0) -> None:
        """Record the motion of bodies in a step or partial step.

        twist: (n, 6). solved: whether the step converged. bending: (n,) m/s, the speeds of surfaces within their bodies.
        """
        if self._enabled:
            keep_fastest(twist, self._radius, solved, self._fastest)
            np.maximum(self._fastest, bending, out=self._fastest)

    def ends_window(self, number: int) -> bool:
        """Return whether a window of time ends with a time step, and bodies may fall asleep."""
        return self._enabled and (number + 1) // self._window != number // self._window

    def update(
        self,
        memory: ContactMemory,
        joined: Indices,
        driven: Indices,
        still: Floats,
        met: Callable[[Flags], Flags],
    ) -> ContactMemory:
        """Put islands to sleep that were at rest for two windows, at the end of a window.

        Parameters
        ----------
        memory : the contact history of awake bodies
        joined : (k, 2) bodies connected by joints
        driven : bodies driven by motors, whose islands never sleep
        still : (n,) the largest speed of a body at rest, relative to the speed that gravity gives in a step; an island uses the
            largest one of its bodies
        met : returns which of the bodies (n,) that are about to sleep an awake body would wake at once; their islands stay
            awake

        Returns
        -------
        the contact history of the bodies that stay awake; the rest is stored with the sleeping islands
        """
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
        # A body that starts to fall accelerates. A faster body of its island that rolls steadily must not hide it.
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
        of_falling = falling[memory.body_a] | falling[memory.body_b]
        self._memory = ContactMemory._make(
            np.concatenate(pair) for pair in zip(self._memory, chosen(memory, of_falling), strict=True)
        )
        return chosen(memory, ~of_falling)

    def checkpoint(self) -> dict[str, NDArray]:
        """Return copies of all arrays that `restore` needs."""
        memory = {f"asleep_{name}": array.copy() for name, array in zip(ContactMemory._fields, self._memory, strict=True)}
        arrays = {"asleep": self.asleep, "island": self._island, "fastest": self._fastest, "before": self._before}
        arrays["untouched"] = self.untouched
        return {f"sleep_{name}": array.copy() for name, array in arrays.items()} | memory

    def restore(self, checkpoint: dict[str, NDArray]) -> None:
        """Continue from a checkpoint."""
        self.asleep, self._island, self._fastest, self._before, self.untouched = (
            np.array(checkpoint[f"sleep_{name}"]) for name in ("asleep", "island", "fastest", "before", "untouched")
        )
        self._memory = remembered(checkpoint, "asleep")

    def keep_untouched(self, checkpoint: dict[str, NDArray]) -> None:
        """Wake the bodies that slept from the start but were awake at a checkpoint."""
        self.untouched &= np.array(checkpoint["sleep_untouched"])
        self.asleep = self.untouched.copy()


def steps_of_a_window(step: float) -> int:
    """Return the number of steps of a window. step: s."""
    return max(1, round(WINDOW / step))


@kernel
def keep_fastest(twist, radius, solved, fastest):
    """Update `fastest` (n,) with bounds on the speeds of bodies' points in a step; infinite if the step was unconverged.

    radius: (n,) m.
    """
    for b in range(fastest.size):
        v, w = twist[b, :3], twist[b, 3:]
        straight, turning = np.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), np.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2])
        fastest[b] = max(fastest[b], straight + radius[b] * turning) if solved else np.inf


def laid_asleep(spec: SceneSpec) -> tuple[Flags, NDArray[np.int64], NDArray[np.int64]]:
    """Return (n,) the bodies that sleep from the start of a scene, and the bodies (j,) and (j,) of joints between bodies."""
    number = {body.name: index for index, body in enumerate(spec.bodies)}
    joined = [(number[one.body_a], number[one.body_b]) for one in spec.joints if one.body_a and one.body_b]
    a, b = np.array(joined, dtype=np.int64).reshape(-1, 2).T
    return np.array([body.starts_asleep for body in spec.bodies], dtype=bool), a.copy(), b.copy()


def chosen(memory: ContactMemory, rows: NDArray) -> ContactMemory:
    """Return some contacts of a history, by mask or by index."""
    return ContactMemory._make(array[rows] for array in memory)


def none_remembered() -> ContactMemory:
    """Return a contact history without contacts."""
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    ids = none, none, none.astype(np.uint64)
    return ContactMemory(*ids, np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 3)), nothing, nothing, nothing)


def remembered(checkpoint: dict[str, NDArray], prefix: str) -> ContactMemory:
    """Return a contact history from a checkpoint.

    Checkpoints of earlier versions lack normals, moments, absorbed energies and separation impulses, which are set to zero.
    prefix: the prefix of the array names.
    """
    arrays = dict(checkpoint)
    for name in ("normal", "moment"):
        arrays.setdefault(f"{prefix}_{name}", np.zeros((len(arrays[f"{prefix}_approach"]), 3)))
    for name in ("taken", "parting"):
        arrays.setdefault(f"{prefix}_{name}", np.zeros(len(arrays[f"{prefix}_approach"])))
    return ContactMemory._make(np.array(arrays[f"{prefix}_{name}"]) for name in ContactMemory._fields)
