# SPDX-License-Identifier: GPL-3.0-or-later
"""Files and scenes as nobody means them: each case, by its number, comes out as a clear error or as a right result.

A case is made from its seed alone. What it may end with are the errors that the functions name in their docstrings; anything
else, a hang, and a file outside of the folder that a case was given, is a finding.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import signal
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from solver_core import certificate, impacts, worker
from solver_core.bake.report import build_report, report_bytes
from solver_core.dynamics.simulation import Simulation
from solver_core.io.cache import CacheError, FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.container import ContainerError
from solver_core.io.snapshot import read_snapshot, snapshot_digest, write_snapshot
from solver_core.scene.spec import SceneSpec, SolverSettings
from solver_core.scenes import plain as scenes
from solver_core.validation.findings import SceneError

from .spoiling import Random, spoilt, spoilt_bytes, with_other_body, with_other_field, with_other_numbers

__all__ = ["KINDS", "Finding", "Folder", "Room", "try_case"]

SECONDS = 60.0  # of processor time, after which a case hangs
MOST_BODIES_RUN, MOST_SUBSTEPS_RUN = 40, 20


class Finding(Exception):
    """A case came out as it must not."""


class Hang(BaseException):
    """It took too long."""


class Room(Protocol):
    """Where cases are tried: a folder, and the files in it, with their content, that no case may change."""

    @property
    def path(self) -> Path: ...
    @property
    def sound(self) -> Mapping[str, bytes]: ...


@dataclasses.dataclass(frozen=True)
class Folder:
    """What cases begin with: a bake of a small scene with contacts, and room for their files."""

    path: Path
    spec: SceneSpec
    settings: SolverSettings
    snapshot: bytes
    cache: bytes

    @classmethod
    def made(cls, path: Path) -> Folder:
        """The folder with a bake of its own."""
        spec = replace(scenes.card_house(levels=2), frame_start=1, frame_end=5)
        settings = SolverSettings(substeps=3)
        write_snapshot(path / "sound.snapshot", spec, settings)
        simulation = Simulation(spec, settings, keep_contacts=True)
        with FrameCacheWriter.create(path / "sound.cache", spec, settings) as writer:
            writer.append(simulation.first_frame(), simulation.checkpoint())
            for _ in range(3):
                writer.append(simulation.advance(), simulation.checkpoint())
                if writer.last_frame == 3:
                    writer.keep_checkpoint()
        return cls(path, spec, settings, (path / "sound.snapshot").read_bytes(), (path / "sound.cache").read_bytes())

    @property
    def sound(self) -> dict[str, bytes]:
        return {"sound.snapshot": self.snapshot, "sound.cache": self.cache}


def a_cache(random: Random, folder: Folder) -> None:
    """A stranger's cache beside the right snapshot, and all that reads it."""
    cache, snapshot = folder.path / "case.cache", folder.path / "sound.snapshot"
    content, told = spoilt(random, folder.path / "sound.cache")
    cache.write_bytes(content)
    sound = list(FrameCacheReader(folder.path / "sound.cache"))
    with contextlib.suppress(CacheError):
        reader = FrameCacheReader(cache, snapshot_digest(folder.spec, folder.settings))
        for number in reader.frames:
            with contextlib.suppress(CacheError):
                frame = reader.read(number)
                if told and frame.poses.tobytes() != sound[number - 1].poses.tobytes():
                    raise Finding(f"frame {number} came out otherwise, in spite of its checksum")
            with contextlib.suppress(CacheError):
                reader.contacts(number)
    with contextlib.suppress(CacheError, ContainerError):
        table = certificate.certificate_of(snapshot, cache)
        for ending in certificate.FORMATS:
            certificate.write_certificate(table, folder.path / f"out{ending}")
    with contextlib.suppress(CacheError, ContainerError):
        impacts.write_impacts(snapshot, cache, folder.path / "out.csv")
    # whose own statuses and words are the errors
    if random.integers(0, 4) == 0:
        before = cache.read_bytes()
        status, said, errors = worked(snapshot, cache, "--resume")
        if "Traceback" in errors:
            raise Finding(errors)
        if status == 2 and cache.exists() and len(cache.read_bytes()) > len(before):
            raise Finding(f"a cache that was refused has grown: {said}")


def worked(*arguments: object) -> tuple[int, str, str]:
    """Status and outputs of a worker in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        status = worker.main([str(argument) for argument in arguments])
    return int(status), out.getvalue(), errors.getvalue()


def a_snapshot(random: Random, folder: Folder) -> None:
    """A stranger's snapshot, read, checked and simulated for a frame."""
    file = folder.path / "case.snapshot"
    content, told = spoilt(random, folder.path / "sound.snapshot")
    file.write_bytes(content)
    try:
        spec, settings = read_snapshot(file)
    except ContainerError:
        return
    if told and content[: len(folder.snapshot)] != folder.snapshot:
        raise Finding("a damaged snapshot was read")
    simulated(spec, settings)


def simulated(spec: SceneSpec, settings: SolverSettings) -> None:
    """One frame of a scene, unless it is refused or large."""
    try:
        is_small = len(spec.bodies) <= MOST_BODIES_RUN and settings.substeps <= MOST_SUBSTEPS_RUN
    except TypeError:
        is_small = True
    try:
        limited = (
            replace(settings, step_time_limit=0.2, max_iterations=min(settings.max_iterations, 50)) if is_small else settings
        )
    except TypeError:
        limited = settings
    if not is_small:
        return
    try:
        frame = Simulation(spec, limited).advance()
    except SceneError as error:
        if not str(error).strip():
            raise Finding("a scene is refused without a word") from error
        return
    if not (np.isfinite(frame.poses).all() and np.isfinite(frame.velocities).all()):
        raise Finding("a scene that was accepted went to infinity in its first frame")
    report_bytes(build_report(spec, limited, [frame]))


def a_scene(random: Random, folder: Folder) -> None:
    """A scene with values of any kind in any of its fields."""
    spec = folder.spec if random.integers(0, 2) else replace(scenes.tower(), frame_end=3)
    settings = folder.settings
    for _ in range(random.integers(1, 4)):
        match random.integers(0, 5):
            case 0:
                settings = with_other_field(random, settings)
            case 1:
                spec = with_other_field(random, spec)
            case _:
                spec = with_other_body(random, spec)
    simulated(spec, settings)


def a_report(random: Random, folder: Folder) -> None:
    """A report of frames with statistics of any value, as a page, a table and JSON."""
    frames = [
        replace(frame, statistics=with_other_numbers(random, frame.statistics))
        for frame in FrameCacheReader(folder.path / "sound.cache")
    ]
    report = {"digest": "0", **build_report(folder.spec, folder.settings, frames)}
    for ending in certificate.FORMATS:
        certificate.write_certificate(report, folder.path / f"out{ending}")

    def refuse(word: str) -> None:
        raise Finding(f"the report is no JSON: {word}")

    json.loads((folder.path / "out.json").read_text(), parse_constant=refuse)


COMMANDS = ("worker", "certificate", "impacts")
WORDS = (
    "--resume",
    "--report",
    "--contacts",
    "--parent-pip",
    "--",
    "-",
    "",
    "--report=",
    "\0",
    "é",
    "a" * 300,
    "--help",
    "-h",
    "@x",
    "..",
)


def a_command(random: Random, folder: Folder) -> None:
    """A command line of the solver's own programs, on files that may be sound, spoilt, folders or not there."""
    program = COMMANDS[int(random.integers(0, len(COMMANDS)))]
    (folder.path / "case.cache").write_bytes(folder.cache if random.integers(0, 2) else spoilt_bytes(random, folder.cache))
    files = (
        "sound.snapshot",
        "case.cache",
        "nothing",
        ".",
        "nowhere/out.json",
        "out.html",
        "out.csv",
        "out.txt",
        "sound.cache.x",
    )
    arguments = [str(folder.path / name) for name in random.choice(files, size=int(random.integers(0, 4)))]
    for word in random.choice(WORDS, size=int(random.integers(0, 3))):
        arguments.insert(int(random.integers(0, len(arguments) + 1)), str(word))
    main: Callable[[list[str]], int] = {"worker": worker.main, "certificate": certificate.main, "impacts": impacts.main}[
        program
    ]
    out, errors = io.StringIO(), io.StringIO()
    try:
        # some names are relative
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), contextlib.chdir(folder.path):
            status = main(arguments)
    except SystemExit as ended:
        status = ended.code or 0
    if "Traceback" in errors.getvalue():
        raise Finding(errors.getvalue())
    if status not in (0, 1, 2, 3) or (status in (1, 2) and not (out.getvalue() + errors.getvalue()).strip()):
        raise Finding(f"{program} {arguments}: status {status}, said {out.getvalue()!r} {errors.getvalue()!r}")


KINDS: dict[str, Callable[[Random, Folder], None]] = {
    "cache": a_cache,
    "snapshot": a_snapshot,
    "scene": a_scene,
    "report": a_report,
    "command": a_command,
}


def try_case(kind: str, number: int, room: Room, kinds: Mapping[str, Callable[[Random, Any], None]] = KINDS) -> None:
    """Run one case in its room; raises whatever it must not come out as, `Finding` among others."""
    beside = set(room.path.parent.iterdir())
    with time_limit():
        kinds[kind](np.random.default_rng([zlib.crc32(kind.encode()), number]), room)
    changed = [name for name, content in room.sound.items() if (room.path / name).read_bytes() != content]
    for name in changed:
        (room.path / name).write_bytes(room.sound[name])
    if changed:
        raise Finding(f"files were changed that the case does not name: {changed}")
    if set(room.path.parent.iterdir()) != beside:
        raise Finding(f"outside of its folder there is {set(room.path.parent.iterdir()) - beside}")


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise Hang(f"more than {SECONDS:g} s of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
