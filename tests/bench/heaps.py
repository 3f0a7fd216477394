# SPDX-License-Identifier: GPL-3.0-or-later
"""What heaps cost: cubes of 0.2 m at random turns that fall onto the ground and come to rest on each other, beside Bullet.

    python tests/bench/heaps.py [--cubes 27 125] [--tolerances 1e-6] [--crowds 1e-4 1e-6] [--seconds 3] [--limit 600]
                                [--no-bullet]
                                [--capture FOLDER] [--at 60 120 240 480]
    python tests/bench/heaps.py --solve FOLDER [--tolerances 1e-3 1e-4 1e-6 1e-8]

Three seconds of film at 24 frames a second, 10 steps a frame, mu 0.6, sleep as by default; each tolerance with each one of
crowds. Times are the processor's, on one
thread; a run that has used its limit, in s, ends there, and `share` says how much of the film it came to. Bullet is Blender's
(bpy), 10 substeps and 10 iterations, in the same run.

--capture writes the contact problems of the steps --at, largest island only, with the step's warm start. --solve solves what
was captured, warm and cold, and says how many were solved in what time.
"""

from __future__ import annotations

import argparse
import math
import sys
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from captured import of_system  # noqa: E402
from records import on_one_thread, write_rows  # noqa: E402
from scenes import intercepted_solves, largest_island  # noqa: E402

import solver_core as sc  # noqa: E402
from solver_core.problem.system import System  # noqa: E402
from solver_core.scene import parts  # noqa: E402
from solver_core.scene.spec import MaterialSpec, SceneSpec  # noqa: E402

EDGE, SPACING, MU = 0.2, 0.40, 0.6
FPS, SUBSTEPS = 24, 10
SEED = 1


def places(cubes: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions (n, 3) on a cubic grid, shaken, and random turns (n, 4)."""
    random = np.random.default_rng(SEED)
    side = max(2, round(cubes ** (1 / 3)))
    position, turn = np.empty((cubes, 3)), np.empty((cubes, 4))
    for i in range(cubes):
        layer, place = divmod(i, side * side)
        y, x = divmod(place, side)
        centre = 0.5 * (side - 1)
        position[i] = SPACING * (x - centre), SPACING * (y - centre), 0.25 + SPACING * layer
        position[i, :2] += random.uniform(-0.02, 0.02, 2)
        turn[i] = random.normal(size=4)
        turn[i] /= np.linalg.norm(turn[i])
    return position, turn


def heap(cubes: int, frames: int) -> SceneSpec:
    material = MaterialSpec(math.sqrt(MU), math.sqrt(MU))
    boxes = [
        parts.box(f"Cube {i}", (EDGE,) * 3, position, material, orientation=turn)
        for i, (position, turn) in enumerate(zip(*places(cubes), strict=True))
    ]
    return SceneSpec((parts.ground(material), *boxes), frame_end=1 + frames, fps=FPS)


def stiction(cubes: int, frames: int, tolerance: float, of_crowds: float, limit: float) -> dict[str, object]:
    """A run of ours: time, work, what was missed, the worst residual of solved steps and the deepest overlap."""
    simulation = sc.Simulation(heap(cubes, frames), tolerance=tolerance, crowd_tolerance=of_crowds, substeps=SUBSTEPS)
    steps: list[dict[str, float]] = []
    begin, done = process_time(), 0
    while done < frames and process_time() - begin < limit:
        s = simulation.advance().statistics
        done += 1
        for i in range(len(s.status)):
            laws = (s.cone[i], s.complementarity[i], s.dissipation[i], s.natural_map[i])
            row = {"missed": s.status[i] != 0, "contacts": s.contacts[i], "its": s.iterations[i]}
            row |= {"factorisations": s.factorisations[i], "residual": max(laws), "found": s.found[i]}
            steps.append(row | {"overlap": s.deepest_overlap[i], "cuts": s.cuts[i], "asleep": s.asleep[i]})
    seconds = process_time() - begin
    touching = [row for row in steps if row["contacts"] > 0]
    found = np.sum([row["found"] for row in touching], axis=0)
    mean = {name: float(np.mean([row[name] for row in touching])) for name in ("contacts", "its", "factorisations")}
    return {
        "engine": "stiction",
        "cubes": cubes,
        "tolerance": tolerance,
        "crowd_tolerance": of_crowds,
        "share": done / frames,
        "seconds": seconds,
        "ms_a_step": 1e3 * seconds / len(steps),
        "contacts": mean["contacts"],
        "most_contacts": max(row["contacts"] for row in steps),
        "iterations_a_step": mean["its"],
        "factorisations_a_step": mean["factorisations"],
        "steps": len(steps),
        "missed": sum(row["missed"] for row in steps),
        "residual_missed": max((row["residual"] for row in steps if row["missed"]), default=0.0),
        "residual_solved": max((row["residual"] for row in steps if not row["missed"]), default=0.0),
        "overlap_mm": 1e3 * max(row["overlap"] for row in steps),
        "cuts": sum(row["cuts"] for row in steps),
        "asleep": int(steps[-1]["asleep"]),
        "found": " ".join(f"{name.name.lower()} {count}" for name, count in zip(sc.Found, found, strict=True) if count),
    }


def bullet(cubes: int, frames: int) -> float:
    """The processor time of Blender's rigid bodies over the same film."""
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = FPS
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.substeps_per_frame, world.solver_iterations = SUBSTEPS, 10
    world.collection = bpy.data.collections.new("Rigid Bodies")

    def add(name, mesh, position, turn, kind) -> None:
        body = bpy.data.objects.new(name, mesh)
        scene.collection.objects.link(body)
        world.collection.objects.link(body)
        body.rotation_mode = "QUATERNION"
        body.location, body.rotation_quaternion = position, turn
        of = body.rigid_body
        of.type, of.collision_shape, of.friction, of.mass = kind, "BOX", math.sqrt(MU), 1.0
        of.use_margin, of.collision_margin = True, 0.0

    def block(name, low, high):
        mesh = bpy.data.meshes.new(name)
        corners = [(x, y, z) for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
        mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
        return mesh

    add("Ground", block("Ground", (-50, -50, -0.5), (50, 50, 0.5)), (0, 0, -0.5), (1, 0, 0, 0), "PASSIVE")
    cube = block("Cube", (-EDGE / 2,) * 3, (EDGE / 2,) * 3)
    for i, (position, turn) in enumerate(zip(*places(cubes), strict=True)):
        add(f"Cube {i}", cube, position, turn, "ACTIVE")
    scene.frame_end = world.point_cache.frame_end = 1 + frames
    scene.frame_set(1)
    begin = process_time()
    for frame in range(2, 2 + frames):
        scene.frame_set(frame)
    return process_time() - begin


def captured(cubes: int, steps: list[int], tolerance: float, folder: Path) -> None:
    """Write the largest islands of some steps, with their warm starts."""
    folder.mkdir(parents=True, exist_ok=True)
    seen: dict[int, None] = {}

    def see(system: System, impulse: np.ndarray) -> None:
        step = (simulation._frame - 1) * SUBSTEPS + substep[0] - 1
        if step in steps and step not in seen and system.body_a.size:
            seen[step] = None
            island, chosen = largest_island(system)
            fields = dict(zip(System._fields, island, strict=True))
            np.savez_compressed(folder / f"{cubes}_{step}.npz", impulse=impulse[chosen], **fields)

    simulation = sc.Simulation(heap(cubes, 1 + max(steps) // SUBSTEPS), tolerance=tolerance, substeps=SUBSTEPS)
    substep = [0]

    def count() -> None:
        substep[0] += 1

    with intercepted_solves(see):
        while simulation._frame - 1 <= max(steps) // SUBSTEPS:
            substep[0] = 0
            simulation.advance(count)
    print(f"{cubes} cubes: {', '.join(str(step) for step in seen)} written to {folder}", flush=True)


def solved(folder: Path, tolerances: list[float]) -> list[dict[str, object]]:
    """What was captured, solved warm and cold."""
    rows: list[dict[str, object]] = []
    for path in sorted(folder.glob("*.npz"), key=lambda path: [int(part) for part in path.stem.split("_")]):
        kept = np.load(path)
        # what was captured before there were joints has none
        arrays = {name: kept[name] if name in kept else np.zeros((0, 3, 3)) for name in System._fields}
        problem = of_system(System(**arrays))
        for tolerance in tolerances:
            for start, impulse in (("warm", kept["impulse"]), ("cold", None)):
                begin = process_time()
                result = sc.solve(problem, tolerance=tolerance, warm_start=impulse)
                row = {"problem": path.stem, "contacts": problem.contacts, "tolerance": tolerance, "start": start}
                row |= {"ms": 1e3 * (process_time() - begin), "solved": result.status == sc.Status.SOLVED}
                row |= {"residual": sc.residuals(problem, result).coulomb, "iterations": result.stats.iterations}
                found = "" if result.stats.found is None else result.stats.found.name.lower()
                rows.append(row | {"factorisations": result.stats.factorisations, "found": found})
                print("  ".join(f"{x:.3g}" if isinstance(x, float) else str(x) for x in rows[-1].values()), flush=True)
    for tolerance in tolerances:
        for start in ("warm", "cold"):
            mine = [row for row in rows if row["tolerance"] == tolerance and row["start"] == start]
            total = sum(float(str(row["ms"])) for row in mine) / 1e3
            print(f"{tolerance:.0e} {start}: {sum(bool(row['solved']) for row in mine)} of {len(mine)} in {total:.2f} s")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cubes", type=int, nargs="+", default=[27, 125])
    parser.add_argument("--tolerances", type=float, nargs="+", default=[1e-6])
    parser.add_argument("--crowds", type=float, nargs="+", default=[1e-4, 1e-6])
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--no-bullet", action="store_true")
    parser.add_argument("--capture", type=Path)
    parser.add_argument("--at", type=int, nargs="+", default=[60, 120, 240, 480])
    parser.add_argument("--solve", type=Path)
    arguments = parser.parse_args()
    on_one_thread()
    sc.Simulation(heap(8, 20), substeps=SUBSTEPS).run(20)  # compiled, or loaded, before the clock starts
    if arguments.capture is not None:
        for cubes in arguments.cubes:
            captured(cubes, arguments.at, arguments.tolerances[0], arguments.capture)
        return
    if arguments.solve is not None:
        print(write_rows("captured_heaps", solved(arguments.solve, arguments.tolerances)))
        return
    frames = round(FPS * arguments.seconds)
    rows: list[dict[str, object]] = []
    for cubes in arguments.cubes:
        theirs = math.nan if arguments.no_bullet else bullet(cubes, frames)
        for tolerance, of_crowds in product(arguments.tolerances, arguments.crowds):
            row = stiction(cubes, frames, tolerance, of_crowds, arguments.limit)
            row |= {"bullet_seconds": theirs, "of_bullet": float(str(row["seconds"])) / float(str(row["share"])) / theirs}
            rows.append(row | {"seed_of_places": SEED})
            print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    print(write_rows("heaps", rows))


if __name__ == "__main__":
    main()
