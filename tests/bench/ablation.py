# SPDX-License-Identifier: GPL-3.0-or-later
"""What each mechanism of the solver pays: switched off in turn, on captured problems and on scenes.

    python -m tests.bench.ablation [--mechanisms NAME ...] [--scenes NAME ...] [--repeats 2] [--turns 5] [--problems FILE]
                                   [--table FILE] [--again] [--list]

A mechanism is switched off in a copy of the sources, by the edits of `ablation_mechanisms.py`, and the copy runs as a process
of its own on one thread (`ablation_scenes.py`). Kernels that an edit does not touch are taken from build/numba, the others are
compiled and kept in build/ablation, as is what was measured, so that a run that was stopped goes on; --again measures anew,
--repeats 0 nothing: the table is of what is known.
Two runs belong together if the machine had as much else to do.

A cell is the processor time over that with nothing switched off, the same of factorisations, and missed steps or problems more
than with it; "=" where the motion is the same to the last bit. A mechanism pays where without it one captured problem in 200 is
missed, or a step, or where a scene takes 5 % longer. What seems to take that much longer is run again, with it and without in
turns, and the median of the ratios counts: no machine is busier in every other run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .ablation_mechanisms import MECHANISMS, Mechanism, edited
from .ablation_scenes import CAPTURED, RANDOM, SCENES, USUAL
from .captured import kept, problems
from .records import THREADS, write_rows

__all__ = ["ROOT", "paid", "tree_of"]

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "ablation"
NOTHING = "nothing"
LEAST_TIME = 1.05  # times that with the mechanism
LEAST_PROBLEMS = 1 / 200
# A scene is given up after so many times what it takes with nothing switched off, and at least so many seconds.
TOO_LONG, LEAST_LIMIT = 6.0, 20.0
RUNS_OF_A_TURN = 2  # the first of which loads kernels

Measure = Mapping[str, Any]


def tree_of(mechanism: Mechanism, folder: Path) -> None:
    """Write a copy of the sources with a mechanism switched off to a folder."""
    if folder.exists():
        shutil.rmtree(folder)
    for part in ("solver_core", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    for file, text in edited(ROOT / "solver_core", mechanism).items():
        (folder / "solver_core" / file).write_text(text, encoding="utf-8")


def seeded_kernels() -> Path:
    """The folder of the copies' kernels, with links to all that are compiled already; each is named after its sources."""
    kernels = BUILD / "numba"
    kernels.mkdir(parents=True, exist_ok=True)
    for folder in (ROOT / "build" / "numba").glob("*"):
        if folder.is_dir() and not (kernels / folder.name).exists():
            shutil.copytree(folder, kernels / folder.name, copy_function=os.link)
    return kernels


def digest_of(tree: Path) -> str:
    """What tells the state of a tree's sources and of its scenes."""
    digest = hashlib.blake2b(digest_size=10)
    for file in sorted((*(tree / "solver_core").rglob("*.py"), tree / "tests" / "bench" / "ablation_scenes.py")):
        digest.update(file.relative_to(tree).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


class Measures:
    """What was measured, by mechanism and the digest of its sources, and by scene, kept in a file."""

    def __init__(self, file: Path, again: bool) -> None:
        self._file = file
        self._kept: dict[str, dict[str, Measure]] = json.loads(file.read_text()) if file.exists() and not again else {}

    def of(self, key: str) -> dict[str, Measure]:
        """The measures of a mechanism, by scene."""
        return self._kept.setdefault(key, {})

    def keep(self, key: str, scene: str, measure: Measure) -> None:
        """Keep the measure of a scene."""
        self.of(key)[scene] = measure
        self._file.write_text(json.dumps(self._kept, indent=1))


def measures_in(tree: Path, limits: Mapping[str, float], repeats: int, problem_file: Path) -> Iterator[tuple[str, Measure]]:
    """Measure scenes, each with the seconds after which it is given up, in a tree, one after the other."""
    environment = os.environ | dict.fromkeys(THREADS, "1")
    environment |= {"PYTHONPATH": str(tree), "NUMBA_CACHE_DIR": str(BUILD / "numba")}
    command = [sys.executable, "-m", "tests.bench.ablation_scenes", *limits, "--repeats", str(repeats)]
    command += ["--limits", *map(str, limits.values()), "--begun", str(BUILD / "begun"), "--problems", str(problem_file)]
    with subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            measure = json.loads(line)
            yield measure.pop("scene"), measure
    if process.returncode:
        raise SystemExit(f"{tree}: the scenes {', '.join(limits)} ended with {process.returncode}; what went wrong is above")


def in_turns(trees: Sequence[Path], scenes: Sequence[str], turns: int, problem_file: Path) -> dict[str, list[float]]:
    """The seconds that each scene takes in the second tree over those in the first, of so many runs of both in turns."""
    ratios: dict[str, list[float]] = {scene: [] for scene in scenes}
    limits = dict.fromkeys(scenes, math.inf)
    if not scenes:
        return ratios
    for _ in range(turns):
        first, second = (dict(measures_in(tree, limits, RUNS_OF_A_TURN, problem_file)) for tree in trees)
        for scene in scenes:
            ratios[scene].append(min(second[scene]["seconds"]) / min(first[scene]["seconds"]))
    return ratios


def paid(scene: str, without: Measure, base: Measure, mechanism: Mechanism) -> str:
    """What a mechanism pays in a scene, that without it and with it being measured; nothing where it does not."""
    missed = without["missed"] - base["missed"]
    if scene in CAPTURED and missed >= LEAST_PROBLEMS * base["number"]:
        return f"{missed} problems of {scene}"
    if scene not in CAPTURED and missed > 0:
        return f"{missed} steps of {scene}"
    if without["over"]:
        return f"{scene}, not done in {min(without['seconds']) / min(base['seconds']):.1f} times the time"
    if is_same(without, base) and not mechanism.keeps_bits:
        return ""
    longer = time_ratio(without, base)
    once = "" if without.get("turns") else ", not run in turns"
    return f"{longer - 1.0:.0%} of the time of {scene}{once}" if longer >= LEAST_TIME else ""


def time_ratio(without: Measure, base: Measure) -> float:
    """How many times as long a scene takes without a mechanism: the median of the turns, if it was run in turns."""
    turns = without.get("turns")
    return float(np.median(turns)) if turns else min(without["seconds"]) / min(base["seconds"])


def seems_to_pay_time(scene: str, without: Measure, base: Measure, mechanism: Mechanism) -> bool:
    """Whether a scene is to be run again, in turns."""
    return not without["over"] and "not run in turns" in paid(scene, without, base, mechanism)


def is_same(without: Measure, base: Measure) -> bool:
    """Whether answers are the same to the last bit, at the same cost."""
    return (without["bits"], without["factorisations"]) == (base["bits"], base["factorisations"])


def cell(without: Measure | None, base: Measure, mechanism: Mechanism) -> str:
    """What stands in the table for one scene."""
    if without is None:
        return ""
    if is_same(without, base) and not mechanism.keeps_bits:
        return "="
    time = time_ratio(without, base)
    share = without["factorisations"] / max(base["factorisations"], 1)
    missed = without["missed"] - base["missed"]
    return f"{'>' if without['over'] else ''}{time:.2f} / {share:.2f} / {missed:+d}".replace("+0", "0")


def table(found: Mapping[str, dict[str, Measure]], base: dict[str, Measure]) -> str:
    """A row a mechanism, as Markdown."""
    scenes = [scene for scene in (*CAPTURED, *SCENES) if any(scene in measures for measures in found.values())]
    lines = [f"| switched off | {' | '.join(scenes)} | pays |", "| --- " * (len(scenes) + 2) + "|"]
    whole = (f"{min(base[s]['seconds']):.1f} s / {base[s]['factorisations']} / {base[s]['missed']}" for s in scenes)
    lines.append(f"| {NOTHING} | {' | '.join(whole)} | |")
    for name, measures in found.items():
        mechanism = MECHANISMS[name]
        cells = [cell(measures.get(scene), base[scene], mechanism) for scene in scenes]
        lines.append(f"| {name} | {' | '.join(cells)} | {pays_of(name, measures, base)} |")
    return "\n".join(lines) + "\n"


def summary(name: str, measures: dict[str, Measure], base: dict[str, Measure]) -> str:
    """The row of one mechanism, in lines of its own."""
    mechanism = MECHANISMS[name]
    lines = [f"{name}: pays {pays_of(name, measures, base)}"]
    lines += [f"  {scene:28} {cell(one, base[scene], mechanism)}" for scene, one in measures.items()]
    return "\n".join(lines)


def pays_of(name: str, measures: Mapping[str, Measure], base: Mapping[str, Measure]) -> str:
    """All that a mechanism pays, or "nothing"."""
    pays = (paid(scene, one, base[scene], MECHANISMS[name]) for scene, one in measures.items())
    return ", ".join(filter(None, pays)) or "nothing"


def rows_of(found: Mapping[str, dict[str, Measure]]) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, measures in found.items():
        for scene, one in measures.items():
            ratios = " ".join(f"{ratio:.3f}" for ratio in one.get("turns", ()))
            of_scene = {"switched_off": name, "scene": scene, **one, "seconds": min(one["seconds"]), "turns": ratios}
            rows.append(of_scene | {"slowest": max(one["seconds"])})
    return rows


def folder_of(name: str) -> Path:
    """Where the copy without a mechanism is."""
    return BUILD / "".join(letter if letter.isalnum() else "_" for letter in name)


def measured(
    name: str,
    mechanism: Mechanism,
    scenes: Sequence[str],
    base: Mapping[str, Measure],
    repeats: int,
    turns: int,
    problem_file: Path,
    measures: Measures,
) -> dict[str, Measure]:
    """The measures of scenes with a mechanism switched off; those that are not known yet are made, and kept."""
    tree = folder_of(name)
    tree_of(mechanism, tree)
    key = f"{name} {digest_of(tree)}"
    known = measures.of(key)
    limits = {
        scene: max(LEAST_LIMIT, TOO_LONG * min(base[scene]["seconds"])) if base else math.inf
        for scene in scenes
        if scene not in known
    }
    if limits and repeats > 0:
        for scene, measure in measures_in(tree, limits, repeats, problem_file):
            measures.keep(key, scene, measure)
    doubtful = [
        scene
        for scene in scenes
        if base and turns and scene in known and seems_to_pay_time(scene, known[scene], base[scene], mechanism)
    ]
    for scene, ratios in in_turns((folder_of(NOTHING), tree), doubtful, turns, problem_file).items():
        measures.keep(key, scene, {**known[scene], "turns": ratios})
    return {scene: known[scene] for scene in known if scene in scenes or not base}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mechanisms", nargs="+", choices=MECHANISMS, default=list(MECHANISMS), metavar="NAME")
    parser.add_argument("--scenes", nargs="+", choices=(*CAPTURED, *SCENES), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--problems", type=Path, default=BUILD / "problems")
    parser.add_argument("--table", type=Path, default=BUILD / "table.md")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true", help="name all mechanisms and scenes, and measure nothing")
    arguments = parser.parse_args()
    if arguments.list:
        print("mechanisms:", *MECHANISMS, "", "scenes:", *CAPTURED, *SCENES, sep="\n")
        return
    seeded_kernels()
    problem_file = arguments.problems.resolve()
    chosen = arguments.scenes or (*USUAL, *(scene for name in arguments.mechanisms for scene in MECHANISMS[name].scenes))
    if any(name in CAPTURED and name not in RANDOM for name in chosen):
        kept(problem_file, lambda: list(problems()))
    measures = Measures(BUILD / "measured.json", arguments.again)
    base: dict[str, Measure] = {}
    found: dict[str, dict[str, Measure]] = {}
    for name in arguments.mechanisms:
        mechanism = MECHANISMS[name]
        scenes = arguments.scenes or (*USUAL, *mechanism.scenes)
        base = measured(NOTHING, Mechanism(()), scenes, {}, arguments.repeats, arguments.turns, problem_file, measures)
        one = measured(name, mechanism, scenes, base, arguments.repeats, arguments.turns, problem_file, measures)
        if not one:
            continue
        found[name] = one
        arguments.table.write_text(table(found, base), encoding="utf-8")
        print(summary(name, found[name], base), flush=True)
    print(arguments.table)
    print(write_rows("ablation", rows_of({NOTHING: base, **found})))


if __name__ == "__main__":
    main()
