# SPDX-License-Identifier: GPL-3.0-or-later
"""How many of 640 contact problems each method solves, cold: 200 random ones, 200 random stacks, 240 islands out of scenes.

    python -m tests.bench.captured [--tolerances 1e-6 1e-8] [--methods published accelerated pivot] [--problems FILE]
                                   [--answers FILE] [--judge FILE]

--problems: where the captured problems are kept, so that two versions can be given the same; written if it is not there.
--answers: where to keep all impulses. --judge: answers kept by another version, to be measured by this one.
"""

from __future__ import annotations

import argparse
import math
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np

import solver_core as sc
from solver_core.problem.subsystem import contact_islands, subsystem
from solver_core.problem.system import System
from solver_core.scene import parts
from solver_core.scene.spec import MaterialSpec, SceneSpec
from solver_core.scenes import plain as scenes

from ..core.contact_problems import random_stack
from .random_contacts import contact_problem
from .records import on_one_thread, write_rows
from .scenes import intercepted_solves

METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "published": ("staggered", {"staggering": "plain"}),
    "accelerated": ("staggered", {}),
    "pivot": ("pivot", {}),
}
PER_SCENE = 20
RANDOM = 200  # problems of each random kind, from as many seeds


def heap(mu: float, seed: int = 0, boxes: int = 12, edge: float = 0.2) -> SceneSpec:
    """Boxes that fall on one heap, four a layer, turned at random."""
    random = np.random.default_rng(seed)
    material = MaterialSpec(math.sqrt(mu), math.sqrt(mu))
    bodies = [parts.ground(material)]
    for i in range(boxes):
        layer, place = divmod(i, 4)
        position = 1.1 * edge * np.array([place % 2, place // 2, 1.6 * (layer + 1)])
        position[:2] += random.uniform(-0.2, 0.2, 2) * edge
        orientation = random.normal(size=4)
        orientation /= np.linalg.norm(orientation)
        bodies.append(parts.box(f"Box {i}", (edge,) * 3, position, material, orientation=orientation))
    return SceneSpec(tuple(bodies), frame_end=60)


def dominoes(mu: float = 0.6, number: int = 12) -> SceneSpec:
    """A row of dominoes whose first one is leant on the second."""
    material = MaterialSpec(math.sqrt(mu), math.sqrt(mu))
    bodies = [parts.ground(material)]
    lean = 0.25
    for i in range(number):
        turn, x = (lean, 0.004) if i == 0 else (0.0, 0.03 * i)
        rise = 0.5 * (0.05 * math.cos(turn) + 0.008 * math.sin(turn))
        orientation = parts.axis_angle((0.0, 1.0, 0.0), turn)
        place = (x, 0.0, rise + 1e-5)
        bodies.append(parts.box(f"Domino {i}", (0.008, 0.025, 0.05), place, material, 0.012, orientation))
    return SceneSpec(tuple(bodies), frame_end=40)


SCENES: dict[str, tuple[SceneSpec, int]] = {
    "card house of 2 levels": (scenes.card_house(levels=2), 10),
    "card house of 3 levels": (scenes.card_house(levels=3), 10),
    "card house of 2 levels, falling": (scenes.card_house(levels=2, mu=0.3), 12),
    "card house of 3 levels, falling": (scenes.card_house(levels=3, mu=0.3), 12),
    "arch": (scenes.arch(), 10),
    "tower": (scenes.tower(), 10),
    "wall": (scenes.wall(), 10),
    "heap, mu 0.6": (heap(0.6), 30),
    "heap, mu 1": (heap(1.0), 30),
    "dominoes": (dominoes(), 16),
    "slope": (scenes.slope(tangent=0.55), 12),
    "rod that jams": (scenes.jamming_rod(), 12),
}


def islands(spec: SceneSpec, frames: int) -> list[System]:
    """Islands with contacts, evenly out of the steps of a scene."""
    found: list[System] = []

    def see(system: System, impulse: np.ndarray) -> None:
        bodies = system.offset.size - 1
        start, contacts = contact_islands(bodies, system.body_a, system.body_b)
        for i in range(start.size - 1):
            found.append(subsystem(system, contacts[start[i] : start[i + 1]], np.full(bodies, -1))[0])

    with intercepted_solves(see):
        sc.Simulation(spec, sleeping=False).run(frames)
    return [found[int(i)] for i in np.linspace(0, len(found) - 1, PER_SCENE)]


def of_system(system: System) -> sc.ContactProblem:
    m = system.body_a.size
    none = np.zeros((0, system.velocity.size)), np.zeros(0)
    return sc.ContactProblem(3, system, system.mu, system.mu, np.zeros(m, dtype=bool), np.zeros((m, 2)), none)


def kept_system(arrays: Mapping[str, np.ndarray]) -> System:
    """The system that was kept as arrays by their names; what was kept before there were joints, or a least scale, has none."""
    later = {"box": np.zeros((0, 3, 3)), "least_scale": 0.0}
    system = System(**{name: arrays[name] if name in arrays else later[name] for name in System._fields})
    return system._replace(least_scale=float(system.least_scale))


def problems() -> Iterator[tuple[str, sc.ContactProblem]]:
    for seed in range(RANDOM):
        yield "random", sc.ContactProblem.from_delassus(*contact_problem(np.random.default_rng(seed), 3))
    for seed in range(RANDOM):
        yield "stacks", sc.ContactProblem.from_delassus(*random_stack(np.random.default_rng(seed), 3))
    for name, (spec, frames) in SCENES.items():
        for system in islands(spec, frames):
            yield name, of_system(system)


def measured(name: str, problem: sc.ContactProblem, result: sc.Result) -> float:
    residuals = sc.residuals(problem, result)
    return residuals.static_friction if name == "pivot" else residuals.coulomb


def kept(path: Path | None, make: Callable[[], object]) -> object:
    """What is kept at a path, made and kept there if it is not yet."""
    if path is not None and path.exists():
        return pickle.loads(path.read_bytes())
    value = make()
    if path is not None:
        path.write_bytes(pickle.dumps(value))
    return value


def judge(all_problems, answers, tolerances) -> None:
    for (name, tolerance), results in answers.items():
        solved = [result.status == sc.Status.SOLVED for result in results]
        upheld = [measured(name, p, r) <= tolerance for (_, p), r in zip(all_problems, results, strict=True)]
        denied = sum(s and not u for s, u in zip(solved, upheld, strict=True))
        print(f"{name:12} {tolerance:6.0e}  said solved {sum(solved)}, of which {denied} are denied here", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-6, 1e-8])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--problems", type=Path)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--judge", type=Path)
    arguments = parser.parse_args()
    on_one_thread()
    chosen = kept(arguments.problems, lambda: list(problems()))
    if arguments.judge is not None:
        judge(chosen, pickle.loads(arguments.judge.read_bytes()), arguments.tolerances)
        return
    rows: list[dict[str, object]] = []
    answers = {}
    for name in arguments.methods:
        method, options = METHODS[name]
        sc.solve(chosen[0][1], method, **options)  # compiled, or loaded, before the clock starts
        for tolerance in arguments.tolerances:
            results, seconds = [], []
            for _, problem in chosen:
                begin = process_time()
                results.append(sc.solve(problem, method, tolerance=tolerance, **options))
                seconds.append(process_time() - begin)
            answers[name, tolerance] = results
            for group in dict.fromkeys(group for group, _ in chosen):
                mine = [i for i, (of, _) in enumerate(chosen) if of == group]
                solved = sum(results[i].status == sc.Status.SOLVED for i in mine)
                time = [seconds[i] for i in mine]
                row = {"method": name, "tolerance": tolerance, "problems": group, "number": len(mine), "solved": solved}
                row |= {"seed": f"0 to {RANDOM - 1}"} if group in ("random", "stacks") else {}
                rows.append(row | {"median_ms": 1e3 * float(np.median(time)), "seconds": sum(time)})
            total = sum(result.status == sc.Status.SOLVED for result in results)
            print(f"{name:12} {tolerance:6.0e}  {total:3} of {len(results)} solved in {sum(seconds):6.1f} s", flush=True)
            for row in rows[-len(SCENES) - 2 :]:
                share = f"{row['solved']:3} of {row['number']:3}"
                print(f"  {row['problems']:32} {share}  {row['median_ms']:8.2f} ms  {row['seconds']:6.1f} s")
    if arguments.answers is not None:
        stripped = {key: [replace(r, stats=sc.Statistics(0, 0, 0.0)) for r in results] for key, results in answers.items()}
        arguments.answers.write_bytes(pickle.dumps(stripped))
    print(write_rows("captured", rows))


if __name__ == "__main__":
    main()
