# SPDX-License-Identifier: GPL-3.0-or-later
"""How long a step with meshes takes, and whether what hangs and stands on them stays there.

    python -m tests.bench.mesh_scenes [--seconds 10]

Simulated are a torus hung in a torus, a chair on uneven ground, 20 chairs and 20 balls on an uneven ground of 100,000
triangles, a moving body of 5,000 triangles on that ground, a heap of concave meshes, a ring dropped over a peg, and a bolt of
5,200 triangles that turns down in its nut, at 24 frames a second and 10 steps a frame. Times are wall time, on one thread, with
compiled kernels. The status is 1 when something fell through, jittered or was not solved.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.collision import detect
from solver_core.dynamics.model.bodies import build_bodies
from solver_core.dynamics.model.frame import Frame
from solver_core.dynamics.simulation import Simulation
from solver_core.scene.spec import BodyKind, BodySpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..core.meshes import CUBE, PITCH, angle_bracket, bolt, bumpy, chair, nut, torus
from .records import on_one_thread, write_rows

FPS = 24.0
HEAP, SEED = "18 concave meshes in a heap", 5
GRIP = MaterialSpec(0.8, 0.8)


def mesh(surface: tuple[Any, Any]) -> ShapeSpec:
    return ShapeSpec(ShapeKind.MESH, surface[0], surface[1])


def body(name: str, kind: BodyKind, shape: ShapeSpec, position=(0.0, 0.0, 0.0), rotation=(0.0, 0.0, 0.0)) -> BodySpec:
    orientation = np.roll(Rotation.from_rotvec(rotation).as_quat(), 1)
    density = 800.0 if kind is BodyKind.ACTIVE else None
    return BodySpec(
        name, kind, shape, position=np.array(position, dtype=float), orientation=orientation, density=density, material=GRIP
    )


def hung_torus() -> SceneSpec:
    ring = mesh(torus(1.0, 0.3, 50, 50))
    upright = np.array([np.pi / 2.0, 0.0, 0.0])
    across = (Rotation.from_euler("z", 90, degrees=True) * Rotation.from_rotvec(upright)).as_rotvec()
    hook = body("Hook", BodyKind.PASSIVE, ring, rotation=upright)
    return SceneSpec((hook, body("Ring", BodyKind.ACTIVE, ring, (0.02, 0.01, -1.39), across)), fps=FPS)


def one_chair() -> SceneSpec:
    ground = body("Ground", BodyKind.PASSIVE, mesh(bumpy(30, 3.0, 0.01)))
    return SceneSpec((ground, body("Chair", BodyKind.ACTIVE, mesh(chair()), (0, 0, 0.05), (0, 0, 0.3))), fps=FPS)


def wide_ground() -> BodySpec:
    return body("Ground", BodyKind.PASSIVE, mesh(bumpy(224, 22.4, 0.01)))


def crowd() -> SceneSpec:
    ball = ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=0.2)
    bodies = [wide_ground()]
    for i in range(20):
        bodies.append(body(f"Chair.{i}", BodyKind.ACTIVE, mesh(chair()), (i % 5 - 2, i // 5 - 2, 0.06), (0, 0, 0.3 * i)))
        bodies.append(body(f"Ball.{i}", BodyKind.ACTIVE, ball, (i % 5 - 2, i // 5 + 3, 0.25)))
    return SceneSpec(tuple(bodies), fps=FPS)


def large_body() -> SceneSpec:
    return SceneSpec((wide_ground(), body("Ring", BodyKind.ACTIVE, mesh(torus(0.6, 0.2, 50, 50)), (0, 0, 0.25))), fps=FPS)


def heap() -> SceneSpec:
    """Dented rings, brackets and chairs, none of them convex, dropped in a heap on a plane."""
    random = np.random.default_rng(SEED)
    bodies = [body("Ground", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE))]
    ring, bracket, seat = torus(0.12, 0.05, 14, 8), angle_bracket(), chair()
    for i in range(18):
        dented = ring[0] * (1.0 + 0.075 * random.normal(size=(len(ring[0]), 1))), ring[1]
        shape = (dented, (0.12 * bracket[0], bracket[1]), (0.4 * seat[0], seat[1]))[i % 3]
        place = 0.45 * (i % 2), 0.45 * (i // 2 % 2), 0.3 + 0.55 * (i // 4)
        bodies.append(body(f"Thing.{i}", BodyKind.ACTIVE, mesh(shape), place, random.normal(size=3)))
    return SceneSpec(tuple(bodies), fps=FPS)


def ring_on_peg() -> SceneSpec:
    post = ShapeSpec(ShapeKind.HULL, CUBE * (0.1, 0.1, 0.8))
    bodies = body("Ground", BodyKind.PASSIVE, ShapeSpec(ShapeKind.PLANE)), body("Peg", BodyKind.PASSIVE, post, (0, 0, 0.4))
    ring = body("Ring", BodyKind.ACTIVE, mesh(torus(0.2, 0.06, 24, 12)), (0.05, 0.02, 1.1), (0.3, 0.1, 0))
    return SceneSpec((*bodies, ring), fps=FPS)


def bolt_in_nut() -> SceneSpec:
    """A bolt two turns up in its nut, turned downwards at 6 rad/s."""
    oiled = MaterialSpec(0.05, 0.05)
    around = replace(body("Nut", BodyKind.PASSIVE, mesh(nut())), material=oiled)
    turning = body("Bolt", BodyKind.ACTIVE, mesh(bolt()), (0, 0, 2.0 * PITCH))
    return SceneSpec((around, replace(turning, material=oiled, angular_velocity=np.array([0.0, 0.0, -6.0]))), fps=FPS)


def follows_thread(frames: list[Frame]) -> str:
    turned = np.unwrap([Rotation.from_quat(np.roll(frame.poses[1, 3:], -1)).as_euler("zyx")[0] for frame in frames])
    sunk = np.array([frame.poses[1, 2] for frame in frames]) - 2.0 * PITCH
    off = float(np.abs(sunk - PITCH * turned / (2.0 * np.pi)).max())
    return "" if off < 1e-3 else f"the bolt is off its thread by {1e3 * off:.2f} mm"


def hangs(frames: list[Frame]) -> str:
    heights = np.array([frame.poses[1, 2] for frame in frames])
    return (
        "" if heights.min() > -1.42 and heights.max() < -1.3 else f"the ring is at {heights.min():.3f} to {heights.max():.3f} m"
    )


def rests(frames: list[Frame]) -> str:
    late = np.array([frame.poses[1] for frame in frames[len(frames) // 2 :]])
    moved = float(np.ptp(late, axis=0).max())
    return "" if moved < 1e-5 else f"it still moves by {moved:.2g} in the second half"


def stays_above(frames: list[Frame]) -> str:
    lowest = float(frames[-1].poses[1:, 2].min())
    return "" if lowest > -0.05 else f"something is at {lowest:.3f} m"


SCENES: dict[str, tuple[Callable[[], SceneSpec], Callable[[list[Frame]], str]]] = {
    "torus of 5,000 triangles in a torus": (hung_torus, hangs),
    "chair on uneven ground": (one_chair, rests),
    "20 chairs, 20 balls on 100,352 triangles": (crowd, stays_above),
    "torus of 5,000 triangles on 100,352": (large_body, stays_above),
    HEAP: (heap, stays_above),
    "ring dropped over a peg": (ring_on_peg, stays_above),
    "bolt in its nut, 5,200 triangles each": (bolt_in_nut, follows_thread),
}


def measure(name: str, spec: SceneSpec, check: Callable[[list[Frame]], str], seconds: float) -> dict[str, Any]:
    Simulation(spec).advance()  # compiled, or loaded, before the clock starts
    begin = perf_counter()
    build_bodies(spec)
    built = perf_counter() - begin
    simulation = Simulation(spec)
    begin = perf_counter()
    frames = [simulation.first_frame(), *(simulation.advance() for _ in range(round(seconds * FPS)))]
    spent = perf_counter() - begin
    steps = np.concatenate([frame.statistics.status for frame in frames[1:]])
    bodies, _ = build_bodies(spec)
    count = len(spec.bodies)
    position = np.ascontiguousarray(frames[-1].poses[:, :3])
    turned = Rotation.from_quat(np.roll(frames[-1].poses[:, 3:], -1, axis=1))
    position = position + turned.apply(bodies.center_of_mass)
    arguments = np.full(count, 1e-3), np.ones(count, dtype=np.int64), bodies.model.dof >= 0
    begin = perf_counter()
    for _ in range(100):
        detect(bodies.shapes, position, np.ascontiguousarray(turned.as_matrix()), *arguments)
    detected = (perf_counter() - begin) / 100.0
    return {
        "scene": name,
        **({"seed": SEED} if name == HEAP else {}),
        "seconds_of_film": seconds,
        "build_seconds": built,
        "milliseconds_a_step": 1e3 * spent / max(len(steps), 1),
        "milliseconds_a_detection_at_the_end": 1e3 * detected,
        "contacts": int(frames[-1].statistics.contacts[-1]),
        "unsolved": int((steps != 0).sum()),
        "deepest_overlap": float(max(frame.statistics.deepest_overlap.max(initial=0.0) for frame in frames)),
        "fault": check(frames),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of film")
    arguments = parser.parse_args()
    on_one_thread()
    rows = []
    for name, (make, check) in SCENES.items():
        rows.append(measure(name, make(), check, arguments.seconds))
        row = rows[-1]
        print(
            f"{name}: built in {row['build_seconds']:.2f} s, {row['milliseconds_a_step']:.2f} ms a step"
            f" ({row['milliseconds_a_detection_at_the_end']:.2f} ms of it detection), {row['contacts']} contacts,"
            f" {row['unsolved']} steps unsolved, deepest overlap {1e3 * row['deepest_overlap']:.3g} mm {row['fault']}",
            flush=True,
        )
    print(f"\nraw figures in {write_rows('meshes', rows)}")
    return int(any(row["fault"] or row["unsolved"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
