# SPDX-License-Identifier: GPL-3.0-or-later
"""How a time step is gone through in shorter parts, where its motion or its solution asks for that."""

from __future__ import annotations

from ..look_ahead.impacts import Cut

__all__ = ["MAX_CUTS", "MAX_MISSES", "Parts"]

MAX_CUTS = 16  # refused in a step
MAX_MISSES = 2  # refused one after the other because they are not solved: shorter ones are other problems, rarely missed too
MAX_PARTS = 1024  # into which a step is cut for bodies that touch and turn, and for what solves do not settle
SHORTEST_PART = 1e-9  # of a step: no part of it is that short
PATIENCE = 8  # parts of a step, one after the other, that are not rejected: then one of twice the length is tried


class Parts:
    """What is left of a time step, and the part of it that is tried next.

    left: s. h: s, of the next part. cuts: how many refusals are left; with none, what is tried is taken. turns: how many
    impacts of the step have had a part of their own. misses: how many refused parts were not solved, since one was.
    """

    def __init__(self, step: float) -> None:
        """step: s."""
        self.left = self.h = step
        self.cuts, self.turns, self.misses = MAX_CUTS, 0, 0
        self._step = self._longest = step
        self._rejected, self._streak = False, 0

    def refuse(self, cut: Cut) -> None:
        """Make the next part shorter: it was tried, and has to be cut."""
        self.misses += cut.is_miss
        if cut.is_turn:
            self.h, self.turns, self._streak = cut.time, self.turns + 1, 0
        elif self.h > self._longest:
            self.h, self._streak = self._longest, 0
        else:
            # a contact that closes in any step, however short, would otherwise use up all cuts
            shorter = min(cut.time, 0.5 * self.h) if self._rejected or cut.time >= self.h else cut.time
            if cut.repeatedly:
                shorter = self._longest = max(shorter, self._step / MAX_PARTS)
            self.cuts = self.cuts - 1 if shorter < self.h else 0
            self.h = min(shorter, self.h)
            self._rejected, self._streak = True, 0

    def accept(self, is_solved: bool = True) -> None:
        """Go on to the next part. Many short ones that go well earn a longer one, and another refusal."""
        self.misses = 0 if is_solved else self.misses
        self.left -= self.h
        self._longest = max(self._longest, self.h)
        self._streak += 1
        if self._streak % PATIENCE == 0:
            self.cuts = min(MAX_CUTS, self.cuts + 1)
        h = 2.0 * self._longest if self._streak >= PATIENCE else self._longest
        self.h = self.left if self.left <= (1.0 + SHORTEST_PART) * h else h
        self._rejected = False
