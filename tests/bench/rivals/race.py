# SPDX-License-Identifier: GPL-3.0-or-later
"""Stiction beside other engines, on scenes of boxes: processor time, overlap, drift, what stands, and from which friction on.

    python -m tests.bench.rivals.race [--scenes cubes:125 house tower ...] [--engines Stiction Box3D ...] [--thresholds]
                                      [--plot FILE]

Rivals are installed into an environment of their own, build/rivals, in the versions of .ci/requirements-rivals.txt; one that
cannot be is named and left out. Each has its defaults, at 240 steps a second, and then settings that take more time. Heaps may
fall asleep; where something has to stand, all stay awake. --thresholds: the card house at twenty coefficients of friction, by
defaults; "out of order" counts those at which it falls though it stands at a smaller one. Times are of the processor, on one
thread; the film alone. The CSV has a row a film; the plot has overlap over time in a heap of 125 cubes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..heaps_plot import plotted
from ..records import on_one_thread, write_rows
from . import ours
from .environment import ROOT, Engine, prepare
from .ruler import measured
from .scenes import BoxScene, box_scene

OURS = "Stiction"
SCENES = ("cubes:125", "cubes:1000", "house", "tower", "slope@0.49", "slope@0.51")
COEFFICIENTS = tuple(round(float(mu), 2) for mu in np.linspace(0.24, 0.62, 20))


@dataclass(frozen=True)
class Setting:
    """label: what is set, as a reader knows it. hz: steps a second. options: of the engine's script."""

    label: str
    hz: int
    options: Mapping[str, str]


def setting(label: str, hz: int = 240, **options: object) -> Setting:
    return Setting(label, hz, {name: str(value) for name, value in options.items()})


# The first setting of an engine is its defaults at our steps; the last takes most time.
ENTRANTS: Mapping[str, tuple[str, tuple[Setting, ...]]] = {
    OURS: (
        "",
        (setting("default"), setting("1e-6 for all", tolerance=1e-6), setting("1e-2, 120 steps", 120, tolerance=1e-2)),
    ),
    "Box3D": (
        "box3d.py",
        (setting("4 substeps"), setting("960 steps", 960), setting("1,920 steps, 8 substeps", 1920, substeps=8)),
    ),
    "Rapier": (
        "rapier.py",
        (
            setting("4 iterations"),
            setting("20 iterations", iterations=20),
            setting("960 steps, 20 iterations", 960, iterations=20),
        ),
    ),
    "PhysX 5": (
        "physx.py",
        (
            setting("4 iterations"),
            setting("16 iterations", iterations=16),
            setting("960 steps, 32 iterations", 960, iterations=32),
        ),
    ),
    "Jolt": (
        "jolt.mjs",
        (
            setting("10 and 2 iterations"),
            setting("40 and 10 iterations", velocity=40, position=10),
            setting("960 steps, 40 and 10 iterations", 960, velocity=40, position=10),
        ),
    ),
    "Bullet": (
        "bullet.py",
        (
            setting("10 iterations"),
            setting("50 iterations", iterations=50),
            setting("960 steps, 50 iterations", 960, iterations=50),
        ),
    ),
    "MuJoCo": ("mujoco_.py", (setting("elliptic cones"), setting("stiff, 960 steps", 960, stiff="yes"))),
}
LARGE = 500  # boxes, in a scene that is tried with each engine's defaults alone


def film(engine: str, scene: BoxScene, chosen: Setting) -> dict[str, object]:
    """A film and what is measured of it; RuntimeError where the engine fails."""
    sleep = {"sleep": "yes" if scene.name.startswith("cubes") else "no"}
    missed: object = ""
    if engine == OURS:
        poses, seconds, missed = ours.film(scene, chosen.hz, chosen.options | sleep)
    else:
        found, seconds = Engine(ENTRANTS[engine][0]).film(scene, chosen.hz, chosen.options | sleep)
        poses = np.asarray(found, dtype=float)
    row = {"scene": scene.name, "engine": engine, "setting": chosen.label, "hz": chosen.hz, "processor_s": seconds}
    row |= {"share": (len(poses) - 1) / scene.frames, "missed": missed, "is_default": chosen is ENTRANTS[engine][1][0]}
    return row | measured(scene, poses)


def films(engines: Iterable[str], scenes: Iterable[str]) -> list[dict[str, object]]:
    """The rows of all films; what fails is named and left out."""
    rows: list[dict[str, object]] = []
    for scene in map(box_scene, scenes):
        for engine in engines:
            settings = ENTRANTS[engine][1]
            for chosen in settings[:1] if len(scene.mass) > LARGE else settings:
                rows += _tried(engine, scene, chosen)
    return rows


def _tried(engine: str, scene: BoxScene, chosen: Setting) -> list[dict[str, object]]:
    try:
        row = film(engine, scene, chosen)
    except RuntimeError as error:
        print(f"{scene.name}  {engine}, {chosen.label} is left out: {error}", flush=True)
        return []
    shown = {name: value for name, value in row.items() if value != ""}
    print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items()), flush=True)
    return [row]


def thresholds(engines: Iterable[str]) -> list[dict[str, object]]:
    """From which friction on the card house stands by defaults, and at how many coefficients that is out of order."""
    rows = []
    for engine in engines:
        chosen = ENTRANTS[engine][1][0]
        stands, seconds = [], 0.0
        for mu in COEFFICIENTS:
            for row in _tried(engine, box_scene(f"house@{mu}"), chosen):
                stands.append((mu, not row.get("fallen", True)))
                seconds += float(str(row["processor_s"]))
        first = min((mu for mu, still in stands if still), default=math.nan)
        disorder = sum(not still for mu, still in stands if mu > first)
        last = max((mu for mu, still in stands if not still), default=math.nan)
        row = {"engine": engine, "setting": chosen.label, "stands_from": first, "falls_to": last}
        rows.append(row | {"out_of_order": disorder, "tried": len(stands), "processor_s": seconds})
        print(rows[-1], flush=True)
    return rows


def accuracy_over_time(rows: Iterable[Mapping[str, object]], path: Path) -> Path:
    """Draw the overlap of a heap over the time it takes, a curve an engine."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row["scene"] == "cubes:125" and not row["blown_up"]:
            curves.setdefault(str(row["engine"]), []).append((float(str(row["processor_s"])), float(str(row["overlap_mm"]))))
    return plotted(curves, "processor time of 125 cubes, 3 s of film, s", "deepest overlap, mm", path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="*", default=list(SCENES), metavar="NAME")
    parser.add_argument("--engines", nargs="+", choices=list(ENTRANTS), default=list(ENTRANTS))
    parser.add_argument("--thresholds", action="store_true", help="the card house at twenty coefficients of friction, too")
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "bench" / "rivals.svg")
    arguments = parser.parse_args()
    try:
        [box_scene(name) for name in arguments.scenes]
    except ValueError as error:
        parser.error(str(error))
    on_one_thread()
    missing = prepare()
    for engine in arguments.engines:
        if missing.get(ENTRANTS[engine][0]):
            print(f"{engine} is left out: {missing[ENTRANTS[engine][0]]}", flush=True)
    engines = [engine for engine in arguments.engines if not missing.get(ENTRANTS[engine][0])]
    if OURS in engines:
        ours.load_kernels()
    rows = films(engines, arguments.scenes)
    if rows:
        print(write_rows("rivals", rows))
    if any(row["scene"] == "cubes:125" for row in rows):
        print(accuracy_over_time(rows, arguments.plot))
    if arguments.thresholds:
        print(write_rows("rivals_thresholds", thresholds(engines)))


if __name__ == "__main__":
    main()
