# SPDX-License-Identifier: GPL-3.0-or-later
"""Steady-state detection: after a step that changed nothing, the next step is not computed.

A step is a function of the poses and velocities of bodies, the contact history, the sleeping and moving islands, and external
influences. If a step left all of these unchanged bit for bit, the next step does the same. Bodies at rest soon reach this
state, because velocities below the solver's error are set to zero (`model/island_motion.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...compile.kernel import kernel
from ...problem.result import Found, Status
from ...scene.spec import SceneSpec
from ..contact.memory import ContactMemory
from ..kept_contacts import KeptContacts
from ..model.predict import Begin
from ..solve.outcome import Solution

__all__ = ["Situation", "Standstill", "anything_moves", "as_it_was_remembered"]

Situation = tuple[bytes, ...]  # the complete input of a step, bit for bit
Rows = list[dict[str, Any]]


class Standstill:
    """Stores the last step if it changed nothing.

    is_possible: whether a step can change nothing. It cannot in scenes in which an external influence changes.
    """

    def __init__(self, spec: SceneSpec) -> None:
        changes = spec.fields or spec.joints or spec.gravity_path is not None
        moves = any(
            one is not None
            for body in spec.bodies
            for one in (body.path, body.deformation, body.deformable, body.surface_motion)
        )
        self.is_possible = not changes and not moves
        self._situation: Situation | None = None
        self._taken: tuple[dict[str, Any], Begin, Solution] | None = None

    def take(self, row: dict[str, Any], begin: Begin, solution: Solution) -> None:
        """Store a solved step or partial step, with its row of statistics."""
        if self.is_possible:
            self._taken = row, begin, solution

    def rows(self, situation: Callable[[], Situation], advance: Callable[[], Rows], kept: KeptContacts | None) -> Rows:
        """Return the rows of statistics of a step: those of `advance`, or the stored row if the state did not change.

        situation: returns the input of the step. kept: the contact recorder, which also receives a stored step; None if
        contacts are not recorded.
        """
        before = situation()
        if self._taken is not None and before == self._situation:
            row, begin, solution = self._taken
            if kept is not None:
                kept.add(begin, solution)
            return [row]
        rows = advance()
        changed_nothing = len(rows) == 1 and rows[0]["status"] == Status.SOLVED and before == situation()
        self._situation = before if changed_nothing else None
        return rows


@kernel
def anything_moves(awake, velocity, momentum):
    """Return whether any body that is awake, (n,), has a velocity or an angular momentum, (n, 3)."""
    for b in range(awake.size):
        for i in range(3):
            if awake[b] and (velocity[b, i] != 0.0 or momentum[b, i] != 0.0):
                return True
    return False


def as_it_was_remembered(before: ContactMemory, after: ContactMemory, solution: Solution) -> ContactMemory:
    """Return the contact history to store after a step.

    If all islands accepted their initial impulses and the rest of the history is unchanged, this is the history before the
    step. The history after it would differ by rounding, because its impulses were rotated into contact axes and back.
    """
    totals = solution.totals
    took_them = totals.found[Found.START] == totals.islands and not totals.factorisations and not (solution.struck > 0.0).any()
    if not took_them:
        return after
    pairs = zip(before._replace(impulse=after.impulse, moment=after.moment), after, strict=True)
    return before if all(np.array_equal(*pair) for pair in pairs) else after
