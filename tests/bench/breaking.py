# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonded bodies: the loads at which they break against beam theory, hits at several rates, and 400 pieces beside Bullet.

    python -m tests.bench.breaking [loads] [hits] [pieces]

loads: a bar that hangs, a cantilever and a beam on two supports, of 4 to 60 blocks, at 60 to 960 steps a second. The load at
which a bond breaks first is found by bisection of the strength, and is 1 where it is that of theory.
hits: a free wall of bonded bricks hit by a ball, at as many steps; how many bonds break, and how many steps were not solved.
pieces: a wall of 400 concrete blocks that stands, is hit by a ball and comes to rest, here and in Blender's own simulation,
where constraints of the same shear strength take the place of bonds. Times are of one thread, in processor seconds a frame.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

import solver_core as sc
from solver_core.fracture.bonds import Stresses, bonds_of_bodies
from solver_core.scene import parts
from solver_core.scene.spec import BodyKind, BodySpec, SceneSpec

from .records import on_one_thread, write_rows

DENSITY, GRAVITY = 2000.0, 9.81
STEPS = 60, 240, 960
COUNTS = 4, 12, 60
FPS = 60.0  # of loads and hits, so that all of the steps are whole parts of a frame
HALVINGS = 6
FARTHEST = 0.05  # of the theoretical strength: how far off its bounds are as bisection begins
SHEAR_OF_TENSION = 2.0
SMOOTH, ROUGH = parts.pair_material(0.0), parts.pair_material(0.6)
Made = tuple[list[BodySpec], float]  # bodies, and the theoretical stress in Pa


def block(name: str, size: Sequence[float], place: Sequence[float], kind: BodyKind = BodyKind.ACTIVE) -> BodySpec:
    made = parts.box(name, tuple(size), tuple(place), SMOOTH, mass=DENSITY * float(np.prod(size)))
    return made if kind is BodyKind.ACTIVE else replace(made, kind=kind, mass=None)


def hanging_bar(count: int) -> Made:
    """A bar of 3 m, in tension under its weight."""
    length, step = 3.0, 3.0 / count
    bodies = [block("Wall", (0.2, 0.1, step), (0.0, 0.0, 0.5 * step), BodyKind.PASSIVE)]
    bodies += [block(f"Block {i:02d}", (0.2, 0.1, step), (0.0, 0.0, -(i + 0.5) * step)) for i in range(count)]
    return bodies, DENSITY * GRAVITY * length


def cantilever(count: int) -> Made:
    """A beam of 2 m that is held at one end, under its weight."""
    length, width, height = 2.0, 0.15, 0.2
    step = length / count
    bodies = [block("Wall", (step, width, height), (-0.5 * step, 0.0, 0.0), BodyKind.PASSIVE)]
    bodies += [block(f"Block {i:02d}", (step, width, height), ((i + 0.5) * step, 0.0, 0.0)) for i in range(count)]
    return bodies, (DENSITY * GRAVITY * width * height * length**2 / 2.0) / (width * height**2 / 6.0)


def beam_of_bricks(count: int) -> Made:
    """A beam of 2 m on two supports, under its weight."""
    length, width, height, edge = 2.0, 0.12, 0.2, 1e-3
    step, span = length / count, length - edge
    bodies = [block(f"Brick {i:02d}", (step, width, height), ((i + 0.5) * step, 0.0, 0.0)) for i in range(count)]
    for name, x in (("left", 0.5 * edge), ("right", length - 0.5 * edge)):
        bodies.append(block(f"Support {name}", (edge, width, 0.1), (x, 0.0, -0.5 * (height + 0.1)), BodyKind.PASSIVE))
    load = DENSITY * GRAVITY * width * height
    return bodies, (load * length * span / 4.0 - load * length**2 / 8.0) / (width * height**2 / 6.0)


STRUCTURES: dict[str, Callable[[int], Made]] = {
    "bar in tension": hanging_bar,
    "cantilever": cantilever,
    "beam on two supports": beam_of_bricks,
}


def breaks(bodies: Sequence[BodySpec], stress: float, steps: int) -> int:
    """How many bonds break of bodies whose bonds bear so many Pa, in a tenth of a second at so many steps a second."""
    bonded = [body for body in bodies if not body.name.startswith("Support")]
    joints = bonds_of_bodies(bonded, Stresses(stress, 1e9), 5e-4)
    spec = SceneSpec(bodies=tuple(bodies), joints=tuple(joints), fps=FPS)
    return int(sc.Simulation(spec, substeps=round(steps / FPS)).run(6)[-1].broken.sum())


def loads() -> list[dict[str, object]]:
    rows = []
    for name, make in STRUCTURES.items():
        for count in COUNTS:
            bodies, stress = make(count)
            for steps in STEPS:
                low, high = 1.0 - FARTHEST, 1.0 + FARTHEST
                first = breaks(bodies, low * stress, steps)
                for _ in range(HALVINGS):
                    middle = 0.5 * (low + high)
                    low, high = (middle, high) if breaks(bodies, middle * stress, steps) else (low, middle)
                found = 0.5 * (low + high)
                row = {"part": "loads", "scene": name, "pieces": count, "steps a second": steps, "load": 1.0 / found}
                rows.append(row | {"broken": first})
                print(*rows[-1].values(), flush=True)
    return rows


def wall(rows: int, columns: int) -> list[BodySpec]:
    """Bricks of 0.4 by 0.2 by 0.2 m in running bond, on the ground."""
    length, deep = 0.4, 0.2
    return [
        parts.box(
            f"Brick {row} {i}",
            (length, deep, deep),
            ((i - 0.5 * (columns - row % 2 - 1)) * length, 0.0, (row + 0.5) * deep),
            ROUGH,
            mass=DENSITY * length * deep * deep,
        )
        for row in range(rows)
        for i in range(columns - row % 2)
    ]


def hit_wall(bricks: Sequence[BodySpec], tension: float, way: float, height: float) -> SceneSpec:
    """A wall that a ball of 40 kg hits at 12 m/s. tension: Pa; way: m, of the ball to the wall; height: m, of the ball."""
    joints = bonds_of_bodies(bricks, Stresses(tension, SHEAR_OF_TENSION * tension), 1e-3)
    ball = BodySpec(
        "Ball",
        BodyKind.ACTIVE,
        parts.sphere_shape(0.2),
        position=np.array([0.1, -0.3 - way, height]),
        velocity=np.array([0.0, 12.0, 0.0]),
        mass=40.0,
        material=ROUGH,
    )
    return SceneSpec(bodies=(parts.ground(ROUGH), *bricks, ball), joints=tuple(joints), fps=FPS)


def hits() -> list[dict[str, object]]:
    rows = []
    bricks = wall(8, 13)
    for tension in (0.1e6, 0.6e6, 1e6, 2.9e6, 4e6):
        spec = hit_wall(bricks, tension, 0.1, 0.9)
        for steps in STEPS:
            begin = time.process_time()
            frames = sc.Simulation(spec, substeps=round(steps / FPS)).run(3)
            missed = sum(int((frame.statistics.status != sc.Status.SOLVED).sum()) for frame in frames[1:])
            # what the floor takes is all that is lost along the way of the ball
            energy = [
                0.5 * sum((body.mass or 0.0) * v[:3] @ v[:3] for body, v in zip(spec.bodies, frame.velocities, strict=True))
                for frame in frames
            ]
            row = {"part": "hits", "scene": "wall of 100 bricks", "pieces": len(bricks), "steps a second": steps}
            row |= {"tension MPa": 1e-6 * tension, "bonds": len(spec.joints), "broken": int(frames[-1].broken.sum())}
            row |= {"missed": missed, "energy of motion after J": energy[-1], "energy before J": energy[0]}
            rows.append(row | {"processor s": time.process_time() - begin})
            print(*rows[-1].values(), flush=True)
    return rows


def phases_of(seconds: Sequence[float], asleep: Sequence[int]) -> dict[str, float]:
    """Processor seconds a frame before the hit, in the second after it and in the last one; how many sleep at the end."""
    return {
        "before s": float(np.mean(seconds[:12])),
        "hit s": float(np.max(seconds)),
        "after s": float(np.mean(seconds[24:48])),
        "at rest s": float(np.mean(seconds[-24:])),
        "asleep": asleep[-1] if len(asleep) else 0,
    }


def pieces(frames: int) -> list[dict[str, object]]:
    bricks = wall(20, 20)
    spec = replace(hit_wall(bricks, 2.9e6, 9.0, 2.0), fps=24.0, frame_end=frames + 1)
    simulation, seconds, asleep = sc.Simulation(spec, substeps=10), list[float](), list[int]()
    frame = simulation.first_frame()
    for _ in range(frames):
        begin = time.process_time()
        frame = simulation.advance()
        seconds.append(time.process_time() - begin)
        asleep.append(int(np.count_nonzero(simulation.asleep)))
        print(
            "Stiction", frame.frame, f"{seconds[-1]:.2f} s", asleep[-1], "asleep", int(frame.broken.sum()), "broken", flush=True
        )
    row: dict[str, object] = {"part": "pieces", "scene": "wall of 400 blocks", "pieces": len(bricks), "by": "Stiction"}
    row |= {"bonds": len(spec.joints)}
    return [row | {"broken": int(frame.broken.sum())} | phases_of(seconds, asleep), *by_bullet(spec, frames)]


def by_bullet(spec: SceneSpec, frames: int) -> list[dict[str, object]]:
    """The same in Blender's own simulation, with 10 substeps and 10 iterations, and with 40 and 50."""
    from ..addon.loading import load_extension

    load_extension()
    import bpy

    import stiction.addon
    from stiction.addon.demos.demo_scene import build_scene

    from .joints_beside_bullet import as_of_extension

    stiction.addon.register()
    rows = []
    for substeps, iterations in ((10, 10), (40, 50)):
        step = 1.0 / (spec.fps * substeps)
        joints = [
            replace(joint, strength=None, breaking_impulse=joint.strength.shear * step)
            for joint in spec.joints
            if joint.strength is not None
        ]
        bpy.ops.wm.read_homefile(use_empty=True)
        build_scene(bpy.context, as_of_extension(replace(spec, joints=tuple(joints))), "Scene")
        scene = bpy.context.scene
        world = scene.rigidbody_world
        world.substeps_per_frame, world.solver_iterations = substeps, iterations
        for ob in world.collection.all_objects:
            ob.rigid_body.use_deactivation = ob.rigid_body.type == "ACTIVE"
        seconds = []
        scene.frame_set(1)
        for frame in range(2, frames + 2):
            begin = time.process_time()
            scene.frame_set(frame)
            seconds.append(time.process_time() - begin)
        row = {"part": "pieces", "scene": "wall of 400 blocks", "pieces": len(spec.bodies) - 2}
        rows.append(row | {"by": f"Bullet, {substeps} and {iterations}", "bonds": len(joints)} | phases_of(seconds, []))
        print(*rows[-1].values(), flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["loads", "hits", "pieces"], choices=["loads", "hits", "pieces"])
    parser.add_argument("--frames", type=int, default=120, help="of the wall of 400 pieces")
    arguments = parser.parse_args()
    on_one_thread()
    made: dict[str, Callable[[], list[dict[str, object]]]] = {
        "loads": loads,
        "hits": hits,
        "pieces": partial(pieces, arguments.frames),
    }
    for part in arguments.parts:
        print(write_rows(f"breaking_{part}", made[part]()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
