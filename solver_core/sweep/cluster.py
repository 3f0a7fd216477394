# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that a sweep runs on: processes of this machine, or whatever a scheduler elsewhere has, if it fits."""

from __future__ import annotations

import importlib.util
import logging
import re
import shlex
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ..process.command_line import UsageError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterError", "local_cluster", "refuse_missing_library", "refuse_workers", "scheduler_at"]

ADDRESS = re.compile(r"((tcp|tls|wss?)://)?[^/\s]+:\d+")
SECONDS_TO_ANSWER = 10.0
# A worker that is lost is not to blame for it: power, preemption, memory of others.
LOSSES_ALLOWED = 3


class ClusterError(Exception):
    """There is no cluster to bake on; says why, and what to do."""


def refuse_missing_library() -> None:
    """Raise UsageError where dask.distributed is not installed."""
    if importlib.util.find_spec("distributed") is None:
        command = f"{shlex.quote(sys.executable)} -m pip install distributed"
        raise UsageError(f"a sweep needs the Python library distributed, which is not there; install it:\n{command}")


@contextmanager
def local_cluster(workers: int) -> Iterator[Client]:
    """So many worker processes of one thread on this machine, which end with the block, and with this process however that
    ends. Its scheduler listens on this machine alone."""
    from dask import config
    from distributed import Client, LocalCluster

    settings: dict[str, Any] = {f"distributed.{part}.http.routes": [] for part in ("scheduler", "worker")}
    settings["distributed.scheduler.allowed-failures"] = LOSSES_ALLOWED
    # it has a server for pages all the same, which wants a port that another sweep may have
    pages = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    quiet: dict[str, Any] = {"silence_logs": logging.CRITICAL, "memory_limit": 0, "scheduler_kwargs": pages}
    with tempfile.TemporaryDirectory(prefix="stiction-sweep-") as scratch, config.set(settings), hushed():
        with without_interrupts():
            cluster = LocalCluster(n_workers=workers, threads_per_worker=1, host="127.0.0.1", local_directory=scratch, **quiet)
        try:
            with Client(cluster, set_as_default=False) as client:
                yield client
        finally:
            # what is not gone by then ends as soon as this process has
            with suppress(TimeoutError):
                cluster.close(timeout=SECONDS_TO_ANSWER)


@contextmanager
def scheduler_at(address: str) -> Iterator[Client]:
    """The cluster of a scheduler that is there already. Raises ClusterError where it does not answer or has no workers, and
    UsageError for what is no address."""
    if ADDRESS.fullmatch(address) is None:
        raise UsageError(f"--scheduler: {address!r} is no address of a scheduler, such as tcp://10.0.0.2:8786")
    from distributed import Client

    with hushed():
        try:
            client = Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise ClusterError(
                f"the scheduler at {address} does not answer within {SECONDS_TO_ANSWER:g} s; is it running there "
                f"(dask scheduler), and does a firewall let it be reached?"
            ) from error
        with client:
            try:
                client.wait_for_workers(1, timeout=SECONDS_TO_ANSWER)
            except TimeoutError as error:
                raise ClusterError(f"the scheduler at {address} has no workers; start some: dask worker {address}") from error
            yield client


def refuse_workers(client: Client, folder: str, scene: str) -> None:
    """Raise ClusterError that names the workers on which bakes would come out otherwise, or which do not have the sweep's
    folder with the scene of this digest."""
    from .task import made_of, scene_digest

    wanted = made_of()
    wrong = []
    answers: Any = client.run(made_of, on_error="return")
    for address, found in sorted(answers.items()):
        if isinstance(found, BaseException):
            wrong.append(f"{address} has no solver_core that knows sweeps ({type(found).__name__}: {found})")
        elif found != wanted:
            wrong.append(f"{address} has {differences_of(found, wanted)}")
    if wrong:
        advice = "install the same version of Stiction and of its libraries there"
        raise ClusterError("\n".join(["workers of another version, on which bakes may come out otherwise; " + advice, *wrong]))
    answers = client.run(scene_digest, folder)
    for address, digest in sorted(answers.items()):
        if digest != scene:
            wrong.append(f"{address} does not have it")
    if wrong:
        raise ClusterError("\n".join([f"all workers have to reach the folder of the sweep as {folder}", *wrong]))


def differences_of(found: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name} {found.get(name, 'none')} where this has {here}" for name, here in wanted.items() if found.get(name) != here
    )


@contextmanager
def hushed() -> Iterator[None]:
    """Let the cluster's own machinery log nothing: what the user is told comes from here."""
    # its loggers have levels of their own each
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def without_interrupts() -> Iterator[None]:
    """What is started in the block does not hear Ctrl+C: the sweep ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: Any = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
