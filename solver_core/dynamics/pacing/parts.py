# SPDX-License-Identifier: GPL-3.0-or-later
"""Control of partial steps: a time step is split if its motion or its solution requires shorter steps."""

from __future__ import annotations

from ..look_ahead.impacts import Cut

__all__ = ["MAX_CUTS", "MAX_MISSES", "Parts"]

MAX_CUTS = 16  # rejected attempts per time step
# Unconverged attempts in a row that are rejected. A shorter step is a different problem and rarely fails to converge too.
MAX_MISSES = 2
MAX_PARTS = 1024  # a cut for rotating bodies in contact, or for unsettled solves, is no shorter than the step divided by this
SHORTEST_PART = 1e-9  # fraction of the next partial step: a remainder this short is added to that partial step
PATIENCE = 8  # accepted partial steps in a row after which a partial step of twice the length is tried


class Parts:
    """The remainder of a time step and the length of its next partial step.

    left: s, the remainder. h: s, the next partial step. cuts: how many more attempts may be rejected; at 0 every attempt is
    accepted. turns: the number of impacts of the step that had a partial step of their own. misses: the number of unconverged
    attempts that were rejected since the last converged one was accepted.
    """

    def __init__(self, step: float) -> None:
        """step: s, the full time step."""
        self.left = self.h = step
        self.cuts, self.turns, self.misses = MAX_CUTS, 0, 0
        self._step = self._longest = step
        self._rejected, self._streak = False, 0

    def refuse(self, cut: Cut) -> None:
        """Reject the last attempt and shorten the next partial step."""
        self.misses += cut.is_miss
        if cut.is_turn:
            self.h, self.turns, self._streak = cut.time, self.turns + 1, 0
        elif self.h > self._longest:
            self.h, self._streak = self._longest, 0
        else:
            # Halve at least: a contact that closes in a step of any length would otherwise use up all rejections.
            shorter = min(cut.time, 0.5 * self.h) if self._rejected or cut.time >= self.h else cut.time
            if cut.repeatedly:
                shorter = self._longest = max(shorter, self._step / MAX_PARTS)
            self.cuts = self.cuts - 1 if shorter < self.h else 0
            self.h = min(shorter, self.h)
            self._rejected, self._streak = True, 0

    def accept(self, is_solved: bool = True) -> None:
        """Accept the last attempt and set the next partial step.

        After `PATIENCE` accepted partial steps in a row, the next one is twice as long, and one more rejection is allowed.
        """
        self.misses = 0 if is_solved else self.misses
        self.left -= self.h
        self._longest = max(self._longest, self.h)
        self._streak += 1
        if self._streak % PATIENCE == 0:
            self.cuts = min(MAX_CUTS, self.cuts + 1)
        h = 2.0 * self._longest if self._streak >= PATIENCE else self._longest
        self.h = self.left if self.left <= (1.0 + SHORTEST_PART) * h else h
        self._rejected = False
