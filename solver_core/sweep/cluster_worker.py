# SPDX-License-Identifier: GPL-3.0-or-later
"""What a worker of dask.distributed does for a sweep: it bakes a variation in a process below it."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin, get_worker

from .baker import Bakers
from .outcome import Outcome
from .pool import Order
from .task import bake_variation

__all__ = ["PLUGIN", "ClusterBakers", "bake_on_cluster"]

PLUGIN = "stiction-bakers"


class ClusterBakers(WorkerPlugin):
    """The processes of one worker, installed in it for as long as the sweep lasts."""

    name = PLUGIN
    bakers: Bakers

    def setup(self, worker: Any) -> None:
        """Called by the cluster in the worker."""
        self.bakers = Bakers()

    def teardown(self, worker: Any) -> None:
        """Called when the worker, or the sweep, ends."""
        self.bakers.end()


def bake_on_cluster(order: Order, topic: str) -> Outcome:
    """Bake a variation in a worker of the cluster, which says how far it is under the topic."""
    worker = get_worker()
    plugin: ClusterBakers = worker.plugins[PLUGIN]  # type: ignore[assignment]
    return bake_variation(order, plugin.bakers, lambda said: worker.log_event(topic, said), f"{worker.address}: ")
