# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenes of `ablation.py`, and one tree's measure of some of them: `python -m tests.bench.ablation_scenes NAME ...`.

A line of JSON for each: seconds of every run (of the processor, or of the clock with several threads), factorisations, steps or
problems that are missed, how many there are, the deepest overlap in half extents of the smaller body, a digest of all poses or
impulses, and whether the seconds of its limit were over before the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import solver_core as sc
from solver_core.scene import parts
from solver_core.scene.deformable import DeformableSpec, Elasticity
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec
from solver_core.scenes import flexible, jointed, plain, published, published_bending

from ..core import breaking_scenes as breaking
from ..core.contact_problems import any_friction
from ..core.dolls import doll, together
from ..core.masonry import barrel_vault
from . import heap_scenes as heaps
from . import mesh_scenes as meshes
from .artists import characters, piles, structures
from .breaking import hit_wall, wall
from .random_contacts import given_number

__all__ = ["CAPTURED", "RANDOM", "SCENES", "USUAL", "Scene", "run_once"]

Problems = list[tuple[str, sc.ContactProblem]]
EXACT = {"moving_tolerance": 1e-6}
OCTAGONS = {"polygon_sides": 8}


@dataclass(frozen=True)
class Scene:
    """Frames of a scene, from the frame `first` on, to which a run without edits leads once."""

    kind: str
    make: Callable[[], SceneSpec]
    frames: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    first: int = 0
    threads: int = 1


def dolls(number: int) -> SceneSpec:
    """Dolls that fall on each other."""
    floor = parts.ground(parts.pair_material(0.5))
    return together(*(doll((0.3 * (i % 2), 0.0, 1.3 + 1.9 * i), name=f" {i}") for i in range(number)), bodies=(floor,))


def foam() -> SceneSpec:
    """A mat of foam that falls flat, divided as finely as one that is seen from near."""
    material, soft = parts.pair_material(0.5), DeformableSpec(young=2e5, modes=12)
    turn = parts.axis_angle((0.0, 1.0, 0.0), 0.1)
    shape, place = flexible.sheet((0.4, 0.4, 0.1), (24, 24, 6)), np.array([0.0, 0.0, 0.22])
    mat = BodySpec("Mat", BodyKind.ACTIVE, shape, place, turn, density=700.0, material=material, deformable=soft)
    return SceneSpec((parts.ground(material), mat))


def block_of_cubes(edge: int) -> SceneSpec:
    """So many cubes a side, a hair apart, each with a velocity of its own."""
    random, material = np.random.default_rng(1), parts.pair_material(0.6)
    bodies = [parts.ground(material)]
    for i in range(edge**3):
        at = 0.202 * np.array([i % edge, i // edge % edge, i // edge**2 + 0.5])
        cube = parts.box(f"Cube {i}", (0.2, 0.2, 0.2), at, material, 1.0)
        bodies.append(replace(cube, velocity=random.normal(scale=0.1, size=3)))
    return SceneSpec(tuple(bodies), fps=240.0)


def matrices(sizes: tuple[int, ...], of_each: int, mu: float) -> Problems:
    """Random contacts, given as a matrix."""
    each = [(contacts, seed) for contacts in sizes for seed in range(of_each)]
    given = [(f"{contacts}, {seed}", *given_number(np.random.default_rng(seed), contacts)) for contacts, seed in each]
    return [(name, sc.ContactProblem.from_delassus(G, g, mu)) for name, G, g in given]


def of_any_friction() -> Problems:
    """Random contacts of any friction and mass ratio."""
    return [(str(seed), any_friction(seed)) for seed in range(200)]


RANDOM: dict[str, Callable[[], Problems]] = {
    "matrices": partial(matrices, (30, 100, 276), 4, 0.6),
    "frictionless matrices": partial(matrices, (30, 100, 276), 4, 0.0),
    "few contacts": partial(matrices, (2, 5, 10), 200, 0.6),
    "any friction": of_any_friction,
}
# what is solved problem by problem, and its tolerance: the problems of `captured.py`, and random ones
CAPTURED = {"captured, 1e-6": 1e-6, "captured, 1e-8": 1e-8, "matrices": 1e-6, "frictionless matrices": 1e-6}
CAPTURED |= {"few contacts": 1e-6, "any friction": 1e-2}


def of_heaps(name: str, bodies: int) -> Callable[[], SceneSpec]:
    return partial(heaps.SCENES[name][0], bodies)


SCENES: dict[str, Scene] = {
    "card house 5": Scene("stands", partial(plain.card_house, levels=5), 24),
    "card house 9": Scene("stands", partial(plain.card_house, levels=9), 8),
    "card house 10": Scene("stands", partial(plain.card_house, levels=10), 8),
    "arch": Scene("stands", plain.arch, 24),
    "tower": Scene("stands", plain.tower, 24),
    "card house 3, slips": Scene("falls", partial(plain.card_house, levels=3, mu=0.2), 48),
    "wall 60": Scene("falls", of_heaps("wall", 60), 40),
    "wall 100": Scene("falls", of_heaps("wall", 100), 6),
    "dominoes 60": Scene("falls", of_heaps("dominoes", 60), 40),
    "vault": Scene("falls", partial(barrel_vault, 0.1), 1),
    "cubes 27": Scene("tumbles", of_heaps("cubes", 27), 60),
    "cubes 125": Scene("tumbles", of_heaps("cubes", 125), 30),
    "hulls 64": Scene("tumbles", of_heaps("hulls", 64), 40),
    "bin 16": Scene("tumbles", of_heaps("bin", 16), 24),
    "cubes 64, exact": Scene("tumbles", of_heaps("cubes", 64), 30, EXACT),
    "wall 60, exact": Scene("falls", of_heaps("wall", 60), 16, EXACT),
    "drawbridge": Scene("jointed", jointed.drawbridge, 48),
    "chain of rings": Scene("jointed", jointed.chain_of_rings, 12),
    "breakable wall": Scene("jointed", jointed.breakable_wall, 24),
    "dolls": Scene("jointed", partial(dolls, 4), 30),
    "bombarded card house": Scene("papers", published.bombarded_card_house, 40),
    "catenary arch": Scene("papers", published.catenary_arch, 72),
    "jamming tube": Scene("papers", published.jamming_tube, 36),
    "log house": Scene("papers", published.log_house, 2),
    "rods of 1991": Scene("papers", published.rods_of_1991, 40),
    "bar on four feet": Scene("papers", published.bar_on_four_feet, 40),
}
USUAL = (*(name for name in CAPTURED if name not in RANDOM), "any friction", *SCENES)
# what is run only for the mechanisms that name it
SCENES |= {
    "card house 15": Scene("stands", partial(plain.card_house, levels=15), 16),
    "wall 60, comes to rest": Scene("falls", of_heaps("wall", 60), 96),
    "cubes 216, exact": Scene("large", of_heaps("cubes", 216), 6, EXACT, first=30),
    "cubes 1000": Scene("large", of_heaps("cubes", 1000), 2, first=30),
    "cubes 1000, 2 threads": Scene("large", of_heaps("cubes", 1000), 2, first=30, threads=2),
    "block of 6859": Scene("large", partial(block_of_cubes, 19), 2, {"substeps": 1}, first=10),
    "card house 5, octagons": Scene("stands", partial(plain.card_house, levels=5), 24, OCTAGONS),
    "wall 60, octagons": Scene("falls", of_heaps("wall", 60), 24, OCTAGONS),
    "cubes 27, octagons": Scene("tumbles", of_heaps("cubes", 27), 60, OCTAGONS),
    "dolls 8": Scene("large", partial(dolls, 8), 72, first=1),
    "ragdolls 60": Scene("large", partial(characters.dolls_on_stairs, 60), 2, first=60),
    "hanging chain": Scene("jointed", partial(jointed.hanging_chain, 30), 48),
    "building and ram": Scene("jointed", breaking.framed_building, 24),
    "glued slab": Scene("jointed", breaking.glued_slab, 8),
    "house and ball": Scene("jointed", partial(structures.house, 100), 12, first=20),
    "house and ball, locked": Scene("large", partial(structures.house, 200), 48, first=24),
    "wall of bonds": Scene("falls", partial(hit_wall, wall(8, 13), 6e5, 0.1, 0.9), 6),
    "wall of bonds, stands": Scene("stands", partial(hit_wall, wall(8, 13), 4e6, 0.1, 0.9), 6),
    "Voronoi pieces": Scene("stands", breaking.voronoi_slab, 1),
    "drum": Scene("tumbles", partial(piles.drum, 69), 36),
    "bunnies 64": Scene("meshes", published_bending.bunny_drop, 16),
    "concave meshes 18": Scene("meshes", meshes.heap, 16),
    "bolt in its nut": Scene("meshes", meshes.bolt_in_nut, 4),
    "crowd on 100,352 triangles": Scene("meshes", meshes.crowd, 6),
    "woven square": Scene("bends", partial(published_bending.composites, (0.5,), (6e7,)), 16),
    "chair": Scene("bends", partial(published.chairs, 1), 48),
    "foam": Scene("bends", foam, 24),
    "bunnies, large bends": Scene("bends", partial(published_bending.bunnies_on_arches, each=1, kind=Elasticity.STVK), 24),
    "dinosaurs, large bends": Scene("bends", partial(published_bending.dinosaurs, 3, kind=Elasticity.STVK), 24),
}


class OverError(Exception):
    """A run has used up its seconds."""


def begun(name: str, folder: Path) -> tuple[int, dict[str, Any]]:
    """The frame and the checkpoint at which the measure of a scene begins, kept in a folder."""
    scene, kept = SCENES[name], folder / f"{name}.pickle"
    if not kept.exists():
        running = sc.Simulation(scene.make(), threads=scene.threads, **scene.settings)
        frame = [running.advance() for _ in range(scene.first)][-1].frame
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps((frame, running.checkpoint())))
    return pickle.loads(kept.read_bytes())


def run_once(name: str, start: tuple[int, dict[str, Any]] | None, limit: float) -> dict[str, Any]:
    """One run of a scene, but for its frames before the first, and what is measured of it."""
    scene = SCENES[name]
    running = sc.Simulation(scene.make(), threads=scene.threads, **scene.settings)
    if start is not None:
        running.restore(*start)
    clock = process_time if scene.threads == 1 else perf_counter
    missed = steps = factorisations = 0
    overlap, poses, over, begin = 0.0, hashlib.blake2b(digest_size=8), False, clock()

    def look_at_clock() -> None:
        if clock() - begin > limit:
            raise OverError

    try:
        for _ in range(scene.frames):
            frame = running.advance(look_at_clock)
            statistics = frame.statistics
            steps += len(statistics.status)
            missed += int(np.count_nonzero(statistics.status))
            factorisations += int(statistics.factorisations.sum())
            overlap = max(overlap, float(statistics.deepest_overlap.max(initial=0.0)))
            poses.update(np.ascontiguousarray(frame.poses).tobytes())
    except OverError:
        over = True
    of_run = {"seconds": [clock() - begin], "factorisations": factorisations, "missed": missed, "number": steps}
    return of_run | {"overlap": overlap, "bits": poses.hexdigest(), "over": over}


def solve_once(problems: Problems, tolerance: float, limit: float) -> dict[str, Any]:
    """One solve of each captured problem, and what is measured of it."""
    missed = number = factorisations = 0
    impulses, over, begin = hashlib.blake2b(digest_size=8), False, process_time()
    for _, problem in problems:
        result = sc.solve(problem, tolerance=tolerance)
        number += 1
        missed += result.status is not sc.Status.SOLVED
        factorisations += result.stats.factorisations
        impulses.update(result.impulse.tobytes())
        over |= process_time() - begin > limit
        if over:
            break
    of_run = {"seconds": [process_time() - begin], "factorisations": factorisations, "missed": missed, "number": number}
    return of_run | {"overlap": 0.0, "bits": impulses.hexdigest(), "over": over}


def measured(name: str, limit: float, arguments: argparse.Namespace) -> dict[str, Any]:
    """What is measured of so many runs of a scene, the first of which also loads kernels, after one that compiles them."""
    if name in CAPTURED:
        problems = RANDOM[name]() if name in RANDOM else pickle.loads(arguments.problems.read_bytes())
        solve_once(problems[:1], CAPTURED[name], math.inf)
        once = partial(solve_once, problems, CAPTURED[name])
    else:
        start = begun(name, arguments.begun) if SCENES[name].first else None
        running = sc.Simulation(SCENES[name].make(), threads=SCENES[name].threads, **SCENES[name].settings)
        if start is not None:
            running.restore(*start)
        running.advance()
        once = partial(run_once, name, start)
    found = once(limit)
    if found["over"]:
        # It may have compiled kernels that the first frame does not need, for longer than the limit.
        found = once(limit)
    for _ in range(arguments.repeats - 1):
        if not found["over"]:
            found["seconds"] += once(math.inf)["seconds"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="+", choices=(*CAPTURED, *SCENES), metavar="NAME")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--limits", type=float, nargs="+")
    parser.add_argument("--begun", type=Path, required=True)
    parser.add_argument("--problems", type=Path, required=True)
    arguments = parser.parse_args()
    limits = arguments.limits or [math.inf] * len(arguments.scenes)
    for name, limit in zip(arguments.scenes, limits, strict=True):
        print(json.dumps({"scene": name, **measured(name, limit, arguments)}), flush=True)


if __name__ == "__main__":
    main()
