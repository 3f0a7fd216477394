# SPDX-License-Identifier: GPL-3.0-or-later
"""How long Blender stands still while a scene is read, when Bake is pressed.

    python -m tests.bench.reading [--bodies 500] [--animated 200] [--frames 250]

Scenes of so many bodies: boxes, hulls and concave meshes, all of one mesh or each of its own, boxes that have a bake of two
frames already, and animated ones over so many frames. Of three readings that with the least of the main thread's processor
time: this, the time by the clock, and the longest turn in both; and the longest that anything that the worker says takes, when
it bakes for the second time.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, thread_time

import bpy
import numpy as np

from ..addon.loading import load_extension
from .records import write_rows

Array = np.ndarray
CUBE = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
BAKED = "boxes baked before"
CUBE_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def new_scene(folder: Path, frames: int):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    bpy.ops.rigidbody.world_add()
    world = scene.rigidbody_world
    world.collection = bpy.data.collections.new("RigidBodyWorld")
    world.point_cache.frame_start, world.point_cache.frame_end = 1, frames
    scene.stiction.cache_directory = str(folder)
    ground = bpy.data.meshes.new("Ground")
    ground.from_pydata((CUBE * (100.0, 100.0, 0.5) - (0.0, 0.0, 0.25)).tolist(), [], CUBE_FACES)
    add_body("Ground", ground, (0.0, 0.0, 0.0), "BOX", "PASSIVE")
    return scene


def add_body(name: str, mesh, place: tuple[float, float, float], shape: str, kind: str = "ACTIVE"):
    scene = bpy.context.scene
    ob = bpy.data.objects.new(name, mesh)
    ob.location, ob.rotation_euler = place, (0.1, 0.2, 0.3)
    scene.collection.objects.link(ob)
    scene.rigidbody_world.collection.objects.link(ob)
    ob.rigid_body.type, ob.rigid_body.collision_shape = kind, shape
    return ob


def places(count: int) -> list[tuple[float, float, float]]:
    side = math.ceil(count ** (1.0 / 3.0))
    return [(1.5 * (i % side), 1.5 * (i // side % side), 1.0 + 1.5 * (i // side**2)) for i in range(count)]


def box_mesh(seed: int):
    mesh = bpy.data.meshes.new("Box")
    mesh.from_pydata((CUBE * (0.5 + 0.001 * seed)).tolist(), [], CUBE_FACES)
    return mesh


def pebble_mesh(seed: int):
    """A convex one of some hundred vertices."""
    import bmesh  # there once bpy is

    mesh, work = bpy.data.meshes.new("Pebble"), bmesh.new()
    bmesh.ops.create_icosphere(work, subdivisions=3, radius=0.4 + 0.0005 * seed)
    work.to_mesh(mesh)
    work.free()
    return mesh


def bowl_mesh(seed: int):
    """One that is not convex: a torus of some hundred vertices."""
    mesh = bpy.data.meshes.new("Torus")
    around, across, radius = 24, 12, 0.4 + 0.0002 * seed
    a, b = (2.0 * np.pi * np.arange(n) / n for n in (around, across))
    reach = radius + 0.12 * np.cos(b)[None, :]
    points = np.stack(
        np.broadcast_arrays(reach * np.cos(a)[:, None], reach * np.sin(a)[:, None], 0.12 * np.sin(b)[None, :]), axis=-1
    )
    index = np.arange(around * across).reshape(around, across)
    turned, lifted = np.roll(index, -1, axis=0), np.roll(index, -1, axis=1)
    faces = np.stack([index, turned, np.roll(turned, -1, axis=1), lifted], axis=-1).reshape(-1, 4)
    mesh.from_pydata(points.reshape(-1, 3).tolist(), [], faces.tolist())
    return mesh


def fill(make: Callable, count: int, shape: str, *, shared: bool, kind: str = "ACTIVE") -> None:
    one = make(0)
    for number, place in enumerate(places(count)):
        add_body(f"Body {number:04}", one if shared else make(number), place, shape, kind)


def animate(count: int, frames: int) -> None:
    mesh = box_mesh(0)
    for number, place in enumerate(places(count)):
        ob = add_body(f"Pusher {number:04}", mesh, place, "BOX", "PASSIVE")
        ob.rigid_body.kinematic = True
        ob.keyframe_insert("location", index=0, frame=1)
        ob.location.x += 2.0
        ob.keyframe_insert("location", index=0, frame=frames)
    add_body("Ball", pebble_mesh(0), (0.0, 0.0, 50.0), "CONVEX_HULL")
    bpy.context.scene.frame_set(1)


def scenes(bodies: int, animated: int, frames: int) -> dict[str, Callable[[], None]]:
    return {
        "boxes": lambda: fill(box_mesh, bodies, "BOX", shared=True),
        "boxes own": lambda: fill(box_mesh, bodies, "BOX", shared=False),
        "hulls": lambda: fill(pebble_mesh, bodies, "CONVEX_HULL", shared=True),
        "hulls own": lambda: fill(pebble_mesh, bodies, "CONVEX_HULL", shared=False),
        "meshes": lambda: fill(bowl_mesh, bodies, "MESH", shared=True),
        "meshes own": lambda: fill(bowl_mesh, bodies, "MESH", shared=False),
        BAKED: lambda: fill(box_mesh, bodies, "BOX", shared=True),
        "animated": lambda: animate(animated, frames),
    }


def read() -> tuple[list[tuple[float, float]], object]:
    """Read and begin as Bake does; wall and processor time of the main thread in each turn, and the bake."""
    from stiction.addon.bake.runner import begin
    from stiction.addon.blender.cooperative import Turns
    from stiction.addon.panels.operators import SECONDS_A_TURN

    stretches, is_over = [], False
    turns = Turns(begin(bpy.context, lambda level, text: print(level, text) if level == "ERROR" else None))
    while not is_over:
        wall, start = perf_counter(), thread_time()
        is_over = turns.turn(SECONDS_A_TURN)
        stretches.append((perf_counter() - wall, thread_time() - start))
    return stretches, turns.result


def listened(bake) -> float:
    """Bake to the end; the longest that anything takes that the worker says, in s of the main thread."""
    longest = 0.0
    for event in bake._worker.all_events():
        start = thread_time()
        bake.handle(event)
        longest = max(longest, thread_time() - start)
    return longest


def main() -> None:
    """Measure, print and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=500)
    parser.add_argument("--animated", type=int, default=200)
    parser.add_argument("--frames", type=int, default=250)
    arguments = parser.parse_args()
    load_extension().register()
    rows = []
    for name, make in scenes(arguments.bodies, arguments.animated, arguments.frames).items():
        with tempfile.TemporaryDirectory() as folder:
            is_baked = name == BAKED
            new_scene(Path(folder), 2 if is_baked else arguments.frames)
            make()
            bpy.context.view_layer.update()
            runs, listening = [], 0.0
            for _ in range(3):
                stretches, bake = read()
                runs.append(stretches)
                if is_baked:
                    listening = listened(bake)
                else:
                    bake._worker.end()
        best = min(runs, key=lambda run: sum(cpu for _, cpu in run))
        row = {
            "scene": name,
            "seconds": sum(cpu for _, cpu in best),
            "wall": sum(wall for wall, _ in best),
            "turns": len(best),
            "longest": max(cpu for _, cpu in best),
            "longest_wall": max(wall for wall, _ in best),
            "listening": listening,
        }
        rows.append(row)
        print(
            "  ".join(f"{key} {value if isinstance(value, str) else round(value, 4)}" for key, value in row.items()), flush=True
        )
    print(write_rows("reading", rows))


if __name__ == "__main__":
    main()
