# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes that are interrupted in every way, again and again, and gone on with; nothing may be lost but the frame in work.

    python -m tests.bench.interruptions [--interruptions 200] [--first 0] [--seed 1] [--only kill "full disk" ...] [--log FILE]

Interrupted are worker processes (kill, signals, a closed pipe, a reader that is gone, a full disk) and Blender processes (kill,
close, cancel, undo, reload, a baked object that is deleted), each after a random number of frames; the bake is then resumed,
and interrupted again, until it is done, and the next begins. After each interruption no worker may be left, the .blend file
must be the same to the byte, and every frame that was told of must be in the cache, with the bits of a bake that nothing
disturbed. Harm is told at once and counted, and the next interruption begins with a bake of its own.

The same seed gives the same sequence, so a long one may be done in parts: `--first 140 --interruptions 60` ends one of 200.
Each interruption is printed as it is done, and written to the log as a line of JSON.

Undo is what it does to the scene: a Blender without a window has none. A full disk needs the right to mount a tmpfs (Linux).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from .records import write_rows

ROOT = Path(__file__).resolve().parents[2]

FRAMES, CUBES = 60, 6
OF_WORKER = ("kill", "terminate", "interrupt", "close pipe", "deaf", "full disk")
OF_BLENDER = ("kill Blender", "terminate Blender", "close Blender", "cancel", "undo", "reload", "delete", "pause and kill")
KINDS = OF_WORKER + OF_BLENDER
SECONDS_TO_END = 60.0


class Finding(Exception):
    """An interruption that did harm."""


def make_file(file: Path) -> None:
    """Cubes that fall onto each other, in a .blend file; run in a process of its own."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("RigidBodyWorld")
    world.point_cache.frame_start, world.point_cache.frame_end = 1, FRAMES
    scene.stiction.cache_directory = "//cache"
    corners = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    for number in range(CUBES + 1):
        mesh = bpy.data.meshes.new("Cube")
        size = 20.0 if number == 0 else 1.0
        mesh.from_pydata([tuple(size * c for c in corner) for corner in corners], [], faces)
        ob = bpy.data.objects.new(f"Cube {number}", mesh)
        scene.collection.objects.link(ob)
        world.collection.objects.link(ob)
        ob.location = (0.0, 0.0, -2.0) if number == 0 else (0.03 * number, 0.02 * number, 0.2 + 0.25 * number)
        ob.rigid_body.type = "PASSIVE" if number == 0 else "ACTIVE"
        ob.rigid_body.collision_shape = "BOX"
    bpy.ops.wm.save_as_mainfile(filepath=str(file))


def drive(file: Path, kind: str, frames: int) -> None:
    """Blender's part: bake, let the interruption happen after so many new frames, and wait for the worker's end."""
    from ..addon.loading import load_extension

    extension = load_extension()
    extension.register()
    import bpy

    if kind == "make":
        make_file(file)
        extension.unregister()
        return
    bpy.ops.wm.open_mainfile(filepath=str(file))
    from stiction.addon.bake.runner import begin
    from stiction.addon.blender.cooperative import at_once

    bake = at_once(begin(bpy.context, lambda level, text: print(level, text, file=sys.stderr), resume=True))
    say(pid=bake._worker._process._process.pid)
    told = 0
    first: int | None = None
    while not bake.job.is_over:
        last = bake.poll().last_frame
        if last is not None and last != told:
            first, told = last if first is None else first, last
            say(told=told)
        if first is not None and told >= first + frames:
            break
        time.sleep(0.005)
    interrupt_here(kind, bake, file)
    begin = time.monotonic()
    while not bake.poll().is_over and time.monotonic() < begin + SECONDS_TO_END:
        time.sleep(0.005)
    say(over=bake.job.is_over)
    extension.unregister()


def interrupt_here(kind: str, bake: Any, file: Path) -> None:
    import bpy

    scene = bpy.context.scene
    match kind:
        case "cancel":
            bake.cancel()
        case "undo":
            # the bake goes on with the scene as it was before the click, so it is stopped afterwards
            scene.stiction.property_unset("bake")
            bake.poll()
            bake.cancel()
        case "reload":
            bpy.ops.wm.open_mainfile(filepath=str(file))
        case "delete":
            bpy.data.objects.remove(bpy.data.objects[f"Cube {CUBES}"])
            scene.frame_set(scene.frame_current + 1)
            bake.poll()
            bake.cancel()
        case "close Blender":
            sys.stdout.flush()
            bpy.ops.wm.quit_blender()
        case "pause and kill":
            bake.pause(True)
            time.sleep(0.3)
            say(ready=True)
            time.sleep(600)
        case "kill Blender" | "terminate Blender":
            say(ready=True)
            time.sleep(600)


def say(**values: Any) -> None:
    print(json.dumps(values), flush=True)


class Trial:
    """A .blend file whose bake is interrupted again and again, and the bits that it has when nothing disturbs it."""

    def __init__(self, folder: Path):
        self.file = folder / "scene.blend"
        self.program = [sys.executable, "-m", "tests.bench.interruptions", "--drive", str(self.file)]
        subprocess.run([*self.program, "make", "0"], check=True, capture_output=True)
        self.digest = hashlib.sha256(self.file.read_bytes()).digest()
        subprocess.run([*self.program, "none", "100000"], check=True, capture_output=True)
        (self.cache,) = (folder / "cache").glob("*.cache")
        self.snapshot = self.cache.with_suffix(".snapshot")
        self.sound = self.bits()
        if len(self.sound) != FRAMES:
            raise Finding(f"the first bake has {len(self.sound)} frames")
        self.begin_anew()

    def bits(self) -> list[bytes]:
        """Every frame of the cache."""
        from solver_core.io.cache import FrameCacheReader

        if not self.cache.exists() or self.cache.stat().st_size == 0:
            return []
        return [frame.poses.tobytes() + frame.velocities.tobytes() for frame in FrameCacheReader(self.cache)]

    def begin_anew(self) -> None:
        """Forget the bake so far."""
        self.cache.unlink(missing_ok=True)
        self.done = 0

    def interrupt(self, kind: str, frames: int) -> None:
        """One interruption after so many new frames; raises Finding."""
        if self.done == FRAMES:
            self.begin_anew()
        told = of_worker(self, kind, frames) if kind in OF_WORKER else of_blender(self, kind, frames)
        if hashlib.sha256(self.file.read_bytes()).digest() != self.digest:
            raise Finding("the .blend file was changed")
        there = self.bits()
        if there != self.sound[: len(there)]:
            raise Finding("the frames have other bits than those of a bake that nothing disturbed")
        if len(there) < max(told, self.done):
            raise Finding(f"frame {max(told, self.done)} was told of, and the cache ends at {len(there)}")
        self.done = len(there)


def of_worker(trial: Trial, kind: str, frames: int) -> int:
    """Interrupt a worker of its own; returns the last frame that it told of."""
    if kind == "full disk":
        return on_a_full_disk(trial, frames)
    process = worker(trial.snapshot, trial.cache)
    told = listen(process, trial.done + frames)
    match kind:
        case "kill":
            process.kill()
        case "terminate":
            process.terminate()
        case "interrupt":
            process.send_signal(signal.SIGINT)
        case "close pipe":
            process.stdin.close()
        case "deaf":
            process.stdout.close()
            # which it finds out when it has something to say
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        raise Finding(f"the worker did not end after: {kind}") from None
    return told


def worker(snapshot: Path, cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "solver_core.worker", str(snapshot), str(cache), "--resume", "--parent-pipe"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=ROOT, text=True, **pipes)


def listen(process: subprocess.Popen[str], until: int) -> int:
    told = 0
    for line in process.stdout:
        told = json.loads(line).get("frame", told) if '"event": "frame"' in line else told
        if told >= until:
            break
    return told


def on_a_full_disk(trial: Trial, frames: int) -> int:
    """Let a worker write to a disk that has room for so many frames or fewer, until it ends by itself."""
    a_frame = 6000
    before = trial.cache.stat().st_size if trial.cache.exists() else 0
    with tempfile.TemporaryDirectory() as place:
        size = (before + frames * a_frame) // 4096 * 4096 + 3 * 4096
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", place], check=True)
        try:
            cache = Path(place) / trial.cache.name
            if before:
                shutil.copy(trial.cache, cache)
            process = worker(trial.snapshot, cache)
            said = process.stdout.readlines()
            process.wait(SECONDS_TO_END)
            told = max([json.loads(line)["frame"] for line in said if '"event": "frame"' in line], default=0)
            if process.returncode != 0 and "No space left" not in said[-1]:
                raise Finding(f"a full disk is not what it says: {said[-1]}")
            shutil.copy(cache, trial.cache)
        finally:
            subprocess.run(["umount", place], check=True)
    return told


def of_blender(trial: Trial, kind: str, frames: int) -> int:
    """Interrupt a Blender that bakes; returns the last frame that it was told of."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([*trial.program, kind, str(frames)], cwd=ROOT, text=True, **pipes)
    told, pid, is_over = 0, 0, None
    for line in process.stdout:
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        told, pid, is_over = said.get("told", told), said.get("pid", pid), said.get("over", is_over)
        if said.get("ready"):
            process.send_signal(signal.SIGTERM if kind == "terminate Blender" else signal.SIGKILL)
    errors = process.stderr.read()
    process.wait(SECONDS_TO_END)
    begin = time.monotonic()
    while is_running(pid):
        if time.monotonic() > begin + SECONDS_TO_END:
            os.kill(pid, signal.SIGKILL)
            raise Finding(f"a worker is left after: {kind}")
        time.sleep(0.05)
    if not pid or is_over is False or "Traceback" in errors:
        raise Finding(f"{kind}: worker {pid}, over {is_over}: {errors[-2000:]}")
    return told


def is_running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def can_mount() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0


def planned(seed: int, kinds: tuple[str, ...], number: int) -> tuple[str, int]:
    """Kind of an interruption, and how many frames it waits for; all kinds come once in each turn, in a random order."""
    turn, place = divmod(number, len(kinds))
    random = np.random.default_rng([seed, turn])
    kind, frames = random.permutation(len(kinds))[place], random.integers(0, 7, size=len(kinds))[place]
    return kinds[kind], int(frames)


def run(trial: Trial, sequence: dict[int, tuple[str, int]], log: Path) -> tuple[Counter[str], int]:
    """Interrupt as planned, by number; returns how many there were of each kind, and how many did harm."""
    counts, harm = Counter[str](), 0
    for number, (kind, frames) in sequence.items():
        before, begin, said = trial.done, time.monotonic(), ""
        try:
            trial.interrupt(kind, frames)
        except Finding as finding:
            said, harm = str(finding), harm + 1
            trial.begin_anew()
        counts[kind] += 1
        line = {"number": number, "kind": kind, "from": before, "to": trial.done, "seconds": round(time.monotonic() - begin, 1)}
        with open(log, "a", encoding="utf-8") as opened:
            opened.write(json.dumps({**line, "finding": said}) + "\n")
        print(f"{number:4d}  {kind:18s} frames {before} to {trial.done}  {said}", flush=True)
    trial.interrupt("kill", 100_000)
    if trial.done != FRAMES:
        raise Finding(f"resumed to the end, the bake has {trial.done} frames")
    return counts, harm


def main() -> None:
    """Interrupt, and say what was done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interruptions", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--log", type=Path, default=ROOT / "build" / "bench" / "interruptions.jsonl")
    parser.add_argument("--drive", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drive:
        drive(Path(arguments.drive[0]), arguments.drive[1], int(arguments.drive[2]))
        return
    os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / "build" / "numba"))
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    kinds = tuple(kind for kind in arguments.only if kind != "full disk" or can_mount())
    numbers = range(arguments.first, arguments.first + arguments.interruptions)
    sequence = {number: planned(arguments.seed, kinds, number) for number in numbers}
    with tempfile.TemporaryDirectory() as folder:
        counts, harm = run(Trial(Path(folder)), sequence, arguments.log)
    rows = [{"seed": arguments.seed, "kinds": len(counts), "interruptions": counts.total(), "harm": harm}]
    print(write_rows("interruptions", rows))
    print(f"{counts.total()} interruptions, {harm} did harm: {', '.join(f'{n} {kind}' for kind, n in sorted(counts.items()))}")
    sys.exit(1 if harm else 0)


if __name__ == "__main__":
    main()
