"""The demo: a new user's first hour, done by a script and measured.

Builds the extension for this machine, installs its zip into a Blender that holds nothing else, adds the card house with the
extension's own menu operator, bakes it with the extension's own bake operator, lets Blender's Bullet try the same file, and
says in numbers which of the two houses stands. Leaves everything in build/demo. Exit status 0 when the baked house stands.
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

import extension
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "build" / "demo"
BLENDER = DEMO / "blender"
USER = DEMO / "user"
STAGES = Path(__file__).with_name("demo_stages.py")

# What "stands" means: no corner of any card moves more than this after the first half second.
LIMIT_MM = 1.0


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


def run_stage(blender: Path, stage: str, *arguments: str) -> dict:
    """Run one stage in a Blender of its own; returns what it wrote down, and leaves with its output when it failed."""
    begin = time.perf_counter()
    outcome, log = DEMO / f"{stage}.json", DEMO / f"{stage}.log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "BLENDER", "NUMBA"))}
    environment |= {"BLENDER_USER_RESOURCES": str(USER)}
    with log.open("w", encoding="utf-8") as stream:
        command = [str(blender), str(STAGES), stage, str(outcome), *arguments]
        status = subprocess.run(
            command, env=environment, cwd=DEMO, stdin=subprocess.DEVNULL, stdout=stream, stderr=subprocess.STDOUT, check=False
        ).returncode
    # bpy may crash while the interpreter shuts down; what counts is whether the stage wrote its outcome, which it does last.
    if not outcome.exists():
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        sys.exit(f"demo: stage {stage} failed with status {status}; the end of {log.relative_to(ROOT)}:\n{tail}")
    result = json.loads(outcome.read_text(encoding="utf-8"))
    outcome.unlink()
    print(f"demo: {result['said']}  ({time.perf_counter() - begin:.1f} s)", flush=True)
    return result


def comparison(stiction: dict, bullet: dict) -> str:
    """The two houses side by side, in numbers."""
    rows = [
        ("moved at most after the first half second", "moved_mm", "mm"),
        ("tilted at most after the first half second", "tilted_degrees", "degrees"),
        ("moved at most during the first half second", "settled_mm", "mm"),
        ("lowest that the top of the house was", "lowest_top_mm", "mm"),
    ]
    lines = [f"{'':44} {'Stiction':>14} {'Bullet':>14}"]
    lines += [f"{label:44} {stiction[key]:14.4f} {bullet[key]:14.4f}  {unit}" for label, key, unit in rows]
    return "\n".join(lines)


def main() -> None:
    begin = time.perf_counter()
    shutil.rmtree(DEMO, ignore_errors=True)
    DEMO.mkdir(parents=True)
    target = extension.Target.of_this_machine()
    package = extension.build(target)
    blender = make_blender()

    installed = run_stage(blender, "install", str(package))
    scene = run_stage(blender, "scene")
    bullet = run_stage(blender, "bullet")
    bake = run_stage(blender, "bake")
    stiction = run_stage(blender, "measure")

    stands = stiction["moved_mm"] <= LIMIT_MM and bake["missed_steps"] == 0
    report = {
        "stands": stands,
        "limit_mm": LIMIT_MM,
        "installed": installed,
        "scene": scene,
        "bake": bake,
        "stiction": stiction,
        "bullet": bullet,
        "seconds": time.perf_counter() - begin,
    }
    (DEMO / "report.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")

    print(f"\n{scene['title']}: {scene['frames']} frames at {scene['fps']:g} a second, Blender {installed['blender']}\n")
    print(comparison(stiction, bullet))
    said = "The baked house stands" if stands else "The baked house does NOT stand"
    bullets = "stands too" if bullet["moved_mm"] <= LIMIT_MM else "does not stand"
    print(f"\n{said}: {stiction['moved_mm']:.4f} mm, and at most {LIMIT_MM:g} mm is standing. Bullet's {bullets}.")
    print(f"{bake['missed_steps']} time steps missed their tolerance.")
    print("\nbuild/demo/card_house.blend      the baked scene, with keyframes")
    print("build/demo/report.json           these numbers, and those of every frame in bake.json beside it")
    print("build/demo/pictures/             first, middle and last frame of both; all.png has them side by side")
    sys.exit(0 if stands else 1)


if __name__ == "__main__":
    main()
