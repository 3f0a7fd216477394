# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools that bake the variations of a sweep: processes of this machine (`local.py`) or a cluster (`cluster.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from .axes import Variation

if TYPE_CHECKING:
    from .outcome import Outcome

__all__ = ["Baked", "Heard", "Order", "Pool", "PoolLost"]

# Receives the events of a bake, on any thread.
Heard = Callable[[Mapping[str, Any]], object]


@dataclass(frozen=True)
class Order:
    """One variation to bake.

    folder: folder of the sweep.
    scene: digest of its snapshot.
    key: key of the variation in progress reports.
    nudge: largest speed of the random pushes [m/s].
    threads: threads of the bake.
    """

    folder: str
    scene: str
    variation: Variation
    key: int
    nudge: float
    threads: int


class PoolLost(Exception):
    """No workers are available, or they are no longer available. The message gives the reason and the remedy."""


class Baked(Protocol):
    """A submitted bake. Futures of Python and of dask have this interface."""

    def done(self) -> bool:
        """Return True if it has ended."""
        ...

    def cancelled(self) -> bool:
        """Return True if it was canceled."""
        ...

    def exception(self) -> BaseException | None:
        """Wait for its end and return its exception."""
        ...

    def result(self) -> Outcome:
        """Wait for its end and return its result."""
        ...


class Pool(Protocol):
    """Bakes as many variations at once as it has workers."""

    def submit(self, order: Order) -> Baked:
        """Bake a variation as soon as a worker is free."""
        ...

    def cancel(self) -> None:
        """End all bakes; their caches keep the finished frames."""
        ...

    def refuse_lost(self) -> None:
        """Raise PoolLost where the workers cannot be reached any more."""
        ...

    def why(self, error: BaseException) -> str:
        """Return why a bake that raised this error failed."""
        ...
