# SPDX-License-Identifier: GPL-3.0-or-later
"""What bakes the variations of a sweep: processes of this machine (`local.py`), or a cluster (`cluster.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .axes import Variation

if TYPE_CHECKING:
    from .outcome import Outcome

__all__ = ["Baked", "Heard", "Order", "Pool", "PoolLost"]

# Takes in what a bake says of itself, on any thread.
Heard = Callable[[Mapping[str, Any]], object]


@dataclass(frozen=True)
class Order:
    """One variation to bake. folder: of the sweep; scene: the digest of its snapshot; key: by which the progress is told;
    nudge: m/s; threads: of the bake."""

    folder: str
    scene: str
    variation: Variation
    key: int
    nudge: float
    threads: int


class PoolLost(Exception):
    """There is nothing to bake on, or no longer; says why, and what to do."""


class Baked(Protocol):
    """A bake that was submitted; futures of Python and of dask are such."""

    def done(self) -> bool:
        """Whether it has ended."""
        ...

    def cancelled(self) -> bool:
        """Whether it was given up."""
        ...

    def exception(self) -> BaseException | None:
        """What it raised; waits for its end."""
        ...

    def result(self) -> Outcome:
        """What came out; waits for its end."""
        ...


class Pool(Protocol):
    """Bakes as many variations at once as it has workers."""

    def submit(self, order: Order) -> Baked:
        """Bake a variation as soon as a worker is free."""
        ...

    def cancel(self) -> None:
        """End all bakes; their caches keep the frames so far."""
        ...

    def refuse_lost(self) -> None:
        """Raise PoolLost where the workers cannot be reached any more."""
        ...

    def why(self, error: BaseException) -> str:
        """Why a bake that raised this has failed."""
        ...
