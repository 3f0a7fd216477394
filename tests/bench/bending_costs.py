# SPDX-License-Identifier: GPL-3.0-or-later
"""What bodies that bend cost beside rigid ones: a second of film of chairs and of a bookshelf, in turns.

    python -m tests.bench.bending_costs [--only chair ...] [--seconds 1] [--repeats 3]

`chair` is one of 792 vertices, `chairs` are the four of the menu, `bookshelf` is its own. Each is rigid, with 12 and with 30
modes, and with as many shapes in large bends. Seconds are of the processor, the least of the repeats, which go in turns, and
`ratio` is by those of the rigid scene. `solves` and `factorisations` are of the whole run, `contacts` a step.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from time import process_time

import numpy as np

import solver_core as sc
from solver_core.dynamics.model.bending import Bending
from solver_core.scene.deformable import Elasticity
from solver_core.scene.spec import SceneSpec, ShapeSpec
from solver_core.scenes.flexible import bookshelf
from solver_core.scenes.published import chairs

from .records import on_one_thread, write_rows

LAWS = {"rigid": Elasticity.LINEAR, "small bends": Elasticity.LINEAR, "large bends": Elasticity.STVK}
MODES = 12, 30
FPS = 24


def in_four(shape: ShapeSpec) -> ShapeSpec:
    """A mesh of quads, of two triangles each that follow each other, with each of them divided into four."""
    places: dict[tuple[float, ...], int] = {}
    triangles = []

    def row(place: np.ndarray) -> int:
        return places.setdefault(tuple(np.round(place, 12)), len(places))

    for one, other in zip(shape.triangles[::2], shape.triangles[1::2], strict=True):
        (beyond,) = set(other) - set(one)
        k = next(k for k in range(3) if one[k] not in other)
        corners = shape.vertices[[one[k], one[(k + 1) % 3], beyond, one[(k + 2) % 3]]]
        middle = row(corners.mean(axis=0))
        edges = [row(0.5 * (corners[i] + corners[(i + 1) % 4])) for i in range(4)]
        for i in range(4):
            triangles += [(row(corners[i]), edges[i], middle), (row(corners[i]), middle, edges[i - 1])]
    return ShapeSpec(shape.kind, np.array(list(places)), np.array(triangles))


def detailed_chair() -> SceneSpec:
    spec = chairs(count=1)
    return replace(spec, bodies=(spec.bodies[0], replace(spec.bodies[1], shape=in_four(spec.bodies[1].shape))))


SCENES = {"chair": detailed_chair, "chairs": chairs, "bookshelf": bookshelf}


def bent(spec: SceneSpec, kind: Elasticity, modes: int) -> SceneSpec:
    """The scene with what bends in it bent so, or rigid."""
    bodies = [
        body
        if body.deformable is None
        else replace(body, deformable=replace(body.deformable, kind=kind, modes=modes) if modes else None)
        for body in spec.bodies
    ]
    return replace(spec, bodies=tuple(bodies))


def measure(name: str, seconds: float, repeats: int):
    """The rows of a scene."""
    cases = [("rigid", 0), *((law, modes) for law in ("small bends", "large bends") for modes in MODES)]
    specs = [bent(SCENES[name](), LAWS[law], modes) for law, modes in cases]
    bending = [Bending.of_scene(spec) for spec in specs]
    known = [dict(zip(one.body.tolist(), one.reduced, strict=True)) for one in bending]
    spent, counts = np.zeros((repeats, len(cases))), [{} for _ in cases]
    for turn in range(-1, repeats):
        for k, spec in enumerate(specs):
            simulation, begin = sc.Simulation(spec, modes=known[k]), process_time()
            # the first turn loads what is compiled
            frames = list(simulation.frames(round(FPS * seconds) if turn >= 0 else 2))[1:]
            if turn >= 0:
                spent[turn, k] = process_time() - begin
            rows = [frame.statistics for frame in frames]
            missed = sum(int(np.count_nonzero(row.status != sc.Status.SOLVED)) for row in rows)
            contacts = float(np.mean([row.contacts.mean() for row in rows]))
            solved = {what: int(sum(getattr(row, what).sum() for row in rows)) for what in ("solves", "factorisations")}
            counts[k] = {"contacts": contacts, **solved, "missed": missed}
    least = spent.min(axis=0) / seconds
    for k, (law, modes) in enumerate(cases):
        figures = {"seconds": least[k], "ratio": least[k] / least[0], **counts[k]}
        yield {"scene": name, "law": law, "modes": modes or "", **figures}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=SCENES, default=list(SCENES))
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    on_one_thread()
    rows: list[dict[str, object]] = []
    for name in arguments.only:
        for row in measure(name, arguments.seconds, arguments.repeats):
            rows.append(row)
            print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
    print(write_rows("bending_costs", rows))


if __name__ == "__main__":
    main()
