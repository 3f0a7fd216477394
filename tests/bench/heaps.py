# SPDX-License-Identifier: GPL-3.0-or-later
"""What many bodies cost, beside Bullet and MuJoCo: heaps, a wall that is hit, dominoes, a bin of meshes, a laid table.

    python -m tests.bench.heaps [--scenes cubes:125 wall table] [--all] [--tolerances 1e-6] [--moving 1e-3 1e-4 1e-6]
                                [--seconds 3] [--limit 600] [--engines stiction bullet mujoco] [--plot FILE]

Scenes are those of `heap_scenes.py`, at 24 frames a second and 10 steps a frame, sleep as by default; each tolerance with each
one in motion. Times are the processor's and the wall's, on one thread; a run
that has used its limit of processor time, in s, ends after the frame, and `share` says how much of the film it came to. Bullet
is Blender's (bpy), 10 substeps, 10 iterations; MuJoCo has its defaults and elliptic cones; one that is not installed, or cannot
run a scene, is named and left out.

`drift` is how far the farthest body went in the last half second, in mm, `energy_gained` the most that bodies gain from one
frame to the next, relative to what they lose in all. `memory_mb` is the most that the process held in memory during the run,
where the system tells (Linux), and `before_mb` what it held when the run began; `slowest_step_s` is by the wall clock.
The CSV has a row a run; --plot draws processor time over
bodies.
"""

from __future__ import annotations

import argparse
import math
from itertools import product
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

import solver_core as sc
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.dynamics.model.frame import Frame
from solver_core.dynamics.motion.rotation import matrices
from solver_core.problem.result import Found
from solver_core.scene.spec import BodyKind, SceneSpec

from .heap_scenes import FPS, SCENES, SEED, heap_of_cubes, named
from .heaps_plot import plot_times
from .other_engines import ENGINES, missing
from .records import forget_peak, on_one_thread, peak_memory, write_rows

ROOT = Path(__file__).resolve().parents[2]

SUBSTEPS = 10
LAST = FPS // 2  # frames in which what has come to rest should not move
EMPTY: dict[str, object] = {
    "tolerance": math.nan,
    "moving_tolerance": math.nan,
    "contacts": math.nan,
    "most_contacts": math.nan,
    "iterations_a_step": math.nan,
    "factorisations_a_step": math.nan,
    "missed": math.nan,
    "residual_missed": math.nan,
    "residual_solved": math.nan,
    "overlap_mm": math.nan,
    "energy_gained": math.nan,
    "cuts": math.nan,
    "asleep": math.nan,
    "solves_a_step": math.nan,
    "slowest_step_s": math.nan,
    "found": "",
}


class Energy:
    """Kinetic energy and that of gravity of the bodies that move, J."""

    def __init__(self, spec: SceneSpec) -> None:
        bodies, _ = build_bodies(spec)
        self._model, self._arm, self._moving = bodies.model, bodies.center_of_mass, bodies.model.dof >= 0

    def __call__(self, frame: Frame) -> float:
        moving, model = self._moving, self._model
        rotation = matrices(np.ascontiguousarray(frame.poses[:, 3:]))[moving]
        arm = np.einsum("nij,nj->ni", rotation, self._arm[moving])
        spin = frame.velocities[moving, 3:]
        velocity = frame.velocities[moving, :3] + np.cross(spin, arm)
        turning = np.einsum("nij,njk,nlk,nl->ni", rotation, model.inertia[moving], rotation, spin)
        mass, place = model.mass[moving], frame.poses[moving, :3] + arm
        return float(0.5 * (mass @ (velocity**2).sum(axis=1) + (spin * turning).sum()) - mass @ (place @ model.gravity))


def drift(positions: np.ndarray, moving: np.ndarray) -> float:
    """How far the farthest body is, after the last frames, from where it was before them, mm; (frames, bodies, 3)."""
    if len(positions) <= LAST:
        return math.nan
    return 1e3 * float(np.linalg.norm(positions[-1] - positions[-1 - LAST], axis=1)[moving].max())


def stiction(spec: SceneSpec, frames: int, tolerance: float, in_motion: float, limit: float) -> dict[str, object]:
    """A run of ours: time, work, what was missed, the worst residual of solved steps, overlap, energy and drift."""
    simulation = sc.Simulation(spec, tolerance=tolerance, moving_tolerance=in_motion, substeps=SUBSTEPS)
    for warning in simulation.warnings:
        print(f"odd from the start: {warning.message}", flush=True)
    energy_of = Energy(spec)
    sc.Simulation(spec, tolerance=tolerance, substeps=1).advance()  # kernels of its shapes, before the clock starts
    steps: list[dict[str, float]] = []
    positions, energies = [np.array([body.position for body in spec.bodies])], []
    begin, wall, seconds = process_time(), perf_counter(), 0.0
    while len(positions) <= frames and seconds < limit:
        frame = simulation.advance()
        seconds = process_time() - begin
        s = frame.statistics
        positions.append(frame.poses[:, :3].copy())
        energies.append(energy_of(frame))
        for i in range(len(s.status)):
            laws = (s.cone[i], s.complementarity[i], s.dissipation[i], s.natural_map[i])
            row = {"missed": s.status[i] != 0, "contacts": s.contacts[i], "its": s.iterations[i]}
            row |= {"factorisations": s.factorisations[i], "residual": max(laws), "found": s.found[i]}
            row |= {"solves": s.solves[i], "seconds": s.seconds[i]}
            steps.append(row | {"overlap": s.deepest_overlap[i], "cuts": s.cuts[i], "asleep": s.asleep[i]})
    elapsed = perf_counter() - wall
    touching = [row for row in steps if row["contacts"] > 0] or steps
    found = np.sum([row["found"] for row in touching], axis=0)
    mean = {name: float(np.mean([row[name] for row in touching])) for name in ("contacts", "its", "factorisations", "solves")}
    lost = energies[0] - min(energies)
    return {
        "share": (len(positions) - 1) / frames,
        "processor_s": seconds,
        "wall_s": elapsed,
        "drift_mm": drift(np.array(positions), np.array([body.kind is BodyKind.ACTIVE for body in spec.bodies])),
        "tolerance": tolerance,
        "moving_tolerance": in_motion,
        "contacts": mean["contacts"],
        "most_contacts": max(row["contacts"] for row in steps),
        "iterations_a_step": mean["its"],
        "factorisations_a_step": mean["factorisations"],
        "missed": sum(row["missed"] for row in steps),
        "residual_missed": max((row["residual"] for row in steps if row["missed"]), default=0.0),
        "residual_solved": max((row["residual"] for row in steps if not row["missed"]), default=0.0),
        "overlap_mm": 1e3 * max(row["overlap"] for row in steps),
        "energy_gained": max(0.0, float(np.diff(energies).max(initial=0.0))) / lost if lost > 0.0 else math.nan,
        "cuts": sum(row["cuts"] for row in steps),
        "asleep": int(steps[-1]["asleep"]),
        "solves_a_step": mean["solves"],
        "slowest_step_s": max(row["seconds"] for row in steps),
        "found": " ".join(f"{name.name.lower()} {count}" for name, count in zip(Found, found, strict=True) if count),
    }


def other(engine: str, spec: SceneSpec, frames: int, limit: float) -> dict[str, object]:
    """The same of another engine, as far as it tells."""
    positions, seconds, elapsed = ENGINES[engine](spec, frames, limit)
    moving = np.array([body.kind is BodyKind.ACTIVE for body in spec.bodies])
    row: dict[str, object] = {"share": (len(positions) - 1) / frames, "processor_s": seconds, "wall_s": elapsed}
    return row | {"drift_mm": drift(positions, moving)} | EMPTY


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=["cubes:27", *SCENES], metavar="NAME[:NUMBER]")
    parser.add_argument("--all", action="store_true", help="all scenes in all their sizes, which takes a day")
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-6])
    parser.add_argument("--moving", type=float, nargs="+", default=[1e-3], metavar="TOLERANCE")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--engines", nargs="+", choices=["stiction", *ENGINES], default=["stiction", *ENGINES])
    parser.add_argument("--plot", type=Path, default=ROOT / "build" / "bench" / "heaps.svg")
    arguments = parser.parse_args()
    try:
        chosen = [named(text) for text in arguments.scenes]
    except ValueError as error:
        parser.error(str(error))
    if arguments.all:
        chosen = [(name, size) for name, (_, _, sizes) in SCENES.items() for size in sizes]
    on_one_thread()
    sc.Simulation(heap_of_cubes(8), substeps=SUBSTEPS).run(20)  # compiled, or loaded, before the clock starts
    frames = round(FPS * arguments.seconds)
    rows: list[dict[str, object]] = []
    for name, number in chosen:
        spec = SCENES[name][0](number)
        runs = list(product(arguments.tolerances, arguments.moving)) if "stiction" in arguments.engines else []
        todo = [("stiction", run) for run in runs] + [(engine, None) for engine in ENGINES if engine in arguments.engines]
        for engine, run in todo:
            why = "" if run else missing(engine, spec)
            if why:
                print(f"{name}:{number}  {engine} is left out: {why}", flush=True)
                continue
            before = forget_peak()
            done = stiction(spec, frames, *run, arguments.limit) if run else other(engine, spec, frames, arguments.limit)
            row = {"scene": name, "bodies": number, "engine": engine, "film_s": arguments.seconds} | done
            rows.append(row | {"memory_mb": peak_memory(), "before_mb": before, "seed": SEED})
            shown = {k: v for k, v in rows[-1].items() if v == v and v != ""}
            print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items()), flush=True)
    print(write_rows("heaps", rows))
    print(plot_times(rows, arguments.plot))


if __name__ == "__main__":
    main()
