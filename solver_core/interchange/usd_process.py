# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads USD files in a process of their own, with limits on memory and on silence.

OpenUSD reads damaged files without limits: one of 10 kB took 24 GB and did not return, another aborted its process. So it is
never loaded into the process that asks for a scene. The process here reads the whole scene once and hands it over as a
snapshot (`io/snapshot.py`), arrays and JSON, which are checked when they are read; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..io.snapshot import read_snapshot, write_snapshot
from ..process.children import kill_child
from ..process.memory import free_memory
from ..scene.spec import SceneWarning
from ..validation.findings import SceneError, SceneProblem
from .described import Described, Found, Look

__all__ = ["CHILD", "hand_over", "python_command", "read_in_process"]

CHILD = Path(__file__).with_name("usd_child.py")
PACKAGES = Path(__file__).resolve().parents[2]
# Of processor time without a sign of life, s, where the system counts it. Every prim that is read is a sign; the longest work
# between two is the composition of the stage. The load of the computer does not count.
LONGEST_WORK = 60.0
# s by the clock without a sign of life, of a computer that is busy, or of a drive that does not answer.
LONGEST_SILENCE = 900.0
SECONDS_BETWEEN_CHECKS = 0.02
# Bytes that a process may have beside the content of the file, on a computer that has little memory or does not say how much.
LEAST_MEMORY = 2**30
# Of the memory that is free.
SHARE_OF_MEMORY = 0.5
ANSWER_SCENE, ANSWER_LOOKS, ANSWER = "scene.snapshot", "looks.npz", "answer.json"


def python_command() -> tuple[str, ...]:
    """The command that runs a script on the Python of this process."""
    return (sys.executable, "-s", "-P")


def read_in_process(file: Path, found: Found, command: Sequence[str]) -> Described:
    """Read a USD file in a process of its own.

    Parameters: `file` names the file. What is left out of it is added to `found`. `command` starts Python, and the path of a
    script is appended to it; Blender itself can be the Python.

    Returns the scene.

    Raises SceneError with all that is wrong, and where the process was ended: by a limit, or by OpenUSD. Raises OSError.
    """
    with tempfile.TemporaryDirectory(prefix="stiction-usd-") as folder:
        order = {
            "path": import_path(),
            "file": str(file.absolute()),
            "folder": folder,
            "memory": memory_for(file),
            "work": LONGEST_WORK,
        }
        ended = run([*command, str(CHILD)], json.dumps(order), Path(folder))
        try:
            answer = json.loads(Path(folder, ANSWER).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SceneError((SceneProblem(str(file), "file", ended),)) from None
        problems = tuple(SceneProblem(**problem) for problem in answer["problems"])
        if problems:
            raise SceneError(problems)
        found.warnings += [SceneWarning(tuple(one["objects"]), one["field"], one["message"]) for one in answer["warnings"]]
        spec, settings = read_snapshot(Path(folder, ANSWER_SCENE))
        return Described(spec, settings, read_looks(Path(folder, ANSWER_LOOKS), answer["looks"]))


def hand_over(folder: Path, scene: Described | None, found: Found, problems: Sequence[SceneProblem]) -> None:
    """Write what was read of a file into a folder, for the process that asked for it. Raises OSError."""
    looks: list[dict[str, Any]] = []
    if scene is not None:
        write_snapshot(folder / ANSWER_SCENE, scene.spec, scene.settings)
        arrays: dict[str, Any] = {}
        for number, (name, look) in enumerate(scene.looks.items()):
            arrays |= {f"{part}_{number}": getattr(look, part) for part in ("points", "counts", "corners")}
            looks.append({"name": name, "colour": look.colour})
        np.savez(folder / ANSWER_LOOKS, allow_pickle=False, **arrays)
    answer = {
        "problems": [asdict(one) for one in problems],
        "warnings": [asdict(one) for one in found.warnings],
        "looks": looks,
    }
    # the last file, and whole or not at all: its presence says that the others are whole
    temporary = folder / f"{ANSWER}.part"
    temporary.write_text(json.dumps(answer), encoding="utf-8")
    os.replace(temporary, folder / ANSWER)


def read_looks(file: Path, named: list[dict[str, Any]]) -> dict[str, Look]:
    looks: dict[str, Look] = {}
    with np.load(file, allow_pickle=False) as arrays:
        for number, one in enumerate(named):
            points, counts, corners = (arrays[f"{part}_{number}"] for part in ("points", "counts", "corners"))
            looks[one["name"]] = Look(points, counts, corners, colour_of(one["colour"]))
    return looks


def colour_of(components: list[float] | None) -> tuple[float, float, float] | None:
    if components is None:
        return None
    red, green, blue = map(float, components)
    return red, green, blue


def import_path() -> list[str]:
    """Return the import path of the process: this package, and the path of this process, which contains OpenUSD."""
    return list(dict.fromkeys([str(PACKAGES), *filter(None, sys.path)]))


def memory_for(file: Path) -> int:
    """Return the number of bytes that reading a file may use."""
    free = free_memory()
    size = file.stat().st_size if file.is_file() else 0
    return size + max(LEAST_MEMORY, 0 if free is None else int(SHARE_OF_MEMORY * free))


def run(command: Sequence[str], order: str, folder: Path) -> str:
    """Run the process to its end, or end it. Returns a sentence for the case that it has left no answer."""
    # Files, because a pipe would need a reader.
    with (folder / "order").open("w+", encoding="utf-8") as order_file, (folder / "life").open("wb") as signs_file:
        order_file.write(order)
        order_file.flush()
        # Its standard input is a pipe, which ends with this process however that ends.
        process = subprocess.Popen(
            [*command, "--", str(folder / "order")],
            stdin=subprocess.PIPE,
            stdout=signs_file,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            creationflags=subprocess.CREATE_NO_WINDOW if sys.platform == "win32" else 0,
        )
        try:
            silent = wait(process, signs_file)
        finally:
            kill_child(process)
            assert process.stdin is not None
            process.stdin.close()
    if silent or process.returncode == -getattr(signal, "SIGXCPU", 0) != 0:
        limit = f"{LONGEST_SILENCE:g} s" if silent else f"{LONGEST_WORK:g} s of processor time"
        return f"OpenUSD did not finish with it and was stopped after {limit}; the file is damaged"
    return f"OpenUSD crashed ({ending_of(process.returncode)}), perhaps because memory ran out; the file is damaged"


def wait(process: subprocess.Popen[bytes], life: IO[bytes]) -> bool:
    """Wait for the end of the process. Return True if it has given no sign of life for LONGEST_SILENCE instead.

    life: the file to which the process writes its signs of life.
    """
    size, last_sign = 0, time.monotonic()
    while True:
        try:
            process.wait(SECONDS_BETWEEN_CHECKS)
            return False
        except subprocess.TimeoutExpired:
            now, new_size = time.monotonic(), os.fstat(life.fileno()).st_size
            if new_size != size:
                size, last_sign = new_size, now
            if now - last_sign > LONGEST_SILENCE:
                return True


def ending_of(status: int) -> str:
    """How a process has ended, in a word or two."""
    if status >= 0:
        return f"exit status {status}"
    known = {one.value for one in signal.Signals}
    return signal.Signals(-status).name if -status in known else f"signal {-status}"
