# SPDX-License-Identifier: GPL-3.0-or-later
"""Sweeps on an existing cluster of dask.distributed with suitable workers."""

from __future__ import annotations

import importlib.util
import logging
import re
import secrets
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..process.command_line import UsageError
from .pool import Baked, Heard, Order, PoolLost
from .task import scene_digest, software_versions

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["ClusterPool", "cluster_pool", "refuse_missing_library", "refuse_workers", "scheduler_at"]

ADDRESS = re.compile(r"((tcp|tls|wss?)://)?[^/\s]+:\d+")
SECONDS_TO_ANSWER = 10.0


def refuse_missing_library() -> None:
    """Raise UsageError where dask.distributed is not installed."""
    if importlib.util.find_spec("distributed") is None:
        command = f"{shlex.quote(sys.executable)} -m pip install distributed"
        raise UsageError(f"--scheduler: a cluster needs the Python library distributed; install it:\n{command}")


@contextmanager
def cluster_pool(address: str, folder: str, scene: str, on_record: Heard) -> Iterator[ClusterPool]:
    """Context with the workers of an existing scheduler.

    address: address of the scheduler.
    folder: folder of the sweep, which all workers must reach.
    scene: digest of the scene in the folder.
    on_record: receives the events of the bakes.

    Raises PoolLost if the scheduler does not answer, or has no workers or workers of another version. Raises UsageError for an
    invalid address.
    """
    with scheduler_at(address) as client:
        refuse_workers(client, folder, scene)
        from .cluster_worker import PLUGIN, ClusterBakers

        topic = f"stiction-{secrets.token_hex(8)}"
        client.subscribe_topic(topic, lambda event: on_record(event[1]))
        client.register_plugin(ClusterBakers())
        try:
            yield ClusterPool(client, topic)
        finally:
            if client.status == "running":
                client.unsubscribe_topic(topic)
                client.unregister_worker_plugin(PLUGIN)


class ClusterPool:
    """A `Pool` of the workers of dask.distributed."""

    def __init__(self, client: Client, topic: str):
        self._client, self._topic = client, topic
        self._futures: list[Future] = []

    def submit(self, order: Order) -> Baked:
        """Bake a variation as soon as a worker is free."""
        from .cluster_worker import bake_on_cluster

        key = f"{self._topic}-{order.key}"
        future: Any = self._client.submit(bake_on_cluster, order, self._topic, key=key, pure=False, priority=-order.key)
        self._futures.append(future)
        return future

    def cancel(self) -> None:
        """End all bakes; their caches keep the finished frames."""
        self._client.cancel(self._futures, force=True)

    def refuse_lost(self) -> None:
        """Raise PoolLost where the scheduler cannot be reached any more."""
        if self._client.status not in ("running", "connecting"):
            raise PoolLost("the scheduler no longer answers")

    def why(self, error: BaseException) -> str:
        """Return why a bake that raised this error failed."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker):
            return "every worker that baked it was lost; perhaps out of memory"
        return f"{type(error).__name__}: {error}"


@contextmanager
def scheduler_at(address: str) -> Iterator[Client]:
    """Return the cluster of an existing scheduler.

    Raises PoolLost if it does not answer or has no workers, and UsageError for an invalid address.
    """
    if ADDRESS.fullmatch(address) is None:
        raise UsageError(f"--scheduler: {address!r} is not an address of a scheduler, such as tcp://10.0.0.2:8786")
    from distributed import Client

    with hushed():
        try:
            client = Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise PoolLost(
                f"the scheduler at {address} does not answer within {SECONDS_TO_ANSWER:g} s; is it running there "
                f"(dask scheduler), and does a firewall block it?"
            ) from error
        with client:
            try:
                client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
            except TimeoutError as error:
                raise PoolLost(f"the scheduler at {address} has no workers; start some: dask worker {address}") from error
            yield client


def refuse_workers(client: Client, folder: str, scene: str) -> None:
    """Raise PoolLost that names the workers on which bakes would come out otherwise, or which do not have the sweep's
    folder with the scene of this digest."""
    wanted = software_versions()
    wrong = []
    answers: Any = client.run(software_versions, on_error="return")
    for address, found in sorted(answers.items()):
        if isinstance(found, BaseException):
            wrong.append(f"{address} has no solver_core that knows sweeps ({type(found).__name__}: {found})")
        elif found != wanted:
            wrong.append(f"{address} has {differences_of(found, wanted)}")
    if wrong:
        advice = "install the same version of Stiction and of its libraries there"
        raise PoolLost("\n".join(["workers of another version, whose bakes may differ; " + advice, *wrong]))
    answers = client.run(scene_digest, folder)
    for address, digest in sorted(answers.items()):
        if digest != scene:
            wrong.append(f"{address} does not have it")
    if wrong:
        raise PoolLost("\n".join([f"all workers have to reach the folder of the sweep as {folder}", *wrong]))


def differences_of(found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name} {found.get(name, 'none')} where this has {here}" for name, here in wanted.items() if found.get(name) != here
    )


@contextmanager
def hushed() -> Iterator[None]:
    """Context without log messages of the cluster library; this module reports to the user."""
    # Each of its loggers has its own level.
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
