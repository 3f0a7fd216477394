# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a sweep, as input of its sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..scene.spec import SceneSpec
from .axes import Axis, Variation
from .outcome import Motion, Outcome, Standing, State, body_sizes, motion_of

__all__ = ["Results"]


@dataclass(frozen=True)
class Results:
    """The unmodified scene, the axes, each variation with its outcome, and the definition of standing."""

    spec: SceneSpec
    axes: tuple[Axis, ...]
    variations: Sequence[Variation]
    outcomes: Sequence[Outcome]
    bound: Standing

    @cached_property
    def motions(self) -> list[Motion | None]:
        """The motion of the bodies of each variation; None if it failed."""
        sizes = body_sizes(self.spec)
        ends = (outcome.figures for outcome in self.outcomes)
        return [None if end is None else motion_of(end, self.spec, sizes, self.bound) for end in ends]

    def count(self, state: State) -> int:
        """Return the number of variations with this state."""
        return sum(outcome.state is state for outcome in self.outcomes)
