# SPDX-License-Identifier: GPL-3.0-or-later
"""A standstill: a step that changed nothing, after which the next one changes nothing either, and need not be taken.

A step is a function of where bodies are and how fast, of what is remembered of their contacts, of who is awake and who tumbles,
and of what acts from outside. Where it left all of these as they were, to the last bit, the next one does the same. What rests
comes there soon, for what is slower than the solver's error stands still (`model/island_motion.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...problem.result import Found, Status
from ...scene.spec import SceneSpec
from ..contact.memory import ContactMemory
from ..kept_contacts import KeptContacts
from ..model.bodies import State
from ..model.predict import Begin
from ..solve.outcome import Solution

__all__ = ["Situation", "Standstill", "anything_moves", "as_it_was_remembered"]

Situation = tuple[bytes, ...]  # all that a step begins with, to the last bit
Rows = list[dict[str, Any]]


class Standstill:
    """Knows the last step, if it changed nothing in a scene in which nothing acts on bodies that changes by itself."""

    def __init__(self, spec: SceneSpec) -> None:
        changes = spec.fields or spec.joints or spec.gravity_path is not None
        moves = any(
            one is not None
            for body in spec.bodies
            for one in (body.path, body.deformation, body.deformable, body.surface_motion)
        )
        self._is_possible = not changes and not moves
        self._situation: Situation | None = None
        self._taken: tuple[dict[str, Any], Begin, Solution] | None = None

    def take(self, row: dict[str, Any], begin: Begin, solution: Solution) -> None:
        """Take in a step, or a part of one, that was solved, with its row of statistics."""
        self._taken = row, begin, solution

    def rows(self, situation: Callable[[], Situation], advance: Callable[[], Rows], kept: KeptContacts | None) -> Rows:
        """The rows of a step's parts: what `advance` does, or what is known of it, which whoever keeps contacts has as well."""
        if not self._is_possible:
            return advance()
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


def anything_moves(state: State, awake: NDArray[np.bool_]) -> bool:
    """Whether any body that is awake (n,) does."""
    return bool(state.velocity[awake].any() or state.angular_momentum[awake].any())


def as_it_was_remembered(before: ContactMemory, after: ContactMemory, solution: Solution) -> ContactMemory:
    """What is remembered after a step: the impulses and moments that it began with, where all islands took them as they are and
    all else is the same. Turned into axes and back, they would be others by rounding."""
    totals = solution.totals
    took_them = totals.found[Found.START] == totals.islands and not totals.factorisations and not (solution.struck > 0.0).any()
    if not took_them:
        return after
    pairs = zip(before._replace(impulse=after.impulse, moment=after.moment), after, strict=True)
    return before if all(np.array_equal(*pair) for pair in pairs) else after
