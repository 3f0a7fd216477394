# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep bodies come into each other when they crash.

    python -m tests.bench.crashes [--crashes 2000] [--seed 1] [--first 0] [--steps 60]

In each crash 2 to 60 bodies of all shapes fly at each other from all sides, or fall on the ground: sizes 1 to 100, masses 1 to
a million, speeds up to 30 m/s, spins up to 50 rad/s, friction 0 to 1.5, restitution 0 to 0.8. The first two bodies go through
all pairs of shapes. Simulated are steps of 1/240 s, as the defaults make them. After each step the contacts of all bodies are
looked for anew, and the deepest overlap is taken in half extents of the smaller body; pairs that overlap at the start do not
count. The status is 1 when two bodies are deeper in each other than 1 % of the smaller one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from time import process_time
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from solver_core.collision.detect import detect
from solver_core.dynamics.motion.rotation import matrices
from solver_core.dynamics.simulation import Simulation
from solver_core.scene.spec import BodyKind, BodySpec, ChildSpec, MaterialSpec, SceneSpec, ShapeKind, ShapeSpec

from ..core.meshes import CUBE, angle_bracket, chair, torus
from .records import on_one_thread, write_rows

GOAL, LIMIT = 1e-3, 1e-2  # half extents of the smaller body
KINDS = ("box", "plate", "hull", "ball", "capsule", "cylinder", "cone", "compound", "bracket", "torus", "chair")


def shape_of(kind: str, random: np.random.Generator) -> ShapeSpec:
    """A shape of about unit half extent."""
    none = np.zeros((0, 3), dtype=np.int32)
    if kind == "box":
        return ShapeSpec(ShapeKind.HULL, CUBE * random.uniform(0.5, 2.0, 3))
    if kind == "plate":
        return ShapeSpec(ShapeKind.HULL, CUBE * (2.0, random.uniform(0.5, 2.0), random.uniform(0.02, 0.1)))
    if kind == "hull":
        points = random.normal(size=(random.integers(6, 20), 3))
        return ShapeSpec(ShapeKind.HULL, points / np.linalg.norm(points, axis=1, keepdims=True))
    if kind == "ball":
        return ShapeSpec(ShapeKind.HULL, np.zeros((1, 3)), margin=1.0)
    if kind == "capsule":
        return ShapeSpec(ShapeKind.HULL, np.array([[0, 0, -0.6], [0, 0, 0.6]]), margin=0.4)
    if kind in ("cylinder", "cone"):
        half = random.uniform(0.1, 1.0)
        solid = ShapeKind.CYLINDER if kind == "cylinder" else ShapeKind.CONE
        return ShapeSpec(solid, np.array([[0, 0, -half], [0, 0, half]]), none, radius=random.uniform(0.2, 1.0))
    if kind == "compound":
        bar = ShapeSpec(ShapeKind.HULL, CUBE * (2.0, 0.3, 0.3))
        head = ShapeSpec(ShapeKind.HULL, CUBE * (0.4, 1.2, 0.4))
        return ShapeSpec(ShapeKind.COMPOUND, children=(ChildSpec(bar), ChildSpec(head, np.array([0.9, 0.0, 0.0]))))
    points, triangles = {"bracket": angle_bracket(), "torus": torus(0.7, 0.25, 16, 8), "chair": chair()}[kind]
    points = points - points.mean(axis=0)
    return ShapeSpec(ShapeKind.MESH, points / np.abs(points).max(), triangles)


def scaled(shape: ShapeSpec, size: float) -> ShapeSpec:
    children = tuple(ChildSpec(scaled(c.shape, size), size * c.position, c.orientation) for c in shape.children)
    return ShapeSpec(shape.kind, size * shape.vertices, shape.triangles, size * shape.margin, size * shape.radius, children)


def crash(number: int, seed: int) -> SceneSpec:
    """Crash `number`: its bodies in a cloud around the origin, each on its way through it."""
    random = np.random.default_rng([seed, number])
    pairs = list(itertools.combinations_with_replacement(KINDS, 2))
    count = int(np.exp(random.uniform(np.log(2.0), np.log(61.0))))
    kinds = [*pairs[number % len(pairs)], *random.choice(KINDS, 60)][:count]
    falls = random.uniform() < 0.5
    sizes = 0.02 * 100.0 ** random.uniform(0.0, 1.0, count) if random.uniform() < 0.5 else 0.3 * random.uniform(0.5, 2.0, count)
    bodies = []
    if falls:
        plane = ShapeSpec(ShapeKind.PLANE)
        bodies.append(BodySpec("Ground", BodyKind.PASSIVE, plane, material=MaterialSpec(1.0, 1.0, 0.5)))
    placed: list[tuple[np.ndarray, float]] = []
    for i, kind in enumerate(kinds):
        radius = 2.5 * sizes[i]
        distance = radius
        while True:
            way = random.normal(size=3)
            place = distance * way / np.linalg.norm(way)
            if falls:
                place[2] = abs(place[2]) + 1.05 * radius
            if all(np.linalg.norm(place - other) > radius + wide for other, wide in placed):
                break
            distance *= 1.1
        placed.append((place, radius))
        speed = random.uniform(0.0, 30.0)
        aim = random.normal(size=3) * sizes[i] - place
        velocity = speed * aim / max(np.linalg.norm(aim), 1e-9)
        spin = random.normal(size=3)
        mu, restitution = random.uniform(0.0, 1.5), random.choice([0.0, random.uniform(0.0, 0.8)])
        bodies.append(
            BodySpec(
                f"{i} {kind}",
                BodyKind.ACTIVE,
                scaled(shape_of(kind, random), float(sizes[i])),
                position=place,
                orientation=np.roll(Rotation.random(random_state=random).as_quat(), 1),
                velocity=velocity,
                angular_velocity=random.uniform(0.0, 50.0) * spin / np.linalg.norm(spin),
                mass=float(1e-3 * 1e6 ** random.uniform(0.0, 1.0)),
                material=MaterialSpec(mu, mu, float(restitution)),
            )
        )
    return SceneSpec(tuple(bodies), fps=240.0, frame_end=1000)


def measured(number: int, seed: int, steps: int) -> dict[str, Any]:
    spec = crash(number, seed)
    simulation = Simulation(spec, substeps=1)
    model = simulation._steps.bodies.model
    bodies, none = simulation._steps.bodies, np.zeros(len(spec.bodies))

    def overlaps() -> dict[tuple[int, int], float]:
        state = simulation._steps.state
        rotation, movable = matrices(state.orientation), model.dof >= 0
        found = detect(bodies.shapes, state.position, rotation, none, model.collections, movable, bodies.excluded)
        ratio = -found.gap / np.minimum(model.size[found.body_a], model.size[found.body_b])
        deepest: dict[tuple[int, int], float] = {}
        for pair, depth in zip(zip(found.body_a.tolist(), found.body_b.tolist(), strict=True), ratio.tolist(), strict=True):
            deepest[pair] = max(depth, deepest.get(pair, 0.0))
        return deepest

    start = {pair for pair, depth in overlaps().items() if depth > 0.0}
    worst, at, when, missed, cuts, most = 0.0, (-1, -1), 0, 0, 0, 0
    seconds = 0.0
    for step in range(steps):
        begin = process_time()
        statistics = simulation.advance().statistics
        seconds += process_time() - begin
        missed += int(np.count_nonzero(statistics.status))
        cuts += int(statistics.cuts.sum())
        most = max(most, int(statistics.contacts.max(initial=0)))
        for pair, depth in overlaps().items():
            if pair not in start and depth > worst:
                worst, at, when = depth, pair, step
    names = [spec.bodies[body].name for body in at] if worst > 0.0 else ["", ""]
    return {
        "crash": number,
        "seed": seed,
        "bodies": len(spec.bodies),
        "overlap": worst,
        "a": names[0],
        "b": names[1],
        "step": when,
        "missed": missed,
        "cuts": cuts,
        "contacts": most,
        "seconds": seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--crashes", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for number in range(arguments.first, arguments.first + arguments.crashes):
        row = measured(number, arguments.seed, arguments.steps)
        rows.append(row)
        if row["overlap"] > GOAL:
            deep = f"{row['overlap']:.2g} of the half extent, {row['a']} and {row['b']}, step {row['step']}"
            print(f"crash {number}, {row['bodies']} bodies: {deep}, {row['missed']} missed", flush=True)
    overlap = np.array([row["overlap"] for row in rows])
    for share in (0.5, 0.9, 0.99, 0.999, 1.0):
        print(f"{100 * share:5.1f} % of the crashes: no deeper than {np.quantile(overlap, share):.2g} half extents")
    for bound in (GOAL, LIMIT, 0.1):
        print(f"deeper than {bound:g}: {int((overlap > bound).sum())} of {len(rows)}")
    steps = arguments.steps * len(rows)
    print(f"missed {sum(row['missed'] for row in rows)} of {steps} steps, {sum(row['cuts'] for row in rows)} cuts")
    print(f"processor time {sum(row['seconds'] for row in rows):.0f} s")
    print(f"raw figures in {write_rows('crashes', rows)}")
    return int((overlap > LIMIT).any())


if __name__ == "__main__":
    on_one_thread()
    sys.exit(main())
