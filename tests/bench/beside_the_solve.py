# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bake costs beside its solve: reading the scene, snapshot, building, cache, playback, keyframes; and the cache's size.

    python -m tests.bench.beside_the_solve [--cubes 1000 8000] [--frames 12] [--in-blender]

A heap of cubes of `heap_scenes.py`, baked here for so many frames. For each side its processor time, a frame or once a bake,
and its share of the solve's. --in-blender: the same heap as objects of Blender (bpy), read, baked by a real worker and written
as keyframes; what this process takes, the worker's time is not in it.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

import solver_core as sc
from solver_core.bake.report import build_report
from solver_core.io.cache import FrameCacheReader
from solver_core.io.cache_writer import FrameCacheWriter
from solver_core.io.records import Checkpoint, encode_checkpoint
from solver_core.io.snapshot import read_snapshot, write_snapshot

from .heap_scenes import EDGE, FPS, MU, heap_of_cubes, places
from .heaps import SUBSTEPS
from .records import on_one_thread, write_rows

TOLERANCES = {"tolerance": 1e-4, "moving_tolerance": 1e-3}
Row = dict[str, object]


class Clock:
    """Processor and wall time by what they were spent on, in s."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}

    @contextmanager
    def on(self, side: str) -> Iterator[None]:
        begin, wall = process_time(), perf_counter()
        yield
        spent = self.spent.setdefault(side, [0.0, 0.0])
        spent[0] += process_time() - begin
        spent[1] += perf_counter() - wall


def in_the_worker(cubes: int, frames: int, folder: Path) -> tuple[Clock, Row]:
    """The sides of the worker's process, and what of the cache is what."""
    clock, settings = Clock(), sc.SolverSettings(substeps=SUBSTEPS, **TOLERANCES)
    spec = heap_of_cubes(cubes)
    spec = replace(spec, frame_end=spec.frame_start + frames)
    snapshot, cache = folder / "heap.snapshot", folder / "heap.cache"
    with clock.on("snapshot written"):
        write_snapshot(snapshot, spec, settings)
    with clock.on("snapshot read"):
        spec, settings = read_snapshot(snapshot)
    sc.Simulation(heap_of_cubes(8), settings).advance()  # loads the kernels
    with clock.on("built"):
        simulation = sc.Simulation(spec, settings)
    size = 0
    with FrameCacheWriter.create(cache, spec, settings) as writer:
        head = writer.size
        for number in range(frames + 1):
            with clock.on("solve"):
                frame = simulation.first_frame() if number == 0 else simulation.advance()
            with clock.on("checkpoint taken"):
                checkpoint = simulation.checkpoint()
            with clock.on("frame appended"):
                writer.append(frame, checkpoint)
            size = len(encode_checkpoint(Checkpoint(frame.frame, checkpoint)))
        a_frame = (writer.size - head) / (frames + 1)
    reader = FrameCacheReader(cache)
    with clock.on("report"):
        build_report(spec, settings, reader)
    with clock.on("frames read"):
        for _ in reader:
            pass
    return clock, {"bytes_a_frame": round(a_frame), "bytes_a_checkpoint": size}


def in_blender(cubes: int, frames: int, folder: Path) -> tuple[Clock, Row]:
    """The sides of Blender's process, and the longest time for one thing that the worker said, in s of the processor."""
    from ..addon.loading import load_extension

    extension = load_extension()
    extension.register()
    import bpy

    from stiction.addon.bake.runner import begin
    from stiction.addon.blender.cooperative import at_once
    from stiction.addon.output.keyframes import commit

    clock, scene = Clock(), blender_scene(cubes, frames, folder)
    with clock.on("scene read, snapshot written"):
        bake = at_once(begin(bpy.context, lambda level, text: print(level, text) if level == "ERROR" else None))
    longest = 0.0
    with clock.on("worker listened to"):
        for event in bake._worker.all_events():
            begin = process_time()
            bake.handle(event)
            longest = max(longest, process_time() - begin)
    solve = bake.job.seconds
    clock.spent["solve"] = [solve, solve]
    with clock.on("frames shown"):
        for frame in range(1, frames + 2):
            scene.frame_set(frame)
    with clock.on("keyframes"):
        commit(bpy.context)
    extension.unregister()
    return clock, {"longest_look": longest}


def blender_scene(cubes: int, frames: int, folder: Path):
    import bpy

    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps = FPS
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("RigidBodyWorld")
    world.point_cache.frame_start, world.point_cache.frame_end = 1, 1 + frames
    world.substeps_per_frame = SUBSTEPS
    scene.stiction.cache_directory = str(folder)
    scene.stiction.tolerance, scene.stiction.moving_tolerance = TOLERANCES.values()
    corners = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    cube = bpy.data.meshes.new("Cube")
    cube.from_pydata([tuple(EDGE * c for c in corner) for corner in corners], [], faces)
    ground = bpy.data.meshes.new("Ground")
    ground.from_pydata([(100 * x, 100 * y, 0.5 * z - 0.25) for x, y, z in corners], [], faces)
    named = [("Ground", ground, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))]
    named += [(f"Cube {i}", cube, place, turn) for i, (place, turn) in enumerate(zip(*places(cubes), strict=True))]
    for name, mesh, place, turn in named:
        ob = bpy.data.objects.new(name, mesh)
        ob.rotation_mode = "QUATERNION"
        ob.location, ob.rotation_quaternion = place, turn
        scene.collection.objects.link(ob)
        world.collection.objects.link(ob)
        ob.rigid_body.type = "PASSIVE" if mesh is ground else "ACTIVE"
        ob.rigid_body.collision_shape = "BOX"
        ob.rigid_body.friction = math.sqrt(MU)
    bpy.context.view_layer.update()
    return scene


def main() -> None:
    """Measure, print and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cubes", type=int, nargs="+", default=[1000, 8000])
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument("--in-blender", action="store_true")
    arguments = parser.parse_args()
    on_one_thread()
    rows: list[Row] = []
    for cubes in arguments.cubes:
        with tempfile.TemporaryDirectory() as folder:
            measure = in_blender if arguments.in_blender else in_the_worker
            clock, more = measure(cubes, arguments.frames, Path(folder))
        solve = clock.spent["solve"][0]
        for side, (seconds, wall) in clock.spent.items():
            row: Row = {"cubes": cubes, "frames": arguments.frames, "side": side, "seconds": seconds, "wall": wall}
            row |= {"share": seconds / solve, **more}
            rows.append(row)
            print(
                f"{cubes:6d} cubes  {side:30s} {seconds:9.3f} s  {100 * seconds / solve:7.2f} %  wall {wall:9.3f} s", flush=True
            )
        rest = sum(seconds for side, (seconds, _) in clock.spent.items() if side != "solve")
        print(f"{cubes:6d} cubes  beside the solve {100 * rest / solve:.2f} %  {more}", flush=True)
    print(write_rows("beside_the_solve", rows))


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
