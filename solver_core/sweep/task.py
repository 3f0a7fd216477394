# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes a variation of a sweep, locally or on a worker of a cluster.

The scene and the frames are exchanged through the sweep's folder, which all workers reach by the same path. A worker that takes
over a bake from a lost worker finds its frames there.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from ..io.cache import CacheError, FrameCacheReader, cache_has_begun
from ..io.container import ContainerError
from ..io.snapshot import file_digest, read_snapshot, snapshot_digest, write_snapshot
from ..process.command_line import ExitStatus
from ..process.file_lock import FileLock, LockHeld
from ..scene.spec import SceneSpec
from .apply import applied
from .baker import Bakers
from .folder import SCENE_FILE, VariationFiles, files_of
from .outcome import Outcome, State, figures_of
from .pool import Heard, Order

__all__ = ["bake_variation", "scene_digest", "software_versions"]

LIBRARIES = ("numpy", "scipy", "numba")
# Number of restarts of a bake whose process was killed by the system.
ATTEMPTS = 3
# s; wait for the process of a lost worker that still writes its last frame
SECONDS_FOR_THE_LOST = 30.0
SECONDS_BETWEEN_WORDS = 1.0


@cache
def software_versions() -> dict[str, str]:
    """Return everything that must be equal on all workers of a sweep: versions, and a digest of the solver's sources."""
    content = hashlib.blake2b(digest_size=16)
    package = Path(__file__).resolve().parents[1]
    for file in sorted(package.rglob("*.py")):
        content.update(file.relative_to(package).as_posix().encode())
        content.update(file.read_bytes().replace(b"\r\n", b"\n"))
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {"Stiction": content.hexdigest()[:12], "Python": python} | {name: metadata.version(name) for name in LIBRARIES}


def scene_digest(folder: str) -> str:
    """Return the digest of the scene in a sweep's folder, or "" if this machine does not find it."""
    try:
        return file_digest(os.path.join(folder, SCENE_FILE))
    except (OSError, ContainerError):
        return ""


def bake_variation(order: Order, bakers: Bakers, on_record: Heard, where: str = "") -> Outcome:
    """Bake a variation, or the frames that its cache lacks. If the cache is complete, it is only read.

    order: the variation. bakers: the processes. on_record: called with each event of the bake.
    where: beginning of the message if the folder of the sweep is missing.

    Returns the outcome.
    """
    folder = Path(order.folder)
    if scene_digest(order.folder) != order.scene:
        why = "the scene of the sweep is not there, or is another one; all workers have to reach the folder by the same path"
        return Outcome(State.FAILED, "", 0, f"{where}{folder}: {why}")
    spec, settings = applied(*read_snapshot(folder / SCENE_FILE), order.variation, order.nudge)
    files = files_of(folder, order.variation.name, snapshot_digest(spec, settings))
    name = name_in(folder, files)
    try:
        with suppress(FileNotFoundError, CacheError, ContainerError):
            return with_figures(files, spec, name, 0)
        write_snapshot(files.snapshot, spec, settings)
        wait_for_the_lost(files.cache, bakers)
        return baked(order, files, spec, bakers, Telling(order.key, spec, on_record))
    except (OSError, CacheError, ContainerError) as error:
        return Outcome(State.FAILED, name, 0, str(error))


def baked(order: Order, files: VariationFiles, spec: SceneSpec, bakers: Bakers, telling: Telling) -> Outcome:
    """Bake a variation and return its outcome.

    Raises OSError, CacheError and ContainerError if it cannot be baked or its frames cannot be read.
    """
    name = name_in(Path(order.folder), files)
    arguments = [str(files.snapshot), str(files.cache), "--threads", str(order.threads)]
    status, trouble = 0, ""
    for _ in range(ATTEMPTS):
        resume = ["--resume"] if may_be_resumed(files, spec) else []
        status, trouble = bakers.bake([*arguments, *resume], telling.heard)
        if status in (ExitStatus.DONE, ExitStatus.MISSED_TOLERANCE):
            return with_figures(files, spec, name, telling.baked)
        if status >= 0:
            break
    message = telling.why or trouble or f"the bake ended with status {status}"
    return Outcome(State.FAILED, name, telling.baked, message)


def with_figures(files: VariationFiles, spec: SceneSpec, name: str, baked: int) -> Outcome:
    figures = figures_of(files, spec)
    return Outcome(State.MISSED if figures.missed_steps else State.BAKED, name, baked, figures=figures)


def may_be_resumed(files: VariationFiles, spec: SceneSpec) -> bool:
    """Return True if there is a cache of this variation with a valid head."""
    try:
        FrameCacheReader.of_snapshot(files.cache, spec, files.digest)
    except (FileNotFoundError, CacheError, ContainerError):
        return False
    return True


def name_in(folder: Path, files: VariationFiles) -> str:
    return files.cache.relative_to(folder).as_posix()


def wait_for_the_lost(cache: Path, bakers: Bakers) -> None:
    """Wait for another process that still writes to a cache, until it ends or the bakers are ended.

    Raises CacheError if that takes too long, and OSError.
    """
    if not cache_has_begun(cache):
        return
    until = time.monotonic() + SECONDS_FOR_THE_LOST
    while True:
        try:
            FileLock.acquire(cache, SECONDS_BETWEEN_WORDS).release()
            return
        except LockHeld as holder:
            if bakers.is_over or time.monotonic() >= until:
                raise CacheError(f"{cache}: another bake is writing to this cache: {holder}") from None


class Telling:
    """Forward the events of a bake to the process that started the sweep, at most once per second.

    baked: number of frames of this run.
    why: the error message of the bake, if it failed.
    """

    def __init__(self, key: int, spec: SceneSpec, hears: Heard):
        self.baked = 0
        self.why = ""
        self._key, self._first, self._hears, self._told_at = key, spec.frame_start, hears, 0.0

    def heard(self, record: Mapping[str, Any]) -> None:
        """Process one event of the worker."""
        match record.get("event"):
            case "compiled":
                self._tell({"kernels": record["kernels"]})
            case "frame" | "kept" | "repeated" as what:
                self.baked += what == "frame"
                frames = record["frame"] - self._first + 1
                self._tell({"key": self._key, "frames": frames, "baked": self.baked})
            case "error":
                self.why = record["message"]
            case "stopped":
                self.why = f"the bake was stopped: {record['reason']}"

    def _tell(self, record: dict[str, int]) -> None:
        now = time.monotonic()
        if now - self._told_at >= SECONDS_BETWEEN_WORDS:
            self._told_at = now
            self._hears(record)
