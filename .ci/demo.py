# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: a new user's first hour, done by a script and measured.

It builds the extension for this machine, without compiled kernels and manual, and installs the zip into a Blender that holds
nothing else. There it adds the card house with the extension's own menu operator and bakes it with the extension's own bake
operator, while Blender's Bullet plays it in another process. The bake compiles the kernels that the house needs, once, in two
processes; they are kept in build/numba, where the tests and the other commands find them. Then it says in numbers which of the
two houses stands.

It leaves everything in build/demo. Exit status 0 when the baked house stands. `make extension-this` builds the zip with all
kernels, which takes minutes more.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import extension
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "build" / "demo"
BLENDER = DEMO / "blender"
USER = DEMO / "user"
STAGES = Path(__file__).with_name("demo_stages.py")

# What "stands" means: after the first half second no corner of any card moves more than this ...
STILL_MM = 1.0
# ... and at no time is one farther than this from where it was built.
BUILT_MM = 5.0

SECONDS_BETWEEN_COUNTS = 10.0


def distributions_of(name: str) -> set[str]:
    """A distribution and all it requires here, by normalised name."""
    found, waiting = set(), [name]
    while waiting:
        current = canonicalize_name(waiting.pop())
        if current not in found:
            found.add(current)
            requirements = [Requirement(text) for text in importlib.metadata.requires(current) or []]
            waiting += [need.name for need in requirements if need.marker is None or need.marker.evaluate({"extra": ""})]
    return found


def make_blender() -> Path:
    """Make a Python that has what Blender ships and no more, so that numba and scipy can only come from the extension's wheels.

    A bare virtual environment into which bpy and what it requires are linked from .venv. Returns its interpreter.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(BLENDER)], check=True)
    site = next(BLENDER.glob("lib/python3*/site-packages"))
    for name in distributions_of("bpy"):
        distribution = importlib.metadata.distribution(name)
        entries = {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}
        for entry in entries:
            if not (site / entry).exists():
                (site / entry).symlink_to(str(distribution.locate_file(entry)))
    return BLENDER / "bin" / "python"


class Stage(NamedTuple):
    """A stage that runs in a Blender of its own."""

    name: str
    process: subprocess.Popen
    log: Path
    outcome: Path  # what the stage writes down, as its last act
    begin: float  # s, of time.time


def begin_stage(blender: Path, name: str, *arguments: str) -> Stage:
    """Begin a stage in a Blender of its own."""
    outcome, log = DEMO / f"{name}.outcome", DEMO / f"{name}.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BLENDER", "NUMBA"))}
    environment |= {"BLENDER_USER_RESOURCES": str(USER), "NUMBA_CACHE_DIR": str(extension.KERNELS)}
    command = [str(blender), str(STAGES), name, str(outcome), *arguments]
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            command, env=environment, cwd=DEMO, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT
        )
    return Stage(name, process, log, outcome, time.time())


def end_stage(stage: Stage) -> dict:
    """Wait for a stage; returns what it wrote down, and leaves with the end of its output when it failed."""
    tell_kernels_until_it_ends(stage.process)
    # bpy may crash while the interpreter shuts down; what counts is whether the stage wrote its outcome, which it does last.
    if not stage.outcome.exists():
        tail = "\n".join(stage.log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        status, log = stage.process.returncode, stage.log.relative_to(ROOT)
        sys.exit(f"demo: stage {stage.name} failed with status {status}; the end of {log}:\n{tail}")
    result = json.loads(stage.outcome.read_text(encoding="utf-8"))
    # it may have ended long ago, beside another stage
    seconds = stage.outcome.stat().st_mtime - stage.begin
    stage.outcome.unlink()
    print(f"      {result['said']}  ({seconds:.1f} s)", flush=True)
    return result


def run_stage(blender: Path, doing: str, name: str, *arguments: str) -> dict:
    """Run one stage to its end."""
    print(f"demo: {doing} ...", flush=True)
    return end_stage(begin_stage(blender, name, *arguments))


def tell_kernels_until_it_ends(process: subprocess.Popen) -> None:
    """Wait for a stage, and print now and then how many kernels it and its helper have compiled."""

    def count() -> int:
        return sum(1 for _ in extension.KERNELS.glob("*/*.nbi"))

    first, begin, told = count(), time.perf_counter(), 0
    while True:
        try:
            process.wait(SECONDS_BETWEEN_COUNTS)
            return
        except subprocess.TimeoutExpired:
            compiled = count() - first
            if compiled > told:
                told = compiled
                print(f"      {compiled} kernels compiled, {time.perf_counter() - begin:.0f} s", flush=True)


def comparison(houses: dict[str, dict]) -> str:
    """The houses side by side, in numbers."""
    rows = [
        ("cards that moved more than 1 mm", "cards_moved", "d", ""),
        ("a corner moved at most", "moved_mm", ".6f", "mm"),
        ("half of the cards moved more than", "median_mm", ".6f", "mm"),
        ("a card tilted at most", "tilted_degrees", ".6f", "degrees"),
        ("farthest from where it was built", "from_built_mm", ".6f", "mm"),
    ]
    lines = [f"{'after the first half second':36}" + "".join(f"{name:>18}" for name in houses)]
    for label, key, form, unit in rows:
        lines.append(f"{label:36}" + "".join(f"{format(house[key], form):>18}" for house in houses.values()) + f"  {unit}")
    return "\n".join(lines)


def verdict(stands: bool) -> str:
    """Whether the house stands, in words."""
    return "the house stands" if stands else "the house does NOT stand"


def main() -> None:
    """Build, install, bake beside Bullet, measure and draw."""
    begin = time.perf_counter()
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir(parents=True)
    target = extension.Target.of_this_machine()
    package = extension.build(target, kernels=False, manual=False, dist=DEMO)
    blender = make_blender()

    installed = run_stage(blender, "installing the zip into a Blender that holds nothing else", "install", str(package))
    scene = run_stage(blender, "adding the card house from the Add menu", "scene")
    print("demo: playing it with Blender's own Bullet, in another process", flush=True)
    beside = begin_stage(blender, "bullet")
    bake = run_stage(blender, "baking it with Stiction, which compiles what it needs the first time", "bake")
    bullet = end_stage(beside)
    stiction = run_stage(blender, "measuring the keyframes, with the extension switched off", "measure")

    houses = {"Stiction": stiction, "Bullet": bullet}
    stands = {name: house["moved_mm"] <= STILL_MM and house["from_built_mm"] <= BUILT_MM for name, house in houses.items()}
    report = {
        "stands": stands,
        "limits": {"moved_mm": STILL_MM, "from_built_mm": BUILT_MM},
        "installed": installed,
        "scene": scene,
        "bake": bake,
        "houses": houses,
        "seconds": time.perf_counter() - begin,
    }
    (DEMO / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")

    print(f"\n{scene['title']}: {scene['frames']} frames at {scene['fps']:g} a second, Blender {installed['blender']}\n")
    print(comparison(houses))
    print(f"\nStiction: {verdict(stands['Stiction'])}; {bake['missed_steps']} of {bake['steps']} steps did not converge.")
    print(f"Bullet, with {bullet['said']}: {verdict(stands['Bullet'])}.")
    print(f"To stand: no corner moves more than {STILL_MM:g} mm after the first half second, nor is ever {BUILT_MM:g} mm off.")
    print("\nbuild/demo/card_house.blend      the baked scene, with keyframes")
    print("build/demo/report.json           these numbers; bake.json beside it has those of every frame")
    print("build/demo/pictures/             first, middle and last frame of both; all.png has them side by side")
    sys.exit(0 if stands["Stiction"] else 1)


if __name__ == "__main__":
    main()
