# SPDX-License-Identifier: GPL-3.0-or-later
"""What the scenes that artists make cost in Stiction and in Bullet: processor time, missed steps, overlaps.

    python -m tests.bench.artists [--scenes planks:200 skirt house:120] [--seconds 3] [--limit 200] [--engines stiction bullet]
                                  [--threads 1]

At 24 frames a second and 10 steps a frame, with the defaults of both. The deepest overlap is measured alike for both, by
Stiction's collision on the poses of every sixth frame. A run that has used its limit of processor time, in s, ends after the
frame, and `share` says how much of the film it came to; the times of Bullet are of the whole film. The CSV has a row a scene.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

import solver_core as sc
from solver_core.collision.detect import detect
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.dynamics.motion.rotation import matrices
from solver_core.scene.spec import SceneSpec

from ..heap_scenes import FPS
from ..records import on_one_thread, write_rows
from .characters import DOLLS_SEED, doll_that_falls_over, dolls_on_stairs, hair, skirt
from .piles import DRUM_SEED, HARDWARE_SEED, MIXED_SEED, PLANKS_SEED, drum, hardware, mixed, planks
from .structures import SLAB_SEED, house, slab, spiral

Floats = NDArray[np.float64]

SUBSTEPS = 10
EVERY = 6  # frames in which overlaps are measured
NOT_RANDOM = "none: nothing is random"


@dataclass(frozen=True)
class ArtistScene:
    """A scene of the race: what makes it of a number of bodies, that number, its title, and its seed."""

    make: Callable[[int], SceneSpec]
    count: int
    title: str
    seed: int | str = NOT_RANDOM


SCENES = {
    "planks": ArtistScene(planks, 200, "{} planks", PLANKS_SEED),
    "dolls": ArtistScene(dolls_on_stairs, 12, "{} ragdolls onto stairs", DOLLS_SEED),
    "doll": ArtistScene(doll_that_falls_over, 1, "{} ragdoll that falls over"),
    "skirt": ArtistScene(skirt, 40, "skirt of {} boxes on springs"),
    "hair": ArtistScene(hair, 200, "hair of {} capsules on springs"),
    "drum": ArtistScene(drum, 69, "{} cubes in a drum with paddles, an animated mesh", DRUM_SEED),
    "spiral": ArtistScene(spiral, 1000, "spiral of {} dominoes"),
    "hardware": ArtistScene(hardware, 48, "{} gears, bolts and brackets, concave", HARDWARE_SEED),
    "mixed": ArtistScene(mixed, 50, "{} mixed shapes in a bowl", MIXED_SEED),
    "house": ArtistScene(house, 408, "house of {} bricks, a ball on a chain"),
    "slab": ArtistScene(slab, 200, "{} Voronoi pieces that touch exactly, a ball through them", SLAB_SEED),
    "crowd": ArtistScene(dolls_on_stairs, 60, "{} ragdolls onto stairs", DOLLS_SEED),
}


def stiction(spec: SceneSpec, frames: int, limit: float, threads: int) -> tuple[Floats, dict[str, object]]:
    """Poses (frames + 1, bodies, 7), and the times and counts of a run of ours."""
    sc.Simulation(spec, substeps=SUBSTEPS).run(FPS // 2)  # its kernels are loaded before the clock starts
    simulation = sc.Simulation(spec, substeps=SUBSTEPS, threads=threads)
    found = [np.array([[*body.position, *body.orientation] for body in spec.bodies])]
    seconds, wall, missed, factorisations, told = 0.0, 0.0, 0, 0, 0.0
    while len(found) <= frames and seconds < limit:
        begin, clock = process_time(), perf_counter()
        frame = simulation.advance()
        seconds, wall = seconds + process_time() - begin, wall + perf_counter() - clock
        found.append(frame.poses.copy())
        steps = frame.statistics
        missed += int((steps.status != sc.Status.SOLVED).sum())
        factorisations += int(steps.factorisations.sum())
        told = max(told, 1e3 * float(steps.deepest_overlap.max(initial=0.0)))
    row = {"share": (len(found) - 1) / frames, "processor_s": seconds, "wall_s": wall, "missed": missed}
    return np.array(found), row | {"factorisations": factorisations, "told_overlap_mm": told}


def deepest_overlap(spec: SceneSpec, poses: Floats) -> float:
    """mm, of all pairs that may collide, in every sixth frame; poses (frames, bodies, 7)."""
    bodies, _ = build_bodies(spec)
    model, deepest = bodies.model, 0.0
    none = np.zeros(len(spec.bodies))
    for pose in poses[EVERY::EVERY]:
        turn = matrices(np.ascontiguousarray(pose[:, 3:] / np.linalg.norm(pose[:, 3:], axis=1, keepdims=True)))
        center = pose[:, :3] + np.einsum("nij,nj->ni", turn, bodies.center_of_mass)
        met = detect(bodies.shapes, center, turn, none, model.collections, model.dof >= 0, bodies.excluded)
        deepest = max(deepest, 1e3 * float(-met.gap.min(initial=0.0)))
    return deepest


def raced(name: str, count: int, arguments: argparse.Namespace) -> dict[str, object]:
    """The row of one scene."""
    scene, frames = SCENES[name], round(FPS * arguments.seconds)
    spec = scene.make(count)
    row: dict[str, object] = {"seed": scene.seed, "scene": scene.title.format(count)}
    if "stiction" in arguments.engines:
        poses, ours = stiction(spec, frames, arguments.limit, arguments.threads)
        row |= ours | {"overlap_mm": deepest_overlap(spec, poses), "threads": arguments.threads}
    if "bullet" in arguments.engines:
        from .bullet import bullet

        poses, seconds = bullet(spec, frames, arguments.limit)
        row |= {
            "bullet_s": seconds,
            "bullet_overlap_mm": deepest_overlap(spec, poses),
            "bullet_share": (len(poses) - 1) / frames,
        }
        is_whole = row.get("share") == row["bullet_share"] == 1.0
        row["times_bullet"] = row["processor_s"] / seconds if is_whole else math.nan
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=list(SCENES), metavar="NAME[:NUMBER]")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--limit", type=float, default=200.0)
    parser.add_argument("--engines", nargs="+", choices=["stiction", "bullet"], default=["stiction", "bullet"])
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    chosen = []
    for text in arguments.scenes:
        name, _, number = text.partition(":")
        if name not in SCENES or (number and not number.isdecimal()):
            parser.error(f"{text!r} is no scene: give one of {', '.join(SCENES)}, with :NUMBER for another number of bodies")
        chosen.append((name, int(number or SCENES[name].count)))
    on_one_thread()
    rows = []
    for name, count in chosen:
        rows.append(raced(name, count, arguments))
        print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in rows[-1].items()), flush=True)
    print(write_rows("artist_scenes", rows))


if __name__ == "__main__":
    main()
