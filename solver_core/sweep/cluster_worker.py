# SPDX-License-Identifier: GPL-3.0-or-later
"""The work of a dask.distributed worker in a sweep: it bakes a variation in a child process."""

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
    """The baking processes of one worker, installed in it for the duration of the sweep."""

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
    return bake_variation(order, plugin.bakers, lambda record: worker.log_event(topic, record), f"{worker.address}: ")
